"""What happened in a league, in one long table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from teaching_tables import (
    answer,
    answers,
    bands,
    exchange,
    guide,
    guides,
    item,
    items,
    revision,
    revisions,
)

from magister.contracts.schemas import TRAJECTORIES
from magister.provenance import conform
from magister.teaching.metrics import check_identities, teaching_metrics
from magister.teaching.trajectories import item_facts, teaching_trajectories, zero_shot_table

ITEMS = [
    item("i1"),
    item("i2", options=["a", "b", "c"], dataset="e", domain="l"),
    item("i3", cluster_id="i1"),
]
STUDENTS = ("sam", "zoe")
EXCHANGES = (("taught", "tea"), ("taught", "tom"), ("sham", "sham"))
ROUNDS = 2


def league(**changes: Any) -> pa.Table:
    """Two students, two teachers and an arm on three items over two rounds; `changes` replaces a table."""
    places = [
        exchange(student, row["item_id"], number, teacher, arm)
        for arm, teacher in EXCHANGES
        for student in STUDENTS
        for row in ITEMS
        for number in range(1, ROUNDS + 1)
    ]
    tables = {
        "items": items(*ITEMS),
        "bands": bands(("i1", 1), ("i3", 5)),
        "blind": answers(
            *[answer(name, row["item_id"], "Answer: London") for name in STUDENTS for row in ITEMS]
        ),
        "guides": guides(*map(guide, places)),
        "revisions": revisions(*[revision(place, "Answer: Paris") for place in places]),
    }
    return teaching_trajectories("main", **(tables | changes))


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = conform(league(), TRAJECTORIES).to_pylist()
    return found


def test_every_cell_is_there_once(rows: list[dict[str, Any]]) -> None:
    places = [(r["arm"], r["teacher"], r["student"], r["item_id"], r["round"]) for r in rows]
    expected = {
        (arm, teacher, student, row["item_id"], number)
        for arm, teacher in EXCHANGES
        for student in STUDENTS
        for row in ITEMS
        for number in range(ROUNDS + 1)
    }
    assert len(places) == len(expected)
    assert set(places) == expected
    assert {row["league"] for row in rows} == {"main"}


def test_every_exchange_starts_from_the_same_blind_answer(rows: list[dict[str, Any]]) -> None:
    start = [row for row in rows if row["round"] == 0]
    assert {(row["answer"], row["correct"], row["request_id"]) for row in start} == {("A", False, "q0")}
    assert {(row["verdict"], row["guide_status"], row["leak"]) for row in start} == {
        ("none", "not_asked", "none")
    }
    assert {row["guide_request_id"] for row in start} == {None}


def test_later_rounds_carry_what_was_said_and_what_was_answered(rows: list[dict[str, Any]]) -> None:
    later = [row for row in rows if row["round"] > 0]
    assert {(r["verdict"], r["guide_status"], r["guide_request_id"], r["request_id"]) for r in later} == {
        ("wrong", "ok", "g", "r")
    }
    assert {(row["answer"], row["correct"]) for row in later} == {("B", True)}


def test_rows_know_what_the_metrics_slice_by(rows: list[dict[str, Any]]) -> None:
    facts = {
        (r["item_id"], r["dataset"], r["domain"], r["cluster_id"], r["n_options"], r["band"]) for r in rows
    }
    assert facts == {
        ("i1", "d", "k", "i1", 4, 1),
        ("i2", "e", "l", "i2", 3, None),
        ("i3", "d", "k", "i1", 4, 5),
    }


def test_without_a_ladder_no_item_has_a_band() -> None:
    assert set(league(bands=bands())["band"].to_pylist()) == {None}
    assert item_facts(items(*ITEMS), bands())["band"].null_count == len(ITEMS)


def test_the_metrics_take_it_as_it_is() -> None:
    table = league()
    own = zero_shot_table(
        "main",
        items(*ITEMS),
        bands(),
        answers(*[answer(t, r["item_id"], "x") for t in ("tea", "tom") for r in ITEMS]),
    )
    metrics = teaching_metrics(table, own, policy="wrong", resamples=200, level=0.95, seed=1).to_pylist()
    found = {
        row["teacher"]: row["value"]
        for row in metrics
        if (row["metric"], row["slice_kind"], row["round"]) == ("CA", "overall", ROUNDS)
    }
    assert found == {"tea": 1.0, "tom": 1.0, "sham": 1.0}
    assert max(identity.difference for identity in check_identities(table)) <= 1e-12


def test_a_failed_cell_stays_an_error_and_the_metrics_drop_it() -> None:
    lost = exchange("sam", "i1", 1)
    again = exchange("sam", "i1", 2)
    rest = [row for row in league().to_pylist() if row["round"] > 0]

    def is_lost(row: dict[str, Any]) -> bool:
        return all(row[name] == value for name, value in lost.items() if name != "round")

    places = [{name: row[name] for name in lost} for row in rest if not is_lost(row)]
    told = [
        *map(guide, places),
        guide(lost, "none", "", status="error"),
        guide(again, "none", "", status="error"),
    ]
    gone = {"status": "error", "correct": None, "answer": None, "request_id": None, "asked": False}
    table = league(
        guides=guides(*told),
        revisions=revisions(
            *[revision(place, "Answer: Paris") for place in places],
            revision(lost, "", **gone),
            revision(again, "", **gone),
        ),
    )
    failed = [row for row in conform(table, TRAJECTORIES).to_pylist() if row["status"] == "error"]
    assert [(row["round"], row["correct"], row["guide_status"]) for row in failed] == [
        (1, None, "error"),
        (2, None, "error"),
    ]
    metrics = teaching_metrics(table, None, policy="wrong", resamples=200, level=0.95, seed=1).to_pylist()
    (row,) = [
        row
        for row in metrics
        if (row["teacher"], row["metric"], row["slice_kind"], row["round"])
        == ("tea", "CA", "overall", ROUNDS)
    ]
    assert (row["value"], row["n_dropped"], row["n_cells"]) == (1.0, 1, 5)
    assert row["n_error"] > 0


def test_a_revision_without_a_guide_is_refused() -> None:
    with pytest.raises(ValueError, match=r"1 revision.s. without a guide"):
        league(
            guides=guides(guide(exchange("sam", "i1", 1))),
            revisions=revisions(
                revision(exchange("sam", "i1", 1), "x"), revision(exchange("sam", "i1", 2), "x")
            ),
        )


def test_a_teachers_own_answers_get_the_same_facts() -> None:
    own = zero_shot_table(
        "main", items(*ITEMS), bands(("i1", 2)), answers(answer("tea", "i1", "x", correct=True))
    )
    (row,) = own.to_pylist()
    assert (row["teacher"], row["league"], row["dataset"], row["band"], row["n_options"], row["correct"]) == (
        "tea", "main", "d", 2, 4, True,
    )  # fmt: skip
