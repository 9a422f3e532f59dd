"""The record of a run, and a replay held to it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from magister.audit.compare import Comparison, changes, compare
from magister.audit.lock import read_lock
from magister.audit.record import read_record, record, unpack
from magister.audit.replay import Replay, bring_public_files, check_free, copy_project, put_here
from magister.config.models import ModelConfig
from magister.config.params import validate_params
from magister.errors import UserError
from magister.llm import Speaker, Store, fingerprint, write_requests
from magister.pipeline import folder_md5
from magister.provenance import Lineage, file_md5, value_sha256, write_json, write_sidecar

OUTS = ("data/models", "data/teaching", "results")
MODEL = ModelConfig(engine="openai", served_name="s", base_url="http://127.0.0.1:9/v1")
SCRIPT = ModelConfig(engine="scripted", script="echo")
PROMPT = "prompts/answer/v1.md"
CODE = "scripts/parse.py"


class Project:
    """A run of two models, one of them scripted, whose answers become a table and a board."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.params: dict[str, Any] = {"statistics": {"level": 0.95}}
        for path, text in {PROMPT: "Say it.", CODE: "1", "Snakefile": "", "src/magister/x.py": ""}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        stages = {"all": {"cmd": "x", "deps": ["scripts", "prompts"], "outs": list(OUTS)}}
        (root / "dvc.yaml").write_text(yaml.safe_dump({"stages": stages}))

    def lineage(self, rule: str, inputs: list[str], params: Mapping[str, Any], **more: Any) -> Lineage:
        return Lineage(
            rule=rule,
            wildcards=more.get("wildcards", {}),
            inputs={name: file_md5(self.root / name) for name in inputs},
            params=dict(params),
            params_sha256=value_sha256(params),
            code={CODE: file_md5(self.root / CODE)},
            version="0",
            models=more.get("models", {}),
        )

    def answers(self, name: str, model: ModelConfig, said: Mapping[str, str]) -> str:
        """Requests and responses of a model."""
        known = fingerprint(name, model, None)
        speaker = Speaker(name, model, known)
        requests = [speaker.request([{"role": "user", "content": text}], 8) for text in said]
        asked, path = (f"data/teaching/{name}.{kind}.jsonl" for kind in ("requests", "responses"))
        (self.root / asked).parent.mkdir(parents=True, exist_ok=True)
        write_requests(self.root / asked, requests)
        wildcards = {"model": name, "step": "teaching"}
        write_sidecar(self.root / asked, self.lineage("ask", [PROMPT], {}))
        rows = [
            {
                "custom_id": request["custom_id"],
                "response": {"body": {"choices": [{"message": {"content": text}}]}},
                "error": None,
            }
            for request, text in zip(requests, said.values(), strict=True)
        ]
        (self.root / path).write_text("".join(json.dumps(row) + "\n" for row in rows))
        params = {"model": model.model_dump(mode="json")}
        lineage = self.lineage("complete", [asked], params, wildcards=wildcards, models={name: known})
        write_sidecar(self.root / path, lineage)
        return path

    def make(self, said: Mapping[str, str] | None = None, scale: float = 1.0) -> Project:
        (self.root / "params.yaml").write_text(yaml.safe_dump(self.params))
        write_json(
            self.root / "data/models/m.json", {"engine": "openai"}, self.lineage("fingerprint_model", [], {})
        )
        paths = [
            self.answers("m", MODEL, said or {"one": "yes", "two": "no"}),
            self.answers("echo", SCRIPT, {"three": "three"}),
        ]
        lengths = [len((self.root / path).read_text()) * scale for path in paths]
        table = pa.table({"model": ["m", "echo"], "length": lengths})
        lineage = self.lineage("teaching_board", paths, self.params["statistics"])
        (self.root / "results").mkdir(exist_ok=True)
        pq.write_table(
            table.replace_schema_metadata({"magister": lineage.to_json()}),
            self.root / "results/board.parquet",
        )
        return self

    def certify(self) -> Project:
        """Write what DVC would: the content of every folder."""
        outs = []
        for out in OUTS:
            files = {
                path.relative_to(self.root).as_posix(): file_md5(path)
                for path in (self.root / out).rglob("*")
                if path.is_file()
            }
            outs.append({"path": out, "md5": folder_md5(files, out)})
        stage = {"cmd": "x", "params": {"params.yaml": self.params}, "outs": outs}
        (self.root / "dvc.lock").write_text(yaml.safe_dump({"stages": {"all": stage}}))
        return self


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project").make().certify()


