"""A citation holds what it takes to find a number again and to check it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from magister.audit.audit import audit
from magister.audit.citation import bibtex, cite, revision
from magister.provenance import file_md5


def git(folder: Path, *arguments: str) -> None:
    name = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True)


def test_a_line_has_value_interval_n_policy_md5_revision_and_command(audited: Path) -> None:
    card = audit(audited, "teaching", "tea", {"metric": "CA"}, 0)
    line = cite(card, "abc+changes")
    assert "\n" not in line
    assert f"= {card.number.value:.4g} [" in line
    assert "90 % interval, 200 resamples, seed 3" in line
    assert (
        f"n = {card.counts['n_cells']} dialogues, {card.counts['n_clusters']} clusters, policy wrong" in line
    )
    assert f"md5 {file_md5(audited / 'results/teaching.parquet')}, git abc+changes" in line
    assert line.endswith(
        "magister audit teaching tea CA --in main --arm taught --slice overall=all --round 2"
    )


@pytest.mark.parametrize(
    ("board", "model", "metric", "said"),
    [
        ("arena", "a1", "elo", " votes"),
        ("rubrics", "m1", "care", " dialogues"),
        ("mastery", "m1", "overall", " attributes"),
        ("teaching", "tea", "AA", " items"),
    ],
)
def test_n_says_what_it_counts(audited: Path, board: str, model: str, metric: str, said: str) -> None:
    line = cite(audit(audited, board, model, {"metric": metric}, 0), None)
    assert f"{said}" in line.split("n = ")[1].split(";")[0]
    assert "git none" in line


def test_a_number_that_no_board_prints_is_cited_by_its_table(audited: Path) -> None:
    card = audit(audited, "teaching", "tea", {"metric": "JA_none"}, 0)
    table = "data/teaching/main/metrics.parquet"
    assert f"; {table} md5 {file_md5(audited / table)}, git none" in cite(card, None)
    assert card.commands["rebuild"] == f"snakemake --cores all --force -- {table}"


def test_an_entry_escapes_what_tex_would_obey(audited: Path) -> None:
    entry = bibtex(audit(audited, "arena", "a1", {"metric": "bradley_terry"}, 0), "abc")
    assert entry.startswith("@misc{magister-arena-a1-bradley-terry-")
    assert entry.endswith("\n}")
    assert r"bradley\_terry" in entry
    assert r"95 \% interval" in entry
    assert entry.count("{") == entry.count("}")


def test_the_revision_says_whether_the_tree_differs_from_it(tmp_path: Path) -> None:
    assert revision(tmp_path) is None
    git(tmp_path, "init")
    (tmp_path / "a.txt").write_text("1")
    git(tmp_path, "add", "a.txt")
    git(tmp_path, "commit", "-m", "m")
    clean = revision(tmp_path)
    assert clean is not None
    assert len(clean) == 12
    (tmp_path / "new.txt").write_text("a file that git does not know changes nothing")
    assert revision(tmp_path) == clean
    (tmp_path / "a.txt").write_text("2")
    assert revision(tmp_path) == f"{clean}+changes"
