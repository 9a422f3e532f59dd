"""Pictures of a diagnosis as curves and points: items, and the number of attributes."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from magister.contracts.diagnosis_tables import K_MEASURES
from magister.display import counted
from magister.plots._facets import Curve, curve_axes
from magister.plots._notes import Row, in_order, unknown
from magister.plots._rows import sign
from magister.plots._sheet import MARGIN, WIDTH, Sheet, nothing_to_show
from magister.plots._style import BLUE, FAINT, INK, SMALL, SOFT, VERMILLION, named, style

MOST_BARS = 60
"""Items whose errors are drawn; of more they would hide one another."""
_WORST = 8
_MOST_SAID = 60
_HEAD, _PANEL, _AXIS, _LEFT = 0.24, 4.2, 0.5, 0.62
_K_PANEL, _K_PITCH = 1.35, 2.05
_MEASURES = {
    "stability": "stability of clusters (share together)",
    "smallest": "items of the smallest cluster",
    "silhouette": "silhouette",
    "held_out_loglik": "held-out log-likelihood a response",
}


def item_plot(items: pa.Table, study: str) -> str:
    """Guess and 1 - slip of every item.

    Args:
        items: table of contract `item_profiles`.
        study: whose table it is.

    Returns:
        SVG. An item on the diagonal tells nothing of mastery; those nearest to it are named.
    """
    title = "What items tell: P(right) of models with and without what is needed"
    rows = in_order(items.to_pylist(), "item_id")
    with style():
        if not rows:
            return nothing_to_show(title, "no item has been fitted")
        # Equal items in the order of their names.
        worst = sorted(rows, key=lambda row: (row["discrimination"], row["item_id"]))[:_WORST]
        bars = len(rows) <= MOST_BARS
        caption = [
            f"Study {study}. {counted(len(rows), 'item')}. "
            + ("Lines: one standard error to each side." if bars else "Errors are in the table."),
            "The nearest to the diagonal: "
            + "; ".join(
                f"{number} {named(row['item_id'], 30)} ({row['discrimination']:.2f})"
                for number, row in enumerate(worst, 1)
            )
            + ".",
        ]
        pooled = sum(row["pooled"] for row in rows)
        if pooled:
            caption.append(f"{counted(pooled, 'item')} held at the least distance of c and g.")
        caption += unknown((row["item_id"], row["status"], row["reason"]) for row in rows)
        about = [
            f"{study}, {row['item_id']}: guess {row['guess']:.2f}, slip {row['slip']:.2f}."
            for row in rows[:_MOST_SAID]
        ]
        legend = [sign("item", BLUE, line="none")]
        if pooled:
            legend.append(sign("held at the least distance", VERMILLION, "s", full=False, line="none"))
        sheet = Sheet(title, _HEAD + _PANEL + _AXIS, caption, about, legend)
        sheet.heading(f"Study {study}", 0.0)
        ax = sheet.axes(_LEFT, _HEAD, _PANEL * 1.2, _PANEL)
        ax.plot([0, 1], [0, 1], color=SOFT, linewidth=0.9, linestyle=(0, (4, 3)))
        for held, colour, marker in ((False, BLUE, "o"), (True, VERMILLION, "s")):
            some = [row for row in rows if row["pooled"] == held]
            if not some:
                continue
            xs, ys = [row["guess"] for row in some], [1 - row["slip"] for row in some]
            if bars:
                for x, y, row in zip(xs, ys, some, strict=True):
                    for error, across in ((row["guess_se"], True), (row["slip_se"], False)):
                        if error is not None:
                            line = (
                                ([x - error, x + error], [y, y])
                                if across
                                else ([x, x], [y - error, y + error])
                            )
                            ax.plot(*line, color=colour, linewidth=0.8, alpha=0.5, zorder=2)
            face = "white" if held else colour
            ax.plot(
                xs,
                ys,
                marker=marker,
                color=colour,
                markerfacecolor=face,
                markersize=4,
                linestyle="none",
                zorder=3,
            )
        for number, row in enumerate(worst, 1):
            ax.annotate(
                str(number),
                (row["guess"], 1 - row["slip"]),
                (6, 4),
                textcoords="offset points",
                size=SMALL - 1,
                color=INK,
                zorder=4,
            )
        ax.set_xlim(-0.03, 1.03)
        ax.set_ylim(-0.03, 1.03)
        ax.grid(color=FAINT, linewidth=0.6)
        ax.set_xlabel("guess g: P(right) without all that is needed")
        ax.set_ylabel("c = 1 \N{MINUS SIGN} slip: P(right) with all of it", labelpad=2)
        return sheet.svg()


def k_curve(curve: pa.Table, study: str) -> str:
    """Measures over the number of attributes, a panel each; the chosen number is marked.

    Args:
        curve: table of contract `k_curve`.
        study: whose table it is.

    Returns:
        SVG. What is unknown is a gap, and the caption says why.
    """
    title = "How many attributes: what was measured at each number"
    rows = in_order(curve.to_pylist(), "measure", "k")
    with style():
        if not rows:
            return nothing_to_show(title, "the number of attributes was given")
        measures = [name for name in K_MEASURES if any(row["measure"] == name for row in rows)]
        chosen = sorted({row["k"] for row in rows if row["chosen"]})
        caption = [
            f"Study {study}. Chosen: {', '.join(map(str, chosen)) or 'none of these'} (dashed). "
            "Upright lines: intervals, where a measure has one."
        ]
        caption += unknown(
            (f"{_MEASURES[row['measure']]} at {row['k']}", row["status"], row["reason"])
            for row in rows
            if row["status"] == "not_computable"
        )
        about = [f"{study}, {_said(name, rows)}" for name in measures]
        sheet = Sheet(title, _HEAD + -(-len(measures) // 2) * _K_PITCH, caption, about)
        sheet.heading(f"Study {study}", 0.0)
        width = (WIDTH - MARGIN - 2 * _LEFT) / 2
        for n, name in enumerate(measures):
            some = [row for row in rows if row["measure"] == name]
            left, top = _LEFT + (n % 2) * (width + _LEFT), _HEAD + (n // 2) * _K_PITCH + 0.2
            ax = sheet.axes(left, top, width, _K_PANEL)
            ends = [
                row[part] for row in some for part in ("value", "ci_low", "ci_high") if row[part] is not None
            ]
            low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
            pad = 0.08 * (high - low) or 0.5
            value, ci_low, ci_high = ([row[part] for row in some] for part in ("value", "ci_low", "ci_high"))
            found = Curve(name, [float(row["k"]) for row in some], value, ci_low, ci_high)
            curve_axes(ax, found, (low - pad, high + pad))
            for k in chosen:
                ax.axvline(k, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
            ax.set_title(_MEASURES[name], size=SMALL, loc="left", pad=3, weight="bold")
            ax.set_xlabel("attributes")
        return sheet.svg()


def _said(measure: str, rows: Sequence[Row]) -> str:
    values = ", ".join(
        f"{row['k']}: {'unknown' if row['value'] is None else format(row['value'], '.3g')}"
        for row in rows
        if row["measure"] == measure
    )
    return f"{_MEASURES[measure]}: {values}."
