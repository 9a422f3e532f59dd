"""Schemas of the diagnosis: responses of models to items, Q-matrices, fits, mastery profiles and their controls.

A study is one matrix of responses with its items; every table below is of one study.
"""

from __future__ import annotations

import pyarrow as pa

from magister.contracts.contract import METRIC_STATUSES, STATUSES, Contract
from magister.contracts.contract import table_schema as _schema

RESPONSE_STATUSES = (*STATUSES, "missing")
"""`missing`: nobody asked, or a file has no value."""
RESPONSE_REJECTIONS = (
    *("unreadable", "no_id", "bad_value", "unknown_status", "duplicate", "conflict"),
    *("unscored", "not_binary"),
)
"""Why a cell or row of a file is no response: the last two are said by logs of other tools."""
SCREEN_FLAGS = (
    "format_failed",
    "few_responses",
    "all_right",
    "all_wrong",
    "duplicate",
)
LABEL_SOURCES = ("terms", "model", "reviewer", "given")
LABEL_STATUSES = ("provisional", "reviewed", "given")
MASTERY_STATES = ("mastered", "not_mastered", "undetermined")
"""By posterior probability: from 0.8, to 0.2, between."""
SUPPORT = ("supported", "not_supported", "undetermined")
"""What the controls say of the profiles of a study."""
MASTERY_BASES = ("responses", "prior")
"""Whether any answered item tells of the attribute for the model; without one, `p` is what the prior believes."""
Q_PATTERNS = ("kept", "dropped", "added", "absent")
"""Reference and posterior (above 0.5) of an entry: both, the first alone, the second alone, neither."""
K_MEASURES = ("stability", "smallest", "silhouette", "held_out_loglik")
PREDICTORS = ("dina", "fixed_q", "item_mean", "2pl", "placebo")
PREDICTION_MEASURES = ("loglik", "auc", "brier")
CHECKS = ("held_out", "placebo", "posterior_predictive", "convergence")

_s, _i, _f, _b = pa.string(), pa.int32(), pa.float64(), pa.bool_()
_strings = pa.list_(pa.string())
_floats = pa.list_(pa.float64())
_COUNT = (0.0, 1e9)
_SHARE = (0.0, 1.0)

