"""What is made of the best rubrics: medians of the panel, weighted means, standings; each counted again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import absent, all_agree, numbers, positions, same, taken, true
from magister.contracts._estimates import close, interval_check, range_check, ranks, reason_check, value_check
from magister.contracts._rubric_plan import RubricPlan
from magister.contracts._rubric_score_checks import masked, medians, panel_scores
from magister.contracts.gate import Expectation, RowCheck, RowCount

OVERALL = "overall"
_CELL = ("scenario", "dialogue_id", "metric_id")
_DIALOGUE = ("scenario", "dialogue_id")


def of_the_best(table: pa.Table, decisions: pa.Table) -> pa.Table:
    """The rows of each scenario's best iteration, by the last decision on it."""
    last = decisions.sort_by([("iteration", "ascending")])
    best = dict(zip(last["scenario"].to_pylist(), last["best"].to_pylist(), strict=True))
    chosen = pa.table(
        {"scenario": pa.array(list(best), pa.string()), "best": pa.array(list(best.values()), pa.int32())}
    )
    facts = taken(chosen, positions(table, chosen, ("scenario",)), ["best"])
    return masked(table, numbers(table["iteration"]) == numbers(facts["best"]))


def metric_score_checks(made: pa.Table, scores: pa.Table) -> list[Expectation]:
    """The panel's score of every dialogue and metric, and how many judges it has."""
    name = "metric_scores"
    panel = panel_scores(scores)
    judges = (
        medians(scores, ("iteration", *_CELL, "judge")).group_by(list(_CELL)).aggregate([([], "count_all")])
    )
    rated = scores.filter(pc.is_valid(scores["value"])).group_by(list(_CELL)).aggregate([([], "count_all")])
    every = (
        scores.group_by([*_CELL, "judge"]).aggregate([]).group_by(list(_CELL)).aggregate([([], "count_all")])
    )

    def found(table: pa.Table, column: str) -> np.ndarray:
        return numbers(taken(table, positions(made, table, _CELL), [column])[column])

    value = numbers(made["value"])
    counted = {
        "n_judges": np.nan_to_num(found(judges, "count_all")),
        "n_ratings": np.nan_to_num(found(rated, "count_all")),
    }
    counted["n_abstained"] = np.nan_to_num(found(every, "count_all")) - counted["n_judges"]
    about = ("rubric_sha", "task_id", "model", "held_out")
    alike = all_agree(made.select(about), taken(scores, positions(made, scores, _CELL), about))
    scored = np.isin(np.array(made["status"].to_pylist(), dtype=object), ("ok", "vetoed"))
    return [
        RowCount(name, every.num_rows, "dialogues x metrics of the best iterations"),
        RowCheck(name, "of_the_scores", (*_CELL, *about), "as in the scores", alike),
        RowCheck(
            name,
            "counted_again",
            ("value",),
            "the median of the judges' medians",
            close(value, found(panel, "value")),
        ),
        *(
            RowCheck(
                name,
                f"{column}_counted",
                (column,),
                "as counted in the scores",
                numbers(made[column]) == right,
            )
            for column, right in counted.items()
        ),
        RowCheck(
            name,
            "value_where_scored",
            ("status", "value"),
            "a value where it was scored",
            ~np.isnan(value) == scored,
        ),
    ]


def weighted(made: pa.Table, metrics: pa.Table, key: tuple[str, ...], dim: str | None = None) -> pa.Table:
    """Weighted sums of the metric scores, of one dimension or of all, by some columns: `sum`, `known`, `all`, `n`."""
    at = positions(made, metrics, ("scenario", "metric_id"))
    weight = numbers(taken(metrics, at, ["weight"])["weight"])
    if dim is not None:
        weight = np.where(true(pc.equal(taken(metrics, at, ["dim"])["dim"], dim)), weight, 0.0)
    value = numbers(made["value"])
    there = ~np.isnan(value)
    table = made.select(list(key))
    columns = {
        "sum": np.where(there, value, 0.0) * weight,
        "known": there * weight,
        "all": weight,
        "n": (there & (weight > 0)).astype(np.float64),
        "size": (weight > 0).astype(np.float64),
    }
    for name, column in columns.items():
        table = table.append_column(name, pa.array(column, pa.float64()))
    summed = table.group_by(list(key), use_threads=False).aggregate([(name, "sum") for name in columns])
    return summed.rename_columns([*key, *columns] if summed.column_names[0] == key[0] else [*columns, *key])


