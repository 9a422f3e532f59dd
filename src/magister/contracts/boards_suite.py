"""What the boards promise beyond their contracts: every number is that of the metrics it was read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import (
    Mask,
    absent,
    agree,
    all_agree,
    numbers,
    positions,
    row_codes,
    taken,
    true,
)
from magister.contracts._small import comparable
from magister.contracts.gate import Expectation, RowCheck, RowCount, Suite, Tables
from magister.contracts.schemas import BOARD_COUNTS, BOARD_METRICS, METRICS_TABLE, STANDINGS, TEACHING_BOARD

_KEY = ("league", "arm", "teacher")
_SETTINGS = ("policy", "resamples", "seed", "level")
# Scores that were added up in another order may differ in the last bit: that is no difference.
_EQUAL = 1e-12


@dataclass(frozen=True)
class BoardRow:
    """A row that a board must have.

    Attributes:
        league: name of the league.
        arm: taught, or a control arm.
        teacher: the teacher; in a control arm the arm stands for it.
        rounds: rounds of guidance in the league.
    """

    league: str
    arm: str
    teacher: str
    rounds: int


def _wanted(rows: Sequence[BoardRow]) -> pa.Table:
    columns: dict[str, pa.Array] = {
        name: pa.array([getattr(row, name) for row in rows], pa.string()) for name in _KEY
    }
    return pa.table(columns | {"rounds": pa.array([row.rounds for row in rows], pa.int32())})


def _ranks(board: pa.Table) -> pa.ChunkedArray:
    """Rank of every teacher by CA among those of its league, 1 the best; null without one."""
    taught, score = true(pc.equal(board["arm"], "taught")), numbers(board["ca"])
    league = row_codes(board, ["league"])
    ranked = taught & ~np.isnan(score)
    rank = np.zeros(board.num_rows, dtype=np.int32)
    for name in np.unique(league[ranked]):
        rows = np.flatnonzero(ranked & (league == name))
        known = np.sort(score[rows])
        rank[rows] = 1 + known.size - np.searchsorted(known, score[rows] + _EQUAL, side="right")
    return pa.chunked_array([pa.array(rank, pa.int32(), mask=~ranked)])


def _separated(board: pa.Table) -> pa.ChunkedArray:
    """Whether the interval of CA excludes 0; null without an interval."""
    low, high = board["ca_ci_low"], board["ca_ci_high"]
    apart = pc.or_kleene(pc.greater(low, 0), pc.less(high, 0))
    return pc.if_else(pc.and_(pc.is_valid(low), pc.is_valid(high)), apart, pa.scalar(None, pa.bool_()))


def _as_measured(board: pa.Table, rows: pa.Table, place: np.ndarray, metric: str) -> Mask:
    """Rows whose value, interval, status and reason are those of the metric; unknown where it is not there."""
    name = metric.lower()
    parts = {name: "value", f"{name}_ci_low": "ci_low", f"{name}_ci_high": "ci_high"}
    parts |= {f"{name}_status": "status", f"{name}_reason": "reason"}
    measured = taken(rows, place, list(parts.values())).rename_columns(list(parts))
    unknown = np.logical_and.reduce([absent(board[column]) for column in list(parts)[:3]])
    unknown &= true(pc.equal(board[f"{name}_status"], "not_computable"))
    unknown &= true(pc.not_equal(board[f"{name}_reason"], ""))
    return np.where(place >= 0, all_agree(board.select(list(parts)), measured), unknown)


_STOOD = {
    "rank_low": "rank_low",
    "rank_high": "rank_high",
    "p_first": "p_first",
    "group": "group",
    "ca_random_ci_low": "random_ci_low",
    "ca_random_ci_high": "random_ci_high",
    "ca_random_reason": "random_reason",
}


def _as_stood(board: pa.Table, standings: pa.Table) -> Mask:
    """Rows of teachers that say of CA what the standings say; rows of control arms that say nothing."""
    gain = standings.filter(pc.equal(standings["metric"], "CA"))
    place = positions(board, gain, ("league", "teacher"))
    stood = taken(gain, place, list(_STOOD.values())).rename_columns(list(_STOOD))
    blank = np.logical_and.reduce([absent(board[name]) for name in _STOOD])
    return np.where(
        true(pc.equal(board["arm"], "taught")), all_agree(board.select(list(_STOOD)), stood), blank
    )


def _as_moved(board: pa.Table, metrics: pa.Table) -> Mask:
    """Whether the unresponsive students are those whose CA under `oracle_tell` has an interval down to 0 or less."""
    told = metrics.filter(
        pc.and_(
            pc.and_(pc.equal(metrics["arm"], "oracle_tell"), pc.equal(metrics["slice_kind"], "student")),
            pc.equal(metrics["metric"], "CA"),
        )
    ).to_pylist()
    last: dict[str, int] = {}
    for row in told:
        last[row["league"]] = max(row["round"], last.get(row["league"], 0))
    still: dict[str, list[str]] = {league: [] for league in last}
    for row in told:
        floor = row["value"] if row["ci_low"] is None else row["ci_low"]
        if row["round"] == last[row["league"]] and floor is not None and floor <= 0:
            still[row["league"]].append(row["slice"])
    wanted = [sorted(still[name]) if name in still else None for name in board["league"].to_pylist()]
    return np.array(
        [a == b for a, b in zip(board["unresponsive"].to_pylist(), wanted, strict=True)], dtype=bool
    )


def boards_suite(board: pa.Table, metrics: pa.Table, standings: pa.Table, rows: Sequence[BoardRow]) -> Suite:
    """What the teaching board promises.

    Args:
        board: TEACHING_BOARD.
        metrics: METRICS_TABLE of all leagues.
        standings: STANDINGS of all leagues.
        rows: what the leagues put on the board.

    Returns:
        Tables and expectations for `run_gate`.
    """
    name = "teaching_board"
    tables: Tables = {name: (TEACHING_BOARD, board)}
    read: Tables = {"metrics": (METRICS_TABLE, metrics), "standings": (STANDINGS, standings)}
    if not comparable(tables | read):
        return tables | read, []
    wanted = _wanted(rows)
    place = positions(board, wanted, _KEY)
    rounds = agree(board["rounds"], taken(wanted, place, ("rounds",))["rounds"])
    overall = metrics.filter(pc.equal(metrics["slice_kind"], "overall")).sort_by([("round", "descending")])
    headline = {m: overall.filter(pc.equal(overall["metric"], m)) for m in BOARD_METRICS}
    found = {m: positions(board, headline[m], _KEY) for m in BOARD_METRICS}
    gain, of_gain = headline["CA"], found["CA"]
    settings = all_agree(board.select(_SETTINGS), taken(gain, of_gain, _SETTINGS))
    counts = all_agree(board.select(BOARD_COUNTS), taken(gain, of_gain, BOARD_COUNTS))

    def check(rule: str, columns: Sequence[str], expected: str, passed: Mask) -> RowCheck:
        return RowCheck(name, rule, tuple(columns), expected, passed)

    expectations: list[Expectation] = [
        RowCount(name, len(rows), "teachers and control arms of all leagues"),
        check("row_in_leagues", _KEY, "a teacher or a control arm of a league", place >= 0),
        check("rounds_of_league", ("rounds",), "the rounds of the league", rounds | (place < 0)),
        check("settings_as_measured", _SETTINGS, "as in the metrics", settings),
        check("counts_as_measured", BOARD_COUNTS, "those of CA in the metrics", counts),
        check(
            "rank_by_ca",
            ("rank", "ca"),
            "the rank by CA among the league's teachers",
            agree(board["rank"], _ranks(board)),
        ),
        check(
            "standing_as_compared",
            tuple(_STOOD),
            "as in the standings of CA; none for control arms",
            _as_stood(board, standings),
        ),
        check(
            "unresponsive_as_measured",
            ("league", "unresponsive"),
            "the students whom the arm oracle_tell does not move, null without it",
            _as_moved(board, metrics),
        ),
        check(
            "separation_by_interval",
            ("separated_from_zero", "ca_ci_low", "ca_ci_high"),
            "whether the interval of CA excludes 0",
            agree(board["separated_from_zero"], _separated(board)),
        ),
    ]
    for metric in BOARD_METRICS:
        low = metric.lower()
        columns = (low, f"{low}_ci_low", f"{low}_ci_high", f"{low}_status", f"{low}_reason")
        passed = _as_measured(board, headline[metric], found[metric], metric)
        expectations.append(check(f"{low}_as_measured", columns, f"{metric} as in the metrics", passed))
    return tables, expectations
