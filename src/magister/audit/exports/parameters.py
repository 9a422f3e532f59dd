"""The values of a parameter file, one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Parameter:
    """A value of `params.yaml`.

    Attributes:
        keys: the way to it from the top.
        value: a scalar, a list of scalars of one type, or whatever else YAML can hold.
    """

    keys: tuple[str, ...]
    value: Any

    @property
    def name(self) -> str:
        """Its keys with dots between, as documentation names it."""
        return ".".join(self.keys)

    @property
    def kind(self) -> str:
        """The schema.org type of the value, or of each where there are several; `DataType` of null."""
        if not isinstance(self.value, list):
            return _kind(self.value)
        kinds = {_kind(value) for value in self.value}
        return kinds.pop() if len(kinds) == 1 and kinds != {"DataType"} else "PropertyValue"

    @property
    def plain(self) -> Any:
        """The value as JSON-LD can hold it: what is empty, nested or of mixed types as JSON text."""
        if self.kind != "PropertyValue":
            return self.value
        return json.dumps(self.value, sort_keys=True, ensure_ascii=False, default=str)


_KINDS = ((bool, "Boolean"), (int, "Integer"), (float, "Float"), (str, "Text"), (type(None), "DataType"))


def _kind(value: Any) -> str:
    # A bool is an int to isinstance, so it is asked first.
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "PropertyValue")


def parameters(params: Mapping[str, Any]) -> Iterator[Parameter]:
    """The values of a parameter file in its order; an empty mapping is a value too.

    Args:
        params: what the file holds.
    """
    waiting: list[tuple[tuple[str, ...], Any]] = [((), params)]
    while waiting:
        keys, value = waiting.pop()
        if isinstance(value, Mapping) and (value or not keys):
            waiting += [((*keys, str(key)), inner) for key, inner in reversed(list(value.items()))]
        else:
            yield Parameter(keys, value)
