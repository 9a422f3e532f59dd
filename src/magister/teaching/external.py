"""Leaderboards of others: their files, and which of their names are our teachers.

A file is CSV with the columns board, model, score and date; others are not read. A higher score is better. Names are
mapped by the user and compared letter by letter: a name without an entry is listed and never guessed.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches

import pyarrow as pa

from magister.contracts.schemas import META_NAMES
from magister.errors import UserError

COLUMNS = ("board", "model", "score", "date")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SHOWN = 60
_LISTED = 5


@dataclass(frozen=True)
class Score:
    """A row of a board's file.

    Attributes:
        file: the file's name.
        row: its line, the header being 1.
        board: the board.
        model: what the board calls the model.
        date: day of the score, YYYY-MM-DD.
        score: higher is better.
    """

    file: str
    row: int
    board: str
    model: str
    date: str
    score: float

    @property
    def place(self) -> str:
        """Where the row stands."""
        return f"{self.file}, row {self.row}"


@dataclass(frozen=True)
class Rejected:
    """A row that cannot be used.

    Attributes:
        file: the file's name.
        row: its line.
        board: the board, as far as the row says.
        model: the model, as far as the row says.
        reason: what is wrong, as a sentence.
    """

    file: str
    row: int
    board: str
    model: str
    reason: str


@dataclass(frozen=True)
class ExternalBoards:
    """What the files say.

    Attributes:
        current: the score of the latest day of every board and model.
        superseded: scores of earlier days.
        rejected: rows that cannot be used.
    """

    current: tuple[Score, ...]
    superseded: tuple[Score, ...]
    rejected: tuple[Rejected, ...]

    @property
    def names(self) -> list[str]:
        """The boards that have a score, in order."""
        return sorted({score.board for score in self.current})


def read_boards(files: Sequence[tuple[str, bytes]]) -> ExternalBoards:
    """Read the files of external boards.

    Args:
        files: name and content of each.

    Returns:
        Every row of every file, once.

    Raises:
        UserError: a file has no header with the four columns, or two rows give one model two scores of one board
            and day; the message names the file and the rows.
    """
    scores: list[Score] = []
    rejected: list[Rejected] = []
    for name, content in sorted(files):
        for entry in _entries(name, content):
            if isinstance(entry, Score):
                scores.append(entry)
            else:
                rejected.append(entry)
    _refuse_duplicates(scores)
    latest: dict[tuple[str, str], Score] = {}
    for score in scores:
        key = (score.board, score.model)
        if key not in latest or score.date > latest[key].date:
            latest[key] = score
    current = {score.place for score in latest.values()}
    return ExternalBoards(
        tuple(latest[key] for key in sorted(latest)),
        tuple(score for score in scores if score.place not in current),
        tuple(rejected),
    )


def match_names(
    teachers: Mapping[str, Sequence[str]], boards: ExternalBoards, names: Mapping[str, Mapping[str, str]]
) -> pa.Table:
    """Say of every teacher and of every row of the files what became of it.

    Args:
        teachers: names of the teachers by league.
        boards: what the files say.
        names: by board, what each of our models is called there.

    Returns:
        Table of contract `meta_names`, sorted by its key.

    Raises:
        UserError: names are given for a board that no file has.
    """
    _refuse_unknown_boards(boards, names)
    found = {(score.board, score.model): score for score in boards.current}
    rows = []
    used: set[str] = set()
    for league, board in [(league, board) for league in teachers for board in boards.names]:
        mapped = names.get(board, {})
        for model in teachers[league]:
            external = mapped.get(model, "")
            score = found.get((board, external)) if external else None
            row = {"league": league, "board": board, "model": model, "external_name": external}
            if score is not None:
                used.add(score.place)
                rows.append(row | _origin(score) | {"status": "used", "reason": ""})
            elif external:
                reason = f"the board has no score of {external!r}"
                rows.append(row | _NOWHERE | {"status": "not_on_board", "reason": reason})
            else:
                reason = f"no entry in teaching.external.names of the board {board!r}"
                rows.append(row | _NOWHERE | {"status": "unmapped", "reason": reason})
    for score in boards.current:
        if score.place not in used:
            ours = sorted(model for model, name in names.get(score.board, {}).items() if name == score.model)
            status, reason = (
                ("not_a_teacher", f"{', '.join(ours)} teaches in no league")
                if ours
                else ("unmapped", f"no model is mapped to it in teaching.external.names of {score.board!r}")
            )
            rows.append(_of_file(score) | _origin(score) | {"status": status, "reason": reason})
    for score in boards.superseded:
        newer = found[score.board, score.model]
        reason = f"the board has a score of {newer.date}: {newer.place}"
        rows.append(_of_file(score) | _origin(score) | {"status": "superseded", "reason": reason})
    for bad in boards.rejected:
        origin = {"file": bad.file, "row": bad.row, "date": None, "score": None}
        rows.append(_of_file(bad) | origin | {"status": "rejected", "reason": bad.reason})
    table = pa.Table.from_pylist(rows, schema=META_NAMES.schema)
    return table.sort_by([(column, "ascending") for column in META_NAMES.key])


_NOWHERE = {"file": "", "row": 0, "date": None, "score": None}


def _origin(score: Score) -> dict[str, object]:
    return {"file": score.file, "row": score.row, "date": score.date, "score": score.score}


def _of_file(row: Score | Rejected) -> dict[str, object]:
    return {"league": "", "board": row.board, "model": "", "external_name": row.model}


def _entries(name: str, content: bytes) -> Iterator[Score | Rejected]:
    """The rows of a file."""
    text = content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    # Strict: a stray quotation mark is a mistake of its row instead of swallowing the rows after it.
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    begun = False
    while True:
        row = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            if header is None:
                raise UserError(f"{name}: row {row}: no readable header: {error}") from None
            begun = True
            lines = f" (lines {row} to {reader.line_num})" if reader.line_num > row else ""
            yield Rejected(name, row, "", "", f"not CSV{lines}: {error}")
            continue
        if not cells:
            continue
        if header is None:
            header = _header(name, row, cells)
            continue
        begun = True
        if len(cells) != len(header):
            yield Rejected(
                name, row, "", "", f"expected {len(header)} cells as in the header, found {len(cells)}"
            )
        else:
            yield _entry(name, row, dict(zip(header, map(str.strip, cells), strict=True)))
    if header is not None and not begun:
        raise UserError(
            f"{name}: a header and no rows; add rows, or take the file out of teaching.external.boards of params.yaml"
        )
    if header is None:
        raise UserError(f"{name}: empty; expected a header with the columns {', '.join(COLUMNS)}")


def _header(name: str, row: int, cells: list[str]) -> list[str]:
    header = [cell.strip() for cell in cells]
    if any("\udc80" <= mark <= "\udcff" or mark == "\0" for cell in header for mark in cell):
        raise UserError(f"{name}: row {row}: not UTF-8 text. Save the file as UTF-8")
    missing = [column for column in COLUMNS if column not in header]
    if missing:
        raise UserError(
            f"{name}: row {row}: the header has no column {', '.join(missing)}; seen: {', '.join(header)}; expected: "
            f"{', '.join(COLUMNS)}"
        )
    twice = sorted({column for column in COLUMNS if header.count(column) > 1})
    if twice:
        raise UserError(f"{name}: row {row}: the column {', '.join(twice)} stands there twice; keep one")
    # A column that is not read may have any name, also one that stands there twice.
    return [cell if cell in COLUMNS else f"{n}: {cell}" for n, cell in enumerate(header)]


def _entry(name: str, row: int, cells: Mapping[str, str]) -> Score | Rejected:
    """A row with all its cells, trimmed."""
    board, model, score, day = (cells[column] for column in COLUMNS)
    broken = [column for column in COLUMNS if any("\ud800" <= mark <= "\udfff" for mark in cells[column])]
    if broken:
        reason = f"{', '.join(broken)}: not UTF-8"
        return Rejected(name, row, _printable(board), _printable(model), reason)
    problems = [f"{column} is empty" for column in ("board", "model") if not cells[column]]
    value = float(score) if _NUMBER.fullmatch(score) else None
    if value is None:
        problems.append(
            f"score {_cut(score)!r} is no number such as 1472 or 61.65" if score else "score is empty"
        )
    elif value in (float("inf"), float("-inf")):
        problems.append(f"score {_cut(score)!r} is beyond every number that can be kept")
    if not _is_day(day):
        problems.append(f"date {_cut(day)!r} is no day such as 2025-08-04" if day else "date is empty")
    if problems or value is None:
        return Rejected(name, row, board, model, "; ".join(problems))
    return Score(name, row, board, model, day, value)


def _is_day(text: str) -> bool:
    if not _DAY.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _printable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _refuse_duplicates(scores: Sequence[Score]) -> None:
    by_key: dict[tuple[str, str, str], list[Score]] = {}
    for score in scores:
        by_key.setdefault((score.board, score.model, score.date), []).append(score)
    repeated = [(key, rows) for key, rows in sorted(by_key.items()) if len(rows) > 1]
    if not repeated:
        return
    lines = [
        f"  {' and '.join(row.place for row in rows)}: {model!r} on the board {board!r} on {day}"
        for (board, model, day), rows in repeated[:_LISTED]
    ]
    more = [f"  and {len(repeated) - _LISTED} more"] if len(repeated) > _LISTED else []
    raise UserError(
        "external boards: a model has more than one score of a board and a day; keep one row of each\n"
        + "\n".join([*lines, *more])
    )


def _refuse_unknown_boards(boards: ExternalBoards, names: Mapping[str, Mapping[str, str]]) -> None:
    for board in sorted(names):
        if board not in boards.names:
            lost = [row for row in boards.rejected if row.board == board]
            if lost:
                raise UserError(
                    f"external boards: none of the {len(lost)} row(s) of the board {board!r} can be used; first "
                    f"{lost[0].file}, row {lost[0].row}: {lost[0].reason}"
                )
            near = get_close_matches(board, boards.names, 1)
            raise UserError(
                f"params.yaml: teaching.external.names.{board}: no file of teaching.external.boards has a score of "
                f"this board{f', did you mean {near[0]!r}?' if near else ''}; boards there: "
                f"{', '.join(map(repr, boards.names)) or 'none'}"
            )
