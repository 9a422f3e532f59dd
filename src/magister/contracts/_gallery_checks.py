"""What the gallery of an arena promises: losses only, as they were voted and shown, the worst first."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._arena_plan import PAIR, by_side, with_pair
from magister.contracts._columns import Mask, all_agree, numbers, positions, row_codes, same, taken, true
from magister.contracts._estimates import Floats
from magister.contracts.arena_tables import ANNOTATOR_KINDS
from magister.contracts.gate import Expectation, RowCheck, RowCount

_FACTS = ("scenario", "instruction_id", "arm")
_COUNTS = ("votes_against", "votes_for", "ties", "both_bad")
_TEXTS = ("instruction", "response", "opponent_response")


def _decided(votes: pa.Table, sheet: pa.Table, key: pa.Table) -> pa.Table:
    """Comparisons with more votes for one response than for the other: who lost, by how much, and what was read."""
    ids = votes.select(["comparison_id"]).group_by(["comparison_id"], use_threads=False).aggregate([])
    at = positions(votes, ids, ["comparison_id"])
    a, b, ties, both_bad = (
        np.bincount(at[true(pc.equal(votes["winner"], word))], minlength=ids.num_rows)
        for word in ("a", "b", "tie", "both_bad")
    )
    place = positions(ids, key, ["comparison_id"])
    paired = with_pair(key)
    texts = taken(
        sheet, positions(key, sheet, ["comparison_id"]), ("instruction", "response_1", "response_2")
    )
    sides = by_side(
        texts.append_column("model_1", key["model_1"]).append_column("model_2", key["model_2"]), "response"
    )
    paired = paired.append_column("instruction", texts["instruction"])
    for name, column in zip("ab", sides, strict=True):
        paired = paired.append_column(f"response_{name}", column)
    of = taken(paired, place, (*_FACTS, *PAIR, "instruction", "response_a", "response_b"))
    a_lost = pa.array(a < b)
    columns = {"comparison_id": ids["comparison_id"]}
    columns |= {name: of[name] for name in (*_FACTS, "instruction")}
    for name, lost, won in (
        ("model", "model_a", "model_b"),
        ("opponent", "model_b", "model_a"),
        ("response", "response_a", "response_b"),
        ("opponent_response", "response_b", "response_a"),
    ):
        columns[name] = pc.if_else(a_lost, of[lost], of[won])
    counts = (np.maximum(a, b), np.minimum(a, b), ties, both_bad)
    columns |= {name: pa.array(count, pa.int32()) for name, count in zip(_COUNTS, counts, strict=True)}
    columns["kinds"] = _kinds(votes, at, ids.num_rows)
    return pa.table(columns).filter(pa.array(a != b))


def _kinds(votes: pa.Table, at: np.ndarray, size: int) -> pa.Array:
    """The kinds of annotators of each comparison as one text, in the order of their names."""
    words: pa.Array = pa.array([""] * size, pa.string())
    for kind in sorted(ANNOTATOR_KINDS):
        there = np.bincount(at[true(pc.equal(votes["annotator_kind"], kind))], minlength=size) > 0
        words = pc.binary_join_element_wise(words, pc.if_else(pa.array(there), f"{kind},", ""), "")
    return words


def _ranks(rows: pa.Table) -> Floats:
    """Rank of each loss of a model: by surplus, by its share of all votes, by comparison id."""
    against, won, ties, both_bad = (numbers(rows[name]) for name in _COUNTS)
    surplus = against - won
    with np.errstate(divide="ignore", invalid="ignore"):
        share = surplus / (against + won + ties + both_bad)
    model = row_codes(rows, ["model"])
    order = np.lexsort((row_codes(rows, ["comparison_id"]), -share, -surplus, model))
    starts = np.flatnonzero(np.diff(model[order], prepend=-1))
    number = np.arange(order.size) - np.repeat(starts, np.diff(np.append(starts, order.size))) + 1
    rank = np.empty(rows.num_rows)
    rank[order] = number
    return rank


def gallery_checks(rows: pa.Table, votes: pa.Table, sheet: pa.Table, key: pa.Table) -> list[Expectation]:
    """Checks on GALLERY.

    Args:
        rows: the losses of all models.
        votes: VOTES.
        sheet: SHEET.
        key: SHEET_KEY.
    """
    decided = _decided(votes, sheet, key)
    place = positions(rows, decided, ("comparison_id", "model"))
    lost = place >= 0
    names = ("opponent", *_FACTS, *_COUNTS, *_TEXTS)
    found = taken(decided, place, (*names, "kinds"))
    told = pc.binary_join_element_wise(pc.binary_join(rows["annotator_kinds"], ","), "", ",")

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("gallery", name, columns, expected, passed)

    def as_found(columns: tuple[str, ...]) -> Mask:
        return ~lost | all_agree(rows.select(columns), found.select(columns))

    return [
        RowCount("gallery", decided.num_rows, "comparisons that the votes decide"),
        check(
            "lost",
            ("model", "comparison_id"),
            "a comparison with more votes against the model than for it",
            lost,
        ),
        check(
            "comparison_facts_kept",
            ("opponent", *_FACTS),
            "as in the key of the sheet",
            as_found(("opponent", *_FACTS)),
        ),
        check("votes_counted", _COUNTS, "the votes of the comparison, counted again", as_found(_COUNTS)),
        check("texts_as_shown", _TEXTS, "as on the sheet", as_found(_TEXTS)),
        check(
            "kinds_of_votes",
            ("annotator_kinds",),
            "the kinds of annotators who voted on it",
            ~lost | same(told, found["kinds"]),
        ),
        check(
            "ranks_by_surplus",
            ("model", "rank", "votes_against", "votes_for"),
            "1, 2, ... by the surplus of votes against the model",
            numbers(rows["rank"]) == _ranks(rows),
        ),
    ]
