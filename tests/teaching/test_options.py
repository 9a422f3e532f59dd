"""The one form in which options are shown, and read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magister.teaching.options import option_texts, options_block, read_options_block

LINE = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=12)


def test_each_option_has_a_line_with_its_letter() -> None:
    assert options_block(["London", "Paris"]) == "A) London\nB) Paris"


def test_an_option_over_several_lines_takes_one() -> None:
    assert options_block(["a\nb", "  c\td "]) == "A) a b\nB) c d"


@given(st.lists(LINE, min_size=1, max_size=26))
def test_what_is_shown_can_be_read_back(options: list[str]) -> None:
    assert read_options_block(f"What is it?\n{options_block(options)}\nWrite the answer.") == options


def test_the_last_block_counts() -> None:
    text = f"{options_block(['dog', 'eagle', 'cow'])}\nThen:\n{options_block(['12', '13'])}"
    assert read_options_block(text) == ["12", "13"]


def test_a_text_without_a_block_has_no_options() -> None:
    assert read_options_block("Is it A or B?\nB) only this") == []


@pytest.mark.parametrize(("key", "texts"), [("B", ["y"]), ("AC", ["x", "z"])])
def test_a_key_names_texts(key: str, texts: list[str]) -> None:
    assert option_texts(["x", "y", "z"], key) == texts
