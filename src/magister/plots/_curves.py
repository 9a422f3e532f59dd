"""Plots of what changes along the way: rounds, and the share of items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.artist import Artist

from magister.plots._facets import Curve, curve_axes, facets, facets_height
from magister.plots._notes import Row, by_league, in_order, intervals, sizes, unknown
from magister.plots._rows import shade, sign
from magister.plots._sheet import MARGIN, WIDTH, Sheet, nothing_to_show
from magister.plots._style import INK, SOFT, VERMILLION, style
from magister.teaching.board import board_order, row_name

_HEAD, _GAP = 0.24, 0.16
_AGREEMENT = 1.95
_COEFFICIENTS = {"kendall": "Kendall's tau-b", "spearman": "Spearman's rho"}


@dataclass(frozen=True)
class _Part:
    """A league's panels.

    Attributes:
        league: its name.
        curves: a panel each.
        reference: drawn dashed in every panel but its own.
        agreement: how far the teachers' order is that of the whole league, over the same x.
    """

    league: str
    curves: list[Curve]
    reference: Curve | None = None
    agreement: tuple[Curve, ...] = ()

    @property
    def height(self) -> float:
        return _HEAD + facets_height(len(self.curves)) + (_AGREEMENT if self.agreement else 0.0) + _GAP


def teaching_curve(metrics: pa.Table) -> str:
    """The students' accuracy after every round, a small panel per teacher and control arm.

    Args:
        metrics: table of contract `metrics`; rows of metric p, slice kind "overall" are read.

    Returns:
        SVG. A round whose p is unknown is a gap, and the caption says why.
    """
    title = "The students' accuracy from round to round"
    wanted = pc.and_(pc.equal(metrics["slice_kind"], "overall"), pc.equal(metrics["metric"], "p"))
    rows = in_order(metrics.filter(wanted).to_pylist(), "league", "arm", "teacher", "round")
    parts = []
    for league, part in by_league(rows).items():
        units: dict[tuple[str, str], list[Row]] = {}
        for row in _in_order(part):
            units.setdefault((row["arm"], row["teacher"]), []).append(row)
        curves = {
            unit: _curve(row_name(some[0]), some, "round", control=unit[0] != "taught")
            for unit, some in units.items()
        }
        sham = next((curve for (arm, _), curve in curves.items() if arm == "sham"), None)
        parts.append(_Part(league, list(curves.values()), sham))
    with style():
        if not rows:
            return nothing_to_show(title, "no teacher has been rated")
        caption = _caption(rows, "Round 0 is the blind answer, before any teaching.")
        caption += unknown(
            (f"{row_name(row)} (round {row['round']})", row["status"], row["reason"]) for row in rows
        )
        legend = [sign("teacher"), shade("range of all teachers")]
        if any(curve.control for part in parts for curve in part.curves):
            legend.append(sign("control arm", VERMILLION, "s"))
        if any(part.reference for part in parts):
            legend.append(sign("sham: neutral words", SOFT, "", line="--"))
        return _sheet(title, parts, caption, legend, ("round of teaching", "right answers, %"))


def by_round(ablations: pa.Table, metric: str = "CA") -> str:
    """A metric after every round with the teacher's rank in it, a small panel per teacher.

    Args:
        ablations: table of contract `ablations`; rows of ablation "rounds" are read.
        metric: what is drawn.

    Returns:
        SVG.
    """
    title = f"{metric} and the teachers' ranks by number of rounds"
    rows = in_order(ablations.to_pylist(), "league", "teacher", "round")
    rows = [row for row in rows if (row["ablation"], row["metric"]) == ("rounds", metric)]
    parts = [
        _Part(
            league,
            [_curve(name, some, "round", texts=_ranks(some)) for name, some in _by_teacher(part, "round")],
        )
        for league, part in by_league(rows).items()
    ]
    with style():
        if not rows:
            return nothing_to_show(title, "the league has not been rated round by round")
        caption = _caption(rows, "Numbers: the teacher's rank after that round, 1 the best.")
        caption += unknown(
            (f"{row['teacher']} (round {row['round']})", row["status"], row["reason"]) for row in rows
        )
        legend = [sign("teacher, with its rank"), shade("range of all teachers")]
        return _sheet(title, parts, caption, legend, ("rounds of teaching", f"{metric}, percentage points"))


def convergence(ablations: pa.Table, agreement: pa.Table, metric: str = "CA") -> str:
    """A metric, and the agreement of its order with the whole league's, over the share of items that was used.

    Args:
        ablations: table of contract `ablations`; rows of ablations "cumulative" and "full" are read.
        agreement: table of contract `ablation_agreement`; rows of ablation "cumulative" are read.
        metric: what is drawn.

    Returns:
        SVG. The share of a setting is that of the items counted in `ablations`.
    """
    title = f"How many items it takes until {metric} and the order settle"
    rows, whole = _with_shares(ablations, metric)
    shares: dict[tuple[str, str], float] = {}
    for row in rows:
        key = (row["league"], row["setting"])
        shares[key] = max(row["share"], shares.get(key, 0.0))
    agreed = [
        row | {"share": shares[row["league"], row["setting"]]}
        for row in in_order(agreement.to_pylist(), "league", "setting")
        if (row["ablation"], row["metric"]) == ("cumulative", metric)
        and (row["league"], row["setting"]) in shares
    ]
    parts = []
    for league, part in by_league(rows).items():
        curves = [
            _curve(name, some, "share", level=whole[league, name]["value"])
            for name, some in _by_teacher(part, "share")
        ]
        parts.append(_Part(league, curves, agreement=_agreement(league, agreed)))
    with style():
        if not rows:
            return nothing_to_show(title, "no samples of growing size have been rated")
        caption = _caption(rows, "Dashed: all items.")
        found = [(f"{row['teacher']} ({row['setting']})", row["status"], row["reason"]) for row in rows]
        found += [(f"agreement ({row['setting']})", row["status"], row["reason"]) for row in agreed]
        legend = [sign("teacher"), shade("range of all teachers"), sign("all items", INK, "", line="--")]
        labels = ("items used, % of the league's", f"{metric}, percentage points")
        return _sheet(title, parts, caption + unknown(found), legend, labels)


def _in_order(rows: Sequence[Row]) -> list[Row]:
    """Rows of metric p: teachers first, those whose students end highest on top, then the control arms."""
    last = {(row["arm"], row["teacher"]): row for row in sorted(rows, key=lambda row: row["round"])}

    def place(row: Row) -> tuple[Any, ...]:
        league, control, arm, *_ = board_order(row | {"rank": None})
        end = last[row["arm"], row["teacher"]]["value"]
        return league, control, arm, end is None, -(end or 0.0), row["teacher"], row["round"]

    return sorted(rows, key=place)


def _curve(name: str, rows: Sequence[Row], x: str, *, level: float | None = None, **more: Any) -> Curve:
    """Rows as a curve in percent."""

    def percent(column: str) -> list[float | None]:
        return [None if row[column] is None else 100 * row[column] for row in rows]

    places = [float(row[x]) for row in rows]
    drawn = None if level is None else 100 * level
    return Curve(name, places, percent("value"), percent("ci_low"), percent("ci_high"), level=drawn, **more)


def _ranks(rows: Sequence[Row]) -> list[str]:
    return ["" if row["rank"] is None else str(row["rank"]) for row in rows]


def _by_teacher(rows: Sequence[Row], x: str) -> list[tuple[str, list[Row]]]:
    """Rows of each teacher in the order of x; the best at the end first, those without a value last."""
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["teacher"], row[x])):
        found.setdefault(row["teacher"], []).append(row)

    def place(item: tuple[str, list[Row]]) -> tuple[bool, float, str]:
        value = item[1][-1]["value"]
        return value is None, -(value or 0.0), item[0]

    return sorted(found.items(), key=place)


def _with_shares(ablations: pa.Table, metric: str) -> tuple[list[Row], dict[tuple[str, str], Row]]:
    """Rows of growing samples with their `share` of the items in percent, and the whole league's by teacher."""
    rows = in_order(ablations.to_pylist(), "league", "setting", "teacher")
    rows = [row for row in rows if row["metric"] == metric]
    whole = {(row["league"], row["teacher"]): row for row in rows if row["ablation"] == "full"}
    samples = []
    for row in rows:
        full = whole.get((row["league"], row["teacher"]))
        if row["ablation"] == "cumulative" and full is not None and full["n_items"]:
            samples.append(row | {"share": 100 * row["n_items"] / full["n_items"]})
    return samples, whole


