"""Teaching metrics with one dialogue left out, for all dialogues at once.

A dialogue is a cell of the metrics: a student and an item, from the blind answer to the last round. Its marks are
counted by the code that counts the metrics; a metric without it is the same formula on the sums less its marks, so that
the change is exact. `magister.teaching.metrics` says what the metrics mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from magister.errors import UserError
from magister.stats import bootstrap_weights
from magister.teaching._cube import NOT_ASKED, Cube, Ints
from magister.teaching._formulas import (
    RELATIVE,
    Floats,
    Layout,
    final_gain,
    nothing_retained,
    relative,
    statistics,
)
from magister.teaching._measure import Policy, count, job_of

CONTROLS: dict[str, tuple[str, ...]] = {
    "net_CA": ("sham",),
    "headroom": ("sham", "oracle_tell"),
    "net_verdict": ("verdict_only",),
}
"""Arms whose dialogues count as well, by metric."""


@dataclass(frozen=True)
class Part:
    """Which metric of which part of a league.

    Attributes:
        metric: name as in the metrics table.
        round: its round.
        kind: slice kind.
        label: slice.
        policy: which replies count.
    """

    metric: str
    round: int
    kind: str
    label: str
    policy: Policy


@dataclass(frozen=True)
class LeftOut:
    """A metric, and what it is without each dialogue.

    Attributes:
        value: on all dialogues; NaN where undefined.
        arm: arm of each dialogue, length n.
        student: name, length n.
        item: id, length n.
        without: the metric without it, shape (n,); NaN where undefined then.
    """

    value: float
    arm: tuple[str, ...]
    student: tuple[str, ...]
    item: tuple[str, ...]
    without: Floats


@dataclass(frozen=True)
class _Marks:
    """Marks of the dialogues in use of one unit.

    Attributes:
        layout: of the sums.
        marks: what each adds to the sums, shape (n, F).
        student, item: positions, shape (n,).
    """

    layout: Layout
    marks: Ints
    student: Ints
    item: Ints

    @property
    def total(self) -> Ints:
        return np.asarray(self.marks.sum(axis=0, dtype=np.int64))

    def rest(self) -> Ints:
        """Sums without each dialogue, shape (n, F)."""
        return self.total[None, :] - self.marks


def _marks_of(cube: Cube, policy: Policy, items: Ints) -> _Marks:
    """Count each dialogue of a cube of one unit on its own."""
    data = np.asarray(cube.items.slices["dataset"], dtype=object)
    each = replace(cube.items, cluster=np.arange(data.size), strata=tuple(data.tolist()))
    weights = bootstrap_weights(each.strata, resamples=0, seed=0)
    found, students, places = [], [], []
    layout = None
    for s in range(len(cube.students)):
        others = np.arange(len(cube.students)) != s
        status = cube.status.copy()
        status[:, others] = NOT_ASKED
        alone = replace(cube, items=each, status=status)
        job = job_of(alone, policy, weights)
        layout = job.layout
        used = np.flatnonzero(job.kept[0, s, items])
        if used.size:
            found.append(count(job, items, slice(0, 1)).sums[0].T[used].astype(np.int64))
            students.append(np.full(used.size, s))
            places.append(items[used])
    if layout is None:
        raise ValueError("a cube without students")
    empty = np.empty(0, dtype=np.int64)
    return _Marks(
        layout,
        np.concatenate(found) if found else np.empty((0, layout.width), dtype=np.int64),
        np.concatenate([empty, *students]),
        np.concatenate([empty, *places]),
    )


def _metric(totals: Ints, layout: Layout, part: Part) -> Floats:
    """One metric from sums (n, F), shape (n,)."""
    present = totals[:, : layout.students] > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        as_floats = totals[:, :, None].astype(np.float64)
        if part.metric in RELATIVE:
            return np.asarray(final_gain(as_floats, layout, present)[:, 0])
        at = layout.metrics.index((part.metric, part.round))
        found = statistics(as_floats, layout, present)[:, at, 0]
    if part.metric == "RA":
        found = np.where(nothing_retained(totals, layout), np.nan, found)
    # Even a count is unknown, and not 0, where no dialogue is in use.
    return np.where(present.any(axis=1), found, np.nan)


def dialogues_left_out(units: Mapping[str, Cube], part: Part) -> LeftOut:
    """Work a metric out without each of its dialogues.

    Args:
        units: by arm the cube of one unit: the number's own arm first, then the control arms that it is compared with
            (`CONTROLS`).
        part: the metric and the part of the league.

    Returns:
        Dialogues by arm, student and item.

    Raises:
        UserError: the cube has no such slice.
    """
    if part.kind == "macro":
        return _macro(units, part)
    found = {
        arm: _marks_of(_of_slice(cube, part), part.policy, _items(cube, part)) for arm, cube in units.items()
    }
    own = next(iter(found))
    whole = {arm: _metric(marks.total[None, :], marks.layout, part) for arm, marks in found.items()}
    if part.metric not in RELATIVE:
        marks = found[own]
        return _named(
            units, {own: (marks, _metric(marks.rest(), marks.layout, part))}, float(whole[own][0]), part
        )
    at = RELATIVE.index(part.metric)

    def beside(arm: str | None, gains: Floats) -> Floats:
        """The relative metric with the CA of one arm replaced; shape of `gains`."""

        def gain(name: str) -> Floats:
            if name == arm:
                return gains
            return np.broadcast_to(whole[name] if name in whole else np.array([np.nan]), gains.shape)

        own_gain = gain(own)
        given = [own_gain[None, :], gain("sham"), gain("oracle_tell"), gain("verdict_only")[None, :]]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(relative(*given)[0, at])

    value = float(beside(None, np.array([np.nan]))[0])
    without = {
        arm: (marks, beside(arm, _metric(marks.rest(), marks.layout, part))) for arm, marks in found.items()
    }
    return _named(units, without, value, part)


def _macro(units: Mapping[str, Cube], part: Part) -> LeftOut:
    """The mean over the datasets that have a value: a dialogue is left out of its own."""
    cube = next(iter(units.values()))
    parts = []
    for label in sorted(set(cube.items.slices["dataset"])):
        parts.append(dialogues_left_out(units, replace(part, kind="dataset", label=label)))
    values = np.array([one.value for one in parts])
    known = ~np.isnan(values)
    total = 0.0
    for value in values[known].tolist():
        total += value
    if not known.any():
        return LeftOut(float("nan"), (), (), (), np.empty(0))
    without = []
    for one in parts:
        rest = total - (0.0 if np.isnan(one.value) else one.value)
        others = int(known.sum()) - (not np.isnan(one.value))
        lost = np.isnan(one.without)
        size = np.where(lost, others, others + 1)
        summed = rest + np.where(lost, 0.0, one.without)
        without.append(np.where(size > 0, summed / np.maximum(size, 1), np.nan))
    arms, students, items = (
        tuple(name for one in parts for name in getattr(one, field)) for field in ("arm", "student", "item")
    )
    return LeftOut(total / int(known.sum()), arms, students, items, np.concatenate(without))


def _of_slice(cube: Cube, part: Part) -> Cube:
    if part.kind != "student":
        return cube
    if part.label not in cube.students:
        raise UserError(f"no student {part.label!r} here; students: {', '.join(cube.students)}")
    return cube.of_student(cube.students.index(part.label))


def _items(cube: Cube, part: Part) -> Ints:
    if part.kind == "student":
        return np.arange(len(cube.items.ids))
    labels = np.asarray(cube.items.slices.get(part.kind, ()), dtype=object)
    found = np.flatnonzero(labels == part.label)
    if not found.size:
        raise UserError(f"no item of the slice {part.kind}={part.label} here")
    return found


def _named(
    units: Mapping[str, Cube], found: Mapping[str, tuple[_Marks, Floats]], value: float, part: Part
) -> LeftOut:
    arms: list[str] = []
    students: list[str] = []
    items: list[str] = []
    for arm, (marks, _) in found.items():
        cube = _of_slice(units[arm], part)
        arms += [arm] * marks.student.size
        students += [cube.students[s] for s in marks.student.tolist()]
        items += [cube.items.ids[n] for n in marks.item.tolist()]
    without = np.concatenate([np.empty(0), *(part[1] for part in found.values())])
    return LeftOut(value, tuple(arms), tuple(students), tuple(items), without)


Names = Callable[[int], tuple[str, ...]]


def largest(change: Floats, names: Names, top: int) -> tuple[list[int], int]:
    """The largest changes, equal ones by name.

    Args:
        change: shape (n,); NaN (nothing is left without it) counts as the largest.
        names: name of a position, which settles ties.
        top: how many at most; what changes nothing is never among them.

    Returns:
        Positions, and how many others have as large a change as the last of them.
    """
    size = np.where(np.isnan(change), np.inf, np.abs(change)).round(12)
    top = min(top, int((size > 0).sum()))
    if top < 1:
        return [], 0
    limit = np.sort(size)[::-1][top - 1]
    chosen = np.flatnonzero(size >= limit).tolist()
    chosen.sort(key=lambda at: (-size[at], names(at)))
    return chosen[:top], len(chosen) - top
