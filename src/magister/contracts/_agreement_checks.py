"""What the agreement of ablations with the whole league, and the signs of contamination, promise of their rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._ablation_checks import GROUP, AblationPlan, as_measured, planned
from magister.contracts._columns import (
    Mask,
    agree,
    all_agree,
    member,
    numbers,
    positions,
    row_codes,
    taken,
    true,
)
from magister.contracts._estimates import (
    SETTINGS,
    Floats,
    bounded_where_ok,
    close,
    holm_holds,
    interval_check,
    reason_check,
)
from magister.contracts.gate import RowCheck
from magister.contracts.schemas import FORM_ABLATIONS


def agreement_checks(
    table: pa.Table, ablations: pa.Table, metrics: pa.Table, plan: AblationPlan, datasets: Sequence[str]
) -> list[RowCheck]:
    """Checks on rows of ABLATION_AGREEMENT.

    Args:
        table: the rows.
        ablations: ABLATIONS, which they are worked out from again.
        metrics: METRICS_TABLE of the league.
        plan: what they were to hold.
        datasets: datasets that have items.
    """
    expected = _orders(table, ablations)
    n, pairs, swapped = (numbers(table[name]) for name in ("n_teachers", "n_pairs", "n_swapped"))
    rho, tau = (numbers(table[name]) for name in ("spearman", "kendall"))
    drawn = member(table["ablation"], ("cumulative",))
    computable = true(pc.not_equal(table["status"], "not_computable"))
    known = ~np.isnan(rho) & ~np.isnan(tau)
    unknown = np.isnan(rho) & np.isnan(tau)
    ends = [
        bounded_where_ok(table, "status", f"{name}_ci_low", f"{name}_ci_high")
        for name in ("spearman", "kendall")
    ]

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("agreement", name, columns, expected, passed)

    groups = [group for group in plan.groups(datasets) if group[0] != "full"]
    return [
        check(
            "league_is_its_own", ("league",), f"league {plan.league}", member(table["league"], [plan.league])
        ),
        check(
            "setting_planned",
            GROUP,
            "an ablation, setting and metric of the league",
            planned(table, groups, GROUP),
        ),
        check("settings_as_measured", SETTINGS, "as in the metrics", as_measured(table, metrics)),
        check(
            "teachers_counted",
            ("n_teachers",),
            "the teachers with a value on both sides",
            n == expected[:, 0],
        ),
        check("pairs_counted", ("n_teachers", "n_pairs"), "every two of them", pairs == n * (n - 1) / 2),
        check(
            "swaps_counted",
            ("n_swapped",),
            "pairs whose order is the other way round",
            swapped == expected[:, 1],
        ),
        check(
            "change_as_ablated",
            ("largest_change",),
            "the largest difference from the whole league",
            close(numbers(table["largest_change"]), expected[:, 2]),
        ),
        check(
            "spearman_as_ordered",
            ("spearman",),
            "Spearman's rho of both sides",
            close(rho, expected[:, 3]) | drawn | ~computable,
        ),
        check(
            "kendall_as_ordered",
            ("kendall",),
            "Kendall's tau-b of both sides",
            close(tau, expected[:, 4]) | drawn | ~computable,
        ),
        check(
            "coefficients_unless_not_computable",
            ("status", "spearman", "kendall"),
            "both unless the status is not_computable, and only then",
            np.where(computable, known, unknown),
        ),
        check(
            "intervals_where_ok",
            ("status", "spearman_ci_low", "spearman_ci_high", "kendall_ci_low", "kendall_ci_high"),
            "both ends, in order, where the status is ok, none elsewhere",
            ends[0] & ends[1],
        ),
        reason_check("agreement", "reason_unless_ok", table, ("status", "reason")),
    ]


def _orders(table: pa.Table, ablations: pa.Table) -> Floats:
    """Teachers, swapped pairs, largest change, Spearman and Kendall of each row, from the rows of its teachers."""
    codes = row_codes(pa.concat_tables([table.select(GROUP), ablations.select(GROUP)]), GROUP)
    own, others = codes[: table.num_rows], codes[table.num_rows :]
    sides = np.round(np.stack([numbers(ablations[name]) for name in ("value", "whole")]), 12)
    out = np.full((table.num_rows, 5), np.nan)
    for row in range(table.num_rows):
        both = sides[:, (others == own[row]) & ~np.isnan(sides).any(axis=0)]
        count = both.shape[1]
        signs = np.sign(both[:, :, None] - both[:, None, :])[:, *np.triu_indices(count, 1)]
        out[row, :2] = count, (signs[0] * signs[1] < 0).sum()
        if count:
            out[row, 2] = np.abs(both[0] - both[1]).max()
        if (signs != 0).any(axis=1).all() and count > 1:
            out[row, 3] = np.corrcoef([_midranks(side) for side in both])[0, 1]
            out[row, 4] = (signs[0] * signs[1]).sum() / np.sqrt((signs != 0).sum(axis=1).prod(dtype=float))
    return out


def _midranks(values: Floats) -> Floats:
    ordered = np.sort(values)
    return (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / 2


def contamination_checks(
    table: pa.Table, ablations: pa.Table, metrics: pa.Table, plan: AblationPlan
) -> list[RowCheck]:
    """Checks on rows of CONTAMINATION.

    Args:
        table: the rows.
        ablations: ABLATIONS, which hold the same changes.
        metrics: METRICS_TABLE of the league.
        plan: what they were to hold.
    """
    gap, own, gain = (numbers(table[name]) for name in ("gap", "aa_change", "ca_change"))
    group = ("ablation", "setting")

    def as_ablated(metric: str, name: str) -> Mask:
        rows = ablations.filter(pc.equal(ablations["metric"], metric))
        place = positions(table, rows, (*group, "teacher"))
        parts = ("difference", "difference_ci_low", "difference_ci_high")
        columns = [name, f"{name}_ci_low", f"{name}_ci_high"]
        found = taken(rows, place, parts).rename_columns(columns)
        return (place >= 0) & all_agree(table.select(columns), found)

    computable = true(pc.not_equal(table["status"], "not_computable"))
    there = planned(table, [v for v in plan.variants if v[0] in FORM_ABLATIONS], group)

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("contamination", name, columns, expected, passed)

    return [
        check(
            "league_is_its_own", ("league",), f"league {plan.league}", member(table["league"], [plan.league])
        ),
        check(
            "setting_planned",
            (*group, "teacher"),
            "a form of the items and a teacher of the league",
            there & member(table["teacher"], plan.teachers),
        ),
        check("settings_as_measured", SETTINGS, "as in the metrics", as_measured(table, metrics)),
        check(
            "counts_as_ablated",
            ("n_items", "n_clusters"),
            "those of CA among the ablations",
            _counted(table, ablations),
        ),
        check(
            "aa_change_as_ablated",
            ("aa_change", "aa_change_ci_low", "aa_change_ci_high"),
            "the difference of AA among the ablations",
            as_ablated("AA", "aa_change"),
        ),
        check(
            "ca_change_as_ablated",
            ("ca_change", "ca_change_ci_low", "ca_change_ci_high"),
            "the difference of CA among the ablations",
            as_ablated("CA", "ca_change"),
        ),
        check(
            "gap_follows",
            ("aa_change", "ca_change", "gap"),
            "the change of CA less that of AA",
            close(gap, gain - own),
        ),
        check(
            "gap_unless_not_computable",
            ("status", "gap"),
            "a gap unless the status is not_computable, and only then",
            ~np.isnan(gap) == computable,
        ),
        interval_check("contamination", "interval_where_ok", table, ("status", "gap_ci_low", "gap_ci_high")),
        reason_check("contamination", "reason_unless_ok", table, ("status", "reason")),
        check(
            "holm_over_teachers",
            ("p", "p_holm"),
            "Holm's p over the teachers of the setting",
            holm_holds(table, group),
        ),
    ]


def _counted(table: pa.Table, ablations: pa.Table) -> Mask:
    rows = ablations.filter(pc.equal(ablations["metric"], "CA"))
    place = positions(table, rows, ("ablation", "setting", "teacher"))
    found = taken(rows, place, ("n_items", "n_clusters"))
    return np.asarray(
        agree(table["n_items"], found["n_items"]) & agree(table["n_clusters"], found["n_clusters"])
    )
