"""What changed between two runs, and what each change began with."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from magister.audit.diff import Cause, Diff, diff
from magister.audit.snapshot import take_snapshot
from magister.errors import UserError
from magister.pipeline import folder_md5
from magister.provenance import Lineage, file_md5, value_sha256, write_json, write_text

GUIDE = "prompts/guide/v1.md"


class Run:
    """A league of two teachers and a study, in a folder: what they said follows from the prompt and the settings."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.params: dict[str, Any] = {"statistics": {"resamples": 100}, "teaching": {"rounds": 1}}
        self.code = {"scripts/step.py": "1"}
        self.answers = {"one": "yes", "two": "no"}
        self.persona = {"one": "patient", "two": "strict"}
        self.sources = {GUIDE: "Guide.", "data/own/matrix.csv": "1,0"}

    def lineage(self, rule: str, inputs: list[str], params: Mapping[str, Any], **wildcards: str) -> Lineage:
        return Lineage(
            rule=rule,
            wildcards=wildcards,
            inputs={name: file_md5(self.root / name) for name in inputs},
            params=dict(params),
            params_sha256=value_sha256(params),
            code=self.code,
            version="0",
        )

    def json(self, path: str, value: Any, lineage: Lineage) -> str:
        write_json(self.root / path, value, lineage)
        return path

    def table(self, path: str, rows: list[dict[str, Any]], lineage: Lineage) -> str:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_pylist(rows).replace_schema_metadata({"magister": lineage.to_json()})
        pq.write_table(table, self.root / path)
        return path

    def teacher(self, name: str) -> str:
        """What a teacher said, from the prompt on; the score is in it."""
        folder = f"data/teaching/tiny/round1/guide/{name}"
        prompt = (self.root / GUIDE).read_text()
        model = {"model": {"persona": self.persona[name]}}
        asked = f"{prompt} {self.persona[name]}"
        requests = f"{folder}.requests.jsonl"
        write_text(
            self.root / requests,
            json.dumps({"custom_id": hashlib.sha256(asked.encode()).hexdigest()}) + "\n",
            self.lineage("guide_requests", [GUIDE], model, model=name),
        )
        reply = {
            "custom_id": hashlib.sha256(asked.encode()).hexdigest(),
            "response": self.answers[name],
            "error": None,
        }
        responses = f"{folder}.responses.jsonl"
        write_text(
            self.root / responses,
            json.dumps(reply) + "\n",
            self.lineage("complete", [requests], model, model=name, step="teaching/tiny/round1/guide"),
        )
        said = int(hashlib.sha256(f"{asked} {self.answers[name]}".encode()).hexdigest()[:4], 16) / 65536
        return self.json(
            f"{folder}.json", {"score": said}, self.lineage("guide", [requests, responses], model, model=name)
        )

    def make(self, teachers: tuple[str, ...] = ("one", "two")) -> Run:
        for path, text in self.sources.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        (self.root / "params.yaml").write_text(yaml.safe_dump(self.params))
        guides = [self.teacher(name) for name in teachers]
        scores = [json.loads((self.root / path).read_text())["score"] for path in guides]
        half = 10.0 / self.params["statistics"]["resamples"]
        metrics = self.json(
            "data/teaching/tiny/metrics.json",
            {"scores": scores, "half": half},
            self.lineage("teaching_metrics", guides, self.params["statistics"], league="tiny"),
        )
        self.table(
            "results/teaching.parquet",
            [
                {
                    **{"league": "tiny", "arm": "teacher", "teacher": name, "ca": score, "ca_status": "ok"},
                    **{"ca_ci_low": score - half, "ca_ci_high": score + half},
                }
                for name, score in zip(teachers, scores, strict=True)
            ],
            self.lineage("teaching_board", [metrics], {}),
        )
        matrix = "data/own/matrix.csv"
        p = len((self.root / matrix).read_text()) / 10
        profile = self.json(
            "data/diagnosis/studies/given/mastery.json",
            {"p": p},
            self.lineage("profiles", [matrix], {}, study="given"),
        )
        self.table(
            "results/mastery.parquet",
            [{"study": "given", "model": "m", "attribute": "a", "p": p, "sd": 0.1, "state": "mastered"}],
            self.lineage("mastery_board", [profile], {}),
        )
        return self


@pytest.fixture
def old(tmp_path: Path) -> Run:
    return Run(tmp_path / "old").make()