@pytest.fixture
def rebuilt(project: Project, tmp_path: Path) -> Project:
    """The same project with a record, and a folder in which it is rebuilt."""
    record(project.root)
    shutil.copytree(project.root, tmp_path / "rebuilt")
    again = Project.__new__(Project)
    again.root, again.params = tmp_path / "rebuilt", project.params
    return again


def held(project: Project, rebuilt: Project) -> Comparison:
    return compare(project.root, Replay(rebuilt.root, read_record(project.root), 0, ""))


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): file_md5(path) for path in folder.rglob("*") if path.is_file()
    }


def test_only_answers_of_models_that_can_be_asked_are_packed(project: Project) -> None:
    done = record(project.root)
    assert done.rows == {"responses/m": 2}
    assert [path.name for path in (project.root / "recorded/responses").iterdir()] == ["m.jsonl.xz"]


def test_a_second_record_of_the_same_run_is_the_same_bytes(project: Project) -> None:
    record(project.root)
    before = files(project.root / "recorded")
    record(project.root)
    assert files(project.root / "recorded") == before


def test_answers_that_the_run_does_not_ask_for_any_more_are_left_out(project: Project) -> None:
    record(project.root)
    project.make({"one": "yes"}).certify()
    assert record(project.root).rows == {"responses/m": 1}


def test_no_key_host_or_time_is_recorded(project: Project) -> None:
    record(project.root)
    text = "".join(
        path.read_text()
        for path in (project.root / "recorded").rglob("*")
        if path.suffix in (".tsv", ".json")
    )
    for secret in ("127.0.0.1", str(project.root), "http"):
        assert secret not in text


def test_an_error_that_names_an_address_is_not_recorded(project: Project) -> None:
    path = project.root / "data/teaching/m.responses.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0] |= {
        "response": None,
        "error": {"code": "server", "message": "no answer of http://inner.example.org/v1"},
    }
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    project.certify()
    with pytest.raises(UserError, match=r"m.responses.jsonl: the error of [0-9a-f]{64} names an address"):
        record(project.root)


def test_a_run_that_is_not_the_certified_one_is_not_recorded(project: Project) -> None:
    (project.root / "results/board.csv").write_text("x")
    with pytest.raises(UserError, match=r"results: not what dvc.lock records"):
        record(project.root)
    (project.root / "dvc.lock").unlink()
    with pytest.raises(UserError, match=r"dvc.lock: not there"):
        record(project.root)


def test_a_request_without_an_answer_is_named(project: Project) -> None:
    path = project.root / "data/teaching/m.responses.jsonl"
    lines = path.read_text().splitlines()
    path.write_text(lines[0] + "\n")
    project.certify()
    with pytest.raises(UserError, match=f"no answer to {json.loads(lines[1])['custom_id']}"):
        record(project.root)


def test_the_store_of_a_replay_holds_what_was_recorded(project: Project, tmp_path: Path) -> None:
    record(project.root)
    assert unpack(project.root, read_record(project.root), tmp_path / "store") == 2
    rows = [
        json.loads(line)
        for line in (project.root / "data/teaching/m.responses.jsonl").read_text().splitlines()
    ]
    keys = {row["custom_id"] for row in rows}
    assert set(Store(tmp_path / "store", "m", "x").look_up(keys).finished) == keys


def test_a_project_without_a_record_says_what_makes_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="magister record"):
        read_record(tmp_path)


def test_the_same_bytes_everywhere_are_a_success(project: Project, rebuilt: Project) -> None:
    found = held(project, rebuilt)
    assert (found.exit_code, found.differences, found.unlike) == (0, [], [])
    assert found.folders == dict.fromkeys(OUTS, True)
    assert len(found.identical) == len(read_record(project.root).outputs)


