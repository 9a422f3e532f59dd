"""Every expectation of every gate is broken in a row that is drawn, and the gate names it and the row.

What is broken is read from the contracts and the suites: a new column or rule without a way to break it fails
`test_every_expectation_has_a_way_to_break_it`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from arena_gate_tables import (
    ARENA_PLAN,
    JUDGED_PLAN,
    arena_board_expected,
    arena_board_tables,
    arena_tables,
    judged_expected,
    judged_tables,
    unjudged_expected,
)
from corruptions import (
    ABLATION_BREAKS,
    ARENA_BOARD_BREAKS,
    ARENA_BREAKS,
    BOARD_BREAKS,
    DIAGNOSIS_BREAKS,
    EXTERNAL_BREAKS,
    GIVEN_BREAKS,
    ITEM_BREAKS,
    JUDGED_BREAKS,
    LEAGUE_BREAKS,
    MASTERY_BOARD_BREAKS,
    RUBRIC_BOARD_BREAKS,
    RUBRIC_BREAKS,
    Break,
    Row,
)
from corruptions.recount import with_recount
from diagnosis_gate_tables import (
    DIAGNOSIS_PLAN,
    GIVEN_PLAN,
    diagnosis_expected,
    diagnosis_tables,
    given_expected,
    given_tables,
    mastery_board_expected,
    mastery_board_tables,
)
from gate_tables import (
    ABLATION_PLAN,
    EXTERNAL_PLAN,
    ITEMS_PLAN,
    PLAN,
    ablation_tables,
    ablations_expected,
    board_tables,
    boards_expected,
    entry_of,
    external_expected,
    external_tables,
    failed_names,
    item_tables,
    items_expected,
    teaching_expected,
    teaching_tables,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rubrics_gate_tables import (
    RUBRICS_PLAN,
    rubric_tables,
    rubrics_board_expected,
    rubrics_board_tables,
    rubrics_expected,
)

from magister.contracts.gate import RowCount, Suite, run_gate
from magister.contracts.schemas import CONTRACTS, Contract

Tables = dict[str, pa.Table]


@dataclass(frozen=True)
class Module:
    """A gate with good tables and the ways to break them."""

    tables: Tables
    expected: Callable[[Tables, Any], Suite]
    plan: Any
    breaks: dict[str, dict[str, Break]]

    def suite(self, tables: Tables | None = None, **plan: Any) -> Suite:
        return self.expected(self.tables if tables is None else tables, replace(self.plan, **plan))


MODULES = {
    "items": Module(item_tables(), items_expected, ITEMS_PLAN, ITEM_BREAKS),
    "teaching": Module(teaching_tables(), teaching_expected, PLAN, with_recount(LEAGUE_BREAKS)),
    "ablations": Module(ablation_tables(), ablations_expected, ABLATION_PLAN, ABLATION_BREAKS),
    "boards": Module(board_tables(), boards_expected, PLAN, BOARD_BREAKS),
    "external": Module(external_tables(), external_expected, EXTERNAL_PLAN, EXTERNAL_BREAKS),
    "arena": Module(arena_tables(), unjudged_expected, ARENA_PLAN, ARENA_BREAKS),
    "arena_judged": Module(judged_tables(), judged_expected, JUDGED_PLAN, JUDGED_BREAKS),
    "arena_board": Module(arena_board_tables(), arena_board_expected, ARENA_PLAN, ARENA_BOARD_BREAKS),
    "diagnosis": Module(diagnosis_tables(), diagnosis_expected, DIAGNOSIS_PLAN, DIAGNOSIS_BREAKS),
    "diagnosis_given": Module(given_tables(), given_expected, GIVEN_PLAN, GIVEN_BREAKS),
    "mastery_board": Module(
        mastery_board_tables(), mastery_board_expected, DIAGNOSIS_PLAN, MASTERY_BOARD_BREAKS
    ),
    "rubrics": Module(rubric_tables(), rubrics_expected, RUBRICS_PLAN, RUBRIC_BREAKS),
    "rubrics_board": Module(
        rubrics_board_tables(), rubrics_board_expected, RUBRICS_PLAN, RUBRIC_BOARD_BREAKS
    ),
}
INPUT = {"teaching_board": "board"}
SUITES = {name: module.suite() for name, module in MODULES.items()}
# Where several tables keep one contract, the first stands for all.
HELD = {
    contract.name: (name, table)
    for module in reversed(SUITES)
    for name, (contract, table) in reversed(SUITES[module][0].items())
}
CONTRACT_OF = {contract.name: contract for held, _ in SUITES.values() for contract, _ in held.values()}
few = settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
rows_drawn = st.integers(0, 10**6)


def with_row(table: pa.Table, place: int, row: Row) -> pa.Table:
    rows = table.to_pylist()
    rows[place] = row
    return pa.Table.from_pylist(rows, schema=table.schema)


def key_of(contract: Contract, row: Row) -> Row:
    return {name: row[name] for name in contract.key}


# What a contract says of a table: how each promise is broken, by the name that it has in a report.


def contract_breaks(contract: Contract) -> dict[str, Callable[[Row, int], Row]]:
    """By expectation, a row as it must not be; the number draws among several ways."""
    found: dict[str, Callable[[Row, int], Row]] = {}
    for column in contract.schema:
        name = column.name
        if not column.nullable:
            found[f"column_values_to_not_be_null:{name}"] = lambda row, n, name=name: row | {name: None}
        if pa.types.is_floating(column.type):
            found[f"{name}_finite"] = lambda row, n, name=name: row | {name: float("nan")}
    for name in contract.allowed:
        found[f"column_values_to_be_in_set:{name}"] = lambda row, n, name=name: row | {name: "§"}
    for name, ends in contract.ranges.items():
        step = 1 if pa.types.is_integer(contract.schema.field(name).type) else 0.5
        found[f"column_values_to_be_between:{name}"] = lambda row, n, name=name, ends=ends, step=step: (
            row | {name: _outside(ends, n, step)}
        )
    return found


def _outside(ends: tuple[float, float], n: int, step: float) -> float:
    """A value below or above a range that fits its column."""
    low, high = ends
    return high + step if n % 2 and high < 1e9 else low - step


def whole_breaks(contract: Contract) -> dict[str, Callable[[pa.Table, int], pa.Table]]:
    """By expectation, a table as it must not be."""
    unique = (
        f"compound_columns_to_be_unique:{','.join(contract.key)}"
        if len(contract.key) > 1
        else f"column_values_to_be_unique:{contract.key[0]}"
    )
    found: dict[str, Callable[[pa.Table, int], pa.Table]] = {
        "table_columns_to_match_ordered_list:": lambda table, n: table.select(table.column_names[::-1]),
        "types": _retyped,
        unique: lambda table, n: pa.concat_tables([table, table.slice(n % table.num_rows, 1)]),
    }
    if not contract.may_be_empty:
        found["table_row_count_to_be_between:"] = lambda table, n: table.slice(0, 0)
    return found


def _retyped(table: pa.Table, n: int) -> pa.Table:
    """The table with a column that is a text where it must not be, or none where it must."""
    place = n % table.num_columns
    kind = pa.binary() if pa.types.is_string(table.schema.field(place).type) else pa.string()
    name = table.column_names[place]
    return table.set_column(place, name, pa.nulls(table.num_rows, kind))


def test_every_expectation_has_a_way_to_break_it() -> None:
    for module, (held, expectations) in SUITES.items():
        report = run_gate(module, held, expectations)
        assert report["success"], failed_names(report)
        listed = failed_names({"expectations": [e | {"success": False} for e in report["expectations"]]})
        covered = set()
        for name, (contract, _) in held.items():
            ways = [
                *contract_breaks(contract),
                *whole_breaks(contract),
                *MODULES[module].breaks.get(name, {}),
            ]
            covered |= {f"{name}:{way}" for way in ways}
        covered |= {f"{e.table}:table_row_count_to_equal:" for e in expectations if isinstance(e, RowCount)}
        assert covered == listed


def test_every_artifact_type_is_checked_by_a_gate() -> None:
    checked = {contract.name for held, _ in SUITES.values() for contract, _ in held.values()}
    assert checked >= set(CONTRACTS)


def comparable(keys: list[Row]) -> list[Row]:
    """Keys of which those without a number equal one another: NaN does not."""
    return [{name: "NaN" if value != value else value for name, value in key.items()} for key in keys]


@pytest.mark.parametrize("name", sorted(HELD))
@few
@given(drawn=rows_drawn)
def test_what_a_contract_says_of_a_row(name: str, drawn: int) -> None:
    contract, (label, table) = CONTRACT_OF[name], HELD[name]
    place = drawn % table.num_rows
    table = table.slice(max(place - 2, 0), 4)
    rows, place = table.to_pylist(), min(place, 2)
    for expectation, change in contract_breaks(contract).items():
        row = change(rows[place], drawn)
        report = run_gate("m", {label: (contract, with_row(table, place, row))})
        assert failed_names(report) == {f"{label}:{expectation}"}
        entry = entry_of(report, f"{label}:{expectation}")
        assert (comparable(entry["first_failed_keys"]), entry["n_failed"]) == (
            comparable([key_of(contract, row)]),
            1,
        )


@pytest.mark.parametrize("name", sorted(HELD))
@few
@given(drawn=rows_drawn)
def test_what_a_contract_says_of_a_table(name: str, drawn: int) -> None:
    contract, (label, table) = CONTRACT_OF[name], HELD[name]
    for expectation, change in whole_breaks(contract).items():
        report = run_gate("m", {label: (contract, change(table, drawn))})
        failed = f"{label}:{expectation}"
        assert failed_names(report) == {failed}
        if "unique" in expectation:
            key = key_of(contract, table.slice(drawn % table.num_rows, 1).to_pylist()[0])
            assert entry_of(report, failed)["first_failed_keys"] == [key, key]
        if expectation == "types":
            column = table.column_names[drawn % table.num_columns]
            assert entry_of(report, failed)["first_failed_keys"] == [{"column": column}]


COUNTED = [
    (module, e.table) for module, (_, found) in SUITES.items() for e in found if isinstance(e, RowCount)
]


@pytest.mark.parametrize(("module", "name"), COUNTED)
@few
@given(drawn=rows_drawn)
def test_a_row_that_is_missing_is_missed(module: str, name: str, drawn: int) -> None:
    held, expectations = SUITES[module]
    contract, table = held[name]
    place = drawn % table.num_rows
    rest = pa.concat_tables([table.slice(0, place), table.slice(place + 1)])
    count = [e for e in expectations if isinstance(e, RowCount) and e.table == name]
    report = run_gate("m", {name: (contract, rest)}, count)
    failed = f"{name}:table_row_count_to_equal:"
    assert failed in failed_names(report)
    assert entry_of(report, failed)["observed"] == table.num_rows - 1


RULES = [
    (module, table, rule)
    for module in MODULES
    for table, rules in MODULES[module].breaks.items()
    for rule in rules
]


@pytest.mark.parametrize(("module", "table", "rule"), RULES)
@few
@given(drawn=rows_drawn)
def test_a_broken_rule_is_named_with_its_row(module: str, table: str, rule: str, drawn: int) -> None:
    way = MODULES[module].breaks[table][rule]
    source = INPUT.get(way.table or table, way.table or table)
    rows = MODULES[module].tables[source].to_pylist()
    places = [place for place, row in enumerate(rows) if way.where(row)]
    assert places, "no row of the good tables can be broken in this way"
    place = places[drawn % len(places)]
    row = way.apply(rows[place])
    changed = with_row(MODULES[module].tables[source], place, row)
    held, expectations = MODULES[module].suite(MODULES[module].tables | {source: changed}, **way.plan)
    own = [e for e in expectations if e.table == table and not isinstance(e, RowCount)]
    report = run_gate(module, {table: held[table]}, own)
    failed = {name.removeprefix(f"{table}:") for name in failed_names(report)}
    assert rule in failed
    assert failed <= {rule} | way.also
    passed = next(e.passed for e in own if e.name == rule)  # type: ignore[union-attr]
    contract, held_table = held[table]
    keys = held_table.filter(pa.array(~passed)).select(list(contract.key)).to_pylist()
    assert key_of(contract, rows[place] if way.old_key else row) in keys
    entry = entry_of(report, f"{table}:{rule}")
    assert entry["n_failed"] == len(keys)
    assert all(key in keys for key in entry["first_failed_keys"])