def totals_of(sums: pa.Table, missing: str) -> np.ndarray:
    """Weighted means; NaN where a metric has no score and the policy does not do without it."""
    total, known, n, size = (numbers(sums[name]) for name in ("sum", "known", "n", "size"))
    usable = (n == size) if missing == "unknown" else (n > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(usable & (known > 0), total / known, np.nan)


def dialogue_score_checks(
    totals: pa.Table, made: pa.Table, metrics: pa.Table, plan: RubricPlan
) -> list[Expectation]:
    """Score(tau, R) of every dialogue."""
    name = "dialogue_scores"
    sums = weighted(made, metrics, _DIALOGUE)
    place = positions(totals, sums, _DIALOGUE)
    found = taken(
        sums.append_column("score", pa.array(totals_of(sums, plan.missing))),
        place,
        ["score", "known", "n", "size"],
    )
    value = numbers(totals["value"])
    return [
        RowCount(name, sums.num_rows, "the dialogues that have scores"),
        RowCheck(
            name,
            "counted_again",
            ("value",),
            "the weighted mean of its metrics",
            close(value, numbers(found["score"])),
        ),
        RowCheck(
            name,
            "weight_counted",
            ("weight_known",),
            "weight of the metrics with a score",
            close(numbers(totals["weight_known"]), numbers(found["known"])),
        ),
        RowCheck(
            name,
            "n_known_counted",
            ("n_known",),
            "metrics with a score",
            numbers(totals["n_known"]) == numbers(found["n"]),
        ),
        RowCheck(
            name,
            "n_metrics_counted",
            ("n_metrics",),
            "metrics of the rubric",
            numbers(totals["n_metrics"]) == numbers(found["size"]),
        ),
        RowCheck(
            name,
            "policy_of_the_plan",
            ("policy",),
            "the policy that was asked for",
            true(pc.equal(totals["policy"], plan.missing)),
        ),
    ]


def standing_checks(
    standings: pa.Table, made: pa.Table, metrics: pa.Table, plan: RubricPlan
) -> list[Expectation]:
    """Every model on every dimension and overall: mean over its dialogues, counted again; ranks that follow."""
    name, key = "standings", ("scenario", "model", "dim")
    parts = []
    dims = sorted(set(metrics["dim"].to_pylist()))
    for dim in (*dims, None):
        sums = weighted(made, metrics, (*_DIALOGUE, "model"), dim)
        sums = sums.append_column("score", pa.array(totals_of(sums, plan.missing)))
        sums = sums.filter(pc.greater(sums["size"], 0))
        parts.append(sums.append_column("dim", pa.array([dim or OVERALL] * sums.num_rows, pa.string())))
    scored = pa.concat_tables(parts)
    at = positions(scored, standings, key)
    score, used = numbers(scored["score"]), at >= 0
    there = used & ~np.isnan(score)
    size = standings.num_rows
    n = np.bincount(at[there], minlength=size)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(at[there], score[there], size) / n
    vetoed = made.filter(pc.equal(made["status"], "vetoed")).group_by([*_DIALOGUE, "model"]).aggregate([])
    by_model = vetoed.group_by(["scenario", "model"]).aggregate([([], "count_all")])
    n_vetoed = taken(by_model, positions(standings, by_model, ("scenario", "model")), ["count_all"])
    value = numbers(standings["value"])
    version = metrics.group_by(["scenario", "rubric_sha", "iteration", "low", "high"]).aggregate([])
    facts = taken(
        version, positions(standings, version, ("scenario",)), ["rubric_sha", "iteration", "low", "high"]
    )
    per = metrics.group_by(["scenario", "dim"]).aggregate([])
    rank = numbers(standings["rank"])
    low, high = numbers(facts["low"]), numbers(facts["high"])
    return [
        RowCount(name, len(plan.models) * (per.num_rows + version.num_rows), "models x dimensions"),
        RowCheck(
            name,
            "of_the_best",
            ("rubric_sha", "iteration"),
            "the best version and its iteration",
            same(standings["rubric_sha"], facts["rubric_sha"])
            & (numbers(standings["iteration"]) == numbers(facts["iteration"])),
        ),
        RowCheck(name, "counted_again", ("value",), "the mean over its dialogues", close(value, mean)),
        RowCheck(name, "n_counted", ("n",), "its dialogues with a score", numbers(standings["n"]) == n),
        RowCheck(
            name,
            "n_missing_counted",
            ("n_missing",),
            "its dialogues without a score",
            numbers(standings["n_missing"]) == np.bincount(at[used & ~there], minlength=size),
        ),
        RowCheck(
            name,
            "n_vetoed_counted",
            ("n_vetoed",),
            "its dialogues that a rule settled",
            numbers(standings["n_vetoed"]) == np.nan_to_num(numbers(n_vetoed["count_all"])),
        ),
        RowCheck(
            name,
            "rank_follows",
            ("rank",),
            "the rank that the values give",
            close(rank, ranks(standings, ("scenario", "dim"))),
        ),
        RowCheck(
            name,
            "rank_within_interval",
            ("rank", "rank_low", "rank_high"),
            "a rank within its interval",
            absent(standings["rank_low"])
            | ((numbers(standings["rank_low"]) <= rank) & (rank <= numbers(standings["rank_high"]))),
        ),
        range_check(name, standings, ("value", "ci_low", "ci_high"), "on the scale", (low, high)),
        value_check(name, standings),
        interval_check(name, "interval_where_ok", standings, ("status", "ci_low", "ci_high")),
        reason_check(name, "reason_where_not_ok", standings, ("status", "reason")),
    ]
