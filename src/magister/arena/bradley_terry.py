"""Bradley-Terry ratings by penalised maximum likelihood, for one league or many resamples of it at once.

With strengths b (natural logarithms; 400 / ln 10 points each) a game of i and j gives i the score 1, 1/2 or 0:

- ties as half a win (`half`): the expected score is 1 / (1 + exp(b_j - b_i)), as in Elo's model;
- Davidson's ties (`davidson`): win, loss and tie have weights exp(b_i), exp(b_j) and nu exp((b_i + b_j) / 2).

The log-likelihood less ridge / 2 (sum_i b_i^2 + ln(nu)^2) is concave and has one maximum, at which the b have mean 0.
The ridge is that of a normal prior whose standard deviation is `PRIOR_SD` points: it hardly moves a rating that the
votes determine, and keeps the others finite.

Arrays have a leading axis of B leagues of the same k models. Parameters theta are the k strengths, and ln(nu) after
them with Davidson's ties.

References:
    Bradley and Terry (1952), Biometrika 39, 324-345; Davidson (1970), JASA 65, 317-328; Sun and Tran-Dinh (2019),
    Mathematical Programming 178, 145-213 (the damped Newton step, which converges from anywhere).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from magister.arena._dense import inverse, product, solve
from magister.arena.tally import PairTotals, Units
from magister.arena.votes import Ints

Floats = NDArray[np.float64]
Ties = Literal["half", "davidson"]
TIES: tuple[Ties, ...] = ("half", "davidson")
POINTS = float(400 / np.log(10))
"""Points per unit of b: 400 points are odds of 10 to 1."""
PRIOR_SD = 1000.0
"""Standard deviation of the prior that the ridge stands for, in points."""
# Steps of so many units of b are done: the first at once, the second when they shrink no more (rounding of sums of
# millions of votes).
_CLOSE, _NEAR = 1e-10, 1e-6
_MAX_STEPS = 500
_CHORD_STEPS = 24
# From so many models resamples share the factor of the league's own information.
_CHORD_FROM = 24
_CELLS_AT_ONCE = 2**16


@dataclass(frozen=True)
class Games:
    """What the likelihood reads of B leagues of k models.

    Attributes:
        games: of each pair, symmetric with a zero diagonal, shape (B, k, k).
        points: wins and half the ties of each model, shape (B, k).
        ties: shape (B,).
    """

    games: Floats
    points: Floats
    ties: Floats

    def some(self, at: slice | Ints) -> Games:
        """The leagues at some positions."""
        return Games(self.games[at], self.points[at], self.ties[at])


@dataclass(frozen=True)
class Likelihood:
    """How ties are read, and the ridge.

    Attributes:
        ties: "half" or "davidson".
        prior_sd: in points.
    """

    ties: Ties = "half"
    prior_sd: float = PRIOR_SD

    @property
    def ridge(self) -> float:
        """Penalty per unit of b squared: 1 / variance of the prior."""
        return (POINTS / self.prior_sd) ** 2

    def observed(self, data: Games) -> Floats:
        """Sufficient statistics: points, and ties with Davidson's, shape (B, q)."""
        if self.ties == "half":
            return data.points
        return np.concatenate([data.points, data.ties[:, None]], axis=1)

    def expected(self, theta: Floats, games: Floats) -> Floats:
        """Their expectations, shape (B, q)."""
        if self.ties == "half":
            e = np.exp(theta)
            return e * (games / (e[:, :, None] + e[:, None, :])).sum(axis=2)
        win, tie = _davidson(theta)
        points = (games * (win + tie / 2)).sum(axis=2)
        return np.concatenate([points, (games * tie).sum(axis=(1, 2))[:, None] / 2], axis=1)

    def information(self, theta: Floats, games: Floats) -> Floats:
        """Fisher information and ridge, shape (B, q, q), positive definite."""
        k = games.shape[1]
        at = np.arange(k)
        if self.ties == "half":
            e = np.exp(theta)
            total = e[:, :, None] + e[:, None, :]
            out = games * (-e[:, :, None] * e[:, None, :] / (total * total))
            out[:, at, at] = self.ridge - out.sum(axis=2)
            return out
        win, tie = _davidson(theta)
        score = win + tie / 2
        out = np.empty((games.shape[0], k + 1, k + 1))
        spread = games * (win + tie / 4 - score * score)
        out[:, :k, :k] = -spread
        out[:, at, at] = spread.sum(axis=2) + self.ridge
        out[:, :k, k] = out[:, k, :k] = (games * tie * (0.5 - score)).sum(axis=2)
        out[:, k, k] = (games * tie * (1 - tie)).sum(axis=(1, 2)) / 2 + self.ridge
        return out

    def value(self, theta: Floats, data: Games) -> Floats:
        """Penalised log-likelihood, shape (B,)."""
        k = data.points.shape[1]
        b = theta[:, :k]
        weight = np.logaddexp(b[:, :, None], b[:, None, :])
        if self.ties == "davidson":
            level = theta[:, k, None, None] + (b[:, :, None] + b[:, None, :]) / 2
            weight = np.logaddexp(weight, level)
        inner = (theta * self.observed(data)).sum(axis=1) - (data.games * weight).sum(axis=(1, 2)) / 2
        return inner - self.ridge / 2 * (theta * theta).sum(axis=1)

    def gradient(self, theta: Floats, data: Games) -> Floats:
        """Of `value`, shape (B, q)."""
        return self.observed(data) - self.expected(theta, data.games) - self.ridge * theta


