"""The board as bare numbers: for a comparison of two runs, and for charts.

What is unknown is left out: programs that read these files would take an empty place for 0.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts.schemas import BOARD_METRICS
from magister.teaching.board import board_order, row_name

_COUNTS = ("n_items", "n_students", "n_clusters", "n_cells", "n_dropped")
_PLACE = ("rank", "rank_low", "rank_high", "p_first")
_INTERVAL = ("", "_ci_low", "_ci_high")
_WHO = {name: pa.string() for name in ("league", "arm", "teacher", "series")}

CA_SCHEMA = pa.schema(
    _WHO
    | {f"ca{part}": pa.float64() for part in _INTERVAL}
    | {"ca_status": pa.string()}
    | dict.fromkeys(_COUNTS, pa.int32())
)
ROUNDS_SCHEMA = pa.schema(
    _WHO
    | {"round": pa.int32()}
    | {f"p{part}": pa.float64() for part in _INTERVAL}
    | {"p_status": pa.string()}
    | {f"ca{part}": pa.float64() for part in _INTERVAL}
    | {"ca_status": pa.string()}
    | dict.fromkeys(_COUNTS, pa.int32())
)


def board_numbers(board: pa.Table) -> dict[str, dict[str, dict[str, float | int]]]:
    """The main numbers of every row of the board.

    Args:
        board: table of contract `teaching_board`.

    Returns:
        By league, then by teacher or control arm: CA with `ci_low` and `ci_high`, AA, JA, GA, RA, net CA, headroom,
        masked CA, rank with its interval and how often it is 1, rounds and the counts of CA. A number that is
        unknown has no entry.
    """
    numbers: dict[str, dict[str, dict[str, float | int]]] = {}
    for row in board.to_pylist():
        found = {metric: row[metric.lower()] for metric in BOARD_METRICS}
        found |= {"ci_low": row["ca_ci_low"], "ci_high": row["ca_ci_high"]}
        found |= {name: row[name] for name in (*_PLACE, "rounds", *_COUNTS)}
        known = {name: value for name, value in found.items() if value is not None}
        numbers.setdefault(row["league"], {})[row_name(row)] = known
    return numbers


def ca_chart(board: pa.Table) -> pa.Table:
    """CA of every teacher and control arm, for a bar each.

    Args:
        board: table of contract `teaching_board`.

    Returns:
        Table of `CA_SCHEMA` in the order of the board, without rows of unknown CA. `series` names a row among
        those of all leagues.
    """
    rows = [row | {"series": _series(row)} for row in board.to_pylist() if row["ca"] is not None]
    rows.sort(key=board_order)
    return pa.Table.from_pylist(rows, schema=CA_SCHEMA)


def rounds_chart(metrics: pa.Table) -> pa.Table:
    """The teaching curve: the students' accuracy p after every round, a line each.

    Args:
        metrics: table of contract `metrics`; rows of slice kind "overall" are read.

    Returns:
        Table of `ROUNDS_SCHEMA`: a row per league, arm, teacher and round with a known p; round 0 is the blind
        answer. Counts are those of p. CA stands beside p, null with status "not_computable" where there is
        none, as in round 0.
    """
    read = pc.and_(
        pc.equal(metrics["slice_kind"], "overall"), pc.is_in(metrics["metric"], pa.array(["p", "CA"]))
    )
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in metrics.filter(read).to_pylist():
        key = tuple(row[name] for name in ("league", "arm", "teacher", "round"))
        entry = found.setdefault(key, {"ca_status": "not_computable"})
        name = row["metric"].lower()
        entry |= {name: row["value"], f"{name}_ci_low": row["ci_low"], f"{name}_ci_high": row["ci_high"]}
        entry[f"{name}_status"] = row["status"]
        if name == "p":
            entry |= {column: row[column] for column in ("league", "arm", "teacher", "round", *_COUNTS)}
    rows = [row | {"series": _series(row)} for row in found.values() if row.get("p") is not None]
    rows.sort(key=lambda row: (*board_order(row | {"rank": None}), row["round"]))
    return pa.Table.from_pylist(rows, schema=ROUNDS_SCHEMA)


def _series(row: dict[str, Any]) -> str:
    """Name of a row in a legend that holds all leagues."""
    control = "" if row["arm"] == "taught" else " (control)"
    return f"{row['league']}: {row_name(row)}{control}"
