"""Curves, each in a small panel of its own: no colour has to tell one line from thirty others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from magister.plots._sheet import MARGIN, WIDTH, Sheet
from magister.plots._style import BLUE, FAINT, INK, SHADE, SMALL, SOFT, VERMILLION, named

COLUMNS = 4
_LEFT, _BETWEEN, _PANEL, _PITCH = 0.62, 0.16, 1.05, 1.42
AXIS = 0.42
_NAME_WIDTH = 24
# Places of x that are all named.
_NAMED = 7


@dataclass(frozen=True)
class Curve:
    """Values over x; None where one is unknown, which leaves a gap.

    Attributes:
        name: whose curve.
        x: places.
        value: in the units of the axis.
        low: lower ends, None where there is no interval.
        high: upper ends.
        control: of a control arm.
        texts: words above the points.
        level: a value to compare with, drawn across.
    """

    name: str
    x: Sequence[float]
    value: Sequence[float | None]
    low: Sequence[float | None]
    high: Sequence[float | None]
    control: bool = False
    texts: Sequence[str] = field(default=())
    level: float | None = None


def facets_height(curves: int) -> float:
    """Height of the panels of some curves, the axis below included."""
    return -(-curves // COLUMNS) * _PITCH + AXIS


def facets(
    sheet: Sheet,
    top: float,
    curves: Sequence[Curve],
    *,
    x_label: str,
    y_label: str,
    reference: Curve | None = None,
) -> None:
    """Draw the curves side by side on one scale.

    Args:
        sheet: where.
        top: of the first row of panels.
        curves: one per panel.
        x_label: below the panels.
        y_label: left of the panels.
        reference: a curve drawn dashed in every panel but its own.
    """
    limits, band = _limits(curves), _range(curves)
    ticks = sorted({x for curve in curves for x in curve.x})
    width = (WIDTH - MARGIN - _LEFT - (COLUMNS - 1) * _BETWEEN) / COLUMNS
    for n, curve in enumerate(curves):
        line, column = divmod(n, COLUMNS)
        ax = sheet.axes(_LEFT + column * (width + _BETWEEN), top + line * _PITCH + 0.2, width, _PANEL)
        if band and not curve.control:
            ax.fill_between(band[0], band[1], band[2], color=SHADE, linewidth=0, zorder=0)
        if reference is not None and reference is not curve:
            _line(
                ax, reference.x, reference.value, color=SOFT, linewidth=1.0, linestyle=(0, (3, 2)), zorder=2
            )
        if curve.level is not None:
            ax.axhline(curve.level, color=INK, linewidth=0.9, linestyle=(0, (5, 2)), zorder=2)
        curve_axes(ax, curve, limits, ticks)
        ax.tick_params(axis="y", labelleft=column == 0)
        # The lowest panel of each column names the places.
        ax.tick_params(axis="x", labelbottom=n + COLUMNS >= len(curves))
        ax.set_title(named(curve.name, _NAME_WIDTH), size=SMALL, loc="left", pad=3, weight="bold")
    _labels(sheet, top, -(-len(curves) // COLUMNS), x_label, y_label)


def curve_axes(ax: Axes, curve: Curve, limits: tuple[float, float], ticks: Sequence[float] = ()) -> None:
    """One curve with its intervals.

    Args:
        ax: its panel.
        curve: what is drawn.
        limits: of y.
        ticks: places of x of all panels that share the scale; those of the curve by default.
    """
    places = list(ticks) or sorted(curve.x)
    pad = 0.06 * (max(places) - min(places)) or 0.5
    ax.set_xlim(min(places) - pad, max(places) + pad)
    ax.set_ylim(*limits)
    if len(places) <= _NAMED and all(place == int(place) for place in places):
        ax.set_xticks(places, [f"{place:g}" for place in places])
    else:
        ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    if limits[0] < 0 < limits[1]:
        ax.axhline(0, color=SOFT, linewidth=0.8, zorder=1)
    ax.tick_params(length=2.5, pad=2)
    _draw(ax, curve)


def _draw(ax: Axes, curve: Curve) -> None:
    colour, marker = (VERMILLION, "s") if curve.control else (BLUE, "o")
    for x, lower, upper in zip(curve.x, curve.low, curve.high, strict=True):
        if lower is not None and upper is not None:
            ax.plot([x, x], [lower, upper], color=colour, linewidth=1.3, solid_capstyle="butt", zorder=3)
    _line(ax, curve.x, curve.value, color=colour, marker=marker, markersize=4, zorder=4)
    if not any(value is not None for value in curve.value):
        ax.text(
            0.5, 0.5, "unknown", transform=ax.transAxes, size=SMALL, color=SOFT, ha="center", style="italic"
        )
    for x, value, upper, text in zip(curve.x, curve.value, curve.high, curve.texts, strict=False):
        if value is not None and text:
            ax.annotate(
                text,
                (x, value if upper is None else upper),
                (0, 2),
                textcoords="offset points",
                size=SMALL - 1,
                ha="center",
                va="bottom",
            )


def _line(ax: Axes, x: Sequence[float], value: Sequence[float | None], **how: object) -> None:
    numbers = np.array([np.nan if number is None else number for number in value], dtype=np.float64)
    ax.plot(np.asarray(x, dtype=np.float64), numbers, **how)  # type: ignore[arg-type]


def _limits(curves: Sequence[Curve]) -> tuple[float, float]:
    """Limits of y that hold every value, interval and level, with room for words above."""
    ends = [
        end
        for curve in curves
        for end in (*curve.value, *curve.low, *curve.high, curve.level)
        if end is not None
    ] or [0.0, 1.0]
    low, high = min(ends), max(ends)
    pad = max(0.08 * (high - low), 0.5)
    return low - pad, high + pad * (2.5 if any(any(curve.texts) for curve in curves) else 1.0)


def _range(curves: Sequence[Curve]) -> tuple[list[float], list[float], list[float]] | None:
    """Least and greatest value of all teachers at each place."""
    found: dict[float, list[float]] = {}
    teachers = [curve for curve in curves if not curve.control]
    for curve in teachers:
        for x, value in zip(curve.x, curve.value, strict=True):
            if value is not None:
                found.setdefault(x, []).append(value)
    if len(teachers) < 2 or not found:
        return None
    places = sorted(found)
    return places, [min(found[x]) for x in places], [max(found[x]) for x in places]


def _labels(sheet: Sheet, top: float, rows: int, x_label: str, y_label: str) -> None:
    """One label for all panels below, one at the side."""
    ax = sheet.axes(_LEFT, top + 0.2, WIDTH - MARGIN - _LEFT, (rows - 1) * _PITCH + _PANEL)
    ax.set_axis_off()
    ax.text(
        0.5,
        -0.28 / ((rows - 1) * _PITCH + _PANEL),
        x_label,
        transform=ax.transAxes,
        size=SMALL,
        ha="center",
        va="top",
    )
    ax.text(
        -0.47 / (WIDTH - MARGIN - _LEFT), 0.5, y_label, transform=ax.transAxes, size=SMALL, ha="center", va="center",
        rotation=90,
    )  # fmt: skip
