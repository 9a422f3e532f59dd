"""Scripted teachers, students, judges and writers of rubrics with results in closed form.

They read the conversations that the shipped prompts make. A teacher's quality is the share of its turns that ask a
question; a judge measures just that, unless the metric's text says otherwise. They show that a flawed metric is found,
repaired and, where a repair makes it worse, rolled back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from magister.errors import UserError
from magister.llm import player, uniform

LENIENT, STRICT, VAGUE = "at all", "without a single flaw", "in general"
"""What a metric's description says that gives everybody the highest, the lowest or the middle score."""
HARSH = "in nearly every sentence"
"""What it says that takes two off every measured score: too strict, and still telling the best from the others."""
COUNTED = "asks a question, counted over its turns"
"""What a sound description says."""
_FLAWS = {"lenient": LENIENT, "strict": STRICT, "vague": VAGUE, "harsh": HARSH}
CLOSED = "(closed)"
"""In a task: no teacher asks anything on it."""
_QUESTION = re.compile(r"[?？]")


def _told(messages: list[dict[str, Any]]) -> tuple[str, str]:
    """The system message and the last one."""
    system = next((str(one["content"]) for one in messages if one["role"] == "system"), "")
    return system, str(messages[-1]["content"])


def _lines(text: str) -> list[dict[str, Any]]:
    """JSON objects that stand on a line of their own."""
    found = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                found.append(value)
    return found


@player("rubric_teacher")
def rubric_teacher(messages: list[dict[str, Any]], request_key: str, args: Mapping[str, Any]) -> str:
    """Teach: ask a question in some turns, tell in the others.

    Args (of the configuration):
        quality: chance of a question in a turn, drawn by task and turn (default 0.5).
        turns: after so many turns of its own it ends the lesson (default 4).
        end: how it says so (default `<end>`).
        salt: tells teachers apart that are otherwise equal.
    """
    del request_key
    told = "\n".join(str(one["content"]) for one in messages if one["role"] != "assistant")
    number = sum(one["role"] == "assistant" for one in messages) + 1
    # The first message of the other side says what the task is, in every turn the same.
    task = next((str(one["content"]) for one in messages if one["role"] == "user"), told)
    asks = uniform(task, number, str(args.get("salt", ""))) < float(args.get("quality", 0.5))
    text = f"Step {number}: what would you try next?" if asks else f"Step {number}: this is how it is done."
    if CLOSED in told:
        text = f"Step {number}: this is how it is done."
    ends = number >= int(args.get("turns", 4))
    return f"{text} {args.get('end', '<end>')}" if ends else text


@player("rubric_student")
def rubric_student(messages: list[dict[str, Any]], request_key: str, args: Mapping[str, Any]) -> str:
    """Listen, and say so.

    Args (of the configuration):
        text: what it says (default `I see.`).
    """
    del messages, request_key
    return str(args.get("text", "I see."))


@player("rubric_judge")
def rubric_judge(messages: list[dict[str, Any]], request_key: str, args: Mapping[str, Any]) -> str:
    """Score a dialogue by the share of the teacher's turns that ask a question.

    The score is low + round(share * (high - low)); a description with one of the flaws above gives all dialogues one
    score.

    Args (of the configuration):
        shift: added to every measured score, within the scale (default 0).
        noise: chance that a measured score is one off, either way, drawn for each request and metric (default 0).
        broken: chance of a reply out of form, which can be put into it (default 0).
        mute: chance of a reply that says no score (default 0).
    """
    system, content = _told(messages)
    if system.startswith("You put scores into a fixed form"):
        return _mended(content)
    asked = re.search(r'the speaker "(?P<who>.+)" does', system)
    bounds = re.search(r"from (?P<low>-?\d+) to (?P<high>-?\d+)", system)
    if asked is None or bounds is None or "<dialogue>" not in content:
        raise UserError(
            "rubric_judge: expected the conversation of `prompts/judge_rubric/v1.md`, found: " + content[:100]
        )
    low, high = int(bounds["low"]), int(bounds["high"])
    criteria = _lines(content.split("</criteria>", 1)[0])
    shown = content.rsplit("<dialogue>\n", 1)[1].rsplit("\n</dialogue>", 1)[0]
    own = [turn["text"] for turn in _lines(shown) if turn["speaker"] == asked["who"]]
    share = sum(_QUESTION.search(text) is not None for text in own) / len(own) if own else 0.0
    scores = {one["id"]: _level(one, share, low, high, request_key, args) for one in criteria}
    if uniform(request_key, "mute") < float(args.get("mute", 0)):
        return "It is hard to say."
    if uniform(request_key, "broken") < float(args.get("broken", 0)):
        return "My scores: " + "; ".join(f"{name} = {score}" for name, score in scores.items())
    form = json.loads(system.splitlines()[-1])
    reasons = '"reason"' in system.splitlines()[-1]
    why = f"{share:.0%} of {len(own)} turns ask a question"
    made = {name: {"reason": why, "score": score} if reasons else score for name, score in scores.items()}
    if "score" in form:
        (only,) = made.values()
        return json.dumps(only if reasons else {"score": only})
    return json.dumps(made)


