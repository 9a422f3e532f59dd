"""What the rows of ablations promise beyond their contracts, each worked out by another way than the numbers were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts._columns import (
    Mask,
    all_agree,
    member,
    numbers,
    positions,
    taken,
    true,
)
from magister.contracts._estimates import (
    EQUAL,
    SETTINGS,
    SIZES,
    by_group,
    close,
    holm_holds,
    interval_check,
    range_check,
    ranks,
    reason_check,
    value_check,
)
from magister.contracts.gate import RowCheck
from magister.contracts.schemas import (
    ASKED_ABLATIONS,
    CUMULATIVE_SHARES,
    METRIC_RANGES,
    METRICS,
    WHOLE_LEAGUE,
)

Planned = list[tuple[str, str, str, str]]

GROUP = ("ablation", "setting", "metric")
_TESTED = ("leave_one_student", "rounds", *ASKED_ABLATIONS)
# Interval ends of ratios of sums surround the value; RA is a product.
_CONTAINED = ("CA", "AA", "JA", "GA")


@dataclass(frozen=True)
class AblationPlan:
    """What the ablations of a league were to hold.

    Attributes:
        league: its name.
        teachers: models that teach.
        students: models that are taught.
        rounds: rounds of guidance T.
        variants: ablation and setting of every league that was run again under another condition.
    """

    league: str
    teachers: Sequence[str]
    students: Sequence[str]
    rounds: int
    variants: Sequence[tuple[str, str]] = ()

    def groups(self, datasets: Sequence[str]) -> list[tuple[str, str, str]]:
        """(ablation, setting, metric) of all rows, given the datasets that have items."""
        without_own = [metric for metric in METRICS if metric != "AA"]
        found = [("full", WHOLE_LEAGUE, metric) for metric in METRICS]
        if len(self.students) > 1:
            found += [("leave_one_student", name, m) for name in self.students for m in without_own]
        if len(datasets) > 1:
            found += [("leave_one_dataset", name, metric) for name in datasets for metric in METRICS]
        found += [("cumulative", f"{share} %", metric) for share in CUMULATIVE_SHARES for metric in METRICS]
        found += [("rounds", f"round {number}", "CA") for number in range(1, self.rounds + 1)]
        return found + [(*variant, metric) for variant in self.variants for metric in METRICS]


def planned(table: pa.Table, groups: Sequence[tuple[str, ...]], columns: Sequence[str]) -> Mask:
    """Rows whose columns are one of some tuples."""
    wanted = pa.table(
        {name: pa.array([group[k] for group in groups], pa.string()) for k, name in enumerate(columns)}
    )
    return positions(table, wanted, columns) >= 0


def as_measured(table: pa.Table, metrics: pa.Table) -> Mask:
    """Rows with the settings of the metrics."""
    first = np.full(table.num_rows, 0 if metrics.num_rows else -1)
    return all_agree(table.select(SETTINGS), taken(metrics, first, SETTINGS))


def _full(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Columns of the same teacher and metric in the whole league."""
    whole = table.filter(pc.equal(table["ablation"], "full"))
    return taken(whole, positions(table, whole, ("teacher", "metric")), columns)


def _parts_add_up(table: pa.Table, metrics: pa.Table) -> Mask:
    """Without a dataset, a league has the cells, and of pooled shares the hits, that the dataset alone lacks."""
    chosen = true(pc.equal(table["ablation"], "leave_one_dataset"))
    slices = metrics.filter(pc.equal(metrics["slice_kind"], "dataset"))
    slices = slices.select(["teacher", "slice", "metric", "round", "n_cells", "value"])
    slices = slices.rename_columns(["teacher", "setting", "metric", "round", "n_cells", "value"])
    there = positions(table, slices, ("teacher", "setting", "metric", "round"))
    gone, whole = taken(slices, there, ("n_cells", "value")), _full(table, ("n_cells", "value"))
    cells = [numbers(side["n_cells"]) for side in (table, gone, whole)]
    hits = [
        np.where(n > 0, n * np.nan_to_num(numbers(side["value"])), 0.0)
        for n, side in zip(cells, (table, gone, whole), strict=True)
    ]
    pooled = member(table["metric"], ("AA", "JA"))
    fits = (cells[0] + cells[1] == cells[2]) & (close(hits[0] + hits[1], hits[2]) | ~pooled)
    return ~chosen | ((there >= 0) & fits)


