"""DINA with a known Q-matrix by marginal maximum likelihood: the reference for small numbers of attributes.

P(x_ij = 1) is 1 - slip_j where model i masters every attribute that item j needs, and guess_j elsewhere (Junker and
Sijtsma 2001, Applied Psychological Measurement 25). The attribute pattern of a model is a latent class; all 2^K of them
are summed over, by EM (de la Torre 2009, Journal of Educational and Behavioral Statistics 34).
"""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from magister.diagnosis._blas import one_thread
from magister.diagnosis._dina_errors import standard_errors
from magister.diagnosis._dina_kernel import expect, posteriors
from magister.diagnosis._squarem import FixedPoint, Stop, climb, leap
from magister.diagnosis.fits import EmFit
from magister.diagnosis.matrix import ResponseMatrix, response_matrix
from magister.diagnosis.prior import QPrior, q_matrix
from magister.errors import UserError

Array = NDArray[np.float64]
ClassPrior = Literal["saturated", "independent"]
Method = Literal["em", "squarem"]

MOST_ATTRIBUTES = 12
EDGE = 1e-12
"""How near to 0 and 1 a probability of the model may come."""
_RAREST = 1e-30
_SAME_LOGLIK = 0.01
_BLOCK = 256
"""Patterns that are summed at a time."""


def fit_exact_em(
    responses: ResponseMatrix | pd.DataFrame | NDArray[Any],
    q: QPrior | pd.DataFrame | NDArray[Any],
    *,
    prior: ClassPrior = "saturated",
    method: Method = "em",
    starts: int = 1,
    seed: int = 0,
    tolerance: float = 1e-5,
    steps: int = 5000,
    threads: int = 1,
) -> EmFit:
    """Fit DINA with a known Q-matrix.

    The result depends neither on the order of models, items and attributes, nor on the number of cores.

    Args:
        responses: N models x J items of 1, 0 and missing (see `response_matrix`). Missing responses are ignored: they
            are taken as missing at random.
        q: J items x K attributes of 0 and 1. A frame with item ids as index is matched to the responses by id; an
            array, and a frame numbered 0, 1, 2 ..., is taken in the order of the items. Of a `QPrior`, its reference.
        prior: of the classes. `saturated`: every class has a probability of its own. `independent`: products of
            attributes' probabilities, with guess and slip smoothed (a Beta(2, 2) prior: (right + 1) / (n + 2)).
        method: `em` takes plain steps and stops where R's CDM does; `squarem` leaps (see `_squarem`), which needs
            fewer steps to get very near to the maximum (`tolerance` 1e-8, say).
        starts: how many starts; the best is kept. The first is guess = slip = 0.2, others are random.
        seed: of the random starts.
        tolerance: stop when guess and slip change by less in a step, and the objective by less than a share of
            tolerance / 10,000.
        steps: EM steps at most, each start.
        threads: how many work at once; the result is the same.

    Returns:
        The fit. Class number c masters attribute k (from 0) where bit k of c is 1. Standard errors are from the
        cross-products of models' scores (`_dina_errors`), NaN for a guess or slip at its bound. In `diagnostics`:
        `iterations`, `change` (of guess and slip, last step), `converged` (1 or 0), `starts`, `starts_at_best` (within
        0.01 of the best log-likelihood), `patterns` (distinct rows), `distinct_classes` (classes that the items
        tell apart; others share their probability evenly) and `full_information` (1: standard errors allow for
        the uncertainty of all parameters; 0: there are more parameters than patterns, they take all but the
        item's own as known and are too small).

    Raises:
        UserError: bad responses or a bad Q-matrix, names that do not match, K above 12 or above J, an attribute
            that no item needs, or an unknown option.
    """
    _check_options(prior, method, tolerance, {"starts": starts, "steps": steps, "threads": threads})
    matrix = response_matrix(responses)
    needs = _aligned(matrix, q)
    problem = _problem(matrix, needs)
    stop = Stop(change=tolerance, gain=tolerance * 1e-4, steps=steps)
    rng = np.random.default_rng(seed)
    with ThreadPoolExecutor(threads) as workers:
        model = _Model(problem, prior, workers)
        found = [
            _maximise(model, model.start(None if number == 0 else rng), method, stop)
            for number in range(starts)
        ]
    best = max(found, key=lambda point: point.objective)
    return _result(matrix, needs, model, best, found)


