"""What a replay reads in place of models: no weights, no engine, no network."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from magister.config.base import LocalFile
from magister.config.embedders import EmbedderConfig
from magister.config.models import ModelConfig
from magister.errors import UserError
from magister.recorded import MODELS, quoted, read_recorded_models, recorded_file
from scripts.llm import complete, fingerprint_embedder, fingerprint_model
from scripts.step import Step

ROOT = Path(__file__).resolve().parents[1]
BYTES = b"weights"
PIN = hashlib.sha256(BYTES).hexdigest()
FILE = LocalFile(path="w.gguf", sha256=PIN)
MODEL = ModelConfig(engine="llama_cpp", weights=FILE)
MINILM = EmbedderConfig(engine="minilm", weights=FILE, tokenizer=LocalFile(path="t.json", sha256=None))


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with weights and a record of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MAGISTER_REPLAY", raising=False)
    (tmp_path / "w.gguf").write_bytes(BYTES)
    (tmp_path / "t.json").write_bytes(b"{}")
    value = {
        "engines": {
            "models/m": metadata.version("xllamacpp"),
            "embedders/e": metadata.version("onnxruntime"),
        },
        "files": {
            "w.gguf": {"md5": md5(BYTES), "sha256": PIN},
            "t.json": {"md5": md5(b"{}"), "sha256": hashlib.sha256(b"{}").hexdigest()},
        },
    }
    (tmp_path / MODELS).parent.mkdir()
    (tmp_path / MODELS).write_text(json.dumps(value))
    return tmp_path


def replaying(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on it is a replay: no weights, and no engine to ask for its version."""
    monkeypatch.setenv("MAGISTER_REPLAY", "1")
    for name in ("w.gguf", "t.json"):
        (folder / name).unlink()

    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)


def step(
    module: Any, inputs: dict[str, list[str]], params: dict[str, Any], output: str, **wildcards: str
) -> bytes:
    """What a script writes: the file and its lineage."""
    module.run(
        Step(
            rule=module.__name__.rsplit(".", 1)[-1],
            module=module.__name__,
            inputs={name: [Path(path) for path in paths] for name, paths in inputs.items()},
            outputs={output: Path("out.json")},
            params=params,
            wildcards=wildcards,
            code={},
        )
    )
    return Path("out.json").read_bytes() + Path("out.json.lineage.json").read_bytes()


def test_the_fingerprint_of_a_model_is_the_same_without_its_weights_and_its_engine(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = {"model": MODEL.model_dump(mode="json")}
    recorded = step(fingerprint_model, {"weights": ["w.gguf"]}, params, "fingerprint", model="m")
    replaying(folder, monkeypatch)
    assert step(fingerprint_model, {"weights": []}, params, "fingerprint", model="m") == recorded


def test_the_fingerprint_of_an_embedder_is_the_same_without_its_files_and_its_engine(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = {"embedder": MINILM.model_dump(mode="json")}
    recorded = step(
        fingerprint_embedder, {"embedder": ["w.gguf", "t.json"]}, params, "fingerprint", embedder="e"
    )
    replaying(folder, monkeypatch)
    assert step(fingerprint_embedder, {"embedder": []}, params, "fingerprint", embedder="e") == recorded


def test_a_model_with_other_weights_is_not_answered_for_by_the_record(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaying(folder, monkeypatch)
    other = MODEL.model_copy(update={"weights": LocalFile(path="w.gguf", sha256="0" * 64)})
    with pytest.raises(UserError, match=f"w.gguf: params.yaml pins sha256 {'0' * 64}.* recorded with {PIN}"):
        step(fingerprint_model, {}, {"model": other.model_dump(mode="json")}, "fingerprint", model="m")


def test_a_model_that_was_added_since_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replaying(folder, monkeypatch)
    with pytest.raises(
        UserError, match=r"nothing is recorded of models.new; recorded: embedders/e, models/m"
    ):
        step(fingerprint_model, {}, {"model": MODEL.model_dump(mode="json")}, "fingerprint", model="new")
    with pytest.raises(UserError, match=r"no file 'other.gguf'"):
        quoted(LocalFile(path="other.gguf", sha256=None))


def test_nothing_is_quoted_outside_a_replay(folder: Path) -> None:
    assert quoted(FILE) == {}


def test_a_project_without_a_record_says_how_one_is_made(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="magister record"):
        read_recorded_models(tmp_path)
    with pytest.raises(UserError, match=r"runs.parquet: not in the record"):
        recorded_file(Path("data/runs.parquet"))


def answered(model: ModelConfig, folder: Path) -> bytes:
    """What `complete` writes for one request."""
    from magister.llm import Speaker, fingerprint, write_requests

    known = fingerprint("m", model, None)
    write_requests(
        folder / "a.requests.jsonl",
        [Speaker("m", model, known).request([{"role": "user", "content": "first words of it"}], 8)],
    )
    (folder / "m.json").write_text(json.dumps(known))
    params = {"model": model.model_dump(mode="json"), "max_error_share": 0.0, "replay": False}
    inputs = {"requests": ["a.requests.jsonl"], "fingerprint": ["m.json"], "weights": []}
    return step(complete, inputs, params, "responses", step="a/task", model="m")


def test_a_scripted_model_is_run_in_a_replay_like_any_other_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ModelConfig(engine="scripted", script="echo")
    recorded = answered(model, folder)
    (folder / "store/m/a.task.jsonl").unlink()
    replaying(folder, monkeypatch)
    assert answered(model, folder) == recorded


def test_a_model_behind_an_endpoint_is_never_asked_in_a_replay(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaying(folder, monkeypatch)
    model = ModelConfig(engine="openai", served_name="s", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(
        UserError, match=r"a/task: replay, .* model 'm' .*'first words of it'. Nothing was asked"
    ):
        answered(model, folder)


@pytest.mark.parametrize(
    "reaching",
    [
        "socket.create_connection(('127.0.0.1', 9), 1)",
        "socket.getaddrinfo('example.org', 80)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
    ],
)
def test_a_step_of_a_replay_reaches_no_network(reaching: str) -> None:
    code = f"import socket; from magister.offline import refuse_network; refuse_network(); {reaching}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"MAGISTER_REPLAY": "1", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "a replay reaches no network" in done.stderr


def test_processes_of_one_machine_may_still_talk_in_a_replay() -> None:
    code = (
        "import socket, tempfile; from magister.offline import refuse_network; refuse_network(); "
        "server = socket.socket(socket.AF_UNIX); path = tempfile.mkdtemp() + '/s'; server.bind(path); server.listen(); "
        "socket.socket(socket.AF_UNIX).connect(path); print('through')"
    )
    env = os.environ | {"MAGISTER_REPLAY": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "through\n"
