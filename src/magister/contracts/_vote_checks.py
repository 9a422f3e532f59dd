"""What the votes of an arena promise: each goes back to what was shown and asked, and no comparison is lost."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._arena_plan import KEY, PAIR, ArenaPlan, by_side, with_pair
from magister.contracts._columns import (
    Mask,
    absent,
    all_agree,
    constant_within,
    member,
    numbers,
    positions,
    row_codes,
    same,
    taken,
    true,
)
from magister.contracts._judgement_checks import is_own
from magister.contracts.gate import RowCheck

_KEPT = ("scenario", "instruction_id", "root_id", "arm", "random_probability")
_VOTER = ("annotator_kind", "annotator")
_ORDERS = ("winner_a_first", "winner_b_first")
_SEPARATOR = "\x1f"


def _kind(votes: pa.Table, kind: str) -> Mask:
    return true(pc.equal(votes["annotator_kind"], kind))


def _requests(votes: pa.Table, key: pa.Table, asked: pa.Table) -> Mask:
    """Whether every vote names the requests that it goes back to: both orders of a judge, both responses of the key."""
    found = pc.fill_null(pc.binary_join(votes["request_ids"], _SEPARATOR), "?")
    place = positions(votes, key, ["comparison_id"])
    responses = taken(key, place, ("request_id_1", "request_id_2"))
    orders = []
    for order in (1, 2):
        some = asked.filter(pc.equal(asked["order"], order))
        at = positions(votes, some, ("annotator", "comparison_id"))
        orders.append(taken(some, at, ("request_id",))["request_id"])
    of_key, of_judge = (
        pc.binary_join_element_wise(*columns, _SEPARATOR) for columns in (responses.columns, orders)
    )
    wanted = pc.if_else(
        pc.equal(votes["annotator_kind"], "judge"),
        of_judge,
        pc.if_else(pc.equal(votes["annotator_kind"], "key"), of_key, ""),
    )
    return same(found, wanted)


def vote_checks(
    votes: pa.Table, key: pa.Table, asked: pa.Table, verdicts: pa.Table, plan: ArenaPlan
) -> list[RowCheck]:
    """Checks on VOTES.

    Args:
        votes: the votes.
        key: SHEET_KEY.
        asked: ARENA_ASKED of all judges.
        verdicts: ARENA_VERDICTS.
        plan: what the league was to hold.
    """
    place = positions(votes, key, ["comparison_id"])
    known = place >= 0
    hidden = with_pair(key).append_column("first", _first(key))
    for name, column in zip(("length_a", "length_b"), by_side(key, "length"), strict=True):
        hidden = hidden.append_column(name, column)
    sides = (*PAIR, "length_a", "length_b")
    of = taken(hidden, place, (*_KEPT, *sides, "first", "model_1", "model_2"))
    person, judge, keyed = (_kind(votes, kind) for kind in ("person", "judge", "key"))
    annotator = votes["annotator"]
    spoke = np.where(
        judge,
        member(annotator, plan.judges),
        np.where(keyed, member(annotator, [KEY]) & plan.key, plan.people),
    )
    first = np.where(
        person,
        same(votes["first"], of["first"]),
        np.where(judge, member(votes["first"], ["both"]), member(votes["first"], ["none"])),
    )
    orders = [~absent(votes[name]) for name in _ORDERS]
    alike = same(*(votes[name] for name in _ORDERS))
    together = pc.if_else(pc.equal(*(votes[name] for name in _ORDERS)), votes[_ORDERS[0]], "tie")
    flips = absent(votes["flipped"]) != judge
    flips &= ~judge | (true(votes["flipped"]) == ~alike)
    seconds = numbers(votes["seconds"])
    _, code, times = np.unique(
        row_codes(votes, ("comparison_id", *_VOTER)), return_inverse=True, return_counts=True
    )
    own = is_own(of.select(["model_1", "model_2"]).append_column("annotator", annotator))

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("votes", name, columns, expected, passed)

    return [
        check("comparison_on_sheet", ("comparison_id",), "a comparison of the sheet", known),
        check(
            "comparison_facts_kept",
            ("comparison_id", *_KEPT),
            "as in the key of the sheet",
            ~known | all_agree(votes.select(_KEPT), of.select(_KEPT)),
        ),
        check(
            "sides_as_shown",
            sides,
            "the two models in the order of their names, with the lengths of their responses",
            ~known | all_agree(votes.select(sides), of.select(sides)),
        ),
        check(
            "annotator_configured",
            _VOTER,
            "a judge of the league, its key, or a person where people vote",
            spoke,
        ),
        check(
            "annotator_of_one_kind",
            _VOTER,
            "a name that no annotator of another kind has",
            constant_within(votes, ("annotator",), ("annotator_kind",)),
        ),
        check(
            "vote_once",
            ("comparison_id", *_VOTER),
            "one vote of an annotator on a comparison",
            times[code] == 1,
        ),
        check(
            "first_as_shown",
            ("annotator_kind", "first"),
            "the side that stood first on the sheet; both for judges, none for the key",
            first | ~known,
        ),
        check(
            "requests_traced",
            ("annotator_kind", "annotator", "request_ids"),
            "the requests of a judge's two orders, those of the responses for the key, none of people",
            _requests(votes, key, asked) | ~known,
        ),
        check(
            "both_orders_of_judges",
            ("annotator_kind", *_ORDERS),
            "what was said in each order, of judges and only of them",
            (orders[0] == judge) & (orders[1] == judge),
        ),
        check(
            "winner_of_both_orders",
            ("winner", *_ORDERS),
            "of a judge the winner in both orders, a tie where they contradict",
            ~judge | same(votes["winner"], together) | ~orders[0] | ~orders[1],
        ),
        check(
            "flipped_where_contradicted",
            ("annotator_kind", "flipped", *_ORDERS),
            "whether the two orders contradict, of judges and only of them",
            flips | judge & ~(orders[0] & orders[1]),
        ),
        check(
            "own_responses_left_out",
            ("annotator", *PAIR),
            "no vote of a judge on its own response",
            ~judge | ~own | (not plan.exclude_self),
        ),
        check(
            "winner_by_verdicts",
            ("winner", *PAIR),
            "of the key: right beats wrong, two right ones are a tie, two wrong ones both_bad",
            ~keyed | same(votes["winner"], _by_verdicts(votes, verdicts)),
        ),
        check(
            "seconds_of_people",
            ("annotator_kind", "seconds"),
            "0 or more, and only of people",
            np.isnan(seconds) | person & (seconds >= 0),
        ),
    ]


def described_check(votes: pa.Table, agreement: pa.Table) -> RowCheck:
    """The report says something of every annotator.

    Args:
        votes: VOTES.
        agreement: ARENA_AGREEMENT.
    """
    said = agreement.filter(pc.equal(agreement["statistic"], "decisive_share"))
    return RowCheck(
        "votes",
        "annotator_described",
        _VOTER,
        "an annotator whose decisive votes are counted in agreement",
        positions(votes, said, _VOTER) >= 0,
    )


def _first(key: pa.Table) -> pa.ChunkedArray:
    """The side of a vote that stands first on the sheet."""
    return pc.if_else(pc.less(key["model_1"], key["model_2"]), "a", "b")


def _by_verdicts(votes: pa.Table, verdicts: pa.Table) -> pa.ChunkedArray:
    """What the key has to say; null where a response has no verdict."""
    right = []
    for side in PAIR:
        at = positions(votes, verdicts, (side, "instruction_id"), ("model", "instruction_id"))
        right.append(taken(verdicts, at, ("correct",))["correct"])
    a, b = right
    told = pc.if_else(a, pc.if_else(b, "tie", "a"), pc.if_else(b, "b", "both_bad"))
    return told
