"""Position and length bias are measured, told from skill, and recovered from scripted judges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_tables import pick, table, vote, votes

from magister.arena.bias import PositionBias, position_bias
from magister.errors import UserError

Vote = tuple[str, str, str]


def measured(*rows: Vote) -> PositionBias:
    return position_bias(*zip(*rows, strict=True)) if rows else position_bias([], [], [])


def test_the_handed_league_is_position_bias_and_not_skill(cases: Path) -> None:
    lines = (cases / "arena" / "leagues.jsonl").read_text().splitlines()
    (case,) = [row for row in map(json.loads, lines) if row["id"] == "position_bias"]
    found = measured(*(tuple(match) for match in case["matches"]))
    assert found.biased
    assert found.share.value == 1
    assert "position bias, not skill" in found.message


def test_the_first_side_winning_in_both_orders_is_position_bias() -> None:
    found = measured(*[("x", "y", "a"), ("y", "x", "a")] * 8)
    assert (found.biased, found.share.value, found.first_wins, found.decisive, found.pairs) == (
        True,
        1,
        16,
        16,
        1,
    )
    second = measured(*[("x", "y", "b"), ("y", "x", "model_b")] * 8)
    assert (second.biased, second.share.value) == (True, 0)


def test_the_better_model_winning_in_both_orders_is_skill() -> None:
    found = measured(*[("x", "y", "a"), ("y", "x", "b")] * 8)
    assert (found.biased, found.share.value) == (False, 0.5)
    assert "no position bias is shown" in found.message


def test_skill_does_not_pass_for_bias_when_the_better_model_stands_first_more_often() -> None:
    found = measured(*[("x", "y", "a")] * 40, *[("y", "x", "b")] * 10)
    assert (found.first_wins, found.decisive) == (40, 50)
    assert (found.biased, found.share.value) == (False, pytest.approx(0.5))


def test_one_order_alone_cannot_tell_them_apart() -> None:
    found = measured(*[("x", "y", "a")] * 20)
    assert (found.biased, found.share.value, found.share.status) == (False, None, "undefined")
    assert "cannot be told apart" in found.message


def test_ties_say_nothing() -> None:
    found = measured(*[("x", "y", "tie"), ("y", "x", "tie (bothbad)"), ("x", "y", "both_bad")] * 4)
    assert (found.decisive, found.share.value) == (0, None)


def test_no_votes_are_no_bias() -> None:
    assert not measured().biased


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abt")), min_size=1, max_size=30), st.randoms())
def test_neither_names_nor_the_order_of_rows_play_a_part(rows: list[tuple[bool, str]], random: Any) -> None:
    words = {"a": "a", "b": "b", "t": "tie"}
    one = [("x", "y", words[said]) if straight else ("y", "x", words[said]) for straight, said in rows]
    renamed = [tuple({"x": "zoe", "y": "amy"}.get(part, part) for part in row) for row in one]
    random.shuffle(renamed)
    assert measured(*one) == measured(*renamed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("x", "y", "a"), ("x", "y", "x")], "vote 2: winner 'x' is unknown"),
        ([("x", "x", "a")], "vote 1: 'x' stands on both sides"),
    ],
)
def test_a_vote_that_is_none_is_named(rows: list[Vote], words: str) -> None:
    with pytest.raises(UserError, match=words):
        measured(*rows)


def test_votes_on_the_same_instruction_widen_the_interval() -> None:
    rows = [*[("x", "y", "a"), ("y", "x", "a")] * 12, *[("x", "y", "b"), ("y", "x", "b")] * 4]
    columns = list(zip(*rows, strict=True))
    alone = position_bias(*columns)
    together = position_bias(*columns, clusters=[at // 8 for at in range(32)])
    assert alone.share.value == together.share.value == 0.75
    assert (alone.biased, together.biased) == (True, False)
    assert together.share.n_clusters == 4


def test_columns_of_different_lengths_are_an_error() -> None:
    with pytest.raises(UserError, match="columns of 1, 2 and 1 rows"):
        position_bias(["x"], ["y", "z"], ["a"])


def many(count: int, **changes: Any) -> list[dict[str, Any]]:
    """Votes on as many comparisons, each with a root of its own."""
    return [vote(**{"comparison_id": f"c{at}", "root_id": f"r{at}"} | changes) for at in range(count)]


def test_a_share_that_leaves_out_one_half_says_so() -> None:
    rows = many(30, winner="b", first="b")
    found = table(votes(*rows))
    assert pick(found, "first_share")["reason"] == "the side shown first is favoured"
    assert pick(found, "longer_share")["reason"] == "the longer response is favoured"
    short = table(votes(*many(30, winner="a", first="b")))
    assert pick(short, "first_share")["reason"] == "the side shown second is favoured"
    assert pick(short, "longer_share")["reason"] == "the shorter response is favoured"


def test_a_share_near_one_half_says_nothing() -> None:
    rng = np.random.default_rng(5)
    rows = [
        vote(
            str(rng.choice(["a", "b"])),
            comparison_id=f"c{at}",
            root_id=f"r{at}",
            first=str(rng.choice(["a", "b"])),
        )
        for at in range(200)
    ]
    row = pick(table(votes(*rows)), "first_share")
    assert row["ci_low"] < 0.5 < row["ci_high"]
    assert row["reason"] == ""


def test_ties_and_equal_or_unknown_lengths_are_left_out_of_the_length_bias() -> None:
    rows = [
        *many(3, winner="b"),
        *many(9, length_a=20)[3:6],
        *many(9, length_a=None)[6:],
        *many(12, winner="tie")[9:],
    ]
    row = pick(table(votes(*rows)), "longer_share")
    assert (row["n"], row["value"]) == (3, 1)


def judged(count: int, a_first: str, b_first: str) -> list[dict[str, Any]]:
    winner = a_first if a_first == b_first else "tie"
    orders = {"flipped": a_first != b_first, "winner_a_first": a_first, "winner_b_first": b_first}
    return many(count, winner=winner, annotator="jim", annotator_kind="judge", first="both", **orders)


def test_a_judge_that_always_takes_the_first_place_is_all_flips() -> None:
    found = table(votes(*judged(20, "a", "b")))
    shares = {
        name: pick(found, name, "judge", "jim")["value"]
        for name in ("flip_share", "first_in_both", "first_share")
    }
    assert shares == {"flip_share": 1, "first_in_both": 1, "first_share": 1}
    assert pick(found, "second_in_both", "judge", "jim")["value"] == 0
    assert pick(found, "decisive_share", "judge", "jim")["value"] == 0


def test_a_judge_that_is_steady_has_no_position_bias() -> None:
    found = table(votes(*judged(20, "a", "a")))
    assert pick(found, "flip_share", "judge", "jim")["value"] == 0
    first = pick(found, "first_share", "judge", "jim")
    assert (first["value"], first["n"], first["n_clusters"]) == (0.5, 40, 20)


def test_a_half_flip_is_a_flip_for_neither_place() -> None:
    found = table(votes(*judged(10, "a", "tie")))
    shares = [
        pick(found, name, "judge", "jim")["value"]
        for name in ("flip_share", "first_in_both", "second_in_both")
    ]
    assert shares == [1, 0, 0]


def test_a_judge_alone_has_no_rows_of_people() -> None:
    kinds = {row["annotator_kind"] for row in table(votes(*judged(10, "a", "a"))).to_pylist()}
    assert kinds == {"judge"}
