"""Small finished projects, laid out as the pipeline does, from the tables that gates are tested with."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

from magister.arena._board_text import render_markdown as arena_page
from magister.arena.board import LeagueRecords, arena_board
from magister.arena.board import beside as arena_beside
from magister.diagnosis._board_text import render_markdown as mastery_page
from magister.diagnosis.board import StudyRecords, mastery_board
from magister.diagnosis.board import beside as mastery_beside
from magister.diagnosis.item_fit import profile_item_fit
from magister.diagnosis.profiles import NEEDED, ItemFit, item_errors, item_table, models_a_profile
from magister.diagnosis.responses import known_matrix, table_grid
from magister.diagnosis.saem_tables import SaemTables, read_fit
from magister.diagnosis.screening import apply_screening
from magister.provenance._csv import inert
from magister.rubrics._board_text import render_markdown as rubrics_page
from magister.rubrics.board import rubrics_board
from magister.teaching.board import render_markdown, teaching_board
from magister.teaching.numbers import board_numbers, ca_chart, rounds_chart

sys.path.append(str(Path(__file__).resolve().parents[2] / "contracts"))
import rubrics_gate_tables
from arena_gate_tables import ARENA_PLAN, arena_tables
from diagnosis_gate_tables import DIAGNOSIS_PLAN, diagnosis_tables
from gate_tables import PLAN, item_rows, teaching_tables

_SUMS = {"kind": "generated", "generator": "sums", "domain": "maths", "n": 4, "seed": 1}


def scripted(script: str, *names: str) -> dict[str, Any]:
    """Models that answer by rule."""
    return {name: {"engine": "scripted", "script": script} for name in names}


def write(root: Path, path: str, table: pa.Table) -> None:
    """Write a parquet file."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, root / path)


