"""Embeddings of an endpoint, which may be slow, wrong or gone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from embedding_helpers import embedding_server, endpoint_config, endpoint_vectors, letters

from magister.embeddings import embed_texts, unit_rows
from magister.errors import UserError
from magister.llm import Store

TEXTS = ["abc", "defg", "hello world", "a b c d", "zzz"]
EXPECTED = unit_rows(np.stack([letters(text) for text in TEXTS]))


def test_texts_go_out_in_batches_and_come_back_in_order() -> None:
    with embedding_server() as server:
        config = endpoint_config(server.url, batch=2, extra={"dimensions": 26})
        embedded = embed_texts(TEXTS, endpoint_vectors(config))
        assert sorted(len(body["input"]) for body in server.bodies) == [1, 2, 2]
        assert {(body["model"], body["dimensions"], body["encoding_format"]) for body in server.bodies} == {
            ("small-embedder", 26, "float")
        }
    np.testing.assert_allclose(embedded.vectors, EXPECTED, rtol=1e-6)
    assert embedded.truncated == [None] * 5


def test_a_prefix_stands_before_every_text() -> None:
    with embedding_server() as server:
        embed_texts(TEXTS, endpoint_vectors(endpoint_config(server.url, prefix="query: ")))
        assert server.bodies[0]["input"] == [f"query: {text}" for text in TEXTS]


def test_vectors_are_kept_and_not_asked_for_again(tmp_path: Path) -> None:
    store = Store(tmp_path, "e", "embeddings")
    with embedding_server() as server:
        config = endpoint_config(server.url)
        before = embed_texts(TEXTS, endpoint_vectors(config, store=store))
        after = embed_texts(TEXTS[::-1], endpoint_vectors(config, store=store))
        assert len(server.bodies) == 1
    assert after.vectors.tobytes() == before.vectors[::-1].tobytes()


@pytest.mark.parametrize("trouble", ["500", "429", "short", "words", "nan"])
def test_passing_trouble_is_waited_out(trouble: str) -> None:
    with embedding_server(trouble) as server:
        embedded = embed_texts(TEXTS, endpoint_vectors(endpoint_config(server.url)))
        assert len(server.bodies) == 2
    np.testing.assert_allclose(embedded.vectors, EXPECTED, rtol=1e-6)


def test_trouble_that_stays_is_an_error_of_every_text_and_no_vector() -> None:
    with embedding_server(*["500"] * 9) as server:
        source = endpoint_vectors(endpoint_config(server.url), max_error_share=1.0)
        embedded = embed_texts(TEXTS, source)
        assert embedded.errors == ["server"] * 5
        with pytest.raises(UserError, match="5 of 5 texts got no vector"):
            embed_texts(TEXTS, endpoint_vectors(endpoint_config(server.url)))


def test_one_text_too_long_spoils_no_other() -> None:
    with embedding_server() as server:
        embedded = embed_texts([*TEXTS, "so LONG", "after"], endpoint_vectors(endpoint_config(server.url)))
    assert embedded.errors == [None] * 5 + ["context_length", None]
    np.testing.assert_allclose(embedded.vectors[:5], EXPECTED, rtol=1e-6)


def test_a_refused_key_stops_at_once_and_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDINGS_KEY", "secret-key-of-someone")
    with embedding_server("401") as server:
        config = endpoint_config(server.url, api_key_env="EMBEDDINGS_KEY")
        with pytest.raises(UserError, match=r"embedders\.e: auth: .*EMBEDDINGS_KEY") as failure:
            embed_texts(TEXTS, endpoint_vectors(config))
        assert server.keys == ["Bearer secret-key-of-someone"]
    assert "secret-key-of-someone" not in str(failure.value)


def test_a_key_that_is_quoted_is_neither_stored_nor_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBEDDINGS_KEY", "secret-key-of-someone")
    store = Store(tmp_path, "e", "embeddings")
    with embedding_server(*["500"] * 3) as server:
        config = endpoint_config(server.url, api_key_env="EMBEDDINGS_KEY")
        embed_texts(["abc"], endpoint_vectors(config, store=store, max_error_share=1.0))
    assert b"secret-key-of-someone" not in store.path.read_bytes()
    assert b"[key]" in store.path.read_bytes()


def test_an_unknown_model_and_a_missing_key_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with embedding_server("404") as server:
        with pytest.raises(UserError, match=r"knows no model 'small-embedder', .*`embeddings`"):
            embed_texts(TEXTS, endpoint_vectors(endpoint_config(server.url)))
        with pytest.raises(UserError, match=r"embedders\.e: environment variable NO_SUCH_KEY is not set"):
            embed_texts(TEXTS, endpoint_vectors(endpoint_config(server.url, api_key_env="NO_SUCH_KEY")))
