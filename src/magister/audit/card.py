"""An audit card: one number of a board with everything that it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

FORMAT = 1
"""Version of the form of a card in JSON."""


@dataclass(frozen=True)
class Cell:
    """Which number.

    Attributes:
        board: teaching, arena, mastery or rubrics.
        model: model, or control arm.
        metric: the column, system, attribute or dimension.
        place: what else says which number is meant (`in`, `arm`, `slice`, `round`, `annotators`), as the command's
            options take it.
        title: all of that in words.
        board_file: the board.
        column: the column of the board that holds the number; None where it stands only in the table behind.
        table: the file behind the board that holds the number.
    """

    board: str
    model: str
    metric: str
    place: Mapping[str, str]
    title: str
    board_file: str
    column: str | None
    table: str

    @property
    def file(self) -> str:
        """The file to quote: the board, or the table where the board does not print the number."""
        return self.table if self.column is None else self.board_file


@dataclass(frozen=True)
class Number:
    """The number with its uncertainty; None is unknown, and `reason` says why.

    Attributes:
        value: the number.
        ci_low: lower end of the interval.
        ci_high: upper end.
        se: standard error.
        level: of the interval.
        method: how the interval was made; empty without one.
        resamples: B; None where none are drawn.
        seed: of the resamples.
        status: as in the table.
        reason: what is to be said of the number, or why there is none.
        unit: what it is measured in.
    """

    value: float | None
    ci_low: float | None
    ci_high: float | None
    se: float | None
    level: float | None
    method: str
    resamples: int | None
    seed: int | None
    status: str
    reason: str
    unit: str


@dataclass(frozen=True)
class Formula:
    """What the number means.

    Attributes:
        words: in a sentence.
        symbols: as a formula.
        source: paper and equation, or the module that defines it.
        denominator: what is counted and what is not: the policy.
    """

    words: str
    symbols: str
    source: str
    denominator: str


@dataclass(frozen=True)
class Transcript:
    """Where something that a model said lies.

    Attributes:
        role: whose words.
        file: response file, empty where it is unknown.
        key: `custom_id` of the line.
        store: file of the store that it was composed from.
    """

    role: str
    file: str
    key: str
    store: str


@dataclass(frozen=True)
class Mover:
    """Something without which the number would be another.

    Attributes:
        name: what it is.
        change: the number less the number without it; None where there is none without it.
        without: the number without it.
        lines: what is known of it, for people.
        facts: the same, for programs.
        transcripts: what was said.
        evidence: by what it is ranked, where that is not the change.
    """

    name: str
    change: float | None
    without: float | None
    lines: tuple[str, ...]
    facts: Mapping[str, Any]
    transcripts: tuple[Transcript, ...] = ()
    evidence: float | None = None


@dataclass(frozen=True)
class Movers:
    """What moves the number most.

    Attributes:
        unit: what is left out, one at a time.
        method: how the change is worked out.
        n: how many there are.
        as_far: how many of those not shown move it as far as the last one shown.
        shown: the largest first.
        note: what must be said beside them; why there are none.
    """

    unit: str
    method: str
    n: int
    as_far: int
    shown: tuple[Mover, ...]
    note: str = ""


@dataclass(frozen=True)
class Again:
    """The number worked out again from the rows that the movers were taken from.

    Attributes:
        value: what came out; None where nothing does.
        rows: how many rows of which file.
        agrees: whether it is the number; None where it cannot be compared, and `reason` says why.
        reason: why it cannot be compared.
    """

    value: float | None
    rows: str
    agrees: bool | None
    reason: str = ""


@dataclass(frozen=True)
class Source:
    """A file behind the number.

    Attributes:
        path: from the project's folder.
        kind: `artifact` (a rule made it), `source` (nobody did), `store` (answers of a model as they came).
        steps: how many steps it lies behind the board.
        md5: as the lineage of what was made from it records it; of the board and the store: as it is now.
        rule: that made it; empty without one.
        wildcards: of that rule.
        params: of that rule.
        inputs: paths of what it was made from.
        code: how many source files the rule ran.
        problem: why its lineage cannot be read, or that it is gone.
    """

    path: str
    kind: str
    steps: int
    md5: str | None
    rule: str = ""
    wildcards: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    code: int = 0
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a board's own reader says of a number.

    Attributes:
        cell: which number.
        number: the number.
        formula: what it means.
        counts: what it rests on.
        statuses: replies, dialogues or scores behind it by status.
        beside: what the board says beside it (ranks, groups, support), as sentences.
        again: the number worked out again.
        movers: what moves it most.
        warnings: what does not fit together.
    """

    cell: Cell
    number: Number
    formula: Formula
    counts: Mapping[str, int | float]
    statuses: Mapping[str, int]
    beside: tuple[str, ...]
    again: Again
    movers: Movers
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Card(Facts):
    """All of it.

    Attributes:
        sources: every file behind it, nearest to the board first.
        commands: `audit`, `rebuild` and `verify`.
    """

    sources: tuple[Source, ...]
    commands: Mapping[str, str]

    @property
    def md5(self) -> str:
        """md5 of the file that holds the number."""
        return str(next(one.md5 for one in self.sources if one.path == self.cell.file))

    def document(self) -> dict[str, Any]:
        """The card as a JSON value; docs/schemas/audit.schema.json says what it holds."""
        fields = asdict(self)
        warnings = fields.pop("warnings")
        return {"format": FORMAT, **_plain(fields | {"warnings": warnings})}


def _plain(value: Any) -> Any:
    """Tuples as lists."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
