"""A small study that keeps every promise, made by the functions that make a real one, but for the fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.config.models import ModelConfig
from magister.contracts.diagnosis_suite import (
    ClusterPlan,
    ClusterTables,
    ControlPlan,
    DiagnosisPlan,
    DiagnosisTables,
    FitPlan,
    ScreeningPlan,
    correction_table,
    diagnosis_suite,
    fit_tables,
    support_tables,
)
from magister.contracts.diagnosis_tables import DIAGNOSED_ITEMS
from magister.contracts.gate import Suite
from magister.contracts.mastery_board_suite import mastery_board_suite
from magister.diagnosis._rejected import Rejected
from magister.diagnosis.board import mastery_board
from magister.diagnosis.clusters import Clustering, cluster_runs, consensus
from magister.diagnosis.coassociation import Membership, graded_prior, membership
from magister.diagnosis.controls import Controls, Fitters, Plan, run_controls
from magister.diagnosis.fits import Chain, Diagnostics, Draw, IrtFit, SaemFit
from magister.diagnosis.held_out import HeldOut
from magister.diagnosis.k_curve import choose_k, held_out_estimate, k_curve, measure
from magister.diagnosis.labels import label_requests, read_labels
from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.prior import QPrior, point_prior
from magister.diagnosis.profiles import (
    attribute_table,
    corrections,
    correlation_table,
    entry_table,
    item_table,
    mastery_table,
)
from magister.diagnosis.projection import unit_vectors
from magister.diagnosis.qmatrix_tables import (
    attribute_terms,
    attributes_table,
    clusters_table,
    given_attributes,
    made_from,
    prior_table,
    runs_table,
)
from magister.diagnosis.responses import Grid, count_unparsed, grid_table, known_matrix, status_codes
from magister.diagnosis.review import Decision, apply_review
from magister.diagnosis.saem_tables import fit_record
from magister.diagnosis.saem_tables import fit_tables as saem_tables
from magister.diagnosis.screening import ScreeningOptions, apply_screening, screen
from magister.diagnosis.simulated import SimulatedStudy, SimulationOptions, simulate_study
from magister.diagnosis.support import Rules
from magister.llm import Response, Speaker, fingerprint
from magister.prompts import load_prompt

Tables = dict[str, Any]
Floats = NDArray[np.float64]
PROMPT = Path(__file__).resolve().parents[2] / "prompts" / "label_attribute" / "v1.md"
TEXTS = {
    "areas": "What is the area of a rectangle of {0} by {1} metres, in square metres?",
    "primes": "Which is the greatest prime number that divides {0} without a remainder, {1} or another?",
    "verbs": "Put the verb of sentence {0} into the past tense; sentence {1} shows how.",
}
DIAGNOSIS_PLAN = DiagnosisPlan(
    kind="simulated",
    truth="dina",
    unparsed="wrong",
    fixed=False,
    screening=ScreeningPlan(2, 2, 0.05, 0.5, 10, 1.0, ("format_failed", "few_responses", "duplicate")),
    clusters=ClusterPlan((2, 3), 6, 4, 0.6, True),
    fit=FitPlan(4, 2, 0.05, "higher_order", 200, 5000),
    controls=ControlPlan(0.1, 0, 19, 10, 10, 0.05, 0.05),
    level=0.95,
)
GIVEN_PLAN = replace(DIAGNOSIS_PLAN, kind="file", truth="", clusters=None)
_NAMES = {
    **{"responses": "responses", "screening": "screening", "prior": "prior", "attributes": "attributes"},
    **{"fit": "fit", "chains": "chains", "predictions": "predictions", "placebo": "placebo"},
    **{"checks": "checks", "verdict": "support", "rungs": "rungs", "mastery": "mastery"},
    **{"profiles": "attribute_profiles", "correlations": "attribute_correlations"},
    **{"items": "item_profiles", "entries": "q_entries", "corrections": "corrections"},
    **{"texts": "texts", "rejected": "rejected", "truth": "truth"},
}
"""What tables of a study are called by its gate."""
_CLUSTERED = {
    **{"runs": "cluster_runs", "curve": "k_curve", "unreviewed": "clusters_unreviewed"},
    **{"prior": "prior_unreviewed", "asked": "labels_asked", "labels": "labels", "reviewed": "clusters"},
}


def items(each: int = 8) -> pa.Table:
    """Items of three types, and one without; the first two need the same words."""
    rows = [
        {"item_id": f"{kind}-{n:02d}", "text": text.format(n + 3, 7 * n + 2), "item_type": kind}
        for kind, text in TEXTS.items()
        for n in range(each)
    ]
    return pa.Table.from_pylist(rows, schema=DIAGNOSED_ITEMS.schema)


def responses(made: SimulatedStudy, unparsed: str) -> Grid:
    """Responses of simulated models with what happens to real ones: failures, silence, twins, and perfect scores."""
    rng = np.random.default_rng(8)
    correct, status = made.grid.correct.copy(), made.grid.status.copy()
    odd = rng.random(correct.shape)
    for statuses, low, high in (("no_answer", 0.0, 0.03), ("error", 0.03, 0.05), ("missing", 0.05, 0.08)):
        status[(odd >= low) & (odd < high)] = status_codes([statuses])[0]
    status[1], correct[1] = status_codes(["refusal"])[0], 0
    status[2], correct[2] = status[3], correct[3]
    correct[4], status[4] = 1, 0
    correct[5, :] = 0
    status[6, 1:] = status_codes(["missing"])[0]
    return replace(made.grid, correct=count_unparsed(correct, status, unparsed), status=status)  # type: ignore[arg-type]


def likely(grid: ResponseMatrix, q: NDArray[np.bool_]) -> Floats:
    """Mastery by the share of the items that need an attribute and are right, N x K."""
    right, there = (grid.correct == 1).astype(np.float64), grid.answered.astype(np.float64)
    share = (right @ q + 0.5) / (there @ q + 1.0)
    return np.asarray(1 / (1 + np.exp(-8 * (share - 0.55))))


@dataclass(frozen=True)
class Guess:
    """Stands in for SAEM: mastery by scores, guess and slip counted under it, and chains that differ a little.

    Attributes:
        chains: how many.
        draws: of each.
    """

    chains: int = 4
    draws: int = 2
    delta: float = 0.05
    sweeps: int = 400

    def __call__(
        self, given: ResponseMatrix, prior: QPrior, seed: int = 0, held_out: HeldOut | None = None
    ) -> SaemFit:
        made = [self._chain(given, prior, seed + number, held_out) for number in range(self.chains)]
        spread = np.std([chain.alpha for chain in made], axis=0) + 0.001
        q = np.mean([chain.q for chain in made], axis=0)
        return SaemFit(
            models=given.models,
            items=given.items,
            attributes=prior.attributes,
            alpha=np.mean([chain.alpha for chain in made], axis=0),
            alpha_mcse=spread,
            q=q,
            guess=np.mean([chain.guess for chain in made], axis=0),
            slip=np.mean([chain.slip for chain in made], axis=0),
            loglik=float(np.mean([chain.loglik for chain in made])),
            chains=tuple(made),
            diagnostics=self._diagnostics(made),
        )

    def _diagnostics(self, made: list[Chain]) -> Diagnostics:
        pairs = [(one, two) for at, one in enumerate(made) for two in made[:at]]
        jaccard = [((a.q > 0.5) & (b.q > 0.5)).sum() / ((a.q > 0.5) | (b.q > 0.5)).sum() for a, b in pairs]
        alike = [((a.alpha > 0.5) == (b.alpha > 0.5)).mean() for a, b in pairs]
        return Diagnostics(
            converged=len(made) >= 4,
            reason="" if len(made) >= 4 else "too few chains",
            sweeps=self.sweeps,
            rhat_items=1.01,
            rhat_loglik=1.002,
            q_jaccard=float(np.mean(jaccard)) if pairs else np.nan,
            alpha_agreement=float(np.mean(alike)) if pairs else np.nan,
        )

    def _corrected(self, q: Floats, reference: NDArray[np.bool_]) -> Floats:
        """The first item needs another attribute, the second one more, and one of two is one too many."""
        q = q.copy()
        q[0] = np.roll(q[0], 1)
        q[1, ~reference[1]] = 0.75
        for item in np.flatnonzero(reference.sum(axis=1) > 1)[:1]:
            q[item, np.flatnonzero(reference[item])[-1]] = 0.2
        return q

    def _chain(self, given: ResponseMatrix, prior: QPrior, seed: int, held_out: HeldOut | None) -> Chain:
        rng = np.random.default_rng(seed)
        n, k = len(given.models), len(prior.attributes)
        kept = self.sweeps // 2
        alpha = np.clip(likely(given, prior.reference) + 0.02 * rng.standard_normal((n, k)), 0.01, 0.99)
        open_ = (prior.probability > 0) & (prior.probability < 1)
        q = np.where(open_, np.where(prior.reference, 0.9, 0.1), prior.reference)
        q = np.where(open_, np.clip(q + 0.02 * rng.standard_normal(q.shape), 0, 1), q)
        q = self._corrected(q, prior.reference) if open_.all() and k > 1 else q
        has = np.prod(np.where(q[None] > 0.5, alpha[:, None], 1.0), axis=2)
        right, there = (given.correct == 1).astype(np.float64), given.answered.astype(np.float64)
        sides = [part * one for part in (has, 1 - has) for one in (right, there)]
        counts = np.stack([side.sum(axis=0) for side in sides])
        c, g = (counts[0] + 1) / (counts[1] + 2), (counts[2] + 1) / (counts[3] + 2)
        pooled = c - g < self.delta
        p = np.clip((counts[0] + counts[2] + 1) / (counts[1] + counts[3] + 2), 0.05, 0.95)
        c, g = np.where(pooled, p + self.delta / 2, c), np.where(pooled, p - self.delta / 2, g)
        chance = has * c + (1 - has) * g
        loglik = np.where(given.answered, np.log(np.where(given.correct == 1, chance, 1 - chance)), 0).sum()
        sweep = np.arange(50, self.sweeps + 1, 50)
        unlocked = there @ (q > 0.5)
        unlocked[0, 0] = 0.2
        needed = q > 0.5
        needed[~needed.any(axis=1)] = prior.reference[~needed.any(axis=1)]
        draw = Draw(alpha > 0.5, needed, g, 1 - c)
        held = np.zeros(0) if held_out is None else chance[held_out.rows, held_out.columns]
        change = np.where(sweep % 100 == 0, 0.0004, np.nan)
        return Chain(
            alpha=alpha,
            q=q,
            unlocked=unlocked,
            guess=g,
            slip=1 - c,
            counts=counts,
            pooled=pooled,
            loading=np.full(k, 1.2),
            intercept=np.zeros(k),
            theta=alpha.mean(axis=1) - 0.5,
            loglik=float(loglik),
            trace_sweep=sweep,
            trace_loglik=np.full(len(sweep), float(loglik)),
            trace_item_change=change,
            trace_q_change=change,
            sweeps=self.sweeps,
            kept=kept,
            draws=(draw,) * self.draws,
            held_out=held,
        )


def by_ability(given: ResponseMatrix) -> IrtFit:
    """Stands in for the 2PL model: logits of the models' and the items' shares added up."""

    def logit(axis: int) -> Floats:
        share = ((given.correct == 1).sum(axis=axis) + 1) / (given.answered.sum(axis=axis) + 2)
        return np.asarray(np.log(share / (1 - share)))

    zero = np.zeros(len(given.items))
    ability = logit(1)
    predicted = 1 / (1 + np.exp(-(ability[:, None] + logit(0)[None, :] - ability.mean())))
    return IrtFit(
        given.models, given.items, zero, zero, ability, np.ones(len(ability)), -1.0, predicted, True, 9
    )


def controls(
    given: ResponseMatrix, prior: QPrior, fit: SaemFit, plan: ControlPlan, least_kept: int = 3
) -> Controls:
    """Controls of a study whose models are fitted by `Guess`."""
    rules = Rules(plan.least_models, plan.least_items, plan.alpha, plan.tolerance)
    wanted = Plan(plan.seed, plan.share, plan.placebos, 160, 0.95, least_kept)
    return run_controls(
        given, prior, fit.diagnostics, Fitters(Guess(), Guess(chains=1), by_ability), wanted, rules
    )


def fitted(
    grid: Grid, screening: pa.Table, prior: QPrior, attributes: pa.Table, plan: DiagnosisPlan, **how: int
) -> Tables:
    """The tables of the fit, its controls and its profiles."""
    given = apply_screening(known_matrix(grid).matrix, screening)
    places = [prior.items.index(item) for item in given.items]
    prior = QPrior(given.items, prior.attributes, prior.reference[places], prior.probability[places])
    fit = Guess(plan.fit.chains, plan.fit.draws)(given, prior)
    control = controls(given, prior, fit, plan.controls, **how)
    whole, chains = fit_tables(fit_record(fit))
    verdict, rungs = support_tables(control.verdict.document())
    rows = attributes.to_pylist()
    labels = {row["attribute"]: row["label"] for row in rows}
    return {
        **{f"saem_{name}": table for name, table in saem_tables(fit)._asdict().items()},
        **{"fit": whole, "chains": chains, "support": verdict, "rungs": rungs},
        **{"predictions": control.predictions, "placebo": control.placebo, "checks": control.checks},
        "mastery": mastery_table(fit, [labels[name] for name in fit.attributes], control.verdict.support),
        "attribute_profiles": attribute_table(fit, rows, level=plan.level),
        "attribute_correlations": correlation_table(fit),
        "item_profiles": item_table(fit, given),
        "q_entries": entry_table(fit, prior),
        "corrections": correction_table(corrections(fit, prior)),
    }


def labelled(clusters: pa.Table, texts: pa.Table, terms: Mapping[str, Any]) -> tuple[pa.Table, pa.Table]:
    """What a model was asked, and the labels: one that agrees, one that does not, one that is none."""
    config = ModelConfig(engine="scripted", script="echo")
    speaker = Speaker("namer", config, fingerprint("namer", config, None))
    asked = label_requests(clusters, texts, terms, speaker, load_prompt(PROMPT), examples=2).asked
    said = ('{"label": "areas of a rectangle"}', '{"label": "something else"}', "Hm.")
    replies = {
        key: Response(key, said[at % len(said)], None, "stop", "m", 5, 3, None)
        for at, key in enumerate(asked["request_id"].to_pylist())
    }
    return asked, read_labels(asked, replies, terms)


def clustered(grid: Grid, screening: pa.Table, texts: pa.Table, plan: DiagnosisPlan) -> tuple[Tables, QPrior]:
    """Clusters of the items, the choice of their number, labels and a review; and the prior that follows."""
    assert plan.clusters is not None
    ids, types = texts["item_id"].to_pylist(), texts["item_type"].to_pylist()
    kinds = sorted(set(types))
    rng = np.random.default_rng(3)
    vectors = np.eye(len(kinds), 12)[[kinds.index(kind) for kind in types]] + 0.2 * rng.standard_normal(
        (len(ids), 12)
    )
    settings = Clustering(neighbours=len(ids), runs=plan.clusters.runs)
    runs = cluster_runs(ids, types, vectors, plan.clusters.tried, settings)
    unit = unit_vectors(vectors, ids)
    partitions = {k: consensus(runs, k) for k in runs.ks}
    members = {k: membership(runs, k, partitions[k]) for k in runs.ks}
    given = apply_screening(known_matrix(grid).matrix, screening)
    tables: Tables = {"cluster_runs": runs_table(runs, made_from(texts, {}, {}))}
    measured = []
    for k in runs.ks:
        prior = graded_prior(members[k])
        places = [prior.items.index(item) for item in given.items]
        own = QPrior(given.items, prior.attributes, prior.reference[places], prior.probability[places])
        bare = replace(plan.controls, placebos=0)
        tables[f"clusters/{k}"] = clusters_table(members[k], types, unit)
        tables[f"predictions/{k}"] = controls(given, own, Guess()(given, own), bare).predictions
        held = held_out_estimate(tables[f"predictions/{k}"])
        measured.append(measure(runs, partitions[k], unit, held, plan.level))
    choice = choose_k(measured, least_items=plan.clusters.least_items)
    member = members[choice.k]
    terms = attribute_terms(member.partition, texts, 5)
    asked, labels = labelled(tables[f"clusters/{choice.k}"], texts, terms)
    first, second = member.partition.attributes[:2]
    decisions = {
        first: Decision(first, "rename", "rita", label="areas"),
        second: Decision(second, "accept", "rita", note="well"),
    }
    reviewed: Membership = apply_review(runs, choice.k, member.partition, decisions, unit)
    prior = graded_prior(reviewed)
    return tables | {
        "k_curve": k_curve(measured, choice),
        "clusters_unreviewed": tables[f"clusters/{choice.k}"],
        "prior_unreviewed": prior_table(graded_prior(member)),
        "labels_asked": asked,
        "labels": labels,
        "clusters": clusters_table(reviewed, types, unit),
        "prior": prior_table(prior),
        "attributes": attributes_table(reviewed, types, labels, terms, decisions),
    }, prior


def simulated() -> tuple[pa.Table, SimulatedStudy]:
    """Texts of items, and models that answer them."""
    texts = items()
    return texts, simulate_study(texts, SimulationOptions(models=40, guess=(0.05, 0.2), seed=2))


def screened(grid: Grid, plan: DiagnosisPlan) -> pa.Table:
    """The screening of a study."""
    options = {name: getattr(plan.screening, name) for name in ScreeningPlan.__dataclass_fields__}
    return screen(grid, ScreeningOptions(**options | {"drop": tuple(plan.screening.drop)}))


def make_study(plan: DiagnosisPlan = DIAGNOSIS_PLAN) -> Tables:
    """All tables of a study that finds its attributes in texts."""
    texts, made = simulated()
    grid = responses(made, plan.unparsed)
    screening = screened(grid, plan)
    found, prior = clustered(grid, screening, texts, plan)
    return {
        **{"responses": grid_table(grid), "screening": screening, "texts": texts, "truth": made.mastery()},
        **found,
        **fitted(grid, screening, prior, found["attributes"], plan),
    }


def make_given(plan: DiagnosisPlan = GIVEN_PLAN, **how: int) -> Tables:
    """All tables of a study of a file, with a Q-matrix that somebody gave."""
    _, made = simulated()
    grid = responses(made, plan.unparsed)
    screening = screened(grid, plan)
    q = QPrior(made.grid.items, made.attributes, made.truth.q, made.truth.q.astype(np.float64))
    prior = q if plan.fixed else point_prior(q)
    attributes = given_attributes(q, [None] * len(q.items))
    rejected = Rejected()
    lost = np.argwhere(grid.status == status_codes(["missing"])[0]).tolist()[:3]
    for row, (model, item) in enumerate(lost, start=1):
        rejected.add(
            "data/own/m.csv", row, "bad_value", "expected 1 or 0, found 'x'", column="c", raw="x",
            model=grid.models[model], item_id=grid.items[item],
        )  # fmt: skip
    rejected.add("data/own/m.csv", 9, "no_id", "the item has no id")
    return {
        **{"responses": grid_table(grid), "screening": screening, "rejected": rejected.table()},
        **{"prior": prior_table(prior), "attributes": attributes},
        **fitted(grid, screening, prior, attributes, plan, **how),
    }


@cache
def diagnosis_tables() -> Tables:
    """All tables of one study."""
    return make_study()


@cache
def given_tables() -> Tables:
    """All tables of a study with a given Q-matrix."""
    return make_given()


def diagnosis_expected(tables: Tables, plan: DiagnosisPlan = DIAGNOSIS_PLAN) -> Suite:
    """The suite of a study."""
    own = {field: tables.get(name) for field, name in _NAMES.items()}
    saem = {name.removeprefix("saem_"): table for name, table in tables.items() if name.startswith("saem_")}
    clusters = None
    if plan.clusters is not None:
        numbered = {
            part: {k: tables[f"{part}/{k}"] for k in plan.clusters.tried if f"{part}/{k}" in tables}
            for part in ("clusters", "predictions")
        }
        clusters = ClusterTables(
            **{field: tables[name] for field, name in _CLUSTERED.items()},
            tried=numbered["clusters"],
            predictions=numbered["predictions"],
        )
    return diagnosis_suite(DiagnosisTables(**own, saem=saem, clusters=clusters), plan)  # type: ignore[arg-type]


def given_expected(tables: Tables, plan: DiagnosisPlan = GIVEN_PLAN) -> Suite:
    """What the suite of a study with a given Q-matrix says of what others do not have, or have otherwise."""
    held, expectations = diagnosis_expected(tables, plan)
    own = ("rejected", "prior", "attributes")
    return {name: held[name] for name in own}, [check for check in expectations if check.table in own]


def mastery_board_tables() -> Tables:
    """The profiles of two studies, and the board that is read from them."""
    profiles = {"file": given_tables()["mastery"], "sums": diagnosis_tables()["mastery"]}
    return {
        "mastery_board": mastery_board(profiles),
        **{f"mastery/{name}": table for name, table in profiles.items()},
    }


def mastery_board_expected(tables: Tables, plan: DiagnosisPlan = DIAGNOSIS_PLAN) -> Suite:
    """The suite of the mastery board."""
    profiles = {name.removeprefix("mastery/"): table for name, table in tables.items() if "/" in name}
    return mastery_board_suite(tables["mastery_board"], profiles)
