"""Files of external boards, and the names in them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magister.contracts.schemas import META_NAMES
from magister.errors import UserError
from magister.provenance._artifact import conform
from magister.teaching.external import ExternalBoards, match_names, read_boards

HEAD = "board,model,score,date\n"


def read(*lines: str, head: str = HEAD) -> ExternalBoards:
    return read_boards([("data/external/a.csv", (head + "\n".join(lines)).encode())])


def refusal(*files: tuple[str, bytes]) -> str:
    with pytest.raises(UserError) as failure:
        read_boards(files)
    return str(failure.value)


def rows(boards: ExternalBoards, names: Any, teachers: Any = None) -> list[dict[str, Any]]:
    table = match_names({"main": ["ann", "bob"]} if teachers is None else teachers, boards, names)
    assert conform(table, META_NAMES).equals(table)
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def test_the_latest_day_of_each_model_counts_and_earlier_ones_are_listed() -> None:
    boards = read(
        "arena,m,1,2025-01-31", "arena,m,3,2025-02-01", "arena,m,2,2024-12-31", "arena,n,7,2024-01-01"
    )
    assert [(score.model, score.score, score.row) for score in boards.current] == [
        ("m", 3.0, 3),
        ("n", 7.0, 5),
    ]
    assert [(score.score, score.row) for score in boards.superseded] == [(1.0, 2), (2.0, 4)]
    named = {row["row"]: row for row in rows(boards, {"arena": {"ann": "m"}}) if row["league"] == ""}
    assert named[2]["status"] == "superseded"
    assert named[2]["reason"] == "the board has a score of 2025-02-01: data/external/a.csv, row 3"


def test_two_scores_of_one_day_are_refused_with_their_files_and_rows() -> None:
    one, two = (HEAD + "arena,m,1,2025-01-01\n").encode(), (HEAD + "\narena, m ,1,2025-01-01\n").encode()
    message = refusal(("data/external/a.csv", one), ("data/external/b.csv", two))
    assert "keep one row of each" in message
    assert "data/external/a.csv, row 2 and data/external/b.csv, row 3: 'm' on the board 'arena'" in message
    many = HEAD + "".join(f"arena,m{n},1,2025-01-01\n" * 2 for n in range(8))
    assert "and 3 more" in refusal(("a.csv", many.encode()))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("arena,m,1 472,2025-01-01", "score '1 472' is no number such as 1472 or 61.65"),
        ("arena,m,nan,2025-01-01", "score 'nan' is no number"),
        ("arena,m,inf,2025-01-01", "score 'inf' is no number"),
        ("arena,m,1_0,2025-01-01", "score '1_0' is no number"),
        ("arena,m,٣,2025-01-01", "score '٣' is no number"),
        ("arena,m,,2025-01-01", "score is empty"),
        ("arena,m,1e999,2025-01-01", "beyond every number"),
        ("arena,m,-,2025-01-01", "score '-' is no number"),
        ("arena,m,1,2025-02-30", "date '2025-02-30' is no day such as 2025-08-04"),
        ("arena,m,1,20250101", "date '20250101' is no day"),
        ("arena,m,1,2025-W01-1", "is no day"),
        ("arena,m,1,", "date is empty"),
        (",m,1,2025-01-01", "board is empty"),
        ("arena, ,x,never", "model is empty; score 'x' is no number such as 1472 or 61.65; date 'never'"),
        ("arena,m,1", "expected 4 cells as in the header, found 3"),
        ("arena,m,1,472,2025-01-01", "expected 4 cells as in the header, found 5"),
        ('arena,"m"x,1,2025-01-01', "not CSV"),
        ('arena,"m,1,2025-01-01\n\n', "not CSV (lines 3 to 4)"),
    ],
)
def test_a_row_that_cannot_be_used_is_listed_with_its_reason(line: str, reason: str) -> None:
    boards = read("arena,good,-1.5e1,2025-01-01", line)
    assert [(score.model, score.score) for score in boards.current] == [("good", -15.0)]
    (bad,) = [row for row in rows(boards, {}) if row["status"] == "rejected"]
    assert reason in bad["reason"]
    assert (bad["file"], bad["row"], bad["score"]) == ("data/external/a.csv", 3, None)


def test_a_row_that_is_not_utf8_is_rejected_alone() -> None:
    content = HEAD.encode() + b"arena,\xff,1,2025-01-01\narena,m,1,2025-01-01\n"
    boards = read_boards([("a.csv", content)])
    (bad,) = boards.rejected
    assert (bad.row, bad.model, bad.reason) == (2, "�", "model: not UTF-8")
    assert [score.model for score in boards.current] == ["m"]


def test_other_columns_their_order_and_a_byte_order_mark_do_not_matter() -> None:
    boards = read("2025-01-01,x, 5 ,y,m,arena", head="\ufeffdate,note,score,note,model,board\r\n")
    (score,) = boards.current
    assert (score.board, score.model, score.score, score.date) == ("arena", "m", 5.0, "2025-01-01")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "a.csv: empty; expected a header with the columns board, model, score, date"),
        ("rank,model,arena_score\n", "the header has no column board, score, date; seen: rank, model, arena_score"),
        ("board,model,score,date,score\n", "the column score stands there twice"),
        ('"board,model', "no readable header"),
        (HEAD + "\n", "a.csv: a header and no rows; add rows, or take the file out of teaching.external.boards"),
    ],
)  # fmt: skip
def test_a_file_without_the_columns_is_refused(content: str, message: str) -> None:
    assert message in refusal(("a.csv", content.encode()))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_in_utf_16_is_said_to_be_no_utf_8(encoding: str) -> None:
    content = (HEAD + "arena,m,1,2025-01-01\n").encode(encoding)
    assert "a.csv: row 1: not UTF-8 text" in refusal(("a.csv", content))


def test_names_are_mapped_and_never_guessed() -> None:
    boards = read("arena,ann,1,2025-01-01", "arena,Bob,2,2025-01-01", "arena,carl,3,2025-01-01")
    found = rows(boards, {"arena": {"bob": "Bob", "carl": "carl"}})
    by_model = {row["model"]: row for row in found if row["league"] == "main"}
    # The board has a model of the same name; that it is ours is for the user to say.
    assert by_model["ann"]["status"] == "unmapped"
    assert (by_model["bob"]["status"], by_model["bob"]["score"], by_model["bob"]["row"]) == ("used", 2.0, 3)
    others = {row["external_name"]: row for row in found if row["league"] == ""}
    assert {name: row["status"] for name, row in others.items()} == {
        "ann": "unmapped",
        "carl": "not_a_teacher",
    }
    assert others["carl"]["reason"] == "carl teaches in no league"


def test_a_mapped_name_that_the_board_lacks_is_listed() -> None:
    (row,) = [
        row for row in rows(read("arena,m,1,2025-01-01"), {"arena": {"ann": "M"}}) if row["model"] == "ann"
    ]
    assert (row["status"], row["reason"], row["score"]) == (
        "not_on_board",
        "the board has no score of 'M'",
        None,
    )


def test_every_board_of_a_file_is_one_of_its_own() -> None:
    boards = read("arena,m,1,2025-01-01", "bench,m,2,2025-01-01")
    found = rows(boards, {"bench": {"ann": "m"}}, {"one": ["ann"], "two": ["ann"]})
    status = {(row["league"], row["board"]): row["status"] for row in found}
    assert status == {
        ("one", "arena"): "unmapped", ("two", "arena"): "unmapped", ("", "arena"): "unmapped",
        ("one", "bench"): "used", ("two", "bench"): "used",
    }  # fmt: skip


def test_names_for_a_board_that_no_file_has_are_refused() -> None:
    with pytest.raises(UserError, match=r"names\.arenna: no file .* did you mean 'arena'"):
        match_names({"main": ["ann"]}, read("arena,m,1,2025-01-01"), {"arenna": {"ann": "m"}})
    with pytest.raises(UserError, match="boards there: none"):
        match_names({"main": ["ann"]}, read_boards([]), {"arena": {"ann": "m"}})
    with pytest.raises(
        UserError, match=r"none of the 1 row.* 'arena' can be used; first .*, row 2: score 'x'"
    ):
        match_names({"main": ["ann"]}, read("arena,m,x,2025-01-01"), {"arena": {"ann": "m"}})


cell = st.text(st.sampled_from('ab1-,."\n\r é\x00'), max_size=6)
days = st.sampled_from(["2025-01-01", "2025-01-02", "2024-02-30", ""])


@given(
    st.lists(st.tuples(cell, cell, st.sampled_from(["1", "2.5", "x"]), days), min_size=1, max_size=8),
    st.randoms(),
)
def test_no_row_is_lost_and_their_order_does_not_matter(lines: list[tuple[str, ...]], random: Any) -> None:
    text = [",".join('"' + part.replace('"', '""') + '"' for part in line) + "\n" for line in lines]
    unique = {tuple(part.strip() for part in line): row for line, row in zip(lines, text, strict=True)}
    by_key = {(key[0], key[1], key[3]): row for key, row in unique.items()}
    kept = list(by_key.values())

    def outcome(order: list[str]) -> tuple[int, set[Any]]:
        boards = read_boards([("a.csv", (HEAD + "".join(order)).encode())])
        count = len(boards.current) + len(boards.superseded) + len(boards.rejected)
        return count, {(score.board, score.model, score.date, score.score) for score in boards.current}

    before = outcome(kept)
    assert before[0] == len(kept)
    random.shuffle(kept)
    assert outcome(kept) == before
