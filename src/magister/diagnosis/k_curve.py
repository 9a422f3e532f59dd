"""How many attributes: what speaks for each number of clusters, and which one is taken."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import stdtrit

from magister.contracts.diagnosis_tables import K_CURVE, K_MEASURES
from magister.diagnosis.clusters import NOT_DRAWN, Partition, Runs
from magister.errors import UserError
from magister.stats import Estimate, cluster_mean


class Measured(NamedTuple):
    """What is known of one number of attributes.

    Attributes:
        k: the number.
        stability: mean adjusted Rand index between runs.
        smallest: items of the smallest attribute.
        silhouette: mean silhouette of items by cosine.
        held_out: mean log-likelihood of held-out responses; None where nobody fitted.
    """

    k: int
    stability: Estimate
    smallest: int
    silhouette: Estimate
    held_out: Estimate | None = None


class Choice(NamedTuple):
    """A number of attributes, and why this one."""

    k: int
    reason: str


def adjusted_rand(one: NDArray[np.integer], two: NDArray[np.integer]) -> float:
    """Agreement of two clusterings over the items that both have, adjusted for chance.

    Args:
        one: n, labels from 0; -1 where an item is in none.
        two: n, likewise.

    Returns:
        1 for the same clusters, about 0 by chance; NaN with fewer than two items in common.

    References:
        L. Hubert and P. Arabie, Comparing partitions, Journal of Classification 2 (1985).
    """
    both = (one != NOT_DRAWN) & (two != NOT_DRAWN)
    if int(both.sum()) < 2:
        return math.nan
    a, b = one[both].astype(np.intp), two[both].astype(np.intp)
    width = int(b.max()) + 1
    cells = np.bincount(a * width + b, minlength=(int(a.max()) + 1) * width).reshape(-1, width)
    pairs = [_pairs(cells), _pairs(cells.sum(axis=1)), _pairs(cells.sum(axis=0)), _pairs(cells.sum())]
    together, rows, columns, all_pairs = pairs
    # Whole numbers to the end: (index - expected) / (maximum - expected), times 2 all_pairs.
    above = 2 * (together * all_pairs - rows * columns)
    below = (rows + columns) * all_pairs - 2 * rows * columns
    return above / below if below else 1.0


def runs_agreement(one: Runs, two: Runs) -> float:
    """How far two sets of runs with the same seeds agree, for instance those of two processors.

    Args:
        one: runs of some items.
        two: likewise.

    Returns:
        Mean adjusted Rand index of each run with its counterpart; 1 where all are the same clusters. 0 where items,
        numbers of clusters or numbers of runs differ.
    """
    if one.items != two.items or one.ks != two.ks or one.labels.shape != two.labels.shape:
        return 0.0
    pairs = zip(one.labels.reshape(-1, len(one.items)), two.labels.reshape(-1, len(two.items)), strict=True)
    return float(np.mean([adjusted_rand(first, second) for first, second in pairs]))


def _pairs(counts: Any) -> int:
    values = np.asarray(counts, dtype=np.int64)
    return int((values * (values - 1) // 2).sum())


def stability(labels: NDArray[np.integer], level: float = 0.95) -> Estimate:
    """Mean agreement between runs.

    Args:
        labels: runs x n.
        level: of the interval.

    Returns:
        Mean adjusted Rand index over pairs of runs; `n` pairs of `n_clusters` runs. Its interval is by the jackknife
        over runs: how far another set of as many runs may be from it. None with fewer than three runs.
    """
    runs = len(labels)
    agreement = np.zeros((runs, runs))
    for one in range(runs):
        for two in range(one):
            agreement[one, two] = agreement[two, one] = adjusted_rand(labels[one], labels[two])
    pairs = runs * (runs - 1) // 2
    if pairs == 0 or not np.isfinite(agreement).all():
        return Estimate.absent("no_data" if pairs == 0 else "undefined", n=pairs, n_clusters=runs)
    total = agreement.sum()
    value = float(total / (2 * pairs))
    if runs < 3:
        return Estimate.absent(
            "one_cluster", value=value, n=pairs, n_clusters=runs, reason="fewer than three runs"
        )
    without = (total - 2 * agreement.sum(axis=1)) / ((runs - 1) * (runs - 2))
    se = float(np.sqrt((runs - 1) / runs * np.square(without - without.mean()).sum()))
    if se <= 1e-12:
        reason = "all pairs of runs agree alike"
        return Estimate.absent("all_equal", value=value, n=pairs, n_clusters=runs, reason=reason)
    half = float(stdtrit(runs - 1, 0.5 + level / 2) * se)
    return Estimate(value, value - half, min(1.0, value + half), se, pairs, runs)


def silhouettes(unit: NDArray[np.float64], partition: Partition) -> NDArray[np.float64]:
    """Silhouette of each item by the distance 1 - cosine.

    The mean of 1 - cosine to the items of a cluster is 1 - the dot product with their mean: no distances between items
    are needed.

    Args:
        unit: n x d, of length 1.
        partition: of the same items, in at least two clusters.

    Returns:
        n, within -1..1; 0 for the only item of its cluster.

    References:
        P. J. Rousseeuw, Silhouettes, Journal of Computational and Applied Mathematics 20 (1987).
    """
    labels, sizes = partition.labels, partition.sizes
    centres = np.zeros((len(sizes), unit.shape[1]))
    np.add.at(centres, labels, unit)
    rows = np.arange(len(unit))
    far = 1.0 - unit @ (centres / sizes[:, None]).T
    own = far[rows, labels] * sizes[labels] / np.maximum(1, sizes[labels] - 1)
    far[rows, labels] = np.inf
    other = far.min(axis=1)
    largest = np.maximum(own, other)
    out = np.divide(other - own, largest, out=np.zeros(len(unit)), where=largest > 0)
    out[sizes[labels] == 1] = 0.0
    return np.clip(out, -1.0, 1.0)


def measure(
    runs: Runs,
    partition: Partition,
    unit: NDArray[np.float64],
    held_out: Estimate | None = None,
    level: float = 0.95,
) -> Measured:
    """Measure one number of attributes.

    Args:
        runs: of all numbers.
        partition: the consensus; its number of attributes is the one that is measured.
        unit: n x d, vectors of length 1.
        held_out: mean log-likelihood of held-out responses under the prior of this partition.
        level: of intervals.
    """
    k = len(partition.attributes)
    silhouette = Estimate.absent("undefined", n=len(unit), reason="one cluster has no other beside it")
    if k > 1:
        silhouette = cluster_mean(silhouettes(unit, partition), np.arange(len(unit)), level)
    return Measured(k, stability(runs.of(k), level), int(partition.sizes.min()), silhouette, held_out)


def held_out_estimate(predictions: pa.Table) -> Estimate:
    """Mean log-likelihood of held-out responses under a prior, from the predictions that its fit made.

    Args:
        predictions: PREDICTIONS table; its row of DINA's log-likelihood counts.

    Raises:
        UserError: there is no such row.
    """
    for row in predictions.to_pylist():
        if (row["predictor"], row["measure"]) == ("dina", "loglik"):
            ends = row["ci_low"], row["ci_high"]
            status = "ok" if row["status"] == "ok" else "undefined"
            return Estimate(row["value"], *ends, None, row["n"], row["n_items"], status, row["reason"])
    raise UserError(
        "predictions: no row of predictor 'dina' and measure 'loglik'; fit with held-out responses"
    )


def choose_k(measured: Sequence[Measured], *, least_items: int = 8, least_stability: float = 0.6) -> Choice:
    """Choose the number of attributes.

    1. Numbers whose smallest attribute has fewer than `least_items` items are out: an attribute that few items need
       cannot be told of any model.
    2. Of the others, those less stable than `least_stability` are out: their attributes are another set in every run.
       Where none is stable enough, only the most stable one is left, and the reason says so.
    3. Of these, the one with the highest held-out log-likelihood is taken; without any, the most stable one. The
       smaller number where several are equal. The silhouette is reported and decides nothing: it is flat.

    Args:
        measured: each number once.
        least_items: floor of the smallest attribute.
        least_stability: floor of the mean adjusted Rand index between runs.

    Returns:
        The number and the reason.

    Raises:
        UserError: nothing was measured, a number stands twice, every number has too small an attribute, or some of
            the numbers that are left were fitted and others not.
    """
    if not measured:
        raise UserError("no number of attributes was tried; expected at least one")
    ordered = sorted(measured, key=lambda one: one.k)
    for one, two in pairwise(ordered):
        if one.k == two.k:
            raise UserError(f"k = {one.k} was measured twice; expected every number once")
    if len(ordered) == 1:
        return Choice(ordered[0].k, "the only number that was tried")
    large = [one for one in ordered if one.smallest >= least_items]
    if not large:
        seen = ", ".join(f"k = {one.k}: {one.smallest}" for one in ordered)
        raise UserError(
            f"every number of attributes has one of fewer than {least_items} items (smallest: {seen}); try smaller "
            "numbers, or lower least_items"
        )
    told = f"{len(ordered)} numbers tried"
    if len(large) < len(ordered):
        told += f", {len(ordered) - len(large)} with an attribute of fewer than {least_items} items"
    stable = [one for one in large if _value(one.stability) >= least_stability]
    if not stable:
        best = max(large, key=lambda one: (_value(one.stability), -one.k))
        return Choice(
            best.k,
            f"{told}; none reaches a stability of {least_stability:g}, and this one is the most stable "
            f"({_shown(best.stability)})",
        )
    if len(stable) < len(large):
        told += f", {len(large) - len(stable)} below a stability of {least_stability:g}"
    fitted = [one for one in stable if one.held_out is not None and one.held_out.value is not None]
    if fitted and len(fitted) < len(stable):
        missing = ", ".join(str(one.k) for one in stable if one not in fitted)
        raise UserError(
            f"no held-out log-likelihood for k = {missing}, but for others; they cannot be compared: fit every number "
            "of attributes, or none"
        )
    if fitted:
        best = max(fitted, key=lambda one: (_value(one.held_out), -one.k))
        return Choice(
            best.k, f"{told}; the highest held-out log-likelihood of the rest ({_shown(best.held_out)})"
        )
    best = max(stable, key=lambda one: (_value(one.stability), -one.k))
    return Choice(
        best.k,
        f"{told}; the most stable of the rest ({_shown(best.stability)}); no held-out log-likelihood is known",
    )


def _value(estimate: Estimate | None) -> float:
    return -math.inf if estimate is None or estimate.value is None else estimate.value


def _shown(estimate: Estimate | None) -> str:
    return f"{_value(estimate):.4g}"


def k_curve(measured: Sequence[Measured], choice: Choice) -> pa.Table:
    """The curve as a table.

    Args:
        measured: each number once.
        choice: which one is taken; its reason stands at its row of `stability`.

    Returns:
        K_CURVE table. The size of the smallest attribute is a count and has no interval.
    """
    rows = []
    for one in sorted(measured, key=lambda one: one.k):
        estimates: Mapping[str, Estimate | None] = {
            "stability": one.stability,
            "silhouette": one.silhouette,
            "held_out_loglik": one.held_out,
            "smallest": Estimate.absent("one_cluster", value=float(one.smallest), n=1, reason="a count"),
        }
        for name in K_MEASURES:
            estimate = estimates[name]
            if estimate is None:
                estimate = Estimate.absent("no_data", reason="no fit was made")
            chosen = one.k == choice.k
            rows.append(
                {
                    "k": one.k,
                    "measure": name,
                    "chosen": chosen,
                    "status": _status(estimate),
                    "reason": choice.reason if chosen and name == "stability" else estimate.reason,
                    "n": estimate.n,
                    "value": estimate.value,
                    "ci_low": estimate.ci_low,
                    "ci_high": estimate.ci_high,
                }
            )
    rows.sort(key=lambda row: (row["k"], row["measure"]))
    return pa.Table.from_pylist(rows, schema=K_CURVE.schema)


def _status(estimate: Estimate) -> str:
    if estimate.value is None:
        return "not_computable"
    return "ok" if estimate.ci_low is not None else "no_interval"


def chosen_k(curve: pa.Table) -> int:
    """The number that a curve says is taken.

    Args:
        curve: K_CURVE table.

    Raises:
        UserError: it names none, or several.
    """
    found = {row["k"] for row in curve.to_pylist() if row["chosen"]}
    if len(found) != 1:
        raise UserError(f"the K curve chooses {sorted(found)}; expected exactly one number of attributes")
    return int(found.pop())
