"""Choosing a number: what is not said has its usual value, what is open or unknown ends in the choices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magister.audit.choosing import Coordinate, choose, listed, matching, nearest, refuse_unused
from magister.errors import UserError

COORDINATES = (
    Coordinate("in", "--in", "league"),
    Coordinate(
        "slice", "--slice", "slice", lambda values: "overall=all" if "overall=all" in values else None
    ),
    Coordinate("round", "--round", "round", lambda values: values[-1]),
)
ROWS = [
    {"in": league, "slice": part, "round": number}
    for league in ("one", "two")
    for part in ("overall=all", "dataset=sums", "student=sums")
    for number in (0, 2, 10)
]


def pick(**asked: str) -> dict[str, object]:
    return dict(choose(ROWS, COORDINATES, asked, "board, model"))


def test_what_is_not_said_has_its_usual_value_and_the_last_round_is_the_highest_number() -> None:
    assert pick(**{"in": "one"}) == {"in": "one", "slice": "overall=all", "round": 10}


def test_what_has_no_usual_value_is_asked_for() -> None:
    with pytest.raises(UserError, match=r"there are 2, one for each league: one, two. Choose with --in"):
        pick()


def test_a_name_alone_is_enough_where_one_kind_has_it() -> None:
    assert pick(**{"in": "one", "slice": "overall"})["slice"] == "overall=all"
    assert pick(**{"in": "ONE", "slice": "Dataset=Sums", "round": "2"}) == {
        "in": "one",
        "slice": "dataset=sums",
        "round": 2,
    }


def test_a_name_of_two_kinds_is_ambiguous() -> None:
    with pytest.raises(UserError, match="'sums' may be dataset=sums, student=sums"):
        pick(**{"in": "one", "slice": "sums"})


def test_an_unknown_name_lists_the_nearest_first() -> None:
    with pytest.raises(UserError, match=r"no league 'tow'. Expected for --in: one, two"):
        pick(**{"in": "tow"})


def test_large_and_small_letters_are_told_apart_where_both_are_there() -> None:
    assert matching(["ca", "CA"], "CA") == ["CA"]
    assert matching(["ca"], "CA") == ["ca"]
    assert matching(["ca", "CA"], "Ca") == ["ca", "CA"]


def test_many_names_are_cut_and_counted() -> None:
    names = [f"model-{n:03d}" for n in range(40)]
    shown = nearest(names, "model-039")
    assert shown[0] == "model-039"
    assert len(shown) == 12
    assert listed(shown, len(names)).endswith("and 28 more")


@given(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=30, unique=True), st.text(max_size=6))
def test_what_is_suggested_is_always_there(names: list[str], wanted: str) -> None:
    shown = nearest(names, wanted)
    assert set(shown) <= set(names)
    assert len(set(shown)) == len(shown) == min(len(names), 12)


@given(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=8, unique=True))
def test_a_name_written_out_is_always_found(names: list[str]) -> None:
    assert all(matching(names, name) == [name] for name in names)


def test_an_option_of_another_board_is_refused() -> None:
    with pytest.raises(UserError, match="--arm says nothing on the mastery board; it has --in"):
        refuse_unused({"arm": "taught"}, COORDINATES, "mastery")
