"""`magister rubrics export`: a rubric for others; what is missing is named."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from cli_helpers import Run

from magister.contracts.rubrics_tables import DIALOGUES, TRANSCRIPTS
from magister.rubrics.initial import scenario_rubric
from magister.rubrics.reader import read_scenario
from magister.rubrics.rubric import rubric_document
from magister.rubrics.tasks import tasks_document

SCENARIO = Path(__file__).resolve().parents[2] / "data/scenarios/socratic-fractions.yaml"
NAME = "socratic-fractions"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project whose set has been scored."""
    monkeypatch.chdir(tmp_path)
    path = Path("data/scenarios/one.yaml")
    path.parent.mkdir(parents=True)
    path.write_text(SCENARIO.read_text(encoding="utf-8"), encoding="utf-8")
    params = {
        "models": {"one": {"engine": "scripted", "script": "echo"}},
        "rubrics": {
            "sets": {
                "ours": {
                    "scenarios": [str(path)],
                    "models": ["one"],
                    "partners": {"*": "one"},
                    "judges": ["one"],
                }
            }
        },
    }
    Path("params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")


def scored() -> None:
    """What a run leaves of the set, without dialogues."""
    scenario = read_scenario(Path("data/scenarios/one.yaml"))
    folder = Path("data/rubrics/sets/ours")
    (folder / "0").mkdir(parents=True)
    best = {NAME: rubric_document(scenario_rubric(scenario)) | {"iteration": 0}}
    (folder / "best.json").write_text(json.dumps(best), encoding="utf-8")
    (folder / "0/tasks.json").write_text(json.dumps({NAME: tasks_document(scenario)}), encoding="utf-8")
    for name, contract in (("transcripts", TRANSCRIPTS), ("dialogues", DIALOGUES)):
        pq.write_table(contract.schema.empty_table(), folder / f"0/{name}.parquet")


def test_the_exported_scenario_is_read_back_with_the_same_metrics(run: Run) -> None:
    scored()
    done = run("rubrics", "export", "ours", NAME, "out")
    assert done.code == 0, done.err
    made = read_scenario(Path("out/scenario.yaml"))
    assert made.dialect == "a"
    rubric = json.loads(Path("out/rubric.json").read_text(encoding="utf-8"))
    assert [one.name for one in scenario_rubric(made).metrics] == [one["name"] for one in rubric["metrics"]]
    assert json.loads(Path("out/label_tasks.json").read_text(encoding="utf-8")) == []
    assert Path("out/label_config.xml").read_text(encoding="utf-8").startswith("<View>")


def test_what_is_not_there_is_named(run: Run) -> None:
    done = run("rubrics", "export", "ours", NAME, "out")
    assert (done.code, "best.json: not there yet. Run: snakemake" in done.err) == (2, True)
    assert "no set 'theirs'; known: ours" in run("rubrics", "export", "theirs", NAME, "out").err
    scored()
    assert f"has no scenario 'x'; it has {NAME}" in run("rubrics", "export", "ours", "x", "out").err
    assert "results/rubrics.parquet: not there yet" in run("board", "rubrics").err
