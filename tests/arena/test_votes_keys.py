"""The answer key: right beats wrong, and what is no answer is told apart from a wrong one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_tables import instructions, responses, selections, shuffled

from magister.arena.keys import Keyed, Policy, key_votes
from magister.arena.sheets import annotation_sheet
from magister.contracts.arena_tables import ARENA_VERDICTS, VOTES, VOTES_REJECTED
from magister.errors import UserError
from magister.provenance._artifact import conform

# The gold of the first instruction, `What is 0 + 2?`.
THOUGHT = "Let us think about what is asked here before we begin to count."
RIGHT, WRONG = "The answer is 2.", "The answer is 3."


def keyed(
    a: str | dict[str, Any], b: str | dict[str, Any], policy: Policy = "wrong", **changes: Any
) -> Keyed:
    pool, said = instructions("i1", **changes), responses({("a", "i1"): a, ("b", "i1"): b})
    made = annotation_sheet(selections(("a", "b", "i1")), pool, said, seed=0)
    found = key_votes(made.key, pool, said, policy=policy)
    contracts = (VOTES, VOTES_REJECTED, ARENA_VERDICTS)
    for table, contract in zip((found.votes, found.rejected, found.verdicts), contracts, strict=True):
        assert conform(table, contract).equals(table)
    return found


def winner(found: Keyed) -> str:
    (vote,) = found.votes.to_pylist()
    assert (vote["annotator"], vote["annotator_kind"], vote["first"]) == ("key", "key", "none")
    assert sorted(vote["request_ids"]) == ["r-a-i1", "r-b-i1"]
    return str(vote["winner"])


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (RIGHT, WRONG, "a"),
        (WRONG, RIGHT, "b"),
        (RIGHT, "2", "tie"),
        (WRONG, "7", "both_bad"),
        (RIGHT, "I first thought 3, but the answer is 4/2.", "tie"),
        ("It is not 2.", RIGHT, "b"),
    ],
)
def test_right_beats_wrong(a: str, b: str, expected: str) -> None:
    assert winner(keyed(a, b)) == expected


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ({"status": "refusal", "text": "I'm sorry, but I can't help with that."}, "refusal"),
        ("I'm sorry, but I can't help with that.", "refusal"),
        ({"status": "empty"}, "empty"),
        ({"status": "truncated", "text": "First we look at", "finish_reason": "length"}, "truncated"),
        ({"status": "context_exceeded", "error": "context_length"}, "context_exceeded"),
        (THOUGHT, "no_answer"),
    ],
)
def test_no_answer_is_wrong_or_no_vote_by_policy_and_its_status_is_kept(reply: Any, status: str) -> None:
    found = keyed(reply, RIGHT)
    assert winner(found) == "b"
    assert {row["model"]: (row["status"], row["correct"]) for row in found.verdicts.to_pylist()} == {
        "a": (status, False),
        "b": ("ok", True),
    }
    dropped = keyed(reply, RIGHT, policy="drop")
    assert dropped.votes.num_rows == 0
    assert [row["reason"] for row in dropped.rejected.to_pylist()] == [status]


def test_a_truncated_response_that_has_answered_counts() -> None:
    reply = {"status": "truncated", "text": "The answer is 2. Because one and", "finish_reason": "length"}
    assert winner(keyed(reply, WRONG)) == "a"


def test_a_failed_call_is_never_a_wrong_answer() -> None:
    pool = instructions("i1")
    fine, failed = (
        {("a", "i1"): RIGHT, ("b", "i1"): reply} for reply in (WRONG, {"status": "error", "error": "server"})
    )
    made = annotation_sheet(selections(("a", "b", "i1")), pool, responses(fine), seed=0)
    found = key_votes(made.key, pool, responses(failed))
    assert found.votes.num_rows == 0
    assert [row["reason"] for row in found.rejected.to_pylist()] == ["error"]
    assert {row["model"]: row["correct"] for row in found.verdicts.to_pylist()} == {"a": True, "b": None}


def test_an_instruction_without_gold_is_not_the_keys_business() -> None:
    found = keyed(RIGHT, WRONG, gold=None)
    assert (found.votes.num_rows, found.rejected.num_rows, found.verdicts.num_rows, found.without_gold) == (
        0,
        0,
        0,
        1,
    )


@given(st.integers(0, 50))
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    ids = ["i1", "i2", "i3"]
    pool, said = (
        instructions(*ids),
        responses({(m, i): RIGHT if m < "c" else THOUGHT for m in "abc" for i in ids}),
    )
    chosen = selections(*((a, b, i) for a, b in ("ab", "bc", "ac") for i in ids))
    key = annotation_sheet(chosen, pool, said, seed=0).key
    policies: tuple[Policy, Policy] = ("wrong", "drop")
    for policy in policies:
        plain = key_votes(key, pool, said, policy=policy)
        mixed = key_votes(shuffled(key, seed), shuffled(pool, seed), shuffled(said, seed), policy=policy)
        assert plain.votes.num_rows == (9 if policy == "wrong" else 3)
        assert all(one.equals(two) for one, two in zip(plain[:3], mixed[:3], strict=True))


def test_mistakes_are_named() -> None:
    with pytest.raises(UserError, match="policy 'lenient' is unknown; expected wrong or drop"):
        keyed(RIGHT, WRONG, policy="lenient")  # type: ignore[arg-type]
    pool, said = instructions("i1"), responses({("a", "i1"): RIGHT, ("b", "i1"): WRONG})
    key = annotation_sheet(selections(("a", "b", "i1")), pool, said, seed=0).key
    with pytest.raises(UserError, match=r"unknown instruction.*: i1"):
        key_votes(key, instructions("i2"), said)