def write_text(root: Path, path: str, text: str) -> None:
    """Write a text file."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


def write_json(root: Path, path: str, document: Any) -> None:
    """Write a JSON document."""
    write_text(root, path, json.dumps(document, indent=1))


def write_csv(root: Path, path: str, table: pa.Table) -> None:
    """Write a csv as boards do."""
    write_text(root, path, inert(table).to_pandas().to_csv(index=False, lineterminator="\n"))


def write_params(root: Path, params: dict[str, Any]) -> None:
    """Write `params.yaml`."""
    write_text(root, "params.yaml", yaml.safe_dump(params, sort_keys=False))


def response(request_id: str, text: str, finish: str | None = None) -> dict[str, Any]:
    """A row of a response file."""
    body = {"choices": [{"finish_reason": finish, "message": {"content": text}}]}
    return {"custom_id": request_id, "error": None, "response": {"body": body, "status_code": 200}}


def write_responses(root: Path, path: str, rows: Iterable[dict[str, Any]]) -> None:
    """Write a response file."""
    write_text(root, path, "".join(json.dumps(row) + "\n" for row in rows))


def write_replies(root: Path, path: str, table: pa.Table) -> None:
    """Write a table of parsed replies, and the responses that it was read from."""
    write(root, f"{path}.parquet", table)
    asked = [row for row in table.to_pylist() if row.get("asked", True) and row["request_id"]]
    rows = [response(row["request_id"], row["text"]) for row in asked]
    write_responses(root, f"{path}.responses.jsonl", rows)


def only(table: pa.Table, **where: Any) -> pa.Table:
    """Rows with some values."""
    for name, value in where.items():
        table = table.filter(pc.equal(table[name], value))
    return table


def teaching_project(root: Path) -> Path:
    """A league of two students, two teachers and two control arms on four items."""
    made, folder = teaching_tables(), f"data/teaching/{PLAN.league}"
    league = {
        "students": PLAN.students,
        "teachers": PLAN.teachers,
        "datasets": PLAN.datasets,
        "rounds": PLAN.rounds,
    }
    write_params(
        root,
        {
            "models": scripted("student", *PLAN.students) | scripted("teacher", *PLAN.teachers),
            "items": {"datasets": {"sums": _SUMS}},
            "teaching": {"leagues": {PLAN.league: league | {"arms": ["sham", "verdict_only"]}}},
            "statistics": {"resamples": 100},
        },
    )
    write(root, "data/items/items.parquet", made["items"])
    write(root, "data/items/bands.parquet", made["bands"])
    for name in PLAN.students:
        write_replies(root, f"{folder}/blind_answers/{name}", only(made["blind_answers"], model=name))
    for name in PLAN.teachers:
        write_replies(root, f"{folder}/zero_shot/{name}", only(made["zero_shot"], model=name))
    student = pc.field("student")
    for number in range(1, PLAN.rounds + 1):
        at = f"{folder}/round{number}"
        guides, revised = (only(made[name], round=number) for name in ("guides", "revisions"))
        for name in PLAN.teachers:
            write_replies(root, f"{at}/guide/{name}", only(guides, teacher=name))
        write(root, f"{at}/control_guides.parquet", only(guides, arm="sham"))
        for name in PLAN.students:
            write_replies(root, f"{at}/revise/{name}", revised.filter(student == name))
    for name in ("trajectories", "metrics", "standings", "comparisons"):
        write(root, f"{folder}/{name}.parquet", made[name])
    board = teaching_board(made["metrics"], made["standings"])
    write(root, "results/teaching.parquet", board)
    write_csv(root, "results/teaching.csv", board)
    write_text(root, "results/teaching.md", render_markdown(board))
    write_json(root, "results/metrics.json", board_numbers(board))
    write_csv(root, "results/teaching_ca.csv", ca_chart(board))
    write_csv(root, "results/teaching_rounds.csv", rounds_chart(made["metrics"]))
    assert {row["dataset"] for row in item_rows()} > set(PLAN.datasets)
    return root


def arena_project(root: Path) -> Path:
    """An arena of four models, two judges, the key and two people."""
    made, folder = arena_tables(), "data/arena/leagues/small"
    league = {"models": ARENA_PLAN.models, "scenarios": ARENA_PLAN.scenarios, "judges": ARENA_PLAN.judges}
    source = {"kind": "file", "columns": {}}
    write_params(
        root,
        {
            "models": scripted("responder", *sorted({*ARENA_PLAN.models})) | scripted("pair_judge", "jim"),
            "embedders": {"words": {"engine": "hashed"}},
            "arena": {
                "sources": {
                    name: source | {"scenario": name, "path": f"data/own/{name}.jsonl"}
                    for name in ARENA_PLAN.scenarios
                },
                "embedder": "words",
                "leagues": {"small": league | {"judges": ["jim"], "people": ["data/annotations/pat.csv"]}},
            },
            "statistics": {"resamples": 100},
        },
    )
    votes = made["votes"]
    for name in (
        "ratings",
        "lift",
        "agreement",
        "sheet_key",
        "votes",
        "verdicts",
        "votes_rejected",
        "sheet_missing",
    ):
        write(root, f"{folder}/{name}.parquet", made[name])
    of_kind = {kind: only(votes, annotator_kind=kind) for kind in ("judge", "key", "person")}
    write(root, f"{folder}/votes/key.parquet", of_kind["key"])
    # Bob is a player too: his votes lie with those of people, so that one judge's files are read.
    people = pa.concat_tables([of_kind["person"], only(of_kind["judge"], annotator="bob")])
    write(root, f"{folder}/votes/people.parquet", people)
    write(root, f"{folder}/votes/judge/jim.parquet", only(of_kind["judge"], annotator="jim"))
    write(root, f"{folder}/judge/jim.asked.parquet", only(made["asked"], annotator="jim"))
    write_responses(
        root, f"{folder}/judge/jim.responses.jsonl", _judged(only(made["asked"], annotator="jim"), made)
    )
    notes = {"all": ["made for tests"]}
    write_json(root, f"{folder}/ratings.json", notes)
    board = arena_board({"small": made["ratings"]})
    records = LeagueRecords(
        notes, made["lift"], made["agreement"], votes, made["votes_rejected"], made["sheet"].num_rows,
        made["sheet_missing"],
    )  # fmt: skip
    documents = {"small": arena_beside(records)}
    write(root, "results/arena.parquet", board)
    write_csv(root, "results/arena.csv", board)
    write_json(root, "results/arena_beside.json", documents)
    write_text(root, "results/arena.md", arena_page(board, documents))
    return root


def _judged(asked: pa.Table, made: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a judge must have said for its votes."""
    key = {row["comparison_id"]: row for row in made["sheet_key"].to_pylist()}
    votes = {row["comparison_id"]: row for row in only(made["votes"], annotator="jim").to_pylist()}
    for row in asked.to_pylist():
        vote = votes.get(row["comparison_id"])
        if vote is None:
            yield response(row["request_id"], "Both have their merits.")
            continue
        a_first = (row["order"] == 1) == (vote["model_a"] == key[row["comparison_id"]]["model_1"])
        said = vote["winner_a_first" if a_first else "winner_b_first"]
        word = "tie" if said == "tie" else "A" if (said == "a") == a_first else "B"
        yield response(row["request_id"], f"[[{word}]]")


