"""Texts as vectors, as steps make them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from magister.config.embedders import EmbedderConfig
from magister.embeddings import (
    Embedded,
    Embedder,
    Vectors,
    create_embedder,
    embed_texts,
    vector_table,
    write_vectors,
)
from magister.llm import ProgressLine, Store
from magister.offline import is_recomputed, is_replay
from magister.recorded import pinned_path, quoted
from scripts.recomputed import WEIGHTS, note
from scripts.step import Step

LEAST = 0.999
"""How near vectors of another processor must be to the recorded ones, as cosine."""


def embed(step: Step, texts: Sequence[str | None]) -> Embedded:
    """Vectors of some texts by the embedder of the step; the store keeps what was embedded before."""
    name = step.params["embedder_name"]
    config = EmbedderConfig.model_validate(step.params["embedder"])
    fingerprint = step.json("embedder_fingerprint")
    step.models[name] = fingerprint
    # Weights and tokenizer, in this order; an endpoint has neither.
    weights, tokenizer = (*step.inputs.get("embedder", []), None, None)[:2]
    step.quoted.update(quoted(config.weights, config.tokenizer))

    def started() -> Embedder:
        return create_embedder(name, config, weights=weights, tokenizer=tokenizer)

    task = "/".join([step.rule, *step.wildcards.values()])
    source = Vectors(
        fingerprint=fingerprint,
        embedder=started,
        store=Store(Path("store") / "embedders", name, task),
        # Hashed words are a function of the text: a replay runs it like any other code.
        replay=step.params["replay"] or (is_replay() and config.engine != "hashed"),
        max_error_share=step.params["max_error_share"],
        progress=ProgressLine(f"{task} {name}"),
    )
    embedded = embed_texts(texts, source)
    if is_recomputed() and source.replay:
        _recompute(step, texts, embedded, config, fingerprint)
    return embedded


def _recompute(
    step: Step,
    texts: Sequence[str | None],
    recorded: Embedded,
    config: EmbedderConfig,
    fingerprint: dict[str, Any],
) -> None:
    """Embed anew, where the model's files are at hand, and say how near the recorded vectors are."""
    files = [WEIGHTS / Path(pinned_path(file)).name for file in (config.weights, config.tokenizer) if file]
    if config.engine != "minilm" or not all(path.is_file() for path in files):
        return
    weights, tokenizer = files

    def started() -> Embedder:
        return create_embedder(step.params["embedder_name"], config, weights=weights, tokenizer=tokenizer)

    again = embed_texts(texts, Vectors(fingerprint=fingerprint, embedder=started))
    cosines = (again.vectors.astype("f8") * recorded.vectors.astype("f8")).sum(axis=1)
    there = [text is not None and bool(text.strip()) for text in texts]
    if any(there):
        # A text that has a vector on one side alone agrees with nothing.
        note(step, "vectors: least cosine", float(np.nan_to_num(cosines[there], nan=-1.0).min()), LEAST)


def write_embedded(step: Step, texts: dict[str, str | None]) -> None:
    """Embed texts by id, and write the vectors with the table of their rows."""
    ids = sorted(texts)
    embedded = embed(step, [texts[name] for name in ids])
    write_vectors(step.outputs["vectors"], embedded)
    step.sidecar("vectors")
    step.write("ids", vector_table(ids, embedded), "vectors")
