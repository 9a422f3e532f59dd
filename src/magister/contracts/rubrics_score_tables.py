"""Schemas of scored dialogues: what judges said, what it comes to, and what is known of each metric."""

from __future__ import annotations

import pyarrow as pa

from magister.contracts.contract import METRIC_STATUSES, Contract
from magister.contracts.contract import table_schema as _schema

SCORE_STATUSES = (
    *("ok", "vetoed", "excluded", "parse_error", "refusal", "no_answer", "context_exceeded", "error"),
)
"""What a judge's score can come to. `vetoed`: code found what forbids scoring, and the rule gives the score."""
SCORED = ("ok", "vetoed")
"""Statuses with a value."""
CHECK_STATUSES = ("passed", "failed", "not_applicable")
CHECK_KINDS = ("role_leak", "answer_leak", "turns", "keywords", "regex", "empty_turn")
PANEL_STATUSES = ("ok", "vetoed", "excluded", "no_score")
TOTAL_STATUSES = ("ok", "incomplete", "vetoed", "no_score")
MISSING_POLICIES = ("unknown", "renormalise")
METRIC_STATISTICS = (
    *(
        "mean",
        "mean_share",
        "sd",
        "floor_share",
        "ceiling_share",
        "missing_share",
        "eta_squared",
        "omega_squared",
    ),
    *(
        "exercised_share",
        "item_total_r",
        "repeat_sd",
        "icc_single",
        "icc_average",
        "alpha_ordinal",
        "redundancy_r",
    ),
    *("length_r", "same_family_gap", "human_deviation", "human_bias"),
)
"""What is known of a metric; `docs/rubrics_scenegen.md` explains each."""
FLAGS = (
    *("too_strict", "too_lenient", "low_discrimination", "unreliable", "redundant", "off_target"),
    "insufficient_data",
)
CHANGE_STATUSES = (
    "rewritten",
    "unchanged",
    "invalid",
    "refusal",
    "truncated",
    "no_answer",
    "context_exceeded",
    "error",
)
"""What became of a request for another text; all but the first leave the old one in place."""
AGREEMENT_MEASURES = (
    *(
        "mean_difference",
        "mean_absolute_difference",
        "pearson",
        "icc_single",
        "alpha_ordinal",
        "alpha_interval",
    ),
)
OVERALL = "overall"
"""In place of a metric, a dimension or a judge: all of them."""

_s, _i, _f, _b = pa.string(), pa.int32(), pa.float64(), pa.bool_()
_about = {"scenario": _s, "rubric_sha": _s, "dialogue_id": _s, "task_id": _s, "model": _s, "held_out": _b}
_estimate = {"n": _i, "n_clusters": _i, "level": _f, "resamples": _i, "seed": _i}
_interval = dict.fromkeys(("value", "ci_low", "ci_high", "se"), _f)
_counts = dict.fromkeys(("n", "n_clusters", "resamples"), (0.0, 1e9))

