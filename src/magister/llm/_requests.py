"""Requests: rows of an OpenAI Batch file whose `custom_id` says everything that the answer depends on."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from magister.config.base import LocalFile
from magister.config.models import ModelConfig
from magister.errors import UserError
from magister.llm._files import read_lines, write_atomically

Request = dict[str, Any]
"""A row of a request file: `custom_id`, `method`, `url`, `body` and, for repeated draws, `sample`."""

ENDPOINT = "/v1/chat/completions"

# Fields with an owner of their own: set through `extra`, they would bypass it (or, as `stream` and `n`,
# ask for replies that no reader here expects).
_RESERVED = frozenset(
    {"model", "messages", "max_tokens", "temperature", "top_p", "seed", "response_format", "stream", "n"}
)


def canonical_json(obj: object) -> str:
    """Write an object in the one way that its hash is taken of: sorted keys, no spaces, no `\\u` escapes.

    Raises:
        UserError: the object holds NaN, an infinity, a key that is not a string, text that is not valid
            Unicode, or something JSON has no form for. The message names the place.
    """
    _refuse_unportable(obj, "")
    text = json.dumps(obj, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(
            f"cannot be written as JSON: half a surrogate pair at character {error.start}"
        ) from None
    return text


def _refuse_unportable(obj: object, where: str) -> None:
    if obj is None or isinstance(obj, str | bool | int):
        return
    if isinstance(obj, dict):
        for key, value in obj.items():
            if not isinstance(key, str):
                raise UserError(
                    f"cannot be written as JSON: key {key!r} at {where or 'the top'} is not a string"
                )
            _refuse_unportable(value, f"{where}.{key}" if where else key)
    elif isinstance(obj, list | tuple):
        for index, value in enumerate(obj):
            _refuse_unportable(value, f"{where}[{index}]")
    elif not isinstance(obj, float):
        raise UserError(f"cannot be written as JSON: {type(obj).__name__} at {where or 'the top'}")
    elif not math.isfinite(obj):
        raise UserError(f"cannot be written as JSON: {obj!r} at {where or 'the top'}")


def request_key(fingerprint: Mapping[str, Any], body: Mapping[str, Any], sample: int = 0) -> str:
    """Hash all that an answer depends on.

    The model's name in the body is left out: who answers is in the fingerprint, and the same model may be
    served under several names.

    Args:
        fingerprint: what `fingerprint` returned for the model.
        body: the chat completion body.
        sample: index of a repeated draw.

    Returns:
        64 hexadecimal digits.
    """
    request = {key: value for key, value in body.items() if key != "model"}
    text = canonical_json({"fingerprint": dict(fingerprint), "request": request, "sample": sample})
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def build_request(fingerprint: Mapping[str, Any], body: Mapping[str, Any], sample: int = 0) -> Request:
    """Make the row of a request file.

    Args:
        fingerprint: what `fingerprint` returned for the model.
        body: the chat completion body.
        sample: index of a repeated draw. It is added to the body's seed: engines see the body alone, and with
            one seed all draws would be the same draw.

    Returns:
        The row. `sample` stands in it only when it is not zero.
    """
    sent = dict(body)
    if sample and isinstance(sent.get("seed"), int):
        sent["seed"] += sample
    row: Request = {
        "custom_id": request_key(fingerprint, sent, sample),
        "method": "POST",
        "url": ENDPOINT,
        "body": sent,
    }
    if sample:
        row["sample"] = sample
    return row


def chat_body(
    model: ModelConfig,
    messages: Sequence[Mapping[str, Any]],
    max_tokens: int,
    response_format: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Merge a model's persona and sampling with a conversation.

    Args:
        model: whose persona (`system`) is put before the system message, and whose `sampling` is used. A
            null in `sampling.extra` takes the field of that name out of the body, for endpoints that refuse
            it (`max_tokens: null` with `max_completion_tokens: 512`).
        messages: the conversation. It is not changed.
        max_tokens: reply limit.
        response_format: passed on, for replies in JSON.

    Raises:
        UserError: `sampling.extra` sets a field that has an option of its own.
    """
    sampling = model.sampling
    owned = sorted(_RESERVED.intersection(key for key, value in sampling.extra.items() if value is not None))
    if owned:
        raise UserError(f"sampling.extra: {', '.join(owned)} cannot be set there")
    body: dict[str, Any] = {
        "model": _model_name(model),
        "messages": _with_persona(model.system, messages),
        "max_tokens": max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
    }
    if response_format is not None:
        body["response_format"] = dict(response_format)
    body.update(sampling.extra)
    return {key: value for key, value in body.items() if value is not None}