@dataclass(frozen=True)
class _Problem:
    """Responses and Q-matrix in an order of their own, so that sums do not depend on the order given.

    Attributes:
        patterns: int8, U x J, distinct rows, items by name.
        weights: U, how often each stands.
        row_of: N, the pattern of each model.
        item_order: J, items by name.
        needs: int64, J, needed attributes as bits, attributes by name.
        class_of: 2^K, number here of the class that has that number outside.
        attributes: K.
        answered, right: J, models that answered the item, that were right.
    """

    patterns: NDArray[np.int8]
    weights: Array
    row_of: NDArray[np.intp]
    item_order: NDArray[np.intp]
    needs: NDArray[np.int64]
    class_of: NDArray[np.int64]
    attributes: int
    answered: Array
    right: Array

    @property
    def models(self) -> float:
        return float(len(self.row_of))

    @property
    def items(self) -> int:
        return len(self.needs)


def _problem(matrix: ResponseMatrix, needs: QPrior) -> _Problem:
    item_order = np.array(sorted(range(len(matrix.items)), key=lambda at: matrix.items[at]), dtype=np.intp)
    by_name = sorted(range(len(needs.attributes)), key=lambda at: needs.attributes[at])
    count = len(by_name)
    bits = needs.reference[np.ix_(item_order, np.array(by_name, dtype=np.intp))].astype(np.int64) @ (
        1 << np.arange(count)
    )
    outside = np.arange(1 << count)
    class_of = np.zeros(1 << count, dtype=np.int64)
    for bit, attribute in enumerate(by_name):
        class_of |= ((outside >> attribute) & 1) << bit
    patterns, row_of, counts = np.unique(
        matrix.correct[:, item_order], axis=0, return_inverse=True, return_counts=True
    )
    weights = counts.astype(np.float64)
    return _Problem(
        np.ascontiguousarray(patterns),
        weights,
        row_of.reshape(-1),
        item_order,
        bits.astype(np.int64),
        class_of,
        count,
        np.sum((patterns >= 0) * weights[:, None], axis=0),
        np.sum((patterns == 1) * weights[:, None], axis=0),
    )


