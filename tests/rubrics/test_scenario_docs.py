"""The page about scenarios says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from magister.rubrics.lint import lint_files
from magister.rubrics.reader import parse_scenario
from magister.rubrics.router import ALLOWED

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "rubrics_scenarios.md").read_text(encoding="utf-8")
FINDING = re.compile(r"(?:\.error|\.add|_refuse)\(\s*(?:\"(?:error|warning|note)\",\s*)?\"([a-z_]+)\"")


def test_every_finding_is_on_the_page() -> None:
    codes = set()
    for path in sorted((ROOT / "src/magister/rubrics").glob("*.py")):
        codes |= set(FINDING.findall(path.read_text(encoding="utf-8")))
    codes -= {"error", "warning", "note"}
    assert len(codes) > 30
    assert sorted(code for code in codes if f"`{code}`" not in PAGE) == []


def test_the_example_is_a_scenario(tmp_path: Path) -> None:
    text = PAGE.partition("```yaml\n")[2].partition("```")[0]
    assert parse_scenario(text).name == "halves"
    (tmp_path / "halves.yaml").write_text(text, encoding="utf-8")
    assert lint_files([tmp_path / "halves.yaml"]) == []


def test_every_router_is_on_the_page() -> None:
    assert [form for form in ALLOWED if form.partition("(")[0] not in PAGE] == []
