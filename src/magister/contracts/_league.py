"""What a league was to run, and which rows of a table belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.contracts._columns import places


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
    """

    league: str
    students: Sequence[str]
    teachers: Sequence[str]
    arms: Sequence[str]
    rounds: int
    datasets: Sequence[str]

    @property
    def exchanges(self) -> list[tuple[str, str]]:
        """(arm, teacher) pairs; in a control arm the arm stands for the teacher."""
        return [("taught", name) for name in self.teachers] + [(arm, arm) for arm in self.arms]


def exchange_places(table: pa.Table, plan: LeaguePlan) -> NDArray[np.int64]:
    """Position of each row's (arm, teacher) among the exchanges of the plan, -1 for others."""
    arms = ["taught", *plan.arms]
    teachers = [*plan.teachers, *plan.arms]
    grid = np.full((len(arms) + 1, len(teachers) + 1), -1, dtype=np.int64)
    for place, (arm, teacher) in enumerate(plan.exchanges):
        grid[arms.index(arm), teachers.index(teacher)] = place
    return grid[places(table["arm"], arms), places(table["teacher"], teachers)]
