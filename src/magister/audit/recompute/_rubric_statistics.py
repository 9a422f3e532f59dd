"""What is known of metrics and judges: each statistic from the ratings, its interval by resamples of our own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import special

from magister.audit.recompute import _weighted as weighted
from magister.audit.recompute._draws import (
    REDRAWS,
    UNDEFINED,
    Draws,
    Published,
    hold_ends,
    hold_errors,
    wilson_ends,
)
from magister.audit.recompute._ledger import Floats, Ledger, Sheet
from magister.audit.recompute._rubric_scores import OVERALL, Rubric, task_interval, weights_of

DIAGNOSIS_KEY = ("scenario", "rubric_sha", "metric_id", "statistic")
AGREEMENT_KEY = ("scenario", "rubric_sha", "metric_id", "judge_a", "judge_b", "measure")
#: What needs files that are not read here: families of models, and people's scores of anchors.
UNREAD = ("same_family_gap", "human_deviation", "human_bias")
_MOST_RATINGS = 64


@dataclass(frozen=True)
class Value:
    """A statistic of one metric: its value and how its interval is made.

    Attributes:
        value: NaN where it is unknown.
        n: what it is of.
        ends: of an exact interval, else None.
        se: with an exact interval.
        drawn: on our resamples, shape (B',); None with an exact interval or none.
        clusters: tasks that it is of; None where that is not known here.
    """

    value: float
    n: int
    ends: tuple[float, float] | None = None
    se: float = float("nan")
    drawn: Floats | None = None
    clusters: int | None = None


class Ratings:
    """Ratings of one version of a scenario: D dialogues, M metrics, J judges, R repeats."""

    def __init__(self, scores: list[Mapping[str, Any]], rubric: Rubric, *, development: bool) -> None:
        """Take what judges said; a veto's score is not theirs.

        Args:
            scores: RUBRIC_SCORES rows.
            rubric: the version.
            development: whether held-out tasks are left out, unless all are held out.
        """
        if development and not all(row["held_out"] for row in scores):
            scores = [row for row in scores if not row["held_out"]]
        self.rubric = rubric
        self.metrics = sorted(one["id"] for one in rubric["metrics"])
        self.dialogues = sorted({row["dialogue_id"] for row in scores})
        self.judges = sorted({row["judge"] for row in scores})
        repeats = max((row["repeat"] for row in scores), default=1)
        shape = (len(self.dialogues), len(self.metrics), len(self.judges), repeats)
        self.value = np.full(shape, np.nan)
        self.status = np.full(shape, "", dtype=object)
        place = [
            {name: k for k, name in enumerate(names)} for names in (self.dialogues, self.metrics, self.judges)
        ]
        task, model = {}, {}
        for row in scores:
            at = (
                place[0][row["dialogue_id"]],
                place[1].get(row["metric_id"], -1),
                place[2][row["judge"]],
                row["repeat"] - 1,
            )
            task[row["dialogue_id"]], model[row["dialogue_id"]] = row["task_id"], row["model"]
            if at[1] < 0:
                continue
            self.status[at] = row["status"]
            if row["value"] is not None and row["status"] != "vetoed":
                self.value[at] = row["value"]
        self.task = [task[name] for name in self.dialogues]
        self.model = [model[name] for name in self.dialogues]
        self.by_judge = _medians(self.value)
        self.panel = _medians(self.by_judge)

    def tasks(self, used: NDArray[np.bool_]) -> int:
        """Tasks of some dialogues."""
        return len({self.task[k] for k in np.flatnonzero(used).tolist()})

    def resampled(
        self, statistic: weighted.Statistic, used: NDArray[np.bool_], redraws: int
    ) -> tuple[float, Floats | None]:
        """A statistic of some dialogues, and on resamples of their tasks."""
        return resampled(statistic, [self.task[k] for k in np.flatnonzero(used).tolist()], redraws)


def resampled(statistic: weighted.Statistic, tasks: list[Any], redraws: int) -> tuple[float, Floats | None]:
    """A statistic of rows, and on resamples of their tasks; the second is None with fewer than two tasks."""
    value = float(statistic(np.ones((1, len(tasks))))[0])
    _, code = np.unique(np.array([str(task) for task in tasks]), return_inverse=True)
    count = int(code.max(initial=-1)) + 1
    if count < 2:
        return value, None
    draws = Draws(np.zeros(count), redraws, salt=11)
    return value, statistic(draws.weights[:, code].astype(np.float64))


def _medians(values: Floats) -> Floats:
    out = np.full(values.shape[:-1], np.nan)
    given = ~np.isnan(values)
    some = given.any(axis=-1)
    out[some] = np.nanmedian(values[some], axis=-1)
    return out


def hold_diagnosis(
    ledger: Ledger, sheet: Sheet, ratings: Ratings, lengths: Mapping[str, int], redraws: int = REDRAWS
) -> None:
    """Every statistic of every metric of a version but `UNREAD`.

    Args:
        ledger: for findings.
        sheet: RUBRIC_DIAGNOSIS rows of the version.
        ratings: of the dialogues that are not held out.
        lengths: characters of the candidate's turns, by dialogue.
        redraws: resamples of our own.
    """
    if not len(sheet):
        return
    ledger.uniform(sheet, ("resamples", "level", "seed"))
    level, resamples = float(np.median(sheet.numbers("level"))), int(np.median(sheet.numbers("resamples")))
    scenario, sha = sheet.texts("scenario")[0], sheet.texts("rubric_sha")[0]
    for m, metric in enumerate(ratings.metrics):
        found = _statistics(ratings, m, lengths, level, redraws)
        for name, value in found.items():
            row = sheet.find([(scenario, sha, metric, name)])
            if _row_lacks(ledger, sheet, row, f"metric {metric}, statistic {name}", "statistics of a metric"):
                continue
            hold_value(ledger, sheet, row, value, f"diagnosis: {name}", resamples, level)


def _row_lacks(ledger: Ledger, sheet: Sheet, row: Any, place: str, rows: str) -> bool:
    """Whether a row that must be there was not found, which is then noted."""
    if row[0] >= 0:
        return False
    ledger.add(sheet.path, place, f"rows: {rows}", "no such row", "a row")
    return True


def hold_value(
    ledger: Ledger, sheet: Sheet, row: Any, value: Value, check: str, resamples: int, level: float
) -> None:
    """A row with a value, its number and its interval."""
    ledger.compare(sheet, "value", np.array([value.value]), check, rows=row, tolerance=1e-7)
    if not np.isnan(value.value):
        area = f"{check.split(':')[0]}: counts"
        ledger.compare(sheet, "n", np.array([float(value.n)]), area, rows=row)
        if value.clusters is not None:
            ledger.compare(sheet, "n_clusters", np.array([float(value.clusters)]), area, rows=row)
    if value.ends is not None:
        for column, wanted in (("ci_low", value.ends[0]), ("ci_high", value.ends[1]), ("se", value.se)):
            if column != "se" or not np.isnan(wanted):
                ledger.compare(sheet, column, np.array([wanted]), check, rows=row, tolerance=1e-7)
        return
    seen = sheet.numbers("ci_low")[row]
    if np.isnan(value.value) or value.drawn is None:
        ledger.refuse(sheet, "ci_low", ~np.isnan(seen), f"{check}, no interval", seen, "null", rows=row)
        return
    lost = float(np.isnan(value.drawn).mean())
    spread = float(np.nanmax(value.drawn) - np.nanmin(value.drawn)) if lost < 1 else 0.0
    margin = 6 * np.sqrt(UNDEFINED * (1 - UNDEFINED) * (1 / max(resamples, 1) + 1 / value.drawn.size)) + 0.01
    if np.isnan(seen[0]):
        must = lost < UNDEFINED - margin and spread > 1e-9 and resamples > 0
        ledger.refuse(
            sheet,
            "ci_low",
            np.array([must]),
            f"{check}, an interval",
            seen,
            "a number: resamples vary",
            rows=row,
        )
        return
    never = lost > UNDEFINED + margin
    ledger.refuse(sheet, "ci_low", np.array([never]), f"{check}, no interval", seen,
                  "null: undefined on too many resamples", rows=row)  # fmt: skip
    if not never and lost < 1:
        area = check.split(":")[0]
        held = Published(sheet, row, "ci_low", "ci_high", resamples, f"{area}: intervals, redrawn")
        hold_ends(ledger, held, value.drawn[:, None], (1 - level) / 2)
        hold_errors(ledger, held, value.drawn[:, None])


def _statistics(
    ratings: Ratings, m: int, lengths: Mapping[str, int], level: float, redraws: int
) -> dict[str, Value]:
    low, high = (float(end) for end in ratings.rubric["scale"])
    column = ratings.panel[:, m]
    there = ~np.isnan(column)
    x = column[there]
    tasks = [ratings.task[k] for k in np.flatnonzero(there).tolist()]
    models = [ratings.model[k] for k in np.flatnonzero(there).tolist()]
    group = np.unique(np.array(models), return_inverse=True)[1] if models else np.zeros(0, dtype=np.int64)
    mean, ends, se = task_interval(x, tasks, level)
    span = high - low
    shifted = (ends[0] - low) / span, (ends[1] - low) / span
    out = {
        "mean": Value(mean, x.size, ends, se, clusters=len(set(tasks))),
        "mean_share": Value((mean - low) / span, x.size, shifted, se / span, clusters=len(set(tasks))),
        "floor_share": _rate(int((x == low).sum()), x.size, level),
        "ceiling_share": _rate(int((x == high).sum()), x.size, level),
        "missing_share": _missing(ratings, m, level),
        "exercised_share": _exercised(x, tasks, models, level),
    }

    def drawn(name: str, statistic: weighted.Statistic, used: NDArray[np.bool_]) -> None:
        value, replicates = ratings.resampled(statistic, used, redraws)
        out[name] = Value(value, int(used.sum()), drawn=replicates, clusters=ratings.tasks(used))

    unknown = Value(float("nan"), x.size)
    out["sd"] = out["eta_squared"] = out["omega_squared"] = unknown
    if x.size > 1:
        drawn("sd", weighted.sd(x), there)
    if len(set(models)) > 1 and x.size > len(set(models)) and np.ptp(x) > 0:
        drawn("eta_squared", weighted.between(x, group, omega=False), there)
        drawn("omega_squared", weighted.between(x, group, omega=True), there)
    _correlations(out, ratings, m, lengths, redraws)
    _repeats(out, ratings, m, redraws)
    _judges(out, ratings, m, redraws)
    return out


def _rate(hits: int, n: int, level: float) -> Value:
    if not n:
        return Value(float("nan"), 0)
    low, high = wilson_ends(hits, n, level)
    # Half the interval in normal quantiles stands for the error of a share.
    se = (high - low) / 2 / float(special.ndtri(0.5 + level / 2))
    return Value(hits / n, n, (low, high), se, clusters=n)


def _missing(ratings: Ratings, m: int, level: float) -> Value:
    status, value = ratings.status[:, m], ratings.value[:, m]
    asked = ~np.isin(status.astype(str), ("", "excluded", "vetoed"))
    return _rate(int(np.isnan(value[asked]).sum()), int(asked.sum()), level)


def _exercised(x: Floats, tasks: list[Any], models: list[str], level: float) -> Value:
    """Tasks on which models differ, among those with scores of several."""
    by_task: dict[Any, list[tuple[float, str]]] = defaultdict(list)
    for value, task, model in zip(x.tolist(), tasks, models, strict=True):
        by_task[task].append((value, model))
    several = [said for said in by_task.values() if len({model for _, model in said}) > 1]
    return _rate(sum(len({value for value, _ in said}) > 1 for said in several), len(several), level)


def _correlate(x: Floats, y: Floats, ratings: Ratings, redraws: int) -> Value:
    used = ~np.isnan(x) & ~np.isnan(y)
    n = int(used.sum())
    if n < 3 or np.ptp(x[used]) == 0 or np.ptp(y[used]) == 0:
        return Value(float("nan"), n)
    value, replicates = ratings.resampled(weighted.correlation(x[used], y[used]), used, redraws)
    return Value(value, n, drawn=replicates, clusters=ratings.tasks(used))


def _correlations(
    out: dict[str, Value], ratings: Ratings, m: int, lengths: Mapping[str, int], redraws: int
) -> None:
    """With the weighted mean of the other metrics, with the most alike of them, and with length."""
    column, weight = ratings.panel[:, m], weights_of(ratings.rubric)
    others = [k for k in range(len(ratings.metrics)) if k != m]
    out["item_total_r"] = out["redundancy_r"] = Value(float("nan"), 0)
    if others:
        w = np.array([weight[ratings.metrics[k]] for k in others])
        rest = (ratings.panel[:, others] * w).sum(axis=1) / w.sum()
        out["item_total_r"] = _correlate(column, rest, ratings, redraws)
        found = [_correlate(column, ratings.panel[:, k], ratings, 2) for k in others]
        known = [one.value for one in found if not np.isnan(one.value)]
        if known:
            best = next(k for k, one in zip(others, found, strict=True) if one.value >= max(known) - 1e-12)
            out["redundancy_r"] = _correlate(column, ratings.panel[:, best], ratings, redraws)
    if not lengths:
        return
    size = np.array([lengths.get(name, np.nan) for name in ratings.dialogues], dtype=np.float64)
    out["length_r"] = _correlate(column, np.log1p(size), ratings, redraws)


def _repeats(out: dict[str, Value], ratings: Ratings, m: int, redraws: int) -> None:
    """Pooled spread of a judge's repeats on one dialogue."""
    cells = ratings.value[:, m]
    given = ~np.isnan(cells)
    k = given.sum(axis=2)
    several = k > 1
    used = several.any(axis=1)
    out["repeat_sd"] = Value(float("nan"), 0)
    if used.any():
        middle = np.where(given, cells, 0.0).sum(axis=2) / np.maximum(k, 1)
        squares = np.where(given, (cells - middle[..., None]) ** 2, 0.0).sum(axis=2)
        top = np.where(several, squares, 0.0).sum(axis=1)[used]
        bottom = np.where(several, k - 1, 0).sum(axis=1)[used].astype(np.float64)
        value, replicates = ratings.resampled(weighted.pooled_sd(top, bottom), used, redraws)
        out["repeat_sd"] = Value(value, int(used.sum()), drawn=replicates, clusters=ratings.tasks(used))


def _judges(out: dict[str, Value], ratings: Ratings, m: int, redraws: int) -> None:
    """Agreement of judges on dialogues."""
    table = ratings.by_judge[:, m]
    given = (~np.isnan(table)).sum(axis=1)
    several = given > 1
    for name in ("icc_single", "icc_average", "alpha_ordinal"):
        out[name] = Value(float("nan"), 0)
    if not several.any():
        return
    whole = given == table.shape[1]
    if whole.any() and table.shape[1] > 1:
        for name, average in (("icc_single", False), ("icc_average", True)):
            value, replicates = ratings.resampled(weighted.icc(table[whole], average=average), whole, redraws)
            out[name] = Value(value, int(whole.sum()), drawn=replicates, clusters=ratings.tasks(whole))
    value, replicates = ratings.resampled(weighted.alpha(table[several], ordinal=True), several, redraws)
    out["alpha_ordinal"] = Value(value, int(several.sum()), drawn=replicates, clusters=ratings.tasks(several))


def hold_judges(ledger: Ledger, sheet: Sheet, ratings: Ratings, redraws: int = REDRAWS) -> None:
    """Agreement of every two judges, by metric and over all of them.

    Args:
        ledger: for findings.
        sheet: JUDGE_AGREEMENT rows of the version; those with people are passed over.
        ratings: of all dialogues.
        redraws: resamples of our own.
    """
    if not len(sheet):
        return
    ledger.uniform(sheet, ("resamples", "level", "seed"))
    level, resamples = float(np.median(sheet.numbers("level"))), int(np.median(sheet.numbers("resamples")))
    scenario, sha = sheet.texts("scenario")[0], sheet.texts("rubric_sha")[0]
    tasks = np.array([str(task) for task in ratings.task], dtype=object)
    every = np.repeat(tasks, len(ratings.metrics))
    for one, two in combinations(range(len(ratings.judges)), 2):
        scopes = {
            name: (ratings.by_judge[:, m, one], ratings.by_judge[:, m, two], tasks)
            for m, name in enumerate(ratings.metrics)
        }
        scopes[OVERALL] = (ratings.by_judge[:, :, one].ravel(), ratings.by_judge[:, :, two].ravel(), every)
        for metric, (a, b, clusters) in scopes.items():
            for measure, value in pair_measures(a, b, clusters, level, redraws).items():
                key = (scenario, sha, metric, ratings.judges[one], ratings.judges[two], measure)
                row = sheet.find([key])
                if _row_lacks(ledger, sheet, row, ", ".join(map(str, key)), "agreement of judges"):
                    continue
                hold_value(ledger, sheet, row, value, f"judges: {measure}", resamples, level)


def pair_measures(
    a: Floats, b: Floats, clusters: NDArray[np.object_], level: float, redraws: int
) -> dict[str, Value]:
    """All measures of two raters' agreement."""
    both = ~np.isnan(a) & ~np.isnan(b)
    x, y, tasks = a[both], b[both], clusters[both].tolist()
    n = int(both.sum())
    names = (
        "mean_difference",
        "mean_absolute_difference",
        "pearson",
        "icc_single",
        "alpha_ordinal",
        "alpha_interval",
    )
    out = {name: Value(float("nan"), n) for name in names}
    if not n:
        return out
    for name, gap in (("mean_difference", x - y), ("mean_absolute_difference", np.abs(x - y))):
        mean, ends, se = task_interval(gap, tasks, level)
        out[name] = Value(mean, n, ends, se, clusters=len(set(tasks)))
    table = np.stack([x, y], axis=1)
    plans: dict[str, weighted.Statistic] = {"icc_single": weighted.icc(table, average=False)}
    if n > 2 and np.ptp(x) > 0 and np.ptp(y) > 0:
        plans["pearson"] = weighted.correlation(x, y)
    plans["alpha_interval"] = weighted.alpha(table, ordinal=False)
    if np.unique(table).size <= _MOST_RATINGS:
        plans["alpha_ordinal"] = weighted.alpha(table, ordinal=True)
    for name, statistic in plans.items():
        value, replicates = resampled(statistic, tasks, redraws)
        out[name] = Value(value, n, drawn=replicates, clusters=len(set(tasks)))
    return out


def lengths_of(transcripts: pa.Table, dialogues: pa.Table) -> dict[str, int]:
    """Characters of what the evaluated agent said, by dialogue; nothing where it cannot be told who that is.

    Args:
        transcripts: turns with agent and speaker, of one scenario.
        dialogues: with the model that is evaluated.
    """
    evaluated = dict(zip(dialogues["dialogue_id"].to_pylist(), dialogues["model"].to_pylist(), strict=True))
    rows = transcripts.select(["dialogue_id", "agent", "speaker", "visible"]).to_pylist()
    others = {row["agent"] for row in rows if evaluated.get(row["dialogue_id"]) != row["speaker"]}
    mine = {row["agent"] for row in rows} - others
    if len(mine) != 1:
        return {}
    out: dict[str, int] = dict.fromkeys(evaluated, 0)
    for row in rows:
        if row["agent"] in mine and row["dialogue_id"] in out:
            out[row["dialogue_id"]] += len(row["visible"] or "")
    return out
