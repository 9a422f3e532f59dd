"""Votes are coded strictly, and what does not count is named."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from league_votes import frame

from magister.arena.vote_files import read_votes
from magister.arena.votes import Votes, code_votes
from magister.contracts.arena_tables import VOTES_REJECTED
from magister.errors import UserError


def rejected(votes: Votes) -> list[tuple[int, str]]:
    return list(zip(votes.rejected["row"].to_pylist(), votes.rejected["reason"].to_pylist(), strict=True))


def test_all_known_labels_are_read() -> None:
    said = ["model_a", "a", "model_b", "b", "tie", "tie (bothbad)", "both_bad"]
    votes = code_votes(frame([("x", "y", label) for label in said]))
    assert votes.outcome.tolist() == [0, 0, 1, 1, 2, 2, 2]
    assert votes.n_both_bad == 2


@pytest.mark.parametrize("label", ["A", "left", " tie", "model_x", "1", "draw", "both bad"])
def test_another_label_is_rejected_with_its_row_and_never_a_tie(label: str) -> None:
    votes = code_votes(frame([("x", "y", "a"), ("x", "y", label)]))
    assert len(votes) == 1
    assert rejected(votes) == [(2, "unknown_winner")]
    assert repr(label) in votes.rejected["detail"][0].as_py()
    assert votes.rejected.schema == VOTES_REJECTED.schema


def test_the_winner_stays_the_winner_on_either_side() -> None:
    votes = code_votes(frame([("x", "y", "a"), ("y", "x", "b"), ("y", "x", "a")]))
    assert votes.models == ("x", "y")
    assert votes.low.tolist() == [0, 0, 0]
    assert votes.outcome.tolist() == [0, 0, 1]
    assert votes.low_first.tolist() == [True, False, False]


@pytest.mark.parametrize("gap", [None, "", float("nan")])
def test_a_row_without_a_winner_is_counted_as_unjudged(gap: str | None) -> None:
    votes = code_votes(frame([("x", "y", "a"), ("x", "y", gap)]))  # type: ignore[list-item]
    assert (len(votes), votes.n_unjudged, votes.n_rows) == (1, 1, 2)
    assert votes.rejected.num_rows == 0


def test_self_matches_and_missing_and_unknown_models_are_rejected() -> None:
    rows = frame([("x", "x", "a"), (None, "y", "a"), ("x", "z", "b"), ("x", "y", "tie")])  # type: ignore[list-item]
    votes = code_votes(rows, models=["x", "y", "w"])
    assert rejected(votes) == [(1, "self_match"), (2, "missing_model"), (3, "unknown_model")]
    assert votes.models == ("w", "x", "y")
    assert (votes.low.tolist(), votes.high.tolist()) == ([1], [2])


def test_the_same_annotator_on_the_same_comparison_counts_once() -> None:
    rows = frame(
        [("x", "y", "a"), ("y", "x", "b"), ("x", "y", "a"), ("x", "y", "a")],
        instruction_id=["i", "i", "i", "j"],
        annotator=["p", "p", "q", "p"],
    )
    votes = code_votes(rows)
    assert rejected(votes) == [(2, "duplicate")]
    assert votes.outcome.tolist() == [0, 0, 0]


def test_an_annotator_who_contradicts_himself_gives_one_tie() -> None:
    rows = frame([("x", "y", "a"), ("x", "y", "a"), ("x", "y", "b")], instruction_id="i", annotator="p")
    votes = code_votes(rows)
    assert rejected(votes) == [(2, "contradicting_duplicate"), (3, "contradicting_duplicate")]
    assert votes.outcome.tolist() == [2]


@pytest.mark.parametrize("missing", ["instruction_id", "annotator"])
def test_without_instruction_or_annotator_nothing_is_called_a_duplicate(missing: str) -> None:
    rows = frame([("x", "y", "a")] * 3, instruction_id="i", annotator="p")
    assert len(code_votes(rows.drop(columns=missing))) == 3
    assert len(code_votes(rows.assign(**{missing: None}))) == 3


def test_the_same_instruction_id_in_two_scenarios_is_two_instructions() -> None:
    rows = frame([("x", "y", "a")] * 2, instruction_id="1", annotator="p", scenario=["code", "math"])
    votes = code_votes(rows)
    assert len(votes) == 2
    assert votes.cluster.tolist() == [0, 1]


def test_votes_are_resampled_by_the_root_where_there_is_one() -> None:
    rows = frame([("x", "y", "a")] * 3, instruction_id=["i", "j", "k"], root_id=["r", "r", "s"])
    assert code_votes(rows).cluster.tolist() == [0, 0, 1]


def test_columns_are_found_under_names_of_the_user() -> None:
    rows = frame([("x", "y", "a")]).rename(columns={"winner": "said", "model_a": "left"})
    votes = code_votes(rows, columns={"winner": "said", "model_a": "left"})
    assert (len(votes), votes.columns["winner"]) == (1, "said")
    with pytest.raises(
        UserError, match=r"no column 'verdict' for winner\. Columns found: 'left', 'model_b', 'said'"
    ):
        code_votes(rows, columns={"winner": "verdict", "model_a": "left"})
    with pytest.raises(UserError, match="no column 'model_a'"):
        code_votes(rows)
    with pytest.raises(UserError, match="no role 'judge'"):
        code_votes(rows, columns={"judge": "x"})


def test_whole_numbers_with_gaps_are_the_same_labels_as_texts() -> None:
    rows = frame(
        [("x", "y", "a")] * 3, instruction_id=[7.0, None, 12.0], annotator=pd.Categorical(["p", "q", "p"])
    )
    votes = code_votes(rows)
    # In the order of the labels: "12" before "7".
    assert votes.cluster.tolist() == [1, -1, 0]
    assert votes.annotator.tolist() == [0, 1, 0]


def test_an_empty_table_is_an_error() -> None:
    with pytest.raises(UserError, match="no votes"):
        code_votes(pa.table({"model_a": pa.array([], pa.string())}))


# files

CSV = "model_a,model_b,winner,instruction_id\nx,y,model_a,01\ny,x,tie,02\n"


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json", "parquet"])
def test_every_kind_of_file_holds_the_same_votes(tmp_path: Path, suffix: str) -> None:
    rows = [
        {"model_a": "x", "model_b": "y", "winner": "model_a", "instruction_id": "01"},
        {"model_a": "y", "model_b": "x", "winner": "tie", "instruction_id": "02"},
    ]
    path = tmp_path / f"votes.{suffix}"
    if suffix == "csv":
        path.write_text(CSV)
    elif suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        pd.DataFrame(rows).to_json(path, orient="records", lines=suffix == "jsonl")
    found = read_votes(path)
    assert found.table.to_pylist() == rows
    assert found.rows.tolist() == ([2, 3] if suffix == "csv" else [1, 2])
    assert found.broken.num_rows == 0


@pytest.mark.parametrize("line", ["x,y\n", 'x,"y,model_a,3\n', "x,y,tie,3,4\n"])
def test_a_broken_line_of_a_csv_file_is_set_apart_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(CSV + line)
    found = read_votes(path)
    assert found.table.num_rows == 2
    assert found.broken["row"].to_pylist() == [4]
    assert found.broken["reason"].to_pylist() == ["unreadable"]


def test_quoted_lines_and_blank_lines_keep_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text('model_a,model_b,winner\n\n"x",y,a\n\nx,y,b\n')
    found = read_votes(path)
    assert found.rows.tolist() == [3, 5]
    assert found.table["model_a"].to_pylist() == ["x", "x"]


def test_a_file_that_is_not_there_or_of_another_kind_is_an_error(tmp_path: Path) -> None:
    for name, said in (
        ("no.csv", "not found"),
        ("no.parquet", "not found"),
        ("no.txt", "expected a file of kind"),
    ):
        with pytest.raises(UserError, match=said):
            read_votes(tmp_path / name)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match="damaged"):
        read_votes(tmp_path / "bad.parquet")
