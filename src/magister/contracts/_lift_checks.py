"""What the selection lift of an arena promises."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._arena_plan import OVERALL, ArenaPlan, settings_check
from magister.contracts._columns import Mask, member, numbers, positions, taken, true
from magister.contracts._estimates import close, interval_check, range_check, reason_check
from magister.contracts.arena_tables import LIFT_ARMS, LIFT_MEASURES, LIFT_SHARES, SELECTION_ARMS
from magister.contracts.gate import Expectation, RowCheck, RowCount


def _counts(votes: pa.Table, plan: ArenaPlan) -> pa.Table:
    """Votes of every scope and arm, of both arms together for their difference; scopes with both arms only."""
    rows = []
    for scope in (OVERALL, *sorted(plan.scenarios)):
        some = votes if scope == OVERALL else votes.filter(pc.equal(votes["scenario"], scope))
        counts = {arm: int(true(pc.equal(some["arm"], arm)).sum()) for arm in SELECTION_ARMS}
        if all(counts.values()):
            counts["difference"] = sum(counts.values())
            rows += [{"scope": scope, "arm": arm, "n": counts[arm]} for arm in LIFT_ARMS]
    kinds = pa.schema([("scope", pa.string()), ("arm", pa.string()), ("n", pa.int32())])
    return pa.Table.from_pylist(rows, schema=kinds)


def lift_checks(table: pa.Table, votes: pa.Table, plan: ArenaPlan) -> list[Expectation]:
    """Checks on SELECTION_LIFT.

    Args:
        table: the lift.
        votes: VOTES.
        plan: what the league was to hold.
    """
    wanted = _counts(votes, plan)
    place = positions(table, wanted, ("scope", "arm"))
    n = numbers(taken(wanted, place, ("n",))["n"])
    of_pairs = member(table["measure"], ["pair_agreement"])
    value = numbers(table["value"])
    difference = member(table["arm"], ["difference"])
    arms = []
    for arm in SELECTION_ARMS:
        own = table.filter(pc.equal(table["arm"], arm))
        arms.append(numbers(taken(own, positions(table, own, ("scope", "measure")), ("value",))["value"]))
    ceiling = np.where(member(table["measure"], LIFT_SHARES), 1.0, np.inf)
    floor = np.where(difference, -ceiling, 0.0)

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("lift", name, columns, expected, passed)

    scopes = wanted.num_rows // len(LIFT_ARMS)
    told = f"{scopes} scopes with votes of both arms x {len(LIFT_MEASURES)} measures x {len(LIFT_ARMS)} arms"
    return [
        RowCount("lift", wanted.num_rows * len(LIFT_MEASURES), told),
        check("scope_of_both_arms", ("scope", "arm"), "a scope with votes of both arms", place >= 0),
        settings_check("lift", table, plan),
        check(
            "votes_counted",
            ("measure", "arm", "n"),
            "the votes of the arm, of both for the difference",
            (place < 0) | of_pairs | (numbers(table["n"]) == n),
        ),
        check(
            "difference_of_arms",
            ("scope", "measure", "arm", "value"),
            "discrepant - random",
            ~difference | close(value, arms[0] - arms[1]),
        ),
        range_check(
            "lift",
            table,
            ("measure", "arm", "value", "ci_low", "ci_high"),
            "shares from 0 to 1, their differences from -1 to 1, and widths of 0 or more",
            (floor, ceiling),
        ),
        check(
            "value_where_ok",
            ("status", "value"),
            "a value where the status is ok",
            ~np.isnan(value) | true(pc.not_equal(table["status"], "ok")),
        ),
        interval_check("lift", "interval_where_ok", table, ("status", "ci_low", "ci_high")),
        reason_check("lift", "reason_unless_ok", table, ("status", "reason")),
    ]
