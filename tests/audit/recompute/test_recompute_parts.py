"""The parts that recompute, against results that are known."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from magister.audit.recompute import _weighted as weighted
from magister.audit.recompute._chance import share_range, tail_share
from magister.audit.recompute._copies import hold_csv, hold_lines, leaves, plain
from magister.audit.recompute._draws import (
    Draws,
    Published,
    adjusted,
    hold_ends,
    letters_agree,
    ranked,
    wilson_ends,
)
from magister.audit.recompute._ledger import Ledger, Sheet, close, shown
from magister.audit.recompute._project import Project
from magister.audit.recompute._rows import plain_answer
from magister.audit.recompute._rubric_scores import plain_score, task_interval
from magister.audit.recompute._strength import (
    Season,
    contrasts,
    elo_path,
    elo_paths,
    expected_points,
    gradient,
    strengths,
)
from magister.provenance import code_files

ONE = np.ones((1, 4))


def test_a_resample_has_as_many_clusters_of_each_stratum_as_there_are() -> None:
    drawn = Draws(["a", "a", "b", "b", "b"], 50)
    assert (drawn.weights[:, :2].sum(axis=1) == 2).all()
    assert (drawn.weights[:, 2:].sum(axis=1) == 3).all()
    assert np.ptp(drawn.weights[:, 0]) > 0


def test_the_same_clusters_are_drawn_again_in_the_same_way() -> None:
    one, two = (Draws(["a"] * 7, 20, salt=3).weights for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert (Draws(["a"] * 7, 20, salt=4).weights != one).any()


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    published=st.sampled_from([100, 1000]),
    tail=st.sampled_from([0.001, 0.025, 0.1]),
)
def test_quantiles_of_two_sets_of_draws_agree_within_what_chance_allows(
    seed: int, published: int, tail: float
) -> None:
    rng = np.random.default_rng(seed)
    theirs, ours = rng.standard_exponential(published), rng.standard_exponential(500)
    for probability in (tail, 1 - tail):
        low, high = tail_share(probability, published, 500)
        assert low <= (ours <= np.quantile(theirs, probability)).mean() <= high


def test_a_quantile_of_another_probability_is_not_within_it() -> None:
    low, high = tail_share(0.1, 10_000, 1000)
    assert 0.02 < low < 0.1 < high < 0.2
    assert tail_share(0.9, 10_000, 1000) == pytest.approx((1 - high, 1 - low))
    assert tail_share(0.025, 10_000, 1000)[1] < 0.1


def test_a_share_of_resamples_may_differ_by_chance_and_not_by_more() -> None:
    low, high = share_range(np.array([0.0, 0.5, 1.0]), 1000, 10_000)
    assert low[0] == 0.0
    assert high[0] < 0.05
    assert low[1] < 0.5 < high[1]
    assert high[1] - low[1] < 0.3
    assert high[2] == 1.0


def test_an_end_far_from_its_quantile_is_found_whatever_the_shape() -> None:
    drawn = np.random.default_rng(1).integers(0, 3, size=(1000, 1)).astype(float)
    table = pa.table({"name": ["x", "y"], "ci_low": [0.0, 1.5], "ci_high": [2.0, 2.0]})
    for row, wrong in ((0, 0), (1, 1)):
        ledger = Ledger("t")
        sheet = Sheet("t", table, ("name",))
        hold_ends(ledger, Published(sheet, np.array([row]), "ci_low", "ci_high", 1000, "c"), drawn, 0.025)
        assert len(ledger.findings) == wrong


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (5, 5), (3, 10), (1, 400)])
def test_wilson_ends_are_those_of_scipy(hits: int, n: int) -> None:
    known = stats.binomtest(hits, n).proportion_ci(0.9, method="wilson")
    assert wilson_ends(hits, n, 0.9) == pytest.approx((known.low, known.high), abs=1e-12)


def test_holm_is_that_of_the_definition() -> None:
    found = adjusted(np.array([0.01, 0.04, np.nan, 0.03]))
    np.testing.assert_allclose(found, [0.03, 0.06, np.nan, 0.06])


def test_ranks_are_shared_and_what_is_unknown_has_none() -> None:
    np.testing.assert_array_equal(ranked(np.array([0.3, 0.5, 0.3 + 1e-14, np.nan])), [2, 1, 2, np.nan])


def test_letters_say_who_is_told_apart() -> None:
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert letters_agree(["a", "ab", "b"], pairs, [False, True, False]) == []
    assert letters_agree(["a", "ab", "b"], pairs, [True, True, False]) == [0]
    assert letters_agree(["a", "ab", "b"], pairs, [None, False, None]) == [1]
    assert letters_agree(["(53)", "(53)(54)", "(54)"], pairs, [False, True, False]) == []


def test_contrasts_are_orthonormal() -> None:
    basis = contrasts(5)
    np.testing.assert_allclose(basis.T @ basis, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(basis.sum(axis=0), 0, atol=1e-12)


def season(seed: int, k: int = 4) -> Season:
    rng = np.random.default_rng(seed)
    wins = rng.integers(0, 6, size=(k, k)).astype(float)
    np.fill_diagonal(wins, 0)
    return Season(wins + wins.T, wins.sum(axis=1))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**16))
def test_strengths_leave_no_slope(seed: int) -> None:
    some = season(seed)
    b = strengths(some)
    np.testing.assert_allclose(gradient(some, b), 0, atol=1e-8)
    assert b.sum() == pytest.approx(0, abs=1e-9)


def test_two_models_are_as_far_apart_as_the_odds() -> None:
    won = Season(np.array([[0.0, 400.0], [400.0, 0.0]]), np.array([300.0, 100.0]))
    assert np.diff(strengths(won))[0] == pytest.approx(-np.log(3), rel=0.01)


def test_elo_stays_where_the_votes_are_as_expected_and_keeps_its_mean() -> None:
    some = season(3)
    level = Season(some.games, expected_points(some.games, np.zeros(4)))
    np.testing.assert_allclose(elo_path(level, 4.0), 1000.0, atol=1e-6)
    moved = elo_path(some, 8.0)
    assert moved.mean() == pytest.approx(1000, abs=1e-6)
    np.testing.assert_allclose(
        elo_paths(Season(some.games[None], some.points[None]), 8.0)[0], moved, atol=1e-6
    )


def test_weighted_statistics_are_the_usual_ones_with_weights_of_one() -> None:
    x, y = np.array([1.0, 2.0, 2.0, 5.0]), np.array([2.0, 1.0, 3.0, 4.0])
    assert weighted.sd(x)(ONE)[0] == pytest.approx(x.std(ddof=1))
    assert weighted.correlation(x, y)(ONE)[0] == pytest.approx(np.corrcoef(x, y)[0, 1])
    group = np.array([0, 0, 1, 1])
    whole = ((x - x.mean()) ** 2).sum()
    inside = 2 * ((1.5 - 2.5) ** 2 + (3.5 - 2.5) ** 2)
    assert weighted.between(x, group, omega=False)(ONE)[0] == pytest.approx(inside / whole)


def test_a_weight_of_two_is_a_row_that_stands_twice() -> None:
    table = np.array([[1.0, 2.0], [3.0, 3.0], [2.0, 4.0], [5.0, 4.0]])
    twice = np.vstack([table, table[1]])
    weights = np.array([[1.0, 2.0, 1.0, 1.0]])
    for make in (
        lambda t: weighted.icc(t, average=False),
        lambda t: weighted.icc(t, average=True),
        lambda t: weighted.alpha(t, ordinal=True),
        lambda t: weighted.alpha(t, ordinal=False),
        lambda t: weighted.sd(t[:, 0]),
        lambda t: weighted.correlation(t[:, 0], t[:, 1]),
    ):
        assert make(table)(weights)[0] == pytest.approx(make(twice)(np.ones((1, 5)))[0])


def test_alpha_is_that_of_a_worked_example() -> None:
    # Krippendorff (2011), section C: 12 units, four observers; interval alpha 0.849, ordinal 0.815.
    n = np.nan
    table = np.array(
        [[1, 2, 3, 3, 2, 1, 4, 1, 2, n, n, n], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, n, 3],
         [n, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, n], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, n]]
    ).T  # fmt: skip
    assert weighted.alpha(table, ordinal=False)(np.ones((1, 12)))[0] == pytest.approx(0.849, abs=5e-4)
    assert weighted.alpha(table, ordinal=True)(np.ones((1, 12)))[0] == pytest.approx(0.815, abs=5e-4)


def test_a_mean_of_one_task_or_of_equal_scores_has_no_interval() -> None:
    assert np.isnan(task_interval(np.array([1.0, 2.0]), ["a", "a"], 0.9)[1][0])
    assert np.isnan(task_interval(np.array([2.0, 2.0]), ["a", "b"], 0.9)[2])
    mean, (low, high), se = task_interval(np.array([1.0, 2.0, 4.0]), ["a", "b", "c"], 0.9)
    assert (low + high) / 2 == pytest.approx(mean) == pytest.approx(7 / 3)
    assert se == pytest.approx(np.std([1, 2, 4], ddof=1) / np.sqrt(3))


ITEM = {"options": ["Paris", "paris ", "Rome", "7"], "multi": False}


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        *(("Answer: Rome", "C"), ("Answer: Paris", None), ("Answer: rome", None), ("Answer: A", None)),
        *(("The answer is Rome", None), ("Answer: Rome\nor Paris", None), (None, None)),
    ],
)
def test_only_a_reply_that_says_nothing_else_is_read_again(text: str | None, letter: str | None) -> None:
    assert plain_answer(text, ITEM) == letter


@pytest.mark.parametrize(
    ("text", "score"),
    [
        *(('{"depth": {"reason": "so", "score": 4}}', 4.0), ('{"depth": 3}', 3.0), ('{"score": 2}', 2.0)),
        *(('{"depth": "4"}', None), ("4", None), ("Score: 4", None), ('{"depth": true}', None)),
    ],
)
def test_only_a_plain_object_of_scores_is_read_again(text: str, score: float | None) -> None:
    assert plain_score(text, "depth") == score


def test_numbers_are_equal_but_for_rounding_and_unknown_is_unknown() -> None:
    seen, wanted = (
        np.array([1.0, 1.0, np.nan, np.nan, np.inf]),
        np.array([1 + 1e-12, 1.1, np.nan, 0.0, np.inf]),
    )
    assert close(seen, wanted).tolist() == [True, False, True, False, True]


def test_values_are_shown_as_they_are_written() -> None:
    assert [shown(value) for value in (None, np.nan, 3.0, 0.25, "x", np.float64(2.5), True)] == [
        "null", "null", "3", "0.25", "x", "2.5", "True",
    ]  # fmt: skip


def test_a_csv_may_stand_in_another_order_and_is_held_by_its_key(tmp_path: Path) -> None:
    table = pa.table({"name": ["b", "=a"], "value": [0.5, None], "list": [["x", "y"], []]})
    lines = ["name,value,list", "'=a,,[]", "b,0.5,\"['x' 'y']\""]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    project = Project(tmp_path, Ledger("t"))
    hold_csv(project, "t.csv", table, ("name",))
    assert project.ledger.findings == []
    (tmp_path / "t.csv").write_text("\n".join([*lines[:2], "b,0.75,\"['x' 'z']\""]) + "\n", encoding="utf-8")
    hold_csv(project, "t.csv", table, ("name",))
    assert [finding.place for finding in project.ledger.findings] == ["name b: value", "name b: list"]


def test_a_page_must_hold_the_cells_of_a_row_in_order() -> None:
    text = "### One: x\n\n| a | b |\n|---|---|\n| *tom* | 0.5 [ 0.1,  0.9] |\n"
    for cells, wrong in ((["tom", "0.5 [0.1, 0.9]"], 0), (["0.5 [0.1, 0.9]", "tom"], 1), (["tom", "0.6"], 1)):
        ledger = Ledger("t")
        hold_lines(ledger, "p.md", text, [("One: x", "tom", cells)], "copies")
        assert len(ledger.findings) == wrong


def test_marks_and_escapes_are_no_part_of_a_cell() -> None:
    assert plain(r" *a\_b*  c\|d ") == "a_b c|d"


def test_leaves_of_a_document_have_places() -> None:
    found = dict(leaves({"a": [1, {"b": None}], "c": {}, "d": []}))
    assert found == {"a[0]": 1, "a[1].b": None, "c": {}, "d": []}


def test_places_of_rows_name_the_whole_key() -> None:
    sheet = Sheet("t", pa.table({"a": ["x", "y"], "b": [1, 2], "v": [0.1, 0.2]}), ("a", "b"))
    assert sheet.place(1, "v") == "a y, b 2: v"
    assert sheet.find([("y", 2), ("y", 3)]).tolist() == [1, -1]
    assert all(one != two for one, two in pairwise([sheet.place(0), sheet.place(1)]))


def test_nothing_that_made_the_numbers_is_imported() -> None:
    root = Path(__file__).resolve().parents[3]
    packages = {Path(name).parts[2] for name in code_files("magister.audit.recompute", root)}
    assert packages == {"__init__.py", "errors.py", "config", "audit"}
