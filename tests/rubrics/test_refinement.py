"""What a model writes becomes a metric or a task as a whole, or nothing changes and it is said why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loop import scenario
from rubric_tables import metric, prompt, response, rubric, speaker
from score_tables import PLAN, human, named, scores, spread

from magister.config.rubrics_judging import SceneGen
from magister.contracts.rubrics_score_tables import ANCHOR_DRIFT, HUMAN_SCORES, REFINEMENTS, TASK_CHANGES
from magister.errors import UserError
from magister.llm import ScriptedReply
from magister.provenance._artifact import conform
from magister.rubrics.anchors import calibration, check_anchors, read_anchors, shots
from magister.rubrics.coevolve import parse_tasks, task_requests
from magister.rubrics.drift import anchor_drift
from magister.rubrics.initial import (
    about,
    initial_requests,
    parse_initial,
    read_dimensions,
    scenario_rubric,
    shares,
)
from magister.rubrics.reader import parse_scenario
from magister.rubrics.refine import flagged_metrics, judges_words, parse_refinements, refine_requests
from magister.rubrics.rubric import SEED_DIMENSIONS, Dimension
from magister.rubrics.tasks import first_tasks, held_out_tasks, task_key, tasks_document, with_tasks

WRITER = speaker("writer", "echo")
OPTIONS = SceneGen()
RUBRIC = rubric()
FLAGGED = {"asks": {"too_lenient": "mean 4.9"}}
GOOD = {
    "name": "Questions",
    "desc": "Counts questions.",
    "pos_ex": ["Why?"],
    "neg_ex": ["So."],
    "anchors": {str(score): f"{score} questions" for score in range(1, 6)},
}


def refined(reply: object, **options: Any) -> tuple[Any, Mapping[str, Any]]:
    """The next version after one reply, and what is recorded of it."""
    wanted = refine_requests(
        RUBRIC,
        FLAGGED,
        {},
        "{}",
        WRITER,
        prompt("refine_metric"),
        OPTIONS,
        iteration=1,
    )
    said = reply if isinstance(reply, str | ScriptedReply) else json.dumps(reply)
    answers = {wanted["asks"]["custom_id"]: response(wanted["asks"]["custom_id"], said)}
    made = parse_refinements(RUBRIC, FLAGGED, wanted, answers, OPTIONS.model_copy(update=options))
    assert conform(made.record, REFINEMENTS).equals(made.record.combine_chunks())
    (row,) = made.record.to_pylist()
    return made.rubric, row


def test_a_metric_in_form_takes_the_place_of_the_old_one() -> None:
    new, row = refined(GOOD)
    assert (row["status"], row["flags"]) == ("rewritten", "too_lenient")
    assert new.parent_sha == RUBRIC.sha
    made = new.metric("asks")
    assert (made.name, made.desc, made.pos_ex) == ("Questions", "Counts questions.", ("Why?",))
    old = RUBRIC.metric("asks")
    assert (made.id, made.dim, made.weight) == (old.id, old.dim, old.weight)
    assert new.metric("fits") == RUBRIC.metric("fits")


@pytest.mark.parametrize(
    ("reply", "status", "detail"),
    [
        (GOOD | {"desc": ""}, "invalid", "desc: no words"),
        (GOOD | {"desc": "..."}, "invalid", "desc: no words"),
        (GOOD | {"desc": "x" * 1300}, "invalid", "desc: 1300 characters, 1200 are allowed"),
        (GOOD | {"desc": 5}, "invalid", "no object with name, desc, pos_ex, neg_ex, anchors"),
        (GOOD | {"pos_ex": []}, "invalid", "pos_ex: a list of 1 to 5 texts"),
        (GOOD | {"neg_ex": [1]}, "invalid", "neg_ex.1: a text is wanted"),
        (GOOD | {"anchors": {"1": "a", "5": "b"}}, "invalid", "anchors: levels 1, 2, 3, 4, 5 are wanted"),
        (GOOD | {"anchors": dict.fromkeys("12345", "same")}, "invalid", "two levels have one text"),
        (GOOD | {"name": "fits"}, "invalid", "name: 'fits' is that of fits"),
        ({"name": "half"}, "invalid", "no object with"),
        ("I rewrote it.", "invalid", "no object with"),
        ("I'm sorry, I can't help with that.", "refusal", ""),
        ("", "no_answer", ""),
        (ScriptedReply('{"name": "x', finish_reason="length"), "truncated", "length limit"),
        (ScriptedReply("down", error="server"), "error", "server"),
        (json.dumps(GOOD) + json.dumps(GOOD | {"desc": "Another."}), "invalid", "two objects"),
    ],
)
def test_what_is_not_in_form_leaves_the_old_metric_and_is_recorded(
    reply: object, status: str, detail: str
) -> None:
    new, row = refined(reply)
    assert new is RUBRIC
    assert row["status"] == status
    assert detail in row["detail"]


def test_a_metric_that_comes_back_as_it_was_is_no_new_version() -> None:
    old = RUBRIC.metric("asks")
    same = {
        "name": old.name, "desc": old.desc, "pos_ex": list(old.pos_ex), "neg_ex": list(old.neg_ex),
        "anchors": {str(score): text for score, text in old.anchors},
    }  # fmt: skip
    new, row = refined(same)
    assert (new, row["status"]) == (RUBRIC, "unchanged")


@settings(deadline=None, max_examples=60)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(GOOD)), inner, max_size=5)
        ),
        max_leaves=12,
    )
)
def test_no_reply_breaks_a_rubric(reply: object) -> None:
    new, row = refined(reply)
    assert (new is RUBRIC) == (row["status"] != "rewritten")


def test_the_writer_is_told_what_was_measured_and_nothing_of_held_out_tasks() -> None:
    table = scores(RUBRIC, {"asks": spread}, held_out=lambda t: t > 5)
    said = [
        f"reason {'held' if row['held_out'] else 'shown'} {at}" for at, row in enumerate(table.to_pylist())
    ]
    table = table.set_column(
        table.schema.get_field_index("rationale"), "rationale", pa.array(said, pa.string())
    )
    wanted = refine_requests(
        RUBRIC,
        FLAGGED,
        judges_words(table, FLAGGED),
        "{}",
        WRITER,
        prompt("refine_metric"),
        OPTIONS,
        iteration=1,
    )
    text = wanted["asks"]["body"]["messages"][-1]["content"]
    assert "It is too lenient" in text
    assert "mean 4.9" in text
    assert "reason shown" in text
    assert "reason held" not in text


def test_the_same_metric_is_asked_for_again_as_another_draw() -> None:
    keys = {
        refine_requests(
            RUBRIC, FLAGGED, {}, "{}", WRITER, prompt("refine_metric"), OPTIONS,
            iteration=number,
        )["asks"]["custom_id"]
        for number in (1, 2)
    }  # fmt: skip
    assert len(keys) == 2


def test_metrics_without_enough_data_are_not_rewritten() -> None:
    rows = [
        {"metric_id": "asks", "flag": "insufficient_data", "evidence": "3"},
        {"metric_id": "fits", "flag": "redundant", "evidence": "r"},
    ]
    table = pa.Table.from_pylist(rows)
    assert flagged_metrics(table) == {"fits": {"redundant": "r"}}
    assert flagged_metrics(table, ["fits"]) == {}


@given(st.lists(st.integers(1, 20), min_size=1, max_size=6), st.integers(0, 30))
def test_metrics_are_shared_out_by_weight(parts: list[int], more: int) -> None:
    dims = [Dimension(f"d{at}", part / sum(parts), "x") for at, part in enumerate(parts)]
    found = shares(dims, len(dims) + more)
    assert sum(found.values()) == len(dims) + more
    for one in dims:
        for other in dims:
            if one.weight > other.weight + 1e-9:
                assert found[one.id] >= found[other.id]


def test_the_seed_dimensions_get_metrics_by_their_weights() -> None:
    assert shares(SEED_DIMENSIONS, 10) == {"personalisation": 3, "pedagogy": 4, "creativity": 2, "values": 1}
    with pytest.raises(UserError, match="3 metrics for 4 dimensions"):
        shares(SEED_DIMENSIONS, 3)


def test_a_first_rubric_has_what_each_dimensions_call_gave() -> None:
    start, options = scenario(), SceneGen(metrics=10)
    wanted = initial_requests(start, WRITER, prompt("initial_metrics"), options)
    assert list(wanted) == ["creativity", "pedagogy", "personalisation", "values"]
    replies = {
        "creativity": {"metrics": [GOOD | {"name": f"c{at}"} for at in range(2)]},
        "pedagogy": {"metrics": [GOOD | {"name": f"p{at}"} for at in range(3)]},
        "personalisation": {"metrics": [GOOD | {"name": "one"}] * 3},
        "values": {"metrics": [GOOD]},
    }
    answers = {
        wanted[name]["custom_id"]: response(wanted[name]["custom_id"], json.dumps(reply))
        for name, reply in replies.items()
    }
    made = parse_initial(start, wanted, answers, options)
    told = {row["metric_id"]: (row["status"], row["detail"]) for row in made.record.to_pylist()}
    assert told == {
        "creativity": ("rewritten", ""),
        "pedagogy": ("invalid", "4 metrics are wanted, found 3"),
        "personalisation": ("invalid", "two metrics have one name"),
        "values": ("rewritten", ""),
    }
    assert made.rubric.metric_ids == (
        "creativity_1", "creativity_2", "pedagogy_1", "personalisation_1", "values_1",
    )  # fmt: skip
    assert made.rubric.metric("pedagogy_1").desc == SEED_DIMENSIONS[1].desc


def test_dimensions_can_be_replaced() -> None:
    made = read_dimensions([{"id": "clarity", "weight": 1, "desc": "Is clear."}], "dims.json")
    assert made == (Dimension("clarity", 1.0, "Is clear."),)
    for document, said in (
        ({}, "a list of dimensions"),
        ([{"id": "x"}], "dimension 1: expected id, weight and desc"),
        ([{"id": "X y", "weight": 1, "desc": ""}], "dimension 1: id 'X y'"),
        ([{"id": "x", "weight": "1", "desc": ""}], "dimension 1: weight '1'"),
        ([{"id": "x", "weight": 0.5, "desc": ""}], "add up to 0.5"),
    ):
        with pytest.raises(UserError, match=said):
            read_dimensions(document, "dims.json")


EVALUATED = """
models: {{m: {{type: openai, api_key: k, api_base: b, model: m}}}}
agents: {{teacher: {{model: m, prompt: [{{role: system, content: "Teach {{q}}"}}]}}}}
directions: ["START -> teacher", "teacher -> END"]
tasks: {{mode: iter, content: [{{q: one}}]}}
evaluation:
  name: e
  model: m
  prompt: [{{role: user, content: "{{messages.as_dialog()}}"}}]
  format: {fields}
  format_mode: prompt
