"""`magister score-teaching` and `magister plan teaching`: output, exit codes, mistakes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from cli_helpers import SCRIPTED, Run, params, widest

# score-teaching


def trajectories(name: str = "own.csv", rows: str = "") -> str:
    """Answers of two students to four items under one teacher, over two rounds."""
    lines = ["teacher,student,item_id,round,correct,verdict"]
    for student in ("ann", "bob"):
        for item in range(4):
            right = int(item == 0)
            lines.append(f"tea,{student},i{item},0,{right},")
            lines.append(f"tea,{student},i{item},1,{int(item < 2)},{'correct' if right else 'wrong'}")
    Path(name).write_text("\n".join(lines) + "\n" + rows, encoding="utf-8")
    return name


def test_own_trajectories_are_rated(run: Run) -> None:
    Path("aa.csv").write_text("teacher,item_id,correct\n" + "".join(f"tea,i{n},{n % 2}\n" for n in range(4)))
    done = run("score-teaching", trajectories(), "--zero-shot", "aa.csv", "--resamples", "200")
    assert (done.code, done.err) == (0, "")
    assert "own.csv: 16 rows." in done.out
    assert "Not in the file, assumed: arm: taught" in done.out
    assert "- tea" in done.out
    assert "+25.0" in done.out
    assert "4 items, 4 clusters, 2 students, 1 round. Policy wrong" in done.out
    assert "by status: ok 16 (of 16)" in done.out
    assert widest(done.out) <= 80


def test_its_metrics_are_written_as_parquet_and_csv(run: Run) -> None:
    done = run(
        "score-teaching", trajectories(), "--out", "rated/mine", "--resamples", "0", "--policy", "drop"
    )
    assert done.code == 0
    table = pq.read_table("rated/mine.parquet")
    assert set(table["policy"].to_pylist()) == {"drop"}
    rows = list(csv.DictReader(io.StringIO(Path("rated/mine.csv").read_text(encoding="utf-8"))))
    assert len(rows) == table.num_rows > 10
    assert (rows[0]["resamples"], rows[0]["league"]) == ("0", "own")


def test_notes_are_no_part_of_what_programs_read(run: Run) -> None:
    done = run("score-teaching", trajectories(), "--format", "json", "--resamples", "0")
    (row,) = json.loads(done.out)
    assert (row["teacher"], row["ca"]) == ("tea", 0.25)
    assert "own.csv: 16 rows." in done.err


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("tea,ann,i1,1,1,\n", "1 repeated row(s), first 5 and 18"),
        ("tea,ann,i9,0,1,\n", "lacks round 1 (row 18)"),
        ("tea,ann,i9,0,1,\ntea,ann,i9,1,1,\n", "student 'bob' of teacher 'tea' has 4 of 5 items"),
        ("tea,ann,i9,0,0.5,\n", "row 18: correct '0.5'; expected 0 or 1"),
        ("tom,ann,i1,1,1,\n", "row 18: teacher 'tom' has no round 0"),
        ("tea,ann\n", "row 18: expected 6 cells, found 2"),
    ],
)
def test_a_mistake_in_own_trajectories_is_named_by_its_rows(run: Run, rows: str, expected: str) -> None:
    done = run("score-teaching", trajectories(rows=rows))
    assert done.code == 2
    assert expected in done.err


@pytest.mark.parametrize("content", [b"", b"PAR1", b"teacher,student\n", b"\x00\xff"])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.xlsx"])
def test_trajectories_that_cannot_be_read_are_one_message(run: Run, name: str, content: bytes) -> None:
    Path(name).write_bytes(content)
    done = run("score-teaching", name)
    assert done.code == 2
    assert done.err.startswith(f"magister: {name}: ")


def test_a_key_that_stands_twice_is_refused_with_its_line(run: Run) -> None:
    row = '{"teacher":"t","student":"s","item_id":"i","round":0,"correct":1%s}\n'
    Path("own.jsonl").write_text(row % "" + row % ',"correct":0')
    done = run("score-teaching", "own.jsonl")
    assert (done.code, "row 2: the key 'correct' stands there twice" in done.err) == (2, True)


def test_a_header_alone_is_said_to_have_no_rows(run: Run) -> None:
    Path("own.csv").write_text("teacher,student,item_id,round,correct\n")
    done = run("score-teaching", "own.csv")
    assert (done.code, "no rows" in done.err, "Columns found" in done.err) == (2, True, False)
    done = run("score-teaching", trajectories("all.csv"), "--zero-shot", "own.csv")
    assert (done.code, "no rows" in done.err, "Columns found" in done.err) == (2, True, False)


def test_trajectories_in_utf_16_are_said_to_be_no_utf_8(run: Run) -> None:
    Path("own.csv").write_text("teacher,student\n", encoding="utf-16")
    done = run("score-teaching", "own.csv")
    assert (done.code, "own.csv: not UTF-8 text" in done.err) == (2, True)


def test_a_decimal_of_a_parquet_file_is_0_or_1(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(Path(trajectories()).read_text(encoding="utf-8"))))
    table = pa.Table.from_pylist(rows)
    place = table.column_names.index("correct")
    number = table["correct"].cast(pa.int64()).cast(pa.decimal128(21, 2))
    pq.write_table(table.set_column(place, "correct", number), "own.parquet")
    done = run("score-teaching", "own.parquet", "--resamples", "0")
    assert (done.code, done.err) == (0, "")
    assert "+25.0" in done.out


def test_names_cannot_steer_the_terminal(run: Run) -> None:
    trajectories()
    text = Path("own.csv").read_text(encoding="utf-8").replace("tea,", "t\x1b[31m\u202ea,")
    Path("own.csv").write_text(text, encoding="utf-8")
    done = run("score-teaching", "own.csv", "--resamples", "0")
    assert done.code == 0
    assert "t\\x1b[31m\\u202ea" in done.out
    assert not any(char in done.out for char in "\x1b\u202e")


# plan teaching

PROMPTS = Path(__file__).resolve().parents[2] / "prompts"


def planned(**models: dict[str, Any]) -> Path:
    """A folder with parameters and the shipped prompts."""
    Path("prompts").symlink_to(PROMPTS)
    return params(**models)


def test_a_plan_counts_calls_tokens_and_money(run: Run) -> None:
    far = {"engine": "openai", "served_name": "m", "base_url": "http://h/v1", "price_in": 2, "price_out": 10}
    planned(far=far)
    rows = json.loads(run("plan", "teaching", "--format", "json").out)
    found = {row["stage"]: row for row in rows if row["kind"] == "calls"}
    assert {stage: row["calls"] for stage, row in found.items()} == {
        "blind": 3, "zero-shot": 3, "guide": 9, "revise": 9,
    }  # fmt: skip
    for row in found.values():
        money = (2 * row["tokens_in"] + 10 * row["tokens_out"]) / 1e6
        assert row["cost"] == pytest.approx(money)
        assert row["tokens_in"] > row["calls"] * 20
    (league,) = (row for row in rows if row["kind"] == "league")
    assert (league["league"], league["n_items"], league["n_students"]) == ("main", 3, 1)
    assert league["detectable"] is None
    assert "more than a share" in league["reason"]


def test_a_plan_says_what_it_assumes_and_fits_the_terminal(run: Run) -> None:
    planned(ann=SCRIPTED, far={"engine": "openai", "served_name": "m", "base_url": "http://h/v1"})
    raw = yaml.safe_load(Path("params.yaml").read_text())
    raw["teaching"]["leagues"]["main"]["teachers"] = ["far"]
    Path("params.yaml").write_text(yaml.safe_dump(raw))
    done = run("plan", "teaching")
    said = " ".join(done.out.split())
    assert (done.code, done.err) == (0, "")
    assert "Items (at most, by `n` of params.yaml): sums 3." in said
    assert "assumed: 150 characters of question" in said
    assert "Cost unknown (no price_in, price_out in params.yaml): far." in said
    assert "cost 0.00 and what is unknown" in said
    assert "no request file is written yet" in said
    assert "League main, 3 items, 1 student: no difference in CA can be shown" in said
    assert widest(done.out) <= 80


def test_a_plan_counts_the_leagues_of_ablations_and_what_they_share(run: Run) -> None:
    planned(ann=SCRIPTED)
    raw = yaml.safe_load(Path("params.yaml").read_text())
    raw["teaching"]["leagues"]["main"]["ablations"] = ["more_rounds", "prompts"]
    Path("params.yaml").write_text(yaml.safe_dump(raw))
    rows = json.loads(run("plan", "teaching", "--format", "json").out)
    calls = {(row["league"], row["stage"]): row for row in rows if row["kind"] == "calls"}
    assert {name: row["calls"] for (name, stage), row in calls.items() if stage == "guide"} == {
        "main": 9, "main--rounds-6": 18, "main--prompts-v2": 9, "main--prompts-v3": 9,
    }  # fmt: skip
    assert [calls["main--rounds-6", stage]["repeated"] for stage in ("blind", "guide")] == [3, 9]
    assert [row["league"] for row in rows if row["kind"] == "league"] == ["main"]
    done = run("plan", "teaching")
    said = " ".join(done.out.split())
    assert "Leagues of ablations: main--rounds-6, main--prompts-v2, main--prompts-v3." in said
    assert "Of the calls, 24 are those of another league and not asked again." in said
    assert "To ask: 90 calls" in said
    assert widest(done.out) <= 80


@pytest.mark.parametrize(
    "arguments", [("--icc", "2"), ("--p0", "2"), ("--power", "1"), ("--rho-students", "-1")]
)
def test_a_number_outside_its_range_is_one_message(run: Run, arguments: tuple[str, ...]) -> None:
    planned(ann=SCRIPTED)
    done = run("plan", "teaching", *arguments)
    assert done.code == 2
    assert arguments[0].removeprefix("--").replace("-", "_") in done.err


def test_a_damaged_artifact_is_named(run: Run) -> None:
    planned(ann=SCRIPTED)
    Path("data/items/pool").mkdir(parents=True)
    Path("data/items/pool/sums.parquet").write_bytes(b"PAR1")
    done = run("plan", "teaching")
    assert (done.code, "data/items/pool/sums.parquet: damaged" in done.err) == (2, True)


def test_a_plan_without_prompts_says_so(run: Run) -> None:
    params(ann=SCRIPTED)
    done = run("plan", "teaching")
    assert (done.code, "prompts/answer/v1.md: no such prompt" in done.err) == (2, True)
