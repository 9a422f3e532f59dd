"""Logs of Inspect AI: the `.json` form, and the `.eval` form, which is a zip archive of the same JSON.

A log is an object with `eval` (model, task, data set), `status` and `samples`. In an archive the samples are
`samples/<id>_epoch_<n>.json` and the rest stands in `header.json` (in logs that did not finish in
`_journal/start.json`, in the oldest in `start.json`). Long texts of a sample may stand under `attachments`.

Source: UKGovernmentBEIS/inspect_ai, `src/inspect_ai/log/_log.py` and `_recorders/eval.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from magister.errors import UserError
from magister.items.sources._archive import Archive
from magister.items.sources._logs import Log, Sample, Score, Unreadable, sample_id, shown
from magister.items.sources._rows import BrokenRow

_HEADERS = ("header.json", "_journal/start.json", "start.json")
_ATTACHMENT = "attachment://"
# Why a reply ended, where that is no ordinary end.
_STOPS = {"max_tokens": "truncated", "model_length": "truncated", "content_filter": "refusal"}


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable(f"{what}: expected an object, found {shown(value)}")
    return value


def _content(value: Any) -> str | None:
    """Text of a message: a string, or the parts of it that are text. None where there is none."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return None
    parts = [part.get("text") for part in value if isinstance(part, dict) and part.get("type") == "text"]
    texts = [part for part in parts if isinstance(part, str)]
    return "\n".join(texts) if texts else None


def _question(given: Any) -> str | None:
    """What was asked: the input, or what the user says in it."""
    if isinstance(given, str):
        return given
    if not isinstance(given, list):
        return None
    said = [
        _content(message.get("content"))
        for message in given
        if isinstance(message, dict) and message.get("role") == "user"
    ]
    return "\n\n".join(text for text in said if text) or None


def _attached(text: str | None, attachments: Any) -> str | None:
    """A text, fetched from the sample's attachments where only a reference stands in its place."""
    if text is None or not text.startswith(_ATTACHMENT):
        return text
    found = attachments.get(text.removeprefix(_ATTACHMENT)) if isinstance(attachments, dict) else None
    return found if isinstance(found, str) else None


def _reply(record: Mapping[str, Any]) -> tuple[str, str, str]:
    """Status, reason and text of what the model said last."""
    error = record.get("error")
    if error is not None:
        message = error.get("message") if isinstance(error, dict) else error
        return "error", str(message).strip()[:200] or "error", ""
    if record.get("invalidation") is not None:
        return "missing", "the sample was declared invalid", ""
    output = record.get("output")
    output = output if isinstance(output, dict) else {}
    if output.get("error"):
        return "error", str(output["error"]).strip()[:200], ""
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        return "missing", "no reply in the log", ""
    text = _attached(_content(message.get("content")), record.get("attachments")) or ""
    limit = record.get("limit")
    if limit is not None:
        kind = limit.get("type") if isinstance(limit, dict) else limit
        return "truncated", f"stopped by a limit: {shown(kind)}", text
    stop = first.get("stop_reason") if isinstance(first, dict) else None
    if isinstance(stop, str) and stop in _STOPS:
        return _STOPS[stop], f"stop reason {stop}", text
    return ("ok", "", text) if text.strip() else ("no_answer", "empty reply", text)


def _scores(record: Mapping[str, Any]) -> tuple[Score, ...]:
    scores = record.get("scores")
    if scores is None and record.get("score") is not None:
        scores = {"score": record["score"]}  # logs of version 1
    if scores is None:
        return ()
    found: list[Score] = []
    for name, score in _object(scores, "scores").items():
        content = _object(score, f"scores.{name}")
        answer = content.get("answer") if isinstance(content.get("answer"), str) else None
        value = content.get("value")
        if isinstance(value, dict):
            found += [Score(f"{name}.{key}", part, answer) for key, part in value.items()]
        else:
            found.append(Score(name, value, answer))
    return tuple(found)


