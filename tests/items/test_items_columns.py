"""Files as columns: the quick reader reads what the strict one reads."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magister.errors import UserError
from magister.items import read_columns, read_rows

CELLS = st.text(st.sampled_from(list("aN0 é\\';\t")), max_size=4)


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@settings(max_examples=40)
@given(
    st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]), st.booleans()
)
def test_cells_without_quotes_are_read_as_the_reader_by_rows_reads_them(
    tmp_path_factory, rows: list[tuple[str, str]], end: str, closed: bool
) -> None:
    text = end.join(["x,y", *(f"{x},{y}" for x, y in rows)]) + (end if closed else "")
    path = written(tmp_path_factory.mktemp("csv") / "f.csv", text.encode())
    found = read_columns(path)
    pairs, broken = read_rows(path)
    assert found.table.to_pylist() == [row for _, row in pairs]
    assert found.rows.tolist() == [number for number, _ in pairs]
    assert found.broken == broken


@pytest.mark.parametrize(
    ("data", "rows", "broken"),
    [
        (b"x,y\n1,2\n3\n4,5\n", [2, 4], [3]),
        (b"x,y\n1,2\n\n4,5\n", [2, 4], []),
        (b'x,y\n1,"a\nb"\n4,5\n', [2, 4], []),
        (b"x,y\n1,\xff\n4,5\n", [3], [2]),
        (b"\xef\xbb\xbfx,y\n1,2\n", [2], []),
        (b"x,y\n1,2\n3,4,5\n", [2], [3]),
    ],
)
def test_rows_that_are_none_are_set_apart_with_their_lines(
    tmp_path: Path, data: bytes, rows: list[int], broken: list[int]
) -> None:
    found = read_columns(written(tmp_path / "f.csv", data))
    assert found.table.column_names == ["x", "y"]
    pairs, lost = read_rows(tmp_path / "f.csv")
    assert found.rows.tolist() == [number for number, _ in pairs]
    assert [row.number for row in found.broken] == [row.number for row in lost]
    assert (found.rows.tolist(), [row.number for row in found.broken]) == (rows, broken)


def test_columns_that_stand_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="stand there twice: x"):
        read_columns(written(tmp_path / "f.csv", b"x, x\n1,2\n"))


def test_values_of_json_are_texts_and_lists_are_named(tmp_path: Path) -> None:
    lines = [{"x": 1, "y": None}, {"x": True, "y": float("nan")}, {"x": [1], "z": "a"}]
    path = written(tmp_path / "f.jsonl", "\n".join(map(json.dumps, lines)).encode() + b"\nnot json\n")
    found = read_columns(path)
    assert found.table.to_pydict() == {
        "x": ["1", "True", "[1]"],
        "y": [None, None, None],
        "z": [None, None, "a"],
    }
    assert found.nested == {"x": 3}
    assert [row.number for row in found.broken] == [4]


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1, None], "y": ["a", "b"]}), tmp_path / "f.parquet")
    found = read_columns(tmp_path / "f.parquet")
    assert found.table["x"].type == pa.int64()
    assert found.rows.tolist() == [1, 2]


@pytest.mark.parametrize("name", ["f.csv", "f.parquet", "f.jsonl"])
def test_a_file_that_is_missing_or_damaged_is_a_users_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="not found"):
        read_columns(tmp_path / name)
    with pytest.raises(UserError, match="expected a file of kind"):
        read_columns(written(tmp_path / "f.xlsx", b"x"))
    with pytest.raises(UserError, match="damaged, or no parquet file"):
        read_columns(written(tmp_path / "g.parquet", b"x"))
