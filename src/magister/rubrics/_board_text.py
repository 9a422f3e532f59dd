"""The rubrics' board as text and Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from magister.contracts.rubrics_score_tables import OVERALL, SCORED
from magister.display import escape_markdown as escape
from magister.display import ljust, shorten, wrap

Row = Mapping[str, Any]
Documents = Mapping[str, Mapping[str, Any]]
"""What stands beside the scores, by scenario."""
KEYS = (
    "A cell is the mean score over dialogues and half the width of its interval over tasks; a dimension's weight "
    "stands below its name. ranks: interval of the rank. group: models that share a letter are not told apart. "
    '"-" is unknown, "?" a mean whose interval cannot be had. '
    "n: dialogues with a score; lost: those without; veto: those that got the lowest score by a rule.",
)


def render_text(board: pa.Table, documents: Mapping[str, Documents], width: int = 80) -> str:
    """The board as text, a table per set and scenario.

    Args:
        board: RUBRICS_BOARD table.
        documents: `beside` by set and scenario.
        width: columns available, at least 72; longer names are cut.

    Returns:
        Lines of at most `width` columns, ending in a newline.
    """
    width = max(width, 72)
    if not board.num_rows:
        return "No scenario has been scored yet.\n"
    lines: list[str] = []
    for (name, scenario), rows in _by_scenario(board).items():
        dims = _dims(rows)
        # Dimensions that do not fit beside the total go into the next block of lines.
        fit = max(1, (width - 49) // 11)
        lines += [*wrap(_title(scenario, rows), width), ""]
        models = _models(rows)
        names = shorten(models, 15)
        for start in range(0, max(len(dims), 1), fit):
            lines += _block(rows, models, names, dims[start : start + fit], first=start == 0)
            lines.append("")
        for note in _notes(rows, documents.get(name, {}).get(scenario, {})):
            lines += wrap(note, width)
        lines.append("")
    for key in KEYS:
        lines += wrap(key, width)
    return "\n".join(lines) + "\n"


def render_markdown(board: pa.Table, documents: Mapping[str, Documents]) -> str:
    """The board as Markdown tables with the same content as `render_text`.

    Args:
        board: RUBRICS_BOARD table.
        documents: `beside` by set and scenario.

    Returns:
        Markdown, ending in a newline.
    """
    if not board.num_rows:
        return "No scenario has been scored yet.\n"
    lines: list[str] = []
    for (name, scenario), rows in _by_scenario(board).items():
        dims = _dims(rows)
        weight = {row["dim"]: row["weight"] for row in rows}
        lines += [f"### {escape(_title(scenario, rows))}", ""]
        heads = [f"{escape(dim)} ({weight[dim]:.0%})" for dim in dims]
        lines.append(
            "| rank | model | overall | ranks | group | n | lost | veto | " + " | ".join(heads) + " | note |"
        )
        lines.append("|---:|:---|:---|:---|:---|---:|---:|---:|" + ":---|" * len(dims) + ":---|")
        for model in _models(rows):
            own = {row["dim"]: row for row in rows if row["model"] == model}
            total = own[OVERALL]
            cells = [_rank(total), escape(model), _interval(total), _ranks(total), total["group"] or "-"]
            cells += [str(total[name]) for name in ("n", "n_missing", "n_vetoed")]
            cells += [_interval(own[dim]) for dim in dims]
            lines.append("| " + " | ".join([*cells, escape(total["reason"])]) + " |")
        lines += [
            "",
            *(f"- {escape(note)}" for note in _notes(rows, documents.get(name, {}).get(scenario, {}))),
            "",
        ]
    return "\n".join([*lines, *KEYS, ""])


def _by_scenario(board: pa.Table) -> dict[tuple[str, str], list[dict[str, Any]]]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in board.to_pylist():
        found.setdefault((row["set"], row["scenario"]), []).append(row)
    return {place: found[place] for place in sorted(found)}


def _dims(rows: Sequence[Row]) -> list[str]:
    """Dimensions, the heaviest first."""
    weight = {row["dim"]: row["weight"] for row in rows if row["dim"] != OVERALL}
    return sorted(weight, key=lambda dim: (-weight[dim], dim))


def _models(rows: Sequence[Row]) -> list[str]:
    """Models, the best first; those without a score last."""
    total = [row for row in rows if row["dim"] == OVERALL]
    return [
        row["model"]
        for row in sorted(total, key=lambda row: (row["rank"] is None, row["rank"] or 0, row["model"]))
    ]


def _title(scenario: str, rows: Sequence[Row]) -> str:
    one = rows[0]
    level = f"{100 * one['level']:g} %"
    return (
        f"Scenario {scenario} ({one['set']}): scores {one['low']}..{one['high']} by rubric "
        f"{one['rubric_sha'][:12]} of iteration {one['iteration']}, {level} intervals"
    )


def _block(
    rows: Sequence[Row], models: Sequence[str], names: Mapping[str, str], dims: Sequence[str], *, first: bool
) -> list[str]:
    weight = {row["dim"]: row["weight"] for row in rows}
    short = shorten(list(dims), 10)
    head = f"{'':>3} {ljust('model', 15)} " + (f"{'overall':<10} {'ranks':<5} group  " if first else "")
    head += " ".join(ljust(short[dim], 10) for dim in dims)
    head += "   n lost veto" if first else ""
    below = " " * 20 + (" " * 24 if first else "") + " ".join(f"{weight[dim]:<10.0%}" for dim in dims)
    lines = [head.rstrip(), below.rstrip()]
    for model in models:
        own = {row["dim"]: row for row in rows if row["model"] == model}
        total = own[OVERALL]
        line = f"{_rank(total):>3} {ljust(names[model], 15)} "
        if first:
            line += f"{_cell(total):<10} {_ranks(total):<5} {total['group'] or '-':<5}  "
        line += " ".join(f"{_cell(own[dim]):<10}" for dim in dims)
        if first:
            line += f"{total['n']:>4}{total['n_missing']:>5}{total['n_vetoed']:>5}"
        lines.append(line.rstrip())
    return lines


def _cell(row: Row) -> str:
    if row["value"] is None:
        return "-"
    if row["ci_low"] is None:
        return f"{row['value']:.2f} ?"
    return f"{row['value']:.2f} ±{(row['ci_high'] - row['ci_low']) / 2:.2f}"


def _interval(row: Row) -> str:
    if row["value"] is None:
        return "-"
    if row["ci_low"] is None:
        return f"{row['value']:.2f} ?"
    return f"{row['value']:.2f} [{row['ci_low']:.2f}, {row['ci_high']:.2f}]"


def _rank(row: Row) -> str:
    return "-" if row["rank"] is None else str(row["rank"])


def _ranks(row: Row) -> str:
    return "-" if row["rank_low"] is None else f"{row['rank_low']}-{row['rank_high']}"


def _notes(rows: Sequence[Row], document: Mapping[str, Any]) -> list[str]:
    total = [row for row in rows if row["dim"] == OVERALL]
    notes = [f"{row['model']}: {row['reason']}" for row in total if row["status"] != "ok" and row["reason"]]
    lost = sum(row["n_missing"] for row in total)
    if lost:
        notes.append(
            f"{lost} of {lost + sum(row['n'] for row in total)} dialogues have no score (policy "
            f"{total[0]['policy']}); none counts as a low one"
        )
    agreement = document.get("agreement")
    if agreement:
        notes.append(f"judges: {agreement}")
    for judge, found in sorted((document.get("judges") or {}).items()):
        scored = sum(count for status, count in found.items() if status in SCORED)
        failed = ", ".join(
            f"{status.replace('_', ' ')} {count}"
            for status, count in sorted(found.items())
            if status not in SCORED
        )
        notes.append(f"judge {judge}: {scored} of {sum(found.values())} scores; {failed}")
    flags = document.get("flags") or {}
    if flags:
        told = "; ".join(f"{name} {', '.join(sorted(found))}" for name, found in sorted(flags.items()))
        notes.append(f"metrics flagged still: {told}")
    evolution = document.get("evolution")
    if evolution:
        notes.append(f"rubric: {evolution}")
    return notes
