"""The teaching board as text and Markdown."""

from __future__ import annotations

import textwrap
from typing import Any

import pyarrow as pa

from magister.contracts.schemas import ARMS, BOARD_METRICS, METRICS, STATUSES
from magister.teaching._markdown import escape

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


def render_text(board: pa.Table, width: int = 80) -> str:
    """The board as text: percent points, intervals in brackets, "-" for unknown with its reason below.

    Args:
        board: table of `BOARD_SCHEMA`.
        width: columns available, at least 72; longer names are cut.

    Returns:
        Lines of at most `width` columns, ending in a newline.
    """
    width = max(width, 72)
    if not board.num_rows:
        return "No teacher has been rated yet.\n"
    lines: list[str] = []
    for league, rows in _by_league(board):
        longest = max(len(row_name(row)) for row in rows)
        name_width = min(max(longest, len("wrong_oracle")), width - 57)
        level = f"{100 * rows[0]['level']:g} %"
        lines += [f"Teaching, league {league}: change of the students' accuracy, percent points", ""]
        head = f"{'':>3} {'teacher':<{name_width}} {'CA':>6} {level + ' interval':<17}"
        lines.append(head + "".join(f"{metric:>7}" for metric in METRICS[1:]))
        controls = False
        for row in rows:
            if row["arm"] != "taught" and not controls:
                controls = True
                lines.append("    control arms")
            lines.append(_text_row(row, name_width))
        lines += ["", *_intervals(rows, width), *_standing(rows, width), *_beside(rows, width)]
        lines += [*_footer(rows, width), ""]
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
    return list(grouped.items())


def _text_row(row: dict[str, Any], name_width: int) -> str:
    mark = " " if row["separated_from_zero"] else "~" if row["separated_from_zero"] is False else " "
    start = f"{_rank_text(row):>3} {_cut(row_name(row), name_width):<{name_width}} {_points(row['ca']):>6} "
    interval = f"{_brackets(row, 'ca')}{mark}"
    rest = "".join(f"{_percent(row[metric.lower()], metric):>7}" for metric in METRICS[1:])
    return (start + f"{interval:<17}" + rest).rstrip()


def _intervals(rows: list[dict[str, Any]], width: int) -> list[str]:
    """Intervals of the other metrics, for the rows that have any."""
    shown = METRICS[1:]
    widths = [17 if metric == "RA" else 15 for metric in shown]
    name_width = width - sum(widths)
    lines = [f"{'intervals':<{name_width}}" + "".join(map(str.rjust, shown, widths))]
    for row in rows:
        cells = [_brackets(row, metric.lower(), signed=metric == "RA") for metric in shown]
        if any(cell != "-" for cell in cells):
            name = _cut(row_name(row), name_width - 1)
            lines.append(f"{name:<{name_width}}" + "".join(map(str.rjust, cells, widths)))
    return [*lines, ""] if len(lines) > 1 else []


def _standing(rows: list[dict[str, Any]], width: int) -> list[str]:
    """Ranks, groups and the interval for other students, for teachers with a rank."""
    ranked = [row for row in rows if row["rank"] is not None]
    if not ranked:
        return []
    name_width = width - 49
    head = f"{'standing':<{name_width}}{'ranks':>8}{'first':>8}  {'group':<8}{'CA, students like these':>23}"
    lines = [head.rstrip()]
    for row in ranked:
        name = _cut(row_name(row), name_width - 1)
        other = _span(row["ca_random_ci_low"], row["ca_random_ci_high"])
        group = _cut(row["group"] or "-", 8)
        lines.append(
            f"{name:<{name_width}}{_rank_span(row):>8}{_chance(row):>8}  {group:<8}{other:>23}".rstrip()
        )
    return [*lines, ""]


def _beside(rows: list[dict[str, Any]], width: int) -> list[str]:
    """CA beside the control arms and without leaks, for the rows that have any of it."""
    shown = [row for row in rows if any(row[name] is not None for name in _BESIDE)]
    if not shown:
        return []
    widths = [24, 19, 24]
    name_width = width - sum(widths)
    lines = [
        _cut("beside controls", name_width).ljust(name_width)
        + "".join(map(str.rjust, _BESIDE.values(), widths))
    ]
    for row in shown:
        name = _cut(row_name(row), name_width - 1)
        cells = [_with_interval(row, metric) for metric in _BESIDE]
        lines.append(f"{name:<{name_width}}" + "".join(map(str.rjust, cells, widths)))
    return [*lines, ""]


def _standing_markdown(rows: list[dict[str, Any]]) -> list[str]:
    ranked = [row for row in rows if row["rank"] is not None]
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
        lines += _wrap(note, width)
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
        f"n: {_range(rows, 'n_items')} items, {_range(rows, 'n_clusters')} clusters, "
        f"{_range(rows, 'n_students')} students, {_range(rows, 'rounds')} rounds. "
        f"Policy {first['policy']}: {policy[first['policy']]}.",
        f"Intervals: {first['level'] * 100:g} %, {first['resamples']} resamples of clusters "
        f"(seed {first['seed']}), for these students where it does not say otherwise.",
    ]
    if any(row["group"] for row in rows):
        notes.append(
            "ranks: interval of the rank by CA. first: share of resamples in which the teacher is first. group: "
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
    counted = ", ".join(f"{name} {count}" for name, count in statuses.items() if count) or "none"
    notes.append(f"Student replies of rounds 0 and last, all rows, by status: {counted} (of {total}).")
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


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)
