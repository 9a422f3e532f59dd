"""From texts to vectors: what is asked, what is kept, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from embedding_helpers import Told, letters
from hypothesis import given, settings
from hypothesis import strategies as st

from magister.embeddings import Vectors, embed_texts, unit_rows
from magister.errors import UserError
from magister.llm import Store

MARK = {"engine": "told"}


def kept(folder: Path) -> Store:
    return Store(folder, "embedder", "arena/embeddings")


def test_a_text_is_asked_for_once(tmp_path: Path) -> None:
    engine = Told()
    first = embed_texts(["one", "two", "one"], Vectors(MARK, engine, kept(tmp_path)))
    assert sorted(engine.asked) == ["one", "two"]
    assert first.asked == 2
    again = embed_texts(["two", "one", "three"], Vectors(MARK, engine, kept(tmp_path)))
    assert sorted(engine.asked) == ["one", "three", "two"]
    assert again.asked == 1
    assert again.vectors[:2].tobytes() == first.vectors[[1, 0]].tobytes()
    assert first.tokens == [1, 1, 1]
    assert first.truncated == [False] * 3


def test_with_everything_in_the_store_no_engine_is_started(tmp_path: Path) -> None:
    engine = Told()
    before = embed_texts(["one", "two"], Vectors(MARK, engine, kept(tmp_path)))
    after = embed_texts(["one", "two"], Vectors(MARK, engine, kept(tmp_path), replay=True))
    assert engine.made == 1
    assert after.vectors.tobytes() == before.vectors.tobytes()
    assert (after.tokens, after.truncated, after.asked) == (before.tokens, before.truncated, 0)


def test_another_model_shares_no_vector(tmp_path: Path) -> None:
    engine = Told()
    embed_texts(["one"], Vectors(MARK, engine, kept(tmp_path)))
    embed_texts(["one"], Vectors({"engine": "other"}, engine, kept(tmp_path)))
    assert engine.asked == ["one", "one"]


def test_what_was_embedded_before_an_interruption_is_kept(tmp_path: Path) -> None:
    texts = [f"text {letter}" for letter in "abcdef"]
    with pytest.raises(KeyboardInterrupt):
        embed_texts(texts, Vectors(MARK, Told(stop_after=4), kept(tmp_path)))
    engine = Told()
    whole = embed_texts(texts, Vectors(MARK, engine, kept(tmp_path)))
    assert len(engine.asked) == 2
    assert whole.vectors.tobytes() == embed_texts(texts, Vectors(MARK, Told())).vectors.tobytes()


@settings(max_examples=25, deadline=None)
@given(cut=st.integers(1, 200))
def test_a_crash_at_any_byte_costs_one_text_at_most(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("store")
    texts = ["one", "two", "three"]
    before = embed_texts(texts, Vectors(MARK, Told(), kept(folder)))
    path = kept(folder).path
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:-cut])
    engine = Told()
    after = embed_texts(texts, Vectors(MARK, engine, kept(folder)))
    assert len(engine.asked) == 1
    assert after.vectors.tobytes() == before.vectors.tobytes()


def test_a_replay_asks_nothing_and_names_what_it_misses(tmp_path: Path) -> None:
    embed_texts(["one"], Vectors(MARK, Told(), kept(tmp_path)))
    engine = Told()
    with pytest.raises(UserError, match=r"no vector of 1 text.*'two'"):
        embed_texts(["one", "two"], Vectors(MARK, engine, kept(tmp_path), replay=True))
    assert engine.made == 0


def test_blank_texts_have_neither_vector_nor_error(tmp_path: Path) -> None:
    embedded = embed_texts(["one", None, " \n"], Vectors(MARK, Told(), kept(tmp_path)))
    assert np.isnan(embedded.vectors).all(axis=1).tolist() == [False, True, True]
    assert embedded.errors == [None] * 3
    assert embed_texts([None, ""], Vectors(MARK, Told())).vectors.shape == (2, 0)


def test_a_failure_is_no_vector_and_is_asked_again(tmp_path: Path) -> None:
    failing = {"two": "server"}
    source = Vectors(MARK, Told(failing), kept(tmp_path), max_error_share=0.5)
    embedded = embed_texts(["one", "two"], source)
    assert embedded.errors == [None, "server"]
    assert np.isnan(embedded.vectors[1]).all()
    replayed = embed_texts(
        ["one", "two"], Vectors(MARK, Told(), kept(tmp_path), replay=True, max_error_share=0.5)
    )
    assert replayed.errors == [None, "server"]
    engine = Told()
    assert embed_texts(["one", "two"], Vectors(MARK, engine, kept(tmp_path))).errors == [None, None]
    assert engine.asked == ["two"]


def test_too_many_failures_stop_the_step_and_are_counted() -> None:
    failing = {"two": "server", "three": "timeout"}
    with pytest.raises(UserError, match=r"2 of 3 texts got no vector \(server 1, timeout 1\).*'two'"):
        embed_texts(["one", "two", "three"], Vectors(MARK, Told(failing)))


def test_a_text_too_long_for_the_model_is_settled_and_no_outage(tmp_path: Path) -> None:
    source = Vectors(MARK, Told({"long": "context_length"}), kept(tmp_path), max_error_share=0)
    assert embed_texts(["one", "long"], source).errors == [None, "context_length"]
    engine = Told()
    assert embed_texts(["one", "long"], Vectors(MARK, engine, kept(tmp_path))).errors == [
        None,
        "context_length",
    ]
    assert engine.asked == []


def test_a_vector_of_zeros_is_a_failure() -> None:
    embedded = embed_texts(["one", "123"], Vectors(MARK, Told(), max_error_share=0.5))
    assert embedded.errors == [None, "server"]


def test_vectors_of_two_lengths_are_refused(tmp_path: Path) -> None:
    class Grown(Told):
        def embed(self, texts, deliver):
            def grow(place, one):
                deliver(place, type(one)(np.ones(3 if texts[place] == "two" else 4, dtype=np.float32)))

            super().embed(texts, grow)

    with pytest.raises(UserError, match="differ in length: 1 of length 3, 1 of length 4"):
        embed_texts(["one", "two"], Vectors(MARK, Grown(), kept(tmp_path)))


def test_a_damaged_vector_in_the_store_is_named(tmp_path: Path) -> None:
    store = kept(tmp_path)
    embed_texts(["one"], Vectors(MARK, Told(), store))
    text = store.path.read_text()
    store.path.write_text(text.replace('"embedding":"', '"embedding":"%'))
    with pytest.raises(UserError, match="holds no vector"):
        embed_texts(["one"], Vectors(MARK, Told(), store))


@given(st.lists(st.text(alphabet="abcxyz", min_size=1, max_size=12), min_size=1, max_size=12))
def test_rows_have_length_1_and_stand_for_themselves(texts: list[str]) -> None:
    vectors = np.stack([letters(text) for text in texts])
    rows = unit_rows(vectors)
    assert np.square(rows.astype(np.float64)).sum(axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-6)
    alone = np.concatenate([unit_rows(vectors[place : place + 1]) for place in range(len(texts))])
    assert alone.tobytes() == rows.tobytes()