@pytest.fixture
def new(tmp_path: Path) -> Run:
    return Run(tmp_path / "new")


def compared(old: Run, new: Run) -> Diff:
    root = old.root.parent
    return diff(take_snapshot(root, "old"), take_snapshot(root, "new"))


def causes(found: Diff) -> dict[tuple[str, ...], tuple[str, tuple[Cause, ...]]]:
    return {
        (change.cell.board, *change.cell.key[-1:], change.cell.metric): (
            change.reason.first,
            change.reason.causes,
        )
        for change in found.changes
    }


def test_two_runs_of_the_same_differ_in_no_cell_whatever_code_made_them(old: Run, new: Run) -> None:
    new.code = {"scripts/step.py": "2"}
    found = compared(old, new.make())
    assert found.changes == []
    assert found.cells == {"teaching": 2, "mastery": 1}
    assert found.absent == ["arena", "rubrics"]


def test_a_prompt_is_named_as_the_first_cause_of_every_cell_that_it_changed(old: Run, new: Run) -> None:
    new.sources[GUIDE] = "Guide well."
    found = compared(old, new.make())
    folder = "data/teaching/tiny/round1/guide"
    assert causes(found) == {
        ("teaching", name, "ca"): (f"{folder}/{name}.requests.jsonl", (Cause("prompt", GUIDE),))
        for name in ("one", "two")
    }
    assert all(change.reason.also == () for change in found.changes)


def test_another_version_of_a_prompt_is_told_from_an_edited_one(old: Run, new: Run, monkeypatch: Any) -> None:
    monkeypatch.setattr(__import__(__name__), "GUIDE", "prompts/guide/v2.md")
    new.sources = {"prompts/guide/v2.md": "Guide well.", "data/own/matrix.csv": "1,0"}
    found = compared(old, new.make())
    assert {cause for _, some in causes(found).values() for cause in some} == {
        Cause("prompt", "prompts/guide/v1.md -> prompts/guide/v2.md")
    }


def test_what_one_teacher_said_is_no_cause_for_another(old: Run, new: Run) -> None:
    new.persona["two"] = "kind"
    new.answers["one"] = "perhaps"
    found = causes(compared(old, new.make()))
    folder = "data/teaching/tiny/round1/guide"
    assert found["teaching", "one", "ca"] == (
        f"{folder}/one.responses.jsonl",
        (Cause("responses", "1 of 1 answers to the same requests"),),
    )
    assert found["teaching", "two", "ca"] == (
        f"{folder}/two.requests.jsonl",
        (Cause("params", "models.two.persona: 'strict' -> 'kind'"),),
    )


def test_a_parameter_of_a_late_step_is_named_with_its_values(old: Run, new: Run) -> None:
    new.params["statistics"] = {"resamples": 400}
    found = compared(old, new.make())
    assert {(change.difference, change.shift) for change in found.changes} == {(0.0, 0.0)}
    assert set(causes(found).values()) == {
        ("data/teaching/tiny/metrics.json", (Cause("params", "resamples: 100 -> 400"),))
    }


def test_what_enters_further_down_is_named_beside_the_first_cause(old: Run, new: Run) -> None:
    new.params["statistics"] = {"resamples": 400}
    new.sources[GUIDE] = "Guide well."
    (reason,) = {change.reason.also for change in compared(old, new.make()).changes}
    assert reason == (("data/teaching/tiny/metrics.json", Cause("params", "resamples: 100 -> 400")),)


def test_code_is_the_cause_where_inputs_and_parameters_are_the_same(old: Run, new: Run) -> None:
    new.code = {"scripts/step.py": "2"}
    new.answers = {"one": "yes", "two": "no, never"}
    new.make()
    found = causes(compared(old, new))
    assert found["teaching", "two", "ca"][1] == (
        Cause("responses", "1 of 1 answers to the same requests"),
        Cause("code", "scripts/step.py"),
    )


def test_a_cell_moves_by_units_of_half_its_old_interval(old: Run, new: Run) -> None:
    new.sources["data/own/matrix.csv"] = "1,0,1"
    (change,) = compared(old, new.make()).changes
    assert change.cell == ("mastery", ("given", "m", "a"), "p")
    assert change.difference == pytest.approx(0.2)
    assert change.shift == pytest.approx(2.0)
    assert change.reason.causes == (Cause("data", "data/own/matrix.csv"),)


