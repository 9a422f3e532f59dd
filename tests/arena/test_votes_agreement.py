"""Agreement: what is known of annotators, against hand-made counts, closed forms and a real crowd."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vote_tables import league, pick, shuffled, table, vote, votes

from magister.arena._coded import code_votes
from magister.arena._shares import clustered_shares
from magister.contracts.arena_tables import VOTES
from magister.provenance._artifact import conform
from magister.stats import UnitBootstrap, krippendorff_alpha, wilson


def judgements(said: Mapping[str, str], **changes: Any) -> list[dict[str, Any]]:
    """One vote per letter of what each annotator says of comparisons c0, c1, ... (a, b, t; `.` for none)."""
    words = {"a": "a", "b": "b", "t": "tie", "x": "both_bad"}
    return [
        vote(words[letter], comparison_id=f"c{at}", root_id=f"r{at}", annotator=annotator, **changes)
        for annotator, letters in said.items()
        for at, letter in enumerate(letters)
        if letter != "."
    ]


def test_alpha_of_a_real_crowd(cases: Path) -> None:
    """8,931 votes of 124 people on 59 models; published with nominal alpha."""
    with (cases / "arena" / "llmfao" / "crowd-comparisons.csv").open(encoding="utf-8", newline="") as stream:
        crowd = list(csv.DictReader(stream))
    rows = []
    for row in crowd:
        a, b = sorted((row["left"], row["right"]))
        won = {"left": row["left"], "right": row["right"]}.get(row["winner"])
        rows.append(
            vote(
                "tie" if won is None else "a" if won == a else "b",
                comparison_id=row["id"], root_id=row["prompt"], instruction_id=row["prompt"], model_a=a, model_b=b,
                annotator=row["worker"], first="a" if row["left"] == a else "b",
            )
        )  # fmt: skip
    found = table(votes(*rows))
    alpha = pick(found, "alpha")
    assert alpha["value"] == pytest.approx(0.29, abs=0.01)
    assert alpha["ci_low"] < alpha["value"] < alpha["ci_high"]
    assert (alpha["n"], alpha["n_clusters"]) == (8916, 13)
    assert (
        sum(row["statistic"] == "first_share" and bool(row["annotator"]) for row in found.to_pylist()) == 124
    )
    assert 0.45 < pick(found, "first_share")["value"] < 0.6


def test_ratings_side_by_side_have_the_alpha_of_the_whole_table() -> None:
    rng = np.random.default_rng(3)
    ratings = rng.integers(0, 3, size=(40, 9)).astype(float)
    ratings[rng.random(ratings.shape) < 0.6] = np.nan
    said = {
        f"p{at}": "".join("." if np.isnan(cell) else "abt"[int(cell)] for cell in ratings[:, at])
        for at in range(9)
    }
    found = pick(table(votes(*judgements(said))), "alpha")
    expected = krippendorff_alpha(ratings, "nominal", UnitBootstrap(0, 1))
    assert found["value"] == pytest.approx(expected.value)
    assert found["n"] == expected.n


def test_agreement_by_hand() -> None:
    found = table(votes(*judgements({"ann": "aab", "bo": "abb", "cy": "at."})))
    # c0: 3 of 3 pairs agree; c1: 0 of 3; c2: 1 of 1.
    pairs = pick(found, "pairwise_agreement")
    assert (pairs["value"], pairs["n"], pairs["n_clusters"]) == (pytest.approx(4 / 7), 7, 3)
    # ann with others: c0 2 of 2, c1 0 of 2, c2 1 of 1.
    ann = pick(found, "agreement_with_people", annotator="ann")
    assert (ann["value"], ann["n"]) == (pytest.approx(3 / 5), 5)
    # Without ties ann meets bo alone on c1.
    sided = pick(found, "decisive_agreement_with_people", annotator="ann")
    assert (sided["value"], sided["n"]) == (pytest.approx(3 / 4), 4)


def test_both_bad_agrees_with_a_tie_and_is_counted_apart() -> None:
    found = table(votes(*judgements({"ann": "xa", "bo": "tb"})))
    assert pick(found, "pairwise_agreement")["value"] == 0.5
    assert pick(found, "both_bad_share")["value"] == 0.25
    assert pick(found, "decisive_share")["value"] == 0.5


def test_a_judge_is_held_against_people_and_people_are_the_ceiling() -> None:
    people = judgements({"ann": "aabbt", "bo": "aabbt"})
    judge = judgements({"jim": "aabab"}, annotator_kind="judge", first="both")
    found = table(votes(*people, *judge))
    assert pick(found, "agreement_with_people", "judge", "jim")["value"] == pytest.approx(3 / 5)
    assert pick(found, "agreement_with_people", "judge", "jim")["n"] == 10
    assert pick(found, "agreement_with_people", "person")["value"] == 1
    # Observed 3/5; by chance (2*3 + 2*2 + 1*0) / 25.
    kappa = pick(found, "kappa_with_people", "judge", "jim")
    assert (kappa["value"], kappa["n"]) == (pytest.approx((0.6 - 0.4) / (1 - 0.4)), 5)


def test_where_people_have_no_majority_the_kappa_has_a_tie() -> None:
    rows = judgements({"ann": "aa", "bo": "ab"}) + judgements(
        {"jim": "at"}, annotator_kind="judge", first="both"
    )
    assert pick(table(votes(*rows)), "kappa_with_people", "judge", "jim")["value"] == 1


def test_one_annotator_has_no_agreement_and_the_row_says_why() -> None:
    alpha = pick(table(votes(*judgements({"ann": "aab"}))), "alpha")
    assert (alpha["value"], alpha["status"], alpha["n"]) == (None, "not_computable", 0)
    assert "no unit has two ratings" in alpha["reason"]


def test_one_root_has_no_interval_and_the_row_says_why() -> None:
    rows = judgements({"ann": "aab", "bo": "aab"}, scenario="s")
    for row in rows:
        row["root_id"] = "r"
    row = pick(table(votes(*rows)), "pairwise_agreement")
    assert (row["value"], row["status"], row["ci_low"]) == (1, "no_interval", None)
    assert "one cluster" in row["reason"]


def test_scenarios_have_rows_of_their_own() -> None:
    rows = judgements({"ann": "aa", "bo": "aa"}, scenario="one")
    rows += [
        dict(row, comparison_id=f"d{row['comparison_id']}", vote_id=f"d{row['vote_id']}")
        for row in judgements({"ann": "aa", "bo": "bb"}, scenario="two")
    ]
    found = table(votes(*rows))
    shares = [pick(found, "pairwise_agreement", scope=scope)["value"] for scope in ("one", "two", "overall")]
    assert shares == [1, 0, 0.5]


def test_responses_that_name_their_model_are_counted() -> None:
    made = league(
        ["a", "b"],
        ["i1", "i2", "i3", "i4"],
        lambda model, name: "I am Vicuna." if model + name == "ai1" else "4",
    )
    row = pick(table(votes(), made.key), "self_named_share", "none")
    assert (row["value"], row["n"]) == (0.25, 4)


def test_no_votes_are_an_empty_table() -> None:
    assert table(votes()).num_rows == 0


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(4)
    said = {f"p{at}": "".join(rng.choice(list("abtx."), 12)) for at in range(4)}
    judge = {"jim": "".join(rng.choice(list("abt"), 12))}
    rows = votes(
        *judgements(said), *judgements(judge, annotator_kind="judge", first="both", winner_a_first="a")
    )
    assert table(rows, resamples=20).equals(table(shuffled(rows, seed), resamples=20))


counts = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=12)


@given(counts)
def test_shares_stay_within_their_intervals_and_these_within_0_and_1(cells: list[tuple[int, int]]) -> None:
    hits, misses = (np.array(column) for column in zip(*cells, strict=True))
    found = clustered_shares(
        hits, hits + misses, np.zeros(hits.size), np.arange(hits.size), groups=1, level=0.95
    )[0]
    total = int((hits + misses).sum())
    assert found.n == total
    if total == 0:
        assert (found.value, found.status) == (None, "no_data")
        return
    assert found.value == pytest.approx(hits.sum() / total)
    if found.n_clusters < 2:
        assert (found.ci_low, found.status) == (None, "one_cluster")
        return
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert 0 <= found.ci_low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.ci_high <= 1
    assert found.ci_low < found.ci_high


def test_independent_votes_have_about_wilsons_interval() -> None:
    hits = np.array([1] * 300 + [0] * 100)
    found = clustered_shares(hits, np.ones(400), np.zeros(400), np.arange(400), groups=1, level=0.95)[0]
    plain = wilson(300, 400).item()
    assert found.ci_low == pytest.approx(plain.ci_low, abs=1e-3)
    assert found.ci_high == pytest.approx(plain.ci_high, abs=1e-3)


def test_votes_on_one_instruction_are_no_independent_votes() -> None:
    hits, cluster = np.repeat([1, 0, 1, 1, 0], 50), np.repeat(np.arange(5), 50)
    found = clustered_shares(hits, np.ones(250), np.zeros(250), cluster, groups=1, level=0.95)[0]
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert found.ci_high - found.ci_low > 0.5


def test_thirty_of_thirty_is_no_certainty() -> None:
    found = clustered_shares(np.ones(30), np.ones(30), np.zeros(30), np.arange(30), groups=1, level=0.95)[0]
    assert (found.value, found.ci_high) == (1, 1)
    assert found.ci_low is not None
    assert 0.8 < found.ci_low < 0.95


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Shares of 60 % in 40 clusters of 1 to 8 votes that lean together; 95 % intervals, 400 samples."""
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(400):
        size = rng.integers(1, 9, 40)
        hits = rng.binomial(size, rng.beta(1.2, 0.8, 40))
        found = clustered_shares(hits, size, np.zeros(40), np.arange(40), groups=1, level=0.95)[0]
        assert found.ci_low is not None
        assert found.ci_high is not None
        held += found.ci_low <= 0.6 <= found.ci_high
    assert 0.92 <= held / 400 <= 0.98


def test_lengths_and_orders_are_coded_and_missing_ones_are_missing() -> None:
    rows = [
        vote(
            "a",
            comparison_id="c1",
            length_a=3,
            length_b=2,
            flipped=True,
            winner_a_first="a",
            winner_b_first="b",
        ),
        vote("b", comparison_id="c2", length_a=2, length_b=2),
        vote("tie", comparison_id="c3", length_a=None, length_b=2),
    ]
    coded = code_votes(votes(*rows))
    assert coded.longer.tolist() == [0, 2, -1]
    assert coded.flipped.tolist() == [1, -1, -1]
    assert (coded.a_first.tolist(), coded.b_first.tolist()) == ([0, -1, -1], [1, -1, -1])


def test_the_fixture_is_a_table_of_votes() -> None:
    made = votes(*judgements({"ann": "abt"}))
    assert conform(made, VOTES).num_rows == 3
