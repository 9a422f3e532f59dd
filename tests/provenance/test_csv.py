"""Tables for spreadsheets."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from magister.provenance import inert

SIGNS = "=+-@\t\r"


@given(st.lists(st.none() | st.text(st.sampled_from(SIGNS + "a1'\n"), max_size=4)))
def test_no_text_begins_like_a_formula_and_all_others_stay(texts: list[str | None]) -> None:
    table = pa.table({"text": pa.array(texts, pa.string()), "number": [-1.5] * len(texts)})
    found = inert(table)
    assert found.schema == table.schema
    assert found["number"].equals(table["number"])
    for before, after in zip(texts, found["text"].to_pylist(), strict=True):
        risky = before is not None and before[:1] != "" and before[0] in SIGNS
        assert after == (f"'{before}" if risky else before)
