"""`metrics.parquet` of a league, row by row: values and counts exactly, intervals by resamples of our own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from magister.audit.recompute._cells import STATUSES, Group, by_cluster
from magister.audit.recompute._draws import (
    UNDEFINED,
    Draws,
    Published,
    hold_ends,
    hold_errors,
    student,
    wilson_ends,
)
from magister.audit.recompute._formulas import (
    BY_LEAK,
    HEAVY,
    JUDGING,
    MOVES,
    RANGES,
    SHARES,
    has,
    metrics_of,
    rounds_read,
    values,
)
from magister.audit.recompute._ledger import LISTED, Bools, Floats, Ints, Ledger, Sheet

KEY = ("league", "arm", "teacher", "slice_kind", "slice", "metric", "round")
_COUNTS = ("n_items", "n_students", "n_clusters", "n_cells", "n_dropped", *(f"n_{name}" for name in STATUSES))


@dataclass
class Held:
    """A league's metrics while they are checked.

    Attributes:
        ledger: for findings.
        sheet: its metrics.
        league: its name.
        policy: which cells count.
        level: of the intervals.
        resamples: of the table.
        seen: rows that a number of ours belongs to, shape (rows,).
    """

    ledger: Ledger
    sheet: Sheet
    league: str
    policy: str
    level: float
    resamples: int
    seen: Bools = field(init=False)

    def __post_init__(self) -> None:
        self.seen = np.zeros(len(self.sheet), dtype=bool)


@dataclass
class _Slice:
    """A slice of a group with all that its rows say, U units and M metrics.

    Attributes:
        kind: of the slice.
        label: of the slice.
        value: shape (U, M).
        drawn: shape (B', U, M).
        used: cells in use of each unit by metric, shape (U, M).
        asked: cells asked, shape (U,).
        n_items, n_students, n_clusters: shape (U,).
        read: clusters in each metric's denominator, shape (U, M).
        statuses: replies by status and round, shape (U, R, statuses).
        clusters: of the slice.
    """

    kind: str
    label: str
    value: Floats
    drawn: Floats
    used: Ints
    asked: Ints
    n_items: Ints
    n_students: Ints
    n_clusters: Ints
    read: Ints
    statuses: Ints
    clusters: Ints


def hold_group(held: Held, group: Group, redraws: int) -> None:
    """All rows of a group of teachers.

    Args:
        held: the league.
        group: its cells.
        redraws: resamples of our own.
    """
    marks, names = group.marks(held.policy)
    draws = Draws(group.items.strata, redraws)
    for one in _slices(group, marks, names, draws):
        _hold_slice(held, group, one, draws)


def missing_own(held: Held, group: Group) -> None:
    """Rows that say that AA is unknown, of teachers without answers of their own.

    Args:
        held: the league, after `hold_group` of the own answers.
        group: cells of the teachers.
    """
    slices = [(kind, label) for kind, label, _ in group.items.slices()]
    if sum(kind == "dataset" for kind, _ in slices) > 1:
        slices.append(("macro", "datasets"))
    keys = [
        (held.league, arm, teacher, kind, label, "AA", 0)
        for arm, teacher in group.units
        if arm == "taught"
        for kind, label in slices
    ]
    rows = held.sheet.find(keys)
    missing = rows < 0
    for k in np.flatnonzero(missing)[:LISTED].tolist():
        held.ledger.add(
            held.sheet.path, ", ".join(map(str, keys[k])), "rows: metrics of a league", "no row", "a row"
        )
    rows = rows[~missing]
    rows = rows[~held.seen[rows]]
    held.seen[rows] = True
    nothing = np.full(rows.size, np.nan)
    for name in ("value", "ci_low", "ci_high", "se"):
        held.ledger.compare(held.sheet, name, nothing, "metrics: AA without own answers", rows=rows)
    for name in _COUNTS:
        held.ledger.compare(held.sheet, name, nothing * 0 if rows.size == 0 else np.zeros(rows.size),
                            "metrics: AA without own answers", rows=rows)  # fmt: skip


def left_over(held: Held) -> None:
    """Rows that no cell of the league stands behind."""
    extra = np.flatnonzero(~held.seen)
    held.ledger.refuse(held.sheet, "value", np.ones(extra.size, dtype=bool), "rows: metrics of a league",
                       ["a row"] * extra.size, "no such row", rows=extra)  # fmt: skip


def _slices(group: Group, marks: NDArray[np.int8], names: list[str], draws: Draws) -> Iterator[_Slice]:
    """Slices by items, then the mean over datasets, then each student alone."""
    metrics = metrics_of(group.rounds)
    several = sum(kind == "dataset" for kind, _, _ in group.items.slices()) > 1
    shape = (len(group.units), len(metrics))
    total, known = np.zeros(shape), np.zeros(shape)
    drawn = np.zeros((draws.redraws, *shape))
    overall = None
    everyone = np.ones(len(group.student), dtype=bool)
    for kind, label, chosen in group.items.slices():
        one = _measured(group, marks, names, draws, (kind, label, chosen, everyone))
        if kind == "overall":
            overall = one
        elif kind == "dataset" and several:
            lacks = np.isnan(one.value)
            total += np.where(lacks, 0.0, one.value)
            known += ~lacks
            drawn += np.where(lacks, 0.0, one.drawn)
        yield one
    if several and overall is not None:
        with np.errstate(invalid="ignore", divide="ignore"):
            mean, means = total / known, drawn / known
        yield _Slice("macro", "datasets", np.where(known > 0, mean, np.nan), means, overall.used, overall.asked,
                     overall.n_items, overall.n_students, overall.n_clusters, overall.read, overall.statuses,
                     overall.clusters)  # fmt: skip
    if group.rounds > 1:
        every = np.ones(len(group.items.names), dtype=bool)
        for s, name in enumerate(group.students):
            yield _measured(group, marks, names, draws, ("student", name, every, group.student == s), only=s)


def _measured(
    group: Group,
    marks: NDArray[np.int8],
    names: list[str],
    draws: Draws,
    part: tuple[str, str, Bools, Bools],
    only: int | None = None,
) -> _Slice:
    kind, label, chosen, mine = part
    metrics = metrics_of(group.rounds)
    clusters, sums = by_cluster(group, marks, chosen)
    if only is not None:
        sums = sums[:, only : only + 1]
    whole = sums.sum(axis=0, dtype=np.float64)  # (S, U, F)
    present = whole[..., 0] > 0
    value = values(whole, names, group.units, present, point=True)
    drawn = values(draws.totals(sums.astype(np.int32), clusters), names, group.units, present, point=False)
    pairs = np.flatnonzero(chosen[group.item] & mine)
    status = group.status[:, pairs]
    statuses = np.stack([(status == code).sum(axis=1) for code in range(len(STATUSES))], axis=-1)
    used = marks[pairs, :, 0].T > 0  # (U, pairs)
    items = group.item[pairs]
    per_item = np.zeros((len(group.units), len(group.items.names)), dtype=bool)
    for u in range(len(group.units)):
        per_item[u, items[used[u]]] = True
    pooled = sums.sum(axis=1)  # (c, U, F)
    of = {name: pooled[..., k] for k, name in enumerate(names)}
    cells = (of["cells"] > 0).sum(axis=0)
    read = {metric: cells for metric, _ in metrics}
    counted = dict.fromkeys(read, np.rint(whole[..., 0].sum(axis=0)))
    if group.rounds > 1:
        judged = (of["judged"] > 0).sum(axis=0)
        read |= {metric: judged for metric in JUDGING if metric != "JA_none"}
        counted |= {metric: of["judged"].sum(axis=0) for metric in JUDGING if metric != "JA_none"}
        for metric in BY_LEAK:
            cells_of = of[metric.removeprefix("CA_")]
            read[metric], counted[metric] = (cells_of > 0).sum(axis=0), cells_of.sum(axis=0)
        read["GA"] = (of["cells"] > of["right0"]).sum(axis=0)
        read["regression"] = (of["right0"] > 0).sum(axis=0)
    return _Slice(
        kind,
        label,
        np.stack([value[one] for one in metrics], axis=-1),
        np.stack([drawn[one] for one in metrics], axis=-1),
        np.stack([counted[metric] for metric, _ in metrics], axis=-1).astype(np.int64),
        np.full(len(group.units), pairs.size),
        per_item.sum(axis=1),
        np.zeros(len(group.units), dtype=np.int64) if group.rounds == 1 else present.sum(axis=0),
        cells,
        np.stack([read[metric] for metric, _ in metrics], axis=-1),
        statuses,
        clusters,
    )


def _hold_slice(held: Held, group: Group, one: _Slice, draws: Draws) -> None:
    """Every row of a slice."""
    metrics = metrics_of(group.rounds)
    places = [
        (u, k)
        for u, unit in enumerate(group.units)
        for k, (metric, _) in enumerate(metrics)
        if has(metric, unit, group.units) and not (one.kind == "macro" and metric in MOVES)
    ]
    keys = [(held.league, *group.units[u], one.kind, one.label, *metrics[k]) for u, k in places]
    rows = held.sheet.find(keys)
    for at in np.flatnonzero(rows < 0)[:LISTED].tolist():
        place = ", ".join(f"{name} {part}" for name, part in zip(KEY, keys[at], strict=True))
        held.ledger.add(held.sheet.path, place, "rows: metrics of a league", "no such row", "a row")
    there = rows >= 0
    rows = rows[there]
    held.seen[rows] = True
    at_u, at_k = (np.array(places, dtype=np.int64).reshape(-1, 2)[there]).T
    names = [metrics[k][0] for k in at_k.tolist()]
    used = one.used[at_u, at_k]
    value = np.where(used > 0, one.value[at_u, at_k], np.nan)
    ledger, sheet = held.ledger, held.sheet
    ledger.compare(sheet, "value", value, "metrics: the value", rows=rows)
    replies = np.stack(
        [one.statuses[u][rounds_read(*metrics[k])].sum(axis=0) for u, k in zip(at_u, at_k, strict=True)]
    ).reshape(-1, len(STATUSES))
    counts = {
        "n_items": one.n_items[at_u],
        "n_students": one.n_students[at_u],
        "n_clusters": one.n_clusters[at_u],
        "n_cells": used,
        "n_dropped": one.asked[at_u] - used,
        **{f"n_{name}": replies[:, code] for code, name in enumerate(STATUSES)},
    }
    for name, wanted in counts.items():
        ledger.compare(sheet, name, wanted, "metrics: counts", rows=rows)
    hold_status_sums(ledger, sheet, rows, one, metrics, at_u, at_k)
    _hold_intervals(held, one, draws, rows, (at_u, at_k), names, value)


def hold_status_sums(
    ledger: Ledger,
    sheet: Sheet,
    rows: Ints,
    one: _Slice,
    metrics: Sequence[tuple[str, int]],
    at_u: Ints,
    at_k: Ints,
) -> None:
    """Counts by status add up to the replies of the rounds that a metric reads."""
    rounds = np.array([len(rounds_read(*metrics[k])) for k in at_k.tolist()], dtype=np.int64)
    total = sum((sheet.numbers(f"n_{name}")[rows] for name in STATUSES), np.zeros(rows.size))
    wanted = one.asked[at_u] * rounds
    ledger.count("identity: statuses add up to the replies", rows.size)
    ledger.refuse(sheet, "n_ok to n_error", total != wanted, "identity: statuses add up to the replies", total, wanted,
                  rows=rows)  # fmt: skip


def _hold_intervals(
    held: Held,
    one: _Slice,
    draws: Draws,
    rows: Ints,
    place: tuple[Ints, Ints],
    names: list[str],
    value: Floats,
) -> None:
    """Statuses, ends and standard errors of the rows of a slice."""
    drawn = one.drawn[:, place[0], place[1]]
    lost = np.isnan(drawn).mean(axis=0)
    with np.errstate(invalid="ignore"):
        spread = np.nanmax(np.where(lost < 1, drawn, 0.0), axis=0) - np.nanmin(
            np.where(lost < 1, drawn, 0.0), axis=0
        )
    known, still = ~np.isnan(value), spread <= 1e-12 * np.maximum(np.abs(np.nan_to_num(value)), 1.0)
    bare = (one.read[place] < 2) | (not draws.vary(one.clusters)) | (held.resamples == 0)
    edge = np.array([name in SHARES for name in names]) & ((value == 0) | (value == 1))
    # Whether more than 5 % of resamples are undefined may hang on the resamples; two answers are right then.
    margin = (
        6 * np.sqrt(UNDEFINED * (1 - UNDEFINED) * (1 / max(held.resamples, 1) + 1 / draws.redraws)) + 0.002
    )
    sure = np.abs(lost - UNDEFINED) > margin
    broken = lost > UNDEFINED
    exact = known & ~bare & still & edge & ~(broken & sure)
    wanted = np.where(
        ~known, "not_computable", np.where(bare | broken | (still & ~exact), "no_interval", "ok")
    ).astype(object)
    sheet, ledger = held.sheet, held.ledger
    status = sheet.texts("status")[rows]
    free = known & ~bare & ~sure & np.isin(status, ["ok", "no_interval"])
    ledger.count("metrics: the status", rows.size)
    ledger.refuse(
        sheet, "status", (status != wanted) & ~free, "metrics: the status", status, wanted, rows=rows
    )
    ok = status == "ok"
    for column in ("ci_low", "ci_high", "se"):
        there = ~np.isnan(sheet.numbers(column)[rows])
        no_se = exact if column == "se" else np.zeros(rows.size, dtype=bool)
        ledger.refuse(sheet, column, there != (ok & ~no_se), "metrics: an interval where the status says so",
                      sheet.numbers(column)[rows], "a number with status ok, null without", rows=rows)  # fmt: skip
    _hold_exact(held, rows[exact & ok], value[exact & ok], one.read[place][exact & ok])
    rest = ok & ~exact & known
    _hold_drawn(
        held, one, draws, rows[rest], drawn[:, rest], [names[k] for k in np.flatnonzero(rest).tolist()]
    )


def _hold_exact(held: Held, rows: Ints, value: Floats, clusters: Ints) -> None:
    """Wilson's intervals of shares of 0 and 1 that do not vary over clusters."""
    if not rows.size:
        return
    ends = np.array(
        [wilson_ends(round(v) * n, n, held.level) for v, n in zip(value, clusters.tolist(), strict=True)]
    )
    for column, wanted in (("ci_low", ends[:, 0]), ("ci_high", ends[:, 1])):
        held.ledger.compare(
            held.sheet, column, wanted, "metrics: Wilson's interval", rows=rows, tolerance=1e-7
        )


def _hold_drawn(held: Held, one: _Slice, draws: Draws, rows: Ints, drawn: Floats, names: list[str]) -> None:
    """Percentile intervals, or Student's where their tails would hold no resample, and standard errors."""
    if not rows.size:
        return
    check = "metrics: intervals, redrawn"
    given = Published(held.sheet, rows, "ci_low", "ci_high", held.resamples, check)
    heavy = np.isin(names, HEAVY)
    negative = held.sheet.numbers("se")[rows] < 0
    held.ledger.refuse(held.sheet, "se", negative, "identity: a standard error is not negative",
                       held.sheet.numbers("se")[rows], "0 or more", rows=rows)  # fmt: skip
    light = Published(
        held.sheet, rows[~heavy], "ci_low", "ci_high", held.resamples, "metrics: standard errors, redrawn"
    )
    if light.rows.size:
        hold_errors(held.ledger, light, drawn[:, ~heavy])
    tail = draws.tail(held.level, one.clusters)
    if tail * held.resamples >= 1:
        for some, bounded in ((~heavy, True), (heavy, False)):
            if some.any():
                part = Published(held.sheet, rows[some], "ci_low", "ci_high", held.resamples, check)
                hold_ends(held.ledger, part, drawn[:, some], tail, bounded=bounded)
        return
    count, freedom = draws.freedom(one.clusters)
    half = student(held.level, freedom) * np.sqrt(count / max(freedom, 1)) * held.sheet.numbers("se")[rows]
    value = held.sheet.numbers("value")[rows]
    floor = np.array([RANGES.get(name, RANGES["p"])[0] for name in names])
    ceiling = np.array([RANGES.get(name, RANGES["p"])[1] for name in names])
    for column, wanted in (
        ("ci_low", np.maximum(value - half, floor)),
        ("ci_high", np.minimum(value + half, ceiling)),
    ):
        held.ledger.compare(given.sheet, column, wanted, "metrics: Student's interval", rows=rows)
