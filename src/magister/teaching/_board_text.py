"""The teaching board as text and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from magister.contracts.schemas import ARMS, BOARD_METRICS, METRICS, STATUSES
from magister.display import columns, counted, ljust, shorten, visible, wrap
from magister.display import escape_markdown as escape

_PLACE = ("rank", "rank_low", "rank_high", "p_first", "group")
_SIZES = {"n_items": "item", "n_clusters": "cluster", "n_students": "student", "rounds": "round"}
_BESIDE = {"net_ca": "net CA", "headroom": "headroom %", "ca_masked": "masked CA"}


def board_order(row: dict[str, Any]) -> tuple[Any, ...]:
    """Sort key of a row: by league, teachers first by rank, then the control arms.

    Args:
        row: with `league`, `arm`, `teacher` and `rank`.
    """
    arm = ARMS.index(row["arm"]) if row["arm"] in ARMS else len(ARMS)
    unranked = row["rank"] is None
    return row["league"], row["arm"] != "taught", arm, unranked, row["rank"] or 0, row["teacher"]


def row_name(row: dict[str, Any]) -> str:
    """Name of a row: the teacher, and the arm where it is not the usual one.

    Args:
        row: with `arm` and `teacher`.
    """
    name = " ".join(str(row["teacher"]).split())
    return name if row["arm"] in ("taught", row["teacher"]) else f"{row['arm']}: {name}"


@dataclass(frozen=True)
class _Page:
    """A page of text.

    Attributes:
        width: its columns.
        names: all names of rows, which have to stay different where they are shortened.
    """

    width: int
    names: tuple[str, ...]

    def names_in(self, width: int) -> dict[str, str]:
        """The names as they are written in a column."""
        return {name: ljust(text, width) for name, text in shorten(self.names, width).items()}


def render_text(board: pa.Table, width: int = 80) -> str:
    """The board as text: percent points, intervals in brackets, "-" for unknown with its reason below.

    Args:
        board: table of `BOARD_SCHEMA`.
        width: columns available, at least 72; longer names lose their middle, and different ones stay different.

    Returns:
        Lines of at most `width` columns, ending in a newline. Nothing in them steers a terminal.
    """
    if not board.num_rows:
        return "No teacher has been rated yet.\n"
    leagues = [(league, [_visible_row(row) for row in rows]) for league, rows in _by_league(board)]
    page = _Page(max(width, 72), tuple(row_name(row) for _, rows in leagues for row in rows))
    lines: list[str] = []
    for league, rows in leagues:
        longest = max(columns(row_name(row)) for row in rows)
        name_width = min(max(longest, len("wrong_oracle")), page.width - 57)
        names = page.names_in(name_width)
        level = f"{100 * rows[0]['level']:g} %"
        title = f"Teaching, league {visible(league)}: change of the students' accuracy, percent points"
        lines += [*wrap(title, page.width), ""]
        head = f"{'':>3} {'teacher':<{name_width}} {'CA':>6} {level + ' interval':<17}"
        lines.append(head + "".join(f"{metric:>7}" for metric in METRICS[1:]))
        controls = False
        for row in rows:
            if row["arm"] != "taught" and not controls:
                controls = True
                lines.append("    control arms")
            lines.append(_text_row(row, names[row_name(row)]))
        lines += ["", *_intervals(rows, page), *_standing(rows, page), *_beside(rows, page)]
        lines += [*_footer(rows, page.width), ""]
    return "\n".join(lines)


def render_markdown(board: pa.Table) -> str:
    """The board as Markdown tables with the same content as `render_text`.

    Args:
        board: table of `BOARD_SCHEMA`.

    Returns:
        Markdown, ending in a newline.
    """
    if not board.num_rows:
        return "No teacher has been rated yet.\n"
    lines: list[str] = []
    for league, rows in _by_league(board):
        lines += [f"### Teaching: {escape(league)}", ""]
        lines.append("| rank | teacher | CA (points) | AA % | JA % | GA % | RA % | note |")
        lines.append("|---:|:---|:---|:---|:---|:---|:---|:---|")
        for row in rows:
            name = escape(row["teacher"]) if row["arm"] == "taught" else f"*control: {escape(row_name(row))}*"
            cells = [_with_interval(row, metric.lower()) for metric in METRICS]
            note = "" if row["separated_from_zero"] else _unseparated(row)
            lines.append("| " + " | ".join([_rank_text(row), name, *cells, note]) + " |")
        lines += ["", *_standing_markdown(rows), *_beside_markdown(rows)]
        lines += [*(f"- {escape(line)}" for line in _notes(rows)), ""]
    return "\n".join(lines)


def _by_league(board: pa.Table) -> list[tuple[str, list[dict[str, Any]]]]:
    # A stored board is sorted by its key; people read it by rank.
    grouped: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(board.to_pylist(), key=board_order):
        grouped.setdefault(row["league"], []).append(row)
    return [(league, _with_rivals(rows)) for league, rows in grouped.items()]


def _with_rivals(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, without a place where there is nobody to be before or behind."""
    alone = sum(row["rank"] is not None for row in rows) == 1
    return [row | {"alone": alone} | (dict.fromkeys(_PLACE) if alone else {}) for row in rows]


