"""The arena board: ratings of all leagues, and what stands beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from magister.contracts.arena_tables import ANNOTATOR_KINDS, ARENA_BOARD, WINNERS

Row = dict[str, Any]


@dataclass(frozen=True)
class LeagueRecords:
    """What is known of one league.

    Attributes:
        notes: sentences that belong to the ratings, by whose votes they are.
        lift: SELECTION_LIFT table.
        agreement: ARENA_AGREEMENT table.
        votes: VOTES table.
        rejected: VOTES_REJECTED table.
        n_comparisons: comparisons on the sheet.
        missing: VOTES_REJECTED table of the comparisons that are not on the sheet.
    """

    notes: Mapping[str, Sequence[str]]
    lift: pa.Table
    agreement: pa.Table
    votes: pa.Table
    rejected: pa.Table
    n_comparisons: int
    missing: pa.Table


def arena_board(leagues: Mapping[str, pa.Table]) -> pa.Table:
    """Put the ratings of all leagues into one table.

    Args:
        leagues: RATINGS tables by league.

    Returns:
        ARENA_BOARD table, sorted by its key.
    """
    tables = [
        ratings.add_column(
            0, ARENA_BOARD.schema.field("league"), pa.array([name] * ratings.num_rows, pa.string())
        )
        for name, ratings in leagues.items()
    ]
    board = pa.concat_tables(tables) if tables else ARENA_BOARD.schema.empty_table()
    return board.cast(ARENA_BOARD.schema).sort_by([(name, "ascending") for name in ARENA_BOARD.key])


def vote_counts(records: LeagueRecords) -> list[Row]:
    """Who voted how.

    Returns:
        A row per annotator, in the order of kinds and names: kind, annotator, n, a count for each winner, flipped
        (votes whose two orders contradict) and rejected (comparisons without a vote, by reason).
    """
    votes: dict[tuple[str, str], Counter[str]] = {}
    for row in records.votes.select(["annotator_kind", "annotator", "winner", "flipped"]).to_pylist():
        counts = votes.setdefault((row["annotator_kind"], row["annotator"]), Counter())
        counts[row["winner"]] += 1
        counts["flipped"] += bool(row["flipped"])
    refused: dict[str, Counter[str]] = {}
    for row in records.rejected.select(["annotator", "source", "reason"]).to_pylist():
        refused.setdefault(row["annotator"] or row["source"], Counter())[row["reason"]] += 1
    rows = []
    for kind, annotator in sorted(votes, key=lambda who: (ANNOTATOR_KINDS.index(who[0]), who[1])):
        counts = votes[kind, annotator]
        rows.append(
            {"kind": kind, "annotator": annotator, "n": sum(counts[winner] for winner in WINNERS)}
            | {winner: counts[winner] for winner in WINNERS}
            | {
                "flipped": counts["flipped"],
                "rejected": dict(sorted(refused.pop(annotator, Counter()).items())),
            }
        )
    # Whoever gave no vote at all is listed too.
    for annotator in sorted(refused):
        rows.append(
            {"kind": "", "annotator": annotator, "n": 0}
            | dict.fromkeys(WINNERS, 0)
            | {"flipped": 0, "rejected": dict(sorted(refused[annotator].items()))}
        )
    return rows


def unresolved(rows: Sequence[Row]) -> list[list[str]]:
    """Models that the votes do not tell apart: those that share a letter, the best first.

    Args:
        rows: of one league, scope, kind of annotators and system.

    Returns:
        Groups of two or more.
    """
    letters = sorted({letter for row in rows for letter in row["group"] or ""})
    groups = [[row["model"] for row in rows if letter in (row["group"] or "")] for letter in letters]
    return [group for group in groups if len(group) > 1]


def board_rows(board: pa.Table, league: str, scope: str, annotators: str, system: str) -> list[Row]:
    """Rows of one part of the board, the best first; models without a rating last."""
    wanted = {"league": league, "scope": scope, "annotators": annotators, "system": system}
    rows = [row for row in board.to_pylist() if all(row[name] == value for name, value in wanted.items())]
    return sorted(
        rows, key=lambda row: (row["component"], row["rank"] is None, row["rank"] or 0, row["model"])
    )


_BIAS = ("first_share", "flip_share", "longer_share", "decisive_share")
_AGREEMENT = ("alpha", "pairwise_agreement", "agreement_with_people", "kappa_with_people")


def beside(records: LeagueRecords) -> dict[str, Any]:
    """What belongs beside the ratings of a league, as a document.

    Returns:
        comparisons (on the sheet), missing (not on it, by reason), votes (`vote_counts`), notes, and the rows of
        lift and agreement that the page shows.
    """
    shown = [
        row
        for row in records.agreement.to_pylist()
        if row["scope"] == "overall" and row["statistic"] in (*_BIAS, *_AGREEMENT, "self_named_share")
    ]
    return {
        "comparisons": records.n_comparisons,
        "missing": dict(sorted(Counter(records.missing["reason"].to_pylist()).items())),
        "votes": vote_counts(records),
        "notes": {name: list(notes) for name, notes in records.notes.items()},
        "lift": [row for row in records.lift.to_pylist() if row["scope"] == "overall"],
        "agreement": shown,
    }
