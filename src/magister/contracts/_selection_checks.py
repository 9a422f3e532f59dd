"""What the selections of an arena promise: who is compared on what, chosen how, and with which chance."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._arena_plan import COMPARISON, PAIR, ArenaPlan
from magister.contracts._columns import (
    Mask,
    facts,
    member,
    numbers,
    positions,
    row_codes,
    same,
    taken,
    true,
)
from magister.contracts._estimates import Floats, close
from magister.contracts._small import small_contract
from magister.contracts.gate import Expectation, RowCheck, RowCount

_ARM = ("scenario", *PAIR, "arm")
_OF_PAIR = ("scenario", *PAIR)
_PARTS = ("similarity", "penalty", "objective")
PAIRS = small_contract(
    "pairs",
    dict.fromkeys(_OF_PAIR, pa.string())
    | dict.fromkeys(
        ("instructions", "eligible", "missing", "without_vector", "discrepant", "random", "wanted"),
        pa.int64(),
    ),
    _OF_PAIR,
)
"""What the comparisons of a pair were chosen from, as `magister.arena.comparisons` counts it."""


def _times(table: pa.Table, columns: tuple[str, ...]) -> Floats:
    """How often each row's value of some columns occurs."""
    _, code, times = np.unique(row_codes(table, columns), return_inverse=True, return_counts=True)
    return times[code].astype(np.float64)


def _in_league(table: pa.Table, plan: ArenaPlan) -> Mask:
    """Rows whose two models are of the league, the first by name first."""
    ordered = true(pc.less(table["model_a"], table["model_b"]))
    return ordered & member(table["model_a"], plan.models) & member(table["model_b"], plan.models)


def _chosen(pairs: pa.Table, selections: pa.Table, arm: str) -> Floats:
    """Comparisons of each pair that an arm chose."""
    place = positions(selections.filter(pc.equal(selections["arm"], arm)), pairs, _OF_PAIR)
    return np.bincount(place[place >= 0], minlength=pairs.num_rows).astype(np.float64)


def selection_checks(rows: pa.Table, pairs: pa.Table, pool: pa.Table, plan: ArenaPlan) -> list[RowCheck]:
    """Checks on SELECTIONS.

    Args:
        rows: the selections.
        pairs: what they were chosen from, see `PAIRS`.
        pool: INSTRUCTIONS.
        plan: what the league was to hold.
    """
    known, truth = facts(rows, pool, "instruction_id", ("scenario",))
    random = true(pc.equal(rows["arm"], "random"))
    rank, chance = numbers(rows["rank"]), numbers(rows["inclusion_probability"])
    similarity, penalty, objective = (numbers(rows[name]) for name in _PARTS)
    whole = close(objective, similarity + plan.lam * penalty) & ((rank > 1) | (penalty == 0))
    counted, of_pair = facts(rows, pairs, _OF_PAIR, ("eligible", "discrepant", "random"))
    left = numbers(of_pair["eligible"]) - numbers(of_pair["discrepant"])
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = np.where(random, numbers(of_pair["random"]) / left, 1.0)

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("selections", name, columns, expected, passed)

    return [
        check(
            "pair_in_league",
            PAIR,
            "two models of the league, in the order of their names",
            _in_league(rows, plan),
        ),
        check(
            "instruction_of_scenario",
            ("scenario", "instruction_id"),
            "an instruction of the pool and its scenario, one of the league's",
            known & same(rows["scenario"], truth["scenario"]) & member(rows["scenario"], plan.scenarios),
        ),
        check("ranks_consecutive", (*_ARM, "rank"), "ranks 1, 2, ... of an arm", rank <= _times(rows, _ARM)),
        check(
            "instruction_once",
            COMPARISON,
            "an instruction that the pair has once, in one arm",
            _times(rows, COMPARISON) == 1,
        ),
        check(
            "similarity_known",
            ("similarity",),
            "how alike the two responses are",
            ~np.isnan(similarity),
        ),
        check(
            "objective_of_its_parts",
            ("arm", "rank", *_PARTS),
            f"similarity + {plan.lam:g} x penalty, the first without penalty; none of a random draw",
            np.where(random, np.isnan(penalty) & np.isnan(objective), whole & ~np.isnan(objective)),
        ),
        check(
            "chance_of_its_draw",
            ("arm", "inclusion_probability"),
            "1 of what was chosen, of a random draw those drawn over those left",
            (chance > 0) & (close(chance, drawn) | ~counted),
        ),
    ]


def pair_checks(pairs: pa.Table, rows: pa.Table, pool: pa.Table, plan: ArenaPlan) -> list[Expectation]:
    """Checks on what comparisons were chosen from.

    Args:
        pairs: see `PAIRS`.
        rows: SELECTIONS.
        pool: INSTRUCTIONS.
        plan: what the league was to hold.
    """
    planned = len(plan.models) * (len(plan.models) - 1) // 2 * len(plan.scenarios)
    sizes = pool.group_by(["scenario"], use_threads=False).aggregate([([], "count_all")])
    size = numbers(taken(sizes, positions(pairs, sizes, ["scenario"]), ("count_all",))["count_all"])
    eligible, missing, without = (numbers(pairs[name]) for name in ("eligible", "missing", "without_vector"))
    wanted = (
        np.minimum(plan.budget[0], eligible),
        np.minimum(plan.budget[1], np.maximum(eligible - plan.budget[0], 0)),
    )
    arms = ("discrepant", "random")
    chosen = [
        (numbers(pairs[arm]) == asked) & (_chosen(pairs, rows, arm) == asked)
        for arm, asked in zip(arms, wanted, strict=True)
    ]

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("pairs", name, columns, expected, passed)

    told = f"{plan.budget[0]} chosen and {plan.budget[1]} drawn, fewer only where no more are eligible"
    return [
        RowCount("pairs", planned, f"pairs of {len(plan.models)} models x {len(plan.scenarios)} scenarios"),
        check(
            "pair_in_league",
            _OF_PAIR,
            "two models of the league, in the order of their names, and one of its scenarios",
            _in_league(pairs, plan) & member(pairs["scenario"], plan.scenarios),
        ),
        check(
            "instructions_counted",
            ("instructions", "eligible", "missing", "without_vector"),
            "the instructions of the scenario, eligible or not",
            (numbers(pairs["instructions"]) == size)
            & (eligible + missing <= size)
            & (eligible + without <= size),
        ),
        check("budget_kept", ("eligible", *arms), told, chosen[0] & chosen[1]),
        check(
            "budget_configured",
            ("wanted",),
            f"{sum(plan.budget)}",
            numbers(pairs["wanted"]) == sum(plan.budget),
        ),
    ]
