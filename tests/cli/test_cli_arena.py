"""`magister select` and `magister plan arena`: output, exit codes, mistakes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from cli_helpers import SCRIPTED, Run, params, widest

from magister.arena import select
from magister.contracts.arena_tables import INSTRUCTIONS, SELECTIONS

COUNT = 12
BESIDE = ("--instructions", "questions.npy", "--ids", "ids.txt")
MODELS = ("-m", "ann=a.npy", "-m", "bob=b.npy")


@pytest.fixture
def vectors(run: Run) -> dict[str, np.ndarray]:
    """Files of two models and the instructions in the folder of the run."""
    rng = np.random.default_rng(0)
    found = {}
    for name in ("a", "b", "questions"):
        found[name] = rng.standard_normal((COUNT, 5)).astype(np.float32)
        np.save(f"{name}.npy", found[name])
    Path("ids.txt").write_text("".join(f"{k:03}\n" for k in range(COUNT)), encoding="utf-8")
    return found


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_own_vectors_give_a_selection(run: Run, vectors: dict[str, np.ndarray]) -> None:
    done = run("select", *MODELS, *BESIDE, "--k", "4", "--format", "csv")
    assert done.code == 0
    rows = rows_of(done.out)
    assert list(rows[0]) == SELECTIONS.schema.names
    assert [row["arm"] for row in rows] == ["discrepant"] * 3 + ["random"]
    unit = [vectors[name] / np.linalg.norm(vectors[name], axis=1, keepdims=True) for name in "ab"]
    picks = select((unit[0] * unit[1]).sum(axis=1), vectors["questions"], 3, 1.0)
    assert [row["instruction_id"] for row in rows[:3]] == [f"{k:03}" for k in picks.rows]
    assert (rows[0]["model_a"], rows[0]["model_b"]) == ("ann", "bob")
    assert "1 pair(s), 12 instructions: 3 comparisons by discrepancy, 1 at random." in done.err


def test_a_selection_is_printed_for_people_and_written(run: Run, vectors: dict[str, np.ndarray]) -> None:
    done = run("select", *MODELS, *BESIDE, "--k", "4")
    assert done.code == 0
    assert "discrepant" in done.out
    assert widest(done.out) <= 80
    written = run("select", *MODELS, *BESIDE, "--k", "4", "--out", "new/mine.csv")
    assert written.code == 0
    assert pq.read_table("new/mine.parquet").schema.equals(SELECTIONS.schema)
    assert len(rows_of(Path("new/mine.csv").read_text(encoding="utf-8"))) == 4
    again = run("select", *MODELS, *BESIDE, "--k", "4", "--out", "new/mine")
    assert (again.code, "new/mine.parquet is there already" in again.err) == (2, True)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_own_similarities_give_a_selection(run: Run, vectors: dict[str, np.ndarray], suffix: str) -> None:
    rows = [
        {"instruction_id": f"{k:03}", "model_a": "bob", "model_b": "ann", "similarity": k / 20}
        for k in range(COUNT - 1)
    ]
    rows.append({"instruction_id": "011", "model_a": "ann", "model_b": "bob", "similarity": None})
    path = Path(f"own.{suffix}")
    if suffix == "csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    done = run(
        "select", str(path), *BESIDE, "--lambda", "0", "--random-share", "0", "--k", "20", "--format", "json"
    )
    assert done.code == 0
    assert [row["instruction_id"] for row in json.loads(done.out)] == [f"{k:03}" for k in range(COUNT - 1)]
    assert "Without a similarity, so not chosen: up to 1 instructions" in done.err
    said = " ".join(done.err.split())
    assert "1 pair(s) have fewer eligible instructions than the 20 wanted, first ann and bob with 11." in said


def test_ids_beside_a_file_come_first(run: Run, vectors: dict[str, np.ndarray]) -> None:
    turned = "".join(f"{k:03}\n" for k in reversed(range(COUNT)))
    np.save("b.npy", vectors["b"][::-1])
    Path("b.csv").write_text("instruction_id\n" + turned, encoding="utf-8")
    moved = run("select", *MODELS, *BESIDE, "--format", "csv").out
    Path("b.csv").unlink()
    np.save("b.npy", vectors["b"])
    assert run("select", *MODELS, *BESIDE, "--format", "csv").out == moved


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (BESIDE, "give either a file of similarities or --model NAME=FILE.npy"),
        (("own.csv", *MODELS, *BESIDE), "give either a file of similarities or --model"),
        (MODELS, "--instructions FILE.npy is missing"),
        (("-m", "ann=a.npy", *BESIDE), "expected two or more"),
        (("-m", "ann=a.npy", "-m", "ann=b.npy", *BESIDE), "the name of one model"),
        (("-m", "ann=no.npy", "-m", "bob=b.npy", *BESIDE), "no.npy: not found"),
        (("-m", "ann=ids.txt", "-m", "bob=b.npy", *BESIDE), "ids.txt: damaged, or no .npy file"),
        ((*MODELS, "--instructions", "a.npy"), "the ids of its rows are unknown; name a file with --ids"),
        ((*MODELS, "--instructions", "a.npy", "--ids", "no.txt"), "no.txt: not found"),
        (
            (*MODELS, "--instructions", "a.npy", "--ids", "a.npy"),
            "expected a file of kind .csv, .jsonl, .parquet",
        ),
        (("no.csv", *BESIDE), "no.csv: not found"),
        (("own.txt", *BESIDE), "own.txt: expected a file of kind .csv, .jsonl, .parquet"),
        ((*MODELS, *BESIDE, "--random-share", "2"), "the random share is 2; expected 0 to 1"),
        ((*MODELS, *BESIDE, "--lambda", "-1"), "lambda is -1; expected 0 or more"),
        ((*MODELS, *BESIDE, "--k", "0"), "k is 0; expected 1 or more"),
    ],
)
def test_a_mistake_is_one_message(
    run: Run, vectors: dict[str, np.ndarray], arguments: tuple[str, ...], said: str
) -> None:
    done = run("select", *arguments)
    assert done.code == 2
    assert said in done.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("instruction_id,model_a,model_b\n000,a,b\n", "lack the column(s) similarity"),
        ("instruction_id,model_a,model_b,similarity\n000,a,b,high\n", "high"),
        ("instruction_id,model_a,model_b,similarity\n000,a,b,7\n", "row 1 says 7; expected -1 to 1"),
        (
            "instruction_id,model_a,model_b,similarity\n999,a,b,0\n",
            "1 instruction(s) have no vector, first '999'",
        ),
        ("instruction_id,model_a,model_b,similarity\n", "no rows"),
        ("", "cannot be read"),
    ],
)
def test_a_mistake_in_own_similarities_is_named(
    run: Run, vectors: dict[str, np.ndarray], content: str, said: str
) -> None:
    Path("own.csv").write_text(content, encoding="utf-8")
    done = run("select", "own.csv", *BESIDE)
    assert done.code == 2
    assert said in done.err
    assert "own.csv" in done.err


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("a\n\nb\n", "line 2 is empty"),
        ("a\nb\n", "12 rows and 2 ids"),
        ("a\n" * COUNT, "first 'a' in rows 1 and 2"),
    ],
)
def test_a_mistake_in_ids_is_named(run: Run, vectors: dict[str, np.ndarray], lines: str, said: str) -> None:
    Path("ids.txt").write_text(lines, encoding="utf-8")
    done = run("select", *MODELS, *BESIDE)
    assert done.code == 2
    assert said in done.err
    assert "ids.txt" in done.err


@pytest.mark.parametrize("arguments", [(), ("--models", "8"), ("--scenarios", "4", "--k", "10")])
def test_a_plan_shows_votes_hours_and_the_bound(run: Run, arguments: tuple[str, ...]) -> None:
    done = run("plan", "arena", *arguments)
    assert (done.code, done.err) == (0, "")
    assert widest(done.out) <= 80
    line = next(
        line.split()
        for line in done.out.splitlines()
        if "scenario" in line and "pairs" in line and "280" in line
    )
    assert {"28", "280", "4.7", "1114"} <= set(line)
    assert "cannot come from one scenario's" in " ".join(done.out.split())
    assert "coarse to fine" not in done.out


def test_a_plan_of_many_models_shows_both_schedules(run: Run) -> None:
    done = run("plan", "arena", "--models", "40", "--format", "json")
    rows = {(row["schedule"], row["scope"]): row for row in json.loads(done.out)}
    assert len(rows) == 4
    assert rows["all_pairs", "scenario"]["pairs"] == 780
    assert rows["coarse_to_fine", "scenario"]["pairs"] <= 213
    assert "neighbours whose intervals overlap" in " ".join(
        run("plan", "arena", "--models", "40").out.split()
    )


def test_a_plan_that_is_none_is_named(run: Run) -> None:
    done = run("plan", "arena", "--models", "1")
    assert (done.code, done.out) == (2, "")
    assert "models is 1; expected 2 or more" in done.err


def arenas() -> None:
    """A parameter file with two arenas."""
    sources = {
        "sums": {"kind": "generated", "scenario": "sums", "generator": "sums", "n": 30},
        "talk": {"kind": "file", "scenario": "talk", "path": "talk.jsonl"},
    }
    leagues = {
        "duel": {"models": ["a", "b", "c"], "scenarios": ["sums"], "k": 8, "judges": ["j"]},
        "talks": {"models": ["a", "b"], "scenarios": ["talk"], "k": 2, "people": ["data/annotations/x.csv"]},
    }
    models = {name: {"engine": "scripted", "script": "responder"} for name in "abc"}
    models["j"] = {"engine": "scripted", "script": "pair_judge"}
    arena = {"sources": sources, "leagues": leagues, "embedder": "words", "elo": {"k": 8}}
    content = {"models": models, "embedders": {"words": {"engine": "hashed"}}, "arena": arena}
    content["statistics"] = {"level": 0.8}
    Path("params.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    lines = [json.dumps({"instruction": f"Tell me about the number {n}."}) + "\n" for n in range(5)]
    Path("talk.jsonl").write_text("".join(lines), encoding="utf-8")


def test_a_plan_is_that_of_every_arena_of_the_file(run: Run) -> None:
    arenas()
    done = run("plan", "arena")
    assert (done.code, done.err) == (0, "")
    assert widest(done.out) <= 80
    said = " ".join(done.out.split())
    assert "Arena duel: 3 models, 1 scenario(s), 2 vote(s) on each comparison." in said
    assert "Arena talks: 2 models, 1 scenario(s), 1 vote(s)" in said
    assert "80 % interval" in said
    assert "at K = 8 from 1000" in said
    assert "Instructions: those of the sources now." in said


def test_a_plan_of_the_file_in_rows(run: Run) -> None:
    arenas()
    done = run("plan", "arena", "--format", "csv")
    rows = rows_of(done.out)
    plans = {row["arena"]: row for row in rows if (row["kind"], row["scope"]) == ("plan", "overall")}
    assert (plans["duel"]["votes"], plans["duel"]["hours"]) == (str(2 * 3 * 8), "0.0")
    assert (plans["talks"]["votes"], float(plans["talks"]["hours"])) == ("2", pytest.approx(2 / 60))
    calls = {
        (row["arena"], row["stage"], row["model"]): row["calls"] for row in rows if row["kind"] == "calls"
    }
    assert calls["duel", "respond", "a"] == "30"
    assert calls["talks", "respond", "a"] == "5"
    assert calls["duel", "judge", "j"] == str(2 * 3 * 8)


def test_options_change_the_plan_of_the_file_and_one_arena_may_be_chosen(run: Run) -> None:
    arenas()
    done = run("plan", "arena", "--arena", "duel", "--k", "50", "--annotators", "3", "--format", "json")
    rows = [row for row in json.loads(done.out) if row["kind"] == "plan"]
    assert {row["arena"] for row in rows} == {"duel"}
    assert rows[0]["votes"] == 3 * 50 * 3
    assert "Scenario sums has 30 instruction(s): 30 comparisons of a pair, not 50." in " ".join(
        done.err.split()
    )


def test_an_arena_that_is_in_no_file_is_planned_beside_one(run: Run) -> None:
    arenas()
    rows = json.loads(run("plan", "arena", "--models", "8", "--format", "json").out)
    assert [row["votes"] for row in rows] == [280, 1120]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--arena", "duet"), "params.yaml has no such arena; known: duel, talks"),
        (("--arena", "duel", "--models", "3"), "--arena names an arena of the file"),
        (("--params", "other.yaml"), "other.yaml: not found"),
        (("--params", "bare.yaml"), "no arena under arena.leagues; plan one that is in no file: --models 8"),
        (("--random-share", "2"), "the random share is 2; expected 0 to 1"),
    ],
)
def test_a_plan_of_the_file_that_is_none_is_named(run: Run, arguments: tuple[str, ...], said: str) -> None:
    arenas()
    params(ann=SCRIPTED).rename("bare.yaml")
    arenas()
    done = run("plan", "arena", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in " ".join(done.err.split())


def test_a_source_that_is_not_fetched_is_assumed_and_an_evolved_pool_is_a_bound(run: Run) -> None:
    arenas()
    content = yaml.safe_load(Path("params.yaml").read_text(encoding="utf-8"))
    wheel = {
        "wheel": "w",
        "version": "1",
        "sha256": "0" * 64,
        "member": "w/x.jsonl",
        "member_sha256": "0" * 64,
    }
    content["arena"]["sources"]["talk"] = {"kind": "wheel", "scenario": "talk", "wheel": wheel}
    content["arena"]["evolution"] = {"rounds": 2, "generators": ["a"]}
    Path("params.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    done = run("plan", "arena", "--assume", "50", "--format", "json")
    calls = {
        (row["arena"], row["stage"]): row["calls"] for row in json.loads(done.out) if row["kind"] == "calls"
    }
    assert calls["talks", "respond"] == 3 * 50
    assert calls["", "evolve"] == 2 * (50 + 30)
    said = " ".join(done.err.split())
    assert "Not fetched yet, so their `n`, else 50 (--assume): talk." in said
    assert "After 2 round(s) of evolution at most 3 times as many." in said


def test_the_pool_of_the_last_run_is_what_is_counted(run: Run) -> None:
    arenas()
    rows = [
        {
            "instruction_id": f"i{n}",
            "scenario": "talk",
            "text": "Talk.",
            "root_id": f"i{n}",
            "round": 0,
            "operation": "seed",
        }
        for n in range(9)
    ]
    path = Path("data/arena/pool/round0.parquet")
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=INSTRUCTIONS.schema), path)
    done = run("plan", "arena", "--arena", "talks", "--format", "json")
    assert [row["calls"] for row in json.loads(done.out) if row["kind"] == "calls"] == [9, 9]
    assert "Instructions: those of the last run's pool." in done.err
