"""The formulas of the metrics on sums of whole numbers; `magister.teaching.metrics` says what they mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from magister.teaching._cube import Bools, Ints

Floats = NDArray[np.float64]

#: Metrics of the verdicts, in the order of the pooled statistics.
JUDGING = ("JA", "JA_none", "JA_balanced", "JA_mcc", "JA_always_wrong")
#: Counts that they rest on.
POOLED = ("judged", "judged_right", "hit_right", "hit_wrong", "none")
#: Answers that changed in a round: to right, and away from it.
MOVES = ("Fix", "Reg")
#: CA by the worst leak of a cell's guides, in the order of `LEAKS`.
BY_LEAK = ("CA_leak_none", "CA_leak_option", "CA_leak_gold")
#: CA beside that of a control arm: filled in from other units.
RELATIVE = ("net_CA", "headroom", "net_verdict")
# Means of shares that differ by no more are equal.
_ROUNDING = 1e-12
#: What is worked out for the arm `taught` alone.
TAUGHT_ONLY = (*JUDGING, "CA_masked", *BY_LEAK, "headroom", "net_verdict")


@dataclass(frozen=True)
class Layout:
    """Where the sums of a unit stand and which metrics they give.

    Sums per unit: cells n_m, then right_{m,t}, then the pooled counts of the verdicts, then Fix_t and Reg_t for
    t = 1..T, then right_{m,T} with leaks masked, then per kind of leak its cells and how many were right at 0 and at
    T, then per number of options the cells of each student.

    Attributes:
        students: S.
        rounds: R, the blind answer included.
        own: zero-shot answers of the teacher itself.
        options: numbers of options that items have, -1 for unknown.
    """

    students: int
    rounds: int
    own: bool
    options: tuple[int, ...] = ()

    @property
    def pooled(self) -> int:
        return self.students * (1 + self.rounds)

    @property
    def width(self) -> int:
        return self.pooled if self.own else self.by_options + self.students * len(self.options)

    @property
    def moves(self) -> int:
        return self.pooled + len(POOLED)

    @property
    def masked(self) -> int:
        return self.moves + 2 * (self.rounds - 1)

    @property
    def by_leak(self) -> int:
        return self.masked + self.students

    @property
    def by_options(self) -> int:
        return self.by_leak + 3 * len(BY_LEAK)

    @property
    def metrics(self) -> list[tuple[str, int]]:
        if self.own:
            return [("AA", 0)]
        last = self.rounds - 1
        curve = [("p", t) for t in range(self.rounds)]
        curve += [(name, t) for name in ("CA", *MOVES) for t in range(1, self.rounds)]
        round_one = [(name, 1) for name in (*JUDGING, "GA", "regression")]
        whole = ("RA", "normalised_gain", "corrected_gain", "CA_masked", *BY_LEAK, *RELATIVE)
        return [*curve, *round_one, *((name, last) for name in whole)]

    def rounds_read(self, metric: str, t: int) -> list[int]:
        """Rounds whose student replies the metric reads."""
        if metric == "p" or self.own:
            return [t]
        if metric in JUDGING:
            return [0]
        if metric in MOVES:
            return [t - 1, t]
        return list(range(1, t + 1)) if metric == "RA" else [0, t]


def statistics(totals: Floats, layout: Layout, present: Bools) -> Floats:
    """Metrics from sums, on the data and on resamples alike.

    Args:
        totals: shape (U, F, B).
        layout: meaning of F.
        present: students with a cell in use, shape (U, S); others are no part of a mean.

    Returns:
        Statistics in the order of `layout.metrics`, shape (U, M, B); NaN where undefined.
    """
    cells = totals[:, : layout.students]
    right = totals[:, layout.students : layout.pooled].reshape(
        totals.shape[0], layout.students, layout.rounds, totals.shape[2]
    )
    out = np.empty((totals.shape[0], len(layout.metrics), totals.shape[2]))
    for k, (metric, t) in enumerate(layout.metrics):
        if metric in ("p", "AA"):
            out[:, k] = mean_over_students(right[:, :, t], cells, present)
        elif metric == "CA":
            out[:, k] = mean_over_students(right[:, :, t] - right[:, :, 0], cells, present)
        elif metric == "RA":
            out[:, k] = mean_over_students(retained(right, cells), np.ones_like(cells), present)
        elif metric == "CA_masked":
            masked = totals[:, layout.masked : layout.by_leak]
            out[:, k] = mean_over_students(masked - right[:, :, 0], cells, present)
        elif metric in BY_LEAK:
            at = layout.by_leak + 3 * BY_LEAK.index(metric)
            out[:, k] = ratio(totals[:, at + 2] - totals[:, at + 1], totals[:, at])
        elif metric in RELATIVE:
            out[:, k] = np.nan
        elif metric in MOVES:
            out[:, k] = totals[:, layout.moves + MOVES.index(metric) * (layout.rounds - 1) + t - 1]
        elif metric == "corrected_gain":
            above_chance = _above_chance(totals, layout)
            out[:, k] = mean_over_students(right[:, :, t] - right[:, :, 0], above_chance, present)
        elif metric == "normalised_gain":
            gain = mean_over_students(right[:, :, t] - right[:, :, 0], cells, present)
            out[:, k] = ratio(gain, mean_over_students(cells - right[:, :, 0], cells, present))
    if not layout.own:
        first = [metric for metric, _ in layout.metrics].index(JUDGING[0])
        out[:, first : first + len(JUDGING) + 2] = _pooled(totals, layout)
    return out


def final_gain(totals: Floats, layout: Layout, present: Bools) -> Floats:
    """CA at the last round from the sums of `Layout`, shape (U, B)."""
    right = totals[:, layout.students : layout.pooled].reshape(
        totals.shape[0], layout.students, layout.rounds, totals.shape[2]
    )
    return mean_over_students(right[:, :, -1] - right[:, :, 0], totals[:, : layout.students], present)


def relative(gain: Floats, sham: Floats, oracle: Floats, verdict: Floats) -> Floats:
    """CA beside the control arms: net CA, headroom share and net of the verdict alone.

    Args:
        gain: CA, shape (U, B).
        sham: CA of the arm sham, shape (B,); NaN where there is none, as in the others.
        oracle: CA of the arm oracle_tell, shape (B,).
        verdict: CA of the same teachers in the arm verdict_only, shape (U, B).

    Returns:
        In the order of `RELATIVE`, shape (U, 3, B).
    """
    room = np.broadcast_to(oracle - sham, gain.shape)
    # Where telling the answer does not lift the students there is no room to take a share of. Equal gains of
    # several students may differ by rounding: that is no room.
    some = room > _ROUNDING
    share = np.where(some, (gain - sham) / np.where(some, room, 1.0), np.nan)
    return np.stack([gain - sham, share, gain - verdict], axis=1)


def _pooled(totals: Floats, layout: Layout) -> Floats:
    """JA and its companions, GA and regression, shape (U, 7, B)."""
    judged, judged_right, hit_right, hit_wrong, none = np.moveaxis(
        totals[:, layout.pooled : layout.moves], 1, 0
    )
    fixed, lost = totals[:, layout.moves], totals[:, layout.moves + layout.rounds - 1]
    n = added(totals[:, : layout.students])
    right0 = added(totals[:, layout.students : layout.pooled : layout.rounds])
    judged_wrong = judged - judged_right
    missed_right, missed_wrong = judged_right - hit_right, judged_wrong - hit_wrong
    # One root of the product: the root of a square is exact, so a perfect judge has exactly 1.
    spread = np.sqrt(
        (judged_right * judged_wrong) * ((hit_right + missed_wrong) * (hit_wrong + missed_right))
    )
    return np.stack(
        [
            ratio(hit_right + hit_wrong, judged),
            ratio(none, n),
            (ratio(hit_right, judged_right) + ratio(hit_wrong, judged_wrong)) / 2,
            ratio(hit_right * hit_wrong - missed_right * missed_wrong, spread),
            ratio(judged_wrong, judged),
            ratio(fixed, n - right0),
            ratio(lost, right0),
        ],
        axis=1,
    )


def _above_chance(totals: Floats, layout: Layout) -> Floats:
    """sum over cells of 1 - 1 / (number of options) per student, shape (U, S, B); NaN where one is unknown."""
    total = np.zeros((totals.shape[0], layout.students, totals.shape[2]))
    for k, options in enumerate(layout.options):
        at = layout.by_options + layout.students * k
        cells = totals[:, at : at + layout.students]
        total += np.where(cells > 0, np.nan, 0.0) if options < 2 else cells * (1 - 1 / options)
    return total


def retained(right: Floats, cells: Floats) -> Floats:
    """prod_{t>=2} r_{m,t} - 1 per student, shape (U, S, B); Fix - Reg is the change of the number right."""
    product = np.where(cells == 0, np.nan, 1.0)
    for t in range(2, right.shape[2]):
        before, change = right[:, :, t - 1], right[:, :, t] - right[:, :, t - 1]
        product = product * (1 + np.where(before == 0, 0.0, change / np.where(before == 0, 1.0, before)))
    return product - 1


def ratio(top: Floats, bottom: Floats) -> Floats:
    """Top / bottom, NaN where the bottom is 0."""
    return np.where(bottom == 0, np.nan, top / np.where(bottom == 0, 1.0, bottom))


def added(parts: Floats) -> Floats:
    """Sum over axis 1 in a fixed order: a library's order may depend on the shape of the array."""
    total = parts[:, 0].copy()
    for m in range(1, parts.shape[1]):
        total += parts[:, m]
    return total


