"""A judge scores how alike two responses are: a number where one can be read, else a reason and never a number."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vote_tables import PROMPTS, answered, instructions, response, speaker

from magister.arena.similarity import all_pairs
from magister.arena.similarity_judge import (
    AskedSimilarities,
    read_similarities,
    similarity_requests,
    unscored,
)
from magister.arena.similarity_players import similarity_judge
from magister.arena.similarity_tables import tabled_similarities
from magister.contracts.arena_tables import ARENA_SIMILARITIES
from magister.errors import UserError
from magister.llm import ScriptedReply
from magister.llm.engines.scripted import find_player
from magister.prompts import load_prompt
from magister.provenance._artifact import conform

MODELS = ["ann", "bob", "cid"]
IDS = ["i0", "i1", "i2"]
JUDGE = speaker("kit", "similarity_judge")
SAID = {
    "ann": ["It is 2.", "yes", None],
    "bob": ["The answer is 2.", "yes", "a"],
    "cid": ["It is 2.", "no", "b"],
}


def ask(
    said: dict[str, list[str | None]] | None = None, models: list[str] | None = None
) -> AskedSimilarities:
    texts = {name: pa.array(column, pa.string()) for name, column in (said or SAID).items()}
    prompt = load_prompt(PROMPTS / "similarity" / "v1.md")
    return similarity_requests(
        "math", instructions(*IDS), texts, all_pairs(models or MODELS), JUDGE, prompt, max_tokens=9
    )


def read(*replies: str | ScriptedReply) -> pa.Table:
    """Replies to the requests in their order, then a score of 1/4 for the rest."""
    asked = ask()
    said = [*replies, *['{"similarity": 0.25}'] * (len(asked.requests) - len(replies))]
    keys = [row["custom_id"] for row in asked.requests]
    table = read_similarities(asked.table, dict(zip(keys, map(response, keys, said), strict=True)))
    assert conform(table, ARENA_SIMILARITIES).equals(table)
    return table


def test_every_pair_is_asked_about_every_instruction_that_both_answered() -> None:
    table = ask().table
    assert table.num_rows == 9
    lacking = {
        (row["model_a"], row["model_b"], row["instruction_id"])
        for row in table.to_pylist()
        if row["request_id"] is None
    }
    assert lacking == {("ann", "bob", "i2"), ("ann", "cid", "i2")}


def test_the_score_depends_on_the_texts_and_not_on_who_gave_which() -> None:
    swapped = ask(SAID | {"ann": SAID["bob"], "bob": SAID["ann"]})
    one, two = (
        {
            row["instruction_id"]: row["request_id"]
            for row in asked.table.to_pylist()
            if row["model_b"] == "bob"
        }
        for asked in (ask(), swapped)
    )
    assert one == two
    # "It is 2." and "The answer is 2." stand in two pairs; so do "yes" and "no".
    assert len(ask().requests) == len({row["custom_id"] for row in ask().requests}) == 5


def test_the_prompt_names_no_model() -> None:
    shown = [row["body"]["messages"][-1]["content"] for row in ask().requests]
    assert "Reply 1:\nIt is 2.\n\nReply 2:\nThe answer is 2.\n" in shown[0]
    assert not any(name in text for text in shown for name in MODELS)


def test_texts_of_another_number_are_an_error() -> None:
    with pytest.raises(UserError, match="bob has 2 texts for 3 instructions"):
        ask(SAID | {"bob": ["a", "b"]})


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('{"similarity": 0.5}', 0.5),
        ('{"similarity": 1}', 1.0),
        ('{"similarity": 0}', 0.0),
        ('Sure.\n```json\n{"Similarity": "0.75"}\n```', 0.75),
    ],
)
def test_a_number_from_0_to_1_is_a_score(reply: str, value: float) -> None:
    row = read(reply).to_pylist()[0]
    assert (row["status"], row["similarity"]) == ("ok", value)


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (ScriptedReply("down", error="server"), "error"),
        (ScriptedReply("too long", error="context_length"), "context_exceeded"),
        (ScriptedReply('{"similarity": 0.5}', finish_reason="content_filter"), "refusal"),
        (ScriptedReply('{"similarity": ', finish_reason="length"), "truncated"),
        (ScriptedReply("They are", finish_reason="length"), "truncated"),
        ("I'm sorry, but I can't help with that.", "refusal"),
        ("", "no_answer"),
        ("They are rather alike.", "invalid"),
        ('{"similarity": 1.5}', "invalid"),
        ('{"similarity": -0.1}', "invalid"),
        ('{"similarity": 80}', "invalid"),
        ('{"similarity": "80%"}', "invalid"),
        ('{"similarity": null}', "invalid"),
        ('{"similarity": NaN}', "invalid"),
        ('{"score": 0.5}', "invalid"),
        ('{"similarity": 0.2} {"similarity": 0.9}', "ambiguous"),
    ],
)
def test_a_reply_that_cannot_be_read_is_missing_and_counted(reply: str | ScriptedReply, status: str) -> None:
    table = read(reply)
    row = table.to_pylist()[0]
    assert (row["status"], row["similarity"]) == (status, None)
    first = {"scenario": "math", "model_a": "ann", "model_b": "bob"}
    assert unscored(table)[0] == first | {"unscored": {"no_text": 1} | {status: 1}}
    ids, found = tabled_similarities(table, low=0.0)
    assert np.isnan(found.values[found.pairs.index(("ann", "bob")), ids.to_pylist().index("i0")])


@settings(deadline=None)
@given(st.permutations(range(9)))
def test_the_order_of_rows_changes_nothing(order: list[int]) -> None:
    asked = ask()
    answers = answered(JUDGE, asked.requests)
    mixed = asked.table.take(pa.array(order))
    assert read_similarities(mixed, answers).equals(read_similarities(asked.table, answers))


def test_the_scripted_judge_counts_the_words_that_both_have() -> None:
    table = read_similarities(ask().table, answered(JUDGE, ask().requests))
    scores = {
        (row["model_a"], row["model_b"], row["instruction_id"]): row["similarity"]
        for row in table.to_pylist()
    }
    assert scores["ann", "cid", "i0"] == 1.0
    assert scores["ann", "bob", "i0"] == pytest.approx(4 / 7, abs=1e-4)
    assert scores["bob", "cid", "i1"] == 0.0
    assert scores["ann", "bob", "i2"] is None
    assert find_player("similarity_judge") is similarity_judge


def test_the_scripted_judge_can_be_unreadable_and_wants_its_prompt() -> None:
    mute = speaker("mute", "similarity_judge", unreadable=1.0)
    table = read_similarities(ask().table, answered(mute, ask().requests))
    assert set(table["status"].to_pylist()) == {"invalid", "no_text"}
    with pytest.raises(UserError, match=r"prompts/similarity/v1\.md"):
        similarity_judge([{"role": "user", "content": "Hello?"}], "k", {})
