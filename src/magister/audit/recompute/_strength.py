"""Bradley-Terry and Elo once more: Newton's method on contrasts, and the path of Elo's equation by another integrator.

The published fit maximises the likelihood over k strengths, which only a ridge holds in place. Here the direction of
all strengths together is left out: with an orthonormal basis H of the contrasts, b = H phi, and phi is free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import integrate, optimize, special

from magister.audit.recompute._ledger import Floats, Ints

#: Points per unit of b, and the ridge of a normal prior with a standard deviation of 1000 points.
POINTS = 400 / np.log(10)
RIDGE = float((POINTS / 1000.0) ** 2)
_STEPS = 200


@dataclass(frozen=True)
class Season:
    """Counts of k models.

    Attributes:
        games: of each pair, symmetric, zero diagonal, shape (..., k, k).
        points: wins and half the ties, shape (..., k).
    """

    games: Floats
    points: Floats

    @property
    def k(self) -> int:
        """Models."""
        return int(self.points.shape[-1])


def log_likelihood(season: Season, b: Floats) -> Floats:
    """Penalised log-likelihood, shape (...)."""
    pairs = np.logaddexp(b[..., :, None], b[..., None, :])
    inner = (season.points * b).sum(axis=-1) - (season.games * pairs).sum(axis=(-2, -1)) / 2
    return np.asarray(inner - RIDGE / 2 * (b * b).sum(axis=-1))


def expected_points(games: Floats, b: Floats) -> Floats:
    """Points that the model expects, shape (..., k)."""
    return np.asarray((games * special.expit(b[..., :, None] - b[..., None, :])).sum(axis=-1))


def gradient(season: Season, b: Floats) -> Floats:
    """Of the log-likelihood, shape (..., k)."""
    return season.points - expected_points(season.games, b) - RIDGE * b


def information(games: Floats, b: Floats) -> Floats:
    """Minus its second derivatives, shape (..., k, k)."""
    win = special.expit(b[..., :, None] - b[..., None, :])
    weight = games * win * (1 - win)
    out = -weight
    at = np.arange(games.shape[-1])
    out[..., at, at] = weight.sum(axis=-1) + RIDGE
    return np.asarray(out)


def contrasts(k: int) -> Floats:
    """Orthonormal basis of the contrasts of k numbers, shape (k, k - 1)."""
    steps = np.tri(k, k - 1, -1) * 0.0
    for j in range(k - 1):
        steps[: j + 1, j], steps[j + 1, j] = 1.0, -(j + 1.0)
        steps[:, j] /= np.sqrt((j + 1.0) * (j + 2.0))
    return steps


def strengths(season: Season, start: Floats | None = None) -> Floats:
    """Where the likelihood is greatest, shape (..., k)."""
    basis = contrasts(season.k)
    b = np.zeros(season.points.shape) if start is None else np.broadcast_to(start, season.points.shape).copy()
    return _climb(season, b, basis)


def _climb(season: Season, b: Floats, basis: Floats) -> Floats:
    """Newton's method along a basis; a step is halved where it does not climb."""
    if basis.shape[1] == 0:
        return b
    best = log_likelihood(season, b)
    for _ in range(_STEPS):
        slope = gradient(season, b) @ basis
        curve = basis.T @ information(season.games, b) @ basis
        move = np.linalg.solve(curve, slope[..., None])[..., 0] @ basis.T
        size = np.ones(best.shape)
        for _ in range(40):
            there = b + size[..., None] * move
            value = log_likelihood(season, there)
            worse = value < best - 1e-9 * np.abs(best) - 1e-12
            if not worse.any():
                break
            size = np.where(worse, size / 2, size)
        b, best = there, value
        if np.abs(move).max(initial=0.0) <= 1e-11:
            break
    return b


def constrained(season: Season, top: Floats, contrast: Floats, value: float) -> Floats:
    """The maximum of one season among strengths with contrast . b = value, shape (k,)."""
    along = contrast / (contrast @ contrast)
    start = top + along * (value - contrast @ top)
    # Of the contrasts those at a right angle to this one.
    whole = contrasts(season.k)
    rest = whole - np.outer(
        contrast / np.sqrt(contrast @ contrast), (contrast / np.sqrt(contrast @ contrast)) @ whole
    )
    left, spread, _ = np.linalg.svd(rest, full_matrices=False)
    return _climb(season, start, left[:, spread > 1e-9])