def _visible_row(given: dict[str, Any]) -> dict[str, Any]:
    """A row whose texts steer no terminal, before anything is laid out by their width."""
    row = given | {name: visible(value) for name, value in given.items() if isinstance(value, str)}
    # White space in a name is a space; what is left would be written out.
    row["teacher"] = visible(" ".join(str(given["teacher"]).split()))
    return row | {"unresponsive": row["unresponsive"] and [visible(name) for name in row["unresponsive"]]}


def _text_row(row: dict[str, Any], name: str) -> str:
    mark = " " if row["separated_from_zero"] else "~" if row["separated_from_zero"] is False else " "
    start = f"{_rank_text(row):>3} {name} {_points(row['ca']):>6} "
    interval = f"{_brackets(row, 'ca')}{mark}"
    rest = "".join(f"{_percent(row[metric.lower()], metric):>7}" for metric in METRICS[1:])
    return (start + f"{interval:<17}" + rest).rstrip()


def _section(
    title: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], page: _Page
) -> list[str]:
    """Lines of a part of the board: names at the left; columns as wide as what stands in them at the right."""
    widths = [2 + max(map(len, column)) for column in zip(heads, *(cells for _, cells in rows), strict=True)]
    if page.width - sum(widths) < len(title) + 2:
        widths = [width - 1 for width in widths]
    name_width = page.width - sum(widths)
    names = page.names_in(name_width)
    lines = [f"{title:<{name_width}}" + "".join(map(str.rjust, heads, widths))]
    lines += [(names[name] + "".join(map(str.rjust, cells, widths))).rstrip() for name, cells in rows]
    return [*lines, ""]


def _intervals(rows: list[dict[str, Any]], page: _Page) -> list[str]:
    """Intervals of the other metrics, for the rows that have any."""
    shown = METRICS[1:]
    found = [
        (row_name(row), [_brackets(row, metric.lower(), signed=metric == "RA") for metric in shown])
        for row in rows
    ]
    found = [(name, cells) for name, cells in found if any(cell != "-" for cell in cells)]
    return _section("intervals", shown, found, page) if found else []


def _standing(rows: list[dict[str, Any]], page: _Page) -> list[str]:
    """Ranks, groups and the interval for other students, for teachers with a rank."""
    ranked = _placed(rows)
    if not ranked:
        return []
    groups = shorten({row["group"] or "-" for row in ranked}, 8)
    head = f"{'ranks':>8}{'first':>8}  {'group':<8}{'CA, students like these':>23}"
    name_width = page.width - len(head)
    names = page.names_in(name_width - 1)
    lines = [f"{'standing':<{name_width}}{head}"]
    for row in ranked:
        other = _span(row["ca_random_ci_low"], row["ca_random_ci_high"])
        lines.append(
            f"{names[row_name(row)]} {_rank_span(row):>8}{_chance(row):>8}  "
            f"{groups[row['group'] or '-']:<8}{other:>23}".rstrip()
        )
    return [*lines, ""]


