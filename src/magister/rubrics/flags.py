"""Which metrics are suspect, by thresholds of ours, and the numbers that say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from magister.config.rubrics_judging import MetricChecks
from magister.contracts.rubrics_score_tables import RUBRIC_FLAGS
from magister.rubrics.rubric import Rubric

Row = dict[str, Any]
Statistics = Mapping[str, Row]


def flag_metrics(diagnosis: pa.Table, rubric: Rubric, checks: MetricChecks) -> pa.Table:
    """Flag metrics.

    Args:
        diagnosis: RUBRIC_DIAGNOSIS table of this version.
        rubric: the version.
        checks: the thresholds. Each holds only where its own statistic rests on `min_n` dialogues.

    Returns:
        RUBRIC_FLAGS table. A metric with too few scored dialogues has the flag `insufficient_data` and no other.
    """
    by_metric: dict[str, dict[str, Row]] = {}
    for row in diagnosis.to_pylist():
        by_metric.setdefault(row["metric_id"], {})[row["statistic"]] = row
    weight = dict(zip(rubric.metric_ids, rubric.weights.tolist(), strict=True))
    rows = []
    for metric_id in rubric.metric_ids:
        known = by_metric.get(metric_id, {})
        n = known["mean"]["n"] if "mean" in known else 0
        about = {"scenario": rubric.scenario, "rubric_sha": rubric.sha, "metric_id": metric_id}
        if n < checks.min_n:
            text = f"{n} scored dialogues; {checks.min_n} are needed"
            rows.append(about | _row("insufficient_data", "mean", n, None, float(checks.min_n), text))
            continue
        found = [
            _strict(known, rubric, checks),
            _lenient(known, rubric, checks),
            _discrimination(known, checks),
            _unreliable(known, rubric, checks),
            _redundant(metric_id, known, weight, checks),
            _off_target(known, rubric, checks),
        ]
        rows += [about | flag for flag in found if flag is not None]
    return pa.Table.from_pylist(rows, schema=RUBRIC_FLAGS.schema).sort_by(
        [(name, "ascending") for name in RUBRIC_FLAGS.key]
    )


def flagged_ids(flags: pa.Table) -> list[str]:
    """Metrics that are flagged for more than too little data."""
    return sorted({row["metric_id"] for row in flags.to_pylist() if row["flag"] != "insufficient_data"})


def _row(flag: str, statistic: str, n: int, value: float | None, threshold: float, evidence: str) -> Row:
    return {
        "flag": flag, "statistic": statistic, "n": n, "value": value, "threshold": threshold, "evidence": evidence
    }  # fmt: skip


def _value(known: Statistics, statistic: str, least: int) -> float | None:
    """A statistic that rests on enough dialogues."""
    row = known.get(statistic)
    value = None if row is None or row["n"] < least else row["value"]
    return None if value is None else float(value)


def _scores(known: Statistics, rubric: Rubric) -> str:
    mean, low, high = known["mean"], *rubric.scale
    return f"mean {mean['value']:.2f} on {low}..{high} over n = {mean['n']} dialogues"


def _lenient(known: Statistics, rubric: Rubric, checks: MetricChecks) -> Row | None:
    mean, ceiling = (_value(known, name, checks.min_n) for name in ("mean_share", "ceiling_share"))
    if mean is None or ceiling is None or mean < checks.lenient_mean or ceiling < checks.lenient_ceiling:
        return None
    text = f"{_scores(known, rubric)}; {ceiling:.0%} of them have the highest score"
    return _row("too_lenient", "mean_share", known["mean"]["n"], mean, checks.lenient_mean, text)


def _strict(known: Statistics, rubric: Rubric, checks: MetricChecks) -> Row | None:
    mean, floor = (_value(known, name, checks.min_n) for name in ("mean_share", "floor_share"))
    if mean is None or floor is None:
        return None
    text = f"{_scores(known, rubric)}; {floor:.0%} of them have the lowest score"
    n = known["mean"]["n"]
    if mean <= checks.strict_mean:
        return _row("too_strict", "mean_share", n, mean, checks.strict_mean, text)
    if floor >= checks.strict_floor:
        return _row("too_strict", "floor_share", n, floor, checks.strict_floor, text)
    return None


def _discrimination(known: Statistics, checks: MetricChecks) -> Row | None:
    row = known["eta_squared"]
    constant = row["value"] is None and known["sd"]["value"] == 0 and row["reason"] == "all scores are equal"
    if constant:
        text = f"all n = {row['n']} dialogues have the same score, {known['mean']['value']:.2f}"
        return _row("low_discrimination", "eta_squared", row["n"], None, checks.low_discrimination, text)
    eta = _value(known, "eta_squared", checks.min_n)
    if eta is None or eta >= checks.low_discrimination:
        return None
    exercised = known["exercised_share"]["value"]
    where = "" if exercised is None else f"; models differ on {exercised:.0%} of the tasks"
    text = f"{eta:.1%} of the variance lies between models over n = {row['n']} dialogues{where}"
    return _row("low_discrimination", "eta_squared", row["n"], eta, checks.low_discrimination, text)


def _unreliable(known: Statistics, rubric: Rubric, checks: MetricChecks) -> Row | None:
    low, high = rubric.scale
    alpha = _value(known, "alpha_ordinal", checks.min_n)
    spread = _value(known, "repeat_sd", checks.min_n)
    limit = checks.unreliable_repeat_sd * (high - low)
    said = []
    if alpha is not None and alpha < checks.unreliable_alpha:
        said.append(f"judges agree with alpha {alpha:.2f} on n = {known['alpha_ordinal']['n']} dialogues")
    if spread is not None and spread > limit:
        said.append(f"a judge's repeats spread by {spread:.2f} on n = {known['repeat_sd']['n']} dialogues")
    if not said:
        return None
    if alpha is not None and alpha < checks.unreliable_alpha:
        n = known["alpha_ordinal"]["n"]
        return _row("unreliable", "alpha_ordinal", n, alpha, checks.unreliable_alpha, "; ".join(said))
    return _row("unreliable", "repeat_sd", known["repeat_sd"]["n"], spread, limit, "; ".join(said))


def _redundant(
    metric_id: str, known: Statistics, weight: Mapping[str, float], checks: MetricChecks
) -> Row | None:
    """Of two that say the same, the one with less weight; of equal ones the later by id."""
    r, partner = _value(known, "redundancy_r", checks.min_n), known["redundancy_r"]["partner"]
    if r is None or r < checks.redundant_r:
        return None
    if (weight[partner], metric_id) < (weight[metric_id], partner):
        return None
    n = known["redundancy_r"]["n"]
    text = f"correlates with {partner} by {r:.2f} over n = {n} dialogues"
    return _row("redundant", "redundancy_r", n, r, checks.redundant_r, text)


def _off_target(known: Statistics, rubric: Rubric, checks: MetricChecks) -> Row | None:
    low, high = rubric.scale
    limit = checks.off_target_human * (high - low)
    length = _value(known, "length_r", checks.min_n)
    total = _value(known, "item_total_r", checks.min_n)
    human = _value(known, "human_deviation", checks.min_n)
    said: list[tuple[str, float, float, str]] = []
    if human is not None and human > limit:
        said.append(("human_deviation", human, limit, f"is {human:.2f} away from people's scores on average"))
    if total is not None and total < checks.off_target_item_total:
        text = f"correlates with the other metrics by {total:.2f}"
        said.append(("item_total_r", total, checks.off_target_item_total, text))
    if length is not None and abs(length) >= checks.off_target_length_r:
        text = f"correlates with the length of what is said by {length:.2f}"
        said.append(("length_r", length, checks.off_target_length_r, text))
    if not said:
        return None
    name, value, threshold, _ = said[0]
    text = "; ".join(f"{part[3]} (n = {known[part[0]]['n']})" for part in said)
    return _row("off_target", name, known[name]["n"], value, threshold, text)
