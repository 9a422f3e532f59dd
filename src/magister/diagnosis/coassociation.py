"""How often items are together with the items of an attribute, and the graded prior of a Q-matrix that follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from magister.diagnosis.clusters import Partition, Runs
from magister.diagnosis.prior import QPrior, point_prior
from magister.errors import UserError

CEILING = 0.95
"""Prior of an attribute whose items alone an item is ever together with."""
_SAME = 9
"""Digits to which numbers count as equal when items are ranked."""


@dataclass(frozen=True)
class Membership:
    """A partition, and how often items are together with the items of each attribute.

    Attributes:
        partition: items and attributes.
        together: n x K, share of runs in which an item is together with an attribute's items.
    """

    partition: Partition
    together: NDArray[np.float64]

    @property
    def own(self) -> NDArray[np.float64]:
        """n: share of runs in which an item is together with the items of its own attribute."""
        return self.together[np.arange(len(self.together)), self.partition.labels]

    @property
    def margin(self) -> NDArray[np.float64]:
        """n: how much more often than with those of the next attribute; below 0 where another one is nearer."""
        others = self.together.copy()
        others[np.arange(len(others)), self.partition.labels] = 0.0
        return self.own - others.max(axis=1)

    @property
    def shares(self) -> NDArray[np.float64]:
        """n x K: `together` of each item in proportion, so that it sums to 1 over attributes.

        The same for every attribute where an item is never together with any other: nothing is known of it.
        """
        total = self.together.sum(axis=1, keepdims=True)
        flat = np.full(self.together.shape, 1.0 / len(self.partition.attributes))
        return np.divide(self.together, total, out=flat, where=total > 0)


def membership(runs: Runs, k: int, partition: Partition) -> Membership:
    """Count how often items are together with the items of each attribute.

    For item j and attribute a, over runs r and the other items i of a:
    m_ja = #(r, i: j and i in one cluster of r) / #(r, i: r drew both). The one item of an attribute of its own has no
    other: its m is the share of its runs in which it was a cluster alone.

    Args:
        runs: labels of all runs.
        k: number of clusters that the runs are cut into; the partition may have fewer, when some were joined.
        partition: of the same items.

    Returns:
        The shares. Runs are counted one by one; no matrix of items x items is made.

    Raises:
        UserError: the items are not the same, or the runs were not cut into so many clusters.
    """
    if runs.items != partition.items:
        raise UserError(
            f"clusters of {len(partition.items)} items and runs of {len(runs.items)} that are not the same; make both "
            "from one run of the step that clusters"
        )
    labels, attributes = partition.labels, len(partition.attributes)
    n = len(labels)
    together, drawn = np.zeros((n, attributes), np.int64), np.zeros((n, attributes), np.int64)
    alone, appeared = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for run in runs.of(k):
        have = np.flatnonzero(run >= 0)
        cluster, attribute = run[have].astype(np.intp), labels[have]
        count = np.zeros((int(cluster.max()) + 1, attributes), np.int64)
        np.add.at(count, (cluster, attribute), 1)
        together[have] += count[cluster]
        drawn[have] += count.sum(axis=0)
        # Not with itself.
        together[have, attribute] -= 1
        drawn[have, attribute] -= 1
        appeared[have] += 1
        alone[have] += count.sum(axis=1)[cluster] == 1
    single = np.flatnonzero(partition.sizes[labels] == 1)
    together[single, labels[single]], drawn[single, labels[single]] = alone[single], appeared[single]
    return Membership(partition, np.divide(together, drawn, out=np.zeros((n, attributes)), where=drawn > 0))


def reference(partition: Partition) -> QPrior:
    """The Q-matrix of a partition: every item needs its own attribute and no other."""
    own = np.zeros((len(partition.items), len(partition.attributes)), bool)
    own[np.arange(len(own)), partition.labels] = True
    return QPrior(partition.items, partition.attributes, own, own.astype(np.float64))


def graded_prior(member: Membership, *, ceiling: float = CEILING, r0: float | None = None) -> QPrior:
    """The prior that runs give, graded by how much they agree: r_ja = r0 + (ceiling - r0) m_ja / sum over a' of m_ja'.

    An item that all runs put with the items of one attribute gets `ceiling` there and `r0` elsewhere; one that runs put
    here and there is spread over these attributes. An item's prior sums to the same number of attributes whatever the
    runs say: ceiling + (K - 1) r0, at most 2 by default.

    Args:
        member: how often items are together.
        ceiling: prior of an attribute whose items alone an item is together with.
        r0: prior of one whose items it is never with; 1/K where not given.

    Returns:
        The prior; its reference is the partition.

    Raises:
        UserError: not 0 < r0 < ceiling < 1.
    """
    attributes = len(member.partition.attributes)
    # One attribute has no zeros: the item's share of it is 1.
    low = (1.0 / attributes if attributes > 1 else ceiling / 2) if r0 is None else r0
    if not 0 < low < ceiling < 1:
        raise UserError(
            f"prior: r0 {low:g} and ceiling {ceiling:g} for {attributes} attributes; expected 0 < r0 < ceiling < 1"
        )
    plain = reference(member.partition)
    return QPrior(plain.items, plain.attributes, plain.reference, low + (ceiling - low) * member.shares)


def prior_of(
    member: Membership,
    *,
    kind: Literal["graded", "point"] = "graded",
    ceiling: float = CEILING,
    p_star: float = 0.8,
    r0: float | None = None,
) -> QPrior:
    """The prior of a partition.

    Args:
        member: how often items are together.
        kind: `graded` by how much runs agree, or the same belief in every entry of the partition (`point`).
        ceiling: of the graded prior.
        p_star: of the point prior.
        r0: of entries that nothing speaks for; 1/K where not given.
    """
    if kind == "graded":
        return graded_prior(member, ceiling=ceiling, r0=r0)
    return point_prior(reference(member.partition), kept=p_star, added=r0)


def rank_items(member: Membership, unit: NDArray[np.float64]) -> NDArray[np.int32]:
    """Rank the items of each attribute from the most central.

    Args:
        member: how often items are together.
        unit: n x d, vectors of the items, of length 1.

    Returns:
        n, ranks from 1: by margin, then by the cosine to the mean of the attribute's items, then by id.
    """
    labels = member.partition.labels
    centres = np.zeros((len(member.partition.attributes), unit.shape[1]))
    np.add.at(centres, labels, unit)
    cosine = np.einsum("nd,nd->n", unit, centres[labels])
    length = np.sqrt(np.square(centres).sum(axis=1))[labels]
    near = np.divide(cosine, length, out=np.zeros(len(unit)), where=length > 0)
    order = np.lexsort((np.arange(len(unit)), -near.round(_SAME), -member.margin.round(_SAME), labels))
    starts = np.cumsum(member.partition.sizes) - member.partition.sizes
    ranks = np.empty(len(unit), np.int32)
    ranks[order] = np.arange(len(unit)) - starts[labels[order]] + 1
    return ranks
