"""Logs of lm-evaluation-harness and Inspect AI, of a model each, as a response matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts.diagnosis_tables import DIAGNOSED_ITEMS, RESPONSE_STATUSES
from magister.diagnosis._cells import NOTHING
from magister.diagnosis._rejected import Rejected, refuse_rejected
from magister.diagnosis._response_rows import Rows, gather
from magister.diagnosis.item_files import item_text
from magister.diagnosis.matrix_files import ResponseFile
from magister.diagnosis.responses import Unparsed
from magister.errors import UserError
from magister.items import LOG_SUFFIXES, Log, log_responses, read_log

_MISSING = RESPONSE_STATUSES.index("missing")


@dataclass(frozen=True)
class LogForm:
    """How logs are to be read.

    Attributes:
        form: `lm_eval` or `inspect`.
        measure: scorer, or metric and filter (`exact_match,strict-match`), whose 0 and 1 count; the only one by
            default.
        repetition: which answer of a model to an item counts, from 1.
        models: by path of the log, who answered, where the log does not say or says it otherwise.
        unparsed: what an unreadable reply counts as.
    """

    form: str
    measure: str | None = None
    repetition: int = 1
    models: Mapping[str, str] = field(default_factory=dict)
    unparsed: Unparsed = "wrong"


def read_logs(paths: Sequence[Path], form: LogForm) -> ResponseFile:
    """Read logs.

    Ids of items are made of the task's name and the log's own id. What the scorer says of an unreadable reply is
    believed where it says right; a sample that failed, or that nothing scored, is no response.

    Args:
        paths: a log of one model and one task each.
        form: how.

    Returns:
        Responses, rejected records and, where the logs hold questions, the items. Of several texts of an item that of
        the first model by name is taken.

    Raises:
        UserError: a log cannot be read at all, does not say its model, or has several measures and none is named.
    """
    if not paths:
        raise UserError("no logs; expected one file or more")
    if form.form not in LOG_SUFFIXES:
        raise UserError(f"log format {form.form!r} is unknown; known: {', '.join(LOG_SUFFIXES)}")
    rejected = Rejected()
    found: list[tuple[str, Log, pa.Table]] = []
    for path in paths:
        log = read_log(path, form.form)
        rejected.add_broken(str(path), log.broken)
        log = replace(log, broken=[])
        name = form.models.get(str(path), form.models.get(path.name))
        found.append((str(path), log, log_responses(log, log.task or path.stem, name)))
    measure = _measure([table for _, _, table in found], form.measure)
    parts, notes, repeated = [], [], 0
    for source, _, table in found:
        table = table.filter(pc.is_in(table["measure"], pa.array([measure, ""])))
        first = pc.equal(table["sample"], form.repetition)
        repeated += table.num_rows - (pc.sum(first).as_py() or 0)
        parts.append(_rows(source, table.filter(first), rejected))
    if repeated:
        notes.append(f"{repeated} answers of other repetitions than {form.repetition} are not used")
    if not sum(len(part.numbers) for part in parts):
        refuse_rejected(rejected.table())
        raise UserError(f"{paths[0]}: no sample of measure {measure!r} and repetition {form.repetition}")
    items, differing = _items(found)
    if differing:
        notes.append(
            f"{differing} items have different texts in different logs; that of the first model by name is used"
        )
    return ResponseFile(gather(parts, form.unparsed, rejected), rejected.table(), items, tuple(notes))


def _measure(tables: Sequence[pa.Table], wanted: str | None) -> str:
    known = sorted({name for table in tables for name in pc.unique(table["measure"]).to_pylist()} - {""})
    if wanted is None and len(known) == 1:
        return str(known[0])
    if wanted is not None and (wanted in known or not known):
        return wanted
    if not known:
        raise UserError("the logs have no scores; expected a measure of 0 and 1")
    said = "several measures" if wanted is None else f"no measure {wanted!r}"
    raise UserError(f"the logs have {said}; name one of {', '.join(map(repr, known))}")


def _rows(source: str, table: pa.Table, rejected: Rejected) -> Rows:
    """Rows of one log; what was not scored, or not with 0 or 1, is rejected and missing."""
    numbers = pc.fill_null(table["source_row"], 0).to_numpy().astype(np.int64)
    found = pc.index_in(table["status"], value_set=pa.array(RESPONSE_STATUSES, pa.string()))
    status = pc.fill_null(found, -1).to_numpy().astype(np.int64)
    for at in np.flatnonzero(status < 0).tolist():
        row = table.slice(at, 1).to_pylist()[0]
        rejected.add(
            source,
            int(numbers[at]),
            row["status"],
            row["reason"],
            column=row["measure"],
            raw=row["text"],
            model=row["model"],
            item_id=row["item_id"],
        )
    status[status < 0] = _MISSING
    correct = pc.fill_null(table["correct"].cast(pa.int8()), NOTHING).to_numpy().astype(np.int8)
    return Rows(source, numbers, table["model"], table["item_id"], correct, status.astype(np.int8))


def _items(found: Sequence[tuple[str, Log, pa.Table]]) -> tuple[pa.Table | None, int]:
    """Items with their questions and right answers, and how many have several texts."""
    texts: dict[str, tuple[str, str]] = {}
    several: set[str] = set()
    some = [part for part in found if part[2].num_rows]
    for _, log, table in sorted(some, key=lambda part: (part[2]["model"][0].as_py(), part[0])):
        ids = dict(zip(table["source_id"].to_pylist(), table["item_id"].to_pylist(), strict=True))
        for sample in log.samples:
            question = sample.row.get("question")
            if not isinstance(question, str) or not question.strip():
                continue
            solution = sample.row.get("solution", sample.row.get("answer"))
            text = item_text(question, None if solution is None else str(solution))
            known = texts.setdefault(ids[sample.source_id], (text, log.task))
            if known[0] != text:
                several.add(ids[sample.source_id])
    if not texts:
        return None, 0
    rows = [
        {"item_id": item, "text": text, "item_type": task or None}
        for item, (text, task) in sorted(texts.items())
    ]
    return pa.Table.from_pylist(rows, schema=DIAGNOSED_ITEMS.schema), len(several)
