"""Pieces of a card's text: numbers, commands, and where transcripts lie."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magister.audit.card import Number, Transcript
from magister.audit.card_text import change_figure, figure, fold_command, headline, params_text, places_of


def number(**changes: object) -> Number:
    given = {"value": 0.5, "ci_low": 0.25, "ci_high": 0.75, "se": 0.1, "level": 0.95, "method": "m", "resamples": 9,
             "seed": 0, "status": "ok", "reason": "", "unit": "share"}  # fmt: skip
    return Number(**(given | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "0.5 [0.25, 0.75], 95 % interval"),
        ({"ci_low": None, "ci_high": None}, "0.5, no interval"),
        ({"ci_high": None}, "0.5 [0.25, open], 95 % interval"),
        ({"value": None, "reason": "nobody was asked"}, "unknown: nobody was asked"),
        (
            {"value": 1012.89, "ci_low": 900.0, "ci_high": 1100.04, "unit": "points"},
            "1012.9 [900.0, 1100.0], 95 % interval",
        ),
    ],
)
def test_a_number_is_written_with_its_interval_or_why_it_is_unknown(
    changes: dict[str, object], said: str
) -> None:
    assert headline(number(**changes)) == said


def test_nothing_is_written_as_minus_0() -> None:
    assert figure(-1e-17) != "-0"
    assert figure(-0.0) == "0"
    assert figure(-0.001, "points") == "0"
    assert change_figure(None) == "unknown"


@given(st.lists(st.text("ab -'\"\\$é", min_size=1, max_size=12), min_size=1, max_size=8), st.integers(10, 60))
def test_a_folded_command_is_the_same_command_to_a_shell(words: list[str], width: int) -> None:
    lines = fold_command(shlex.join(words), width)
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == words


def test_roles_that_differ_by_a_number_stand_together() -> None:
    said = [Transcript(f"guide {n}", f"d/round{n}/g.jsonl", "k", "") for n in (1, 2)]
    assert places_of([*said, Transcript("own answer", "", "k", "")]) == [("guide N", "d/round*/g.jsonl")]


def test_parameters_are_leaves_and_those_without_a_value_are_left_out() -> None:
    assert params_text({"b": {"c": 1, "d": None}, "a": ["x"], "e": {}}) == 'a=["x"], b.c=1'
