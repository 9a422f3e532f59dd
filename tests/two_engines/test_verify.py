"""`magister verify` and `magister status` in a real project: they hold, they find, and they change nothing."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.two_engines.conftest import Done, Project, rewrite


def magister(project: Project, *arguments: str) -> Done:
    return project.try_run(sys.executable, "-c", "from magister.cli import main; main()", *arguments)


def told(project: Project, *arguments: str) -> dict[str, Any]:
    done = magister(project, *arguments, "--json")
    value: dict[str, Any] = json.loads(done.text)
    return value


def times(project: Project) -> dict[str, int]:
    return {
        path.as_posix(): path.stat().st_mtime_ns for path in project.path.rglob("*.parquet") if path.is_file()
    }


def test_a_project_holds_until_something_is_changed_and_nothing_is_put_back(project: Project) -> None:
    assert told(project, "verify")["findings"] == []
    assert "Everything is current and recorded" in magister(project, "status").text
    name = "data/teaching/tiny/round1/revise/pupil.parquet"
    rewrite(project, name, "text")
    project.edit("statistics.resamples", 300)
    with (project.path / "scripts/teaching/guide.py").open("a", encoding="utf-8") as file:
        file.write("# edited\n")
    before = (project.md5s(), times(project))
    found = told(project, "verify")
    assert found["exit_code"] == 1
    places = {(each["path"], each["place"], each["seen"], each["expected"]) for each in found["findings"]}
    assert any(path == name and place.endswith(": text") for path, place, _, _ in places)
    assert ("params.yaml", "statistics.resamples", "300", "200") in places
    assert ("data/teaching/tiny/metrics.parquet", "params.statistics.resamples", "200", "300") in places
    assert any(path == "scripts/teaching/guide.py" for path, *_ in places)
    state = {each["module"]: each for each in told(project, "status")["modules"]}
    assert "data/teaching/tiny/metrics.parquet" in state["teaching"]["stale"]
    assert state["items"]["stale"] == []
    assert (state["items"]["recorded"], state["teaching"]["recorded"]) == (True, False)
    assert (project.md5s(), times(project)) == before


def test_a_clone_of_a_stranger_holds(cloned: Project) -> None:
    done = magister(cloned, "verify")
    assert done.code == 0, done.text
    assert "unknown" in magister(cloned, "status").text
