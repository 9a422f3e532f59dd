"""Votes of an arena: against the replies they were read from, and counted once for the ratings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.audit.recompute._ledger import Bools, Floats, Ints, Ledger, Sheet
from magister.audit.recompute._rows import Reply

KEY = ("vote_id",)
KINDS = ("person", "judge", "key")
TIE = 2


@dataclass(frozen=True)
class Ballots:
    """Votes that count.

    Attributes:
        models: names, sorted, length M.
        scenarios: names, sorted.
        low: one model of each vote, the first by name, shape (v,).
        high: the other.
        score: points of `low`: 1, 1/2 or 0.
        scenario: code of each.
        unit: code of scenario and root instruction, what is resampled together.
        annotator: code of each.
    """

    models: list[str]
    scenarios: list[str]
    low: Ints
    high: Ints
    score: Floats
    scenario: Ints
    unit: Ints
    annotator: Ints

    def some(self, chosen: Bools) -> Ballots:
        """The votes that are chosen."""
        return replace(
            self,
            low=self.low[chosen],
            high=self.high[chosen],
            score=self.score[chosen],
            scenario=self.scenario[chosen],
            unit=self.unit[chosen],
            annotator=self.annotator[chosen],
        )


def ballots_of(table: pa.Table, models: list[str]) -> Ballots:
    """Count each vote of an annotator on an instruction and pair once; two that contradict are a tie.

    Args:
        table: VOTES.
        models: of the arena.
    """
    columns = {
        name: table[name].to_pylist() for name in ("model_a", "model_b", "winner", "scenario", "annotator")
    }
    roots, instructions = table["root_id"].to_pylist(), table["instruction_id"].to_pylist()
    names = sorted(set(models))
    place = {name: k for k, name in enumerate(names)}
    seen: dict[tuple[object, ...], int] = {}
    kept: list[list[float]] = []
    keys: list[tuple[str, str, str]] = []
    for row, winner in enumerate(columns["winner"]):
        a, b = place.get(columns["model_a"][row], -1), place.get(columns["model_b"][row], -1)
        if min(a, b) < 0 or a == b:
            continue
        score = {"a": 1.0, "b": 0.0}.get(winner, 0.5)
        low, high, points = (a, b, score) if a < b else (b, a, 1 - score)
        one = (columns["scenario"][row], instructions[row], columns["annotator"][row], low, high)
        if one in seen:
            if kept[seen[one]][2] != points:
                kept[seen[one]][2] = 0.5
            continue
        seen[one] = len(kept)
        kept.append([low, high, points])
        keys.append((columns["scenario"][row], roots[row], columns["annotator"][row]))
    array = np.array(kept, dtype=np.float64).reshape(-1, 3)
    scenarios = sorted({key[0] for key in keys})
    units = {unit: k for k, unit in enumerate(sorted({(key[0], key[1]) for key in keys}))}
    people = {name: k for k, name in enumerate(sorted({key[2] for key in keys}))}
    return Ballots(
        names,
        scenarios,
        array[:, 0].astype(np.int64),
        array[:, 1].astype(np.int64),
        array[:, 2],
        np.array([scenarios.index(key[0]) for key in keys], dtype=np.int64),
        np.array([units[key[0], key[1]] for key in keys], dtype=np.int64),
        np.array([people[key[2]] for key in keys], dtype=np.int64),
    )


def hold_judge(ledger: Ledger, sheet: Sheet) -> None:
    """Votes of judges: one winner of both orders, or a tie of two that differ.

    Args:
        ledger: for findings.
        sheet: VOTES.
    """
    rows = np.flatnonzero(sheet.texts("annotator_kind") == "judge")
    a_first, b_first = sheet.texts("winner_a_first")[rows], sheet.texts("winner_b_first")[rows]
    winner, flipped = sheet.texts("winner")[rows], sheet.numbers("flipped")[rows]
    both = np.array(
        [x is not None and y is not None for x, y in zip(a_first, b_first, strict=True)], dtype=bool
    )
    rows, a_first, b_first, winner, flipped = (x[both] for x in (rows, a_first, b_first, winner, flipped))
    ledger.compare(
        sheet, "flipped", np.asarray(a_first != b_first, dtype=np.float64), "votes: flipped", rows=rows
    )
    wanted = np.where(a_first == b_first, a_first, "tie").astype(object)
    ledger.compare(sheet, "winner", wanted, "votes: the winner of both orders", rows=rows)


def hold_judged(
    ledger: Ledger, sheet: Sheet, asked: pa.Table, key: pa.Table, replies: Mapping[str, Reply]
) -> None:
    """Votes of one judge against its replies, where a reply says nothing but a verdict.

    Order 1 shows response 1 of the sheet first, order 2 response 2. A reply "[[A]]" is for the first shown.

    Args:
        ledger: for findings.
        sheet: its VOTES.
        asked: what it was asked: comparison_id, order, request_id.
        key: the sheet's key, with model_1 and model_2.
        replies: by request.
    """
    rows = {name: row for row, name in enumerate(sheet.texts("comparison_id").tolist())}
    first = dict(zip(key["comparison_id"].to_pylist(), key["model_1"].to_pylist(), strict=True))
    for one in asked.to_pylist():
        row, reply = rows.get(one["comparison_id"]), replies.get(one["request_id"])
        if row is None or reply is None or reply.text.strip() not in ("[[A]]", "[[B]]", "[[tie]]"):
            continue
        word = reply.text.strip().strip("[]")
        model_1_first = one["order"] == 1
        a_is_1 = sheet.texts("model_a")[row] == first.get(one["comparison_id"])
        a_shown_first = model_1_first == a_is_1
        said = "tie" if word == "tie" else "a" if (word == "A") == a_shown_first else "b"
        column = "winner_a_first" if a_shown_first else "winner_b_first"
        ledger.compare(sheet, column, np.array([said], dtype=object), "votes: plain replies of judges, read again",
                       rows=np.array([row]))  # fmt: skip


def hold_key(ledger: Ledger, sheet: Sheet, verdicts: pa.Table) -> None:
    """Votes of the answer key: who is right alone wins; both right is a tie, both wrong are both bad.

    Args:
        ledger: for findings.
        sheet: VOTES of the key.
        verdicts: whether each model's response is right, by model and instruction.
    """
    right = {
        (row["model"], row["instruction_id"]): bool(row["correct"])
        for row in verdicts.select(["model", "instruction_id", "correct"]).to_pylist()
    }
    wanted = []
    for model_a, model_b, instruction in zip(
        *(sheet.texts(name) for name in ("model_a", "model_b", "instruction_id")), strict=True
    ):
        a, b = right.get((model_a, instruction)), right.get((model_b, instruction))
        known = a is not None and b is not None
        wanted.append(
            None if not known else "a" if a and not b else "b" if b and not a else "tie" if a else "both_bad"
        )
    ledger.compare(sheet, "winner", np.array(wanted or [None], dtype=object)[: len(wanted)],
                   "votes: the winner by the answer key")  # fmt: skip


def connected(models: int, low: Ints, high: Ints) -> NDArray[np.int64]:
    """The connected part of each model, by its least member; models without a vote are parts of their own."""
    part = np.arange(models)
    while True:
        least = part.copy()
        np.minimum.at(least, low, part[high])
        np.minimum.at(least, high, part[low])
        least = least[least]
        if (least == part).all():
            return part
        part = least
