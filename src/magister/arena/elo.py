"""Elo ratings that do not depend on the order of votes.

Elo's update of one vote, r_i += K (s - E) with E = 1 / (1 + 10^((r_j - r_i) / scale)), depends on the order of the
votes, which says nothing about the models. `shuffled` takes many random orders, as papers do; `mean_field` is their
limit: with n_ij games of which i scored s_ij,

    dr_i/dt = K (sum_j s_ij - sum_j n_ij E_ij(r)),  r_i(0) = start,  t from 0 to 1,

a smooth path without any randomness. The spread over orders is not a sampling error and no interval comes from it.

Arrays have a leading axis of B leagues of the same k models.

References:
    Elo (1978), The Rating of Chessplayers; Sommeijer, Shampine and Verwer (1998), Journal of Computational and Applied
    Mathematics 88, 315-326 (Runge-Kutta-Chebyshev, for leagues with many votes, whose equation is stiff).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from magister.arena.votes import Ints

Floats = NDArray[np.float64]
Slope = Callable[[Floats], Floats]
#: Random orders of the votes, as in the paper.
ORDERINGS = 1000
# Up to this rate of decay the classic method is both stable and exact at a step per unit of it.
_MILD = 40.0
_STEPS = 16
_STIFF_STEPS = 48
# A rating that moves by less than this over the whole time has arrived.
_ARRIVED = 1e-8
_CELLS_AT_ONCE = 2**16


@dataclass(frozen=True)
class EloScale:
    """Where ratings start and how they move.

    Attributes:
        start: rating before the first vote, which stays the mean.
        scale: points of a tenfold in odds.
        k: points at stake in a vote.
    """

    start: float = 1000.0
    scale: float = 400.0
    k: float = 4.0


def mean_field(games: Floats, points: Floats, elo: EloScale | None = None) -> Floats:
    """Elo ratings in the limit of all orders of the votes.

    Args:
        games: of each pair, symmetric with a zero diagonal, shape (B, k, k).
        points: wins and half the ties of each model, shape (B, k).
        elo: start, scale and K.

    Returns:
        Ratings, shape (B, k), within 0.05 points of the exact path.
    """
    elo = elo or EloScale()
    count, k = points.shape
    out = np.empty((count, k))
    step = max(1, _CELLS_AT_ONCE // (k * k))
    for begin in range(0, count, step):
        part = slice(begin, begin + step)
        out[part] = _integrate(games[part], points[part], elo)
    return elo.start + out * (elo.scale / np.log(10))


def _integrate(games: Floats, points: Floats, elo: EloScale) -> Floats:
    """Ratings less the start in natural logarithms, shape (B, k)."""
    rate = elo.k * np.log(10) / elo.scale
    total = np.empty_like(games)

    def slope(b: Floats) -> Floats:
        e = np.exp(b)
        np.add(e[:, :, None], e[:, None, :], out=total)
        np.divide(games, total, out=total)
        return rate * (points - e * total.sum(axis=2))

    # No rate of decay exceeds this: twice the largest diagonal of the Jacobian.
    stiffness = rate * 0.5 * float(games.sum(axis=2).max(initial=0.0))
    if stiffness <= _MILD:
        return _runge_kutta(slope, np.zeros_like(points), max(_STEPS, int(np.ceil(stiffness))))
    return _chebyshev(slope, np.zeros_like(points), stiffness)


def _runge_kutta(slope: Slope, y: Floats, steps: int) -> Floats:
    h = 1 / steps
    for _ in range(steps):
        first = slope(y)
        second = slope(y + h / 2 * first)
        third = slope(y + h / 2 * second)
        y = y + h / 6 * (first + 2 * (second + third) + slope(y + h * third))
    return y


def _chebyshev(slope: Slope, y: Floats, stiffness: float) -> Floats:
    """Second-order Runge-Kutta-Chebyshev: s stages are stable for decay up to 0.65 s^2 per step.

    Steps grow as 1, 3, 5, ...: fast parts of the league settle in the first of them, while the others have hardly
    begun to move.
    """
    for h in np.diff((np.arange(_STIFF_STEPS + 1) / _STIFF_STEPS) ** 2).tolist():
        first = slope(y)
        if np.abs(first).max(initial=0.0) <= _ARRIVED:
            return y
        # In the paper's letters: stages s, then w_0, w_1, a_j, b_j and the coefficients of stage j.
        s = max(2, 1 + int(np.sqrt(1 + 1.54 * h * stiffness)))
        w0 = 1 + 2 / 13 / s**2
        t, d, dd = _chebyshev_values(s, w0)
        w1 = d[s] / dd[s]
        b = np.empty(s + 1)
        b[2:] = dd[2:] / d[2:] ** 2
        b[:2] = b[2]
        a = 1 - b * t
        before, now = y, y + b[1] * w1 * h * first
        for j in range(2, s + 1):
            mu, nu, moved = 2 * b[j] * w0 / b[j - 1], -b[j] / b[j - 2], 2 * b[j] * w1 / b[j - 1]
            after = (1 - mu - nu) * y + mu * now + nu * before
            after += moved * h * (slope(now) - a[j - 1] * first)
            before, now = now, after
        y = now
    return y


def _chebyshev_values(s: int, w: float) -> tuple[Floats, Floats, Floats]:
    """Chebyshev polynomials T_0 ... T_s at w with their first and second derivatives."""
    t, d, dd = np.zeros(s + 1), np.zeros(s + 1), np.zeros(s + 1)
    t[0], t[1], d[1] = 1.0, w, 1.0
    for j in range(2, s + 1):
        t[j] = 2 * w * t[j - 1] - t[j - 2]
        d[j] = 2 * t[j - 1] + 2 * w * d[j - 1] - d[j - 2]
        dd[j] = 4 * d[j - 1] + 2 * w * dd[j - 1] - dd[j - 2]
    return t, d, dd


def shuffled(
    low: Ints, high: Ints, outcome: Ints, k: int, *, orderings: int, seed: int, elo: EloScale | None = None
) -> Floats:
    """Elo ratings after each of many random orders of the votes.

    Args:
        low: position of one model of each vote, shape (v,).
        high: position of the other.
        outcome: 0 `low` won, 1 `high` won, 2 tie, shape (v,).
        k: models.
        orderings: number of orders.
        seed: whole number, 0 or more.
        elo: start, scale and K.

    Returns:
        Ratings, shape (orderings, k); their median is the paper's rating. The order of the rows given does not matter.
    """
    # Compiled on first use; nothing else here waits for that.
    from magister.arena._elo_orders import play

    elo = elo or EloScale()
    cells, votes = np.unique(np.sort((low * k + high) * 3 + outcome), return_inverse=True)
    votes = votes.astype(np.int32)
    first, second = cells // 3 // k, cells // 3 % k
    score = np.array([1.0, 0.0, 0.5])[cells % 3]
    out = np.full((orderings, k), elo.start)
    for b, ratings in enumerate(out):
        # A stream per order: the orders do not depend on how many are taken.
        words = np.random.SeedSequence([seed, 0x454C, b])
        order = np.random.Generator(np.random.PCG64(words)).permutation(votes)
        play(order, first, second, score, ratings, elo.k, elo.scale)
    return out
