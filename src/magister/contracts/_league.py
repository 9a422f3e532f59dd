"""What a league was to run, and which rows of its tables belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts._columns import Codes, Mask, member, places, taken
from magister.contracts.gate import RowCheck
from magister.contracts.schemas import TEACHER_ARMS


@dataclass(frozen=True)
class LeaguePlan:
    """What a league was to run.

    Attributes:
        league: its name.
        students: models that are taught.
        teachers: models that teach.
        arms: control arms.
        rounds: rounds of guidance T.
        datasets: data sets used.
        blindness: what teachers see of the options: strict, paper or off.
    """

    league: str
    students: Sequence[str]
    teachers: Sequence[str]
    arms: Sequence[str]
    rounds: int
    datasets: Sequence[str]
    blindness: str = "strict"

    @property
    def exchanges(self) -> list[tuple[str, str]]:
        """(arm, teacher) pairs; in an arm without a teacher the arm stands for it."""
        return exchanges(self.teachers, self.arms)

    @property
    def teacher_arms(self) -> list[str]:
        """Arms in which a teacher speaks."""
        return ["taught", *(arm for arm in self.arms if arm in TEACHER_ARMS)]


def exchanges(teachers: Sequence[str], arms: Sequence[str]) -> list[tuple[str, str]]:
    """(arm, teacher) pairs of a league.

    Args:
        teachers: models that teach.
        arms: control arms.
    """
    pairs = [("taught", name) for name in teachers]
    for arm in arms:
        pairs += [(arm, name) for name in teachers] if arm in TEACHER_ARMS else [(arm, arm)]
    return pairs


def exchange_places(table: pa.Table, plan: LeaguePlan) -> NDArray[np.int64]:
    """Position of each row's (arm, teacher) among the exchanges of the plan, -1 for others."""
    arms = ["taught", *plan.arms]
    teachers = [*plan.teachers, *plan.arms]
    grid = np.full((len(arms) + 1, len(teachers) + 1), -1, dtype=np.int64)
    for place, (arm, teacher) in enumerate(plan.exchanges):
        grid[arms.index(arm), teachers.index(teacher)] = place
    return grid[places(table["arm"], arms), places(table["teacher"], teachers)]


@dataclass(frozen=True)
class LeagueTables:
    """The tables of a league; one that nobody was to fill is empty.

    Attributes:
        items: ITEMS of all data sets.
        bands: BANDS.
        blind_answers: ANSWERS of all students.
        zero_shot: ANSWERS of all teachers.
        guides_asked: ASKED of the teachers, all rounds.
        guides: GUIDES of teachers and control arms, all rounds.
        revisions_asked: ASKED of the students, all rounds.
        revisions: REVISIONS, all rounds.
        trajectories: TRAJECTORIES.
        metrics: METRICS_TABLE.
        standings: STANDINGS.
        comparisons: COMPARISONS.
        built: ITEMS as they were built, for a league that asks them in an order of its own.
    """

    items: pa.Table
    bands: pa.Table
    blind_answers: pa.Table
    zero_shot: pa.Table
    guides_asked: pa.Table
    guides: pa.Table
    revisions_asked: pa.Table
    revisions: pa.Table
    trajectories: pa.Table
    metrics: pa.Table
    standings: pa.Table
    comparisons: pa.Table
    built: pa.Table | None = None


class Grid:
    """Every (exchange, student, item, round) of a league by number: tables are matched by it without a join.

    Args:
        plan: what the league was to run.
        item_ids: its items.
    """

    def __init__(self, plan: LeaguePlan, item_ids: Sequence[str]) -> None:
        self.plan = plan
        self.item_ids = item_ids
        self.shape = (len(plan.exchanges), len(plan.students), len(item_ids), plan.rounds + 1)
        self.size = int(np.prod(self.shape))

    def number(self, table: pa.Table, shift: int = 0) -> Codes:
        """Number of each row's place, so many rounds later; -1 outside the league."""
        student = places(table["student"], self.plan.students)
        turn = pc.fill_null(table["round"], -1).to_numpy().astype(np.int64) + shift
        at = [exchange_places(table, self.plan), student, places(table["item_id"], self.item_ids), turn]
        inside = np.logical_and.reduce([part >= 0 for part in at]) & (turn < self.shape[3])
        found = np.full(table.num_rows, -1, dtype=np.int64)
        if inside.any():
            found[inside] = np.ravel_multi_index([part[inside] for part in at], self.shape)
        return found

    def rows(self, table: pa.Table) -> Codes:
        """The row of a table at each place, -1 where it has none; the first of several."""
        return _first_rows(self.number(table), self.size)

    def blind_rows(self, table: pa.Table) -> Codes:
        """The row of ANSWERS for each student and item."""
        student, item = places(table["model"], self.plan.students), places(table["item_id"], self.item_ids)
        inside = (student >= 0) & (item >= 0)
        return _first_rows(
            np.where(inside, student * self.shape[2] + item, -1), self.shape[1] * self.shape[2]
        )


def _first_rows(number: Codes, size: int) -> Codes:
    found = np.full(size, -1, dtype=np.int64)
    rows = np.flatnonzero(number >= 0)[::-1]
    found[number[rows]] = rows
    return found


def at(rows: Codes, number: Codes) -> Codes:
    """Look places up; -1 stays -1."""
    if not rows.size:
        return np.full(number.size, -1, dtype=np.int64)
    return np.where(number >= 0, rows[number], -1)


class Replies:
    """The students' replies of all rounds, blind answers at round 0.

    Args:
        grid: the places of the league.
        blind: ANSWERS.
        revisions: REVISIONS.
    """

    COLUMNS = ("text", "answer", "correct", "status", "span_start", "span_end", "request_id")

    def __init__(self, grid: Grid, blind: pa.Table, revisions: pa.Table) -> None:
        # REVISIONS allow a null where ANSWERS do not: as columns they are the same.
        self._table = pa.table(
            {
                name: pa.chunked_array([*blind[name].chunks, *revisions[name].chunks], blind[name].type)
                for name in self.COLUMNS
            }
        )
        revised = grid.rows(revisions).reshape(grid.shape)
        place = np.where(revised >= 0, revised + blind.num_rows, -1)
        place[..., 0] = grid.blind_rows(blind).reshape(grid.shape[1:3])
        self._place = place.ravel()

    def take(self, number: Codes, columns: Sequence[str]) -> tuple[Mask, pa.Table]:
        """Which places have a reply, and what it says."""
        place = at(self._place, number)
        return place >= 0, taken(self._table, place, columns)


def place_checks(name: str, rows: pa.Table, grid: Grid, first: int = 1) -> list[RowCheck]:
    """Rows stand where the league was to be played.

    Args:
        name: of the table.
        rows: any table with arm, teacher, student, item_id and round.
        grid: the places of the league.
        first: the first round that the table has.
    """
    number = pc.fill_null(rows["round"], -1).to_numpy()

    def check(rule: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck(name, rule, columns, expected, passed)

    return [
        check(
            "exchange_in_league",
            ("arm", "teacher"),
            "an arm and teacher of the league",
            exchange_places(rows, grid.plan) >= 0,
        ),
        check(
            "student_in_league",
            ("student",),
            "a student of the league",
            member(rows["student"], grid.plan.students),
        ),
        check(
            "item_in_league",
            ("item_id",),
            "an item of the league's data sets",
            member(rows["item_id"], grid.item_ids),
        ),
        check(
            "round_in_league",
            ("round",),
            f"a round from {first} to {grid.plan.rounds}",
            (number >= first) & (number <= grid.plan.rounds),
        ),
    ]
