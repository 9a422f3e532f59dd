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
SIZE = 100_000
UNITS = [
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


@pytest.mark.parametrize("unit", UNITS)
def test_a_hostile_reply_of_100_000_characters_is_read_in_seconds(unit):
    text = (unit * (SIZE // len(unit) + 1))[:SIZE]
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
        if took > 6:
            slow[name] = took
    assert not slow