def _students_average(table: pa.Table, students: int) -> Mask:
    """Over all students left out, each is there as often: cells add up, and a mean over students is that of all."""
    chosen = true(pc.equal(table["ablation"], "leave_one_student"))
    value, cells, there = (numbers(table[name]) for name in ("value", "n_cells", "n_students"))
    full = _full(table, ("value", "n_cells", "n_students"))
    whole, all_cells, everyone = (numbers(full[name]) for name in ("value", "n_cells", "n_students"))
    mean = member(table["metric"], ("CA", "RA"))
    pooled = member(table["metric"], ("JA",))

    def worked_out(rows: NDArray[np.int64]) -> Mask:
        if not chosen[rows[0]]:
            return np.ones(rows.size, dtype=bool)
        fits = cells[rows].sum() == (students - 1) * all_cells[rows[0]]
        known = not np.isnan(value[rows]).any() and not np.isnan(whole[rows]).any()
        if known and mean[rows[0]] and everyone[rows[0]] == students and (there[rows] == students - 1).all():
            fits &= abs(value[rows].mean() - whole[rows[0]]) <= EQUAL * max(1.0, abs(whole[rows[0]]))
        if known and pooled[rows[0]]:
            hits = (value[rows] * cells[rows]).sum()
            fits &= abs(hits - (students - 1) * whole[rows[0]] * all_cells[rows[0]]) <= EQUAL * max(1.0, hits)
        return np.full(rows.size, fits)

    return by_group(table, ("ablation", "teacher", "metric"), worked_out) == 1


def _measured(table: pa.Table, metrics: pa.Table) -> Mask:
    """The whole league, and CA of every round, as in the metrics."""
    chosen = member(table["ablation"], ("full", "rounds"))
    overall = metrics.filter(
        pc.and_(pc.equal(metrics["slice_kind"], "overall"), pc.equal(metrics["arm"], "taught"))
    )
    place = positions(table, overall, ("teacher", "metric", "round"))
    found = taken(overall, place, ("value", "status", *SIZES))
    fits = close(numbers(table["value"]), numbers(found["value"]))
    fits &= all_agree(table.select(SIZES), found.select(SIZES))
    return ~chosen | ((place >= 0) & fits)


