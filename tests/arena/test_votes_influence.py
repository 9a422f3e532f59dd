"""Leaving an annotator out changes ratings by what its votes weigh."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from vote_tables import pick, shuffled, vote, votes

from magister.arena.agreement import agreement_table
from magister.arena.influence import leave_one_out

Counts = NDArray[np.float64]


def surplus(wins: Counts, ties: Counts) -> Counts:
    """Wins less losses per model: a rating whose changes are known."""
    return wins.sum(axis=1) - wins.sum(axis=0) + 0 * ties.sum(axis=1)


def share(wins: Counts, ties: Counts) -> Counts:
    """Wins and half the ties per match; NaN without a match."""
    matches = wins.sum(axis=1) + wins.sum(axis=0) + ties.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return (wins.sum(axis=1) + ties.sum(axis=1) / 2) / matches


def ballots(said: dict[str, str], **changes: object) -> list[dict[str, object]]:
    return [
        vote({"a": "a", "b": "b", "t": "tie"}[letter], comparison_id=f"c{at}", annotator=name, **changes)
        for name, letters in said.items()
        for at, letter in enumerate(letters)
    ]


def test_the_change_is_that_of_the_votes_left_out() -> None:
    found = leave_one_out(votes(*ballots({"ann": "aaa", "bo": "b", "cy": "tt"})), surplus)
    assert [(one.annotator, one.change, one.n) for one in found] == [
        ("ann", 3, 3),
        ("bo", 1, 1),
        ("cy", 0, 2),
    ]


def test_ties_reach_the_ratings() -> None:
    found = leave_one_out(votes(*ballots({"ann": "a", "bo": "t"})), share)
    assert [one.change for one in found] == [0.25, 0.25]


def test_counts_are_those_of_the_votes() -> None:
    seen: list[tuple[Counts, Counts]] = []

    def rate(wins: Counts, ties: Counts) -> Counts:
        seen.append((wins, ties))
        return surplus(wins, ties)

    rows = [*ballots({"ann": "ab", "bo": "t"}), vote("b", comparison_id="c9", model_a="m0", annotator="bo")]
    leave_one_out(votes(*rows), rate)
    wins, ties = seen[0]
    # Models m0, m1, m2.
    assert wins.tolist() == [[0, 0, 0], [0, 0, 1], [1, 1, 0]]
    assert ties.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert (seen[0][0] - seen[1][0]).tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert (seen[0][1] - seen[2][1]).tolist() == ties.tolist()


def test_a_rating_that_is_lost_is_named_and_is_no_number() -> None:
    rows = [*ballots({"ann": "ab"}), vote(comparison_id="c7", model_b="m3", annotator="bo")]
    found = agreement_table(votes(*rows), rate=share, resamples=0, seed=0)
    row = pick(found, "influence", annotator="bo")
    assert (row["value"], row["status"], row["model"]) == (None, "not_computable", "m3")
    assert row["reason"] == "without these votes m3 has no rating"


def test_people_and_judges_are_rated_apart_and_one_alone_has_no_influence() -> None:
    rows = [
        *ballots({"ann": "ab", "bo": "aa"}),
        *ballots({"jim": "ab"}, annotator_kind="judge", first="both"),
    ]
    found = agreement_table(votes(*rows), rate=share, resamples=0, seed=0)
    kinds = [row["annotator_kind"] for row in found.to_pylist() if row["statistic"] == "influence"]
    assert kinds == ["person", "person"]
    row = pick(found, "influence", annotator="ann")
    assert (row["status"], row["reason"], row["value"]) == (
        "no_interval",
        "a change, with no interval of its own",
        0.25,
    )


def test_without_a_rating_there_is_no_influence() -> None:
    found = agreement_table(votes(*ballots({"ann": "ab", "bo": "aa"})), resamples=0, seed=0)
    assert "influence" not in found["statistic"].to_pylist()


@given(st.integers(0, 100))
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    rows: pa.Table = votes(*ballots({"ann": "abta", "bo": "aatb", "cy": "bbab"}))
    assert leave_one_out(rows, share) == leave_one_out(shuffled(rows, seed), share)


def test_many_annotators_are_each_left_out() -> None:
    rng = np.random.default_rng(2)
    said = {f"p{at:03}": "".join(rng.choice(list("abt"), 20)) for at in range(124)}
    found = leave_one_out(votes(*ballots(said)), share)
    assert len(found) == 124
    assert all(one.change is not None and one.change < 0.01 for one in found)
