"""Counts of statuses that stand beside a metric, counted again from the replies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts._columns import facts, member, numbers, places, true
from magister.contracts._league import LeaguePlan, exchange_places
from magister.contracts.gate import RowCheck
from magister.contracts.schemas import STATUSES

_FLAGS = ("needs_options", "options_in_question", "multi")
_SLICES = ("overall", "macro", "student", "dataset", "domain", "band", "n_options", *_FLAGS)
_WHOLE = {"overall": "all", "macro": "datasets"}
_Counts = NDArray[np.int64]


def _labels(rows: pa.Table, kind: str) -> pa.ChunkedArray:
    """The slice of each row as text; null in none."""
    if kind in _WHOLE:
        return pa.chunked_array([pa.repeat(_WHOLE[kind], rows.num_rows)])
    if kind == "student" and kind not in rows.column_names:
        return pa.chunked_array([pa.nulls(rows.num_rows, pa.string())])
    if kind in _FLAGS:
        return pc.if_else(rows[kind], "yes", "no")
    return rows[kind].cast(pa.string())


def _tally(at: list[_Counts], shape: tuple[int, ...]) -> _Counts:
    """How many rows stand at each place; those at a negative one nowhere."""
    inside = np.logical_and.reduce(
        [(part >= 0) & (part < size) for part, size in zip(at, shape, strict=True)]
    )
    flat = (
        np.ravel_multi_index([part[inside] for part in at], shape) if inside.any() else np.zeros(0, np.int64)
    )
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)


def _read(counts: _Counts, metrics: pa.Table, exchange: _Counts, label: _Counts) -> _Counts:
    """Counts of the replies that each metric reads.

    Args:
        counts: by exchange, slice, round and status.
        metrics: rows of one slice kind.
        exchange: of each row.
        label: slice of each row.
    """
    last = counts.shape[2] - 1
    number = np.clip(pc.fill_null(metrics["round"], 0).to_numpy(), 0, last)
    first, now = counts[exchange, label, 0], counts[exchange, label, number]
    later = np.cumsum(counts, axis=2)[exchange, label, number] - first
    names = metrics["metric"]
    before = counts[exchange, label, np.maximum(number - 1, 0)]
    choices = [
        (member(names, ["p"]), now),
        (member(names, ["Fix", "Reg"]), before + now),
        (true(pc.starts_with(names, "JA")), first),
        (member(names, ["RA"]), later),
    ]
    return np.select([mask[:, None] for mask, _ in choices], [value for _, value in choices], first + now)


def status_check(
    metrics: pa.Table,
    trajectories: pa.Table,
    zero_shot: pa.Table,
    items: pa.Table,
    bands: pa.Table,
    plan: LeaguePlan,
) -> RowCheck:
    """Every count of statuses is that of the replies that the metric reads.

    Args:
        metrics: METRICS_TABLE.
        trajectories: TRAJECTORIES.
        zero_shot: ANSWERS of the teachers.
        items: ITEMS of the league, with `n_options`.
        bands: BANDS.
        plan: what the league was to run.
    """
    of_item = ("dataset", "domain", "n_options", *_FLAGS)
    own = pa.table(
        {
            name: column
            for table in (
                facts(zero_shot, items, "item_id", of_item)[1],
                facts(zero_shot, bands, "item_id", ("band",))[1],
            )
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    )
    found = np.stack([numbers(metrics[f"n_{word}"]) for word in STATUSES], axis=1)
    exchange, teacher = exchange_places(metrics, plan), places(metrics["teacher"], plan.teachers)
    is_own = member(metrics["metric"], ["AA"])
    status, own_status = places(trajectories["status"], STATUSES), places(zero_shot["status"], STATUSES)
    turn = pc.fill_null(trajectories["round"], -1).to_numpy().astype(np.int64)
    played = exchange_places(trajectories, plan)
    passed = np.ones(metrics.num_rows, dtype=bool)
    for kind in _SLICES:
        of_kind = member(metrics["slice_kind"], [kind]) & (exchange >= 0)
        labels = _labels(trajectories, kind)
        words = pc.unique(labels.drop_null()).to_pylist()
        size = max(len(words), 1)
        shape = (len(plan.exchanges), size, plan.rounds + 1, len(STATUSES))
        counts = _tally([played, places(labels, words), turn, status], shape)
        label = places(metrics["slice"], words)
        rows = np.flatnonzero(of_kind & ~is_own)
        expected = np.zeros_like(found)
        expected[rows] = _read(counts, metrics.take(pa.array(rows)), exchange[rows], label[rows])
        answered = places(zero_shot["model"], plan.teachers)
        own_shape = (max(len(plan.teachers), 1), size, len(STATUSES))
        own_counts = _tally([answered, places(_labels(own, kind), words), own_status], own_shape)
        rows = np.flatnonzero(of_kind & is_own & (teacher >= 0))
        expected[rows] = own_counts[teacher[rows], label[rows]]
        passed[of_kind] = ((found == expected).all(axis=1) & (label >= 0))[of_kind]
    return RowCheck(
        "metrics",
        "statuses_counted",
        ("metric", *(f"n_{word}" for word in STATUSES)),
        "the statuses of the replies that the metric reads",
        passed,
    )
