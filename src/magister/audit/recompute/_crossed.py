"""Standings and comparisons of a league: both kinds of intervals, ranks, tests and letters.

Variances are jackknives, which hold no chance and are recomputed exactly: without a cluster, without a student, and
without one student's part of a cluster. Percentiles, ranks and tests by random signs are held against draws of our own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from magister.audit.recompute._cells import Group, by_cluster
from magister.audit.recompute._chance import share_range
from magister.audit.recompute._draws import (
    SEED,
    UNDEFINED,
    Draws,
    Published,
    adjusted,
    hold_ends,
    hold_ranks,
    letters_agree,
    ranked,
    student,
)
from magister.audit.recompute._formulas import RANGES
from magister.audit.recompute._ledger import Bools, Floats, Ints, Ledger, Sheet

STANDINGS_KEY = ("league", "metric", "teacher")
COMPARISONS_KEY = ("league", "metric", "first", "second")
_METRICS = ("CA", "JA", "GA", "RA")
# With so few clusters all patterns of signs are counted.
_EXACT = 13
_FLIPS = 2000
Statistic = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Field:
    """One metric of U teachers that can be compared.

    Attributes:
        league: their league.
        metric: CA, JA, GA, RA or AA.
        number: its round.
        teachers: length U.
        value: on the data, shape (U,).
        drawn: on our resamples, shape (B', U).
        by_cluster: jackknife deviations, scaled so that squares add up to a variance, shape (C, U).
        by_student: the same without a student, shape (S, U); none for AA.
        by_cell: the same without a student's part of a cluster, shape (C S, U).
        n_students: students of each, shape (U,); zeros for AA.
        counts: columns of counts by name, shape (U,) each.
        alone: whether all teachers of the league stand here.
    """

    league: str
    metric: str
    number: int
    teachers: list[str]
    value: Floats
    drawn: Floats
    by_cluster: Floats
    by_student: Floats
    by_cell: Floats
    n_students: Ints
    counts: dict[str, Ints]
    alone: bool

    @property
    def own(self) -> bool:
        """Whether there are no students: AA."""
        return self.metric == "AA"


def fields_of(league: str, group: Group, policy: str, draws: Draws, *, alone: bool) -> list[Field]:
    """The metrics of a group's teachers as what their standings rest on.

    Args:
        league: its name.
        group: its cells.
        policy: which cells count.
        draws: resamples of its clusters.
        alone: whether no other group of the league has teachers.
    """
    taught = [u for u, (arm, _) in enumerate(group.units) if arm == "taught"]
    if not taught:
        return []
    marks, names = group.marks(policy)
    every = np.ones(len(group.items.names), dtype=bool)
    _, sums = by_cluster(group, marks, every)
    x = sums[:, :, taught].astype(np.float64)  # (C, S, U, F)
    of = {name: k for k, name in enumerate(names)}
    last = group.rounds - 1
    found = []
    present = x[..., of["cells"]].sum(axis=0) > 0  # (S, U)
    pairs = group.item.size
    used = x[..., of["cells"]]
    shared = {
        "n_items": np.array([np.unique(group.item[marks[:, u, 0] > 0]).size for u in taught]),
        "n_clusters": (used.sum(axis=1) > 0).sum(axis=0),
    }
    for metric in ("AA",) if last == 0 else _METRICS:
        statistic = _statistic(metric, of, last)
        weight = present.astype(np.float64)
        cells = x[..., of["judged" if metric == "JA" else "cells"]].sum(axis=(0, 1)).astype(np.int64)
        found.append(
            Field(
                league,
                metric,
                0 if metric == "AA" else last if metric in ("CA", "RA") else 1,
                [group.units[u][1] for u in taught],
                statistic(x.sum(axis=0), weight),
                statistic(draws.totals(x.astype(np.int32)), weight),
                *_jackknives(x, weight, statistic, draws),
                n_students=present.sum(axis=0) if last else np.zeros(len(taught), dtype=np.int64),
                counts=shared
                | {
                    "n_students": present.sum(axis=0) if last else np.zeros(len(taught), dtype=np.int64),
                    "n_cells": cells,
                    "n_dropped": pairs - cells,
                },
                alone=alone,
            )
        )
    return found


def _statistic(metric: str, of: dict[str, int], last: int) -> Statistic:
    """A metric of sums (..., S, U, F) with weights of students (..., S, U): shape (..., U)."""

    def mean(top: Floats, bottom: Floats, weight: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            share = top / bottom
            # A student of no weight is no part of it, whatever its share.
            return (np.where(weight > 0, share, 0.0) * weight).sum(axis=-2) / weight.sum(axis=-2)

    def pooled(top: Floats, bottom: Floats, weight: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (top * weight).sum(axis=-2) / (bottom * weight).sum(axis=-2)
        return np.where(np.isfinite(found), found, np.nan)

    def at(sums: Floats, name: str) -> Floats:
        return sums[..., of[name]]

    def growth(sums: Floats, weight: Floats) -> Floats:
        kept = np.where(at(sums, "cells") > 0, 1.0, np.nan)
        some = np.zeros(sums.shape[:-3] + sums.shape[-2:-1], dtype=bool)
        for t in range(2, last + 1):
            before, now = at(sums, f"right{t - 1}"), at(sums, f"right{t}")
            kept = kept * np.where(before > 0, now / np.where(before > 0, before, 1.0), 1.0)
            some = some | ((before > 0) & (weight > 0)).any(axis=-2)
        return np.where(some, mean(kept - 1, np.ones_like(kept), weight), np.nan)

    if metric == "AA":
        return lambda sums, weight: pooled(at(sums, "right0"), at(sums, "cells"), weight)
    if metric == "CA":
        return lambda sums, weight: _finite(
            mean(at(sums, f"right{last}") - at(sums, "right0"), at(sums, "cells"), weight)
        )
    if metric == "JA":
        return lambda sums, weight: pooled(
            at(sums, "hit_right") + at(sums, "hit_wrong"), at(sums, "judged"), weight
        )
    if metric == "GA":
        return lambda sums, weight: pooled(at(sums, "fix1"), at(sums, "cells") - at(sums, "right0"), weight)
    return growth


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)


def _jackknives(
    x: Floats, weight: Floats, statistic: Statistic, draws: Draws
) -> tuple[Floats, Floats, Floats]:
    """Deviations without a cluster, a student and a cell; each scaled so that its squares add up to a variance."""
    clusters, students = x.shape[:2]
    total = x.sum(axis=0)
    size = draws.sizes[draws.stratum].astype(np.float64)
    scale = np.sqrt((size - 1) / size)

    def centred(left: Floats) -> Floats:
        """About the mean of each stratum; rounding of equal values is no deviation."""
        count = np.bincount(draws.stratum)
        sums = np.zeros((count.size, *left.shape[1:]))
        np.add.at(sums, draws.stratum, left)
        mean = (sums / count.reshape(-1, *[1] * (left.ndim - 1)))[draws.stratum]
        away = left - mean
        away = np.where(np.abs(away) <= 1e-13 * np.maximum(np.abs(mean), 1.0), 0.0, away)
        shape = (-1, *[1] * (left.ndim - 1))
        return np.where(scale.reshape(shape) > 0, scale.reshape(shape) * away, 0.0)

    without = centred(statistic(total - x, np.broadcast_to(weight, (clusters, *weight.shape))))
    units = weight.shape[1]
    by_student = np.zeros((students, units))
    by_cell = np.zeros((clusters, students, units))
    for u in range(units):
        mine = np.flatnonzero(weight[:, u])
        if not mine.size:
            continue
        one, own = x[:, :, u : u + 1], weight[:, u : u + 1]
        factor = np.sqrt((mine.size - 1) / mine.size)
        left = np.array([statistic(total[:, u : u + 1], _less(own, s))[0] for s in mine.tolist()])
        by_student[mine, u] = factor * (left - left.mean())
        for s in mine.tolist():
            rest = np.repeat(total[None, :, u : u + 1], clusters, axis=0)
            rest[:, s] -= one[:, s]
            by_cell[:, s, u] = centred(statistic(rest, np.broadcast_to(own, (clusters, *own.shape))))[:, 0]
        cells = by_cell[:, mine, u]
        by_cell[:, mine, u] = np.sqrt(mine.size / max(mine.size - 1, 1)) * (
            cells - cells.mean(axis=1, keepdims=True)
        )
    return without, by_student, by_cell.reshape(clusters * students, units)


def _less(weight: Floats, student_at: int) -> Floats:
    out = weight.copy()
    out[student_at] = 0.0
    return out


@dataclass(frozen=True)
class Settings:
    """Of a table: resamples, level, and what is drawn here."""

    resamples: int
    level: float
    draws: Draws


def hold_standings(ledger: Ledger, sheet: Sheet, comparisons: Sheet, field: Field, given: Settings) -> None:
    """Rows of one metric in the standings, and of its pairs in the comparisons.

    Args:
        ledger: for findings.
        sheet: the standings.
        comparisons: of the pairs.
        field: the metric.
        given: settings of both tables.
    """
    rows = sheet.find([(field.league, field.metric, teacher) for teacher in field.teachers])
    if (rows < 0).any():
        for u in np.flatnonzero(rows < 0).tolist():
            ledger.add(sheet.path, f"league {field.league}, metric {field.metric}, teacher {field.teachers[u]}",
                       "rows: standings of a league", "no such row", "a row")  # fmt: skip
        return
    ledger.compare(sheet, "value", field.value, "standings: the value", rows=rows)
    ledger.compare(sheet, "round", np.full(rows.size, field.number), "standings: the round", rows=rows)
    for name, wanted in field.counts.items():
        ledger.compare(sheet, name, wanted, "standings: counts", rows=rows)
    _hold_random(ledger, sheet, rows, field, given, field.value, RANGES.get(field.metric, (0.0, 1.0)))
    places = ranked(field.value) if field.alone else np.full(rows.size, np.nan)
    ledger.compare(sheet, "rank", places, "standings: the rank", rows=rows)
    low, rank, high = (sheet.numbers(name)[rows] for name in ("rank_low", "rank", "rank_high"))
    with np.errstate(invalid="ignore"):
        off = (low > rank) | (rank > high) | (high > rows.size) | (low < 1)
    ledger.refuse(sheet, "rank_low", off, "identity: a rank lies in its interval", low, "rank_low <= rank <= rank_high",
                  rows=rows)  # fmt: skip
    ok = sheet.texts("rank_status")[rows] == "ok"
    there = ~np.isnan(low) & ~np.isnan(high) & ~np.isnan(sheet.numbers("p_first")[rows])
    said, rule = sheet.texts("rank_status")[rows], "ok with rank_low, rank_high and p_first alone"
    ledger.refuse(
        sheet,
        "rank_status",
        ok != there,
        "standings: an interval where the status says so",
        said,
        rule,
        rows=rows,
    )
    lost = np.isnan(field.drawn).mean(axis=0) > UNDEFINED
    drawn = np.where(np.isnan(field.value), np.nan, field.drawn)
    if field.alone and not lost.any():
        hold_ranks(ledger, sheet, rows, drawn, given.draws.tail(given.level), given.resamples)
    pairs = list(combinations(range(len(field.teachers)), 2))
    if pairs:
        _hold_pairs(ledger, comparisons, field, given, pairs)
        _hold_letters(ledger, sheet, comparisons, rows, field, given, pairs)


def _variances(field: Field, first: Ints, second: Ints | None) -> tuple[Floats, Floats, Floats]:
    """Of clusters, students and cells; of single statistics, or of differences."""
    out = []
    for away in (field.by_cluster, field.by_student, field.by_cell):
        one = away[:, first]
        difference = one if second is None else one - away[:, second]
        found = (difference**2).sum(axis=0)
        if second is not None:
            own = (one**2).sum(axis=0) + (away[:, second] ** 2).sum(axis=0)
            found = np.where(found <= 1e-12 * own, 0.0, found)
        out.append(found)
    return out[0], out[1], out[2]


def _hold_random(
    ledger: Ledger,
    sheet: Sheet,
    rows: Ints,
    field: Field,
    given: Settings,
    value: Floats,
    limits: tuple[float, float],
    pairs: tuple[Ints, Ints] | None = None,
) -> None:
    """Intervals for students like these: V_students + max(V_items - V_cells, 0), Student's quantiles for each part."""
    first, second = pairs if pairs is not None else (np.arange(len(field.teachers)), None)
    check = "standings: the interval for students like these"
    columns = ("random_ci_low", "random_ci_high", "random_se")
    if field.own:
        for name in columns:
            ledger.compare(sheet, name, np.full(rows.size, np.nan), check, rows=rows)
        return
    raw, people, cells = _variances(field, first, second)
    items = np.maximum(raw - cells, 0.0)
    students = (
        field.n_students[first]
        if second is None
        else np.minimum(field.n_students[first], field.n_students[second])
    )
    freedom = given.draws.freedom()[1]
    half = np.sqrt(
        student(given.level, students - 1) ** 2 * people + student(given.level, freedom) ** 2 * items
    )
    variance = people + items
    # What is left of two variances that are one is rounding, or nothing: either will do.
    rounding = variance <= 1e-12 * (raw + people + cells) + 1e-14
    none = np.where(rounding, np.isnan(sheet.numbers("random_se")[rows]), variance == 0)
    missing = np.isnan(value) | (students < 2) | np.isnan(variance) | none | (not given.draws.vary())
    wanted = (np.maximum(value - half, limits[0]), np.minimum(value + half, limits[1]), np.sqrt(variance))
    for name, numbers in zip(columns, wanted, strict=True):
        # The root of a variance that is rounding is a thousand times larger than it.
        some = ~(rounding & ~missing)
        wanted_here = np.where(missing, np.nan, numbers)[some]
        ledger.compare(sheet, name, wanted_here, check, rows=rows[some], tolerance=1e-8)
        ledger.compare(sheet, name, numbers[~some], check, rows=rows[~some], tolerance=1e-5)
    status = np.where(np.isnan(value), "not_computable", np.where(missing, "no_interval", "ok")).astype(
        object
    )
    # A value that is unknown has no interval for students either; the table calls both unknown.
    ledger.compare(sheet, "random_status", status, check, rows=rows)


def _hold_pairs(
    ledger: Ledger, sheet: Sheet, field: Field, given: Settings, pairs: list[tuple[int, int]]
) -> None:
    keys = [(field.league, field.metric, field.teachers[a], field.teachers[b]) for a, b in pairs]
    rows = sheet.find(keys)
    for k in np.flatnonzero(rows < 0).tolist():
        place = ", ".join(f"{name} {value}" for name, value in zip(COMPARISONS_KEY, keys[k], strict=True))
        ledger.add(sheet.path, place, "rows: pairs of a league", "no such row", "a row")
    if (rows < 0).any():
        return
    first, second = np.array(pairs).T
    difference = field.value[first] - field.value[second]
    ledger.compare(sheet, "difference", difference, "comparisons: the difference", rows=rows)
    ledger.compare(
        sheet, "n_clusters", np.full(rows.size, len(field.by_cluster)), "comparisons: counts", rows=rows
    )
    ledger.compare(sheet, "round", np.full(rows.size, field.number), "comparisons: the round", rows=rows)
    low, high = RANGES.get(field.metric, (0.0, 1.0))
    width = high - low
    _hold_random(ledger, sheet, rows, field, given, difference, (-width, width), (first, second))
    items = _variances(field, first, second)[0]
    drawn = field.drawn[:, first] - field.drawn[:, second]
    lost = np.isnan(drawn).mean(axis=0)
    ok = sheet.texts("status")[rows] == "ok"
    se = sheet.numbers("se")[rows]
    some = ok & ~np.isnan(items)
    ledger.compare(
        sheet, "se", np.sqrt(items[some]), "comparisons: the standard error", rows=rows[some], tolerance=1e-8
    )
    for name in ("ci_low", "ci_high", "se"):
        there = ~np.isnan(sheet.numbers(name)[rows])
        ledger.refuse(sheet, name, there != ok, "comparisons: an interval where the status says so",
                      sheet.numbers(name)[rows], "a number with status ok, null without", rows=rows)  # fmt: skip
    vary = np.nan_to_num(items) > 0
    must = ~np.isnan(difference) & vary & (lost < UNDEFINED / 2) & given.draws.vary()
    wanted = np.where(np.isnan(difference), "not_computable", np.where(must, "ok", "no_interval")).astype(
        object
    )
    unsure = (lost >= UNDEFINED / 2) & (lost <= 2 * UNDEFINED)
    off = (sheet.texts("status")[rows] != wanted) & ~unsure
    ledger.refuse(
        sheet, "status", off, "comparisons: the status", sheet.texts("status")[rows], wanted, rows=rows
    )
    tail = given.draws.tail(given.level)
    if tail * given.resamples >= 1:
        held = Published(
            sheet, rows[ok], "ci_low", "ci_high", given.resamples, "comparisons: intervals, redrawn"
        )
        hold_ends(ledger, held, drawn[:, ok], tail, bounded=field.metric != "RA")
    else:
        half = student(given.level, given.draws.freedom()[1]) * se
        for name, ends in (
            ("ci_low", np.maximum(difference - half, -width)),
            ("ci_high", np.minimum(difference + half, width)),
        ):
            ledger.compare(
                sheet, name, ends[ok], "comparisons: Student's interval", rows=rows[ok], tolerance=1e-8
            )
    _hold_tests(ledger, sheet, rows, field, given, (first, second))


def _hold_tests(
    ledger: Ledger, sheet: Sheet, rows: Ints, field: Field, given: Settings, pairs: tuple[Ints, Ints]
) -> None:
    """p by flipping the signs of clusters, counted where all patterns can be, else by signs of our own; Holm's p."""
    size = given.draws.sizes[given.draws.stratum].astype(np.float64)[:, None]
    parts = -field.by_cluster * np.sqrt((size - 1) / size) + field.value / max(len(field.by_cluster), 1)
    d = parts[:, pairs[0]] - parts[:, pairs[1]]
    count = len(d)
    exact = count <= _EXACT or 2**count <= given.resamples
    known = np.asarray(~np.isnan(d).any(axis=0))
    d = np.where(known, d, 0.0)
    magnitude = np.abs(np.nan_to_num(parts)).sum(axis=0)
    edge = np.abs(d.sum(axis=0)) - 1e-12 * (magnitude[pairs[0]] + magnitude[pairs[1]])
    if exact:
        signs = 1.0 - 2.0 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)
    else:
        stream = np.random.Generator(np.random.Philox(key=[SEED, 2]))
        signs = stream.integers(0, 2, size=(_FLIPS, count)) * 2.0 - 1.0
    p = (np.abs(signs @ d) >= edge - 1e-15).mean(axis=0)
    absent = ~known | (count < 2)
    seen = sheet.numbers("p")[rows]
    ledger.compare(sheet, "exact", np.full(rows.size, exact), "comparisons: the test", rows=rows)
    _hold_differing(ledger, sheet, rows, d, known)
    check = "comparisons: p, counted" if exact else "comparisons: p, redrawn"
    low, high = (p, p) if exact else share_range(p, _FLIPS, given.resamples)
    # Of random signs the pattern that was seen counts once more: p is never 0.
    slack = 1e-9 if exact else 1.5 / given.resamples
    with np.errstate(invalid="ignore"):
        fine = (seen >= low - slack) & (seen <= high + slack)
        off = np.where(absent, ~np.isnan(seen), ~fine)
    ledger.count(check, rows.size)
    said = np.array([f"about {value:.6g}" for value in p], dtype=object)
    ledger.refuse(sheet, "p", off.astype(bool), check, seen, said, rows=rows)
    ledger.compare(sheet, "p_holm", adjusted(seen), "comparisons: Holm's p", rows=rows)


