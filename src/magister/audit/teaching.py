"""A number of the teaching board: which one, what it means, and which dialogues move it most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.audit.card import Again, Cell, Facts, Mover, Movers, Number
from magister.audit.choosing import Coordinate, choose, refuse_unknown, refuse_unused
from magister.audit.formulas import teaching_formula
from magister.audit.items import Items, items_of
from magister.audit.left_out import CONTROLS, LeftOut, Part, dialogues_left_out, largest
from magister.audit.project import Project
from magister.audit.transcripts import response_of
from magister.contracts.schemas import BOARD_METRICS, STATUSES
from magister.errors import UserError
from magister.stats import FEW_CLUSTERS
from magister.teaching._cube import Cube, trajectory_cubes, zero_shot_cubes
from magister.teaching.trajectories import zero_shot_table

BOARD = "results/teaching.parquet"
_KEY = ("league", "arm", "teacher", "slice_kind", "slice", "metric", "round")
_COUNTS = ("n_items", "n_students", "n_clusters", "n_cells", "n_dropped")
_ROUNDING = 1e-9


def _usual_arm(arms: Sequence[str]) -> str | None:
    return "taught" if "taught" in arms else None


def _usual_slice(slices: Sequence[str]) -> str | None:
    return "overall=all" if "overall=all" in slices else None


COORDINATES = (
    Coordinate("metric", "METRIC", "metric"),
    Coordinate("in", "--in", "league"),
    Coordinate("arm", "--arm", "arm", _usual_arm),
    Coordinate("slice", "--slice", "slice", _usual_slice),
    Coordinate("round", "--round", "round", lambda rounds: rounds[-1]),
)


def find(project: Project, model: str, asked: Mapping[str, str], top: int) -> Facts:
    """Find a number of the teaching board.

    Args:
        project: finished.
        model: a teacher, or a control arm without one.
        asked: what the user says: `metric` and any of `in`, `arm`, `slice`, `round`.
        top: how many dialogues to show.

    Raises:
        UserError: there is no such number, or several fit; or a file is gone.
    """
    refuse_unused(asked, COORDINATES, "teaching")
    board = project.table(BOARD)
    tables = {project.wildcards(path)["league"]: path for path in project.inputs(BOARD, "teaching_metrics")}
    if not tables:
        project.input(BOARD, "teaching_metrics")
    refuse_unknown(board["teacher"].to_pylist(), model, "teaching")
    rows = _candidates(project, tables, model)
    _refuse_unknown(board, model, asked["metric"], rows)
    row = choose(rows, COORDINATES, asked, f"teaching, {model}")
    table = tables[row["league"]]
    own = [(name, "==", row["key"][name]) for name in _KEY]
    whole = project.table(table, filters=own).to_pylist()[0]
    cell, problems = _cell(board, model, row, table, whole)
    behind = _behind(project, table, whole)
    left = _left_out(behind, whole)
    return Facts(
        cell=cell,
        number=_number(whole),
        formula=teaching_formula(whole["metric"], whole["policy"], whole["slice_kind"]),
        counts={name: whole[name] for name in _COUNTS},
        statuses={name: whole[f"n_{name}"] for name in STATUSES},
        beside=_beside(board, cell),
        again=_again(whole, left, behind.words),
        movers=_movers(project, table, whole, behind, left, top),
        warnings=problems,
    )


def _candidates(project: Project, tables: Mapping[str, str], model: str) -> list[dict[str, Any]]:
    """Every number of a model, with the texts that it is chosen by."""
    rows = []
    for table in tables.values():
        for row in project.table(table, list(_KEY), [("teacher", "==", model)]).to_pylist():
            rows.append(
                row | {"in": row["league"], "slice": f"{row['slice_kind']}={row['slice']}", "key": row}
            )
    return rows


def _refuse_unknown(board: pa.Table, model: str, metric: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Say why the board has no number where no table behind it has one.

    Raises:
        UserError: the metric is one of the board's, and unknown for this model.
    """
    names = {name.casefold(): name for name in BOARD_METRICS}
    wanted = names.get(metric.casefold())
    if wanted is None or any(row["metric"] == wanted for row in rows):
        return
    found = board.filter(pc.equal(board["teacher"], model)).to_pylist()
    reasons = sorted({row[f"{wanted.lower()}_reason"] for row in found})
    raise UserError(f"{wanted} of {model} is unknown on the teaching board: {'; '.join(reasons)}")


