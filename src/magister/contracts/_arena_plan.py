"""What a league of an arena was to hold, and what its tables share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import Mask, numbers, true
from magister.contracts.gate import RowCheck

PAIR = ("model_a", "model_b")
"""The two models of a comparison, the first by name first."""
COMPARISON = ("scenario", *PAIR, "instruction_id")
KEY = "key"
"""What the answer key is called as an annotator."""
OVERALL = "overall"
"""All scenarios together."""
SETTINGS = ("resamples", "seed", "level")


@dataclass(frozen=True)
class ArenaPlan:
    """What a league of an arena was to hold.

    Attributes:
        models: models that are compared.
        scenarios: scenarios of the instructions used.
        rounds: rounds of evolution of the pool.
        budget: comparisons of a pair and scenario, chosen by discrepancy and drawn at random.
        lam: weight of the penalty in the objective.
        similarity: how alike two responses are: embedding, token or judge.
        shown: what annotators see of a response's text.
        judges: models that vote.
        exclude_self: whether a judge leaves out its own responses.
        key: whether the answer key votes.
        people: whether people vote.
        resamples: of the intervals.
        seed: of the resampling.
        level: of the intervals.
        ablation_k: comparisons of a pair that the ablation goes up to.
    """

    models: Sequence[str]
    scenarios: Sequence[str]
    rounds: int
    budget: tuple[int, int]
    lam: float
    similarity: str
    shown: Callable[[str], str]
    judges: Sequence[str]
    exclude_self: bool
    key: bool
    people: bool
    resamples: int
    seed: int
    level: float
    ablation_k: int


def blank(texts: pa.ChunkedArray) -> Mask:
    """Texts in which nothing stands; a null is none."""
    return true(pc.equal(pc.utf8_trim_whitespace(texts), ""))


def with_pair(key: pa.Table) -> pa.Table:
    """SHEET_KEY with `model_a` and `model_b` behind its columns."""
    one_is_a = pc.less(key["model_1"], key["model_2"])
    key = key.append_column("model_a", pc.if_else(one_is_a, key["model_1"], key["model_2"]))
    return key.append_column("model_b", pc.if_else(one_is_a, key["model_2"], key["model_1"]))


def by_side(key: pa.Table, name: str) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Of models a and b what SHEET_KEY, or a table like it, says of sides 1 and 2."""
    one_is_a = pc.less(key["model_1"], key["model_2"])
    one, two = key[f"{name}_1"], key[f"{name}_2"]
    return pc.if_else(one_is_a, one, two), pc.if_else(one_is_a, two, one)


def settings_check(where: str, table: pa.Table, plan: ArenaPlan) -> RowCheck:
    """Rows that say how their intervals were made, as it was asked for."""
    asked = [getattr(plan, name) for name in SETTINGS]
    passed = np.logical_and.reduce(
        [numbers(table[name]) == value for name, value in zip(SETTINGS, asked, strict=True)]
    )
    expected = ", ".join(f"{name} {value:g}" for name, value in zip(SETTINGS, asked, strict=True))
    return RowCheck(where, "settings_as_configured", SETTINGS, expected, passed)
