"""Files of vectors and the tables that say whose they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from embedding_helpers import hashed_vectors
from hypothesis import given, settings
from hypothesis import strategies as st

from magister.contracts.arena_tables import VECTORS
from magister.embeddings import (
    Embedded,
    broken_rows,
    embed_texts,
    find_rows,
    open_vectors,
    vector_table,
    write_vectors,
)
from magister.errors import UserError
from magister.provenance import Lineage, make_lineage, write_table

IDS = ["a", "b", "c", "d"]
TEXTS = ["one text", None, "another text", "a third"]


def written(folder: Path, precision: str = "float32") -> tuple[Path, pa.Table, Embedded]:
    embedded = embed_texts(TEXTS, hashed_vectors())
    path = folder / "model.npy"
    write_vectors(path, embedded, precision)
    return path, vector_table(IDS, embedded), embedded


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_what_is_written_is_read(tmp_path: Path, precision: str) -> None:
    path, table, embedded = written(tmp_path, precision)
    found = open_vectors(path, table)
    assert isinstance(found.array, np.memmap)
    assert found.array.dtype == precision
    assert found.ids == IDS
    assert found.ok.tolist() == [True, False, True, True]
    np.testing.assert_array_equal(np.asarray(found.array), embedded.vectors.astype(precision))
    assert broken_rows(found) == []
    assert table["status"].to_pylist() == ["ok", "no_text", "ok", "ok"]


def test_the_table_keeps_its_contract(tmp_path: Path) -> None:
    _, table, _ = written(tmp_path)
    lineage: Lineage = make_lineage("embed_responses", wildcards={}, inputs=[], params={}, code={})
    write_table(tmp_path / "model.parquet", table, VECTORS, lineage)
    assert table.schema.equals(VECTORS.schema)


def test_a_failed_call_is_told_from_a_missing_text() -> None:
    embedded = Embedded(
        np.array([[1, 0], [np.nan, np.nan], [np.nan, np.nan]], dtype=np.float32),
        [None, "timeout", None], [1, None, None], [False, None, None], 2,
    )  # fmt: skip
    table = vector_table(["a", "b", "c"], embedded)
    assert table["status"].to_pylist() == ["ok", "error", "no_text"]
    assert table["error"].to_pylist() == [None, "timeout", None]


@pytest.mark.parametrize("ids", [["b", "a", "c", "d"], ["a", "a", "c", "d"], ["a", "b"]])
def test_ids_that_are_not_those_of_the_rows_are_refused(ids: list[str]) -> None:
    with pytest.raises(ValueError, match=r"ids must ascend|2 ids for 4 vectors"):
        vector_table(ids, embed_texts(TEXTS, hashed_vectors()))


def test_a_table_of_another_file_is_refused(tmp_path: Path) -> None:
    path, table, _ = written(tmp_path)
    for other in (table.slice(1), table.take([1, 0, 2, 3]), pa.concat_tables([table, table.slice(0, 1)])):
        with pytest.raises(UserError, match="that is not theirs"):
            open_vectors(path, other)


def test_a_file_that_is_none_says_so(tmp_path: Path) -> None:
    path, table, _ = written(tmp_path)
    with pytest.raises(UserError, match="not found"):
        open_vectors(tmp_path / "gone.npy", table)
    np.save(path, np.zeros((4, 2), dtype=np.float64))
    with pytest.raises(UserError, match="float64"):
        open_vectors(path, table)
    path.write_bytes(path.read_bytes()[:90])
    with pytest.raises(UserError, match=r"not a readable \.npy file"):
        open_vectors(path, table)


def test_nothing_to_write_is_an_error_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="none of the 2 texts has a vector"):
        write_vectors(tmp_path / "m.npy", embed_texts([None, ""], hashed_vectors()))
    assert list(tmp_path.iterdir()) == []


def test_rows_that_are_not_what_the_table_says_are_found(tmp_path: Path) -> None:
    path, table, embedded = written(tmp_path)
    array = embedded.vectors.copy()
    array[0] *= 1.1
    array[1] = array[2]
    array[3, 5] = np.nan
    np.save(path, array)
    assert broken_rows(open_vectors(path, table)) == ["a", "b", "d"]


def test_rows_are_found_by_id_in_any_order(tmp_path: Path) -> None:
    path, table, _ = written(tmp_path)
    found = open_vectors(path, table)
    assert find_rows(found, ["d", "a", "d"]).tolist() == [3, 0, 3]
    with pytest.raises(UserError, match="2 of 3 instructions have no row of vectors; first: bb"):
        find_rows(found, ["a", "bb", "zz"])


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.text(alphabet="ab c", max_size=9), min_size=1, max_size=9).filter(
        lambda t: any(s.strip() for s in t)
    )
)
def test_the_same_texts_give_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("vectors")
    for name in ("one.npy", "two.npy"):
        write_vectors(folder / name, embed_texts(texts, hashed_vectors()), "float16")
    assert (folder / "one.npy").read_bytes() == (folder / "two.npy").read_bytes()
    assert np.load(folder / "one.npy").shape == (len(texts), 64)
