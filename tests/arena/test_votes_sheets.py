"""Sheets are blind, stable when the arena grows, and complete about what they leave out."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_tables import instructions, league, responses, selections, shuffled

from magister.arena._naming import names_a_family, names_model
from magister.arena.sheets import annotation_sheet, comparison_id, first_model, shown_text
from magister.contracts.arena_tables import SHEET, SHEET_KEY, VOTES_REJECTED
from magister.errors import UserError
from magister.provenance._artifact import conform

IDS = [f"i{number}" for number in range(12)]
MODELS = ["vicuna-13b", "koala-13b", "alpaca-7b"]


def test_the_tables_keep_their_contracts() -> None:
    made = league(MODELS, IDS)
    for table, contract in ((made.sheet, SHEET), (made.key, SHEET_KEY), (made.rejected, VOTES_REJECTED)):
        assert conform(table, contract).equals(table)


def test_no_model_name_is_on_the_sheet() -> None:
    made = league(MODELS, IDS)
    text = str(made.sheet.to_pylist())
    assert not any(name in text for name in MODELS)
    assert {row["model_1"] for row in made.key.to_pylist()} == set(MODELS)


def test_the_key_says_who_wrote_which_response() -> None:
    made = league(["a", "b"], IDS, lambda model, name: f"{model} on {name}")
    for shown, hidden in zip(made.sheet.to_pylist(), made.key.to_pylist(), strict=True):
        for place in (1, 2):
            assert shown[f"response_{place}"] == f"{hidden[f'model_{place}']} on {hidden['instruction_id']}"
            assert hidden[f"length_{place}"] == len(shown[f"response_{place}"])
            assert hidden[f"request_id_{place}"] == f"r-{hidden[f'model_{place}']}-{hidden['instruction_id']}"


def test_adding_a_model_changes_no_comparison_that_is_there() -> None:
    before, after = (
        league(models, IDS, lambda model, name: model) for models in (["a", "c"], ["a", "b", "c"])
    )
    assert set(map(str, before.sheet.to_pylist())) <= set(map(str, after.sheet.to_pylist()))
    assert set(map(str, before.key.to_pylist())) <= set(map(str, after.key.to_pylist()))
    assert after.sheet.num_rows == 3 * before.sheet.num_rows


@given(st.integers(0, 100))
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    said = {(model, name): f"{model}{name}" for model in "abc" for name in IDS[:4]}
    chosen = selections(
        *((a, b, name) for a, b in ("ab", "bc", "ac") for name in IDS[:4]), ("a", "b", "i1", "random")
    )
    plain = annotation_sheet(chosen, instructions(*IDS), responses(said), seed=7)
    mixed = annotation_sheet(
        shuffled(chosen, seed), shuffled(instructions(*IDS), seed), shuffled(responses(said), seed), seed=7
    )
    assert all(one.equals(two) for one, two in zip(plain, mixed, strict=True))


def test_either_side_stands_first_about_as_often() -> None:
    first = Counter(first_model("s", "a", "b", f"i{number}", 3) for number in range(2000))
    assert abs(first["a"] - 1000) < 4 * 500**0.5


def test_a_new_seed_gives_new_ids_to_what_changes_sides_and_to_nothing_else() -> None:
    one, two = (league(["a", "b"], IDS, seed=seed) for seed in (1, 2))
    sides = {row["comparison_id"]: row["model_1"] for row in one.key.to_pylist()}
    other = {row["instruction_id"]: row for row in two.key.to_pylist()}
    kept = 0
    for row in one.key.to_pylist():
        new = other[row["instruction_id"]]
        same = new["model_1"] == sides[row["comparison_id"]]
        assert (new["comparison_id"] == row["comparison_id"]) is same
        kept += same
    assert 0 < kept < len(IDS)


def test_a_changed_response_is_another_comparison() -> None:
    said = ["math", "i1", "a", "b", "What?", "one", "two"]
    changed = [comparison_id(*said[:at], said[at] + "!", *said[at + 1 :]) for at in range(len(said))]
    assert len({comparison_id(*said), *changed}) == 8
    assert all(name[0] == "c" and len(name) == 24 for name in changed)


def test_an_instruction_that_both_arms_chose_is_one_comparison_and_in_both_samples() -> None:
    said = {(model, name): f"{model}{name}" for model in "ab" for name in ("i1", "i2", "i3")}
    chosen = selections(
        ("a", "b", "i1"), ("a", "b", "i2"), ("a", "b", "i1", "random"), ("a", "b", "i3", "random")
    )  # fmt: skip
    made = annotation_sheet(chosen, instructions("i1", "i2", "i3"), responses(said), seed=0)
    rows = {row["instruction_id"]: row for row in made.key.to_pylist()}
    assert {name: row["arm"] for name, row in rows.items()} == {
        "i1": "discrepant",
        "i2": "discrepant",
        "i3": "random",
    }
    assert {name: row["random_probability"] for name, row in rows.items()} == {
        "i1": 0.25,
        "i2": None,
        "i3": 0.25,
    }
    assert {name: row["inclusion_probability"] for name, row in rows.items()} == {
        "i1": 1.0,
        "i2": 1.0,
        "i3": 0.25,
    }


def test_what_cannot_be_shown_is_listed_with_its_reason() -> None:
    said = {
        ("a", "i1"): "yes",
        ("b", "i1"): {"status": "error", "error": "timeout"},
        ("a", "i2"): "yes",
        ("a", "i3"): "yes",
        ("b", "i3"): {"status": "refusal", "text": "I can't help with that."},
    }
    chosen = selections(("a", "b", "i1"), ("a", "b", "i2"), ("a", "b", "i3"))
    made = annotation_sheet(chosen, instructions("i1", "i2", "i3"), responses(said), seed=0)
    assert made.sheet["instruction_id"].to_pylist() == ["i3"]
    assert [(row["row"], row["reason"], row["detail"]) for row in made.rejected.to_pylist()] == [
        (1, "error", "scenario math, instruction i1: a: ok; b: error"),
        (2, "missing_response", "scenario math, instruction i2: a: ok; b: missing"),
    ]


def test_an_empty_selection_is_an_empty_sheet() -> None:
    made = annotation_sheet(selections(), instructions("i1"), responses({}), seed=0)
    assert [table.num_rows for table in made] == [0, 0, 0]


def test_an_unknown_instruction_is_an_error_that_names_it() -> None:
    with pytest.raises(UserError, match=r"1 instruction.*first: i9"):
        annotation_sheet(selections(("a", "b", "i9")), instructions("i1"), responses({}), seed=0)


def test_a_pair_out_of_order_is_an_error() -> None:
    with pytest.raises(UserError, match="model_a 'b' must come before model_b 'a'"):
        annotation_sheet(selections(("b", "a", "i1")), instructions("i1"), responses({}), seed=0)


def test_reasoning_is_not_shown() -> None:
    assert shown_text("<think>hm, is it 4?</think>\nIt is 4.") == "It is 4."


@pytest.mark.parametrize(
    "text",
    [
        "I am Vicuna, a helpful assistant.",
        "Hello! I'm ChatGPT and I can help.",
        "As an AI language model trained by OpenAI, I have no opinion.",
        "I was developed by researchers at Google.",
        "My name is Claude.",
        "我是通义千问，由阿里云开发。",
        "That was koala-13b speaking",
        "This is Koala 13B.",
        "I am smol",
    ],
)
def test_a_response_that_names_its_model_is_flagged(text: str) -> None:
    assert names_a_family(text) or names_model(text, "koala-13b") or names_model(text, "smol")


@pytest.mark.parametrize(
    "text",
    [
        "A koala sleeps 20 hours a day.",
        "A small (smol) dog.",
        "Llamas and alpacas live in the Andes.",
        "OpenAI was founded in 2015. GPT-4 followed in 2023.",
        "I am happy to help.",
        "The bridge was built by Google engineers.",
        "",
    ],
)
def test_a_response_about_models_is_not_flagged(text: str) -> None:
    assert not names_a_family(text)
    assert not names_model(text, "koala-13b")
    assert not names_model(text, "smol")


def test_self_naming_is_flagged_and_left_in_the_text() -> None:
    made = league(["a", "b"], ["i1"], lambda model, name: "I am Vicuna." if model == "a" else "Four.")
    (shown,), (hidden,) = made.sheet.to_pylist(), made.key.to_pylist()
    place = 1 if hidden["model_1"] == "a" else 2
    assert hidden[f"self_named_{place}"]
    assert not hidden[f"self_named_{3 - place}"]
    assert shown[f"response_{place}"] == "I am Vicuna."


def test_the_same_sheet_is_the_same_bytes() -> None:
    one, two = (league(MODELS, IDS).sheet for _ in range(2))
    sinks = []
    for table in (one, two):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        sinks.append(sink.getvalue().to_pybytes())
    assert sinks[0] == sinks[1]