class _Model:
    """EM map of a problem under a class prior; the parameters are one vector: guess, slip, and the prior's."""

    def __init__(self, problem: _Problem, prior: ClassPrior, workers: Executor) -> None:
        self.problem, self.prior, self._workers = problem, prior, workers
        self.smoothing = 1.0 if prior == "independent" else 0.0
        self.mastery = classes(problem.attributes)

    def start(self, rng: np.random.Generator | None) -> Array:
        items = self.problem.items
        item = np.full(2 * items, 0.2) if rng is None else rng.uniform(0.05, 0.45, 2 * items)
        size = 1 << self.problem.attributes
        # Evenly, also in random starts: EM keeps the ratio of classes that no item tells apart.
        structure = (
            np.full(size, 1 / size) if self.prior == "saturated" else np.full(self.problem.attributes, 0.5)
        )
        return np.concatenate([item, structure])

    def split(self, point: Array) -> tuple[Array, Array, Array]:
        """Guess, slip and the prior's parameters."""
        items = self.problem.items
        return point[:items], point[items : 2 * items], point[2 * items :]

    def class_probability(self, structure: Array) -> Array:
        if self.prior == "saturated":
            return structure
        return np.prod(np.where(self.mastery, structure, 1 - structure), axis=1)

    def kernel_arguments(self, point: Array) -> tuple[Array, Array, Array]:
        """Log-ratios, log-probabilities without mastery, log class probabilities."""
        guess, slip, structure = self.split(point)
        base = np.log(np.stack([1 - guess, guess]))
        ratio = np.log(np.stack([slip, 1 - slip])) - base
        return ratio, base, np.log(np.maximum(self.class_probability(structure), _RAREST))

    def penalty(self, point: Array) -> float:
        """Log-density of the item parameters' prior, up to a constant."""
        item = point[: 2 * self.problem.items]
        return float(self.smoothing * np.sum(np.log(item) + np.log1p(-item)))

    def em(self, point: Array) -> tuple[float, Array]:
        problem = self.problem
        loglik, in_class, unlocked, unlocked_right = self._expect(point)
        guess, slip, _ = self.split(point)
        guess = self._share(problem.right - unlocked_right, problem.answered - unlocked, guess)
        slip = self._share(unlocked - unlocked_right, unlocked, slip)
        if self.prior == "saturated":
            structure = in_class / problem.models
        else:
            structure = self._within(np.sum(in_class[:, None] * self.mastery, axis=0) / problem.models)
        return loglik + self.penalty(point), np.concatenate([guess, slip, structure])

    def _expect(self, point: Array) -> tuple[float, Array, Array, Array]:
        """`expect` of all patterns, added block by block: the same in any number of threads."""
        problem, arguments = self.problem, self.kernel_arguments(point)
        blocks = [slice(at, at + _BLOCK) for at in range(0, len(problem.patterns), _BLOCK)]
        parts = list(
            self._workers.map(
                lambda rows: expect(problem.patterns[rows], problem.weights[rows], problem.needs, *arguments),
                blocks,
            )
        )
        loglik, *counts = parts[0]
        for part in parts[1:]:
            loglik += part[0]
            counts = [total + more for total, more in zip(counts, part[1:], strict=True)]
        return float(loglik), counts[0], counts[1], counts[2]

    def _share(self, part: Array, whole: Array, before: Array) -> Array:
        """Smoothed shares; where there is nothing to take a share of, what it was before."""
        whole = whole + 2 * self.smoothing
        known = whole > 1e-9
        share = np.where(known, (part + self.smoothing) / np.where(known, whole, 1.0), before)
        return self._within(share)

    @staticmethod
    def _within(share: Array) -> Array:
        return np.clip(share, EDGE, 1 - EDGE)

    def project(self, point: Array) -> Array:
        guess, slip, structure = self.split(point)
        if self.prior == "saturated":
            structure = np.maximum(structure, _RAREST)
            structure = structure / np.sum(structure)
        else:
            structure = self._within(structure)
        return np.concatenate([self._within(guess), self._within(slip), structure])


def classes(attributes: int) -> NDArray[np.bool_]:
    """All attribute patterns, 2^K x K: class c masters attribute k where bit k of c is 1."""
    return ((np.arange(1 << attributes)[:, None] >> np.arange(attributes)) & 1).astype(bool)


def _maximise(model: _Model, start: Array, method: Method, stop: Stop) -> FixedPoint:
    watched = slice(0, 2 * model.problem.items)
    if method == "em":
        return climb(model.em, start, stop, watched)
    return leap(model.em, start, stop, watched, model.project)


def _result(
    matrix: ResponseMatrix, needs: QPrior, model: _Model, best: FixedPoint, found: list[FixedPoint]
) -> EmFit:
    problem = model.problem
    guess, slip, structure = model.split(best.point)
    arguments = model.kernel_arguments(best.point)
    by_pattern, pattern_loglik = posteriors(problem.patterns, problem.needs, *arguments)
    errors = standard_errors(
        problem.patterns, problem.weights, problem.needs, by_pattern, guess, slip, structure, model.smoothing
    )
    posterior = by_pattern[problem.row_of][:, problem.class_of]
    mastery = classes(problem.attributes)
    with one_thread():
        by_attribute = np.clip(by_pattern @ mastery.astype(np.float64), 0.0, 1.0)
    # The class that masters attribute k alone tells where the attribute stands here.
    place = np.log2(problem.class_of[1 << np.arange(problem.attributes)]).astype(np.intp)
    alpha = by_attribute[problem.row_of][:, place]
    size = 1 << problem.attributes
    structural = size - 1 if model.prior == "saturated" else problem.attributes
    loglik = float(np.sum(problem.weights * pattern_loglik))
    return EmFit(
        models=matrix.models,
        items=matrix.items,
        attributes=needs.attributes,
        classes=mastery,
        class_probability=model.class_probability(structure)[problem.class_of],
        posterior=posterior,
        alpha=alpha,
        q=needs.reference.astype(np.float64),
        guess=_given_order(guess, problem),
        slip=_given_order(slip, problem),
        guess_se=_given_order(errors.guess, problem),
        slip_se=_given_order(errors.slip, problem),
        loglik=loglik,
        parameters=structural + 2 * problem.items,
        diagnostics={
            "iterations": float(best.steps),
            "change": best.change,
            "converged": float(best.converged),
            "starts": float(len(found)),
            "starts_at_best": float(sum(best.objective - point.objective < _SAME_LOGLIK for point in found)),
            "patterns": float(len(problem.patterns)),
            "distinct_classes": float(errors.distinct_classes),
            "full_information": float(errors.full_information),
        },
    )


