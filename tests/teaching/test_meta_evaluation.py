"""Leagues against external boards."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magister.contracts.schemas import META_EVALUATION, META_NAMES, METRICS
from magister.provenance._artifact import conform
from magister.stats import ModelBootstrap, compare_correlations, correlation, partial_correlation
from magister.teaching.external import match_names, read_boards
from magister.teaching.meta_evaluation import LeagueScores, meta_evaluation

PLAN = ModelBootstrap(resamples=200, seed=1)
HEAD = "board,model,score,date\n"
Row = dict[str, Any]


def league(
    values: Any, name: str = "main", spread: float = 0.05, teachers: Sequence[str] = ()
) -> LeagueScores:
    """Scores of teachers t00, t01 ... with replicates around them."""
    found = np.asarray(values, dtype=np.float64)
    rng = np.random.default_rng(5)
    replicates = found + rng.normal(0, spread, size=(PLAN.resamples, *found.shape))
    names = tuple(teachers) or tuple(f"t{m:02}" for m in range(len(found)))
    return LeagueScores(name, "wrong", names, found, replicates, np.full(found.shape, 9))


def drawn(models: int = 8, seed: int = 0) -> np.ndarray:
    """CA, AA, JA, GA and RA that go together somewhat, on a grid so that there are ties."""
    rng = np.random.default_rng(seed)
    return np.round(rng.normal(size=(models, 1)) + rng.normal(0, 0.6, size=(models, len(METRICS))), 1)


def on_board(scores: LeagueScores, board: Sequence[float | None], name: str = "arena") -> pa.Table:
    """META_NAMES of a board that calls every teacher as we do."""
    lines = [
        f"{name},{who},{score},2025-01-01\n"
        for who, score in zip(scores.teachers, board, strict=True)
        if score is not None
    ]
    boards = read_boards([("data/external/x.csv", (HEAD + "".join(lines)).encode())])
    mapped = {who: who for who in scores.teachers}
    return match_names({scores.league: scores.teachers}, boards, {name: mapped} if lines else {})


def evaluate(
    scores: LeagueScores, names: pa.Table, plan: ModelBootstrap = PLAN
) -> dict[tuple[str, ...], Row]:
    table = meta_evaluation([scores], names, plan)
    assert conform(table, META_EVALUATION).equals(table)
    return {
        (row["against"], row["board"], row["metric"], row["coefficient"]): row for row in table.to_pylist()
    }


def test_numbers_are_those_of_the_statistics_with_items_nested_in_models() -> None:
    scores = league(drawn(), spread=0.3)
    board = [3, 1, 4, 1, 5, 9, 2, 6]
    rows = evaluate(scores, on_board(scores, board))
    values, draws = scores.values, scores.replicates
    for coefficient in ("spearman", "kendall", "pearson"):
        row = rows["external", "arena", "CA", coefficient]
        found = correlation(values[:, 0], board, coefficient, PLAN, np.round(draws[:, :, 0], 12))
        assert (row["value"], row["ci_low"], row["ci_high"]) == (found.value, found.ci_low, found.ci_high)
        nested = {"first": np.round(draws[:, :, 0], 12), "second": np.round(draws[:, :, 1], 12)}
        beside = compare_correlations(values[:, 0], values[:, 1], board, coefficient, PLAN, nested)
        assert (row["aa_value"], row["t"], row["p"]) == (beside.second, beside.statistic, beside.p)
        assert row["difference"] == beside.difference.value
        assert (row["difference_ci_low"], row["difference_ci_high"]) == (
            beside.difference.ci_low, beside.difference.ci_high,
        )  # fmt: skip
        nested = {"first": nested["first"], "given": nested["second"]}
        given_aa = partial_correlation(values[:, 0], board, values[:, 1], coefficient, PLAN, nested)
        assert (row["partial"], row["partial_ci_low"]) == (given_aa.value, given_aa.ci_low)
        assert (row["n_models"], row["n_paired"], row["n_clusters"]) == (8, 8, 9)


def test_metrics_are_held_to_ca_within_the_league_without_any_board() -> None:
    scores = league(drawn())
    rows = evaluate(scores, META_NAMES.schema.empty_table())
    assert {key[:3] for key in rows} == {("league", "CA", metric) for metric in ("AA", "JA", "GA", "RA")}
    nested = {
        "first": np.round(scores.replicates[:, :, 3], 12),
        "second": np.round(scores.replicates[:, :, 0], 12),
    }
    found = correlation(scores.values[:, 3], scores.values[:, 0], "kendall", PLAN, nested)
    row = rows["league", "CA", "GA", "kendall"]
    assert (row["value"], row["ci_low"], row["ci_high"]) == (found.value, found.ci_low, found.ci_high)
    assert (
        rows["league", "CA", "AA", "kendall"]["difference_reason"]
        == "AA is what the other metrics are compared with"
    )


def test_three_models_are_too_few_and_say_so() -> None:
    scores = league(drawn(5))
    rows = evaluate(scores, on_board(scores, [1, 2, 3, None, None]))
    row = rows["external", "arena", "CA", "spearman"]
    assert (row["value"], row["status"], row["n_models"]) == (None, "not_computable", 3)
    assert row["reason"] == "3 of 5 teachers have CA and a score of the board: a correlation takes 4 or more"
    assert (row["difference_status"], row["partial_status"]) == ("not_computable", "not_computable")
    assert rows["league", "CA", "AA", "spearman"]["n_models"] == 5


def test_a_league_without_replicates_is_fine_where_it_is_too_small() -> None:
    scores = league(drawn(2))
    bare = LeagueScores("main", "wrong", scores.teachers, scores.values, np.empty((0, 2, 5)), scores.clusters)
    rows = evaluate(bare, META_NAMES.schema.empty_table())
    assert {row["status"] for row in rows.values()} == {"not_computable"}


def test_a_teacher_without_the_metric_is_left_out_and_named() -> None:
    values = drawn(7)
    values[2, METRICS.index("GA")] = np.nan
    values[4, METRICS.index("AA")] = np.nan
    scores = league(values)
    rows = evaluate(scores, on_board(scores, [1, 2, 3, 4, 5, 6, 7]))
    row = rows["external", "arena", "GA", "spearman"]
    assert (row["n_models"], row["n_paired"], row["reason"]) == (6, 5, "no GA of t02")
    assert rows["external", "arena", "AA", "spearman"]["reason"] == "no AA of t04"
    assert rows["external", "arena", "CA", "spearman"]["n_models"] == 7


def test_a_board_on_which_all_are_equal_has_no_correlation() -> None:
    scores = league(drawn())
    row = evaluate(scores, on_board(scores, [5] * 8))["external", "arena", "CA", "kendall"]
    assert (row["value"], row["status"]) == (None, "not_computable")
    assert row["reason"] == "all models have equal scores on a board"


def test_a_perfect_agreement_has_a_value_and_no_interval() -> None:
    scores = league(np.arange(40).reshape(8, 5), spread=0.0)
    row = evaluate(scores, on_board(scores, range(8)))["external", "arena", "CA", "spearman"]
    assert (row["value"], row["ci_low"], row["status"]) == (1.0, None, "no_interval")
    assert row["reason"] == "every resample gives the same value: there is no interval"
    assert (row["difference"], row["p"]) == (0.0, None)
    assert "order the models alike" in row["difference_reason"]


def test_scores_that_differ_by_rounding_are_ties() -> None:
    values = np.tile(np.array([[0.1 + 0.2], [0.3], [0.4], [0.5], [0.6]]), 5)
    plain = np.tile(np.array([[0.3], [0.3], [0.4], [0.5], [0.6]]), 5)
    board = [2, 1, 3, 5, 4]
    found, same = (
        evaluate(scores, on_board(scores, board))["external", "arena", "CA", "kendall"]["value"]
        for scores in (league(values), league(plain))
    )
    assert found == same


@given(st.integers(0, 10**6), st.randoms())
@settings(max_examples=10, deadline=None)
def test_the_order_of_the_rows_of_names_changes_nothing(seed: int, random: Any) -> None:
    scores = league(drawn(6, seed))
    names = on_board(scores, [2, 1, 3, 6, 5, 4])
    places = list(range(names.num_rows))
    random.shuffle(places)
    assert meta_evaluation([scores], names.take(places), PLAN).equals(meta_evaluation([scores], names, PLAN))


def test_boards_and_leagues_are_apart() -> None:
    one, two = league(drawn(6, 1), "one"), league(drawn(6, 2), "two")
    names = pa.concat_tables(
        [on_board(one, range(6)), on_board(two, [5, 4, 3, 2, 1, 0]), on_board(two, range(6), "bench")]
    )
    table = meta_evaluation([one, two], names, PLAN)
    assert {(row["league"], row["board"]) for row in table.to_pylist()} == {
        ("one", "CA"), ("one", "arena"), ("two", "CA"), ("two", "arena"), ("two", "bench"),
    }  # fmt: skip
    alone = meta_evaluation([two], names, PLAN)
    assert table.filter(pa.compute.equal(table["league"], "two")).equals(alone)


@pytest.mark.parametrize(
    ("coefficient", "expected"), [("spearman", 0.625649), ("kendall", 0.491090), ("pearson", 0.699449)]
)
def test_arena_against_livebench_through_the_files(cases: Path, coefficient: str, expected: float) -> None:
    """One board stands in for CA; the other is read from a file and mapped by its own names."""
    with (cases / "stats/arena_vs_livebench_23pairs.csv").open(newline="") as file:
        pairs = list(csv.DictReader(file))
    lines = [HEAD.split(",")] + [
        ["livebench", row["livebench_name"], row["livebench_2025_04_25_global_avg"], "2025-04-25"]
        for row in pairs
    ]
    lines[0][-1] = "date"
    text = "\n".join(",".join(f'"{cell}"' for cell in line) for line in lines)
    teachers = sorted(row["arena_name"] for row in pairs)
    arena = {row["arena_name"]: float(row["arena_score_20250804"]) for row in pairs}
    values = np.full((len(teachers), len(METRICS)), np.nan)
    values[:, 0] = [arena[name] for name in teachers]
    names = match_names(
        {"main": teachers},
        read_boards([("data/external/livebench.csv", text.encode())]),
        {"livebench": {row["arena_name"]: row["livebench_name"] for row in pairs}},
    )
    row = evaluate(league(values, teachers=teachers), names)["external", "livebench", "CA", coefficient]
    assert row["value"] == pytest.approx(expected, abs=5e-7)
    assert (row["n_models"], row["status"]) == (23, "ok")
    assert row["ci_low"] < row["value"] < row["ci_high"]
    assert row["difference_reason"].startswith("0 of 23 teachers have CA, AA and a score of the board")
