"""How many words two responses share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.arena._grid import FloatArray
from magister.arena.similarity import Pair, Similarities
from magister.errors import UserError

# Letters of scripts written without spaces are words of their own.
_LONE = r"(\p{Han}|\p{Hiragana}|\p{Katakana}|\p{Thai})"
_APART = r"[^\p{L}\p{M}\p{N}]+"
_TEXTS_AT_ONCE = 4096


def token_similarities(
    texts: dict[str, pa.StringArray], pairs: Sequence[Pair], at_once: int = _TEXTS_AT_ONCE
) -> Similarities:
    """F1 of the tokens that two responses share.

    2 |A and B| / (|A| + |B|) over multisets of lower-case words: BERTScore with vectors that are equal or
    orthogonal. It needs no model, counts whole numbers, and is the same bytes everywhere.

    Args:
        texts: responses of each model, length N each, null for none.
        pairs: names of two models each.
        at_once: instructions worked on at a time; the numbers do not depend on it.

    Returns:
        Similarities, 0..1; NaN where a response is null. Two responses without a word have no F1: NaN.

    Raises:
        UserError: for models of different numbers of texts, or unknown names.

    References:
        Zhang et al. (2020), BERTScore, ICLR, eqs. 1-3; van Rijsbergen (1979), Information Retrieval, chapter 7.
    """
    check_names(texts, pairs)
    sizes = {len(column) for column in texts.values()}
    if len(sizes) > 1:
        raise UserError(
            f"models have {sorted(sizes)} texts; expected as many each, null where one is missing"
        )
    count = sizes.pop() if sizes else 0
    values = np.empty((len(pairs), count))
    for start in range(0, count, at_once):
        counted = {name: _words(column.slice(start, at_once)) for name, column in texts.items()}
        for k, (a, b) in enumerate(pairs):
            values[k, start : start + at_once] = _overlap(counted[a], counted[b])
    return Similarities(list(pairs), values)


@dataclass(frozen=True)
class _Words:
    """Words of n texts: sorted keys of text and word with their counts, totals per text, and which texts are null."""

    keys: pa.Array
    counts: NDArray[np.int64]
    rows: NDArray[np.int64]
    total: NDArray[np.int64]
    null: NDArray[np.bool_]


def _words(texts: pa.StringArray) -> _Words:
    spaced = pc.replace_substring_regex(pc.utf8_lower(texts), _LONE, r" \1 ")
    split = pc.split_pattern(pc.utf8_trim_whitespace(pc.replace_substring_regex(spaced, _APART, " ")), " ")
    rows, words = pc.list_parent_indices(split), pc.list_flatten(split)
    some = pc.not_equal(words, "")
    table = pa.table({"row": rows.filter(some), "word": words.filter(some)})
    grouped = table.group_by(["row", "word"]).aggregate([([], "count_all")])
    number = np.asarray(grouped["row"].to_numpy(), dtype=np.int64)
    counts = np.asarray(grouped["count_all"].to_numpy(), dtype=np.int64)
    keys = pc.binary_join_element_wise(
        pc.cast(grouped["row"], pa.string()), grouped["word"], " "
    ).combine_chunks()
    total = np.bincount(number, counts, len(texts)).astype(np.int64)
    return _Words(keys, counts, number, total, np.asarray(pc.is_null(texts).to_numpy(zero_copy_only=False)))


def _overlap(a: _Words, b: _Words) -> FloatArray:
    found = pc.index_in(a.keys, b.keys)
    both = np.asarray(pc.is_valid(found).to_numpy(zero_copy_only=False))
    where = np.asarray(found.drop_null().to_numpy(), dtype=np.int64)
    shared = np.bincount(a.rows[both], np.minimum(a.counts[both], b.counts[where]), a.total.size)
    total = a.total + b.total
    f1 = np.where(total > 0, 2 * shared / np.maximum(total, 1), np.nan)
    f1[a.null | b.null] = np.nan
    return f1


def check_names(texts: dict[str, pa.StringArray], pairs: Sequence[Pair]) -> None:
    """Refuse pairs of models without texts.

    Raises:
        UserError: naming the models.
    """
    unknown = sorted({name for pair in pairs for name in pair} - set(texts))
    if unknown:
        raise UserError(
            f"no texts of model(s) {', '.join(unknown)}; there are those of {', '.join(sorted(texts))}"
        )
