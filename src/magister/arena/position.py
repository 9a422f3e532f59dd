"""Whether the side a model is shown on decides votes."""

from __future__ import annotations

import numpy as np
from scipy import special

from magister.arena.league import League
from magister.arena.votes import Votes

#: A position effect with a smaller p value is reported.
ALPHA = 0.01


def position_note(votes: Votes, league: League) -> str | None:
    """Say so where side a wins more, or less, than the models explain.

    Pairs that were shown in both orders are compared with themselves: does a model win more often on side a? Ties are
    left out. Votes whose sides stand in one order throughout say nothing, and nothing is said of them.

    Args:
        votes: all votes.
        league: the scope.

    Returns:
        A sentence, or None.

    References:
        Cochran (1954), Biometrics 10, 417-451; Mantel and Haenszel (1959), JNCI 22, 719-748.
    """
    m = league.models.size
    # The position of a code among the models may have turned `low` and `high` around.
    low_is_a = votes.low_first[league.votes] == (votes.low[league.votes] == league.models[league.low])
    decisive = league.outcome < 2
    pair = (league.low * m + league.high)[decisive]
    _, pair = np.unique(pair, return_inverse=True)
    if not pair.size:
        return None
    a, won = low_is_a[decisive], league.outcome[decisive] == 0
    size = int(pair.max()) + 1
    # Wins and losses of `low` per pair, on side a and on side b.
    count = np.array(
        [
            [np.bincount(pair[(a == side) & (won == win)], minlength=size) for win in (True, False)]
            for side in (True, False)
        ]
    ).astype(np.float64)
    first, second = count.sum(axis=1)
    both = (first > 0) & (second > 0)
    count, first, second = count[..., both], first[both], second[both]
    whole, wins = first + second, count[:, 0].sum(axis=0)
    excess = (count[0, 0] - first * wins / whole).sum()
    variance = (first * second * wins * (whole - wins) / (whole**2 * np.maximum(whole - 1, 1))).sum()
    if variance == 0:
        return None
    p = float(2 * special.ndtr(-max(abs(excess) - 0.5, 0.0) / np.sqrt(variance)))
    if p >= ALPHA:
        return None
    of_a, total = int(count[0, 0].sum() + count[1, 1].sum()), int(whole.sum())
    word = "first" if excess > 0 else "second"
    return (
        f"position bias: side a won {of_a} of {total} decisive votes on pairs shown in both orders (p = {p:.2g}); "
        f"votes follow the {word} side, not the models alone"
    )
