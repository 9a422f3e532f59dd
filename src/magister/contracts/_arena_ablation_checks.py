"""What the ablation of an arena's selection promises."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._arena_plan import ArenaPlan
from magister.contracts._columns import Mask, absent, member, numbers, positions, taken
from magister.contracts._estimates import close, interval_check, range_check, reason_check, value_check
from magister.contracts.arena_tables import ABLATION_METHODS, ARENA_ABLATION_MEASURES
from magister.contracts.gate import Expectation, RowCheck, RowCount

_AT = ("scenario", "k", "measure")
_WAY = ("scenario", "method", "lam", "measure")
_FLOOR = dict.fromkeys(("spearman", "kendall"), -1.0)
_CEILING = dict.fromkeys(("spearman", "kendall", "pair_agreement", "decisive"), 1.0)


def arena_ablation_checks(table: pa.Table, plan: ArenaPlan) -> list[Expectation]:
    """Checks on ARENA_ABLATION.

    Args:
        table: the ablation.
        plan: what the league was to hold.
    """
    value, k, n = (numbers(table[name]) for name in ("value", "k", "n"))
    # A league without a penalty has one way by each similarity, others two; and random draws.
    ways = len({0.0, plan.lam}) * (len(ABLATION_METHODS) - 1) + 1
    rows = len(plan.scenarios) * ways * plan.ablation_k * len(ARENA_ABLATION_MEASURES)
    names = table["measure"].to_pylist()
    floor = np.array([_FLOOR.get(name, 0.0) for name in names])
    ceiling = np.array([_CEILING.get(name, np.inf) for name in names])
    random = table.filter(pc.equal(table["method"], "random"))
    drawn = numbers(taken(random, positions(table, random, _AT), ("value",))["value"])
    apart = value - drawn
    own = member(table["method"], ["random"])
    fewer = table.set_column(table.column_names.index("k"), "k", pa.array((k - 1).astype(np.int32)))
    before = positions(fewer, table, (*_WAY, "k"))
    held = numbers(taken(table, before, ("n",))["n"])

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("ablation", name, columns, expected, passed)

    return [
        RowCount("ablation", rows, f"{ways} ways of selecting x k to {plan.ablation_k} x measures x scenarios"),
        check("of_the_league", ("scenario", "k"), "a scenario of the league, and a k that was asked for",
              member(table["scenario"], list(plan.scenarios)) & (k <= plan.ablation_k)),
        check("level_as_configured", ("level", "seed"), f"level {plan.level:g}", numbers(table["level"]) == plan.level),
        range_check("ablation", table, ("measure", "value", "ci_low", "ci_high"),
                    "correlations -1 to 1, shares 0 to 1, widths 0 or more", (floor, ceiling)),
        value_check("ablation", table),
        check("difference_from_random", ("measure", "value", "difference"), "value - that of the random draws",
              np.where(own, absent(table["difference"]), close(numbers(table["difference"]), apart))),
        check("more_votes_with_k", ("k", "n"), "no fewer votes than with one comparison less",
              (k <= 1) | (before >= 0) & ~(n < held)),
        interval_check("ablation", "interval_where_ok", table, ("status", "ci_low", "ci_high")),
        reason_check("ablation", "reason_unless_ok", table, ("status", "reason")),
    ]  # fmt: skip
