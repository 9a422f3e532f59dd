"""Similarities of all pairs: exact, by blocks, from files; of words; from tables; and the pre-filter."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from selection_cases import TIGHT, ids_of, normal, vectors

from magister.arena.effort import Effort
from magister.arena.prefilter import PreFilter, filter_similarities
from magister.arena.similarity import Pair, Similarities, all_pairs, cosine_similarities
from magister.arena.similarity_tables import tabled_similarities
from magister.arena.tokens import token_similarities
from magister.arena.vectors import Vectors
from magister.errors import UserError


def found(
    models: list[Vectors], count: int, pairs: list[Pair] | None = None, effort: Effort | None = None
) -> dict[Pair, NDArray[np.float64]]:
    ids = pa.array(ids_of(count))
    out: dict[Pair, NDArray[np.float64]] = {}
    for part in cosine_similarities(models, ids, pairs, effort):
        out |= dict(zip(part.pairs, part.values, strict=True))
    return out


def league(count: int = 4, instructions: int = 25, width: int = 7) -> list[Vectors]:
    return [vectors(f"m{k}", normal(k, instructions, width)) for k in range(count)]


def test_similarities_are_the_cosines_of_the_responses() -> None:
    models = league()
    values = found(models, 25)
    assert list(values) == all_pairs(["m0", "m1", "m2", "m3"])
    unit = {
        model.name: model.values / np.linalg.norm(model.values, axis=1, keepdims=True) for model in models
    }
    for (a, b), line in values.items():
        assert line == pytest.approx((unit[a] * unit[b]).sum(axis=1), abs=1e-7)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    "effort", [TIGHT, Effort(threads=1), Effort(threads=3), Effort(2000, 2), Effort(9000, 1)]
)
def test_neither_memory_nor_threads_change_a_byte(dtype: type, effort: Effort) -> None:
    models = [vectors(model.name, model.values.astype(dtype)) for model in league(5)]
    whole, parts = found(models, 25), found(models, 25, effort=effort)
    assert sorted(whole) == sorted(parts)
    assert all(whole[pair].tobytes() == parts[pair].tobytes() for pair in whole)


@settings(deadline=None, max_examples=40)
@given(st.sets(st.sampled_from(all_pairs([f"m{k}" for k in range(5)])), min_size=1))
def test_some_pairs_alone_are_the_bytes_they_are_among_all(some: set[Pair]) -> None:
    models = league(5, 9)
    whole, part = found(models, 9), found(models, 9, sorted(some))
    assert set(part) == some
    assert all(whole[pair].tobytes() == part[pair].tobytes() for pair in some)


def test_files_are_read_by_blocks_and_rows_found_by_their_ids(tmp_path: Path) -> None:
    models = league(3, 40)
    names = np.array(ids_of(40))
    mapped = []
    for k, model in enumerate(models):
        order = np.random.default_rng(k).permutation(40)
        np.save(tmp_path / f"{model.name}.npy", model.values[order])
        values = np.load(tmp_path / f"{model.name}.npy", mmap_mode="r")
        mapped.append(vectors(model.name, values, names[order].tolist()))
    whole, read = found(models, 40), found(mapped, 40, effort=Effort(1, 2))
    assert all(whole[pair].tobytes() == read[pair].tobytes() for pair in whole)


def test_an_unanswered_instruction_has_no_similarity() -> None:
    one, two = normal(1, 4, 3), normal(2, 4, 3)
    one[1] = np.nan
    one[2] = 0.0
    models = [vectors("a", one), vectors("b", two[:3], ids_of(4)[:3])]
    (line,) = found(models, 4).values()
    assert np.isnan(line).tolist() == [False, True, True, True]


def test_vectors_that_do_not_fit_are_named() -> None:
    with pytest.raises(UserError, match=r"different widths: 'a' 2, 'b' 3"):
        found([vectors("a", np.ones((2, 2))), vectors("b", np.ones((2, 3)))], 2)
    with pytest.raises(UserError, match="the name of one model"):
        found([vectors("a", np.ones((2, 2)))] * 2, 2)
    with pytest.raises(UserError, match=r"no vectors of model\(s\) z; there are a"):
        found([vectors("a", np.ones((2, 2)))], 2, [("a", "z")])
    with pytest.raises(UserError, match="expected a matrix of floating-point numbers"):
        vectors("a", np.ones((2, 2), dtype=int))
    with pytest.raises(UserError, match="2 rows and 1 ids"):
        vectors("a", np.ones((2, 2)), ["x"])
    wrong = np.ones((2, 2), dtype=np.float16)
    wrong[1, 0] = np.inf
    with pytest.raises(UserError, match=r"'a': row 2, instruction 'i0001', is infinite"):
        found([vectors("a", wrong), vectors("b", np.ones((2, 2)))], 2)


# Words


def written_f1(one: str, other: str) -> float:
    a, b = Counter(one.lower().split()), Counter(other.lower().split())
    return 2 * sum((a & b).values()) / (a.total() + b.total())


WORDS = st.lists(st.sampled_from(["Ape", "ape", "bee", "cat", "7"]), min_size=1, max_size=9).map(" ".join)


@settings(deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=9), st.integers(1, 4))
def test_shared_words_are_counted_as_often_as_both_have_them(
    texts: list[tuple[str, str]], at_once: int
) -> None:
    columns = {name: pa.array([text[k] for text in texts]) for k, name in enumerate("ab")}
    (line,) = token_similarities(columns, [("a", "b")], at_once).values
    assert line.tolist() == [written_f1(*text) for text in texts]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Yes, indeed!", "indeed (yes)", 1.0),
        ("北京是首都", "首都是北京", 1.0),
        ("北京 city", "北 City", 0.8),
        ("Éa été", "éA", 2 / 3),
        ("one", "two", 0.0),
        ("", "two", 0.0),
        ("", "...", None),
        (None, "two", None),
    ],
)
def test_words_are_what_readers_of_any_script_take_for_words(
    one: str | None, other: str, expected: float | None
) -> None:
    texts = {"a": pa.array([one], pa.string()), "b": pa.array([other], pa.string())}
    value = token_similarities(texts, [("a", "b")]).values[0, 0]
    assert np.isnan(value) if expected is None else value == pytest.approx(expected)


def test_texts_that_do_not_fit_are_named() -> None:
    with pytest.raises(UserError, match=r"\[1, 2\] texts"):
        token_similarities({"a": pa.array(["x"]), "b": pa.array(["x", "y"])}, [("a", "b")])
    with pytest.raises(UserError, match=r"no texts of model\(s\) b; there are those of a"):
        token_similarities({"a": pa.array(["x"])}, [("a", "b")])


# Tables

ROWS = [("x", "a", "b", 0.5), ("y", "b", "a", None), ("x", "c", "a", 0.25)]


def table(rows: list[tuple[str | None, str | None, str | None, float | None]]) -> pa.Table:
    names = ["instruction_id", "model_a", "model_b", "similarity"]
    return pa.Table.from_pylist(
        [dict(zip(names, row, strict=True)) for row in rows],
        schema=pa.schema([(name, pa.string()) for name in names[:3]] + [("similarity", pa.float64())]),
    )


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 0, 2]])
def test_a_table_gives_similarities_in_any_order_and_what_it_lacks_is_missing(order: list[int]) -> None:
    ids, part = tabled_similarities(table([ROWS[k] for k in order]))
    assert (ids.to_pylist(), part.pairs) == (["x", "y"], [("a", "b"), ("a", "c")])
    assert np.array_equal(part.values, [[0.5, np.nan], [0.25, np.nan]], equal_nan=True)


def test_columns_of_a_table_follow_given_instructions() -> None:
    ids, part = tabled_similarities(table(ROWS), pa.array(["z", "x"]))
    assert ids.to_pylist() == ["z", "x"]
    assert np.array_equal(part.values, [[np.nan, 0.5], [np.nan, 0.25]], equal_nan=True)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("x", "b", "a", 0.5), "rows 1 and 4 are of one pair and instruction"),
        (("z", "a", "a", 0.5), "row 4 compares a with itself"),
        (("z", "a", "b", 1.5), "row 4 says 1.5; expected -1 to 1"),
        ((None, "a", "b", 0.5), "row 4 has no instruction_id"),
        (("z", None, "b", 0.5), "row 4 has no model_a"),
    ],
)
def test_a_wrong_row_of_a_table_is_named(
    row: tuple[str | None, str | None, str | None, float | None], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        tabled_similarities(table([*ROWS, row]))


def test_a_judge_cannot_score_below_0() -> None:
    with pytest.raises(UserError, match=r"row 1 says -0\.5; expected 0 to 1"):
        tabled_similarities(table([("x", "a", "b", -0.5)]), low=0.0)


def test_a_column_that_is_lacking_or_no_number_is_named() -> None:
    with pytest.raises(UserError, match=r"lack the column\(s\) similarity; found instruction_id"):
        tabled_similarities(table(ROWS).drop(["similarity"]))
    text = table(ROWS).set_column(3, "similarity", pa.array(["0.5", "high", "1"]))
    with pytest.raises(UserError, match="expected numbers in the column similarity"):
        tabled_similarities(text)


# Pre-filter


def test_the_filter_refuses_empty_short_and_unequal_responses_and_counts_them() -> None:
    long, longer = "word " * 21, "word " * 90
    texts = {
        "a": pa.array([long, "", " ", long, long, long, None]),
        "b": pa.array([long, long, long, "word " * 20, longer, "word " * 83, long]),
    }
    part = Similarities([("a", "b")], np.array([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, np.nan]]))
    ((left, counts),) = filter_similarities([part], texts, PreFilter())
    assert np.isnan(left.values[0]).tolist() == [False, True, True, True, True, False, True]
    assert counts == [{"empty": 2, "short": 1, "unequal_length": 1}]
