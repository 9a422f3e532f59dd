"""Evaluation logs of other tools: what they say of items and of models' answers to them."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from magister.contracts.schemas import STATUSES, Contract
from magister.errors import UserError
from magister.items._text import given_item_id
from magister.items.sources._rows import BrokenRow

# Beyond the statuses of our own replies: the sample is not in the log or holds no reply, nothing scored it,
# its score is neither 0 nor 1. `correct` is null in these and in `error`.
LOG_STATUSES = (*STATUSES, "missing", "unscored", "not_binary")

_s = pa.string()
LOG_RESPONSES = Contract(
    "log_responses",
    pa.schema(
        [pa.field(name, _s, nullable=False) for name in ("model", "task", "item_id", "source_id")]
        + [pa.field("sample", pa.int32(), nullable=False)]
        + [pa.field(name, _s, nullable=False) for name in ("measure", "status", "reason", "text")]
        + [
            pa.field("answer", _s),
            pa.field("correct", pa.bool_()),
            pa.field("score", pa.float64()),
            pa.field("source_row", pa.int32()),
        ]
    ),
    key=("model", "item_id", "sample", "measure"),
    allowed={"status": LOG_STATUSES},
    ranges={"sample": (1, 1e6)},
    may_be_empty=True,
)
_WORDS = {"C": 1.0, "I": 0.0, "N": 0.0, "CORRECT": 1.0, "INCORRECT": 0.0}


class Unreadable(ValueError):
    """A record that is no sample, with the reason for the user."""


@dataclass(frozen=True)
class Score:
    """What one measure says of a sample.

    Attributes:
        measure: scorer, or metric and filter.
        value: as the log has it; None where nothing was scored.
        answer: the answer that was scored, as far as the log says.
    """

    measure: str
    value: Any
    answer: str | None = None


@dataclass(frozen=True)
class Sample:
    """One record of a log: an item and a model's answer to it.

    Attributes:
        number: its line, or its place from 1.
        source_id: the log's own id of the item.
        epoch: repetition, from 1.
        row: the item as a raw row: id, question, options, answer, and further fields by their own names.
        status: of the reply, as in `STATUSES`, or `missing`.
        reason: why, where the status is not `ok`.
        text: the reply.
        scores: by measure.
    """

    number: int
    source_id: str
    epoch: int
    row: dict[str, Any]
    status: str
    reason: str
    text: str
    scores: tuple[Score, ...]


@dataclass(frozen=True)
class Log:
    """A log, read.

    Attributes:
        where: the file, for messages.
        model: who answered; empty where the log does not say.
        task: what the tool calls the set of items.
        samples: its readable records, in order.
        broken: the others.
        absent: ids (with repetition) of samples that the log says were to be answered and does not hold.
    """

    where: str
    model: str
    task: str
    samples: list[Sample]
    broken: list[BrokenRow]
    absent: list[tuple[str, int]] = field(default_factory=list)


def sample_id(value: Any, what: str) -> str:
    """An id as text.

    Raises:
        Unreadable: it is neither a whole number nor text.
    """
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise Unreadable(f"{what}: expected a number or text, found {shown(value)}")
    try:
        text = str(value)
        text.encode("utf-8")
    except ValueError:
        raise Unreadable(f"{what}: not usable as an id") from None
    return text


def shown(value: Any) -> str:
    """A value for a message, shortened."""
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**18 else "a very large number"
    return text if len(text) <= 60 else f"{text[:57]}..."


def plain_text(value: str) -> str:
    """Text that can be stored: half of a surrogate pair is written out as `\\udXXX`."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def item_rows(log: Log) -> tuple[list[dict[str, Any]], list[int], dict[str, int]]:
    """The items of a log: a row each, however often it was answered or scored.

    Records of one id that differ in their item are kept: the data gate rejects them as `duplicate_id`.

    Returns:
        Rows, the numbers of the records they come from, and by reason how many records were folded.
    """
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    seen: set[str] = set()
    for sample in log.samples:
        content = json.dumps(sample.row, sort_keys=True, default=str)
        if content in seen:
            continue
        seen.add(content)
        rows.append(sample.row)
        numbers.append(sample.number)
    folded = len(log.samples) - len(rows)
    return rows, numbers, {"same item under another filter or epoch": folded} if folded else {}


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return _WORDS.get(value.strip().upper())
    if not isinstance(value, bool | int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _scored(sample: Sample, score: Score) -> dict[str, Any]:
    """Status, correctness and score: a reply that is missing, failed or not scored is never a wrong one."""
    number = _number(score.value)
    result: dict[str, Any] = {
        "status": sample.status,
        "reason": sample.reason,
        "correct": None,
        "score": number,
    }
    if sample.status in ("error", "missing"):
        return result
    if score.value is None or (isinstance(score.value, float) and math.isnan(score.value)):
        return result | {
            "status": "unscored",
            "reason": f"no value of {score.measure}" if score.measure else "no score",
        }
    if number not in (0.0, 1.0):
        return result | {"status": "not_binary", "reason": f"{score.measure} is {shown(score.value)}"}
    if sample.status == "ok" and score.value == "N":
        result |= {"status": "no_answer", "reason": "the scorer found no answer"}
    return result | {"correct": number == 1.0}


def log_responses(log: Log, dataset: str, model: str | None = None) -> pa.Table:
    """What models answered, as a long table: the makings of a response matrix.

    A row per item, repetition and measure. `correct` is null where the sample failed, is missing, was not
    scored or has a score other than 0 and 1: choose one measure and pivot; a null is no answer, never a 0.

    Args:
        log: from `read_log`.
        dataset: name of the data set; with it `item_id` is that of the pool made from the same log.
        model: who answered, where the log does not say or says it otherwise.

    Returns:
        Table of contract `log_responses`, sorted by its key.

    Raises:
        UserError: a record cannot be read, a sample stands there twice, or the model is unknown.
    """
    if log.broken:
        first = log.broken[0]
        raise UserError(
            f"{log.where}: {len(log.broken)} records cannot be read; record {first.number}: {first.detail}"
        )
    name = model or log.model
    if not name:
        raise UserError(f"{log.where}: the log does not say which model answered; name it")
    base = {"model": plain_text(name), "task": plain_text(log.task)}
    rows: list[dict[str, Any]] = []
    taken: dict[tuple[str, int, str], int] = {}
    measures: Counter[str] = Counter()
    for sample in log.samples:
        for score in sample.scores or (Score("", None),):
            key = (sample.source_id, sample.epoch, score.measure)
            if key in taken:
                raise UserError(
                    f"{log.where}: records {taken[key]} and {sample.number} are both sample {shown(sample.source_id)}"
                    f", repetition {sample.epoch}, {score.measure or 'not scored'}: keep one of them"
                )
            taken[key] = sample.number
            measures[score.measure] += 1
            rows.append(
                base
                | {
                    "item_id": given_item_id(dataset, sample.source_id),
                    "source_id": sample.source_id,
                    "sample": sample.epoch,
                    "measure": plain_text(score.measure),
                    "text": plain_text(sample.text),
                    "answer": None if score.answer is None else plain_text(score.answer),
                    "source_row": sample.number,
                }
                | _scored(sample, score)
            )
    for row in rows:
        row["reason"] = plain_text(row["reason"])
    rows += [
        base
        | {"item_id": given_item_id(dataset, one), "source_id": one, "sample": epoch, "measure": measure}
        | {"status": "missing", "reason": "not in the log", "text": "", "answer": None, "correct": None}
        | {"score": None, "source_row": None}
        for one, epoch in log.absent
        for measure in sorted(measures) or [""]
    ]
    table = pa.Table.from_pylist(rows, schema=LOG_RESPONSES.schema)
    return table.sort_by([(column, "ascending") for column in LOG_RESPONSES.key])
