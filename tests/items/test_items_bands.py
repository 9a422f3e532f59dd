"""Difficulty bands."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pytest
from items_helpers import ladder_table

from magister.contracts.schemas import BANDS
from magister.errors import UserError
from magister.items import band_items, ladder_report

LADDER = ["s1", "s2", "s3", "s4", "s5"]
CUTS = [0.2, 0.4, 0.6, 0.8]


def banded(patterns, ladder=LADDER, cuts=CUTS):
    items = pa.table({"item_id": pa.array(list(patterns), pa.string())})
    return band_items(items, ladder_table(patterns, ladder), ladder, cuts)


@pytest.mark.parametrize(
    ("pattern", "band", "mean", "unsolved", "monotone"),
    [
        ("00000", 5, 0.0, True, True),
        ("00001", 5, 0.2, False, True),
        ("00011", 4, 0.4, False, True),
        ("00111", 3, 0.6, False, True),
        ("01111", 2, 0.8, False, True),
        ("11111", 1, 1.0, False, True),
        ("01011", 3, 0.6, False, False),
        ("0?110", 3, 0.5, False, False),
        ("0?011", 3, 0.5, False, True),
        ("1?111", 1, 1.0, False, True),
        ("0?000", 5, 0.0, False, True),
        ("0 001", 4, 0.25, False, True),
    ],
)
def test_bands_follow_the_mean_over_the_models_that_answered(pattern, band, mean, unsolved, monotone):
    bands = banded({"q": pattern, "all": "11111"})
    row = {row["item_id"]: row for row in bands.table.to_pylist()}["q"]
    assert row == {
        "item_id": "q",
        "band": band,
        "pass_pattern": pattern.replace(" ", "?"),
        "n_answered": 5 - pattern.count("?") - pattern.count(" "),
        "unsolved": unsolved,
        "monotone": monotone,
        "ladder_mean": mean,
    }
    assert bands.n_not_monotone == (not monotone)
    assert bands.table.schema.equals(BANDS.schema)


def test_items_that_nobody_answered_have_no_band_and_are_counted():
    bands = banded({"b": "?????", "c": "     ", "a": "00001"})
    assert bands.table["item_id"].to_pylist() == ["a"]
    assert bands.n_left_out == 2


def test_a_reply_without_an_answer_is_not_solved_and_not_an_error():
    table = ladder_table({"q": "11111"}, LADDER)
    rows = table.to_pylist()
    rows[0] |= {"status": "truncated", "correct": None}
    bands = band_items(
        pa.table({"item_id": ["q"]}), pa.Table.from_pylist(rows, schema=table.schema), LADDER, CUTS
    )
    assert bands.table["pass_pattern"].to_pylist() == ["01111"]


def test_other_models_and_other_items_are_ignored():
    answers = pa.concat_tables(
        [ladder_table({"q": "00111", "x": "11111"}, LADDER), ladder_table({"q": "1"}, ["big"])]
    )
    bands = band_items(pa.table({"item_id": ["q"]}), answers, LADDER, CUTS)
    assert bands.table["pass_pattern"].to_pylist() == ["00111"]


def test_rounding_of_a_mean_does_not_move_an_item():
    ladder = [f"m{place}" for place in range(10)]
    bands = banded({"q": "0000000111"}, ladder, [0.1 + 0.2 - 1e-16, 0.4, 0.6, 0.8])
    assert bands.table["band"].to_pylist() == [5]


@pytest.mark.parametrize("cuts", [[0.2, 0.4, 0.6], [0.4, 0.2, 0.6, 0.8], [0.2, 0.2, 0.6, 0.8]])
def test_cuts_must_ascend(cuts):
    with pytest.raises(UserError, match="four ascending means"):
        banded({"q": "00000"}, cuts=cuts)


def test_an_item_answered_twice_by_a_model_is_an_error():
    answers = pa.concat_tables([ladder_table({"q": "00000"}, LADDER)] * 2)
    with pytest.raises(UserError, match="twice"):
        band_items(pa.table({"item_id": ["q"]}), answers, LADDER, CUTS)


def test_a_ladder_model_without_answers_is_an_error():
    answers = ladder_table({"q": "0000"}, LADDER[:4])
    with pytest.raises(UserError, match="none of s5; found s1, s2, s3, s4"):
        band_items(pa.table({"item_id": ["q"]}), answers, LADDER, CUTS)
    with pytest.raises(UserError, match="different models"):
        band_items(pa.table({"item_id": ["q"]}), answers, ["s1", "s1"], CUTS)


def test_the_ladder_report_counts_per_model():
    patterns = {"a": "00111", "b": "0?011", "c": "?1111"}
    items = pa.table({"item_id": list(patterns)})
    report = ladder_report(items, ladder_table(patterns, LADDER), LADDER).to_pylist()
    assert [row["model"] for row in report] == LADDER
    assert [row["n_answered"] for row in report] == [2, 2, 3, 3, 3]
    assert [row["accuracy"] for row in report] == [0.0, 0.5, pytest.approx(2 / 3), 1.0, 1.0]


def test_bands_of_many_items_take_no_time_per_row():
    n = 100_000
    ids = pa.array([f"i{place:06d}" for place in range(n)])
    rng = np.random.default_rng(0)
    answers = pa.table(
        {
            "item_id": pa.concat_arrays([ids] * 5),
            "model": pa.array(np.repeat(LADDER, n)),
            "status": pa.array(["ok"] * (5 * n)),
            "correct": pa.array(rng.random(5 * n) < 0.5),
        }
    )
    start = time.perf_counter()
    bands = band_items(pa.table({"item_id": ids}), answers, LADDER, CUTS)
    assert bands.table.num_rows == n
    assert time.perf_counter() - start < 5
