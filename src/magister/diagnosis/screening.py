"""Screening of responses: models and items that tell nothing, or tell the same twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts.diagnosis_tables import SCREEN_FLAGS, SCREENING
from magister.diagnosis.matrix import MISSING, ResponseMatrix
from magister.diagnosis.responses import ABSENT, UNPARSED, Grid
from magister.errors import UserError

DROPPED = ("format_failed", "few_responses", "duplicate")
"""Flags that take a row out by default; items and models that are all right or all wrong stay, flagged."""
_BLOCK = 256


@dataclass(frozen=True)
class ScreeningOptions:
    """What is flagged, and which flags take a model or an item out.

    Attributes:
        min_models: an item answered by fewer models has few responses.
        min_items: a model with fewer answered items has few responses.
        format_share: a format that failed: of the replies at most this share is right ...
        format_unparsed: ... and at least this share cannot be read.
        duplicate_items: fewest common items of models that can be each other's duplicate.
        duplicate_agreement: share of equal responses among common items from which models are duplicates; at 1 the gaps
            are the same too.
        drop: flags that take a row out.
    """

    min_models: int = 2
    min_items: int = 2
    format_share: float = 0.05
    format_unparsed: float = 0.5
    duplicate_items: int = 100
    duplicate_agreement: float = 1.0
    drop: tuple[str, ...] = DROPPED

    def __post_init__(self) -> None:
        strange = [flag for flag in self.drop if flag not in SCREEN_FLAGS]
        if strange:
            raise UserError(
                f"screening.drop: {strange[0]!r} is no flag; expected some of {', '.join(SCREEN_FLAGS)}"
            )
        for name in ("format_share", "format_unparsed", "duplicate_agreement"):
            if not 0 <= getattr(self, name) <= 1:
                raise UserError(
                    f"screening.{name}: expected a share within 0 and 1, found {getattr(self, name)}"
                )
        if self.duplicate_agreement <= 0.5:
            raise UserError(
                f"screening.duplicate_agreement: {self.duplicate_agreement} is no agreement; expected more than 0.5"
            )


def screen(grid: Grid, options: ScreeningOptions | None = None) -> pa.Table:
    """Flag models and items.

    Few responses are counted among models and items that stay, until nothing changes: which go does not depend on an
    order. Models that are all right or all wrong are alike without being one model, and are no duplicates.

    Args:
        grid: the responses.
        options: limits; the defaults without.

    Returns:
        Table of the contract `screening`: every model and item. `n` are its known responses, `n_unparsed` those that
        could not be read (in `n` where they count as wrong), `n_missing` those that nobody knows.
    """
    options = options or ScreeningOptions()
    # In the order of names: the later of twins is flagged, whatever the order of the file.
    rows = np.array(sorted(range(len(grid.models)), key=lambda at: grid.models[at]), dtype=np.int64)
    columns = np.array(sorted(range(len(grid.items)), key=lambda at: grid.items[at]), dtype=np.int64)
    models, items = [grid.models[at] for at in rows], [grid.items[at] for at in columns]
    correct = np.ascontiguousarray(grid.correct[np.ix_(rows, columns)])
    unparsed, absent = (grid.has_status(statuses)[np.ix_(rows, columns)] for statuses in (UNPARSED, ABSENT))
    by_model = _Counts.along(correct, unparsed, absent, axis=1)
    by_item = _Counts.along(correct, unparsed, absent, axis=0)
    model_flags, item_flags = by_model.constant(), by_item.constant()
    model_flags["format_failed"] = _format_failed(by_model, options)
    twin = duplicates(correct, options.duplicate_items, options.duplicate_agreement)
    model_flags["duplicate"] = twin >= 0
    stay = np.ones(len(models), dtype=bool)
    for flag in ("format_failed", "duplicate", "all_right", "all_wrong"):
        stay &= ~(model_flags[flag] & (flag in options.drop))
    item_stay = np.ones(len(items), dtype=bool)
    for flag in ("all_right", "all_wrong"):
        item_stay &= ~(item_flags[flag] & (flag in options.drop))
    few = _few_responses(correct != MISSING, stay, item_stay, options)
    model_flags["few_responses"], item_flags["few_responses"] = few
    parts = [
        _rows("model", models, by_model, model_flags, options.drop)
        | {"duplicate_of": [models[at] if at >= 0 else None for at in twin.tolist()]},
        _rows("item", items, by_item, item_flags, options.drop) | {"duplicate_of": [None] * len(items)},
    ]
    return pa.concat_tables([pa.table(part, schema=SCREENING.schema) for part in parts])


def apply_screening(matrix: ResponseMatrix, screening: pa.Table) -> ResponseMatrix:
    """Responses without the models and items that were screened out.

    Args:
        matrix: the responses.
        screening: table of the contract `screening` that has a row for each of its models and items.

    Returns:
        What stays, in the same order.

    Raises:
        UserError: a model or an item was not screened, or nothing stays; the message counts the reasons.
    """
    kept = [_stays(matrix, screening, kind) for kind in ("model", "item")]
    correct = np.ascontiguousarray(matrix.correct[np.ix_(*kept)])
    answered = correct != MISSING
    if not answered.any():
        raise UserError(
            f"screening leaves nothing of {len(matrix.models)} models x {len(matrix.items)} items: "
            f"{'; '.join(describe(screening)) or 'the models that stay answered none of the items that stay'}. "
            "Lower its limits, or give more responses"
        )
    rows, columns = answered.any(axis=1), answered.any(axis=0)
    models = [name for name, stays in zip(matrix.models, kept[0], strict=True) if stays]
    items = [name for name, stays in zip(matrix.items, kept[1], strict=True) if stays]
    return ResponseMatrix(
        tuple(name for name, there in zip(models, rows, strict=True) if there),
        tuple(name for name, there in zip(items, columns, strict=True) if there),
        np.ascontiguousarray(correct[np.ix_(rows, columns)]),
    )


def describe(screening: pa.Table) -> list[str]:
    """What was flagged, for people: a line per kind and flag, with its count, what became of it and the first names."""
    lines = []
    rows = screening.to_pylist()
    for kind in ("model", "item"):
        for flag in SCREEN_FLAGS:
            found = [row for row in rows if row["kind"] == kind and flag in row["flags"]]
            if not found:
                continue
            out = sum(not row["kept"] for row in found)
            names = ", ".join(_shown(row) if flag == "duplicate" else row["name"] for row in found[:3])
            more = ", ..." if len(found) > 3 else ""
            lines.append(
                f"{len(found)} {kind}{'' if len(found) == 1 else 's'} {flag} ({out} left out): {names}{more}"
            )
    return lines


def duplicates(correct: NDArray[np.int8], fewest: int, agreement: float = 1.0) -> NDArray[np.int64]:
    """Find models that respond as an earlier one.

    Args:
        correct: N x J: 1, 0, -1 for missing; models in the order of their names.
        fewest: common items below which nothing is said.
        agreement: share of equal responses among common items, from which a model is a duplicate. At 1, rows are
            alike in their gaps too, and are compared by their bytes at once; below, all pairs are counted on packed
            bits.

    Returns:
        int64, N: the place of the earliest model, itself no duplicate, that each is a duplicate of; -1 for none.
    """
    answered = correct != MISSING
    right = correct == 1
    n, n_right = answered.sum(axis=1), right.sum(axis=1)
    twin = np.full(len(correct), -1, dtype=np.int64)
    able = np.flatnonzero((n >= max(fewest, 1)) & (n_right > 0) & (n_right < n))
    if able.size < 2:
        return twin
    bits = np.concatenate([np.packbits(right[able], axis=1), np.packbits(answered[able], axis=1)], axis=1)
    if agreement >= 1:
        whole = np.ascontiguousarray(bits).view(np.dtype((np.void, bits.shape[1]))).ravel()
        _, first, group = np.unique(whole, return_index=True, return_inverse=True)
        earliest = first[group]
        again = earliest != np.arange(able.size)
        twin[able[again]] = able[earliest[again]]
        return twin
    words = [_words(part[able]) for part in (right, answered)]
    single = np.ones(able.size, dtype=bool)
    for start in range(0, able.size, _BLOCK):
        alike = _alike(words[0], words[1], slice(start, start + _BLOCK), fewest, agreement)
        for at in np.flatnonzero(alike.any(axis=1)).tolist():
            earlier = np.flatnonzero(alike[at] & single[: alike.shape[1]])
            earlier = earlier[earlier < start + at]
            if earlier.size:
                single[start + at] = False
                twin[able[start + at]] = able[earlier[0]]
    return twin


def _alike(
    right: NDArray[np.uint64], answered: NDArray[np.uint64], block: slice, fewest: int, agreement: float
) -> NDArray[np.bool_]:
    """Which models of a block agree with which up to the end of it."""
    some, those = right[block, None], answered[block, None]
    up_to = min(block.stop, len(right))
    common = np.zeros((len(some), up_to), dtype=np.int64)
    differing = np.zeros_like(common)
    for word in range(right.shape[1]):
        both = those[:, :, word] & answered[None, :up_to, word]
        common += np.bitwise_count(both)
        differing += np.bitwise_count((some[:, :, word] ^ right[None, :up_to, word]) & both)
    # Whole numbers on one side: the same on every machine.
    return (common >= fewest) & (common - differing >= agreement * common)


def _words(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """64 responses a word."""
    short = -bits.shape[1] % 64
    return np.packbits(np.pad(bits, ((0, 0), (0, short))), axis=1).view(np.uint64)


@dataclass(frozen=True)
class _Counts:
    """Of every model (or item): known responses, right ones, unreadable ones, those that nobody knows, and replies."""

    known: NDArray[np.int64]
    right: NDArray[np.int64]
    unparsed: NDArray[np.int64]
    absent: NDArray[np.int64]
    asked: NDArray[np.int64]

    @classmethod
    def along(
        cls,
        correct: NDArray[np.int8],
        unparsed: NDArray[np.bool_],
        absent: NDArray[np.bool_],
        axis: int,
    ) -> _Counts:
        return cls(
            *(part.sum(axis=axis) for part in (correct != MISSING, correct == 1, unparsed, absent, ~absent))
        )

    def constant(self) -> dict[str, NDArray[np.bool_]]:
        some = self.known > 0
        return {"all_right": some & (self.right == self.known), "all_wrong": some & (self.right == 0)}


def _format_failed(counts: _Counts, options: ScreeningOptions) -> NDArray[np.bool_]:
    """Near zero because replies cannot be read; counted of all replies, whatever an unreadable one counts as."""
    return (
        (counts.unparsed > 0)
        & (counts.right <= options.format_share * counts.asked)
        & (counts.unparsed >= options.format_unparsed * counts.asked)
    )


def _few_responses(
    known: NDArray[np.bool_], stay: NDArray[np.bool_], item_stay: NDArray[np.bool_], options: ScreeningOptions
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Models and items with few responses among what stays: what is left is the largest part in which none has few."""
    drops = "few_responses" in options.drop
    least = (max(options.min_items, 1), max(options.min_models, 1))
    while True:
        n_items = (known & item_stay).sum(axis=1)
        n_models = (known & stay[:, None]).sum(axis=0)
        few, item_few = n_items < least[0], n_models < least[1]
        gone, item_gone = (few, item_few) if drops else (n_items == 0, n_models == 0)
        if not (gone & stay).any() and not (item_gone & item_stay).any():
            return few, item_few
        stay, item_stay = stay & ~gone, item_stay & ~item_gone