def _beside(rows: list[dict[str, Any]], page: _Page) -> list[str]:
    """CA beside the control arms and without leaks, for the rows that have any of it."""
    shown = [row for row in rows if any(row[name] is not None for name in _BESIDE)]
    found = [(row_name(row), [_with_interval(row, metric) for metric in _BESIDE]) for row in shown]
    return _section("controls", tuple(_BESIDE.values()), found, page) if found else []


def _standing_markdown(rows: list[dict[str, Any]]) -> list[str]:
    ranked = _placed(rows)
    if not ranked:
        return []
    lines = ["| teacher | ranks | first | group | CA, students like these |", "|:---|---:|---:|:---|:---|"]
    for row in ranked:
        other = _span(row["ca_random_ci_low"], row["ca_random_ci_high"])
        cells = [escape(row["teacher"]), _rank_span(row), _chance(row), row["group"] or "-", other]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _beside_markdown(rows: list[dict[str, Any]]) -> list[str]:
    shown = [row for row in rows if any(row[name] is not None for name in _BESIDE)]
    if not shown:
        return []
    lines = ["| | " + " | ".join(_BESIDE.values()) + " |", "|:---|:---|:---|:---|"]
    for row in shown:
        cells = [escape(row_name(row)), *(_with_interval(row, metric) for metric in _BESIDE)]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _placed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with a place among teachers, or an interval for other students."""
    return [row for row in rows if row["rank"] is not None or row["ca_random_ci_low"] is not None]


def _rank_span(row: dict[str, Any]) -> str:
    low, high = row["rank_low"], row["rank_high"]
    return "-" if low is None else str(low) if low == high else f"{low}-{high}"


def _chance(row: dict[str, Any]) -> str:
    """Share of resamples in which the teacher is first; never rounded to sure or impossible."""
    share = row["p_first"]
    if share is None:
        return "-"
    percent = 100 * share
    if 0 < percent < 1:
        return "< 1 %"
    return "> 99 %" if 99 < percent < 100 else f"{percent:.0f} %"


def _footer(rows: list[dict[str, Any]], width: int) -> list[str]:
    lines: list[str] = []
    for note in _notes(rows):
        lines += wrap(note, width)
    return lines


def _notes(rows: list[dict[str, Any]]) -> list[str]:
    """What has to stand beside the numbers: sizes, policy, statuses, and why a number is missing."""
    first = rows[0]
    policy = {
        "wrong": "a reply without an answer counts as wrong",
        "drop": "cells with a reply without an answer are dropped",
    }
    notes = [
        "CA: change of accuracy from the blind answer to the last round. AA: the teacher's own accuracy. "
        "JA: verdicts that are right. GA: wrong answers fixed in round 1. RA: growth after round 1.",
        f"n: {', '.join(counted(_range(rows, name), noun) for name, noun in _SIZES.items())}. "
        f"Policy {first['policy']}: {policy[first['policy']]}.",
        f"Intervals: {first['level'] * 100:g} %, {first['resamples']} resamples of clusters "
        f"(seed {first['seed']}), for these students where it does not say otherwise.",
    ]
    if first["alone"]:
        notes.append(
            "No rank, first and group (-): no other teacher of this league has a CA to be compared with."
        )
    if any(row["group"] for row in rows):
        notes.append(
            "ranks: interval of the rank by CA. first: share of resamples in which the teacher is first; a shared "
            "first place counts for all who share it, so these can add up to more than 100 %. group: "
            f"teachers that share a letter are not told apart (all pairs tested, Holm, {_alpha(first)} %)."
        )
    if any(row[name] is not None for row in rows for name in _BESIDE):
        notes.append(
            "net CA: CA - CA of the arm sham. headroom: net CA as a share of that of oracle_tell (the answer told). "
            "masked: CA when a student keeps its answer from the first guide on that leaks an option or the answer."
        )
    notes += _students(rows)
    if any(row["arm"] != "taught" for row in rows):
        notes.append("Control arms have no rank, and no AA and JA of their own.")
    loose = [row_name(row) for row in rows if row["separated_from_zero"] is False]
    if loose:
        notes.append(f"~ not separated from no effect (the interval of CA includes 0): {', '.join(loose)}.")
    statuses = {name: sum(row[f"n_{name}"] for row in rows) for name in STATUSES}
    total = sum(statuses.values())
    by_status = ", ".join(f"{name} {count}" for name, count in statuses.items() if count) or "none"
    notes.append(f"Student replies of rounds 0 and last, all rows, by status: {by_status} (of {total}).")
    dropped = sum(row["n_dropped"] for row in rows)
    if dropped:
        notes.append(f"Cells dropped: {dropped} of {dropped + sum(row['n_cells'] for row in rows)}.")
    return notes + _reasons(rows)


def _students(rows: list[dict[str, Any]]) -> list[str]:
    """Whether the instrument responds at all."""
    still = rows[0]["unresponsive"]
    if still is None:
        return ["Whether the students respond is unknown: the arm oracle_tell was not run."]
    if not still:
        return []
    return [
        f"Unresponsive: {', '.join(still)}. Told the answer (oracle_tell), their accuracy does not rise for certain: "
        "a CA with them in it says little about the teacher."
    ]


def _alpha(row: dict[str, Any]) -> str:
    return f"{100 * (1 - row['level']):.3g}"


def _reasons(rows: list[dict[str, Any]]) -> list[str]:
    """One note per metric and reason, with the rows it holds for."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        for metric in BOARD_METRICS:
            status, reason = row[f"{metric.lower()}_status"], row[f"{metric.lower()}_reason"]
            # That a control arm has no teacher needs no note.
            if reason and not (row["arm"] != "taught" and metric not in ("CA", "GA", "RA")):
                found.setdefault((metric, status, reason), []).append(row_name(row))
    label = {"not_computable": "unknown (-)", "no_interval": "without interval", "ok": "note"}
    notes = []
    for (metric, status, reason), names in found.items():
        who = ", ".join(names) if len(names) < len(rows) else "all rows"
        notes.append(f"{metric} {label.get(status, status)}, {who}: {reason}.")
    return notes


