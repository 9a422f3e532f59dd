"""What the pool of instructions promises: every instruction goes back to a seed, and no attempt is lost."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from magister.contracts._columns import Mask, absent, numbers, positions, same, taken
from magister.contracts._small import small_contract
from magister.contracts.gate import RowCheck
from magister.contracts.schemas import Contract

_MADE = ("parent_id", "generator", "request_id")


def instruction_checks(rows: pa.Table, rounds: int) -> list[RowCheck]:
    """Checks on INSTRUCTIONS.

    Args:
        rows: the pool after its last round.
        rounds: rounds of evolution.
    """
    number = numbers(rows["round"])
    seed = number == 0
    root_at = positions(rows, rows, ["root_id"], ["instruction_id"])
    root = taken(rows, root_at, ("round", "scenario"))
    parent_at = positions(rows, rows, ["parent_id"], ["instruction_id"])
    parent = taken(rows, parent_at, ("root_id", "scenario", "round"))
    made = [~absent(rows[name]) for name in _MADE]
    follows = same(rows["root_id"], parent["root_id"]) & same(rows["scenario"], parent["scenario"])
    follows &= numbers(parent["round"]) < number

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("instructions", name, columns, expected, passed)

    return [
        check("round_played", ("round",), f"round 0 to {rounds}", number <= rounds),
        check(
            "root_is_a_seed",
            ("root_id", "scenario"),
            "the id of an instruction of round 0 of its scenario",
            (root_at >= 0) & (numbers(root["round"]) == 0) & same(root["scenario"], rows["scenario"]),
        ),
        check(
            "seed_is_its_own_root",
            ("round", "root_id"),
            "at round 0 its own id, and only there",
            same(rows["root_id"], rows["instruction_id"]) == seed,
        ),
        check(
            "evolved_from_round_1",
            ("round", *_MADE),
            "parent, generator and request after round 0, none of them before",
            np.where(seed, ~np.logical_or.reduce(made), np.logical_and.reduce(made)),
        ),
        check(
            "child_of_its_parent",
            ("parent_id", "root_id", "scenario", "round"),
            "an earlier instruction of the same root and scenario",
            absent(rows["parent_id"]) | (parent_at >= 0) & follows,
        ),
        check(
            "gold_of_seeds",
            ("round", "gold"),
            "no gold after round 0: nobody knows the answer to an evolved question",
            seed | absent(rows["gold"]),
        ),
        check(
            "source_of_seeds",
            ("round", "source"),
            "a source at round 0, and only there",
            absent(rows["source"]) != seed,
        ),
    ]


def rejection_checks(rejected: pa.Table, pool: pa.Table, rounds: int) -> list[RowCheck]:
    """Checks on INSTRUCTIONS_REJECTED.

    Args:
        rejected: what did not become an instruction, of all rounds.
        pool: INSTRUCTIONS.
        rounds: rounds of evolution.
    """
    number = numbers(rejected["round"])
    at_seed = number == 0
    place = positions(rejected, pool, ["parent_id"], ["instruction_id"])
    parent = taken(pool, place, ("scenario", "round"))
    follows = (
        (place >= 0)
        & same(rejected["scenario"], parent["scenario"])
        & (numbers(parent["round"]) < number)
        & same(rejected["origin"], rejected["parent_id"])
    )
    unborn = absent(rejected["parent_id"]) & ~absent(rejected["source"]) & ~absent(rejected["source_row"])

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("instructions_rejected", name, columns, expected, passed)

    return [
        check("round_played", ("round",), f"round 0 to {rounds}", number <= rounds),
        check(
            "row_of_a_source",
            ("round", "source", "source_row", "parent_id"),
            "at round 0 a source and its row, and no parent",
            ~at_seed | unborn,
        ),
        check(
            "evolution_of_the_pool",
            ("round", "origin", "parent_id", "scenario"),
            "after round 0 an earlier instruction of the pool, of the same scenario",
            at_seed | follows,
        ),
    ]


def lineages(pool: pa.Table, rejected: pa.Table, rounds: int) -> tuple[Contract, pa.Table]:
    """Every seed and round with the number of what came of it: one instruction, or one rejection.

    Args:
        pool: INSTRUCTIONS.
        rejected: INSTRUCTIONS_REJECTED of all rounds.
        rounds: rounds of evolution, 1 or more.
    """
    seeds = pool.filter(pa.array(numbers(pool["round"]) == 0)).select(["instruction_id"])
    parents = positions(rejected, pool, ["parent_id"], ["instruction_id"])
    roots = (pool["root_id"], taken(pool, parents, ("root_id",))["root_id"])
    outcomes = pa.table(
        {
            "root_id": pa.chunked_array([chunk for column in roots for chunk in column.chunks], pa.string()),
            "round": pa.chunked_array(
                [chunk for table in (pool, rejected) for chunk in table["round"].chunks], pa.int32()
            ),
        }
    )
    at = positions(outcomes, seeds, ["root_id"], ["instruction_id"])
    number = np.nan_to_num(numbers(outcomes["round"])).astype(np.int64)
    inside = (at >= 0) & (number >= 1) & (number <= rounds)
    counts = np.bincount((at * rounds + number - 1)[inside], minlength=seeds.num_rows * rounds)
    columns = {
        "root_id": seeds["instruction_id"].take(pa.array(np.repeat(np.arange(seeds.num_rows), rounds))),
        "round": pa.array(np.tile(np.arange(1, rounds + 1), seeds.num_rows), pa.int32()),
        "n_outcomes": pa.array(counts, pa.int64()),
    }
    contract = small_contract(
        "lineages",
        {"root_id": pa.string(), "round": pa.int32(), "n_outcomes": pa.int64()},
        ["root_id", "round"],
        ranges={"n_outcomes": (1, 1)},
    )
    return contract, pa.table(columns, schema=contract.schema)
