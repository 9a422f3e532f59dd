"""Scores as an array over dialogues, metrics, judges and repeats."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.errors import UserError

FloatArray = NDArray[np.float64]
Texts = NDArray[np.object_]


@dataclass(frozen=True)
class Cube:
    """One rubric's scores of one scenario.

    Attributes:
        scenario: its id.
        rubric_sha: the version scored by.
        dialogue_id: ids, sorted, shape (D,).
        task_id: shape (D,).
        model: shape (D,).
        held_out: bool, shape (D,).
        metric: ids, sorted, shape (M,).
        judge: names, sorted, shape (J,).
        value: float64, shape (D, M, J, R); NaN where there is no score.
        status: shape (D, M, J, R); empty where nothing was to be asked.
    """

    scenario: str
    rubric_sha: str
    dialogue_id: Texts
    task_id: Texts
    model: Texts
    held_out: NDArray[np.bool_]
    metric: Texts
    judge: Texts
    value: FloatArray
    status: Texts

    def by_judge(self) -> FloatArray:
        """Each judge's median over its repeats, shape (D, M, J)."""
        return median(self.value)

    def panel(self) -> FloatArray:
        """The median over judges of their medians over repeats, shape (D, M)."""
        return median(self.by_judge())

    def part(self, rows: NDArray[np.bool_]) -> Cube:
        """Some of the dialogues."""
        return Cube(
            self.scenario,
            self.rubric_sha,
            self.dialogue_id[rows],
            self.task_id[rows],
            self.model[rows],
            self.held_out[rows],
            self.metric,
            self.judge,
            self.value[rows],
            self.status[rows],
        )


def median(values: FloatArray) -> FloatArray:
    """Median over the last axis of what is there; NaN where nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a slice of NaN is NaN: that is what is wanted
        return np.asarray(np.nanmedian(values, axis=-1), dtype=np.float64)


def cube(scores: pa.Table) -> Cube:
    """Put a RUBRIC_SCORES table into arrays.

    Args:
        scores: of one scenario and one version of its rubric.

    Raises:
        UserError: several scenarios or versions, or a dialogue of two tasks or models.
    """
    scenario, sha = (_only(scores, name) for name in ("scenario", "rubric_sha"))
    columns = {name: _texts(scores[name]) for name in ("dialogue_id", "metric_id", "judge")}
    names, at = {}, {}
    for name, values in columns.items():
        names[name], at[name] = np.unique(values, return_inverse=True)
    repeat = np.asarray(scores["repeat"].to_numpy(), dtype=np.int64) - 1
    shape = (*(names[name].size for name in columns), int(repeat.max(initial=-1)) + 1)
    place = (at["dialogue_id"], at["metric_id"], at["judge"], repeat)
    value = np.full(shape, np.nan)
    value[place] = scores["value"].cast(pa.float64()).to_numpy()
    status = np.full(shape, "", dtype=object)
    status[place] = _texts(scores["status"])
    facts: dict[str, Any] = {}
    for name in ("task_id", "model"):
        facts[name] = _fact(at["dialogue_id"], _texts(scores[name]), names["dialogue_id"], name)
    held = np.asarray(pc.cast(scores["held_out"], pa.int8()).to_numpy(), dtype=np.int64)
    facts["held_out"] = _fact(at["dialogue_id"], held, names["dialogue_id"], "held_out").astype(bool)
    return Cube(
        scenario,
        sha,
        names["dialogue_id"],
        facts["task_id"],
        facts["model"],
        facts["held_out"],
        names["metric_id"],
        names["judge"],
        value,
        status,
    )


def _texts(column: pa.ChunkedArray) -> Texts:
    return np.array(column.to_pylist(), dtype=object)


def _only(scores: pa.Table, name: str) -> str:
    found = sorted(pc.unique(scores[name]).to_pylist())
    if len(found) > 1:
        raise UserError(f"scores of one {name} are expected, found {len(found)}: {', '.join(found[:3])}")
    return str(found[0]) if found else ""


def _fact(at: NDArray[np.intp], values: NDArray[Any], ids: Texts, name: str) -> NDArray[Any]:
    """The one value of each dialogue."""
    fact = np.empty(ids.size, dtype=values.dtype)
    fact[at] = values
    odd = np.flatnonzero(fact[at] != values)
    if odd.size:
        first = at[odd[0]]
        raise UserError(
            f"dialogue {ids[first]} has two values of {name}: {fact[first]!r}, {values[odd[0]]!r}"
        )
    return fact


def numeric(value: float) -> float | None:
    """A number for a nullable column."""
    return None if np.isnan(value) else float(value)
