"""Scores of dialogues from the replies of judges up: ratings, panels, totals, standings."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from magister.audit.recompute._chance import share_range
from magister.audit.recompute._draws import (
    REDRAWS,
    SEED,
    Draws,
    adjusted,
    hold_ranks,
    letters_agree,
    ranked,
    student,
)
from magister.audit.recompute._ledger import Floats, Ledger, Sheet
from magister.audit.recompute._rows import Reply

SCORES_KEY = ("scenario", "rubric_sha", "dialogue_id", "metric_id", "judge", "repeat")
METRICS_KEY = ("scenario", "rubric_sha", "dialogue_id", "metric_id")
TOTALS_KEY = ("scenario", "rubric_sha", "dialogue_id")
STANDINGS_KEY = ("scenario", "model", "dim")
OVERALL = "overall"
_SCORED = ("ok", "vetoed")
_FACTS = ("task_id", "model", "held_out")
_FLIPS, _EXACT = 2000, 13
Rubric = Mapping[str, Any]


def hold_read(
    ledger: Ledger, sheet: Sheet, replies: Mapping[str, Reply], repairs: Mapping[str, Reply]
) -> None:
    """Scores against the judge's replies, where a reply is a plain JSON object; and whatever has no score has no value.

    Args:
        ledger: for findings.
        sheet: RUBRIC_SCORES of a judge.
        replies: to what it was asked.
        repairs: to what it was asked again.
    """
    status, value = sheet.texts("status"), sheet.numbers("value")
    scored = np.isin(status.astype(str), _SCORED)
    ledger.count("scores: a value where the status says so", len(sheet))
    ledger.refuse(sheet, "value", scored == np.isnan(value), "scores: a value where the status says so", value,
                  "a number with status ok or vetoed, null without")  # fmt: skip
    again = np.array([name is not None for name in sheet.texts("repair_id").tolist()] or [False])[
        : len(sheet)
    ]
    repaired = again & (status == "ok")
    ledger.compare(sheet, "was_repaired", repaired.astype(np.float64), "scores: a repair that could be read")
    rows, wanted = [], []
    for row in np.flatnonzero(status == "ok").tolist():
        name = sheet.texts("repair_id" if repaired[row] else "request_id")[row]
        reply = (repairs if repaired[row] else replies).get(name)
        if reply is None:
            ledger.add(sheet.path, sheet.place(row), "scores: every score has a reply", name, "a response")
            continue
        found = plain_score(reply.text, sheet.texts("metric_id")[row])
        if found is not None:
            rows.append(row)
            wanted.append(found)
    ledger.compare(sheet, "value", np.array(wanted, dtype=np.float64), "scores: plain replies of judges, read again",
                   rows=np.array(rows, dtype=np.int64))  # fmt: skip


def plain_score(text: str, metric_id: str) -> float | None:
    """The score that a reply gives a metric, where the whole reply is one JSON object with numbers under its names."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    entry = found.get(metric_id, found if "score" in found else None)
    entry = entry.get("score") if isinstance(entry, dict) else entry
    return float(entry) if isinstance(entry, (int, float)) and not isinstance(entry, bool) else None


def hold_panel(ledger: Ledger, sheet: Sheet, scores: pa.Table) -> None:
    """Each metric of a dialogue: the median over judges of their medians over repeats.

    Args:
        ledger: for findings.
        sheet: METRIC_SCORES.
        scores: RUBRIC_SCORES of the version, all judges.
    """
    given: dict[tuple[Any, ...], dict[str, list[tuple[str, float | None]]]] = {}
    facts: dict[str, tuple[Any, ...]] = {}
    for row in scores.select([*SCORES_KEY, *_FACTS, "status", "value"]).to_pylist():
        key = tuple(row[name] for name in METRICS_KEY)
        facts.setdefault(row["dialogue_id"], tuple(row[name] for name in _FACTS))
        given.setdefault(key, {}).setdefault(row["judge"], []).append((row["status"], row["value"]))
    keys = sorted(given)
    rows, at = sheet.align(ledger, keys, "a row per dialogue and metric")
    value, judges, abstained, ratings, status = [], [], [], [], []
    for k in at.tolist():
        by_judge = given[keys[k]]
        medians = [
            median([v for _, v in said if v is not None])
            for said in by_judge.values()
            if any(v is not None for _, v in said)
        ]
        flat = [one for said in by_judge.values() for one, _ in said]
        value.append(median(medians) if medians else np.nan)
        judges.append(len(medians))
        abstained.append(len(by_judge) - len(medians))
        ratings.append(sum(one in _SCORED for one in flat))
        all_out = all(one == "excluded" for one in flat)
        word = (
            "vetoed"
            if medians and "vetoed" in flat
            else "ok"
            if medians
            else "excluded"
            if all_out
            else "no_score"
        )
        status.append(word)
    hold_facts(ledger, sheet, facts)
    check = "panel: median of medians"
    ledger.compare(sheet, "value", np.array(value, dtype=np.float64), check, rows=rows)
    for name, wanted in (("n_judges", judges), ("n_abstained", abstained), ("n_ratings", ratings)):
        ledger.compare(sheet, name, np.array(wanted, dtype=np.float64), "panel: counts", rows=rows)
    ledger.compare(
        sheet, "status", np.array(status or [""], dtype=object)[: len(status)], "panel: the status", rows=rows
    )