def mastery_project(root: Path) -> Path:
    """A simulated study of three attributes."""
    made, folder = diagnosis_tables(), "data/diagnosis/studies/sums"
    rules = DIAGNOSIS_PLAN.controls
    checks = {name: getattr(rules, name) for name in ("least_models", "least_items", "alpha", "tolerance")}
    study = {"kind": "simulated", "datasets": ["sums"], "simulation": {"models": 40, "truth": "dina"}}
    write_params(
        root,
        {
            "models": scripted("student", "ann"),
            "items": {"datasets": {"sums": _SUMS}},
            "embedders": {"words": {"engine": "hashed"}},
            "diagnosis": {"embedder": "words", "studies": {"sums": study}, "checks": checks},
        },
    )
    tables = {
        name: made[name] for name in ("responses", "screening", "prior", "attributes", "mastery", "q_entries")
    }
    tables |= {
        name: made[name]
        for name in ("attribute_profiles", "attribute_correlations", "predictions", "placebo", "checks")
    }
    saem = {name: made[f"saem_{name}"] for name in SaemTables._fields}
    whole, chains = made["fit"].to_pylist()[0], made["chains"].to_pylist()
    record = _record(whole, chains)
    fit = read_fit(SaemTables(**saem), record)
    given = apply_screening(known_matrix(table_grid(made["responses"])).matrix, made["screening"])
    known = None
    if models_a_profile(fit) >= 5:
        found = profile_item_fit(given, fit.alpha > NEEDED, fit.q > NEEDED, fit.guess, fit.slip)
        known = ItemFit(*item_errors(fit, given), found.rmsd, found.pvaf)
    tables["item_profiles"] = item_table(fit, given, known)
    for name, table in tables.items():
        write(root, f"{folder}/{name}.parquet", table)
    for name, table in saem.items():
        write(root, f"{folder}/saem/{name}.parquet", table)
    write_json(root, f"{folder}/saem/fit.json", record)
    verdict = made["support"].to_pylist()[0]
    support = {"support": verdict["support"], "reasons": [], "rungs": made["rungs"].to_pylist()}
    write_json(root, f"{folder}/support.json", support)
    corrections = {row["correction"]: row["items"] for row in made["corrections"].to_pylist()}
    write_json(root, f"{folder}/corrections.json", corrections)
    board = mastery_board({"sums": made["mastery"]})
    parts = {"mastery": "mastery", "attributes": "attribute_profiles", "items": "item_profiles"}
    parts |= {name: name for name in ("predictions", "checks", "responses", "screening")}
    records = StudyRecords(
        verdict=support, corrections=corrections, **{k: tables[v] for k, v in parts.items()}
    )
    documents = {"sums": mastery_beside(records)}
    write(root, "results/mastery.parquet", board)
    write_csv(root, "results/mastery.csv", board)
    write_json(root, "results/mastery_beside.json", documents)
    write_text(root, "results/mastery.md", mastery_page(board, documents))
    return root


def _record(whole: dict[str, Any], chains: list[dict[str, Any]]) -> dict[str, Any]:
    """fit.json from the tables that the gate reads it as."""
    sizes = {name: whole[name] for name in ("models", "items", "attributes", "loglik")}
    diagnostics = (
        "converged",
        "reason",
        "sweeps",
        "rhat_items",
        "rhat_loglik",
        "q_jaccard",
        "alpha_agreement",
    )
    return sizes | {"diagnostics": {name: whole[name] for name in diagnostics}, "chains": chains}


