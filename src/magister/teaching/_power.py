"""How small a difference of two teachers a plan can show."""

from __future__ import annotations

import math
from statistics import NormalDist

from magister.errors import UserError


def detectable_difference(
    n_items: int,
    n_clusters: int,
    icc: float,
    n_students: int,
    rho_students: float,
    p0: float,
    power: float = 0.8,
    level: float = 0.95,
) -> float:
    """The smallest difference in CA of two teachers that is found with the given power.

    Both teachers start from the same blind answers, so the difference of their CA is that of two shares of right
    answers over n_items x n_students cells. Normal approximation for two shares p0, unpaired, which is cautious for
    teachers who are rated on the same cells; the variance is inflated by 1 + (n_items / n_clusters - 1) icc for
    items in clusters and by 1 + (n_students - 1) rho_students for students who are right on the same items.

    Args:
        n_items: items each student answers.
        n_clusters: clusters they come in.
        icc: correlation of answers to items of one cluster, 0..1.
        n_students: students.
        rho_students: correlation of two students' answers to an item, 0..1.
        p0: share right, 0..1.
        power: wanted chance to find the difference, 0..1.
        level: confidence level of the test, 0..1.

    Returns:
        The difference, in shares; above 1 where no difference can be shown.

    Raises:
        UserError: a number outside its range.

    References:
        Kish (1965), Survey Sampling, chapter 5 (the inflation of variances); Fleiss, Levin and Paik (2003),
        Statistical Methods for Rates and Proportions, chapter 4.
    """
    counts = {"n_items": n_items, "n_clusters": n_clusters, "n_students": n_students}
    for name, count in counts.items():
        if count < 1:
            raise UserError(f"{name} must be 1 or more, not {count}")
    if n_clusters > n_items:
        raise UserError(f"n_clusters ({n_clusters}) cannot be more than n_items ({n_items})")
    for name, share in {"icc": icc, "rho_students": rho_students}.items():
        if not 0 <= share <= 1:
            raise UserError(f"{name} must lie in 0..1, not {share}")
    for name, share in {"p0": p0, "power": power, "level": level}.items():
        if not 0 < share < 1:
            raise UserError(f"{name} must lie between 0 and 1, not {share}")
    inflation = (1 + (n_items / n_clusters - 1) * icc) * (1 + (n_students - 1) * rho_students)
    variance = 2 * p0 * (1 - p0) * inflation / (n_items * n_students)
    normal = NormalDist()
    return (normal.inv_cdf((1 + level) / 2) + normal.inv_cdf(power)) * math.sqrt(variance)
