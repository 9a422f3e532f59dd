"""Votes: rows of any file or frame, coded once into whole numbers.

Labels are strict: what is not a known label is rejected with its row, never read as a tie. The two sides of a vote
are put in one order, so that neither the side a model was shown on nor the order of the rows can matter to a rating;
which side came first is kept for the test of position bias only.

The same (pair, instruction, annotator) twice is flagged and counted once; where the two contradict, the annotator
does not tell the models apart and the vote that counts is a tie. A row without an instruction or an annotator cannot
be told from another vote and is never flagged.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from magister.arena._codes import LABELS, UNJUDGED, UNKNOWN, Ints, text_codes, winner_codes
from magister.contracts.arena_tables import VOTES_REJECTED
from magister.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: dict[str, tuple[str, ...]] = {
    "model_a": ("model_a",),
    "model_b": ("model_b",),
    "winner": ("winner",),
    "scenario": ("scenario",),
    "annotator": ("annotator", "annotator_id", "judge"),
    "instruction": ("instruction_id", "instruction", "item_id", "question_id"),
    "cluster": ("root_id", "cluster_id"),
    "seconds": ("seconds",),
}
"""Names looked for where a column is not named; the first three must be there."""
REQUIRED = ("model_a", "model_b", "winner")
_REASONS = (
    "",
    "self_match",
    "unknown_model",
    "missing_model",
    "unknown_winner",
    "duplicate",
    "contradicting_duplicate",
)
_SHOWN = 3


@dataclass(frozen=True)
class Votes:
    """Coded votes, v of them; `low` < `high` in every one.

    Attributes:
        models: names, sorted; codes are positions here.
        scenarios: names, sorted; empty where the votes have none.
        low: code of one model, shape (v,).
        high: code of the other, shape (v,).
        outcome: 0 `low` won, 1 `high` won, 2 tie, shape (v,).
        low_first: whether `low` was side a, shape (v,), bool.
        scenario: code, or -1, shape (v,).
        cluster: code of what is resampled as one (the instruction's root, else the instruction), or -1; codes are in
            the order of the labels, within a scenario.
        annotator: code in the order of the labels, or -1.
        seconds: time that the vote took; NaN where unknown.
        n_rows: rows read.
        n_unjudged: rows without a winner.
        n_both_bad: ties of which both sides were called bad.
        rejected: table of the contract `votes_rejected`: rows that do not count, and why.
        columns: the column that each role was read from.
    """

    models: tuple[str, ...]
    scenarios: tuple[str, ...]
    low: Ints
    high: Ints
    outcome: Ints
    low_first: NDArray[np.bool_]
    scenario: Ints
    cluster: Ints
    annotator: Ints
    seconds: NDArray[np.float64]
    n_rows: int
    n_unjudged: int
    n_both_bad: int
    rejected: pa.Table
    columns: dict[str, str]

    def __len__(self) -> int:
        return int(self.low.size)


def code_votes(
    votes: pa.Table | pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    models: Sequence[str] | None = None,
    source: str = "votes",
    rows: ArrayLike | None = None,
) -> Votes:
    """Code votes.

    Args:
        votes: a row per vote; see `COLUMNS` for the names that are looked for.
        columns: column of each role of `COLUMNS`, where its name is another.
        models: names that may stand in the votes, all by default; those without a vote are part of the result too.
        source: what to call the votes in messages.
        rows: number of each row in the user's file, 1, 2, ... by default.

    Returns:
        The votes that count, and those that do not with their reasons: `unknown_winner`, `missing_model`,
        `unknown_model`, `self_match`, `duplicate` and `contradicting_duplicate`.

    Raises:
        UserError: a column is missing, or there is no row.
    """
    table = votes if isinstance(votes, pa.Table) else _from_pandas(votes, source)
    n = table.num_rows
    if n == 0:
        raise UserError(f"{source}: no votes; expected a row per vote")
    named = _resolve(table.column_names, columns or {}, source)
    number = np.arange(1, n + 1) if rows is None else np.asarray(rows, dtype=np.int64)
    pair, names = text_codes(table[named["model_a"]], table[named["model_b"]])
    a, b = pair
    _refuse_lookalikes(names, source)
    said = winner_codes(table[named["winner"]])
    # Positions in `_REASONS`; 0 for a vote that counts.
    reason = np.zeros(n, dtype=np.int8)
    unjudged = said == UNJUDGED
    all_models = sorted(set(names if models is None else models))
    places = {name: k for k, name in enumerate(all_models)}
    # -1 is a missing name, -2 one that may not stand here.
    place = np.array([*(places.get(name, -2) for name in names), -1], dtype=np.int64)
    same = a == b
    a, b = place[a], place[b]
    wrong = (same, (a == -2) | (b == -2), (a == -1) | (b == -1), said == UNKNOWN)
    for code, holds in enumerate(wrong, start=1):
        reason[holds] = code
    reason[unjudged] = 0
    scenario, scenarios = _optional(table, named, "scenario")
    instruction, _ = _optional(table, named, "instruction")
    cluster = _optional(table, named, "cluster")[0] if "cluster" in named else instruction
    annotator, _ = _optional(table, named, "annotator")
    low_first = a <= b
    low, high = np.minimum(a, b), np.maximum(a, b)
    outcome = np.where(said >= 2, 2, np.where(low_first, said, 1 - said))
    if instruction.max() >= 0 and annotator.max() >= 0:
        counts = (reason == 0) & ~unjudged
        _flag_duplicates(reason, outcome, counts, (_joint(scenario, instruction), annotator, low, high))
    kept = np.flatnonzero((reason == 0) & ~unjudged)
    return Votes(
        models=tuple(all_models),
        scenarios=tuple(scenarios),
        low=low[kept],
        high=high[kept],
        outcome=outcome[kept],
        low_first=low_first[kept],
        scenario=scenario[kept],
        cluster=_joint(scenario, cluster)[kept],
        annotator=annotator[kept],
        seconds=_seconds(table, named, source)[kept],
        n_rows=n,
        n_unjudged=int(unjudged.sum()),
        n_both_bad=int((said[kept] == 3).sum()),
        rejected=_rejected(table, named, reason, number, source),
        columns=named,
    )


def _refuse_lookalikes(names: Sequence[str], source: str) -> None:
    """Refuse names that nobody can tell apart: they differ by spaces, of any width, or invisible characters alone."""
    seen: dict[str, str] = {}
    for name in names:
        shown = "".join(
            char for char in name if unicodedata.category(char) not in ("Cf", "Cc") or char.isspace()
        )
        other = seen.setdefault(" ".join(shown.split()), name)
        if other is not name:
            raise UserError(
                f"{source}: the models {other!a} and {name!a} differ by spaces or invisible characters "
                "alone, and would be rated as two; write one name in one way"
            )


def is_wrong(reason: str) -> bool:
    """Whether a reason of `votes_rejected` is a mistake; a vote that was cast twice is none."""
    return reason not in ("duplicate", "contradicting_duplicate")


def describe_rejected(rejected: pa.Table) -> list[str]:
    """One sentence per reason: how many rows, and the first of them.

    Args:
        rejected: table of the contract `votes_rejected`.
    """
    out = []
    reasons = rejected["reason"].to_pylist()
    for reason in sorted(set(reasons)):
        rows = [row for row in rejected.to_pylist() if row["reason"] == reason]
        shown = "; ".join(f"row {row['row']}: {row['detail']}" for row in rows[:_SHOWN])
        more = "; ..." if len(rows) > _SHOWN else ""
        out.append(f"{len(rows)} row(s) {reason}: {shown}{more}")
    return out


def _from_pandas(votes: pd.DataFrame, source: str) -> pa.Table:
    try:
        return pa.Table.from_pandas(votes, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise UserError(f"{source}: a column holds values of several types: {error}") from None


def _resolve(present: Sequence[str], columns: Mapping[str, str], source: str) -> dict[str, str]:
    unknown = sorted(set(columns) - set(COLUMNS))
    if unknown:
        raise UserError(f"{source}: no role {unknown[0]!r} for a column; roles: {', '.join(COLUMNS)}")
    found = ", ".join(repr(name) for name in present)
    named = {}
    for role, usual in COLUMNS.items():
        wanted = columns.get(role)
        if wanted is not None and wanted not in present:
            raise UserError(f"{source}: no column {wanted!r} for {role}. Columns found: {found}")
        name = wanted or next((name for name in usual if name in present), None)
        if name is not None:
            named[role] = name
        elif role in REQUIRED:
            raise UserError(
                f"{source}: no column {role!r}. Columns found: {found}. {_separator(present)}Expected "
                f"{', '.join(REQUIRED)}; name the right one for {role}"
            )
    return named


def _separator(present: Sequence[str]) -> str:
    """A hint where the only column looks like several."""
    for mark, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(present) == 1 and mark in present[0]:
            return f"The cells seem to be separated by {name}: separate them by commas. "
    return ""


def _optional(table: pa.Table, named: dict[str, str], role: str) -> tuple[Ints, list[str]]:
    if role not in named:
        return np.full(table.num_rows, -1, dtype=np.int64), []
    (codes,), labels = text_codes(table[named[role]])
    return codes, labels


def _joint(scenario: Ints, label: Ints) -> Ints:
    """Codes of a label within its scenario, in their order; -1 without a label."""
    if label.size == 0 or label.max() < 0:
        return label
    joint = (scenario + 1) * (label.max() + 1) + label
    out = np.full(label.size, -1, dtype=np.int64)
    there = label >= 0
    out[there] = np.unique(joint[there], return_inverse=True)[1]
    return out


def _flag_duplicates(
    reason: NDArray[np.int8], outcome: Ints, counts: NDArray[np.bool_], parts: tuple[Ints, ...]
) -> None:
    """Mark all but the first row of each repeated key; the first becomes a tie where the rows contradict."""
    told = counts & (parts[0] >= 0) & (parts[1] >= 0)
    at = np.flatnonzero(told)
    if not at.size:
        return
    key = parts[0][at]
    for part in parts[1:]:
        key = np.unique(key, return_inverse=True)[1] * (int(part[at].max()) + 1) + part[at]
    _, first, group, size = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    if size.max() == 1:
        return
    highest = np.zeros(size.size, dtype=np.int64)
    lowest = np.full(size.size, 2, dtype=np.int64)
    np.maximum.at(highest, group, outcome[at])
    np.minimum.at(lowest, group, outcome[at])
    contradict = highest != lowest
    outcome[at[first[contradict]]] = 2
    repeated = np.ones(at.size, dtype=bool)
    repeated[first] = False
    reason[at[repeated]] = np.where(
        contradict[group[repeated]], _REASONS.index("contradicting_duplicate"), _REASONS.index("duplicate")
    )


def _seconds(table: pa.Table, named: dict[str, str], source: str) -> NDArray[np.float64]:
    if "seconds" not in named:
        return np.full(table.num_rows, np.nan)
    column = table[named["seconds"]]
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    except pa.ArrowInvalid as error:
        raise UserError(
            f"{source}: column {named['seconds']!r}: expected seconds as numbers: {error}"
        ) from None


def _rejected(
    table: pa.Table, named: dict[str, str], reason: NDArray[np.int8], number: Ints, source: str
) -> pa.Table:
    at = np.flatnonzero(reason)
    asked = {role: named[role] for role in (*REQUIRED, "instruction", "annotator") if role in named}
    parts = table.select(list(dict.fromkeys(asked.values()))).take(pa.array(at)).to_pylist()
    rows = [
        {
            "source": source,
            "row": int(number[k]),
            "reason": _REASONS[reason[k]],
            "detail": _detail(_REASONS[reason[k]], {role: part[name] for role, name in asked.items()}),
            "raw": json.dumps(part, ensure_ascii=False, default=str),
            "annotator": None if "annotator" not in asked else _label(part[asked["annotator"]]),
        }
        for k, part in zip(at.tolist(), parts, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=VOTES_REJECTED.schema)


def _label(value: Any) -> str | None:
    return None if value is None else str(value)


def _detail(reason: str, row: dict[str, Any]) -> str:
    """What is wrong with a row, in words."""
    sides = f"{row['model_a']!r} and {row['model_b']!r}"
    if reason == "unknown_winner":
        return f"winner {row['winner']!r}; expected one of {', '.join(LABELS)}"
    if reason == "self_match":
        return f"{row['model_a']!r} on both sides"
    if reason == "missing_model":
        return f"a side has no model: {sides}"
    if reason == "unknown_model":
        return f"{sides}: not both among the models that may stand here"
    again = f"{sides}, instruction {row['instruction']!r}, annotator {row['annotator']!r}: voted on before"
    return again if reason == "duplicate" else f"{again}, and otherwise; counted once, as a tie"
