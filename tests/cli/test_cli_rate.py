"""`magister rate`: output, exit codes, mistakes."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest
from cli_helpers import Run, widest

ROWS = [
    "x,y,model_a",
    "y,x,model_b",
    "x,y,tie",
    "x,y,model_b",
    "z,x,model_b",
    "z,y,model_a",
    "z,y,model_b",
] * 4


def votes(*extra: str, header: str = "model_a,model_b,winner", name: str = "votes.csv") -> str:
    Path(name).write_text("\n".join([header, *ROWS, *extra]) + "\n", encoding="utf-8")
    return name


def test_own_votes_are_rated_by_both_systems(run: Run) -> None:
    done = run("rate", votes(), "--resamples", "100")
    assert (done.code, done.err) == (0, "")
    assert "votes.csv: 28 rows, 28 votes count." in done.out
    assert "overall: Bradley-Terry" in done.out
    assert "overall: Elo" in done.out
    assert "W/T/L" in done.out
    assert widest(done.out) <= 80


def test_programs_get_rows_and_no_notes(run: Run) -> None:
    done = run("rate", votes(), "--resamples", "50", "--format", "json", "--system", "elo")
    rows = json.loads(done.out)
    assert [row["system"] for row in rows] == ["elo"] * 3
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert "28 votes count" in done.err
    done = run("rate", votes(), "--resamples", "0", "--format", "csv", "--system", "elo")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert rows[0]["ci_low"] == ""
    assert rows[0]["status"] == "no_interval"
    assert rows[0]["reason"] == "no resamples were asked for"


def test_rows_that_are_no_votes_are_left_out_listed_and_told_by_the_exit_code(run: Run) -> None:
    name = votes("x,x,model_a", "x,y,left", "x,y,", "x,y")
    done = run("rate", name, "--resamples", "0", "--rejected", "out/rejected.csv")
    assert done.code == 1
    assert "32 rows, 28 votes count" in done.out
    assert "1 of 31 row(s) have no winner" in done.out
    assert "row 31: winner 'left'; expected one of" in " ".join(done.out.split())
    assert "3 row(s) are no votes and were left out; see out/rejected.csv" in done.err
    rows = list(csv.DictReader(io.StringIO(Path("out/rejected.csv").read_text(encoding="utf-8"))))
    assert {(row["row"], row["reason"]) for row in rows} == {
        ("30", "self_match"),
        ("31", "unknown_winner"),
        ("33", "unreadable"),
    }


def test_a_repeated_vote_is_said_and_no_mistake(run: Run) -> None:
    Path("v.csv").write_text(
        "model_a,model_b,winner,item,who\nx,y,a,1,p\ny,x,b,1,p\nx,y,b,2,p\nx,y,a,3,q\n", encoding="utf-8"
    )
    done = run(
        "rate", "v.csv", "--column", "instruction=item", "--column", "annotator=who", "--resamples", "0"
    )
    assert done.code == 0
    assert "4 rows, 3 votes count" in done.out
    assert "Read: annotator from who, instruction from item." in done.out
    assert "1 row(s) duplicate: row 3" in done.out


def test_scenarios_are_rated_on_their_own(run: Run) -> None:
    lines = [f"{row},{('math', 'code')[k % 2]}" for k, row in enumerate(ROWS)]
    Path("v.csv").write_text("\n".join(["model_a,model_b,winner,scenario", *lines]) + "\n", encoding="utf-8")
    done = run("rate", "v.csv", "--by", "scenario", "--resamples", "0", "--system", "elo")
    assert done.code == 0
    assert [line for line in done.out.splitlines() if line.endswith(": Elo")] == [
        "overall: Elo",
        "code: Elo",
        "math: Elo",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--by", "scenario"], "the votes have no scenario; name it: --column scenario=NAME"),
        (["--column", "winner"], "expected ROLE=NAME with a role of model_a"),
        (["--column", "judge=winner"], "expected ROLE=NAME with a role of model_a"),
        (
            ["--column", "winner=winner", "--column", "winner=verdict"],
            "winner is named twice, 'winner' and 'verdict'",
        ),
        (["--column", "winner=verdict"], "no column 'verdict' for winner. Columns found:"),
        (["--level", "95"], "expected a level between 0 and 1"),
        (["--resamples", "3"], "expected 0 resamples or at least 20"),
    ],
)
def test_a_mistake_in_the_options_is_named(run: Run, arguments: list[str], said: str) -> None:
    done = run("rate", votes(), *arguments)
    assert done.code == 2
    assert said in done.err


@pytest.mark.parametrize("content", [b"", b"model_a,model_b,winner\n", b"\x00\xff", b"a,b\n1,2\n"])
def test_a_file_without_votes_is_a_mistake(run: Run, content: bytes) -> None:
    Path("v.csv").write_bytes(content)
    done = run("rate", "v.csv")
    assert done.code == 2
    assert done.err.startswith("magister: ")


def test_a_file_whose_every_row_is_wrong_is_a_mistake_and_lists_them(run: Run) -> None:
    Path("v.csv").write_text("model_a,model_b,winner\nx,x,a\n", encoding="utf-8")
    done = run("rate", "v.csv", "--rejected", "rejected.csv")
    assert done.code == 2
    assert "no vote counts" in done.err
    assert "self_match" in Path("rejected.csv").read_text(encoding="utf-8")


def test_names_cannot_steer_the_terminal(run: Run) -> None:
    Path("v.csv").write_text("model_a,model_b,winner\n\x1b[2Jx,y,a\n\x1b[2Jx,y,b\n", encoding="utf-8")
    done = run("rate", "v.csv", "--resamples", "0")
    assert "\x1b" not in done.out
    assert "\\x1b[2Jx" in done.out


def test_no_file_of_the_users_is_written_over(run: Run) -> None:
    name = votes()
    before = Path(name).read_bytes()
    done = run("rate", name, "--resamples", "0", "--rejected", name)
    assert (done.code, f"{name} is there already" in done.err) == (2, True)
    assert Path(name).read_bytes() == before


@pytest.mark.parametrize(("mark", "said"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_another_separator_is_named(run: Run, mark: str, said: str) -> None:
    Path("v.csv").write_text("model_a,model_b,winner\nx,y,a\n".replace(",", mark), encoding="utf-8")
    done = run("rate", "v.csv")
    assert done.code == 2
    assert f"The cells seem to be separated by {said}: separate them by commas." in done.err


@pytest.mark.parametrize("other", ["x ", "\u00a0x", "x\u200b", "\ufeffx", "x\u2009"])
def test_models_whose_names_differ_by_what_nobody_sees_are_refused(run: Run, other: str) -> None:
    Path("v.csv").write_text(f"model_a,model_b,winner\nx,y,a\n{other},y,b\n", encoding="utf-8")
    done = run("rate", "v.csv", "--resamples", "0")
    assert (done.code, done.out) == (2, "")
    assert f"{other!a}" in done.err
    assert "'x'" in done.err
    assert "differ by spaces or invisible characters alone" in done.err


def test_names_that_can_be_told_apart_are_two_models(run: Run) -> None:
    Path("v.csv").write_text("model_a,model_b,winner\nx 1,x1,a\nX 1,x1,b\n", encoding="utf-8")
    done = run("rate", "v.csv", "--resamples", "0", "--format", "json", "--system", "elo")
    assert {row["model"] for row in json.loads(done.out)} == {"x 1", "x1", "X 1"}


@pytest.mark.parametrize("form", ["csv", "json"])
def test_what_must_be_said_beside_the_rows_stands_in_every_row(run: Run, form: str) -> None:
    name = votes("x,y,", "x,y,left")
    done = run("rate", name, "--resamples", "0", "--system", "elo", "--format", form)
    rows = json.loads(done.out) if form == "json" else list(csv.DictReader(io.StringIO(done.out)))
    (note,) = {row["note"] for row in rows}
    assert "1 of 30 row(s) have no winner: unjudged, not counted" in note
    assert "1 row(s) unknown_winner: row 31: winner 'left'" in note


def test_random_orders_of_many_votes_are_told_beforehand(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["magister.cli.rate"], "_MANY_VOTES", 20)
    arguments = ("rate", votes(), "--resamples", "0")
    done = run(*arguments, "--elo", "shuffle")
    assert "Playing 28 votes in 1,000 random orders" in done.err
    assert "--elo mean_field" in done.err
    for other in (("--elo", "mean_field"), ("--elo", "shuffle", "--system", "bradley_terry")):
        assert run(*arguments, *other).err == ""
