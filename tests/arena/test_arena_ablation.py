"""Few comparisons beside all: prefixes of one run, one pool for every way, and no number where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from selection_cases import ids_of, normal, vectors
from vote_tables import instructions, responses, shuffled

from magister.arena._ablation_scores import MEASURES, Scores, Sums, reference_orders
from magister.arena.ablation import (
    MOST_RESAMPLES,
    Ablation,
    Keyed,
    Prefixes,
    ablation_table,
    keyed_responses,
    pick_prefixes,
)
from magister.arena.ablation_page import conclusions, selection_page, with_league
from magister.arena.bradley_terry import POINTS, Likelihood
from magister.arena.keys import key_votes
from magister.arena.prefilter import PreFilter
from magister.arena.raters import rate_points
from magister.arena.selection import select
from magister.arena.similarity import cosine_similarities
from magister.arena.vectors import Vectors
from magister.contracts.arena_tables import ARENA_ABLATION
from magister.errors import UserError
from magister.provenance._artifact import conform

Row = dict[str, Any]
WIDTH = 5


class League:
    """Models of some accuracy on some instructions, with texts and vectors that say whether they are right."""

    def __init__(self, right: NDArray[np.float64], seed: int = 0, signal: float = 1.0) -> None:
        models, count = right.shape
        names = [f"m{at}" for at in range(models)]
        self.keyed = Keyed("sums", names, pa.array(ids_of(count)), right)
        base = normal(seed, count, WIDTH)
        shown = np.nan_to_num(right)
        self.vectors = [
            vectors(name, base + signal * shown[at][:, None] + 0.1 * normal(seed + at + 1, count, WIDTH))
            for at, name in enumerate(names)
        ]
        self.texts = {
            name: pa.array([f"common w{int(said)} x{(n * (at + 2)) % 3}" for n, said in enumerate(shown[at])])
            for at, name in enumerate(names)
        }
        self.instructions = vectors("instructions", normal(seed + 99, count, WIDTH))

    def picks(self, plan: Ablation, **more: Any) -> list[Prefixes]:
        return pick_prefixes(self.keyed, self.texts, self.vectors, self.instructions, plan, **more)

    def table(self, plan: Ablation, **more: Any) -> pa.Table:
        found = ablation_table(self.keyed, self.picks(plan, **more), plan)
        assert conform(found, ARENA_ABLATION).equals(found)
        return found


def accurate(accuracies: Sequence[float], count: int, seed: int = 3) -> NDArray[np.float64]:
    chance = np.random.default_rng(seed).random((len(accuracies), count))
    return (chance < np.asarray(accuracies)[:, None]).astype(np.float64)


def plan(k: int, **more: Any) -> Ablation:
    return Ablation(k=k, **({"resamples": 60, "draws": 3} | more))


def rows_of(table: pa.Table, **wanted: Any) -> list[Row]:
    return [row for row in table.to_pylist() if all(row[name] == value for name, value in wanted.items())]


def one(table: pa.Table, **wanted: Any) -> Row:
    (row,) = rows_of(table, **wanted)
    return row


@given(
    right=hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 5), st.integers(1, 6)),
        elements=st.sampled_from([0.0, 1.0]),
    ),
    spare=st.integers(0, 2),
)
@settings(max_examples=40, deadline=None)
def test_all_comparisons_rank_exactly_as_the_reference(right: NDArray[np.float64], spare: int) -> None:
    models, count = right.shape
    table = League(right).table(plan(count + spare, resamples=4, draws=2))
    ordered = len(set(right.sum(axis=1).tolist())) > 1
    for row in rows_of(table, k=count) + rows_of(table, k=count + spare):
        assert row["n"] == row["n_reference"] == count * models * (models - 1) // 2
        if row["measure"] in ("spearman", "kendall", "pair_agreement"):
            can = ordered and (models >= 4 or row["measure"] == "pair_agreement")
            assert row["value"] == (1.0 if can else None), row
            assert (row["status"] == "not_computable") is not can
            assert bool(row["reason"]) or row["status"] == "ok"


@given(seed=st.integers(0, 50), k=st.integers(1, 8), more=st.integers(1, 8))
@settings(max_examples=25, deadline=None)
def test_the_first_picks_are_a_prefix_of_one_run(seed: int, k: int, more: int) -> None:
    league = League(accurate([0.8, 0.5, 0.2], 12, seed), seed)
    short, long = (league.picks(plan(size)) for size in (k, k + more))
    for few, many in zip(short, long, strict=True):
        assert (few.method, few.lam) == (many.method, many.lam)
        np.testing.assert_array_equal(few.rows, many.rows[:, :, :k])


def test_a_larger_k_adds_rows_and_changes_none() -> None:
    league = League(accurate([0.9, 0.6, 0.4, 0.1], 20))
    small, large = (league.table(plan(k)) for k in (2, 4))
    kept = [row for row in large.to_pylist() if row["k"] <= 2]
    assert kept == small.to_pylist()


def test_the_selection_is_the_one_that_the_arena_makes() -> None:
    league = League(accurate([0.9, 0.5, 0.2], 25))
    found = {(way.method, way.lam): way.rows for way in league.picks(plan(6, lams=(0.0, 0.7)))}
    assert set(found) == {
        ("embedding", 0.0),
        ("embedding", 0.7),
        ("token", 0.0),
        ("token", 0.7),
        ("random", 0.0),
    }
    (part,) = cosine_similarities(league.vectors, league.keyed.ids, league.keyed.pairs)
    order = [part.pairs.index(pair) for pair in league.keyed.pairs]
    picks = select(part.values[order], league.instructions, 6, 0.7, ids=league.keyed.ids)
    np.testing.assert_array_equal(found["embedding", 0.7][0], picks.rows)


def test_every_way_picks_from_the_same_comparisons() -> None:
    right = accurate([0.9, 0.5, 0.2], 12)
    right[0, 0] = np.nan
    league = League(right)
    lost = league.vectors[1].values.copy()
    lost[1] = np.nan
    league.vectors[1] = Vectors("m1", lost, league.vectors[1].ids)
    said = league.texts["m2"].to_pylist()
    league.texts["m2"] = pa.array([None if at == 2 else text for at, text in enumerate(said)], pa.string())
    hidden = league.instructions.values.copy()
    hidden[3] = 0.0
    league.instructions = Vectors("instructions", hidden, league.instructions.ids)
    able = {
        (0, 1): set(range(12)) - {0, 1, 3},
        (0, 2): set(range(12)) - {0, 2, 3},
        (1, 2): set(range(12)) - {1, 2, 3},
    }
    for way in league.picks(plan(12)):
        for draw in way.rows:
            for pair, rows in zip(combinations(range(3), 2), draw, strict=True):
                assert set(rows[rows >= 0].tolist()) == able[pair], way.method
                assert (rows >= 0).sum() == len(able[pair])


def test_the_prefilter_takes_comparisons_out_for_every_way() -> None:
    league = League(accurate([0.9, 0.5], 6))
    table = league.table(plan(3), prefilter=PreFilter())
    assert {row["status"] for row in table.to_pylist()} == {"not_computable"}
    assert "no comparison of m0, m1 can be picked" in table["reason"][0].as_py()


def test_what_tells_right_from_wrong_finds_decisive_comparisons_first() -> None:
    # Two responses share their words where both are right or both wrong.
    league = League(accurate([0.6, 0.5, 0.4, 0.3], 60))
    league.texts = {
        name: pa.array(["yes indeed" if said else "no never" for said in league.keyed.right[at]])
        for at, name in enumerate(league.keyed.models)
    }
    table = league.table(plan(5, resamples=400, draws=20))
    token = one(table, method="token", lam=0.0, k=5, measure="decisive")
    random = one(table, method="random", k=5, measure="decisive")
    assert token["value"] == 1.0
    assert (token["status"], token["ci_low"]) == ("no_interval", None)
    assert "same value" in token["reason"]
    assert 0.3 < random["value"] < 0.7
    assert random["ci_low"] < random["value"] < random["ci_high"]
    assert token["difference"] == pytest.approx(1 - random["value"])
    assert token["difference_ci_low"] > 0


def test_random_draws_are_averaged() -> None:
    league = League(accurate([0.9, 0.6, 0.4, 0.1], 30))
    settings_ = plan(4, draws=5)
    random = league.picks(settings_)[-1]
    assert random.rows.shape == (5, 6, 4)
    assert len({draw.tobytes() for draw in random.rows}) == 5
    together = ablation_table(league.keyed, [random], settings_)
    alone = [
        ablation_table(league.keyed, [Prefixes("random", 0.0, random.rows[[draw]])], settings_)
        for draw in range(5)
    ]
    for measure in ("pair_agreement", "decisive", "width"):
        values = [one(table, k=4, measure=measure)["value"] for table in alone]
        assert one(together, k=4, measure=measure)["value"] == pytest.approx(np.mean(values))
        assert one(together, k=4, measure=measure)["difference"] is None


def test_one_vote_for_each_pair_has_no_interval() -> None:
    table = League(accurate([0.9, 0.6, 0.4, 0.1], 30)).table(plan(2))
    for row in rows_of(table, k=1):
        assert row["value"] is not None
        assert (row["status"], row["ci_low"], row["difference_ci_low"]) == ("no_interval", None, None)
        assert row["reason"].startswith("one vote for each pair")
    assert any(row["status"] == "ok" for row in rows_of(table, k=2))


def test_three_models_have_no_correlation() -> None:
    table = League(accurate([0.9, 0.5, 0.1], 30)).table(plan(2))
    row = one(table, method="token", lam=1.0, k=2, measure="spearman")
    assert (row["status"], row["value"]) == ("not_computable", None)
    assert row["reason"] == "a correlation over 3 models says nothing: 4 or more are needed"
    assert one(table, method="token", lam=1.0, k=2, measure="pair_agreement")["value"] is not None


def test_models_that_all_votes_leave_level_have_no_order_to_agree_with() -> None:
    table = League(np.array([[1.0, 0.0], [0.0, 1.0]])).table(plan(1))
    for row in rows_of(table, measure="pair_agreement"):
        assert (row["status"], row["value"]) == ("not_computable", None)
        assert "no order to agree with" in row["reason"]


def test_no_end_lies_beyond_what_a_measure_can_be() -> None:
    table = League(accurate([0.9, 0.6, 0.4, 0.1], 40)).table(plan(3, resamples=300))
    for row in table.to_pylist():
        if row["ci_low"] is None:
            continue
        low = -1 if row["measure"] in ("spearman", "kendall") else 0
        assert low <= row["ci_low"] <= row["ci_high"]
        assert row["measure"] == "width" or row["ci_high"] <= 1


def test_resamples_are_bounded_and_said() -> None:
    assert Ablation(resamples=10**6).used_resamples == MOST_RESAMPLES
    table = League(accurate([0.9, 0.1], 5)).table(plan(1, resamples=7))
    assert set(table["resamples"].to_pylist()) == {7}


@pytest.mark.parametrize("wrong", [{"k": 0}, {"draws": 0}])
def test_an_ablation_of_nothing_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UserError, match="expected 1 or more"):
        Ablation(**wrong)


def written_out(points: list[tuple[int, int, float]], models: int, z: float) -> tuple[float, float]:
    """Share of decisive votes and mean width, a loop over votes of models i and j with i's points."""
    scored, played = np.zeros((models, models)), np.zeros((models, models))
    for i, j, won in points:
        scored[i, j] += won
        scored[j, i] += 1 - won
        played[i, j] += 1
        played[j, i] += 1
    ratings = rate_points(scored, played)
    strength = (ratings - ratings.mean()) / POINTS
    information, scatter = Likelihood().ridge * np.eye(models), np.zeros((models, models))
    for i, j, won in points:
        chance = 1 / (1 + np.exp(strength[j] - strength[i]))
        apart = np.zeros(models)
        apart[i], apart[j] = 1, -1
        information += chance * (1 - chance) * np.outer(apart, apart)
        scatter += (won - chance) ** 2 * np.outer(apart, apart)
    bread = np.linalg.inv(information)
    errors = np.sqrt(np.diag(bread @ scatter @ bread))
    return float(np.mean([won != 0.5 for _, _, won in points])), float(2 * z * POINTS * errors.mean())


