"""Resamples by a generator of the audit's own, and intervals held against them.

The published intervals are percentiles of the project's resamples. Here the same clusters are drawn again, by another
generator and another seed, fewer times. Whether a published end is where it must be is asked of its *probability*: the
share of our resamples below it, which may differ from the tail by what chance allows two sets of resamples
(`_chance`), whatever the shape of the distribution, on lattices too. A standard deviation has the relative standard
error sqrt((kurtosis - 1) / 4 (1 / B + 1 / B')), of which `ERRORS` are allowed.

The seed is fixed, so that the same files give the same findings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from magister.audit.recompute._chance import share_range, tail_share
from magister.audit.recompute._ledger import TOLERANCE, Bools, Floats, Ints, Ledger, Sheet, close

#: Resamples of our own, and the seed of their generator.
REDRAWS, SEED = 1000, 741_852_963
#: Standard errors between the two sets of resamples that are no difference.
ERRORS = 6.0
#: Undefined resamples above this share, and there is no interval: a promise of the tables.
UNDEFINED = 0.05


class Draws:
    """Counts of clusters on resamples, drawn within strata.

    Attributes:
        stratum: of each cluster, 0..H-1, shape (C,).
        sizes: clusters of each stratum, shape (H,).
        weights: shape (B', C), float32: whole numbers, of which sums below 2^24 are exact.
    """

    def __init__(self, strata: Sequence[Any] | NDArray[Any], redraws: int = REDRAWS, salt: int = 0) -> None:
        """Draw.

        Args:
            strata: label of each cluster's stratum, length C.
            redraws: B'.
            salt: tells streams apart that must not repeat one another.
        """
        _, code = np.unique(np.asarray(strata, dtype=str), return_inverse=True)
        self.stratum: Ints = code.astype(np.int64)
        self.sizes: Ints = np.bincount(code).astype(np.int64)
        self.redraws = redraws
        stream = np.random.Generator(np.random.Philox(key=[SEED, salt]))
        self.weights = np.zeros((redraws, code.size), dtype=np.float32)
        for h, size in enumerate(self.sizes.tolist()):
            members = np.flatnonzero(code == h)
            # A resample is a list of its members; sorted uniforms would do, whole numbers are faster.
            drawn = stream.integers(0, size, size=(redraws, size)) + size * np.arange(redraws)[:, None]
            self.weights[:, members] = np.bincount(drawn.ravel(), minlength=redraws * size).reshape(-1, size)

    def totals(self, sums: NDArray[Any], clusters: Ints | None = None) -> Floats:
        """Sums per cluster (c, ...) added up on every resample, shape (B', ...)."""
        weights = self.weights if clusters is None else self.weights[:, clusters]
        flat = np.asarray(sums).reshape(len(sums), -1)
        whole = flat.dtype.kind in "iub" and np.abs(flat).max(initial=0) * max(len(flat), 1) < 2**23
        kind = np.float32 if whole else np.float64
        out = weights.astype(kind, copy=False) @ flat.astype(kind)
        return out.astype(np.float64).reshape(self.redraws, *np.shape(sums)[1:])

    def freedom(self, clusters: Ints | None = None) -> tuple[int, int]:
        """Clusters in strata of two or more, and that less the number of these strata."""
        sizes = self.sizes if clusters is None else np.bincount(self.stratum[clusters])
        sizes = sizes[sizes > 1]
        return int(sizes.sum()), int(sizes.sum() - sizes.size)

    def vary(self, clusters: Ints | None = None) -> bool:
        """Whether a stratum of these clusters has several to choose from."""
        of = self.stratum if clusters is None else self.stratum[clusters]
        return bool((self.sizes[of] > 1).any())

    def tail(self, level: float, clusters: Ints | None = None) -> float:
        """Tail of an expanded percentile interval: Phi(-sqrt(C / (C - H)) t).

        References:
            Hesterberg (2015), The American Statistician 69, 371-386, section 4.2.
        """
        count, freedom = self.freedom(clusters)
        if freedom == 0:
            return (1 - level) / 2
        return float(stats.norm.sf(np.sqrt(count / freedom) * stats.t.ppf(0.5 + level / 2, freedom)))


@dataclass(frozen=True)
class Published:
    """Intervals as they stand in a table, K of them.

    Attributes:
        sheet: the table.
        rows: positions of the K rows.
        low: column of the lower end.
        high: of the upper end.
        resamples: B of the table.
        check: what to call a finding.
    """

    sheet: Sheet
    rows: Ints
    low: str
    high: str
    resamples: int
    check: str


def hold_ends(
    ledger: Ledger,
    given: Published,
    drawn: Floats,
    tail: float | Floats,
    *,
    bounded: bool = True,
    slack: float = 1e-9,
) -> None:
    """Ends of percentile intervals against our own resamples.

    Args:
        ledger: for findings.
        given: the K intervals; rows without one are passed over.
        drawn: our statistics, shape (B', K); NaN where a resample leaves one undefined.
        tail: probability below the lower end, of all or of each.
        bounded: whether the statistics have light tails. An end far beyond all of our resamples is wrong; with heavy
            tails "far" is twenty times their range.
        slack: values that differ by less, relative to their size where that is above 1, are one value.
    """
    ordered = np.sort(drawn, axis=0)  # NaN last
    defined = (~np.isnan(ordered)).sum(axis=0)
    some = np.maximum(defined, 1)
    columns = np.arange(drawn.shape[1])
    least, most = ordered[0], ordered[some - 1, columns]
    margin = (most - least) * (0.5 if bounded else 20.0) + 1e-9
    q = np.broadcast_to(np.asarray(tail, dtype=np.float64), (drawn.shape[1],))
    for column, probability in ((given.low, q), (given.high, 1 - q)):
        keys = zip(probability.tolist(), some.tolist(), strict=True)
        bounds = np.array([tail_share(p, given.resamples, n) for p, n in keys]).reshape(-1, 2)
        end = given.sheet.numbers(column)[given.rows]
        there = ~np.isnan(end) & (defined > 0)
        width = slack * np.maximum(np.abs(end), 1.0)
        with np.errstate(invalid="ignore"):
            below = (drawn < end - width).sum(axis=0) / some
            upto = (drawn <= end + width).sum(axis=0) / some
            off = (below > bounds[:, 1]) | (upto < bounds[:, 0])
            off |= (end < least - margin) | (end > most + margin)
        wanted = _quantiles(ordered, some, probability)
        said = np.array([f"about {value:.6g}, the {p:.4g} quantile of {n} resamples of our own"
                         for value, p, n in zip(wanted, probability, some, strict=True)], dtype=object)  # fmt: skip
        ledger.count(given.check, int(there.sum()))
        ledger.refuse(given.sheet, column, there & off, given.check, end, said, rows=given.rows)


def hold_errors(ledger: Ledger, given: Published, drawn: Floats) -> None:
    """Standard errors (column `se`) against the standard deviation of our own resamples.

    Args:
        ledger: for findings.
        given: the K rows.
        drawn: shape (B', K).
    """
    seen = given.sheet.numbers("se")[given.rows]
    there = ~np.isnan(seen)
    lost = np.isnan(drawn)
    count = np.maximum((~lost).sum(axis=0), 2)
    filled = np.where(lost, 0.0, drawn)
    away = filled - filled.sum(axis=0) / count
    away[lost] = 0.0
    away *= away
    square = away.sum(axis=0) / count
    own = np.sqrt(square * count / (count - 1))
    flat = square <= 1e-24
    kurtosis = np.where(flat, 3.0, (away * away).sum(axis=0) / count / np.where(flat, 1.0, square) ** 2)
    share = ERRORS * np.sqrt(np.maximum(kurtosis - 1, 2.0) / 4 * (1 / max(given.resamples, 1) + 1 / count))
    off = np.abs(seen - own) > share * np.maximum(own, 1e-12) * 1.2 + 1e-9
    said = np.array([f"about {value:.6g}, the spread of {n} resamples of our own"
                     for value, n in zip(own, count, strict=True)], dtype=object)  # fmt: skip
    ledger.count(given.check, int(there.sum()))
    ledger.refuse(given.sheet, "se", there & off, given.check, seen, said, rows=given.rows)


def _quantiles(ordered: Floats, some: Ints, probability: Floats) -> Floats:
    place = np.clip((probability * (some - 1)).astype(np.int64), 0, some - 1)
    return np.asarray(ordered[place, np.arange(ordered.shape[1])])


def student(level: float, freedom: Any) -> Any:
    """Student's two-sided quantile."""
    return special.stdtrit(np.maximum(freedom, 1), 0.5 + level / 2)


def wilson_ends(hits: float, n: int, level: float) -> tuple[float, float]:
    """Wilson's interval of a share, as the two roots of (p - x)^2 = z^2 x (1 - x) / n.

    References:
        Wilson (1927), JASA 22, 209-212.
    """
    z2 = float(stats.norm.ppf(0.5 + level / 2)) ** 2
    p = hits / n
    roots = np.roots([1 + z2 / n, -(2 * p + z2 / n), p * p])
    low, high = sorted(np.clip(roots.real, 0.0, 1.0).tolist())
    return low, high


def adjusted(p: Floats) -> Floats:
    """Holm's adjusted p values; NaN stays NaN and is no comparison.

    References:
        Holm (1979), Scandinavian Journal of Statistics 6, 65-70.
    """
    out = np.full(p.shape, np.nan)
    known = np.flatnonzero(~np.isnan(p))
    worst = 0.0
    for place, k in enumerate(known[np.argsort(p[known], kind="stable")].tolist()):
        worst = max(worst, min(1.0, float(p[k]) * (known.size - place)))
        out[k] = worst
    return out


def letters_agree(
    groups: Sequence[str], pairs: Sequence[tuple[int, int]], apart: Sequence[bool | None]
) -> list[int]:
    """Pairs whose letters say otherwise: those told apart share none, all others share one.

    Args:
        groups: letters of each model, single letters or numbers in brackets.
        pairs: positions of models.
        apart: whether each pair is told apart; None where either will do.

    Returns:
        Positions of the pairs that are wrong.
    """
    split = [_letters(text) for text in groups]
    return [
        k
        for k, ((one, two), told) in enumerate(zip(pairs, apart, strict=True))
        if told is not None and bool(split[one] & split[two]) == told
    ]


def _letters(text: str) -> set[str]:
    head, _, rest = text.partition("(")
    return set(head) | {f"({part}" for part in rest.split("(") if part}


def ranked(scores: Floats) -> Floats:
    """1 + the number of higher scores along the last axis; equal to twelve decimals is equal; NaN has none."""
    x = np.round(scores, 12)
    higher = (x[..., None, :] > x[..., :, None]).sum(axis=-1)
    return np.where(np.isnan(x), np.nan, 1.0 + higher)


def hold_ranks(
    ledger: Ledger,
    sheet: Sheet,
    rows: Ints,
    drawn: Floats,
    tail: float,
    resamples: int,
    *,
    first: bool = True,
    shifts: Sequence[tuple[Ints, Ints, Ints, Ints]] = (),
    slack: float = 1e-9,
) -> None:
    """Ends of rank intervals and shares of first places against our own resamples.

    Args:
        ledger: for findings.
        sheet: a table with rank_low, rank_high and, with `first`, p_first.
        rows: of the U models.
        drawn: our scores, shape (B', U).
        tail: of the interval.
        resamples: B of the table.
        first: whether it has p_first.
        shifts: each `above`, `below`, `better`, `worse` of each model: how many others may stand above or below it
            whatever resamples say, and how many certainly do; ranks are widened by the first two and held to the
            others. With several, an end may be that of any.
        slack: scores no further apart may share a rank or not: they may be equal but for rounding.
    """
    best, worst = _rank_range(drawn, slack)
    count = drawn.shape[1]
    for column, probability in (("rank_low", tail), ("rank_high", 1 - tail)):
        seen = sheet.numbers(column)[rows]
        there = ~np.isnan(seen)
        low, high = tail_share(probability, resamples, len(drawn))
        # What none of our own resamples shows may be rare and yet among theirs.
        least = _rank_at(best, low) if low > 0 else np.ones(count)
        most = _rank_at(worst, high) if high < 1 else np.full(count, float(count))
        if shifts:
            moved = [_shifted(column, (least, most), shift, count) for shift in shifts]
            least = np.min([ends[0] for ends in moved], axis=0)
            most = np.max([ends[1] for ends in moved], axis=0)
        off = (seen < least) | (seen > most)
        said = np.array([f"from {a:.0f} to {b:.0f} by resamples of our own" for a, b in zip(least, most, strict=True)],
                        dtype=object)  # fmt: skip
        ledger.count("rank intervals: redrawn", int(there.sum()))
        ledger.refuse(sheet, column, there & off, "rank intervals: redrawn", seen, said, rows=rows)
    if first:
        own = (best == 1).mean(axis=0)
        seen = sheet.numbers("p_first")[rows]
        floor = share_range((worst == 1).mean(axis=0), len(drawn), resamples)[0]
        ceiling = share_range(own, len(drawn), resamples)[1]
        off = (seen < floor - 1e-6) | (seen > ceiling + 1e-6)
        said = np.array([f"about {value:.4f} by resamples of our own" for value in own], dtype=object)
        ledger.count("first places: redrawn", int((~np.isnan(seen)).sum()))
        ledger.refuse(sheet, "p_first", ~np.isnan(seen) & off, "first places: redrawn", seen, said, rows=rows)


def _rank_at(ranks: Floats, share: float) -> Floats:
    return np.asarray(np.nanquantile(ranks, share, axis=0, method="inverted_cdf"))


def _rank_range(drawn: Floats, slack: float) -> tuple[Floats, Floats]:
    """Best and worst rank of each score among those of its resample; scores within `slack` may stand either way."""
    known = ~np.isnan(drawn)
    above = np.stack([(drawn > column[:, None] + slack).sum(axis=1) for column in drawn.T], axis=1)
    upto = np.stack([(drawn > column[:, None] - slack).sum(axis=1) for column in drawn.T], axis=1)
    # A score is no further from itself than that.
    return np.where(known, 1.0 + above, np.nan), np.where(known, 1.0 * np.maximum(upto, 1), np.nan)


def _shifted(
    column: str, ends: tuple[Floats, Floats], shift: tuple[Ints, Ints, Ints, Ints], count: int
) -> tuple[Floats, Floats]:
    above, below, better, worse = shift
    if column == "rank_low":
        low, high = (np.minimum(np.maximum(end - above, 1), 1 + better) for end in ends)
    else:
        low, high = (np.maximum(np.minimum(end + below, count), count - worse) for end in ends)
    return low, high


__all__ = [
    "ERRORS", "REDRAWS", "SEED", "TOLERANCE", "UNDEFINED", "Bools", "Draws", "Published", "adjusted", "close",
    "hold_ends", "hold_errors", "hold_ranks", "letters_agree", "ranked", "student", "wilson_ends",
]  # fmt: skip
