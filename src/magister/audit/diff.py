"""What changed between two runs, cell by cell, and what each change began with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from magister.audit.cells import BOARDS, Board, Cell, CellId, cells_of
from magister.audit.compare import changes
from magister.audit.content import named, read_table
from magister.audit.snapshot import Snapshot
from magister.errors import UserError

CauseKind = Literal["prompt", "params", "data", "responses", "inputs", "code", "arithmetic"]
_OF_USERS = ("prompt", "params", "data", "inputs")
"""Causes that are named wherever they enter a chain; the others only where the chain first differs."""
_NAMED = 5


class Cause(NamedTuple):
    """Why an artifact is another one."""

    kind: CauseKind
    what: str


@dataclass(frozen=True)
class Reason:
    """What the change of a cell began with.

    Attributes:
        first: the first artifact in its chain that says something else.
        causes: why that one does.
        also: what changed further down its chain: path -> causes.
    """

    first: str
    causes: tuple[Cause, ...]
    also: tuple[tuple[str, Cause], ...] = ()


@dataclass(frozen=True)
class Change:
    """A cell that is another one.

    Attributes:
        cell: which.
        old: what stood there; None where it was added.
        new: what stands there; None where it was removed.
        reason: what it began with.
    """

    cell: CellId
    old: Cell | None
    new: Cell | None
    reason: Reason

    @property
    def difference(self) -> float | None:
        """New minus old; None where one of them is unknown."""
        if self.old is None or self.new is None or self.old.value is None or self.new.value is None:
            return None
        return self.new.value - self.old.value

    @property
    def shift(self) -> float | None:
        """The difference in units of half the old interval, or of the old standard deviation."""
        unit = self.old.unit if self.old is not None else None
        return self.difference / unit if self.difference is not None and unit else None


@dataclass
class Diff:
    """Two runs beside one another.

    Attributes:
        old: name of the first run.
        new: name of the second.
        cells: how many cells each board has, in both together.
        changes: cells that differ, sorted.
        absent: boards that neither run has.
    """

    old: str
    new: str
    cells: dict[str, int] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)


def diff(old: Snapshot, new: Snapshot) -> Diff:
    """Compare the boards of two runs, and walk back to where they part.

    Args:
        old: a run.
        new: another one.

    Raises:
        UserError: a file of a run is not on this machine or cannot be read.
    """
    result, walk = Diff(old.name, new.name), _Walk(old, new)
    for name, board in BOARDS.items():
        if board.path not in old.files and board.path not in new.files:
            result.absent.append(name)
            continue
        before, after = _cells(old, name, board), _cells(new, name, board)
        ids = sorted({*before, *after})
        result.cells[name] = len(ids)
        rated = _rated(board, ids)
        for cell in ids:
            if before.get(cell) == after.get(cell):
                continue
            reason = walk.reason(board, cell, rated, lasting=cell in before and cell in after)
            result.changes.append(Change(cell, before.get(cell), after.get(cell), reason))
    if len(result.absent) == len(BOARDS):
        raise UserError(f"{old.name} and {new.name}: no boards in either. Run: snakemake --cores all")
    return result


def _cells(run: Snapshot, name: str, board: Board) -> dict[CellId, Cell]:
    return cells_of(name, read_table(run.file(board.path))) if board.path in run.files else {}


def _rated(board: Board, ids: Iterable[CellId]) -> dict[str, set[str]]:
    """Who is rated apart from others, by league."""
    found: dict[str, set[str]] = {}
    if board.rated is not None:
        place = board.key.index(board.rated)
        for cell in ids:
            found.setdefault(cell.key[0], set()).add(cell.key[place])
    return found


@dataclass
class _Walk:
    """Walks the lineage of two runs at once."""

    old: Snapshot
    new: Snapshot
    _heights: dict[str, int] = field(default_factory=dict)
    _reasons: dict[tuple[str, str, frozenset[str], bool], Reason] = field(default_factory=dict)

    def reason(self, board: Board, cell: CellId, rated: Mapping[str, set[str]], *, lasting: bool) -> Reason:
        """What the change of a cell began with.

        Args:
            board: its board.
            cell: which.
            rated: who is rated apart from others, by league.
            lasting: whether it stands in both runs.
        """
        group = cell.key[0]
        others: set[str] = set()
        # A rank is among all of a league.
        if board.rated is not None and cell.metric != "rank":
            others = rated.get(group, set()) - {cell.key[board.key.index(board.rated)]}
        known = (board.path, group, frozenset(others), lasting)
        if known not in self._reasons:
            self._reasons[known] = self._found(self._chain(board, group, others), lasting=lasting)
        return self._reasons[known]

    def _inputs(self, path: str) -> set[str]:
        """What an artifact was made from in either run."""
        return {
            name
            for run in (self.old, self.new)
            if path in run.files
            for name in run.lineage(path).get("inputs", {})
        }

    def _made(self, path: str) -> bool:
        return path in self.old.files or path in self.new.files

    def _chain(self, board: Board, group: str, others: set[str]) -> list[str]:
        """Artifacts behind the cells of a league, study or set, the board first.

        Args:
            board: the board.
            group: the league, study or set.
            others: models that are rated beside the cell's own and do not count into it.
        """
        behind = sorted(filter(self._made, self._inputs(board.path)))
        mine = [path for path in behind if group in self._names(path)]
        seen, waiting = {board.path}, mine or behind
        while waiting:
            path = waiting.pop()
            if path in seen or self._speaks_for(path, group) in others:
                continue
            seen.add(path)
            waiting += [name for name in self._inputs(path) if self._made(name)]
        return sorted(seen)

    def _names(self, path: str) -> set[str]:
        """Names by which a file belongs to a league, study or set: folders, wildcards."""
        run = self.new if path in self.new.files else self.old
        return {*path.split("/"), *map(str, run.lineage(path).get("wildcards", {}).values())}

    def _speaks_for(self, path: str, group: str) -> str | None:
        """The teacher whose words alone these are; None for everything else.

        Students answer all teachers at once, so that their files are everybody's.
        """
        folders = path.split("/")[:-1]
        if group not in folders or not {"guide", "zero_shot"} & set(folders):
            return None
        run = self.new if path in self.new.files else self.old
        return run.lineage(path).get("wildcards", {}).get("model")

    def _height(self, path: str) -> int:
        """How many artifacts stand behind a file, one behind the other."""
        if path not in self._heights:
            self._heights[path] = 0
            behind = [self._height(name) for name in self._inputs(path) if self._made(name)]
            self._heights[path] = 1 + max(behind, default=0)
        return self._heights[path]

    def _differs(self, path: str) -> bool:
        """Whether an artifact says something else in the two runs, or is in one of them alone."""
        if path not in self.old.files or path not in self.new.files:
            return True
        return self.old.md5(path) != self.new.md5(path) and self.old.data(path) != self.new.data(path)

    def _found(self, chain: list[str], *, lasting: bool) -> Reason:
        others = sorted(filter(self._differs, chain), key=lambda path: (self._height(path), path))
        both = [path for path in others if path in self.old.files and path in self.new.files]
        # What stands in a single run says only that something asked for it: the reason of a cell that came or went.
        candidates = both if lasting and both else others
        among = set(candidates)
        first = next(path for path in candidates if not among & self._inputs(path))
        causes = tuple(self._causes(first))
        also: dict[Cause, str] = {}
        for path in both:
            for cause in self._causes(path):
                if cause.kind in _OF_USERS and cause not in causes:
                    also.setdefault(cause, path)
        return Reason(first, causes, tuple((path, cause) for cause, path in also.items()))

    def _causes(self, path: str) -> list[Cause]:
        """Why an artifact differs, apart from what stands behind it."""
        if path not in self.old.files or path not in self.new.files:
            run = self.new if path in self.new.files else self.old
            lines = changes(self.old.params, self.new.params)
            return [Cause("params", "; ".join(lines[:_NAMED]) or f"only {run.name} asks for it")]
        one, two = self.old.lineage(path), self.new.lineage(path)
        found = [Cause("params", line) for line in self._params(one, two)]
        found += self._sources(one, two)
        among = any(self._differs(name) for name in self._inputs(path) if self._made(name))
        if not found and not among and two.get("rule") == "complete":
            found.append(Cause("responses", self._responses(path)))
        code = _unlike(one.get("code", {}), two.get("code", {}))
        if code:
            found.append(Cause("code", named(code)))
        return found or [Cause("arithmetic", "the same inputs, parameters and code")]

    def _params(self, one: Mapping[str, Any], two: Mapping[str, Any]) -> list[str]:
        lines = changes(one.get("params", {}), two.get("params", {}))
        model = two.get("wildcards", {}).get("model")
        return [
            f"models.{model}{line.removeprefix('model')}" if model and line.startswith("model.") else line
            for line in lines
        ]

    def _sources(self, one: Mapping[str, Any], two: Mapping[str, Any]) -> list[Cause]:
        """Files that no rule has made, and which inputs came or went."""
        before, after = one.get("inputs", {}), two.get("inputs", {})
        gone, come = sorted({*before} - {*after}), sorted({*after} - {*before})
        found = []
        for name in sorted({*before} & {*after}):
            if before[name] != after[name] and not self._made(name):
                found.append(Cause("prompt" if name.startswith("prompts/") else "data", name))
        for folder in sorted({name.rsplit("/", 1)[0] for name in [*gone, *come]}):
            old = [name for name in gone if name.rsplit("/", 1)[0] == folder]
            new = [name for name in come if name.rsplit("/", 1)[0] == folder]
            kind: CauseKind = "prompt" if folder.startswith("prompts/") else "inputs"
            found.append(Cause(kind, f"{named(old) or 'nothing'} -> {named(new) or 'nothing'}"))
        return found

    def _responses(self, path: str) -> str:
        """How many answers to the same requests are others."""
        old, new = _answers(self.old, path), _answers(self.new, path)
        other = sum(old.get(key) != answer for key, answer in new.items())
        return f"{other} of {len(new)} answers to the same requests"


def _unlike(one: Mapping[str, str], two: Mapping[str, str]) -> list[str]:
    return sorted(name for name in {*one, *two} if one.get(name) != two.get(name))


def _answers(run: Snapshot, path: str) -> dict[str, Any]:
    rows = map(json.loads, run.file(path).read_text(encoding="utf-8").splitlines())
    return {row["custom_id"]: (row["response"], row["error"]) for row in rows}
