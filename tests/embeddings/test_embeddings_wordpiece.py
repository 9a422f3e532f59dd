"""Tokens as BERT's own tokenizer cuts them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magister.embeddings._wordpiece import WordPiece
from magister.errors import UserError

VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "un",
    "##aff",
    "##able",
    "able",
    ",",
    "cafe",
    "sep",
    "[",
    "]",
    "中",
    "a",
]


def spec(**normalizer: Any) -> dict[str, Any]:
    settings = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    return {
        "normalizer": {"type": "BertNormalizer", **settings, **normalizer},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 20,
            "vocab": {token: place for place, token in enumerate(VOCABULARY)},
        },
        "added_tokens": [{"content": token, "id": place} for place, token in enumerate(VOCABULARY[:4])],
    }


def pieces(text: str, **normalizer: Any) -> list[str]:
    return [VOCABULARY[place] for place in WordPiece(spec(**normalizer)).encode(text)][1:-1]


def test_the_longest_piece_goes_first_and_marks_stand_around() -> None:
    assert pieces("unaffable") == ["un", "##aff", "##able"]
    assert WordPiece(spec()).encode("")[0] == 2
    assert WordPiece(spec()).encode("")[-1] == 3


def test_a_word_with_an_unknown_part_is_unknown_as_a_whole() -> None:
    assert pieces("unxable able") == ["[UNK]", "able"]
    assert pieces("a" * 21) == ["[UNK]"]


def test_case_accents_and_controls_go_and_punctuation_stands_alone() -> None:
    assert pieces("CAFÉ,able") == ["cafe", ",", "able"]
    assert pieces("CAFÉ", lowercase=False) == ["[UNK]"]
    assert pieces("un\u200baff\u0000able\table") == ["un", "##aff", "##able", "able"]
    assert pieces("a中a") == ["a", "中", "a"]


def test_a_special_token_in_a_text_is_text() -> None:
    assert pieces("[SEP]") == ["[", "sep", "]"]


@given(st.text(max_size=60))
def test_any_text_has_tokens_of_the_vocabulary(text: str) -> None:
    ids = WordPiece(spec()).encode(text)
    assert set(ids) <= set(range(len(VOCABULARY)))
    assert ids[0] == 2
    assert ids[-1] == 3
    assert not {2, 3} & set(ids[1:-1])


@given(st.text(max_size=30), st.text(max_size=30))
def test_words_are_cut_apart_from_their_neighbours(one: str, two: str) -> None:
    tokenizer = WordPiece(spec())
    assert tokenizer.encode(f"{one} {two}")[1:-1] == tokenizer.encode(one)[1:-1] + tokenizer.encode(two)[1:-1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": {"type": "BPE"}}, "not a WordPiece tokenizer.json"),
        ({"pre_tokenizer": {"type": "ByteLevel"}}, "found BertNormalizer, ByteLevel, WordPiece"),
        ({"added_tokens": []}, r"no special token \[CLS\], \[SEP\], \[UNK\]"),
    ],
)
def test_another_kind_of_tokenizer_is_refused(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(spec() | change))
    with pytest.raises(UserError, match=words) as failure:
        WordPiece.from_file(path)
    assert "tokenizer.json" in str(failure.value)


def test_a_file_that_is_none_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        WordPiece.from_file(tmp_path / "gone.json")
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(UserError, match="not JSON"):
        WordPiece.from_file(tmp_path / "broken.json")


# As the tokenizer library of the model's authors gives them.
KNOWN = [
    ("ΣΑΣ ΟΔΟΣ", [101, 1173, 14608, 29733, 1169, 29722, 29730, 29733, 102]),
    ("İstanbul I", [101, 9960, 1045, 102]),
    ("ﬁ ligature", [101, 1984, 8018, 11244, 102]),
    ("x" * 101, [101, 100, 102]),
    ("naïve café — “quoted”…", [101, 15743, 7668, 1517, 1523, 9339, 1524, 1529, 102]),
    ("don't 3.14% $5", [101, 2123, 1005, 1056, 1017, 1012, 2403, 1003, 1002, 1019, 102]),
]


@pytest.mark.model
@pytest.mark.parametrize(("text", "ids"), KNOWN)
def test_the_real_tokenizer_cuts_as_the_models_authors_do(
    tokenizer_file: Path, text: str, ids: list[int]
) -> None:
    tokenizer = WordPiece.from_file(tokenizer_file)
    assert tokenizer.encode(text) == ids
    assert tokenizer.size == 30522
