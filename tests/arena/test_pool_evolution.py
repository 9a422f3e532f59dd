"""Evolution: who is asked for what, what is taken, what failed and why, and whose child it is."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pool_tables import LIMITS, PROMPTS, asked, evolution, replies, response, seeds, speaker

from magister.arena.evolution import (
    choose_rewriting,
    drop_near_duplicates,
    evolution_requests,
    parents,
    read_evolutions,
)
from magister.arena.instructions import Pool
from magister.config.instructions import OPERATIONS, InstructionLimits
from magister.contracts.arena_tables import INSTRUCTIONS, INSTRUCTIONS_REJECTED
from magister.errors import UserError
from magister.llm import Request
from magister.prompts import load_prompt
from magister.provenance import conform

PARENT = "Explain to a child why ice floats on the water of a pond."
CHILD = "Explain to a child why ice floats on the water of a pond, and why iron does not."


def outcome(text: str = "", parent: str = PARENT, **fields: Any) -> tuple[str, str]:
    """What becomes of one reply: its reason, or `ok`, and the text or the detail."""
    pool, plan = seeds(parent), evolution()
    requests = asked(pool, 1, plan)
    found = read_evolutions(
        pool, 1, plan, InstructionLimits(max_chars=600), requests,
        replies(pool, requests, lambda _, request: response(request, text, **fields)),
    )  # fmt: skip
    assert found.instructions.num_rows + found.rejected.num_rows == 1
    if found.instructions.num_rows:
        return "ok", found.instructions["text"][0].as_py()
    return found.rejected["reason"][0].as_py(), found.rejected["detail"][0].as_py()


def grown(pool: pa.Table, round_number: int, plan: Any, say: Any) -> Pool:
    requests = asked(pool, round_number, plan)
    return read_evolutions(pool, round_number, plan, LIMITS, requests, replies(pool, requests, say))


def longer(row: dict[str, Any], request: Request) -> Any:
    return response(request, f"{row['text']} Mention the number {row['round'] + 1}.")


def test_a_child_names_its_parent_and_what_was_done() -> None:
    pool = seeds(PARENT)
    child = grown(pool, 1, evolution(), longer).instructions.to_pylist()[0]
    parent = pool.to_pylist()[0]
    assert child["parent_id"] == child["root_id"] == parent["instruction_id"]
    assert (child["round"], child["generator"]) == (1, "maker")
    assert child["operation"] == choose_rewriting(parent["instruction_id"], 1, evolution()).operation
    assert child["request_id"] in {row["custom_id"] for row in asked(pool, 1, evolution()).values()}


def test_the_answer_to_an_evolved_question_is_not_known() -> None:
    pool = seeds(PARENT)
    pool = pool.set_column(pool.column_names.index("gold"), "gold", pa.array(["7"]))
    assert grown(pool, 1, evolution(), longer).instructions["gold"].to_pylist() == [None]


def test_a_round_rewrites_the_youngest_of_every_lineage() -> None:
    pool, plan = seeds(PARENT, "Name three uses of a paper clip."), evolution()
    for number in (1, 2, 3):
        new = grown(pool, number, plan, longer)
        assert set(new.instructions["parent_id"].to_pylist()) == set(
            parents(pool)["instruction_id"].to_pylist()
        )
        pool = pa.concat_tables([pool, new.instructions])
    assert Counter(pool["round"].to_pylist()) == {0: 2, 1: 2, 2: 2, 3: 2}
    assert len(set(pool["root_id"].to_pylist())) == 2
    assert conform(pool, INSTRUCTIONS).num_rows == 8
    last = [row["text"] for row in pool.to_pylist() if row["round"] == 3]
    assert all("Mention the number 1. Mention the number 2. Mention the number 3." in text for text in last)


def test_a_failed_lineage_is_tried_again_with_another_request() -> None:
    pool, plan = seeds(PARENT), evolution(operations=["deepen"])
    first = grown(pool, 1, plan, lambda _, request: response(request, ""))
    assert first.instructions.num_rows == 0
    one, two = (asked(pool, number, plan) for number in (1, 2))
    assert list(one) == list(two)
    assert {row["custom_id"] for row in one.values()}.isdisjoint(row["custom_id"] for row in two.values())


def test_a_pool_that_is_none_of_lineages_is_refused() -> None:
    pool = seeds(PARENT, "Name three uses of a paper clip.")
    twice = pool.set_column(pool.column_names.index("root_id"), "root_id", pa.array(["x", "x"]))
    with pytest.raises(UserError, match="two instructions of one round"):
        parents(twice)


many = st.lists(st.integers(0, 10**6), min_size=2, max_size=12, unique=True)


@settings(max_examples=30, deadline=None)
@given(many, st.data())
def test_what_is_asked_depends_neither_on_the_order_nor_on_the_size_of_the_pool(
    numbers: list[int], data: st.DataObject
) -> None:
    plan = evolution("maker", "baker")
    pool = seeds(*(f"Explain the number {number} to a child." for number in numbers))
    order = data.draw(st.permutations(range(pool.num_rows)))
    part = pool.take(order).slice(0, data.draw(st.integers(1, pool.num_rows)))
    whole, fewer = asked(pool, 1, plan), asked(part, 1, plan)
    assert fewer == {name: whole[name] for name in fewer}
    assert len(fewer) == part.num_rows
    other = evolution("baker", "maker", operations=list(OPERATIONS[::-1]))
    assert asked(pool.take(order), 1, other) == whole


def test_operations_and_generators_are_spread_by_seed() -> None:
    plan = evolution("a", "b", "c")
    drawn = [choose_rewriting(f"x-{number}", 1, plan) for number in range(1800)]
    for counts, kinds in (
        (Counter(one.operation for one in drawn), 6),
        (Counter(one.generator for one in drawn), 3),
    ):
        assert len(counts) == kinds
        expected = 1800 / kinds
        assert sum((n - expected) ** 2 / expected for n in counts.values()) < 25
    assert drawn != [choose_rewriting(f"x-{number}", 2, plan) for number in range(1800)]
    assert drawn != [
        choose_rewriting(f"x-{number}", 1, evolution("a", "b", "c", seed=1)) for number in range(1800)
    ]


def test_each_generator_is_asked_for_its_own_share() -> None:
    plan = evolution("a", "b")
    pool = seeds(*(f"Explain the number {number} to a child." for number in range(20)))
    prompt = load_prompt(PROMPTS / "evolve" / "v1.md")
    shares = [evolution_requests(pool, 1, plan, speaker(name), prompt) for name in "ab"]
    assert all(shares)
    assert not set(shares[0]) & set(shares[1])
    assert len(shares[0]) + len(shares[1]) == 20


def test_every_operation_has_its_words_in_the_prompt() -> None:
    prompt = load_prompt(PROMPTS / "evolve" / "v1.md")
    last = [prompt.render(text=PARENT, scenario="x", operation=one)[-1]["content"] for one in OPERATIONS]
    assert len(set(last)) == len(OPERATIONS)
    assert all(text.startswith(f"Task: {PARENT}\n") and len(text.splitlines()) == 2 for text in last)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (CHILD, CHILD),
        (f"  {CHILD}\n", CHILD),
        (f'"{CHILD}"', CHILD),
        (f"New task: {CHILD}", CHILD),
        (f"**Task:** {CHILD}", CHILD),
        (f"```text\n{CHILD}\n```", CHILD),
        (f"<think>They want a change.</think>{CHILD}", CHILD),
        (f'{CHILD} Use the words "ice" and "iron"', f'{CHILD} Use the words "ice" and "iron"'),
    ],
)
def test_a_good_reply_is_taken_without_what_stands_around_it(reply: str, text: str) -> None:
    assert outcome(reply) == ("ok", text)


@pytest.mark.parametrize(
    ("reply", "fields", "reason"),
    [
        ("", {}, "empty"),
        ("?!", {}, "empty"),
        ("<think>no end", {}, "empty"),
        ("I'm sorry, but I can't help with that.", {}, "refused"),
        ("", {"finish": "content_filter"}, "refused"),
        (CHILD, {"finish": "length"}, "truncated"),
        (CHILD, {"error": "server"}, "error"),
        ("", {"error": "context_length"}, "context_exceeded"),
        (PARENT, {}, "copied"),
        ("explain to a child, why ice floats on the water of a pond", {}, "copied"),
        ("Why ice floats on the water of a pond.", {}, "copied"),
        ("Why does ice float?", {}, "too_short"),
        (CHILD + " and so on" * 80, {}, "too_long"),
        (f"The new task is about ice and iron and why both behave as they do. {CHILD}", {}, "prompt_leak"),
        (f"Based on the given instruction: {CHILD}", {}, "prompt_leak"),
        (f"Rewritten version of it. {CHILD}", {}, "prompt_leak"),
        (f"Sure! {CHILD}", {}, "prompt_leak"),
        (f"Here is one that is harder: {CHILD}", {}, "prompt_leak"),
        (f"{CHILD} Let me know what you think.", {}, "prompt_leak"),
        (
            "Write a short poem about the sea in which every line ends with a word of two syllables.",
            {},
            "prompt_leak",
        ),
        (
            "A person, a place, a time or a thing, and a person, a place, a time or a thing.",
            {},
            "prompt_leak",
        ),
    ],
)
def test_a_failed_evolution_has_its_reason(reply: str, fields: dict[str, Any], reason: str) -> None:
    assert outcome(reply, **fields)[0] == reason


def test_words_that_the_parent_has_are_no_leak() -> None:
    parent = "Write a note that explains the new task to a colleague who joined a week ago."
    assert outcome(parent + " Say who can help.", parent)[0] == "ok"
    poem = "Write a short poem about the sea in which every line ends with a word of one syllable, please."
    assert outcome(poem + " Rhyme it.", poem)[0] == "ok"


def test_a_child_that_is_there_already_is_a_duplicate() -> None:
    pool, plan = seeds(PARENT, CHILD), evolution()
    said = {PARENT: CHILD.upper(), CHILD: PARENT}
    new = grown(pool, 1, plan, lambda row, request: response(request, said[row["text"]]))
    assert new.instructions.num_rows == 0
    assert sorted(new.rejected["reason"].to_pylist()) == ["copied", "duplicate"]
    same = grown(
        seeds(PARENT, "Tell a child of four how ice and iron differ in water."), 1, plan,
        lambda _, request: response(request, CHILD),
    )  # fmt: skip
    assert (same.instructions.num_rows, same.rejected["reason"].to_pylist()) == (1, ["duplicate"])
    assert same.rejected["detail"][0].as_py() == f"same as {same.instructions['instruction_id'][0].as_py()}"


def test_failed_evolutions_keep_their_contract_and_what_was_said() -> None:
    pool = seeds(PARENT, "Name three uses of a paper clip.")
    new = grown(pool, 2, evolution(), lambda row, request: response(request, "Why?"))
    table = conform(new.rejected, INSTRUCTIONS_REJECTED)
    assert table["raw"].to_pylist() == ["Why?"] * 2
    assert (
        table["origin"].to_pylist()
        == table["parent_id"].to_pylist()
        == sorted(pool["instruction_id"].to_pylist())
    )
    assert table["round"].to_pylist() == [2, 2]


@settings(max_examples=60, deadline=None)
@given(
    reply=st.text(max_size=80) | st.sampled_from([PARENT, CHILD]), finish=st.sampled_from(["stop", "length"])
)
def test_every_reply_is_taken_or_rejected(reply: str, finish: str) -> None:
    reason, _ = outcome(reply.encode("utf-8", "replace").decode(), finish=finish)
    assert reason in {"ok", "empty", "refused", "truncated", "copied", "too_short", "too_long", "prompt_leak"}


def near(threshold: float, new_order: list[int] | None = None) -> Pool:
    """Three children of three seeds: one as its parent, one near another child, one on its own."""
    pool = seeds(*(f"Explain the number {number} to a child." for number in (1, 2, 3)))
    new = grown(pool, 1, evolution(), longer).instructions
    old_vectors = np.eye(6, dtype=np.float32)[: pool.num_rows]
    new_vectors = np.eye(6, dtype=np.float32)[3:]
    ids = new["instruction_id"].to_pylist()
    first = ids.index(min(ids))
    parent = pool["instruction_id"].to_pylist().index(new["parent_id"][first].as_py())
    new_vectors[first] = 0.96 * old_vectors[parent] + np.sqrt(1 - 0.96**2) * new_vectors[first]
    second, third = (ids.index(name) for name in sorted(ids)[1:])
    new_vectors[third] = 0.9 * new_vectors[second] + np.sqrt(1 - 0.81) * new_vectors[third]
    order = new_order or [0, 1, 2]
    return drop_near_duplicates(pool, new.take(order), old_vectors, new_vectors[order], threshold)


def test_near_duplicates_of_the_pool_and_of_each_other_go() -> None:
    assert near(0.97).rejected.num_rows == 0
    found = near(0.95)
    assert found.rejected["reason"].to_pylist() == ["near_duplicate"]
    assert "cosine 0.960" in found.rejected["detail"][0].as_py()
    assert near(0.85).instructions.num_rows == 1
    assert conform(near(0.85).rejected, INSTRUCTIONS_REJECTED).num_rows == 2


@pytest.mark.parametrize("order", [[2, 1, 0], [1, 2, 0], [0, 2, 1]])
def test_which_of_two_near_ones_stays_does_not_depend_on_the_order(order: list[int]) -> None:
    assert near(0.85, order).instructions.equals(near(0.85).instructions)
    assert near(0.85, order).rejected.equals(near(0.85).rejected)


def test_another_scenario_is_never_near() -> None:
    pool = seeds(PARENT)
    new = grown(pool, 1, evolution(), longer).instructions
    moved = new.set_column(new.column_names.index("scenario"), "scenario", pa.array(["code"]))
    one = np.ones((1, 1), dtype=np.float32)
    assert drop_near_duplicates(pool, new, one, one, 0.9).instructions.num_rows == 0
    assert drop_near_duplicates(pool, moved, one, one, 0.9).instructions.num_rows == 1
    with pytest.raises(ValueError, match="2 and 1 vectors for 1 and 1"):
        drop_near_duplicates(pool, new, np.ones((2, 1), dtype=np.float32), one, 0.9)
