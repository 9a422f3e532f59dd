"""Rows and columns as arrays: what one table says of the rows of another."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from magister.contracts._columns import agree, facts, largest_number, matches, positions

pairs = st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 3)), max_size=8)


def pair_table(rows: list[tuple[str | None, int]], names: tuple[str, str] = ("a", "b")) -> pa.Table:
    return pa.table(
        {
            names[0]: pa.array([a for a, _ in rows], pa.string()),
            names[1]: pa.array([b for _, b in rows], pa.int32()),
        }
    )


@settings(max_examples=60, deadline=None)
@given(pairs, pairs)
def test_a_row_finds_the_first_that_has_its_key(
    rows: list[tuple[str | None, int]], others: list[tuple[str | None, int]]
) -> None:
    found = positions(pair_table(rows), pair_table(others, ("x", "y")), ["a", "b"], ["x", "y"])
    assert found.tolist() == [others.index(row) if row in others else -1 for row in rows]


def test_facts_of_a_row_without_a_match_are_null() -> None:
    others = pa.table({"id": ["p", "q"], "size": [1, 2]})
    known, found = facts(pa.table({"id": ["q", "z"]}), others, "id", ["size"])
    assert known.tolist() == [True, False]
    assert found.to_pylist() == [{"size": 2}, {"size": None}]


def test_two_nulls_agree_and_a_null_and_a_value_do_not() -> None:
    one, other = (
        pa.chunked_array([pa.array(values, pa.string())]) for values in (["a", None, None], ["a", None, "b"])
    )
    assert agree(one, other).tolist() == [True, True, False]


def test_the_largest_number_of_a_text() -> None:
    texts = pa.chunked_array([pa.array(["[[3, 17], [5, 9]]", "none", None, "", "9" * 40])])
    assert largest_number(texts).tolist() == [17, -1, -1, -1, int("9" * 18)]


def test_a_null_matches_no_pattern() -> None:
    assert matches(pa.chunked_array([pa.array(["ab", None], pa.string())]), "b$").tolist() == [True, False]


def test_what_the_engine_was_spared_can_still_be_used() -> None:
    """In a process of its own: the stand-ins load on use, and nothing of them is left for others."""
    code = (
        "from magister.contracts._engine import frames\n"
        "import sys; frames(); assert 'scipy.stats' not in sys.modules\n"
        "from great_expectations.expectations.core import expect_column_kl_divergence_to_be_less_than as spared\n"
        "assert abs(spared.stats.entropy([0.5, 0.5]) - 0.6931) < 1e-3\n"
        "import scipy.stats; assert scipy.stats.norm.cdf(0) == 0.5\n"
        "import gc; assert gc.isenabled()\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