# Every model x item of the study is a row. `correct` is null where nothing is known: status `missing` or `error`;
# what an unreadable reply counts as is the study's `unparsed` (wrong, or null).
RESPONSE_MATRIX = Contract(
    "response_matrix",
    _schema({"model": _s, "item_id": _s, "status": _s}, {"correct": _b, "request_id": _s}),
    key=("model", "item_id"),
    allowed={"status": RESPONSE_STATUSES},
)
# Cells and rows of a file that could not be read; `column` is empty where the whole row is meant.
RESPONSES_REJECTED = Contract(
    "responses_rejected",
    _schema(
        {"source": _s, "row": _i, "column": _s, "reason": _s, "detail": _s, "raw": _s},
        {"model": _s, "item_id": _s},
    ),
    key=("source", "row", "column", "reason"),
    allowed={"reason": RESPONSE_REJECTIONS},
    may_be_empty=True,
)
# `text`: question and reference solution, what is embedded.
DIAGNOSED_ITEMS = Contract(
    "diagnosed_items",
    _schema({"item_id": _s, "text": _s}, {"item_type": _s}),
    key=("item_id",),
)
# `kind`: model or item. `share` is null where nothing was answered. `duplicate_of`: the first of its twins.
SCREENING = Contract(
    "screening",
    _schema(
        {"kind": _s, "name": _s, "n": _i, "n_correct": _i, "n_unparsed": _i, "n_missing": _i}
        | {"flags": _strings, "kept": _b},
        {"share": _f, "duplicate_of": _s},
    ),
    key=("kind", "name"),
    allowed={"kind": ("model", "item")},
    ranges={"share": _SHARE} | dict.fromkeys(("n", "n_correct", "n_unparsed", "n_missing"), _COUNT),
)
# What simulated models truly master; ability is null where the truth is no single ability.
SIMULATED_MASTERY = Contract(
    "simulated_mastery",
    _schema({"model": _s, "attribute": _s, "mastered": _b}),
    key=("model", "attribute"),
    may_be_empty=True,
)
# What every run of clustering made of an item, at every number of clusters: its cluster in each run, numbered anew in
# every run, -1 where the run did not draw it. `made_from`: hash of items, settings and what embedded the items.
CLUSTER_RUNS = Contract(
    "cluster_runs",
    _schema({"k": _i, "item_id": _s, "labels": pa.list_(pa.int16()), "made_from": _s}, {"item_type": _s}),
    key=("k", "item_id"),
    ranges={"k": (1, 1e6)},
)
# An item's cluster. `rank` 1 is the most central of its cluster; `together` is the share of runs in which it is with
# its cluster's items, `margin` how much more than with the next cluster's.
Q_CLUSTERS = Contract(
    "q_clusters",
    _schema({"item_id": _s, "attribute": _s, "rank": _i, "together": _f, "margin": _f}, {"item_type": _s}),
    key=("item_id",),
    ranges={"rank": (1, 1e9), "together": _SHARE, "margin": (-1.0, 1.0)},
)
# Prior of every entry; `reference` is the Q-matrix believed in.
Q_PRIOR = Contract(
    "q_prior",
    _schema({"item_id": _s, "attribute": _s, "probability": _f, "reference": _b}),
    key=("item_id", "attribute"),
    ranges={"probability": _SHARE},
)
# Which attribute a request asks a label for.
LABELS_ASKED = Contract(
    "labels_asked", _schema({"attribute": _s, "request_id": _s}), key=("attribute",), may_be_empty=True
)
# An attribute's label before anybody has reviewed it. `status`: what the model's reply came to; where it could not be
# read, the label is that of the terms. `agrees`: whether label and terms do; null where the label is the terms.
ATTRIBUTE_LABELS = Contract(
    "attribute_labels",
    _schema(
        {"attribute": _s, "label": _s, "label_source": _s, "terms": _strings, "status": _s, "reason": _s},
        {"agrees": _b, "raw": _s, "request_id": _s},
    ),
    key=("attribute",),
    allowed={"label_source": LABEL_SOURCES, "status": (*STATUSES, "invalid")},
)
# `stability`: mean `together` of its items; `purity`: share of its items of its commonest type, `item_type`.
Q_ATTRIBUTES = Contract(
    "q_attributes",
    _schema(
        {"attribute": _s, "label": _s, "label_source": _s, "status": _s, "n_items": _i, "terms": _strings},
        {"stability": _f, "purity": _f, "item_type": _s, "reviewer": _s, "note": _s},
    ),
    key=("attribute",),
    allowed={"label_source": LABEL_SOURCES, "status": LABEL_STATUSES},
    ranges={"n_items": _COUNT, "stability": _SHARE, "purity": _SHARE},
)
# Measures of every number of attributes that was tried.
K_CURVE = Contract(
    "k_curve",
    _schema(
        {"k": _i, "measure": _s, "chosen": _b, "status": _s, "reason": _s, "n": _i},
        dict.fromkeys(("value", "ci_low", "ci_high"), _f),
    ),
    key=("k", "measure"),
    allowed={"measure": K_MEASURES, "status": METRIC_STATUSES},
    ranges={"k": (1, 1e6), "n": _COUNT},
    may_be_empty=True,
)
# Means of each chain over its kept sweeps. `mcse`: Monte Carlo standard error of the mean of `p` over all chains.
SAEM_MASTERY = Contract(
    "saem_mastery",
    _schema({"chain": _i, "model": _s, "attribute": _s, "p": _f, "unlocked": _f, "mcse": _f}),
    key=("chain", "model", "attribute"),
    ranges={"p": _SHARE, "unlocked": _COUNT, "mcse": (0.0, 1.0), "chain": (1, 1e6)},
)
# Mean ability under the higher-order prior; 0 under the others.
SAEM_ABILITIES = Contract(
    "saem_abilities",
    _schema({"chain": _i, "model": _s, "theta": _f}),
    key=("chain", "model"),
    ranges={"chain": (1, 1e6)},
)
SAEM_Q = Contract(
    "saem_q",
    _schema({"chain": _i, "item_id": _s, "attribute": _s, "p": _f}),
    key=("chain", "item_id", "attribute"),
    ranges={"p": _SHARE, "chain": (1, 1e6)},
)
SAEM_ITEMS = Contract(
    "saem_items",
    _schema(
        {"chain": _i, "item_id": _s, "guess": _f, "slip": _f, "pooled": _b}
        | dict.fromkeys(("right_mastered", "n_mastered", "right_other", "n_other"), _f)
    ),
    key=("chain", "item_id"),
    ranges={"guess": _SHARE, "slip": _SHARE}
    | dict.fromkeys(("right_mastered", "n_mastered", "right_other", "n_other"), _COUNT),
)
SAEM_ATTRIBUTES = Contract(
    "saem_attributes",
    _schema({"chain": _i, "attribute": _s, "loading": _f, "intercept": _f}),
    key=("chain", "attribute"),
)
SAEM_TRACE = Contract(
    "saem_trace",
    _schema(
        {"chain": _i, "sweep": _i, "loglik": _f},
        dict.fromkeys(("item_change", "q_change"), _f),
    ),
    key=("chain", "sweep"),
    ranges={"sweep": (1, 1e9)},
)
# A few draws of each chain. `mastery` and `q` are bits, eight a byte, lowest first: of models x attributes and of items
# x attributes, row after row. Models, items and attributes are in the order of their names, as in the other tables.
SAEM_DRAWS = Contract(
    "saem_draws",
    _schema(
        {"chain": _i, "draw": _i, "mastery": pa.binary(), "q": pa.binary(), "guess": _floats, "slip": _floats}
    ),
    key=("chain", "draw"),
    ranges={"chain": (1, 1e6), "draw": (1, 1e6)},
    may_be_empty=True,
)
# A model's mastery of an attribute. `n_items`: answered items that tell of it (mean over draws); `mcse`: Monte Carlo
# standard error of `p`; `basis` is `prior` where no answered item tells of it: then `p` is the prior's and the state
# undetermined. `support`: what the controls of the study say.
MASTERY = Contract(
    "mastery",
    _schema(
        {
            "model": _s,
            "attribute": _s,
            "label": _s,
            "p": _f,
            "sd": _f,
            "n_items": _f,
            "basis": _s,
            "state": _s,
            "support": _s,
        },
        {"mcse": _f},
    ),
    key=("model", "attribute"),
    allowed={"basis": MASTERY_BASES, "state": MASTERY_STATES, "support": SUPPORT},
    ranges={"p": _SHARE, "sd": (0.0, 0.5), "n_items": _COUNT},
)
# `prevalence`: mean mastery over models, with an interval over models. `accuracy` tau_k and `consistency` gamma_k of
# classifying models by it. `duplicate_of`: an attribute that the same models master.
ATTRIBUTE_PROFILES = Contract(
    "attribute_profiles",
    _schema(
        {"attribute": _s, "label": _s, "label_status": _s, "terms": _strings, "n_models": _i, "n_items": _i}
        | {"status": _s, "reason": _s, "level": _f},
        dict.fromkeys(("prevalence", "ci_low", "ci_high", "accuracy", "consistency"), _f)
        | {"duplicate_of": _s},
    ),
    key=("attribute",),
    allowed={"label_status": LABEL_STATUSES, "status": METRIC_STATUSES},
    ranges=dict.fromkeys(("prevalence", "ci_low", "ci_high", "accuracy", "consistency", "level"), _SHARE)
    | dict.fromkeys(("n_models", "n_items"), _COUNT),
)
# Correlation of mastery over models, of every pair `attribute_a` < `attribute_b`.
ATTRIBUTE_CORRELATIONS = Contract(
    "attribute_correlations",
    _schema(
        {"attribute_a": _s, "attribute_b": _s, "status": _s, "reason": _s, "n": _i},
        {"correlation": _f},
    ),
    key=("attribute_a", "attribute_b"),
    allowed={"status": METRIC_STATUSES},
    ranges={"correlation": (-1.0, 1.0), "n": _COUNT},
    may_be_empty=True,
)
# `n_mastered`, `n_other`: responses of models that master all that the item needs, and of others (means over draws).
# `rmsd`: root mean squared difference of observed and expected shares over profiles; `pvaf`: share of the variance of
# success between profiles that the item's Q row explains.
ITEM_PROFILES = Contract(
    "item_profiles",
    _schema(
        {"item_id": _s, "guess": _f, "slip": _f, "discrimination": _f, "pooled": _b}
        | {"n": _i, "n_mastered": _f, "n_other": _f, "attributes": _strings, "status": _s, "reason": _s},
        dict.fromkeys(("guess_se", "slip_se", "rmsd", "pvaf"), _f),
    ),
    key=("item_id",),
    allowed={"status": METRIC_STATUSES},
    ranges=dict.fromkeys(("guess", "slip", "rmsd", "pvaf"), _SHARE)
    | {"discrimination": (-1.0, 1.0)}
    | dict.fromkeys(("n", "n_mastered", "n_other"), _COUNT),
)
# What became of every entry of Q; `log_odds` of the posterior, clipped to what the number of draws can tell.
Q_ENTRIES = Contract(
    "q_entries",
    _schema(
        {"item_id": _s, "attribute": _s, "reference": _b, "prior": _f, "posterior": _f, "log_odds": _f}
        | {"pattern": _s}
    ),
    key=("item_id", "attribute"),
    allowed={"pattern": Q_PATTERNS},
    ranges={"prior": _SHARE, "posterior": _SHARE},
)
# How well held-out responses are predicted; `difference` is that of DINA with the study's prior less the predictor's
# (positive: DINA is better, also for Brier scores), paired. Intervals are for models and items like these, by a
# two-way cluster-robust variance; `seed` and `share` are those of the choice of cells. The placebo's values are means
# over its draws; they are held against the real prior under the placebo's own settings.
PREDICTIONS = Contract(
    "predictions",
    _schema(
        {"predictor": _s, "measure": _s, "status": _s, "reason": _s, "n": _i, "n_models": _i, "n_items": _i}
        | {"seed": _i, "share": _f, "level": _f},
        dict.fromkeys(("value", "ci_low", "ci_high"), _f)
        | dict.fromkeys(("difference", "difference_ci_low", "difference_ci_high"), _f),
    ),
    key=("predictor", "measure"),
    allowed={"predictor": PREDICTORS, "measure": PREDICTION_MEASURES, "status": METRIC_STATUSES},
    ranges=dict.fromkeys(("level", "share"), _SHARE) | dict.fromkeys(("n", "n_models", "n_items"), _COUNT),
)
# Fits under the prior with its rows permuted; draw 0 is the real prior. `share_kept`: of the prior's reference entries,
# those that the posterior keeps.
PLACEBO = Contract(
    "placebo",
    _schema(
        {"draw": _i, "n": _i, "converged": _b},
        dict.fromkeys(("loglik", "auc", "brier", "share_kept", "fit_loglik"), _f),
    ),
    key=("draw",),
    ranges={"draw": (0, 1e6), "share_kept": _SHARE, "auc": _SHARE, "brier": _SHARE, "n": _COUNT},
    may_be_empty=True,
)
# One row a check and statistic: what was seen, what it is held against, and whether it holds (null: unknown).
DIAGNOSIS_CHECKS = Contract(
    "diagnosis_checks",
    _schema(
        {"check": _s, "statistic": _s, "status": _s, "reason": _s, "n": _i},
        {"value": _f, "expected": _f, "low": _f, "high": _f, "p": _f, "holds": _b},
    ),
    key=("check", "statistic"),
    allowed={"check": CHECKS, "status": METRIC_STATUSES},
    ranges={"p": _SHARE, "n": _COUNT},
)
# Profiles of all studies, as published.
MASTERY_BOARD = Contract(
    "mastery_board",
    pa.schema([pa.field("study", _s, nullable=False), *MASTERY.schema]),
    key=("study", *MASTERY.key),
    allowed=MASTERY.allowed,
    ranges=MASTERY.ranges,
    may_be_empty=True,
)

DIAGNOSIS_CONTRACTS = (
    *(RESPONSE_MATRIX, RESPONSES_REJECTED, DIAGNOSED_ITEMS, SCREENING, SIMULATED_MASTERY),
    *(CLUSTER_RUNS, Q_CLUSTERS, Q_PRIOR, LABELS_ASKED, ATTRIBUTE_LABELS, Q_ATTRIBUTES, K_CURVE),
    *(SAEM_MASTERY, SAEM_ABILITIES, SAEM_Q, SAEM_ITEMS, SAEM_ATTRIBUTES, SAEM_TRACE, SAEM_DRAWS),
    *(MASTERY, ATTRIBUTE_PROFILES, ATTRIBUTE_CORRELATIONS, ITEM_PROFILES, Q_ENTRIES),
    *(PREDICTIONS, PLACEBO, DIAGNOSIS_CHECKS, MASTERY_BOARD),
)
