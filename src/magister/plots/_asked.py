"""A league asked in another way: what changes, a panel per setting and a row per teacher."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from magister.contracts.schemas import ASKED_ABLATIONS
from magister.plots._notes import Row, by_league, in_order, in_words, intervals, sizes, unknown
from magister.plots._rows import LABELS, ROW, Bar, draw_bar, note_above, rows_axes, sign, value_axis
from magister.plots._sheet import MARGIN, WIDTH, Sheet, nothing_to_show
from magister.plots._style import BLUE, SMALL, VERMILLION, points, shown, style

_AXIS, _HEAD, _LINE, _GAP, _BETWEEN = 0.55, 0.24, 0.17, 0.1, 0.16
_LEFT = MARGIN + LABELS
_SIDE = 0.62
_TITLES = {
    "more_rounds": "more rounds",
    "answer_revelation": "answer revealed",
    "prompts": "other prompts",
    "option_order": "other option order",
    "item_variants": "other form of the items",
}


@dataclass(frozen=True)
class _Panel:
    """One setting of an ablation in a league: its rows by teacher."""

    ablation: str
    setting: str
    rows: dict[str, Row]


@dataclass(frozen=True)
class _Look:
    """How the panels of a plot are drawn.

    Attributes:
        bars: what a row shows, for the limits of the axis.
        draw: draws a row at a height.
        label: of the axis.
        columns: panels beside one another.
        row: height of a row.
        side: room right of each panel.
    """

    bars: Callable[[Row], list[Bar]]
    draw: Callable[[Axes, int, Row], None]
    label: str
    columns: int
    row: float = ROW
    side: float = 0.0


def changes(ablations: pa.Table, metric: str = "CA") -> str:
    """What asking in another way changes, per teacher and setting.

    Args:
        ablations: table of contract `ablations`; rows of the ablations that ask the models again are read.
        metric: whose difference from the whole league is drawn.

    Returns:
        SVG, a panel per setting.
    """
    title = f"How {metric} changes when the league is asked in another way"
    rows = [row for row in _rows(ablations) if row["metric"] == metric and row["ablation"] in ASKED_ABLATIONS]
    with style():
        if not rows:
            return nothing_to_show(title, "the league has not been asked in another way")
        caption = [f"League {league}. {sizes(part)}" for league, part in by_league(rows).items()]
        caption.append(f"{intervals(rows)} Differences are paired: the same items, the same resamples.")
        caption += unknown(
            (f"{row['teacher']} ({row['setting']})", row["difference_status"], row["difference_reason"])
            for row in rows
        )
        legend = [sign("interval leaves out 0"), sign("interval holds 0", full=False)]
        if any(row["difference_status"] == "no_interval" for row in rows):
            legend.append(sign("no interval", marker="x", line="none"))

        def bar(row: Row) -> Bar:
            return _bar(row, "difference", "difference_")

        look = _Look(
            lambda row: [bar(row)],
            lambda ax, y, row: draw_bar(ax, y, bar(row), size=4.5),
            f"change of {metric}, points",
            columns=3,
        )
        return _grid(title, rows, "difference", look, caption, legend)


def contamination(table: pa.Table) -> str:
    """The change of AA beside that of CA when items are asked in another form.

    Args:
        table: table of contract `contamination`.

    Returns:
        SVG, a panel per setting. A teacher that knows items by heart loses AA and keeps CA.
    """
    title = "Who loses its own accuracy (AA), but not its effect (CA), on items in another form"
    rows = _rows(table)
    with style():
        if not rows:
            return nothing_to_show(title, "no items have been asked in another form")
        caption = [
            f"League {league}. {sizes(part, ('n_items', 'n_clusters'))}"
            for league, part in by_league(rows).items()
        ]
        caption.append(
            f"{intervals(rows)} Full signs: the interval leaves out 0. Right of each row: change of AA less CA's, "
            "* where its interval leaves out 0."
        )
        caption += unknown(
            (f"{row['teacher']} ({row['setting']})", row["status"], row["reason"]) for row in rows
        )
        legend = [sign("change of AA", VERMILLION, "o"), sign("change of CA", BLUE, "s")]

        def bars(row: Row) -> list[Bar]:
            return [_bar(row, name, f"{name}_") for name in ("aa_change", "ca_change")]

        def draw(ax: Axes, y: int, row: Row) -> None:
            own, effect = bars(row)
            if own.value is None and effect.value is None:
                draw_bar(ax, y, own)
                return
            for bar, offset, colour, marker in ((own, -0.19, VERMILLION, "o"), (effect, 0.19, BLUE, "s")):
                if bar.value is not None:
                    draw_bar(ax, y + offset, bar, colour, marker, 4.2)
            gap = _bar(row, "gap", "gap_")
            if gap.value is not None:
                text = f"{points(row['gap'])}{'*' if gap.apart else ''}"
                ax.text(1.02, y, text, transform=ax.get_yaxis_transform(), size=SMALL, va="center")

        look = _Look(bars, draw, "change, percentage points", columns=2, row=0.27, side=_SIDE)
        return _grid(title, rows, "gap", look, caption, legend)


def _rows(table: pa.Table) -> list[Row]:
    return in_order(table.to_pylist(), "league", "ablation", "setting", "teacher")


def _bar(row: Row, value: str, part: str) -> Bar:
    """A value of a row with its interval, in percentage points."""
    return Bar(row[value], row[f"{part}ci_low"], row[f"{part}ci_high"]).scaled(100)


def _panels(rows: Sequence[Row]) -> dict[str, list[_Panel]]:
    """The panels of each league, ablations in the order of the contract."""
    found: dict[tuple[str, int, str], dict[str, Row]] = {}
    for row in rows:
        key = (row["league"], ASKED_ABLATIONS.index(row["ablation"]), row["setting"])
        found.setdefault(key, {})[row["teacher"]] = row
    leagues: dict[str, list[_Panel]] = {}
    for league, place, setting in sorted(found):
        panel = _Panel(_TITLES[ASKED_ABLATIONS[place]], setting, found[league, place, setting])
        leagues.setdefault(league, []).append(panel)
    return leagues


def _grid(
    title: str, rows: Sequence[Row], value: str, look: _Look, caption: Sequence[str], legend: Sequence[Artist]
) -> str:
    """The panels of all leagues, beside and below one another on one scale per league."""
    about = [
        in_words(
            f"{row['league']}, {row['ablation']} {row['setting']}, {row['teacher']}",
            row,
            value,
            f"{value}_ci_low",
            f"{value}_ci_high",
        )
        for row in rows
    ]
    leagues = _panels(rows)
    teachers = {
        league: sorted({name for panel in panels for name in panel.rows})
        for league, panels in leagues.items()
    }
    line = {league: _HEAD + _LINE + look.row * len(teachers[league]) + _AXIS for league in leagues}
    heights = {
        league: _HEAD + -(-len(panels) // look.columns) * line[league] + _GAP
        for league, panels in leagues.items()
    }
    sheet = Sheet(title, sum(heights.values()), caption, about, legend)
    top = 0.0
    for league, panels in leagues.items():
        sheet.heading(f"League {league}", top)
        columns = min(look.columns, len(panels))
        pitch = (WIDTH - MARGIN - _LEFT + _BETWEEN) / columns
        width = pitch - _BETWEEN - look.side
        bars = [bar for panel in panels for row in panel.rows.values() for bar in look.bars(row)]
        for n, panel in enumerate(panels):
            below = top + _HEAD + (n // columns) * line[league]
            left = _LEFT + (n % columns) * pitch
            sheet.heading(panel.ablation, below, left)
            ax = rows_axes(
                sheet,
                teachers[league],
                below + _HEAD + _LINE,
                left,
                width,
                look.row,
                labelled=n % columns == 0,
            )
            note_above(ax, shown(panel.setting, int((pitch - _BETWEEN) / 0.07)))
            value_axis(ax, look.label, bars, ticks=4)
            for y, name in enumerate(teachers[league]):
                if name in panel.rows:
                    look.draw(ax, y, panel.rows[name])
        top += heights[league]
    return sheet.svg()
