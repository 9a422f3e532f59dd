"""Tables as CSV files, for people and their spreadsheets."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

# What a spreadsheet takes for the beginning of a formula, which may run a program.
_FORMULA = r"^[=+\-@\t\r]"


def inert(table: pa.Table) -> pa.Table:
    """A table that a spreadsheet shows and does not run.

    Args:
        table: any table.

    Returns:
        The same table, with an apostrophe before every text that begins like a formula. Only columns of texts are
        touched: a number may begin with a minus.
    """
    for at, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            column = table.column(at)
            marked = pc.binary_join_element_wise(
                pa.scalar("'", field.type), column, pa.scalar("", field.type)
            )
            risky = pc.fill_null(pc.match_substring_regex(column, _FORMULA), False)
            table = table.set_column(at, field, pc.if_else(risky, marked, column))
    return table
