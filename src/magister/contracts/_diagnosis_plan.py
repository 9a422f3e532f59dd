"""What a study of a diagnosis was to hold, its tables, and its documents as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from magister.contracts._small import small_contract
from magister.contracts.contract import Contract
from magister.contracts.diagnosis_tables import SUPPORT

UNPARSED = ("no_answer", "ambiguous", "refusal", "truncated", "context_exceeded")
"""Statuses of a model that was asked and gave nothing that can be read."""
ABSENT = ("error", "missing")
"""Statuses of a response that nobody knows."""
NEEDED = 0.5
"""An item needs an attribute, and a model masters it, from above this posterior probability."""
DUPLICATE_FROM = 0.95
"""Attributes whose mastery correlates this much over models are not two."""
LADDER = (
    *("size", "single_ability", "item_mean", "placebo"),
    *("convergence", "fixed_q", "posterior_predictive"),
)
"""What is asked before profiles are supported."""
CORRECTIONS = ("prior_confirmed", "added_process", "reassigned", "reduced")
"""What may become of an item's reference."""


@dataclass(frozen=True)
class ScreeningPlan:
    """Which models and items are flagged, and which flags take them out: `diagnosis.screening`."""

    min_models: int
    min_items: int
    format_share: float
    format_unparsed: float
    duplicate_items: int
    duplicate_agreement: float
    drop: Sequence[str]


@dataclass(frozen=True)
class ClusterPlan:
    """How a study's attributes are found in texts.

    Attributes:
        tried: numbers of attributes.
        runs: clusterings of each.
        least_items: of the smallest attribute.
        least_stability: of the clusterings.
        labeller: whether a model names attributes.
    """

    tried: Sequence[int]
    runs: int
    least_items: int
    least_stability: float
    labeller: bool


@dataclass(frozen=True)
class FitPlan:
    """How a study is fitted: some of `diagnosis.saem`."""

    chains: int
    draws: int
    delta: float
    alpha_prior: str
    min_sweeps: int
    max_sweeps: int


@dataclass(frozen=True)
class ControlPlan:
    """What profiles must stand up to: some of `diagnosis.checks`."""

    share: float
    seed: int
    placebos: int
    least_models: int
    least_items: int
    alpha: float
    tolerance: float


@dataclass(frozen=True)
class DiagnosisPlan:
    """What a study was to hold.

    Attributes:
        kind: where its responses come from: answers, file, logs or simulated.
        truth: of simulated models: dina or 2pl; empty for others.
        unparsed: what an unreadable reply counts as: wrong or missing.
        fixed: whether a given Q-matrix is taken as it is.
        screening: who is left out.
        clusters: how attributes are found; None where a Q-matrix is given.
        fit: how it is fitted.
        controls: what profiles must stand up to.
        level: of all intervals.
    """

    kind: str
    truth: str
    unparsed: str
    fixed: bool
    screening: ScreeningPlan
    clusters: ClusterPlan | None
    fit: FitPlan
    controls: ControlPlan
    level: float


@dataclass(frozen=True)
class ClusterTables:
    """Tables of a study that finds its attributes in texts.

    Attributes:
        runs: CLUSTER_RUNS.
        tried: Q_CLUSTERS by number of attributes.
        predictions: PREDICTIONS by number of attributes.
        curve: K_CURVE.
        unreviewed: Q_CLUSTERS of the number that was chosen.
        prior: Q_PRIOR of it.
        asked: LABELS_ASKED, empty unless a model names attributes.
        labels: ATTRIBUTE_LABELS.
        reviewed: Q_CLUSTERS as reviewers leave them.
    """

    runs: pa.Table
    tried: Mapping[int, pa.Table]
    predictions: Mapping[int, pa.Table]
    curve: pa.Table
    unreviewed: pa.Table
    prior: pa.Table
    asked: pa.Table
    labels: pa.Table
    reviewed: pa.Table


