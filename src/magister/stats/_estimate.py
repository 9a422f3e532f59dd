"""The result types: one estimate, or an array of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Default sentence per status. `ok` needs none.
REASONS = {
    "ok": "",
    "no_data": "no observations",
    "missing_values": "some scores are NaN",
    "undefined": "the statistic is undefined on these data",
    "one_cluster": "one cluster: its sampling error cannot be estimated",
    "one_student": "one student: the variation between students cannot be estimated",
    "all_equal": "no variation between clusters: an interval cannot be estimated",
    "undefined_resamples": "the statistic is undefined on too many resamples",
    "no_resamples": "no resamples were asked for",
}
STATUSES = tuple(REASONS)


@dataclass(frozen=True)
class Estimate:
    """One number with its uncertainty.

    Attributes:
        value: the estimate; None when it cannot be computed.
        ci_low: lower end of the interval; None when there is none.
        ci_high: upper end of the interval.
        se: standard error; None when it cannot be estimated (never 0 for want of data).
        n: observations.
        n_clusters: independent units among them.
        status: one of `STATUSES`.
        reason: a sentence; empty when `status` is "ok" and there is nothing to add.
    """

    value: float | None
    ci_low: float | None
    ci_high: float | None
    se: float | None
    n: int
    n_clusters: int
    status: str = "ok"
    reason: str = ""

    @classmethod
    def absent(
        cls, status: str, *, value: float | None = None, n: int = 0, n_clusters: int = 0, reason: str = ""
    ) -> Estimate:
        """An estimate without an interval, and without a value unless one is given."""
        return cls(value, None, None, None, n, n_clusters, status, reason or REASONS[status])


@dataclass(frozen=True)
class Estimates:
    """Estimates as arrays of one shape. NaN stands for "absent" and `status` says why.

    Attributes:
        value: float64.
        ci_low: float64.
        ci_high: float64.
        se: float64.
        n: int64, observations.
        n_clusters: int64, independent units.
        status: object array of `STATUSES`.
        reason: object array of sentences.
    """

    value: FloatArray
    ci_low: FloatArray
    ci_high: FloatArray
    se: FloatArray
    n: NDArray[np.int64]
    n_clusters: NDArray[np.int64]
    status: NDArray[np.object_]
    reason: NDArray[np.object_]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape shared by all fields."""
        return self.value.shape

    def __getitem__(self, index: int | tuple[int, ...]) -> Estimate:
        """The estimate at one position."""
        return Estimate(
            _present(self.value[index]),
            _present(self.ci_low[index]),
            _present(self.ci_high[index]),
            _present(self.se[index]),
            int(self.n[index]),
            int(self.n_clusters[index]),
            str(self.status[index]),
            str(self.reason[index]),
        )

    def item(self) -> Estimate:
        """The only estimate.

        Raises:
            ValueError: if there is not exactly one.
        """
        if self.value.size != 1:
            raise ValueError(f"item() wants exactly one estimate, here are {self.value.size}")
        return self[tuple([0] * self.value.ndim)]


def _present(number: float) -> float | None:
    return None if math.isnan(number) else float(number)


def reasons_of(status: NDArray[np.object_]) -> NDArray[np.object_]:
    """The default sentence of each status, in the same shape."""
    reason = np.empty(status.shape, dtype=object)
    reason[...] = ""
    for slug in STATUSES[1:]:
        reason[status == slug] = REASONS[slug]
    return reason


def choose_status(
    shape: tuple[int, ...], rules: Sequence[tuple[str, NDArray[np.bool_]]]
) -> NDArray[np.object_]:
    """The first rule that holds names the status; "ok" where none does."""
    status = np.empty(shape, dtype=object)
    status[...] = "ok"
    for slug, holds in reversed(rules):
        status[holds] = slug
    return status


def check_level(level: float) -> float:
    """Validate a confidence level.

    Raises:
        ValueError: unless 0 < level < 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1 (0.95 for 95 %), not {level!r}")
    return level
