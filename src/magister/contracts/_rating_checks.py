"""What the ratings of an arena promise: votes counted again, one anchor, ranks and intervals that fit the rating."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._arena_plan import OVERALL, PAIR, ArenaPlan, settings_check
from magister.contracts._columns import (
    Codes,
    Mask,
    absent,
    constant_within,
    numbers,
    places,
    positions,
    row_codes,
    taken,
    true,
)
from magister.contracts._estimates import EQUAL, by_group, close, explained, ranks
from magister.contracts.arena_tables import ANNOTATOR_KINDS, RATING_SYSTEMS
from magister.contracts.gate import Expectation, RowCheck, RowCount

_SCOPE = ("scope", "annotators")
_LEAGUE = (*_SCOPE, "system")
_PART = (*_LEAGUE, "component")
_COUNTS = ("n", "wins", "losses", "ties", "n_clusters")
_ANCHOR = 1000.0
# Ratings are rounded to six decimals each.
_ROUNDING = 1e-5


def voted_scopes(votes: pa.Table) -> dict[tuple[str, str], pa.Table]:
    """Votes by scope and by whose they are: all together, and each kind of annotators where there are several."""
    kinds = [kind for kind in ANNOTATOR_KINDS if pc.any(pc.equal(votes["annotator_kind"], kind)).as_py()]
    found = {}
    for kind in ("all", *(kinds if len(kinds) > 1 else ())):
        some = votes if kind == "all" else votes.filter(pc.equal(votes["annotator_kind"], kind))
        found[OVERALL, kind] = some
        for name in some["scenario"].unique().drop_null().to_pylist():
            found[name, kind] = some.filter(pc.equal(some["scenario"], name))
    return found


def _connected(met: Mask) -> Codes:
    """The least of the models that each is connected with, directly or over others."""
    reached = met | np.eye(len(met), dtype=bool)
    while True:
        further = (reached.astype(np.float64) @ reached) > 0
        if (further == reached).all():
            return reached.argmax(axis=1).astype(np.int64)
        reached = further


def _counted(votes: pa.Table, plan: ArenaPlan) -> dict[str, Codes]:
    """Of every model of the league: wins, losses, ties, votes, root instructions among them, and connected part."""
    names = sorted(plan.models)
    size = len(names)
    side = [places(votes[name], names) for name in PAIR]
    inside = (side[0] >= 0) & (side[1] >= 0)
    a, b = (at[inside] for at in side)
    won = [true(pc.equal(votes["winner"], word))[inside] for word in ("a", "b")]
    wins = np.bincount(np.concatenate([a[won[0]], b[won[1]]]), minlength=size)
    losses = np.bincount(np.concatenate([b[won[0]], a[won[1]]]), minlength=size)
    n = np.bincount(np.concatenate([a, b]), minlength=size)
    root = np.unique(row_codes(votes, ("scenario", "root_id")), return_inverse=True)[1][inside]
    cells = np.unique(np.concatenate([a, b]) * (root.max(initial=0) + 1) + np.tile(root, 2))
    clusters = np.bincount(cells // (root.max(initial=0) + 1), minlength=size)
    met = np.zeros((size, size), dtype=bool)
    met[a, b] = met[b, a] = True
    return {
        "n": n,
        "wins": wins,
        "losses": losses,
        "ties": n - wins - losses,
        "n_clusters": clusters,
        "part": _connected(met),
    }


def _expected(votes: pa.Table, plan: ArenaPlan) -> pa.Table:
    """A row per scope, annotators and model, with what the votes say of it."""
    names = sorted(plan.models)
    parts = [
        pa.table(
            {
                "scope": pa.array([scope] * len(names), pa.string()),
                "annotators": pa.array([kind] * len(names), pa.string()),
                "model": pa.array(names, pa.string()),
                **{name: pa.array(column, pa.int32()) for name, column in _counted(some, plan).items()},
            }
        )
        for (scope, kind), some in voted_scopes(votes).items()
    ]
    return pa.concat_tables(parts)


def rating_checks(table: pa.Table, votes: pa.Table, plan: ArenaPlan) -> list[Expectation]:
    """Checks on RATINGS.

    Args:
        table: the ratings.
        votes: VOTES.
        plan: what the league was to hold.
    """
    wanted = _expected(votes, plan)
    place = positions(table, wanted, (*_SCOPE, "model"))
    known = place >= 0
    counted = taken(wanted, place, (*_COUNTS, "part"))
    recounted = np.logical_and.reduce([numbers(table[name]) == numbers(counted[name]) for name in _COUNTS])
    rating, low, high = (numbers(table[name]) for name in ("rating", "ci_low", "ci_high"))
    rank, best, worst = (numbers(table[name]) for name in ("rank", "rank_low", "rank_high"))
    status = {word: true(pc.equal(table["status"], word)) for word in ("ok", "unbounded", "not_computable")}
    rated = ~np.isnan(rating)
    ends = (~np.isnan(low)).astype(np.int64) + ~np.isnan(high)
    fits = np.where(status["ok"], ends == 2, np.where(status["unbounded"], ends < 2, ends == 0))
    inside = (np.isnan(low) | (low <= rating + EQUAL)) & (np.isnan(high) | (rating <= high + EQUAL))
    joined = table.append_column("part", counted["part"])
    together = constant_within(joined, _PART, ("part",)) & constant_within(
        joined, (*_LEAGUE, "part"), ("component",)
    )
    ranked = table.select(_PART).append_column("value", table["rating"])
    mean = by_group(
        table,
        _PART,
        lambda rows: np.full(rows.size, rating[rows][rated[rows]].mean() if rated[rows].any() else np.nan),
    )
    ranged = np.isnan(best) & np.isnan(worst) | (best >= 1) & (best <= rank) & (rank <= worst)

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("ratings", name, columns, expected, passed)

    scopes = wanted.num_rows // len(plan.models)
    interval = ("status", "rating", "ci_low", "ci_high")
    return [
        RowCount(
            "ratings",
            wanted.num_rows * len(RATING_SYSTEMS),
            f"{scopes} scopes and annotators with votes x {len(RATING_SYSTEMS)} systems x {len(plan.models)} models",
        ),
        check("scope_voted_on", (*_SCOPE, "model"), "a model of the league, in a scope with votes", known),
        settings_check("ratings", table, plan),
        check(
            "counts_as_voted",
            _COUNTS,
            "votes, wins, losses, ties and root instructions as in votes; both_bad is a tie",
            ~known | recounted,
        ),
        check(
            "component_connected",
            ("component",),
            "one number for the models that votes connect, another for all others",
            ~known | together,
        ),
        check(
            "rating_unless_not_computable",
            ("status", "rating", "n"),
            "a rating where there are votes, and not_computable without",
            (rated != status["not_computable"]) & (rated == (numbers(table["n"]) > 0)),
        ),
        check(
            "anchored",
            ("component", "rating"),
            f"ratings of a component with mean {_ANCHOR:g}",
            np.isnan(mean) | (np.abs(mean - _ANCHOR) <= _ROUNDING),
        ),
        check(
            "interval_as_status",
            interval,
            "both ends where the status is ok, an open side where it is unbounded, none otherwise",
            fits,
        ),
        check("interval_around_rating", interval, "an interval around the rating", inside),
        check(
            "reason_unless_ok",
            ("status", "reason"),
            "a reason where the status is not ok",
            explained(table, "status", "reason"),
        ),
        check(
            "rank_by_rating",
            ("rank", "rating"),
            "the rank by rating in the component, shared by equal ones",
            close(rank, ranks(ranked, _PART)),
        ),
        check(
            "rank_interval_around_rank",
            ("rank", "rank_low", "rank_high"),
            "both ends around the rank, or none",
            ranged,
        ),
        check(
            "group_where_ranked",
            ("group", "rank"),
            "letters where there is a rank, and only there",
            true(pc.not_equal(table["group"], "")) == ~absent(table["rank"]),
        ),
    ]