def test_other_code_that_says_the_same_is_told_from_another_result(
    project: Project, rebuilt: Project
) -> None:
    (rebuilt.root / CODE).write_text("2")
    rebuilt.make()
    found = held(project, rebuilt)
    assert found.exit_code == 1
    assert found.code == [CODE]
    assert {one.kind for one in found.differences} == {"origin"}
    assert {one.cause for one in found.differences} == {f"code: {CODE}"}


def test_a_result_that_differs_is_traced_to_the_first_file_that_does(
    project: Project, rebuilt: Project
) -> None:
    (rebuilt.root / PROMPT).write_text("Say it well.")
    rebuilt.make({"one": "yes", "other": "no, never"})
    board = next(one for one in held(project, rebuilt).differences if one.path == "results/board.parquet")
    assert (board.kind, board.first, board.cause) == (
        "data",
        "data/teaching/m.requests.jsonl",
        f"inputs: {PROMPT}",
    )


def test_a_parameter_that_changed_is_named_with_its_values(project: Project, rebuilt: Project) -> None:
    project.params = rebuilt.params = {"statistics": {"level": 0.9}}
    (project.root / "params.yaml").write_text(yaml.safe_dump(project.params))
    rebuilt.make(scale=2.0)
    (board,) = held(project, rebuilt).differences
    assert (board.kind, board.first) == ("data", board.path)
    assert board.cause == "parameters: statistics.level: 0.95 -> 0.9"


def test_last_digits_are_told_from_results_where_the_recorded_table_is_at_hand(
    project: Project, rebuilt: Project
) -> None:
    rebuilt.make(scale=1 + 1e-13)
    (board,) = held(project, rebuilt).differences
    assert board.kind == "rounding"
    assert "the arithmetic of this processor" in board.cause
    shutil.rmtree(project.root / "results")
    (board,) = held(project, rebuilt).differences
    assert board.kind == "data"


def test_what_was_not_made_is_neither_a_success_nor_a_difference(project: Project, rebuilt: Project) -> None:
    (rebuilt.root / "results/board.parquet").unlink()
    found = held(project, rebuilt)
    assert found.exit_code == 2
    assert [(one.path, one.kind) for one in found.differences] == [("results/board.parquet", "missing")]
    assert not found.folders["results"]


def test_a_file_that_the_record_does_not_know_is_a_difference(project: Project, rebuilt: Project) -> None:
    (rebuilt.root / "results/more.csv").write_text("x")
    found = held(project, rebuilt)
    assert (found.exit_code, [one.kind for one in found.differences]) == (1, ["new"])


def test_a_record_of_another_run_than_dvc_lock_is_said_to_be_one(project: Project, rebuilt: Project) -> None:
    project.make({"one": "no", "two": "no"}).certify()
    found = held(project, rebuilt)
    assert found.exit_code == 1
    assert any("data/teaching: dvc.lock records another run than the record" in line for line in found.unlike)


def test_the_manifest_of_certification_is_held_to_the_record(project: Project, rebuilt: Project) -> None:
    md5 = file_md5(project.root / "results/board.parquet")
    (project.root / "artifacts.md5").write_text(f"{md5}  results/board.parquet\n")
    assert held(project, rebuilt).exit_code == 0
    (project.root / "artifacts.md5").write_text(f"{'0' * 32}  results/board.parquet\n")
    assert held(project, rebuilt).unlike == [
        f"results/board.parquet: artifacts.md5 has md5 {'0' * 32}, the record {md5}"
    ]


