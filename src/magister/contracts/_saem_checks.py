"""What a fit by SAEM promises: every chain has said all of it, and its rates follow from its counts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts._columns import Mask, constant_within, numbers, true
from magister.contracts._diagnosis_grid import Axis, Floats, Grid, Study, mean, on_the_edge
from magister.contracts._diagnosis_plan import NEEDED, DiagnosisPlan
from magister.contracts._estimates import EQUAL, by_group, close
from magister.contracts.gate import Expectation, RowCheck, RowCount

RHAT = 1.05
"""Chains that differ more have not converged."""
LEAST_CHAINS = 4
"""Fewer chains cannot tell."""
_COUNTS = ("right_mastered", "n_mastered", "right_other", "n_other")
# Counts are means of whole numbers over many sweeps.
_ROUNDING = 1e-6


def _grid_checks(grid: Grid, name: str) -> list[Expectation]:
    """A cell of every chain, each once."""
    what = {
        "chain": "a chain of the fit",
        "model": "a model that was fitted",
        "item_id": "an item that was fitted",
        "attribute": "an attribute of the study",
    }
    size = " x ".join(f"{len(axis)} {axis.column}s" for axis in grid.axes)
    return [
        RowCount(name, grid.cells, size.replace("item_ids", "items")),
        *(
            RowCheck(name, f"{axis.column}_of_fit", (axis.column,), what[axis.column], grid.on(axis.column))
            for axis in grid.axes
        ),
    ]


def saem_checks(study: Study, plan: DiagnosisPlan) -> list[Expectation]:
    """Checks on all tables of the fit.

    Args:
        study: what was fitted.
        plan: what the study was to hold.
    """
    models, items, attributes = study.models, study.items, study.attributes
    grids = {
        "mastery": study.saem("mastery", models, attributes),
        "abilities": study.saem("abilities", models),
        "q": study.saem("q", items, attributes),
        "items": study.saem("items", items),
        "attributes": study.saem("attributes", attributes),
    }
    found = [check for name, grid in grids.items() for check in _grid_checks(grid, f"saem_{name}")]
    return [
        *found,
        *_mastery_checks(grids["mastery"], study),
        *_ability_checks(grids["abilities"], grids["attributes"], plan),
        *_q_checks(grids["q"], study),
        *_item_checks(grids["items"], study, plan),
        *_trace_checks(study),
        *_draw_checks(study, plan),
    ]


def _mastery_checks(grid: Grid, study: Study) -> list[RowCheck]:
    table = grid.table
    answered = (~np.isnan(study.correct)).sum(axis=1).astype(np.float64)
    (_, model, _) = grid.index
    most = np.full(table.num_rows, np.nan)
    most[grid.known] = answered[model[grid.known]]
    return [
        RowCheck(
            "saem_mastery",
            "unlocked_were_answered",
            ("model", "unlocked"),
            "no more items than the model answered",
            ~grid.known | (numbers(table["unlocked"]) <= most + _ROUNDING),
        ),
        RowCheck(
            "saem_mastery",
            "error_of_all_chains",
            ("model", "attribute", "mcse"),
            "the same Monte Carlo error in every chain: it is of their mean",
            constant_within(table, ("model", "attribute"), ("mcse",)),
        ),
    ]


def _ability_checks(abilities: Grid, attributes: Grid, plan: DiagnosisPlan) -> list[RowCheck]:
    higher = plan.fit.alpha_prior == "higher_order"
    told = "any number under the higher-order prior, else 0"
    return [
        RowCheck(
            name,
            f"{column}_of_prior",
            (column,),
            told,
            (numbers(grid.table[column]) == 0) | higher,
        )
        for name, grid, column in (
            ("saem_abilities", abilities, "theta"),
            ("saem_attributes", attributes, "loading"),
        )
    ]


def _q_checks(grid: Grid, study: Study) -> list[RowCheck]:
    table, p = grid.table, numbers(grid.table["p"])
    needed = by_group(table, ("chain", "item_id"), lambda rows: np.full(rows.size, float(p[rows].sum())))
    (_, items, attributes) = grid.axes
    prior = Grid(study.given.prior, (items, attributes)).cube("probability")
    believed = grid.read(np.broadcast_to(prior, grid.shape))
    fixed = (believed == 0) | (believed == 1)
    return [
        RowCheck(
            "saem_q",
            "item_needs_something",
            ("chain", "item_id", "p"),
            "shares that sum to at least 1: every draw of an item needs an attribute",
            needed >= 1 - EQUAL,
        ),
        RowCheck(
            "saem_q",
            "fixed_entry_kept",
            ("item_id", "attribute", "p"),
            "exactly the prior where it is 0 or 1",
            ~fixed | (p == believed),
        ),
    ]


def _item_checks(grid: Grid, study: Study, plan: DiagnosisPlan) -> list[RowCheck]:
    table = grid.table
    right, n, right_other, n_other = (numbers(table[name]) for name in _COUNTS)
    answered = ~np.isnan(study.correct)
    (_, item) = grid.index
    seen = np.full((2, table.num_rows), np.nan)
    seen[0, grid.known] = answered.sum(axis=0)[item[grid.known]]
    seen[1, grid.known] = (study.correct == 1).sum(axis=0)[item[grid.known]]
    counted = np.abs(n + n_other - seen[0]) <= _ROUNDING * np.maximum(seen[0], 1)
    counted &= np.abs(right + right_other - seen[1]) <= _ROUNDING * np.maximum(seen[0], 1)
    guess, hit = numbers(table["guess"]), 1 - numbers(table["slip"])
    pooled = true(table["pooled"])
    by_counts = close(guess, (right_other + 1) / (n_other + 2)) & close(hit, (right + 1) / (n + 2))
    held = (hit - guess <= plan.fit.delta + EQUAL) & (
        (right + 1) / (n + 2) - (right_other + 1) / (n_other + 2) <= plan.fit.delta + EQUAL
    )
    apart = (hit - guess >= plan.fit.delta - EQUAL) & (~pooled | held)

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("saem_items", name, columns, expected, passed)

    return [
        check(
            "right_within_n",
            _COUNTS,
            "no more right responses than responses",
            (right <= n + _ROUNDING) & (right_other <= n_other + _ROUNDING),
        ),
        check(
            "counts_of_responses",
            ("item_id", *_COUNTS),
            "the responses to the item, and the right ones, with all mastery and without together",
            ~grid.known | counted,
        ),
        check(
            "rates_of_counts",
            ("guess", "slip", "pooled", *_COUNTS),
            "guess (right_other + 1) / (n_other + 2), 1 - slip likewise, unless pooled",
            pooled | by_counts,
        ),
        check(
            "rates_apart",
            ("guess", "slip", "pooled"),
            f"1 - slip - guess of at least {plan.fit.delta:g}, and exactly that where pooled",
            apart,
        ),
    ]


def _trace_checks(study: Study) -> list[RowCheck]:
    table = study.given.saem["trace"]
    chain = study.chains.places(table)
    sweeps = Grid(study.given.chains, (study.chains,)).cube("sweeps")
    last = np.full(table.num_rows, np.nan)
    last[chain >= 0] = sweeps[chain[chain >= 0]]
    sweep = numbers(table["sweep"])
    end = by_group(table, ("chain",), lambda rows: np.full(rows.size, sweep[rows].max()))
    changes = [numbers(table[name]) for name in ("item_change", "q_change")]
    there = [~np.isnan(values) for values in changes]
    small = np.logical_and.reduce([np.isnan(values) | (values >= 0) & (values <= 1) for values in changes])
    return [
        RowCheck("saem_trace", "chain_of_fit", ("chain",), "a chain of the fit", chain >= 0),
        RowCheck(
            "saem_trace",
            "up_to_the_last_sweep",
            ("chain", "sweep"),
            "sweeps up to the last one of the chain",
            (end == last) | (chain < 0),
        ),
        RowCheck(
            "saem_trace",
            "changes_together",
            ("item_change", "q_change"),
            "both from 0 to 1, or none",
            (there[0] == there[1]) & small,
        ),
    ]


def _bits(column: pa.ChunkedArray, size: int) -> tuple[Mask, NDArray[np.uint8]]:
    """Rows of as many bytes as so many bits take, and the bits of each row, rows x size; 0 of others."""
    wide = -(-size // 8)
    passed = numbers(pc.binary_length(column)) == wide
    data = [value if fits else bytes(wide) for value, fits in zip(column.to_pylist(), passed, strict=True)]
    packed = np.frombuffer(b"".join(data), np.uint8).reshape(len(data), wide)
    return passed, np.unpackbits(packed, axis=1, bitorder="little", count=size)


def _draw_checks(study: Study, plan: DiagnosisPlan) -> list[Expectation]:
    table = study.given.saem["draws"]
    n, j, k = (len(axis) for axis in (study.models, study.items, study.attributes))
    chain, number = study.chains.places(table), Axis("draw", plan.fit.draws).places(table)
    mastery, _ = _bits(table["mastery"], n * k)
    entries, bits = _bits(table["q"], j * k)
    needed = np.asarray(bits.reshape(len(bits), j, k).any(axis=2)).all(axis=1)
    rates = np.ones(table.num_rows, dtype=bool)
    for name in ("guess", "slip"):
        lists = table[name].combine_chunks()
        lists = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
        values = lists.flatten().to_numpy(zero_copy_only=False)
        row = pc.list_parent_indices(lists).to_numpy()
        outside = np.zeros(table.num_rows, dtype=bool)
        outside[row[~((values >= 0) & (values <= 1))]] = True
        rates &= ~outside & (numbers(pc.list_value_length(table[name])) == j)

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("saem_draws", name, columns, expected, passed)

    chains = len(study.chains)
    return [
        RowCount("saem_draws", chains * plan.fit.draws, f"{plan.fit.draws} draws of {chains} chains"),
        check("chain_of_fit", ("chain",), "a chain of the fit", chain >= 0),
        check("draw_of_chain", ("draw",), f"a draw from 1 to {plan.fit.draws}", number >= 0),
        check("mastery_of_models", ("mastery",), f"bits of {n} models x {k} attributes", mastery),
        check(
            "needs_of_items",
            ("q",),
            f"bits of {j} items x {k} attributes, one or more an item",
            entries & needed,
        ),
        check("rates_of_items", ("guess", "slip"), f"{j} rates from 0 to 1 each", rates),
    ]


def _agreement(cube: Floats, jaccard: bool) -> tuple[float, float]:
    """Least and greatest mean agreement of pairs of chains, by what rounding leaves open."""
    above, open_ = cube > NEEDED, on_the_edge(cube)
    ends = []
    for low in (True, False):
        shares = []
        for a, b in combinations(range(len(cube)), 2):
            one, two, either_open = above[a], above[b], open_[a] | open_[b]
            if jaccard:
                both, either = (one & two), (one | two)
                both = both & ~either_open if low else both | either_open
                either = either | either_open
                shares.append(float(both.sum() / either.sum()) if either.any() else 1.0)
            else:
                alike = (one == two) & ~either_open if low else (one == two) | either_open
                shares.append(float(alike.mean()))
        ends.append(float(np.mean(shares)) if shares else float("nan"))
    return ends[0], ends[1]


def _within(value: Floats, ends: tuple[float, float]) -> Mask:
    low, high = ends
    unknown = np.isnan(value) & np.isnan(low)
    return np.asarray(unknown | (low - EQUAL <= value) & (value <= high + EQUAL))


def fit_checks(study: Study, plan: DiagnosisPlan) -> list[Expectation]:
    """Checks on FIT and CHAINS.

    Args:
        study: what was fitted.
        plan: what the study was to hold.
    """
    fit, chains = study.given.fit, study.given.chains
    sizes = [len(axis) for axis in (study.models, study.items, study.attributes)]
    counted = np.logical_and.reduce(
        [
            numbers(fit[name]) == size
            for name, size in zip(("models", "items", "attributes"), sizes, strict=True)
        ]
    )
    sweeps, kept = numbers(chains["sweeps"]), numbers(chains["kept"])
    # Chains run whole blocks of sweeps before they are judged.
    most = max(plan.fit.max_sweeps, 2 * plan.fit.min_sweeps)
    loglik = mean(Grid(chains, (study.chains,)).cube("loglik"))
    converged = true(fit["converged"])
    rhat = [numbers(fit[name]) for name in ("rhat_items", "rhat_loglik")]
    enough = (rhat[0] < RHAT) & (rhat[1] < RHAT) & (len(study.chains) >= LEAST_CHAINS)
    entries = study.saem("q", study.items, study.attributes).cube("p")
    mastery = study.saem("mastery", study.models, study.attributes).cube("p")

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("fit", name, columns, expected, passed)

    return [
        RowCount("fit", 1, "one fit"),
        check(
            "sizes_of_study",
            ("models", "items", "attributes"),
            "those that stay after screening, and the attributes of the study",
            counted,
        ),
        check("mean_of_chains", ("loglik",), "the mean over chains", close(numbers(fit["loglik"]), loglik)),
        check(
            "sweeps_of_longest",
            ("sweeps",),
            "those of the longest chain",
            numbers(fit["sweeps"]) == sweeps.max(initial=0),
        ),
        check(
            "reason_unless_converged",
            ("converged", "reason"),
            "a reason where it has not converged, and only there",
            converged == true(pc.equal(fit["reason"], "")),
        ),
        check(
            "converged_by_criteria",
            ("converged", "rhat_items", "rhat_loglik"),
            f"at least {LEAST_CHAINS} chains and R-hat below {RHAT} where it has converged",
            ~converged | enough,
        ),
        check(
            "entries_agree_as_told",
            ("q_jaccard",),
            "the mean Jaccard index of the chains' Q-matrices; none of one chain",
            _within(numbers(fit["q_jaccard"]), _agreement(entries, True)),
        ),
        check(
            "mastery_agrees_as_told",
            ("alpha_agreement",),
            "the mean share of equal mastery between chains; none of one chain",
            _within(numbers(fit["alpha_agreement"]), _agreement(mastery, False)),
        ),
        RowCount("chains", plan.fit.chains, f"{plan.fit.chains} chains"),
        RowCheck(
            "chains",
            "chain_in_order",
            ("chain",),
            f"a number from 1 to {plan.fit.chains}",
            Axis("chain", plan.fit.chains).places(chains) >= 0,
        ),
        RowCheck(
            "chains",
            "sweeps_as_configured",
            ("sweeps",),
            f"as many in every chain, from {plan.fit.min_sweeps} to {most}",
            (sweeps >= plan.fit.min_sweeps) & (sweeps <= most) & (sweeps == sweeps.max(initial=0)),
        ),
        RowCheck(
            "chains",
            "kept_of_sweeps",
            ("sweeps", "kept"),
            "one sweep or more, and no more than were run",
            (kept >= 1) & (kept <= sweeps),
        ),
    ]
