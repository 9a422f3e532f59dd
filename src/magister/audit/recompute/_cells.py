"""Trajectories as cells: a pair of student and item, with everything that happened to it under every teacher.

Rows are sorted once by teacher, student, item and round; cells are then runs of R rows. What follows are sparse sums
of marks of pairs over clusters, never a loop over rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from magister.audit.recompute._ledger import Bools, Floats, Ints, Ledger, Sheet

STATUSES = ("ok", "no_answer", "ambiguous", "refusal", "truncated", "context_exceeded", "error")
FLAGS = ("needs_options", "options_in_question", "multi")
FACTS = ("dataset", "domain", "cluster_id", "band", "n_options", *FLAGS)
_LEAKS = ("none", "option", "gold")


@dataclass(frozen=True)
class Items:
    """Items that one group of teachers was asked.

    Attributes:
        names: length N.
        labels: by slice kind the label of each item, None where it has none, shape (N,).
        cluster: cluster of each item, 0..C-1, shape (N,).
        strata: dataset of each cluster, length C.
        options: number of options of each item, 0 where unknown, shape (N,).
    """

    names: NDArray[np.object_]
    labels: dict[str, NDArray[np.object_]]
    cluster: Ints
    strata: NDArray[np.object_]
    options: Ints

    def slices(self) -> Iterator[tuple[str, str, Bools]]:
        """Kind, label and members of every slice by items. A flag that no item has makes none."""
        for kind, labels in self.labels.items():
            if kind in FLAGS and not (labels == "yes").any():
                continue
            for label in sorted({label for label in labels.tolist() if label is not None}):
                yield kind, label, np.asarray(labels == label)


@dataclass(frozen=True)
class Group:
    """Teachers that were asked the same pairs of student and item over the same rounds.

    Attributes:
        units: arm and teacher, length U.
        students: names, length S.
        items: what they were asked, N items.
        student: of each pair, shape (P,).
        item: of each pair, shape (P,).
        status: of each reply, position in `STATUSES`, shape (U, P, R).
        right: replies with status ok that are correct, shape (U, P, R).
        verdict: of round 1, 1 "correct", 0 "wrong", -1 neither, shape (U, P).
        failed: a guide of the cell failed, shape (U, P).
        leak: worst leak of the cell's guides, position in none, option, gold, shape (U, P).
        leaked: round of the first guide that leaked, R where none did, shape (U, P).
    """

    units: list[tuple[str, str]]
    students: list[str]
    items: Items
    student: Ints
    item: Ints
    status: NDArray[np.int8]
    right: Bools
    verdict: NDArray[np.int8]
    failed: Bools
    leak: NDArray[np.int8]
    leaked: NDArray[np.int8]

    @property
    def rounds(self) -> int:
        """R, the blind answer included."""
        return int(self.status.shape[2])

    def used(self, policy: str) -> Bools:
        """Cells in use under the policy, shape (U, P)."""
        bad = self.status != 0 if policy == "drop" else self.status == STATUSES.index("error")
        return ~bad.any(axis=2) & ~self.failed

    def marks(self, policy: str) -> tuple[NDArray[np.int8], list[str]]:
        """What is counted of each cell, shape (P, U, F), and the names of the F marks."""
        used = self.used(policy)
        right = self.right & used[..., None]
        last = self.rounds - 1
        found: dict[str, Bools] = {"cells": used}
        for t in range(self.rounds):
            found[f"right{t}"] = right[..., t]
        for t in range(1, self.rounds):
            was, now = right[..., t - 1], right[..., t]
            found[f"fix{t}"], found[f"reg{t}"] = used & ~was & now, was & ~now
        if last:
            judged = used & (self.verdict >= 0) if policy == "drop" else used
            before = right[..., 0]
            found |= {
                "judged": judged,
                "judged_right": judged & before,
                "hit_right": judged & before & (self.verdict == 1),
                "hit_wrong": judged & ~before & (self.verdict == 0),
                "unjudged": used & (self.verdict < 0),
            }
            at = np.minimum(self.leaked.astype(np.int64), self.rounds) - 1
            found["masked"] = np.take_along_axis(right, at[..., None], axis=2)[..., 0]
            for k, word in enumerate(_LEAKS):
                cells = used & (self.leak == k)
                found |= {
                    f"leak_{word}": cells,
                    f"leak_{word}0": cells & before,
                    f"leak_{word}T": cells & right[..., last],
                }
            for k in np.unique(self.items.options).tolist():
                found[f"options{k}"] = used & (self.items.options[self.item] == k)[None, :]
        stacked = np.stack([np.asarray(mark, dtype=np.int8) for mark in found.values()], axis=-1)
        return np.ascontiguousarray(np.moveaxis(stacked, 0, 1)), list(found)


def by_cluster(group: Group, marks: NDArray[np.int8], chosen: Bools) -> tuple[Ints, NDArray[np.float32]]:
    """Sums of marks over some items.

    Args:
        group: the cells.
        marks: shape (P, U, F).
        chosen: the items, shape (N,).

    Returns:
        The clusters that have one of the items, and sums per cluster and student, shape (c, S, U, F).
    """
    pairs = np.flatnonzero(chosen[group.item])
    cluster = group.items.cluster[group.item[pairs]]
    clusters, code = np.unique(cluster, return_inverse=True)
    students = len(group.students)
    row = code * students + group.student[pairs]
    adder = sparse.csr_array(
        (np.ones(pairs.size, dtype=np.float32), (row, np.arange(pairs.size))),
        shape=(clusters.size * students, pairs.size),
    )
    flat = marks[pairs].reshape(pairs.size, int(np.prod(marks.shape[1:]))).astype(np.float32)
    return clusters, np.asarray(adder @ flat).reshape(clusters.size, students, *marks.shape[1:])


def items_of(sheet: pa.Table, rows: Ints, code: Ints) -> Items:
    """Items with their facts, from one row of each.

    Args:
        sheet: a table with `item_id` and `FACTS`.
        rows: a row of each item, shape (N,).
        code: not used but for its length, N.
    """
    some = sheet.select(["item_id", *FACTS]).take(pa.array(rows))
    labels = {"overall": np.full(code.size, "all", dtype=object)}
    for kind in ("domain", "dataset"):
        labels[kind] = np.array(some[kind].to_pylist(), dtype=object)
    for kind in ("band", "n_options"):
        labels[kind] = np.array([None if v is None else str(v) for v in some[kind].to_pylist()], dtype=object)
    for kind in FLAGS:
        labels[kind] = np.array([None if v is None else "yes" if v else "no" for v in some[kind].to_pylist()],
                                dtype=object)  # fmt: skip
    names = np.array(
        [f"{d}\x1f{c}" for d, c in zip(labels["dataset"], some["cluster_id"].to_pylist(), strict=True)]
    )
    found, first, cluster = np.unique(names, return_index=True, return_inverse=True)
    options = np.array([v or 0 for v in some["n_options"].to_pylist()], dtype=np.int64)
    ids = np.array(some["item_id"].to_pylist(), dtype=object)
    return Items(ids, labels, cluster.astype(np.int64), labels["dataset"][first][: found.size], options)


def groups_of(ledger: Ledger, sheet: Sheet) -> list[Group]:
    """Cells of a league's trajectories, and what is wrong with their rows.

    Args:
        ledger: for rows that are repeated, missing or say two things of one item.
        sheet: the trajectories.

    Returns:
        Groups; none where cells are not complete.
    """
    table = sheet.table
    if not table.num_rows:
        return []
    arm, teacher, student, item = (coded(table[name]) for name in ("arm", "teacher", "student", "item_id"))
    number = np.asarray(table["round"].to_numpy(), dtype=np.int64)
    width = int(number.max()) + 1
    unit = arm[0] * len(teacher[1]) + teacher[0]
    pair = student[0] * len(item[1]) + item[0]
    whole = (unit * (len(student[1]) * len(item[1])) + pair) * width + number
    order = np.argsort(whole, kind="stable")
    again = np.flatnonzero(np.diff(whole[order]) == 0)
    ledger.count("identity: a cell has each round once", table.num_rows)
    if again.size:
        rows = order[again + 1]
        ledger.refuse(sheet, "round", np.ones(rows.size, dtype=bool), "identity: a cell has each round once",
                      ["a second row"] * rows.size, "one row", rows=rows)  # fmt: skip
        return []
    _one_of_each(ledger, sheet, item)
    coded_status = _words(ledger, sheet, "status", STATUSES)
    if coded_status is None:
        return []
    status = coded_status[order]
    correct = np.asarray(pc.fill_null(table["correct"], False).to_numpy(zero_copy_only=False), dtype=bool)[
        order
    ]
    said = {
        word: np.asarray(
            pc.fill_null(pc.equal(table["verdict"], word), False).to_numpy(zero_copy_only=False)
        )[order]
        for word in ("correct", "wrong")
    }
    verdict = np.where(said["correct"], 1, np.where(said["wrong"], 0, -1)).astype(np.int8)
    failed = np.asarray(
        pc.fill_null(pc.equal(table["guide_status"], "error"), False).to_numpy(zero_copy_only=False)
    )
    failed = failed[order]
    leak = _words(ledger, sheet, "leak", _LEAKS)
    leak = (np.zeros(len(sheet), dtype=np.int8) if leak is None else leak)[order]
    unit, pair, number = unit[order], pair[order], number[order]
    groups: dict[tuple[bytes, int], list[tuple[int, int, int]]] = {}
    edges = np.flatnonzero(np.diff(unit, prepend=-1, append=-1))
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        rounds = int(number[begin:end].max()) + 1
        if not _complete(ledger, sheet, order[begin:end], pair[begin:end], number[begin:end], rounds):
            return []
        groups.setdefault((pair[begin:end:rounds].tobytes(), rounds), []).append(
            (int(unit[begin]), begin, end)
        )
    # A row of each item, to read its facts from.
    row_of = np.zeros(len(item[1]), dtype=np.int64)
    row_of[item[0]] = np.arange(len(sheet))
    out = []
    for (_, rounds), members in groups.items():
        _, begin, end = members[0]
        pairs = pair[begin:end:rounds]
        people, student_at = np.unique(pairs // len(item[1]), return_inverse=True)
        asked, item_at = np.unique(pairs % len(item[1]), return_inverse=True)

        told = _stacked(leak, members, rounds)
        leaked = np.where((told > 0).any(axis=2), (told > 0).argmax(axis=2), rounds).astype(np.int8)
        out.append(
            Group(
                units=[
                    (arm[1][u // len(teacher[1])], teacher[1][u % len(teacher[1])]) for u, _, _ in members
                ],
                students=[student[1][k] for k in people.tolist()],
                items=items_of(table, row_of[asked], asked),
                student=student_at.astype(np.int64),
                item=item_at.astype(np.int64),
                status=_stacked(status, members, rounds),
                right=_stacked(correct, members, rounds) & (_stacked(status, members, rounds) == 0),
                verdict=_stacked(verdict, members, rounds)[:, :, min(1, rounds - 1)],
                failed=np.asarray(_stacked(failed, members, rounds).any(axis=2)),
                leak=told.max(axis=2),
                leaked=leaked,
            )
        )
    return out


def _stacked(values: NDArray[Any], members: list[tuple[int, int, int]], rounds: int) -> NDArray[Any]:
    """Sorted rows of some teachers as cells and rounds, shape (U, P, R)."""
    return np.stack([values[begin:end].reshape(-1, rounds) for _, begin, end in members])


def own_groups(table: pa.Table, teachers: Sequence[str]) -> list[Group]:
    """The teachers' own answers as cells of one nameless student and one round.

    Args:
        table: columns model, item_id, status, correct and `FACTS`.
        teachers: of the league.
    """
    code, names = coded(table["model"])
    at, ids = coded(table["item_id"])
    status = np.asarray(pc.index_in(table["status"], pa.array(STATUSES)).to_numpy(), dtype=np.int8)
    correct = np.asarray(pc.fill_null(table["correct"], False).to_numpy(zero_copy_only=False), dtype=bool)
    row_of = np.zeros(len(ids), dtype=np.int64)
    row_of[at] = np.arange(table.num_rows)
    groups: dict[bytes, list[tuple[str, Ints]]] = {}
    for name in sorted(set(teachers) & set(names)):
        mine = np.flatnonzero(code == names.index(name))
        mine = mine[np.argsort(at[mine], kind="stable")]
        groups.setdefault(at[mine].tobytes(), []).append((name, mine))
    out = []
    for members in groups.values():
        asked = at[members[0][1]]
        rows = np.stack([mine for _, mine in members])
        none = np.zeros(rows.shape, dtype=np.int8)
        out.append(
            Group(
                units=[("taught", name) for name, _ in members],
                students=[""],
                items=items_of(table, row_of[asked], asked),
                student=np.zeros(asked.size, dtype=np.int64),
                item=np.arange(asked.size),
                status=status[rows][..., None],
                right=(correct[rows] & (status[rows] == 0))[..., None],
                verdict=none - 1,
                failed=none.astype(bool),
                leak=none,
                leaked=none + 1,
            )
        )
    return out


def coded(column: pa.ChunkedArray) -> tuple[Ints, list[str]]:
    """Codes in the order of the sorted names, and the names."""
    found = column.combine_chunks().dictionary_encode()
    names = np.array(found.dictionary.to_pylist(), dtype=object)
    order = np.argsort(names)
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    codes = np.asarray(found.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
    return place[codes], names[order].tolist()


def flag(column: pa.ChunkedArray) -> Floats:
    """A column of truths as numbers; NaN where it is empty."""
    return np.asarray(column.cast(pa.float64()).fill_null(np.nan).to_numpy(), dtype=np.float64)


def _words(ledger: Ledger, sheet: Sheet, column: str, words: tuple[str, ...]) -> NDArray[np.int8] | None:
    found = pc.index_in(sheet.table[column], pa.array(words))
    if not found.null_count:
        return np.asarray(found.to_numpy(), dtype=np.int8)
    lost = np.asarray(pc.is_null(found).to_numpy())
    ledger.refuse(sheet, column, lost, f"identity: a known {column}", sheet.texts(column), ", ".join(words))
    return None


def _complete(ledger: Ledger, sheet: Sheet, rows: Ints, pair: Ints, number: Ints, rounds: int) -> bool:
    """Whether every cell of a teacher has all rounds."""
    check = "identity: a cell has each round once"
    first = np.flatnonzero(np.diff(pair, prepend=-1))
    held = np.diff(first, append=pair.size)
    short = np.flatnonzero(held != rounds)
    if short.size:
        cell = rows[first[short]]
        every, seen = np.ones(cell.size, dtype=bool), [f"{held[k]} rounds" for k in short.tolist()]
        ledger.refuse(sheet, "round", every, check, seen, f"rounds 0 to {rounds - 1}", rows=cell)
        return False
    off = number != np.tile(np.arange(rounds), held.size)
    ledger.refuse(sheet, "round", off, check, number, f"rounds 0 to {rounds - 1}", rows=rows)
    return not bool(off.any())


def _one_of_each(ledger: Ledger, sheet: Sheet, item: tuple[Ints, list[str]]) -> None:
    """An item has one dataset, domain, cluster, band, number of options and one of each flag."""
    first = np.zeros(len(item[1]), dtype=np.int64)
    first[item[0][::-1]] = np.arange(len(sheet))[::-1]
    for name in FACTS:
        coded_fact = pc.dictionary_encode(sheet.table[name], null_encoding="encode").combine_chunks()
        codes = np.asarray(coded_fact.indices.to_numpy(zero_copy_only=False))
        off = codes != codes[first[item[0]]]
        ledger.count("identity: an item has one of each fact", len(sheet))
        if off.any():
            ledger.refuse(sheet, name, off, "identity: an item has one of each fact", sheet.texts(name),
                          "that of the item's other rows")  # fmt: skip