def _sample(number: int, record: Any) -> Sample:
    record = _object(record, "sample")
    source_id = sample_id(record.get("id"), "id")
    epoch = record.get("epoch", 1)
    if isinstance(epoch, bool) or not isinstance(epoch, int) or not 1 <= epoch <= 1_000_000:
        raise Unreadable(f"epoch: expected a whole number from 1, found {shown(epoch)}")
    choices = record.get("choices")
    if choices is not None and not isinstance(choices, list):
        raise Unreadable(f"choices: expected a list, found {shown(choices)}")
    target = record.get("target")
    if isinstance(target, list) and len(target) == 1:
        target = target[0]
    metadata = record.get("metadata")
    row = dict(metadata) if isinstance(metadata, dict) else {}
    row |= {
        "id": source_id,
        "question": _attached(_question(record.get("input")), record.get("attachments")),
        "options": choices or None,
        "answer": target,
    }
    status, reason, text = _reply(record)
    return Sample(number, source_id, epoch, row, status, reason, text, _scores(record))


def _absent(spec: Mapping[str, Any], samples: list[Sample]) -> list[tuple[str, int]]:
    """Samples that were to be answered: known where the log lists all ids and says nothing of a selection."""
    dataset, config = spec.get("dataset"), spec.get("config")
    dataset = dataset if isinstance(dataset, dict) else {}
    config = config if isinstance(config, dict) else {}
    ids = dataset.get("sample_ids")
    if not isinstance(ids, list) or config.get("limit") is not None or config.get("sample_id") is not None:
        return []
    epochs = config.get("epochs")
    epochs = epochs if isinstance(epochs, int) and not isinstance(epochs, bool) and 1 <= epochs <= 1000 else 1
    here = {(sample.source_id, sample.epoch) for sample in samples}
    wanted = dict.fromkeys(
        (sample_id(one, "eval.dataset.sample_ids"), epoch) for one in ids for epoch in range(1, epochs + 1)
    )
    return [one for one in wanted if one not in here]


def inspect_log(header: Any, records: Iterable[tuple[str, Any]], where: str) -> Log:
    """Read a log.

    Args:
        header: the object with `eval`.
        records: name (for messages) and content of each sample, in order.
        where: the file, for messages.

    Returns:
        The log; a record that is no sample becomes a broken row.

    Raises:
        UserError: the header is none of Inspect's.
    """
    samples: list[Sample] = []
    broken: list[BrokenRow] = []
    for number, (name, record) in enumerate(records, start=1):
        try:
            samples.append(_sample(number, record))
        except Unreadable as error:
            broken.append(BrokenRow(number, f"{name}: {error}", json.dumps(record, ensure_ascii=False)))
    try:
        spec = _object(_object(header, "log").get("eval"), "eval")
        absent = _absent(spec, samples)
    except Unreadable as error:
        raise UserError(f"{where}: not a log of Inspect AI: {error}") from None
    if not samples and not broken:
        status = header.get("status")
        raise UserError(
            f"{where}: no samples; the log's status is {shown(status)}. Was it read without them?"
        )
    model, task = spec.get("model"), spec.get("task")
    return Log(
        where,
        model if isinstance(model, str) else "",
        task if isinstance(task, str) else "",
        samples,
        broken,
        absent,
    )


def _parsed(data: bytes, where: str) -> Any:
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not JSON: {error}") from None


def read_inspect_json(data: bytes, where: str) -> Log:
    """Read the `.json` form.

    Raises:
        UserError: no log of Inspect AI.
    """
    content = _parsed(data, where)
    samples = content.get("samples") if isinstance(content, dict) else None
    if samples is not None and not isinstance(samples, list):
        raise UserError(f"{where}: samples: expected a list, found {shown(samples)}")
    return inspect_log(content, [(f"samples[{at}]", one) for at, one in enumerate(samples or [])], where)


def read_inspect_eval(path: Path) -> Log:
    """Read the `.eval` form.

    Raises:
        UserError: no archive, or no log of Inspect AI in it.
    """
    with Archive(path) as archive:
        names = archive.names()
        headers = [name for name in _HEADERS if name in names]
        if not headers:
            raise UserError(
                f"{path}: not a log of Inspect AI: none of {', '.join(_HEADERS)} is in the archive"
            )
        header = _parsed(archive.read(headers[0]), f"{path}: {headers[0]}")
        wanted = [name for name in names if name.startswith("samples/") and name.endswith(".json")]
        return inspect_log(
            header, ((name, _parsed(archive.read(name), f"{path}: {name}")) for name in wanted), str(path)
        )
