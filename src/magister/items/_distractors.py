"""Distractors: wrong answers that weak models really gave."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from magister.answers import canonical_value
from magister.contracts.schemas import DISTRACTORS
from magister.errors import UserError
from magister.items._formats import decimal_value, format_options
from magister.items._numbers import is_numeric, parse_number
from magister.items._text import clean, seeded_rank

MAX_CHARS = 120
_NEEDED = ("item_id", "model", "request_id", "status")


class Harvest(NamedTuple):
    """Candidate distractors of all open items.

    Attributes:
        table: the DISTRACTORS table, all ranks.
        dropped: by reason, how many answers are no candidate: `status:<status>`, `native_item`,
            `unknown_item`, `empty`, `too_long`, `several_lines`, `not_numeric`, `equals_gold`.
        merged: answers equal to a candidate that was there already; they count for it.
    """

    table: pa.Table
    dropped: dict[str, int]
    merged: int


@dataclass
class _Candidate:
    canonical: str
    models: set[str] = field(default_factory=set)
    forms: Counter[str] = field(default_factory=Counter)
    request_ids: set[str] = field(default_factory=set)

    def row(self, item_id: str, rank: int) -> dict[str, Any]:
        return {
            "item_id": item_id,
            "rank": rank,
            "text": min(self.forms, key=lambda form: (-self.forms[form], len(form), form)),
            "canonical": self.canonical,
            "n_models": len(self.models),
            "n_answers": self.forms.total(),
            "request_ids": sorted(self.request_ids),
        }


@dataclass(frozen=True)
class _Gold:
    canonical: frozenset[str]
    numeric: bool
    decimal: bool

    @classmethod
    def read(cls, text: str) -> _Gold:
        # As it stands and as it will be shown: without a unit it may equal more answers.
        shown = format_options([text], text)[0]
        canonical = frozenset({canonical_value(text), canonical_value(shown)})
        return cls(canonical, is_numeric(text), parse_number(text) is not None)


def _answer_rows(answers: pa.Table | Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], str]:
    rows: list[Mapping[str, Any]]
    if isinstance(answers, pa.Table):
        rows, names = answers.to_pylist(), set(answers.column_names)
    else:
        rows, names = list(answers), {name for row in answers for name in row}
    value = next((name for name in ("answer", "value") if name in names), None)
    missing = [name for name in _NEEDED if name not in names] + ([] if value else ["answer"])
    if rows and missing:
        found = ", ".join(sorted(names))
        raise UserError(f"free-form answers: no column {', '.join(missing)}; found {found}")
    return rows, value or "answer"


def _why_not(text: str, canonical: str, gold: _Gold) -> str | None:
    if len(text) > MAX_CHARS:
        return "too_long"
    if "\n" in text or "\r" in text:
        return "several_lines"
    if canonical in gold.canonical:
        return "equals_gold"
    if gold.decimal and decimal_value(text) is None:
        return "not_numeric"
    if gold.numeric and not (is_numeric(text) or is_numeric(canonical)):
        return "not_numeric"
    return None


def harvest_distractors(
    pool: pa.Table, answers: pa.Table | Sequence[Mapping[str, Any]], seed: int = 0
) -> Harvest:
    """Collect the wrong answers to open questions.

    Answers equal in value are one candidate, shown in its most frequent form (then the shortest, then the
    first in the alphabet). Candidates are ranked by the number of models that gave them, then of answers,
    then by a seeded hash. Beside a numeric gold only numbers stay: a word among numbers would be excluded by
    its form. Where the gold has a decimal form, so must the candidate.

    Args:
        pool: POOL table. Items with options of their own get no distractors.
        answers: free-form answers with item_id, model, request_id, status and answer (or value): a table or
            records.
        seed: for ties.

    Returns:
        The candidates, and what was dropped and why.

    Raises:
        UserError: a column of the answers is missing.
    """
    golds: dict[str, _Gold | None] = {}
    for row in pool.select(["item_id", "gold", "options"]).to_pylist():
        golds[row["item_id"]] = _Gold.read(row["gold"]) if row["options"] is None else None
    dropped: Counter[str] = Counter()
    found: dict[str, dict[str, _Candidate]] = defaultdict(dict)
    kept = 0
    rows, value = _answer_rows(answers)
    for row in rows:
        if row["item_id"] not in golds:
            dropped["unknown_item"] += 1
            continue
        item_gold = golds[row["item_id"]]
        if item_gold is None:
            dropped["native_item"] += 1
            continue
        if row["status"] != "ok":
            dropped[f"status:{row['status']}"] += 1
            continue
        text = clean(row[value] or "")
        canonical = canonical_value(text) if text else ""
        reason = _why_not(text, canonical, item_gold) if canonical else "empty"
        if reason is not None:
            dropped[reason] += 1
            continue
        kept += 1
        candidate = found[row["item_id"]].setdefault(canonical, _Candidate(canonical))
        candidate.models.add(row["model"])
        candidate.forms[" ".join(text.split())] += 1
        candidate.request_ids.add(row["request_id"])
    out: list[dict[str, Any]] = []
    for item_id in sorted(found):
        ranked = sorted(
            found[item_id].values(),
            key=lambda one: (-len(one.models), -one.forms.total(), seeded_rank(seed, item_id, one.canonical)),
        )
        out += [candidate.row(item_id, rank) for rank, candidate in enumerate(ranked, start=1)]
    table = pa.Table.from_pylist(out, schema=DISTRACTORS.schema)
    return Harvest(table, dict(sorted(dropped.items())), kept - len(out))
