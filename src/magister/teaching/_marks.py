"""The cells of a league's teachers as marks, and their sums per cluster: what every ablation is worked out from.

Marks are counted once. A part of the league (some students, some datasets, some clusters) is a part of the arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.errors import UserError
from magister.teaching._cube import CORRECT, NONE, WRONG, Bools, Cube, Ints, trajectory_cubes, zero_shot_cubes

Counts = NDArray[np.int32]
# Most of a table's memory, and no part of a score.
_UNREAD = ("answer", "request_id", "guide_request_id")


@dataclass(frozen=True)
class Marks:
    """Cells of U teachers, S students, N items (by dataset, cluster and id) and R rounds, the blind answer included.

    Attributes:
        league: its name.
        teachers: names, length U.
        students: names, length S.
        ids: item ids, length N.
        datasets: dataset of each item, length N.
        cluster: cluster of each item, 0..C-1, not decreasing, shape (N,).
        rounds: R.
        cells: per cell whether it is in use, right at round 0..R-1, wrong at 0 and right at 1, judged, and judged
            rightly; shape (U, S, R + 4, N). Whatever is not in use is marked nowhere.
        asked: cells that exist, shape (U, S, N).
        own: per zero-shot answer of a teacher whether it is in use, and right, shape (U, 2, N).
        own_asked: zero-shot answers that exist, shape (U, N).
    """

    league: str
    teachers: tuple[str, ...]
    students: tuple[str, ...]
    ids: tuple[str, ...]
    datasets: tuple[str, ...]
    cluster: Ints
    rounds: int
    cells: Bools
    asked: Bools
    own: Bools
    own_asked: Bools

    def of_items(self, chosen: Ints) -> Marks:
        """The part with some items.

        Args:
            chosen: their positions; those of a cluster stand together.
        """
        cluster = self.cluster[chosen]
        return replace(
            self,
            ids=tuple(self.ids[n] for n in chosen.tolist()),
            datasets=tuple(self.datasets[n] for n in chosen.tolist()),
            cluster=np.cumsum(np.diff(cluster, prepend=-1) != 0) - 1,
            cells=self.cells[..., chosen],
            asked=self.asked[..., chosen],
            own=self.own[..., chosen],
            own_asked=self.own_asked[..., chosen],
        )

    def of_students(self, chosen: Ints) -> Marks:
        """The part with some students, by position."""
        return replace(
            self,
            students=tuple(self.students[s] for s in chosen.tolist()),
            cells=self.cells[:, chosen],
            asked=self.asked[:, chosen],
        )

    def sums(self) -> Sums:
        """Sums per cluster."""
        starts = np.flatnonzero(np.diff(self.cluster, prepend=-1))

        def added(marks: Bools) -> Counts:
            return np.asarray(np.add.reduceat(marks, starts, axis=-1, dtype=np.int32))

        units, students, fields, _ = self.cells.shape
        flat = np.empty((units * (students * fields + 2), starts.size), dtype=np.int32)
        split = units * students * fields
        flat[:split] = added(self.cells).reshape(split, starts.size)
        flat[split:] = added(self.own).reshape(2 * units, starts.size)
        return Sums(
            self.teachers,
            self.students,
            self.rounds,
            tuple(self.datasets[n] for n in starts.tolist()),
            flat,
            added(self.asked),
            added(self.own_asked),
            added(np.asarray(self.cells[:, :, 0].any(axis=1))),
        )


@dataclass(frozen=True)
class Sums:
    """Whole-number sums per cluster.

    Attributes:
        teachers: names, length U.
        students: names, length S.
        rounds: R.
        strata: dataset of each cluster, length C.
        flat: all sums of `cells`, then all of `own`, a row each, shape (U S (R + 4) + 2 U, C).
        asked: cells that exist, shape (U, S, C).
        own_asked: zero-shot answers that exist, shape (U, C).
        items: items with a cell in use, shape (U, C).
    """

    teachers: tuple[str, ...]
    students: tuple[str, ...]
    rounds: int
    strata: tuple[str, ...]
    flat: Counts
    asked: Counts
    own_asked: Counts
    items: Counts

    @property
    def cells(self) -> Counts:
        """Sums of the marks of cells, shape (U, S, R + 4, C)."""
        return self.split(self.flat)[0]

    @property
    def own(self) -> Counts:
        """Sums of the marks of zero-shot answers, shape (U, 2, C)."""
        return self.split(self.flat)[1]

    def split(self, flat: NDArray[np.generic]) -> tuple[NDArray, NDArray]:
        """Rows like those of `flat` as cells, shape (U, S, R + 4, B), and zero-shot answers, shape (U, 2, B)."""
        units, boards = len(self.teachers), flat.shape[1]
        own = flat[-2 * units :] if units else flat
        cells = flat[: flat.shape[0] - 2 * units]
        return cells.reshape(units, len(self.students), self.rounds + 4, boards), own.reshape(
            units, 2, boards
        )

    def join(self, cells: NDArray, own: NDArray) -> NDArray:
        """The other way round: rows like those of `flat`."""
        return np.concatenate(
            [part.reshape(int(np.prod(part.shape[:-1])), part.shape[-1]) for part in (cells, own)]
        )

    def of_clusters(self, chosen: Ints) -> Sums:
        """The part with some clusters, by position in increasing order."""
        return replace(
            self,
            strata=tuple(self.strata[c] for c in chosen.tolist()),
            flat=self.flat[:, chosen],
            asked=self.asked[..., chosen],
            own_asked=self.own_asked[:, chosen],
            items=self.items[:, chosen],
        )


def league_marks(trajectories: pa.Table, zero_shot: pa.Table | None, policy: str) -> Marks:
    """Count the cells of the teachers of a league, once.

    Args:
        trajectories: TRAJECTORIES of one league; the arm "taught" is read.
        zero_shot: the teachers' own answers, see `magister.teaching.trajectories.zero_shot_table`; None for none.
            Those of models that do not teach are not read.
        policy: "wrong" or "drop", see `magister.teaching.metrics`.

    Returns:
        The marks.

    Raises:
        UserError: no teacher, several leagues, teachers that did not teach the same students the same items over
            the same rounds, or zero-shot answers to other items.
    """
    if "arm" not in trajectories.column_names:
        raise UserError("trajectories: column 'arm' is missing; ablations read the trajectories of a league")
    taught = trajectories.drop_columns([name for name in _UNREAD if name in trajectories.column_names])
    cube = _one_cube(trajectory_cubes(taught.filter(pc.equal(taught["arm"], "taught"))))
    used = cube.kept(policy)
    right = cube.right & used[..., None]
    before, after = right[..., 0], right[..., 1]
    judged = used & (cube.verdict != NONE) if policy == "drop" else used
    hit = np.where(before, cube.verdict == CORRECT, cube.verdict == WRONG)
    marks = [used, *np.moveaxis(right, -1, 0), used & ~before & after, judged, judged & hit]
    teachers = tuple(teacher for _, teacher in cube.units)
    own = np.zeros((len(teachers), 3, len(cube.items.ids)), dtype=bool)
    if zero_shot is not None:
        _mark_own(own, zero_shot, teachers, cube, policy)
    return Marks(
        cube.league,
        teachers,
        cube.students,
        cube.items.ids,
        cube.items.slices["dataset"],
        np.asarray(cube.items.cluster),
        cube.rounds,
        np.stack(marks, axis=2),
        cube.asked(),
        own[:, :2],
        own[:, 2],
    )


def _one_cube(cubes: list[Cube]) -> Cube:
    if not cubes:
        raise UserError("trajectories: no row of the arm taught; an ablation compares teachers of a league")
    leagues = sorted({cube.league for cube in cubes})
    if len(leagues) > 1:
        raise UserError(
            f"trajectories: an ablation is of one league, here are {', '.join(leagues)}; give one at a time"
        )
    if len(cubes) > 1:
        first, second = (cube.units[0][1] for cube in cubes[:2])
        raise UserError(
            f"trajectories: {first} and {second} did not teach the same students the same items over the same "
            f"rounds in league {leagues[0]}; ablations compare teachers that did"
        )
    return cubes[0]


def _mark_own(own: Bools, zero_shot: pa.Table, teachers: tuple[str, ...], cube: Cube, policy: str) -> None:
    """Fill in which zero-shot answers are in use, right and asked, shape (U, 3, N)."""
    place = {name: n for n, name in enumerate(cube.items.ids)}
    for part in zero_shot_cubes(zero_shot):
        if part.league != cube.league:
            raise UserError(
                f"zero_shot: answers of league {part.league} beside trajectories of league {cube.league}; give "
                "those of one"
            )
        strange = [name for name in part.items.ids if name not in place]
        if strange:
            raise UserError(
                f"zero_shot: {len(strange)} item(s) that nobody was taught in league {cube.league}, such as "
                f"{strange[0]!r}; give the answers to the items of the league"
            )
        at = np.array([place[name] for name in part.items.ids], dtype=np.int64)
        used = part.kept(policy)[:, 0]
        marks = (used, part.right[:, 0, :, 0] & used, part.asked()[:, 0])
        for u, (_, teacher) in enumerate(part.units):
            if teacher in teachers:
                for k, mark in enumerate(marks):
                    own[teachers.index(teacher), k, at] = mark[u]


def same_items(whole: Marks, other: Marks, where: str) -> tuple[Ints, Ints]:
    """Positions of the items that two leagues have in common, in the order of both.

    Args:
        whole: the league.
        other: the league under another condition.
        where: names the latter in a message.

    Raises:
        UserError: other teachers or students, no common item, or an item with another dataset or cluster.
    """
    for role in ("teachers", "students"):
        wanted, found = set(getattr(whole, role)), set(getattr(other, role))
        if wanted != found:
            raise UserError(
                f"{where}: the {role} are {', '.join(sorted(found))}; in the league {whole.league} they are "
                f"{', '.join(sorted(wanted))}. An ablation changes one thing: run it with the same {role}"
            )
    place = {name: n for n, name in enumerate(other.ids)}
    here = np.array([n for n, name in enumerate(whole.ids) if name in place], dtype=np.int64)
    if not here.size:
        raise UserError(
            f"{where}: no item in common with the league {whole.league}; item ids must be the same"
        )
    there = np.array([place[whole.ids[n]] for n in here.tolist()], dtype=np.int64)
    datasets = [side.datasets[n] for side, at in ((whole, here), (other, there)) for n in at.tolist()]
    moved = np.array([a != b for a, b in zip(datasets[: here.size], datasets[here.size :], strict=True)])
    moved |= _first_of_cluster(whole.cluster[here]) != _first_of_cluster(other.cluster[there])
    if moved.any():
        name = whole.ids[here[np.flatnonzero(moved)[0]]]
        raise UserError(
            f"{where}: item {name!r} belongs to another dataset or cluster than in the league {whole.league}; "
            "differences are paired by clusters, so both must have the same"
        )
    return here, there


def _first_of_cluster(cluster: Ints) -> Ints:
    """For each item the position of the first one of its cluster: equal for equal partitions."""
    _, first, code = np.unique(cluster, return_index=True, return_inverse=True)
    return np.asarray(first[code])
