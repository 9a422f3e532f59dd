"""Arrow schemas, one per artifact type: names, types, keys and ranges of every table the pipeline writes.

A `Contract` is all that is known of a table in one place; the artifact writer enforces it when a table is
written and the gates check it again, with cross-table expectations, before anything downstream runs.
"""

from __future__ import annotations

import math

import pyarrow as pa

from magister.contracts.arena_tables import ARENA_CONTRACTS
from magister.contracts.contract import METRIC_STATUSES as METRIC_STATUSES
from magister.contracts.contract import STATUSES as STATUSES
from magister.contracts.contract import Contract as Contract
from magister.contracts.contract import table_schema as _schema
from magister.contracts.diagnosis_tables import DIAGNOSIS_CONTRACTS
from magister.contracts.rubrics_score_tables import RUBRICS_SCORE_CONTRACTS
from magister.contracts.rubrics_tables import RUBRICS_CONTRACTS

VERDICTS = ("correct", "wrong", "none")
LEAKS = ("none", "option", "gold")
TEACHER_ARMS = ("taught", "verdict_only")
"""Arms in which a model speaks: its whole guide, or its verdict alone."""
ARMS = (*TEACHER_ARMS, "sham", "oracle_tell", "wrong_oracle", "self_revise")
REWRITE = ("native", "rules", "rewritten")  # or "fallback:<reason>"
STEMS = ("as_built", "paraphrased")  # or "fallback:<reason>"
OPTIONS_STATUSES = ("as_built", "native", "redrawn", "partly_redrawn", "no_other_candidate")
METRICS = ("CA", "AA", "JA", "GA", "RA")
BOARD_METRICS = (*METRICS, "net_CA", "headroom", "CA_masked")
"""Metrics on a board: the headline ones, and CA beside the control arms and without leaks."""
SHARES = ("p", "AA", "JA", "JA_none", "JA_balanced", "JA_always_wrong", "GA", "regression")
METRIC_RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(SHARES, (0.0, 1.0)),
    **dict.fromkeys(("CA", "CA_masked", "CA_leak_none", "CA_leak_option", "CA_leak_gold"), (-1.0, 1.0)),
    **dict.fromkeys(("net_CA", "net_verdict"), (-2.0, 2.0)),
    "headroom": (-math.inf, math.inf),
    "JA_mcc": (-1.0, 1.0),
    "RA": (-1.0, math.inf),
    "normalised_gain": (-math.inf, 1.0),
    "corrected_gain": (-2.0, 2.0),
    **dict.fromkeys(("Fix", "Reg"), (0.0, math.inf)),
}
"""What a metric can be, inclusive."""
POLICIES = ("wrong", "drop")


_s, _i, _f, _b = pa.string(), pa.int32(), pa.float64(), pa.bool_()
_strings = pa.list_(pa.string())
_TOKENS: dict[str, tuple[float, float]] = dict.fromkeys(("prompt_tokens", "completion_tokens"), (0, 1e9))
_READ = dict.fromkeys(("span_start", "span_end"), (0, 1e9)) | _TOKENS