def _cell(
    board: pa.Table,
    model: str,
    row: Mapping[str, Any],
    table: str,
    whole: Mapping[str, Any],
) -> tuple[Cell, tuple[str, ...]]:
    metric = whole["metric"]
    mine = pc.and_(
        pc.and_(pc.equal(board["league"], whole["league"]), pc.equal(board["arm"], whole["arm"])),
        pc.equal(board["teacher"], model),
    )
    found = board.filter(mine).to_pylist()
    column, problems = None, []
    printed = metric in BOARD_METRICS and whole["slice_kind"] == "overall" and bool(found)
    if printed and (metric != "CA" or whole["round"] == found[0]["rounds"]):
        column = metric.lower()
        if not _same(found[0][column], whole["value"]):
            problems.append(
                f"{BOARD} says {found[0][column]} for {column}, {table} says {whole['value']}: the board was not "
                "made from this table"
            )
    place = {"in": whole["league"], "arm": whole["arm"], "slice": row["slice"], "round": str(whole["round"])}
    where = "all items" if whole["slice_kind"] == "overall" else f"slice {row['slice']}"
    title = (
        f"{metric} of {model}, league {whole['league']}, arm {whole['arm']}, {where}, round {whole['round']}"
    )
    return Cell("teaching", model, metric, place, title, BOARD, column, table), tuple(problems)


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= _ROUNDING * max(1.0, abs(one))


def _number(row: Mapping[str, Any]) -> Number:
    if row["ci_low"] is None:
        method = ""
    elif row["reason"].startswith("Wilson"):
        method = "Wilson interval with n = clusters"
    elif FEW_CLUSTERS in row["reason"]:
        method = "Student's t from the jackknife over clusters of items"
    else:
        method = (
            "percentiles of a bootstrap over clusters of items within their dataset, at a level widened for few "
            "clusters (Hesterberg 2015); for these students"
        )
    names = ("value", "ci_low", "ci_high", "se", "level", "resamples", "seed", "status", "reason")
    unit = (
        "answers"
        if row["metric"] in ("Fix", "Reg")
        else "share, 0 to 1"
        if row["metric"] != "JA_mcc"
        else "-1 to 1"
    )
    if row["metric"] in ("CA", "CA_masked", "net_CA", "net_verdict") or row["metric"].startswith("CA_leak"):
        unit = "difference of shares (0.01 is a point)"
    elif row["metric"] in ("RA", "normalised_gain", "corrected_gain", "headroom"):
        unit = "ratio"
    return Number(**{name: row[name] for name in names}, method=method, unit=unit)


def _beside(board: pa.Table, cell: Cell) -> tuple[str, ...]:
    """What the board says of the same cell."""
    if cell.column != "ca":
        return ()
    found = next(
        one
        for one in board.to_pylist()
        if (one["league"], one["arm"], one["teacher"]) == (cell.place["in"], cell.place["arm"], cell.model)
    )
    said = []
    if found["rank"] is not None and found["rank_low"] is not None:
        said.append(
            f"rank {found['rank']} (interval {found['rank_low']}-{found['rank_high']}), first in "
            f"{found['p_first']:.0%} of the resamples, group {found['group']}"
        )
    if found["ca_random_ci_low"] is not None:
        ends = f"[{found['ca_random_ci_low']:.4g}, {found['ca_random_ci_high']:.4g}]"
        said.append(f"for students like these, not just these: {ends}")
    if found["separated_from_zero"] is not None:
        said.append(
            "separated from no effect"
            if found["separated_from_zero"]
            else "not separated from no effect: the interval holds 0"
        )
    if found["unresponsive"]:
        said.append(f"students whom being told the answer does not move: {', '.join(found['unresponsive'])}")
    return tuple(said)


