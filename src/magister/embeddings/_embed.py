"""From texts to vectors of length 1: ask for what the store does not hold, check, normalise."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from magister.embeddings._engine import Embedder, Embedding, FloatArray
from magister.embeddings._rows import embedding_key, from_row, to_row
from magister.errors import UserError
from magister.llm import Progress, Row, Store, is_finished, read_row

_SHOWN = 80
_BLOCK = 8192
_NO_TEXT = Embedding(None)


@dataclass(frozen=True, slots=True)
class Embedded:
    """What became of some texts, a row a text, in their order."""

    vectors: FloatArray
    """Shape (n, dimensions), rows of length 1; rows without a vector are NaN. (n, 0) where no text has one."""
    errors: list[str | None]
    """Error codes; None where there is a vector, or no text."""
    tokens: list[int | None]
    """Tokens of each text; None when they were not counted."""
    truncated: list[bool | None]
    """Whether a text was cut to fit the model; None when that is not known."""
    asked: int
    """Texts embedded now; the others came from the store, or stood there twice."""


@dataclass(frozen=True)
class Vectors:
    """Where vectors come from and are kept.

    Attributes:
        fingerprint: what `embedder_fingerprint` returned.
        embedder: starts the engine; called only when there is something to ask.
        store: where vectors are kept; None embeds anew every time.
        replay: take vectors from the store only.
        max_error_share: the share of failed texts above which there is no result.
        progress: told how far the work is.
    """

    fingerprint: Mapping[str, Any]
    embedder: Callable[[], Embedder]
    store: Store | None = None
    replay: bool = False
    max_error_share: float = 0.02
    progress: Progress | None = None


class _Results:
    """Embeddings by key."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.found: dict[str, Embedding] = {}
        self._total, self._progress = total, progress
        self._done = self._errors = 0

    def take(self, key: str, embedding: Embedding) -> None:
        self.found[key] = embedding
        self._done += 1
        self._errors += embedding.vector is None
        if self._progress is not None:
            self._progress(self._done, self._total, self._errors)


def embed_texts(texts: Sequence[str | None], source: Vectors) -> Embedded:
    """Turn texts into vectors of length 1.

    A text that stands there several times is asked for once. Vectors go to the store as they arrive, one line
    each; a call that was interrupted and is made again goes on where it stopped.

    Args:
        texts: the texts; None and blank ones have no vector and no error.
        source: where vectors come from.

    Returns:
        The vectors. The same texts and the same store give the same bytes, whatever their order, the number of
        threads and what was asked when.

    Raises:
        UserError: too many texts failed, a replay misses one, vectors differ in length, a text is not valid
            Unicode, the store cannot be written to, or the engine cannot work at all.
    """
    keys = [
        embedding_key(source.fingerprint, text) if text is not None and text.strip() else None
        for text in texts
    ]
    wanted: dict[str, str] = {}
    for key, text in zip(keys, texts, strict=True):
        if key is not None and text is not None:
            wanted.setdefault(key, text)
    found, asked = _ask(wanted, source) if source.store is None else _with_store(wanted, source, source.store)
    _refuse_too_many_errors(found, wanted, source.max_error_share)
    return _compose(keys, found, asked)


def _ask(
    texts: Mapping[str, str], source: Vectors, keep: Callable[[Row], object] | None = None
) -> tuple[dict[str, Embedding], int]:
    results = _Results(len(texts), source.progress)
    if not texts:
        return results.found, 0
    keys = list(texts)

    def deliver(place: int, embedding: Embedding) -> None:
        checked = _checked(embedding)
        if keep is not None:
            keep(to_row(keys[place], checked))
        results.take(keys[place], checked)

    embedder = source.embedder()
    try:
        embedder.embed(list(texts.values()), deliver)
    except (KeyboardInterrupt, SystemExit):
        if keep is not None:
            print(
                f"\nembeddings: stopped after {len(results.found)} of {len(texts)}; these are kept. "
                "Run the same command again to go on.",
                file=sys.stderr,
                flush=True,
            )
        raise
    finally:
        embedder.close()
    if len(results.found) != len(texts):
        raise RuntimeError(f"the embedder delivered {len(results.found)} of {len(texts)} texts")
    return results.found, len(texts)


