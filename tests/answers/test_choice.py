"""What a reply to a multiple-choice item is read as."""

from __future__ import annotations

import pytest
from choice_cases import CITIES, MULTI, NUMBERS, OK_B, OTHERS, SHORT
from choice_hedge_cases import OTHERS as HEDGED_OTHERS
from choice_hedge_cases import SHORT as HEDGED_SHORT
from hypothesis import given, settings
from hypothesis import strategies as st

from magister.answers import CHOICE_RULES, extract_choice

RULES = {rule.id for rule in CHOICE_RULES}


def test_every_handed_reply_is_read_as_expected(cases):
    wrong = []
    for row in cases("extraction/mcq_extraction.jsonl"):
        choice = extract_choice(row["text"], row["options"], row["finish_reason"])
        if (choice.status, choice.answer) != (row["expect_status"], row["expect_answer"]):
            wrong.append((row["id"], choice))
    assert not wrong


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in OK_B])
def test_a_clear_commitment_is_read(text):
    choice = extract_choice(text, NUMBERS, "stop")
    assert (choice.status, choice.answer) == ("ok", "B"), choice


@pytest.mark.parametrize(
    ("options", "text", "status", "answer"),
    [pytest.param(*row[1:], id=row[0]) for row in (*OTHERS, *HEDGED_OTHERS)],
)
def test_other_replies_are_never_guessed(options, text, status, answer):
    choice = extract_choice(text, options, "stop")
    assert (choice.status, choice.answer) == (status, answer), choice


@pytest.mark.parametrize(
    ("options", "text", "status", "answer"), [pytest.param(*row[1:], id=row[0]) for row in MULTI]
)
def test_several_letters_are_read_where_several_may_be_right(options, text, status, answer):
    choice = extract_choice(text, options, "stop", multi=True)
    assert (choice.status, choice.answer) == (status, answer), choice


@pytest.mark.parametrize(("text", "expected"), [*SHORT, *HEDGED_SHORT])
def test_forms_of_short_replies(text, expected):
    choice = extract_choice(text, NUMBERS, "stop")
    assert (choice.status, choice.answer) == expected, choice


def test_the_span_points_at_the_committed_answer():
    text = "<think>A?</think>\n**Answer:** `B`\n"
    choice = extract_choice(text, NUMBERS)
    assert choice.span is not None
    assert text[slice(*choice.span)] == "B"


def test_the_span_survives_full_width_characters():
    text = "答案：Ｂ"
    choice = extract_choice(text, NUMBERS)
    assert choice.span is not None
    assert text[slice(*choice.span)] == "Ｂ"


def test_the_span_of_a_recited_example_counts_from_the_start_of_the_reply():
    text = "Well.\nExample: six rows of six are 36"
    choice = extract_choice(text, NUMBERS)
    assert choice.span is not None
    assert text[slice(*choice.span)] == "36"


def test_letter_and_contradicting_text_are_not_scored_by_the_letter():
    choice = extract_choice("Answer: B) 42", NUMBERS)
    assert (choice.status, choice.rule) == ("ambiguous", "letter_text_conflict")


@pytest.mark.parametrize(
    ("text", "finish_reason", "status"),
    [
        (None, None, "error"),
        (None, "error", "error"),
        (None, "stop", "no_answer"),
        (None, "length", "truncated"),
        (None, "content_filter", "refusal"),
        ("", "length", "truncated"),
        ("<think>The answer is B", "length", "truncated"),
        ("Let us count: 6, 12, 18 and then it is 30", "length", "truncated"),
        ("A) 30\nB) 36\nC)", "length", "truncated"),
        ("The answer is 3", "length", "truncated"),
    ],
)
def test_a_reply_that_was_cut_or_failed_is_named(text, finish_reason, status):
    choice = extract_choice(text, NUMBERS, finish_reason)
    assert (choice.status, choice.answer) == (status, None)


def test_an_answer_before_the_length_limit_counts():
    text = "Answer: B) 36\n\nQuestion: What is 7*7?\nAnswer: C) 49\n\nQuestion: Wh"
    assert extract_choice(text, NUMBERS, "length").answer == "B"


def test_rule_ids_are_unique_and_described():
    assert len(RULES) == len(CHOICE_RULES)
    assert all(rule.description for rule in CHOICE_RULES)


PROSE = (
    "A I a the farmer counts trees in every row and then I think that it was a long day of work so we "
    "stop to rest option choice question answer maybe B-tree vitamin plan"
)
WORDS = st.sampled_from(PROSE.split())


@given(st.lists(WORDS, max_size=40), st.sampled_from([" ", "  "]))
@settings(max_examples=200, deadline=None)
def test_prose_without_a_commitment_yields_no_letter(words, gap):
    text = gap.join([*words, "today."])
    choice = extract_choice(text, CITIES)
    # "option A" does name a letter; prose without such words never does
    if not {"answer", "option", "choice"} & set(words):
        assert choice.answer is None, (text, choice)


CLEAR = st.sampled_from(
    ["Answer: B", "The answer is B.", "Answer: B) 36", "\\boxed{B}", "B", "(B)", "答案：B", "Answer: 36"]
)
WRAP = st.sampled_from(
    [
        "{}",
        "**{}**",
        "  {}\n\n",
        "<think>It is A. Answer: C</think>{}",
        "\ufeff{}",
        "{}</s>",
        "<b>{}</b>",
        "\r\n{}\r\n",
        "Maybe C?</think>\n\n{}",
        "> {}",
        "`{}`",
        "__{}__",
        "<p>{}</p>",
        "{}<|im_end|>",
    ]
)


@given(CLEAR, st.lists(WRAP, max_size=3))
@settings(max_examples=300, deadline=None)
def test_markup_and_reasoning_around_a_clear_answer_change_nothing(text, wraps):
    for wrap in wraps:
        text = wrap.format(text)
    choice = extract_choice(text, NUMBERS)
    assert (choice.status, choice.answer) == ("ok", "B"), (text, choice)


PIECES = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(
            [
                "Answer: ",
                "A",
                "B) 36",
                "<think>",
                "</think>",
                "\\boxed{",
                "}",
                "答案是",
                "or",
                "not",
                "$",
                "\n",
                "30",
                "Question: ",
                "<|im_end|>",
                '{"answer":',
                '"',
                "[",
                "I ",
                "is correct",
                "option ",
                "\x00",
                "\ud800",
                "ﬁ",
                "½",
                "**",
                "Ответ: В",
            ]
        ),
    ),
    max_size=25,
)


@given(PIECES, st.sampled_from([None, "stop", "length"]), st.booleans())
@settings(max_examples=400, deadline=None)
def test_any_text_gives_a_named_outcome_with_a_valid_span(pieces, finish_reason, multi):
    text = "".join(pieces)
    choice = extract_choice(text, NUMBERS, finish_reason, multi)
    assert choice.rule in RULES
    assert (choice.answer is not None) == (choice.status == "ok")
    if choice.span is not None:
        assert 0 <= choice.span[0] <= choice.span[1] <= len(text)
