"""The page on `params.yaml`, written from the configuration models: `python -m magister._params_doc`."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from magister.config.base import Name, Sha256
from magister.config.params import Params

_HEAD = """# Parameters

Every option of `params.yaml`. Unknown options are refused, so there are none but these.
Written from the models in `src/magister/config/`; to write it again:
`python -m magister._params_doc > docs/params.md`.
"""
_PLAIN = {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "anything"}
_BOUNDS = (("gt", "> {}"), ("ge", ">= {}"), ("lt", "< {}"), ("le", "<= {}"))

Place = tuple[str, type[BaseModel]]
"""Where a section stands in the file, and its model."""


def _patterned(marks: Iterable[Any]) -> str | None:
    """What a text with a pattern is called."""
    for mark in marks:
        if isinstance(mark, FieldInfo):
            return _patterned(mark.metadata)
        if getattr(mark, "pattern", None) is not None:
            return _PATTERNS[mark.pattern]
    return None


def _members(kind: Any) -> list[Any]:
    """The types of a union, without None and without marks."""
    if get_origin(kind) is Annotated and not _patterned(get_args(kind)[1:]):
        return _members(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [inner for part in get_args(kind) if part is not NoneType for inner in _members(part)]
    return [kind]


_PATTERNS = {
    get_args(kind)[1].metadata[0].pattern: title for kind, title in ((Name, "name"), (Sha256, "SHA-256"))
}


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _type(kind: Any) -> str:
    """A type in words."""
    members = _members(kind)
    if len(members) > 1:
        # Several sections under one option have a table each, and are one kind of thing here.
        return " or ".join(dict.fromkeys(_type(member) for member in members))
    (kind,) = members
    if get_origin(kind) is Annotated:
        return _patterned(get_args(kind)[1:]) or ""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if origin is list:
        return (
            f"list of {_type(inner[0])}"
            if get_origin(inner[0]) is not Literal
            else f"list of: {_type(inner[0])}"
        )
    if origin is dict:
        return f"{_type(inner[0])} -> {_type(inner[1])}"
    return "section" if _is_section(kind) else _PLAIN[kind]


def _bounds(field: FieldInfo) -> str:
    found = [
        text.format(f"{getattr(mark, name):g}")
        for mark in field.metadata
        for name, text in _BOUNDS
        if getattr(mark, name, None) is not None
    ]
    lengths = {
        name: getattr(mark, name)
        for mark in field.metadata
        for name in ("min_length", "max_length")
        if getattr(mark, name, None) is not None
    }
    low, high = lengths.get("min_length"), lengths.get("max_length")
    if low is not None:
        found.append(f"{low} entries" if low == high else f"at least {low}")
    return f" ({', '.join(found)})" if found else ""


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "required"
    if isinstance(value, BaseModel):
        return "see its table"
    return "none" if value is None else f"`{json.dumps(value)}`"


def _inside(kind: Any, path: str) -> list[Place]:
    """The sections that stand under an option."""
    found: list[Place] = []
    for member in _members(kind):
        if _is_section(member):
            found.append((path, member))
        elif get_origin(member) is dict:
            found += _inside(get_args(member)[1], f"{path}.<name>")
        elif get_origin(member) is list:
            found += _inside(get_args(member)[0], f"{path}[]")
    return found


def _sections() -> dict[type[BaseModel], list[str]]:
    """Every section with the places where it stands, in the order of the file."""
    found: dict[type[BaseModel], list[str]] = {}

    def visit(path: str, model: type[BaseModel]) -> None:
        found.setdefault(model, []).append(path)
        for name, field in model.model_fields.items():
            for place, inner in _inside(field.annotation, f"{path}.{name}" if path else name):
                visit(place, inner)

    visit("", Params)
    return found


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _table(model: type[BaseModel]) -> list[str]:
    lines = ["| option | type | default | description |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        description = field.description
        if description is None:
            sections = [inner for _, inner in _inside(field.annotation, name)]
            if len(sections) != 1:
                raise ValueError(f"{model.__name__}.{name} has no description")
            description = inspect.getdoc(sections[0]) or ""
        kind = _patterned(field.metadata) or _type(field.annotation) + _bounds(field)
        lines.append("| " + " | ".join(map(_cell, (f"`{name}`", kind, _default(field), description))) + " |")
    return lines


def params_markdown() -> str:
    """The page as Markdown: one table per section."""
    lines = [_HEAD]
    for model, places in _sections().items():
        title = ", ".join(f"`{place}`" for place in places) if places != [""] else "Top level"
        lines += [f"## {title}", "", inspect.getdoc(model) or "", "", *_table(model), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(params_markdown())
