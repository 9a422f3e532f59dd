"""The gallery shows a model's worst losses first, and preference pairs are what votes decided."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_tables import league, shuffled

from magister.arena.ballots import Choice, cast_votes
from magister.arena.gallery import gallery, preference_lines, preference_pairs
from magister.contracts.arena_tables import GALLERY
from magister.errors import UserError
from magister.provenance._artifact import conform

MADE = league(["a", "b"], ["i1", "i2", "i3", "i4"], lambda model, name: f"{model} on {name}")
PLACES = {row["instruction_id"]: (at, row["model_1"]) for at, row in enumerate(MADE.key.to_pylist())}


def cast(said: dict[str, str], kind: str = "person") -> pa.Table:
    """Votes by instruction: a letter per annotator, a or b for the model that wins, t and x for neither."""
    where, choices, who = [], [], []
    for name, letters in said.items():
        at, first = PLACES[name]
        for number, letter in enumerate(letters):
            neither: dict[str, Choice] = {"t": "tie", "x": "both_bad"}
            place: Choice = "1" if letter == first else "2"
            where.append(at)
            choices.append(neither.get(letter, place))
            who.append(f"p{number}")
    return cast_votes(MADE.key, where, choices, who, kind=kind, shown="sheet")


VOTES = cast({"i1": "aab", "i2": "aaa", "i3": "ab", "i4": "btx"})


def losses(found: pa.Table, model: str) -> list[tuple[int, str, int, int]]:
    assert conform(found, GALLERY).equals(found)
    return [
        (row["rank"], row["instruction_id"], row["votes_against"], row["votes_for"])
        for row in found.to_pylist()
        if row["model"] == model
    ]


def test_the_worst_loss_stands_first() -> None:
    found = gallery(VOTES, MADE.sheet, MADE.key)
    assert losses(found, "b") == [(1, "i2", 3, 0), (2, "i1", 2, 1)]
    assert losses(found, "a") == [(1, "i4", 1, 0)]
    row = found.to_pylist()[0]
    assert (row["model"], row["opponent"], row["ties"], row["both_bad"]) == ("a", "b", 1, 1)
    assert (row["response"], row["opponent_response"]) == ("a on i4", "b on i4")
    assert row["annotator_kinds"] == ["person"]


def test_only_the_worst_are_kept_where_that_is_asked() -> None:
    assert losses(gallery(VOTES, MADE.sheet, MADE.key, worst=1), "b") == [(1, "i2", 3, 0)]


def test_pairs_are_the_decided_comparisons_with_votes_and_without_names_of_people() -> None:
    pairs = {row["instruction_id"]: row for row in preference_pairs(VOTES, MADE.sheet, MADE.key)}
    assert set(pairs) == {"i1", "i2", "i4"}
    assert pairs["i1"] == {
        "prompt": "What is 0 + 2?",
        "chosen": "a on i1",
        "rejected": "b on i1",
        "chosen_model": "a",
        "rejected_model": "b",
        "scenario": "math",
        "instruction_id": "i1",
        "comparison_id": MADE.key["comparison_id"][PLACES["i1"][0]].as_py(),
        "arm": "discrepant",
        "votes": {"person": {"chosen": 2, "rejected": 1, "tie": 0, "both_bad": 0}},
    }
    assert pairs["i4"]["chosen"] == "b on i4"
    assert pairs["i4"]["votes"]["person"] == {"chosen": 1, "rejected": 0, "tie": 1, "both_bad": 1}


def test_lines_are_json_and_in_the_order_of_comparisons() -> None:
    pairs = preference_pairs(VOTES, MADE.sheet, MADE.key)
    lines = list(preference_lines(pairs))
    assert [json.loads(line) for line in lines] == pairs
    ids = [pair["comparison_id"] for pair in pairs]
    assert ids == sorted(ids)


def test_kinds_of_annotators_are_counted_apart_and_can_be_left_out() -> None:
    both = pa.concat_tables([VOTES, cast({"i3": "a", "i1": "b"}, "judge")])
    pairs = {row["instruction_id"]: row for row in preference_pairs(both, MADE.sheet, MADE.key)}
    assert set(pairs["i3"]["votes"]) == {"judge", "person"}
    assert "i1" not in pairs
    alone = preference_pairs(both, MADE.sheet, MADE.key, kinds=["judge"])
    assert sorted(row["instruction_id"] for row in alone) == ["i1", "i3"]


@given(st.integers(0, 100))
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    mixed = [shuffled(rows, seed) for rows in (VOTES, MADE.sheet, MADE.key)]
    assert gallery(*mixed).equals(gallery(VOTES, MADE.sheet, MADE.key))
    assert preference_pairs(*mixed) == preference_pairs(VOTES, MADE.sheet, MADE.key)


def test_nothing_decided_is_an_empty_gallery() -> None:
    for votes in (cast({"i1": "t"}), VOTES.slice(0, 0)):
        assert gallery(votes, MADE.sheet, MADE.key).num_rows == 0
        assert preference_pairs(votes, MADE.sheet, MADE.key) == []


def test_mistakes_are_named() -> None:
    other: Any = league(["a", "c"], ["i1"])
    with pytest.raises(UserError, match="is not on the sheet"):
        gallery(VOTES, other.sheet, other.key)
    with pytest.raises(UserError, match="kinds: robot unknown"):
        gallery(VOTES, MADE.sheet, MADE.key, kinds=["robot"])