def mean_over_students(top: Floats, bottom: Floats, present: Bools) -> Floats:
    """Mean over present students of top / bottom, shape (U, B)."""
    share = np.where(present[:, :, None], ratio(top, bottom), 0.0)
    return ratio(added(share), present.sum(axis=1)[:, None].astype(np.float64))


def nothing_retained(total: Ints, layout: Layout) -> Bools:
    """Units where every r is 1 for want of anything right, or there is no round after 1; shape (U,)."""
    right = total[:, layout.students : layout.pooled].reshape(-1, layout.students, layout.rounds)
    return np.asarray(~(right[:, :, 1:-1] > 0).any(axis=(1, 2)))


def clusters_read(sums: NDArray[np.int32], layout: Layout) -> Ints:
    """Clusters with something in the denominator, per unit and metric, shape (U, M)."""
    cells = sums[:, : layout.students].sum(axis=1)
    used = (cells > 0).sum(axis=1)
    by_metric = {metric: used for metric, _ in layout.metrics}
    if not layout.own:
        right = sums[:, layout.students : layout.pooled : layout.rounds].sum(axis=1)
        judged = (sums[:, layout.pooled] > 0).sum(axis=1)
        by_metric |= {metric: judged for metric in JUDGING if metric != "JA_none"}
        by_metric |= {
            metric: (sums[:, layout.by_leak + 3 * k] > 0).sum(axis=1) for k, metric in enumerate(BY_LEAK)
        }
        by_metric |= {"GA": (cells > right).sum(axis=1), "regression": (right > 0).sum(axis=1)}
    return np.stack([by_metric[metric] for metric, _ in layout.metrics], axis=1)
