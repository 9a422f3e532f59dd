"""Trajectories as arrays: strings are coded once, rows become cells of a cube, and no loop touches a row.

Axes: unit (a teacher in an arm) x student x item x round. Codes follow the sorted names and never the order
of the rows. Units asked the same items with the same students and rounds share a `Cube`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts.schemas import LEAKS, STATUSES, VERDICTS
from magister.errors import UserError

OK = STATUSES.index("ok")
ERROR = STATUSES.index("error")
CORRECT, WRONG, NONE = (VERDICTS.index(verdict) for verdict in ("correct", "wrong", "none"))
#: Status code of a cell that was never asked.
NOT_ASKED = -1
#: What an item may be flagged as; slices of these kinds are "yes" and "no".
FLAGS = ("needs_options", "options_in_question", "multi")
#: What is said of an item beside its id.
FACTS = ("dataset", "domain", "cluster_id", "band", "n_options", *FLAGS)

Ints = NDArray[np.integer]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Items:
    """The items of a cube, sorted by dataset, cluster and id.

    Attributes:
        ids: item ids, length N.
        slices: per slice kind the slice of each item as text, "" where it has none.
        cluster: cluster of each item, 0..C-1, not decreasing, shape (N,).
        strata: dataset of each cluster, length C.
    """

    ids: tuple[str, ...]
    slices: dict[str, tuple[str, ...]]
    cluster: Ints
    strata: tuple[str, ...]

    def each_slice(self, kinds: tuple[str, ...]) -> Iterator[tuple[str, str, Ints]]:
        """Kind, slice and the positions of its items, for every slice that exists.

        A flag that no item has makes no slice: "no" would be the whole.
        """
        for kind in kinds:
            labels = np.asarray(self.slices[kind], dtype=object)
            if kind in FLAGS and not (labels == "yes").any():
                continue
            for label in sorted(set(self.slices[kind]) - {""}):
                yield kind, label, np.flatnonzero(labels == label)


@dataclass(frozen=True)
class Cube:
    """Cells of the units that share items, students and rounds.

    Attributes:
        league: league of all units.
        units: (arm, teacher) per unit, length U.
        students: names, length S.
        items: the items, N of them.
        status: index into `STATUSES` or `NOT_ASKED`, int8, shape (U, S, N, R).
        right: reply with status ok that is correct, shape (U, S, N, R).
        verdict: index into `VERDICTS` of the verdict of round 1, int8, shape (U, S, N).
        guide_error: a guide of the cell failed for reasons of infrastructure, shape (U, S, N).
        leak: index into `LEAKS` of the worst leak of the cell's guides, int8, shape (U, S, N).
        leaked: round of the first guide that leaked, R where none did, int8, shape (U, S, N).
    """

    league: str
    units: tuple[tuple[str, str], ...]
    students: tuple[str, ...]
    items: Items
    status: Ints
    right: Bools
    verdict: Ints
    guide_error: Bools
    leak: Ints
    leaked: Ints

    @property
    def rounds(self) -> int:
        """Number of rounds R, the blind answer included."""
        return int(self.status.shape[-1])

    def of_student(self, s: int) -> Cube:
        """The cells of one student alone."""
        one = slice(s, s + 1)
        return replace(
            self,
            students=self.students[one],
            **{name: getattr(self, name)[:, one] for name in _CELLS},
        )

    def asked(self) -> Bools:
        """Cells that exist, shape (U, S, N)."""
        return self.status[..., 0] != NOT_ASKED

    def kept(self, policy: str) -> Bools:
        """Cells that are counted under the policy, shape (U, S, N).

        A failure of infrastructure in any round is no answer, so the whole cell goes under either policy.
        "wrong" counts every other status as a wrong answer; "drop" leaves out the cells with one.
        """
        failed = self.status != OK if policy == "drop" else self.status == ERROR
        return self.asked() & ~failed.any(axis=-1) & ~self.guide_error


_CELLS = ("status", "right", "verdict", "guide_error", "leak", "leaked")


def trajectory_cubes(trajectories: pa.Table) -> list[Cube]:
    """The cubes of a trajectories table.

    Args:
        trajectories: see the contract of that name; every cell has all rounds 0..T of its unit, T >= 1.

    Raises:
        UserError: for a missing column, an unknown status or verdict, repeated or missing rounds, an item
            with two datasets or clusters, or an answered row without `correct`.
    """
    wanted = (
        "league",
        "arm",
        "teacher",
        "student",
        "item_id",
        "round",
        "status",
        "correct",
        "verdict",
        "leak",
    )
    table = _Coded(trajectories, "trajectories", (*wanted, "guide_status"))
    rounds = table.numbers("round")
    if rounds.size and rounds.min() < 0:
        raise UserError("trajectories: `round` must be 0 or more in every row")
    verdict = table.vocabulary("verdict", (*VERDICTS, ""))
    # Round 0 has no verdict and control arms may have none: only a name outside the vocabulary is a mistake.
    verdict = np.where(verdict == len(VERDICTS), NONE, verdict).astype(np.int8)
    guide_error: Bools = table.equals("guide_status", "error")
    leak = table.vocabulary("leak", (*LEAKS, ""))
    leak = np.where(leak == len(LEAKS), 0, leak).astype(np.int8)
    arm, teacher, student = table.codes("arm"), table.codes("teacher"), table.codes("student")

    def unit_name(key: int) -> tuple[str, str]:
        return arm.names[key // len(teacher.names)], teacher.names[key % len(teacher.names)]

    def named(league: str, key: int) -> str:
        return f"trajectories: {'/'.join(unit_name(key))} in league {league}"

    cubes = []
    for league, rows, frame in table.leagues():
        unit = arm.code[rows] * len(teacher.names) + teacher.code[rows]
        parts: dict[tuple[bytes, bytes, int], list[tuple[int, Ints, Ints, Ints]]] = {}
        for key, picked in _groups(unit):
            chosen = rows[picked]
            here: Ints = np.unique(student.code[chosen])
            asked: Ints = np.unique(frame.item[picked])
            last = int(rounds[chosen].max())
            if last < 1:
                raise UserError(
                    f"{named(league, key)} has no round after 0, so nothing was taught; run the rounds first"
                )
            parts.setdefault((here.tobytes(), asked.tobytes(), last), []).append((key, chosen, here, asked))
        for (_, _, last), members in sorted(parts.items(), key=lambda part: part[1][0][0]):
            here, asked = members[0][2], members[0][3]
            shape = (len(members), here.size, asked.size, last + 1)
            status: Ints = np.full(shape, NOT_ASKED, dtype=np.int8)
            right = np.zeros(shape, dtype=bool)
            judged: Ints = np.full(shape[:3], NONE, dtype=np.int8)
            failed = np.zeros(shape[:3], dtype=bool)
            worst: Ints = np.zeros(shape[:3], dtype=np.int8)
            leaked: Ints = np.full(shape[:3], last + 1, dtype=np.int8)
            for u, (key, chosen, *_) in enumerate(members):
                s = np.searchsorted(here, student.code[chosen])
                n = np.searchsorted(asked, frame.local(chosen))
                t = rounds[chosen]
                status[u, s, n, t] = table.status[chosen]
                right[u, s, n, t] = table.right[chosen]
                first = t == 1
                judged[u, s[first], n[first]] = verdict[chosen[first]]
                failed[u, s[guide_error[chosen]], n[guide_error[chosen]]] = True
                told = leak[chosen] > 0
                np.maximum.at(worst[u], (s[told], n[told]), leak[chosen[told]])
                np.minimum.at(leaked[u], (s[told], n[told]), t[told].astype(np.int8))
                _check_rounds(status[u], chosen.size, named(league, key))
            units = tuple(unit_name(key) for key, *_ in members)
            students = tuple(student.names[code] for code in here.tolist())
            cubes.append(
                Cube(
                    league, units, students, frame.items(asked), status, right, judged, failed, worst, leaked
                )
            )
    return cubes


def zero_shot_cubes(zero_shot: pa.Table) -> list[Cube]:
    """The teachers' own answers as cubes with one nameless student and one round.

    Args:
        zero_shot: columns league, teacher, item_id, dataset, domain, cluster_id, band, n_options, the
            flags, status, correct.

    Raises:
        UserError: as `trajectory_cubes`.
    """
    table = _Coded(zero_shot, "zero_shot", ("league", "teacher", "item_id", "status", "correct"))
    teacher = table.codes("teacher")
    cubes = []
    for league, rows, frame in table.leagues():
        parts: dict[bytes, list[tuple[int, Ints, Ints]]] = {}
        for key, picked in _groups(teacher.code[rows]):
            asked: Ints = np.unique(frame.item[picked])
            parts.setdefault(asked.tobytes(), []).append((key, rows[picked], asked))
        for members in sorted(parts.values(), key=lambda part: part[0][0]):
            asked = members[0][2]
            shape = (len(members), 1, asked.size, 1)
            status: Ints = np.full(shape, NOT_ASKED, dtype=np.int8)
            right = np.zeros(shape, dtype=bool)
            for u, (key, chosen, _) in enumerate(members):
                n = np.searchsorted(asked, frame.local(chosen))
                status[u, 0, n, 0] = table.status[chosen]
                right[u, 0, n, 0] = table.right[chosen]
                _check_rounds(status[u], chosen.size, f"zero_shot: {teacher.names[key]} in league {league}")
            units = tuple(("taught", teacher.names[key]) for key, *_ in members)
            none = np.full(shape[:3], NONE, dtype=np.int8)
            items = frame.items(asked)
            no = np.zeros(shape[:3], dtype=np.int8)
            cubes.append(Cube(league, units, ("",), items, status, right, none, no.astype(bool), no, no + 1))
    return cubes


@dataclass(frozen=True)
class _Codes:
    names: list[str]
    code: Ints


class _Coded:
    """A table with its string columns coded by sorted name."""

    def __init__(self, table: pa.Table, name: str, columns: tuple[str, ...]) -> None:
        self.table, self.name = table, name
        for column in (*columns, *FACTS):
            if column not in table.column_names:
                raise UserError(
                    f"{name}: column {column!r} is missing; the table has {', '.join(table.column_names)}"
                )
        self.status = self.vocabulary("status", STATUSES)
        given = table["correct"]
        lost = pc.is_null(given).to_numpy() & (self.status != ERROR)
        if lost.any():
            raise UserError(
                f"{name}: row {int(np.flatnonzero(lost)[0])} has a reply but no `correct`; only errors may"
            )
        self.right = given.fill_null(False).to_numpy().astype(bool) & (self.status == OK)

    def codes(self, column: str) -> _Codes:
        """Codes in the order of the sorted names, so that they do not depend on the order of the rows."""
        chunked = self.table[column]
        if pa.types.is_dictionary(chunked.type):
            chunked = chunked.cast(chunked.type.value_type)
        if chunked.null_count:
            raise UserError(f"{self.name}: {chunked.null_count} rows have no {column!r}")
        coded = chunked.combine_chunks().dictionary_encode()
        if isinstance(coded, pa.ChunkedArray):
            coded = coded.combine_chunks()
        names = coded.dictionary.to_pylist()
        order = sorted(range(len(names)), key=names.__getitem__)
        position = np.empty(len(names), dtype=np.int32)
        position[order] = np.arange(len(names), dtype=np.int32)
        return _Codes([names[i] for i in order], position[coded.indices.to_numpy()])

    def vocabulary(self, column: str, words: tuple[str, ...]) -> NDArray[np.int8]:
        """Codes by position in a closed vocabulary."""
        coded = self.codes(column)
        unknown = [name for name in coded.names if name not in words]
        if unknown:
            raise UserError(
                f"{self.name}: {column} {unknown[0]!r} is unknown; expected one of {', '.join(words)}"
            )
        positions = np.array([words.index(name) for name in coded.names], dtype=np.int8)
        return positions[coded.code] if positions.size else np.zeros(0, dtype=np.int8)

    def equals(self, column: str, word: str) -> Bools:
        """Where the column equals a word; a missing value does not."""
        return np.asarray(pc.equal(self.table[column], word).fill_null(False).to_numpy(), dtype=bool)

    def numbers(self, column: str) -> Ints:
        """A whole-number column; missing values become -1."""
        values = self.table[column].cast(pa.int32())
        return np.asarray(values.fill_null(-1).to_numpy(), dtype=np.int32)

    def leagues(self) -> Iterator[tuple[str, Ints, _Frame]]:
        """Each league with its rows and its items."""
        league, item = self.codes("league"), self.codes("item_id")
        texts = {column: self.codes(column) for column in ("dataset", "domain", "cluster_id")}
        codes = {column: coded.code for column, coded in texts.items()}
        codes |= {column: self.numbers(column) for column in ("band", "n_options", *FLAGS)}
        for key, rows in _groups(league.code):
            of_item: dict[str, Ints] = {}
            for column, values in codes.items():
                of_item[column] = np.full(len(item.names), -2, dtype=np.int32)
                of_item[column][item.code[rows]] = values[rows]
                differs = of_item[column][item.code[rows]] != values[rows]
                if differs.any():
                    row = int(rows[np.flatnonzero(differs)[0]])
                    raise UserError(
                        f"{self.name}: item {item.names[item.code[row]]!r} has more than one {column} in "
                        f"league {league.names[key]}; an item belongs to one"
                    )
            names = {column: coded.names for column, coded in texts.items()}
            yield league.names[key], rows, _Frame(item.names, item.code, item.code[rows], of_item, names)


class _Frame:
    """Items of one league in their canonical order: dataset, cluster, id."""

    def __init__(
        self,
        names: list[str],
        code: Ints,
        in_rows: Ints,
        of_item: dict[str, Ints],
        texts: dict[str, list[str]],
    ) -> None:
        present = np.unique(in_rows)
        order = present[np.lexsort((present, of_item["cluster_id"][present], of_item["dataset"][present]))]
        position = np.full(len(names), -1, dtype=np.int32)
        position[order] = np.arange(order.size, dtype=np.int32)
        self._names, self._code, self._order, self._position = names, code, order, position
        self._of_item, self._texts = of_item, texts
        self.item = position[in_rows]

    def local(self, rows: Ints) -> Ints:
        """Position of the item of each row of the table in the league's order."""
        return self._position[self._code[rows]]

    def items(self, asked: Ints) -> Items:
        """The items at sorted positions of the league's order."""
        ids = self._order[asked]
        dataset, cluster = self._of_item["dataset"][ids], self._of_item["cluster_id"][ids]
        starts = np.ones(ids.size, dtype=bool)
        starts[1:] = (dataset[1:] != dataset[:-1]) | (cluster[1:] != cluster[:-1])
        slices: dict[str, tuple[str, ...]] = {"overall": ("all",) * int(ids.size)}
        for kind in ("domain", "dataset"):
            slices[kind] = tuple(self._texts[kind][code] for code in self._of_item[kind][ids].tolist())
        for kind in ("band", "n_options"):
            slices[kind] = tuple(str(v) if v >= 0 else "" for v in self._of_item[kind][ids].tolist())
        for kind in FLAGS:
            slices[kind] = tuple(("", "no", "yes")[v + 1] for v in self._of_item[kind][ids].tolist())
        strata = tuple(self._texts["dataset"][code] for code in dataset[starts].tolist())
        names = tuple(self._names[code] for code in ids.tolist())
        return Items(names, slices, np.cumsum(starts) - 1, strata)


def _groups(codes: Ints) -> Iterator[tuple[int, Ints]]:
    """Each code with its rows, codes in increasing order."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    edges = [*np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1)).tolist(), codes.size]
    for begin, end in itertools.pairwise(edges):
        yield int(ordered[begin]), order[begin:end]


def _check_rounds(status: Ints, rows: int, where: str) -> None:
    filled = status != NOT_ASKED
    if int(filled.sum()) != rows:
        raise UserError(
            f"{where}: {rows - int(filled.sum())} rows repeat a student, item and round; keep one of each"
        )
    broken = filled.any(axis=-1) & ~filled.all(axis=-1)
    if broken.any():
        raise UserError(
            f"{where}: {int(broken.sum())} student-item cells lack a round of 0..{status.shape[-1] - 1}; "
            "rebuild the trajectories from complete revisions"
        )
