"""What the table of agreement of an arena promises: shares that are shares, and votes counted again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._arena_plan import OVERALL, ArenaPlan, settings_check
from magister.contracts._columns import Mask, member, numbers, positions, same, taken, true
from magister.contracts._estimates import close, interval_check, range_check, reason_check, value_check
from magister.contracts.gate import RowCheck

_PLACE = ("statistic", "scope", "annotator_kind", "annotator")
_COEFFICIENTS = ("alpha", "kappa_with_people")
# Statistics that follow from votes, or from the key, by counting alone.
_COUNTED = ("decisive_share", "both_bad_share", "flip_share", "first_share", "self_named_share")
_SIDES = ("a", "b")


def _observed(statistic: str, votes: pa.Table, trials: np.ndarray, hits: np.ndarray) -> pa.Table:
    """Trials and hits of votes, by annotator, by kind of annotators, and by kind and scenario."""
    everyone, overall = (pa.repeat(word, votes.num_rows) for word in ("", OVERALL))
    cuts = (
        (overall, votes["annotator"]),
        (overall, everyone),
        (votes["scenario"], everyone),
    )
    return pa.concat_tables(
        [
            pa.table(
                {
                    "statistic": pa.repeat(statistic, votes.num_rows),
                    "scope": scope,
                    "annotator_kind": votes["annotator_kind"],
                    "annotator": annotator,
                    "n": pa.array(trials, pa.int64()),
                    "hits": pa.array(hits, pa.int64()),
                }
            )
            for scope, annotator in cuts
        ]
    )


def _recounted(votes: pa.Table, key: pa.Table) -> pa.Table:
    """Trials and hits of every statement that counting alone makes."""
    one = np.ones(votes.num_rows, dtype=np.int64)
    decisive = member(votes["winner"], _SIDES)
    both_bad = true(pc.equal(votes["winner"], "both_bad"))
    judges = votes.filter(pc.equal(votes["annotator_kind"], "judge"))
    orders = [judges[f"winner_{side}_first"] for side in _SIDES]
    chosen = [member(order, _SIDES) for order in orders]
    favoured = [true(pc.equal(order, side)) for order, side in zip(orders, _SIDES, strict=True)]
    people = votes.filter(pc.equal(votes["annotator_kind"], "person"))
    seen = member(people["winner"], _SIDES) & member(people["first"], _SIDES)
    named = pa.table(
        {
            "annotator_kind": pa.repeat("none", key.num_rows),
            "annotator": pa.repeat("", key.num_rows),
            "scenario": key["scenario"],
        }
    )
    tells = true(pc.or_(key["self_named_1"], key["self_named_2"]))
    parts = [
        _observed("decisive_share", votes, one, decisive),
        _observed("both_bad_share", votes, one, both_bad),
        _observed("flip_share", judges, np.ones(judges.num_rows, dtype=np.int64), ~same(*orders)),
        _observed(
            "first_share", judges, chosen[0].astype(int) + chosen[1], favoured[0].astype(int) + favoured[1]
        ),
        _observed("first_share", people, seen, seen & same(people["winner"], people["first"])),
        # The cut by annotator repeats that of all, since nobody judged.
        _observed("self_named_share", named, np.ones(key.num_rows, dtype=np.int64), tells).slice(
            key.num_rows
        ),
    ]
    found = pa.concat_tables(parts).group_by(list(_PLACE), use_threads=False)
    return found.aggregate([("n", "sum"), ("hits", "sum")])


def agreement_checks(table: pa.Table, votes: pa.Table, key: pa.Table, plan: ArenaPlan) -> list[RowCheck]:
    """Checks on ARENA_AGREEMENT.

    Args:
        table: what is known of annotators.
        votes: VOTES.
        key: SHEET_KEY.
        plan: what the league was to hold.
    """
    recounted = _recounted(votes, key)
    place = positions(table, recounted, _PLACE)
    n, hits = (numbers(taken(recounted, place, (f"{name}_sum",))[f"{name}_sum"]) for name in ("n", "hits"))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(n > 0, hits / n, np.nan)
    value = numbers(table["value"])
    counted = member(table["statistic"], _COUNTED)
    fits = (place >= 0) & (numbers(table["n"]) == n) & close(value, share)
    floor = np.where(member(table["statistic"], _COEFFICIENTS), -1.0, 0.0)
    ceiling = np.where(member(table["statistic"], ["influence"]), np.inf, 1.0)
    voted = positions(table, votes, ("annotator_kind", "annotator")) >= 0
    of_kind = member(table["annotator_kind"], votes["annotator_kind"]) | member(
        table["annotator_kind"], ("all", "none")
    )

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("agreement", name, columns, expected, passed)

    return [
        check(
            "scope_in_league", ("scope",), "overall, or a scenario of the league",
            member(table["scope"], (OVERALL, *plan.scenarios)),
        ),
        check(
            "annotator_voted",
            ("annotator_kind", "annotator"),
            "somebody who voted, or a kind of annotators who did",
            np.where(true(pc.equal(table["annotator"], "")), of_kind, voted),
        ),
        settings_check("agreement", table, plan),
        check(
            "counted_as_voted",
            ("statistic", "value", "n"),
            "the share and the number of votes, counted again",
            ~counted | fits,
        ),
        range_check(
            "agreement",
            table,
            ("statistic", "value", "ci_low", "ci_high"),
            "shares from 0 to 1, coefficients from -1 to 1, changes of 0 or more",
            (floor, ceiling),
        ),
        value_check("agreement", table),
        interval_check("agreement", "interval_where_ok", table, ("status", "ci_low", "ci_high")),
        reason_check("agreement", "reason_unless_ok", table, ("status", "reason")),
    ]  # fmt: skip
