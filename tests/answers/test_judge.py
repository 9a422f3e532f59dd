"""Judges' replies: JSON by schema, and pairwise verdicts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magister.answers import is_refusal, parse_judge_reply, parse_pairwise

SCHEMA = {"score": "int 1..5", "reason": "str"}
FORMAT = "[[A]]/[[B]]/[[C]] or [[rating]]"
GOOD = {"score": 4, "reason": "clear"}


def test_every_handed_judge_reply_is_read_as_expected(cases):
    for row in cases("extraction/judge_json.jsonl"):
        reply = parse_judge_reply(row["text"], row["schema"])
        assert (reply.status, reply.values or None) == (row["expect_status"], row["expect"]), row


def test_every_handed_pairwise_reply_is_read_as_expected(cases):
    for row in cases("extraction/judge_pairwise.jsonl"):
        pair = parse_pairwise(row["text"], row["format"])
        assert (pair.status, pair.value) == (row["expect_status"], row["expect"]), row


@pytest.mark.parametrize(
    "text",
    [
        'Here is my rating:\n{"score": 4, "reason": "clear"}\nThank you.',
        '~~~\n```\n{"score": 4, "reason": "clear"}\n```',
        "{'score': 4, 'reason': 'clear'}",
        "{score: 4, reason: 'clear'}",
        "{“score”: 4, “reason”: “clear”}",
        '{"score"：4，"reason"："clear"}',
        '{"score": "４", "reason": "clear"}',
        '{"SCORE": 4, "Reason ": "clear"}',
        '{"reason": "clear", "score": 4}',
        '{"score": 4, /* good */ "reason": "clear"}',
        '{"score": 4, "reason": "clear", "extra": {"score": 1}}',
        '{"score": 4, "reason": "clear"} {"score": 4, "reason": "clear"}',
        '{"score": 4, "score": 4, "reason": "clear"}',
        '{"note": "first"} {"score": 4, "reason": "clear"}',
        '{"score": 2}</think>{"score": 4, "reason": "clear"}',
        '[{"score": 4, "reason": "clear"}',
        '{"score": 4e0, "reason": "clear"}',
        '{"reason": "clear", "score": 4',
        'Using {braces} in prose. {"score": 4, "reason": "clear"}',
    ],
)
def test_what_is_meant_is_read(text):
    reply = parse_judge_reply(text, SCHEMA)
    assert (reply.status, reply.values) == ("ok", GOOD)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (None, "no_answer"),
        ("  \n", "no_answer"),
        ("<think>good</think>", "no_answer"),
        ('<think>{"score": 4, "reason": "clear"}', "truncated"),
        ('{"score": 4, "reason": "cle', "truncated"),
        ('{"score": 4,', "truncated"),
        ('{"score": 4', "truncated"),
        ("```json\n{", "truncated"),
        ('{"score": 6, "reason": "clear"}', "invalid"),
        ('{"score": 0, "reason": "clear"}', "invalid"),
        ('{"score": 4.5, "reason": "clear"}', "invalid"),
        ('{"score": "four", "reason": "clear"}', "invalid"),
        ('{"score": [4], "reason": "clear"}', "invalid"),
        ('{"score": Infinity, "reason": "clear"}', "invalid"),
        ('{"score": 4, "reason": null}', "invalid"),
        ('{"score": 4, "reason": 5}', "invalid"),
        ("Score: 4, reason: clear", "invalid"),
        ("I give it a 4.", "invalid"),
        ('{"score": 2, "score": 4, "reason": "clear"}', "ambiguous"),
        ('[{"score": 2, "reason": "a"}, {"score": 4, "reason": "b"}]', "ambiguous"),
        ("抱歉，我无法评分。", "refusal"),
        ("I'm unable to evaluate this response.", "refusal"),
    ],
)
def test_what_is_not_there_is_not_made_up(text, status):
    reply = parse_judge_reply(text, SCHEMA)
    assert (reply.status, reply.values) == (status, {})


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        ("float 0..1", "0.25", 0.25),
        ("number", "3", 3.0),
        ("bool", "True", True),
        ("a|b", '"B"', "b"),
        ("enum: yes|no", '"Yes"', "yes"),
        ("list", '["x", 1]', ["x", 1]),
        ("dict", '{"x": 1.5}', {"x": 1.5}),
        ("int", "-12", -12),
    ],
)
def test_other_types_are_read(kind, written, value):
    assert parse_judge_reply(f'{{"x": {written}}}', {"x": kind}).values == {"x": value}


def test_an_optional_field_may_be_missing():
    assert parse_judge_reply('{"score": 4}', {"score": "int 1..5", "reason": "str?"}).values == {"score": 4}


def test_an_unknown_type_is_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="Unknown type"):
        parse_judge_reply("{}", {"score": "whatever"})


def test_a_number_that_may_go_on_is_truncated():
    assert parse_judge_reply('{"score": 1', {"score": "int 1..10"}).status == "truncated"


@pytest.mark.parametrize(
    ("text", "status", "value"),
    [
        ("[[A]]", "ok", "A"),
        ("**[[B]]**", "ok", "B"),
        ("[[ C ]]", "ok", "tie"),
        ("[[Tie]]", "ok", "tie"),
        ("［［B］］", "ok", "B"),
        ("[[Assistant A]]", "ok", "A"),
        ("[[A>B]]", "ok", "A>B"),
        ("[[B >> A]]", "ok", "B>>A"),
        ("[[A<<B]]", "ok", "B>>A"),
        ("[[A&gt;&gt;B]]", "ok", "A>>B"),
        ("[[A]] it is. Again: [[A]]", "ok", "A"),
        ("<think>[[A]]</think>[[B]]", "ok", "B"),
        ("[[A]] looks good... My final verdict is [[B]]", "ok", "B"),
        ("Output [[A]] if A wins, [[B]] if B wins. Final verdict: [[C]]", "ok", "tie"),
        ("Final verdict: [[A]]. Wait, I misread. Final verdict: [[B]]", "ok", "B"),
        ("最终判断：[[B]]", "ok", "B"),
        ("起初[[A]]更好，最终结论是[[B]]", "ok", "B"),
        ("Final verdict: B", "ok", "B"),
        ("The final verdict is a tie: Final verdict: tie", "ok", "tie"),
        ("Rating: [[3.5]]", "ok", "3.5"),
        ("Rating: 8", "ok", "8"),
        ("Final verdict: [[A]]. Final verdict: [[B]]", "ambiguous", None),
        ("[[A>B]] [[B>A]]", "ambiguous", None),
        ("[[3]] [[4]]", "ambiguous", None),
        ("[[rating]]", "invalid", None),
        ("[[11]]", "invalid", None),
        ("[[8/10]]", "invalid", None),
        ("Rating: 8/10", "invalid", None),
        ("[[D]]", "invalid", None),
        ("Assistant A is better.", "invalid", None),
        ("A", "invalid", None),
        ("", "no_answer", None),
        ("<think>[[A]]", "no_answer", None),
        ("I'm sorry, I cannot compare these.", "no_answer", None),
        (None, "error", None),
        ("$ERROR$\n", "error", None),
    ],
)
def test_a_pairwise_verdict_is_read_or_named(text, status, value):
    pair = parse_pairwise(text, FORMAT)
    assert (pair.status, pair.value) == (status, value)


def test_the_format_says_what_may_be_answered():
    assert parse_pairwise("[[8]]", "[[A]]/[[B]]/[[C]]").status == "invalid"
    assert parse_pairwise("[[A]]", "[[rating]]").status == "invalid"
    assert parse_pairwise("[[85]]", "[[rating]] 0-100").value == "85"


@pytest.mark.parametrize(
    ("text", "refuses"),
    [
        ("I cannot rate this.", True),
        ("I'm sorry, but I can't assist with that request.", True),
        ("As an AI, I cannot judge people.", True),
        ("抱歉，我无法回答这个问题。", True),
        ("Lo siento, no puedo ayudar con eso.", True),
        ("<think>I cannot answer this.</think>Answer: B", False),
        ("Sorry, I made a mistake. The answer is B.", False),
        ("I don't know.", False),
        ("It cannot be determined.", False),
        ("You can't divide by zero.", False),
        ("", False),
    ],
)
def test_a_refusal_is_told_from_not_knowing(text, refuses):
    assert is_refusal(text) is refuses


PIECES = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from(
            [
                '{"score": ',
                "4",
                ', "reason": "',
                '"}',
                "{",
                "}",
                "[",
                "]",
                "[[A]]",
                "[[",
                "]]",
                "null",
                "//",
                "/*",
                "'",
                "\\u12",
                "\\",
            ]
        )
        | st.sampled_from(
            ["<think>", "</think>", "```json", "NaN", "1e999", "9" * 50, "\ud800", "[[9]]", "final verdict"]
        ),
    ),
    max_size=20,
)


@given(PIECES)
@settings(max_examples=400, deadline=None)
def test_any_text_gives_a_status(pieces):
    text = "".join(pieces)
    reply = parse_judge_reply(text, SCHEMA)
    assert reply.status in {"ok", "invalid", "ambiguous", "truncated", "no_answer", "refusal"}
    assert bool(reply.values) == (reply.status == "ok")
    pair = parse_pairwise(text, FORMAT)
    assert (pair.value is not None) == (pair.status == "ok")
