"""The bridge to DVC without running an engine: what is foreign, what is refused, what is said."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from magister.errors import UserError
from magister.pipeline import Adoption, Bridge, DvcProject, Membership, adopt, describe, join_folder
from magister.pipeline._adopt import Records
from magister.pipeline._dvc import files_under, is_remnant
from magister.provenance import code_md5s, file_md5, make_lineage, write_json

COMMAND = "python -m scripts.work --command c0ffee"
SECTIONS = ("models", "embedders", "teaching", "arena", "diagnosis", "rubrics", "statistics", "llm")
PARAMS = "items: {datasets: {}}\n" + "".join(f"{name}: {{}}\n" for name in SECTIONS)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one stage `work` that makes `data/made` of `scripts`."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "work.py").write_text("print()\n")
    (tmp_path / ".dvc").mkdir()
    (tmp_path / "params.yaml").write_text(PARAMS)
    (tmp_path / "dvc.yaml").write_text("stages:\n  work: {cmd: x, deps: [scripts], outs: [data/made]}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_STAGE", raising=False)
    return tmp_path


@pytest.fixture
def member(root: Path) -> Iterator[Membership]:
    """This process alone in the folder."""
    member = join_folder(root / ".snakemake")
    yield member
    if member.held is not None:
        os.close(member.held)


def make(root: Path, name: str = "data/made/one.json") -> None:
    """What a job of the rule `work` leaves."""
    lineage = make_lineage(
        "work",
        wildcards={},
        inputs=[],
        params={"n": 1},
        code=code_md5s(("scripts/work.py",)),
        command="c0ffee",
    )
    write_json(root / name, {"n": 1}, lineage)


def certify(root: Path) -> DvcProject:
    """A `dvc.lock` and a cache that hold everything in data/made."""
    cache = root / ".dvc" / "cache" / "files" / "md5"
    entries = []
    for path in files_under(root, ["data/made"]):
        md5 = file_md5(root / path)
        (cache / md5[:2]).mkdir(parents=True, exist_ok=True)
        (cache / md5[:2] / md5[2:]).write_bytes((root / path).read_bytes())
        entries.append({"md5": md5, "relpath": Path(path).relative_to("data/made").as_posix()})
    (cache / "aa").mkdir(parents=True, exist_ok=True)
    (cache / "aa" / "bb.dir").write_text(json.dumps(entries))
    (root / "dvc.lock").write_text("stages: {work: {outs: [{path: data/made, md5: aabb.dir}]}}\n")
    project = DvcProject(root)
    project.__dict__["_cache"] = cache
    return project


def take(project: DvcProject, commands: dict[str, str] | None = None) -> Adoption:
    return adopt(project, commands or {"work": COMMAND}, ["data/made"])


def record_of(root: Path, name: str = "data/made/one.json") -> Any:
    return Records(root / ".snakemake")._store._read_record(name)


def test_a_certified_file_is_adopted_with_the_parameters_it_was_made_with(root: Path) -> None:
    make(root)
    found = take(certify(root))
    assert found.adopted == ["data/made/one.json", "data/made/one.json.lineage.json"]
    assert not found.refused
    assert not found.repaired
    record = record_of(root)
    assert record.rule == "work"
    assert record.params == [repr('{"n": 1}')]
    assert record.input == ["scripts/work.py"]
    assert record.endtime == (root / "data/made/one.json").stat().st_mtime
    assert not take(certify(root)).adopted


def test_a_file_that_dvc_does_not_know_is_made_anew(root: Path) -> None:
    project = certify(root)
    make(root)
    found = take(project)
    assert set(found.refused.values()) == {"dvc.lock does not certify it"}
    assert (root / "data/made/one.json").stat().st_mtime == 1
    assert record_of(root) is None


def test_a_changed_file_and_a_lost_one_come_back_from_the_cache(root: Path) -> None:
    make(root)
    project = certify(root)
    take(project)
    before = (root / "data/made/one.json").read_bytes()
    (root / "data/made/one.json").write_text("{}")
    (root / "data/made/one.json.lineage.json").unlink()
    found = take(certify_again(project))
    assert sorted(found.repaired) == ["data/made/one.json", "data/made/one.json.lineage.json"]
    assert (root / "data/made/one.json").read_bytes() == before
    assert not found.refused


def certify_again(project: DvcProject) -> DvcProject:
    """The same record, read anew."""
    again = DvcProject(project.root)
    again.__dict__["_cache"] = project._cache
    return again


@pytest.mark.parametrize(
    ("commands", "edit", "reason"),
    [
        ({"other": COMMAND}, False, "no rule 'work' makes it now"),
        (
            {"work": "python -m scripts.work --command decaf"},
            False,
            "the command of the rule work has changed",
        ),
        ({"work": COMMAND}, True, "scripts/work.py is another one now"),
    ],
)
def test_a_certified_file_that_would_be_made_otherwise_now_is_refused(
    root: Path, commands: dict[str, str], edit: bool, reason: str
) -> None:
    make(root)
    project = certify(root)
    if edit:
        (root / "scripts/work.py").write_text("print(1)\n")
    assert set(take(project, commands).refused.values()) == {reason}


def test_a_file_without_a_lineage_is_refused(root: Path) -> None:
    (root / "data/made").mkdir(parents=True)
    (root / "data/made/own.json").write_text("{}")
    assert take(certify(root)).refused == {"data/made/own.json": "it carries no lineage record"}


def test_a_list_of_files_that_the_cache_lacks_certifies_nothing(root: Path) -> None:
    make(root)
    project = certify(root)
    (project._cache / "aa" / "bb.dir").unlink()
    assert set(take(project).refused.values()) == {"dvc.lock does not certify it"}


def test_what_a_killed_writer_or_a_failed_gate_left_is_no_artifact() -> None:
    assert is_remnant("data/items/.items.parquet.part")
    assert is_remnant("data/items/gate.failed.json")
    assert not is_remnant("data/items/gate.json")


def bridge(root: Path, member: Membership, **config: Any) -> Bridge:
    sections: dict[str, Any] = {name: {} for name in SECTIONS}
    return Bridge(DvcProject(root), sections | {"items": {"datasets": {}}} | config, member)


def test_another_configuration_than_that_of_the_file_is_refused(root: Path, member: Membership) -> None:
    bridge(root, member).guard()
    with pytest.raises(UserError, match=r"differ in statistics\.resamples"):
        bridge(root, member, statistics={"resamples": 9}).guard()


def test_a_section_that_dvc_would_miss_is_asked_for(root: Path, member: Membership) -> None:
    (root / "params.yaml").write_text(PARAMS.replace("llm: {}\n", ""))
    config = {name: {} for name in SECTIONS if name != "llm"} | {"items": {"datasets": {}}}
    with pytest.raises(UserError, match=r"no section 'llm'.*`llm: \{\}`"):
        Bridge(DvcProject(root), config, member).guard()


def test_only_touching_files_is_refused(root: Path, member: Membership) -> None:
    with pytest.raises(UserError, match="magister restore"):
        bridge(root, member).guard(touching=True)


def test_without_dvc_there_is_nothing_but_the_guard(root: Path, member: Membership) -> None:
    (root / ".dvc").rmdir()
    here = bridge(root, member)
    make(root)
    here.guard(touching=True)
    assert here.adopt({"work": COMMAND}) == Adoption()
    assert here.settle(set(), full=True) == []


@pytest.mark.parametrize("edited", ["params.yaml", "scripts/work.py"])
def test_a_source_edited_during_the_run_is_not_certified(root: Path, member: Membership, edited: str) -> None:
    here = bridge(root, member)
    make(root)
    take(certify(root))
    with (root / edited).open("a") as file:
        file.write("# edited\n")
    (message,) = here.settle({"data/made/one.json"}, full=True)
    assert message.startswith("Not recorded in dvc.lock")
    assert "edited during the run" in message
    # The record holds the new text's checksum for a file that the old text has made.
    assert (record_of(root) is None) == edited.endswith(".py")


def test_a_missing_file_is_named_and_not_certified(root: Path, member: Membership) -> None:
    (message,) = bridge(root, member).settle({"data/made/gone.json"}, full=True)
    assert "snakemake --cores all -- data/made/gone.json" in message


def test_a_file_that_nothing_asks_for_goes_only_if_the_cache_holds_it(root: Path, member: Membership) -> None:
    make(root)
    here = bridge(root, member)
    here.project.__dict__["_cache"] = certify(root)._cache
    (root / "data/made/notes.txt").write_text("mine")
    (message,) = here.settle(set(), full=True)
    assert "data/made/notes.txt" in message
    assert "one.json" not in message
    assert [path.name for path in (root / "data/made").iterdir()] == ["notes.txt"]


def test_many_files_that_nothing_asks_for_are_named_by_their_folders(root: Path, member: Membership) -> None:
    make(root)
    here = bridge(root, member)
    here.project.__dict__["_cache"] = certify(root)._cache
    for number in range(130):
        path = root / f"data/made/old/round{number % 3}/{number}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(number))
    for number in range(9):
        (root / f"data/made/{number}.txt").write_text(str(number))
    asked = {"data/made/one.json", "data/made/one.json.lineage.json"}
    (message,) = here.settle(asked, full=True)
    lines = message.splitlines()[1:]
    assert lines == [
        "  data/made/old/ (130 files)", *(f"  data/made/{n}.txt" for n in range(4)), "  and 5 files in other places",
    ]  # fmt: skip


def test_two_processes_do_not_certify(root: Path, member: Membership) -> None:
    other = join_folder(root / ".snakemake")
    assert not member.still_alone()
    (message,) = bridge(root, member).settle(set(), full=True)
    assert "another Snakemake process" in message
    assert other.held is not None
    os.close(other.held)
    assert member.still_alone()


def test_a_part_of_a_run_certifies_nothing(root: Path, member: Membership) -> None:
    assert bridge(root, member).settle(set(), full=False) == []


def test_what_was_refused_is_said_with_reasons_and_not_at_length() -> None:
    refused = {f"data/made/{n}.json": "dvc.lock does not certify it" for n in range(9)}
    lines = describe(Adoption(refused=refused)).splitlines()
    assert lines[0] == "magister: put here by something else, will be made anew: 9 files"
    assert lines[-1].endswith("and 4 more")
    assert describe(Adoption()) == ""
