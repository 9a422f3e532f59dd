"""The page of the meta-evaluation, for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from magister.contracts.schemas import METRICS, NAME_STATUSES
from magister.display import escape_markdown as escape

Row = dict[str, Any]
_TITLES = {"spearman": "Spearman", "kendall": "Kendall tau-b", "pearson": "Pearson"}
_SHOWN = ("spearman", "kendall")
_LISTED = 20
_HOW = (
    "No external board is named. To hold the leagues to one: write a CSV file with the columns board, model, score and "
    "date into `data/external/` (its README says how), name it in `teaching.external.boards` of `params.yaml`, and say "
    "in `teaching.external.names` what the board calls each of your models."
)


def render_meta(meta: pa.Table, names: pa.Table) -> str:
    """The page: a table per league and board, what is unknown and why, and what became of every name.

    Args:
        meta: table of contract `meta_evaluation`.
        names: table of contract `meta_names`.

    Returns:
        Markdown, ending in a newline.
    """
    rows, named = meta.to_pylist(), names.to_pylist()
    lines = ["### Meta-evaluation", ""]
    if not named:
        lines += [_HOW, ""]
    for league, against, board in dict.fromkeys(
        (row["league"], row["against"], row["board"]) for row in rows
    ):
        part = [
            row for row in rows if (row["league"], row["against"], row["board"]) == (league, against, board)
        ]
        title = f"against {board}" if against == "external" else "within: correlation of the metrics with CA"
        lines += [f"#### {escape(league)} {escape(title)}", "", *_table(part), *_notes(part), ""]
        if against == "external":
            mine = [row for row in named if (row["league"], row["board"]) == (league, board)]
            lines += [*_teachers(mine), ""]
    lines += _files([row for row in named if row["league"] == ""])
    return "\n".join(lines).rstrip("\n") + "\n"


def _table(rows: list[Row]) -> list[str]:
    lines = [
        "| metric | coefficient | models | correlation | less that of AA | p | given AA |",
        "|:---|:---|---:|:---|:---|---:|:---|",
    ]
    shown = [row for row in rows if row["coefficient"] in _SHOWN]
    for row in sorted(
        shown, key=lambda row: (METRICS.index(row["metric"]), _SHOWN.index(row["coefficient"]))
    ):
        cells = [
            row["metric"],
            _TITLES[row["coefficient"]],
            str(row["n_models"]),
            _with_interval(row, "value", ""),
            _with_interval(row, "difference", "difference_"),
            "-" if row["p"] is None else f"{row['p']:.3f}",
            _with_interval(row, "partial", "partial_"),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _with_interval(row: Row, name: str, part: str) -> str:
    value, low, high = row[name], row[f"{part}ci_low"], row[f"{part}ci_high"]
    if value is None:
        return "-"
    return f"{_signed(value)}" + ("" if low is None else f" [{_signed(low)}, {_signed(high)}]")


def _signed(value: float) -> str:
    text = f"{value:+.3f}"
    return "0.000" if text in ("+0.000", "-0.000") else text


def _notes(rows: list[Row]) -> list[str]:
    first = rows[0]
    notes = [
        f"Intervals: {100 * first['level']:g} %, {first['resamples']} resamples of models and, nested, of clusters of "
        f"items (seed {first['seed']}); policy {first['policy']}. p: Williams' test of the two correlations, not "
        "corrected for the number of rows."
    ]
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row["coefficient"] not in _SHOWN:
            continue
        for what, part in (("correlation", ""), ("less that of AA", "difference_"), ("given AA", "partial_")):
            reason = row[f"{part}reason"]
            # That AA is not compared with itself needs no note.
            if reason and not (row["metric"] == "AA" and part):
                found.setdefault((what, reason), []).append(
                    f"{row['metric']} ({_TITLES[row['coefficient']]})"
                )
    notes += [f"{what}, {', '.join(who)}: {reason}." for (what, reason), who in found.items()]
    return [f"- {escape(note)}" for note in notes]


def _teachers(rows: list[Row]) -> list[str]:
    """What became of the teachers' names."""
    lines = []
    for status in NAME_STATUSES:
        some = [row for row in rows if row["status"] == status]
        if status == "used" and some:
            who = [
                f"{row['model']} = {row['external_name']} ({row['score']:g}, {row['date']})" for row in some
            ]
            lines.append(f"- On the board: {_listed(who)}.")
        elif status == "not_on_board" and some:
            who = [f"{row['model']} = {row['external_name']}" for row in some]
            lines.append(f"- Mapped to a name that the board lacks: {_listed(who)}.")
        elif some:
            lines.append(f"- Mapped to no name of the board: {_listed(row['model'] for row in some)}.")
    return lines


def _files(rows: list[Row]) -> list[str]:
    """What became of the rows of the files that no teacher uses."""
    lines = []
    for board in dict.fromkeys(row["board"] for row in rows):
        for status in NAME_STATUSES:
            some = [row for row in rows if (row["board"], row["status"]) == (board, status)]
            if not some:
                continue
            if status == "rejected":
                who: Iterable[str] = (f"{row['file']} row {row['row']}: {row['reason']}" for row in some)
            elif status == "superseded":
                who = (f"{row['external_name']} ({row['date']})" for row in some)
            else:
                who = (row["external_name"] for row in some)
            title = escape(board) or "no board"
            lines.append(f"- {title}, {_OF_FILE[status]}: {len(some)}. {_listed(who)}.")
    return ["#### Rows of the boards that no teacher uses", "", *lines, ""] if lines else []


_OF_FILE = {
    "unmapped": "no model is mapped to them",
    "not_a_teacher": "mapped to a model that teaches in no league",
    "superseded": "an older day of a model with a newer one",
    "rejected": "rejected",
}


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    rest = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    return escape("; ".join(found[:_LISTED]) + rest)
