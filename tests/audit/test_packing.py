"""Recorded answers as files: the same bytes for the same rows, and every row held to its form."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magister.audit.packing import pack, read_packed, write_packed, write_store
from magister.errors import UserError
from magister.llm import Store, read_row

KEYS = st.text("0123456789abcdef", min_size=64, max_size=64)


def answer(key: str, text: str = "yes", attempts: int = 1) -> dict[str, Any]:
    body = {
        "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": text, "role": "assistant"}}]
    }
    return {
        "custom_id": key,
        "response": {"status_code": 200, "body": body},
        "error": None,
        "attempts": attempts,
    }


@given(st.dictionaries(KEYS, st.text(), max_size=8), st.randoms())
def test_rows_come_back_as_they_were_in_the_same_bytes_whatever_their_order(
    tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str], random: Any
) -> None:
    path = tmp_path_factory.mktemp("packed") / "m.jsonl.xz"
    rows = {key: answer(key, text) for key, text in texts.items()}
    shuffled = list(rows.items())
    random.shuffle(shuffled)
    assert pack(dict(shuffled)) == pack(rows)
    known = write_packed(path, pack(rows))
    assert known["rows"] == len(rows)
    back = read_packed(path, known)
    assert [row["custom_id"] for row in back] == sorted(rows)
    assert all(row["response"] == rows[row["custom_id"]]["response"] for row in back)


def test_how_often_was_tried_is_not_recorded() -> None:
    assert pack({"a" * 64: answer("a" * 64, attempts=1)}) == pack({"a" * 64: answer("a" * 64, attempts=5)})


def test_a_file_that_holds_the_rows_already_stays_as_it_is(tmp_path: Path) -> None:
    path, text = tmp_path / "m.jsonl.xz", pack({"a" * 64: answer("a" * 64)})
    path.write_bytes(lzma.compress(text, preset=0))
    before = path.read_bytes()
    write_packed(path, text)
    assert path.read_bytes() == before


def test_an_edited_answer_is_not_taken_for_the_recorded_one(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl.xz"
    known = write_packed(path, pack({"a" * 64: answer("a" * 64, "yes")}))
    write_packed(path, pack({"a" * 64: answer("a" * 64, "no")}))
    with pytest.raises(UserError, match=r"m.jsonl.xz: other answers than those that were recorded"):
        read_packed(path, known)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["{}"], "line 1: not a recorded answer"),
        (['{"custom_id":"k","response":{},"error":null}'], "line 1: not a recorded answer"),
        (
            [pack({key * 64: answer(key * 64)}).decode().strip() for key in ("b", "a")],
            f"line 2: {'a' * 64} stands behind {'b' * 64}",
        ),
    ],
)
def test_a_line_that_is_no_answer_is_named(tmp_path: Path, lines: list[str], said: str) -> None:
    path = tmp_path / "m.jsonl.xz"
    known = write_packed(path, "".join(f"{line}\n" for line in lines).encode())
    with pytest.raises(UserError, match=said):
        read_packed(path, known)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl.xz"
    known = write_packed(path, pack({"a" * 64: answer("a" * 64)}))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match=r"m.jsonl.xz: cannot be read"):
        read_packed(path, known)


def test_a_store_finds_what_was_unpacked_into_it(tmp_path: Path) -> None:
    write_store(tmp_path / "store/m", [answer("a" * 64, "yes")])
    place = Store(tmp_path / "store", "m", "any/task").look_up({"a" * 64}).finished["a" * 64]
    with place.path.open("rb") as file:
        row = read_row(file, place)
    assert row["response"] == answer("a" * 64, "yes")["response"]
    assert row["attempts"] == 0
