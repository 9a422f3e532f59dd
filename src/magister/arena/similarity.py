"""How alike the responses of two models are, instruction by instruction, for all pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from magister.arena._grid import FloatArray, cosines
from magister.arena.effort import Effort, each
from magister.arena.vectors import Vectors
from magister.errors import UserError

Pair = tuple[str, str]
# Working arrays of a thread: larger ones leave the caches.
_BLOCK_BYTES = 16 * 2**20


def all_pairs(models: Sequence[str]) -> list[Pair]:
    """Every pair of these models, the lesser name first, sorted."""
    names = sorted(set(models))
    return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]


@dataclass(frozen=True)
class Similarities:
    """Similarities of some pairs.

    Attributes:
        pairs: the pairs, length P.
        values: shape (P, N); NaN where a model has no response, never a number in its place.
    """

    pairs: list[Pair]
    values: FloatArray


def cosine_similarities(
    models: Sequence[Vectors],
    ids: pa.StringArray,
    pairs: Sequence[Pair] | None = None,
    effort: Effort | None = None,
) -> Iterator[Similarities]:
    """Cosines of the responses of pairs of models, some pairs at a time.

    Vectors are read by blocks of instructions. For each instruction one product of the models' vectors gives
    all its pairs. The numbers are the same bytes for any block size, memory and number of threads (`_grid`).

    Args:
        models: vectors of each model.
        ids: the instructions, length N, in the order of the columns wanted.
        pairs: names of two models each; all pairs by default.
        effort: memory and threads. Half the memory holds the similarities of one yield; with less than all pairs
            need, vectors are read once for every part.

    Yields:
        Similarities of a part of the pairs; every pair comes once.

    Raises:
        UserError: for vectors of different widths, two models of one name or unknown names.
    """
    effort = effort or Effort()
    by_name = _by_name(models)
    wanted = all_pairs(list(by_name)) if pairs is None else list(pairs)
    unknown = sorted({name for pair in wanted for name in pair} - set(by_name))
    if unknown:
        raise UserError(
            f"no vectors of model(s) {', '.join(unknown)}; there are {', '.join(sorted(by_name))}"
        )
    oriented = sorted(zip(_oriented(wanted), range(len(wanted)), strict=True))
    step = max(1, effort.memory // 2 // (8 * max(len(ids), 1)))
    for start in range(0, len(oriented), step):
        part = oriented[start : start + step]
        values = np.empty((len(part), len(ids)))
        _fill(values, by_name, ids, [sides for sides, _ in part], effort)
        yield Similarities([wanted[k] for _, k in part], values)


def _by_name(models: Sequence[Vectors]) -> dict[str, Vectors]:
    by_name = {model.name: model for model in models}
    if len(by_name) < len(models):
        raise UserError("two of the vectors have the name of one model; expected one each")
    widths: dict[int, str] = {}
    for model in models:
        widths.setdefault(model.width, model.name)
    if len(widths) > 1:
        said = ", ".join(f"{name!r} {width}" for width, name in sorted(widths.items()))
        raise UserError(f"vectors of different widths: {said}; expected those of one embedding model")
    return by_name


def _oriented(pairs: Sequence[Pair]) -> list[Pair]:
    """The model with more pairs first: a model that joins others is then one side of one thin product."""
    degree: dict[str, int] = {}
    for pair in pairs:
        for name in pair:
            degree[name] = degree.get(name, 0) + 1
    return [(a, b) if (-degree[a], a) <= (-degree[b], b) else (b, a) for a, b in pairs]


def _fill(
    values: FloatArray, by_name: dict[str, Vectors], ids: pa.StringArray, pairs: list[Pair], effort: Effort
) -> None:
    """Similarities of pairs, shape (P, N), into `values`."""
    left, right = sorted({a for a, _ in pairs}), sorted({b for _, b in pairs})
    names = sorted({*left, *right})
    # The Gram product of all costs half a product of as many sides.
    gram = 2 * len(left) * len(right) > len(names) ** 2
    if gram:
        left = right = names
    else:
        names = left + [name for name in right if name not in set(left)]
    place = {name: k for k, name in enumerate(names)}
    rows, columns = (np.array([place[pair[k]] for pair in pairs]) for k in (0, 1))
    models = [by_name[name] for name in names]
    where = [model.positions(ids) for model in models]
    among = np.array([place[name] for name in right])
    column_of = np.full(len(names), -1)
    column_of[among] = np.arange(among.size)
    cell = rows * among.size + column_of[columns]
    width = models[0].width
    size = max(1, min(_BLOCK_BYTES, effort.memory // 4 // effort.workers()) // (8 * width * len(names)))

    def work(start: int) -> None:
        stop = min(start + size, len(ids))
        block = np.empty((len(names), stop - start, width))
        lengths = np.empty((stop - start, len(names)))
        for k, (model, at) in enumerate(zip(models, where, strict=True)):
            lengths[:, k] = model.read(at[start:stop], block[k])
        by_instruction = block.swapaxes(0, 1)
        first = by_instruction if gram else by_instruction[:, : len(left)]
        second = by_instruction if gram else block[among].swapaxes(0, 1)
        dots = np.matmul(first, second.swapaxes(1, 2)).reshape(stop - start, -1)[:, cell]
        values[:, start:stop] = cosines(dots, lengths[:, rows], lengths[:, columns]).T

    each(work, range(0, len(ids), size), effort)
