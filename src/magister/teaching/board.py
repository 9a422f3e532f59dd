"""The teaching board: one row per teacher, for people."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts.schemas import BOARD_METRICS, TEACHING_BOARD
from magister.errors import UserError
from magister.teaching._board_text import board_order, render_markdown, render_text, row_name

__all__ = ["BOARD_SCHEMA", "board_order", "render_markdown", "render_text", "row_name", "teaching_board"]

BOARD_SCHEMA = TEACHING_BOARD.schema
_COUNTS = tuple(name for name in BOARD_SCHEMA.names if name.startswith("n_"))
_NOT_RUN = {
    "net_CA": "the arm sham was not run",
    "headroom": "the arms sham and oracle_tell were not both run",
}
_ABSENT = {"value": None, "ci_low": None, "ci_high": None, "status": "not_computable"}


def teaching_board(metrics: pa.Table, standings: pa.Table) -> pa.Table:
    """The headline metrics, a row per league, arm and teacher.

    Args:
        metrics: table of contract `metrics`; rows of slice kind "overall" are read, CA at its last round, and of
            slice kind "student" those of the arm oracle_tell.
        standings: table of contract `standings`; rows of CA are read.

    Returns:
        Table of `BOARD_SCHEMA`: by league, teachers first by rank, then the control arms. Rows of one rank
        stand in the order of their names.

    Raises:
        UserError: if the rows mix policies, levels or seeds, which cannot be compared.
    """
    entries: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = {}
    headline = pc.is_in(metrics["metric"], pa.array(BOARD_METRICS))
    overall = pc.equal(metrics["slice_kind"], "overall")
    for row in metrics.filter(pc.and_(headline, overall)).to_pylist():
        entry = entries.setdefault((row["league"], row["arm"], row["teacher"]), {})
        known = entry.get(row["metric"])
        if known is None or row["round"] > known["round"]:
            entry[row["metric"]] = row
    for setting in ("policy", "level", "seed", "resamples"):
        seen = {row[setting] for entry in entries.values() for row in entry.values()}
        if len(seen) > 1:
            listed = ", ".join(str(value) for value in sorted(seen))
            raise UserError(
                f"metrics: {setting} must be one for a board, here are {listed}; make a board of each"
            )
    gain = standings.filter(pc.equal(standings["metric"], "CA"))
    stood = {(row["league"], row["teacher"]): row for row in gain.to_pylist()}
    still = _unresponsive(metrics)
    rows = [_board_row(key, entry) for key, entry in entries.items()]
    for row in rows:
        _stand(row, stood.get((row["league"], row["teacher"])) if row["arm"] == "taught" else None)
        row["unresponsive"] = still.get(row["league"])
    _rank(rows)
    rows.sort(key=board_order)
    return pa.Table.from_pylist(rows, schema=BOARD_SCHEMA)


def _board_row(key: tuple[str, str, str], entry: dict[str, dict[str, Any]]) -> dict[str, Any]:
    league, arm, teacher = key
    board: dict[str, Any] = {"league": league, "arm": arm, "teacher": teacher, "rank": None}
    for metric in BOARD_METRICS:
        reason = (
            _NOT_RUN.get(metric, "not in the metrics") if arm == "taught" else "no teacher of its own here"
        )
        row = entry.get(metric, _ABSENT | {"reason": reason})
        name = metric.lower()
        board |= {name: row["value"], f"{name}_ci_low": row["ci_low"], f"{name}_ci_high": row["ci_high"]}
        board |= {f"{name}_status": row["status"], f"{name}_reason": row["reason"]}
    if board["ca_ci_low"] is None or board["ca_ci_high"] is None:
        board["separated_from_zero"] = None
    else:
        board["separated_from_zero"] = board["ca_ci_low"] > 0 or board["ca_ci_high"] < 0
    some = next(iter(entry.values()))
    headline = entry.get("CA")
    board["rounds"] = headline["round"] if headline else 0
    board |= {name: headline[name] if headline else 0 for name in _COUNTS}
    return board | {name: some[name] for name in ("policy", "resamples", "seed", "level")}


def _stand(row: dict[str, Any], stood: dict[str, Any] | None) -> None:
    """Fill in the place among the teachers; nothing for control arms."""
    for name in ("rank_low", "rank_high", "p_first", "group"):
        row[name] = stood[name] if stood else None
    for name in ("random_ci_low", "random_ci_high", "random_reason"):
        row[f"ca_{name}"] = stood[name] if stood else None


def _unresponsive(metrics: pa.Table) -> dict[str, list[str]]:
    """By league the students whom being told the answer does not move; no entry where nobody was told."""
    told = pc.and_(pc.equal(metrics["arm"], "oracle_tell"), pc.equal(metrics["slice_kind"], "student"))
    found: dict[str, dict[str, dict[str, Any]]] = {}
    rows = metrics.filter(pc.and_(told, pc.equal(metrics["metric"], "CA"))).to_pylist()
    for row in sorted(rows, key=lambda row: row["round"]):
        found.setdefault(row["league"], {})[row["slice"]] = row
    return {
        league: sorted(name for name, row in students.items() if _is_still(row))
        for league, students in found.items()
    }


def _is_still(row: dict[str, Any]) -> bool:
    # Without variation there is no interval; the value then speaks for itself.
    floor = row["value"] if row["ci_low"] is None else row["ci_low"]
    return floor is not None and floor <= 0


def _rank(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["arm"] != "taught" or row["ca"] is None:
            continue
        rivals = [other for other in rows if other["arm"] == "taught" and other["league"] == row["league"]]
        # Equal scores that were added up in another order may differ in the last bit: that is no difference.
        better = sum(1 for other in rivals if other["ca"] is not None and other["ca"] > row["ca"] + 1e-12)
        row["rank"] = better + 1
