"""All dialects come to one model; mistakes are told with their lines; no key is ever kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenario_files import DIALECT_A, DIALECT_B, OURS

from magister.rubrics.findings import ScenarioError
from magister.rubrics.reader import parse_scenario, read_tree
from magister.rubrics.scenario import END, And, AnyKeyword, Limits, Not, TurnLimit
from magister.rubrics.yaml_lines import parse_yaml


def refusal(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, "x.yaml")
    return str(caught.value)


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def test_dialect_a_is_told_and_read() -> None:
    scenario = parse_scenario(DIALECT_A, "folder/demo.v1.yaml")
    assert (scenario.dialect, scenario.name, scenario.candidate) == ("a", "demo.v1", "tutor")
    assert "`evaluation.format`" in scenario.rule
    assert scenario.limits == Limits(7)
    assert [task.variables for task in scenario.tasks] == [
        {"pupil": "Ada", "topic": "halves"},
        {"pupil": "Ada", "topic": "thirds"},
        {"pupil": "Bo", "topic": "halves"},
        {"pupil": "Bo", "topic": "thirds"},
    ]
    assert scenario.edge("tutor").condition == AnyKeyword(("goodbye",))
    assert scenario.edge("tutor").targets == (END, "pupil")
    assert scenario.agent("tutor").memory.keep_turns == 2
    assert scenario.evaluation is not None
    assert (scenario.evaluation.fields[0].low, scenario.evaluation.fields[0].high) == (None, 5)
    assert scenario.evaluation.format_mode == "prompt"
    assert str(scenario.agent("pupil").at) == f"folder/demo.v1.yaml:{line_of(DIALECT_A, '  pupil:') + 1}"


def test_dialect_b_is_told_and_read() -> None:
    scenario = parse_scenario(DIALECT_B)
    assert scenario.dialect == "b"
    assert [one.content for one in scenario.agent("tutor").prompt] == ["Teach {topic}.", "Be brief."]
    assert scenario.start is not None
    assert scenario.start.shown_to == "first"
    assert scenario.evaluation is not None
    assert (scenario.evaluation.model, scenario.evaluation.fields[0].reason) == ("talker", True)


def test_our_own_form_adds_what_is_missing() -> None:
    scenario = parse_scenario(OURS)
    assert (scenario.dialect, scenario.name, scenario.language) == ("magister", "halves", "en")
    assert scenario.limits == Limits(6, 64)
    assert scenario.edge("tutor").condition == And((AnyKeyword(("Goodbye",)), Not(TurnLimit(2))))
    assert scenario.agent("tutor").sampling == {"temperature": 0.5, "top_k": 3}
    assert [task.held_out for task in scenario.tasks] == [False, True]
    evaluation = scenario.evaluation
    assert evaluation is not None
    assert [(one.name, one.weight) for one in evaluation.dimensions] == [("pedagogy", 0.6), ("values", 0.4)]
    assert evaluation.fields[0].anchors == {1: "none", 5: "all"}
    assert [(one.kind, one.agent, dict(one.arguments)) for one in evaluation.vetoes] == [
        ("answer_leak", "tutor", {"variable": "answer"}),
        ("role_leak", None, {"keywords": ("Pupil:",)}),
    ]


def test_tasks_keep_their_ids_when_others_come_and_go() -> None:
    one = parse_scenario(OURS)
    other = parse_scenario(
        OURS.replace("    - {topic: halves", "    - {topic: fifths, answer: x}\n    - {topic: halves")
    )
    assert {task.task_id for task in one.tasks} < {task.task_id for task in other.tasks}


def test_equal_tasks_have_ids_of_their_own() -> None:
    twice = OURS.replace('{topic: thirds, answer: "1/3"}', '{topic: halves, answer: "1/2"}')
    first, second = (task.task_id for task in parse_scenario(twice).tasks)
    assert second == f"{first}-2"


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("model: talker\n    prompt", "model: taker\n    prompt", "unknown_model", "did you mean 'talker'"),
        ("- pupil -> tutor", "- pupil -> tutr", "direction", "did you mean 'tutor'"),
        ("- pupil -> tutor", "- pupil tutor", "direction", "no direction"),
        ("- pupil -> tutor", "- END -> tutor", "direction", "nothing leaves END"),
        ("- pupil -> tutor", "- tutor -> pupil", "direction", "a second direction leaves tutor"),
        ("any_keyword_route(", "eval(", "router", "allowed are"),
        ("Teach {pupil}", "Teach {pupl}", "unknown_variable", "did you mean 'pupil'"),
        ("Topic {task.topic}", "Topic {topic}", "unknown_variable", "did you mean 'task.topic'"),
        ("mode: union", "mode: onion", "wrong_type", "iter or union"),
        ("recursion_limit: 7", "recursion_limit: 0", "wrong_type", "whole number from 1"),
        ("keep_turns: 2", "keep_turns: two", "wrong_type", "whole number"),
        ("enable: true", "enable: yes", "wrong_type", "true or false"),
        ("role: user, content: \"Today", "role: usr, content: \"Today", "wrong_type", "did you mean 'user'"),
        ("topic: [halves, thirds]", "topic: halves", "wrong_type", "a list"),
        ("topic: [halves, thirds]", "topic: [halves, {a: b}]", "wrong_type", "a text"),
        ("format:\n", "forma:\n", "missing_key", "evaluation.format is missing"),
        ("type: int", "type: number", "wrong_type", "one of str, int"),
        ("  pupil:\n    model", "  START:\n    model", "agent_name", "called START"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line(old: str, new: str, code: str, said: str) -> None:
    text = DIALECT_A.replace(old, new, 1)
    assert text != DIALECT_A
    reading = read_tree(parse_yaml(text.encode(), "x.yaml"), "x.yaml")
    assert reading.scenario is None
    found = [one for one in reading.findings.errors if one.code == code and said in one.message]
    assert found, reading.findings.errors
    changed = line_of(text, new.strip().splitlines()[0])
    assert changed - 1 <= found[0].at.line <= changed + 1 or code == "missing_key"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("weight: 0.6", "weight: 0.7", "sum to 1.1"),
        ("dimension: values", "dimension: value", "did you mean 'values'"),
        ("range: [1, 5]\n", "range: [5, 1]\n", "is empty"),
        ("range: [1, 5]\n", "range: [1]\n", "two numbers"),
        ("variable: answer", "variable: anser", "did you mean 'answer'"),
        ("agent: tutor", "agent: tutr", "did you mean 'tutor'"),
        ("kind: role_leak", "kind: rolleak", "did you mean 'role_leak'"),
        ("candidate: tutor", "candidate: teacher", "no agent 'teacher'"),
        ("held_out: [2]", "held_out: [3]", "from 1 to 2"),
        ("temperature: 0.5", "temperature: 9", "less than or equal to 2"),
        ("top_k: 3", "stream: true", "cannot be set here"),
        ("magister: 1", "magister: 2", "later form"),
        ("name: halves", "name: a/b", "without spaces"),
        ("name: respect", "name: steps", "two fields are called 'steps'"),
    ],
)
def test_our_own_form_is_checked(old: str, new: str, said: str) -> None:
    assert said in refusal(OURS.replace(old, new, 1))


def test_environment_variables_are_put_in_and_a_missing_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    models = "models:\n  tutor: {model: '${TUTOR_MODEL}', base_url: 'http://u:secret@h/${PART}', api_key: '${KEY}'}\n"
    text = OURS.replace("agents:\n", models + "agents:\n", 1)
    text = text.replace('    prompt: "Teach', '    model: tutor\n    prompt: "Teach', 1)
    text = text.replace("    prompt:\n      - {role", "    model: tutor\n    prompt:\n      - {role", 1)
    text = text.replace("evaluation:\n", "evaluation:\n  model: tutor\n", 1)
    monkeypatch.delenv("TUTOR_MODEL", raising=False)
    monkeypatch.setenv("PART", "v1")
    monkeypatch.setenv("KEY", "sk-very-secret")
    assert "TUTOR_MODEL is not set" in refusal(text)
    monkeypatch.setenv("TUTOR_MODEL", "alpha-1")
    scenario = parse_scenario(text)
    assert (scenario.models[0].served_name, scenario.models[0].base_url) == ("alpha-1", "http://[key]@h/v1")
    assert scenario.models[0].api_key == "environment"
    assert "secret" not in repr(scenario)


def test_a_key_in_a_file_is_kept_nowhere() -> None:
    text = DIALECT_A.replace("api_key: <KEY>", "api_key: sk-1234567890abcdef", 1)
    reading = read_tree(parse_yaml(text.encode(), "x.yaml"), "x.yaml")
    assert reading.scenario is not None
    assert "sk-1234567890abcdef" not in repr((reading.scenario, reading.findings))
    assert [one.code for one in reading.findings.found] == ["api_key_in_file"]
    broken = refusal(text.replace("model: alpha-1", "model: [a]", 1))
    assert "sk-1234567890abcdef" not in broken


@pytest.mark.parametrize(
    "text", ["- a\n", "a: 1\n", "agents: {}\n", "evaluation: {format: [], fields: []}\n"]
)
def test_what_is_no_scenario_is_refused(text: str) -> None:
    assert refusal(text).startswith("x.yaml:1")


def test_many_mistakes_are_told_at_once() -> None:
    text = DIALECT_A.replace("{pupil}", "{pupl}").replace("-> tutor\n", "-> tutr\n")
    said = refusal(text)
    assert "pupl" in said
    assert "tutr" in said


LINES = DIALECT_A.splitlines(keepends=True)


@given(st.integers(0, len(LINES) - 1), st.sampled_from(["", "x\n", "  - y: 1\n", "a: {b\n", "{}\n"]))
def test_any_file_is_read_or_refused(at: int, line: str) -> None:
    text = "".join([*LINES[:at], line, *LINES[at + 1 :]])
    try:
        scenario = parse_scenario(text, "x.yaml")
    except ScenarioError as error:
        assert error.findings  # noqa: PT017 - which of the two it is depends on the line
    else:
        assert scenario.tasks
