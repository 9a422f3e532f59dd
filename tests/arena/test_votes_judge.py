"""A judge sees both orders; what contradicts itself is a tie that is counted, what cannot be read is no vote."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_tables import answered, judge_prompt, league, response, shuffled, speaker

from magister.arena.judge import Asked, Judged, judge_requests, parse_judge
from magister.contracts.arena_tables import ARENA_ASKED, VOTES, VOTES_REJECTED
from magister.errors import UserError
from magister.llm import ScriptedReply
from magister.provenance._artifact import conform

IDS = [f"i{number}" for number in range(6)]
MADE = league(["a", "b"], IDS, lambda model, name: f"{model} says {name}")
JUDGE = speaker("judge", "echo")


def ask(**changes: object) -> Asked:
    return judge_requests(MADE.sheet, MADE.key, JUDGE, judge_prompt(), max_tokens=8, **changes)  # type: ignore[arg-type]


def judge(*replies: str | ScriptedReply) -> Judged:
    """The judge's two replies (order 1, order 2) about each comparison in turn, then silence."""
    asked = ask().asked
    said = [*replies, *["[[tie]]"] * (asked.num_rows - len(replies))]
    answers = {
        row["request_id"]: response(row["request_id"], reply)
        for row, reply in zip(asked.to_pylist(), said, strict=True)
    }
    found = parse_judge(asked, answers, MADE.key)
    assert conform(found.votes, VOTES).equals(found.votes)
    assert conform(found.rejected, VOTES_REJECTED).equals(found.rejected)
    return found


def first_vote(*replies: str) -> dict[str, object]:
    """The vote on the first comparison, its winner as place 1 or 2 of the sheet."""
    found = judge(*replies)
    hidden = MADE.key.to_pylist()[0]
    (vote,) = [row for row in found.votes.to_pylist() if row["comparison_id"] == hidden["comparison_id"]]
    place = {"a": 1, "b": 2} if hidden["model_1"] == "a" else {"a": 2, "b": 1}
    return vote | {"place": place.get(vote["winner"], vote["winner"])}


def test_every_comparison_is_asked_in_both_orders() -> None:
    made = ask()
    assert conform(made.asked, ARENA_ASKED).equals(made.asked)
    assert len(made.requests) == made.asked.num_rows == 12
    assert len({row["custom_id"] for row in made.requests}) == 12
    for row, one, two in zip(MADE.sheet.to_pylist(), made.requests[::2], made.requests[1::2], strict=True):
        texts = [request["body"]["messages"][-1]["content"] for request in (one, two)]
        shown = [
            f"Reply A:\n{row[f'response_{x}']}\n\nReply B:\n{row[f'response_{y}']}\n"
            for x, y in ((1, 2), (2, 1))
        ]
        assert all(part in text for part, text in zip(shown, texts, strict=True))


def test_the_prompt_holds_no_model_name() -> None:
    made = league(["vicuna", "koala"], IDS, lambda model, name: "four" if model == "koala" else "five")
    asked = judge_requests(made.sheet, made.key, JUDGE, judge_prompt(), max_tokens=8)
    assert not any("vicuna" in str(row) or "koala" in str(row) for row in asked.requests)


def test_a_judge_is_not_asked_about_its_own_responses_and_that_is_listed() -> None:
    made = league(["a", "b", "judge"], IDS[:2])
    asked = judge_requests(made.sheet, made.key, JUDGE, judge_prompt(), max_tokens=8)
    assert asked.asked.num_rows == 4
    assert Counter(asked.rejected["reason"].to_pylist()) == {"own_response": 4}
    every = judge_requests(made.sheet, made.key, JUDGE, judge_prompt(), max_tokens=8, exclude_self=False)
    assert (every.asked.num_rows, every.rejected.num_rows) == (12, 0)


@pytest.mark.parametrize(
    ("order_1", "order_2", "place", "flipped"),
    [
        ("A", "B", 1, False),
        ("B", "A", 2, False),
        ("tie", "tie", "tie", False),
        ("A", "A", "tie", True),
        ("B", "B", "tie", True),
        ("A", "tie", "tie", True),
        ("tie", "A", "tie", True),
    ],
)
def test_both_orders_together_say(order_1: str, order_2: str, place: object, flipped: bool) -> None:
    vote = first_vote(f"[[{order_1}]]", f"[[{order_2}]]")
    assert (vote["place"], vote["flipped"]) == (place, flipped)
    assert (vote["first"], vote["annotator_kind"], vote["annotator"]) == ("both", "judge", "judge")
    assert len(vote["request_ids"]) == 2  # type: ignore[arg-type]