def _with_interval(row: dict[str, Any], name: str) -> str:
    if name == "headroom":
        return _share_of_room(row)
    signed = name in ("ca", "ra", *_BESIDE)
    value = row[name]
    if value is None:
        return "-"
    shown = _points(value) if signed else f"{100 * value:.1f}"
    brackets = _brackets(row, name, signed=signed)
    return shown if brackets == "-" else f"{shown} {brackets}"


def _share_of_room(row: dict[str, Any]) -> str:
    """Headroom in whole percent: a ratio of differences has no decimals to show."""
    value, low, high = row["headroom"], row["headroom_ci_low"], row["headroom_ci_high"]
    if value is None:
        return "-"
    shown = f"{100 * value:+.0f}"
    return shown if low is None or high is None else f"{shown} [{100 * low:+.0f}, {100 * high:+.0f}]"


def _brackets(row: dict[str, Any], name: str, *, signed: bool = True) -> str:
    return _span(row[f"{name}_ci_low"], row[f"{name}_ci_high"], signed=signed)


def _span(low: float | None, high: float | None, *, signed: bool = True) -> str:
    if low is None or high is None:
        return "-"
    if signed:
        return f"[{_points(low):>5}, {_points(high):>5}]"
    return f"[{100 * low:4.1f}, {100 * high:4.1f}]"


def _points(value: float | None) -> str:
    if value is None:
        return "-"
    # A growth of ten times and more would burst its column with a decimal.
    text = f"{100 * value:+.1f}" if abs(value) < 9.9 else f"{100 * value:+.0f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def _percent(value: float | None, metric: str) -> str:
    if value is None:
        return "-"
    return _points(value) if metric == "RA" else f"{100 * value:.1f}"


def _unseparated(row: dict[str, Any]) -> str:
    return "not separated from no effect" if row["separated_from_zero"] is False else "no interval"


def _rank_text(row: dict[str, Any]) -> str:
    return "-" if row["rank"] is None else str(row["rank"])


def _range(rows: list[dict[str, Any]], name: str) -> str:
    low, high = min(row[name] for row in rows), max(row[name] for row in rows)
    return str(low) if low == high else f"{low}-{high}"
