"""The board as numbers: what two runs are compared by, and the data of the charts."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from test_board import FLAT, GOOD, TABLE, league
from test_metrics import cell, measure, zero_shot

from magister.contracts.schemas import STANDINGS
from magister.teaching.board import teaching_board
from magister.teaching.numbers import CA_SCHEMA, ROUNDS_SCHEMA, board_numbers, ca_chart, rounds_chart

COUNTS = ("n_items", "n_students", "n_clusters", "n_cells", "n_dropped")

NO_STANDINGS = STANDINGS.schema.empty_table()


def numbers_of(metrics: pa.Table) -> dict[str, dict[str, float | int]]:
    return board_numbers(teaching_board(metrics, NO_STANDINGS))["main"]


def curve(metrics: pa.Table, teacher: str) -> list[dict[str, Any]]:
    return [row for row in rounds_chart(metrics).to_pylist() if row["teacher"] == teacher]


def test_every_row_of_the_board_has_its_numbers_under_its_league_and_name() -> None:
    board = teaching_board(measure(TABLE), NO_STANDINGS)
    assert list(board_numbers(board)) == ["main"]
    assert set(board_numbers(board)["main"]) == {"good", "also", "flat", "sham", "wrong_oracle"}
    row = board.to_pylist()[1]
    found = board_numbers(board)["main"]["good"]
    assert {name: found[name] for name in ("CA", "ci_low", "ci_high", "JA", "GA")} == {
        "CA": row["ca"], "ci_low": row["ca_ci_low"], "ci_high": row["ca_ci_high"],
        "JA": row["ja"], "GA": row["ga"],
    }  # fmt: skip
    assert {name: found[name] for name in ("rank", "rounds", *COUNTS)} == {
        "rank": 1, "rounds": 1, "n_items": 10, "n_students": 1, "n_clusters": 10, "n_cells": 10, "n_dropped": 0,
    }  # fmt: skip


def test_a_number_that_is_unknown_is_left_out_and_never_zero() -> None:
    own = zero_shot(*(cell("1", item=f"i{n}", teacher="good") for n in range(10)))
    found = numbers_of(measure(league(good=GOOD, lost=("x1",) * 10, sham=FLAT), own))
    assert found["good"]["AA"] == 1.0
    assert found["lost"] == {"rounds": 1, "n_items": 0, "n_students": 0, "n_clusters": 0} | {
        "n_cells": 0,
        "n_dropped": 10,
    }
    assert not {"AA", "JA", "rank"} & set(found["sham"])


def test_without_an_interval_the_value_stands_alone() -> None:
    found = numbers_of(measure(TABLE, resamples=0))["good"]
    assert found["CA"] == pytest.approx(0.6)
    assert not {"ci_low", "ci_high"} & set(found)


def test_numbers_are_numbers_only() -> None:
    found = board_numbers(teaching_board(measure(TABLE), NO_STANDINGS))
    for row in found["main"].values():
        assert {type(value) for value in row.values()} <= {int, float}
    json.dumps(found, allow_nan=False)


def test_bars_stand_in_the_order_of_the_board_and_are_named_apart() -> None:
    board = teaching_board(measure(TABLE), NO_STANDINGS)
    chart = ca_chart(board)
    assert chart.schema.equals(CA_SCHEMA)
    assert chart["series"].to_pylist() == [
        "main: also", "main: good", "main: flat", "main: sham (control)", "main: wrong_oracle (control)",
    ]  # fmt: skip
    assert chart["ca"].to_pylist() == board["ca"].to_pylist()
    stored = board.sort_by([(name, "ascending") for name in ("league", "arm", "teacher")])
    assert ca_chart(stored).equals(chart)


def test_the_curve_is_the_accuracy_after_every_round() -> None:
    metrics = measure(league(up=("0011", "0001", "0000", "1111"), sham=("0000",) * 4))
    rows = curve(metrics, "up")
    assert [(row["round"], row["p"], row["ca"]) for row in rows] == [
        (0, 0.25, None),
        (1, 0.25, 0.0),
        (2, 0.5, 0.25),
        (3, 0.75, 0.5),
    ]
    assert [row["ca_status"] for row in rows] == ["not_computable", "no_interval", "ok", "ok"]
    assert {row["p_status"] for row in rows} == {"ok"}
    assert all(row["p_ci_low"] <= row["p"] <= row["p_ci_high"] for row in rows)
    assert {(row["n_items"], row["n_students"], row["n_cells"]) for row in rows} == {(4, 1, 4)}
    assert {row["series"] for row in curve(metrics, "sham")} == {"main: sham (control)"}


def test_a_curve_of_unknown_points_is_not_drawn() -> None:
    metrics = measure(league(good=GOOD, lost=("x1",) * 10))
    assert curve(metrics, "lost") == []
    assert len(curve(metrics, "good")) == 2
    assert ca_chart(teaching_board(metrics, NO_STANDINGS))["teacher"].to_pylist() == ["good"]


def test_order_of_the_metrics_rows_does_not_matter() -> None:
    metrics = measure(TABLE)
    mixed = metrics.take(np.random.default_rng(1).permutation(metrics.num_rows))
    assert rounds_chart(mixed).equals(rounds_chart(metrics))


def test_nothing_rated_makes_empty_numbers_and_charts() -> None:
    nothing = measure(TABLE).slice(0, 0)
    board = teaching_board(nothing, NO_STANDINGS)
    assert board_numbers(board) == {}
    assert ca_chart(board).equals(CA_SCHEMA.empty_table())
    assert rounds_chart(nothing).equals(ROUNDS_SCHEMA.empty_table())
