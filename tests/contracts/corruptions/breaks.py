"""What a way to break a rule is, and those that rules of several gates share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
Values = Mapping[str, Any]


def always(row: Row) -> bool:
    return True


@dataclass(frozen=True)
class Break:
    """A change of one row.

    Attributes:
        values: new values, or what makes them from the row.
        where: rows that can be changed so.
        table: table that is changed; by default the one whose rule it breaks.
        also: other rules of the same table that may break with it.
        old_key: whether the row that is named has the key from before the change.
        plan: fields of the plan that are changed with it.
    """

    values: Values | Callable[[Row], Values]
    where: Callable[[Row], bool] = always
    table: str = ""
    also: frozenset[str] = frozenset()
    old_key: bool = False
    plan: Values = field(default_factory=dict)

    def apply(self, row: Row) -> Row:
        """The row after the change."""
        return row | dict(self.values(row) if callable(self.values) else self.values)


FAILED = {
    "status": "error", "answer": None, "span_start": None, "span_end": None, "rule": "error", "correct": None,
}  # fmt: skip


def is_ok(row: Row) -> bool:
    return bool(row["status"] == "ok")


def reply_breaks(where: Callable[[Row], bool] = is_ok) -> dict[str, Break]:
    """Ways to break the rules of any reply."""

    def known(row: Row, values: Values) -> Row:
        return {name: value for name, value in values.items() if name in row}

    return {
        "rule_known": Break({"rule": "vibes"}, where),
        "answer_where_ok": Break(lambda row: known(row, {"status": "no_answer", "correct": False}), where),
        "span_where_ok": Break({"span_start": None, "span_end": None}, where),
        "span_paired": Break({"span_end": None}, where),
        "span_within_text": Break(lambda row: {"span_end": len(row["text"]) + 1}, where),
        "failure_coded": Break(lambda row: known(row, FAILED | {"text": "", "error": None}), where),
        "failure_silent": Break(lambda row: known(row, FAILED | {"error": "timeout"}), where),
    }


def choice_breaks(
    where: Callable[[Row], bool] = is_ok, also: frozenset[str] = frozenset()
) -> dict[str, Break]:
    """Ways to break the rules of an answer that names options."""
    return {
        "correct_null_on_error": Break({"correct": None}, where, also=also),
        "answer_within_options": Break(
            {"answer": "E"}, lambda row: where(row) and not row["correct"], also=also
        ),
        "correct_agrees_with_key": Break(lambda row: {"correct": not row["correct"]}, where, also=also),
    }


BARE = {"ci_low": None, "ci_high": None}


def shifted(column: str, also: frozenset[str] = frozenset(), where: Callable[[Row], bool] = always) -> Break:
    """Another number than the one that is there."""
    return Break(
        lambda row: {column: row[column] + 0.125},
        lambda row: row[column] is not None and where(row),
        also=also,
    )