def _rows(
    kind: str,
    names: Sequence[str],
    counts: _Counts,
    flags: dict[str, NDArray[np.bool_]],
    drop: Sequence[str],
) -> dict[str, Any]:
    ordered = [flag for flag in SCREEN_FLAGS if flag in flags]
    out = np.zeros(len(names), dtype=bool)
    for flag in ordered:
        out |= flags[flag] & (flag in drop)
    # What nobody answered stays under no options: nothing can be said of it.
    out |= counts.known == 0
    marks = np.array([flags[flag] for flag in ordered]).T.tolist()
    share = np.divide(counts.right, counts.known, out=np.zeros(len(names)), where=counts.known > 0)
    return {
        "kind": [kind] * len(names),
        "name": list(names),
        "n": counts.known.astype(np.int32),
        "n_correct": counts.right.astype(np.int32),
        "n_unparsed": counts.unparsed.astype(np.int32),
        "n_missing": counts.absent.astype(np.int32),
        "flags": [[flag for flag, is_so in zip(ordered, marked, strict=True) if is_so] for marked in marks],
        "kept": ~out,
        "share": pa.array(share, mask=counts.known == 0),
    }


def _stays(matrix: ResponseMatrix, screening: pa.Table, kind: str) -> NDArray[np.bool_]:
    rows = screening.filter(pc.equal(screening["kind"], kind))
    names = matrix.models if kind == "model" else matrix.items
    places = pc.index_in(pa.array(names, pa.string()), value_set=rows["name"].combine_chunks())
    if places.null_count:
        name = names[int(np.flatnonzero(places.is_null().to_numpy(zero_copy_only=False))[0])]
        raise UserError(f"screening: the {kind} {name!r} was not screened; screen these responses anew")
    kept: NDArray[np.bool_] = rows["kept"].combine_chunks().take(places).to_numpy(zero_copy_only=False)
    return kept


def _shown(row: dict[str, Any]) -> str:
    return f"{row['name']} (of {row['duplicate_of']})"
