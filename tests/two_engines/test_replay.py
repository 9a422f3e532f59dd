"""A run is rebuilt from its record alone: no network, no key, no model."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from magister.audit.packing import pack, read_packed, write_packed
from tests.e2e.chat_server import ChatServer
from tests.two_engines.conftest import Done, Project


class Endpoint(ChatServer):
    """A student that always says the same, and counts how often it was asked."""

    asked = 0

    def reply(self, model: str, prompt: str) -> tuple[str, str]:
        with self.guard:
            self.asked += 1
        return "Answer: B", "stop"


def magister(project: Project, *arguments: str) -> Done:
    command = "from magister.cli import main; main()"
    return project.try_run(sys.executable, "-c", command, *arguments)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        yield server


@pytest.fixture(scope="module")
def recorded(built: Project, endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A run in which an endpoint speaks, with its record; only the record is left of its answers."""
    project = built.copy(tmp_path_factory.mktemp("recorded") / "project")
    project.edit("models.pupil", {"engine": "openai", "served_name": "pupil", "base_url": endpoint.url})
    project.snakemake()
    assert endpoint.asked > 0
    done = magister(project, "record")
    assert done.code == 0, done.text
    return project


def replayed(project: Project, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = magister(project, "replay", "--json", *arguments)
    start = done.text.index("\n{\n") if "\n{\n" in done.text else 0
    return done.code, json.loads(done.text[start:])


@pytest.mark.slow
def test_a_replay_is_byte_identical_and_asks_nobody(
    recorded: Project, endpoint: Endpoint, tmp_path: Path
) -> None:
    asked = endpoint.asked
    before = recorded.md5s()
    code, found = replayed(recorded, "--folder", str(tmp_path / "rebuilt"))
    assert (code, found["differences"], found["failed_steps"]) == (0, [], {})
    assert set(found["folders_as_in_dvc_lock"].values()) == {True}
    assert Project(tmp_path / "rebuilt").md5s() == before
    assert recorded.md5s() == before
    assert endpoint.asked == asked


@pytest.mark.slow
def test_a_missing_answer_names_its_request_and_is_not_asked_for(
    recorded: Project, endpoint: Endpoint, tmp_path: Path
) -> None:
    asked = endpoint.asked
    project = recorded.copy(tmp_path / "project")
    path = project.path / "recorded/responses/pupil.jsonl.xz"
    index = json.loads((project.path / "recorded/index.json").read_text(encoding="utf-8"))
    rows = {row["custom_id"]: row for row in read_packed(path, index["responses"]["pupil"])}
    first = json.loads(
        (project.path / "data/teaching/tiny/blind_answers/pupil.requests.jsonl").read_text().splitlines()[0]
    )
    del rows[first["custom_id"]]
    index["responses"]["pupil"] = write_packed(path, pack(rows))
    (project.path / "recorded/index.json").write_text(json.dumps(index), encoding="utf-8")
    code, found = replayed(project)
    assert code == 2
    (said,) = found["failed_steps"].values()
    for part in (first["custom_id"], "'pupil'", "teaching/tiny/blind_answers", "Nothing was asked"):
        assert part in said
    assert {one["kind"] for one in found["differences"]} == {"missing"}
    assert endpoint.asked == asked
