"""A league against an external board, a point per teacher."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from magister.display import counted
from magister.plots._notes import Row, intervals, sizes, unknown
from magister.plots._rows import sign
from magister.plots._sheet import MARGIN, WIDTH, Sheet, nothing_to_show
from magister.plots._style import BLUE, FAINT, SMALL, VERMILLION, named, plain, shown, signed, style

_METRICS = {"CA": (BLUE, "o", "CA, percentage points"), "AA": (VERMILLION, "s", "AA, % right")}
_HEAD, _PANEL, _AXIS, _GAP = 0.24, 2.6, 0.45, 0.2
_LEFT, _BETWEEN = 0.62, 0.62
_KEY_COLUMNS, _KEY_LINE, _KEY_WIDTH = 4, 0.16, 26
_Key = tuple[str, str, str, str]
_COEFFICIENTS = {"spearman": "Spearman", "kendall": "Kendall"}


def meta_scatter(board: pa.Table, names: pa.Table, meta: pa.Table) -> str:
    """CA and AA of the teachers against their scores on external boards.

    Args:
        board: table of contract `teaching_board`.
        names: table of contract `meta_names`; filtered to a league or a board, that alone is drawn.
        meta: table of contract `meta_evaluation`.

    Returns:
        SVG, two panels per league and board that have a teacher in common. Teachers are numbered; the key stands
        below.
    """
    title = "The teachers on boards of others"
    teachers = {(row["league"], row["teacher"]): row for row in board.to_pylist() if row["arm"] == "taught"}
    found: dict[tuple[str, str], list[Row]] = {}
    for row in sorted(names.to_pylist(), key=lambda row: (row["league"], row["board"], row["model"])):
        rated = teachers.get((row["league"], row["model"]))
        if row["status"] == "used" and rated is not None:
            found.setdefault((row["league"], row["board"]), []).append(rated | {"score": row["score"]})
    with style():
        if not found:
            reason = (
                "no teacher stands on an external board" if names.num_rows else "no external board is named"
            )
            return nothing_to_show(title, reason)
        numbers: dict[_Key, Row] = {
            (row["league"], row["board"], row["metric"], row["coefficient"]): row
            for row in meta.to_pylist()
            if row["against"] == "external"
        }
        heights = [
            _HEAD * 2 + _PANEL + _AXIS + _key_lines(rows) * _KEY_LINE + _GAP for rows in found.values()
        ]
        legend = [
            sign(f"{name} with its interval", colour, marker)
            for name, (colour, marker, _) in _METRICS.items()
        ]
        sheet = Sheet(title, sum(heights), _caption(found, numbers), _about(found), legend)
        top = 0.0
        for ((league, other), rows), height in zip(found.items(), heights, strict=True):
            sheet.heading(f"League {league}, board {other}", top)
            _draw(
                sheet,
                top + _HEAD,
                rows,
                other,
                {name: numbers.get((league, other, name, "spearman")) for name in _METRICS},
            )
            _key(sheet, top + 2 * _HEAD + _PANEL + _AXIS, rows)
            top += height
        return sheet.svg()


def _draw(sheet: Sheet, top: float, rows: Sequence[Row], other: str, measured: dict[str, Row | None]) -> None:
    width = (WIDTH - MARGIN - _LEFT - _BETWEEN) / len(_METRICS)
    for n, (metric, (colour, marker, label)) in enumerate(_METRICS.items()):
        left = _LEFT + n * (width + _BETWEEN)
        sheet.heading(_correlation(metric, measured[metric]), top, left, 48)
        ax = sheet.axes(left, top + _HEAD, width, _PANEL)
        name = metric.lower()
        places = []
        for number, row in enumerate(rows, start=1):
            if row[name] is None:
                continue
            x, y, low, high = row["score"], *(row[f"{name}{part}"] for part in ("", "_ci_low", "_ci_high"))
            if low is not None and high is not None:
                ax.plot([x, x], [100 * low, 100 * high], color=colour, linewidth=1.0, alpha=0.55, zorder=2)
            ax.plot([x], [100 * y], marker=marker, color=colour, markersize=4.5, linestyle="none", zorder=3)
            places.append((x, 100 * y, str(number)))
        _axis(ax, shown(f"score on {other}", 44), label)
        if not places:
            ax.text(0.5, 0.5, "unknown", transform=ax.transAxes, size=SMALL, ha="center", style="italic")
        _number(ax, places, width * 72, _PANEL * 72)


def _axis(ax: Axes, x_label: str, y_label: str) -> None:
    ax.margins(0.08)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    ax.grid(color=FAINT, linewidth=0.6)
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label, labelpad=2)


def _number(ax: Axes, places: Sequence[tuple[float, float, str]], width: float, height: float) -> None:
    """Write each point's number where it covers least of the others: an even choice among eight places around it."""
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    wide, high = width / (x1 - x0), height / (y1 - y0)
    dots = [(x * wide, y * high) for x, y, _ in places]
    taken: list[tuple[float, float]] = []
    steps = [(7, 5), (-7, 5), (7, -5), (-7, -5), (0, 9), (0, -9), (11, 0), (-11, 0)]
    for (x, y, text), (across, up) in zip(places, dots, strict=True):

        def crowd(step: tuple[int, int], across: float = across, up: float = up) -> float:
            here = (across + step[0], up + step[1])
            return sum(
                max(0.0, 10.0 - ((here[0] - a) ** 2 + (here[1] - b) ** 2) ** 0.5) for a, b in (*dots, *taken)
            )

        best = min(steps, key=crowd)
        taken.append((across + best[0], up + best[1]))
        ax.annotate(
            text, (x, y), best, textcoords="offset points", size=SMALL - 1, ha="center", va="center", zorder=4
        )


