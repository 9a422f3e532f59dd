"""Difficulty bands from the answers of a ladder of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts.schemas import BANDS
from magister.errors import UserError

_MISSING = -1


class Bands(NamedTuple):
    """Bands of items.

    Attributes:
        table: the BANDS table.
        n_left_out: items that no ladder model answered: they have no band and no row.
        n_not_monotone: items that a smaller model solves and a larger one does not.
    """

    table: pa.Table
    n_left_out: int
    n_not_monotone: int


def _marks(item_ids: pa.Array, answers: pa.Table, ladder: Sequence[str]) -> np.ndarray:
    """Items by models: 1 right, 0 not right, -1 error or never asked."""
    if not ladder or len(set(ladder)) != len(ladder):
        raise UserError(f"items.ladder: expected different models, found {list(ladder)}")
    models = answers["model"].combine_chunks()
    row = pc.index_in(answers["item_id"].combine_chunks(), value_set=item_ids)
    column = pc.index_in(models, value_set=pa.array(ladder, pa.string()))
    absent = [name for name in ladder if not pc.any(pc.equal(models, name)).as_py()]
    if absent:
        found = ", ".join(sorted(set(models.to_pylist())))
        raise UserError(f"ladder answers: none of {', '.join(absent)}; found {found or 'no answers'}")
    used = pc.and_(pc.is_valid(row), pc.is_valid(column)).to_numpy(zero_copy_only=False)
    rows = pc.fill_null(row, 0).to_numpy(zero_copy_only=False)[used]
    columns = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)[used]
    flat = rows.astype(np.int64) * len(ladder) + columns
    if len(np.unique(flat)) != len(flat):
        raise UserError("ladder answers: a model answers an item twice; expected one row per model and item")
    failed = pc.equal(answers["status"], "error").to_numpy()[used]
    right = pc.fill_null(answers["correct"], False).to_numpy()[used]
    marks = np.full(len(item_ids) * len(ladder), _MISSING, dtype=np.int8)
    marks[flat] = np.where(failed, _MISSING, right.astype(np.int8))
    return marks.reshape(len(item_ids), len(ladder))


def _monotone(marks: np.ndarray) -> np.ndarray:
    """Whether no answered 0 follows an answered 1."""
    solved_before = np.logical_or.accumulate(marks == 1, axis=1)
    return ~np.any(solved_before & (marks == 0), axis=1)


def band_items(
    items: pa.Table, ladder_answers: pa.Table, ladder: Sequence[str], cuts: Sequence[float]
) -> Bands:
    """Grade items by the mean accuracy of the ladder.

    A mean at or below the first cut is band 5, ..., above the last is band 1. The mean is over the models
    that answered: an error of infrastructure (`?` in the pattern) is no answer, anything else that is not
    right counts as not solved. `unsolved` says that all ladder models answered and none was right. Answers of
    models outside the ladder and to other items are ignored.

    Args:
        items: table with item_id.
        ladder_answers: ANSWERS table.
        ladder: models, weakest first.
        cuts: four ascending means.

    Returns:
        The bands.

    Raises:
        UserError: cuts that do not ascend, a ladder model without any answer, or a second answer to an item.
    """
    if len(cuts) != 4 or list(cuts) != sorted(set(cuts)):
        raise UserError(f"items.band_cuts: expected four ascending means, found {list(cuts)}")
    item_ids = items["item_id"].combine_chunks()
    marks = _marks(item_ids, ladder_answers, ladder)
    answered = (marks != _MISSING).sum(axis=1)
    solved = (marks == 1).sum(axis=1)
    mean = np.divide(solved, answered, out=np.full(len(marks), np.nan), where=answered > 0)
    # The last sum may carry rounding; a mean that equals a cut belongs to the harder band.
    band = 5 - np.searchsorted(np.asarray(cuts) + 1e-12, mean, side="left")
    symbols = np.array([b"0", b"1", b"?"])[marks]
    pattern = np.ascontiguousarray(symbols).view(f"S{len(ladder)}").ravel().astype(str)
    monotone = _monotone(marks)
    kept = answered > 0
    table = pa.table(
        {
            "item_id": item_ids.filter(pa.array(kept)),
            "band": pa.array(band[kept], pa.int32()),
            "pass_pattern": pa.array(pattern[kept], pa.string()),
            "n_answered": pa.array(answered[kept], pa.int32()),
            "unsolved": pa.array(((solved == 0) & (answered == len(ladder)))[kept]),
            "monotone": pa.array(monotone[kept]),
            "ladder_mean": pa.array(mean[kept], pa.float64()),
        },
        schema=BANDS.schema,
    ).sort_by("item_id")
    return Bands(table, int((~kept).sum()), int((~monotone & kept).sum()))


def ladder_report(items: pa.Table, ladder_answers: pa.Table, ladder: Sequence[str]) -> pa.Table:
    """Count what each ladder model solves.

    Args:
        items: table with item_id.
        ladder_answers: ANSWERS table.
        ladder: models, weakest first.

    Returns:
        One row per model in ladder order: model, n_items, n_answered, n_correct, accuracy (null without
        answers).
    """
    marks = _marks(items["item_id"].combine_chunks(), ladder_answers, ladder)
    answered, correct = (marks != _MISSING).sum(axis=0), (marks == 1).sum(axis=0)
    return pa.table(
        {
            "model": pa.array(ladder, pa.string()),
            "n_items": pa.array([len(marks)] * len(ladder), pa.int32()),
            "n_answered": pa.array(answered, pa.int32()),
            "n_correct": pa.array(correct, pa.int32()),
            "accuracy": pa.array(
                [float(c) / float(a) if a else None for c, a in zip(correct, answered, strict=True)],
                pa.float64(),
            ),
        }
    )
