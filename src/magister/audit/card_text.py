"""An audit card on a terminal."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from magister.audit.card import Card, Mover, Number, Source, Transcript
from magister.audit.sources import pattern, siblings
from magister.display import columns, visible, wrap

_LABEL = 10
_SHORT_KEY = 10
# What has the statuses.
_OF_WHAT = {
    "teaching": "replies in the rounds that the metric reads",
    "arena": "votes on this model in this scope",
    "mastery": "responses of this model",
    "rubrics": "dialogues of this model",
}
# What only a full card says of a mover.
_ONLY_FULL = ("options", "from")


def figure(value: float | None, unit: str = "") -> str:
    """A number as it is read: points with one decimal, all others with four digits."""
    if value is None:
        return "unknown"
    text = f"{value:.1f}" if unit == "points" else f"{value:.4g}"
    return "0" if float(text) == 0 else text


def change_figure(value: float | None, unit: str = "") -> str:
    """A change with its sign."""
    if value is None:
        return "unknown"
    return f"{value:+.2f}" if unit == "points" else f"{value:+.4f}"


def headline(number: Number) -> str:
    """The number and its interval."""
    if number.value is None:
        return f"unknown: {number.reason or number.status}"
    text = figure(number.value, number.unit)
    if number.ci_low is None and number.ci_high is None:
        return f"{text}, no interval"
    ends = [
        figure(end, number.unit) if end is not None else "open" for end in (number.ci_low, number.ci_high)
    ]
    level = "" if number.level is None else f", {100 * number.level:g} % interval"
    return f"{text} [{ends[0]}, {ends[1]}]{level}"


def interval_text(number: Number) -> str:
    """How the interval was made."""
    if not number.method:
        return f"none: {number.reason}" if number.reason else "none"
    drawn = f"; {number.resamples} resamples, seed {number.seed}" if number.resamples else ""
    return (
        f"{number.level:.0%}: {number.method}{drawn}" if number.level is not None else number.method + drawn
    )


def counts_text(counts: Mapping[str, Any]) -> str:
    """Counts in a line: `n_items` as `16 items`."""
    names = {"n": "n"}
    return ", ".join(
        f"{names.get(name, name.removeprefix('n_'))} {figure(value) if isinstance(value, float) else value}"
        for name, value in counts.items()
    )


def again_text(card: Card) -> str:
    """Whether the number follows from the rows behind it."""
    again = card.again
    if again.agrees is None:
        return f"not worked out again here ({again.rows}): {again.reason}"
    if again.agrees:
        return f"worked out again from {again.rows}: {figure(again.value, card.number.unit)}, the same"
    return f"NOT THE SAME when worked out again from {again.rows}: {again.value!r}"


def movers_text(card: Card) -> list[str]:
    """What stands above and below the list of movers."""
    movers = card.movers
    if not movers.n or card.number.value is None:
        note = movers.note or f"no {movers.unit}"
        return [note[0].upper() + note[1:] + "."]
    said = [
        f"Left out one at a time: each {movers.unit}, {movers.n} in all. The change is the number less the number "
        "without it, so that + pulls it up.",
        f"Method: {movers.method}.",
    ]
    if not movers.shown:
        said.append("None of them changes it when it is left out alone.")
    elif movers.as_far:
        more = "1 more moves" if movers.as_far == 1 else f"{movers.as_far} more move"
        said.append(f"{more} it as far as the last one shown; equal ones stand in the order of names.")
    if movers.note:
        said.append(movers.note[0].upper() + movers.note[1:] + ".")
    return said


def places_of(transcripts: Sequence[Transcript]) -> list[tuple[str, str]]:
    """Roles and files of some transcripts; roles that differ by a number stand together."""
    found: dict[str, set[str]] = {}
    for one in transcripts:
        if one.file:
            found.setdefault(re.sub(r" \d+$", " N", one.role), set()).add(one.file)
    merged: dict[str, list[str]] = {}
    for role, files in found.items():
        merged.setdefault(pattern(sorted(files)), []).append(role)
    return [(", ".join(roles), files) for files, roles in merged.items()]


def params_text(params: Mapping[str, Any]) -> str:
    """Parameters as `a.b=value`, those without a value left out."""
    return ", ".join(f"{name}={value}" for name, value in _leaves(params, ""))


def _leaves(value: Any, name: str) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        return [
            leaf
            for key in sorted(value)
            for leaf in _leaves(value[key], f"{name}.{key}" if name else str(key))
        ]
    if value is None or value == [] or value == {}:
        return []
    return [(name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))]


def render(card: Card, width: int, *, full: bool = False) -> str:
    """Write a card for a terminal.

    Args:
        card: the card.
        width: columns.
        full: whether every file, its parameters, and whole keys are written out.

    Returns:
        Text, no line of it wider than the terminal but for names that cannot be broken.
    """
    out: list[str] = []

    def put(text: str, indent: int = 0, hanging: int | None = None) -> None:
        hang = " " * (indent if hanging is None else hanging)
        out.extend(wrap(" " * indent + visible(text), width, hang))

    def section(title: str) -> None:
        out.extend(["", title.upper()])

    put(card.cell.title)
    out.append("")
    put(f"  {headline(card.number)}", 2)
    for warning in card.warnings:
        out.append("")
        put(f"! {warning}", 0, 2)
    section("The number")
    _rows(out, width, _number_rows(card))
    section("What it means")
    formula = card.formula
    _rows(
        out,
        width,
        [
            ("words", formula.words),
            ("formula", formula.symbols),
            ("source", formula.source),
            ("counted", formula.denominator),
        ],
    )
    section("What it rests on")
    rows = [("counts", counts_text(card.counts))]
    some = {name: count for name, count in card.statuses.items() if count}
    rows.append(("statuses", f"{counts_text(some) or 'none'} ({_OF_WHAT[card.cell.board]})"))
    rows.append(("check", again_text(card)))
    _rows(out, width, rows)
    section("What moves it most")
    for text in movers_text(card):
        put(text, 2)
    for place, mover in enumerate(card.movers.shown, start=1):
        out.append("")
        _mover(out, width, place, mover, card.number.unit, full)
    spoken = [one for mover in card.movers.shown for one in mover.transcripts]
    if spoken and not full:
        out.append("")
        put("A key is the beginning of a line's custom_id, what was said stands in:", 2)
        for role, files in places_of(spoken):
            put(f"{role}: {files}", 2, 6)
    section(f"Where it comes from: {len(card.sources)} files")
    put(
        "Steps back from the board, the rule of each file, its md5 as recorded by what was made from it."
        + ("" if full else " Files of one rule stand together; --full lists each."),
        2,
    )
    if full:
        for one in card.sources:
            _source(out, width, one)
    else:
        for group in siblings(card.sources):
            _group(out, width, group.pattern, group.files)
    section("Commands")
    for name, command in card.commands.items():
        lines = fold_command(visible(command), width - 2 - _LABEL)
        out.append(f"  {name:<{_LABEL}}{lines[0]}")
        out.extend(" " * (2 + _LABEL) + line for line in lines[1:])
    return "\n".join(out)


def _number_rows(card: Card) -> list[tuple[str, str]]:
    number, cell = card.number, card.cell
    rows = [("unit", number.unit), ("interval", interval_text(number))]
    if number.se is not None:
        rows.append(("se", figure(number.se, number.unit)))
    rows.append(("status", number.status + (f": {number.reason}" if number.reason and number.method else "")))
    rows += [("beside" if at == 0 else "", text) for at, text in enumerate(card.beside)]
    where = (
        f"{cell.board_file}, column {cell.column}"
        if cell.column
        else f"{cell.table} (the board does not print it)"
    )
    rows.append(("stands in", where))
    rows.append(("md5", f"{card.md5} ({cell.file})"))
    return rows


def fold_command(command: str, width: int) -> list[str]:
    """Fold a command between its words so that a shell still reads it as one.

    Args:
        command: quoted for a shell.
        width: columns; a word that is longer stays whole.
    """
    lines = [""]
    for word in (shlex.quote(word) for word in shlex.split(command)):
        if lines[-1] and columns(lines[-1]) + 1 + columns(word) > width - 2:
            lines[-1] += " \\"
            lines.append("  " + word)
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return lines


def _rows(out: list[str], width: int, rows: Sequence[tuple[str, str]]) -> None:
    """Lines with a label in front, folded below their text."""
    hanging = " " * (2 + _LABEL)
    for label, text in rows:
        lines = wrap(visible(text), max(width - len(hanging), 20), "") or [""]
        out.append(f"  {label:<{_LABEL}}{lines[0]}".rstrip())
        out.extend(hanging + line for line in lines[1:])


def _mover(out: list[str], width: int, place: int, mover: Mover, unit: str, full: bool) -> None:
    change = change_figure(mover.change, unit)
    evidence = "" if mover.evidence is None else f"  (weight of evidence {mover.evidence:+.2f})"
    out.extend(wrap(f"  {place:>2}. {change}  {visible(mover.name)}{evidence}", width, " " * 8))
    rows = []
    for line in mover.lines:
        label, _, text = line.partition(" ")
        if full or label not in _ONLY_FULL:
            rows.append((label, text.strip()))
    if mover.change is None:
        rows.insert(0, ("without", "there is no number without it"))
    if not full and mover.transcripts:
        rows.append(("keys", ", ".join(f"{one.role} {one.key[:_SHORT_KEY]}" for one in mover.transcripts)))
    indent = " " * 6
    for label, text in rows:
        lines = wrap(visible(text), max(width - len(indent) - 9, 20), "") or [""]
        out.append(f"{indent}{label:<9}{lines[0]}".rstrip())
        out.extend(" " * (len(indent) + 9) + line for line in lines[1:])
    if full:
        for one in mover.transcripts:
            out.append(f"{indent}{one.role}: {one.key}")
            out.append(f"{indent}  {one.file or 'the response file is unknown'}")


def _group(out: list[str], width: int, name: str, files: Sequence[Source]) -> None:
    first = files[0]
    many = f" ({len(files)} files)" if len(files) > 1 else ""
    steps = min(one.steps for one in files)
    out.extend(wrap(f"  {steps:>2}  {visible(name)}{many}", width, " " * 8))
    said = [_maker(first)]
    if len(files) == 1:
        said.append(f"md5 {first.md5 or 'unknown'}")
    said += sorted({one.problem for one in files if one.problem})
    out.extend(wrap(" " * 6 + visible("; ".join(said)), width, " " * 6))
    params = params_text(first.params) if all(one.params == first.params for one in files) else ""
    if params:
        lines = wrap(" " * 6 + visible(params), width - 2, " " * 6)
        out.extend(lines[:2] if len(lines) <= 2 else [lines[0], lines[1] + " …"])


def _maker(source: Source) -> str:
    if source.kind == "store":
        return "store: answers as they came"
    return (
        f"rule {source.rule}"
        if source.kind == "artifact"
        else "no rule made it: yours, or part of the project"
    )


def _source(out: list[str], width: int, source: Source) -> None:
    out.append(f"  {source.steps:>2}  {visible(source.path)}")
    wild = "".join(f" {name}={value}" for name, value in source.wildcards.items())
    code = f", {source.code} source files" if source.code else ""
    out.extend(wrap(f"        {_maker(source)}{wild}{code}; md5 {source.md5 or 'unknown'}", width, " " * 8))
    params = params_text(source.params)
    if params:
        out.extend(wrap(f"        {visible(params)}", width, " " * 10))
    if source.problem:
        out.extend(wrap(f"        {visible(source.problem)}", width, " " * 8))
