"""Who is asked to revise, with what in hand, and what becomes of those who are not."""

from __future__ import annotations

from typing import Any

import pytest
from teaching_tables import (
    answer,
    answers,
    asked_last,
    exchange,
    guide,
    guides,
    item,
    items,
    prompt,
    replies,
    revision,
    revisions,
    said,
    speaker,
)

from magister.contracts.schemas import ASKED, REVISIONS
from magister.llm import Request
from magister.provenance import conform
from magister.teaching.revisions import Previous, is_asked, parse_revisions, previous_answers, revise_requests

TAUGHT = {("taught", "tea")}


def before(text: str = "Answer: Rome", **changes: Any) -> Previous:
    return previous_answers(answers(answer("sam", "i1", text, **changes)), TAUGHT)


def ask(
    told: dict[str, Any], previous: Previous | None = None, shots: bool = True
) -> tuple[list[Request], Any]:
    return revise_requests(
        items(item()), guides(told), previous or before(), speaker("sam"), prompt("revise"),
        answer_as="text", shots=shots, max_tokens=9,
    )  # fmt: skip


def revise(told: dict[str, Any], previous: Previous | None = None, *texts: Any) -> dict[str, Any]:
    previous = previous or before()
    requests, asked = ask(told, previous)
    found = parse_revisions(items(item()), guides(told), asked, previous, replies(requests, texts))
    (row,) = conform(found, REVISIONS).to_pylist()
    return row


def place(**changes: Any) -> dict[str, Any]:
    return exchange("sam", "i1", 1, **changes)


# Who is asked


@pytest.mark.parametrize(
    ("verdict", "guidance", "asked"),
    [
        ("wrong", "Look.", True),
        ("wrong", "", True),
        ("none", "Look.", True),
        ("correct", "", True),
        ("none", " ", False),
    ],
)
def test_a_student_is_asked_when_the_teacher_said_anything(verdict: str, guidance: str, asked: bool) -> None:
    assert is_asked(guide(place(), verdict, guidance), {"status": "ok"}) is asked


def test_a_student_that_revises_alone_is_asked_without_a_word() -> None:
    alone = guide(place(arm="self_revise", teacher="self_revise"), "none", "")
    assert is_asked(alone, {"status": "ok"})


@pytest.mark.parametrize(("guide_status", "answer_status"), [("error", "ok"), ("ok", "error")])
def test_after_a_failed_call_nobody_is_asked(guide_status: str, answer_status: str) -> None:
    told = guide(place(), status=guide_status)
    assert not is_asked(told, {"status": answer_status})
    alone = guide(place(arm="self_revise", teacher="self_revise"), "none", "", status=guide_status)
    assert not is_asked(alone, {"status": answer_status})


# What is asked


def test_a_student_sees_its_answer_the_verdict_and_the_guidance() -> None:
    (request,), asked = ask(guide(place(), "wrong", "Think of the Seine."))
    *_, question, last, told = request["body"]["messages"]
    assert "B) Paris" in question["content"]
    assert (last["role"], last["content"]) == ("assistant", "Answer: Rome")
    assert told["content"].startswith("Teacher: Your answer is wrong. Think of the Seine.")
    assert asked.schema == ASKED.schema
    assert asked["request_id"].to_pylist() == [request["custom_id"]]


def test_a_student_that_revises_alone_hears_of_no_teacher() -> None:
    told = guide(place(arm="self_revise", teacher="self_revise"), "none", "")
    previous = previous_answers(
        answers(answer("sam", "i1", "Answer: Rome")), {("self_revise", "self_revise")}
    )
    (request,), _ = ask(told, previous)
    assert "Check your answer once more." in asked_last(request)
    assert "Teacher" not in asked_last(request)


def test_demonstrations_can_be_left_out() -> None:
    (with_shots,), _ = ask(guide(place()))
    (without,), _ = ask(guide(place()), shots=False)
    assert "eagle" in said(with_shots)
    assert "eagle" not in said(without)
    assert asked_last(with_shots) == asked_last(without)


def test_an_empty_last_answer_is_named_as_such() -> None:
    (request,), _ = ask(guide(place()), before("", status="no_answer"))
    assert request["body"]["messages"][-2]["content"] == "(no answer)"


