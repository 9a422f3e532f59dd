"""`magister audit` and `magister cite` on a audited project: text, JSON and a page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from magister import cli


class Ran(NamedTuple):
    """What a call of the command did."""

    code: int
    out: str


Run = Callable[..., Ran]


@pytest.fixture
def run(audited: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call the command in the project, on a terminal of 80 columns."""
    monkeypatch.chdir(audited)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: str) -> Ran:
        with pytest.raises(SystemExit) as stop:
            cli.main(list(arguments))
        return Ran(int(stop.value.code or 0), capsys.readouterr().out)

    return call


def test_a_card_is_printed_as_text_as_json_and_as_a_page(run: Run) -> None:
    text = run("audit", "arena", "a1", "bt", "--top", "2")
    assert text.code == 0
    assert max(map(len, text.out.splitlines())) <= 80
    assert "WHERE IT COMES FROM" in text.out
    document = json.loads(run("audit", "arena", "a1", "bt", "--top", "2", "--json").out)
    assert document["cell"]["metric"] == "bradley_terry"
    assert len(document["movers"]["shown"]) == 2


def test_a_page_is_written_where_the_user_says(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "card.html"
    assert run("audit", "arena", "a1", "bt", "--html", str(path)).out.strip() == f"{path}: written"
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_full_card_writes_out_every_file_and_whole_keys(run: Run) -> None:
    document = json.loads(run("audit", "teaching", "tea", "CA", "--json").out)
    full = run("audit", "teaching", "tea", "CA", "--full").out
    assert all(f"  {one['path']}\n" in full for one in document["sources"])
    assert all(said["key"] in full for mover in document["movers"]["shown"] for said in mover["transcripts"])


def test_a_citation_is_one_line_and_a_bibtex_entry_on_wish(run: Run) -> None:
    line = run("cite", "rubrics", "m1", "overall")
    assert line.code == 0
    assert line.out.count("\n") == 1
    assert run("cite", "rubrics", "m1", "overall", "--bibtex").out.startswith("@misc{")
