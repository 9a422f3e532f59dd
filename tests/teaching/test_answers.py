"""From items to requests to replies to the table of answers."""

from __future__ import annotations

from typing import Any

import pytest
from teaching_tables import asked_last, item, items, prompt, replies, reply, said, speaker

from magister.contracts.schemas import ANSWERS
from magister.llm import Request
from magister.teaching.answers import answer_requests, parse_answers, read_choice, visible_text


def ask(table: Any, answer_as: str = "text") -> list[Request]:
    return answer_requests(table, speaker("ann"), prompt("answer"), answer_as=answer_as, max_tokens=9)


def read(said_by_model: Any, **changes: Any) -> dict[str, Any]:
    table = items(item(**changes))
    requests = ask(table)
    (row,) = parse_answers(table, requests, replies(requests, [said_by_model]), "ann").to_pylist()
    return row


def test_every_item_is_asked_once_with_its_options() -> None:
    table = items(item("i1"), item("i2", passage="France is a country."))
    requests = ask(table)
    assert len({row["custom_id"] for row in requests}) == 2
    assert "Question: What is the capital of France (i1)?\nA) London\nB) Paris" in asked_last(requests[0])
    assert asked_last(requests[1]).startswith("France is a country.")
    assert requests[0]["body"]["max_tokens"] == 9


def test_the_form_of_the_answer_changes_the_demonstrations_alone() -> None:
    as_text, as_letter = ask(items(item()))[0], ask(items(item()), "letter")[0]
    assert "Answer: eagle" in said(as_text)
    assert "Answer: B) eagle" in said(as_letter)
    assert asked_last(as_text) == asked_last(as_letter)


def test_replies_become_rows_in_the_order_of_the_items() -> None:
    table = items(item("i1"), item("i2"), item("i3"))
    requests = ask(table)
    found = parse_answers(
        table, requests, replies(requests, ["Answer: Paris", "Answer: Rome", "B) Paris"]), "ann"
    )
    assert found.schema == ANSWERS.schema
    rows = found.to_pylist()
    assert [row["item_id"] for row in rows] == ["i1", "i2", "i3"]
    assert [row["answer"] for row in rows] == ["B", "C", "B"]
    assert [row["correct"] for row in rows] == [True, False, True]
    assert [row["request_id"] for row in rows] == [row["custom_id"] for row in requests]
    assert {row["model"] for row in rows} == {"ann"}
    assert (rows[0]["prompt_tokens"], rows[0]["completion_tokens"]) == (5, 3)


def test_the_span_points_at_the_answer() -> None:
    row = read("I think of France. Answer: Paris")
    assert "Paris" in row["text"][row["span_start"] : row["span_end"]]


def test_a_failed_call_is_neither_right_nor_wrong() -> None:
    row = read({"error": "server", "finish": None})
    assert (row["status"], row["rule"], row["correct"], row["error"]) == ("error", "error", None, "server")
    assert row["answer"] is None


def test_a_reply_that_reports_a_failed_call_is_neither_right_nor_wrong() -> None:
    row = read({"text": "$ERROR$"})
    assert (row["status"], row["rule"], row["correct"], row["error"]) == ("error", "call_failed", None, None)


def test_a_prompt_beyond_the_window_is_the_models_failure_and_counted_apart() -> None:
    row = read({"error": "context_length", "finish": None})
    assert (row["status"], row["correct"]) == ("context_exceeded", False)


def test_a_filtered_reply_is_a_refusal_whatever_it_says() -> None:
    row = read({"text": "Answer: Paris", "finish": "content_filter"})
    assert (row["status"], row["answer"], row["correct"]) == ("refusal", None, False)


def test_a_reply_that_was_cut_before_its_answer_is_truncated() -> None:
    row = read({"text": "<think>France is a country in the west of", "finish": "length"})
    assert (row["status"], row["correct"]) == ("truncated", False)


@pytest.mark.parametrize("text", ["", "I like cheese."])
def test_a_reply_without_an_answer_says_so(text: str) -> None:
    row = read(text)
    assert (row["status"], row["answer"], row["correct"]) == ("no_answer", None, False)


def test_an_answer_inside_the_reasoning_does_not_count() -> None:
    assert read("<think>Answer: Paris</think>Answer: Rome")["answer"] == "C"


@pytest.mark.parametrize(
    ("text", "correct"), [("Answer: A, B", True), ("Answer: B", False), ("Answer: A, B, C", False)]
)
def test_several_right_options_are_graded_as_a_set(text: str, correct: bool) -> None:
    row = read(text, key="AB", gold="London; Paris", multi=True)
    assert row["correct"] is correct


def test_an_item_that_is_not_asked_for_is_noticed() -> None:
    table = items(item("i1"), item("i2"))
    requests = ask(table)
    with pytest.raises(ValueError, match="zip"):
        parse_answers(table, requests[:1], replies(requests, ["x", "y"]), "ann")


def test_only_a_reply_is_read() -> None:
    assert reply("k", "text").failed_status is None
    assert reply("k", error="timeout").failed_status == "error"
    assert read_choice(reply("k", error="timeout"), item())["text"] == ""


def test_others_see_a_reply_without_its_reasoning() -> None:
    assert visible_text("<think>It is B.</think>\nAnswer: Paris ") == "Answer: Paris"
    assert visible_text("<think>It never ends") == ""
