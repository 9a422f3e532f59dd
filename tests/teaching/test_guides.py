"""What teachers read and say, round after round."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
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
    spans,
    speaker,
)

from magister.contracts.schemas import ASKED, GUIDES
from magister.llm import Request
from magister.provenance import conform
from magister.teaching.guides import (
    CONTROLS,
    SHAM,
    Blindness,
    Turn,
    blind_reply,
    control_guides,
    guide_requests,
    histories,
    parse_guides,
)

OPTIONS = ["London", "Paris", "Rome", "Berlin"]
TEACHER = speaker("tea")


def ask(
    turns: list[Turn], blind: Blindness = "strict", may_tell_answer: bool = False, **changes: Any
) -> tuple[Request, dict[str, Any]]:
    requests, asked = guide_requests(
        items(item(**changes)), {("sam", "i1"): turns}, TEACHER, prompt("guide"),
        number=len(turns), blind=blind, may_tell_answer=may_tell_answer, max_tokens=9,
    )  # fmt: skip
    return requests[0], asked.to_pylist()[0]


def read(said_by_teacher: Any, **changes: Any) -> dict[str, Any]:
    table = items(item(**changes))
    requests, asked = guide_requests(
        table, {("sam", "i1"): [Turn("Answer: Rome")]}, TEACHER, prompt("guide"),
        number=1, blind="strict", may_tell_answer=False, max_tokens=9,
    )  # fmt: skip
    (row,) = parse_guides(table, asked, replies(requests, [said_by_teacher])).to_pylist()
    return row


# Histories


def test_a_history_grows_by_a_reply_and_what_was_said_to_it() -> None:
    blind = answers(answer("sam", "i1", "Answer: London"))
    first = guides(guide(exchange("sam", "i1", 1), "wrong", "Not that one."))
    second = guides(guide(exchange("sam", "i1", 2), "none", "Hm."))
    revised = revisions(revision(exchange("sam", "i1", 1), "Answer: Rome"))
    again = revisions(revision(exchange("sam", "i1", 2), "Answer: Paris"))
    assert histories([blind], [], "taught", "tea") == {("sam", "i1"): [Turn("Answer: London")]}
    assert histories([blind, revised, again], [first, second], "taught", "tea")["sam", "i1"] == [
        Turn("Answer: London", "wrong", "Not that one."),
        Turn("Answer: Rome", "none", "Hm."),
        Turn("Answer: Paris"),
    ]


def test_the_order_of_the_tables_does_not_matter() -> None:
    blind = answers(answer("sam", "i1", "Answer: London"))
    revised = [revisions(revision(exchange("sam", "i1", n), f"Answer: {OPTIONS[n]}")) for n in (1, 2)]
    told = [guides(guide(exchange("sam", "i1", n), "wrong", str(n))) for n in (1, 2)]
    assert histories([blind, *revised], told, "taught", "tea") == histories(
        [*reversed(revised), blind], told[::-1], "taught", "tea"
    )


def test_a_teacher_reads_nothing_of_other_teachers_and_arms() -> None:
    blind = answers(answer("sam", "i1", "Answer: London"))
    others = [exchange("sam", "i1", 1, teacher="tom"), exchange("sam", "i1", 1, teacher="sham", arm="sham")]
    revised = revisions(*[revision(place, "Answer: Rome") for place in others])
    told = guides(*[guide(place, "wrong", "Secret.") for place in others])
    assert histories([blind, revised], [told], "taught", "tea") == {("sam", "i1"): [Turn("Answer: London")]}


def test_the_reasoning_of_a_student_is_not_part_of_the_history() -> None:
    blind = answers(answer("sam", "i1", "<think>B is Paris, so</think>Answer: Paris"))
    assert histories([blind], [], "taught", "tea")["sam", "i1"] == [Turn("Answer: Paris")]


# Requests


@pytest.mark.parametrize("blind", ["strict", "paper"])
def test_a_blind_teacher_is_never_shown_the_options(blind: Blindness) -> None:
    request, _ = ask([Turn("Answer: Rome")], blind)
    assert asked_last(request) == "Question: What is the capital of France (i1)?\nStudent: Answer: Rome"


def test_a_teacher_who_may_see_is_shown_the_options() -> None:
    assert "A) London\nB) Paris\nC) Rome\nD) Berlin" in asked_last(ask([Turn("Answer: Rome")], "off")[0])


def test_strict_blindness_takes_letters_out_and_records_where() -> None:
    text = "Answer: C) Rome"
    request, row = ask([Turn(text)])
    assert asked_last(request).endswith("Student: Answer: Rome")
    (span,) = spans(row)
    assert (span["round"], span["kind"], text[span["start"] : span["end"]]) == (0, "letter", "C) ")


def test_strict_blindness_takes_restated_lists_out_of_every_round() -> None:
    listed = "A) London\nB) Paris\nC) Rome\nD) Berlin\nAnswer: Rome"
    request, row = ask([Turn(listed, "wrong", "Think."), Turn("I take option B.")])
    last = asked_last(request)
    assert not any(option in last for option in ("London", "Berlin"))
    assert "Student: " in last
    assert "Teacher: Your answer is wrong. Think." in last
    assert "option B" not in last
    assert [span["round"] for span in spans(row)] == [0, 1]


@pytest.mark.parametrize("blind", ["paper", "off"])
def test_the_papers_blindness_passes_replies_on_as_they_are(blind: Blindness) -> None:
    request, row = ask([Turn("Answer: C) Rome, not option B")], blind)
    assert asked_last(request).endswith("Student: Answer: C) Rome, not option B")
    assert row["scrubbed"] is None


LETTER = re.compile(r"(?<![A-Za-z0-9])[A-D]\)")
FORMULA = re.compile(r"(?<![A-Za-z])[A-Za-z]\([^()\n]*\)|\([^()\n]*[A-Za-z0-9]\s?[-+*/^=]\s?[A-D]\)")
REPLY = st.lists(
    st.sampled_from(
        [
            *OPTIONS,
            "A)",
            "B)",
            "C)",
            "D)",
            "(B)",
            "option",
            "A",
            "B",
            "Answer:",
            "or",
            "and",
            "\n",
            ", ",
            ". ",
            "I",
        ]
    )
    | st.text(max_size=5),
    max_size=14,
).map(" ".join)


@settings(max_examples=60, deadline=None)
@example(["London A) \n London"])
@given(st.lists(REPLY, min_size=1, max_size=3))
def test_no_strict_request_holds_an_option_letter_whatever_students_reply(texts: list[str]) -> None:
    request, _ = ask([Turn(text, "wrong", "Hm.") for text in texts[:-1]] + [Turn(texts[-1])])
    assert not LETTER.search(FORMULA.sub("", asked_last(request)))


@settings(max_examples=60, deadline=None)
@given(REPLY)
def test_what_is_left_and_what_was_removed_make_the_reply(text: str) -> None:
    left, removed = blind_reply(text, OPTIONS, "strict")
    rest, position = "", 0
    for start, end, _ in removed:
        rest, position = rest + text[position:start], end
    assert rest + text[position:] == left


def test_the_prompt_says_whether_the_answer_may_be_told() -> None:
    assert "does not tell the answer" in said(ask([Turn("x")])[0])
    assert "does not tell the answer" not in said(ask([Turn("x")], may_tell_answer=True)[0])


def test_each_cell_knows_its_request() -> None:
    history = {(student, name): [Turn("Answer: Rome")] for student in ("zoe", "sam") for name in ("i2", "i1")}
    requests, asked = guide_requests(
        items(item("i1"), item("i2")), history, TEACHER, prompt("guide"),
        number=1, blind="strict", may_tell_answer=False, max_tokens=9,
    )  # fmt: skip
    assert asked.schema == ASKED.schema
    rows = asked.to_pylist()
    assert [(row["student"], row["item_id"]) for row in rows] == sorted(history)
    assert [row["request_id"] for row in rows] == [row["custom_id"] for row in requests]
    # Two students with the same reply are the same question.
    assert len({row["request_id"] for row in rows}) == 2


# Replies


@pytest.mark.parametrize(
    ("text", "verdict", "guidance"),
    [
        ("Verdict: wrong\nGuidance: Which river runs there?", "wrong", "Which river runs there?"),
        ("Verdict: correct\nGuidance: Well done.", "correct", "Well done."),
        ("Incorrect. Think of the Seine.", "wrong", "Think of the Seine."),
        ("Which river runs there?", "none", "Which river runs there?"),
        ("Verdict: wrong", "wrong", ""),
    ],
)
def test_a_reply_is_taken_apart_into_verdict_and_guidance(text: str, verdict: str, guidance: str) -> None:
    row = read(text)
    assert (row["status"], row["verdict"], row["guidance"]) == ("ok", verdict, guidance)
    assert row["text"] == text


def test_a_failed_call_gives_no_verdict_and_no_guidance() -> None:
    row = read({"error": "timeout", "finish": None})
    assert (row["status"], row["verdict"], row["guidance"], row["error"]) == ("error", "none", "", "timeout")


def test_a_history_beyond_the_window_is_counted_apart() -> None:
    row = read({"error": "context_length", "finish": None})
    assert (row["status"], row["verdict"], row["guidance"]) == ("context_exceeded", "none", "")


def test_a_cut_reply_keeps_what_it_says_and_is_truncated() -> None:
    row = read({"text": "Verdict: wrong\nGuidance: Think of the", "finish": "length"})
    assert (row["status"], row["verdict"], row["guidance"]) == ("truncated", "wrong", "Think of the")


def test_reasoning_that_never_ends_reaches_no_student() -> None:
    row = read({"text": "Hello. <think>The answer is Paris", "finish": "length"})
    assert (row["status"], row["verdict"], row["guidance"]) == ("truncated", "none", "")


def test_reasoning_before_the_reply_reaches_no_student() -> None:
    row = read("It must be Paris.</think>Verdict: wrong\nGuidance: Think of the Seine.")
    assert (row["verdict"], row["guidance"], row["leak"]) == ("wrong", "Think of the Seine.", "none")


def test_a_filtered_reply_and_a_refusal_are_refusals() -> None:
    assert read({"text": "", "finish": "content_filter"})["status"] == "refusal"
    assert read("I'm sorry, but I can't help with that.")["status"] == "refusal"


def test_nothing_of_a_filtered_reply_reaches_the_student() -> None:
    row = read({"text": "Verdict: wrong\nGuidance: It is Paris.", "finish": "content_filter"})
    assert (row["verdict"], row["guidance"], row["leak"]) == ("none", "", "none")


def test_silence_is_no_answer_and_no_verdict() -> None:
    row = read("")
    assert (row["status"], row["verdict"], row["guidance"]) == ("no_answer", "none", "")


# Leaks


@pytest.mark.parametrize(
    ("guidance", "leak"),
    [
        ("It is Paris.", "gold"),
        ("Take option B.", "gold"),
        ("It is not Rome.", "option"),
        ("Think of the Seine.", "none"),
    ],
)
def test_guidance_that_states_an_option_is_a_leak(guidance: str, leak: str) -> None:
    row = read(f"Verdict: wrong\nGuidance: {guidance}")
    assert row["leak"] == leak
    for start, end, _ in json.loads(row["leak_spans"] or "[]"):
        assert row["guidance"][start:end].strip(" .")


def test_what_the_question_says_gives_nothing_away() -> None:
    question = "Which is further north, Paris or Rome?"
    row = read("Verdict: wrong\nGuidance: Compare Paris with Rome.", question=question)
    assert (row["leak"], row["leak_spans"]) == ("none", None)


# Control arms


def test_control_arms_say_the_same_to_everybody() -> None:
    table = items(item("i1"), item("i2", key="A", gold="London"))
    found = conform(control_guides(table, ["sam", "zoe"], list(CONTROLS), 2, seed=1), GUIDES)
    rows = found.to_pylist()
    assert len(rows) == len(CONTROLS) * 4
    assert {row["round"] for row in rows} == {2}
    assert all(row["teacher"] == row["arm"] and row["request_id"] is None for row in rows)
    assert {(row["status"], row["verdict"]) for row in rows} == {("ok", "none")}
    said_to = {(row["arm"], row["item_id"], row["student"]): row["guidance"] for row in rows}
    assert said_to["sham", "i1", "sam"] == said_to["sham", "i2", "zoe"] == SHAM
    assert said_to["self_revise", "i1", "sam"] == ""
    assert said_to["oracle_tell", "i1", "sam"] == "The right answer is: Paris"
    assert said_to["oracle_tell", "i2", "zoe"] == "The right answer is: London"


@given(st.integers(0, 50))
def test_the_wrong_oracle_tells_a_wrong_option_and_always_the_same(seed: int) -> None:
    rows = control_guides(items(item()), ["sam", "zoe"], ["wrong_oracle"], 1, seed).to_pylist()
    assert len({row["guidance"] for row in rows}) == 1
    assert rows[0]["guidance"].removeprefix("The right answer is: ") in {"London", "Rome", "Berlin"}
    assert rows[0]["leak"] == "option"


def test_the_oracle_tells_all_right_options_and_leaks() -> None:
    row = control_guides(
        items(item(key="AB", gold="London; Paris", multi=True)), ["sam"], ["oracle_tell"], 1, 0
    )
    assert row["guidance"].to_pylist() == ["The right answer is: London; Paris"]
    assert row["leak"].to_pylist() == ["gold"]
