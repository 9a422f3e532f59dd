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

from magister.contracts.schemas import METRICS
from magister.stats import BootstrapWeights, bootstrap_weights
from magister.teaching._cube import CORRECT, NONE, WRONG, Cube, trajectory_cubes, zero_shot_cubes
from magister.teaching._formulas import Floats, added, mean_over_students, ratio, retained

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
            judged = used & (verdict != NONE) if policy == "drop" else used
            agrees = judged & np.where(before, verdict == CORRECT, verdict == WRONG)
            fixed = used & ~before & right[..., 1]
            rows += [part.sum(axis=0, keepdims=True) for part in (judged, agrees, fixed)]
        counts = np.concatenate([row.astype(np.int64) for row in rows])
        return cls(used.shape[0], cube.rounds, np.add.reduceat(counts, starts, axis=-1))

    def _parts(self, totals: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Cells (1, S, B) and cells right (1, S, R, B) of the one unit."""
        cells = totals[: self.students]
        right = totals[self.students : self.students * (1 + self.rounds)]
        return cells[None], right.reshape(1, self.students, self.rounds, -1)

    def scores(self, totals: NDArray[Any]) -> Floats:
        """CA, JA, GA and RA, or AA, from totals (F, B); shape (4, B) or (1, B), NaN where undefined."""
        cells, right = self._parts(np.asarray(totals, dtype=np.float64))
        present = (self.array[: self.students].sum(axis=-1) > 0)[None]
        if self.rounds == 1:
            return mean_over_students(right[:, :, 0], cells, present)
        judged, agrees, fixed = np.asarray(totals[-3:], dtype=np.float64)
        return np.stack(
            [
                mean_over_students(right[:, :, -1] - right[:, :, 0], cells, present)[0],
                ratio(agrees, judged),
                ratio(fixed, added(cells)[0] - added(right[:, :, 0])[0]),
                mean_over_students(retained(right, cells), np.ones_like(cells), present)[0],
            ]
        )

    def values(self) -> Floats:
        """The scores on the data, in the order of `scores`."""
        totals = self.array.sum(axis=-1, keepdims=True)
        found = self.scores(totals)[:, 0]
        _, right = self._parts(totals)
        if self.rounds > 1 and not (right[:, :, 1:-1] > 0).any():
            # Every r is 1 for want of anything right that a later round could retain.
            found[_TAUGHT.index(METRICS.index("RA"))] = np.nan
        return found

    def used(self) -> list[int]:
        """Clusters in the denominator of each score, in the order of `scores`."""
        (cells,), (right,) = self._parts(self.array)
        some = int((cells.sum(axis=0) > 0).sum())
        if self.rounds == 1:
            return [some]
        wrong = int((cells.sum(axis=0) > right[:, 0].sum(axis=0)).sum())
        return [some, int((self.array[-3] > 0).sum()), wrong, some]
