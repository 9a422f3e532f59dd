"""The evolution of a rubric as steps: files in, files out, unrolled to a number of iterations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from loop import SCENARIO, TEACHERS
from rubric_tables import speaker
from step_loop import ROOT, StepLoop, each

from magister.config.rubrics_judging import Objective
from magister.contracts.rubrics_score_tables import OVERALL
from magister.rubrics.initial import scenario_rubric
from magister.rubrics.reader import read_scenario
from magister.rubrics.rubric import read_rubric
from scripts.rubrics import first_rubric

LAST, JUDGES = 2, ("ann", "bob")
SCENARIOS = ["more.yaml", "sums.yaml"]
SPEAKERS = {
    **{name: speaker(name, "rubric_teacher", quality=q, salt="x") for name, q in TEACHERS.items()},
    "pupil": speaker("pupil", "rubric_student"),
    "ann": speaker("ann", "rubric_judge", broken=0.3),
    "bob": speaker("bob", "rubric_judge", noise=0.3),
    "writer": speaker("writer", "rubric_writer", pedagogy="strict", personalisation="lenient"),
}
ANCHOR = {
    "anchor_id": "held", "scenario": "sums", "use": "calibration", "variables": {"question": "What is 90 + 1?"},
    "turns": [{"speaker": "teacher", "text": "What would you try?"}], "scores": {"pedagogy_1": 5, "values_1": 5},
    "annotator": "eve",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    questions = ", ".join(f'"What is {number} + {number + 3}?"' for number in range(12))
    for path in SCENARIOS:
        # The same words in both: what is asked of one is what is asked of the other.
        Path(path).write_text(SCENARIO.format(questions=questions))
    Path("anchors.jsonl").write_text(json.dumps(ANCHOR) + "\n")


def loop() -> StepLoop:
    return StepLoop(SPEAKERS, list(TEACHERS), JUDGES, SCENARIOS, last=LAST, anchors="anchors.jsonl")


def told(path: str, scenario: str) -> Any:
    """What a document says of a scenario."""
    return json.loads(Path(path).read_text(encoding="utf-8"))[scenario]


def test_the_steps_evolve_rubrics_and_stop() -> None:
    made = loop()
    made.run_all()
    for scenario, terms in (("sums", {"human"}), ("more", set())):
        decisions = [told(path, scenario) for path in each("i{i}/decisions.json", LAST + 1)]
        assert set(decisions[0]["flags"]) == {"pedagogy_1", "personalisation_1"}
        assert (decisions[1]["best"], decisions[1]["stop_reason"]) == (1, "nothing_flagged")
        # Experts have scored an anchor of one of the two.
        assert {"human"} & set(decisions[1]["terms"]) == terms
        assert decisions[2] == {"status": "frozen", "same_as": 1}
        best = told("best/best.json", scenario)
        assert best.pop("iteration") == 1
        assert read_rubric(best, "best").scenario == scenario
        (change,) = told("best/lineages.json", scenario)
        assert {one["metric_id"] for one in change["changed"]} == {"pedagogy_1", "personalisation_1"}
        assert all(one["why"] for one in change["changed"])
        assert told("best/beside.json", scenario)["evolution"].startswith("best of 2 iterations")
    # Nothing is asked after the stop, of nobody.
    asked = sorted(Path("i2").rglob("*.requests.jsonl"))
    assert len(asked) > 20
    assert all(path.read_bytes() == b"" for path in asked)
    standings = pq.read_table("best/standings.parquet").to_pylist()
    total = {(row["scenario"], row["model"]): row["rank"] for row in standings if row["dim"] == OVERALL}
    ranks = {"strong": 1, "middle": 2, "weak": 3}
    assert total == {(name, model): rank for name in ("more", "sums") for model, rank in ranks.items()}
    drift = pq.read_table("best/drift.parquet").to_pylist()
    strict = [
        row["value"]
        for row in drift
        if (row["scenario"], row["metric_id"], row["statistic"]) == ("sums", "pedagogy_1", "deviation")
    ]
    assert strict == [4.0, 0.0]
    scores = pq.read_table("i0/ann.scores.parquet")
    assert 0 < sum(scores["was_repaired"].to_pylist()) < scores.num_rows
    assert set(scores["status"].to_pylist()) == {"ok"}


def test_the_rubric_of_a_scenarios_authors_comes_first_without_a_call() -> None:
    path = ROOT / "data/scenarios/socratic-fractions.yaml"
    writes = {"rubrics": "a/rubrics.json", "tasks": "a/tasks.json", "record": "a/record.parquet"}
    loop().call(first_rubric, {}, {"scenarios": str(path)}, writes, source="scenario")
    name = "socratic-fractions"
    made = read_rubric(told("a/rubrics.json", name), "a")
    assert made == scenario_rubric(read_scenario(path))
    assert [task["held_out"] for task in told("a/tasks.json", name)] == [False] * 3 + [True]
    assert pq.read_table("a/record.parquet").num_rows == 0


def test_calls_can_be_limited() -> None:
    made = loop()
    made.first()
    made.talked(0)
    made.judged(0, objective=Objective(max_calls=10).model_dump(mode="json"))
    assert told("i0/decisions.json", "sums")["stop_reason"] == "budget"


def test_an_anchor_of_no_scenario_of_the_set_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("anchors.jsonl").write_text(json.dumps(ANCHOR | {"scenario": "others"}) + "\n")
    made = loop()
    made.first()
    made.talked(0)
    with pytest.raises(SystemExit):
        made.judged(0)
    assert "anchor held: the set has no scenario 'others'" in capsys.readouterr().err
