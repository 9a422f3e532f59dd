"""Rows of the table of agreement: one statement about annotators each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from magister.arena._coded import Coded
from magister.arena._shares import clustered_shares
from magister.stats import Estimate

IntArray = NDArray[np.int64]
OVERALL = "overall"
Row = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """How intervals are made.

    Attributes:
        resamples: bootstrap resamples, of alpha and kappa.
        seed: of the resampling.
        level: coverage, 0..1.
    """

    resamples: int
    seed: int
    level: float


class Place(NamedTuple):
    """What a statement is about; see ARENA_AGREEMENT."""

    statistic: str
    scope: str
    kind: str
    annotator: str = ""


class Observed(NamedTuple):
    """Hits and trials, each of a vote; a vote may give several or none.

    Attributes:
        vote: row of the vote.
        hits: shape (n,).
        trials: shape (n,).
    """

    vote: IntArray
    hits: IntArray
    trials: IntArray

    @classmethod
    def of(cls, used: NDArray[np.bool_], hit: NDArray[np.bool_]) -> Observed:
        """One trial for each vote in use."""
        vote = np.flatnonzero(used)
        return cls(vote, hit[vote].astype(np.int64), np.ones(vote.size, dtype=np.int64))


def statement(place: Place, estimate: Estimate, settings: Settings, *, model: str | None = None) -> Row:
    """A row of ARENA_AGREEMENT."""
    status = (
        "ok" if estimate.status == "ok" else "no_interval" if estimate.value is not None else "not_computable"
    )
    return {
        "statistic": place.statistic,
        "scope": place.scope,
        "annotator_kind": place.kind,
        "annotator": place.annotator,
        "status": status,
        "reason": estimate.reason,
        "n": estimate.n,
        "n_clusters": estimate.n_clusters,
        "level": settings.level,
        "resamples": settings.resamples,
        "seed": settings.seed,
        "value": estimate.value,
        "ci_low": estimate.ci_low,
        "ci_high": estimate.ci_high,
        "se": estimate.se,
        "model": model,
    }


def share_statements(
    statistic: str, coded: Coded, observed: Observed, kinds: Sequence[str], settings: Settings
) -> list[Row]:
    """Shares of every annotator, of every kind of annotators, and of these in every scenario.

    Args:
        statistic: name of the share.
        coded: the votes.
        observed: hits and trials.
        kinds: kinds of annotators that the share is about; those without a vote are left out.
        settings: for the intervals.

    Returns:
        A row per annotator, kind, and kind and scenario with votes.
    """
    names = [kind for kind in kinds if kind in coded.kind]
    if not names:
        return []
    kind_of = np.array([names.index(kind) if kind in names else -1 for kind in coded.kind], dtype=np.int64)
    vote_kind, scenarios = kind_of[coded.annotator], len(coded.scenarios)
    voted = np.unique(vote_kind[vote_kind >= 0] * scenarios + coded.scenario[vote_kind >= 0])
    by_annotator = [
        (at, Place(statistic, OVERALL, coded.kind[at], coded.name[at]))
        for at in np.flatnonzero(kind_of >= 0).tolist()
    ]
    by_kind = [(at, Place(statistic, OVERALL, kind)) for at, kind in enumerate(names)]
    by_scenario = [
        (at, Place(statistic, coded.scenarios[at % scenarios], names[at // scenarios]))
        for at in voted.tolist()
    ]
    cuts = (
        (coded.annotator, len(coded.kind), by_annotator),
        (vote_kind, len(names), by_kind),
        (vote_kind * scenarios + coded.scenario, len(names) * scenarios, by_scenario),
    )
    kept = vote_kind[observed.vote] >= 0
    vote, hits, trials = (column[kept] for column in observed)
    rows = []
    for group, groups, places in cuts:
        found = clustered_shares(
            hits, trials, group[vote], coded.root[vote], groups=groups, level=settings.level
        )
        rows += [statement(place, found[at], settings) for at, place in places]
    return rows


def lean(row: Row, above: str, below: str) -> Row:
    """The row with a sentence where its interval leaves out one half: chance."""
    if row["status"] == "ok" and row["ci_low"] > 0.5:
        return row | {"reason": above}
    if row["status"] == "ok" and row["ci_high"] < 0.5:
        return row | {"reason": below}
    return row
