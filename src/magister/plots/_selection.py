"""How soon the first comparisons of an arena rank its models as all of them do."""

from __future__ import annotations

import pyarrow as pa

from magister.plots._facets import Curve, facets, facets_height
from magister.plots._notes import Row, in_order, span, unknown
from magister.plots._rows import shade, sign
from magister.plots._sheet import Sheet, nothing_to_show
from magister.plots._style import SOFT, VERMILLION, style

_HEAD, _GAP = 0.24, 0.16


def selection_curves(ablation: pa.Table, league: str) -> str:
    """Pairs of models ordered as by all comparisons, over the comparisons per pair: a panel per way of selecting.

    Args:
        ablation: table of contract `arena_ablation`; rows of measure `pair_agreement` are read.
        league: whose table it is.

    Returns:
        SVG. Random draws are dashed in every other panel; what is unknown is a gap, and the caption says why.
    """
    title = "How few comparisons order the models as all of them do"
    rows = in_order(ablation.to_pylist(), "scenario", "method", "lam", "k")
    rows = [row for row in rows if row["measure"] == "pair_agreement"]
    scenarios = {
        name: [row for row in rows if row["scenario"] == name] for name in {r["scenario"] for r in rows}
    }
    with style():
        known = {
            name: some
            for name, some in sorted(scenarios.items())
            if any(r["value"] is not None for r in some)
        }
        if not known:
            reasons = sorted({row["reason"] for row in rows}) or ["no scenario has been asked"]
            return nothing_to_show(title, reasons[0])
        curves = {name: _curves(some) for name, some in known.items()}
        heights = {name: _HEAD + facets_height(len(some)) + _GAP for name, some in curves.items()}
        legend = [
            sign("selected"),
            shade("range of all selections"),
            sign("random draws", VERMILLION, "s"),
            sign("the same, beside a selection", SOFT, "", line="--"),
        ]
        sheet = Sheet(
            title, sum(heights.values()), _caption(league, scenarios), _about(league, curves), legend
        )
        top = 0.0
        for name, some in curves.items():
            sheet.heading(f"League {league}, scenario {name}", top)
            reference = next((curve for curve in some if curve.control), None)
            facets(
                sheet,
                top + _HEAD,
                some,
                x_label="comparisons per pair of models",
                y_label="pairs in order, %",
                reference=reference,
            )
            top += heights[name]
        return sheet.svg()


def _way(row: Row) -> str:
    """How a way of selecting is called."""
    return "random draws" if row["method"] == "random" else f"{row['method']} (lambda {row['lam']:g})"


def _curves(rows: list[Row]) -> list[Curve]:
    """A curve per way, random draws last."""
    ways: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["method"] == "random"):
        ways.setdefault(_way(row), []).append(row)

    def percent(some: list[Row], column: str) -> list[float | None]:
        return [None if row[column] is None else 100 * row[column] for row in some]

    return [
        Curve(
            name,
            [float(row["k"]) for row in some],
            percent(some, "value"),
            percent(some, "ci_low"),
            percent(some, "ci_high"),
            control=some[0]["method"] == "random",
        )
        for name, some in ways.items()
    ]


def _caption(league: str, scenarios: dict[str, list[Row]]) -> list[str]:
    lines = []
    rows = [row for name in sorted(scenarios) for row in scenarios[name]]
    for name in sorted(scenarios):
        some = scenarios[name]
        lines.append(
            f"League {league}, scenario {name}. n: {span(some, 'n_models')} models, {span(some, 'n_instructions')} "
            f"instructions with a gold value, {span(some, 'n')} votes of {span(some, 'n_reference')} by the answer key."
        )
    one = rows[0]
    draws = max(row["draws"] for row in rows)
    lines.append(
        f"Upright lines: {100 * one['level']:g} % intervals, {one['resamples']} resamples of the votes within each "
        f"pair (seed {one['seed']}); the selection and the order by all votes are fixed. Random: mean of {draws} draws."
    )
    return lines + unknown(
        (f"{row['scenario']}: {_way(row)} at {row['k']}", row["status"], row["reason"]) for row in rows
    )


def _about(league: str, curves: dict[str, list[Curve]]) -> list[str]:
    lines = []
    for name, some in curves.items():
        for curve in some:
            values = ", ".join(
                f"{x:g}: {'unknown' if value is None else f'{value:.3g}'}"
                for x, value in zip(curve.x, curve.value, strict=True)
            )
            lines.append(f"{league}, {name}, {curve.name}: {values}.")
    return lines
