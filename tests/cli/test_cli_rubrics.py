"""`magister rubrics`: what is said of scenario files, and dialogues of one's own."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from cli_helpers import Run, params, widest

CLEAN = """\
magister: 1
name: halves
limits: {max_turns: 4}
agents:
  tutor: {prompt: "Teach {topic}."}
  pupil: {prompt: "You like {topic}."}
directions:
  - START -> tutor
  - tutor -> router:any_keyword(keywords=["goodbye"], then=END, otherwise="pupil")
  - pupil -> tutor
tasks:
  mode: iter
  start_prompt: "Today: {topic}"
  content:
    - {topic: halves}
    - {topic: thirds}
"""


def test_a_clean_file_leaves_with_0(run: Run) -> None:
    Path("s.yaml").write_text(CLEAN)
    ran = run("rubrics", "lint", "s.yaml")
    assert ran.code == 0
    assert "1 file: 0 errors, 0 warnings, 1 note" in ran.out


def test_findings_leave_with_1_and_fit_the_terminal(run: Run) -> None:
    Path("s.yaml").write_text(CLEAN.replace("Teach {topic}", "Teach {topc}"))
    ran = run("rubrics", "lint", ".")
    assert ran.code == 1
    assert "s.yaml:5: error unknown_variable" in ran.out
    assert "did you mean 'topic'" in " ".join(ran.out.split())
    assert widest(ran.out) <= 80


def test_findings_are_rows_for_programs(run: Run) -> None:
    Path("s.yaml").write_text(CLEAN.replace("Teach {topic}", "Teach {topc}"))
    rows = json.loads(run("rubrics", "lint", "s.yaml", "--format", "json").out)
    assert [(row["line"], row["code"]) for row in rows] == [(5, "unknown_variable")]
    table = list(csv.DictReader(io.StringIO(run("rubrics", "lint", "s.yaml", "--format", "csv").out)))
    assert table[0]["severity"] == "error"


def test_a_missing_file_leaves_with_2(run: Run) -> None:
    ran = run("rubrics", "lint", "none.yaml")
    assert ran.code == 2
    assert "none.yaml" in ran.err
    Path("empty").mkdir()
    assert run("rubrics", "lint", "empty").code == 2


def test_a_grid_is_written_once(run: Run) -> None:
    ran = run("rubrics", "grid", "g", "--subject", "art", "--stage", "primary", "--language", "zh")
    assert (ran.code, "10 scenarios" in ran.out) == (0, True)
    assert len(list(Path("g").glob("art-primary-*-zh.yaml"))) == 10
    assert run("rubrics", "lint", "g").code == 0
    assert run("rubrics", "grid", "g").code == 2


def test_what_a_grid_has_not_is_named(run: Run) -> None:
    assert "did you mean 'mathematics'" in run("rubrics", "grid", "g", "--subject", "mathematic").err
    assert "en or zh" in run("rubrics", "grid", "g", "--language", "fr").err
    assert not Path("g").exists()


def configured(**models: dict[str, object]) -> None:
    """A parameter file whose models repeat the last message after their name."""
    params(
        **{
            name: {"engine": "scripted", "script": "echo", "script_args": {"prefix": f"{name}:"}} | more
            for name, more in models.items()
        }
    )


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_a_scenario_is_played(run: Run) -> None:
    configured(one={}, two={})
    Path("s.yaml").write_text(CLEAN)
    ran = run("rubrics", "run", "s.yaml", "--model", "one", "--partner", "two", "--out", "out")
    assert ran.code == 0
    assert "8 requests asked, 0 answered" in ran.out
    lines = [json.loads(line) for line in Path("out/transcripts.jsonl").read_text().splitlines()]
    assert {(row["agent"], row["speaker"]) for row in lines} == {("tutor", "one"), ("pupil", "two")}
    ends = [json.loads(line) for line in Path("out/dialogues.jsonl").read_text().splitlines()]
    assert {(row["stop_kind"], row["turns"], row["n"]) for row in ends} == {("max_turns", 4, 2)}
    assert widest(ran.out) <= 80


def test_a_run_that_is_made_again_asks_nothing_and_changes_nothing(run: Run) -> None:
    configured(one={}, two={})
    Path("s.yaml").write_text(CLEAN)
    call = ("rubrics", "run", "s.yaml", "--model", "one", "--partner", "two", "--out", "out")
    run(*call)
    before = files(Path("out"))
    ran = run(*call)
    assert "0 requests asked, 8 answered" in ran.out
    assert files(Path("out")) == before


def test_a_torn_store_is_gone_on_with(run: Run) -> None:
    configured(one={}, two={})
    Path("s.yaml").write_text(CLEAN)
    call = ("rubrics", "run", "s.yaml", "--model", "one", "--partner", "two", "--out", "out")
    run(*call)
    before = files(Path("out"))
    store = Path("out/store/one/rubrics.halves.jsonl")
    store.write_bytes(store.read_bytes()[:-10])
    ran = run(*call)
    assert "1 request asked, 7 answered" in ran.out
    assert files(Path("out")) == before


def test_a_folder_of_another_run_is_not_written_over(run: Run) -> None:
    configured(one={}, two={})
    Path("s.yaml").write_text(CLEAN)
    run("rubrics", "run", "s.yaml", "--model", "one", "--out", "out")
    ran = run("rubrics", "run", "s.yaml", "--model", "two", "--out", "out")
    assert ran.code == 2
    assert "choose another folder" in " ".join(ran.err.split())
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("x")
    assert run("rubrics", "run", "s.yaml", "--model", "one", "--out", "mine").code == 2


def test_who_speaks_has_to_be_known(run: Run) -> None:
    configured(one={}, two={})
    Path("s.yaml").write_text(CLEAN)
    unknown = run("rubrics", "run", "s.yaml", "--model", "three", "--out", "out")
    assert (unknown.code, "no model three" in unknown.err) == (2, True)
    several = run("rubrics", "run", "s.yaml", "--model", "one", "--model", "two", "--out", "out")
    assert "give --partner" in " ".join(several.err.split())
    nobody = run("rubrics", "run", "s.yaml", "--model", "one", "--partner", "pupl=two", "--out", "out")
    assert "'pupl' is no agent" in nobody.err
    assert not Path("out").exists()


DYING = '''
import os, signal, sys
from pathlib import Path
from magister.cli import main
from magister.llm import player


@player("dying")
def dying(messages, request_key, args):
    """Reply; die at a call where the file says so. Each call leaves a line."""
    with open("calls.txt", "a") as calls:
        calls.write(request_key + "\\\\n")
    if Path("die.txt").is_file() and len(open("calls.txt").readlines()) == int(Path("die.txt").read_text()):
        os.kill(os.getpid(), signal.SIGKILL)
    return "well: " + messages[-1]["content"]


if __name__ == "__main__":
    import dying as module
    main(sys.argv[1:])
'''


def test_a_killed_run_repeats_no_finished_call(tmp_path: Path) -> None:
    def play(folder: Path, die: int | None) -> int:
        (folder / "s.yaml").write_text(CLEAN)
        (folder / "dying.py").write_text(DYING.replace("\\\\n", "\\n"))
        if die is None:
            (folder / "die.txt").unlink(missing_ok=True)
        else:
            (folder / "die.txt").write_text(str(die))
        call = ["rubrics", "run", "s.yaml", "--model", "one", "--out", "out"]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
        return subprocess.run(
            [sys.executable, "-m", "dying", *call],
            cwd=folder,
            env=environment,
            capture_output=True,
            check=False,
        ).returncode

    killed, whole = tmp_path / "killed", tmp_path / "whole"
    for folder in (killed, whole):
        folder.mkdir()
        with contextlib.chdir(folder):
            params(one={"engine": "scripted", "script": "dying"})
    assert play(killed, 4) == -signal.SIGKILL
    assert play(killed, None) == 0
    assert play(whole, None) == 0
    calls = (killed / "calls.txt").read_text().split()
    # The call that died has no answer and is made again; no other is.
    assert len(calls) == len(set(calls)) + 1 == 9
    assert files(killed / "out") == files(whole / "out")