def score_test(season: Season, top: Floats, first: int, second: int, each: float) -> float:
    """p that two models are equal, by the score at the maximum with equal strengths, corrected for continuity.

    Args:
        season: one.
        top: its maximum.
        first: a model.
        second: another.
        each: votes of a unit.

    References:
        Rao (1948), Mathematical Proceedings of the Cambridge Philosophical Society 44, 50-57.
    """
    contrast = np.zeros(season.k)
    contrast[first], contrast[second] = 1.0, -1.0
    b = constrained(season, top, contrast, 0.0)
    inverse = np.linalg.inv(information(season.games, b))
    spread = float(contrast @ inverse @ contrast)
    force = float(contrast @ inverse @ gradient(season, b)) / spread
    excess = max(abs(force) - each / 2, 0.0) * np.sqrt(spread / each)
    return float(2 * special.ndtr(-excess))


def profile_end(season: Season, top: Floats, model: int, side: int, critical: float) -> tuple[float, Floats]:
    """Where the deviance of b_i - mean(b) reaches a critical value, and the strengths there.

    Args:
        season: one.
        top: its maximum.
        model: i.
        side: -1 for the lower end, 1 for the upper.
        critical: the deviance.

    References:
        Venzon and Moolgavkar (1988), Applied Statistics 37, 87-94.
    """
    contrast = -np.full(season.k, 1 / season.k)
    contrast[model] += 1
    peak, best = float(contrast @ top), float(log_likelihood(season, top))

    def excess(distance: float) -> float:
        b = constrained(season, top, contrast, peak + side * distance)
        return 2 * (best - float(log_likelihood(season, b))) - critical

    far = 1.0
    while excess(far) < 0 and far < 1e4:
        far *= 2
    end = peak + side * float(optimize.brentq(excess, 0.0, far, xtol=1e-12, rtol=1e-14))
    return end, constrained(season, top, contrast, end)


def elo_path(season: Season, k: float, start: float = 1000.0, scale: float = 400.0) -> Floats:
    """Elo ratings of one season in the limit of all orders of its votes, shape (k,), by an adaptive integrator.

    References:
        Hairer, Norsett and Wanner (1993), Solving Ordinary Differential Equations I (DOP853).
    """
    rate = k * np.log(10) / scale

    def slope(_: float, b: Floats) -> Floats:
        return rate * (season.points - expected_points(season.games, b))

    stiff = stiffness(season, k, scale) > 500
    found = integrate.solve_ivp(
        slope, (0.0, 1.0), np.zeros(season.k), method="LSODA" if stiff else "DOP853", rtol=1e-10, atol=1e-11
    )
    return start + found.y[:, -1] * (scale / np.log(10))


def stiffness(season: Season, k: float, scale: float = 400.0) -> float:
    """A bound of the rates at which Elo's ratings settle."""
    return float(k * np.log(10) / scale * 0.5 * season.games.sum(axis=-1).max(initial=0.0))


def elo_paths(season: Season, k: float, start: float = 1000.0, scale: float = 400.0) -> Floats:
    """The same of many seasons at once, shape (B, k), by the classic method in small steps."""
    rate = k * np.log(10) / scale
    steps = max(24, int(np.ceil(2 * stiffness(season, k, scale))))
    h, b = 1 / steps, np.zeros(season.points.shape)

    def slope(b: Floats) -> Floats:
        return rate * (season.points - expected_points(season.games, b))

    for _ in range(steps):
        one = slope(b)
        two = slope(b + h / 2 * one)
        three = slope(b + h / 2 * two)
        b = b + h / 6 * (one + 2 * two + 2 * three + slope(b + h * three))
    return start + b * (scale / np.log(10))


def sandwich(season: Season, b: Floats, votes: tuple[Ints, Ints, Floats], unit: Ints, units: int) -> Floats:
    """Covariance of ratings from the scatter of units, in points squared, shape (k, k).

    Args:
        season: one.
        b: its strengths.
        votes: two models of each vote and the points of the first, shape (v,) each.
        unit: of each vote, shape (v,).
        units: number of units, those without a vote here included.

    References:
        Liang and Zeger (1986), Biometrika 73, 13-22.
    """
    low, high, score = votes
    residual = score - special.expit(b[low] - b[high])
    scores = np.zeros((int(unit.max(initial=-1)) + 1, season.k))
    np.add.at(scores, (unit, low), residual)
    np.add.at(scores, (unit, high), -residual)
    inverse = np.linalg.inv(information(season.games, b))
    middle = scores.T @ scores * units / max(units - 1, 1)
    return np.asarray(POINTS**2 * inverse @ middle @ inverse)


def model_covariance(season: Season, b: Floats) -> Floats:
    """Covariance if the model holds and votes are independent, in points squared, less what all share."""
    inverse = np.linalg.inv(information(season.games, b))
    centre = np.eye(season.k) - 1 / season.k
    return np.asarray(POINTS**2 * centre @ inverse @ centre)