def _hold_differing(ledger: Ledger, sheet: Sheet, rows: Ints, d: Floats, known: Bools) -> None:
    """Clusters in which a pair differs: those that do but for rounding, and at most all."""
    size, count = np.abs(d), len(d)
    least = (size > 1e-10 * np.maximum(size.max(axis=0, initial=0.0), 1e-300)).sum(axis=0)
    seen, check = sheet.numbers("n_differ")[rows], "comparisons: clusters that differ"
    said = np.array([f"{number} to {count}" for number in least], dtype=object)
    ledger.count(check, rows.size)
    off = np.where(known, (seen < least) | (seen > count), seen != 0)
    ledger.refuse(sheet, "n_differ", off.astype(bool), check, seen, said, rows=rows)


def _hold_letters(
    ledger: Ledger,
    sheet: Sheet,
    comparisons: Sheet,
    rows: Ints,
    field: Field,
    given: Settings,
    pairs: list[tuple[int, int]],
) -> None:
    """Teachers share a letter unless Holm's p tells them apart."""
    at = comparisons.find(
        [(field.league, field.metric, field.teachers[a], field.teachers[b]) for a, b in pairs]
    )
    groups = [text or "" for text in sheet.texts("group")[rows].tolist()]
    if (at < 0).any() or not field.alone:
        return
    p = comparisons.numbers("p_holm")[at]
    rated: Bools = ~np.isnan(field.value)
    told: list[bool | None] = [
        bool(p[k] <= 1 - given.level) if rated[a] and rated[b] else None for k, (a, b) in enumerate(pairs)
    ]
    ledger.count("standings: letters of groups", len(pairs))
    for k in letters_agree(groups, pairs, told):
        a, b = pairs[k]
        seen: Any = f"{groups[a] or 'none'} and {groups[b] or 'none'} of {field.teachers[b]}"
        wanted = "no letter in common" if told[k] else "a letter in common"
        ledger.add(sheet.path, sheet.place(int(rows[a]), "group"), "standings: letters of groups", seen,
                   f"{wanted}: Holm's p is {p[k]:.4g}")  # fmt: skip
