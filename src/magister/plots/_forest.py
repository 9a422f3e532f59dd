"""Plots of a league as it is, a row per teacher: CA, and the order by a metric."""

from __future__ import annotations

import pyarrow as pa
from matplotlib.axes import Axes

from magister.plots._notes import Row, by_league, in_words, intervals, sizes, unknown
from magister.plots._rows import (
    LABELS,
    ROW,
    Bar,
    draw_bar,
    forest_legend,
    rows_axes,
    side_notes,
    value_axis,
)
from magister.plots._sheet import MARGIN, WIDTH, Sheet, nothing_to_show
from magister.plots._style import BLUE, FAINT, INK, VERMILLION, points, style
from magister.teaching.board import board_order, row_name

_AXIS, _HEAD, _GAP = 0.42, 0.24, 0.18
_NOTES = 1.75
_CA = "CA: change of the students' accuracy, percentage points"


def _percent(row: Row, value: str, part: str = "") -> Bar:
    """A value of a row with its interval, in percentage points."""
    return Bar(row[value], row[f"{part}ci_low"], row[f"{part}ci_high"]).scaled(100)


def _interval_text(row: Row, value: str, part: str = "") -> str:
    if row[value] is None:
        return ""
    low, high = row[f"{part}ci_low"], row[f"{part}ci_high"]
    return points(row[value]) + ("" if low is None else f" [{points(low)}, {points(high)}]")


def ca_forest(board: pa.Table) -> str:
    """CA of every teacher and control arm with its interval, a panel per league.

    Args:
        board: table of contract `teaching_board`.

    Returns:
        SVG. A teacher whose CA is unknown keeps its row, and the caption says why.
    """
    title = "How much each teacher changed its students' accuracy"
    with style():
        leagues = by_league(sorted(board.to_pylist(), key=board_order))
        if not leagues:
            return nothing_to_show(title, "no teacher has been rated")
        rows = [row for part in leagues.values() for row in part]
        caption = [
            f"League {league}. {sizes(part, ('n_items', 'n_clusters', 'n_students', 'rounds'))}"
            for league, part in leagues.items()
        ]
        caption.append(f"{intervals(rows)} They speak of these students.")
        caption += unknown((row_name(row), row["ca_status"], row["ca_reason"]) for row in rows)
        heights = [_HEAD + ROW * len(part) + _AXIS + _GAP for part in leagues.values()]
        legend = forest_legend(
            any(row["arm"] != "taught" for row in rows),
            any(row["ca_status"] == "no_interval" for row in rows),
        )
        about = [
            in_words(f"{row['league']}, {row_name(row)}", row, "ca", "ca_ci_low", "ca_ci_high")
            for row in rows
        ]
        sheet = Sheet(title, sum(heights), caption, about, legend)
        top = 0.0
        for (league, part), height in zip(leagues.items(), heights, strict=True):
            sheet.heading(f"League {league}", top)
            bars = [_percent(row, "ca", "ca_") for row in part]
            width = WIDTH - 2 * MARGIN - LABELS - _NOTES
            ax = rows_axes(sheet, [row_name(row) for row in part], top + _HEAD, width=width)
            value_axis(ax, _CA, bars)
            for y, (row, bar) in enumerate(zip(part, bars, strict=True)):
                control = row["arm"] != "taught"
                draw_bar(ax, y, bar, VERMILLION if control else BLUE, "s" if control else "o")
            teachers = sum(row["arm"] == "taught" for row in part)
            if 0 < teachers < len(part):
                ax.axhline(teachers - 0.5, color=INK, linewidth=0.7, linestyle=(0, (4, 3)))
            side_notes(ax, [_interval_text(row, "ca", "ca_") for row in part])
            top += height
        return sheet.svg()


def rank_intervals(standings: pa.Table, metric: str = "CA") -> str:
    """Rank of every teacher with its interval, and how often it comes first.

    Args:
        standings: table of contract `standings`.
        metric: what teachers are ranked by.

    Returns:
        SVG, a panel per league.
    """
    title = f"How sure the order of the teachers by {metric} is"
    with style():
        found = [row for row in standings.to_pylist() if row["metric"] == metric]
        found.sort(key=lambda row: (row["league"], row["rank"] is None, row["rank"] or 0, row["teacher"]))
        leagues = by_league(found)
        if not leagues:
            return nothing_to_show(title, f"no standings by {metric}")
        caption = [f"League {league}. {sizes(part)}" for league, part in leagues.items()]
        caption.append(
            f"{intervals(found)} P(first): share of resamples in which the teacher comes first. Teachers that share a "
            "letter are not told apart by Holm-corrected tests."
        )
        caption += unknown((row["teacher"], row["rank_status"], row["rank_reason"]) for row in found)
        heights = [_HEAD + ROW * len(part) + _AXIS + _GAP for part in leagues.values()]
        about = [
            f"{row['league']}, {row['teacher']}: rank {row['rank'] or 'unknown'}"
            + ("" if row["rank_low"] is None else f" ({row['rank_low']} to {row['rank_high']})")
            for row in found
        ]
        sheet = Sheet(title, sum(heights), caption, about)
        top = 0.0
        for (league, part), height in zip(leagues.items(), heights, strict=True):
            sheet.heading(f"League {league}", top)
            width = WIDTH - 2 * MARGIN - LABELS - _NOTES
            ax = rows_axes(sheet, [row["teacher"] for row in part], top + _HEAD, width=width)
            for y, row in enumerate(part):
                draw_bar(ax, y, Bar(row["rank"], row["rank_low"], row["rank_high"]))
            _rank_axis(ax, len(part))
            side_notes(ax, [_first(row) for row in part])
            top += height
        return sheet.svg()


def _rank_axis(ax: Axes, teachers: int) -> None:
    step = max(1, -(-teachers // 12))
    ax.set_xlim(0.5, teachers + 0.5)
    ax.set_xticks(sorted({1, *range(step, teachers + 1, step)}))
    ax.set_xlabel("rank, 1 the best")
    ax.grid(axis="x", color=FAINT, linewidth=0.6)


def _first(row: Row) -> str:
    chance = "" if row["p_first"] is None else f"P(first) {100 * row['p_first']:.0f} %"
    return f"{chance}   {row['group']}".strip()
