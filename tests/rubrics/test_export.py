"""What is exported reads back as what it was."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import heard
from loop import scenario
from rubric_tables import metric, rubric

from magister.contracts.rubrics_score_tables import HUMAN_SCORES, RUBRIC_FLAGS
from magister.display import columns
from magister.errors import UserError
from magister.provenance._artifact import conform
from magister.rubrics.export import (
    blind_id,
    dialect_a,
    diff_text,
    label_studio_config,
    label_studio_tasks,
    read_label_studio,
    rubric_diff,
)
from magister.rubrics.initial import scenario_rubric
from magister.rubrics.reader import parse_scenario, read_scenario

ROOT = Path(__file__).resolve().parents[2]
MADE = rubric()
DIALOGUES = [heard("1", "Why <b>?", "So."), heard("2", model="model_b")]


def test_a_scenario_with_its_best_rubric_is_a_file_of_the_old_dialect() -> None:
    start = scenario()
    again = parse_scenario(dialect_a(start, MADE), "again.yaml")
    assert again.dialect == "a"
    assert [edge.targets for edge in again.edges] == [edge.targets for edge in start.edges]
    assert [edge.condition for edge in again.edges] == [edge.condition for edge in start.edges]
    assert [task.variables for task in again.tasks] == [task.variables for task in start.tasks]
    assert [agent.prompt[0].content for agent in again.agents] == [
        agent.prompt[0].content for agent in start.agents
    ]
    read = scenario_rubric(again)
    assert [one.name for one in read.metrics] == [one.name for one in MADE.metrics]
    assert (read.scale, read.score_type) == (MADE.scale, MADE.score_type)
    assert "1: asks at 1" in read.metrics[0].desc


def test_our_own_scenarios_can_be_exported_or_say_why_not() -> None:
    told = {}
    for path in sorted((ROOT / "data/scenarios").glob("*.yaml")):
        start = read_scenario(path)
        made = scenario_rubric(start)
        try:
            again = parse_scenario(dialect_a(start, made), path.name)
        except UserError as error:
            told[path.stem] = str(error)
            continue
        assert [one.name for one in scenario_rubric(again).metrics] == [one.name for one in made.metrics]
        assert len(again.tasks) == len(start.tasks)
    assert all("has no form in Elmes 0.1" in text for text in told.values())
    assert len(told) < 4


def test_no_key_is_ever_written() -> None:
    text = dialect_a(scenario(), MADE)
    assert "api_key: <YOUR API KEY>" in text
    assert "<KEY>" not in text
    with pytest.raises(UserError, match="the rubric is of 'sums', the scenario is 'other'"):
        dialect_a(replace(scenario(), name="other"), MADE)


def test_a_sheet_names_no_model() -> None:
    tasks = label_studio_tasks(DIALOGUES, MADE)
    assert "model_" not in json.dumps(tasks)
    assert {task["data"]["dialogue"] for task in tasks} == {blind_id("1"), blind_id("2")}
    assert tasks == label_studio_tasks(DIALOGUES[::-1], MADE)


hostile = st.text(max_size=30).filter(lambda text: text.strip() != "")


@settings(deadline=None)
@given(hostile)
def test_any_metric_makes_a_sheet_that_is_xml(text: str) -> None:
    clean = text.encode("utf-8", "replace").decode()
    made = rubric(metric("asks", desc=clean, pos_ex=(clean,)))
    root = ElementTree.fromstring(label_studio_config(made))
    assert [one.get("name") for one in root.iter("Rating")] == ["asks"]


def test_other_scales_are_asked_for_as_numbers() -> None:
    ten = rubric(metric("asks", anchors=()), scale=(0, 10), score_type="float")
    root = ElementTree.fromstring(label_studio_config(ten))
    (number,) = root.iter("Number")
    assert (number.get("min"), number.get("max"), number.get("step")) == ("0", "10", "0.5")


def exported(**scores: object) -> list[dict]:
    """A Label Studio export in which annotator 3 scored dialogue 1."""
    result = [
        {"from_name": name, "to_name": "dialogue", "type": "rating", "value": {"rating": score}}
        for name, score in scores.items()
    ]
    result.append(
        {"from_name": "asks_reason", "to_name": "dialogue", "type": "textarea", "value": {"text": ["good"]}}
    )
    data = {"dialogue": blind_id("1")}
    return [{"data": data, "annotations": [{"completed_by": 3, "result": result}]}]


def test_peoples_scores_come_back_by_dialogue() -> None:
    table = read_label_studio(exported(asks=4, fits=2), DIALOGUES, MADE, "ls.json")
    assert conform(table, HUMAN_SCORES).equals(table)
    assert [(row["dialogue_id"], row["metric_id"], row["value"], row["rationale"]) for row in table.to_pylist()] == [
        ("1", "asks", 4.0, "good"), ("1", "fits", 2.0, None),
    ]  # fmt: skip
    skipped = exported(asks=4)
    skipped[0]["annotations"][0]["was_cancelled"] = True
    assert read_label_studio(skipped, DIALOGUES, MADE, "ls.json").num_rows == 0


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "a list of tasks is expected"),
        ([{"data": {"dialogue": "x"}}], "task 1: this dialogue is not one"),
        (exported(asks=9), "task 1: asks: score 9; expected 1..5"),
        (exported(other=1), "task 1: no metric 'other'"),
        (exported(asks=1) * 2, "task 2: annotator 3 scored asks of it twice"),
    ],
)
def test_what_is_no_score_of_people_is_told_by_its_task(document: object, said: str) -> None:
    with pytest.raises(UserError, match=said.replace(".", r"\.")):
        read_label_studio(document, DIALOGUES, MADE, "ls.json")


def test_a_difference_says_what_caused_it() -> None:
    new = MADE.refined(
        [replace(MADE.metric("asks"), desc="counts questions", anchors=MADE.metric("asks").anchors[:2])]
    )
    flag = {
        "scenario": "sums", "rubric_sha": MADE.sha, "metric_id": "asks", "flag": "too_lenient",
        "statistic": "mean_share", "n": 40, "evidence": "mean 4.90 on 1..5 over n = 40 dialogues",
    }  # fmt: skip
    found = rubric_diff(MADE, new, pa.Table.from_pylist([flag], schema=RUBRIC_FLAGS.schema))
    assert json.loads(json.dumps(found)) == found
    (entry,) = found["changed"]
    assert (entry["metric_id"], list(entry["parts"])) == ("asks", ["desc", "anchors"])
    assert found["new_is_child_of_old"]
    text = diff_text(found)
    assert "because too lenient: mean 4.90 on 1..5 over n = 40 dialogues" in text
    assert "  - desc: how well it does asks\n  + desc: counts questions" in text
    assert all(columns(line) <= 80 for line in text.splitlines())


def test_equal_versions_do_not_differ_and_added_metrics_are_named() -> None:
    assert "no metric changed" in diff_text(rubric_diff(MADE, MADE))
    more = rubric(*MADE.metrics, metric("new", "values"))
    assert rubric_diff(MADE, more)["added"] == ["new"]
    assert "- new" in diff_text(rubric_diff(more, MADE))
