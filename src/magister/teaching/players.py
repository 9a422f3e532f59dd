"""Scripted teachers and students whose results are known in closed form.

They read the conversations that the shipped prompts make, in all versions, on questions `What is a + b?` whose
gold they can work out, so that they run through the same rules as any model. They show that the instrument measures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from magister.errors import UserError
from magister.llm import player, uniform
from magister.teaching.options import read_options_block

_SUM = re.compile(r"(-?\d+) \+ (-?\d+)")
_NUMBER = re.compile(r"-?\d+")
_TOLD = re.compile(r"answer is:? (-?\d+)")
# How the versions of the prompts open what a student and a teacher say.
_STUDENT_LINE = re.compile(r"^(?:Student|Learner|Pupil):", re.MULTILINE)
_TEACHER_LINE = re.compile(r"^(?:Teacher|Coach|Tutor):", re.MULTILINE)
STUDENT_MODES = ("reguess", "stubborn", "obedient")
TEACHER_MODES = ("verdict", "always_wrong", "always_right", "teller", "silent")


def _last_sum(messages: list[dict[str, Any]]) -> tuple[str, int]:
    """The question asked last, and its gold."""
    for message in reversed(messages):
        found = list(_SUM.finditer(message["content"]))
        if found and message["role"] == "user":
            return found[-1][0], int(found[-1][1]) + int(found[-1][2])
    raise UserError(
        "scripted players answer only questions with a sum (`What is 12 + 30?`), none found in: "
        f"{messages[-1]['content'][:100]!r}. Use them on a dataset with generator `sums`."
    )


def _mode(args: Mapping[str, Any], allowed: tuple[str, ...], who: str) -> str:
    mode = str(args.get("mode", allowed[0]))
    if mode not in allowed:
        raise UserError(f"{who}: unknown mode {mode!r}; known: {', '.join(allowed)}")
    return mode


def _pick(options: list[str], draw: float) -> str:
    return options[int(draw * len(options))]


def _answer(messages: list[dict[str, Any]], key: str, accuracy: float) -> str:
    """Right with probability `accuracy`, else a wrong option, uniformly."""
    _, gold = _last_sum(messages)
    options = _options(messages)
    wrong = [text for text in options if text != str(gold)]
    if uniform(key, "accuracy") < accuracy or not wrong:
        return f"Answer: {gold}"
    return f"Answer: {_pick(wrong, uniform(key, 'wrong'))}"


def _options(messages: list[dict[str, Any]]) -> list[str]:
    for message in reversed(messages):
        options = read_options_block(message["content"])
        if options and message["role"] == "user":
            return options
    raise UserError(
        "scripted player: no options `A) ...` in the conversation. A student cannot teach: for a teacher set "
        "`script: teacher`."
    )


def _said(text: str, opening: re.Pattern[str]) -> str | None:
    """What follows the last line that opens so."""
    found = list(opening.finditer(text))
    return text[found[-1].end() :] if found else None


@player("student")
def student(messages: list[dict[str, Any]], request_key: str, args: Mapping[str, Any]) -> str:
    """Answer, and revise when a teacher has spoken.

    Args (of the configuration):
        accuracy: probability of a right blind answer (default 0.5).
        mode: `reguess` - told "wrong", picks uniformly among the other options, else stays; `stubborn` -
            always stays; `obedient` - takes an option that the teacher names, else as `reguess`.
    """
    mode = _mode(args, STUDENT_MODES, "student")
    if read_options_block(messages[-1]["content"]):
        return _answer(messages, request_key, float(args.get("accuracy", 0.5)))
    said = _said(messages[-1]["content"], _TEACHER_LINE) or ""
    options = _options(messages)
    last = [match[0] for match in _NUMBER.finditer(messages[-2]["content"])]
    stays = last[-1] if last else options[0]
    told = _TOLD.search(said)
    if mode == "obedient" and told is not None and told[1] in options:
        return f"Answer: {told[1]}"
    if mode != "stubborn" and "wrong" in said:
        return (
            f"Answer: {_pick([text for text in options if text != stays], uniform(request_key, 'reguess'))}"
        )
    return f"Answer: {stays}"


@player("teacher")
def teacher(messages: list[dict[str, Any]], request_key: str, args: Mapping[str, Any]) -> str:
    """Judge and guide; asked with options, answer.

    Args (of the configuration):
        q: probability of a right verdict (default 1).
        accuracy: probability of a right zero-shot answer (default 1).
        mode: `verdict` - a verdict and an empty hint; `always_wrong`, `always_right` - that verdict always;
            `teller` - a right verdict and the answer; `silent` - nothing.
    """
    mode = _mode(args, TEACHER_MODES, "teacher")
    reply = _said(messages[-1]["content"], _STUDENT_LINE)
    if reply is None:
        return _answer(messages, request_key, float(args.get("accuracy", 1.0)))
    if mode == "silent":
        return ""
    _, gold = _last_sum(messages)
    values = [match[0] for match in _NUMBER.finditer(reply)]
    right = bool(values) and values[-1] == str(gold)
    if mode == "always_wrong":
        right = False
    elif mode == "always_right":
        right = True
    elif uniform(request_key, "verdict") >= float(args.get("q", 1.0)):
        right = not right
    verdict = f"Verdict: {'correct' if right else 'wrong'}\nGuidance: "
    return verdict + (f"The answer is {gold}." if mode == "teller" else "Add once more.")
