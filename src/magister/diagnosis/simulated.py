"""Simulated studies on real items: controls whose truth is known, with the texts of the study that they stand beside.

Under `dina` items need the attribute of their type, and profiles are what there is to find; under `2pl` one ability
explains all, and a report must say that profiles are not supported.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtri

from magister.contracts.diagnosis_tables import SIMULATED_MASTERY
from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.responses import Grid, matrix_grid
from magister.diagnosis.simulation import Truth, ability_chance, dina_chance
from magister.errors import UserError


@dataclass(frozen=True)
class SimulationOptions:
    """How models respond.

    Attributes:
        models: how many.
        truth: `dina`, or `2pl`: one ability and no attributes.
        guess: range of items' P(right) without mastery.
        slip: range of items' P(wrong) with it.
        correlation: of the normal variables behind any two attributes, within [0, 1).
        prevalence: chance of mastering an attribute, within (0, 1).
        second: share of items that need an attribute of another type too.
        seed: whole number from 0.
    """

    models: int = 200
    truth: Literal["dina", "2pl"] = "dina"
    guess: tuple[float, float] = (0.1, 0.3)
    slip: tuple[float, float] = (0.05, 0.25)
    correlation: float = 0.5
    prevalence: float = 0.5
    second: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("guess", "slip"):
            low, high = getattr(self, name)
            if not 0 <= low <= high < 0.5:
                raise UserError(f"simulated.{name}: expected a range within 0 and 0.5, found {low} to {high}")
        if self.models < 2:
            raise UserError(f"simulated.models: expected two or more, found {self.models}")
        if not 0 <= self.correlation < 1:
            raise UserError(f"simulated.correlation: expected from 0 to below 1, found {self.correlation}")
        if not 0 < self.prevalence < 1:
            raise UserError(f"simulated.prevalence: expected between 0 and 1, found {self.prevalence}")
        if not 0 <= self.second <= 1:
            raise UserError(f"simulated.second: expected a share within 0 and 1, found {self.second}")


@dataclass(frozen=True)
class SimulatedStudy:
    """A study whose truth is known.

    Attributes:
        grid: the responses, all there.
        attributes: names, K: the items' types; none under `2pl`.
        truth: what they come from; `alpha` and `q` without columns under `2pl`.
    """

    grid: Grid
    attributes: tuple[str, ...]
    truth: Truth

    def mastery(self) -> pa.Table:
        """Table of the contract `simulated_mastery`; without rows under `2pl`."""
        models, k = self.grid.models, len(self.attributes)
        return pa.table(
            {
                "model": np.repeat(np.array(models, dtype=object), k),
                "attribute": np.tile(np.array(self.attributes, dtype=object), len(models)),
                "mastered": self.truth.alpha.ravel(),
            },
            schema=SIMULATED_MASTERY.schema,
        )


def simulate_study(items: pa.Table, options: SimulationOptions | None = None) -> SimulatedStudy:
    """Responses of made-up models to items.

    Every item, attribute and ability has random numbers of its own, from the seed and its name (Philox, keyed by a
    hash). So an item more changes no response to another one, and a model more none of the others'.

    Args:
        items: table of the contract `diagnosed_items`; `item_type` is the attribute that an item needs.
        options: how models respond; the defaults without.

    Returns:
        The study, its items sorted by id.

    Raises:
        UserError: no items, or an item without a type where attributes are made of types.
    """
    options = options or SimulationOptions()
    if not items.num_rows:
        raise UserError("a simulated study needs items, and there are none")
    types = dict(zip(items["item_id"].to_pylist(), items["item_type"].to_pylist(), strict=True))
    ids = tuple(sorted(types))
    width = max(4, len(str(options.models)))
    models = tuple(f"simulated-{number:0{width}d}" for number in range(1, options.models + 1))
    streams = [_stream(options.seed, "item", item) for item in ids]
    # One number for each property of an item, always drawn, so that options shift no stream.
    properties = np.array([stream.random(4) for stream in streams])
    uniform = np.array([stream.random(options.models) for stream in streams]).T
    if options.truth == "2pl":
        attributes: tuple[str, ...] = ()
        theta = _stream(options.seed, "ability").standard_normal(options.models)[:, None]
        chance = ability_chance(theta, 0.8 + 1.2 * properties[:, 0], ndtri(_open(properties[:, 1])))
        none = np.zeros((options.models, 0), dtype=bool), np.zeros((len(ids), 0), dtype=bool)
        truth = (*none, np.full(len(ids), np.nan), np.full(len(ids), np.nan))
    else:
        attributes = _attributes(types)
        alpha = _mastery(attributes, options)
        q = _needed(ids, types, attributes, properties[:, 2], options)
        guess, slip = (
            low + (high - low) * properties[:, at]
            for at, (low, high) in enumerate((options.guess, options.slip))
        )
        chance = dina_chance(alpha, q, guess, slip)
        truth = (alpha, q, guess, slip)
    responses = ResponseMatrix(models, ids, (uniform < chance).astype(np.int8))
    return SimulatedStudy(matrix_grid(responses), attributes, Truth(responses, *truth))


def _attributes(types: dict[str, str | None]) -> tuple[str, ...]:
    lacking = sorted(item for item, kind in types.items() if kind is None)
    if lacking:
        raise UserError(
            f"a simulated study under DINA needs the type of every item; {len(lacking)} have none, first {lacking[0]!r}"
        )
    return tuple(sorted({kind for kind in types.values() if kind is not None}))


def _mastery(attributes: tuple[str, ...], options: SimulationOptions) -> NDArray[np.bool_]:
    """A normal copula with one common factor, N x K."""
    common = _stream(options.seed, "ability").standard_normal(options.models)[:, None]
    own = np.array(
        [_stream(options.seed, "attribute", name).standard_normal(options.models) for name in attributes]
    ).T
    latent = np.sqrt(options.correlation) * common + np.sqrt(1 - options.correlation) * own
    return np.asarray(latent > ndtri(1 - options.prevalence), dtype=np.bool_)


def _needed(
    ids: tuple[str, ...],
    types: dict[str, str | None],
    attributes: tuple[str, ...],
    chance: NDArray[np.float64],
    options: SimulationOptions,
) -> NDArray[np.bool_]:
    """J x K: the attribute of an item's type, and for a share of the items the one of another type that ranks first.

    Ranks are hashes: an attribute more changes the items alone in which it comes first.
    """
    q = np.zeros((len(ids), len(attributes)), dtype=bool)
    for row, item in enumerate(ids):
        q[row, attributes.index(str(types[item]))] = True
        others = [name for name in attributes if name != types[item]]
        if others and chance[row] < options.second:
            ranks = {_digest(options.seed, "second", item, name): name for name in others}
            q[row, attributes.index(ranks[min(ranks)])] = True
    return q


def _digest(seed: int, *parts: str) -> bytes:
    # Lengths before the parts: no two lists of parts are one text.
    text = "".join(f"{len(part)}:{part}" for part in (str(seed), *parts))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()


def _stream(seed: int, *parts: str) -> np.random.Generator:
    """Random numbers that depend on the seed and a name alone."""
    return np.random.Generator(np.random.Philox(key=int.from_bytes(_digest(seed, *parts)[:16], "big")))


def _open(uniform: NDArray[np.float64]) -> NDArray[np.float64]:
    """Uniform numbers that are never 0."""
    return np.maximum(uniform, 2.0**-53)
