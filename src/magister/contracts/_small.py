"""What the suites of all modules share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from magister.contracts.gate import Tables, type_mismatches
from magister.contracts.schemas import Contract

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
INFINITE = float("inf")


def comparable(tables: Tables) -> bool:
    """Whether all tables have the columns that their contracts name, of those types."""
    return not any(type_mismatches(contract, table) for contract, table in tables.values())


def small_contract(
    name: str, columns: Mapping[str, pa.DataType], key: Sequence[str], **more: object
) -> Contract:
    """A contract of a table that a suite makes, without nulls."""
    schema = pa.schema([pa.field(column, kind, nullable=False) for column, kind in columns.items()])
    return Contract(name, schema, tuple(key), **more)  # type: ignore[arg-type]


def letters_fit(key: str | None, size: int) -> bool:
    """Whether a key or an answer names options that are there, in order and none twice."""
    return bool(key) and "".join(sorted(set(key or ""))) == key and set(key or "") <= set(LETTERS[:size])
