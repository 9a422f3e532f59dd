"""Scripted responders and judges with results in closed form.

They read instructions with a sum (`What is 12 + 30?`) and the conversations that the shipped prompts make. They show
that the arena measures what it claims: a known ranking, and a judge's love of the first place or of length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from magister.answers import equal_values, extract_value
from magister.errors import UserError
from magister.llm import player, uniform

_SUM = re.compile(r"(-?\d+) \+ (-?\d+)")
_SHOWN = re.compile(
    r"Task: (?P<task>.*)\n\nReply A:\n(?P<a>.*)\n\nReply B:\n(?P<b>.*)\n\nWhich reply is better\?\s*$",
    re.DOTALL,
)
JUDGE_MODES = ("accurate", "first", "longer", "unreadable")


def _gold(text: str) -> int:
    found = _SUM.findall(text)
    if not found:
        raise UserError(
            "the arena's scripted players know only instructions with a sum (`What is 12 + 30?`), none found in: "
            f"{text[:100]!r}. Use them on a scenario with generator `sums`."
        )
    return int(found[-1][0]) + int(found[-1][1])


@player("responder")
def responder(messages: list[dict[str, Any]], request_key: str, args: Mapping[str, Any]) -> str:
    """Answer an instruction with a sum.

    Args (of the configuration):
        accuracy: probability of the right value (default 1); else it is wrong by 1 to 9.
        words: how many further words to say (default 0), which changes the length and nothing else.
        salt: tells responders apart that are otherwise equal.
    """
    gold = _gold(str(messages[-1]["content"]))
    if uniform(request_key, "accuracy") >= float(args.get("accuracy", 1.0)):
        gold += 1 + int(9 * uniform(request_key, "wrong"))
    return " ".join([*["well,"] * int(args.get("words", 0)), f"The answer is {gold}."])


@player("pair_judge")
def pair_judge(messages: list[dict[str, Any]], request_key: str, args: Mapping[str, Any]) -> str:
    """Say which of two replies is better.

    Args (of the configuration):
        mode: `accurate` - the right one of a right and a wrong reply with probability q, drawn for each order on its
            own, else the wrong one; two alike are a tie. Both orders are then right with q^2, wrong with (1 - q)^2,
            and contradict each other with 2 q (1 - q). `first` - always A. `longer` - the one with more
            characters; equal ones are a tie. `unreadable` - no verdict.
        q: see `accurate` (default 1).
    """
    mode = str(args.get("mode", JUDGE_MODES[0]))
    if mode not in JUDGE_MODES:
        raise UserError(f"pair_judge: unknown mode {mode!r}; known: {', '.join(JUDGE_MODES)}")
    if mode == "first":
        return "[[A]]"
    if mode == "unreadable":
        return "Both have something to say for them."
    shown = _SHOWN.search(str(messages[-1]["content"]))
    if shown is None:
        raise UserError(
            "pair_judge: expected the conversation of `prompts/judge_pair/v1.md` (`Task:`, `Reply A:`, `Reply B:`), "
            f"found: {messages[-1]['content'][:100]!r}"
        )
    replies = shown["a"], shown["b"]
    if mode == "longer":
        scores = [len(reply) for reply in replies]
    else:
        gold = str(_gold(shown["task"]))
        scores = [int(equal_values(gold, extract_value(reply).answer or "")) for reply in replies]
    if scores[0] == scores[1]:
        return "[[tie]]"
    better, worse = ("A", "B") if scores[0] > scores[1] else ("B", "A")
    misled = mode == "accurate" and uniform(request_key, "judge") >= float(args.get("q", 1.0))
    return f"[[{worse if misled else better}]]"