"""


def test_the_rubric_of_a_scenario_is_what_people_wrote() -> None:
    fields = """[{field: 准确, type: float, description: right},
      {field: guidance, type: dict, description: leads, items: [{field: score, type: float, description: s},
      {field: reason, type: str, description: r}]}, {field: note, type: str, description: n}]"""
    made = scenario_rubric(parse_scenario(EVALUATED.format(fields=fields)))
    assert [(one.id, one.name, one.weight, one.desc) for one in made.metrics] == [
        ("guidance", "guidance", 0.5, "leads s"), ("m01", "准确", 0.5, "right"),
    ]  # fmt: skip
    assert (made.scale, made.score_type) == ((1, 5), "float")


def test_the_handed_expert_scenarios_have_rubrics(cases: Any) -> None:
    counts = {}
    for name in ("question.yaml", "knowledge.yaml", "cross.yaml", "config_guided_task.yaml"):
        made = scenario_rubric(parse_scenario((cases / "rubrics" / name).read_text(encoding="utf-8"), name))
        counts[name] = len(made.metrics)
        assert sum(made.weights) == pytest.approx(1)
    assert counts == {
        "question.yaml": 5,
        "knowledge.yaml": 6,
        "cross.yaml": 15,
        "config_guided_task.yaml": 14,
    }


def test_a_scenario_that_scores_nothing_has_no_rubric() -> None:
    with pytest.raises(UserError, match="there is nothing to score"):
        scenario_rubric(scenario())


def grown(reply: object) -> tuple[Any, Any, Mapping[str, Any]]:
    start = scenario(3)
    old = start.tasks[1]
    flat = {old.task_id: ["asks"]}
    wanted = task_requests(
        start, RUBRIC, flat, about(start), WRITER, prompt("regenerate_task"), OPTIONS, iteration=2
    )
    key = wanted[old.task_id]["custom_id"]
    said = reply if isinstance(reply, str) else json.dumps(reply)
    made = parse_tasks(start, flat, wanted, {key: response(key, said)}, OPTIONS)
    assert conform(made.record, TASK_CHANGES).equals(made.record.combine_chunks())
    (row,) = made.record.to_pylist()
    return start, made.scenario, row


def test_a_new_task_takes_the_old_ones_place_and_has_an_id_of_its_own() -> None:
    start, made, row = grown({"question": "Explain 7 + 8."})
    assert [task.variables["question"] for task in made.tasks] == [
        "What is 0 + 3?", "Explain 7 + 8.", "What is 2 + 5?",
    ]  # fmt: skip
    assert (row["status"], row["task_id"]) == ("rewritten", task_key({"question": "Explain 7 + 8."}))
    assert made.tasks[0] == start.tasks[0]
    assert with_tasks(start, tasks_document(made), "tasks.json") == replace(
        made, tasks=tuple(replace(task, at=start.at) for task in made.tasks)
    )


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ({"question": "What is 1 + 4?"}, "unchanged"),
        ({"question": "What is 2 + 5?"}, "invalid"),
        ({"question": " "}, "invalid"),
        ({"problem": "What?"}, "invalid"),
        ("no", "invalid"),
    ],
)
def test_a_task_that_is_none_changes_nothing(reply: object, status: str) -> None:
    start, made, row = grown(reply)
    assert (made.tasks, row["status"]) == (start.tasks, status)


def test_a_held_out_task_is_never_written_anew() -> None:
    start = first_tasks(scenario(10), 0.3)
    held = sorted(task.task_id for task in start.tasks if task.held_out)
    assert len(held) == 3
    assert first_tasks(start, 0.9) == start
    with pytest.raises(UserError, match="held out: the objective would change"):
        task_requests(
            start, RUBRIC, {held[0]: ["asks"]}, "{}", WRITER, prompt("regenerate_task"), OPTIONS, iteration=1
        )


@given(st.integers(2, 12), st.floats(0.01, 0.99))
def test_some_tasks_are_held_out_and_some_are_not(count: int, share: float) -> None:
    held = held_out_tasks(scenario(count), share)
    assert 0 < len(held) < count


ANCHOR = {
    "anchor_id": "a1", "scenario": "sums", "use": "calibration", "variables": {"question": "q"},
    "turns": [{"speaker": "teacher", "text": "Why?"}], "scores": {"asks": {"score": 4, "reason": "asks"}, "fits": 2},
    "annotator": "eve",
}  # fmt: skip


def test_anchors_are_examples_or_are_scored_and_never_both() -> None:
    rows = [
        ANCHOR, ANCHOR | {"annotator": "fay", "scores": {"asks": 2}},
        ANCHOR | {"anchor_id": "s1", "use": "shot"}, ANCHOR | {"anchor_id": "o", "scenario": "other"},
    ]  # fmt: skip
    found = read_anchors(rows, "a.jsonl")
    dialogues, table = calibration(found, "sums")
    assert [one.dialogue_id for one in dialogues] == ["a1"]
    assert conform(table, HUMAN_SCORES).num_rows == 3
    (shot,) = shots(found, "sums")
    assert (shot.dialogue.dialogue_id, shot.scores, shot.reasons) == (
        "s1",
        {"asks": 4, "fits": 2},
        {"asks": "asks"},
    )
    check_anchors(found, RUBRIC)
    with pytest.raises(UserError, match=r"score 4 is not on the scale 1\.\.3"):
        check_anchors(found[:1], replace(RUBRIC, scale=(1, 3), metrics=(
            metric("asks", anchors=()), metric("fits", "personalisation", anchors=()),
        )))  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"use": "both"}, "line 2: use 'both'"),
        ({"extra": 1}, "line 2: missing: nothing; unknown: extra"),
        ({"turns": []}, "line 2: turns: expected"),
        ({"turns": ["x"]}, "line 2: turn 1: expected speaker and text"),
        ({"scores": {"asks": "4"}}, "line 2: scores: asks: expected a number"),
        ({"annotator": "eve"}, "line 2: 'eve' scored 'a1' in line 1 already"),
        ({"turns": [{"speaker": "teacher", "text": "So."}]}, "line 2: anchor 'a1' differs from line 1"),
    ],
)
def test_a_row_that_is_no_anchor_is_told_by_its_line(change: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_anchors([ANCHOR, ANCHOR | {"annotator": "fay"} | change], "a.jsonl")


def test_drift_is_measured_on_the_same_anchors() -> None:
    made = named("x")
    people = human(made, {(f"t{t:02}-expert", "x"): 3.0 for t in range(6)})

    def round_of(shift: int) -> pa.Table:
        return scores(made, {"x": lambda t, m, j, r: 3 + shift - (t % 2)}, tasks=6, models=("expert",))

    table = anchor_drift({0: round_of(0), 2: round_of(1)}, people, {0: made, 2: made}, PLAN)
    assert conform(table, ANCHOR_DRIFT).equals(table.sort_by([(n, "ascending") for n in ANCHOR_DRIFT.key]))
    found = {(row["iteration"], row["statistic"]): row for row in table.to_pylist()}
    assert found[0, "bias"]["value"] == -0.5
    assert found[2, "bias"]["value"] == 0.5
    assert (found[2, "bias_drift"]["value"], found[2, "deviation_drift"]["value"]) == (1.0, 0.0)
    assert (found[0, "bias_drift"]["value"], found[0, "bias_drift"]["status"]) == (None, "not_computable")
    assert found[2, "bias_drift"]["n"] == 6
