"""The pre-filter: instructions whose responses are not worth a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.arena.similarity import Similarities
from magister.arena.tokens import check_names


@dataclass(frozen=True)
class PreFilter:
    """What responses of a pair must be like before a comparison of them is worth a vote.

    Attributes:
        words: each response has more words than this. Words are what white space parts: in scripts without it,
            sentences count as words, so turn the filter off there.
        ratio: the longer has less than this many times the characters of the shorter.
    """

    words: int = 20
    ratio: float = 4.0


def filter_similarities(
    parts: Iterable[Similarities], texts: dict[str, pa.StringArray], rule: PreFilter
) -> Iterator[tuple[Similarities, list[dict[str, int]]]]:
    """Take out the instructions whose responses a pre-filter refuses.

    Args:
        parts: similarities; changed in place.
        texts: responses of each model, length N each, null for none.
        rule: the filter.

    Yields:
        The similarities with NaN where the filter refuses; and for each pair how many it refused for which reason
        (empty, short, unequal_length; the first that holds), of those that had a similarity.

    Raises:
        UserError: for models without texts.
    """
    length, words = {}, {}
    for name, column in texts.items():
        filled = pc.fill_null(column, "")
        length[name] = np.asarray(pc.utf8_length(filled).to_numpy(zero_copy_only=False), dtype=np.int64)
        counted = pc.count_substring_regex(filled, r"\S+")
        words[name] = np.asarray(counted.to_numpy(zero_copy_only=False), dtype=np.int64)
    for part in parts:
        check_names(texts, part.pairs)
        counts = []
        for values, (a, b) in zip(part.values, part.pairs, strict=True):
            able = ~np.isnan(values)
            empty = able & (np.minimum(words[a], words[b]) == 0)
            short = able & ~empty & (np.minimum(words[a], words[b]) <= rule.words)
            longer, shorter = np.maximum(length[a], length[b]), np.minimum(length[a], length[b])
            unequal = able & ~empty & ~short & (longer >= rule.ratio * shorter)
            values[empty | short | unequal] = np.nan
            counts.append(
                {
                    "empty": int(empty.sum()),
                    "short": int(short.sum()),
                    "unequal_length": int(unequal.sum()),
                }
            )
        yield part, counts
