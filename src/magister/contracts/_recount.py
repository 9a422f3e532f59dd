"""The metrics of a league once more: counted from the replies by the definitions, not by the code that rates.

`magister.teaching.metrics` says what the metrics mean. Nothing of that package is used here: replies stand on the grid
of the plan, items that share all slices are added up first, and every value is a quotient of whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts._columns import Codes, Mask, facts, places, row_codes, true
from magister.contracts._league import Grid, LeaguePlan
from magister.contracts.schemas import LEAKS, POLICIES, STATUSES, VERDICTS

Floats = NDArray[np.float64]
Small = NDArray[np.int8]

FLAGS = ("needs_options", "options_in_question", "multi")
# Of the verdicts of round 1, for the arm `taught` alone as the rest below.
_JUDGING = ("JA", "JA_none", "JA_balanced", "JA_mcc", "JA_always_wrong")
_BY_LEAK = tuple(f"CA_leak_{word}" for word in LEAKS)
_TAUGHT_ONLY = (*_JUDGING, "CA_masked", *_BY_LEAK, "headroom", "net_verdict")
_MOVES = ("Fix", "Reg")
# Gains that differ by no more are equal: sums of shares are rounded.
_ROUNDING = 1e-12
_OK, _ERROR = STATUSES.index("ok"), STATUSES.index("error")
_CORRECT, _WRONG, _NONE = (VERDICTS.index(word) for word in ("correct", "wrong", "none"))


@dataclass(frozen=True)
class Slices:
    """Slices by items, and which items each has.

    Attributes:
        names: (kind, label) of each, length K; the first is the whole.
        holds: items of each, shape (N, K).
        cluster: cluster of each item, 0..C-1, shape (N,).
        above_chance: 1 - 1 / (number of options) of each item, shape (N,).
    """

    names: list[tuple[str, str]]
    holds: Mask
    cluster: Codes
    above_chance: Floats

    @property
    def datasets(self) -> list[int]:
        """Positions of the data sets."""
        return [place for place, (kind, _) in enumerate(self.names) if kind == "dataset"]


def slices_of(items: pa.Table, bands: pa.Table) -> Slices:
    """The slices that a league's items make.

    A flag that no item has makes none: "no" would be the whole.

    Args:
        items: ITEMS of the league, with `n_options`.
        bands: BANDS.
    """
    _, banded = facts(items, bands, "item_id", ("band",))
    texts = {name: items[name] for name in ("domain", "dataset")}
    texts |= {"band": banded["band"].cast(pa.string()), "n_options": items["n_options"].cast(pa.string())}
    texts |= {name: pc.if_else(items[name], "yes", "no") for name in FLAGS if true(items[name]).any()}
    names, holds = [("overall", "all")], [np.ones(items.num_rows, dtype=bool)]
    for kind, labels in texts.items():
        for label in sorted(pc.unique(labels.drop_null()).to_pylist()):
            names.append((kind, label))
            holds.append(true(pc.equal(labels, label)))
    _, cluster = np.unique(row_codes(items, ("dataset", "cluster_id")), return_inverse=True)
    options = items["n_options"].to_numpy().astype(np.float64)
    return Slices(names, np.stack(holds, axis=1), cluster, 1 - 1 / np.maximum(options, 1))


@dataclass(frozen=True)
class Replies:
    """What was replied at every place of a league.

    Attributes:
        status: index into `STATUSES`, -1 where no row stands, shape (E, S, N, R).
        right: correct with status ok, same shape.
        verdict: index into `VERDICTS` at round 1, shape (E, S, N).
        failed_guide: a guide of the cell has status error, shape (E, S, N).
        leak: index into `LEAKS`, shape (E, S, N, R).
    """

    status: Small
    right: Mask
    verdict: Small
    failed_guide: Mask
    leak: Small


def replies_of(trajectories: pa.Table, grid: Grid, number: Codes) -> Replies:
    """Replies on the grid of the plan; rows outside it are none of the league's.

    Args:
        trajectories: TRAJECTORIES.
        grid: the places of the league.
        number: `grid.number(trajectories)`.
    """
    inside = number >= 0
    rows, place = (
        (trajectories, number) if inside.all() else (trajectories.filter(pa.array(inside)), number[inside])
    )

    def placed(values: NDArray[np.generic], empty: int) -> Small:
        out = np.full(grid.size, empty, dtype=np.int8)
        out[place] = values
        return out.reshape(grid.shape)

    status = placed(places(rows["status"], STATUSES), -1)
    right = placed(true(rows["correct"]), 0).astype(bool) & (status == _OK)
    # Only round 1 is judged.
    verdict = placed(places(rows["verdict"], VERDICTS), _NONE)[..., 1]
    failed = (placed(true(pc.equal(rows["guide_status"], "error")), 0) > 0).any(axis=-1)
    return Replies(
        status,
        right,
        np.where(verdict < 0, _NONE, verdict),
        np.asarray(failed),
        placed(places(rows["leak"], LEAKS), 0),
    )


@dataclass(frozen=True)
class Sums:
    """Whole numbers by exchange, student and slice, each of shape (E, S, K) or (R, E, S, K).

    `held`: right at the last round with leaks masked; `leaked`: per kind of leak cells, right at 0 and right at the
    last; `above_chance` alone is a sum of fractions.
    """

    asked: Floats
    cells: Floats
    right: Floats
    fixed: Floats
    lost: Floats
    held: Floats
    leaked: Floats
    judged: Floats
    judged_right: Floats
    hit_right: Floats
    hit_wrong: Floats
    unjudged: Floats
    above_chance: Floats

    def of_students(self) -> Sums:
        """Every student as a slice of its own, with all its items."""
        return Sums(**{name: np.swapaxes(part[..., :1], -1, -2) for name, part in vars(self).items()})


@dataclass(frozen=True)
class Sizes:
    """Items and clusters with a cell in use, by exchange and slice (E, K + S), single students last."""

    items: Floats
    clusters: Floats


class _Adder:
    """Adds items up by slice: first those that share all slices, then these."""

    def __init__(self, slices: Slices) -> None:
        packed = np.packbits(slices.holds, axis=1)
        _, kind = np.unique(packed, axis=0, return_inverse=True)
        self.order = np.argsort(kind.ravel(), kind="stable")
        ordered = kind.ravel()[self.order]
        self._starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        self._holds = slices.holds[self.order[self._starts]].astype(np.float64)
        self._cluster_order = np.argsort(slices.cluster, kind="stable")
        clusters = slices.cluster[self._cluster_order]
        self._cluster_starts = np.flatnonzero(np.diff(clusters, prepend=-1))
        self._clustered = slices.holds[self._cluster_order]
        self._above = slices.above_chance[self.order]
        # From the order of kinds to the order of clusters.
        back = np.empty_like(self.order)
        back[self.order] = np.arange(back.size)
        self._to_clusters = back[self._cluster_order]

    def __call__(self, marks: Mask) -> Floats:
        """Marks in the order of `order`, shape (..., N), as sums (..., K): whole numbers, so in any order the same."""
        parts = np.add.reduceat(marks, self._starts, axis=-1, dtype=np.int64)
        return np.asarray(parts.astype(np.float64) @ self._holds)

    def above_chance(self, used: Mask) -> Floats:
        """Sums of 1 - 1 / (number of options) over cells in use."""
        parts = np.add.reduceat(used * self._above, self._starts, axis=-1)
        return np.asarray(parts @ self._holds)

    def clusters(self, used: Mask) -> Floats:
        """Clusters with a cell in use of any student by slice, then by student; `used` is (S, N)."""
        marks = used[:, self._to_clusters]
        some = self._clustered & np.asarray(marks.any(axis=0))[:, None]
        by_slice = np.logical_or.reduceat(some, self._cluster_starts, axis=0).sum(axis=0)
        by_student = np.logical_or.reduceat(marks, self._cluster_starts, axis=1).sum(axis=1)
        return np.concatenate([by_slice, by_student]).astype(np.float64)


def count(replies: Replies, slices: Slices, policy: str) -> tuple[Sums, Sizes]:
    """Count the cells of a league.

    Args:
        replies: of all places.
        slices: of the items.
        policy: "wrong": a reply without an answer is wrong; "drop": its cell does not count.
    """
    add = _Adder(slices)
    parts: list[dict[str, Floats]] = []
    items, clusters = [], []
    for status, right, verdict, failed, leak in zip(*vars(replies).values(), strict=True):
        status, right, leak = status[:, add.order], right[:, add.order], leak[:, add.order]
        verdict, failed = verdict[:, add.order], failed[:, add.order]
        there = status[..., 0] >= 0
        unfit = (status < 0) | ((status != _OK) if policy == "drop" else (status == _ERROR))
        used = ~unfit.any(axis=-1) & ~failed
        marks = np.moveaxis(right & used[..., None], -1, 0)
        before, after = marks[:-1], marks[1:]
        judged = used & (verdict != _NONE) if policy == "drop" else used
        told = leak > 0
        # The reply of the round before the first leak; the last one where nothing leaked.
        stays = np.where(told.any(axis=-1), np.maximum(told.argmax(axis=-1), 1), status.shape[-1]) - 1
        held = np.take_along_axis(marks, stays[None], axis=0)[0]
        worst = np.maximum(leak.max(axis=-1), 0)
        kinds = np.stack([used & (worst == kind) for kind in range(len(LEAKS))])
        sums = {
            "asked": add(there), "cells": add(used), "right": add(marks),
            "fixed": add(used & ~before & after), "lost": add(before & ~after), "held": add(held),
            "leaked": add(np.stack([kinds, kinds & marks[0], kinds & marks[-1]])),
            "judged": add(judged), "judged_right": add(judged & marks[0]),
            "hit_right": add(judged & marks[0] & (verdict == _CORRECT)),
            "hit_wrong": add(judged & ~marks[0] & (verdict == _WRONG)),
            "unjudged": add(used & (verdict == _NONE)), "above_chance": add.above_chance(used),
        }  # fmt: skip
        parts.append(sums)
        items.append(np.concatenate([add(used.any(axis=0)), sums["cells"][:, 0]]))
        clusters.append(add.clusters(used))
    stacked = {name: np.stack([part[name] for part in parts], axis=-3) for name in parts[0]}
    return Sums(**stacked), Sizes(np.stack(items), np.stack(clusters))


def _ratio(top: Floats, bottom: Floats) -> Floats:
    return np.where(bottom == 0, np.nan, top / np.where(bottom == 0, 1.0, bottom))


def _mean(top: Floats, bottom: Floats, cells: Floats) -> Floats:
    """Mean over the students with cells of top / bottom: (E, S, K) to (E, K)."""
    present = cells > 0
    return _ratio(np.where(present, _ratio(top, bottom), 0.0).sum(axis=1), present.sum(axis=1).astype(float))


def metric_rounds(rounds: int) -> list[tuple[str, int]]:
    """(metric, round) of every row that a league with T rounds can have."""
    curve = [("p", t) for t in range(rounds + 1)]
    curve += [(name, t) for name in ("CA", *_MOVES) for t in range(1, rounds + 1)]
    once = [(name, 1) for name in (*_JUDGING, "GA", "regression")]
    whole = (
        "RA",
        "normalised_gain",
        "corrected_gain",
        "CA_masked",
        *_BY_LEAK,
        "net_CA",
        "headroom",
        "net_verdict",
    )
    return [("AA", 0), *curve, *once, *((name, rounds) for name in whole)]


def values(sums: Sums, plan: LeaguePlan) -> dict[tuple[str, int], Floats]:
    """Every metric of the students' replies by its definition, each of shape (E, K); NaN where it has no value.

    Args:
        sums: of slices or of students.
        plan: what the league was to run.
    """
    cells, right, last = sums.cells, sums.right, plan.rounds
    none = cells.sum(axis=1) == 0
    found: dict[tuple[str, int], Floats] = {}
    for t in range(last + 1):
        found["p", t] = _mean(right[t], cells, cells)
    for t in range(1, last + 1):
        found["CA", t] = _mean(right[t] - right[0], cells, cells)
        found["Fix", t] = np.where(none, np.nan, sums.fixed[t - 1].sum(axis=1))
        found["Reg", t] = np.where(none, np.nan, sums.lost[t - 1].sum(axis=1))
    n, right0 = cells.sum(axis=1), right[0].sum(axis=1)
    judged, yes = sums.judged.sum(axis=1), sums.judged_right.sum(axis=1)
    true_yes, true_no = sums.hit_right.sum(axis=1), sums.hit_wrong.sum(axis=1)
    no = judged - yes
    found["JA", 1] = _ratio(true_yes + true_no, judged)
    found["JA_none", 1] = _ratio(sums.unjudged.sum(axis=1), n)
    found["JA_balanced", 1] = (_ratio(true_yes, yes) + _ratio(true_no, no)) / 2
    found["JA_always_wrong", 1] = _ratio(no, judged)
    said_yes, said_no = true_yes + (no - true_no), true_no + (yes - true_yes)
    found["JA_mcc", 1] = _ratio(
        true_yes * true_no - (yes - true_yes) * (no - true_no),
        np.sqrt(yes * no) * np.sqrt(said_yes * said_no),
    )
    found["GA", 1] = _ratio(sums.fixed[0].sum(axis=1), n - right0)
    found["regression", 1] = _ratio(sums.lost[0].sum(axis=1), right0)
    kept = np.ones_like(cells)
    for t in range(2, last + 1):
        kept = kept * np.where(
            right[t - 1] == 0, 1.0, right[t] / np.where(right[t - 1] == 0, 1.0, right[t - 1])
        )
    retained = (right[1:last] > 0).any(axis=(0, 2))
    found["RA", last] = np.where(retained, _mean(kept - 1, np.ones_like(cells), cells), np.nan)
    gain = found["CA", last]
    found["normalised_gain", last] = _ratio(gain, _mean(cells - right[0], cells, cells))
    found["corrected_gain", last] = _mean(right[last] - right[0], sums.above_chance, cells)
    found["CA_masked", last] = _mean(sums.held - right[0], cells, cells)
    for kind, name in enumerate(_BY_LEAK):
        at_all, at_first, at_last = (part[kind].sum(axis=1) for part in sums.leaked)
        found[name, last] = _ratio(at_last - at_first, at_all)
    return found | _beside(gain, plan)


def _beside(gain: Floats, plan: LeaguePlan) -> dict[tuple[str, int], Floats]:
    """CA beside the control arms that the league has."""
    places_of = {exchange: place for place, exchange in enumerate(plan.exchanges)}

    def of(arm: str, teacher: str) -> Floats:
        place = places_of.get((arm, teacher))
        return np.full(gain.shape[1], np.nan) if place is None else gain[place]

    sham, oracle = of("sham", "sham"), of("oracle_tell", "oracle_tell")
    room = oracle - sham
    alone = np.stack([of("verdict_only", teacher) for _, teacher in plan.exchanges])
    share = np.where(room > _ROUNDING, (gain - sham) / np.where(room > _ROUNDING, room, 1.0), np.nan)
    last = plan.rounds
    return {("net_CA", last): gain - sham, ("headroom", last): share, ("net_verdict", last): gain - alone}


def exists(plan: LeaguePlan, metric: str) -> Mask:
    """Exchanges that have rows of a metric, shape (E,)."""
    arms = set(plan.arms)

    def shown(arm: str) -> bool:
        if metric in (*_TAUGHT_ONLY, "AA") and arm != "taught":
            return False
        wanted = {"net_CA": {"sham"}, "headroom": {"sham", "oracle_tell"}, "net_verdict": {"verdict_only"}}
        return wanted.get(metric, set()) <= arms and not (metric == "net_CA" and arm == "sham")

    return np.array([shown(arm) for arm, _ in plan.exchanges], dtype=bool)


@dataclass(frozen=True)
class Recount:
    """Every row that the metrics of a league must have, with its value and sizes.

    Axes: P metrics and rounds, E exchanges, L slices: those by items, the students, and where there are several data
    sets their mean.

    Attributes:
        metrics: (metric, round), length P.
        slices: (kind, label), length L.
        there: whether there is such a row, shape (P, E, L).
        value: NaN where it has none, shape (P, E, L).
        sizes: n_items, n_students, n_clusters, n_cells and n_dropped, each of that shape.
    """

    metrics: list[tuple[str, int]]
    slices: list[tuple[str, str]]
    there: Mask
    value: Floats
    sizes: dict[str, Floats]


@dataclass(frozen=True)
class _Own:
    """Zero-shot answers of all teachers by slice: AA, answers used and asked, and clusters; each (M, K)."""

    value: Floats
    used: Floats
    asked: Floats
    clusters: Floats


def _own(zero_shot: pa.Table, grid: Grid, slices: Slices, policy: str) -> _Own:
    teacher, item = (
        places(zero_shot["model"], grid.plan.teachers),
        places(zero_shot["item_id"], grid.item_ids),
    )
    inside = (teacher >= 0) & (item >= 0)
    status = np.full((len(grid.plan.teachers), len(grid.item_ids)), -1, dtype=np.int8)
    correct = np.zeros(status.shape, dtype=bool)
    at = teacher[inside], item[inside]
    status[at] = places(zero_shot["status"], STATUSES)[inside]
    correct[at] = true(zero_shot["correct"])[inside]
    used = status == _OK if policy == "drop" else (status >= 0) & (status != _ERROR)
    add = _Adder(slices)
    cells, right, asked = (
        add(part[:, add.order]) for part in (used, used & correct & (status == _OK), status >= 0)
    )
    clusters = [add.clusters(own[None, add.order])[:-1] for own in used]
    return _Own(_ratio(right, cells), cells, asked, np.stack(clusters) if clusters else cells)


def recount(replies: Replies, zero_shot: pa.Table, grid: Grid, slices: Slices, policy: str) -> Recount:
    """Count a league again.

    Args:
        replies: of all places.
        zero_shot: ANSWERS of the teachers.
        grid: those places.
        slices: of the items of the grid.
        policy: "wrong" or "drop".
    """
    plan = grid.plan
    sums, sizes = count(replies, slices, policy)
    single = sums.of_students()
    several = len(slices.datasets) > 1
    names = [*slices.names, *(("student", name) for name in plan.students)]
    names += [("macro", "datasets")] if several else []
    metrics = metric_rounds(plan.rounds)
    value = np.full((len(metrics), len(plan.exchanges), len(names)), np.nan)
    there = np.zeros(value.shape, dtype=bool)
    n = {
        name: np.zeros(value.shape)
        for name in ("n_items", "n_students", "n_clusters", "n_cells", "n_dropped")
    }
    taught = [place for place, (arm, _) in enumerate(plan.exchanges) if arm == "taught"]
    own = _own(zero_shot, grid, slices, policy)
    whole = slices.names.index(("overall", "all"))
    by_item, by_student = values(sums, plan), values(single, plan)
    asked, cells = (
        _joined(part, single_part)
        for part, single_part in ((sums.asked, single.asked), (sums.cells, single.cells))
    )
    students = np.concatenate([part.cells.astype(bool).sum(axis=1) for part in (sums, single)], axis=1)
    judged = _joined(sums.judged, single.judged)
    leaked = [_joined(sums.leaked[0, kind], single.leaked[0, kind]) for kind in range(len(_BY_LEAK))]
    span = slice(0, len(names) - several)
    for p, key in enumerate(metrics):
        metric = key[0]
        there[p] = exists(plan, metric)[:, None]
        if metric == "AA":
            items = slice(0, len(slices.names))
            there[p, :, len(slices.names) : span.stop] = False
            value[p, taught, items] = own.value
            for name, part in (("n_items", own.used), ("n_cells", own.used), ("n_clusters", own.clusters)):
                n[name][p, taught, items] = part
            n["n_dropped"][p, taught, items] = own.asked - own.used
        else:
            used = cells
            if policy == "drop" and metric in _JUDGING and metric != "JA_none":
                used = judged
            if metric in _BY_LEAK:
                used = leaked[_BY_LEAK.index(metric)]
            value[p, :, span] = np.concatenate([by_item[key], by_student[key]], axis=1)
            rows = (sizes.items, students, sizes.clusters, used, asked - used)
            for name, part in zip(n, rows, strict=True):
                n[name][p, :, span] = part
        if several:
            of_datasets = value[p][:, slices.datasets]
            known = ~np.isnan(of_datasets)
            value[p, :, -1] = _ratio(
                np.where(known, of_datasets, 0.0).sum(axis=1), known.sum(axis=1).astype(float)
            )
            there[p, :, -1] &= metric not in _MOVES
            for part in n.values():
                part[p, :, -1] = part[p, :, whole]
    return Recount(metrics, names, there, value, n)


def _joined(sums: Floats, single: Floats) -> Floats:
    """Totals over students by slice, then by student, shape (E, K + S)."""
    return np.concatenate([sums.sum(axis=1), single.sum(axis=1)], axis=1)


def policies(metrics: pa.Table) -> Iterator[tuple[str, Mask]]:
    """The policies that rows are counted under, and their rows; the first policy stands in for want of any."""
    found = [(policy, true(pc.equal(metrics["policy"], policy))) for policy in POLICIES]
    yield from [(policy, rows) for policy, rows in found if rows.any()] or found[:1]
