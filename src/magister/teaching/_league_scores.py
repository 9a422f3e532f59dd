"""The headline metrics of a league's teachers as one array, on the data and on resamples of clusters of items.

The numbers are those of `magister.teaching.metrics`; here they stand side by side, teacher by teacher and resample by
resample, for what compares teachers with something outside the league.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.contracts.schemas import METRICS, VERDICTS
from magister.stats import BootstrapWeights, bootstrap_weights
from magister.teaching._cube import Cube, trajectory_cubes, zero_shot_cubes

Floats = NDArray[np.float64]
_CORRECT, _WRONG, _NONE = (VERDICTS.index(verdict) for verdict in ("correct", "wrong", "none"))
_TAUGHT = METRICS.index("CA"), METRICS.index("JA"), METRICS.index("GA"), METRICS.index("RA")
_AA = METRICS.index("AA")


@dataclass(frozen=True)
class LeagueScores:
    """Scores of the teachers of one league.

    Attributes:
        league: its name; empty where nothing was taught.
        policy: what replies without an answer count as: "wrong" or "drop".
        teachers: names in order, length M.
        values: scores in the order of `METRICS`, shape (M, 5); NaN where a metric is not computable.
        replicates: the same on resamples, shape (B, M, 5). Teachers with the same clusters share theirs, and
            AA shares those of the other metrics: row b belongs to one resample of items.
        clusters: clusters of items with a cell in use behind each score, shape (M, 5).
    """

    league: str
    policy: str
    teachers: tuple[str, ...]
    values: Floats
    replicates: Floats
    clusters: NDArray[np.int64]


def league_scores(
    trajectories: pa.Table, zero_shot: pa.Table | None, policy: str, resamples: int, seed: int
) -> LeagueScores:
    """Score the teachers of a league and resample its items.

    Args:
        trajectories: TRAJECTORIES of one league.
        zero_shot: the teachers' own answers (see `zero_shot_table`), or None: AA then is unknown.
        policy: "wrong" or "drop", see `magister.teaching.metrics`.
        resamples: B; 0 for scores alone.
        seed: seed of the bootstrap.

    Returns:
        The scores of all teachers of the arm `taught`.

    Raises:
        UserError: as `trajectory_cubes`.
        ValueError: if the table holds several leagues.
    """
    taught = trajectory_cubes(trajectories)
    own = zero_shot_cubes(zero_shot) if zero_shot is not None else []
    leagues = sorted({cube.league for cube in taught})
    if len(leagues) > 1:
        raise ValueError(f"the trajectories of one league are wanted, not those of {', '.join(leagues)}")
    names = sorted({name for cube in taught for arm, name in cube.units if arm == "taught"})
    place = {name: m for m, name in enumerate(names)}
    shape = (len(names), len(METRICS))
    values, replicates = np.full(shape, np.nan), np.full((resamples, *shape), np.nan)
    clusters = np.zeros(shape, dtype=np.int64)
    drawn: dict[tuple[str, ...], BootstrapWeights] = {}
    for cubes, columns in ((taught, _TAUGHT), (own, (_AA,))):
        for cube in cubes:
            strata = cube.items.strata
            if strata not in drawn:
                drawn[strata] = bootstrap_weights(strata, resamples=resamples, seed=seed)
            for u, (arm, name) in enumerate(cube.units):
                if arm != "taught" or name not in place or cube.league not in leagues:
                    continue
                sums = _Sums.of(cube, u, policy)
                m, at = place[name], list(columns)
                values[m, at] = sums.values()
                totals = drawn[strata].totals(sums.array.T).T
                replicates[:, m, at] = sums.scores(totals).T
                clusters[m, at] = sums.used()
    return LeagueScores(leagues[0] if leagues else "", policy, tuple(names), values, replicates, clusters)


@dataclass(frozen=True)
class _Sums:
    """Counts of a unit per cluster, from which its scores follow.

    Attributes:
        students: S.
        rounds: R, the blind answer included; 1 for a teacher's own answers.
        array: shape (F, C): cells by student, right by student and round, then cells whose verdict counts,
            verdicts that are right, and wrong answers fixed in round 1.
    """

    students: int
    rounds: int
    array: NDArray[np.int64]

    @classmethod
    def of(cls, cube: Cube, u: int, policy: str) -> _Sums:
        used = cube.kept(policy)[u]
        right = cube.right[u] & used[..., None]
        starts = np.flatnonzero(np.diff(cube.items.cluster, prepend=-1))
        rows = [used, np.moveaxis(right, -1, 1).reshape(-1, used.shape[-1])]
        if cube.rounds > 1:
            verdict, before = cube.verdict[u], right[..., 0]
            judged = used & (verdict != _NONE) if policy == "drop" else used
            agrees = judged & np.where(before, verdict == _CORRECT, verdict == _WRONG)
            fixed = used & ~before & right[..., 1]
            rows += [part.sum(axis=0, keepdims=True) for part in (judged, agrees, fixed)]
        counts = np.concatenate([row.astype(np.int64) for row in rows])
        return cls(used.shape[0], cube.rounds, np.add.reduceat(counts, starts, axis=-1))

    def _parts(self, totals: NDArray[Any]) -> tuple[Floats, Floats]:
        """Cells (S, B) and cells right (S, R, B)."""
        cells = totals[: self.students]
        right = totals[self.students : self.students * (1 + self.rounds)]
        return cells, right.reshape(self.students, self.rounds, -1)

    def scores(self, totals: NDArray[Any]) -> Floats:
        """CA, JA, GA and RA, or AA, from totals (F, B); shape (4, B) or (1, B), NaN where undefined."""
        cells, right = self._parts(np.asarray(totals, dtype=np.float64))
        present = self.array[: self.students].sum(axis=-1) > 0
        if self.rounds == 1:
            return _mean(_ratio(right[:, 0], cells), present)[None]
        judged, agrees, fixed = np.asarray(totals[-3:], dtype=np.float64)
        wrong = _added(cells) - _added(right[:, 0])
        return np.stack(
            [
                _mean(_ratio(right[:, -1] - right[:, 0], cells), present),
                _ratio(agrees, judged),
                _ratio(fixed, wrong),
                _mean(self._retained(cells, right), present),
            ]
        )

    def _retained(self, cells: Floats, right: Floats) -> Floats:
        """The product of r_{m,t} over t = 2..T, less 1, shape (S, B)."""
        product = np.where(cells == 0, np.nan, 1.0)
        for t in range(2, self.rounds):
            before = right[:, t - 1]
            change = _ratio(right[:, t] - before, before)
            product = product * (1 + np.where(before == 0, 0.0, change))
        return product - 1

    def values(self) -> Floats:
        """The scores on the data, in the order of `scores`."""
        totals = self.array.sum(axis=-1, keepdims=True)
        found = self.scores(totals)[:, 0]
        _, right = self._parts(totals)
        if self.rounds > 1 and not (right[:, 1:-1] > 0).any():
            # Every r is 1 for want of anything right that a later round could retain.
            found[_TAUGHT.index(METRICS.index("RA"))] = np.nan
        return found

    def used(self) -> list[int]:
        """Clusters in the denominator of each score, in the order of `scores`."""
        cells, right = self._parts(self.array)
        some = int((cells.sum(axis=0) > 0).sum())
        if self.rounds == 1:
            return [some]
        wrong = int((cells.sum(axis=0) > right[:, 0].sum(axis=0)).sum())
        return [some, int((self.array[-3] > 0).sum()), wrong, some]


def _ratio(top: Floats, bottom: Floats) -> Floats:
    return np.where(bottom == 0, np.nan, top / np.where(bottom == 0, 1.0, bottom))


def _added(parts: Floats) -> Floats:
    """Sum over the first axis in a fixed order."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def _mean(shares: Floats, present: NDArray[np.bool_]) -> Floats:
    """Mean over present students, shape (B,)."""
    some = np.flatnonzero(present)
    return _added(shares[some]) / some.size if some.size else np.full(shares.shape[-1], np.nan)
