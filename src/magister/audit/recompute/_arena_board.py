"""The arena board against the ratings of its leagues, and its copies against the board."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from magister.audit.recompute._ballots import KINDS
from magister.audit.recompute._copies import hold_csv, hold_json, hold_lines, plain
from magister.audit.recompute._ledger import Ledger, Sheet
from magister.audit.recompute._project import Project

BOARD_KEY = ("league", "scope", "annotators", "system", "model")
_WORDS = ("a", "b", "tie", "both_bad")
_WHOSE = {
    "all": "all votes",
    "person": "votes of people",
    "judge": "votes of judges",
    "key": "the answer key",
}
_SHOWN = (
    *("first_share", "flip_share", "longer_share", "decisive_share", "alpha", "pairwise_agreement"),
    *("agreement_with_people", "kappa_with_people", "self_named_share"),
)
Row = dict[str, Any]


def hold_board(project: Project, leagues: Sequence[str]) -> None:
    """Cells of the board and its copies.

    Args:
        project: the files.
        leagues: whose rows are published.
    """
    folders = {name: f"data/arena/leagues/{name}" for name in leagues}
    with project.part("results/arena.parquet"):
        board = project.sheet("results/arena.parquet", BOARD_KEY)
        ratings = {name: project.table(f"{folder}/ratings.parquet") for name, folder in folders.items()}
        hold_cells(project.ledger, board, ratings, BOARD_KEY, "league")
        hold_csv(project, "results/arena.csv", board.table, BOARD_KEY)
        with project.part("results/arena_beside.json"):
            seen, check = project.json("results/arena_beside.json"), "copies: what stands beside the board"
            wanted = {name: _beside(project, folder) for name, folder in folders.items()}
            hold_json(project.ledger, "results/arena_beside.json", seen, wanted, check)
        with project.part("results/arena.md"):
            text, check = project.text("results/arena.md"), "copies: the page shows the board's numbers"
            lines = _lines(board.table.to_pylist())
            hold_lines(project.ledger, "results/arena.md", _lifted(text), lines, check)


def hold_cells(
    ledger: Ledger, board: Sheet, parts: dict[str, pa.Table], key: Sequence[str], part: str
) -> None:
    """A board that puts tables one below the other: every cell is that of its table.

    Args:
        ledger: for findings.
        board: the board.
        parts: its tables, by what the board calls them.
        key: of the board; the first column names the table.
        part: that column.
    """
    tables = [
        table.add_column(0, part, pa.array([name] * table.num_rows, pa.string()))
        for name, table in parts.items()
    ]
    if not tables:
        if len(board):
            ledger.add(board.path, "", "rows: a row of each table", f"{len(board)} rows", "none")
        return
    whole = pa.concat_tables(tables, promote_options="default")
    keys = list(zip(*(whole[name].to_pylist() for name in key), strict=True))
    rows, at = board.align(ledger, keys, "a row of each table")
    for name in whole.column_names:
        if name in key or name not in board.table.column_names:
            continue
        wanted = whole[name].take(pa.array(at)).to_pylist()
        column = np.empty(len(wanted), dtype=object)
        column[:] = wanted
        seen = board.texts(name)[rows]
        off = np.array([one != two for one, two in zip(seen.tolist(), wanted, strict=True)], dtype=bool)
        ledger.count("board: the cell of its table", len(wanted))
        ledger.refuse(board, name, off, "board: the cell of its table", seen, column, rows=rows)


def _beside(project: Project, folder: str) -> dict[str, Any]:
    """What `arena_beside.json` says of an arena."""
    votes = project.table(f"{folder}/votes.parquet")
    rejected = project.table(f"{folder}/votes_rejected.parquet").to_pylist()
    missing = Counter(project.table(f"{folder}/sheet_missing.parquet")["reason"].to_pylist())
    lift = project.table(f"{folder}/lift.parquet").to_pylist()
    agreement = project.table(f"{folder}/agreement.parquet").to_pylist()
    return {
        "comparisons": project.table(f"{folder}/sheet_key.parquet").num_rows,
        "missing": dict(missing),
        "votes": _voters(votes.to_pylist(), rejected),
        "notes": project.json(f"{folder}/ratings.json"),
        "lift": [row for row in lift if row["scope"] == "overall"],
        "agreement": [row for row in agreement if row["scope"] == "overall" and row["statistic"] in _SHOWN],
    }


def _voters(votes: list[Row], rejected: list[Row]) -> list[Row]:
    refused: dict[str, Counter[str]] = {}
    for row in rejected:
        refused.setdefault(row["annotator"] or row["source"], Counter())[row["reason"]] += 1
    who = sorted({(KINDS.index(row["annotator_kind"]), row["annotator"]) for row in votes})
    out = []
    for kind, name in who:
        mine = [row for row in votes if (row["annotator_kind"], row["annotator"]) == (KINDS[kind], name)]
        counts = Counter(row["winner"] for row in mine)
        out.append(
            {
                "kind": KINDS[kind],
                "annotator": name,
                "n": len(mine),
                **{word: counts[word] for word in _WORDS},
            }
            | {"flipped": sum(bool(row["flipped"]) for row in mine), "rejected": dict(refused.pop(name, {}))}
        )
    for name in sorted(refused):
        out.append({"kind": "", "annotator": name, "n": 0, **dict.fromkeys(_WORDS, 0), "flipped": 0}
                   | {"rejected": dict(refused[name])})  # fmt: skip
    return out


def _lifted(text: str) -> str:
    """The page with each part's heading told apart by its league."""
    league, lines = "", []
    for line in text.splitlines():
        if line.startswith("### "):
            league = plain(line.lstrip("#"))
        lines.append(f"#### {league}: {line.lstrip('#').strip()}" if line.startswith("#### ") else line)
    return "\n".join(lines)


def _lines(rows: Sequence[Row]) -> list[tuple[str, str, list[str]]]:
    """A line per model and part: both ratings, ranks, first places, letters and counts."""
    out = []
    by_key = {tuple(row[name] for name in BOARD_KEY): row for row in rows}
    scopes: dict[str, set[str]] = {}
    for row in rows:
        scopes.setdefault(row["league"], set()).add(row["scope"])
    for row in rows:
        if row["system"] != "bradley_terry" or (
            len(scopes[row["league"]]) == 2 and row["scope"] != "overall"
        ):
            continue
        elo = by_key.get((row["league"], row["scope"], row["annotators"], "elo", row["model"]))
        if elo is None:
            continue
        where = "all scenarios" if row["scope"] == "overall" else f"scenario {row['scope']}"
        heading = plain(f"Arena: {row['league']}: {where}, {_WHOSE[row['annotators']]}")
        low, high = row["rank_low"], row["rank_high"]
        span = "-" if low is None or high is None else str(low) if low == high else f"{low}-{high}"
        first = "-" if row["p_first"] is None else f"{100 * row['p_first']:.0f} %"
        cells = [_whole(row["rank"]), plain(row["model"])]
        cells += [plain(f"{_whole(one['rating'])} {_ends(one)}") for one in (row, elo)]
        cells += [span, first, plain(row["group"] or "-"), str(row["n"])]
        cells.append(f"{row['wins']}-{row['losses']}-{row['ties']}")
        out.append((heading, plain(row["model"]), cells))
    return out


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def _ends(row: Row) -> str:
    low, high = row["ci_low"], row["ci_high"]
    if low is None and high is None:
        return ""
    return f"[{'..' if low is None else f'{low:.0f}'}, {'..' if high is None else f'{high:.0f}'}]"
