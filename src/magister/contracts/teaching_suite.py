"""What the teaching module promises beyond its contracts."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from magister.contracts import _guide_checks, _revision_checks
from magister.contracts._columns import facts, member
from magister.contracts._league import Grid, LeaguePlan, LeagueTables, Replies, exchange_places
from magister.contracts._metric_checks import headline, metric_checks
from magister.contracts._order_checks import order_checks
from magister.contracts._recount import replies_of, slices_of
from magister.contracts._recount_checks import recount_checks
from magister.contracts._reply_checks import ReadingRules, choice_checks, reply_checks, sized
from magister.contracts._small import comparable
from magister.contracts._standing_checks import comparison_checks, standing_checks
from magister.contracts._status_counts import status_check
from magister.contracts._trajectory_checks import joined_checks, plan_cells, trajectory_checks
from magister.contracts.gate import Expectation, RowCheck, RowCount, Suite, Tables
from magister.contracts.schemas import (
    ANSWERS,
    ASKED,
    BANDS,
    COMPARISONS,
    GUIDES,
    ITEMS,
    METRICS,
    METRICS_TABLE,
    REVISIONS,
    STANDINGS,
    TRAJECTORIES,
)

__all__ = ["LeaguePlan", "LeagueTables", "ReadingRules", "teaching_suite"]


def _answer_checks(
    name: str, answers: pa.Table, items: pa.Table, role: str, models: tuple[str, ...], rules: ReadingRules
) -> list[Expectation]:
    """Every model of a role answers every item once."""
    known, truth = facts(answers, sized(items), "item_id", ("key", "n_options"))
    speaks = member(answers["model"], models)
    rows = len(models) * items.num_rows
    return [
        RowCount(name, rows, f"{len(models)} {role}s x {items.num_rows} items"),
        RowCheck(name, f"{role}_in_league", ("model",), f"a {role} of the league", speaks),
        RowCheck(name, "item_in_league", ("item_id",), "an item of the league's data sets", known),
        *reply_checks(name, answers, rules.choice),
        *choice_checks(name, answers, known, truth["key"], truth["n_options"]),
    ]


def _row_counts(grid: Grid) -> list[RowCount]:
    """How many rows the plan has for every table of exchanges."""
    exchanges, students, items, turns = grid.shape
    rest = f"{students} students x {items} items"
    rows = exchanges * students * items
    spoken = len(grid.plan.teachers) * len(grid.plan.teacher_arms)
    rounds = f"{turns - 1} rounds of guidance"
    return [
        RowCount("trajectories", rows * turns, f"{exchanges} exchanges x {rest} x {turns} rounds"),
        RowCount(
            "guides_asked",
            spoken * students * items * (turns - 1),
            f"{spoken} teachers in arms where they speak x {rest} x {rounds}",
        ),
        *(
            RowCount(name, rows * (turns - 1), f"{exchanges} exchanges x {rest} x {rounds}")
            for name in ("guides", "revisions_asked", "revisions")
        ),
    ]


def _of_datasets(items: pa.Table, plan: LeaguePlan) -> pa.Table:
    """The items of the league's data sets."""
    return items.filter(pa.array(member(items["dataset"], plan.datasets)))


def teaching_suite(given: LeagueTables, plan: LeaguePlan, rules: ReadingRules) -> Suite:
    """What the teaching module promises of a league.

    Args:
        given: its tables.
        plan: what the league was to run.
        rules: rules that replies are read by.

    Returns:
        Tables and expectations for `run_gate`.
    """
    tables: Tables = {
        "items": (ITEMS, given.items),
        "blind_answers": (ANSWERS, given.blind_answers),
        "zero_shot": (replace(ANSWERS, may_be_empty=not plan.teachers), given.zero_shot),
        "guides_asked": (ASKED, given.guides_asked),
        "guides": (GUIDES, given.guides),
        "revisions_asked": (ASKED, given.revisions_asked),
        "revisions": (REVISIONS, given.revisions),
        "trajectories": (TRAJECTORIES, given.trajectories),
        "metrics": (METRICS_TABLE, given.metrics),
        "standings": (STANDINGS, given.standings),
        "comparisons": (COMPARISONS, given.comparisons),
    }
    read: Tables = {"bands": (BANDS, given.bands)}
    if given.built is not None:
        read["built"] = (ITEMS, given.built)
    if not comparable(tables | read):
        return tables | read, []
    items = _of_datasets(given.items, plan)
    tables["items"] = (ITEMS, items)
    grid = Grid(plan, items["item_id"].to_pylist())
    replies = Replies(grid, given.blind_answers, given.revisions)
    number = grid.number(given.trajectories)
    tables["cells"] = plan_cells(number, grid)
    counted = replies_of(given.trajectories, grid, number)
    slices = slices_of(sized(items), given.bands)
    tables["metric_rows"], recounted = recount_checks(given.metrics, counted, given.zero_shot, grid, slices)
    tables["headline"] = headline(given.metrics, plan)
    pairs = len(plan.teachers) * (len(plan.teachers) - 1) // 2
    return tables, [
        *([] if given.built is None else order_checks(items, _of_datasets(given.built, plan))),
        *_row_counts(grid),
        RowCount("standings", len(plan.teachers) * len(METRICS), f"{len(METRICS)} metrics of every teacher"),
        RowCount("comparisons", pairs * len(METRICS), f"{len(METRICS)} metrics of every pair of teachers"),
        *_answer_checks("blind_answers", given.blind_answers, items, "student", tuple(plan.students), rules),
        *_answer_checks("zero_shot", given.zero_shot, items, "teacher", tuple(plan.teachers), rules),
        *_guide_checks.asked_checks(given.guides_asked, replies, grid),
        *_guide_checks.guide_checks(given.guides, given.guides_asked, grid, rules.verdict),
        *_revision_checks.asked_checks(given.revisions_asked, given.guides, replies, grid),
        *_revision_checks.revision_checks(
            given.revisions, items, given.revisions_asked, given.guides, replies, grid, rules.choice
        ),
        *trajectory_checks(given.trajectories, items, grid),
        *joined_checks(given.trajectories, number, given.bands, given.guides, replies, grid),
        *metric_checks(given.metrics, items.num_rows, plan, exchange_places(given.metrics, plan)),
        *recounted,
        *standing_checks(given.standings, given.metrics, plan),
        *comparison_checks(given.comparisons, given.standings, plan),
        status_check(given.metrics, given.trajectories, given.zero_shot, sized(items), given.bands, plan),
    ]