def ablation_checks(
    table: pa.Table, metrics: pa.Table, plan: AblationPlan, datasets: Sequence[str]
) -> list[RowCheck]:
    """Checks on rows of ABLATIONS.

    Args:
        table: the rows.
        metrics: METRICS_TABLE of the league.
        plan: what they were to hold.
        datasets: datasets that have items.
    """
    value, whole, difference, low, high = (
        numbers(table[name]) for name in ("value", "whole", "difference", "ci_low", "ci_high")
    )
    names = list(METRICS)
    place = np.asarray(pc.fill_null(pc.index_in(table["metric"], value_set=pa.array(names)), 0).to_numpy())
    floor, ceiling = (np.array([METRIC_RANGES[name][end] for name in names])[place] for end in (0, 1))

    compared = true(pc.not_equal(table["difference_status"], "not_computable"))
    bounded = ~np.isnan(low) & ~np.isnan(high)
    surrounded = (low - EQUAL <= value) & (value <= high + EQUAL)
    p = numbers(table["p"])
    sizes = {name: numbers(table[name]) for name in SIZES}
    # A league that was run again may have fewer failures, and so more items in use, but no more than were asked.
    full = table.filter(pc.and_(pc.equal(table["ablation"], "full"), pc.equal(table["metric"], "CA")))
    asked = (numbers(full["n_cells"]) + numbers(full["n_dropped"])) / len(plan.students)
    fits = sizes["n_items"] <= asked.max(initial=0.0)
    fits &= (sizes["n_students"] <= len(plan.students)) & (sizes["n_clusters"] <= sizes["n_items"])
    fits &= sizes["n_cells"] <= sizes["n_items"] * np.maximum(sizes["n_students"], 1)
    # Variants of items may have fewer of them; what they are set against is then the league on those alone.
    held = member(table["ablation"], ("item_variants",))
    reached = numbers(table["round"])
    number = np.array([{"AA": 0, "JA": 1, "GA": 1}.get(name, plan.rounds) for name in names])[place]
    last = member(table["metric"], ("CA", "RA"))
    free = last & member(table["ablation"], (*ASKED_ABLATIONS, "rounds"))
    named = true(
        pc.equal(
            table["setting"], pc.binary_join_element_wise("round", table["round"].cast(pa.string()), " ")
        )
    )
    round_fits = np.where(free, reached >= 1, reached == number)
    round_fits &= named | ~member(table["ablation"], ("rounds",))

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("ablations", name, columns, expected, passed)

    there = planned(table, plan.groups(datasets), GROUP) & member(table["teacher"], plan.teachers)
    return [
        check(
            "league_is_its_own", ("league",), f"league {plan.league}", member(table["league"], [plan.league])
        ),
        check(
            "setting_planned",
            (*GROUP, "teacher"),
            "an ablation, setting, metric and teacher of the league",
            there,
        ),
        check("round_of_metric", ("metric", "round"), "the round that the metric reads", round_fits),
        check("settings_as_measured", SETTINGS, "as in the metrics", as_measured(table, metrics)),
        check(
            "whole_as_measured",
            ("value", *SIZES),
            "the whole league and its rounds as in the metrics",
            _measured(table, metrics),
        ),
        check(
            "parts_add_up",
            ("value", "n_cells"),
            "with the dataset left out, the whole league",
            _parts_add_up(table, metrics),
        ),
        check(
            "students_average",
            ("value", "n_cells"),
            "over all students left out, the whole league",
            _students_average(table, len(plan.students)),
        ),
        range_check(
            "ablations",
            table,
            ("value", "ci_low", "ci_high"),
            "value and interval within the range of the metric",
            (floor, ceiling),
        ),
        value_check("ablations", table),
        interval_check("ablations", "interval_where_ok", table, ("status", "ci_low", "ci_high")),
        check(
            "interval_around_value",
            ("value", "ci_low", "ci_high"),
            "an interval around the value of a share or a mean",
            ~bounded | surrounded | ~member(table["metric"], _CONTAINED),
        ),
        reason_check("ablations", "reason_unless_ok", table, ("status", "reason")),
        check("counts_fit", SIZES, "no more items, students, clusters or cells than there are", fits),
        check(
            "whole_as_full",
            ("whole",),
            "the value of the whole league",
            close(whole, numbers(_full(table, ("value",))["value"])) | held,
        ),
        check(
            "difference_follows",
            ("value", "whole", "difference"),
            "value less whole",
            close(difference, value - whole),
        ),
        check(
            "difference_unless_not_computable",
            ("difference_status", "difference"),
            "a difference unless its status is not_computable, and only then",
            ~np.isnan(difference) == compared,
        ),
        interval_check(
            "ablations",
            "difference_bounded_where_ok",
            table,
            ("difference_status", "difference_ci_low", "difference_ci_high"),
        ),
        reason_check(
            "ablations", "difference_reason_unless_ok", table, ("difference_status", "difference_reason")
        ),
        check(
            "tested_where_paired",
            ("ablation", "p"),
            "p only where both sides rest on the same clusters",
            np.isnan(p) | member(table["ablation"], _TESTED),
        ),
        check(
            "holm_over_teachers",
            ("p", "p_holm"),
            "Holm's p over the teachers of the setting and metric",
            holm_holds(table, GROUP),
        ),
        check(
            "rank_by_value",
            ("rank", "value"),
            "the rank by value among the teachers",
            close(numbers(table["rank"]), ranks(table, GROUP)),
        ),
    ]
