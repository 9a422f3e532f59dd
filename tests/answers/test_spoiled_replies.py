"""Replies spoiled at random: nothing is raised and nothing is guessed."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

_PATH = Path(__file__).parents[2] / "benchmarks" / "extraction.py"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("extraction_benchmark", _PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


fuzz = _load()


@given(st.sampled_from(fuzz.SEEDS), st.randoms(use_true_random=False), st.integers(1, 4))
@settings(max_examples=200, deadline=None)
def test_a_spoiled_reply_has_a_named_outcome_and_is_never_guessed(
    text: str, rng: random.Random, changes: int
) -> None:
    for _ in range(changes):
        text = fuzz.mutate(text, rng)
    tally = fuzz.Tally(Counter(), [])
    fuzz.check(text, tally)
    assert not tally.broken


@given(st.sampled_from(fuzz.CLEAR), st.lists(st.sampled_from(fuzz.WRAPS), max_size=3))
@settings(max_examples=150, deadline=None)
def test_what_is_wrapped_around_a_clear_answer_changes_nothing(text: str, wraps: list) -> None:
    tally = fuzz.Tally(Counter(), [])
    fuzz.check_wrapped(text, wraps, tally)
    assert not tally.broken


@pytest.mark.parametrize("text", ["Answer: B", "答案：Ｂ", "36", "Paris", "b)", "forty-two"])
def test_a_text_without_mentions_names_no_option(text: str) -> None:
    assert not set(fuzz.without_mentions(text)) & set("ABCDabcdＢ0123456789")


def test_the_run_is_the_same_for_the_same_seed() -> None:
    assert fuzz.run(20, 3).statuses == fuzz.run(20, 3).statuses