def test_what_was_said_in_each_order_is_kept_by_model() -> None:
    for reply in ("A", "B"):
        vote = first_vote(f"[[{reply}]]", f"[[{reply}]]")
        told = (vote["winner_a_first"], vote["winner_b_first"])
        assert told == (("a", "b") if reply == "A" else ("b", "a"))


def test_a_graded_preference_is_its_better_side() -> None:
    assert first_vote("[[B>>A]]", "[[A>B]]")["place"] == 2


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (ScriptedReply("down", error="server"), "error"),
        (ScriptedReply("too long", error="context_length"), "context_exceeded"),
        (ScriptedReply("no", finish_reason="content_filter"), "refusal"),
        (ScriptedReply("Reply A is the", finish_reason="length"), "truncated"),
        ("I'm sorry, but I can't help with that.", "no_answer"),
        ("[[A]] or [[B]]", "ambiguous"),
        ("Both are fine.", "invalid"),
        ("", "no_answer"),
    ],
)
@pytest.mark.parametrize("place", [0, 1])
def test_an_order_that_cannot_be_read_leaves_no_vote_and_is_listed(
    reply: str | ScriptedReply, reason: str, place: int
) -> None:
    replies: list[str | ScriptedReply] = ["[[A]]", "[[B]]"]
    replies[place] = reply
    found = judge(*replies)
    assert found.votes.num_rows == len(IDS) - 1
    (row,) = found.rejected.to_pylist()
    assert (row["reason"], row["comparison_id"]) == (reason, MADE.key["comparison_id"][0].as_py())
    assert row["raw"] == (
        "" if isinstance(reply, ScriptedReply) and reply.error else getattr(reply, "text", reply)
    )
    assert row["request_id"] in {asked["request_id"] for asked in ask().asked.to_pylist()}


def test_a_verdict_before_the_limit_counts() -> None:
    found = judge(ScriptedReply("[[A]] because", finish_reason="length"), "[[B]]")
    assert found.rejected.num_rows == 0


@given(st.integers(0, 50))
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    mixed = judge_requests(
        shuffled(MADE.sheet, seed), shuffled(MADE.key, seed + 1), JUDGE, judge_prompt(), max_tokens=8
    )
    assert mixed.requests == ask().requests
    answers = {row["request_id"]: response(row["request_id"], "[[A]]") for row in mixed.asked.to_pylist()}
    plain, other = (
        parse_judge(asked, answers, key)
        for asked, key in ((ask().asked, MADE.key), (shuffled(mixed.asked, seed), shuffled(MADE.key, seed)))
    )
    assert plain.votes.equals(other.votes)


def test_equal_requests_are_asked_once() -> None:
    made = league(["a", "b", "c"], ["i1"], lambda model, name: "four")
    asked = judge_requests(made.sheet, made.key, JUDGE, judge_prompt(), max_tokens=8)
    assert asked.asked.num_rows == 6
    assert len(set(asked.asked["request_id"].to_pylist())) == 1
    answers = answered(speaker("judge", "pair_judge", mode="first"), asked.requests)
    assert parse_judge(asked.asked, answers, made.key).votes["flipped"].to_pylist() == [True] * 3


def test_sheet_and_key_of_different_runs_are_an_error() -> None:
    with pytest.raises(UserError, match="not of the same comparisons"):
        judge_requests(MADE.sheet.slice(1), MADE.key, JUDGE, judge_prompt(), max_tokens=8)


def test_an_empty_sheet_asks_nothing() -> None:
    empty = [table.slice(0, 0) for table in (MADE.sheet, MADE.key)]
    asked = judge_requests(*empty, JUDGE, judge_prompt(), max_tokens=8)
    assert (asked.requests, asked.asked.num_rows) == ([], 0)
    assert parse_judge(asked.asked, {}, empty[1]).votes.num_rows == 0


def test_every_outcome_of_two_orders_is_one_of_the_three() -> None:
    replies = [f"[[{word}]]" for pair in product(("A", "B", "tie"), repeat=2) for word in pair][
        : 2 * len(IDS)
    ]
    found = judge(*replies)
    assert isinstance(found.votes, pa.Table)
    assert Counter(found.votes["winner"].to_pylist()).keys() <= {"a", "b", "tie"}
