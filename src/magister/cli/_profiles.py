"""Profiles for people: mastery of models, attributes a block, within the width of the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from magister.cli._printing import echo, terminal_width
from magister.display import columns, ljust, shorten, visible

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN = 20
"""Models that are printed; all are in the tables."""
_NAME = 24
_MARKS = {"mastered": "+", "not_mastered": "-", "undetermined": "?"}


def print_profiles(tables: Mapping[str, pa.Table], models: Sequence[str]) -> None:
    """Print attributes and mastery.

    Args:
        tables: by name of their contract: attribute_profiles, mastery, item_profiles.
        models: in the order that they are printed in.
    """
    attributes = tables["attribute_profiles"].to_pylist()
    _print_attributes(attributes)
    _print_mastery(tables["mastery"].to_pylist(), models, [row["attribute"] for row in attributes])
    items = tables["item_profiles"].to_pylist()
    pooled = sum(row["pooled"] for row in items)
    typer.echo()
    echo(
        "P of mastery, .98±.14+ being 0.98 with posterior SD 0.14; + mastered (from 0.8), - not (to 0.2), ? open. "
        "(p): no answered item tells of it, p is what the prior believes."
    )
    if pooled:
        echo(f"{pooled} of {len(items)} items do not tell those who master what they need from others.")


def _print_attributes(rows: list[dict[str, Any]]) -> None:
    width = terminal_width()
    head = ("items", "prevalence", "95% interval", "acc.", "status")
    cells = [
        (
            str(row["n_items"]),
            _share(row["prevalence"]),
            f"[{_share(row['ci_low'])}, {_share(row['ci_high'])}]",
            _share(row["accuracy"]),
            row["label_status"] + (f", as {row['duplicate_of']}" if row["duplicate_of"] else ""),
        )
        for row in rows
    ]
    if rows:
        head = (*head[:2], f"{rows[0]['level']:.0%} interval", *head[3:])
    sizes = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    named = [_titled(row) for row in rows]
    room = max(8, width - sum(sizes) - len(sizes))
    short = shorten(named, room)
    size = max([columns("attribute"), *(columns(name) for name in short.values())])
    typer.echo()
    for name, line in zip(["attribute", *(short[name] for name in named)], [head, *cells], strict=True):
        aligned = " ".join(cell.rjust(space) for cell, space in zip(line[:-1], sizes[:-1], strict=True))
        typer.echo(f"{ljust(name, size)} {aligned} {line[-1]}".rstrip())


def _titled(row: dict[str, Any]) -> str:
    name, label = visible(row["attribute"]), visible(row["label"])
    return name if label == name else f"{name} {label}"


def _print_mastery(rows: list[dict[str, Any]], models: Sequence[str], attributes: list[str]) -> None:
    width = terminal_width()
    shown = models[:SHOWN]
    by_cell = {(row["model"], row["attribute"]): row for row in rows}
    cells = {key: _cell(row) for key, row in by_cell.items() if key[0] in set(shown)}
    seen = [visible(name) for name in shown]
    short = shorten(seen, _NAME)
    size = max(columns(name) for name in ["model", *short.values()])
    heads = shorten([visible(name) for name in attributes], 10)
    step = max([8, *(columns(name) for name in heads.values()), *map(len, cells.values())]) + 1
    each = max(1, (width - size) // step)
    for start in range(0, len(attributes), each):
        part = attributes[start : start + each]
        typer.echo()
        typer.echo(ljust("model", size) + "".join(_rjust(heads[visible(name)], step) for name in part))
        for model, name in zip(shown, seen, strict=True):
            line = "".join(_rjust(cells[model, attribute], step) for attribute in part)
            typer.echo(ljust(short[name], size) + line)
    if len(models) > len(shown):
        typer.echo()
        echo(f"... and {len(models) - len(shown)} more models: --format csv or --out has them all.")


def _cell(row: dict[str, Any]) -> str:
    if row["basis"] == "prior":
        return f"{_share(row['p'])}(p)?"
    return f"{_share(row['p'])}±{_share(row['sd'])}{_MARKS[row['state']]}"


def _share(value: float | None) -> str:
    """A share in as few characters as two digits need."""
    if value is None:
        return "?"
    text = f"{value:.2f}"
    return text[1:] if text.startswith("0") else text


def _rjust(text: str, width: int) -> str:
    return " " * (width - columns(text)) + text
