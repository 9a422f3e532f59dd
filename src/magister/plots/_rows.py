"""Numbers with intervals below one another, a name a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from magister.plots._sheet import MARGIN, WIDTH, Sheet
from magister.plots._style import BLUE, FAINT, INK, SHADE, SMALL, SOFT, VERMILLION, named

ROW = 0.205
LABELS = 2.0
_BAND = "#f3f3f3"
_LABEL_WIDTH = 27


@dataclass(frozen=True)
class Bar:
    """A number with its interval; None where it is unknown.

    Attributes:
        value: in the units of the axis.
        low: lower end.
        high: upper end.
    """

    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def apart(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    def scaled(self, factor: float) -> Bar:
        """The same in other units."""
        value, low, high = (
            None if end is None else factor * end for end in (self.value, self.low, self.high)
        )
        return Bar(value, low, high)


def rows_axes(
    sheet: Sheet,
    labels: Sequence[str],
    top: float,
    left: float = MARGIN + LABELS,
    width: float = WIDTH - 2 * MARGIN - LABELS,
    row: float = ROW,
    labelled: bool = True,
) -> Axes:
    """A panel with a row per label, the first on top, every other one shaded."""
    ax = sheet.axes(left, top, width, row * len(labels))
    ax.set_ylim(len(labels) - 0.5, -0.5)
    texts = [named(label, _LABEL_WIDTH) for label in labels]
    ax.set_yticks(range(len(labels)) if labelled else [], texts if labelled else [])
    ax.tick_params(axis="y", length=0, pad=4)
    ax.spines["left"].set_visible(False)
    for n in range(1, len(labels), 2):
        ax.axhspan(n - 0.5, n + 0.5, color=_BAND, zorder=0, linewidth=0)
    return ax


def note_above(ax: Axes, text: str) -> None:
    """A line above a panel, below its heading."""
    ax.set_title(text, size=SMALL, loc="left", pad=3)


def value_axis(ax: Axes, label: str, bars: Iterable[Bar], zero: bool = True, ticks: int = 6) -> None:
    """Limits that show every bar, ticks with signs, and a line at 0."""
    ends = [end for bar in bars for end in (bar.value, bar.low, bar.high) if end is not None]
    ends += [0.0] if zero or not ends else []
    low, high = min(ends), max(ends)
    pad = max(0.06 * (high - low), 0.5)
    ax.set_xlim(low - pad, high + pad)
    ax.xaxis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
    ax.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:+g}".replace("-", "\u2212") if value else "0")
    )
    ax.set_xlabel(label)
    ax.grid(axis="x", color=FAINT, linewidth=0.6)
    if zero:
        ax.axvline(0, color=INK, linewidth=1.0, zorder=1)


def draw_bar(ax: Axes, y: float, bar: Bar, colour: str = BLUE, marker: str = "o", size: float = 5.5) -> None:
    """A bar in its row; full where its interval leaves out 0, a cross where it has none."""
    if bar.value is None:
        ax.text(
            0.01,
            y,
            "unknown",
            transform=ax.get_yaxis_transform(),
            size=SMALL,
            color=SOFT,
            va="center",
            style="italic",
        )
        return
    if bar.low is None or bar.high is None:
        ax.plot(
            [bar.value], [y], marker="x", color=colour, markersize=size, markeredgewidth=1.6, linestyle="none"
        )
        return
    ax.plot([bar.low, bar.high], [y, y], color=colour, linewidth=1.6, solid_capstyle="butt", zorder=2)
    ax.plot(
        [bar.value],
        [y],
        marker=marker,
        color=colour,
        markerfacecolor=colour if bar.apart else "white",
        markeredgewidth=1.3,
        markersize=size,
        linestyle="none",
        zorder=3,
    )


def side_notes(ax: Axes, notes: Sequence[str]) -> None:
    """A text right of each row."""
    for y, note in enumerate(notes):
        ax.text(1.015, y, note, transform=ax.get_yaxis_transform(), size=SMALL, va="center", color=INK)


Dash = Literal["-", "--", "none"]


def sign(label: str, colour: str = BLUE, marker: str = "o", full: bool = True, line: Dash = "-") -> Line2D:
    """A legend's entry."""
    return Line2D(
        [],
        [],
        color=colour,
        marker=marker,
        linestyle=line,
        markerfacecolor=colour if full else "white",
        markeredgewidth=1.3 if marker != "x" else 1.6,
        label=label,
    )


def shade(label: str) -> Patch:
    """A legend's entry for a grey area."""
    return Patch(facecolor=SHADE, edgecolor="none", label=label)


def forest_legend(control: bool, bare: bool) -> list[Line2D]:
    """What full, hollow and crossed signs mean, for those that occur."""
    found = [sign("interval leaves out 0"), sign("interval holds 0", full=False)]
    if control:
        found.append(sign("control arm", VERMILLION, "s"))
    if bare:
        found.append(sign("no interval", marker="x", line="none"))
    return found