def _key_lines(rows: Sequence[Row]) -> int:
    return -(-len(rows) // _KEY_COLUMNS)


def _key(sheet: Sheet, top: float, rows: Sequence[Row]) -> None:
    """Which number is which teacher, down the columns."""
    lines = _key_lines(rows)
    ax = sheet.axes(_LEFT, top, WIDTH - MARGIN - _LEFT, lines * _KEY_LINE)
    ax.set_axis_off()
    ax.set_xlim(0, _KEY_COLUMNS)
    ax.set_ylim(lines, 0)
    for n, row in enumerate(rows):
        column, line = divmod(n, lines)
        ax.text(column, line + 0.5, f"{n + 1}  {named(row['teacher'], _KEY_WIDTH)}", size=SMALL, va="center")


def _correlation(metric: str, row: Row | None) -> str:
    if row is None or row["value"] is None:
        return f"{metric}: correlation unknown"
    return f"{metric}: Spearman {_with_interval(row)}"


def _with_interval(row: Row) -> str:
    ends = "" if row["ci_low"] is None else f" [{signed(row['ci_low'], 2)}, {signed(row['ci_high'], 2)}]"
    return signed(row["value"], 2) + ends


def _caption(found: dict[tuple[str, str], list[Row]], numbers: dict[_Key, Row]) -> list[str]:
    lines = []
    for (league, other), rows in found.items():
        lines.append(f"League {league}, board {other}: {counted(len(rows), 'teacher')}. {sizes(rows)}")
        mine = {
            (metric, name): numbers.get((league, other, metric, name))
            for metric in _METRICS
            for name in _COEFFICIENTS
        }
        words = [
            f"{metric} {_COEFFICIENTS[name]} {_with_interval(row)}"
            for (metric, name), row in mine.items()
            if row is not None and row["value"] is not None
        ]
        if words:
            lines.append(f"Correlation with the board: {'; '.join(words)}.")
        compared = mine["CA", "spearman"]
        if compared is not None and compared["p"] is not None:
            lines.append(
                f"CA less AA (Spearman): {signed(compared['difference'], 2)}, p = {compared['p']:.3f} (Williams)."
            )
        lines += unknown(
            (f"{metric} ({_COEFFICIENTS[name]})", row["status"], row["reason"])
            for (metric, name), row in mine.items()
            if row is not None
        )
    rows = [row for part in found.values() for row in part]
    lines.append(intervals(rows, "Upright lines"))
    if numbers:
        over = "models and, nested, clusters of items"
        lines.append(intervals(list(numbers.values()), "Intervals of correlations", over))
    return lines


def _about(found: dict[tuple[str, str], list[Row]]) -> list[str]:
    def percent(row: Row, name: str) -> str:
        return "unknown" if row[name] is None else f"{100 * row[name]:.1f}"

    return [
        f"{plain(league)}, {plain(other)}, {row['teacher']}: score {row['score']:g}, CA {percent(row, 'ca')}, "
        f"AA {percent(row, 'aa')}."
        for (league, other), rows in found.items()
        for row in rows
    ]