POOL = Contract(
    "pool",
    _schema(
        {"item_id": _s, "dataset": _s, "domain": _s, "cluster_id": _s, "question": _s, "gold": _s}
        | {"source_row": _i, "flags": _strings},
        {"passage": _s, "options": _strings, "key": _s},
    ),
    key=("item_id",),
)
REJECTED = Contract(
    "rejected",
    _schema({"dataset": _s, "source_row": _i, "reason": _s, "detail": _s, "raw": _s}),
    key=("dataset", "source_row", "reason"),
    may_be_empty=True,
)
DISTRACTORS = Contract(
    "distractors",
    _schema(
        {"item_id": _s, "rank": _i, "text": _s, "canonical": _s, "n_models": _i, "n_answers": _i}
        | {"request_ids": _strings}
    ),
    key=("item_id", "rank"),
    ranges={"rank": (1, 1e6), "n_models": (1, 1e6), "n_answers": (1, 1e9)},
    may_be_empty=True,
)
ITEMS = Contract(
    "items",
    _schema(
        {"item_id": _s, "dataset": _s, "domain": _s, "cluster_id": _s, "question": _s, "options": _strings}
        | {"origins": _strings, "key": _s, "gold": _s, "multi": _b, "rewrite_status": _s}
        | {"needs_options": _b, "options_in_question": _b},
        {"passage": _s, "review": _s},
    ),
    key=("item_id",),
)
# What a variant of the items changed of each; `order_changed`: its options, once settled, were put in another order.
VARIANT_REPORT = Contract(
    "variant_report",
    _schema(
        {"variant": _s, "item_id": _s, "stem_status": _s, "options_status": _s, "order_changed": _b},
        {"review": _s},
    ),
    key=("variant", "item_id"),
    allowed={"options_status": OPTIONS_STATUSES},
)
ANSWERS = Contract(
    "answers",
    _schema(
        {"model": _s, "item_id": _s, "request_id": _s, "status": _s, "rule": _s, "text": _s},
        {"answer": _s, "correct": _b, "span_start": _i, "span_end": _i, "finish_reason": _s, "error": _s}
        | {"prompt_tokens": _i, "completion_tokens": _i},
    ),
    key=("model", "item_id"),
    allowed={"status": STATUSES},
    ranges=_READ,
)
FREE_ANSWERS = Contract(
    "free_answers",
    _schema(
        {"model": _s, "item_id": _s, "sample": _i, "request_id": _s, "status": _s, "rule": _s, "text": _s},
        {"answer": _s, "span_start": _i, "span_end": _i, "finish_reason": _s, "error": _s}
        | {"prompt_tokens": _i, "completion_tokens": _i},
    ),
    key=("model", "item_id", "sample"),
    allowed={"status": STATUSES},
    ranges={"sample": (0, 1e6)} | _READ,
    may_be_empty=True,
)
BANDS = Contract(
    "bands",
    _schema(
        {"item_id": _s, "band": _i, "pass_pattern": _s, "n_answered": _i, "unsolved": _b, "monotone": _b},
        {"ladder_mean": _f},
    ),
    key=("item_id",),
    ranges={"band": (1, 5), "ladder_mean": (0, 1), "n_answered": (1, 1e6)},
    may_be_empty=True,
)
_EXCHANGE = {"arm": _s, "teacher": _s, "student": _s, "item_id": _s, "round": _i}
ASKED = Contract(
    "asked",
    _schema(_EXCHANGE, {"request_id": _s, "scrubbed": _s}),
    key=("arm", "teacher", "student", "item_id", "round"),
    allowed={"arm": ARMS},
    ranges={"round": (1, 6)},
    may_be_empty=True,
)
GUIDES = Contract(
    "guides",
    _schema(
        _EXCHANGE | {"status": _s, "verdict": _s, "verdict_rule": _s, "guidance": _s, "leak": _s, "text": _s},
        {"request_id": _s, "scrubbed": _s, "leak_spans": _s, "finish_reason": _s, "error": _s}
        | {"prompt_tokens": _i, "completion_tokens": _i},
    ),
    key=("arm", "teacher", "student", "item_id", "round"),
    allowed={"status": STATUSES, "verdict": VERDICTS, "leak": LEAKS, "arm": ARMS},
    ranges={"round": (1, 6)} | _TOKENS,
)
REVISIONS = Contract(
    "revisions",
    _schema(
        _EXCHANGE | {"status": _s, "rule": _s, "text": _s, "asked": _b},
        {"request_id": _s, "answer": _s, "correct": _b, "span_start": _i, "span_end": _i}
        | {"finish_reason": _s, "error": _s, "prompt_tokens": _i, "completion_tokens": _i},
    ),
    key=("arm", "teacher", "student", "item_id", "round"),
    allowed={"status": STATUSES, "arm": ARMS},
    ranges={"round": (1, 6)} | _READ,
)
TRAJECTORIES = Contract(
    "trajectories",
    _schema(
        {"league": _s}
        | _EXCHANGE
        | {"dataset": _s, "domain": _s, "cluster_id": _s, "n_options": _i}
        | {"status": _s, "verdict": _s, "guide_status": _s, "leak": _s},
        {"band": _i, "answer": _s, "correct": _b, "request_id": _s, "guide_request_id": _s}
        | dict.fromkeys(("needs_options", "options_in_question", "multi"), _b),
    ),
    key=("league", "arm", "teacher", "student", "item_id", "round"),
    allowed={"status": STATUSES, "arm": ARMS, "leak": LEAKS, "verdict": VERDICTS},
    ranges={"round": (0, 6), "band": (1, 5), "n_options": (2, 26)},
)
METRICS_TABLE = Contract(
    "metrics",
    _schema(
        {"league": _s, "arm": _s, "teacher": _s, "slice_kind": _s, "slice": _s, "metric": _s, "round": _i}
        | {"policy": _s, "status": _s, "reason": _s, "n_items": _i, "n_students": _i, "n_clusters": _i}
        | {"n_cells": _i, "n_dropped": _i}
        | {f"n_{status}": _i for status in STATUSES}
        | {"resamples": _i, "seed": _i, "level": _f},
        {"value": _f, "ci_low": _f, "ci_high": _f, "se": _f},
    ),
    key=("league", "arm", "teacher", "slice_kind", "slice", "metric", "round"),
    allowed={"arm": ARMS, "policy": POLICIES, "status": METRIC_STATUSES},
    ranges={
        "round": (0, 6),
        "level": (0.0, 1.0),
        "resamples": (0, 1e9),
        "n_items": (0, 1e9),
        "n_students": (0, 1e6),
    }
    | {"n_clusters": (0, 1e9), "n_cells": (0, 1e9), "n_dropped": (0, 1e9)}
    | {f"n_{status}": (0, 1e9) for status in STATUSES},
)
_SETTINGS = {"policy": _s, "resamples": _i, "seed": _i, "level": _f}
_COUNTS: dict[str, tuple[float, float]] = dict.fromkeys(
    ("n_items", "n_students", "n_clusters", "n_cells", "n_dropped"), (0, 1e9)
)
_CHANCES = {"level": (0.0, 1.0), "resamples": (0, 1e9)}
# Teachers of a league against one another, a row per metric and teacher: the interval for students like these
# (that for exactly these stands in the metrics), rank with its interval, how often first, and the letters
# of the groups that Holm-corrected tests do not tell apart.
STANDINGS = Contract(
    "standings",
    _schema(
        {"league": _s, "metric": _s, "teacher": _s, "round": _i, "status": _s, "reason": _s}
        | {"random_status": _s, "random_reason": _s, "rank_status": _s, "rank_reason": _s, "group": _s}
        | dict.fromkeys(_COUNTS, _i)
        | _SETTINGS,
        dict.fromkeys(("value", "random_ci_low", "random_ci_high", "random_se"), _f)
        | dict.fromkeys(("rank", "rank_low", "rank_high"), _i)
        | {"p_first": _f},
    ),
    key=("league", "metric", "teacher"),
    allowed={
        "metric": METRICS,
        "policy": POLICIES,
        "status": METRIC_STATUSES,
        "random_status": METRIC_STATUSES,
    },
    ranges={"round": (0, 6), "rank": (1, 1e6), "rank_low": (1, 1e6), "rank_high": (1, 1e6), "p_first": (0, 1)}
    | _COUNTS
    | _CHANCES,
)
# All pairs of teachers of a league: first - second on the same resamples, p by sign flips of clusters, Holm's
# p over the pairs of a league and metric.
COMPARISONS = Contract(
    "comparisons",
    _schema(
        {"league": _s, "metric": _s, "first": _s, "second": _s, "round": _i, "status": _s, "reason": _s}
        | {"random_status": _s, "random_reason": _s, "n_clusters": _i, "n_differ": _i, "exact": _b}
        | _SETTINGS,
        dict.fromkeys(("difference", "ci_low", "ci_high", "se"), _f)
        | dict.fromkeys(("random_ci_low", "random_ci_high", "random_se", "p", "p_holm"), _f),
    ),
    key=("league", "metric", "first", "second"),
    allowed={
        "metric": METRICS,
        "policy": POLICIES,
        "status": METRIC_STATUSES,
        "random_status": METRIC_STATUSES,
    },
    ranges={"round": (0, 6), "p": (0, 1), "p_holm": (0, 1), "n_clusters": (0, 1e9), "n_differ": (0, 1e9)}
    | _CHANCES,
    may_be_empty=True,
)
COMPUTED_ABLATIONS = ("full", "leave_one_student", "leave_one_dataset", "cumulative", "rounds")
"""Ablations that read the league's own trajectories; `full` is the league itself."""
ASKED_ABLATIONS = ("more_rounds", "answer_revelation", "prompts", "option_order", "item_variants")
"""Ablations that ask the models again."""
WHOLE_LEAGUE = "whole league"
"""The setting of `full`."""
CUMULATIVE_SHARES = (5, 10, 20, 30, 50, 75, 100)
"""Percent of the clusters of every dataset in the cumulative samples."""
FORM_ABLATIONS = ("option_order", "item_variants")
"""Those in which the items keep their meaning and change their form."""
# A teacher under one setting of an ablation, and its paired difference from the whole league (setting - whole).
ABLATIONS = Contract(
    "ablations",
    _schema(
        {"league": _s, "ablation": _s, "setting": _s, "teacher": _s, "metric": _s, "round": _i}
        | {"status": _s, "reason": _s, "difference_status": _s, "difference_reason": _s}
        | dict.fromkeys(_COUNTS, _i)
        | _SETTINGS,
        dict.fromkeys(("value", "ci_low", "ci_high", "se", "whole", "difference"), _f)
        | dict.fromkeys(("difference_ci_low", "difference_ci_high", "p", "p_holm"), _f)
        | {"rank": _i},
    ),
    key=("league", "ablation", "setting", "teacher", "metric"),
    allowed={"ablation": (*COMPUTED_ABLATIONS, *ASKED_ABLATIONS), "metric": METRICS, "policy": POLICIES}
    | {"status": METRIC_STATUSES, "difference_status": METRIC_STATUSES},
    ranges={"round": (0, 6), "rank": (1, 1e6), "p": (0, 1), "p_holm": (0, 1)} | _COUNTS | _CHANCES,
)
# How far a setting of an ablation orders the teachers as the whole league does.
ABLATION_AGREEMENT = Contract(
    "ablation_agreement",
    _schema(
        {"league": _s, "ablation": _s, "setting": _s, "metric": _s, "status": _s, "reason": _s}
        | {"n_teachers": _i, "n_pairs": _i, "n_swapped": _i}
        | _SETTINGS,
        {f"{name}{part}": _f for name in ("spearman", "kendall") for part in ("", "_ci_low", "_ci_high")}
        | {"largest_change": _f},
    ),
    key=("league", "ablation", "setting", "metric"),
    allowed={"ablation": (*COMPUTED_ABLATIONS, *ASKED_ABLATIONS), "metric": METRICS, "policy": POLICIES}
    | {"status": METRIC_STATUSES},
    ranges={"spearman": (-1, 1), "kendall": (-1, 1), "n_teachers": (0, 1e6), "n_swapped": (0, 1e9)}
    | _CHANCES,
)
# A teacher that knows items by heart loses AA when they are asked in another form, and CA less: the changes of
# both from the whole league to the setting, and their paired difference, above 0 for such a teacher
# (gap = ca_change - aa_change).
CONTAMINATION = Contract(
    "contamination",
    _schema(
        {"league": _s, "ablation": _s, "setting": _s, "teacher": _s, "status": _s, "reason": _s}
        | {"n_items": _i, "n_clusters": _i}
        | _SETTINGS,
        {
            f"{name}{part}": _f
            for name in ("aa_change", "ca_change", "gap")
            for part in ("", "_ci_low", "_ci_high")
        }
        | {"p": _f, "p_holm": _f},
    ),
    key=("league", "ablation", "setting", "teacher"),
    allowed={"ablation": FORM_ABLATIONS, "policy": POLICIES, "status": METRIC_STATUSES},
    ranges={"p": (0, 1), "p_holm": (0, 1), "n_items": (0, 1e9), "n_clusters": (0, 1e9)} | _CHANCES,
    may_be_empty=True,
)
BOARD_COUNTS = (
    "n_items",
    "n_students",
    "n_clusters",
    "n_cells",
    "n_dropped",
    *(f"n_{name}" for name in STATUSES),
)
# `rank` counts teachers of a league by CA, 1 the best; equal CA share a rank; null for control arms and where
# CA is unknown. Its interval, the share of resamples in which it is 1, the letters of the groups and the interval
# of CA for students like these are those of the standings, null for control arms. `separated_from_zero`: the
# interval of CA excludes 0; null without one. `unresponsive`: students whom being told the answer does not move;
# null where nobody was told. Counts are those of CA.
TEACHING_BOARD = Contract(
    "teaching_board",
    _schema(
        {"league": _s, "arm": _s, "teacher": _s, "rounds": _i, "policy": _s}
        | {f"{metric.lower()}_{part}": _s for metric in BOARD_METRICS for part in ("status", "reason")}
        | dict.fromkeys(BOARD_COUNTS, _i)
        | {"resamples": _i, "seed": _i, "level": _f},
        {"rank": _i, "rank_low": _i, "rank_high": _i, "p_first": _f, "group": _s, "separated_from_zero": _b}
        | {"ca_random_ci_low": _f, "ca_random_ci_high": _f, "ca_random_reason": _s}
        | {"unresponsive": pa.list_(pa.string())}
        | {f"{metric.lower()}{part}": _f for metric in BOARD_METRICS for part in ("", "_ci_low", "_ci_high")},
    ),
    key=("league", "arm", "teacher"),
    allowed={"arm": ARMS, "policy": POLICIES}
    | {f"{metric.lower()}_status": METRIC_STATUSES for metric in BOARD_METRICS},
    ranges={"rounds": (1, 6), "level": (0.0, 1.0), "resamples": (0, 1e9), "p_first": (0.0, 1.0)}
    | dict.fromkeys(("rank", "rank_low", "rank_high"), (1, 1e6))
    | dict.fromkeys(BOARD_COUNTS, (0, 1e9)),
)
NAME_STATUSES = ("used", "unmapped", "not_on_board", "not_a_teacher", "superseded", "rejected")
"""What became of a name: a teacher's on a board (first three), or a row's of a board's file."""
# Every teacher of a league against every external board, and every row of their files that no teacher uses (`league`
# empty); `row` is the line of the file, 0 where a teacher has none. Names are mapped by the parameters alone.
META_NAMES = Contract(
    "meta_names",
    _schema(
        {"league": _s, "board": _s, "model": _s, "external_name": _s, "status": _s, "reason": _s}
        | {"file": _s, "row": _i},
        {"date": _s, "score": _f},
    ),
    key=("league", "board", "model", "file", "row"),
    allowed={"status": NAME_STATUSES},
    ranges={"row": (0, 1e9)},
    may_be_empty=True,
)
COEFFICIENTS = ("spearman", "kendall", "pearson")
AGAINST = ("external", "league")
# Correlation of a metric with an external board over the models of both, or (`against` league) with CA within the
# league; intervals over models and, nested, clusters of items. Beside it, over the models with AA too: the metric's
# correlation less that of AA, with Williams' test, and the correlation that AA does not explain.
META_EVALUATION = Contract(
    "meta_evaluation",
    _schema(
        {"league": _s, "against": _s, "board": _s, "metric": _s, "coefficient": _s}
        | {"status": _s, "reason": _s, "difference_status": _s, "difference_reason": _s}
        | {"partial_status": _s, "partial_reason": _s, "n_models": _i, "n_paired": _i, "n_clusters": _i}
        | _SETTINGS,
        dict.fromkeys(("value", "ci_low", "ci_high", "se", "aa_value", "difference"), _f)
        | dict.fromkeys(("difference_ci_low", "difference_ci_high", "t", "p"), _f)
        | dict.fromkeys(("partial", "partial_ci_low", "partial_ci_high"), _f),
    ),
    key=("league", "against", "board", "metric", "coefficient"),
    allowed={"against": AGAINST, "metric": METRICS, "coefficient": COEFFICIENTS, "policy": POLICIES}
    | {f"{part}status": METRIC_STATUSES for part in ("", "difference_", "partial_")},
    ranges=dict.fromkeys(("value", "aa_value", "partial"), (-1, 1))
    | {"difference": (-2, 2), "p": (0, 1)}
    | dict.fromkeys(("n_models", "n_paired"), (0, 1e6))
    | {"n_clusters": (0, 1e9)}
    | _CHANCES,
)

CONTRACTS: dict[str, Contract] = {
    contract.name: contract
    for contract in (
        POOL, REJECTED, FREE_ANSWERS, DISTRACTORS, ITEMS, ANSWERS, BANDS, ASKED, GUIDES, REVISIONS, TRAJECTORIES,
        METRICS_TABLE, STANDINGS, COMPARISONS, ABLATIONS, ABLATION_AGREEMENT, CONTAMINATION, TEACHING_BOARD,
        VARIANT_REPORT, META_EVALUATION, META_NAMES, *ARENA_CONTRACTS, *DIAGNOSIS_CONTRACTS,
        *RUBRICS_CONTRACTS, *RUBRICS_SCORE_CONTRACTS,
    )
}  # fmt: skip
