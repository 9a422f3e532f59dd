"""The scripted embedder: counts of words and word pairs, hashed into a vector. No model, no network, no surprise.

It sees which words two texts share and nothing of what they mean. It is chosen by name and never stands in for
another one.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from magister.config.embedders import EmbedderConfig
from magister.embeddings._engine import Deliver, Embedding, FloatArray

VERSION = 1
"""Part of the fingerprint: a change of any vector is a new version."""
DIMENSIONS = 1024
_TERM = re.compile(r"\w+|[^\w\s]")
_CACHED_TERMS = 1 << 18


class Hashed:
    """Feature hashing (Weinberger et al., ICML 2009) of case-folded words, signs and neighbouring pairs of them.

    Counts enter as 1 + log(count). Hashes have no sign: nothing cancels, so every text that is not blank has a
    vector, and cosines lie in 0..1.
    """

    def __init__(self, config: EmbedderConfig) -> None:
        self._dimensions = config.dimensions or DIMENSIONS
        self._places: dict[str, int] = {}

    def embed(self, texts: Sequence[str], deliver: Deliver) -> None:
        """Embed texts one by one."""
        for index, text in enumerate(texts):
            words = _TERM.findall(text.casefold())
            deliver(index, Embedding(self._vector(words), len(words), False))

    def close(self) -> None:
        """Free nothing."""

    def _vector(self, words: list[str]) -> FloatArray:
        counts = Counter(words)
        counts.update("\x1f".join(pair) for pair in pairwise(words))
        vector = np.zeros(self._dimensions, dtype=np.float64)
        if counts:
            places = np.fromiter((self._place(term) for term in counts), dtype=np.int64, count=len(counts))
            values = 1.0 + np.log(np.fromiter(counts.values(), dtype=np.float64, count=len(counts)))
            # In the order of places, so that the sum of colliding terms does not depend on that of the text.
            order = np.lexsort((values, places))
            np.add.at(vector, places[order], values[order])
        return vector.astype(np.float32)

    def _place(self, term: str) -> int:
        place = self._places.get(term)
        if place is None:
            if len(self._places) >= _CACHED_TERMS:
                self._places.clear()
            digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            place = self._places[term] = int.from_bytes(digest) % self._dimensions
        return place
