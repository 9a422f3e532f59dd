"""The two-parameter logistic model (2PL): one ability instead of attributes, the baseline that profiles must beat.

P(x_ij = 1) = 1 / (1 + exp(-(slope_j theta_i + intercept_j))), theta ~ N(0, 1), by marginal maximum likelihood over a
fixed grid of abilities (Bock and Aitkin 1981, Psychometrika 46). Slopes and intercepts have weak normal priors whose
means are estimated (Mislevy 1986, Psychometrika 51), so that an item that all or none get right, and a study of few
models, have finite estimates: slope_j / m ~ N(1, 0.5^2) and intercept_j ~ N(d + e slope_j, 3^2), with m and d free and
e ~ N(0, 1). Another mean or SD of the abilities hardly changes the prior of the items: however many items there are,
location and scale are set by the models. With absolute priors, many items push few models off their N(0, 1).

Products of matrices are on a grid: each number is rounded to a multiple of a power of two so small that sums of them
are exact in float64. So the result does not depend on a BLAS, on threads, or on the order of models and items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from magister.diagnosis._squarem import FixedPoint, Stop, leap
from magister.diagnosis.fits import IrtFit
from magister.diagnosis.matrix import ResponseMatrix, response_matrix
from magister.errors import UserError

Array = NDArray[np.float64]

SLOPE_SD, INTERCEPT_SD = 0.5, 3.0
FARTHEST = 6.0
"""Abilities beyond -6 and 6 are not looked at."""
_WIDEST = 0.2
_COARSE_STEPS = 100
_STEPS_IN_SD = 1.5
"""Distance of nodes in posterior SDs of the best known ability: an error of about 1e-4 of the trapezoidal rule."""
_MOST_NODES = 601
_STEEPEST, _MOST_INTERCEPT = 15.0, 30.0
_LOGIT_BITS = 7
"""15 x 6 + 30 is below 2^7."""
_SHARE_BITS = 26
_TYPICAL = 3
_HALVINGS = 20
_FLATTEST = 0.05


def fit_2pl(
    responses: ResponseMatrix | pd.DataFrame | NDArray[Any],
    *,
    slope_sd: float = SLOPE_SD,
    intercept_sd: float = INTERCEPT_SD,
    tolerance: float = 1e-4,
    steps: int = 1000,
) -> IrtFit:
    """Fit the two-parameter logistic model.

    Args:
        responses: N models x J items of 1, 0 and missing (see `response_matrix`). Missing responses are ignored: they
            are taken as missing at random.
        slope_sd: SD of the prior of slope / m. Slopes may be negative.
        intercept_sd: SD of the intercepts' prior about d + e slope.
        tolerance: stop when slopes and intercepts change by less in an EM step.
        steps: EM steps at most on the final grid of abilities, which the items found on a first one set.

    Returns:
        The fit; predictions are posterior means of P(right) given all observed responses of the model, for a missing
        response too, and lie within 2^-26 and 1 - 2^-26.

    Raises:
        UserError: bad responses, or fewer than two models or items.
    """
    matrix = response_matrix(responses)
    if min(matrix.correct.shape) < 2:
        raise UserError(
            f"2PL: expected at least 2 models and 2 items, found {len(matrix.models)} and {len(matrix.items)}"
        )
    if not (slope_sd > 0 and intercept_sd > 0 and tolerance > 0) or steps < 1:
        raise UserError("2PL: expected SDs and a tolerance above 0 and at least 1 step")
    data = _data(matrix)
    prior = _Prior(slope_sd, intercept_sd)
    start = _start(data, prior)
    coarse = _maximise(
        data, prior, _nodes_for(data, start), start, Stop(10 * tolerance, 1e-7, min(steps, _COARSE_STEPS))
    )
    nodes = _nodes_for(data, coarse.point)
    best = _maximise(data, prior, nodes, coarse.point, Stop(tolerance, 1e-9, steps))
    return _result(matrix, data, best, nodes, coarse.steps)


@dataclass(frozen=True)
class _Data:
    """Responses as float64: N x J, 1 where right; and where answered, None if everywhere."""

    right: Array
    answered: Array | None

    @property
    def models(self) -> int:
        return len(self.right)

    @property
    def items(self) -> int:
        return self.right.shape[1]


@dataclass(frozen=True)
class _Prior:
    slope_sd: float
    intercept_sd: float

    def log_density(self, point: Array) -> float:
        """Of all items and of e, up to a constant; summed exactly, in whatever order the items are."""
        slope, intercept, typical = _split(point)
        return math.fsum(self.of_items(slope, intercept, typical)) - 0.5 * float(typical[2]) ** 2

    def of_items(self, slope: Array, intercept: Array, typical: Array) -> Array:
        """Log-density of each item, up to a constant; `typical`: m, d and e."""
        by_slope = ((slope / typical[0] - 1) / self.slope_sd) ** 2
        by_intercept = ((intercept - typical[1] - typical[2] * slope) / self.intercept_sd) ** 2
        density: Array = -0.5 * (by_slope + by_intercept)
        return density


@dataclass(frozen=True)
class _Nodes:
    """Abilities Q and the log of their probabilities under N(0, 1)."""

    theta: Array
    log_weight: Array


def _data(matrix: ResponseMatrix) -> _Data:
    answered = matrix.answered
    return _Data(
        (matrix.correct == 1).astype(np.float64), None if answered.all() else answered.astype(np.float64)
    )


def _nodes(spacing: float) -> _Nodes:
    side = min(math.ceil(FARTHEST / spacing), _MOST_NODES // 2)
    theta = np.linspace(-FARTHEST, FARTHEST, 2 * side + 1)
    density = np.exp(-0.5 * theta**2)
    return _Nodes(theta, np.log(density / math.fsum(density)))


def _nodes_for(data: _Data, point: Array) -> _Nodes:
    """As near to each other as these items need it."""
    return _nodes(min(_WIDEST, _STEPS_IN_SD / math.sqrt(1 + _most_information(data, point))))


def _start(data: _Data, prior: _Prior) -> Array:
    """Slopes 1, intercepts from shares of right responses."""
    asked = np.full(data.items, float(data.models)) if data.answered is None else data.answered.sum(axis=0)
    share = (data.right.sum(axis=0) + 0.5) / (asked + 1)
    return _with_typical(np.concatenate([np.ones(data.items), 1.2 * np.log(share / (1 - share))]), prior)


def _maximise(data: _Data, prior: _Prior, nodes: _Nodes, start: Array, stop: Stop) -> FixedPoint:
    def em(point: Array) -> tuple[float, Array]:
        share, loglik = _expect(data, nodes, point)
        objective = math.fsum(loglik) + prior.log_density(point)
        after = _maximise_items(*_counts(data, share), nodes.theta, prior, point)
        return objective, _rescale(after, _abilities(data, share), nodes.theta, prior)

    return leap(em, start, stop, slice(None), lambda point: _with_typical(point[:-_TYPICAL], prior))


def _split(point: Array) -> tuple[Array, Array, Array]:
    """Slopes, intercepts, and what their prior takes as typical."""
    half = (len(point) - _TYPICAL) // 2
    return point[:half], point[half:-_TYPICAL], point[-_TYPICAL:]


def _with_typical(items: Array, prior: _Prior) -> Array:
    """Slopes and intercepts, and the m, d and e of their prior that suit them best (exact sums, in any order)."""
    half = len(items) // 2
    slope = np.clip(items[:half], -_STEEPEST, _STEEPEST)
    intercept = np.clip(items[half:], -_MOST_INTERCEPT, _MOST_INTERCEPT)
    level = math.fsum(slope)
    typical = max(math.fsum(slope**2) / level if level > 0 else 0.0, _FLATTEST)
    uneven, mean = slope - level / half, math.fsum(intercept) / half
    turn = math.fsum(uneven * (intercept - mean)) / (math.fsum(uneven**2) + prior.intercept_sd**2)
    return np.concatenate([slope, intercept, [typical, mean - turn * level / half, turn]])


def _to_grid(values: Array, bits: int) -> Array:
    """Rounded to multiples of 2^-bits."""
    scaled: Array = values * 2.0**bits
    np.rint(scaled, out=scaled)
    scaled *= 2.0**-bits
    return scaled


def _expect(data: _Data, nodes: _Nodes, point: Array) -> tuple[Array, Array]:
    """Posterior of the abilities, N x Q, and log-likelihood of each model, N."""
    slope, intercept, _ = _split(point)
    logit = slope[:, None] * nodes.theta + intercept[:, None]
    bits = 53 - 1 - _LOGIT_BITS - math.ceil(math.log2(data.items + 1))
    wrong = _to_grid(-np.logaddexp(0.0, logit), bits)
    share = data.right @ _to_grid(logit, bits)
    share += wrong.sum(axis=0) if data.answered is None else data.answered @ wrong
    share += nodes.log_weight
    top = share.max(axis=1, keepdims=True)
    share -= top
    np.exp(share, out=share)
    total = share.sum(axis=1, keepdims=True)
    share /= total
    return share, (top + np.log(total))[:, 0]


def _counts(data: _Data, share: Array) -> tuple[Array, Array]:
    """Expected models at each ability that answered the item, and that were right, J x Q (the first may be 1 x Q)."""
    exact = _to_grid(share, 52 - math.ceil(math.log2(data.models + 1)))
    right = data.right.T @ exact
    return (exact.sum(axis=0)[None, :] if data.answered is None else data.answered.T @ exact), right


def _abilities(data: _Data, share: Array) -> Array:
    """Expected models at each ability, Q."""
    return _to_grid(share, 52 - math.ceil(math.log2(data.models + 1))).sum(axis=0)


def _rescale(point: Array, models: Array, theta: Array, prior: _Prior) -> Array:
    """Let the abilities have a mean and an SD of their own, maximise over these two, and put them into the items.

    Items and the spread of abilities inform each other, so that plain EM creeps along their common scale; in the
    expanded model it does not (Liu, Rubin and Wu 1998, Biometrika 85). The items' prior is in the maximum: the
    objective does not fall.
    """
    slope, intercept, typical = _split(point)
    total, turn = math.fsum(models), float(typical[2])
    # e is to the items what the mean is to the models: its prior counts as one model.
    mean = (math.fsum(models * theta) - turn) / (total + 1)
    spread = math.sqrt((math.fsum(models * (theta - mean) ** 2) + (turn + mean) ** 2) / total)
    return _with_typical(np.concatenate([slope * spread, intercept + slope * mean]), prior)


def _maximise_items(asked: Array, right: Array, theta: Array, prior: _Prior, point: Array) -> Array:
    """A Newton step for each item, halved until it does not lose (the objective is concave)."""
    slope, intercept, typical = _split(point)
    chance = _chance(slope[:, None] * theta + intercept[:, None])
    residual = right - asked * chance
    weight = asked * chance * (1 - chance)
    slope_precision, intercept_precision = (typical[0] * prior.slope_sd) ** -2, prior.intercept_sd**-2
    turn = typical[2]
    pull = (intercept - typical[1] - turn * slope) * intercept_precision
    by_slope = np.sum(residual * theta, axis=1) - (slope - typical[0]) * slope_precision + turn * pull
    by_intercept = np.sum(residual, axis=1) - pull
    aa = np.sum(weight * theta**2, axis=1) + slope_precision + turn**2 * intercept_precision
    ab = np.sum(weight * theta, axis=1) - turn * intercept_precision
    bb = np.sum(weight, axis=1) + intercept_precision
    step = np.stack([bb * by_slope - ab * by_intercept, aa * by_intercept - ab * by_slope]) / (
        aa * bb - ab**2
    )

    def objective(slope: Array, intercept: Array) -> Array:
        logit = slope[:, None] * theta + intercept[:, None]
        loglik = np.sum(right * logit - asked * np.logaddexp(0.0, logit), axis=1)
        return np.asarray(loglik + prior.of_items(slope, intercept, typical))

    before, size = objective(slope, intercept), np.ones_like(slope)
    for _ in range(_HALVINGS):
        worse = objective(slope + size * step[0], intercept + size * step[1]) < before
        if not worse.any():
            break
        size[worse] /= 2
    else:
        size[worse] = 0.0
    return _with_typical(np.concatenate([slope + size * step[0], intercept + size * step[1]]), prior)


def _chance(logit: Array) -> Array:
    chance: Array = 1 / (1 + np.exp(-logit))
    return chance


def _most_information(data: _Data, point: Array) -> float:
    """Of all items at one ability, where it is greatest."""
    slope, intercept, _ = _split(point)
    chance = _chance(slope[:, None] * _nodes(_WIDEST).theta + intercept[:, None])
    information = _to_grid(slope[:, None] ** 2 * chance * (1 - chance), 20)
    return float(np.max(information.sum(axis=0)))


def _result(matrix: ResponseMatrix, data: _Data, best: FixedPoint, nodes: _Nodes, before: int) -> IrtFit:
    slope, intercept, _ = _split(best.point)
    share, loglik = _expect(data, nodes, best.point)
    theta = np.sum(share * nodes.theta, axis=1)
    variance = np.sum(share * (nodes.theta - theta[:, None]) ** 2, axis=1)
    return IrtFit(
        models=matrix.models,
        items=matrix.items,
        slope=slope,
        intercept=intercept,
        theta=theta,
        theta_sd=np.sqrt(variance),
        loglik=math.fsum(loglik),
        predicted=_predicted(share, nodes.theta, slope, intercept),
        converged=best.converged,
        iterations=before + best.steps,
    )


def _predicted(share: Array, theta: Array, slope: Array, intercept: Array) -> Array:
    """Posterior mean of P(right), exact in its sums: shares and chances are multiples of 2^-26."""
    least = 2.0**-_SHARE_BITS
    share = _to_grid(share, _SHARE_BITS)
    row = np.arange(len(share))
    # What rounding takes or gives goes to the likeliest ability: shares sum to 1.
    share[row, share.argmax(axis=1)] += 1 - share.sum(axis=1)
    chance = _to_grid(_chance(slope[:, None] * theta + intercept[:, None]), _SHARE_BITS)
    predicted: Array = share @ np.clip(chance, least, 1 - least).T
    return predicted
