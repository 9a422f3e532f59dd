"""A league with something left out, a row per teacher."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from magister.plots._notes import Row, by_league, in_order, in_words, intervals, sizes, unknown
from magister.plots._rows import LABELS, ROW, Bar, note_above, rows_axes, shade, sign, value_axis
from magister.plots._sheet import MARGIN, WIDTH, Sheet, nothing_to_show
from magister.plots._style import GREEN, INK, SHADE, VERMILLION, named, points, shown, style

_AXIS, _HEAD, _LINE, _GAP = 0.42, 0.24, 0.17, 0.18
_LEFT = MARGIN + LABELS
_TITLES = {"leave_one_student": "without one student", "leave_one_dataset": "without one data set"}
_SIGNS = {"leave_one_student": (VERMILLION, "^"), "leave_one_dataset": (GREEN, "s")}
# Settings of one ablation whose intervals still fit into a row.
_DRAWN = 6


def _bar(row: Row, value: str, part: str = "") -> Bar:
    """A value of a row with its interval, in percentage points."""
    return Bar(row[value], row[f"{part}ci_low"], row[f"{part}ci_high"]).scaled(100)


def _ordered(rows: Sequence[Row], value: str) -> list[str]:
    """Teachers by their largest value, those without one last."""
    best: dict[str, float] = {}
    for row in rows:
        known = -np.inf if row[value] is None else row[value]
        best[row["teacher"]] = max(known, best.get(row["teacher"], -np.inf))
    return sorted(best, key=lambda name: (-best[name], name))


def _columns(number: int) -> float:
    """Width of each of some panels beside one another."""
    return (WIDTH - MARGIN - _LEFT - (number - 1) * 0.16) / number


def leave_one_out(ablations: pa.Table, metric: str = "CA") -> str:
    """A metric without one student and without one data set, beside the whole league's.

    Args:
        ablations: table of contract `ablations`; rows of ablations "leave_one_student", "leave_one_dataset" and
            "full" are read.
        metric: what is drawn.

    Returns:
        SVG, a row per teacher, a column per ablation.
    """
    title = f"What one student or one data set does to {metric}"
    rows = in_order(ablations.to_pylist(), "league", "ablation", "setting", "teacher")
    rows = [row for row in rows if row["metric"] == metric]
    left_out = [row for row in rows if row["ablation"] in _SIGNS]
    whole = {(row["league"], row["teacher"]): row for row in rows if row["ablation"] == "full"}
    with style():
        if not left_out:
            return nothing_to_show(title, "nothing has been left out")
        parts = by_league(left_out)
        # A league is as large as it is whole; without one student there is one less.
        full = by_league(whole.values())
        caption = [f"League {league}. {sizes(full.get(league, part))}" for league, part in parts.items()]
        caption.append(
            f"{intervals(rows)} Of more than {_DRAWN} settings only the values are drawn; their intervals are in the "
            "table of the ablations."
        )
        caption += unknown(
            (f"{row['teacher']} ({row['setting']})", row["status"], row["reason"]) for row in left_out
        )
        layouts = [_LeftOut(league, part, whole) for league, part in parts.items()]
        legend: list[Artist] = [shade("whole league, with its interval")]
        legend += [
            sign(_TITLES[name], *_SIGNS[name]) for name in _SIGNS if any(name in it.kinds for it in layouts)
        ]
        about = [
            in_words(
                f"{row['league']}, {row['teacher']}, without {row['setting']}",
                row,
                "value",
                "ci_low",
                "ci_high",
            )
            for row in left_out
        ]
        sheet = Sheet(title, sum(it.height for it in layouts), caption, about, legend)
        top = 0.0
        for it in layouts:
            it.draw(sheet, top, metric)
            top += it.height
        return sheet.svg()


class _LeftOut:
    """A league's panels."""

    def __init__(self, league: str, rows: Sequence[Row], whole: dict[tuple[str, str], Row]) -> None:
        self.league = league
        self.kinds = [name for name in _SIGNS if any(row["ablation"] == name for row in rows)]
        self.settings = {
            kind: sorted({row["setting"] for row in rows if row["ablation"] == kind}) for kind in self.kinds
        }
        self.rows = {(row["ablation"], row["setting"], row["teacher"]): row for row in rows}
        self.whole = {name: row for (of, name), row in whole.items() if of == league}
        known = list(self.whole.values())
        named = {row["teacher"] for row in rows}
        self.teachers = [name for name in _ordered(known, "value") if name in named]
        self.teachers += sorted(named - set(self.teachers))
        most = max(min(len(settings), _DRAWN) for settings in self.settings.values())
        self.row = max(ROW, 0.085 * most + 0.09)
        self.height = 2 * _HEAD + _LINE + self.row * len(self.teachers) + _AXIS + _GAP

    def draw(self, sheet: Sheet, top: float, metric: str) -> None:
        sheet.heading(f"League {self.league}", top)
        width = _columns(len(self.kinds))
        bars = [_bar(row, "value") for row in (*self.rows.values(), *self.whole.values())]
        for n, kind in enumerate(self.kinds):
            left = _LEFT + n * (width + 0.16)
            sheet.heading(_TITLES[kind], top + _HEAD, left)
            ax = rows_axes(
                sheet, self.teachers, top + 2 * _HEAD + _LINE, left, width, self.row, labelled=n == 0
            )
            note_above(ax, shown(self._farthest(kind), int(width / 0.07)))
            value_axis(ax, f"{metric}, percentage points", bars, ticks=5)
            for y, teacher in enumerate(self.teachers):
                self._draw_whole(ax, y, teacher)
                self._draw_settings(ax, y, teacher, kind)

    def _draw_whole(self, ax: Axes, y: int, teacher: str) -> None:
        bar = _bar(self.whole[teacher], "value") if teacher in self.whole else Bar(None)
        if bar.low is not None and bar.high is not None:
            ax.fill_betweenx([y - 0.42, y + 0.42], bar.low, bar.high, color=SHADE, linewidth=0, zorder=1)
        if bar.value is not None:
            ax.plot([bar.value, bar.value], [y - 0.42, y + 0.42], color=INK, linewidth=1.2, zorder=2)

    def _draw_settings(self, ax: Axes, y: int, teacher: str, kind: str) -> None:
        colour, marker = _SIGNS[kind]
        settings = self.settings[kind]
        few = len(settings) <= _DRAWN
        offsets = (
            np.linspace(-0.3, 0.3, len(settings)) if few and len(settings) > 1 else np.zeros(len(settings))
        )
        for setting, offset in zip(settings, offsets.tolist(), strict=True):
            row = self.rows.get((kind, setting, teacher))
            if row is None:
                continue
            bar = _bar(row, "value")
            if bar.value is None:
                continue
            if few and bar.low is not None and bar.high is not None:
                ax.plot([bar.low, bar.high], [y + offset] * 2, color=colour, linewidth=0.9, zorder=3)
            ax.plot(
                [bar.value],
                [y + offset],
                marker=marker,
                color=colour,
                markersize=3.6,
                linestyle="none",
                zorder=4,
            )

    def _farthest(self, kind: str) -> str:
        """Where leaving something out changes most."""
        changes = []
        for (ablation, setting, teacher), row in self.rows.items():
            whole = self.whole.get(teacher)
            if ablation == kind and row["value"] is not None and whole and whole["value"] is not None:
                changes.append(
                    (-abs(row["value"] - whole["value"]), setting, teacher, row["value"] - whole["value"])
                )
        if not changes:
            return "nothing to compare"
        _, setting, _, change = min(changes)
        return f"largest change {points(change)}: without {named(setting, 18)}"
