"""Rows of the tables of ablations: values with their intervals, or with the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from magister.contracts.schemas import METRICS
from magister.stats import (
    MIN_MODELS,
    REASONS,
    BootstrapWeights,
    Estimate,
    Estimates,
    expanded_level,
    model_orders,
    order_agreement,
    percentile_intervals,
    shared_ranks,
    swapped_pairs,
    tails_are_empty,
    wilson,
)
from magister.teaching._cube import Ints
from magister.teaching._marks import Sums
from magister.teaching._samples import Paired, Sample, estimates, flip_tests
from magister.teaching._scores import Floats, present_students

Policy = Literal["wrong", "drop"]
Rows = list[dict[str, Any]]

_COEFFICIENTS = ("spearman", "kendall")
_WHY_UNDEFINED = {
    "CA": "no cell in use",
    "AA": "no zero-shot answer in use",
    "JA": "no cell with a verdict",
    "GA": "no cell was wrong at round 0: nothing to fix",
    "RA": "no round after 1, or nothing right that could be retained",
}
_BOUNDS = {
    "CA": (-1.0, 1.0), "AA": (0.0, 1.0), "JA": (0.0, 1.0), "GA": (0.0, 1.0), "RA": (-1.0, float("inf"))
}  # fmt: skip
_UNVARIED = "one cluster in each dataset: resamples cannot differ"
_SAME = "as in the whole league on every resample"


@dataclass(frozen=True)
class Options:
    """How numbers are worked out.

    Attributes:
        policy: "wrong" or "drop", see `magister.teaching.metrics`.
        resamples: bootstrap resamples, and sign flips of a test; 0 for values alone.
        level: confidence level, 0..1.
        seed: of the resamples, the sign flips and the orders in which samples grow.
    """

    policy: Policy
    resamples: int
    level: float
    seed: int

    def columns(self) -> dict[str, Any]:
        """The options as columns of a row."""
        return {"policy": self.policy, "resamples": self.resamples, "seed": self.seed, "level": self.level}


class Setting(NamedTuple):
    """One setting of an ablation: columns of its rows, and what there is to say of it."""

    league: str
    ablation: str
    setting: str
    note: str = ""

    def columns(self) -> dict[str, Any]:
        """The setting as columns of a row."""
        return {"league": self.league, "ablation": self.ablation, "setting": self.setting}


class Difference(NamedTuple):
    """Differences from the whole league: estimates, shape (U K,), and tests, shape (U, K)."""

    found: Estimates
    p: Floats
    p_holm: Floats


def differences(paired: Paired, options: Options, *, tested: bool) -> Difference:
    """Intervals of paired differences, with a sign-flip test where both sides rest on the same clusters."""
    found = estimates(paired.value, paired.replicates, paired.weights, options.level, paired.left_out)
    flips = options.resamples if tested else 0
    return Difference(found, *flip_tests(paired, flips=flips, seed=options.seed))


def ablation_rows(
    setting: Setting, sample: Sample, whole: Floats, difference: Difference | str, options: Options
) -> Rows:
    """Rows of ABLATIONS for every teacher and metric of a sample.

    Args:
        setting: names the rows.
        sample: the league under the setting.
        whole: the values of the whole league, shape (U, K).
        difference: the paired differences, or why there is no interval for them.
        options: how they were worked out.
    """
    found = estimates(sample.value, sample.replicates, sample.weights, options.level, lambda: sample.left_out)
    counts = _counts(sample.sums, options.policy)
    ranks = np.stack([shared_ranks(sample.value[:, k]) for k in range(len(sample.metrics))], axis=1)
    varies, still = _varies(sample.weights), _still(sample.weights)
    rows: Rows = []
    for u, teacher in enumerate(sample.sums.teachers):
        absent = _absent_students(sample.sums, u)
        for k, metric in enumerate(sample.metrics):
            at = METRICS.index(metric)
            number = u * len(sample.metrics) + k
            sizes = {name: int(column[u, at]) for name, column in counts.items()}
            result = _result(found[number], metric, sizes, options.level, varies=varies)
            notes = [result.reason, absent if metric != "AA" else "", setting.note]
            notes.append(still if result.status == "ok" else "")
            rows.append(
                setting.columns()
                | {"teacher": teacher, "metric": metric, "round": sample.rounds[k]}
                | {"status": result.status, "reason": _joined(*notes)}
                | {
                    name: sizes[name]
                    for name in ("n_items", "n_students", "n_clusters", "n_cells", "n_dropped")
                }
                | options.columns()
                | {"value": result.value, "ci_low": result.ci_low, "ci_high": result.ci_high, "se": result.se}
                | _difference(sample.value[u, k], whole[u, k], difference, number, varies=varies)
                | {"rank": int(ranks[u, k]) or None}
            )
    return rows


def _difference(
    value: float, whole: float, given: Difference | str, number: int, *, varies: bool
) -> dict[str, Any]:
    """The columns on the difference from the whole league."""
    row: dict[str, Any] = {
        "whole": _known(whole), "difference": None, "difference_ci_low": None, "difference_ci_high": None,
        "p": None, "p_holm": None,
    }  # fmt: skip
    if np.isnan(value) or np.isnan(whole):
        side = "under this setting" if np.isnan(value) else "in the whole league"
        return row | {"difference_status": "not_computable", "difference_reason": f"no value {side}"}
    row["difference"] = float(value - whole)
    if isinstance(given, str):
        return row | {"difference_status": "no_interval", "difference_reason": given}
    found = given.found[number]
    row |= {"p": _known(given.p.flat[number]), "p_holm": _known(given.p_holm.flat[number])}
    if found.status == "ok":
        ends = {"difference_ci_low": found.ci_low, "difference_ci_high": found.ci_high}
        return row | ends | {"difference_status": "ok", "difference_reason": found.reason}
    return row | {
        "difference_status": "no_interval",
        "difference_reason": _why_no_difference(found, varies=varies),
    }


def _why_no_difference(found: Estimate, *, varies: bool) -> str:
    if not varies and found.status != "no_resamples":
        return _UNVARIED
    return _SAME if found.status == "all_equal" and found.value == 0 else found.reason


def agreement_rows(
    setting: Setting, metrics: tuple[str, ...], value: Floats, whole: Floats, draws: Draws, options: Options
) -> Rows:
    """Rows of ABLATION_AGREEMENT, one per metric.

    Args:
        setting: names the rows.
        metrics: the K metrics.
        value: scores of U teachers under the setting, shape (U, K).
        whole: in the whole league, shape (U, K).
        draws: both on boards that are paired.
        options: how they were worked out.
    """
    rows: Rows = []
    for k, metric in enumerate(metrics):
        both = np.flatnonzero(~np.isnan(value[:, k]) & ~np.isnan(whole[:, k]))
        n = both.size
        pair = [model_orders(side[both, k, None]) for side in (value, whole)]
        changes = np.abs(value[both, k] - whole[both, k])
        row = setting.columns() | {"metric": metric} | options.columns()
        row |= dict.fromkeys(f"{name}{end}" for name in _COEFFICIENTS for end in ("", "_ci_low", "_ci_high"))
        row |= {
            "n_teachers": n,
            "n_pairs": n * (n - 1) // 2,
            "n_swapped": int(swapped_pairs(*pair)[0]) if n else 0,
        }
        row["largest_change"] = float(changes.max()) if n else None
        if n < MIN_MODELS:
            why = f"a correlation over {n} teachers says nothing: it takes {MIN_MODELS}"
            row |= {"status": "not_computable", "reason": _joined(why, setting.note)}
        else:
            row |= _coefficients(draws.of(both, k), order_agreement(*pair), draws, setting.note, options)
        rows.append(row)
    return rows


class Draws(NamedTuple):
    """Scores on B boards that the interval of an agreement is read from.

    Attributes:
        value: under the setting, shape (U, K, B).
        whole: in the whole league, shape (U, K, B) or (U, K, 1).
        weights: the resamples; None where boards are samples of clusters, whose mean is reported.
    """

    value: Floats
    whole: Floats
    weights: BootstrapWeights | None

    def of(self, teachers: Ints, k: int) -> tuple[Floats, Floats]:
        """Both coefficients on every board."""
        return order_agreement(model_orders(self.value[teachers, k]), model_orders(self.whole[teachers, k]))


def _coefficients(
    drawn: tuple[Floats, Floats], value: tuple[Floats, Floats], draws: Draws, note: str, options: Options
) -> dict[str, Any]:
    """Both coefficients, their intervals, status and reason."""
    weights = draws.weights
    point = np.array([float(part[0]) for part in value])
    level = options.level if weights is None else expanded_level(weights, options.level)
    if weights is None:
        with np.errstate(invalid="ignore"):
            point = np.array(
                [part[~np.isnan(part)].mean() if (~np.isnan(part)).any() else np.nan for part in drawn]
            )
    found = percentile_intervals(point, np.stack(drawn, axis=1), level)
    row: dict[str, Any] = {name: _known(point[k]) for k, name in enumerate(_COEFFICIENTS)}
    if np.isnan(point).any():
        return row | dict.fromkeys(_COEFFICIENTS) | {
            "status": "not_computable", "reason": _joined("all teachers have equal scores on a side", note)
        }  # fmt: skip
    lost = [k for k in range(2) if found.status[k] != "ok"]
    why = str(found.reason[lost[0]]) if lost else ""
    if lost and found.status[lost[0]] == "all_equal":
        why = "the same on every order" if weights is None else "the same on every resample"
    elif not lost and weights is not None and not _varies(weights):
        why = _UNVARIED
    elif not lost and weights is not None and tails_are_empty(weights, options.level):
        why = f"too few clusters for an interval from {options.resamples} resamples"
    if why:
        return row | {"status": "no_interval", "reason": _joined(why, note)}
    for k, name in enumerate(_COEFFICIENTS):
        row |= {f"{name}_ci_low": float(found.ci_low[k]), f"{name}_ci_high": float(found.ci_high[k])}
    return row | {"status": "ok", "reason": _joined(*dict.fromkeys(map(str, found.reason)), note)}


def contamination_rows(
    setting: Setting, sample: Sample, paired: Paired, changes: Difference, options: Options
) -> Rows:
    """Rows of CONTAMINATION, one per teacher.

    Args:
        setting: names the rows.
        sample: the league with its items in another form.
        paired: differences of all headline metrics from the whole league.
        changes: their estimates.
        options: how they were worked out.
    """
    own, gain = METRICS.index("AA"), METRICS.index("CA")
    gap = differences(paired.less(gain, own), options, tested=True)
    counts = _counts(sample.sums, options.policy)
    varies = _varies(paired.weights)
    rows: Rows = []
    for u, teacher in enumerate(sample.sums.teachers):
        row = setting.columns() | {"teacher": teacher} | options.columns()
        row |= {name: int(counts[name][u, gain]) for name in ("n_items", "n_clusters")}
        for name, found in (
            ("aa_change", changes.found[u * len(METRICS) + own]),
            ("ca_change", changes.found[u * len(METRICS) + gain]),
            ("gap", gap.found[u]),
        ):
            bounded = found.status == "ok" and varies
            row |= {name: found.value, f"{name}_ci_low": found.ci_low if bounded else None}
            row[f"{name}_ci_high"] = found.ci_high if bounded else None
        row |= {"p": _known(gap.p[u, 0]), "p_holm": _known(gap.p_holm[u, 0])}
        found = gap.found[u]
        if found.value is None:
            lost = "AA" if row["aa_change"] is None else "CA"
            status, why = "not_computable", f"no change of {lost}: a value is unknown"
        elif found.status != "ok" or not varies:
            status, why = "no_interval", _why_no_difference(found, varies=varies)
        else:
            status, why = "ok", found.reason
        rows.append(row | {"status": status, "reason": _joined(why, setting.note)})
    return rows


def _counts(sums: Sums, policy: Policy) -> dict[str, Ints]:
    """What each value rests on, in the order of `METRICS`, shape (U, 5) each; `read`: clusters in a denominator."""
    cells, own = sums.cells, sums.own
    used, before, judged = cells[:, :, 0], cells[:, :, 1], cells[:, :, -2]
    clusters = (used.sum(axis=1) > 0).sum(axis=1)
    answered = own[:, 0].sum(axis=1)
    of_league = {
        "n_items": sums.items.sum(axis=1),
        "n_students": present_students(sums).sum(axis=1),
        "n_clusters": clusters,
        "n_cells": used.sum(axis=(1, 2)),
        "asked": sums.asked.sum(axis=(1, 2)),
        "read": clusters,
    }
    of_own = {
        "n_items": answered,
        "n_students": np.zeros_like(answered),
        "n_clusters": (own[:, 0] > 0).sum(axis=1),
        "n_cells": answered,
        "asked": sums.own_asked.sum(axis=1),
        "read": (own[:, 0] > 0).sum(axis=1),
    }
    columns = {name: [of_own[name] if m == "AA" else of_league[name] for m in METRICS] for name in of_league}
    if policy == "drop":
        columns["n_cells"][METRICS.index("JA")] = judged.sum(axis=(1, 2))
    columns["read"][METRICS.index("JA")] = (judged.sum(axis=1) > 0).sum(axis=1)
    columns["read"][METRICS.index("GA")] = ((used - before).sum(axis=1) > 0).sum(axis=1)
    found = {name: np.stack(column, axis=1) for name, column in columns.items()}
    return found | {"n_dropped": found["asked"] - found["n_cells"]}


def _result(found: Estimate, metric: str, sizes: dict[str, int], level: float, *, varies: bool) -> Estimate:
    """The estimate of a row, with the status vocabulary of the tables."""
    if found.value is None or sizes["n_cells"] == 0:
        why = _WHY_UNDEFINED[metric]
        if metric == "AA" and sizes["asked"] == 0:
            why = "no zero-shot answers of this teacher"
        elif sizes["n_cells"] == 0:
            why = f"no cell in use: all {sizes['asked']} dropped"
        return Estimate(None, None, None, None, 0, 0, "not_computable", why)
    bare = Estimate(found.value, None, None, None, 0, 0, "no_interval", found.reason)
    if found.status == "no_resamples":
        return bare
    if sizes["read"] < 2 or not varies:
        why = REASONS["one_cluster"] if sizes["read"] < 2 else _UNVARIED
        return Estimate(found.value, None, None, None, 0, 0, "no_interval", why)
    if found.status == "all_equal" and metric in ("AA", "JA", "GA") and found.value in (0.0, 1.0):
        n = sizes["read"]
        exact = wilson(int(found.value) * n, n, level).item()
        why = f"Wilson interval over {n} clusters: all resamples are equal"
        return Estimate(found.value, exact.ci_low, exact.ci_high, None, 0, 0, "ok", why)
    if found.status != "ok" or found.ci_low is None or found.ci_high is None:
        return bare
    # Student's t knows no bounds; a share does.
    floor, ceiling = _BOUNDS[metric]
    return replace(found, ci_low=max(found.ci_low, floor), ci_high=min(found.ci_high, ceiling))


def _absent_students(sums: Sums, u: int) -> str:
    """Says which students a mean is not over; they are never a 0 in it."""
    here = present_students(sums)[u]
    absent = [name for name, there in zip(sums.students, here.tolist(), strict=True) if not there]
    return f"no cells of student {', '.join(absent)}" if absent and here.any() else ""


def _varies(weights: BootstrapWeights) -> bool:
    return bool((weights.sizes > 1).any())


def _still(weights: BootstrapWeights) -> str:
    """Says how many datasets have nothing to resample, so that the interval misses their share."""
    single = int((weights.sizes == 1).sum())
    total = weights.sizes.size
    return f"{single} of {total} datasets have one cluster and add nothing to the interval" if single else ""


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _known(number: float) -> float | None:
    return None if np.isnan(number) else float(number)