def test_cells_that_came_and_went_say_what_asked_for_them(old: Run, new: Run) -> None:
    new.persona["three"], new.answers["three"] = "new", "so"
    new.params["models"] = {"three": {"persona": "new"}}
    found = compared(old, new.make(("one", "three")))
    kinds = {change.cell.key[-1]: (change.old is None, change.new is None) for change in found.changes}
    assert kinds == {"three": (True, False), "two": (False, True)}
    added = next(change for change in found.changes if change.old is None)
    assert added.reason.first == "data/teaching/tiny/round1/guide/three.requests.jsonl"
    assert added.reason.causes == (Cause("params", "models: added {'three': {'persona': 'new'}}"),)


def commit(run: Run, cache: Path) -> None:
    """Put a run into git and DVC's cache, as a full run does."""
    outs = {}
    for out in ("data/teaching", "data/diagnosis", "results"):
        files = {
            path.relative_to(run.root).as_posix(): file_md5(path)
            for path in sorted((run.root / out).rglob("*"))
            if path.is_file()
        }
        rows = [{"md5": md5, "relpath": path.removeprefix(f"{out}/")} for path, md5 in files.items()]
        outs[out] = folder_md5(files, out)
        listing = json.dumps(sorted(rows, key=lambda row: row["relpath"]), sort_keys=True).encode()
        contents = {md5: (run.root / path).read_bytes() for path, md5 in files.items()} | {outs[out]: listing}
        for md5, content in contents.items():
            place = cache / "files/md5" / md5[:2] / md5[2:]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    stage = {"cmd": "x", "outs": [{"path": path, "md5": md5} for path, md5 in outs.items()]}
    (run.root / "dvc.lock").write_text(yaml.safe_dump({"schema": "2.0", "stages": {"all": stage}}))
    (run.root / "dvc.yaml").write_text(yaml.safe_dump({"stages": {"all": {"cmd": "x", "outs": list(outs)}}}))
    git(run, "add", "--force", "params.yaml", "dvc.lock", "dvc.yaml", "prompts")
    git(run, "commit", "--quiet", "--allow-empty", "--message", "a run")


def git(run: Run, *arguments: str) -> None:
    identity = ["-c", "user.name=Tess Ter", "-c", "user.email=tess@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=run.root, check=True, capture_output=True)


@pytest.fixture
def committed(old: Run) -> Run:
    """Two revisions that differ in a prompt; the working folder is the second."""
    git(old, "init", "--quiet")
    (old.root / ".dvc").mkdir()
    (old.root / ".dvc/config").write_text("")
    cache = old.root / ".dvc/cache"
    commit(old, cache)
    old.sources[GUIDE] = "Guide well."
    commit(old.make(), cache)
    return old


def test_revisions_are_read_from_the_cache_and_nothing_is_checked_out(committed: Run) -> None:
    before = {path: path.stat().st_mtime_ns for path in committed.root.rglob("data/**/*")}
    found = diff(take_snapshot(committed.root, "HEAD~1"), take_snapshot(committed.root, "HEAD"))
    assert {cause for _, some in causes(found).values() for cause in some} == {Cause("prompt", GUIDE)}
    assert len(found.changes) == 2
    assert {path: path.stat().st_mtime_ns for path in committed.root.rglob("data/**/*")} == before


def test_a_revision_and_the_working_folder_of_the_same_run_are_equal(committed: Run) -> None:
    assert diff(take_snapshot(committed.root, "HEAD"), take_snapshot(committed.root, ".")).changes == []


def test_what_the_cache_does_not_hold_is_named_with_what_brings_it(committed: Run) -> None:
    lock = yaml.safe_load((committed.root / "dvc.lock").read_text())
    md5 = next(out["md5"] for out in lock["stages"]["all"]["outs"] if out["path"] == "results")
    (committed.root / ".dvc/cache/files/md5" / md5[:2] / md5[2:]).unlink()
    with pytest.raises(UserError, match=r"does not hold results of this revision .*dvc fetch"):
        take_snapshot(committed.root, "HEAD")


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("no-such", "neither a folder with a run nor a revision"),
        ("--output=x", "neither a folder"),
        ("bare", "no dvc.lock"),
    ],
)
def test_what_is_no_run_is_refused(committed: Run, run: str, said: str) -> None:
    git(committed, "rm", "--cached", "--quiet", "dvc.lock")
    git(committed, "commit", "--quiet", "--message", "no lock")
    git(committed, "tag", "bare")
    with pytest.raises(UserError, match=said):
        take_snapshot(committed.root, run)
