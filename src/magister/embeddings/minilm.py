"""A BERT encoder in ONNX form on this machine's cores: mean of the token vectors (Reimers and Gurevych, EMNLP 2019).

Every text is a run of its own, on one thread, without padding: what comes out depends on the text alone, not on
what stands beside it, in which order, or on how many threads there are. Texts run side by side instead, since a
run releases the interpreter's lock. On the CPU that is no slower than batches. Bytes are tied to the build of
onnxruntime and to the instruction set of the processor; vectors kept in the store are not.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from magister.config.embedders import EmbedderConfig
from magister.embeddings._engine import Deliver, Embedding, FloatArray
from magister.embeddings._wordpiece import WordPiece
from magister.errors import UserError

POOLING = "mean"
_AT_ONCE = 1024
"""Texts handed to the threads at a time: bounds what waits in memory."""
_QUIET = 3
_NEEDED, _SEGMENTS = {"input_ids", "attention_mask"}, "token_type_ids"


class MiniLM:
    """Embeds with a sentence encoder such as all-MiniLM-L6-v2."""

    def __init__(
        self,
        name: str,
        config: EmbedderConfig,
        *,
        weights: Path | None,
        tokenizer: Path | None,
        workers: int | None = None,
    ) -> None:
        """Load model and tokenizer.

        Raises:
            UserError: a file is missing or is not what it should be, or onnxruntime is not installed.
        """
        self._where = f"embedders.{name}"
        self._longest = config.max_tokens
        self._tokenizer = WordPiece.from_file(_fetched(tokenizer, "tokenizer", self._where))
        self._session = _session(_fetched(weights, "weights", self._where), self._where)
        self._names = {entry.name for entry in self._session.get_inputs()}
        if not _NEEDED <= self._names <= _NEEDED | {_SEGMENTS}:
            raise UserError(
                f"{weights}: expected a BERT encoder with inputs input_ids, attention_mask and perhaps "
                f"token_type_ids; found {', '.join(sorted(self._names))}"
            )
        self._pool = ThreadPoolExecutor(max(1, workers or len(os.sched_getaffinity(0))))

    def embed(self, texts: Sequence[str], deliver: Deliver) -> None:
        """Embed texts, in order."""
        for start in range(0, len(texts), _AT_ONCE):
            part = [self._tokenizer.encode(text) for text in texts[start : start + _AT_ONCE]]
            for place, vector in enumerate(self._pool.map(self._vector, part), start):
                tokens = len(part[place - start])
                deliver(place, Embedding(vector, tokens, tokens > self._longest))

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(cancel_futures=True)

    def _vector(self, ids: list[int]) -> FloatArray:
        if len(ids) > self._longest:
            ids = [*ids[: self._longest - 1], ids[-1]]
        tokens = np.array([ids], dtype=np.int64)
        feeds = {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}
        if _SEGMENTS in self._names:
            feeds[_SEGMENTS] = np.zeros_like(tokens)
        hidden = np.asarray(self._session.run(None, feeds)[0])
        if hidden.ndim != 3 or hidden.shape[:2] != tokens.shape:
            raise UserError(
                f"{self._where}: expected a vector per token from the model's first output, found shape {hidden.shape}"
            )
        return hidden[0].mean(axis=0, dtype=np.float64).astype(np.float32)


def _fetched(path: Path | None, what: str, where: str) -> Path:
    if path is None or not path.is_file():
        raise UserError(f"{where}: {what} not found at {path}; fetch them first")
    return path


def _session(weights: Path, where: str) -> Any:
    try:
        import onnxruntime
    except ModuleNotFoundError:
        raise UserError(
            f"{where}: engine 'minilm' needs the package 'onnxruntime', which is not installed. "
            "Run: pip install onnxruntime"
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _QUIET
    try:
        return onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - the library has an exception of its own for each kind of damage
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{weights}: not a model that onnxruntime can load: {said[:200]}") from None
