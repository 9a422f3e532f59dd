"""The arena board as text and Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from magister.arena.board import Row, board_rows, unresolved
from magister.contracts.arena_tables import LIFT_SHARES
from magister.display import columns, ljust, shorten, wrap
from magister.display import escape_markdown as escape

SYSTEMS = ("bradley_terry", "elo")
_SCOPE_FIRST = "overall"
_WHOSE = {
    "all": "all votes",
    "person": "votes of people",
    "judge": "votes of judges",
    "key": "the answer key",
}
_MEASURES = {
    "decisive": "decisive votes",
    "vote_agreement": "votes for the better",
    "pair_agreement": "pairs to the better",
    "width": "points of one vote",
    "relative_width": "the same over spread",
}
_STATISTICS = {
    "alpha": "Krippendorff's alpha",
    "pairwise_agreement": "two agree",
    "agreement_with_people": "agrees with people",
    "kappa_with_people": "kappa with people",
    "first_share": "first shown wins",
    "flip_share": "orders contradict",
    "longer_share": "longer wins",
    "decisive_share": "names a winner",
    "self_named_share": "names its model",
}
_KEYS = (
    "n: votes on the model. BT: Bradley-Terry on Elo's scale, mean 1000. Elo: the paper's, in the limit of all orders "
    "of the votes. ranks: interval of the rank, over all models that are not told apart. first: share of resamples in "
    "which the model is first, ties counting for all. group: models that share a letter are not told apart. An open "
    "end (..) stands for no bound.",
    "selection lift: decisive votes name a winner; the better is the one that all other votes put first; points of "
    "one vote: width of the interval it would give. Selected instructions helped where the difference is above 0 "
    "in the first three rows and below 0 in the last two, with an interval that leaves out 0.",
    "annotators: of votes with a winner, how often the response shown first, or the longer one, wins (50 % without "
    "bias); orders contradict: a judge's two orders do not name the same response, which counts as a tie.",
)


def render_text(board: pa.Table, documents: Mapping[str, Mapping[str, Any]], width: int = 80) -> str:
    """The board as text; "-" is unknown, with its reason below.

    Args:
        board: ARENA_BOARD table.
        documents: `beside` by league.
        width: columns available, at least 72; longer names are cut.

    Returns:
        Lines of at most `width` columns, ending in a newline.
    """
    width = max(width, 72)
    if not board.num_rows:
        return "No arena has been rated yet.\n"
    lines: list[str] = []
    for league in sorted(set(board["league"].to_pylist())):
        parts = _parts(board, league)
        for scope, annotators in parts:
            # Scenarios by kind of annotator are in the Markdown and the table.
            if scope == _SCOPE_FIRST or annotators == "all":
                lines += _text_part(board, (league, scope, annotators), width)
        for title, table in _tables(documents.get(league, {})):
            lines += [*_columns(title, table, width), ""]
        for note in _notes(board, league, documents.get(league, {})):
            lines += wrap(note, width)
        lines.append("")
    return "\n".join(lines)


def render_markdown(board: pa.Table, documents: Mapping[str, Mapping[str, Any]]) -> str:
    """The board as Markdown tables with the same content as `render_text`.

    Args:
        board: ARENA_BOARD table.
        documents: `beside` by league.

    Returns:
        Markdown, ending in a newline.
    """
    if not board.num_rows:
        return "No arena has been rated yet.\n"
    lines: list[str] = []
    for league in sorted(set(board["league"].to_pylist())):
        lines += [f"### Arena: {escape(league)}", ""]
        for scope, annotators in _parts(board, league):
            lines += _markdown_part(board, (league, scope, annotators))
        for title, table in _tables(documents.get(league, {})):
            head, *rows = table
            lines += [f"| {escape(title)} | " + " | ".join(map(escape, head[1:])) + " |"]
            lines += ["|:---|" + ":---|" * (len(head) - 1)]
            lines += ["| " + " | ".join(map(escape, row)) + " |" for row in rows]
            lines.append("")
        lines += [*(f"- {escape(note)}" for note in _notes(board, league, documents.get(league, {}))), ""]
    return "\n".join(lines)


def _parts(board: pa.Table, league: str) -> list[tuple[str, str]]:
    """Scopes and whose votes, overall and all votes first."""
    rows = board.select(["league", "scope", "annotators"]).to_pylist()
    found = {(row["scope"], row["annotators"]) for row in rows if row["league"] == league}
    if len({scope for scope, _ in found}) == 2:
        # One scenario: the league is that scenario.
        found = {part for part in found if part[0] == _SCOPE_FIRST}
    whose = list(_WHOSE)
    return sorted(found, key=lambda part: (part[0] != _SCOPE_FIRST, part[0], whose.index(part[1])))


def _title(scope: str, annotators: str) -> str:
    where = "all scenarios" if scope == _SCOPE_FIRST else f"scenario {scope}"
    return f"{where}, {_WHOSE[annotators]}"


def _joined(board: pa.Table, part: tuple[str, str, str]) -> list[tuple[Row, Row]]:
    """Bradley-Terry and Elo rows of every model, in the order of the first."""
    first, second = (board_rows(board, *part, system) for system in SYSTEMS)
    by_model = {row["model"]: row for row in second}
    return [(row, by_model[row["model"]]) for row in first]


def _text_part(board: pa.Table, part: tuple[str, str, str], width: int) -> list[str]:
    rows = _joined(board, part)
    counts = [str(rating["n"]) for rating, _ in rows]
    wide = max(3, *map(len, counts)) + 1
    name_width = width - 59 - wide
    names = shorten([rating["model"] for rating, _ in rows], name_width - 1)
    level = f"{100 * rows[0][0]['level']:g} %"
    lines = [
        f"Arena, league {part[0]}: {_title(*part[1:])}",
        "",
        f"{'':>3} {'model':<{name_width}}{'n':>{wide - 1}} {'BT':>5} {level:<13}{'Elo':>5} {level:<13}{'ranks':>5}"
        f"{'first':>6} group",
    ]
    component = rows[0][0]["component"]
    for rating, elo in rows:
        # A model without votes stands apart from everybody; its "-" says so.
        if rating["component"] != component and rating["rating"] is not None:
            component = rating["component"]
            lines.append("    not connected with those above by any vote:")
        lines.append(
            f"{_whole(rating['rank']):>3} {ljust(names[rating['model']], name_width)}{rating['n']:>{wide - 1}} "
            f"{_whole(rating['rating']):>5} {_span(rating):<13}{_whole(elo['rating']):>5} {_span(elo):<13}"
            f"{_ranks(rating):>5}{_chance(rating):>6} {rating['group'] or '-'}".rstrip()
        )
    for group in unresolved([rating for rating, _ in rows]):
        said = f"unresolved: {', '.join(group)}: these votes do not tell them apart"
        lines += wrap(f"    {said}", width, "      ")
    return [*lines, ""]


def _markdown_part(board: pa.Table, part: tuple[str, str, str]) -> list[str]:
    rows = _joined(board, part)
    level = f"{100 * rows[0][0]['level']:g} %"
    lines = [
        f"#### {escape(_title(*part[1:]))}",
        "",
        f"| rank | model | Bradley-Terry [{level}] | Elo [{level}] | ranks | first | group | n | won-lost-tied | "
        "note |",
        "|---:|:---|:---|:---|:---|---:|:---|---:|:---|:---|",
    ]
    for rating, elo in rows:
        cells = [_whole(rating["rank"]), escape(rating["model"])]
        cells += [f"{_whole(row['rating'])} {_span(row)}".strip() for row in (rating, elo)]
        cells += [_ranks(rating), _chance(rating), escape(rating["group"] or "-")]
        cells += [str(rating["n"]), f"{rating['wins']}-{rating['losses']}-{rating['ties']}"]
        cells.append(escape(rating["reason"]))
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    for group in unresolved([rating for rating, _ in rows]):
        lines += [f"Unresolved: {escape(', '.join(group))}: these votes do not tell them apart.", ""]
    return lines


def _tables(document: Mapping[str, Any]) -> Iterator[tuple[str, list[list[str]]]]:
    """What stands beside the ratings: a title, a head, and rows."""
    votes = document.get("votes", [])
    if votes:
        head = ["votes", "n", "decisive", "tie", "both bad", "flipped", "no vote"]
        yield "votes", [head, *(_vote_row(row) for row in votes)]
    lift = document.get("lift", [])
    if lift:
        cells = {(row["measure"], row["arm"]): _lift_cell(row) for row in lift}
        arms = ("discrepant", "random", "difference")
        rows = [
            [words, *(cells.get((measure, arm), "-") for arm in arms)] for measure, words in _MEASURES.items()
        ]
        yield "selection lift", [["", "selected", "random", "difference"], *rows]
    agreement = document.get("agreement", [])
    if agreement:
        each = Counter((row["statistic"], row["annotator_kind"]) for row in agreement if row["annotator"])
        # A kind with one annotator is that annotator.
        shown = [
            row
            for row in agreement
            if row["annotator"]
            or row["annotator_kind"] in ("all", "none")
            or each[row["statistic"], row["annotator_kind"]] > 1
        ]
        chosen = sorted(shown, key=lambda row: (list(_STATISTICS).index(row["statistic"]), row["annotator"]))
        rows = [
            [_STATISTICS[row["statistic"]], _who(row), str(row["n"]), _estimate(row, _is_share(row))]
            for row in chosen
        ]
        yield "annotators", [["", "who", "n", "value"], *rows]


def _lift_cell(row: Row) -> str:
    if row["measure"] in LIFT_SHARES:
        return _estimate(row, True)
    return _estimate(row, False, digits=0 if row["measure"] == "width" else 1)


def _vote_row(row: Row) -> list[str]:
    refused = sum(row["rejected"].values())
    why = ", ".join(f"{reason} {count}" for reason, count in row["rejected"].items())
    return [
        f"{row['kind']} {row['annotator']}".strip() if row["kind"] != row["annotator"] else row["annotator"],
        str(row["n"]),
        str(row["a"] + row["b"]),
        str(row["tie"]),
        str(row["both_bad"]),
        str(row["flipped"]),
        f"{refused} ({why})" if refused else "0",
    ]


def _who(row: Row) -> str:
    if row["annotator"]:
        return str(row["annotator"])
    return {"all": "all", "none": "-", "judge": "all judges", "person": "all people"}.get(
        row["annotator_kind"], "key"
    )


def _is_share(row: Row) -> bool:
    return row["statistic"] not in ("alpha", "kappa_with_people")


def _columns(title: str, table: Sequence[Sequence[str]], width: int) -> list[str]:
    """A table of texts; a last cell that does not fit its line stands below it."""
    rows = [[title, *table[0][1:]], *table[1:]]
    widths = [max(columns(row[place]) for row in rows) + 2 for place in range(1, len(rows[0]))]
    longest = max(columns(row[0]) for row in rows) + 1
    first = max(min(width - sum(widths), longest), 16)
    names = shorten([row[0] for row in rows], first - 1)
    lines = []
    for row in rows:
        cells = [" " * (wide - columns(cell)) + cell for cell, wide in zip(row[1:], widths, strict=True)]
        line = ljust(names[row[0]], first) + "".join(cells)
        if columns(line) <= width:
            lines.append(line.rstrip())
        else:
            lines.append((ljust(names[row[0]], first) + "".join(cells[:-1])).rstrip())
            lines += wrap(f"    {row[-1]}", width, "    ")
    return lines


def _notes(board: pa.Table, league: str, document: Mapping[str, Any]) -> list[str]:
    notes = []
    if document:
        missing = ", ".join(f"{reason} {count}" for reason, count in document["missing"].items())
        notes.append(
            f"{document['comparisons']} comparisons on the sheet"
            + (f"; not on it: {missing}." if missing else "; none is missing.")
        )
        for annotators, said in document["notes"].items():
            # A scenario's note that the whole league has too says nothing new.
            notes += [
                f"{_WHOSE[annotators].capitalize()}: {note}."
                for note in said
                if note.partition(": ")[2] not in said
            ]
    rows = [row for row in board.to_pylist() if row["league"] == league]
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row["reason"] and row["scope"] == _SCOPE_FIRST:
            found.setdefault((row["annotators"], row["reason"]), []).append(row["model"])
    for (annotators, reason), models in found.items():
        names = ", ".join(dict.fromkeys(models))
        notes.append(f"{names} ({_WHOSE[annotators]}): {reason}.")
    first = rows[0]
    notes.append(
        f"Intervals: {100 * first['level']:g} %, {first['resamples']} resamples of instructions (seed {first['seed']})."
    )
    notes += _KEYS
    return notes


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def _span(row: Row) -> str:
    """The interval, an open end as "..", nothing where there is none."""
    low, high = row["ci_low"], row["ci_high"]
    if low is None and high is None:
        return ""
    return f"[{'..' if low is None else f'{low:.0f}'}, {'..' if high is None else f'{high:.0f}'}]"


def _ranks(row: Row) -> str:
    low, high = row["rank_low"], row["rank_high"]
    if low is None or high is None:
        return "-"
    return str(low) if low == high else f"{low}-{high}"


def _chance(row: Row) -> str:
    return "-" if row["p_first"] is None else f"{100 * row['p_first']:.0f} %"


def _estimate(row: Row, share: bool, digits: int = 2) -> str:
    """Value and interval; shares in percent."""
    factor, digits = (100, 0) if share else (1, digits)
    if row["value"] is None:
        return "-"
    value = f"{factor * row['value']:.{digits}f}{' %' if share else ''}"
    if row["ci_low"] is None or row["ci_high"] is None:
        return value
    return f"{value} [{factor * row['ci_low']:.{digits}f}, {factor * row['ci_high']:.{digits}f}]"
