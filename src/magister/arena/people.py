"""People's votes: sheets exported to files, and filled ones read back with strict labels."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from magister.arena.ballots import Choice, cast_votes, rejected_table
from magister.errors import CheckFailed, UserError

COLUMNS = ("comparison_id", "instruction", "response_1", "response_2", "winner", "annotator", "seconds")
"""Columns of an exported sheet; the last three are to be filled in."""
LABELS: dict[str, Choice] = {
    **dict.fromkeys(("1", "1.0", "a", "response 1", "response_1"), "1"),
    **dict.fromkeys(("2", "2.0", "b", "response 2", "response_2"), "2"),
    **dict.fromkeys(("tie", "t", "draw"), "tie"),
    **dict.fromkeys(("both_bad", "both bad", "bothbad", "tie (bothbad)"), "both_bad"),
}
"""Every label that is read, in any case. "1.0" is what some spreadsheets make of 1."""
NOT_ERRORS = ("not_judged", "repeated")
"""Reasons why a row is no vote that nobody has to mend."""

# Full-width forms too: some spreadsheets read them alike.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_EXPECTED = "expected 1, 2, tie or both_bad"
_MAX_SHOWN = 10


def export_csv(sheet: pa.Table) -> str:
    """Write a sheet as CSV that a spreadsheet opens without running anything.

    Text that a spreadsheet would take for a formula (beginning with = + - @, a tab or a line break) gets an
    apostrophe before it; only `comparison_id` and what people fill in is ever read back. All cells are quoted, so
    line breaks stay inside them, and the file begins with a byte order mark, without which spreadsheets misread
    UTF-8.

    Args:
        sheet: SHEET table.

    Returns:
        The text of the file.
    """
    out = io.StringIO(newline="")
    out.write("\ufeff")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in _rows(sheet):
        writer.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in row.values()])
    return out.getvalue()


def export_jsonl(sheet: pa.Table) -> str:
    """Write a sheet as JSON lines, texts as they are.

    Args:
        sheet: SHEET table.

    Returns:
        The text of the file.
    """
    # Line separators that only some readers of lines know are written out.
    lines = (json.dumps(row, ensure_ascii=False) for row in _rows(sheet))
    return "".join(
        re.sub("[\u0085\u2028\u2029]", lambda hit: f"\\u{ord(hit[0]):04x}", line) + "\n" for line in lines
    )


def _rows(sheet: pa.Table) -> list[dict[str, str]]:
    shown = sheet.sort_by([("comparison_id", "ascending")]).select(COLUMNS[:4]).to_pylist()
    return [row | dict.fromkeys(COLUMNS[4:], "") for row in shown]


class Sheet(NamedTuple):
    """A file that people filled in.

    Attributes:
        source: its name for messages.
        rows: line and cells by column.
        broken: line, what is wrong and text of rows that cannot be read.
        annotator: who filled it in, where a row does not say.
    """

    source: str
    rows: Sequence[tuple[int, Mapping[str, Any]]]
    broken: Sequence[tuple[int, str, str]] = ()
    annotator: str = ""


@dataclass(frozen=True)
class Imported:
    """Votes of people, and every row that is none.

    Attributes:
        votes: VOTES table.
        rejected: VOTES_REJECTED table; `source` and `row` are file and line. Reasons: `not_judged` (no label),
            `repeated` (the same label again), and errors: `unreadable_row`, `unknown_label`, `unknown_comparison`,
            `contradiction` (two labels of one annotator for one comparison), `no_annotator`, `bad_seconds`.
    """

    votes: pa.Table
    rejected: pa.Table

    @property
    def counts(self) -> dict[str, int]:
        """Rows that are no vote, by reason."""
        return dict(sorted(Counter(self.rejected["reason"].to_pylist()).items()))

    def errors(self, allow: Collection[str] = ()) -> list[str]:
        """A line per row that has to be mended, in the order of files and lines.

        Args:
            allow: reasons that are no error here, such as `unknown_comparison` where files hold older sheets too.
        """
        fine = {*NOT_ERRORS, *allow}
        return [
            f"{row['source']}, line {row['row']}: {row['detail']}"
            for row in self.rejected.to_pylist()
            if row["reason"] not in fine
        ]

    def check(self, allow: Collection[str] = ()) -> None:
        """Refuse files with errors.

        Args:
            allow: as in `errors`.

        Raises:
            CheckFailed: names file, line and what is wrong of the first rows.
        """
        wrong = self.errors(allow)
        if wrong:
            shown = "\n".join(f"  {line}" for line in wrong[:_MAX_SHOWN])
            rest = f"\n  and {len(wrong) - _MAX_SHOWN} more" if len(wrong) > _MAX_SHOWN else ""
            raise CheckFailed(f"{len(wrong)} row(s) of annotations have to be mended:\n{shown}{rest}")


@dataclass
class _Reading:
    """What has been read so far."""

    places: dict[str, int]
    rejected: list[dict[str, Any]] = field(default_factory=list)
    said: dict[tuple[str, str], list[_Said]] = field(default_factory=dict)

    def refuse(self, source: str, row: int, reason: str, detail: str, **more: Any) -> None:
        place = {"source": source, "row": row, "reason": reason, "detail": detail, "raw": ""}
        self.rejected.append(place | more)


class _Said(NamedTuple):
    source: str
    row: int
    choice: Choice
    raw: str
    seconds: float | None


def import_sheets(sheets: Sequence[Sheet], key: pa.Table) -> Imported:
    """Read sheets that people filled in.

    A row needs `comparison_id` and `winner`, one of `LABELS`; `annotator` and `seconds` are read where they are
    there. An empty label is a comparison not judged. Whoever judges a comparison twice alike has judged it once
    (the smaller number of seconds is kept); two different labels are an error and neither counts.

    Args:
        sheets: the files.
        key: SHEET_KEY table of the sheet.

    Returns:
        Votes, and the rows that are none; call `check` to refuse those with errors.

    Raises:
        UserError: a file lacks a column, or stands there twice.
    """
    sources = [sheet.source for sheet in sheets]
    twice = sorted({name for name in sources if sources.count(name) > 1})
    if twice:
        raise UserError(f"{', '.join(twice)}: named twice; name each file of annotations once")
    places = {name: at for at, name in enumerate(key["comparison_id"].to_pylist())}
    reading = _Reading(places)
    for sheet in sheets:
        _read(sheet, reading)
    votes = []
    for (annotator, comparison), several in sorted(reading.said.items()):
        several.sort(key=lambda said: (said.source, said.row))
        if len({said.choice for said in several}) > 1:
            _contradict(reading, annotator, comparison, several)
            continue
        for said in several[1:]:
            same = f"{comparison} is judged alike in {several[0].source}, line {several[0].row}"
            reading.refuse(
                said.source, said.row, "repeated", same,
                raw=said.raw, comparison_id=comparison, annotator=annotator,
            )  # fmt: skip
        known = [said.seconds for said in several if said.seconds is not None]
        votes.append((places[comparison], several[0].choice, annotator, min(known, default=None)))
    where, choices, annotators, seconds = (
        (list(column) for column in zip(*votes, strict=True)) if votes else ([],) * 4
    )
    made = cast_votes(
        key, where, choices, annotators, kind="person", shown="sheet", more={"seconds": seconds}
    )
    return Imported(made, rejected_table(reading.rejected))


def _contradict(reading: _Reading, annotator: str, comparison: str, several: list[_Said]) -> None:
    told = "; ".join(f"{said.source}, line {said.row}: {said.choice}" for said in several)
    for said in several:
        reading.refuse(
            said.source, said.row, "contradiction",
            f"{annotator!r} says different things of {comparison} ({told}); keep one of these lines",
            raw=said.raw, comparison_id=comparison, annotator=annotator,
        )  # fmt: skip


def _read(sheet: Sheet, reading: _Reading) -> None:
    for row, detail, raw in sheet.broken:
        reading.refuse(sheet.source, row, "unreadable_row", detail, raw=raw)
    found = {str(name).strip().lower() for _, cells in sheet.rows for name in cells}
    missing = [name for name in ("comparison_id", "winner") if name not in found]
    if sheet.rows and missing:
        raise UserError(
            f"{sheet.source}: no column {', '.join(missing)}; found: {', '.join(sorted(found))}. Expected a comma-"
            "separated file (or JSON lines) with the columns of the exported sheet"
        )
    if {"model_a", "model_b"} & found:
        raise UserError(
            f"{sheet.source}: names models, as a file of votes does and a blind sheet does not: its winners are models "
            "and not responses. Import the sheets that people filled in"
        )
    for line, cells in sheet.rows:
        _read_row(sheet, line, {str(name).strip().lower(): cell for name, cell in cells.items()}, reading)


def _text(cell: object) -> str:
    return "" if cell is None else str(cell).strip()


def _read_row(sheet: Sheet, line: int, cells: Mapping[str, Any], reading: _Reading) -> None:
    comparison, raw = _text(cells.get("comparison_id")), _text(cells.get("winner"))
    annotator = _text(cells.get("annotator")) or sheet.annotator.strip()
    place = {"raw": raw, "comparison_id": comparison or None, "annotator": annotator or None}

    def refuse(reason: str, detail: str) -> None:
        reading.refuse(sheet.source, line, reason, detail, **place)

    if not raw:
        refuse("not_judged", f"{comparison} has no label")
    elif comparison not in reading.places:
        refuse(
            "unknown_comparison",
            f"comparison {comparison!r} is not on this sheet: it is of another one, or a response has changed since",
        )
    elif raw.casefold() not in LABELS:
        refuse("unknown_label", f"label {raw!r} is unknown; {_EXPECTED}")
    elif not annotator:
        refuse(
            "no_annotator", "nobody is named; fill in column 'annotator' or name the file after the annotator"
        )
    else:
        seconds = _seconds(cells.get("seconds"))
        if seconds is not None and math.isnan(seconds):
            refuse(
                "bad_seconds",
                f"seconds {_text(cells['seconds'])!r} are no number from 0; correct or empty the cell",
            )
            return
        said = _Said(sheet.source, line, LABELS[raw.casefold()], raw, seconds)
        reading.said.setdefault((annotator, comparison), []).append(said)


def _seconds(cell: object) -> float | None:
    """Seconds; None where there are none, NaN where they cannot be read."""
    text = _text(cell)
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        return math.nan
    return seconds if math.isfinite(seconds) and seconds >= 0 else math.nan