# What code found in a dialogue; `vetoes`: a failed check that forbids scoring. `turn` is the first that failed, from 1.
RUBRIC_CHECKS = Contract(
    "rubric_checks",
    _schema(
        {
            "scenario": _s,
            "dialogue_id": _s,
            "check": _s,
            "kind": _s,
            "status": _s,
            "vetoes": _b,
            "detail": _s,
        },
        {"turn": _i},
    ),
    key=("scenario", "dialogue_id", "check"),
    allowed={"kind": CHECK_KINDS, "status": CHECK_STATUSES},
    ranges={"turn": (1, 1e6)},
    may_be_empty=True,
)
# Which request asks a judge for which score; one request may ask for all metrics.
RUBRIC_ASKED = Contract(
    "rubric_asked",
    _schema(
        {
            "scenario": _s,
            "dialogue_id": _s,
            "metric_id": _s,
            "judge": _s,
            "repeat": _i,
            "request_id": _s,
        }
    ),
    key=("scenario", "dialogue_id", "metric_id", "judge", "repeat"),
    ranges={"repeat": (1, 1000)},
    may_be_empty=True,
)
# Requests that ask a judge to say again, in the right form, what could not be read.
RUBRIC_REPAIRS = Contract(
    "rubric_repairs",
    _schema({"scenario": _s, "request_id": _s, "repair_id": _s}),
    key=("scenario", "request_id"),
    may_be_empty=True,
)
# What each judge said each time. `value` is null but for `ok` and `vetoed`; `rationale`: the judge's words; `reason`:
# why there is no value, or why it is not the judge's.
RUBRIC_SCORES = Contract(
    "rubric_scores",
    _schema(
        _about | {"metric_id": _s, "judge": _s, "repeat": _i, "status": _s, "reason": _s, "was_repaired": _b},
        {"value": _f, "rationale": _s, "request_id": _s, "repair_id": _s},
    ),
    key=("scenario", "rubric_sha", "dialogue_id", "metric_id", "judge", "repeat"),
    allowed={"status": SCORE_STATUSES},
    ranges={"repeat": (1, 1000)},
    may_be_empty=True,
)
# Median over judges of their medians over repeats. `n_abstained`: judges without a score.
METRIC_SCORES = Contract(
    "rubric_metric_scores",
    _schema(
        _about
        | {"metric_id": _s, "status": _s, "reason": _s, "n_judges": _i, "n_abstained": _i, "n_ratings": _i},
        {"value": _f},
    ),
    key=("scenario", "rubric_sha", "dialogue_id", "metric_id"),
    allowed={"status": PANEL_STATUSES},
    ranges=dict.fromkeys(("n_judges", "n_abstained", "n_ratings"), (0.0, 1e6)),
    may_be_empty=True,
)
# Score(tau, R). `incomplete`: a metric has no score; with a value only by policy `renormalise`.
DIALOGUE_SCORES = Contract(
    "rubric_dialogue_scores",
    _schema(
        _about
        | {"status": _s, "reason": _s, "policy": _s, "n_metrics": _i, "n_known": _i, "weight_known": _f},
        {"value": _f},
    ),
    key=("scenario", "rubric_sha", "dialogue_id"),
    allowed={"status": TOTAL_STATUSES, "policy": MISSING_POLICIES},
    ranges={"n_metrics": (1, 1e4), "n_known": (0, 1e4), "weight_known": (0, 1 + 1e-9)},
    may_be_empty=True,
)
# What people gave a dialogue on a metric.
HUMAN_SCORES = Contract(
    "rubric_human_scores",
    _schema(
        {"scenario": _s, "dialogue_id": _s, "metric_id": _s, "annotator": _s, "value": _f}, {"rationale": _s}
    ),
    key=("scenario", "dialogue_id", "metric_id", "annotator"),
    may_be_empty=True,
)
# `partner`: the other metric of `redundancy_r`.
RUBRIC_DIAGNOSIS = Contract(
    "rubric_diagnosis",
    _schema(
        {"scenario": _s, "rubric_sha": _s, "metric_id": _s, "statistic": _s, "status": _s, "reason": _s}
        | _estimate,
        _interval | {"partner": _s},
    ),
    key=("scenario", "rubric_sha", "metric_id", "statistic"),
    allowed={"statistic": METRIC_STATISTICS, "status": METRIC_STATUSES},
    ranges={"level": (0, 1), **_counts},
    may_be_empty=True,
)
# `evidence`: a sentence with the numbers that raised the flag.
RUBRIC_FLAGS = Contract(
    "rubric_flags",
    _schema(
        {
            "scenario": _s,
            "rubric_sha": _s,
            "metric_id": _s,
            "flag": _s,
            "statistic": _s,
            "n": _i,
            "evidence": _s,
        },
        {"value": _f, "threshold": _f},
    ),
    key=("scenario", "rubric_sha", "metric_id", "flag"),
    allowed={"flag": FLAGS},
    ranges={"n": (0, 1e9)},
    may_be_empty=True,
)
# A metric that was to be rewritten; `detail` says what is wrong with the reply, `raw` is what was said.
REFINEMENTS = Contract(
    "rubric_refinements",
    _schema(
        {
            "scenario": _s,
            "parent_sha": _s,
            "metric_id": _s,
            "flags": _s,
            "status": _s,
            "detail": _s,
            "raw": _s,
        }
        | {"request_id": _s}
    ),
    key=("scenario", "parent_sha", "metric_id"),
    allowed={"status": CHANGE_STATUSES},
    may_be_empty=True,
)
# A task that was to be written anew. `variables`, `old_variables`: JSON objects.
TASK_CHANGES = Contract(
    "rubric_task_changes",
    _schema(
        {
            "scenario": _s,
            "old_task_id": _s,
            "task_id": _s,
            "status": _s,
            "detail": _s,
            "raw": _s,
            "request_id": _s,
        }
        | {"metric_ids": _s, "old_variables": _s, "variables": _s}
    ),
    key=("scenario", "old_task_id"),
    allowed={"status": CHANGE_STATUSES},
    may_be_empty=True,
)
# Distance of the panel from the experts on the anchors: signed mean (`bias`) and absolute mean (`deviation`), and how
# both moved since iteration `since` (`bias_drift`, `deviation_drift`), anchor by anchor.
ANCHOR_DRIFT = Contract(
    "rubric_anchor_drift",
    _schema(
        {
            "scenario": _s,
            "iteration": _i,
            "since": _i,
            "metric_id": _s,
            "statistic": _s,
            "status": _s,
            "reason": _s,
        }
        | {"n": _i, "n_clusters": _i, "level": _f},
        _interval,
    ),
    key=("scenario", "iteration", "metric_id", "statistic"),
    allowed={"statistic": ("bias", "deviation", "bias_drift", "deviation_drift"), "status": METRIC_STATUSES},
    ranges={"iteration": (0, 1e4), "since": (0, 1e4), "level": (0, 1)}
    | dict.fromkeys(("n", "n_clusters"), (0.0, 1e9)),
    may_be_empty=True,
)
# A model on a dimension, on the scale; clusters are tasks. `n_missing`: its dialogues without a score.
RUBRIC_PROFILES = Contract(
    "rubric_profiles",
    _schema(
        {"scenario": _s, "rubric_sha": _s, "model": _s, "dim": _s, "weight": _f, "status": _s, "reason": _s}
        | {"policy": _s, "n": _i, "n_clusters": _i, "n_missing": _i, "n_vetoed": _i, "level": _f}
        | {"low": _i, "high": _i},
        _interval,
    ),
    key=("scenario", "rubric_sha", "model", "dim"),
    allowed={"status": METRIC_STATUSES, "policy": MISSING_POLICIES},
    ranges={"weight": (0, 1 + 1e-9), "level": (0, 1)}
    | dict.fromkeys(("n", "n_clusters", "n_missing", "n_vetoed"), (0.0, 1e9)),
    may_be_empty=True,
)
# Two judges on the same dialogues, or a judge and people (`judge_b` is "people"); the differences are a - b.
JUDGE_AGREEMENT = Contract(
    "rubric_judge_agreement",
    _schema(
        {
            "scenario": _s,
            "rubric_sha": _s,
            "metric_id": _s,
            "judge_a": _s,
            "judge_b": _s,
            "measure": _s,
            "status": _s,
        }
        | {"reason": _s}
        | _estimate,
        _interval,
    ),
    key=("scenario", "rubric_sha", "metric_id", "judge_a", "judge_b", "measure"),
    allowed={"measure": AGREEMENT_MEASURES, "status": METRIC_STATUSES},
    ranges={"level": (0, 1), **_counts},
    may_be_empty=True,
)
# Profiles by the best rubrics of a set; `group`: models that share a letter are not told apart.
_standing = (
    {"scenario": _s, "rubric_sha": _s, "iteration": _i, "model": _s, "dim": _s, "weight": _f, "status": _s}
    | {"reason": _s, "policy": _s, "n": _i, "n_clusters": _i, "n_missing": _i, "n_vetoed": _i, "level": _f}
    | {"low": _i, "high": _i, "group": _s}
)
_ranks = ("rank", "rank_low", "rank_high")
RUBRIC_STANDINGS = Contract(
    "rubric_standings",
    _schema(_standing, _interval | dict.fromkeys(_ranks, _i)),
    key=("scenario", "model", "dim"),
    allowed=RUBRIC_PROFILES.allowed,
    ranges=RUBRIC_PROFILES.ranges | {"iteration": (0, 1e4)} | dict.fromkeys(_ranks, (1.0, 1e6)),
)
# The same of all sets, as published.
RUBRICS_BOARD = Contract(
    "rubrics_board",
    _schema({"set": _s} | _standing, _interval | dict.fromkeys(_ranks, _i)),
    key=("set", "scenario", "model", "dim"),
    allowed=RUBRIC_STANDINGS.allowed,
    ranges=RUBRIC_STANDINGS.ranges,
    # A project without rubrics has none.
    may_be_empty=True,
)

RUBRICS_SCORE_CONTRACTS = (
    *(RUBRIC_CHECKS, RUBRIC_ASKED, RUBRIC_REPAIRS, RUBRIC_SCORES, METRIC_SCORES, DIALOGUE_SCORES),
    *(RUBRIC_DIAGNOSIS, RUBRIC_FLAGS, REFINEMENTS, TASK_CHANGES, ANCHOR_DRIFT, JUDGE_AGREEMENT),
    *(RUBRIC_STANDINGS, RUBRICS_BOARD),
)
"""Tables that lie in files."""
