"""Texts as vectors, as steps make them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

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
from scripts.step import Step


def embed(step: Step, texts: Sequence[str | None]) -> Embedded:
    """Vectors of some texts by the embedder of the step; the store keeps what was embedded before."""
    name = step.params["embedder_name"]
    config = EmbedderConfig.model_validate(step.params["embedder"])
    fingerprint = step.json("embedder_fingerprint")
    step.models[name] = fingerprint
    # Weights and tokenizer, in this order; an endpoint has neither.
    weights, tokenizer = (*step.inputs.get("embedder", []), None, None)[:2]

    def started() -> Embedder:
        return create_embedder(name, config, weights=weights, tokenizer=tokenizer)

    task = "/".join([step.rule, *step.wildcards.values()])
    source = Vectors(
        fingerprint=fingerprint,
        embedder=started,
        store=Store(Path("store") / "embedders", name, task),
        replay=step.params["replay"] or os.environ.get("MAGISTER_REPLAY") == "1",
        max_error_share=step.params["max_error_share"],
        progress=ProgressLine(f"{task} {name}"),
    )
    return embed_texts(texts, source)


def write_embedded(step: Step, texts: dict[str, str | None]) -> None:
    """Embed texts by id, and write the vectors with the table of their rows."""
    ids = sorted(texts)
    embedded = embed(step, [texts[name] for name in ids])
    write_vectors(step.outputs["vectors"], embedded)
    step.sidecar("vectors")
    step.write("ids", vector_table(ids, embedded), "vectors")