def hold_facts(ledger: Ledger, sheet: Sheet, facts: Mapping[str, tuple[Any, ...]]) -> None:
    """Task, model and whether it is held out, of each dialogue.

    Args:
        ledger: for findings.
        sheet: a table with `dialogue_id` and these.
        facts: by dialogue.
    """
    ids = sheet.texts("dialogue_id").tolist()
    rows = np.array([row for row, name in enumerate(ids) if name in facts], dtype=np.int64)
    for place, name in enumerate(_FACTS):
        wanted = [facts[ids[row]][place] for row in rows.tolist()]
        kind = np.float64 if name == "held_out" else object
        ledger.compare(sheet, name, np.array(wanted, dtype=kind), "dialogues: their facts", rows=rows)


def weights_of(rubric: Rubric) -> dict[str, float]:
    """Weight of each metric: its dimension's times its own."""
    share = {one["id"]: float(one["weight"]) for one in rubric["dimensions"]}
    return {one["id"]: share[one["dim"]] * float(one["weight"]) for one in rubric["metrics"]}


def hold_totals(
    ledger: Ledger, sheet: Sheet, metrics: pa.Table, rubrics: Mapping[str, Rubric], policy: str
) -> None:
    """Score of each dialogue: the weighted mean of its metrics.

    Args:
        ledger: for findings.
        sheet: DIALOGUE_SCORES.
        metrics: METRIC_SCORES.
        rubrics: the version of each scenario.
        policy: `unknown`, or `renormalise` over the metrics that have a score.
    """
    given: dict[tuple[Any, ...], dict[str, tuple[str, float | None]]] = defaultdict(dict)
    facts: dict[str, tuple[Any, ...]] = {}
    for row in metrics.to_pylist():
        facts.setdefault(row["dialogue_id"], tuple(row[name] for name in _FACTS))
        given[tuple(row[name] for name in TOTALS_KEY)][row["metric_id"]] = (row["status"], row["value"])
    keys = sorted(given)
    rows, at = sheet.align(ledger, keys, "a row per dialogue")
    hold_facts(ledger, sheet, facts)
    columns: dict[str, list[float]] = {name: [] for name in ("value", "n_metrics", "n_known", "weight_known")}
    status = []
    for k in at.tolist():
        weight = weights_of(rubrics[keys[k][0]])
        found = given[keys[k]]
        known = {name: v for name, (_, v) in found.items() if v is not None}
        share = sum(weight[name] for name in sorted(known))
        total = sum(weight[name] * known[name] for name in sorted(known))
        whole = len(known) == len(weight)
        usable = whole if policy == "unknown" else share > 0
        columns["value"].append(total / share if usable and share else np.nan)
        columns["n_metrics"].append(len(weight))
        columns["n_known"].append(len(known))
        columns["weight_known"].append(share)
        vetoed = any(one == "vetoed" for one, _ in found.values())
        status.append("no_score" if not known else "vetoed" if vetoed else "ok" if whole else "incomplete")
    for name, wanted in columns.items():
        ledger.compare(
            sheet, name, np.array(wanted, dtype=np.float64), "totals: weighted mean of the metrics", rows=rows
        )
    ledger.compare(
        sheet,
        "status",
        np.array(status or [""], dtype=object)[: len(status)],
        "totals: the status",
        rows=rows,
    )
    ledger.compare(sheet, "policy", np.full(rows.size, policy, dtype=object), "totals: the policy", rows=rows)


