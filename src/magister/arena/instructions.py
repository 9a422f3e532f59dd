"""Seed instructions: files, generated tasks, and the gate between them and the pool."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from magister.answers import canonical_value
from magister.arena._text import clean, folded, has_words, instruction_id
from magister.config.base import NAME
from magister.config.instructions import InstructionColumns, InstructionLimits, InstructionSource
from magister.config.items import Dataset
from magister.contracts.arena_tables import INSTRUCTIONS, INSTRUCTIONS_REJECTED
from magister.errors import UserError
from magister.items import BrokenRow, load_source, read_rows, truncate_raw
from magister.llm import uniform
from magister.wheels import check_file_hash

SEED = "seed"
"""The operation of an instruction that no model has evolved."""


@dataclass(frozen=True)
class SourceRows:
    """What a source holds, before any of it is judged.

    Attributes:
        text: column of the instruction.
        gold: column of the right answer; None where there is none.
        id: column of the identifier; None where there is none.
        scenario: column of the scenario; None where there is none.
        rows: the readable rows, each with its number (lines of text files, else places from 1).
        broken: the unreadable rows.
    """

    text: str
    gold: str | None
    id: str | None
    scenario: str | None
    rows: list[tuple[int, dict[str, Any]]]
    broken: list[BrokenRow]


class Pool(NamedTuple):
    """Instructions, and what did not become one."""

    instructions: pa.Table
    """INSTRUCTIONS table."""
    rejected: pa.Table
    """INSTRUCTIONS_REJECTED table."""


def load_instructions(name: str, source: InstructionSource, path: Path | None = None) -> SourceRows:
    """Read or generate the rows of a source.

    Args:
        name: the source's name, for messages.
        source: its description.
        path: the file of a `file` or `wheel` source; of a `file` source the configured path by default.

    Returns:
        Its rows, readable and broken.

    Raises:
        UserError: the source cannot be read at all; the message names it.
    """
    try:
        if source.kind == "generated":
            return _generated(name, source)
        if path is None and source.path is not None:
            path = Path(source.path)
        if path is None:
            raise UserError("the file has not been fetched")
        expected = source.wheel.member_sha256 if source.wheel is not None else source.sha256
        if expected is not None:
            check_file_hash(path, expected)
        # A file out of a wheel keeps its kind under whatever name it was put.
        suffix = Path(source.wheel.member if source.wheel else path).suffix.lower()
        rows, broken = read_rows(path, suffix)
        return _mapped(source, rows, broken, path)
    except UserError as error:
        raise UserError(f"instructions {name!r}: {error}") from None


def _generated(name: str, source: InstructionSource) -> SourceRows:
    dataset = Dataset(
        kind="generated",
        generator=source.generator,
        generator_args=source.generator_args,
        n=source.n,
        seed=source.seed,
    )
    raw = load_source(name, dataset)
    # Options are not part of an open instruction.
    return SourceRows(
        "question", "answer", None, None, list(zip(raw.numbers, raw.rows, strict=True)), raw.broken
    )


def _mapped(
    source: InstructionSource, rows: list[tuple[int, dict[str, Any]]], broken: list[BrokenRow], path: Path
) -> SourceRows:
    if not rows and not broken:
        raise UserError(f"{path}: no rows")
    if not rows:
        first = broken[0]
        raise UserError(
            f"{path}: none of the {len(broken)} rows can be read; row {first.number}: {first.detail}"
        )
    present = {column for _, row in rows for column in row}
    columns = source.columns
    chosen: dict[str, str | None] = {}
    for field in InstructionColumns.model_fields:
        wanted = getattr(columns, field)
        if wanted is None and field in present:
            wanted = field
        if wanted and wanted not in present:
            found = ", ".join(repr(column) for column in sorted(present))
            raise UserError(
                f"{path}: no column {wanted!r} for the {field}. Columns found: {found}. "
                f"Name the right one under `columns.{field}`."
            )
        chosen[field] = wanted or None
    return SourceRows(
        str(chosen["instruction"]), chosen["gold"], chosen["id"], chosen["scenario"], rows, broken
    )


@dataclass(frozen=True)
class _Draft:
    source: str
    scenario: str
    number: int
    raw: object
    text: str = ""
    gold: str | None = None
    given: str | None = None

    @property
    def id(self) -> str:
        return instruction_id(self.scenario, self.text)


class _Rejection(Exception):
    """A row that does not become an instruction."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