def test_reasoning_of_the_student_is_not_shown_to_it_again() -> None:
    (request,), _ = ask(guide(place()), before("<think>Secret plan.</think>Answer: Rome"))
    assert "Secret plan" not in said(request)
    (request,), _ = ask(guide(place()), before("<think>Secret plan without an end", status="truncated"))
    assert "Secret plan" not in said(request)


def test_reasoning_of_the_teacher_never_reaches_the_student() -> None:
    told = guide(place(), "wrong", "Think.", text="<think>It is Paris, I know.</think>Verdict: wrong\nThink.")
    (request,), _ = ask(told)
    assert "I know" not in said(request)


def test_the_answer_before_is_that_of_the_same_teacher() -> None:
    rows = [revision(exchange("sam", "i1", 1, teacher=name), f"Answer: {text}") for name, text in
            (("tea", "London"), ("tom", "Berlin"))]  # fmt: skip
    previous = previous_answers(revisions(*rows), {("taught", "tea"), ("taught", "tom")})
    for name, text in (("tea", "London"), ("tom", "Berlin")):
        (request,), _ = ask(guide(exchange("sam", "i1", 2, teacher=name)), previous)
        assert request["body"]["messages"][-2]["content"] == f"Answer: {text}"


def test_round_one_starts_from_the_same_blind_answer_for_all() -> None:
    exchanges = {("taught", "tea"), ("taught", "tom"), ("sham", "sham")}
    previous = previous_answers(answers(answer("sam", "i1", "Answer: Rome")), exchanges)
    assert {(arm, teacher) for arm, teacher, _ in previous} == exchanges
    assert len({row["text"] for row in previous.values()}) == 1


# What is read


def test_a_revised_answer_is_read_like_any_other() -> None:
    row = revise(guide(place()), None, "Answer: Paris")
    assert (row["status"], row["answer"], row["correct"], row["asked"]) == ("ok", "B", True, True)


def test_a_failed_revision_is_neither_right_nor_wrong() -> None:
    row = revise(guide(place()), None, {"error": "server", "finish": None})
    assert (row["status"], row["correct"], row["error"], row["asked"]) == ("error", None, "server", True)


def test_a_revision_beyond_the_window_is_counted_apart() -> None:
    row = revise(guide(place()), None, {"error": "context_length", "finish": None})
    assert (row["status"], row["correct"]) == ("context_exceeded", False)


@pytest.mark.parametrize("guide_status", ["no_answer", "refusal", "truncated", "context_exceeded"])
def test_a_teacher_that_said_nothing_leaves_the_answer_as_it_is(guide_status: str) -> None:
    previous = before("Answer: Paris", answer="B", correct=True, span_start=8, span_end=13)
    row = revise(guide(place(), "none", "", status=guide_status), previous)
    assert (row["answer"], row["correct"], row["status"]) == ("B", True, "ok")
    assert (row["rule"], row["asked"], row["request_id"]) == (f"kept:{guide_status}", False, None)
    assert (row["text"], row["span_start"], row["span_end"]) == ("Answer: Paris", 8, 13)


def test_a_kept_answer_keeps_its_status() -> None:
    row = revise(guide(place(), "none", ""), before("Cheese.", status="no_answer", answer=None))
    assert (row["status"], row["answer"], row["correct"]) == ("no_answer", None, False)


def test_a_failed_guide_ends_the_cell_as_an_error_and_never_as_wrong() -> None:
    row = revise(
        guide(place(), "none", "", status="error"), before("Answer: Paris", answer="B", correct=True)
    )
    assert (row["status"], row["correct"], row["answer"]) == ("error", None, None)
    assert (row["rule"], row["error"], row["asked"]) == ("not_asked:guide", "guide", False)


def test_a_failed_answer_stays_failed_in_every_later_round() -> None:
    failed = before("", status="error", answer=None, correct=None)
    row = revise(guide(place(), "wrong", "Look."), failed)
    assert (row["status"], row["correct"], row["rule"]) == ("error", None, "not_asked:earlier_answer")
    later = previous_answers(revisions(row), TAUGHT)
    row = revise(guide(exchange("sam", "i1", 2), "wrong", "Look."), later)
    assert (row["status"], row["correct"], row["rule"]) == ("error", None, "not_asked:earlier_answer")
