"""Greedy selection: lazy and full agree to the bit, whatever the order, the memory and the threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from selection_cases import TIGHT, ids_of, normal, pools, vectors, written_out

import magister.arena
from magister.arena._grid import BITS, cosines, to_grid
from magister.arena.effort import Effort
from magister.arena.selection import Picks, select
from magister.errors import UserError
from magister.provenance import code_files

Pool = tuple[NDArray[np.float64], NDArray[np.float64], int, float]


def same(one: Picks, other: Picks) -> bool:
    return all(
        np.asarray(getattr(one, name)).tobytes() == np.asarray(getattr(other, name)).tobytes()
        for name in ("rows", "similarity", "penalty", "objective", "eligible", "missing")
    )


@settings(deadline=None)
@given(pools())
def test_lazy_picks_what_full_greedy_picks_to_the_bit(pool: Pool) -> None:
    similarity, values, k, lam = pool
    assert same(
        select(similarity, values, k, lam, method="lazy"), select(similarity, values, k, lam, method="full")
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("width", [2, 16])
def test_lazy_picks_what_full_greedy_picks_from_large_pools(seed: int, width: int) -> None:
    similarity = np.random.default_rng(seed).uniform(0.5, 1, (5, 1500))
    values = normal(seed, 1500, width)
    values[::3] = values[1::3]  # a third stands twice
    for lam in (0.1, 1.0, 10.0):
        assert same(
            select(similarity, values, 10, lam, method="lazy"),
            select(similarity, values, 10, lam, method="full"),
        )


@settings(deadline=None)
@given(pools(), st.sampled_from(["max", "mean"]))
def test_memory_and_threads_change_no_bit(pool: Pool, penalty: str) -> None:
    similarity, values, k, lam = pool
    whole = select(similarity, values, k, lam, penalty=penalty, effort=Effort(threads=3))  # type: ignore[arg-type]
    assert same(whole, select(similarity, values, k, lam, penalty=penalty, effort=TIGHT))  # type: ignore[arg-type]


@settings(deadline=None)
@given(pools(), st.sampled_from(["max", "mean"]))
def test_picks_are_those_of_the_definition(pool: Pool, penalty: str) -> None:
    similarity, values, k, lam = pool
    grid = np.empty(values.shape)
    length, _ = to_grid(values, grid)
    cosine = cosines(grid @ grid.T, length[:, None], length)
    picks = select(similarity, values, k, lam, penalty=penalty)  # type: ignore[arg-type]
    able = np.where(length == 0, np.nan, similarity)
    for rows, line in zip(picks.rows.tolist(), able, strict=True):
        assert rows == written_out(line, cosine, k, lam, penalty)


@settings(deadline=None)
@given(pools(), st.randoms(use_true_random=False), st.sampled_from(["max", "mean"]))
def test_the_order_of_rows_changes_no_pick(pool: Pool, shuffle: object, penalty: str) -> None:
    similarity, values, k, lam = pool
    names = ids_of(len(values))
    order = np.arange(len(values))
    shuffle.shuffle(order)  # type: ignore[attr-defined]
    first = select(similarity, values, k, lam, ids=names, penalty=penalty)  # type: ignore[arg-type]
    moved = [names[k] for k in order]
    second = select(similarity[:, order], values[order], k, lam, ids=moved, penalty=penalty)  # type: ignore[arg-type]
    named = np.array([*names, ""]), np.array([*moved, ""])
    assert named[0][first.rows].tolist() == named[1][second.rows].tolist()
    assert first.objective.tobytes() == second.objective.tobytes()


def test_many_pairs_pick_what_each_picks_alone() -> None:
    similarity, values = np.random.default_rng(6).uniform(0.5, 1, (80, 50)), normal(6, 50, 8)
    together = select(similarity, values, 5, 1.0)
    alone = [select(line, values, 5, 1.0).rows.tolist() for line in similarity]
    assert together.rows.tolist() == alone


def test_ties_go_to_the_least_id_and_not_to_the_first_row() -> None:
    values = np.eye(3)
    picks = select(np.zeros(3), values, 3, 1.0, ids=["c", "b", "a"])
    assert picks.rows.tolist() == [2, 1, 0]


def test_the_first_pick_has_no_penalty_and_later_ones_the_largest_cosine() -> None:
    # The second resembles the first; the third does not but answers agree more on it.
    values = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    similarity = np.array([0.1, 0.2, 0.7])
    picks = select(similarity, values, 3, 1.0)
    assert picks.rows.tolist() == [0, 2, 1]
    assert picks.penalty == pytest.approx([0.0, 0.0, 0.8])
    assert picks.objective == pytest.approx([0.1, 0.7, 1.0])
    mean = select(similarity, values, 3, 1.0, penalty="mean")
    assert mean.penalty == pytest.approx([0.0, 0.0, 0.7])
    assert select(similarity, values, 3, 0.5).rows.tolist() == [0, 1, 2]


def test_a_negative_cosine_is_worth_more_than_no_penalty() -> None:
    # After the first pick an objective can fall below the similarity alone: no old value may hide that.
    values = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    picks = select(np.array([0.0, 0.1, 0.9]), values, 2, 1.0)
    assert picks.rows.tolist() == [0, 2]
    assert picks.objective[1] == pytest.approx(-0.1)


def test_a_missing_response_is_counted_and_never_picked() -> None:
    similarity = np.array([[np.nan, 0.5, 0.2], [0.1, np.nan, np.nan]])
    picks = select(similarity, np.eye(3), 3, 1.0)
    assert picks.rows.tolist() == [[2, 1, -1], [0, -1, -1]]
    assert (picks.missing.tolist(), picks.eligible.tolist()) == ([1, 2], [2, 1])
    assert np.isnan(picks.objective[0, 2])
    assert np.isnan(picks.penalty[1, 1:]).all()


def test_an_instruction_without_a_vector_is_counted_and_never_picked() -> None:
    values = np.array([[1.0, 0.0], [0.0, 0.0], [np.nan, 1.0], [0.0, 1.0]])
    for penalty in ("max", "mean"):
        picks = select(np.array([0.9, 0.0, 0.0, 0.8]), values, 4, 1.0, penalty=penalty)  # type: ignore[arg-type]
        assert picks.rows.tolist() == [3, 0, -1, -1]
        assert picks.without_vector == 2


def test_only_directions_count() -> None:
    values = normal(1, 40, 5)
    scale = np.ldexp(1.0, np.random.default_rng(1).integers(-300, 300, 40))[:, None]
    similarity = np.random.default_rng(2).random((2, 40))
    assert same(select(similarity, values, 6, 1.0), select(similarity, values * scale, 6, 1.0))


def test_cosines_agree_with_those_of_double_precision() -> None:
    for dtype, bound in ((np.float64, 1e-7), (np.float32, 1e-7), (np.float16, 1e-12)):
        values = normal(3, 50, 300)
        values = (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(dtype)
        grid = np.empty(values.shape)
        length, _ = to_grid(values, grid)
        wide = values.astype(np.float64)
        wide /= np.linalg.norm(wide, axis=1, keepdims=True)
        assert np.abs(cosines(grid @ grid.T, length[:, None], length) - wide @ wide.T).max() < bound
        assert (np.abs(length / 2**BITS) < 1.5).all()


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_a_cosine_does_not_depend_on_the_order_of_components(scale: float) -> None:
    values = normal(4, 30, 777) * scale
    order = np.random.default_rng(4).permutation(777)
    found = []
    for columns in (np.arange(777), order):
        grid = np.empty(values.shape)
        length, _ = to_grid(values[:, columns], grid)
        found.append(cosines(grid @ grid.T, length[:, None], length))
    assert found[0].tobytes() == found[1].tobytes()
    assert np.diag(found[0]) == pytest.approx(1.0)


def test_threads_of_the_linear_algebra_change_no_byte(tmp_path: Path) -> None:
    script = tmp_path / "pick.py"
    script.write_text(
        "import hashlib, numpy as np, pyarrow as pa\n"
        "from magister.arena.effort import Effort\n"
        "from magister.arena.selection import select\n"
        "from magister.arena.similarity import cosine_similarities\n"
        "from magister.arena.vectors import Vectors\n"
        "rng = np.random.default_rng(0)\n"
        "ids = pa.array([f'{k:03}' for k in range(300)])\n"
        "models = [Vectors(str(m), rng.standard_normal((300, 200), dtype=np.float32), ids) for m in range(20)]\n"
        "values = next(cosine_similarities(models, ids, effort=Effort(threads=1))).values\n"
        "picks = select(values, models[0], 8, 1.0, method='full', effort=Effort(threads=1))\n"
        "print(hashlib.sha256(values.tobytes() + picks.objective.tobytes()).hexdigest())\n"
    )
    said = set()
    # The last kernel is that of an older processor: no fused multiply-add.
    for more in (
        {"OPENBLAS_NUM_THREADS": "1"},
        {"OPENBLAS_NUM_THREADS": "4"},
        {"OPENBLAS_CORETYPE": "Sandybridge"},
    ):
        ran = subprocess.run(
            [sys.executable, str(script)],
            env=os.environ | {"PYTHONPATH": ":".join(sys.path)} | more,
            capture_output=True,
            text=True,
            check=True,
        )
        said.add(ran.stdout)
    assert len(said) == 1


def test_one_pair_may_be_a_vector() -> None:
    similarity, values = np.random.default_rng(5).random(30), normal(5, 30, 4)
    one, many = select(similarity, values, 5, 1.0), select(similarity[None], values, 5, 1.0)
    assert one.rows.tolist() == many.rows[0].tolist()
    assert one.rows.shape == (5,)
    assert int(one.eligible) == 30


def test_a_step_of_the_arena_does_not_depend_on_the_code_of_selection() -> None:
    root = Path(__file__).resolve().parents[2]
    assert code_files("magister.arena", root) == (
        "src/magister/__init__.py",
        "src/magister/arena/__init__.py",
    )


def test_the_public_name_is_found_and_others_are_not() -> None:
    assert magister.arena.select is select
    with pytest.raises(AttributeError, match="no attribute 'selekt'"):
        magister.arena.selekt  # noqa: B018


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"k": 0}, "k is 0; expected 1 or more"),
        ({"lam": -1.0}, "lambda is -1; expected 0 or more"),
        ({"lam": float("nan")}, "lambda is nan"),
        ({"penalty": "median"}, "penalty is 'median'; expected max or mean"),
        ({"method": "slow"}, "method is 'slow'; expected lazy or full"),
        ({"similarity": np.array([0.1, np.inf, 0.2])}, "pair 1, instruction 2, is infinite"),
        ({"similarity": np.zeros((1, 1, 3))}, "expected (pairs, instructions)"),
        ({"instruction_vectors": np.zeros((2, 2))}, "expected (3, D)"),
        ({"instruction_vectors": np.array([[1.0], [np.inf], [1.0]])}, "row 2, instruction '1', is infinite"),
        ({"ids": ["a", "b"]}, "2 ids for 3 columns"),
        ({"ids": ["a", "b", "a"]}, "first 'a' in rows 1 and 3"),
        ({"ids": ["a", None, "b"]}, "row 2 has no instruction id"),
        ({"instruction_vectors": vectors("x", np.eye(2))}, "2 instruction vectors for 3 columns"),
    ],
)
def test_a_mistake_is_named(change: dict[str, object], said: str) -> None:
    arguments = {"similarity": np.zeros(3), "instruction_vectors": np.eye(3), "k": 2, "lam": 1.0} | change
    with pytest.raises(UserError) as error:
        select(**arguments)  # type: ignore[arg-type]
    assert said in str(error.value)