def rubrics_project(root: Path) -> Path:
    """A set of one scenario, three models and two judges, over three iterations."""
    tree = root / "made"
    _play(tree)
    folder = root / "data/rubrics/sets/ours"
    for number in range(rubrics_gate_tables.LAST + 1):
        at = folder / str(number)
        for part in ("judge", "repair"):
            (at / part).mkdir(parents=True)
        for name in ("rubrics.json", "decisions.json"):
            shutil.copy(tree / f"i{number}" / name, at / name)
        for name in ("agreement", "diagnosis", "transcripts", "dialogues"):
            shutil.copy(tree / f"i{number}/{name}.parquet", at / f"{name}.parquet")
        for judge in rubrics_gate_tables.JUDGES:
            stem = tree / f"i{number}" / judge
            shutil.copy(f"{stem}.scores.parquet", at / f"judge/{judge}.scores.parquet")
            shutil.copy(f"{stem}.responses.jsonl", at / f"judge/{judge}.responses.jsonl")
            shutil.copy(f"{stem}.repair.responses.jsonl", at / f"repair/{judge}.responses.jsonl")
    names = {"metrics": "metric_scores", "totals": "dialogue_scores", "standings": "standings"}
    for before, after in names.items():
        shutil.copy(tree / f"best/{before}.parquet", folder / f"{after}.parquet")
    for name in ("best", "beside"):
        shutil.copy(tree / f"best/{name}.json", folder / f"{name}.json")
    models = scripted("rubric_teacher", *rubrics_gate_tables.TEACHERS)
    models |= scripted("rubric_judge", *rubrics_gate_tables.JUDGES) | scripted("rubric_student", "pupil")
    one = {
        "scenarios": ["data/scenarios/sums.yaml"],
        "models": list(rubrics_gate_tables.TEACHERS),
        "partners": {"student": "pupil"},
        "judges": list(rubrics_gate_tables.JUDGES),
        "source": "scenegen",
        "writer": "writer",
        "iterations": rubrics_gate_tables.LAST,
    }
    write_params(
        root,
        {
            "models": models | scripted("rubric_writer", "writer"),
            "rubrics": {"sets": {"ours": one}},
            # The set was drawn with 60 resamples, fewer than parameters may ask for: two sets may differ by more.
            "statistics": {"resamples": 100, "level": 0.9, "seed": 3},
        },
    )
    board = rubrics_board({"ours": pq.read_table(folder / "standings.parquet")})
    documents = {"ours": json.loads((folder / "beside.json").read_text(encoding="utf-8"))}
    write(root, "results/rubrics.parquet", board)
    write_csv(root, "results/rubrics.csv", board)
    write_json(root, "results/rubrics_beside.json", documents)
    write_text(root, "results/rubrics.md", rubrics_page(board, documents))
    return root


def _play(folder: Path) -> None:
    """Play the set of the gate's tests into a folder that stays."""
    folder.mkdir()
    made = rubrics_gate_tables.rubric_tables.__wrapped__
    kept = rubrics_gate_tables.tempfile.TemporaryDirectory
    rubrics_gate_tables.tempfile.TemporaryDirectory = lambda: contextlib.nullcontext(folder)  # type: ignore[assignment,misc]
    try:
        made()
    finally:
        rubrics_gate_tables.tempfile.TemporaryDirectory = kept  # type: ignore[misc]


def copied(source: Path, target: Path) -> Path:
    """A copy whose files are links; a file that is written anew is no link any more."""
    shutil.copytree(source, target, copy_function=os.link)
    return target


def rewrite(root: Path, path: str, table: pa.Table) -> None:
    """Put another table in place of a linked file."""
    (root / path).unlink()
    pq.write_table(table, root / path)


def rewrite_text(root: Path, path: str, before: str, after: str, times: int = 1) -> None:
    """Put other words in place of some of a linked file; -1: wherever they stand."""
    text = (root / path).read_text(encoding="utf-8")
    assert before in text, before
    (root / path).unlink()
    (root / path).write_text(text.replace(before, after, times), encoding="utf-8")


def with_cell(table: pa.Table, row: int, column: str, value: Any) -> pa.Table:
    """A table with another cell."""
    at = table.column_names.index(column)
    values = table[column].to_pylist()
    values[row] = value
    return table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))


def moved(value: Any, far: float = 1.0) -> Any:
    """Another number or truth than that of a cell."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 3
    return 0.37 if value is None or np.isnan(value) else value + 0.37 * far


def numeric(table: pa.Table) -> list[str]:
    """Columns of numbers and truths."""
    kinds = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean)
    return [field.name for field in table.schema if any(kind(field.type) for kind in kinds)]
