"""How small a difference between two models a study can detect, before it is run.

Two models (teachers) are compared on the same items and students. The variance of their difference is

    V = 2 (1 - r) p0 (1 - p0) / N * [1 + (N / C - 1) icc] * [1 + (S - 1) rho] / S

with N items in C clusters, S students, r the correlation of the two models' outcomes on one cell (student,
item), icc that of two items of a cluster and rho that of two students on one item. The difference found with
the given power at the given level (two-sided) is

    (t_{1 - alpha / 2} + t_{power}) sqrt(V),   Student's t with C - 1 degrees of freedom,

alpha being divided by the number of comparisons (Bonferroni, which Holm's method never falls behind). The
students are fixed, as in `CrossedSample.fixed_students`: students like these differ by more.

References:
    Bloom (1995), Evaluation Review 19, 547-556 (minimum detectable effects); Kish (1965), Survey Sampling,
    section 5.4 (design effect); Miller (2024), Adding Error Bars to Evals, section 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from scipy import special

from magister.stats._estimate import check_level

#: More items than this are no plan.
MAX_ITEMS = 10**9


@dataclass(frozen=True)
class Detectable:
    """A design and the difference it can detect.

    Attributes:
        difference: smallest difference of shares detected with the power asked for, 0..1; None when the
            design has none.
        se: standard error of the difference; None when it cannot be foreseen.
        freedom: degrees of freedom, clusters - 1.
        design_effect: variance over that of N S independent cells.
        n_items: items N; 0 when no number of items is enough.
        n_clusters: clusters C.
        n_students: students S.
        status: "ok", "one_cluster", "all_equal" (p0 is 0 or 1) or "out_of_reach".
        reason: a sentence; empty when `status` is "ok".
    """

    difference: float | None
    se: float | None
    freedom: int
    design_effect: float | None
    n_items: int
    n_clusters: int
    n_students: int
    status: str = "ok"
    reason: str = ""


def detectable_difference(
    n_items: int,
    n_clusters: int,
    icc: float,
    n_students: int,
    rho_students: float,
    p0: float,
    power: float = 0.8,
    level: float = 0.95,
    *,
    correlation: float = 0.0,
    comparisons: int = 1,
) -> Detectable:
    """The smallest difference between two models that a design detects.

    Args:
        n_items: items N, 1 or more.
        n_clusters: clusters C of those items, 1..N.
        icc: correlation of the outcomes of two items of one cluster, 0..1.
        n_students: students S, 1 or more.
        rho_students: correlation of the outcomes of two students on one item, 0..1.
        p0: share right that is expected, 0..1.
        power: chance to detect it, 0..1.
        level: confidence level of the test, 0..1.
        correlation: of two models' outcomes on one cell, 0 or more and below 1; 0 is the cautious choice.
        comparisons: pairs of models among which alpha is divided.

    Returns:
        The design with its difference; "out_of_reach" where that is beyond p0 and beyond 1 - p0.

    Raises:
        ValueError: for numbers outside their range.
    """
    _check(icc, n_students, rho_students, p0, power, level, correlation, comparisons)
    if n_items < 1 or not 1 <= n_clusters <= n_items:
        raise ValueError(f"n_clusters must lie between 1 and n_items, not {n_clusters} and {n_items}")
    effect = (1 + (n_items / n_clusters - 1) * icc) * (1 + (n_students - 1) * rho_students)
    variance = 2 * (1 - correlation) * p0 * (1 - p0) * effect / (n_items * n_students)
    found = Detectable(None, math.sqrt(variance), n_clusters - 1, effect, n_items, n_clusters, n_students)
    if p0 in (0.0, 1.0):
        reason = "with every answer alike no variance can be foreseen: expect a p0 between 0 and 1"
        return replace(found, se=None, status="all_equal", reason=reason)
    if n_clusters == 1:
        reason = "one cluster: the variation between clusters cannot be estimated"
        return replace(found, se=None, status="one_cluster", reason=reason)
    difference = _quantiles(n_clusters - 1, power, level, comparisons) * math.sqrt(variance)
    if difference > max(p0, 1 - p0):
        reason = f"{difference:.3g} would be needed, more than a share of {p0:g} can change by"
        return replace(found, status="out_of_reach", reason=reason)
    return replace(found, difference=difference)


def items_needed(
    difference: float,
    cluster_size: float,
    icc: float,
    n_students: int,
    rho_students: float,
    p0: float,
    power: float = 0.8,
    level: float = 0.95,
    *,
    correlation: float = 0.0,
    comparisons: int = 1,
) -> Detectable:
    """The fewest items with which a difference is detected: the inverse of `detectable_difference`.

    Args:
        difference: difference of shares to detect, above 0 and at most 1.
        cluster_size: items per cluster, 1 or more; N items make ceil(N / cluster_size) clusters.
        icc: see `detectable_difference`, as are all that follow.
        n_students: students S.
        rho_students: correlation of two students on one item.
        p0: share right that is expected.
        power: chance to detect it.
        level: confidence level of the test.
        correlation: of two models' outcomes on one cell.
        comparisons: pairs of models.

    Returns:
        The design; its own `difference` is at most the one asked for.

    Raises:
        ValueError: for numbers outside their range.
    """
    if not 0 < difference <= 1:
        raise ValueError(f"difference must lie above 0 and be 1 at most, not {difference!r}")
    if cluster_size < 1:
        raise ValueError(f"cluster_size must be 1 or more, not {cluster_size!r}")

    def design(n_items: int) -> Detectable:
        return detectable_difference(
            n_items,
            math.ceil(n_items / cluster_size),
            icc,
            n_students,
            rho_students,
            p0,
            power,
            level,
            correlation=correlation,
            comparisons=comparisons,
        )

    def enough(n_items: int) -> bool:
        found = design(n_items).difference
        return found is not None and found <= difference

    least = math.floor(cluster_size) + 1  # two clusters
    found = design(least)
    if found.status == "all_equal":
        return replace(found, n_items=0, n_clusters=0)
    if difference > max(p0, 1 - p0):
        reason = f"a share of {p0:g} cannot change by {difference:g}"
        return replace(
            found, difference=None, se=None, n_items=0, n_clusters=0, status="out_of_reach", reason=reason
        )
    high = least
    while not enough(high):
        high *= 2
        if high > MAX_ITEMS:
            reason = f"more than {MAX_ITEMS:,} items would be needed"
            return replace(
                found, difference=None, se=None, n_items=0, n_clusters=0, status="out_of_reach", reason=reason
            )
    low = least - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return design(high)


def _quantiles(freedom: int, power: float, level: float, comparisons: int) -> float:
    alpha = (1 - level) / comparisons
    return float(special.stdtrit(freedom, 1 - alpha / 2) + special.stdtrit(freedom, power))


def _check(
    icc: float,
    n_students: int,
    rho_students: float,
    p0: float,
    power: float,
    level: float,
    correlation: float,
    comparisons: int,
) -> None:
    check_level(level)
    for name, share in (("icc", icc), ("rho_students", rho_students), ("p0", p0)):
        if not 0 <= share <= 1:
            raise ValueError(f"{name} must lie between 0 and 1, not {share!r}")
    if not 0.5 <= power < 1:
        raise ValueError(f"power must be 0.5 or more and below 1 (0.8 for 80 %), not {power!r}")
    if not 0 <= correlation < 1:
        raise ValueError(f"correlation must be 0 or more and below 1, not {correlation!r}")
    for name, count in (("n_students", n_students), ("comparisons", comparisons)):
        if count < 1:
            raise ValueError(f"{name} must be 1 or more, not {count!r}")
