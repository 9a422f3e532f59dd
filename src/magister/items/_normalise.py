"""The data gate: raw rows in, a pool of items and the rejected rows with their reasons out."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from magister.config.items import ColumnMap, Dataset
from magister.contracts.schemas import POOL, REJECTED
from magister.items._choices import (
    LETTERS,
    Malformed,
    Options,
    choose_reading,
    key_readings,
    read_option_columns,
    read_options,
    scalar_text,
)
from magister.items._flags import needs_options, options_in_question
from magister.items._numbers import parse_number
from magister.items._text import clean, fold, fold_option, given_item_id, seeded_rank, sha
from magister.items.sources import RawRows

RAW_LIMIT = 2000
ONE_KEY_ROWS = 8
GOLD_SEPARATOR = "; "


class Rejection(Exception):
    """A row that does not become an item."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


@dataclass(frozen=True)
class _Draft:
    number: int
    row: dict[str, Any]
    item_id: str
    given: str | None
    question: str
    passage: str | None
    domain: str
    cluster: str | None
    options: Options | None
    answer: Any
    places: tuple[int, ...] = ()
    gold: str = ""
    readings: dict[str, tuple[int, ...]] = field(default_factory=dict)


def truncate_raw(raw: str) -> str:
    """Text of a rejected row, cut at 2,000 characters with a mark, safe to store."""
    safe = raw.encode("utf-8", "backslashreplace").decode("utf-8")
    mark = f" ... [cut, {len(safe)} characters]"
    return safe if len(safe) <= RAW_LIMIT else safe[: RAW_LIMIT - len(mark)] + mark


def rejection_row(dataset: str, number: int, rejection: Rejection, raw: object) -> dict[str, Any]:
    """A row of the REJECTED table."""
    text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False, default=str)
    return {
        "dataset": dataset,
        "source_row": number,
        "reason": rejection.reason,
        "detail": truncate_raw(rejection.detail),
        "raw": truncate_raw(text),
    }


def rejected_table(rows: Iterable[dict[str, Any]]) -> pa.Table:
    """The REJECTED table, sorted by its key."""
    ordered = sorted(rows, key=lambda row: (row["dataset"], row["source_row"], row["reason"]))
    return pa.Table.from_pylist(ordered, schema=REJECTED.schema)


def _cell(row: dict[str, Any], column: str | None, what: str) -> str | None:
    if not column:
        return None
    try:
        text = scalar_text(row.get(column))
    except Malformed as error:
        raise Rejection("malformed_row", f"{what}: {error}") from None
    if text is not None and not _encodable(text):
        raise Rejection("malformed_row", f"{what}: half of a surrogate pair, which is no text")
    return text


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _row_options(row: dict[str, Any], columns: ColumnMap) -> Options | None:
    if not columns.options:
        return None
    try:
        if isinstance(columns.options, str):
            options = read_options(row.get(columns.options))
        else:
            options = read_option_columns([row.get(column) for column in columns.options])
    except Malformed as error:
        raise Rejection("malformed_row", str(error)) from None
    if options is None:
        return None
    count = len(options.texts)
    if count < 2:
        raise Rejection("too_few_options", f"expected at least 2 options, found {count}")
    if count > len(LETTERS):
        raise Rejection("too_many_options", f"expected at most {len(LETTERS)} options, found {count}")
    if not all(options.texts):
        raise Rejection("empty_option", f"option {LETTERS[options.texts.index('')]} is empty")
    if not all(_encodable(text) for text in options.texts):
        raise Rejection("malformed_row", "an option holds half of a surrogate pair, which is no text")
    seen: dict[str, str] = {}
    for letter, text in zip(LETTERS, options.texts, strict=False):
        folded = fold_option(text)
        if folded in seen:
            raise Rejection("duplicate_options", f"options {seen[folded]} and {letter} are both {text!r}")
        seen[folded] = letter
    return options


def _open_gold(answer: Any, gsm8k: bool) -> str:
    if isinstance(answer, list):
        if len(answer) > 1:
            raise Rejection("several_golds", f"an open question needs one right answer, found {len(answer)}")
        answer = answer[0] if answer else None
    text = _cell({"answer": answer}, "answer", "answer")
    if text is None:
        raise Rejection("missing_answer")
    if not gsm8k:
        return text
    _, mark, value = text.rpartition("####")
    if not mark:
        raise Rejection("missing_answer", "no `####` before a final value")
    number = parse_number(value)
    if number is None:
        raise Rejection("gold_not_numeric", f"after `####`: {value.strip()[:100]!r}")
    return value.strip().replace(",", "").lstrip("$").strip()