def _given_order(values: Array, problem: _Problem) -> Array:
    out = np.empty_like(values)
    out[problem.item_order] = values
    return out


def _check_options(prior: str, method: str, tolerance: float, counts: dict[str, int]) -> None:
    for name, value, known in (("prior", prior, get_args(ClassPrior)), ("method", method, get_args(Method))):
        if value not in known:
            raise UserError(f"{name}: expected one of {', '.join(known)}, found {value!r}")
    for name, count in counts.items():
        if count < 1:
            raise UserError(f"{name}: expected at least 1, found {count}")
    if not tolerance > 0:
        raise UserError(f"tolerance: expected a number above 0, found {tolerance}")


def _aligned(matrix: ResponseMatrix, q: QPrior | pd.DataFrame | NDArray[Any]) -> QPrior:
    """The Q-matrix with its rows in the order of the responses' items, checked."""
    if not isinstance(q, QPrior):
        frame = q if isinstance(q, pd.DataFrame) else _framed(np.asarray(q))
        if frame.shape[0] != len(matrix.items):
            raise UserError(
                f"Q-matrix: expected a row for each of the {len(matrix.items)} items of the responses, found "
                f"{frame.shape[0]} rows"
            )
        if frame.index.equals(pd.RangeIndex(len(frame))):
            frame = frame.set_axis(list(matrix.items), axis=0)
        q = q_matrix(frame)
    place = {item: row for row, item in enumerate(q.items)}
    unknown = [item for item in q.items if item not in set(matrix.items)]
    absent = [item for item in matrix.items if item not in place]
    if unknown or absent:
        what = (
            f"item {unknown[0]!r} has no responses"
            if unknown
            else f"item {absent[0]!r} of the responses has no row"
        )
        raise UserError(
            f"Q-matrix: {what} ({len(unknown)} unknown and {len(absent)} absent items); expected the same items as "
            "in the responses"
        )
    rows = np.array([place[item] for item in matrix.items], dtype=np.intp)
    reference = q.reference[rows]
    count = len(q.attributes)
    if count > MOST_ATTRIBUTES:
        raise UserError(
            f"Q-matrix: {count} attributes are 2^{count} classes, too many to sum over (at most {MOST_ATTRIBUTES} "
            "attributes); use fit_saem, which samples them"
        )
    if count > len(matrix.items):
        raise UserError(
            f"Q-matrix: {count} attributes but only {len(matrix.items)} items; expected at most one an item"
        )
    for used, names, what in (
        (
            reference.any(axis=1),
            matrix.items,
            "the item {!r} needs no attribute; every item needs at least one",
        ),
        (
            reference.any(axis=0),
            q.attributes,
            "no item needs the attribute {!r}; leave it out: nothing tells of it",
        ),
    ):
        if not used.all():
            raise UserError("Q-matrix: " + what.format(names[int(np.flatnonzero(~used)[0])]))
    return QPrior(matrix.items, q.attributes, reference, q.probability[rows])


def _framed(array: NDArray[Any]) -> pd.DataFrame:
    if array.ndim != 2:
        raise UserError(f"Q-matrix: expected an array of items x attributes, found {array.ndim} dimensions")
    return pd.DataFrame(array, columns=[f"attribute {number}" for number in range(1, array.shape[1] + 1)])
