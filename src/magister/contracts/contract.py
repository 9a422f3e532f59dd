"""What is known of a table in one place."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

STATUSES = ("ok", "no_answer", "ambiguous", "refusal", "truncated", "context_exceeded", "error")
"""What a reply can come to."""
METRIC_STATUSES = ("ok", "no_interval", "not_computable")
"""What an estimate can come to."""


@dataclass(frozen=True)
class Contract:
    """What a table promises.

    Attributes:
        name: artifact type.
        schema: columns, types and nullability.
        key: columns that identify a row; tables are sorted by them.
        allowed: closed vocabularies by column.
        ranges: inclusive numeric ranges by column.
        may_be_empty: whether no row is a valid state.
    """

    name: str
    schema: pa.Schema
    key: tuple[str, ...]
    allowed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    may_be_empty: bool = False


def table_schema(
    required: dict[str, pa.DataType], nullable: dict[str, pa.DataType] | None = None
) -> pa.Schema:
    """A schema from columns that must be filled and columns that may be null."""
    fields = [pa.field(name, kind, nullable=False) for name, kind in required.items()]
    fields += [pa.field(name, kind, nullable=True) for name, kind in (nullable or {}).items()]
    return pa.schema(fields)