def _checked(embedding: Embedding) -> Embedding:
    """A vector that can be brought to length 1, or a failure."""
    vector = embedding.vector
    if vector is None:
        return embedding
    if not np.isfinite(vector).all() or not vector.any():
        error = ("server", "the vector is zero or not finite")
        return Embedding(None, embedding.tokens, embedding.truncated, error, embedding.attempts)
    return embedding


def _with_store(texts: Mapping[str, str], source: Vectors, store: Store) -> tuple[dict[str, Embedding], int]:
    state = store.state()
    found = _stored(texts, store, failed_too=source.replay)
    missing = {key: text for key, text in texts.items() if key not in found}
    if not missing:
        return found, 0
    if source.replay:
        first = next(iter(missing.values()))
        raise UserError(
            f"{store.task}: replay, and the store {store.folder} has no vector of {len(missing)} text(s); first: "
            f"{first[:_SHOWN]!r}. To record them, set `llm.replay: false` and run again with the model at hand; or "
            "fetch a store that has them."
        )
    with store.writer() as writer:
        if store.state() != state:  # another job was here between the look-up and the lock
            found = _stored(texts, store, failed_too=False)
            missing = {key: text for key, text in texts.items() if key not in found}
        new, asked = _ask(missing, source, writer.append)
    return found | new, asked


def _stored(texts: Mapping[str, str], store: Store, *, failed_too: bool) -> dict[str, Embedding]:
    index = store.look_up(texts)
    places = index.failed | index.finished if failed_too else index.finished
    found: dict[str, Embedding] = {}
    with ExitStack() as stack:
        files: dict[Path, BinaryIO] = {}
        for key, place in places.items():
            if place.path not in files:
                files[place.path] = stack.enter_context(place.path.open("rb"))
            found[key] = from_row(read_row(files[place.path], place))
    return found


def _refuse_too_many_errors(
    found: Mapping[str, Embedding], texts: Mapping[str, str], max_error_share: float
) -> None:
    # A text too long for the model is the model's limit and would be refused again.
    failed = {
        key: error
        for key in texts
        if (error := found[key].error) is not None and not is_finished({"error": {"code": error[0]}})
    }
    if len(failed) <= max_error_share * len(texts):
        return
    counts = Counter(code for code, _ in failed.values())
    listed = ", ".join(f"{code} {count}" for code, count in sorted(counts.items()))
    key, (code, message) = next(iter(failed.items()))
    raise UserError(
        f"embeddings: {len(failed)} of {len(texts)} texts got no vector ({listed}), more than the share of "
        f"{max_error_share:g} that llm.max_error_share allows. First: {code}: {message}; text: "
        f"{texts[key][:_SHOWN]!r}. When the cause is gone, run the same command again: finished vectors are kept."
    )


def _compose(keys: Sequence[str | None], found: Mapping[str, Embedding], asked: int) -> Embedded:
    lengths = Counter(one.vector.size for one in found.values() if one.vector is not None)
    if len(lengths) > 1:
        seen = ", ".join(f"{count} of length {length}" for length, count in sorted(lengths.items()))
        raise UserError(
            f"embeddings: the vectors differ in length: {seen}. The model behind the name has changed; name its "
            "`revision`, which keeps the vectors of the two apart."
        )
    vectors = np.full((len(keys), next(iter(lengths), 0)), np.nan, dtype=np.float32)
    outcomes = [found[key] if key is not None else _NO_TEXT for key in keys]
    for row, one in enumerate(outcomes):
        if one.vector is not None:
            vectors[row] = one.vector
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK]
        block[:] = unit_rows(block)
    return Embedded(
        vectors,
        [one.error[0] if one.error is not None else None for one in outcomes],
        [one.tokens for one in outcomes],
        [one.truncated for one in outcomes],
        asked,
    )


def unit_rows(vectors: FloatArray) -> FloatArray:
    """Bring rows to length 1.

    Args:
        vectors: shape (n, dimensions); no row is zero, NaN rows stay.

    Returns:
        The rows, each from itself alone.
    """
    wide = vectors.astype(np.float64)
    # Not `linalg.norm`: its sum may come from BLAS, whose order of terms depends on the number of threads.
    return (wide / np.sqrt(np.square(wide).sum(axis=1, keepdims=True))).astype(np.float32)
