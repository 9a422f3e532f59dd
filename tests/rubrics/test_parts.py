"""A table of many scenarios gives out each one's rows."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from magister.rubrics.parts import ByScenario

NAMES = st.sampled_from(["a", "b", "中", "d/e"])


@settings(deadline=None)
@given(st.lists(st.lists(NAMES, max_size=6), min_size=1, max_size=4))
def test_each_scenario_has_its_rows_in_their_order(chunks: list[list[str]]) -> None:
    rows = [(name, place) for place, name in enumerate(name for chunk in chunks for name in chunk)]
    column = pa.chunked_array([pa.array(chunk, pa.string()) for chunk in chunks])
    table = pa.table({"scenario": column, "place": [place for _, place in rows]})
    found = ByScenario(table)
    for name in ("a", "b", "中", "d/e", "nobody"):
        assert found[name]["place"].to_pylist() == [place for other, place in rows if other == name]
        assert found[name].schema == table.schema
