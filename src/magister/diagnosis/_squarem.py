"""Fixed points of an EM map, with or without acceleration.

Squared extrapolation (Varadhan and Roland 2008, Scandinavian Journal of Statistics 35, scheme S3): from two EM steps
r = t1 - t0 and v = t2 - 2 t1 + t0, go to t0 - 2 a r + a^2 v with a = -|r| / |v|. A leap that lands lower than the
steps it leaps from is taken back, so that the objective never falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
EmMap = Callable[[Array], tuple[float, Array]]
"""Parameters -> objective at them, parameters after one EM step."""


@dataclass(frozen=True)
class FixedPoint:
    """Where the iterations came to.

    Attributes:
        point: the parameters.
        objective: at them.
        change: largest change of a watched parameter in the last EM step.
        steps: EM steps taken.
        converged: whether the changes were within the tolerances.
        trace: objective at the points that were kept, one after the other.
    """

    point: Array
    objective: float
    change: float
    steps: int
    converged: bool
    trace: list[float] = field(repr=False)


@dataclass(frozen=True)
class Stop:
    """When to stop.

    Attributes:
        change: largest change of a watched parameter in an EM step.
        gain: largest relative gain of the objective in an EM step.
        steps: EM steps at most.
    """

    change: float
    gain: float
    steps: int


class _Walk:
    """EM steps, counted."""

    def __init__(self, em: EmMap, stop: Stop, watched: slice) -> None:
        self._em, self._stop, self._watched = em, stop, watched
        self.steps = 0
        self.change = np.inf

    def __call__(self, point: Array) -> tuple[float, Array]:
        self.steps += 1
        return self._em(point)

    def settled(self, before: Array, after: Array, gain: float, objective: float) -> bool:
        self.change = float(np.max(np.abs(after - before)[self._watched]))
        return self.change < self._stop.change and abs(gain) <= self._stop.gain * abs(objective)

    @property
    def tired(self) -> bool:
        return self.steps >= self._stop.steps


def climb(em: EmMap, start: Array, stop: Stop, watched: slice) -> FixedPoint:
    """Plain EM.

    Args:
        em: one step.
        start: parameters to start from.
        stop: when to stop.
        watched: parameters whose change counts.
    """
    walk, point, trace = _Walk(em, stop, watched), start, []
    objective, converged = -np.inf, False
    while not converged and not walk.tired:
        now, after = walk(point)
        trace.append(now)
        converged = walk.settled(point, after, now - objective, now)
        point, objective = after, now
    final, _ = em(point)
    return FixedPoint(point, final, walk.change, walk.steps, converged, [*trace, final])


def leap(
    em: EmMap, start: Array, stop: Stop, watched: slice, project: Callable[[Array], Array]
) -> FixedPoint:
    """EM with squared extrapolation.

    Args:
        em: one step.
        start: parameters to start from.
        stop: when to stop.
        watched: parameters whose change counts.
        project: moves a point that a leap came to back to where parameters may be.
    """
    walk, point, trace = _Walk(em, stop, watched), start, []
    objective, first = walk(point)
    while True:
        trace.append(objective)
        middle, second = walk(first)
        converged = walk.settled(first, second, middle - objective, middle)
        if converged or walk.tired:
            final, _ = em(second)
            return FixedPoint(second, final, walk.change, walk.steps, converged, [*trace, middle, final])
        step, curve = first - point, second - 2 * first + point
        # Exact sums: the length does not depend on the order of parameters.
        bend = math.sqrt(math.fsum(curve**2))
        length = math.sqrt(math.fsum(step**2)) / bend if bend > 0 else 1.0
        landing = project(point + 2 * length * step + length**2 * curve) if length > 1 else second
        reached, after = walk(landing)
        if not reached >= middle:  # lower, or no number at all
            landing = second
            reached, after = walk(landing)
        point, objective, first = landing, reached, after
