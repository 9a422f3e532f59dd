"""Patterns match as Python's do, in linear time."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magister.rubrics.patterns import PatternError, Regex

ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "\\w", "\\d", "^", "$", "1", "[a-b1]", "\\."])


def repeat(inner: str, mark: str) -> str:
    return f"(?:{inner}){mark}"


PATTERNS = st.recursive(
    ATOMS,
    lambda inner: (
        st.builds("".join, st.lists(inner, min_size=1, max_size=3))
        | st.builds("(?:{}|{})".format, inner, inner)
        | st.builds(repeat, inner, st.sampled_from(["?", "*", "+", "{2}", "{0,2}", "{1,}"]))
    ),
    max_leaves=6,
)


@given(PATTERNS, st.text("ab1. ", max_size=10))
def test_matches_as_python_does(pattern: str, text: str) -> None:
    # Python's `$` also matches before a last line break; these texts have none.
    assert Regex(pattern).search(text) == (re.search(pattern, text) is not None)


def test_a_catastrophic_pattern_is_harmless() -> None:
    assert not Regex("(a+)+$").search("a" * 3000 + "b")
    assert not Regex("(a|a)*(a|aa)*c").search("a" * 3000)


REFUSED = ("(a)\\1", "a(?=b)", "(?P<n>a)", "a*?", "a**", "*a", "(a", "a)", "[a", "a{2", "a{999}", "\\b", "^*")
TOO_LARGE = ("a" * 501, "((a{100}){100}){100}", "[b-a]", "a{3,2}")


@pytest.mark.parametrize("pattern", [*REFUSED, *TOO_LARGE])
def test_what_is_not_of_the_subset_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        Regex(pattern)


@given(st.text("()[]{}|?*+^$\\.a1,-", max_size=12), st.text("a1(", max_size=5))
def test_any_pattern_is_read_or_refused(pattern: str, text: str) -> None:
    with contextlib.suppress(PatternError):
        assert Regex(pattern).search(text) in (True, False)


def test_case_is_ignored_where_it_is_asked_for() -> None:
    assert Regex("(?i)good[b-d]ye").search("GOODBYE")
    assert not Regex("goodbye").search("GOODBYE")


def test_chinese_is_matched() -> None:
    assert Regex("下课[。！]?$").search("今天就到这里，下课！")