class Standing:
    """Dialogues of a scenario by model and task, with their score on each dimension and overall."""

    def __init__(self, metrics: list[Mapping[str, Any]], rubric: Rubric, policy: str) -> None:
        """Average the metrics of each dimension.

        Args:
            metrics: METRIC_SCORES rows of the scenario.
            rubric: its version.
            policy: see `hold_totals`.
        """
        self.rubric = rubric
        by_dialogue: dict[str, dict[str, float | None]] = defaultdict(dict)
        facts: dict[str, tuple[str, str]] = {}
        vetoed: dict[str, bool] = defaultdict(bool)
        for row in metrics:
            by_dialogue[row["dialogue_id"]][row["metric_id"]] = row["value"]
            facts[row["dialogue_id"]] = (row["model"], row["task_id"])
            vetoed[row["dialogue_id"]] |= row["status"] == "vetoed"
        self.dialogues = sorted(by_dialogue)
        self.model = [facts[name][0] for name in self.dialogues]
        self.task = [facts[name][1] for name in self.dialogues]
        self.vetoed = [vetoed[name] for name in self.dialogues]
        parts = {
            one["id"]: {m["id"]: float(m["weight"]) for m in rubric["metrics"] if m["dim"] == one["id"]}
            for one in rubric["dimensions"]
        } | {OVERALL: weights_of(rubric)}
        self.value: dict[str, Floats] = {}
        for dim, weight in parts.items():
            some = {name: w for name, w in weight.items() if w > 0}
            self.value[dim] = np.array(
                [self._mean(by_dialogue[name], some, policy) for name in self.dialogues]
            )

    @staticmethod
    def _mean(found: Mapping[str, float | None], weight: Mapping[str, float], policy: str) -> float:
        known = {name: found[name] for name in sorted(weight) if found.get(name) is not None}
        share = sum(weight[name] for name in known)
        if not known or share == 0 or (policy == "unknown" and len(known) < len(weight)):
            return float("nan")
        return sum(weight[name] * float(known[name] or 0.0) for name in known) / share


def hold_standings(
    ledger: Ledger,
    sheet: Sheet,
    scenario: str,
    standing: Standing,
    plan: tuple[int, float, int, str, list[str]],
    redraws: int = REDRAWS,
) -> list[tuple[str, str, str]]:
    """A scenario's part of the standings.

    Args:
        ledger: for findings.
        sheet: RUBRIC_STANDINGS.
        scenario: its name.
        standing: its dialogues.
        plan: resamples, level, iteration of the version, policy and the models that have rows.
        redraws: resamples of our own.

    Returns:
        Keys of the rows that there must be.
    """
    resamples, level, iteration, policy, candidates = plan
    models = sorted({*standing.model, *candidates})
    weight = {one["id"]: float(one["weight"]) for one in standing.rubric["dimensions"]} | {OVERALL: 1.0}
    low, high = (float(end) for end in standing.rubric["scale"])
    of_model = np.array(standing.model, dtype=object)
    tasks = np.array(standing.task, dtype=object)
    vetoed = np.array(standing.vetoed, dtype=bool)
    for dim, values in standing.value.items():
        rows = sheet.find([(scenario, model, dim) for model in models])
        if (rows < 0).any():
            continue
        columns: dict[str, list[float]] = defaultdict(list)
        for model in models:
            mine = of_model == model
            there = mine & ~np.isnan(values)
            mean, ends, se = task_interval(values[there], tasks[there].tolist(), level)
            columns["value"].append(mean)
            columns["ci_low"].append(max(ends[0], low) if not np.isnan(ends[0]) else np.nan)
            columns["ci_high"].append(min(ends[1], high) if not np.isnan(ends[1]) else np.nan)
            columns["se"].append(se)
            columns["n"].append(there.sum())
            columns["n_clusters"].append(len(set(tasks[there].tolist())))
            columns["n_missing"].append((mine & np.isnan(values)).sum())
            columns["n_vetoed"].append((mine & vetoed).sum())
        for name, wanted in columns.items():
            check = (
                "standings: means and intervals over tasks"
                if name in ("value", "ci_low", "ci_high", "se")
                else "standings: counts"
            )
            ledger.compare(sheet, name, np.array(wanted, dtype=np.float64), check, rows=rows, tolerance=1e-8)
        facts = {"weight": weight[dim], "iteration": iteration, "level": level, "low": low, "high": high}
        for name, number in facts.items():
            ledger.compare(
                sheet, name, np.full(rows.size, float(number)), "standings: facts of the rubric", rows=rows
            )
        ledger.compare(
            sheet,
            "policy",
            np.full(rows.size, policy, dtype=object),
            "standings: facts of the rubric",
            rows=rows,
        )
        value = np.array(columns["value"])
        words = np.where(
            np.isnan(value), "not_computable", np.where(np.isnan(columns["ci_low"]), "no_interval", "ok")
        )
        ledger.compare(sheet, "status", words.astype(object), "standings: the status", rows=rows)
        ledger.compare(sheet, "rank", ranked(value), "standings: the rank", rows=rows)
        _hold_order(ledger, sheet, rows, (values, of_model, tasks, models), (resamples, level, redraws))
    return [(scenario, model, dim) for model in models for dim in standing.value]


