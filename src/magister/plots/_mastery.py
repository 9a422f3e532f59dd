"""Pictures of a diagnosis as matrices: models by attributes, and the Q-matrix before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from magister.display import counted
from magister.plots._notes import Row
from magister.plots._rows import LABELS
from magister.plots._sheet import MARGIN, WIDTH, Sheet, nothing_to_show
from magister.plots._style import BLUE, GREEN, INK, SMALL, VERMILLION, named, style

MOST_ROWS, MOST_COLUMNS = 40, 60
_ROW, _HEAD, _LETTER, _GAP = 0.17, 0.24, 0.066, 0.1
_LABEL_WIDTH, _NAME_WIDTH = 27, 22
VERDICTS = {
    "supported": "supported by the controls",
    "not_supported": "NOT SUPPORTED by the controls",
    "undetermined": "undetermined whether to be believed",
}
# What a cell shows besides its shade.
_STATES = {"mastered": "+", "not_mastered": "_", "undetermined": "d"}
_SIGN_SIZE = 4.0


@dataclass(frozen=True)
class _Cells:
    """A panel of shaded cells.

    Attributes:
        rows: names, R.
        columns: names, C.
        shade: 0..1, R x C; NaN is left white.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    shade: NDArray[np.float64]


def mastery_map(mastery: pa.Table, study: str) -> str:
    """Mastery of every attribute by every model, models that master most on top.

    Args:
        mastery: table of contract `mastery`.
        study: whose table it is.

    Returns:
        SVG. What is undetermined, or known from the prior alone, has a sign of its own. A study that the controls do
        not support is grey, and says so. Of many models some are shown, evenly by rank, with the
        mean of all below.
    """
    rows = mastery.to_pylist()
    with style():
        if not rows:
            return nothing_to_show("Mastery of attributes by models", "no model has been diagnosed")
        support = rows[0]["support"]
        title = f"Mastery of attributes by models: {VERDICTS[support]}"
        labels = {row["attribute"]: row["label"] for row in rows}
        attributes = sorted(labels)
        by_model: dict[str, dict[str, Row]] = {}
        for row in rows:
            by_model.setdefault(row["model"], {})[row["attribute"]] = row
        p = {model: [found[name]["p"] for name in attributes] for model, found in sorted(by_model.items())}
        order = sorted(p, key=lambda model: (-sum(p[model]), model))
        # From the first to the last: the first alone would master everything.
        places = np.linspace(0, len(order) - 1, min(len(order), MOST_ROWS)).round().astype(int)
        shown, across = [order[place] for place in places.tolist()], attributes[:MOST_COLUMNS]
        caption = [
            f"Study {study}. {counted(len(order), 'model')}, {counted(len(attributes), 'attribute')}. Darker: a higher "
            "posterior probability; mastered from 0.8, not up to 0.2. Dots: no answered item tells of the "
            "attribute, the shade is the prior's.",
            *_cut(len(order), MOST_ROWS, "models", "evenly from the highest mean to the lowest"),
            *_cut(len(attributes), MOST_COLUMNS, "attributes", "the first by name"),
        ]
        if support != "supported":
            caption.append(f"The controls of this study: {VERDICTS[support]}. See the board for the reasons.")
        about = [
            f"{study}, {model}: "
            + ", ".join(
                f"{by_model[model][name]['label']} {by_model[model][name]['p']:.2f}" for name in across
            )
            + "."
            for model in shown
        ]
        legend = [
            _sign("mastered", "+"),
            _sign("not mastered", "_"),
            _sign("undetermined", "d"),
            _sign("prior alone", "."),
        ]
        mean = np.mean([p[model] for model in order], axis=0)
        body = np.array([p[model] for model in shown] + [mean.tolist()])[:, : len(across)]
        names = [*shown, f"mean of {counted(len(order), 'model')}"]
        cells = _Cells(names, [labels[name] for name in across], body)
        height = _HEAD + _above(cells.columns) + _ROW * len(names) + _GAP
        sheet = Sheet(title, height, caption, about, legend)
        sheet.heading(f"Study {study}", 0.0)
        ax = _draw(
            sheet, _HEAD, cells, MARGIN + LABELS, WIDTH - 2 * MARGIN - LABELS, grey=support != "supported"
        )
        ax.axhline(len(shown) - 0.5, color=INK, linewidth=0.8)
        _mark_states(ax, [[by_model[model][name] for name in across] for model in shown])
        return sheet.svg()


def _mark_states(ax: Axes, cells: Sequence[Sequence[Row]]) -> None:
    places: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for y, line in enumerate(cells):
        for x, row in enumerate(line):
            marker = "." if row["basis"] == "prior" else _STATES[row["state"]]
            colour = "white" if row["p"] > 0.6 else INK
            places.setdefault((marker, colour), []).append((x, y))
    for (marker, colour), some in sorted(places.items()):
        xs, ys = zip(*some, strict=True)
        ax.plot(
            xs, ys, marker=marker, color=colour, markersize=_SIGN_SIZE, markeredgewidth=0.9, linestyle="none"
        )


