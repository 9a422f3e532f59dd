"""Scripted responders and judges do what their closed forms say."""

from __future__ import annotations

import math
from typing import Any

import pytest
from vote_tables import judge_prompt

from magister.answers import equal_values, extract_value
from magister.arena.players import JUDGE_MODES, pair_judge, responder
from magister.errors import UserError
from magister.llm.engines.scripted import find_player

KEYS = [f"key-{number}" for number in range(1000)]
ASKED = [{"role": "user", "content": "What is 12 + 30?"}]
RIGHT, WRONG = "The answer is 42.", "well, well, The answer is 43."


def judged(a: str, b: str) -> list[dict[str, Any]]:
    return judge_prompt().render(instruction="What is 12 + 30?", response_a=a, response_b=b)


def near(observed: float, expected: float) -> bool:
    return abs(observed - expected) < 4 * math.sqrt(expected * (1 - expected) / len(KEYS)) + 1e-9


@pytest.mark.parametrize("accuracy", [0.0, 0.3, 1.0])
def test_a_responder_is_right_as_often_as_it_should(accuracy: float) -> None:
    said = [responder(ASKED, key, {"accuracy": accuracy}) for key in KEYS]
    assert all(extract_value(text).status == "ok" for text in said)
    assert near(sum(equal_values("42", text) for text in said) / len(KEYS), accuracy)


def test_words_change_the_length_and_not_the_answer() -> None:
    short, long = (responder(ASKED, "k", {"accuracy": 0.5, "words": words}) for words in (0, 30))
    assert len(long) > len(short) + 100
    assert extract_value(short).answer == extract_value(long).answer


@pytest.mark.parametrize("q", [0.0, 0.7, 1.0])
def test_an_accurate_judge_prefers_the_right_reply_with_probability_q(q: float) -> None:
    args = {"mode": "accurate", "q": q}
    for (a, b), right in (((RIGHT, WRONG), "[[A]]"), ((WRONG, RIGHT), "[[B]]")):
        assert near(sum(pair_judge(judged(a, b), key, args) == right for key in KEYS) / len(KEYS), q)
    for reply in (RIGHT, WRONG):
        assert pair_judge(judged(reply, reply), "k", args) == "[[tie]]"


def test_the_other_modes_look_at_place_or_length_alone() -> None:
    for a, b, longer in ((RIGHT, WRONG, "[[B]]"), (WRONG, RIGHT, "[[A]]"), (RIGHT, RIGHT, "[[tie]]")):
        assert pair_judge(judged(a, b), "k", {"mode": "first"}) == "[[A]]"
        assert pair_judge(judged(a, b), "k", {"mode": "longer"}) == longer
        assert "[[" not in pair_judge(judged(a, b), "k", {"mode": "unreadable"})


def test_both_are_registered() -> None:
    assert find_player("responder") is responder
    assert find_player("pair_judge") is pair_judge


def test_mistakes_are_named() -> None:
    with pytest.raises(UserError, match=f"unknown mode 'kind'; known: {', '.join(JUDGE_MODES)}"):
        pair_judge(judged(RIGHT, WRONG), "k", {"mode": "kind"})
    with pytest.raises(UserError, match="only instructions with a sum"):
        responder([{"role": "user", "content": "Write a poem."}], "k", {})
    with pytest.raises(UserError, match="expected the conversation of"):
        pair_judge(ASKED, "k", {})