def test_weights_are_left_out_and_count_as_recorded(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    stages = yaml.safe_load((project.root / "dvc.yaml").read_text())["stages"]
    stages["all"]["outs"].append("data/raw/models")
    (project.root / "dvc.yaml").write_text(yaml.safe_dump({"stages": stages}))
    (project.root / "data/raw/models").mkdir(parents=True)
    (project.root / "data/raw/models/w.gguf").write_bytes(b"w")
    project.make().certify()
    lock = yaml.safe_load((project.root / "dvc.lock").read_text())
    weights = {"data/raw/models/w.gguf": hashlib.md5(b"w", usedforsecurity=False).hexdigest()}
    lock["stages"]["all"]["outs"].append(
        {"path": "data/raw/models", "md5": folder_md5(weights, "data/raw/models")}
    )
    (project.root / "dvc.lock").write_text(yaml.safe_dump(lock))
    record(project.root)
    shutil.copytree(project.root, tmp_path / "rebuilt", ignore=shutil.ignore_patterns("w.gguf"))
    found = compare(project.root, Replay(tmp_path / "rebuilt", read_record(project.root), 0, ""))
    assert (found.exit_code, found.left_out) == (0, ["data/raw/models/w.gguf"])
    assert found.folders["data/raw/models"]


def test_a_copy_of_a_project_holds_sources_and_nothing_that_was_made(
    project: Project, tmp_path: Path
) -> None:
    record(project.root)
    (project.root / "params.yaml").write_text(
        yaml.safe_dump({"arena": {"people": ["votes.csv", "results/board.parquet"]}})
    )
    (project.root / "votes.csv").write_text("1")
    copy_project(project.root, tmp_path / "copy")
    copied = set(files(tmp_path / "copy"))
    assert {"Snakefile", CODE, PROMPT, "votes.csv", "recorded/index.json"} <= copied
    assert not any(path.startswith(("data/", "results/")) for path in copied)


def test_what_was_rebuilt_replaces_nothing_that_is_here(project: Project, rebuilt: Project) -> None:
    with pytest.raises(UserError, match=r"--here: \d+ outputs are here already, for instance data/models"):
        check_free(project.root)
    for out in OUTS:
        shutil.rmtree(project.root / out)
    done = Replay(rebuilt.root, read_record(project.root), 0, "")
    assert put_here(project.root, done) == len(done.record.outputs)
    assert compare(project.root, done).exit_code == 0
    lock = read_lock(project.root)
    assert lock is not None
    assert lock.outs["results"] == folder_md5(
        {f"results/{path}": md5 for path, md5 in files(project.root / "results").items()}, "results"
    )
    assert (project.root / "store/m/recorded.jsonl").is_file()


@pytest.mark.parametrize(
    ("one", "other", "lines"),
    [
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, ["a.c: 2 -> 3"]),
        ({"a": 1}, {"b": 1}, ["a: removed, was 1", "b: added 1"]),
        ({"a": [1, 2]}, {"a": [2, 1]}, ["a: [1, 2] -> [2, 1]"]),
        ({"a": 1}, {"a": 1}, []),
    ],
)
def test_changes_of_parameters_are_lines(one: Any, other: Any, lines: list[str]) -> None:
    assert changes(one, other) == lines


CONTENT = b'{"question": "q", "answer": "a"}\n'
PUBLIC = {
    "kind": "wheel",
    "domain": "d",
    "n": 1,
    "wheel": {
        **{"wheel": "toyset", "version": "1.0", "sha256": "0" * 64, "member": "toyset/items.jsonl"},
        "member_sha256": hashlib.sha256(CONTENT).hexdigest(),
    },
}
PARAMS = {
    "models": {"pupil": {"engine": "scripted", "script": "student"}},
    "items": {"datasets": {"set": PUBLIC}},
    "teaching": {"leagues": {}},
}


def brought(project: Project, tmp_path: Path) -> Replay:
    """A replay after it has looked for the public file of its data set `set`."""
    record(project.root)
    done = Replay(tmp_path / "copy", read_record(project.root), 0, "")
    bring_public_files(project.root, done, validate_params(PARAMS), fetch=False)
    return done


def test_a_public_file_that_is_here_is_handed_over(project: Project, tmp_path: Path) -> None:
    (project.root / "data/raw/datasets").mkdir(parents=True)
    (project.root / "data/raw/datasets/set.jsonl").write_bytes(CONTENT)
    done = brought(project, tmp_path)
    assert (done.missing, done.fetched) == ([], [])
    (kept,) = (tmp_path / "copy/build/wheels").iterdir()
    assert kept.read_bytes() == CONTENT


def test_a_public_file_of_another_content_is_not_taken_for_it(project: Project, tmp_path: Path) -> None:
    (project.root / "data/raw/datasets").mkdir(parents=True)
    (project.root / "data/raw/datasets/set.jsonl").write_bytes(b"other")
    assert brought(project, tmp_path).missing == ["set"]


def test_a_public_file_that_is_not_here_is_named_and_not_fetched(project: Project, tmp_path: Path) -> None:
    assert brought(project, tmp_path).missing == ["set"]
