"""Free-form answers of weak models to open questions: where distractors come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from magister.answers import extract_value
from magister.contracts.schemas import FREE_ANSWERS
from magister.llm import Request, Response, Speaker
from magister.prompts import Prompt


def _open_items(pool: pa.Table) -> list[dict[str, Any]]:
    return [item for item in pool.to_pylist() if item["options"] is None]


def free_answer_requests(
    pool: pa.Table, speaker: Speaker, prompt: Prompt, *, samples: int, max_tokens: int
) -> list[Request]:
    """Ask every open question, without options, `samples` times.

    Args:
        pool: POOL table.
        speaker: who is asked.
        prompt: template over question and passage.
        samples: draws per question; each has a seed of its own.
        max_tokens: reply limit.

    Returns:
        Request rows, by item and then by sample.
    """
    requests = []
    for item in _open_items(pool):
        messages = prompt.render(question=item["question"], passage=item["passage"])
        requests += [speaker.request(messages, max_tokens, sample) for sample in range(samples)]
    return requests


def parse_free_answers(
    pool: pa.Table, requests: Iterable[Request], responses: Mapping[str, Response], model: str, samples: int
) -> pa.Table:
    """Read the replies to `free_answer_requests`.

    Args:
        pool: the table that was asked.
        requests: the rows that `free_answer_requests` makes for it, in order.
        responses: by request key.
        model: name of the speaker.
        samples: draws per question.

    Returns:
        FREE_ANSWERS table.
    """
    places = [(item["item_id"], sample) for item in _open_items(pool) for sample in range(samples)]
    rows = []
    for (item_id, sample), request in zip(places, requests, strict=True):
        response = responses[request["custom_id"]]
        row: dict[str, Any] = {
            "model": model,
            "item_id": item_id,
            "sample": sample,
            "request_id": response.custom_id,
            "text": response.text,
            "finish_reason": response.finish_reason,
            "error": response.error,
            "prompt_tokens": response.prompt_tokens,
            "completion_tokens": response.completion_tokens,
        }
        failed = response.failed_status
        if failed is not None:
            rows.append(row | {"status": failed, "rule": failed})
            continue
        value = extract_value(response.text, response.finish_reason)
        start, end = value.span or (None, None)
        row |= {"status": value.status, "rule": value.rule or "none", "answer": value.answer}
        rows.append(row | {"span_start": start, "span_end": end})
    return pa.Table.from_pylist(rows, schema=FREE_ANSWERS.schema)
