"""A whole scripted arena: a known ranking comes out, and every bias of a judge shows as what it is."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations

import pyarrow as pa
import pytest
from vote_tables import Row, answered, instructions, judge_prompt, pick, responses, selections, speaker, table

from magister.arena.gallery import gallery
from magister.arena.judge import Judged, judge_requests, parse_judge
from magister.arena.keys import Keyed, key_votes
from magister.arena.sheets import Sheets, annotation_sheet

# Accuracy and further words of the responders: the weakest talks most.
MODELS = {"strong": (0.95, 0), "middle": (0.6, 10), "weak": (0.2, 30)}
IDS = [f"i{number:03}" for number in range(150)]


@cache
def arena() -> tuple[pa.Table, pa.Table, Sheets]:
    """Instructions, what the scripted models respond, and the sheet of all pairs on all instructions."""
    pool = instructions(*IDS)
    said = {}
    for name, (accuracy, words) in MODELS.items():
        who = speaker(name, "responder", accuracy=accuracy, words=words, salt=name)
        for row in pool.to_pylist():
            request = who.request([{"role": "user", "content": row["text"]}], 32)
            said[name, row["instruction_id"]] = answered(who, [request])[request["custom_id"]].text
    replies = responses(said)
    chosen = selections(*((a, b, name) for a, b in combinations(sorted(MODELS), 2) for name in IDS))
    return pool, replies, annotation_sheet(chosen, pool, replies, seed=5)


@cache
def keyed() -> Keyed:
    pool, replies, made = arena()
    return key_votes(made.key, pool, replies)


@cache
def judged(mode: str, q: float = 1.0) -> Judged:
    made = arena()[2]
    who = speaker("jim", "pair_judge", mode=mode, q=q)
    asked = judge_requests(made.sheet, made.key, who, judge_prompt(), max_tokens=8)
    return parse_judge(asked.asked, answered(who, asked.requests), made.key)


def score(votes: pa.Table) -> dict[str, float]:
    """Wins and half the ties of each model, per comparison."""
    points = dict.fromkeys(MODELS, 0.0)
    for row in votes.to_pylist():
        for side in "ab":
            points[row[f"model_{side}"]] += (
                1 if row["winner"] == side else 0.5 if row["winner"] in ("tie", "both_bad") else 0
            )
    return {name: total / (2 * len(IDS)) for name, total in points.items()}


def ranking(votes: pa.Table) -> list[str]:
    points = score(votes)
    return sorted(points, key=lambda name: -points[name])


def near(observed: float, expected: float, n: int) -> bool:
    return abs(observed - expected) < 4 * math.sqrt(expected * (1 - expected) / n) + 1e-9


def told(row: Row) -> tuple[float, str]:
    return row["value"], row["reason"]


def test_the_answer_key_recovers_the_known_ranking() -> None:
    found = keyed()
    assert ranking(found.votes) == ["strong", "middle", "weak"]
    # Right beats wrong; two alike share the point.
    for name, (p, _) in MODELS.items():
        others = [q for other, (q, _) in MODELS.items() if other != name]
        expected = sum(p * (1 - q) + (p * q + (1 - p) * (1 - q)) / 2 for q in others) / 2
        assert near(score(found.votes)[name], expected, len(IDS))
    assert (found.rejected.num_rows, found.without_gold) == (0, 0)


def test_a_perfect_judge_says_what_the_key_says() -> None:
    by_key = {row["comparison_id"]: row["winner"] for row in keyed().votes.to_pylist()}
    for row in judged("accurate").votes.to_pylist():
        assert row["winner"] == by_key[row["comparison_id"]].replace("both_bad", "tie")
        assert not row["flipped"]


@pytest.mark.parametrize("q", [0.6, 0.9])
def test_an_accurate_judge_flips_as_often_as_its_accuracy_says(q: float) -> None:
    found = judged("accurate", q)
    decided = keyed().votes.to_pylist()
    decisive = {row["comparison_id"]: row["winner"] for row in decided if row["winner"] in ("a", "b")}
    rows = [row for row in found.votes.to_pylist() if row["comparison_id"] in decisive]
    assert near(sum(row["flipped"] for row in rows) / len(rows), 2 * q * (1 - q), len(rows))
    right = sum(row["winner"] == decisive[row["comparison_id"]] for row in rows)
    assert near(right / len(rows), q**2, len(rows))
    assert ranking(found.votes) == ["strong", "middle", "weak"]
    # Wrong in either place alike: no position bias.
    row = pick(table(found.votes), "first_share", "judge", "jim")
    assert row["ci_low"] < 0.5 < row["ci_high"]


def test_a_judge_that_takes_the_first_place_ranks_nobody_and_is_found_out() -> None:
    found = judged("first").votes
    stats = table(found)
    assert pick(stats, "flip_share", "judge", "jim")["value"] == 1
    assert pick(stats, "first_in_both", "judge", "jim")["value"] == 1
    assert told(pick(stats, "first_share", "judge", "jim")) == (1, "the side shown first is favoured")
    assert score(found) == dict.fromkeys(MODELS, 0.5)


def test_a_judge_that_likes_length_turns_the_ranking_round_and_is_found_out() -> None:
    found = judged("longer").votes
    assert ranking(found) == ["weak", "middle", "strong"]
    stats = table(pa.concat_tables([found, keyed().votes]))
    assert told(pick(stats, "longer_share", "judge", "jim")) == (1, "the longer response is favoured")
    # The key shows that length is not what makes a response right here.
    assert pick(stats, "longer_share", "key", "key")["ci_high"] < 0.5
    assert pick(stats, "flip_share", "judge", "jim")["value"] == 0


def test_a_judge_that_cannot_be_read_casts_no_vote_and_every_reply_is_listed() -> None:
    found = judged("unreadable")
    assert found.votes.num_rows == 0
    assert found.rejected["reason"].to_pylist() == ["invalid"] * (2 * 3 * len(IDS))


def test_the_gallery_of_the_weak_model_holds_its_wrong_answers() -> None:
    _, _, made = arena()
    found = gallery(keyed().votes, made.sheet, made.key)
    worst = [row for row in found.to_pylist() if row["model"] == "weak"]
    assert [row["rank"] for row in worst] == list(range(1, len(worst) + 1))
    assert len(worst) > len([row for row in found.to_pylist() if row["model"] == "strong"])
    assert all(row["votes_against"] > row["votes_for"] for row in worst)
