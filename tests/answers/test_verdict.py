"""A teacher's verdict, and the guidance that is left without it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verdict_cases import SHORT, VERDICTS

from magister.answers import VERDICT_RULES, parse_verdict, split_guidance, strip_reasoning

RULES = {rule.id for rule in VERDICT_RULES}


def test_every_handed_verdict_is_read_as_expected(cases):
    wrong = []
    for row in cases("extraction/teacher_verdicts.jsonl"):
        verdict = parse_verdict(row["text"])
        if verdict.verdict != row["expect"]:
            wrong.append((row["id"], verdict))
    assert not wrong


@pytest.mark.parametrize(("text", "expected"), [pytest.param(*row[1:], id=row[0]) for row in VERDICTS])
def test_a_verdict_is_read(text, expected):
    verdict = parse_verdict(text)
    assert verdict.verdict == expected, verdict


@pytest.mark.parametrize(("text", "expected"), SHORT)
def test_forms_of_short_verdicts(text, expected):
    assert parse_verdict(text).verdict == expected


def test_incorrect_is_not_read_as_correct():
    assert parse_verdict("Correctness of the latest solution: Incorrect").verdict == "wrong"


def test_no_text_is_no_verdict():
    assert parse_verdict(None).verdict == "none"


@given(
    st.sampled_from(
        ["Verdict: {}", "**Verdict:** **{}**", "Correctness of the latest solution: {}\nGo on.", "{}", "{}!"]
    ),
    st.sampled_from(
        [("Correct", "correct"), ("Incorrect", "wrong"), ("WRONG", "wrong"), ("not correct", "wrong")]
    ),
    st.sampled_from(["{}", "<think>Correct? Wrong?</think>\n{}", "It is correct.</think>{}", "  {}\n"]),
)
@settings(deadline=None)
def test_form_and_reasoning_do_not_change_a_verdict(form, word, wrap):
    assert parse_verdict(wrap.format(form.format(word[0]))).verdict == word[1]


PIECES = st.lists(
    st.one_of(
        st.text(max_size=10),
        st.sampled_from(
            [
                "Verdict:",
                " wrong",
                "correct",
                "not ",
                ". ",
                "\n",
                '{"verdict": ',
                '"',
                "<think>",
                "</think>",
                "错误",
                "没有",
                "?",
                "if ",
                "error",
                "**",
                "Correctness: ",
                "}",
                "\ud800",
                "```",
            ]
        ),
    ),
    max_size=20,
)


@given(PIECES)
@settings(max_examples=300, deadline=None)
def test_any_text_gives_a_verdict_and_a_valid_span(pieces):
    text = "".join(pieces)
    verdict = parse_verdict(text)
    assert verdict.rule in RULES
    if verdict.span is not None:
        assert 0 <= verdict.span[0] <= verdict.span[1] <= len(text)
    guidance = split_guidance(text)
    assert guidance.verdict == verdict.verdict
    assert "think>" not in guidance.guidance or "think>" in strip_reasoning(text).text


@pytest.mark.parametrize(
    ("text", "status", "verdict", "guidance"),
    [
        ("Correctness of the latest solution: Wrong\nLook at the sign.", "ok", "wrong", "Look at the sign."),
        ("**Correctness of the latest solution:** **Wrong**\nLook.", "ok", "wrong", "Look."),
        ("Verdict: Wrong. Check the sign.", "ok", "wrong", "Check the sign."),
        ("## Verdict\n\nIncorrect\n\n## Guidance\nCheck step 2.", "ok", "wrong", "Check step 2."),
        ("Verdict: correct\n\n**Guidance:** Shorten step 2.", "ok", "correct", "Shorten step 2."),
        ("WRONG! Try again.", "ok", "wrong", "Try again."),
        ("Correct", "ok", "correct", ""),
        ("Nope, try again.", "ok", "wrong", "try again."),
        ("You got it!", "ok", "correct", ""),
        ("Right, let's look at step 2 again.", "ok", "none", "Right, let's look at step 2 again."),
        ("对的，继续", "ok", "correct", "继续"),
        ("Verdict: Unclear\nWhat is 5*6?", "ok", "none", "What is 5*6?"),
        ("What is 5*6?", "ok", "none", "What is 5*6?"),
        ("You made an error in line 3.", "ok", "wrong", "You made an error in line 3."),
        ("判断：错误。请重新检查二月的天数。", "ok", "wrong", "请重新检查二月的天数。"),
        ('{"verdict": "wrong", "guidance": "Check the base case."}', "ok", "wrong", "Check the base case."),
        ('```json\n{"verdict": "correct", "feedback": "Good"}\n```', "ok", "correct", "Good"),
        ("<think>It is 36.</think>Verdict: wrong\nAdd again.", "ok", "wrong", "Add again."),
        ("It is 36.</think>Verdict: wrong\nAdd again.", "ok", "wrong", "Add again."),
        ("Verdict: wrong\n<think>It is 36.</think>\nAdd again.", "ok", "wrong", "Add again."),
        ("Verdict: wrong\nAdd.<think>It is 36.", "truncated", "none", ""),
        ("<think>It is 36.", "truncated", "none", ""),
        ("<think>It is 36.</think>", "no_answer", "none", ""),
        ("", "no_answer", "none", ""),
        (None, "no_answer", "none", ""),
        ("I'm sorry, but I can't help with that.", "refusal", "none", ""),
        ("Add again.<|im_end|>\n<|im_start|>user\nThanks", "ok", "none", "Add again."),
    ],
)
def test_guidance_holds_neither_reasoning_nor_the_verdict_line(text, status, verdict, guidance):
    split = split_guidance(text)
    assert (split.status, split.verdict, split.guidance) == (status, verdict, guidance)


@pytest.mark.parametrize(
    ("text", "visible", "reasoning", "status"),
    [
        ("plain", "plain", "", "ok"),
        (None, "", "", "ok"),
        ("<think>a</think>b", "b", "a", "ok"),
        ("a</think>b", "b", "a", "ok"),
        ("<think>a", "", "a", "truncated"),
        ("b<think>a", "", "a", "truncated"),
        ("<think>a</think>b<think>c</think>d", "b\nd", "a\nc", "ok"),
        ("<think>a<think>b</think>c</think>d", "d", "a<think>b</think>c", "ok"),
        ("<think>\n<think>a</think>b", "b", "<think>a", "ok"),
        ("<think>a</think>b</think>c", "c", "a\nb", "ok"),
        ("<thinking>a</thinking>b", "b", "a", "ok"),
        ("<reasoning>a</reasoning>b", "b", "a", "ok"),
        ("<THINK>a</THINK>b", "b", "a", "ok"),
        ("◁think▷a◁/think▷b", "b", "a", "ok"),
        ("[THINK]a[/THINK]b", "b", "a", "ok"),
        ("<思考>a</思考>b", "b", "a", "ok"),
        ("【思考】a【/思考】b", "b", "a", "ok"),
        ("<|begin_of_thought|>a<|end_of_thought|>b", "b", "a", "ok"),
        ("&lt;think&gt;a&lt;/think&gt;b", "b", "a", "ok"),
        (
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b",
            "b",
            "a",
            "ok",
        ),
    ],
)
def test_reasoning_is_taken_out(text, visible, reasoning, status):
    stripped = strip_reasoning(text)
    assert (stripped.text, stripped.reasoning, stripped.status) == (visible, reasoning, status)


@given(PIECES)
@settings(deadline=None)
def test_stripping_twice_changes_nothing_more(pieces):
    once = strip_reasoning("".join(pieces))
    if once.status == "ok" and "think" not in once.text:
        assert strip_reasoning(once.text).text == once.text
