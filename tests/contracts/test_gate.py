"""The gate itself: what a contract says is checked, and what the engine lets pass by design is not."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from gate_tables import entry_of, failed_names, failures
from hypothesis import given, settings
from hypothesis import strategies as st

from magister.contracts._columns import row_codes
from magister.contracts.gate import RowCheck, RowCount, describe_failures, run_gate
from magister.contracts.schemas import Contract

SCHEMA = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("place", pa.int32(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("parts", pa.list_(pa.string()), nullable=False),
        pa.field("share", pa.float64(), nullable=False),
        pa.field("maybe", pa.float64()),
        pa.field("note", pa.string()),
    ]
)
CONTRACT = Contract(
    "things",
    SCHEMA,
    ("name", "place"),
    allowed={"kind": ("big", "small")},
    ranges={"share": (0, 1), "maybe": (0, 1), "place": (0, 9)},
)
ROWS = [
    {"name": name, "place": place, "kind": "big", "parts": ["x"], "share": 0.5, "maybe": None, "note": None}
    for name in ("ann", "bob")
    for place in range(3)
]
FIRST = {"name": "ann", "place": 0}


def things(*changes: tuple[int, dict[str, Any]]) -> pa.Table:
    """The good rows with some of them changed."""
    rows = [dict(row) for row in ROWS]
    for place, change in changes:
        rows[place] |= change
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def gate(
    table: pa.Table, *expectations: RowCheck | RowCount, contract: Contract = CONTRACT
) -> dict[str, Any]:
    return run_gate("demo", {"things": (contract, table)}, expectations)


def test_a_good_table_passes() -> None:
    report = gate(things())
    assert report["success"] is True
    assert report["module"] == "demo"
    assert failures(report) == []


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"name": None}, "things:column_values_to_not_be_null:name"),
        ({"parts": None}, "things:column_values_to_not_be_null:parts"),
        ({"kind": None}, "things:column_values_to_not_be_null:kind"),
        ({"kind": "huge"}, "things:column_values_to_be_in_set:kind"),
        ({"share": 1.5}, "things:column_values_to_be_between:share"),
        ({"share": None}, "things:column_values_to_not_be_null:share"),
        ({"maybe": -0.1}, "things:column_values_to_be_between:maybe"),
        ({"maybe": float("nan")}, "things:maybe_finite"),
        ({"name": "ann", "place": 1}, "things:compound_columns_to_be_unique:name,place"),
    ],
)
def test_a_broken_row_is_named_by_its_key(change: dict[str, Any], name: str) -> None:
    entry = entry_of(gate(things((0, change))), name)
    expected = FIRST | {column: value for column, value in change.items() if column in FIRST}
    assert expected in entry["first_failed_keys"]
    assert entry["n_failed"] == (2 if "unique" in name else 1)
    assert entry["observed"] == len(ROWS)


def test_an_infinite_number_is_neither_finite_nor_in_range() -> None:
    report = gate(things((0, {"share": float("inf")})))
    assert failed_names(report) == {"things:share_finite", "things:column_values_to_be_between:share"}


def test_an_empty_table_fails_unless_its_contract_allows_it() -> None:
    empty = SCHEMA.empty_table()
    assert failed_names(gate(empty)) == {"things:table_row_count_to_be_between:"}
    allowed = Contract("things", SCHEMA, CONTRACT.key, CONTRACT.allowed, CONTRACT.ranges, may_be_empty=True)
    assert gate(empty, contract=allowed)["success"] is True


def test_nan_in_a_range_fails() -> None:
    # A contract with nothing but a range: the engine alone would let all of it pass.
    names = failed_names(gate(things(*((n, {"share": float("nan")}) for n in range(6)))))
    assert "things:share_finite" in names


def test_a_vocabulary_of_nulls_alone_fails() -> None:
    report = gate(things(*((n, {"kind": None}) for n in range(6))))
    entry = entry_of(report, "things:column_values_to_not_be_null:kind")
    assert entry["n_failed"] == 6
    assert len(entry["first_failed_keys"]) == 5


def test_a_gate_that_expects_nothing_fails() -> None:
    report = run_gate("demo", {})
    assert report == {"module": "demo", "success": False, "expectations": []}
    assert "nothing was expected" in describe_failures(report)


def test_a_missing_column_fails_and_is_named() -> None:
    report = gate(things().drop_columns(["share"]))
    entry = entry_of(report, "things:types")
    assert entry["first_failed_keys"] == [{"column": "share"}]
    assert entry["first_failed_values"] == [{"expected": "double", "found": "(absent)"}]
    assert not report["success"]


def test_an_unknown_column_fails_and_is_named() -> None:
    report = gate(things().append_column("extra", pa.array([{"a": 1}] * 6)))
    assert entry_of(report, "things:types")["first_failed_keys"] == [{"column": "extra"}]


def test_a_wrong_type_fails_and_is_named() -> None:
    table = things()
    table = table.set_column(1, "place", table["place"].cast(pa.int64()))
    entry = entry_of(gate(table), "things:types")
    assert entry["first_failed_values"] == [{"expected": "int32", "found": "int64"}]


def test_a_key_column_that_is_missing_leaves_the_others_to_name_rows() -> None:
    report = gate(things((0, {"kind": "huge"})).drop_columns(["place"]))
    entry = entry_of(report, "things:column_values_to_be_in_set:kind")
    assert entry["first_failed_keys"] == [{"name": "ann"}]


def test_without_any_key_column_rows_are_named_by_their_number() -> None:
    report = gate(things((3, {"kind": "huge"})).drop_columns(["name", "place"]))
    entry = entry_of(report, "things:column_values_to_be_in_set:kind")
    assert entry["first_failed_keys"] == [{"row": 3}]
    assert "row=3" in describe_failures(report)


def test_columns_in_another_order_fail() -> None:
    table = things()
    report = gate(table.select(table.column_names[::-1]))
    assert failed_names(report) == {"things:table_columns_to_match_ordered_list:"}


def test_the_name_of_list_elements_is_no_part_of_a_type() -> None:
    table = things()
    place = table.column_names.index("parts")
    other = pa.list_(pa.field("element", pa.string()))
    assert gate(table.set_column(place, SCHEMA.field("parts").with_type(other), table["parts"].cast(other)))[
        "success"
    ]


def test_a_row_count_known_from_elsewhere_is_exact() -> None:
    assert gate(things(), RowCount("things", 6, "three each"))["success"] is True
    report = gate(things(), RowCount("things", 7, "three each and one"))
    entry = entry_of(report, "things:table_row_count_to_equal:")
    assert (entry["observed"], entry["expected"]) == (6, "7 rows: three each and one")
    assert "expected 7 rows: three each and one; found 6" in describe_failures(report)


def test_a_row_check_names_the_rows_that_break_it_and_shows_their_values() -> None:
    passed = np.array([True, True, False, True, True, False])
    report = gate(
        things((2, {"note": "odd " * 100})), RowCheck("things", "even", ("note",), "to be even", passed)
    )
    entry = entry_of(report, "things:even")
    assert entry["first_failed_keys"] == [{"name": "ann", "place": 2}, {"name": "bob", "place": 2}]
    assert len(entry["first_failed_values"][0]["note"]) <= 120
    message = describe_failures(report)
    assert "gate of demo: 1 of" in message
    assert "things: even: expected to be even; 2 row(s)" in message
    assert "name=ann, place=2: note='odd odd" in message


@pytest.mark.parametrize(
    "check",
    [
        RowCheck("things", "short", (), "", np.ones(5, dtype=bool)),
        RowCheck("things", "numbers", (), "", np.ones(6)),
        RowCheck("elsewhere", "lost", (), "", np.ones(6, dtype=bool)),
    ],
)
def test_a_check_that_does_not_fit_its_table_is_an_error(check: RowCheck) -> None:
    with pytest.raises(ValueError):
        gate(things(), check)


def test_two_checks_of_one_name_are_an_error() -> None:
    check = RowCheck("things", "twice", (), "", np.ones(6, dtype=bool))
    with pytest.raises(ValueError, match="one name"):
        gate(things(), check, check)


def test_a_contract_without_a_key_is_an_error() -> None:
    with pytest.raises(ValueError, match="no key"):
        gate(things(), contract=Contract("things", SCHEMA, ()))


BROKEN = things(
    (0, {"kind": "huge", "note": "b"}),
    (1, {"name": "ann", "place": 0, "kind": "tiny", "note": "a"}),
    (4, {"share": 2.0, "maybe": float("nan")}),
)


@pytest.mark.parametrize("seed", range(3))
def test_the_report_does_not_depend_on_the_order_of_rows(seed: int) -> None:
    order = np.random.default_rng(seed).permutation(6)
    passed = np.array([False, True, True, True, False, True])
    check = RowCheck("things", "odd", ("note",), "to be odd", passed)
    moved = RowCheck("things", "odd", ("note",), "to be odd", passed[order])
    assert gate(BROKEN.take(pa.array(order)), moved) == gate(BROKEN, check)


def test_two_runs_give_the_same_bytes_without_times_or_paths() -> None:
    one, two = (json.dumps(gate(BROKEN), sort_keys=True, allow_nan=False) for _ in range(2))
    assert one == two
    assert "run_id" not in one
    assert "/" not in one
    assert "20" not in one


def test_entries_are_sorted() -> None:
    entries = gate(BROKEN)["expectations"]
    assert entries == sorted(
        entries, key=lambda e: (e["table"], e["check"] or "", e["expectation"], e["columns"])
    )


def test_the_gate_is_silent_and_writes_nothing(tmp_path: Any) -> None:
    """In a process and a home of its own: nothing printed, nothing on disk, nothing sent."""
    code = (
        "import os, socket, pyarrow as pa\n"
        "def refuse(*args): raise SystemExit('a connection was tried')\n"
        "socket.socket.connect = socket.create_connection = refuse\n"
        "from magister.contracts.gate import run_gate\n"
        "from magister.contracts.schemas import Contract\n"
        "schema = pa.schema([pa.field('a', pa.string(), nullable=False)])\n"
        "report = run_gate('m', {'t': (Contract('t', schema, ('a',)), pa.table({'a': ['x']}, schema=schema))})\n"
        "assert report['success'], report\n"
        "assert os.environ['GX_ANALYTICS_ENABLED'] == 'False'\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": "", "GX_ANALYTICS_ENABLED": "True"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_importing_the_gate_does_not_import_its_engine() -> None:
    code = "import sys, magister.contracts.gate; assert 'great_expectations' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


values = st.lists(st.tuples(st.sampled_from(["a", "b", "ab", None]), st.integers(0, 3)), max_size=12)


@settings(max_examples=60, deadline=None)
@given(values)
def test_row_codes_sort_and_group_as_the_rows_do(rows: list[tuple[str | None, int]]) -> None:
    table = pa.table(
        {"a": pa.array([a for a, _ in rows], pa.string()), "b": pa.array([b for _, b in rows], pa.int32())}
    )
    codes = row_codes(table, ["a", "b"]).tolist()
    by_code = [rows[n] for n in np.argsort(codes, kind="stable")]
    assert by_code == sorted(rows, key=lambda row: (row[0] is None, row[0] or "", row[1]))
    for one, code in zip(rows, codes, strict=True):
        for other, other_code in zip(rows, codes, strict=True):
            assert (one == other) == (code == other_code)


def test_row_codes_hold_for_more_columns_than_a_number_has_room_for() -> None:
    numbers = np.random.default_rng(0).integers(0, 2000, (500, 8))
    table = pa.table({f"c{k}": numbers[:, k] for k in range(8)})
    codes = row_codes(table, table.column_names)
    expected = np.lexsort(numbers.T[::-1])
    assert (np.argsort(codes, kind="stable") == expected).all()
