"""Long and hostile replies are read in linear time."""

from __future__ import annotations

import time

import pytest

from magister.answers import (
    equal_values,
    extract_choice,
    extract_value,
    find_leak,
    is_refusal,
    parse_judge_reply,
    parse_pairwise,
    parse_verdict,
    scrub_options,
    split_guidance,
    strip_reasoning,
)

NUMBERS = ["30", "36", "42", "48"]
UNITS = [
    "'s",
    "that's ",
    "is is ",
    "not not ",
    "if ",
    "1 1/2 ",
    "a, b, ",
    "the ",
    "the correct final ",
    "A and B ",
    "A, B or C ",
    "I'm sorry ",
    "as an AI ",
    "London, ",
    "$x$ ",
    "\\(",
    "^{",
    "-",
    "0.",
    "A\n",
    "A)\n",
    "Option ",
    "( B ",
    "/* ",
    "[[A",
    "'",
    "\\",
    "'a': ",
    "[1,",
    "{'a':",
    "wait ",
    "错误",
    "没有",
    "three ",
    "1+",
    "x^",
    "sqrt(",
    "Answer: B or ",
    "it is B. ",
    "So B. ",
    "if a, ",
    "answer:",
    "Answer: ",
    "the answer is ",
    "A ",
    "B) ",
    "A, ",
    "A or ",
    "\\boxed{",
    "{",
    "[",
    "[[",
    "(",
    "<think>",
    "</think>",
    "<answer>",
    "Question: ",
    "\nQuestion: a\n",
    "** ",
    "*",
    "_",
    "not ",
    "correct ",
    "wrong, ",
    "no error ",
    "is it correct? ",
    "Verdict: ",
    "option ",
    "答案是",
    "选项A",
    "不对，",
    "36 ",
    "36",
    "1,000",
    "\n",
    " ",
    "\\frac",
    '{"score": ',
    '"',
    "//",
    "/*",
    "=",
    "- ",
    "I cannot ",
    "x=",
    "1/",
    "B is ",
    "If ",
    "</s>",
    "<|im_end|>",
    "A) 30 B) 36 ",
    "30\n36\n",
    "Ａ",
    "。",
    "sorry ",
    "step 3 ",
    ". ",
    "a b ",
    "not correct but ",
    "the final answer of the question ",
    "B) 36 is ",
    "choose ",
    "\x00",
    "A.",
    "$",
    "final verdict [[A]] ",
    "it is 36, ",
]


def _slow_calls(text: str, limit: float) -> dict[str, float]:
    calls = {
        "extract_choice": lambda: extract_choice(text, NUMBERS),
        "extract_value": lambda: extract_value(text),
        "equal_values": lambda: equal_values("36", text),
        "parse_verdict": lambda: parse_verdict(text),
        "split_guidance": lambda: split_guidance(text),
        "strip_reasoning": lambda: strip_reasoning(text),
        "find_leak": lambda: find_leak(text, NUMBERS, "B", "36", ""),
        "scrub_options": lambda: scrub_options(text, NUMBERS),
        "is_refusal": lambda: is_refusal(text),
        "parse_judge_reply": lambda: parse_judge_reply(text, {"score": "int 1..5"}),
        "parse_pairwise": lambda: parse_pairwise(text, "[[A]]/[[B]]"),
    }
    slow = {}
    for name, call in calls.items():
        start = time.process_time()
        call()
        took = time.process_time() - start
        if took > limit:
            slow[name] = took
    return slow


@pytest.mark.parametrize("unit", UNITS)
def test_a_hostile_reply_of_8_000_characters_is_read_at_once(unit):
    assert not _slow_calls((unit * 8_000)[:8_000], limit=1.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["answer:", "A, ", "A or ", "B) ", "correct ", "答案是", "{", "the answer is "]
)
def test_a_hostile_reply_of_100_000_characters_is_read_in_seconds(unit):
    assert not _slow_calls((unit * 100_000)[:100_000], limit=10)


def test_an_ordinary_reply_takes_well_under_a_millisecond():
    text = (
        "Let me work through this step by step. The farm has 6 rows and each row holds"
        " 6 trees, so we multiply the "
        "number of rows by the number of trees in every row. First, 6 * 6 means six gr"
        "oups of six. Adding them up "
        "gives 6, 12, 18, 24, 30, 36. I checked this twice. Option A is too small, and"
        " C would need seven rows. "
        "Since the question asks for the total number of trees, the total is 36.\n\nAnswer: B) 36"
    )
    assert extract_choice(text, NUMBERS).answer == "B"
    best = 1.0
    for _ in range(20):
        start = time.process_time()
        for _ in range(10):
            extract_choice(text, NUMBERS)
        best = min(best, (time.process_time() - start) / 10)
    assert best < 0.002  # 0.4 ms on the machine that this was written on; room for slower ones