def _model_name(model: ModelConfig) -> str:
    if model.served_name is not None:
        return model.served_name
    if model.weights is not None:
        path = model.weights.path if isinstance(model.weights, LocalFile) else model.weights.member
        return PurePath(path).name
    return model.script or model.engine


def _with_persona(system: str | None, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    copied = [dict(message) for message in messages]
    if not system:
        return copied
    if not copied or copied[0].get("role") != "system":
        return [{"role": "system", "content": system}, *copied]
    content = copied[0].get("content")
    if isinstance(content, list):
        copied[0]["content"] = [{"type": "text", "text": system}, *content]
    else:
        copied[0]["content"] = f"{system}\n\n{content}" if content else system
    return copied


def write_requests(path: Path, rows: Iterable[Request]) -> int:
    """Write a request file: whole or not at all, the same bytes for the same rows.

    Args:
        path: where to.
        rows: requests in order. Of several with one `custom_id` the first is kept: equal requests are asked
            once.

    Returns:
        How many rows were written.
    """
    seen: set[str] = set()

    def lines() -> Iterable[str]:
        for row in rows:
            if row["custom_id"] not in seen:
                seen.add(row["custom_id"])
                yield canonical_json(row)

    write_atomically(path, lines())
    return len(seen)


def read_requests(path: Path) -> list[Request]:
    """Read a request file.

    Raises:
        UserError: the file is missing or a line is not a chat completion request; names the line.
    """
    rows = []
    for number, line in read_lines(path):
        problem = ""
        try:
            row = json.loads(line)
        except ValueError as error:
            problem, row = f"not valid JSON ({error})", None
        if not problem:
            problem = _request_problem(row)
        if problem:
            raise UserError(
                f"{path}, line {number}: {problem}. Rebuild the file with the step that writes it."
            )
        rows.append(row)
    return rows


def _request_problem(row: object) -> str:
    if not isinstance(row, dict):
        return f"expected an object, found {type(row).__name__}"
    if not isinstance(row.get("custom_id"), str) or not row["custom_id"]:
        return "'custom_id' is missing or not a text"
    if row.get("url") != ENDPOINT or row.get("method") != "POST":
        return (
            f"expected method 'POST' and url {ENDPOINT!r}, found {row.get('method')!r} and {row.get('url')!r}"
        )
    body = row.get("body")
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
        return "'body.messages' is missing, empty or not a list of objects"
    sample = row.get("sample", 0)
    if not isinstance(sample, int) or isinstance(sample, bool) or sample < 0:
        return f"'sample' must be a whole number from 0, found {sample!r}"
    return ""


def check_requests(
    rows: Sequence[Request], fingerprint: Mapping[str, Any], where: Path | str = "requests"
) -> None:
    """Compare every `custom_id` with the key of its row.

    Raises:
        UserError: a row was changed by hand, or was built for another model, engine version or profile.
    """
    stale = [
        index
        for index, row in enumerate(rows)
        if row["custom_id"] != request_key(fingerprint, row["body"], row.get("sample", 0))
    ]
    if stale:
        raise UserError(
            f"{where}: {len(stale)} of {len(rows)} requests were built for another model, engine version or "
            f"profile, or were changed by hand; first: request {stale[0] + 1}, "
            f"{rows[stale[0]]['custom_id']}. Rebuild the file with the step that writes it."
        )
