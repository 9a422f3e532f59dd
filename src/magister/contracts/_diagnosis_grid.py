"""What tables of a study share: models, items and attributes as grids, and what the chains come to on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts._columns import Codes, Mask, member, numbers, places, true
from magister.contracts._diagnosis_plan import ABSENT, NEEDED, UNPARSED, DiagnosisTables

Floats = NDArray[np.float64]
Index = tuple[Codes, ...]


def known_names(column: pa.ChunkedArray) -> list[str]:
    """Different texts of a column in their order."""
    return sorted(pc.unique(column).drop_null().to_pylist())


@dataclass(frozen=True)
class Axis:
    """One side of a grid.

    Attributes:
        column: its name in tables.
        values: texts, or how many numbers from 1.
    """

    column: str
    values: Sequence[str] | int

    def __len__(self) -> int:
        return self.values if isinstance(self.values, int) else len(self.values)

    @property
    def names(self) -> list[str]:
        """The texts; numbers have none."""
        return [] if isinstance(self.values, int) else list(self.values)

    def places(self, table: pa.Table) -> Codes:
        """Where each row stands on it; -1 for nowhere."""
        if not isinstance(self.values, int):
            return places(table[self.column], self.values)
        found = np.nan_to_num(numbers(table[self.column]), nan=0.0)
        return np.where((found >= 1) & (found <= self.values), found - 1, -1).astype(np.int64)


@dataclass(frozen=True)
class Grid:
    """A table whose rows are the cells of a grid, each once."""

    table: pa.Table
    axes: tuple[Axis, ...]

    @cached_property
    def index(self) -> Index:
        """Where the rows stand."""
        return tuple(axis.places(self.table) for axis in self.axes)

    @cached_property
    def known(self) -> Mask:
        """Rows that stand on the grid."""
        return np.logical_and.reduce([place >= 0 for place in self.index])

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis."""
        return tuple(len(axis) for axis in self.axes)

    @property
    def cells(self) -> int:
        """Rows that there must be."""
        return int(np.prod(self.shape))

    def cube(self, column: str) -> Floats:
        """Values of a column on the grid; NaN where no row has one."""
        out = np.full(self.shape, np.nan)
        out[tuple(place[self.known] for place in self.index)] = numbers(self.table[column])[self.known]
        return out

    def read(self, values: Floats) -> Floats:
        """Values on the grid by row; NaN for rows that stand nowhere."""
        out = np.full(self.table.num_rows, np.nan)
        out[self.known] = values[tuple(place[self.known] for place in self.index)]
        return out

    def on(self, column: str) -> Mask:
        """Rows whose value of one axis is known."""
        (place,) = [at for axis, at in zip(self.axes, self.index, strict=True) if axis.column == column]
        return np.asarray(place >= 0)


@dataclass(frozen=True)
class Responses:
    """Every response of N models to J items.

    Attributes:
        models, items: names in their order.
        correct: N x J, 1, 0 and NaN where unknown.
        unparsed, absent: N x J, replies that cannot be read, and responses that nobody knows.
    """

    models: list[str]
    items: list[str]
    correct: Floats
    unparsed: Mask
    absent: Mask


def responses_of(table: pa.Table) -> Responses:
    """Read RESPONSE_MATRIX; what has no row is as good as missing."""
    models, items = known_names(table["model"]), known_names(table["item_id"])
    grid = Grid(table, (Axis("model", models), Axis("item_id", items)))
    flags = []
    for statuses in (UNPARSED, ABSENT):
        held = np.zeros(grid.shape, dtype=bool)
        said = true(pc.is_in(table["status"], value_set=pa.array(statuses))) & grid.known
        held[tuple(place[said] for place in grid.index)] = True
        flags.append(held)
    return Responses(models, items, grid.cube("correct"), *flags)


@dataclass(frozen=True)
class Study:
    """What a study was fitted to, and what its chains come to.

    Attributes:
        given: its tables.
        responses: all of them.
    """

    given: DiagnosisTables
    responses: Responses

    @cached_property
    def kept(self) -> tuple[Mask, Mask]:
        """Models and items that stay after screening and have a response of one another."""
        table = self.given.screening
        some = table.filter(pc.fill_null(table["kept"], False))
        stays = []
        for kind, names in (("model", self.responses.models), ("item", self.responses.items)):
            named = some.filter(pc.equal(some["kind"], kind))["name"]
            stays.append(member(pa.chunked_array([pa.array(names, pa.string())]), named))
        known = ~np.isnan(self.responses.correct) & stays[0][:, None] & stays[1]
        return np.asarray(known.any(axis=1)), np.asarray(known.any(axis=0))

    @cached_property
    def correct(self) -> Floats:
        """Responses that were fitted, N x J: 1, 0 and NaN."""
        return self.responses.correct[np.ix_(*self.kept)]

    @cached_property
    def models(self) -> Axis:
        """Models that were fitted."""
        rows = np.flatnonzero(self.kept[0]).tolist()
        return Axis("model", [self.responses.models[at] for at in rows])

    @cached_property
    def items(self) -> Axis:
        """Items that were fitted."""
        rows = np.flatnonzero(self.kept[1]).tolist()
        return Axis("item_id", [self.responses.items[at] for at in rows])

    @cached_property
    def attributes(self) -> Axis:
        """Attributes of the study."""
        return Axis("attribute", known_names(self.given.attributes["attribute"]))

    @cached_property
    def chains(self) -> Axis:
        """Chains of the fit."""
        return Axis("chain", self.given.chains.num_rows)

    def saem(self, name: str, *axes: Axis) -> Grid:
        """A table of the fit on its grid: a cell of every chain."""
        return Grid(self.given.saem[name], (self.chains, *axes))

    @cached_property
    def weights(self) -> Floats:
        """Kept sweeps of every chain."""
        kept = Grid(self.given.chains, (self.chains,)).cube("kept")
        return kept

    @cached_property
    def mastery(self) -> Floats:
        """N x K, mean over chains."""
        return mean(self.saem("mastery", self.models, self.attributes).cube("p"))

    @cached_property
    def q(self) -> Floats:
        """J x K, mean over chains."""
        return mean(self.saem("q", self.items, self.attributes).cube("p"))

    @cached_property
    def reference(self) -> Floats:
        """J x K, what the prior believes in: 1, 0 and NaN."""
        return Grid(self.given.prior, (self.items, self.attributes)).cube("reference")

    def by_kept(self, cube: Floats) -> Floats:
        """Mean over chains, each by its kept sweeps."""
        weights = self.weights.reshape(-1, *[1] * (cube.ndim - 1))
        return np.asarray((weights * cube).sum(axis=0) / max(float(self.weights.sum()), 1.0))


def mean(cube: Floats) -> Floats:
    """Mean over chains; NaN where a chain says nothing, or there is none."""
    return np.asarray(cube.mean(axis=0)) if len(cube) else np.full(cube.shape[1:], np.nan)


def on_the_edge(values: Floats) -> Mask:
    """Probabilities that rounding alone takes above or below what counts as needed."""
    return np.asarray(np.abs(values - NEEDED) <= 1e-9)