@dataclass(frozen=True)
class _Behind:
    """Rows behind a number.

    Attributes:
        path: their file; empty where there is none.
        rows: of it, those of the number's own unit and of the control arms that it is compared with.
        units: a cube of each, by arm, its own first.
    """

    path: str
    rows: pa.Table
    units: Mapping[str, Cube]

    @property
    def words(self) -> str:
        """How many rows of which file."""
        return f"{self.rows.num_rows} rows of {self.path}" if self.path else "no file: nobody was asked"


def _behind(project: Project, table: str, row: Mapping[str, Any]) -> _Behind:
    """Read what a number was worked out from."""
    if row["metric"] == "AA":
        return _own_answers(project, table, row)
    path = project.input(table, "teaching_trajectories")
    wanted = {row["arm"]: row["teacher"]}
    for arm in CONTROLS.get(row["metric"], ()):
        wanted.setdefault(arm, row["teacher"] if arm == "verdict_only" else arm)
    filters = [("arm", "in", sorted(wanted)), ("teacher", "in", sorted(set(wanted.values())))]
    rows = project.table(path, filters=filters)
    units = {}
    for arm, teacher in wanted.items():
        mine = rows.filter(pc.and_(pc.equal(rows["arm"], arm), pc.equal(rows["teacher"], teacher)))
        if mine.num_rows:
            units[arm] = trajectory_cubes(mine)[0]
    return _Behind(path, rows, units)


def _own_answers(project: Project, table: str, row: Mapping[str, Any]) -> _Behind:
    found = project.inputs(table, "zero_shot", model=row["teacher"])
    if not found:
        return _Behind("", pa.table({}), {})
    rows = project.table(found[0])
    items, bands = (
        items_of(project, table),
        project.table(project.input(table, "band_difficulty", ".parquet")),
    )
    datasets = project.params(table).get("datasets")
    chosen = items if datasets is None else items.filter(pc.is_in(items["dataset"], pa.array(datasets)))
    cubes = zero_shot_cubes(zero_shot_table(row["league"], chosen, bands, rows))
    return _Behind(found[0], rows, {"taught": cubes[0]})


def _left_out(behind: _Behind, row: Mapping[str, Any]) -> LeftOut:
    """The metric without each dialogue."""
    if not behind.units:
        return LeftOut(float("nan"), (), (), (), np.empty(0))
    part = Part(row["metric"], row["round"], row["slice_kind"], row["slice"], row["policy"])
    return dialogues_left_out(behind.units, part)


def _again(row: Mapping[str, Any], left: LeftOut, rows: str) -> Again:
    value = None if np.isnan(left.value) else left.value
    if value is None and not left.student:
        return Again(None, rows, None, row["reason"] or "no dialogue is in use")
    return Again(value, rows, _same(value, row["value"]))


def _movers(
    project: Project, table: str, row: Mapping[str, Any], behind: _Behind, left: LeftOut, top: int
) -> Movers:
    own = row["metric"] == "AA"
    unit = "item" if own else "dialogue (a student and an item, all rounds)"
    method = "exact: the metric worked out again from the same sums less those of the one left out"
    if np.isnan(left.value):
        return Movers(unit, method, len(left.student), 0, (), "the number is unknown: nothing moves it")
    change = left.value - left.without
    chosen, as_far = largest(change, lambda at: (left.arm[at], left.student[at], left.item[at]), top)
    items = Items.read(project, table, [left.item[at] for at in chosen])
    tell = _own_teller if own else _teller
    told = tell(
        project, behind, row, [(left.arm[at], left.student[at], left.item[at]) for at in chosen], items
    )
    movers = []
    for at in chosen:
        key = (left.arm[at], left.student[at], left.item[at])
        lines, facts, transcripts = told[key]
        who = "" if own else f"{left.student[at]} on "
        arm = f" (arm {left.arm[at]})" if left.arm[at] != row["arm"] else ""
        lost = bool(np.isnan(left.without[at]))
        movers.append(
            Mover(
                f"{who}{left.item[at]}{arm}",
                None if lost else float(change[at]),
                None if lost else float(left.without[at]),
                lines,
                facts,
                transcripts,
            )
        )
    still = int((np.abs(change) <= 1e-12).sum())
    note = f"{still} of the {len(change)} change nothing when they are left out alone" if still else ""
    return Movers(unit, method, len(left.student), as_far, tuple(movers), note)


