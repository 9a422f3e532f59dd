"""What sways annotators besides the responses: the place they stand at, and their length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from magister.arena._coded import NONE, TIE, A, B, Coded, sorted_codes
from magister.arena._shares import clustered_shares
from magister.arena._statements import Observed, Row, Settings, lean, share_statements
from magister.errors import UserError
from magister.stats import Estimate

_WINNERS = {
    **dict.fromkeys(("a", "model_a"), A),
    **dict.fromkeys(("b", "model_b"), B),
    **dict.fromkeys(("tie", "both_bad", "tie (bothbad)"), TIE),
}
_FIRST = ("the side shown first is favoured", "the side shown second is favoured")
_LONGER = ("the longer response is favoured", "the shorter response is favoured")


def position_statements(coded: Coded, settings: Settings) -> list[Row]:
    """Position bias: `first_share` of people and judges, and how judges bear a change of the order.

    `first_share` is the share of decisive choices that went to the side shown first; each order that a judge saw
    is a choice of its own. Sides are drawn at random, so that without bias it is one half, whoever is better.
    `flip_share` is the share of comparisons in which a judge contradicts itself; `first_in_both` and
    `second_in_both` those in which it chose the first or the second place in both orders.

    Args:
        coded: the votes.
        settings: for the intervals.

    Returns:
        Rows of ARENA_AGREEMENT.
    """
    shown = (coded.first == A) | (coded.first == B)
    person = Observed.of(shown & (coded.outcome != TIE), coded.outcome == coded.first)
    orders = [
        Observed.of((said == A) | (said == B), said == first)
        for said, first in ((coded.a_first, A), (coded.b_first, B))
    ]
    choices = Observed(*(np.concatenate(columns) for columns in zip(person, *orders, strict=True)))
    both = (coded.a_first != NONE) & (coded.b_first != NONE)
    rows = [
        lean(row, *_FIRST)
        for row in share_statements("first_share", coded, choices, ("person", "judge"), settings)
    ]
    for statistic, hit in (
        ("flip_share", coded.a_first != coded.b_first),
        ("first_in_both", (coded.a_first == A) & (coded.b_first == B)),
        ("second_in_both", (coded.a_first == B) & (coded.b_first == A)),
    ):
        rows += share_statements(statistic, coded, Observed.of(both, hit), ("judge",), settings)
    return rows


def length_statements(coded: Coded, settings: Settings) -> list[Row]:
    """Length bias: `longer_share`, the share of decisive votes won by the response with more characters.

    Left out are ties, responses of equal length and votes without lengths. A share above one half may also mean that
    the longer responses are better: compare it with that of the answer key.

    Args:
        coded: the votes.
        settings: for the intervals.

    Returns:
        Rows of ARENA_AGREEMENT.
    """
    longer = (coded.longer == A) | (coded.longer == B)
    seen = Observed.of(longer & (coded.outcome != TIE), coded.outcome == coded.longer)
    rows = share_statements("longer_share", coded, seen, ("person", "judge", "key"), settings)
    return [lean(row, *_LONGER) for row in rows]


@dataclass(frozen=True)
class PositionBias:
    """Whether the place decides, in votes of which `model_a` was shown first.

    Attributes:
        share: share of decisive votes won by the side shown first, pairs weighted so that their skill cancels;
            "undefined" where no pair was judged in both orders.
        first_wins: decisive votes won by the side shown first, all pairs.
        decisive: decisive votes.
        pairs: pairs of models with decisive votes in both orders.
        biased: whether the interval of `share` leaves out one half.
        message: one sentence about it.
    """

    share: Estimate
    first_wins: int
    decisive: int
    pairs: int
    biased: bool
    message: str


def position_bias(
    model_a: Sequence[str],
    model_b: Sequence[str],
    winner: Sequence[str],
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> PositionBias:
    """Tell position bias from skill in a list of votes.

    Only pairs judged in both orders tell the two apart. With n_1 and n_2 decisive votes in the two orders of a pair,
    votes weigh n_2 / (n_1 + n_2) and n_1 / (n_1 + n_2), so that both orders count alike and who is better cancels:
    the share is one half for any skill where the place plays no part, and 1 where the first always wins.

    Args:
        model_a: model shown first, one per vote.
        model_b: model shown second, one per vote.
        winner: `a`, `b`, `tie` or `both_bad`, or `model_a`, `model_b`, `tie (bothbad)`.
        clusters: what votes depend on each other by, such as the instruction; each vote by itself by default.
        level: coverage, 0..1.

    Returns:
        The share, and whether it is a bias.

    Raises:
        UserError: an unknown winner, a model against itself, or columns of different lengths; names the vote.
    """
    first, second, said = list(model_a), list(model_b), list(winner)
    if not len(first) == len(second) == len(said):
        raise UserError(
            f"votes: columns of {len(first)}, {len(second)} and {len(said)} rows; expected equal lengths"
        )
    for number, (one, two, word) in enumerate(zip(first, second, said, strict=True), start=1):
        if word not in _WINNERS:
            raise UserError(
                f"vote {number}: winner {word!r} is unknown; expected one of {', '.join(_WINNERS)}"
            )
        if one == two:
            raise UserError(f"vote {number}: {one!r} stands on both sides; expected two models")
    outcome = np.array([_WINNERS[word] for word in said], dtype=np.int64)
    decisive = outcome != TIE
    hits = (outcome == A)[decisive]
    straight = np.array([one < two for one, two in zip(first, second, strict=True)], dtype=bool)[decisive]
    pair, _ = sorted_codes(
        pa.array(["\x1f".join(sorted(names)) for names in zip(first, second, strict=True)], pa.string())
    )
    pair = pair[decisive]
    counts = [np.bincount(pair[order], minlength=pair.max(initial=-1) + 1) for order in (straight, ~straight)]
    both = (counts[0] > 0) & (counts[1] > 0)
    kept = both[pair]
    other = np.where(straight, counts[1][pair], counts[0][pair])
    weight = other / np.maximum(counts[0][pair] + counts[1][pair], 1)
    wins, total = int(hits.sum()), int(decisive.sum())
    seen = f"the side shown first won {wins} of {total} decisive votes"
    if not kept.any():
        reason = "no pair has decisive votes in both orders: position and skill cannot be told apart"
        return PositionBias(
            Estimate.absent("undefined", n=0, reason=reason), wins, total, 0, False, f"{seen}; {reason}"
        )
    hits, weight = hits[kept], weight[kept]
    if clusters is None:
        # Each vote is a unit; which is which must not depend on the order of the rows.
        order = np.lexsort((hits, weight))
        hits, weight, unit = hits[order], weight[order], np.arange(hits.size)
    else:
        unit = np.unique(np.asarray(clusters), return_inverse=True)[1][decisive][kept]
    ones, one_group = np.ones(hits.size), np.zeros(hits.size, dtype=np.int64)
    share = clustered_shares(hits, ones, one_group, unit, groups=1, level=level, weight=weight)[0]
    biased = (
        share.ci_low is not None and share.ci_high is not None and not share.ci_low <= 0.5 <= share.ci_high
    )
    pairs = int(both.sum())
    verdict = "position bias, not skill" if biased else "no position bias is shown"
    return PositionBias(
        share, wins, total, pairs, biased, f"{seen}; {pairs} pair(s) in both orders: {verdict}"
    )
