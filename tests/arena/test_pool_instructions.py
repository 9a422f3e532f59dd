"""Seed instructions: what is read, what is taken, what is rejected and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pool_tables import LIMITS, SOURCE, gathered, rows

from magister.arena._text import folded, instruction_id
from magister.arena.instructions import gather_instructions, load_instructions
from magister.config.instructions import Evolution, InstructionLimits, InstructionSource
from magister.contracts.arena_tables import INSTRUCTIONS, INSTRUCTIONS_REJECTED
from magister.errors import UserError
from magister.provenance import conform

ROOT = Path(__file__).parents[2]


def reasons(pool: Any) -> dict[int, str]:
    table = pool.rejected
    return dict(zip(table["source_row"].to_pylist(), table["reason"].to_pylist(), strict=True))


def texts(pool: Any) -> list[str]:
    return sorted(pool.instructions["text"].to_pylist())


def test_a_row_becomes_a_seed_that_descends_from_itself() -> None:
    pool = gathered({"instruction": " What is 3 + 4? ", "gold": 7, "id": "q1"})
    row = pool.instructions.to_pylist()[0]
    assert row["instruction_id"] == row["root_id"] == instruction_id("explanation", "What is 3 + 4?")
    assert (row["text"], row["gold"], row["source"], row["source_id"]) == ("What is 3 + 4?", "7", "own", "q1")
    assert (row["round"], row["operation"], row["parent_id"], row["generator"]) == (0, "seed", None, None)
    assert pool.rejected.num_rows == 0


def test_an_id_is_that_of_scenario_and_text_alone() -> None:
    one = gathered({"instruction": "Explain why ice floats.", "gold": "a", "id": "1"}).instructions
    two = gathered("Explain how tides work.", {"instruction": "Explain why ice floats."}).instructions
    assert one["instruction_id"][0].as_py() in two["instruction_id"].to_pylist()
    other = gathered("Explain why ice floats.", scenario="planning").instructions
    assert one["instruction_id"][0] != other["instruction_id"][0]


def test_every_row_that_is_not_taken_has_a_reason() -> None:
    pool = gathered(
        "Explain why ice floats on water.",
        {"instruction": None},
        "  ",
        "?!... -- !!!!!",
        "Why?",
        "Why " + "so " * 200,
        {"instruction": ["a", "list"]},
        "explain why ice floats on water",
        {"instruction": "half of a pair: \ud800 is no text"},
        limits=InstructionLimits(max_chars=400),
    )
    assert texts(pool) == ["Explain why ice floats on water."]
    assert reasons(pool) == {
        2: "empty", 3: "empty", 4: "empty", 5: "too_short", 6: "too_long", 7: "malformed_row",
        8: "duplicate", 9: "malformed_row",
    }  # fmt: skip
    assert conform(pool.rejected, INSTRUCTIONS_REJECTED).num_rows == 8
    assert conform(pool.instructions, INSTRUCTIONS).num_rows == 1


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("What is 3.5 plus 2?", "What is 35 plus 2?", False),
        ("Work out (2 + 3) * 4", "Work out 2 + 3 * 4", False),
        ("What is 5! in digits", "What is 5 in digits", False),
        ("Name a town, please!", "name a  town please", True),
        ("Sort [1, 2] in C++ code", "Sort [1, 2] in C code", False),
    ],
)
def test_formulas_differ_where_sentences_do_not(one: str, two: str, same: bool) -> None:
    assert (folded(one) == folded(two)) == same
    assert gathered(one, two).instructions.num_rows == (1 if same else 2)


def test_of_duplicates_one_with_a_gold_stays_and_contradicting_golds_leave_none() -> None:
    text = "What is one half of three?"
    pool = gathered(text, {"instruction": text, "gold": "3/2"}, {"instruction": text, "gold": "1.5"})
    assert pool.instructions["gold"].to_pylist() in (["3/2"], ["1.5"])
    pool = gathered(
        {"instruction": text, "gold": "1.5"}, {"instruction": text, "gold": "2"}, "Explain why ice floats."
    )
    assert reasons(pool) == {1: "conflicting_gold", 2: "conflicting_gold"}
    assert "own 1, own 2" in pool.rejected["detail"][0].as_py()


def test_one_scenario_says_nothing_of_another() -> None:
    source = {name: SOURCE.model_copy(update={"scenario": name}) for name in ("code", "planning")}
    same = {name: rows("Explain why ice floats.") for name in source}
    pool = gather_instructions(source, same, LIMITS)
    assert sorted(pool.instructions["scenario"].to_pylist()) == ["code", "planning"]


def test_a_row_may_name_its_scenario_and_a_bad_name_is_malformed() -> None:
    given = rows(
        {"instruction": "Explain why ice floats.", "kind": "code"},
        {"instruction": "Explain how tides work.", "kind": None},
        {"instruction": "Explain how snow forms.", "kind": "two words"},
        scenario="kind",
    )
    pool = gather_instructions({"own": SOURCE}, {"own": given}, LIMITS)
    assert sorted(pool.instructions["scenario"].to_pylist()) == ["code", "explanation"]
    assert reasons(pool) == {3: "malformed_row"}


def test_a_draw_of_more_contains_the_draw_of_fewer() -> None:
    many = [f"Explain the number {n} to a child." for n in range(30)]
    drawn = [set(texts(gathered(*many, n=n))) for n in (3, 10, 30)]
    assert [len(some) for some in drawn] == [3, 10, 30]
    assert drawn[0] < drawn[1] < drawn[2]
    assert set(texts(gathered(*many, n=10, seed=1))) != drawn[1]


@given(st.permutations(range(7)))
def test_what_is_taken_does_not_depend_on_the_order_of_rows(order: list[int]) -> None:
    given: list[dict[str, Any]] = [
        {"instruction": "Explain why ice floats."}, {"instruction": "explain WHY ice floats"},
        {"instruction": "What is 2 + 2 worth?", "gold": "4"}, {"instruction": "What is 2 + 2 worth?"},
        {"instruction": "Name a colour of snow.", "gold": "x"},
        {"instruction": "Name a colour of snow.", "gold": "y"}, {"instruction": "Explain how tides work."},
    ]  # fmt: skip
    before, after = gathered(*given, n=2), gathered(*(given[place] for place in order), n=2)
    assert after.instructions.equals(before.instructions)
    assert sorted(after.rejected["reason"].to_pylist()) == sorted(before.rejected["reason"].to_pylist())


def test_a_source_of_which_nothing_can_be_used_is_an_error() -> None:
    with pytest.raises(UserError, match=r"instructions 'own': no row can be used \(empty: 1, too_short: 1\)"):
        gathered("", "no")


def source_file(path: Path, **fields: Any) -> InstructionSource:
    return InstructionSource(scenario="code", kind="file", path=str(path), **fields)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".json"])
def test_files_are_read_by_their_column_map(tmp_path: Path, suffix: str) -> None:
    table = [{"ask": "Sort a list in place.", "right": "sorted", "no": "7"}]
    path = tmp_path / f"own{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(table), path)
    elif suffix == ".csv":
        path.write_text("ask,right,no\nSort a list in place.,sorted,7\n")
    else:
        path.write_text(json.dumps(table if suffix == ".json" else table[0]))
    source = source_file(path, columns={"instruction": "ask", "gold": "right", "id": "no"})
    pool = gather_instructions({"own": source}, {"own": load_instructions("own", source)}, LIMITS)
    row = pool.instructions.to_pylist()[0]
    assert (row["text"], row["gold"], row["source_id"]) == ("Sort a list in place.", "sorted", "7")


def test_a_line_that_cannot_be_read_is_rejected_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"instruction": "Sort a list in place."}\nnot json\n[1]\n')
    source = source_file(path)
    pool = gather_instructions({"own": source}, {"own": load_instructions("own", source)}, LIMITS)
    assert reasons(pool) == {2: "malformed_row", 3: "malformed_row"}
    assert pool.rejected["origin"].to_pylist() == ["own 2", "own 3"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no rows"),
        ("nope\n", "none of the 1 rows can be read; row 1: not JSON"),
        ('{"text": "x"}\n', "no column 'instruction' for the instruction. Columns found: 'text'"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text(content)
    with pytest.raises(UserError, match="instructions 'own': ") as failure:
        load_instructions("own", source_file(path))
    assert said in str(failure.value)


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"instruction": "Sort a list in place."}\n')
    with pytest.raises(UserError, match="expected sha256"):
        load_instructions("own", source_file(path, sha256="0" * 64))


def test_generated_tasks_bring_their_golds() -> None:
    source = InstructionSource(scenario="math", kind="generated", generator="sums", n=5, seed=3)
    pool = gather_instructions({"sums": source}, {"sums": load_instructions("sums", source)}, LIMITS)
    assert pool.instructions.num_rows == 5
    for row in pool.instructions.to_pylist():
        one, two = (int(part) for part in row["text"].removeprefix("What is ").removesuffix("?").split(" + "))
        assert row["gold"] == str(one + two)
    with pytest.raises(UserError, match=r"instructions 'sums': .*unknown generator 'sumz'"):
        load_instructions("sums", source.model_copy(update={"generator": "sumz"}))


def test_the_prompts_of_the_project_are_taken_whole() -> None:
    source = source_file(ROOT / "data/own/arena_open.jsonl")
    pool = gather_instructions({"open": source}, {"open": load_instructions("open", source)}, LIMITS)
    assert pool.rejected.num_rows == 0
    assert pool.instructions.num_rows == 12
    counts = pool.instructions.group_by("scenario").aggregate([("text", "count")])
    assert dict(zip(*(counts[name].to_pylist() for name in ("scenario", "text_count")), strict=True)) == {
        "creative_writing": 3, "explanation": 3, "planning": 3, "code": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("model", "fields", "said"),
    [
        (InstructionSource, {"scenario": "x", "kind": "file"}, "needs 'path'"),
        (InstructionSource, {"scenario": "x", "kind": "generated", "generator": "sums"}, "needs 'n'"),
        (InstructionLimits, {"min_chars": 9, "max_chars": 8}, "above max_chars"),
        (Evolution, {"rounds": 1}, "'rounds' needs 'generators'"),
        (Evolution, {"generators": ["a", "a"]}, "generators: a name stands there twice"),
        (Evolution, {"operations": ["shorten"]}, "add_constraint"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(model: Any, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        model(**fields)
