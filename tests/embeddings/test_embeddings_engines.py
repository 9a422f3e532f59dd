"""The engines on this machine: hashed words, and the real sentence encoder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embedding_helpers import hashed_vectors
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from magister.config.embedders import EmbedderConfig
from magister.embeddings import Embedded, Vectors, create_embedder, embed_texts, embedder_fingerprint
from magister.errors import UserError

FILES: dict[str, Any] = {"weights": {"path": "model.onnx"}, "tokenizer": {"path": "tokenizer.json"}}
words = st.text(alphabet="abc .!é中", min_size=1, max_size=30).filter(str.strip)


def cosine(one: str, two: str) -> float:
    vectors = embed_texts([one, two], hashed_vectors()).vectors.astype(np.float64)
    return float(vectors[0] @ vectors[1])


def test_hashed_texts_are_as_near_as_the_words_they_share() -> None:
    assert cosine("the cat sat", "The cat  SAT") == pytest.approx(1)
    assert cosine("the cat sat", "the cat stood") > cosine("the cat sat", "a dog stood") + 0.2
    assert cosine("the cat saw the dog", "the dog saw the cat") < 1 - 1e-3


@given(st.lists(words, min_size=1, max_size=8))
def test_every_hashed_text_that_is_not_blank_has_a_vector_of_length_1(texts: list[str]) -> None:
    embedded = embed_texts(texts, hashed_vectors())
    assert np.square(embedded.vectors.astype(np.float64)).sum(axis=1) == pytest.approx(np.ones(len(texts)))
    assert (embedded.vectors >= 0).all()
    assert embedded.errors == [None] * len(texts)


@given(st.lists(words, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_a_text_has_the_same_bytes_whatever_stands_beside_it(texts: list[str], random: Any) -> None:
    order = list(range(len(texts)))
    random.shuffle(order)
    together = embed_texts(texts, hashed_vectors()).vectors
    shuffled = embed_texts([texts[place] for place in order], hashed_vectors()).vectors
    assert shuffled.tobytes() == together[order].tobytes()
    assert embed_texts(texts[:1], hashed_vectors()).vectors.tobytes() == together[:1].tobytes()


def test_fingerprints_say_what_vectors_depend_on() -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    config = EmbedderConfig(engine="minilm", **FILES)
    mark = embedder_fingerprint("m", config, "a" * 64, "b" * 64)
    assert mark["weights_sha256"] == "a" * 64
    assert mark["tokenizer_sha256"] == "b" * 64
    assert mark["engine_version"]
    others = [
        embedder_fingerprint("m", config, "c" * 64, "b" * 64),
        embedder_fingerprint("m", config, "a" * 64, "c" * 64),
        embedder_fingerprint("m", config.model_copy(update={"max_tokens": 128}), "a" * 64, "b" * 64),
    ]
    assert mark not in others
    with pytest.raises(UserError, match=r"embedders\.m: the hashes"):
        embedder_fingerprint("m", config, "a" * 64, None)
    hashed = EmbedderConfig(engine="hashed")
    assert embedder_fingerprint("h", hashed)["dimensions"] == 1024
    assert embedder_fingerprint("h", hashed) != embedder_fingerprint(
        "h", EmbedderConfig(engine="hashed", dimensions=8)
    )


def test_an_endpoints_address_limits_and_batch_are_not_in_its_fingerprint() -> None:
    def mark(**fields: Any) -> dict[str, Any]:
        settings = {"engine": "endpoint", "served_name": "e", "base_url": "http://one/v1"} | fields
        return embedder_fingerprint("e", EmbedderConfig(**settings))

    assert mark() == mark(base_url="http://two/v1", batch=3, limits={"concurrency": 2}, api_key_env="KEY")
    different = [
        mark(served_name="f"),
        mark(revision="2"),
        mark(prefix="query: "),
        mark(extra={"dimensions": 8}),
    ]
    assert mark() not in different


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"engine": "minilm"}, "needs 'weights'"),
        ({"engine": "minilm", "weights": {"path": "m.onnx"}}, "needs 'tokenizer'"),
        ({"engine": "endpoint", "served_name": "e"}, "needs 'base_url'"),
        ({"engine": "minilm", "dimensions": 8, **FILES}, "an option of engine 'hashed'"),
        ({"engine": "hashed", "extra": {"input": "x"}}, "input cannot be set there"),
        ({"engine": "words"}, "minilm"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        EmbedderConfig(**fields)


def test_missing_files_are_named(tmp_path: Path) -> None:
    config = EmbedderConfig(engine="minilm", **FILES)
    with pytest.raises(UserError, match=r"embedders\.m: tokenizer not found at .*gone"):
        create_embedder("m", config, weights=tmp_path / "w", tokenizer=tmp_path / "gone")


def test_weights_that_are_none_are_refused(tmp_path: Path, tokenizer_file: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(UserError, match=r"model\.onnx: not a model that onnxruntime can load"):
        create_embedder(
            "m",
            EmbedderConfig(engine="minilm", **FILES),
            weights=tmp_path / "model.onnx",
            tokenizer=tokenizer_file,
        )


TEXTS = [
    "How do I bake bread?",
    "What is a good recipe for a loaf?",
    "The stock market fell today.",
    "Write a Python function that sorts a list of numbers and explain every line of it.",
    "雨が降っている。",
    *(f"Number {number} " + "and so on " * (number % 23) for number in range(60)),
]


def real(encoder: Any, texts: Sequence[str], workers: int = 1, **fields: Any) -> Embedded:
    config = EmbedderConfig(engine="minilm", **FILES, **fields)
    source = Vectors(
        embedder_fingerprint("m", config, "a" * 64, "b" * 64),
        lambda: create_embedder(
            "m", config, weights=encoder.weights, tokenizer=encoder.tokenizer, workers=workers
        ),
    )
    return embed_texts(texts, source)


@pytest.mark.model
def test_the_encoder_knows_what_texts_mean(encoder: Any) -> None:
    vectors = real(encoder, TEXTS[:3]).vectors
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-6)
    assert vectors[0] @ vectors[1] > 0.5 > 0.2 > vectors[0] @ vectors[2]


@pytest.mark.model
@pytest.mark.parametrize("batch", [1, 7, 64])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_encoders_bytes_are_the_same_for_any_batch_and_number_of_threads(
    encoder: Any, batch: int, workers: int
) -> None:
    whole = real(encoder, TEXTS).vectors
    parts = [
        real(encoder, TEXTS[start : start + batch], workers).vectors
        for start in (range(0, len(TEXTS), batch) if batch > 1 else range(4))
    ]
    found = np.concatenate(parts)
    assert found.tobytes() == whole[: len(found)].tobytes()


@pytest.mark.model
def test_what_is_cut_is_counted(encoder: Any) -> None:
    short, long = "word", "word " * 300
    embedded = real(encoder, [short, long, "word " * 400, long + "other words at the end"])
    assert embedded.tokens == [3, 302, 402, 307]
    assert embedded.truncated == [False, True, True, True]
    # Beyond the limit nothing is read.
    assert embedded.vectors[1].tobytes() == embedded.vectors[2].tobytes() == embedded.vectors[3].tobytes()
    wider = real(encoder, [long], max_tokens=512)
    assert wider.truncated == [False]
    assert wider.vectors.tobytes() != embedded.vectors[1:2].tobytes()