@dataclass(frozen=True)
class DiagnosisTables:
    """Tables of a study; its documents stand as tables (`fit_tables`, `correction_table`, `support_tables`).

    Attributes:
        responses: RESPONSE_MATRIX.
        screening: SCREENING.
        prior: Q_PRIOR.
        attributes: Q_ATTRIBUTES.
        saem: by name, the tables of the fit: SAEM_MASTERY, SAEM_ABILITIES, SAEM_Q, SAEM_ITEMS, SAEM_ATTRIBUTES,
            SAEM_TRACE, SAEM_DRAWS.
        fit, chains: FIT and CHAINS.
        predictions: PREDICTIONS.
        placebo: PLACEBO.
        checks: DIAGNOSIS_CHECKS.
        verdict, rungs: VERDICT and RUNGS.
        mastery: MASTERY.
        profiles: ATTRIBUTE_PROFILES.
        correlations: ATTRIBUTE_CORRELATIONS.
        items: ITEM_PROFILES.
        entries: Q_ENTRIES.
        corrections: CORRECTED.
        texts: DIAGNOSED_ITEMS; None where a study needs none.
        rejected: RESPONSES_REJECTED; None where responses were not read from files.
        truth: SIMULATED_MASTERY; None unless models are simulated.
        clusters: None where a Q-matrix is given.
    """

    responses: pa.Table
    screening: pa.Table
    prior: pa.Table
    attributes: pa.Table
    saem: Mapping[str, pa.Table]
    fit: pa.Table
    chains: pa.Table
    predictions: pa.Table
    placebo: pa.Table
    checks: pa.Table
    verdict: pa.Table
    rungs: pa.Table
    mastery: pa.Table
    profiles: pa.Table
    correlations: pa.Table
    items: pa.Table
    entries: pa.Table
    corrections: pa.Table
    texts: pa.Table | None = None
    rejected: pa.Table | None = None
    truth: pa.Table | None = None
    clusters: ClusterTables | None = field(default=None)


_s, _i, _f, _b = pa.string(), pa.int32(), pa.float64(), pa.bool_()
_UNKNOWN = ("rhat_items", "rhat_loglik", "q_jaccard", "alpha_agreement")

# `fit.json`: the fit as a whole, and its chains.
FIT = Contract(
    "fit",
    pa.schema(
        [
            *(pa.field(name, _i, nullable=False) for name in ("models", "items", "attributes", "sweeps")),
            pa.field("loglik", _f, nullable=False),
            pa.field("converged", _b, nullable=False),
            pa.field("reason", _s, nullable=False),
            *(pa.field(name, _f) for name in _UNKNOWN),
        ]
    ),
    key=("models",),
)
CHAINS = small_contract("chains", {"chain": _i, "sweeps": _i, "kept": _i, "loglik": _f}, ("chain",))
# `corrections.json`.
CORRECTED = small_contract(
    "corrections", {"correction": _s, "items": _i}, ("correction",), allowed={"correction": CORRECTIONS}
)
# `support.json`: the verdict, and what each question of the ladder came to.
VERDICT = small_contract(
    "support", {"support": _s, "reasons": pa.list_(_s)}, ("support",), allowed={"support": SUPPORT}
)
RUNGS = small_contract(
    "rungs", {"name": _s, "says": _s, "reason": _s}, ("name",), allowed={"name": LADDER, "says": SUPPORT}
)


def fit_tables(document: Mapping[str, Any]) -> tuple[pa.Table, pa.Table]:
    """FIT and CHAINS of `fit.json`."""
    row = {name: value for name, value in document.items() if name not in ("diagnostics", "chains")}
    fit = pa.Table.from_pylist([row | document["diagnostics"]], schema=FIT.schema)
    return fit, pa.Table.from_pylist(document["chains"], schema=CHAINS.schema)


def correction_table(document: Mapping[str, int]) -> pa.Table:
    """CORRECTED of `corrections.json`."""
    rows = [{"correction": name, "items": count} for name, count in document.items()]
    return pa.Table.from_pylist(rows, schema=CORRECTED.schema)


def support_tables(document: Mapping[str, Any]) -> tuple[pa.Table, pa.Table]:
    """VERDICT and RUNGS of `support.json`."""
    verdict = {name: document[name] for name in ("support", "reasons")}
    return (
        pa.Table.from_pylist([verdict], schema=VERDICT.schema),
        pa.Table.from_pylist(document["rungs"], schema=RUNGS.schema),
    )