_Told = dict[tuple[str, str, str], tuple[tuple[str, ...], dict[str, Any], tuple[Any, ...]]]


def _teller(
    project: Project,
    behind: _Behind,
    row: Mapping[str, Any],
    keys: Sequence[tuple[str, str, str]],
    items: Items,
) -> _Told:
    """What happened in some dialogues, and where it was said."""
    path = behind.path
    rows = behind.rows.filter(
        pc.is_in(behind.rows["item_id"], pa.array(sorted({key[2] for key in keys}), pa.string()))
    ).to_pylist()
    by_key: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for one in sorted(rows, key=lambda one: one["round"]):
        by_key.setdefault((one["arm"], one["student"], one["item_id"]), []).append(one)
    told: _Told = {}
    for key in keys:
        rounds, fact = by_key[key], items.fact(key[2])
        transcripts = []
        for one in rounds:
            if one["guide_request_id"]:
                source = project.inputs(path, "guide", round=str(one["round"]), model=one["teacher"])
                role = f"guide {one['round']}"
                transcripts.append(
                    response_of(project, source, one["teacher"], role, one["guide_request_id"])
                )
            if one["request_id"]:
                rule, more = (
                    ("revise", {"round": str(one["round"])}) if one["round"] else ("blind_answers", {})
                )
                source = project.inputs(path, rule, model=one["student"], **more)
                role = f"answer {one['round']}" if one["round"] else "blind answer"
                transcripts.append(response_of(project, source, one["student"], role, one["request_id"]))
        lines = [*items.lines(key[2]), _path(rounds)]
        if any(one["verdict"] != "none" or one["leak"] != "none" for one in rounds[1:]):
            lines.append("guides   " + " | ".join(_guide(one) for one in rounds[1:]))
        facts = {
            "arm": key[0], "student": key[1], "item_id": key[2], **fact,
            "rounds": [
                {
                    name: one[name]
                    for name in ("round", "answer", "correct", "status", "verdict", "guide_status", "leak")
                }
                for one in rounds
            ],
        }  # fmt: skip
        told[key] = (tuple(lines), facts, tuple(transcripts))
    return told


def _path(rounds: Sequence[Mapping[str, Any]]) -> str:
    """What the student answered, round by round."""
    steps = []
    for one in rounds:
        right = {True: "right", False: "wrong", None: one["status"]}[one["correct"]]
        answer = one["answer"] if one["status"] == "ok" else one["status"]
        kept = "" if one["request_id"] or not one["round"] else ", kept"
        steps.append(
            f"{one['round']}: {answer} ({right}{kept})"
            if answer != right
            else f"{one['round']}: {answer}{kept}"
        )
    return "answers  " + " | ".join(steps)


def _guide(one: Mapping[str, Any]) -> str:
    leak = (
        "" if one["leak"] == "none" else f", leaks {'the answer' if one['leak'] == 'gold' else 'an option'}"
    )
    status = "" if one["guide_status"] in ("ok", "not_asked") else f", {one['guide_status']}"
    return (
        f"{one['round']}: says {one['verdict']}{status}{leak}"
        if one["verdict"] != "none"
        else (f"{one['round']}: no verdict{status}{leak}")
    )


def _own_teller(
    project: Project,
    behind: _Behind,
    row: Mapping[str, Any],
    keys: Sequence[tuple[str, str, str]],
    items: Items,
) -> _Told:
    """What a teacher answered itself."""
    wanted = pa.array(sorted({key[2] for key in keys}), pa.string())
    rows = behind.rows.filter(pc.is_in(behind.rows["item_id"], wanted)).to_pylist()
    answers = {one["item_id"]: one for one in rows}
    told: _Told = {}
    for key in keys:
        one = answers[key[2]]
        right = {True: "right", False: "wrong", None: one["status"]}[one["correct"]]
        answer = one["answer"] if one["status"] == "ok" else one["status"]
        facts = {"item_id": key[2], **items.fact(key[2])}
        facts |= {name: one[name] for name in ("answer", "correct", "status", "rule")}
        transcript = response_of(project, [behind.path], row["teacher"], "own answer", one["request_id"])
        told[key] = ((*items.lines(key[2]), f"answer   {answer} ({right})"), facts, (transcript,))
    return told
