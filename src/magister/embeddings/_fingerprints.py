"""Fingerprints: what an embedding model is, in so far as its vectors depend on it."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from magister.config.embedders import EmbedderConfig
from magister.embeddings import _wordpiece
from magister.errors import UserError


def embedder_fingerprint(
    name: str,
    config: EmbedderConfig,
    weights_sha256: str | None = None,
    tokenizer_sha256: str | None = None,
    *,
    engine_version: str | None = None,
) -> dict[str, Any]:
    """Describe what embeds.

    Address, key, limits and batch are not in it, so that the same model may be moved and throttled.

    Args:
        name: the embedder's name in the configuration, for messages.
        config: its entry.
        weights_sha256: hash of the ONNX file, for `minilm`.
        tokenizer_sha256: hash of its `tokenizer.json`, for `minilm`.
        engine_version: version of an engine that runs here; that of the installed package by default.

    Returns:
        A flat mapping for request keys and for lineage. Loads no model and no native library.

    Raises:
        UserError: a hash is missing, or the engine is not installed.
    """
    if config.engine == "minilm":
        if weights_sha256 is None or tokenizer_sha256 is None:
            raise UserError(
                f"embedders.{name}: the hashes of weights and tokenizer are not known; fetch the files first"
            )
        return {
            "engine": "minilm",
            "engine_version": engine_version or _onnxruntime(name),
            "weights_sha256": weights_sha256,
            "tokenizer_sha256": tokenizer_sha256,
            "tokenizer_version": _wordpiece.VERSION,
            "max_tokens": config.max_tokens,
            "pooling": "mean",
        }
    if config.engine == "endpoint":
        # The server decides on engine, pooling and cut; no version of ours says anything about them.
        return {
            "engine": "endpoint",
            "served_name": config.served_name,
            "revision": config.revision,
            "prefix": config.prefix,
            "extra": dict(config.extra),
        }
    from magister.embeddings import hashed

    return {
        "engine": "hashed",
        "version": hashed.VERSION,
        "dimensions": config.dimensions or hashed.DIMENSIONS,
    }


def _onnxruntime(name: str) -> str:
    try:
        return metadata.version("onnxruntime")
    except metadata.PackageNotFoundError:
        raise UserError(
            f"embedders.{name}: engine 'minilm' needs the package 'onnxruntime', which is not installed. "
            "Run: pip install onnxruntime"
        ) from None