@dataclass(frozen=True)
class Maximum:
    """The fit of one league; resamples of it have theirs nearby.

    Attributes:
        theta: where the penalised likelihood is greatest, shape (q,).
        inverse: of the information there, shape (q, q).
    """

    theta: Floats
    inverse: Floats

    @classmethod
    def at(cls, data: Games, likelihood: Likelihood, theta: Floats) -> Maximum:
        """The maximum of one league (B = 1) whose theta is known."""
        return cls(theta, inverse(likelihood.information(theta[None], data.games)[0]))


def fit(data: Games, likelihood: Likelihood, start: Maximum | None = None) -> Floats:
    """Maximise the penalised likelihood of each league by Newton's method.

    Args:
        data: B leagues.
        likelihood: how.
        start: the fit of a league like these; by default all models begin equal.

    Returns:
        theta, shape (B, q), right to rounding.
    """
    count, k = data.points.shape
    q = k + (likelihood.ties == "davidson")
    if start is not None and k >= _CHORD_FROM:
        theta, found = chord(data, likelihood, start)
        for b in np.flatnonzero(~found).tolist():
            theta[b] = _newton(data.some(slice(b, b + 1)), likelihood, start.theta[None])[0]
        return theta
    theta = np.zeros((count, q)) if start is None else np.tile(start.theta, (count, 1))
    step = max(1, _CELLS_AT_ONCE // (k * k))
    for begin in range(0, count, step):
        part = slice(begin, begin + step)
        theta[part] = _newton(data.some(part), likelihood, theta[part])
    return theta


def _newton(data: Games, likelihood: Likelihood, theta: Floats) -> Floats:
    k = data.points.shape[1]
    size = np.full(theta.shape[0], np.inf)
    for _ in range(_MAX_STEPS):
        move = solve(likelihood.information(theta, data.games), likelihood.gradient(theta, data))
        theta = theta + _damped(move, k) * move
        last, size = size, np.abs(move).max(axis=1)
        if _arrived(size, last).all():
            return theta
    raise ArithmeticError(f"Bradley-Terry: no maximum after {_MAX_STEPS} Newton steps")


def chord(data: Games, likelihood: Likelihood, start: Maximum) -> tuple[Floats, NDArray[np.bool_]]:
    """Newton steps with the information of one league in place of each league's own.

    A resample's own information differs by some percent, so that every step gains a digit or more and costs no
    factorisation.

    Args:
        data: B resamples.
        likelihood: how.
        start: the fit of the league that they are drawn from.

    Returns:
        theta, shape (B, q), and which of them are found, shape (B,): a resample unlike its league may not be.
    """
    count, k = data.points.shape
    out = np.tile(start.theta, (count, 1))
    found = np.zeros(count, dtype=bool)
    step = max(1, _CELLS_AT_ONCE // (k * k))
    for begin in range(0, count, step):
        part = slice(begin, begin + step)
        some, theta = data.some(part), out[part].copy()
        size = np.full(theta.shape[0], np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(_CHORD_STEPS):
                move = product(likelihood.gradient(theta, some), start.inverse)
                theta += move
                size = np.abs(move).max(axis=1)
                if not (size > _CLOSE).any():
                    break
        found[part] = size <= _CLOSE
        out[part] = theta
    return out, found


@dataclass(frozen=True)
class Constrained:
    """Maxima under K constraints on contrasts of the strengths.

    Attributes:
        deviance: 2 (penalised log-likelihood at its maximum - here), shape (K,).
        score: derivative of the log-likelihood along the contrast, other strengths following, shape (K,).
        variance: of the contrast by the information here, shape (K,); that of `score` is 1 over it.
        theta: shape (K, q).
    """

    deviance: Floats
    score: Floats
    variance: Floats
    theta: Floats


def under_constraint(
    data: Games, likelihood: Likelihood, top: Floats, contrast: Floats, value: Floats
) -> Constrained:
    """Maxima of one league's likelihood under linear constraints, one at a time.

    Args:
        data: one league (B = 1).
        likelihood: how.
        top: theta at its maximum, shape (q,).
        contrast: shape (K, k); constraint c says contrast[c] . b = value[c].
        value: shape (K,).
    """
    count, k = contrast.shape
    q = top.size
    c = np.zeros((count, q))
    c[:, :k] = contrast
    theta = top + c * ((value - c @ top) / (c * c).sum(axis=1))[:, None]
    deviance, score, variance = np.empty(count), np.empty(count), np.empty(count)
    step = max(1, _CELLS_AT_ONCE // (k * k))
    for begin in range(0, count, step):
        part = slice(begin, begin + step)
        here, at = c[part], theta[part]
        many = data.some(np.zeros(here.shape[0], dtype=np.int64))
        size = np.full(here.shape[0], np.inf)
        for _ in range(_MAX_STEPS):
            information = likelihood.information(at, many.games)
            gradient = likelihood.gradient(at, many)
            along, across = solve(information, gradient), solve(information, here)
            spread = (here * across).sum(axis=1)
            force = (here * along).sum(axis=1) / spread
            move = along - force[:, None] * across
            at = at + _damped(move, k) * move
            last, size = size, np.abs(move).max(axis=1)
            if _arrived(size, last).all():
                break
        else:
            raise ArithmeticError(f"Bradley-Terry: no constrained maximum after {_MAX_STEPS} Newton steps")
        theta[part] = at
        best = likelihood.value(top[None], data)
        deviance[part] = np.maximum(2 * (best - likelihood.value(at, many)), 0.0)
        score[part], variance[part] = force, spread
    return Constrained(deviance, score, variance, theta)


def profile_ends(
    data: Games, likelihood: Likelihood, top: Floats, at: Ints, side: Ints, critical: Floats
) -> tuple[Floats, Floats]:
    """Where the profile deviance of b_i (against the mean of all) reaches a critical value.

    Args:
        data: one league.
        likelihood: how.
        top: theta at its maximum.
        at: models, shape (K,).
        side: -1 for the lower end, 1 for the upper, shape (K,).
        critical: deviances, shape (K,), above 0.

    Returns:
        Ends in units of b, shape (K,), and theta there, shape (K, q).

    References:
        Venzon and Moolgavkar (1988), Applied Statistics 37, 87-94.
    """
    k = data.points.shape[1]
    contrast = np.eye(k)[at] - 1 / k
    peak = contrast @ top[:k]
    root = np.sqrt(critical)
    near, far = np.zeros(at.size), np.full(at.size, np.inf)
    distance = np.ones(at.size)
    for _ in range(_MAX_STEPS):
        there = under_constraint(data, likelihood, top, contrast, peak + side * distance)
        found = np.sqrt(there.deviance)
        inside = found < root
        near, far = np.where(inside, distance, near), np.where(inside, far, distance)
        # Newton on the root of the deviance, which is nearly a straight line; halving where it leaves the bracket.
        rate = np.maximum(-there.score * side, 1e-300) / np.maximum(found, 1e-150)
        wanted = distance + (root - found) / rate
        middle = np.where(np.isinf(far), 2 * distance + 1, (near + far) / 2)
        new = np.where((wanted > near) & (wanted < np.minimum(far, 2 * distance + 1)), wanted, middle)
        if np.abs(new - distance).max() <= 1e-9:
            break
        distance = new
    return peak + side * distance, there.theta


def cell_scores(pairs: PairTotals, likelihood: Likelihood, theta: Floats) -> sparse.csr_array:
    """What one vote in each cell adds to the gradient of the likelihood, shape (p, q)."""
    k, p = pairs.k, pairs.low.size
    low, high = theta[pairs.low], theta[pairs.high]
    score = np.array([1.0, 0.0, 0.5])[pairs.outcome]
    cells = np.arange(p)
    if likelihood.ties == "half":
        residual = score - special.expit(low - high)
        values, columns = [residual, -residual], [pairs.low, pairs.high]
    else:
        weights = np.stack([low, high, theta[k] + (low + high) / 2])
        win, _, tie = special.softmax(weights, axis=0)
        residual = score - win - tie / 2
        values = [residual, -residual, (pairs.outcome == 2) - tie]
        columns = [pairs.low, pairs.high, np.full(p, k)]
    rows = np.tile(cells, len(values))
    shape = (p, theta.size)
    return sparse.csr_array((np.concatenate(values), (rows, np.concatenate(columns))), shape=shape)


def covariance(best: Maximum, k: int) -> Floats:
    """Of the k strengths if the model holds and votes are independent, shape (k, k): the inverse information.

    The direction of all strengths together, which only the ridge holds, is taken out.
    """
    found = best.inverse[:k, :k]
    centred = found - found.mean(axis=0)
    return centred - centred.mean(axis=1)[:, None]


def sandwich(best: Maximum, likelihood: Likelihood, pairs: PairTotals, units: Units) -> Floats:
    """Covariance of the strengths from the scatter of units, whatever the model, shape (k, k).

    A^-1 M A^-1 with A the information and M = G / (G - 1) sum_g s_g s_g' over the G units' gradients s_g.

    References:
        Liang and Zeger (1986), Biometrika 73, 13-22.
    """
    scores = units.contents[:, pairs.cells] @ cell_scores(pairs, likelihood, best.theta)
    weighted = sparse.diags_array(units.size.astype(np.float64)) @ scores
    middle = (scores.T @ weighted).toarray()
    count = units.count
    out = product(product(best.inverse, middle), best.inverse)[: pairs.k, : pairs.k]
    out *= count / max(count - 1, 1)
    return (out + out.T) / 2


def _davidson(theta: Floats) -> tuple[Floats, Floats]:
    """Probabilities that row beats column, and that they tie, shape (B, k, k) each."""
    x = np.exp(theta[:, :-1] / 2)
    level = np.exp(theta[:, -1])[:, None, None] * x[:, :, None] * x[:, None, :]
    square = x * x
    total = square[:, :, None] + square[:, None, :] + level
    return square[:, :, None] / total, level / total


def _arrived(size: Floats, last: Floats) -> NDArray[np.bool_]:
    """Whether steps of these sizes, after steps of the last, are rounding."""
    return (size <= _CLOSE) | ((size <= _NEAR) & (size > last / 2))


def _damped(move: Floats, k: int) -> Floats:
    """Share of a Newton step that is sure to gain: ln(1 + r) / r for a step of range r; 1 near the maximum."""
    b = move[:, :k]
    reach = b.max(axis=1) - b.min(axis=1) + np.abs(move[:, k:]).sum(axis=1)
    return np.where(reach < 1e-6, 1.0, np.log1p(reach) / np.maximum(reach, 1e-300))[:, None]
