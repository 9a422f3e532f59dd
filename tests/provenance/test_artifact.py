"""The writer of artifacts: contracts hold, bytes do not depend on order, a crash leaves the old file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from magister.contracts.schemas import Contract
from magister.errors import UserError
from magister.provenance import (
    Lineage,
    conform,
    make_lineage,
    read_lineage,
    write_json,
    write_sidecar,
    write_table,
    write_text,
)

SCHEMA = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("place", pa.int32(), nullable=False),
        pa.field("share", pa.float64()),
        pa.field("parts", pa.list_(pa.string())),
    ]
)
CONTRACT = Contract("things", SCHEMA, ("name", "place"), may_be_empty=True)
COLUMNS: dict[str, list[Any]] = {
    "name": ["b", "a", "a"],
    "place": [0, 1, 0],
    "share": [0.5, None, 1.0],
    "parts": [["x", "y"], None, []],
}


def lineage(**changes: Any) -> Lineage:
    given: dict[str, Any] = {"wildcards": {"league": "main"}, "inputs": [], "params": {"n": 1}, "code": {}}
    return make_lineage("rule", **(given | changes))


def things(**changes: list[Any]) -> pa.Table:
    return pa.table(COLUMNS | changes)


def test_rows_are_sorted_by_key_and_typed_as_the_contract_says(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "things.parquet"
    write_table(path, things().select(["share", "place", "parts", "name"]), CONTRACT, lineage())
    table = pq.read_table(path)
    assert table.schema.equals(SCHEMA)
    assert [field.nullable for field in table.schema] == [False, False, True, True]
    assert list(zip(table["name"].to_pylist(), table["place"].to_pylist(), strict=True)) == [
        ("a", 0),
        ("a", 1),
        ("b", 0),
    ]


rows = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.text(max_size=3),
            "place": st.integers(-(2**31), 2**31 - 1),
            "share": st.none() | st.floats(allow_nan=False),
            "parts": st.none() | st.lists(st.none() | st.text(max_size=2), max_size=3),
        }
    ),
    unique_by=lambda row: (row["name"], row["place"]),
    max_size=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=rows, seed=st.integers(0, 9), cut=st.integers(0, 12))
def test_bytes_depend_on_the_rows_and_not_on_their_order_or_chunks(
    tmp_path: Path, rows: list[dict[str, Any]], seed: int, cut: int
) -> None:
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    mixed = table.take(pa.array(np.random.default_rng(seed).permutation(len(rows))))
    mixed = pa.concat_tables([mixed.slice(0, cut), mixed.slice(cut)])
    one, two, three = (tmp_path / name for name in ("one.parquet", "two.parquet", "three.parquet"))
    write_table(one, table, CONTRACT, lineage())
    write_table(two, mixed, CONTRACT, lineage())
    write_table(three, pq.read_table(one), CONTRACT, lineage())
    assert one.read_bytes() == two.read_bytes() == three.read_bytes()


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (things().drop_columns(["share"]), ["missing columns ['share']"]),
        (things(extra=[1, 2, 3]), ["unknown columns ['extra']"]),
        (things(place=[0, 1, None]), ["1 null(s) in 'place'", "[{'name': 'a', 'place': None}]"]),
        (things(place=[0, 1, 2**31]), ["column 'place' does not fit int32"]),
        (things(place=["0", "1", "x"]), ["column 'place'", "'x'"]),
        (things(place=[0.0, 1.0, 0.5]), ["column 'place'", "truncated"]),
        (things(name=[["b"], ["a"], ["a"]]), ["column 'name' does not fit string"]),
        (things(parts=[1, 2, 3]), ["column 'parts' does not fit list"]),
        (things(place=[0, 1, 1]), ["repeated keys", "[{'name': 'a', 'place': 1}]"]),
        (things().append_column("name", [["b", "a", "a"]]), ["repeated columns ['name']"]),
    ],
)
def test_a_broken_contract_names_the_column_or_the_keys(
    tmp_path: Path, table: pa.Table, words: list[str]
) -> None:
    with pytest.raises(UserError) as failure:
        write_table(tmp_path / "things.parquet", table, CONTRACT, lineage())
    assert "table 'things'" in str(failure.value)
    assert all(word in str(failure.value) for word in words)
    assert list(tmp_path.iterdir()) == []


def test_conform_leaves_a_good_table_as_it_is() -> None:
    table = conform(things(), CONTRACT)
    assert conform(table, CONTRACT).equals(table)
    assert conform(SCHEMA.empty_table(), CONTRACT).num_rows == 0


def test_the_record_comes_back_from_inside_a_table_and_from_beside_a_document(tmp_path: Path) -> None:
    record = json.loads(lineage().to_json())
    write_table(tmp_path / "a.parquet", things(), CONTRACT, lineage())
    write_json(tmp_path / "b.json", {"z": 1, "a": ["é"]}, lineage())
    write_text(tmp_path / "c.md", "text\n", lineage())
    (tmp_path / "d.jsonl").write_text("{}\n")
    write_sidecar(tmp_path / "d.jsonl", lineage())
    for name in ("a.parquet", "b.json", "c.md", "d.jsonl"):
        assert read_lineage(tmp_path / name) == record
    assert (tmp_path / "b.json").read_text(encoding="utf-8").index('"a"') < 10
    assert "é" in (tmp_path / "b.json").read_text(encoding="utf-8")


def test_a_document_cannot_hold_what_json_has_no_word_for(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        write_json(tmp_path / "a.json", {"x": float("nan")}, lineage())
    assert list(tmp_path.iterdir()) == []


class Crash(BaseException):
    """Stands for a process that ends in the middle."""


def test_a_crash_in_the_middle_of_writing_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "things.parquet"
    write_table(path, things(), CONTRACT, lineage())
    before = path.read_bytes()

    def half(table: pa.Table, where: Path, **kwargs: Any) -> None:
        Path(where).write_bytes(before[: len(before) // 2])
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(pq, "write_table", half)
        with pytest.raises(Crash):
            write_table(path, things(share=[0.0, 0.0, 0.0]), CONTRACT, lineage())
    assert path.read_bytes() == before
    write_table(path, things(share=[0.0, 0.0, 0.0]), CONTRACT, lineage())
    assert path.read_bytes() != before
    assert [file.name for file in tmp_path.iterdir()] == ["things.parquet"]


def test_a_full_disk_is_the_users_to_mend_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "note.md"
    write_text(path, "old", lineage())

    def full(self: Path, *args: Any, **kwargs: Any) -> int:
        self.write_bytes(b"ne")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(UserError, match=r"note\.md: cannot be written: No space left on device"):
            write_text(path, "new", lineage())
    assert path.read_text() == "old"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["note.md", "note.md.lineage.json"]


def test_a_file_where_a_folder_should_be_is_the_users_to_mend(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        write_text(tmp_path / "data" / "note.md", "text", lineage())
