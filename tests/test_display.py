"""Text on a terminal: names that fit and stay different, and columns as they are seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magister.display import columns, counted, ljust, shorten, visible, wrap

texts = st.text(st.sampled_from("ab-1 \u0301あ🦉é\x1b…"), max_size=30)
names = st.text(st.sampled_from("ab-1あ🦉…"), min_size=1, max_size=12)


def test_the_middle_of_a_name_goes_and_its_end_stays() -> None:
    assert shorten(["script-judge-90", "script-judge-60", "sham"], 12) == {
        "script-judge-90": "script…ge-90",
        "script-judge-60": "script…ge-60",
        "sham": "sham",
    }


def test_names_that_would_come_out_alike_are_numbered() -> None:
    assert shorten(["model-1-of-them", "model-2-of-them"], 9) == {
        "model-1-of-them": "model-1…1",
        "model-2-of-them": "model-2…2",
    }
    assert shorten(["mode…them", "model-of-them"], 9) == {
        "mode…them": "mode…them",
        "model-of-them": "model-o…1",
    }


@given(st.lists(names, min_size=1, max_size=9), st.integers(3, 12), st.randoms())
def test_different_names_stay_different_and_fit_in_whatever_order(
    some: list[str], width: int, random
) -> None:  # type: ignore[no-untyped-def]
    short = shorten(some, width)
    assert set(short) == set(some)
    assert len(set(short.values())) == len(set(some))
    assert all(columns(text) <= width for text in short.values())
    random.shuffle(some)
    assert shorten(some, width) == short


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("教師", 4), ("🦉", 2), ("e\u0301", 1), ("", 0)])
def test_columns_are_counted_as_they_are_seen(text: str, width: int) -> None:
    assert columns(text) == width
    assert columns(ljust(text, 7)) == 7


@given(texts, st.integers(4, 20))
def test_a_folded_line_fits_and_loses_no_word(text: str, width: int) -> None:
    text = visible(text)
    lines = wrap(text, width, "")
    assert all(columns(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_what_is_folded_is_indented_and_keeps_the_spaces_before_it() -> None:
    assert wrap("  one two three", 9, "    ") == ["  one two", "    three"]
    assert wrap("", 9) == []


def test_one_of_a_thing_is_no_plural() -> None:
    assert [counted(number, "item") for number in (0, 1, 2, "1-3")] == [
        "0 items",
        "1 item",
        "2 items",
        "1-3 items",
    ]
