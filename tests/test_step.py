"""How a script is run: what it is given, what it leaves behind, and what it says when something is wrong."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from magister.contracts.schemas import BANDS
from magister.errors import CheckFailed, UserError
from magister.provenance import file_md5, read_lineage
from scripts.step import Step, run_step

MODULE = "scripts.work.count"
ROW = {"item_id": "i1", "band": 1, "pass_pattern": "1", "n_answered": 1, "unsolved": False, "monotone": True}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one script."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "scripts/__init__.py": "",
        "scripts/work/__init__.py": "",
        "scripts/work/count.py": "x = 1\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def call(run: Callable[[Step], Any], *arguments: str) -> int:
    """Run a script's function; its exit code."""
    try:
        run_step(MODULE, run, ["--log", "logs/count.log", *arguments])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def log() -> str:
    return Path("logs/count.log").read_text(encoding="utf-8")


def bands(path: str = "in.parquet") -> str:
    pq.write_table(pa.Table.from_pylist([ROW], schema=BANDS.schema), path)
    return path


def test_a_script_gets_files_by_name_parameters_and_wildcards() -> None:
    seen: list[Step] = []
    code = call(
        seen.append, "--params", '{"n": 2}', "--wildcards", '{"model": "ann"}',
        "--in", "one", "a", "--in", "many", "b", "c", "--out", "table", "d",
    )  # fmt: skip
    (step,) = seen
    assert code == 0
    assert (step.rule, step.params, step.wildcards) == ("count", {"n": 2}, {"model": "ann"})
    assert step.inputs == {"one": [Path("a")], "many": [Path("b"), Path("c")]}
    assert step.outputs == {"table": Path("d")}
    assert step.path("one") == Path("a")
    assert log() == "ok\n"


