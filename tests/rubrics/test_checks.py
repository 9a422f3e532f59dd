"""What code finds before a judge is asked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import heard

from magister.contracts.rubrics_score_tables import RUBRIC_CHECKS
from magister.errors import UserError
from magister.provenance._artifact import conform
from magister.rubrics.checks import check_counts, check_dialogues, vetoed
from magister.rubrics.heard import Heard
from magister.rubrics.scenario import Position, Veto


def veto(kind: Any, agent: str | None = None, **arguments: Any) -> Veto:
    return Veto("rule", kind, agent, Position("s.yaml", 7), arguments)


def found(dialogue: Heard, rule: Veto) -> dict[str, Any]:
    table = check_dialogues([dialogue], [rule])
    assert conform(table, RUBRIC_CHECKS).num_rows == table.num_rows
    (row,) = [row for row in table.to_pylist() if row["check"] == "rule"]
    return row


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Student: I think it is 4.", "failed"),
        ("Well.\n**Student:** It is 4.", "failed"),
        ("好。\n学生：是四。", "failed"),
        ("【学生】：是四", "failed"),
        ("Teacher: What do you think?", "passed"),
        ("What would a student: say?", "passed"),
        ("Dear student, think again.", "passed"),
        ("Students: a list", "passed"),
    ],
)
def test_a_teacher_that_writes_the_students_lines(text: str, status: str) -> None:
    row = found(heard("1", "Hello.", "Hi.", text), veto("role_leak"))
    assert (row["status"], row["turn"]) == (status, 3 if status == "failed" else None)
    assert row["vetoes"] is (status == "failed")


def test_a_rule_can_name_how_else_somebody_elses_lines_open() -> None:
    dialogue = heard("1", "Hello.", "Hi.", "🙋 I think so!")
    assert found(dialogue, veto("role_leak"))["status"] == "passed"
    assert found(dialogue, veto("role_leak", keywords=["🙋"]))["status"] == "failed"


def test_a_role_leak_is_looked_for_without_a_rule_and_then_forbids_nothing() -> None:
    table = check_dialogues([heard("1", "Student: 4")])
    assert {(row["check"], row["status"], row["vetoes"]) for row in table.to_pylist()} == {
        ("role_leak", "failed", False),
        ("empty_turn", "passed", False),
    }
    assert vetoed(table) == {}


@pytest.mark.parametrize(
    ("texts", "status", "detail"),
    [
        (["The answer is 42."], "failed", "states the answer"),
        (["Try it.", "Is it 42?", "Yes, 42!"], "passed", "student says the answer first"),
        (["Think of 421 and 4.2."], "passed", ""),
        (["How many twos are in 40 + 2?"], "passed", ""),
    ],
)
def test_a_teacher_that_gives_the_answer_away(texts: list[str], status: str, detail: str) -> None:
    dialogue = heard("1", *texts, variables={"question": "What is 40 + 2?", "answer": "42"})
    row = found(dialogue, veto("answer_leak", variable="answer"))
    assert (row["status"], row["detail"]) == (status, detail)


def test_a_task_without_an_answer_cannot_be_given_away() -> None:
    row = found(heard("1", "It is 42."), veto("answer_leak", variable="answer"))
    assert (row["status"], row["vetoes"]) == ("not_applicable", False)


def test_words_and_patterns_are_looked_for_in_the_named_agents_turns_alone() -> None:
    dialogue = heard("1", "Let us begin.", "You IDIOT.")
    assert found(dialogue, veto("keywords", keywords=["idiot"]))["status"] == "passed"
    row = found(dialogue, veto("keywords", agent="student", keywords=["(", "idiot"]))
    assert (row["status"], row["turn"]) == ("failed", 2)
    assert found(dialogue, veto("regex", pattern="beg.n"))["status"] == "failed"


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ({"at_least": 2}, "passed"),
        ({"at_least": 3}, "failed"),
        ({"at_most": 1}, "failed"),
        ({"at_most": 2}, "passed"),
    ],
)
def test_a_dialogue_may_have_to_have_so_many_turns(limits: dict[str, int], status: str) -> None:
    row = found(heard("1", "One.", "Two.", "Three."), veto("turns", **limits))
    assert row["status"] == status
    assert ("teacher has 2 turns" in row["detail"]) == (status == "failed")


def test_an_empty_turn_is_told_with_its_place() -> None:
    (row, _) = check_dialogues([heard("1", "Hello.", " \n")]).to_pylist()
    assert (row["status"], row["detail"], row["turn"]) == ("failed", "student says nothing", 2)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (veto("keywords"), "s.yaml:7: veto rule \\(keywords\\): 'keywords' is missing"),
        (veto("answer_leak"), "'variable' is missing"),
        (veto("turns"), "'at_least' or 'at_most' is missing"),
        (veto("regex", pattern="("), "s.yaml:7: veto rule: pattern '\\('"),
    ],
)
def test_a_rule_that_lacks_something_is_an_error(rule: Veto, said: str) -> None:
    with pytest.raises(UserError, match=said):
        check_dialogues([heard("1")], [rule])


def test_two_rules_of_one_name_are_an_error() -> None:
    with pytest.raises(UserError, match="this name is taken"):
        check_dialogues([heard("1")], [veto("role_leak"), veto("turns", at_least=1)])


def test_a_pattern_that_would_hang_elsewhere_takes_no_time() -> None:
    assert found(heard("1", "a" * 5_000 + "!"), veto("regex", pattern="^(a+)+$"))["status"] == "passed"


def test_reasons_of_vetoes_name_rule_turn_and_finding() -> None:
    rules = [Veto("role", "role_leak", None, Position("s", 1)), veto("keywords", keywords=["4"])]
    table = check_dialogues([heard("1", "Student: 4"), heard("2")], rules)
    assert vetoed(table) == {
        "1": "role in turn 1: writes a line of somebody else; rule in turn 1: says a forbidden word"
    }
    assert check_counts(table)["rule"] == {"passed": 1, "failed": 1, "not_applicable": 0}


@settings(deadline=None)
@given(st.lists(st.text(max_size=40), max_size=5))
def test_no_text_breaks_a_check(texts: list[str]) -> None:
    rules = [veto("role_leak"), Veto("b", "answer_leak", None, Position("s", 1), {"variable": "question"})]
    table = check_dialogues([heard("1", *texts)], rules)
    assert table.num_rows == 4
