"""DINA with an uncertain Q-matrix, fitted by stochastic approximation of EM.

Model: eta_ij = prod_k alpha_ik^q_jk, P(right) = c_j where eta is 1 and g_j elsewhere (c is 1 - slip, g is guess).
Mastery alpha and the entries q are drawn by Gibbs sampling, c and g follow from averaged counts. docs/diagnosis_saem.md
has the algorithm.

References:
    Junker and Sijtsma (2001), Applied Psychological Measurement 25: DINA.
    Delyon, Lavielle and Moulines (1999), Annals of Statistics 27: SAEM.
    Kuhn and Lavielle (2004), ESAIM: Probability and Statistics 8: SAEM with Markov chains.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from magister.diagnosis._chain import (
    BLOCKS,
    Run,
    SaemOptions,
    finish,
    merge_blocks,
    new_run,
    pack_data,
    run_block,
    start_chain,
    warm_up,
)
from magister.diagnosis._checkpoint import Checkpoint, fingerprint
from magister.diagnosis._convergence import diagnose, judge, mastery_mcse
from magister.diagnosis.fits import SaemFit
from magister.diagnosis.matrix import ResponseMatrix, response_matrix
from magister.diagnosis.prior import QPrior, point_prior, q_matrix
from magister.errors import UserError

__all__ = ["SaemOptions", "fit_saem"]

Cells = tuple[Sequence[int] | NDArray[Any], Sequence[int] | NDArray[Any]]

_LEAST_SWEEPS = 80
_PRIORS = ("higher_order", "bernoulli", "flat")


def fit_saem(
    responses: ResponseMatrix | pd.DataFrame | NDArray[Any],
    prior: QPrior | pd.DataFrame,
    *,
    seed: int,
    chains: int = 4,
    options: SaemOptions | None = None,
    held_out: Cells | None = None,
    threads: int | None = None,
    checkpoint: Path | None = None,
) -> SaemFit:
    """Estimate mastery, the Q-matrix, guess and slip.

    Args:
        responses: N models x J items, as `response_matrix` reads them.
        prior: of the entries of Q, its items in any order; or a frame of items x attributes of 0 and 1, which
            `point_prior` believes in. Entries of probability 0 and 1 stay as they are: `q_matrix` fixes them all.
        seed: of all randomness; the same seed gives the same bytes on any number of threads.
        chains: how many; R-hat is believed from 4 on.
        options: of the model and the algorithm.
        held_out: models and items (numbers from 0, equally many) of cells that the fit does not see and predicts.
        threads: chains that run at once; as many as there are cores if not given.
        checkpoint: a file that the fit goes on from when it was stopped, and that is removed when it is done.

    Returns:
        The fit: means over chains, the chains, and diagnostics.

    Raises:
        UserError: bad responses or prior (items or attributes that do not fit), options, cells or checkpoint.
    """
    options = options or SaemOptions()
    _check_options(options, seed, chains, threads)
    matrix = response_matrix(responses)
    prior = _aligned(prior if isinstance(prior, QPrior) else point_prior(q_matrix(prior)), matrix)
    rows, columns = _check_cells(held_out, matrix)
    order = np.lexsort((rows, columns))
    seen = response_matrix(matrix.masked(rows, columns)) if len(rows) else matrix
    data = pack_data(seen, prior, options, (rows[order], columns[order]))
    low, high = (int(word) for word in np.random.SeedSequence(seed).generate_state(2, np.uint32))
    starts = options.starts if data.free.any() else 1

    def begin(chain: int, attempt: int = 1) -> Run:
        # The words of a start's random numbers: chains below 2^16, attempts above.
        start = start_chain(seen, prior, seed, chain, attempt)
        return new_run(data, start, options, (low, high), chain + (attempt - 1 << 16))

    def best_start(chain: int) -> Run:
        best, most = None, -np.inf
        for attempt in range(1, starts + 1):
            run = begin(chain, attempt)
            suits = warm_up(run)
            if best is None or suits > most:
                best, most = run, suits
        assert best is not None
        return best

    saved = Checkpoint(checkpoint, fingerprint(seen, prior, options, seed, chains, (rows, columns)))
    numbers = range(1, chains + 1)
    with ThreadPoolExecutor(threads or min(chains, os.cpu_count() or 1)) as pool:
        runs = saved.restore(begin, numbers) or list(pool.map(best_start, numbers))
        while not _done(runs, options):
            if runs[0].blocks == BLOCKS:
                for run in runs:
                    merge_blocks(run)
            list(pool.map(run_block, runs))
            saved.keep(runs)
    found = [finish(run, len(matrix.models), options.draws) for run in runs]
    back = np.argsort(order)
    parts = tuple(replace(chain, held_out=chain.held_out[back]) for chain in found)
    saved.remove()
    return SaemFit(
        models=matrix.models,
        items=matrix.items,
        attributes=prior.attributes,
        alpha=np.mean([chain.alpha for chain in parts], axis=0),
        alpha_mcse=mastery_mcse(runs, len(matrix.models)),
        q=np.mean([chain.q for chain in parts], axis=0),
        guess=np.mean([chain.guess for chain in parts], axis=0),
        slip=np.mean([chain.slip for chain in parts], axis=0),
        loglik=float(np.mean([chain.loglik for chain in parts])),
        chains=parts,
        diagnostics=diagnose(runs, parts),
    )


def _done(runs: Sequence[Run], options: SaemOptions) -> bool:
    # Checked where the kept half is whole blocks; all chains stop together.
    run = runs[0]
    if run.blocks < BLOCKS // 2 or run.blocks % 2:
        return False
    length = run.length * (2 if run.blocks == BLOCKS else 1)
    if run.sweep + 2 * length > options.max_sweeps:
        return True
    return run.sweep >= options.min_sweeps and not judge(runs)[0]


def _check_options(options: SaemOptions, seed: int, chains: int, threads: int | None) -> None:
    if options.alpha_prior not in _PRIORS:
        raise UserError(f"alpha_prior: expected one of {', '.join(_PRIORS)}, found {options.alpha_prior!r}")
    if options.min_sweeps < max(_LEAST_SWEEPS, 2 * options.parallel_sweeps):
        raise UserError(
            f"min_sweeps: {options.min_sweeps} is too few: means are over the second half, which must be at least "
            f"{_LEAST_SWEEPS // 2} sweeps and after the {options.parallel_sweeps} parallel ones"
        )
    bounds = (
        ("seed", seed, 0, None),
        ("chains", chains, 1, 1000),
        ("threads", threads or 1, 1, None),
        ("parallel_sweeps", options.parallel_sweeps, 0, None),
        ("max_sweeps", options.max_sweeps, options.min_sweeps, 10**9),
        ("starts", options.starts, 1, 1000),
        ("draws", options.draws, 0, 28),
    )
    for name, value, low, high in bounds:
        if value < low or (high is not None and value > high):
            raise UserError(f"{name}: expected {low} to {'any' if high is None else high}, found {value}")
    if not 0 <= options.damping < 1 or not 0 <= options.delta < 0.5:
        raise UserError(
            f"damping must be from 0 to below 1, delta from 0 to below 0.5; found {options.damping} and "
            f"{options.delta}"
        )


def _check_cells(cells: Cells | None, matrix: ResponseMatrix) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    rows, columns = (np.asarray(part, dtype=np.intp) for part in (cells or ((), ())))
    if rows.shape != columns.shape or rows.ndim != 1:
        raise UserError(f"held_out: expected as many models as items, found {rows.shape} and {columns.shape}")
    for what, numbers, names in (("model", rows, matrix.models), ("item", columns, matrix.items)):
        wrong = (numbers < 0) | (numbers >= len(names))
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            raise UserError(
                f"held_out: cell {place + 1} names {what} number {numbers[place]}; there are {len(names)}, from 0"
            )
    return rows, columns


def _aligned(prior: QPrior, matrix: ResponseMatrix) -> QPrior:
    """The prior with its items in the order of the responses."""
    for names, what in ((prior.items, "item"), (prior.attributes, "attribute")):
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise UserError(f"prior: the {what} {name!r} stands twice")
            seen.add(name)
    place = {item: number for number, item in enumerate(prior.items)}
    unknown = sorted(set(prior.items) - set(matrix.items))
    if unknown:
        raise UserError(
            f"prior: the item {unknown[0]!r} is not among the responses' ({len(unknown)} such items); leave it out"
        )
    missing = [item for item in matrix.items if item not in place]
    if missing:
        raise UserError(
            f"prior: the responses' item {missing[0]!r} has no row ({len(missing)} such items); add it, or leave the "
            "item out of the responses"
        )
    if not prior.attributes:
        raise UserError("prior: there is no attribute")
    if len(prior.attributes) > len(matrix.items):
        raise UserError(
            f"prior: {len(prior.attributes)} attributes for {len(matrix.items)} items; there can be no more "
            "attributes than items"
        )
    rows = np.array([place[item] for item in matrix.items])
    reference, probability = prior.reference[rows], prior.probability[rows]
    bad = ~((probability >= 0) & (probability <= 1))
    if bad.any():
        j, k = (int(index[0]) for index in np.nonzero(bad))
        raise UserError(
            f"prior: item {matrix.items[j]!r}, attribute {prior.attributes[k]!r}: expected a probability, found "
            f"{probability[j, k]}"
        )
    odd = ((probability == 0) & reference) | ((probability == 1) & ~reference)
    if odd.any():
        j, k = (int(index[0]) for index in np.nonzero(odd))
        raise UserError(
            f"prior: item {matrix.items[j]!r}, attribute {prior.attributes[k]!r}: the reference says "
            f"{int(reference[j, k])}, its probability is {probability[j, k]}"
        )
    if not reference.any(axis=1).all():
        item = matrix.items[int(np.flatnonzero(~reference.any(axis=1))[0])]
        raise UserError(f"prior: the item {item!r} needs no attribute; every item needs at least one")
    return QPrior(matrix.items, prior.attributes, reference, probability)