@pytest.mark.parametrize(
    ("name", "text"), [("--params", "{"), ("--params", "[1]"), ("--wildcards", "model=ann")]
)
def test_arguments_that_are_no_json_object_are_named(
    name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(print, name, text) == 2
    said = capsys.readouterr().err
    assert name in said
    assert "JSON" in said
    assert "Traceback" not in said


def test_an_input_that_was_not_given_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(lambda step: step.path("items"), "--in", "pool", "a", "b") == 2
    assert "'items'; given inputs: pool (2)" in capsys.readouterr().err


def test_a_table_is_written_with_its_lineage() -> None:
    def run(step: Step) -> None:
        step.models["ann"] = {"engine": "scripted"}
        step.write("bands", step.table("bands"), "bands")
        step.write_json("report", {"n": 1})

    code = call(
        run, "--params", '{"n": 2}', "--wildcards", '{"model": "ann"}',
        "--in", "bands", bands(), "--out", "bands", "out/bands.parquet", "--out", "report", "out/report.json",
    )  # fmt: skip
    assert code == 0
    for name in ("out/bands.parquet", "out/report.json"):
        record = read_lineage(Path(name))
        assert (record["rule"], record["params"], record["wildcards"]) == (
            "count",
            {"n": 2},
            {"model": "ann"},
        )
        assert record["inputs"] == {"in.parquet": file_md5(Path("in.parquet"))}
        assert "scripts/work/count.py" in record["code"]
        assert record["models"] == {"ann": {"engine": "scripted"}}


def test_several_files_of_an_input_are_one_table() -> None:
    seen: list[pa.Table] = []
    assert (
        call(
            lambda step: seen.append(step.table("bands")),
            "--in",
            "bands",
            bands("a.parquet"),
            bands("b.parquet"),
        )
        == 0
    )
    assert seen[0].num_rows == 2


@pytest.mark.parametrize("kind", ["table", "json"])
def test_a_missing_input_is_one_message(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(lambda step: getattr(step, kind)("x"), "--in", "x", "data/none.parquet") == 2
    said = capsys.readouterr().err
    assert said.startswith("count: data/none.parquet: no such file.")
    assert said.count("\n") == 1
    assert log() == said


@pytest.mark.parametrize("damage", [b"", b"not parquet", b"PAR1 and then nothing PAR1"])
def test_a_damaged_table_is_one_message_that_names_it(
    damage: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in.parquet").write_bytes(damage)
    assert call(lambda step: step.table("x"), "--in", "x", "in.parquet") == 2
    said = capsys.readouterr().err
    assert said.startswith("count: in.parquet: damaged, or no parquet file:")
    assert "Delete it and run again" in said


def test_a_table_cut_short_is_damaged(capsys: pytest.CaptureFixture[str]) -> None:
    whole = Path(bands()).read_bytes()
    Path("in.parquet").write_bytes(whole[: len(whole) // 2])
    assert call(lambda step: step.table("x"), "--in", "x", "in.parquet") == 2
    assert "in.parquet: damaged" in capsys.readouterr().err


def test_a_damaged_document_is_one_message_that_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.json").write_text("{")
    assert call(lambda step: step.json("x"), "--in", "x", "in.json") == 2
    assert "count: in.json: not valid JSON" in capsys.readouterr().err


def test_a_mistake_ends_with_its_own_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(error: Exception) -> Callable[[Step], None]:
        def run(step: Step) -> None:
            raise error

        return run

    assert call(fail(UserError("params.yaml: no"))) == 2
    assert call(fail(CheckFailed("gate: no")), "--wildcards", '{"league": "main", "round": "2"}') == 1
    assert capsys.readouterr().err == "count: params.yaml: no\ncount main 2: gate: no\n"
    assert log() == "count main 2: gate: no\n"


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_what_the_machine_refuses_is_one_message(code: int, capsys: pytest.CaptureFixture[str]) -> None:
    def run(step: Step) -> None:
        raise OSError(code, os.strerror(code), "data/x.parquet")

    assert call(run) == 2
    assert capsys.readouterr().err == (
        f"count: data/x.parquet: {os.strerror(code)}. Free space or rights, then run again\n"
    )


def test_a_folder_that_cannot_be_made_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").write_text("a file where a folder should be")
    code = call(lambda step: step.write_text("text", "x"), "--out", "text", "out/deep/text.md")
    assert code == 2
    said = capsys.readouterr().err
    assert "out/deep/text.md: cannot be written" in said
    assert "Traceback" not in said


def test_a_bug_keeps_its_traceback_in_the_log_too() -> None:
    def run(step: Step) -> None:
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        call(run)
    assert log().startswith("Traceback")
    assert log().endswith("ZeroDivisionError: a bug\n")


def test_an_error_of_the_system_that_nobody_expects_is_a_bug() -> None:
    def run(step: Step) -> None:
        raise OSError(errno.EBADF, "Bad file descriptor")

    with pytest.raises(OSError, match="Bad file descriptor"):
        call(run)
    assert "Traceback" in log()


def test_an_interrupt_is_no_bug() -> None:
    def run(step: Step) -> None:
        raise KeyboardInterrupt

    assert call(run) == 130
    assert log() == "count: interrupted\n"


def test_a_log_that_cannot_be_written_does_not_fail_the_step(capsys: pytest.CaptureFixture[str]) -> None:
    Path("logs").write_text("a file where a folder should be")
    assert call(lambda step: step.write_text("text", "x"), "--out", "text", "text.md") == 0
    assert Path("text.md").read_text() == "x"
    assert "logs/count.log: this log cannot be written" in capsys.readouterr().err


def test_progress_is_a_line_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--wildcards", json.dumps({"league": "main", "model": "ann"})]
    call(lambda step: None, *arguments)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("MAGISTER_PROGRESS", "1")
    call(lambda step: None, *arguments)
    assert capsys.readouterr().err.split() == ["count", "main", "ann"]


def test_a_spreadsheet_shows_a_csv_and_runs_nothing_of_it() -> None:
    table = pa.table(
        {"name": ["=cmd|' /C calc'!A1", "plain", None], "gain": [-0.5, 1.0, None], "n": [-1, 2, 3]}
    )
    assert call(lambda step: step.write_csv("out", table), "--out", "out", "out.csv") == 0
    lines = Path("out.csv").read_text(encoding="utf-8").splitlines()
    assert lines == ["name,gain,n", "'=cmd|' /C calc'!A1,-0.5,-1", "plain,1.0,2", ",,3"]
