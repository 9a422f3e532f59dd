"""A number of the rubrics' board: which one, what it means, and which dialogues move it most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from magister.audit.card import Again, Cell, Facts, Mover, Movers, Number, Transcript
from magister.audit.choosing import Coordinate, choose, refuse_unknown, refuse_unused
from magister.audit.formulas import rubrics_formula
from magister.audit.left_out import largest
from magister.audit.project import Project
from magister.audit.transcripts import response_of
from magister.contracts.rubrics_score_tables import OVERALL
from magister.errors import UserError
from magister.rubrics.rubric import Rubric, read_rubric

BOARD = "results/rubrics.parquet"
_ROUNDING = 1e-9

COORDINATES = (
    Coordinate("metric", "METRIC", "dimension"),
    Coordinate("in", "--in", "set"),
    Coordinate("slice", "--slice", "scenario"),
)


def find(project: Project, model: str, asked: Mapping[str, str], top: int) -> Facts:
    """Find a number of the rubrics' board.

    Args:
        project: finished.
        model: one that is evaluated.
        asked: what the user says: `metric` (a dimension, or "overall") and any of `in` and `slice` (the scenario).
        top: how many dialogues to show.

    Raises:
        UserError: there is no such number, or several fit; or a file is gone.
    """
    refuse_unused(asked, COORDINATES, "rubrics")
    board = project.table(BOARD)
    refuse_unknown(board["model"].to_pylist(), model, "rubrics")
    mine = board.filter(pc.equal(board["model"], model)).to_pylist()
    rows = [row | {"metric": row["dim"], "in": row["set"], "slice": row["scenario"]} for row in mine]
    row = choose(rows, COORDINATES, asked, f"rubrics, {model}")
    table = project.input(BOARD, "rubric_profiles", "/standings.parquet", set=row["set"])
    wanted = [(name, "==", row[name]) for name in ("scenario", "model", "dim")]
    behind = project.table(table, filters=wanted).to_pylist()
    problems = []
    if not behind or any(behind[0][name] != row[name] for name in ("value", "ci_low", "ci_high", "n")):
        problems.append(
            f"{BOARD} and {table} do not say the same of this number: the board was not made from this table"
        )
    dialogues = _dialogues(project, table, row)
    overall = row["dim"] == OVERALL
    title = (
        f"{row['dim']} of {model}, set {row['set']}, scenario {row['scenario']}, rubric of iteration "
        f"{row['iteration']}"
    )
    place = {"in": row["set"], "slice": row["scenario"]}
    return Facts(
        cell=Cell("rubrics", model, row["dim"], place, title, BOARD, "value", table),
        number=_number(row),
        formula=rubrics_formula(overall, row["policy"], row["low"], row["high"]),
        counts={name: row[name] for name in ("n", "n_clusters", "n_missing", "n_vetoed")},
        statuses=dict(sorted(Counter(one.status for one in dialogues).items())),
        beside=_beside(row),
        again=_again(row, dialogues, project, table),
        movers=_movers(project, table, row, dialogues, top),
        warnings=tuple(problems),
    )


def _number(row: Mapping[str, Any]) -> Number:
    names = ("value", "ci_low", "ci_high", "se", "level", "status", "reason")
    method = (
        "Student's t with a variance robust over tasks, cut at the scale's ends"
        if row["ci_low"] is not None
        else ""
    )
    return Number(
        **{name: row[name] for name in names},
        method=method,
        resamples=None,
        seed=None,
        unit=f"score, {row['low']} to {row['high']}",
    )


def _beside(row: Mapping[str, Any]) -> tuple[str, ...]:
    said = [
        f"rubric {row['rubric_sha'][:12]}, iteration {row['iteration']}; the dimension weighs {row['weight']:.3g}"
    ]
    if row["rank"] is not None:
        span = "" if row["rank_low"] is None else f" (interval {row['rank_low']}-{row['rank_high']})"
        said.append(f"rank {row['rank']}{span}, group {row['group']}")
    return tuple(said)


@dataclass(frozen=True)
class _Dialogue:
    """A dialogue and its score on the dimension.

    Attributes:
        dialogue_id: its id.
        task_id: the task, by which intervals are clustered.
        value: the score; NaN where it is unknown.
        status: `scored`, `vetoed` or `missing`.
        metrics: score by metric; None without one.
    """

    dialogue_id: str
    task_id: str
    value: float
    status: str
    metrics: Mapping[str, float | None]


def _rubric(project: Project, table: str, row: Mapping[str, Any]) -> Rubric:
    """The best rubric of the scenario, by which the scores are."""
    path = project.input(table, "best_rubric", "/best.json")
    document = dict(project.document(path)[row["scenario"]])
    document.pop("iteration", None)
    return read_rubric(document, f"{path}: {row['scenario']}")


def _dialogues(project: Project, table: str, row: Mapping[str, Any]) -> list[_Dialogue]:
    """Dialogues of the model with their scores on the dimension, in the order of their names."""
    path = project.made_with(table, "/metric_scores.parquet")
    if path is None:
        raise UserError(
            f"{table}: the scores beside it are gone; run magister restore, or snakemake --cores all"
        )
    rubric = _rubric(project, table, row)
    share = {dim.id: dim.weight for dim in rubric.dimensions}
    weight = {
        metric.id: share[metric.dim] * metric.weight if row["dim"] == OVERALL else metric.weight
        for metric in rubric.metrics
        if row["dim"] in (OVERALL, metric.dim) and metric.weight > 0
    }
    filters = [("scenario", "==", row["scenario"]), ("model", "==", row["model"])]
    found: dict[str, dict[str, Any]] = {}
    for one in project.table(path, filters=filters).to_pylist():
        about = found.setdefault(one["dialogue_id"], {"task": one["task_id"], "vetoed": False, "metrics": {}})
        about["vetoed"] |= one["status"] == "vetoed"
        if one["metric_id"] in weight:
            about["metrics"][one["metric_id"]] = one["value"]
    dialogues = []
    for name, about in sorted(found.items()):
        metrics = about["metrics"]
        known = [metric for metric in weight if metrics.get(metric) is not None and weight[metric] > 0]
        usable = (
            len(known) == sum(w > 0 for w in weight.values()) if row["policy"] == "unknown" else bool(known)
        )
        total = sum(weight[metric] for metric in known)
        value = (
            sum(weight[metric] * metrics[metric] for metric in known) / total
            if usable and total
            else float("nan")
        )
        status = "missing" if np.isnan(value) else "vetoed" if about["vetoed"] else "scored"
        dialogues.append(_Dialogue(name, about["task"], value, status, metrics))
    return dialogues


def _again(row: Mapping[str, Any], dialogues: Sequence[_Dialogue], project: Project, table: str) -> Again:
    values = np.array([one.value for one in dialogues])
    known = np.sort(values[~np.isnan(values)])
    rows = f"{len(dialogues)} dialogues of {project.made_with(table, '/metric_scores.parquet')}"
    if not known.size or row["value"] is None:
        return Again(None, rows, None, row["reason"] or "no dialogue has a score")
    value = float(known.mean())
    return Again(value, rows, abs(value - row["value"]) <= _ROUNDING)


def _movers(
    project: Project, table: str, row: Mapping[str, Any], dialogues: Sequence[_Dialogue], top: int
) -> Movers:
    unit = "dialogue"
    method = "exact: the mean of the other dialogues"
    scored = [one for one in dialogues if not np.isnan(one.value)]
    if not scored:
        return Movers(unit, method, 0, 0, (), "no dialogue has a score: nothing moves the number")
    values = np.array([one.value for one in scored])
    total = float(np.sort(values).sum())
    without = (total - values) / (values.size - 1) if values.size > 1 else np.array([np.nan])
    change = total / values.size - without
    chosen, as_far = largest(change, lambda at: (scored[at].dialogue_id,), top)
    judged = _judged(project, table, row, [scored[at].dialogue_id for at in chosen])
    movers = []
    for at in chosen:
        one = scored[at]
        lines, facts, transcripts = judged.get(one.dialogue_id, ((), {}, ()))
        said = ", ".join(f"{name} {_score(value)}" for name, value in sorted(one.metrics.items()))
        lost = bool(np.isnan(without[at]))
        movers.append(
            Mover(
                one.dialogue_id,
                None if lost else float(change[at]),
                None if lost else float(without[at]),
                (
                    f"score    {one.value:.4g}" + (", vetoed by code" if one.status == "vetoed" else ""),
                    f"panel    {said}",
                    *lines,
                ),
                {"dialogue_id": one.dialogue_id, "task_id": one.task_id, "score": one.value}
                | {"status": one.status, "metrics": dict(one.metrics), **facts},
                transcripts,
            )
        )
    note = "" if values.size > 1 else "the only dialogue with a score: without it the number is unknown"
    return Movers(unit, method, len(scored), as_far, tuple(movers), note)


def _score(value: float | None) -> str:
    return "no score" if value is None else f"{value:.4g}"


_Judged = dict[str, tuple[tuple[str, ...], dict[str, Any], tuple[Transcript, ...]]]


def _judged(project: Project, table: str, row: Mapping[str, Any], ids: Sequence[str]) -> _Judged:
    """What each judge said of some dialogues, and where dialogue and judgement lie."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in ids}
    said: dict[str, list[Transcript]] = {name: [] for name in ids}
    iteration = str(row["iteration"])
    sources = project.inputs(table, "rubric_scores", ".scores.parquet", iteration=iteration)
    if not ids:
        return {}
    if sources:
        _add_turns(project, sources[0], said)
    for path in sources:
        judge = project.wildcards(path)["model"]
        filters = [("dialogue_id", "in", sorted(ids)), ("scenario", "==", row["scenario"])]
        for one in project.table(path, filters=filters).to_pylist():
            found[one["dialogue_id"]].append(one)
            if one["request_id"] and all(
                known.key != one["request_id"] for known in said[one["dialogue_id"]]
            ):
                role = f"judgement of {judge}"
                said[one["dialogue_id"]].append(response_of(project, [path], judge, role, one["request_id"]))
    told: _Judged = {}
    for name in ids:
        scores = sorted(found[name], key=lambda one: (one["judge"], one["repeat"], one["metric_id"]))
        by_judge: dict[str, list[str]] = {}
        for one in scores:
            text = f"{one['metric_id']} {_score(one['value']) if one['value'] is not None else one['status']}"
            by_judge.setdefault(one["judge"], []).append(text)
        lines = tuple(f"judge    {judge}: {', '.join(texts)}" for judge, texts in sorted(by_judge.items()))
        kept = ("judge", "repeat", "metric_id", "status", "value", "rationale")
        facts = {"judgements": [{key: one[key] for key in kept} for one in scores]}
        told[name] = (lines, facts, tuple(said[name]))
    return told


def _add_turns(project: Project, scores: str, said: Mapping[str, list[Transcript]]) -> None:
    """Where the turns of some dialogues lie."""
    for path in project.inputs(scores, "dialogues", "/transcripts.parquet"):
        columns = ["dialogue_id", "turn", "agent", "speaker", "request_id"]
        rows = project.table(path, columns, [("dialogue_id", "in", sorted(said))]).to_pylist()
        for one in sorted(rows, key=lambda one: (one["dialogue_id"], one["turn"])):
            source = project.inputs(path, "wave", wave=str(one["turn"]))
            role = f"{one['agent']} ({one['speaker']}), turn {one['turn']}"
            said[one["dialogue_id"]].append(
                response_of(project, source, one["speaker"], role, one["request_id"])
            )
