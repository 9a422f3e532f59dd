"""The rubrics' board, from the replies of judges up: scores, panels, totals, statistics, standings and copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from magister.audit.recompute._arena_board import hold_cells
from magister.audit.recompute._copies import hold_csv, hold_json, hold_lines, plain
from magister.audit.recompute._ledger import Ledger, Sheet
from magister.audit.recompute._objective import hold_objective
from magister.audit.recompute._project import Project
from magister.audit.recompute._rows import read_replies
from magister.audit.recompute._rubric_scores import (
    METRICS_KEY,
    OVERALL,
    SCORES_KEY,
    STANDINGS_KEY,
    TOTALS_KEY,
    Standing,
    hold_facts,
    hold_panel,
    hold_read,
    hold_standings,
    hold_totals,
)
from magister.audit.recompute._rubric_statistics import (
    AGREEMENT_KEY,
    DIAGNOSIS_KEY,
    Ratings,
    hold_diagnosis,
    hold_judges,
    lengths_of,
)
from magister.config.params import Params
from magister.config.rubrics import RubricSet

BOARD_KEY = ("set", "scenario", "model", "dim")
_SCORED = ("ok", "vetoed")
Row = Mapping[str, Any]


def recompute_rubrics(project: Project, params: Params) -> None:
    """Every number of the rubrics' board, and of what it is read from.

    Args:
        project: the files; its ledger takes what is found.
        params: of the project.
    """
    for name, one in params.rubrics.sets.items():
        policy = (one.judging or params.rubrics.judging).missing
        with project.part(f"data/rubrics/sets/{name}"):
            _hold_set(project, name, one, policy, (params.statistics.resamples, params.statistics.level))
    with project.part("results/rubrics.parquet"):
        _hold_board(project, list(params.rubrics.sets))


def _hold_set(
    project: Project, name: str, one: RubricSet, policy: str, statistics: tuple[int, float]
) -> None:
    ledger, folder = project.ledger, f"data/rubrics/sets/{name}"
    scores, decisions, agreements = [], [], []
    for number in range(one.iterations + 1):
        at = f"{folder}/{number}"
        rubrics, decided = project.json(f"{at}/rubrics.json"), project.json(f"{at}/decisions.json")
        dialogues = project.table(f"{at}/dialogues.parquet")
        scores.append(_scores(project, at, one.judges, dialogues))
        decisions.append(decided)
        agreements.append(project.sheet(f"{at}/agreement.parquet", AGREEMENT_KEY))
        diagnosis = project.sheet(f"{at}/diagnosis.parquet", DIAGNOSIS_KEY)
        transcripts = project.table(f"{at}/transcripts.parquet")
        for scenario, rubric in rubrics.items():
            if rubric.get("status") == "frozen":
                continue
            mine = _of(scores[-1], scenario).to_pylist()
            lengths = lengths_of(_of(transcripts, scenario), _of(dialogues, scenario))
            hold_version(
                ledger, (_part(diagnosis, scenario), _part(agreements[-1], scenario)), mine, rubric, lengths
            )
            if scenario in decided and decided[scenario].get("status") != "frozen":
                hold_objective(ledger, f"{at}/decisions.json", scenario, decided[scenario], mine, rubric)
    best = project.json(f"{folder}/best.json")
    metrics = project.sheet(f"{folder}/metric_scores.parquet", METRICS_KEY)
    totals = project.sheet(f"{folder}/dialogue_scores.parquet", TOTALS_KEY)
    standings = project.sheet(f"{folder}/standings.parquet", STANDINGS_KEY)
    chosen = pa.concat_tables(
        [_of(scores[int(found["iteration"])], scenario) for scenario, found in best.items()]
    )
    hold_best(ledger, (metrics, totals, standings), chosen, best, (policy, one.models), statistics)
    wanted = {
        scenario: _beside(
            _part(agreements[int(found["iteration"])], scenario),
            [
                part[scenario]
                for part in decisions
                if scenario in part and part[scenario].get("status") != "frozen"
            ],
            _of(chosen, scenario),
        )
        for scenario, found in best.items()
    }
    hold_json(ledger, f"{folder}/beside.json", project.json(f"{folder}/beside.json"), wanted,
              "copies: what stands beside the scores")  # fmt: skip


def hold_version(
    ledger: Ledger, sheets: tuple[Sheet, Sheet], scores: list[Row], rubric: Row, lengths: Mapping[str, int]
) -> None:
    """What is known of the metrics and judges of one version.

    Args:
        ledger: for findings.
        sheets: RUBRIC_DIAGNOSIS and JUDGE_AGREEMENT of the scenario.
        scores: RUBRIC_SCORES rows.
        rubric: the version.
        lengths: characters of the evaluated agent's turns, by dialogue.
    """
    if not scores:
        return
    hold_diagnosis(ledger, sheets[0], Ratings(scores, rubric, development=True), lengths)
    hold_judges(ledger, sheets[1], Ratings(scores, rubric, development=False))


def hold_best(
    ledger: Ledger,
    sheets: tuple[Sheet, Sheet, Sheet],
    scores: pa.Table,
    best: Mapping[str, Row],
    plan: tuple[str, list[str]],
    statistics: tuple[int, float],
) -> None:
    """Panels, totals and standings by the best version of each scenario.

    Args:
        ledger: for findings.
        sheets: METRIC_SCORES, DIALOGUE_SCORES and RUBRIC_STANDINGS.
        scores: RUBRIC_SCORES of the best versions.
        best: versions by scenario, with their iteration.
        plan: policy of missing scores, and the models that have rows.
        statistics: resamples and level of the intervals.
    """
    metrics, totals, standings = sheets
    hold_panel(ledger, metrics, scores)
    hold_totals(ledger, totals, metrics.table, best, plan[0])
    keys: list[tuple[Any, ...]] = []
    for scenario, rubric in best.items():
        rows = _of(metrics.table, scenario).to_pylist()
        shown = (*statistics, int(rubric["iteration"]), *plan)
        keys += hold_standings(ledger, standings, scenario, Standing(rows, rubric, plan[0]), shown)
    standings.align(ledger, keys, "a row per model and dimension")


def _scores(project: Project, folder: str, judges: list[str], dialogues: pa.Table) -> pa.Table:
    """Scores of all judges, each held against its replies and the dialogues that it scored."""
    parts = []
    columns = [dialogues[name].to_pylist() for name in ("dialogue_id", "task_id", "model", "held_out")]
    facts = {name: rest for name, *rest in zip(*columns, strict=True)}
    for name in judges:
        sheet = project.sheet(f"{folder}/judge/{name}.scores.parquet", SCORES_KEY)
        replies = read_replies(project, f"{folder}/judge/{name}.responses.jsonl")
        repairs = read_replies(project, f"{folder}/repair/{name}.responses.jsonl")
        hold_read(project.ledger, sheet, replies, repairs)
        hold_facts(project.ledger, sheet, {name: tuple(rest) for name, rest in facts.items()})
        parts.append(sheet.table)
    return pa.concat_tables(parts, promote_options="default")


def _of(table: pa.Table, scenario: str) -> pa.Table:
    return table.filter(pc.equal(table["scenario"], scenario))


def _part(sheet: Sheet, scenario: str) -> Sheet:
    return Sheet(sheet.path, _of(sheet.table, scenario), sheet.key)


def _beside(agreement: Sheet, decisions: list[Row], scores: pa.Table) -> dict[str, Any]:
    """What beside.json says of a scenario."""
    rows = [
        row
        for row in agreement.table.to_pylist()
        if row["metric_id"] == OVERALL and row["measure"] == "alpha_ordinal"
    ]
    said = []
    for row in rows:
        if row["value"] is not None:
            ends = "" if row["ci_low"] is None else f"[{row['ci_low']:.2f}, {row['ci_high']:.2f}] "
            said.append(
                f"{row['judge_a']} and {row['judge_b']} alpha {row['value']:.2f} {ends}(n = {row['n']})"
            )
    counts: dict[str, Counter[str]] = {}
    for row in scores.select(["judge", "status"]).to_pylist():
        counts.setdefault(row["judge"], Counter())[row["status"]] += 1
    made = sorted(decisions, key=lambda one: int(one["iteration"]))
    document: dict[str, Any] = {
        "agreement": ", ".join(said),
        "flags": {},
        "evolution": "",
        "objective": [],
        "judges": {name: dict(found) for name, found in counts.items() if set(found) - set(_SCORED)},
    }
    if made:
        best = made[int(made[-1]["best"])]
        why = made[-1]["stop_reason"]
        document["flags"] = {name: sorted(found) for name, found in best["flags"].items()}
        document["objective"] = [
            {
                "iteration": one["iteration"],
                "value": one["objective"]["value"],
                "terms": {name: term["value"] for name, term in one["terms"].items()},
            }
            for one in made
        ]
        many = "1 iteration" if len(made) == 1 else f"{len(made)} iterations"
        document["evolution"] = f"best of {many} is number {best['iteration']}" + (
            f"; stopped: {str(why).replace('_', ' ')}" if why else ""
        )
    return document


def _hold_board(project: Project, sets: list[str]) -> None:
    """Cells of the board and its copies."""
    folders = {name: f"data/rubrics/sets/{name}" for name in sets}
    board = project.sheet("results/rubrics.parquet", BOARD_KEY)
    parts = {name: project.table(f"{folder}/standings.parquet") for name, folder in folders.items()}
    hold_cells(project.ledger, board, parts, BOARD_KEY, "set")
    hold_csv(project, "results/rubrics.csv", board.table, BOARD_KEY)
    with project.part("results/rubrics_beside.json"):
        wanted = {name: project.json(f"{folder}/beside.json") for name, folder in folders.items()}
        seen, check = project.json("results/rubrics_beside.json"), "copies: what stands beside the board"
        hold_json(project.ledger, "results/rubrics_beside.json", seen, wanted, check)
    with project.part("results/rubrics.md"):
        text, check = project.text("results/rubrics.md"), "copies: the page shows the board's numbers"
        hold_lines(project.ledger, "results/rubrics.md", text, board_lines(board.table.to_pylist()), check)


def board_lines(rows: list[Row]) -> list[tuple[str, str, list[str]]]:
    """A line per model of a scenario: its total, place and dimensions."""
    out = []
    scenarios: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        scenarios.setdefault((row["set"], row["scenario"]), []).append(row)
    for (name, scenario), mine in scenarios.items():
        one = mine[0]
        heading = (
            f"Scenario {scenario} ({name}): scores {one['low']}..{one['high']} by rubric {one['rubric_sha'][:12]} of "
            f"iteration {one['iteration']}, {100 * one['level']:g} % intervals"
        )
        weight = {row["dim"]: row["weight"] for row in mine if row["dim"] != OVERALL}
        dims = sorted(weight, key=lambda dim: (-weight[dim], dim))
        for total in (row for row in mine if row["dim"] == OVERALL):
            own = {row["dim"]: row for row in mine if row["model"] == total["model"]}
            low, high = total["rank_low"], total["rank_high"]
            cells = [
                "-" if total["rank"] is None else str(total["rank"]),
                plain(total["model"]),
                _interval(total),
            ]
            cells += ["-" if low is None else f"{low}-{high}", total["group"] or "-"]
            cells += [str(total[count]) for count in ("n", "n_missing", "n_vetoed")]
            cells += [_interval(own[dim]) for dim in dims]
            out.append((plain(heading), plain(total["model"]), cells))
    return out


def _interval(row: Row) -> str:
    if row["value"] is None:
        return "-"
    if row["ci_low"] is None:
        return f"{row['value']:.2f} ?"
    return f"{row['value']:.2f} [{row['ci_low']:.2f}, {row['ci_high']:.2f}]"
