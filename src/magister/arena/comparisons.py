"""Comparisons to be judged: what both arms chose for every pair, as one table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.arena._grid import FloatArray
from magister.arena.effort import Effort
from magister.arena.random_arm import draw_random, hash_ids, pair_key, split_budget
from magister.arena.selection import Penalty, Picks, select
from magister.arena.similarity import Pair, Similarities, all_pairs
from magister.arena.vectors import Vectors, check_unique, string_array
from magister.contracts.arena_tables import SELECTIONS
from magister.errors import UserError


@dataclass(frozen=True)
class Choice:
    """How comparisons are chosen.

    Attributes:
        k: comparisons of each pair and scenario, both arms together.
        lam: weight of the penalty, 0 or more.
        penalty: "max" or "mean" over earlier picks.
        random_share: part of k drawn at random, 0..1.
        seed: of the random arm.
    """

    k: int = 10
    lam: float = 1.0
    penalty: Penalty = "max"
    random_share: float = 0.3
    seed: int = 0


@dataclass(frozen=True)
class Chosen:
    """Comparisons, and what they were chosen from.

    Attributes:
        table: by the contract `SELECTIONS`, sorted.
        counts: a row per pair: scenario, model_a, model_b, instructions, eligible, missing (without a similarity,
            those that a pre-filter refused included), without_vector, discrepant, random and wanted.
    """

    table: pa.Table
    counts: pa.Table


def choose_comparisons(
    scenario: str,
    ids: Sequence[str] | pa.StringArray,
    parts: Iterable[Similarities],
    instruction_vectors: Vectors,
    choice: Choice,
    effort: Effort | None = None,
) -> Chosen:
    """Choose the comparisons of a scenario.

    The discrepant arm is picked first; inclusion probability 1, since nothing is left to chance. The random arm is
    drawn from the eligible instructions that it left, each with probability n / (eligible - picked). So no
    comparison is judged twice, the budget is k, and both arms together are a sample of the pair's whole pool with
    known probabilities: sum y / p over them estimates the pool's total without bias (Horvitz and Thompson 1952).

    Args:
        scenario: name of the scenario.
        ids: instructions, length N, in the order of the columns of `parts`; any order.
        parts: similarities of all pairs wanted, each pair once.
        instruction_vectors: vectors of the instructions.
        choice: how.
        effort: memory and threads.

    Returns:
        The comparisons. A pair depends on its own two models alone: others may join or leave.

    Raises:
        UserError: for repeated ids, two responses to one pair, or a choice that is none.
    """
    columns = string_array(ids)
    check_unique(columns, f"instructions of {scenario}")
    order = np.asarray(pc.sort_indices(columns).to_numpy(), dtype=np.int64)
    columns = columns.take(pa.array(order))
    ordered = bool((np.diff(order) > 0).all())
    wanted, drawn = split_budget(choice.k, choice.random_share)
    hashed = hash_ids(columns)
    absent = instruction_vectors.positions(columns) < 0
    tables, counts = [], []
    for part in parts:
        if part.values.shape != (len(part.pairs), len(columns)):
            raise UserError(
                f"similarities have shape {part.values.shape}; expected ({len(part.pairs)}, {len(columns)}), pairs and "
                "instructions"
            )
        values = part.values if ordered else part.values[:, order]
        picks = (
            select(
                values,
                instruction_vectors,
                wanted,
                choice.lam,
                penalty=choice.penalty,
                ids=columns,
                effort=effort,
            )
            if wanted
            else _nothing(values, absent)
        )
        for at, (a, b) in enumerate(part.pairs):
            key = pair_key([scenario, *sorted((a, b))], choice.seed)
            able = ~np.isnan(values[at]) & ~absent
            table, found = _of_pair(values[at], able, picks, at, drawn, hashed, key)
            names = (scenario, min(a, b), max(a, b))
            tables.append(_named(table, names, columns))
            counts.append(
                dict(zip(("scenario", "model_a", "model_b"), names, strict=True))
                | {"instructions": len(columns), "eligible": int(picks.eligible[at])}
                | {"missing": int(picks.missing[at]), "without_vector": picks.without_vector}
                | found
                | {"wanted": choice.k}
            )
    table = pa.concat_tables([SELECTIONS.schema.empty_table(), *tables])
    return Chosen(_sorted(table), pa.Table.from_pylist(counts, schema=_COUNTS).sort_by(_BY_PAIR))


_BY_PAIR = [(name, "ascending") for name in ("scenario", "model_a", "model_b")]
_COUNTS = pa.schema(
    [pa.field(name, pa.string(), nullable=False) for name, _ in _BY_PAIR]
    + [
        pa.field(name, pa.int64(), nullable=False)
        for name in (
            "instructions",
            "eligible",
            "missing",
            "without_vector",
            "discrepant",
            "random",
            "wanted",
        )
    ]
)


def _nothing(values: FloatArray, absent: NDArray[np.bool_]) -> Picks:
    """Picks of nothing, with what could be picked counted."""
    pairs = len(values)
    missing = np.isnan(values)
    none = np.empty((pairs, 0))
    return Picks(
        np.empty((pairs, 0), dtype=np.int64),
        none,
        none,
        none,
        (~missing & ~absent).sum(axis=1).astype(np.int64),
        missing.sum(axis=1).astype(np.int64),
        int(absent.sum()),
    )


def _of_pair(
    values: FloatArray,
    able: NDArray[np.bool_],
    picks: Picks,
    at: int,
    drawn: int,
    hashed: NDArray[np.uint64],
    key: np.uint64,
) -> tuple[dict[str, NDArray], dict[str, int]]:
    """Columns of one pair, discrepant arm first, and how many each arm has."""
    rows = picks.rows[at]
    rows = rows[rows >= 0]
    left = able.copy()
    left[rows] = False
    lot = draw_random(hashed, left, drawn, key)
    n, m = rows.size, lot.size
    probability = m / int(left.sum()) if m else 0.0
    nothing = np.full(m, np.nan)
    return {
        "arm": np.repeat(["discrepant", "random"], [n, m]),
        "rank": np.concatenate([np.arange(n), np.arange(m)]) + 1,
        "row": np.concatenate([rows, lot]),
        "inclusion_probability": np.repeat([1.0, probability], [n, m]),
        "similarity": np.concatenate([picks.similarity[at, :n], values[lot]]),
        "penalty": np.concatenate([picks.penalty[at, :n], nothing]),
        "objective": np.concatenate([picks.objective[at, :n], nothing]),
    }, {"discrepant": n, "random": m}


def _named(columns: dict[str, NDArray], names: tuple[str, str, str], ids: pa.StringArray) -> pa.Table:
    size = columns["row"].size
    arrays = {name: pa.repeat(value, size) for (name, _), value in zip(_BY_PAIR, names, strict=True)}
    arrays["instruction_id"] = ids.take(pa.array(columns["row"]))
    for name, column in columns.items():
        if name != "row":
            arrays[name] = pa.array(column, SELECTIONS.schema.field(name).type, from_pandas=True)
    return pa.table([arrays[name] for name in SELECTIONS.schema.names], schema=SELECTIONS.schema)


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in SELECTIONS.key]).combine_chunks()


def pairs_to_plan(models: Sequence[str], selections: pa.Table | None, scenario: str) -> list[Pair]:
    """Pairs of these models that have no comparison in a scenario yet.

    Args:
        models: all models, old and new.
        selections: earlier comparisons (`SELECTIONS`); None for none.
        scenario: name of the scenario.

    Returns:
        N pairs where one model joins N others: N x K new comparisons.
    """
    if selections is None:
        return all_pairs(models)
    rows = selections.filter(pc.equal(selections["scenario"], scenario))
    known = set(zip(rows["model_a"].to_pylist(), rows["model_b"].to_pylist(), strict=True))
    return [pair for pair in all_pairs(models) if pair not in known]


def join_selections(earlier: pa.Table, new: pa.Table) -> pa.Table:
    """Earlier and new comparisons as one table; the earlier rows stay as they are.

    Raises:
        UserError: for a pair that has comparisons in both.
    """
    key = ["scenario", "model_a", "model_b"]
    both = earlier.select(key).join(new.select(key), key, join_type="left semi")
    if both.num_rows:
        first = min(tuple(row.values()) for row in both.slice(0).to_pylist())
        raise UserError(
            f"{first[1]} and {first[2]} have comparisons in scenario {first[0]!r} already; plan pairs that have none "
            "(pairs_to_plan)"
        )
    return _sorted(pa.concat_tables([earlier.cast(SELECTIONS.schema), new.cast(SELECTIONS.schema)]))
