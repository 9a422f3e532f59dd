"""Scripted teachers and students do what their closed forms say."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from teaching_tables import VERSIONS, prompt

from magister.errors import UserError
from magister.teaching.guides import Turn
from magister.teaching.options import options_block
from magister.teaching.players import STUDENT_MODES, TEACHER_MODES, student, teacher

QUESTION, GOLD = "What is 12 + 30?", "42"
OPTIONS = ["40", "42", "43", "52"]
KEYS = [f"key-{number}" for number in range(1000)]


@cache
def blind(version: str = "v1") -> list[dict[str, Any]]:
    return prompt("answer", version).render(
        question=QUESTION, passage=None, options=options_block(OPTIONS), answer_as="text"
    )


@cache
def judged(last: str, version: str = "v1") -> list[dict[str, Any]]:
    return prompt("guide", version).render(
        question=QUESTION,
        passage=None,
        options=None,
        history=[Turn(f"Answer: {last}")],
        may_tell_answer=False,
    )


@cache
def taught(
    last: str, verdict: str, guidance: str = "Add once more.", arm: str = "taught", version: str = "v1"
) -> list[dict[str, Any]]:
    return prompt("revise", version).render(
        question=QUESTION, passage=None, options=options_block(OPTIONS), answer_as="text", shots=True, arm=arm,
        last_answer=f"Answer: {last}", verdict=verdict, guidance=guidance,
    )  # fmt: skip


def share(hits: list[bool]) -> float:
    return sum(hits) / len(hits)


def near(observed: float, expected: float) -> bool:
    return abs(observed - expected) < 4 * math.sqrt(expected * (1 - expected) / len(KEYS)) + 1e-9


@pytest.mark.parametrize("accuracy", [0.0, 0.4, 1.0])
def test_blind_answers_are_right_as_often_as_accuracy_says(accuracy: float) -> None:
    replies = [student(blind(), key, {"accuracy": accuracy}) for key in KEYS]
    assert near(share([reply == f"Answer: {GOLD}" for reply in replies]), accuracy)
    assert {reply.removeprefix("Answer: ") for reply in replies} <= set(OPTIONS)


def test_wrong_blind_answers_spread_over_all_wrong_options() -> None:
    replies = [student(blind(), key, {"accuracy": 0.0}) for key in KEYS]
    for option in ("40", "43", "52"):
        assert near(share([reply == f"Answer: {option}" for reply in replies]), 1 / 3)


def test_a_teacher_asked_with_options_answers_by_its_own_accuracy() -> None:
    assert near(share([teacher(blind(), key, {"accuracy": 0.7}) == f"Answer: {GOLD}" for key in KEYS]), 0.7)
    assert teacher(blind(), "k", {}) == f"Answer: {GOLD}"


@pytest.mark.parametrize(("last", "right"), [("42", "correct"), ("40", "wrong")])
def test_verdicts_are_right_with_probability_q(last: str, right: str) -> None:
    replies = [teacher(judged(last), key, {"q": 0.8}) for key in KEYS]
    assert near(share([reply.startswith(f"Verdict: {right}\n") for reply in replies]), 0.8)


@pytest.mark.parametrize(
    ("mode", "first"),
    [("always_wrong", "Verdict: wrong"), ("always_right", "Verdict: correct"), ("silent", "")],
)
def test_fixed_teachers_always_say_the_same(mode: str, first: str) -> None:
    for last in OPTIONS:
        assert teacher(judged(last), "k", {"mode": mode}).partition("\n")[0] == first


def test_a_teller_judges_right_and_tells_the_answer() -> None:
    assert teacher(judged("40"), "k", {"mode": "teller"}) == "Verdict: wrong\nGuidance: The answer is 42."


def test_a_reguesser_told_wrong_leaves_its_answer_for_any_other_evenly() -> None:
    replies = [student(taught("40", "wrong"), key, {"mode": "reguess"}) for key in KEYS]
    for option in ("42", "43", "52"):
        assert near(share([reply == f"Answer: {option}" for reply in replies]), 1 / 3)


@pytest.mark.parametrize("verdict", ["correct", "none"])
def test_a_reguesser_told_anything_else_stays(verdict: str) -> None:
    assert student(taught("40", verdict), "k", {"mode": "reguess"}) == "Answer: 40"


def test_a_stubborn_student_stays() -> None:
    told = taught("40", "wrong", "The answer is 42.")
    assert {student(told, key, {"mode": "stubborn"}) for key in KEYS[:50]} == {"Answer: 40"}


def test_an_obedient_student_takes_what_it_is_told_and_reguesses_otherwise() -> None:
    assert student(taught("40", "none", "The right answer is: 43"), "k", {"mode": "obedient"}) == "Answer: 43"
    assert student(taught("40", "wrong", "The answer is 77."), "k", {"mode": "obedient"}) != "Answer: 40"


def test_a_student_asked_to_check_for_itself_stays() -> None:
    assert student(taught("40", "none", "", arm="self_revise"), "k", {}) == "Answer: 40"


@pytest.mark.parametrize("q", [0.5, 0.8, 1.0])
def test_reguessing_gains_q_over_k_minus_one(q: float) -> None:
    fixed = []
    for key in KEYS:
        verdict = teacher(judged("40"), key, {"q": q}).partition("\n")[0].removeprefix("Verdict: ")
        fixed.append(
            student(taught("40", verdict), f"{key}-student", {"mode": "reguess"}) == f"Answer: {GOLD}"
        )
    assert near(share(fixed), q / (len(OPTIONS) - 1))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("mode", STUDENT_MODES)
def test_students_do_the_same_whatever_the_wording(mode: str, version: str) -> None:
    args = {"mode": mode}
    for key in KEYS[:20]:
        assert student(blind(version), key, args) == student(blind(), key, args)
        for told in (
            ("40", "wrong"),
            ("40", "correct"),
            ("40", "none", "The right answer is: 43"),
            ("43", "wrong", "The answer is 42."),
            ("40", "none", "", "self_revise"),
        ):
            assert student(taught(*told, version=version), key, args) == student(taught(*told), key, args)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("mode", TEACHER_MODES)
def test_teachers_do_the_same_whatever_the_wording(mode: str, version: str) -> None:
    args = {"mode": mode, "q": 0.5, "accuracy": 0.5}
    for key in KEYS[:20]:
        assert teacher(blind(version), key, args) == teacher(blind(), key, args)
        for last in OPTIONS:
            assert teacher(judged(last, version), key, args) == teacher(judged(last), key, args)


@given(st.text(min_size=1, max_size=8), st.sampled_from(STUDENT_MODES), st.sampled_from(TEACHER_MODES))
def test_the_same_request_gets_the_same_reply(key: str, student_mode: str, teacher_mode: str) -> None:
    told = taught("40", "wrong")
    assert student(told, key, {"mode": student_mode}) == student(told, key, {"mode": student_mode})
    assert teacher(judged("40"), key, {"mode": teacher_mode}) == teacher(
        judged("40"), key, {"mode": teacher_mode}
    )


@pytest.mark.parametrize("player", [student, teacher])
def test_an_unknown_mode_is_named_with_those_that_exist(player: Any) -> None:
    with pytest.raises(UserError, match=r"unknown mode 'clever'; known: \w+"):
        player(blind(), "k", {"mode": "clever"})


@pytest.mark.parametrize("player", [student, teacher])
def test_a_question_without_a_sum_is_refused(player: Any) -> None:
    asked = [{"role": "user", "content": f"Question: Who wrote Faust?\n{options_block(OPTIONS)}"}]
    with pytest.raises(UserError, match="only questions with a sum"):
        player(asked, "k", {})