def q_map(entries: pa.Table, study: str) -> str:
    """The Q-matrix before and after, items with most changes on top.

    Args:
        entries: table of contract `q_entries`.
        study: whose table it is.

    Returns:
        SVG, the prior beside the posterior; entries that were added or dropped are marked in the second.
    """
    title = "What items need: before and after the responses were seen"
    rows = entries.to_pylist()
    with style():
        if not rows:
            return nothing_to_show(title, "no Q-matrix has been fitted")
        attributes = sorted({row["attribute"] for row in rows})
        by_item: dict[str, dict[str, Row]] = {}
        for row in rows:
            by_item.setdefault(row["item_id"], {})[row["attribute"]] = row
        changed = {
            item: sum(row["pattern"] in ("added", "dropped") for row in found.values())
            for item, found in by_item.items()
        }
        order = sorted(by_item, key=lambda item: (-changed[item], item))
        # From the first to the last: the first alone would master everything.
        places = np.linspace(0, len(order) - 1, min(len(order), MOST_ROWS)).round().astype(int)
        shown, across = [order[place] for place in places.tolist()], attributes[:MOST_COLUMNS]
        counts = {name: sum(row["pattern"] == name for row in rows) for name in ("kept", "added", "dropped")}
        caption = [
            f"Study {study}. {counted(len(order), 'item')}, {counted(len(attributes), 'attribute')}; entries: "
            + ", ".join(f"{count} {name}" for name, count in counts.items())
            + f"; {counted(sum(count > 0 for count in changed.values()), 'item')} changed. Darker: a higher "
            "probability that the item needs the attribute; dots: entries of the reference.",
            *_cut(len(order), MOST_ROWS, "items", "those with most changes"),
            *_cut(len(attributes), MOST_COLUMNS, "attributes", "the first by name"),
        ]
        about = [
            f"{study}, {item}: "
            + (
                ", ".join(
                    f"{row['pattern']} {name} ({row['posterior']:.2f})"
                    for name, row in sorted(by_item[item].items())
                    if row["pattern"] != "absent"
                )
                or "nothing"
            )
            + "."
            for item in shown
        ]
        legend = [_sign("reference", "."), _sign("added", "P", GREEN), _sign("dropped", "x", VERMILLION)]
        height = _HEAD + _above(across) + _ROW * len(shown) + _GAP
        sheet = Sheet(title, height, caption, about, legend)
        left, between = MARGIN + LABELS, 0.3
        width = (WIDTH - MARGIN - left - between) / 2
        for n, (column, words) in enumerate((("prior", "before"), ("posterior", "after"))):
            start = left + n * (width + between)
            sheet.heading(words, 0.0, start)
            shade = np.array([[by_item[item][name][column] for name in across] for item in shown])
            ax = _draw(sheet, _HEAD, _Cells(shown, across, shade), start, width, labelled=n == 0)
            found = [[by_item[item][name] for name in across] for item in shown]
            _mark_entries(ax, found, after=n == 1)
        return sheet.svg()


def _mark_entries(ax: Axes, cells: Sequence[Sequence[Row]], *, after: bool) -> None:
    signs = {"added": ("P", GREEN), "dropped": ("x", VERMILLION)} if after else {}
    for pattern, (marker, colour) in signs.items():
        places = [
            (x, y) for y, line in enumerate(cells) for x, row in enumerate(line) if row["pattern"] == pattern
        ]
        if places:
            xs, ys = zip(*places, strict=True)
            ax.plot(
                xs, ys, marker=marker, color=colour, markersize=_SIGN_SIZE, markeredgecolor="white"
                if marker == "P" else colour, markeredgewidth=0.6 if marker == "P" else 1.2, linestyle="none",
            )  # fmt: skip
    if not after:
        places = [(x, y) for y, line in enumerate(cells) for x, row in enumerate(line) if row["reference"]]
        if places:
            xs, ys = zip(*places, strict=True)
            ax.plot(xs, ys, marker=".", color="white", markersize=_SIGN_SIZE, linestyle="none")


def _above(columns: Sequence[str]) -> float:
    """Room for the names of columns, which stand upright."""
    return 0.12 + _LETTER * max(len(named(name, _NAME_WIDTH)) for name in columns)


def _draw(
    sheet: Sheet,
    top: float,
    cells: _Cells,
    left: float,
    width: float,
    *,
    labelled: bool = True,
    grey: bool = False,
) -> Axes:
    """Shaded cells, names of columns above them."""
    count = len(cells.columns)
    # Few columns need not fill the sheet.
    width = min(width, max(0.3 * count, 1.0))
    ax = sheet.axes(left, top + _above(cells.columns), width, _ROW * len(cells.rows))
    ramp = LinearSegmentedColormap.from_list("ramp", ["#ffffff", "#3c3c3c" if grey else BLUE])
    edges = [np.arange(size + 1) - 0.5 for size in (count, len(cells.rows))]
    ax.pcolormesh(*edges, cells.shade, cmap=ramp, vmin=0, vmax=1, edgecolors="#d9d9d9", linewidth=0.3)
    ax.set_xlim(-0.5, count - 0.5)
    ax.set_ylim(len(cells.rows) - 0.5, -0.5)
    ax.xaxis.tick_top()
    size = SMALL if width / count >= 0.13 else SMALL - 2
    ax.set_xticks(range(count), [named(name, _NAME_WIDTH) for name in cells.columns], rotation=90, size=size)
    texts = [named(name, _LABEL_WIDTH) for name in cells.rows] if labelled else []
    ax.set_yticks(range(len(cells.rows)) if labelled else [], texts)
    ax.tick_params(length=0, pad=3)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    return ax


def _cut(count: int, most: int, what: str, which: str) -> list[str]:
    return [f"Shown: {most} of {count} {what}, {which}."] if count > most else []


def _sign(label: str, marker: str, colour: str = INK) -> Artist:
    return Line2D([], [], color=colour, marker=marker, linestyle="none", label=label)
