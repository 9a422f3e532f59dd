"""`magister rubrics`: what is said of scenario files, and dialogues of one's own."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from cli_helpers import Run, widest

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
