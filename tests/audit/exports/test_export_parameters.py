"""The values of a parameter file: each once, typed, findable by its keys."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from magister.audit.exports.parameters import Parameter, parameters

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_every_value_is_listed_once_and_lies_where_its_keys_say(params: dict[str, Any]) -> None:
    rebuilt: dict[str, Any] = {}
    for one in parameters(params):
        *way, last = one.keys
        place = rebuilt
        for key in way:
            place = place.setdefault(key, {})
        assert last not in place
        place[last] = one.value
    assert rebuilt == params


@given(VALUES)
def test_what_json_ld_cannot_hold_is_json_text(value: Any) -> None:
    one = Parameter(("x",), value)
    if one.kind == "PropertyValue":
        assert json.loads(one.plain) == value
    else:
        assert one.plain == value
        several = value if isinstance(value, list) else [value]
        assert not any(isinstance(each, list | dict) for each in several)


def test_types_are_those_of_schema_org() -> None:
    kinds = {
        one.name: one.kind
        for one in parameters(
            {
                "a": {"b": True, "n": 1, "x": 1.5, "t": "1", "none": None},
                "l": [1, 2],
                "m": [1, "a"],
                "e": [],
                "d": {},
                "nulls": [None],
            }
        )
    }
    assert kinds == {
        **{"a.b": "Boolean", "a.n": "Integer", "a.x": "Float", "a.t": "Text", "a.none": "DataType"},
        **dict.fromkeys(("m", "e", "d", "nulls"), "PropertyValue"),
        "l": "Integer",
    }