@given(seed=st.integers(0, 200), models=st.integers(2, 5))
@settings(max_examples=25, deadline=None)
def test_measures_are_those_of_a_loop_over_votes(seed: int, models: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = np.array(list(combinations(range(models), 2)))
    votes = rng.choice([0.0, 0.5, 1.0], size=(len(pairs), 4))
    sums = Sums(votes.sum(axis=1)[None], (votes**2).sum(axis=1)[None], np.full((1, len(pairs)), 4.0))
    scores = Scores(pairs, models, reference_orders(pairs, models, sums))
    found = dict(zip(MEASURES, scores.measures(sums, 1.96)[0], strict=True))
    listed = [(int(i), int(j), float(won)) for (i, j), some in zip(pairs, votes, strict=True) for won in some]
    decisive, width = written_out(listed, models, 1.96)
    assert found["decisive"] == pytest.approx(decisive)
    assert found["width"] == pytest.approx(width, abs=1e-5)


def test_a_level_pair_agrees_by_half() -> None:
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    whole = Sums(np.array([[2.0, 2.0, 2.0]]), np.array([[2.0, 2.0, 2.0]]), np.full((1, 3), 2.0))
    # The first two are level; both beat the third.
    some = Sums(np.array([[1.0, 2.0, 2.0]]), np.array([[0.5, 2.0, 2.0]]), np.full((1, 3), 2.0))
    scores = Scores(pairs, 3, reference_orders(pairs, 3, whole))
    assert scores.measures(some, 1.96)[0][MEASURES.index("pair_agreement")] == pytest.approx(2.5 / 3)


def tables() -> tuple[pa.Table, pa.Table]:
    pool = instructions("i0", "i1", "i2", "i3")
    said: dict[tuple[str, str], Any] = {
        (name, f"i{n}"): f"The answer is {n + 2 if n <= at else 0}."
        for at, name in enumerate(("low", "mid", "top"))
        for n in range(4)
    }
    said["low", "i3"] = {"status": "error", "error": "server"}
    said["mid", "i3"] = {"status": "empty"}
    return pool, responses(said)


def test_the_key_says_what_it_says_of_single_votes() -> None:
    pool, replies = tables()
    keyed = keyed_responses("math", pool, replies, ["top", "low", "mid"])
    assert keyed.models == ["low", "mid", "top"]
    nan = np.nan
    np.testing.assert_array_equal(keyed.right, [[1, 0, 0, nan], [1, 1, 0, 0], [1, 1, 1, 0]])
    sheet = pa.Table.from_pylist(
        [
            {
                "comparison_id": f"{a}{b}{n}", "scenario": "math", "instruction_id": f"i{n}", "root_id": f"i{n}",
                "arm": "discrepant", "model_1": a, "model_2": b, "request_id_1": "r", "request_id_2": "s",
                "length_1": 1, "length_2": 1, "inclusion_probability": 1.0, "self_named_1": False,
                "self_named_2": False, "random_probability": None,
            }
            for a, b in keyed.pairs
            for n in range(4)
        ]
    )  # fmt: skip
    votes = key_votes(sheet, pool, replies).votes.to_pylist()
    total = keyed.totals()
    assert total.votes.sum() == len(votes)
    points = {"a": 1.0, "b": 0.0, "tie": 0.5, "both_bad": 0.5}
    for at, (a, b) in enumerate(keyed.pairs):
        mine = [points[row["winner"]] for row in votes if (row["model_a"], row["model_b"]) == (a, b)]
        assert total.points[0, at] == sum(mine)
        assert total.squares[0, at] == sum(won * won for won in mine)
        assert total.votes[0, at] == len(mine)


def test_by_policy_a_response_without_an_answer_gives_no_vote() -> None:
    pool, replies = tables()
    keyed = keyed_responses("math", pool, replies, ["low", "mid", "top"], "drop")
    assert np.isnan(keyed.right[1, 3])
    assert not np.isnan(keyed.right[2, 3])


def test_rows_and_models_may_come_in_any_order() -> None:
    pool, replies = tables()
    ids = pool["instruction_id"].to_pylist()
    found = []
    for seed, names in ((1, ["low", "mid", "top"]), (2, ["top", "low", "mid"])):
        keyed = keyed_responses("math", shuffled(pool, seed), shuffled(replies, seed), names)
        order = np.random.default_rng(seed).permutation(4)
        said = [
            vectors(name, normal(ord(name[0]), 4, 3)[order], [ids[at] for at in order.tolist()])
            for name in names
        ]
        asked = vectors("instructions", normal(5, 4, 3)[order], [ids[at] for at in order.tolist()])
        texts = {name: pa.array([f"{name} says {key}" for key in keyed.ids.to_pylist()]) for name in names}
        picks = pick_prefixes(keyed, texts, said, asked, plan(3))
        found.append(ablation_table(keyed, picks, plan(3)))
    assert found[0].equals(found[1])


def test_without_gold_every_row_says_why() -> None:
    _, replies = tables()
    pool = instructions("i0", "i1", gold=None)
    keyed = keyed_responses("open", pool, replies, ["low", "mid"])
    texts = {name: pa.array([], pa.string()) for name in ("low", "mid")}
    said = [vectors(name, normal(1, 2, 3), ["i0", "i1"]) for name in ("low", "mid")]
    picks = pick_prefixes(keyed, texts, said, said[0], plan(2))
    table = ablation_table(keyed, picks, plan(2))
    assert conform(table, ARENA_ABLATION).equals(table)
    assert table.num_rows == 5 * 2 * len(MEASURES)
    for row in table.to_pylist():
        assert (row["status"], row["value"], row["n"]) == ("not_computable", None, 0)
        assert "no instruction of the scenario has a gold value" in row["reason"]
    page = selection_page(with_league({"duel": table}))
    assert "Unknown: no instruction of the scenario has a gold value" in page


def agreement(method: str, value: float | None, **more: Any) -> Row:
    row = {"method": method, "lam": 0.0 if method == "random" else 1.0, "k": 5, "value": value, "reason": ""}
    row |= {"ci_low": None, "ci_high": None, "difference_ci_low": None, "difference_ci_high": None}
    return row | more


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ((-0.1, 0.3), "holds 0: neither is shown to be better"),
        ((0.05, 0.3), "leaves out 0: selecting helped"),
        ((-0.3, -0.05), "leaves out 0: selecting did harm"),
    ],
)
def test_the_conclusion_follows_from_the_interval(ends: tuple[float, float], verdict: str) -> None:
    found = agreement("embedding", 0.8, difference=0.1, difference_ci_low=ends[0], difference_ci_high=ends[1])
    (text,) = conclusions([found | {"ci_low": 0.6, "ci_high": 1.0}, agreement("random", 0.7)])
    assert text.startswith("At K = 5, lambda 1, embedding orders 80.0 [60.0, 100.0] % of the pairs")
    assert "random draws 70.0 %" in text
    assert text.endswith(f"{verdict}.")


def test_what_has_no_interval_or_no_value_is_not_concluded_from() -> None:
    bare = agreement("token", 0.8, reason="one vote for each pair")
    assert conclusions([bare, agreement("random", 0.7)])[0].endswith("no interval: one vote for each pair.")
    lost = agreement("token", None, reason="no order to agree with")
    assert conclusions([lost, agreement("random", None)]) == [
        "At K = 5, lambda 1, token: unknown: no order to agree with."
    ]


def test_the_page_has_a_line_for_every_k() -> None:
    table = League(accurate([0.9, 0.6, 0.4, 0.1], 30)).table(plan(6))
    page = selection_page(with_league({"b|c": table, "a": table}))
    assert page.index("models: a") < page.index("models: b\\|c")
    assert sum(line.startswith(f"| {k} | {6 * k} |") for line in page.splitlines() for k in range(1, 7)) == 12
    assert page.count("At K = 5, lambda 1, embedding") == page.count("At K = 5, lambda 1, token") == 2
    assert selection_page(with_league({})) == "No arena has been ablated yet.\n"