def task_interval(values: Floats, tasks: list[Any], level: float) -> tuple[float, tuple[float, float], float]:
    """Mean of clustered scores, Student's interval with the cluster-robust error, and that error.

    References:
        Liang and Zeger (1986), Biometrika 73, 13-22.
    """
    nothing = (float("nan"), float("nan"))
    if not values.size:
        return float("nan"), nothing, float("nan")
    mean = float(values.mean())
    sums: dict[Any, float] = defaultdict(float)
    for value, task in zip(values.tolist(), tasks, strict=True):
        sums[task] += value - mean
    count = len(sums)
    moved = max(abs(one) for one in sums.values())
    if count == 1 or np.ptp(values) == 0 or moved <= 1e-13 * float(np.abs(values).sum()):
        return mean, nothing, float("nan")
    se = float(np.sqrt(count / (count - 1) * sum(one**2 for one in sums.values())) / values.size)
    half = float(student(level, count - 1)) * se
    return mean, (mean - half, mean + half), se


def _hold_order(
    ledger: Ledger,
    sheet: Sheet,
    rows: Any,
    given: tuple[Any, Any, Any, list[str]],
    plan: tuple[int, float, int],
) -> None:
    """Rank intervals by resamples of tasks, and letters by flipping the signs of tasks."""
    values, of_model, tasks, models = given
    resamples, level, redraws = plan
    there = ~np.isnan(values)
    names = sorted(set(tasks[there].tolist()))
    present = [k for k, name in enumerate(models) if (of_model[there] == name).any()]
    if not names or not present:
        return
    place = {name: k for k, name in enumerate(names)}
    sums = np.zeros((len(names), len(present), 2))
    for value, model, task in zip(values[there], of_model[there], tasks[there], strict=True):
        at = present.index(models.index(model))
        sums[place[task], at] += (value, 1.0)
    some = rows[np.array(present)]
    with np.errstate(divide="ignore", invalid="ignore"):
        total = Draws(np.zeros(len(names)), redraws, salt=9).totals(sums)
        drawn = total[..., 0] / total[..., 1]
        by_task = sums[..., 0] / sums[..., 1]
    if len(names) > 1 and not (np.isnan(drawn).mean(axis=0) > 0.03).any():
        hold_ranks(ledger, sheet, some, drawn, (1 - level) / 2, resamples, first=False)
    pairs = list(combinations(range(len(present)), 2))
    tested = [sign_test(by_task[:, a] - by_task[:, b], resamples) for a, b in pairs]
    p = np.array([one for one, _ in tested], dtype=np.float64)
    exact = np.array([two for _, two in tested], dtype=bool)
    low, high = share_range(p, _FLIPS, resamples)
    ends = (low - 1.5 / max(resamples, 1), high + 1.5 / max(resamples, 1))
    least, most = (adjusted(np.where(exact | np.isnan(p), p, np.clip(end, 0, 1))) for end in ends)
    alpha = 1 - level
    told: list[bool | None] = [
        True if two <= alpha + 1e-9 else None if one <= alpha else False
        for one, two in zip(least.tolist(), most.tolist(), strict=True)
    ]
    groups = [text or "" for text in sheet.texts("group")[some].tolist()]
    ledger.count("standings: letters of groups", len(pairs))
    for k in letters_agree(groups, pairs, told):
        a, b = pairs[k]
        seen = f"{groups[a] or 'none'} and {groups[b] or 'none'} of {models[present[b]]}"
        wanted = "no letter in common" if told[k] else "a letter in common"
        ledger.add(sheet.path, sheet.place(int(some[a]), "group"), "standings: letters of groups", seen,
                   f"{wanted}: Holm's p is about {most[k]:.4g}")  # fmt: skip


def sign_test(gap: Floats, flips: int) -> tuple[float, bool]:
    """p that two models are alike, by flipping the signs of tasks, and whether all patterns of signs were counted."""
    d = np.sort(gap[~np.isnan(gap)])
    if d.size < 2:
        return float("nan"), True
    exact = d.size <= _EXACT or 2**d.size <= max(flips, 1)
    if exact:
        signs = 1.0 - 2.0 * ((np.arange(2**d.size)[:, None] >> np.arange(d.size)) & 1)
    else:
        signs = (
            np.random.Generator(np.random.Philox(key=[SEED, 10])).integers(0, 2, size=(_FLIPS, d.size)) * 2.0
            - 1.0
        )
    edge = abs(d.sum()) - 1e-12 * np.abs(d).sum()
    return float((np.abs(signs @ d) >= edge - 1e-15).mean()), exact