def gather_instructions(
    sources: Mapping[str, InstructionSource], rows: Mapping[str, SourceRows], limits: InstructionLimits
) -> Pool:
    """Make the pool of round 0 of all sources.

    A row is taken or stands in the rejected table with a reason: malformed_row, empty, too_short, too_long,
    duplicate (the same text in the scenario but for case, spaces and punctuation between words), conflicting_gold
    (the same text with different golds; none is taken). What is taken does not depend on the order of rows: of
    duplicates one with a gold goes first, then the one with the lowest id. `n` of a source are drawn by a seeded hash
    of their ids, after the gate, so that a draw of more contains the draw of fewer; those not drawn are in
    neither table.

    Args:
        sources: descriptions by name.
        rows: what `load_instructions` returned, by name.
        limits: what an instruction may be.

    Returns:
        INSTRUCTIONS and INSTRUCTIONS_REJECTED tables.

    Raises:
        UserError: no row of a source can be used.
    """
    drafts: list[_Draft] = []
    rejected: list[dict[str, Any]] = []

    def reject(draft: _Draft, reason: str, detail: str) -> None:
        rejected.append(_rejected_row(draft, reason, detail))

    for name in sorted(sources):
        scenario, found = sources[name].scenario, rows[name]
        for broken in found.broken:
            reject(_Draft(name, scenario, broken.number, broken.raw), "malformed_row", broken.detail)
        for number, row in found.rows:
            draft = _Draft(name, scenario, number, row)
            try:
                draft = replace(draft, scenario=_scenario(found, row, scenario))
                drafts.append(_read(draft, found, row, limits))
            except _Rejection as rejection:
                reject(draft, rejection.reason, rejection.detail)
    kept = _distinct(drafts, reject)
    taken: list[_Draft] = []
    for name, source in sources.items():
        own = [draft for draft in kept if draft.source == name]
        if not own and not any(draft.source == name for draft in drafts):
            counts = Counter(row["reason"] for row in rejected if row["source"] == name)
            listed = ", ".join(f"{reason}: {count}" for reason, count in sorted(counts.items()))
            raise UserError(f"instructions {name!r}: no row can be used ({listed or 'there is none'})")
        own.sort(key=lambda draft: (uniform(draft.id, "draw", source.seed), draft.id))
        taken += own[: source.n]
    taken.sort(key=lambda draft: draft.id)
    table = pa.Table.from_pylist([_instruction_row(draft) for draft in taken], schema=INSTRUCTIONS.schema)
    return Pool(table, rejected_table(rejected))


def _read(draft: _Draft, found: SourceRows, row: Mapping[str, Any], limits: InstructionLimits) -> _Draft:
    text = _cell(row.get(found.text), found.text)
    if text is None or not has_words(text):
        raise _Rejection("empty", "" if text is None else "no letter or number in it")
    if len(text) < limits.min_chars:
        raise _Rejection("too_short", f"{len(text)} characters; at least {limits.min_chars}")
    if len(text) > limits.max_chars:
        raise _Rejection("too_long", f"{len(text)} characters; at most {limits.max_chars}")
    gold = _cell(row.get(found.gold), found.gold) if found.gold else None
    given = _cell(row.get(found.id), found.id) if found.id else None
    return replace(draft, text=text, gold=gold, given=given)


def _scenario(found: SourceRows, row: Mapping[str, Any], default: str) -> str:
    named = _cell(row.get(found.scenario), found.scenario) if found.scenario else None
    if named is not None and not re.match(NAME, named):
        raise _Rejection("malformed_row", f"scenario: {named[:64]!r} is no name (letters, digits, . _ -)")
    return named or default


def _cell(value: object, column: str) -> str | None:
    """The text of a cell; None where it is empty."""
    if value is None or value != value:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _Rejection("malformed_row", f"{column}: expected a text, found {type(value).__name__}")
    text = clean(str(value))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _Rejection("malformed_row", f"{column}: half of a surrogate pair, which is no text") from None
    return text or None


def _distinct(drafts: Iterable[_Draft], reject: Any) -> list[_Draft]:
    groups: dict[tuple[str, str], list[_Draft]] = defaultdict(list)
    for draft in drafts:
        groups[draft.scenario, folded(draft.text)].append(draft)
    kept = []
    for group in groups.values():
        golds = {canonical_value(draft.gold) for draft in group if draft.gold is not None}
        places = ", ".join(f"{draft.source} {draft.number}" for draft in sorted(group, key=_place)[:5])
        if len(golds) > 1:
            for draft in group:
                reject(draft, "conflicting_gold", f"golds of {places} differ")
            continue
        first, *others = sorted(group, key=lambda draft: (draft.gold is None, draft.id, *_place(draft)))
        kept.append(first)
        for draft in others:
            reject(draft, "duplicate", f"same as {first.source} {first.number}")
    return kept


def _place(draft: _Draft) -> tuple[str, int]:
    return draft.source, draft.number


def _instruction_row(draft: _Draft) -> dict[str, Any]:
    return {
        "instruction_id": draft.id,
        "scenario": draft.scenario,
        "text": draft.text,
        "root_id": draft.id,
        "round": 0,
        "operation": SEED,
        "gold": draft.gold,
        "source": draft.source,
        "source_id": draft.given,
    }


def _rejected_row(draft: _Draft, reason: str, detail: str) -> dict[str, Any]:
    raw = draft.raw if isinstance(draft.raw, str) else json.dumps(draft.raw, ensure_ascii=False, default=str)
    return {
        "scenario": draft.scenario,
        "round": 0,
        "origin": f"{draft.source} {draft.number}",
        "operation": SEED,
        "reason": reason,
        "detail": truncate_raw(detail),
        "raw": truncate_raw(raw),
        "source": draft.source,
        "source_row": draft.number,
    }


def rejected_table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """The INSTRUCTIONS_REJECTED table, sorted by its key."""
    ordered = sorted(rows, key=lambda row: (row["scenario"], row["round"], row["origin"]))
    return pa.Table.from_pylist([dict(row) for row in ordered], schema=INSTRUCTIONS_REJECTED.schema)