def _read_row(dataset: Dataset, columns: ColumnMap, number: int, row: dict[str, Any]) -> _Draft:
    question = _cell(row, columns.question, "question")
    if question is None:
        raise Rejection("missing_question")
    passage = _cell(row, columns.passage, "passage")
    length = len(question) + len(passage or "")
    if dataset.max_question_chars is not None and length > dataset.max_question_chars:
        limit = dataset.max_question_chars
        raise Rejection("too_long", f"{length} characters with its passage; at most {limit}")
    draft = _Draft(
        number=number,
        row=row,
        item_id="",
        given=_cell(row, columns.id, "id"),
        question=question,
        passage=passage,
        domain=_cell(row, columns.domain, "domain") or dataset.domain,
        cluster=_cell(row, columns.cluster, "cluster"),
        options=_row_options(row, columns),
        answer=row.get(columns.answer),
    )
    if draft.options is None:
        return replace(draft, gold=_open_gold(draft.answer, dataset.format == "gsm8k"))
    blank = draft.answer is None or draft.answer == [] or draft.answer != draft.answer
    if blank or (isinstance(draft.answer, str) and not draft.answer.strip()):
        raise Rejection("missing_answer")
    try:
        readings = key_readings(draft.answer, draft.options)
    except Malformed as error:
        raise Rejection("malformed_row", f"answer: {error}") from None
    if not readings:
        shown = str(draft.answer)[:100]
        count = len(draft.options.texts)
        raise Rejection("key_outside_options", f"answer {shown!r} names none of {count} options")
    return replace(draft, readings=readings)


def _letters(places: Iterable[int]) -> str:
    return "".join(LETTERS[place] for place in places)


def _stated_places(draft: _Draft, options: Options) -> tuple[int, ...]:
    """Options that the text beside a Teach2Eval label names; none where it names no option or is missing."""
    stated = draft.row.get("answer")
    texts = stated if isinstance(stated, list) else [stated]
    keys = [fold_option(text) for text in options.texts]
    try:
        named = [fold_option(scalar_text(text) or "") for text in texts]
    except Malformed:
        return ()
    return tuple(sorted({keys.index(text) for text in named})) if all(text in keys for text in named) else ()


def _decide_key(draft: _Draft, support: Counter[str], labelled: bool) -> _Draft:
    if draft.options is None:
        return draft
    places = choose_reading(draft.readings, draft.answer, support)
    if places is None:
        ways = ", ".join(f"{_letters(named)} as {reading}" for reading, named in draft.readings.items())
        raise Rejection("ambiguous_key", f"answer {draft.answer!r} can mean {ways}")
    stated = _stated_places(draft, draft.options) if labelled else ()
    if stated and stated != places:
        raise Rejection(
            "contradicting_answer",
            f"label {_letters(places)}, but the answer's text is option {_letters(stated)}",
        )
    gold = GOLD_SEPARATOR.join(draft.options.texts[place] for place in places)
    return replace(draft, places=places, gold=gold)


def _content(draft: _Draft) -> tuple[str, str, str]:
    """What makes two rows the same question: question, passage and options, in whatever order."""
    options = sorted(fold_option(text) for text in draft.options.texts) if draft.options else []
    return fold(draft.question), fold(draft.passage or ""), sha(*options)


def _identify(name: str, draft: _Draft) -> _Draft:
    if draft.given is not None:
        return replace(draft, item_id=given_item_id(name, draft.given))
    options = sorted(draft.options.texts) if draft.options else []
    digest = sha("content", draft.question, draft.passage or "", draft.gold, *options)
    return replace(draft, item_id=f"{name}-{digest[:12]}")


def _gold_key(draft: _Draft) -> tuple[str, ...]:
    if draft.options is None:
        return (fold(draft.gold),)
    return tuple(sorted(fold_option(draft.options.texts[place]) for place in draft.places))


def _precedence(draft: _Draft) -> tuple[str, str, str, tuple[str, ...], int]:
    """Which of several repeated rows is kept, whatever their order: the row's number decides last."""
    texts = draft.options.texts if draft.options else ()
    return draft.item_id, draft.question, draft.passage or "", texts, draft.number


