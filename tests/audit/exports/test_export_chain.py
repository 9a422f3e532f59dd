"""The chain behind an artifact: gathered whole, and refused where it has a break."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from magister.audit.exports.chain import Chain, chain_behind
from magister.audit.trail import read_trail
from magister.errors import UserError


def behind(project: Path, *targets: str) -> Chain:
    return chain_behind(read_trail(project), targets)


def test_the_boards_and_everything_behind_are_gathered(project: Path) -> None:
    chain = behind(project)
    assert chain.targets == ("results/teaching.parquet",)
    assert [run.name for run in chain.runs] == ["build (dataset=sums)", "complete", "teaching_board"]
    assert chain.sources == ["data/own/frågor 1.jsonl", "prompts/ask.md"]
    assert chain.made == {"data/made/items.json", "data/made/answers.jsonl", "results/teaching.parquet"}
    assert [name for name, _ in chain.models] == ["tutor"]


def test_files_that_one_run_made_are_of_one_run(project: Path) -> None:
    chain = behind(project, "results/teaching.parquet", "results/teaching.csv", "./results/teaching.csv")
    assert chain.runs[-1].outputs == ("results/teaching.csv", "results/teaching.parquet")
    assert len(chain.runs) == 3
    assert chain.targets == ("results/teaching.csv", "results/teaching.parquet")


def test_what_is_not_behind_a_target_is_left_out(project: Path) -> None:
    chain = behind(project, "data/made/items.json")
    assert list(chain.files) == ["data/made/items.json", "data/own/frågor 1.jsonl"]
    assert not chain.models


def test_a_target_may_be_named_by_its_whole_path(project: Path) -> None:
    assert behind(project, str(project / "results/teaching.csv")).targets == ("results/teaching.csv",)


def test_hashes_and_sizes_are_those_of_the_bytes(project: Path) -> None:
    content = (project / "prompts/ask.md").read_bytes()
    file = behind(project).files["prompts/ask.md"]
    assert (file.md5, file.sha256) == (hashlib.md5(content).hexdigest(), hashlib.sha256(content).hexdigest())
    assert file.size == len(content)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("results/arena.parquet", "no such artifact. Expected one .* results/teaching.parquet"),
        ("prompts/ask.md", "no rule has made it"),
    ],
)
def test_a_target_that_is_no_artifact_is_refused(project: Path, target: str, expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        behind(project, target)


def test_without_boards_a_target_has_to_be_named(project: Path) -> None:
    (project / "results/teaching.parquet").unlink()
    with pytest.raises(UserError, match=r"none of results/teaching.parquet"):
        behind(project)
    assert behind(project, "results/teaching.csv").runs


@pytest.mark.parametrize("path", ["prompts/ask.md", "data/made/items.json"])
def test_a_file_that_is_not_what_was_read_breaks_the_chain(project: Path, path: str) -> None:
    (project / path).write_text("other")
    with pytest.raises(
        UserError, match=rf"{path}: not the content that data/made/answers.jsonl was made from"
    ):
        behind(project)


def test_a_source_that_is_gone_is_known_by_its_recorded_hash(project: Path) -> None:
    before = behind(project).files["prompts/ask.md"]
    (project / "prompts/ask.md").unlink()
    after = behind(project).files["prompts/ask.md"]
    assert (after.md5, after.size, after.sha256) == (before.md5, None, None)


def test_two_contents_of_a_source_that_is_gone_are_a_break(project: Path) -> None:
    beside = project / "data/made/items.json.lineage.json"
    record = json.loads(beside.read_text(encoding="utf-8"))
    record["inputs"]["prompts/ask.md"] = "0" * 32
    beside.write_text(json.dumps(record), encoding="utf-8")
    (project / "prompts/ask.md").unlink()
    with pytest.raises(UserError, match=r"prompts/ask.md: not the content"):
        behind(project)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("params", {"rounds": 4}, "params are not those of params_sha256"),
        ("code", None, "no usable 'code'"),
        ("wildcards", "x", "no usable 'wildcards'"),
    ],
)
def test_a_damaged_record_is_refused(project: Path, field: str, value: object, expected: str) -> None:
    beside = project / "data/made/items.json.lineage.json"
    record = json.loads(beside.read_text(encoding="utf-8"))
    beside.write_text(json.dumps(record | {field: value}), encoding="utf-8")
    with pytest.raises(UserError, match=f"data/made/items.json: .*{expected}"):
        behind(project)


def test_a_file_without_a_record_is_refused(project: Path) -> None:
    (project / "data/made/items.json.lineage.json").unlink()
    with pytest.raises(UserError, match="carries no lineage record"):
        behind(project)
