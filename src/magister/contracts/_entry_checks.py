"""What the profiles of items and the entries of the Q-matrix promise: every number follows from the chains."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import Mask, absent, numbers, places, same, true
from magister.contracts._diagnosis_grid import Floats, Grid, Study, mean, on_the_edge
from magister.contracts._diagnosis_plan import CORRECTIONS, NEEDED
from magister.contracts._estimates import EQUAL, close
from magister.contracts.gate import Expectation, RowCheck, RowCount


def _needs(study: Study, table: pa.Table, place: np.ndarray) -> Mask:
    """Rows that list the attributes that their item's posterior needs, in order; rounding leaves some open."""
    names = study.attributes.names
    above, edge = study.q > NEEDED, on_the_edge(study.q)
    passed = np.zeros(table.num_rows, dtype=bool)
    for row, (item, told) in enumerate(zip(place.tolist(), table["attributes"].to_pylist(), strict=True)):
        if item < 0:
            continue
        said = np.isin(names, told or [])
        passed[row] = bool(((said == above[item]) | edge[item]).all()) and told == sorted(
            name for name, there in zip(names, said, strict=True) if there
        )
    return passed


def item_profile_checks(study: Study) -> list[Expectation]:
    """Checks on ITEM_PROFILES.

    Args:
        study: what was fitted.
    """
    table = study.given.items
    grid = Grid(table, (study.items,))
    chains = study.saem("items", study.items)
    guess, slip = numbers(table["guess"]), numbers(table["slip"])
    rates = {name: grid.read(mean(chains.cube(name))) for name in ("guess", "slip")}
    counts = {name: grid.read(study.by_kept(chains.cube(name))) for name in ("n_mastered", "n_other")}
    pooled = grid.read(mean(chains.cube("pooled"))) >= 0.5
    answered = grid.read((~np.isnan(study.correct)).sum(axis=0).astype(np.float64))
    errors = ~absent(table["guess_se"]) & ~absent(table["slip_se"])
    positive = ~((numbers(table["guess_se"]) < 0) | (numbers(table["slip_se"]) < 0))
    ok = true(pc.equal(table["status"], "ok"))
    told = true(pc.not_equal(table["reason"], ""))
    off = ~grid.known
    (place,) = grid.index

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("item_profiles", name, columns, expected, passed)

    return [
        RowCount("item_profiles", grid.cells, "the items that were fitted"),
        check("item_of_fit", ("item_id",), "an item that was fitted", grid.known),
        check(
            "rates_of_chains",
            ("guess", "slip"),
            "the means over chains",
            off | close(guess, rates["guess"]) & close(slip, rates["slip"]),
        ),
        check(
            "discrimination_of_rates",
            ("guess", "slip", "discrimination"),
            "1 - slip - guess",
            close(numbers(table["discrimination"]), np.clip(1 - slip - guess, -1, 1)),
        ),
        check(
            "pooled_in_half",
            ("pooled",),
            "pooled in half of the chains or more",
            off | (true(table["pooled"]) == pooled),
        ),
        check(
            "responses_counted",
            ("n",),
            "the responses to it that were fitted",
            off | (numbers(table["n"]) == answered),
        ),
        check(
            "counts_of_chains",
            ("n_mastered", "n_other"),
            "the means over chains",
            off
            | close(numbers(table["n_mastered"]), counts["n_mastered"])
            & close(numbers(table["n_other"]), counts["n_other"]),
        ),
        check(
            "attributes_needed",
            ("item_id", "attributes"),
            f"in order, those with a posterior above {NEEDED:g}",
            off | _needs(study, table, place),
        ),
        check(
            "errors_where_ok",
            ("status", "reason", "guess_se", "slip_se"),
            "both standard errors where the status is ok; elsewhere a reason",
            (ok == errors) & positive & (ok | told),
        ),
    ]


def entry_checks(study: Study) -> list[Expectation]:
    """Checks on Q_ENTRIES.

    Args:
        study: what was fitted.
    """
    table = study.given.entries
    grid = Grid(table, (study.items, study.attributes))
    prior = Grid(study.given.prior, grid.axes)
    reference, posterior = true(table["reference"]), numbers(table["posterior"])
    edge = 0.5 / (float(study.weights.sum()) + 1)
    inside = np.clip(posterior, edge, 1 - edge)
    odds = np.log(inside / (1 - inside))
    patterns = [_pattern(reference, posterior + shift) for shift in (0.0, EQUAL, -EQUAL)]
    follows = np.logical_or.reduce([same(table["pattern"], pattern) for pattern in patterns])
    off = ~grid.known
    believed = (grid.read(prior.cube("reference")) == reference) & close(
        numbers(table["prior"]), grid.read(prior.cube("probability"))
    )

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("q_entries", name, columns, expected, passed)

    return [
        RowCount("q_entries", grid.cells, f"{len(study.items)} items x {len(study.attributes)} attributes"),
        check("item_of_fit", ("item_id",), "an item that was fitted", grid.on("item_id")),
        check("attribute_of_fit", ("attribute",), "an attribute of the study", grid.on("attribute")),
        check("believed_as_prior", ("reference", "prior"), "those of the prior", off | believed),
        check(
            "mean_of_chains",
            ("posterior",),
            "the mean over chains",
            off | close(posterior, grid.read(study.q)),
        ),
        check(
            "odds_of_posterior",
            ("posterior", "log_odds"),
            "the log-odds of the posterior, as far as the kept sweeps can tell",
            np.abs(numbers(table["log_odds"]) - odds) <= 1e-6,
        ),
        check(
            "pattern_of_entry",
            ("reference", "posterior", "pattern"),
            f"kept, dropped, added or absent, by the reference and a posterior above {NEEDED:g}",
            follows,
        ),
    ]


def _pattern(reference: Mask, posterior: Floats) -> pa.ChunkedArray:
    has = posterior > NEEDED
    words = np.where(reference, np.where(has, "kept", "dropped"), np.where(has, "added", "absent"))
    return pa.chunked_array([pa.array(words, pa.string())])


def _corrected(study: Study, has: Mask) -> Floats:
    """Items by what became of their reference, in the order of `CORRECTIONS`."""
    reference = study.reference == 1
    dropped, added = (reference & ~has).any(axis=1), (has & ~reference).any(axis=1)
    kinds = (~dropped & ~added, ~dropped & added, dropped & added, dropped & ~added)
    return np.array([float(kind.sum()) for kind in kinds])


def corrected_checks(study: Study) -> list[Expectation]:
    """Checks on CORRECTED.

    Args:
        study: what was fitted.
    """
    table = study.given.corrections
    place = places(table["correction"], CORRECTIONS)
    counts = np.append(_corrected(study, study.q > NEEDED), np.nan)
    open_ = float(on_the_edge(study.q).any(axis=1).sum())
    return [
        RowCount("corrections", len(CORRECTIONS), "the ways in which a reference is corrected"),
        RowCheck(
            "corrections",
            "items_counted",
            ("correction", "items"),
            "the items whose reference became this",
            (place < 0) | (np.abs(numbers(table["items"]) - counts[place]) <= open_),
        ),
    ]