class _Gate:
    """Collects rejections while the drafts pass one check after another."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rejected: list[dict[str, Any]] = []

    def reject(self, draft: _Draft, reason: str, detail: str = "") -> None:
        self.rejected.append(rejection_row(self.name, draft.number, Rejection(reason, detail), draft.row))

    def drop_repeated(self, drafts: list[_Draft]) -> list[_Draft]:
        groups: dict[tuple[str, str, str], list[_Draft]] = defaultdict(list)
        for draft in drafts:
            groups[_content(draft)].append(draft)
        kept = []
        for group in groups.values():
            if len({_gold_key(draft) for draft in group}) > 1:
                rows = ", ".join(str(draft.number) for draft in group[:5])
                for draft in group:
                    self.reject(draft, "conflicting_answers", f"answers of rows {rows} differ")
                continue
            first, *others = sorted(group, key=_precedence)
            kept.append(first)
            for draft in others:
                self.reject(draft, "repeated_question", f"same as row {first.number}")
        return kept

    def drop_shared_ids(self, drafts: list[_Draft]) -> list[_Draft]:
        groups: dict[str, list[_Draft]] = defaultdict(list)
        for draft in drafts:
            groups[draft.item_id].append(draft)
        for group in groups.values():
            if len(group) > 1:
                rows = ", ".join(str(draft.number) for draft in group[:5])
                for draft in group:
                    given = draft.given or draft.item_id
                    self.reject(draft, "duplicate_id", f"id {given!r} names rows {rows}")
        return [group[0] for group in groups.values() if len(group) == 1]

    def drop_one_key(self, drafts: list[_Draft]) -> list[_Draft]:
        choice = [draft for draft in drafts if draft.options is not None]
        keys = {draft.places for draft in choice}
        if len(choice) < ONE_KEY_ROWS or len(keys) > 1:
            return drafts
        letters = _letters(next(iter(keys)))
        detail = f"all {len(choice)} choice rows have the key {letters}: hidden labels are no answers"
        for draft in choice:
            self.reject(draft, "one_key_dataset", detail)
        return [draft for draft in drafts if draft.options is None]


def _pool_row(name: str, draft: _Draft) -> dict[str, Any]:
    texts = list(draft.options.texts) if draft.options else None
    if draft.cluster is not None:
        cluster = f"{name}-c{sha(draft.cluster)[:12]}"
    elif draft.passage is not None:
        cluster = f"{name}-p{sha(fold(draft.passage))[:12]}"
    else:
        cluster = draft.item_id
    flags = []
    if needs_options(draft.question, texts):
        flags.append("needs_options")
    if texts is not None and options_in_question(draft.question, texts):
        flags.append("options_in_question")
    return {
        "item_id": draft.item_id,
        "dataset": name,
        "domain": draft.domain,
        "cluster_id": cluster,
        "question": clean(draft.question),
        "gold": draft.gold,
        "source_row": draft.number,
        "flags": flags,
        "passage": draft.passage,
        "options": texts,
        "key": _letters(draft.places) or None,
    }


def normalise_rows(name: str, dataset: Dataset, raw: RawRows) -> tuple[pa.Table, pa.Table]:
    """Pass raw rows through the data gate.

    A row is accepted or stands in the rejected table with a reason. What is accepted does not depend on the
    order of the rows: of repeated questions the one with the lowest `item_id` is kept; where their
    answers differ, or where one id names several questions, none is. `dataset.n` items are drawn by a seeded
    hash of their ids, after the gate, so that a draw of more contains the draw of fewer; items not drawn are
    in neither table.

    Args:
        name: name of the data set.
        dataset: its description.
        raw: its rows, from `load_source`.

    Returns:
        The pool and the rejected rows, as their contracts say.
    """
    gate = _Gate(name)
    for row in raw.broken:
        gate.rejected.append(rejection_row(name, row.number, Rejection("malformed_row", row.detail), row.raw))
    read: list[_Draft] = []
    for number, values in zip(raw.numbers, raw.rows, strict=True):
        try:
            read.append(_read_row(dataset, raw.columns, number, values))
        except Rejection as rejection:
            gate.rejected.append(rejection_row(name, number, rejection, values))
    support = Counter(reading for draft in read for reading in draft.readings)
    labelled = dataset.format == "teach2eval" and raw.columns.answer == "label"
    drafts: list[_Draft] = []
    for draft in read:
        try:
            drafts.append(_identify(name, _decide_key(draft, support, labelled)))
        except Rejection as rejection:
            gate.reject(draft, rejection.reason, rejection.detail)
    drafts = gate.drop_shared_ids(gate.drop_repeated(drafts))
    # Where the answer's own column is one of the options, the right one stands first by layout.
    if not (isinstance(raw.columns.options, list) and raw.columns.answer in raw.columns.options):
        drafts = gate.drop_one_key(drafts)
    if dataset.n is not None:
        drafts = sorted(drafts, key=lambda draft: seeded_rank(dataset.seed, draft.item_id))[: dataset.n]
    rows = [_pool_row(name, draft) for draft in sorted(drafts, key=lambda draft: draft.item_id)]
    return pa.Table.from_pylist(rows, schema=POOL.schema), rejected_table(gate.rejected)
