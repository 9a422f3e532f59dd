"""A study of one's own, from responses and a Q-matrix or texts to profiles with their controls.

The parts are imported where they are needed: the kernels, the clustering and the rest are slow to import, and reading
and screening do without them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.prior import QPrior, point_prior
from magister.display import counted
from magister.errors import UserError

if TYPE_CHECKING:
    from magister.diagnosis.fits import EmFit, SaemFit

LEAST_ITEMS = 8
"""Of an attribute that is made from texts: fewer tell too little of a model."""
TRIED = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 28, 32, 40)
"""Numbers of attributes that are tried where none is given."""
PLACEBO_SWEEPS = 1000
"""Most sweeps of fits under shuffled priors, and of the one that they are held against."""


@dataclass(frozen=True)
class Believed:
    """What is believed of a Q-matrix, and how it came about.

    Attributes:
        prior: J x K.
        attributes: table of the contract `q_attributes`.
        tables: others by name: clusters and the curve of numbers of attributes, where texts were clustered.
        notes: for the reader.
    """

    prior: QPrior
    attributes: pa.Table
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class FitOptions:
    """How a study is fitted and put to the test.

    Attributes:
        method: `saem`, which may correct the Q-matrix, or `exact_em`, which takes it as it is; the controls are fitted
            by SAEM either way.
        chains: of SAEM.
        sweeps: most of a chain; fits under shuffled priors have `PLACEBO_SWEEPS` at most.
        placebos: shuffled priors; without at least 19 no verdict is reached.
        level: of intervals.
        seed: of all randomness.
    """

    method: Literal["saem", "exact_em"] = "saem"
    chains: int = 4
    sweeps: int = 5000
    placebos: int = 19
    level: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class Profiles:
    """What a study comes to.

    Attributes:
        tables: by name of their contract.
        support: the verdict of the controls.
        reasons: why.
        document: the verdict with every question that was asked.
        notes: of the fit, for the reader.
    """

    tables: Mapping[str, pa.Table]
    support: str
    reasons: tuple[str, ...]
    document: Mapping[str, Any]
    notes: tuple[str, ...]


def given_prior(q: QPrior, belief: Literal["point", "fixed"], p_star: float = 0.8) -> Believed:
    """Believe in a Q-matrix that somebody gave.

    Args:
        q: it.
        belief: `fixed` takes it as it is; `point` gives its entries `p_star` and the others 1/K, so that responses may
            correct it.
        p_star: prior of an entry that is there.
    """
    from magister.diagnosis.qmatrix_tables import given_attributes

    prior = q if belief == "fixed" else point_prior(q, kept=p_star)
    return Believed(prior, given_attributes(q, [None] * len(q.items)))


def text_prior(
    items: pa.Table, vectors: NDArray[np.floating[Any]], ks: Sequence[int] | None = None, seed: int = 0
) -> Believed:
    """Believe in what clusters of the items' texts say, graded by how much many runs agree.

    Args:
        items: table of the contract `diagnosed_items`, J rows.
        vectors: J x d, in their order.
        ks: numbers of attributes that are tried; `TRIED` as far as the items go by default.
        seed: of the runs.

    Raises:
        UserError: too few items for two attributes.
    """
    from magister.diagnosis.clusters import Clustering, cluster_runs, consensus
    from magister.diagnosis.coassociation import graded_prior, membership
    from magister.diagnosis.k_curve import choose_k, k_curve, measure
    from magister.diagnosis.labels import term_labels
    from magister.diagnosis.projection import unit_vectors
    from magister.diagnosis.qmatrix_tables import attributes_table, clusters_table
    from magister.diagnosis.terms import cluster_terms

    if ks is None:
        ks = [k for k in TRIED if k * LEAST_ITEMS <= items.num_rows]
        if not ks:
            raise UserError(
                f"{items.num_rows} items are too few to make attributes of: two of {LEAST_ITEMS} items each need "
                f"{2 * LEAST_ITEMS}; give a Q-matrix, or the number of attributes"
            )
    # By id, as runs and partitions have them.
    given = items["item_id"].to_pylist()
    order = np.array(sorted(range(len(given)), key=given.__getitem__), dtype=np.int64)
    items, vectors = items.take(pa.array(order)), np.asarray(vectors)[order]
    ids, types = items["item_id"].to_pylist(), items["item_type"].to_pylist()
    clustering = Clustering(seed=seed)
    runs = cluster_runs(ids, types, vectors, ks, clustering)
    unit = unit_vectors(vectors, ids)
    partitions = {k: consensus(runs, k) for k in runs.ks}
    measured = [measure(runs, partitions[k], unit) for k in runs.ks]
    choice = choose_k(measured, least_items=LEAST_ITEMS if len(runs.ks) > 1 else 1)
    partition = partitions[choice.k]
    member = membership(runs, choice.k, partition)
    found = cluster_terms(items["text"].to_pylist(), partition)
    terms = dict(zip(partition.attributes, found, strict=True))
    return Believed(
        graded_prior(member),
        attributes_table(member, types, term_labels(terms), terms),
        {"q_clusters": clusters_table(member, types, unit), "k_curve": k_curve(measured, choice)},
        (f"{choice.k} attributes: {choice.reason}",) if choice.reason else (f"{choice.k} attributes",),
    )


def fit_profiles(matrix: ResponseMatrix, believed: Believed, options: FitOptions) -> Profiles:
    """Fit a study, put it to the test, and make its tables.

    Args:
        matrix: N x J.
        believed: of its items, in any order.
        options: how.

    Raises:
        UserError: what fits refuse.
    """
    from magister.diagnosis.controls import Fitters, Plan, run_controls
    from magister.diagnosis.held_out import HeldOut
    from magister.diagnosis.irt import fit_2pl
    from magister.diagnosis.profiles import (
        attribute_table,
        correlation_table,
        entry_table,
        item_table,
        mastery_table,
    )
    from magister.diagnosis.qmatrix_tables import prior_table
    from magister.diagnosis.saem import SaemOptions, fit_saem

    def fitted(
        chains: int, sweeps: int, responses: ResponseMatrix, prior: QPrior, seed: int, held_out: HeldOut
    ) -> SaemFit:
        cells = (held_out.rows, held_out.columns)
        short = SaemOptions(max_sweeps=sweeps)
        return fit_saem(responses, prior, seed=seed, chains=chains, options=short, held_out=cells)

    prior = aligned(believed.prior, matrix.items)
    exact = None
    if options.method == "exact_em":
        prior = replace(prior, probability=prior.reference.astype(np.float64))
        exact = _exact(matrix, prior)
    whole = SaemOptions(max_sweeps=options.sweeps)
    fit = fit_saem(matrix, prior, seed=options.seed, chains=options.chains, options=whole)
    fitters = Fitters(
        profile=lambda *given: fitted(options.chains, options.sweeps, *given),
        placebo=lambda *given: fitted(1, min(options.sweeps, PLACEBO_SWEEPS), *given),
        irt=fit_2pl,
    )
    plan = Plan(seed=options.seed, placebos=options.placebos, level=options.level)
    controls = run_controls(matrix, prior, fit.diagnostics, fitters, plan)
    notes = [_saem_note(fit)]
    known = None
    if exact is not None:
        fit, known, note = exact
        notes = [note, f"controls: {notes[0]}"]
    labels = {row["attribute"]: row["label"] for row in believed.attributes.to_pylist()}
    support = controls.verdict.support
    tables = {
        "mastery": mastery_table(fit, [labels[name] for name in fit.attributes], support),
        "attribute_profiles": attribute_table(fit, believed.attributes.to_pylist(), level=options.level),
        "attribute_correlations": correlation_table(fit),
        "item_profiles": item_table(fit, matrix, known),
        "q_entries": entry_table(fit, prior),
        "q_prior": prior_table(prior),
        "q_attributes": believed.attributes,
        "predictions": controls.predictions,
        "placebo": controls.placebo,
        "diagnosis_checks": controls.checks,
    }
    verdict = controls.verdict
    return Profiles(
        tables | dict(believed.tables), support, verdict.reasons, verdict.document(), tuple(notes)
    )


def aligned(prior: QPrior, items: Sequence[str]) -> QPrior:
    """A prior of some items, in their order.

    Raises:
        UserError: an item is not in it, or the items are fewer than the attributes.
    """
    places = {item: at for at, item in enumerate(prior.items)}
    lost = [item for item in items if item not in places]
    if lost:
        raise UserError(f"Q-matrix: {len(lost)} of {len(items)} items have no row, first {lost[0]!r}")
    order = np.array([places[item] for item in items], dtype=np.intp)
    reference = prior.reference[order]
    idle = np.flatnonzero(~reference.any(axis=0))
    if idle.size:
        names = ", ".join(prior.attributes[at] for at in idle[:5])
        raise UserError(
            f"Q-matrix: none of the {len(items)} items that stay needs {names}; take that attribute out, or screen less"
        )
    if len(prior.attributes) > len(items):
        raise UserError(
            f"Q-matrix: {len(prior.attributes)} attributes for {len(items)} items that stay; expected no more "
            "attributes than items"
        )
    return QPrior(tuple(items), prior.attributes, reference, prior.probability[order])


def _saem_note(fit: SaemFit) -> str:
    found = fit.diagnostics
    state = "converged" if found.converged else f"not converged ({found.reason})"
    rhat = "unknown" if math.isnan(found.rhat_items) else f"{found.rhat_items:.3f}"
    return f"SAEM: {counted(len(fit.chains), 'chain')}, {found.sweeps} sweeps, {state}, R-hat of guess and slip {rhat}"


def _exact(matrix: ResponseMatrix, prior: QPrior) -> tuple[SaemFit, Any, str]:
    """The exact fit in the form that tables are made of, with its item fit and a note."""
    from magister.diagnosis.exact_em import fit_exact_em
    from magister.diagnosis.fit_statistics import fit_statistics
    from magister.diagnosis.item_fit import em_item_fit
    from magister.diagnosis.profiles import ItemFit

    found = fit_exact_em(matrix, prior)
    fitted = em_item_fit(found, matrix)
    n = len(matrix.models)
    aic = -2 * found.loglik + 2 * found.parameters
    bic = -2 * found.loglik + math.log(n) * found.parameters
    note = (
        f"exact EM: log-likelihood {found.loglik:.3f}, {found.parameters} parameters, AIC {aic:.1f}, BIC {bic:.1f}, "
        f"{'converged' if found.diagnostics['converged'] else 'not converged'} in "
        f"{found.diagnostics['iterations']:.0f} steps"
    )
    if matrix.answered.all() and len(matrix.items) <= 120:
        seen = fit_statistics(found, matrix)
        note += (
            f"; M2 unknown ({seen.reason})"
            if seen.reason
            else f"; M2 {seen.m2:.1f} with {seen.df} df, p {seen.p:.3g}, RMSEA2 {seen.rmsea2:.4f} "
            f"[{seen.ci_low:.4f}, {seen.ci_high:.4f}]"
        )
    else:
        note += "; M2 unknown (it is of complete responses to at most 120 items)"
    known = ItemFit(found.guess_se, found.slip_se, fitted.rmsd, fitted.pvaf)
    return exact_as_chain(found, matrix), known, note


def exact_as_chain(found: EmFit, matrix: ResponseMatrix) -> SaemFit:
    """An exact fit as one chain without Monte Carlo error: expected counts instead of drawn ones.

    Args:
        found: N models, J items, K attributes.
        matrix: the responses that it is of.
    """
    from magister.diagnosis._blas import one_thread
    from magister.diagnosis.fits import Chain, Diagnostics, SaemFit

    lacking = (~found.classes).astype(np.float32) @ found.q.T.astype(np.float32)
    answered = matrix.answered.astype(np.float64)
    right = (matrix.correct == 1).astype(np.float64)
    with one_thread():
        able = found.posterior @ (lacking == 0)
        unlocked = np.empty(found.alpha.shape)
        for k in range(found.alpha.shape[1]):
            needed = found.q[:, k] > 0
            others = lacking[:, needed] - (~found.classes[:, k])[:, None] == 0
            unlocked[:, k] = ((found.posterior @ others) * answered[:, needed]).sum(axis=1)
        counts = np.stack(
            [
                (able * right).sum(axis=0),
                (able * answered).sum(axis=0),
                ((1 - able) * right).sum(axis=0),
                ((1 - able) * answered).sum(axis=0),
            ]
        )
    models, attributes = found.alpha.shape
    none = np.zeros(0)
    chain = Chain(
        alpha=found.alpha,
        q=found.q,
        unlocked=unlocked,
        guess=found.guess,
        slip=found.slip,
        counts=counts,
        pooled=np.zeros(len(found.items), dtype=bool),
        loading=np.zeros(attributes),
        intercept=np.zeros(attributes),
        theta=np.zeros(models),
        loglik=found.loglik,
        trace_sweep=none.astype(np.int64),
        trace_loglik=none,
        trace_item_change=none,
        trace_q_change=none,
        sweeps=int(found.diagnostics["iterations"]),
        kept=1,
    )
    converged = bool(found.diagnostics["converged"])
    nan = math.nan
    return SaemFit(
        models=found.models,
        items=found.items,
        attributes=found.attributes,
        alpha=found.alpha,
        alpha_mcse=np.full(found.alpha.shape, nan),
        q=found.q,
        guess=found.guess,
        slip=found.slip,
        loglik=found.loglik,
        chains=(chain,),
        diagnostics=Diagnostics(
            converged, "" if converged else "too few steps", chain.sweeps, nan, nan, nan, nan
        ),
    )