def _level(
    criterion: Mapping[str, Any], share: float, low: int, high: int, key: str, args: Mapping[str, Any]
) -> int:
    text = str(criterion["scores"])
    for flaw, score in ((LENIENT, high), (STRICT, low), (VAGUE, (low + high) // 2)):
        if flaw in text:
            return score
    # Halves go up, whatever the number: Python's own rounding would not.
    score = low + int(share * (high - low) + 0.5) + int(args.get("shift", 0)) - 2 * (HARSH in text)
    draw = uniform(key, "noise", str(criterion["id"]))
    noise = float(args.get("noise", 0))
    score += (draw < noise / 2) - (noise / 2 <= draw < noise)
    return max(low, min(high, score))


def _mended(content: str) -> str:
    """The object that a reply out of form stands for."""
    form = json.loads(next(line for line in content.splitlines() if line.startswith("{")))
    given = {name: int(score) for name, score in re.findall(r"(\w+) = (-?\d+)", content)}
    if "score" in form:
        score = next(iter(given.values()), None)
        return json.dumps({"reason": "as said", "score": score} if "reason" in form else {"score": score})
    nested = any(isinstance(value, dict) for value in form.values())
    return json.dumps(
        {
            name: {"reason": "as said", "score": given.get(name)} if nested else given.get(name)
            for name in form
        }
    )


@player("rubric_writer")
def rubric_writer(messages: list[dict[str, Any]], request_key: str, args: Mapping[str, Any]) -> str:
    """Write first metrics, write metrics anew, write tasks anew.

    Args (of the configuration):
        <dimension>: flaw of the first metric of a dimension: `lenient`, `strict`, `vague` or `harsh`; sound by default.
        worsen: chance that a metric written anew is vague instead of sound, drawn for each request (default 0).
        invalid: chance of a reply that is not in form (default 0).
        salt: tells writers apart that are otherwise equal.
    """
    system, content = _told(messages)
    if uniform(request_key, "invalid") < float(args.get("invalid", 0)):
        return '{"name": "half a metric"}'
    found = _lines(content)
    if system.startswith("You write criteria"):
        count = int((re.search(r"^Write (\d+) criteri", content, re.MULTILINE) or ["", "1"])[1])
        dim = str(found[1]["id"])
        flaw = _FLAWS.get(str(args.get(dim, "")), COUNTED)
        texts = [flaw, *[COUNTED] * (count - 1)]
        return json.dumps(
            {"metrics": [_metric(f"{dim} {at}", text) for at, text in enumerate(texts, start=1)]}
        )
    if system.startswith("You repair criteria"):
        metric = next(one for one in found if "scores" in one)
        worse = uniform(request_key, "worsen") < float(args.get("worsen", 0))
        return json.dumps(_metric(str(metric["name"]), VAGUE if worse else COUNTED))
    if system.startswith("You write tasks"):
        # The scenario's line comes first, then the task that all teachers got one score on.
        return json.dumps({name: str(value).replace(CLOSED, "(open)") for name, value in found[1].items()})
    raise UserError(
        "rubric_writer: expected the conversation of `prompts/initial_metrics`, `prompts/refine_metric` or "
        f"`prompts/regenerate_task`, found: {content[:100]}"
    )


def _metric(name: str, text: str) -> dict[str, Any]:
    levels = ("no turn", "few turns", "half of the turns", "most turns", "every turn")
    return {
        "name": name,
        "desc": f"How the teacher of {name} guides: {text}.",
        "pos_ex": ["What would you try next?"],
        "neg_ex": ["This is how it is done."],
        "anchors": {str(score): f"asks in {level}" for score, level in enumerate(levels, start=1)},
    }
