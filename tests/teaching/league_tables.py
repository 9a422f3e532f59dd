"""Leagues drawn or written down by hand: trajectories and zero-shot answers of small size."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.contracts.schemas import STATUSES, TRAJECTORIES, VERDICTS
from magister.teaching._cube import FLAGS
from magister.teaching.ablations import AblationTables, Variant, ablate

Row = dict[str, Any]
OPTIONS: dict[str, Any] = {"policy": "wrong", "resamples": 200, "level": 0.9, "seed": 3}


@dataclass
class Drawn:
    """A league as arrays.

    Attributes:
        right: teachers x students x items x rounds, bool.
        verdict: index into `VERDICTS` of round 1, teachers x students x items.
        status: index into `STATUSES`, in the shape of `right`.
        own: zero-shot answers, teachers x items, bool.
        cluster: cluster of each item.
        dataset: dataset of each item; clusters lie within one.
    """

    right: NDArray[np.bool_]
    verdict: NDArray[np.int64]
    status: NDArray[np.int64]
    own: NDArray[np.bool_]
    cluster: NDArray[np.int64]
    dataset: NDArray[np.int64]
    league: str = "main"
    teachers: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.teachers = self.teachers or [f"t{u}" for u in range(self.right.shape[0])]

    def items(self, chosen: NDArray[Any]) -> Row:
        """What is known of items."""
        return {
            "item_id": [f"i{n:03d}" for n in chosen],
            "dataset": [f"d{self.dataset[n]}" for n in chosen],
            "domain": ["k"] * len(chosen),
            "cluster_id": [f"c{self.cluster[n]:03d}" for n in chosen],
            "n_options": [4] * len(chosen),
            "band": pa.nulls(len(chosen), pa.int32()),
        }

    def table(self) -> pa.Table:
        """TRAJECTORIES."""
        u, s, n, t = (axis.ravel() for axis in np.indices(self.right.shape))
        status = self.status.ravel()
        right = self.right.ravel() & (status == STATUSES.index("ok"))
        verdict = np.where(t == 1, self.verdict[u, s, n], VERDICTS.index("none"))
        columns: Row = self.items(n) | {
            "league": [self.league] * u.size,
            "arm": ["taught"] * u.size,
            "teacher": [self.teachers[k] for k in u],
            "student": [f"s{k}" for k in s],
            "round": t,
            "status": [STATUSES[k] for k in status],
            "verdict": [VERDICTS[k] for k in verdict],
            "guide_status": ["ok"] * u.size,
            "leak": ["none"] * u.size,
            "answer": [None] * u.size,
            "correct": pa.array(right, mask=status == STATUSES.index("error")),
            "request_id": [None] * u.size,
            "guide_request_id": [None] * u.size,
        }
        columns |= {name: pa.nulls(u.size, pa.bool_()) for name in FLAGS}
        return pa.table({name: columns[name] for name in TRAJECTORIES.schema.names}).cast(TRAJECTORIES.schema)

    def answers(self) -> pa.Table:
        """Zero-shot answers as `zero_shot_table` gives them."""
        u, n = (axis.ravel() for axis in np.indices(self.own.shape))
        columns = self.items(n) | {
            "league": [self.league] * u.size,
            "teacher": [self.teachers[k] for k in u],
            "status": ["ok"] * u.size,
            "correct": self.own.ravel(),
        }
        columns |= {name: pa.nulls(u.size, pa.bool_()) for name in FLAGS}
        return pa.table(columns)

    def ablated(self, *variants: Variant, **options: Any) -> AblationTables:
        """Its ablations."""
        return ablate(self.table(), self.answers(), variants, **(OPTIONS | options))

    def variant(self, ablation: str = "prompts", setting: str = "again") -> Variant:
        """The league as another one's variant."""
        return Variant(ablation, setting, self.table(), self.answers())


def drawn(
    seed: int = 1,
    teachers: int = 5,
    students: int = 2,
    items: int = 40,
    rounds: int = 3,
    datasets: int = 2,
    lost: float = 0.0,
) -> Drawn:
    """A random league, two items a cluster; `lost` of the replies have a status other than ok."""
    rng = np.random.default_rng(seed)
    shape = (teachers, students, items, rounds + 1)
    right = rng.random(shape) < np.linspace(0.3, 0.7, rounds + 1)
    right[..., 0] = right[0, :, :, 0]
    status = np.where(rng.random(shape) < lost, rng.integers(1, len(STATUSES), size=shape), 0)
    cluster = np.arange(items) // 2
    return Drawn(
        right,
        rng.integers(0, 3, size=shape[:3]),
        status,
        rng.random((teachers, items)) < 0.6,
        cluster,
        cluster * datasets // (int(cluster.max()) + 1),
    )


def rows_of(table: pa.Table, *names: str, **values: Any) -> dict[tuple[Any, ...], Row]:
    """Rows with some values, by other columns."""
    rows = [row for row in table.to_pylist() if all(row[name] == value for name, value in values.items())]
    found = {tuple(row[name] for name in names): row for row in rows}
    assert len(found) == len(rows)
    return found