def _agreement(league: str, rows: Sequence[Row]) -> tuple[Curve, ...]:
    mine = sorted((row for row in rows if row["league"] == league), key=lambda row: row["share"])
    if not mine:
        return ()
    return tuple(
        Curve(
            title,
            [row["share"] for row in mine],
            [row[name] for row in mine],
            [row[f"{name}_ci_low"] for row in mine],
            [row[f"{name}_ci_high"] for row in mine],
        )
        for name, title in _COEFFICIENTS.items()
    )


def _caption(rows: Sequence[Row], words: str) -> list[str]:
    found = [f"League {league}. {sizes(part)}" for league, part in by_league(rows).items()]
    return [*found, f"{intervals(rows, 'Upright lines')} {words}"]


def _about(parts: Sequence[_Part]) -> list[str]:
    lines = []
    for part in parts:
        for curve in (*part.curves, *part.agreement):
            values = [
                f"{x:g}: {'unknown' if value is None else f'{value:.3g}'}"
                for x, value in zip(curve.x, curve.value, strict=True)
            ]
            lines.append(f"{part.league}, {curve.name}: {', '.join(values)}.")
    return lines


def _sheet(
    title: str,
    parts: Sequence[_Part],
    caption: Sequence[str],
    legend: Sequence[Artist],
    labels: tuple[str, str],
) -> str:
    """All leagues below one another."""
    sheet = Sheet(title, sum(part.height for part in parts), caption, _about(parts), legend)
    top = 0.0
    for part in parts:
        sheet.heading(f"League {part.league}", top)
        below = top + _HEAD
        if part.agreement:
            _draw_agreement(sheet, below, part.agreement, labels[0])
            below += _AGREEMENT
        facets(sheet, below, part.curves, x_label=labels[0], y_label=labels[1], reference=part.reference)
        top += part.height
    return sheet.svg()


def _draw_agreement(sheet: Sheet, top: float, curves: Sequence[Curve], x_label: str) -> None:
    """How far a sample orders the teachers as all items do, a panel per coefficient."""
    left, between = 0.62, 0.55
    width = (WIDTH - MARGIN - left - between) / len(curves)
    lows = [end for curve in curves for end in (*curve.value, *curve.low) if end is not None]
    for n, curve in enumerate(curves):
        ax = sheet.axes(left + n * (width + between), top + 0.2, width, 1.2)
        curve_axes(ax, curve, (min([0.0, *lows]) - 0.05, 1.08))
        ax.set_title(f"{curve.name} with the order by all items", size=8, loc="left", pad=3, weight="bold")
        ax.set_xlabel(x_label)
