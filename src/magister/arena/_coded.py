"""Votes as arrays of whole numbers, coded once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.arena._codes import LABELS, text_codes, winner_codes

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

A, B, TIE, NONE = 0, 1, 2, -1
"""Outcomes; `both_bad` is a tie, as in ratings."""


@dataclass(frozen=True)
class Coded:
    """Votes in the order of comparison and annotator.

    Attributes:
        outcome: A, B or TIE.
        both_bad: whether both were called bad.
        comparison: code of the comparison.
        root: code of the root instruction, the unit of resampling.
        scenario: code of the scenario.
        annotator: code of (kind, annotator).
        kind: kind of each annotator, by code.
        name: name of each annotator, by code.
        scenarios: names by code.
        roots: number of roots.
        comparisons: number of comparisons.
        first: side shown first, A or B, else NONE.
        a_first: what a judge said with a first, else NONE.
        b_first: what a judge said with b first, else NONE.
        flipped: whether a judge contradicts itself; -1 where it could not.
        longer: the side with more characters, TIE for equal lengths, NONE where they are not known.
    """

    outcome: IntArray
    both_bad: BoolArray
    comparison: IntArray
    root: IntArray
    scenario: IntArray
    annotator: IntArray
    kind: list[str]
    name: list[str]
    scenarios: list[str]
    roots: int
    comparisons: int
    first: IntArray
    a_first: IntArray
    b_first: IntArray
    flipped: IntArray
    longer: IntArray

    @property
    def kinds(self) -> NDArray[np.object_]:
        """Kind of the annotator of each vote."""
        return np.array(self.kind, dtype=object)[self.annotator]


def sorted_codes(column: pa.ChunkedArray | pa.Array) -> tuple[IntArray, list[str]]:
    """Codes of texts, in the order of the texts, whatever the order of the rows."""
    (codes,), labels = text_codes(column)
    return codes, labels


def _sides(column: pa.ChunkedArray) -> IntArray:
    """A, B, TIE, and NONE for nulls and other words."""
    said = winner_codes(column)
    return np.where(said >= TIE, TIE, np.maximum(said, NONE))


def code_votes(votes: pa.Table) -> Coded:
    """Code a VOTES table.

    Args:
        votes: VOTES table; an annotator votes once on a comparison.

    Returns:
        The votes as arrays.
    """
    votes = votes.sort_by([(name, "ascending") for name in ("comparison_id", "annotator_kind", "annotator")])
    comparison, comparisons = sorted_codes(votes["comparison_id"])
    # Roots of different scenarios are different units even if they share a name.
    root, roots = sorted_codes(pc.binary_join_element_wise(votes["scenario"], votes["root_id"], "\x1f"))
    scenario, scenarios = sorted_codes(votes["scenario"])
    annotator, who = sorted_codes(
        pc.binary_join_element_wise(votes["annotator_kind"], votes["annotator"], "\x1f")
    )
    kind, name = zip(*(label.split("\x1f", 1) for label in who), strict=True) if who else ((), ())
    outcome = _sides(votes["winner"])
    both_bad = winner_codes(votes["winner"]) == LABELS["both_bad"]
    difference = pc.subtract(votes["length_a"].cast(pa.int64()), votes["length_b"].cast(pa.int64()))
    gap = np.asarray(pc.fill_null(pc.sign(difference), 2)).astype(np.int64)
    return Coded(
        outcome=outcome,
        both_bad=both_bad,
        comparison=comparison,
        root=root,
        scenario=scenario,
        annotator=annotator,
        kind=list(kind),
        name=list(name),
        scenarios=scenarios,
        roots=len(roots),
        comparisons=len(comparisons),
        first=_sides(votes["first"]),
        a_first=_sides(votes["winner_a_first"]),
        b_first=_sides(votes["winner_b_first"]),
        flipped=np.asarray(pc.fill_null(votes["flipped"].cast(pa.int8()), -1)).astype(np.int64),
        longer=np.select([gap == 1, gap == -1, gap == 0], [A, B, TIE], NONE),
    )
