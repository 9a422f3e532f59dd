"""Kernels of SAEM: log-odds against the definition of the model, draws against exact posteriors, random numbers."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numba
import numpy as np
import pytest
from saem_cases import cell_loglik, random_problem, rows_of_q, working_space
from scipy.optimize import minimize

from magister.diagnosis import _ability, _chain, _compile, _kernels

SIZES = (1, 63, 64, 65, 130)


@pytest.mark.parametrize("models", SIZES)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_log_odds_of_mastery_are_those_of_the_joint_density(models: int, missing: float) -> None:
    case = random_problem(models, 9, 4, seed=models, missing=missing, alpha_prior="higher_order")
    state, data = case.state, case.data
    start, items = _kernels.items_by_attribute(state)
    found = np.zeros((len(data.valid), 64))
    for k in range(4):
        for w in range(len(data.valid)):
            _kernels.mastery_odds(data, state, w, k, state.block[w], start, items, found[w])
        with_k, without_k = case.alpha.copy(), case.alpha.copy()
        with_k[:, k], without_k[:, k] = True, False
        rates = (case.q, state.right_rate, state.guess)
        expected = (
            cell_loglik(case.correct, with_k, *rates).sum(axis=1)
            - cell_loglik(case.correct, without_k, *rates).sum(axis=1)
            + state.prior[k, state.ability[:models]]
        )
        assert found.ravel()[:models] == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("models", SIZES)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_log_odds_of_entries_are_those_of_the_joint_density(models: int, missing: float) -> None:
    case = random_problem(models, 9, 4, seed=models + 1, missing=missing)
    state, space = case.state, working_space(case.data)
    rates = (state.right_rate, state.guess)
    for j in range(9):
        _kernels.survey_row(case.data, state, j, space)
        for k in range(4):
            with_k, without_k = case.q.copy(), case.q.copy()
            with_k[j, k], without_k[j, k] = True, False
            expected = (
                cell_loglik(case.correct, case.alpha, with_k, *rates).sum()
                - cell_loglik(case.correct, case.alpha, without_k, *rates).sum()
                + math.log(case.prior.probability[j, k] / (1 - case.prior.probability[j, k]))
            )
            assert space.odds[k] == pytest.approx(expected, abs=1e-6)


def test_counts_are_of_the_answers_with_and_without_mastery_of_all_that_is_needed() -> None:
    case = random_problem(130, 9, 4, seed=5)
    _kernels.update_items(case.data, case.state, case.rules, 1)
    eta = np.all(case.alpha[:, None, :] | (case.state.q[None] == 0), axis=2)
    right, answered = case.correct == 1, case.correct >= 0
    expected = [
        (right & eta).sum(axis=0),
        (answered & eta).sum(axis=0),
        (right & ~eta).sum(axis=0),
        (answered & ~eta).sum(axis=0),
    ]
    assert np.array_equal(case.state.drawn, expected)


def test_no_bit_beyond_the_last_model_is_ever_set() -> None:
    case = random_problem(70, 9, 4, seed=6)
    for sweep in range(1, 30):
        _kernels.update_mastery(case.data, case.state, case.rules, sweep)
    assert not (case.state.block[1] & ~np.uint64(0b111111)).any()


def test_rates_of_python_and_of_the_kernel_are_the_same() -> None:
    case = random_problem(64, 40, 4, seed=7)
    rng = np.random.default_rng(1)
    n = rng.integers(0, 50, (2, 40))
    counts = np.array([rng.integers(0, n[0] + 1), n[0], rng.integers(0, n[1] + 1), n[1]]).astype(float)
    case.state.counts[:] = counts
    _kernels.set_rates(case.state, 0.05)
    c, g, pooled = _chain.set_apart(counts, 0.05)
    assert np.array_equal(c, case.state.right_rate)
    assert np.array_equal(g, case.state.guess)
    assert pooled.any()
    assert not pooled.all()
    assert (c - g).min() == pytest.approx(0.05)
    assert ((g > 0) & (c < 1)).all()


def test_an_item_that_all_get_right_has_rates_within_bounds() -> None:
    c, g, pooled = _chain.set_apart(np.array([[5.0, 0.0], [5.0, 0.0], [9.0, 9.0], [9.0, 9.0]]), 0.05)
    assert pooled[0]
    assert (c < 1).all()
    assert (g > 0).all()


def exact_posterior(case: object, fixed: tuple[int, int]) -> tuple[dict[tuple[bool, ...], float], np.ndarray]:
    """Probability of every row of item 0, and of every mastery, over all states of a tiny problem."""
    correct, prior, state = case.correct, case.prior, case.state  # type: ignore[attr-defined]
    models, items = correct.shape
    attributes = prior.reference.shape[1]
    logit_alpha = state.prior[:, 0]
    log_r, log_not = np.log(prior.probability), np.log1p(-prior.probability)
    rows = rows_of_q(attributes)
    patterns = np.array(list(itertools.product((False, True), repeat=attributes)))
    # Responses factor over items given all mastery.
    first: dict[tuple[bool, ...], float] = dict.fromkeys(rows, 0.0)
    mastery = np.zeros((models, attributes))
    total = 0.0
    for picked in itertools.product(range(len(patterns)), repeat=models):
        alpha = patterns[list(picked)]
        weight = math.exp(float((alpha * logit_alpha).sum()))
        by_row = []
        for j in range(items):
            likelihoods = []
            for row in rows:
                if j == fixed[0] and row[fixed[1]] != prior.reference[fixed]:
                    likelihoods.append(0.0)
                    continue
                q = np.array([row])
                cells = cell_loglik(correct[:, [j]], alpha, q, state.right_rate[[j]], state.guess[[j]])
                with_row = np.array(row)
                opens = np.arange(attributes) != fixed[1] if j == fixed[0] else np.ones(attributes, bool)
                belief = np.where(with_row, log_r[j], log_not[j])[opens].sum()
                likelihoods.append(math.exp(float(cells.sum() + belief)))
            by_row.append(likelihoods)
        weight *= math.prod(sum(likelihoods) for likelihoods in by_row)
        total += weight
        mastery += weight * alpha
        for row, likelihood in zip(rows, by_row[0], strict=True):
            first[row] += weight * likelihood / sum(by_row[0])
    return {row: value / total for row, value in first.items()}, mastery / total


@pytest.mark.slow
def test_draws_with_fixed_rates_follow_the_exact_posterior() -> None:
    case = random_problem(3, 4, 3, seed=8, missing=0.2)
    data, state = case.data, case.state
    fixed = (1, int(np.flatnonzero(case.q[1])[0]))
    data.free[fixed], data.n_free[1] = 0, data.n_free[1] - 1
    rows, mastery = exact_posterior(case, fixed)
    sweeps = 40_000
    seen: dict[tuple[bool, ...], int] = dict.fromkeys(rows, 0)
    found = np.zeros((3, 3))
    for sweep in range(1, sweeps + 1):
        _kernels.update_mastery(data, state, case.rules, sweep)
        _kernels.update_items(data, state, case.rules, sweep)
        seen[tuple(state.q[0].astype(bool).tolist())] += 1
        found += _chain.unpack(state.mastery, 3)
        assert state.q[fixed] == 1
        assert state.n_needs.min() >= 1
    assert found / sweeps == pytest.approx(mastery, abs=0.02)
    assert [seen[row] / sweeps for row in rows] == pytest.approx(list(rows.values()), abs=0.02)


def test_a_single_attribute_moves_without_the_way_over_both() -> None:
    # All models master exactly one of two attributes, and responses follow the second alone.
    case = random_problem(128, 6, 2, seed=9, missing=0.0)
    alpha = np.arange(128)[:, None] % 2 == np.arange(2)[None, :]
    correct = np.repeat(alpha[:, [1]], 6, axis=1).astype(np.int8)
    q = np.array([[True, False]] * 6)
    matrix = _chain.ResponseMatrix(tuple(map(str, range(128))), case.prior.items, correct)
    data = _chain.pack_data(matrix, case.prior, _chain.SaemOptions(), (np.zeros(0, np.intp),) * 2)
    state = _chain.make_state(data, _chain.Start(alpha, q, np.full(6, 0.9), np.full(6, 0.1)))
    for j in range(6):
        _kernels.move_entry(data, state, case.rules, 2, j, working_space(data))
    assert np.array_equal(state.q, [[0, 1]] * 6)
    assert np.array_equal(state.needs[:, 0], [1] * 6)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_random_numbers_are_philox(
    counter: tuple[int, ...], key: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    """Known answers of Salmon et al. (2011), as shipped with Random123."""
    out = np.zeros((4, 1), np.uint32)
    _kernels.philox(*key, *counter, out)
    assert tuple(int(number) for number in out[:, 0]) == expected


def test_a_word_is_drawn_by_the_logistic_function() -> None:
    rng = np.random.default_rng(2)
    odds = rng.normal(0, 8, 64)
    odds[:4] = -np.inf, np.inf, -30.0, 30.0
    for _ in range(200):
        numbers = rng.integers(0, 2**32, 64, dtype=np.uint32)
        word = int(_kernels.draw_word(odds, numbers))
        with np.errstate(over="ignore"):
            expected = (numbers + 0.5) / 2**32 < 1 / (1 + np.exp(-odds))
        assert [bool(word >> i & 1) for i in range(64)] == expected.tolist()


def test_packing_is_undone_by_unpacking() -> None:
    flags = np.random.default_rng(3).random((130, 7)) < 0.5
    assert np.array_equal(_chain.unpack(_chain.pack(flags), 130), flags)
    assert int(_chain.pack(flags)[2, 1]) >> 3 & 1 == int(flags[67, 2])


def test_abilities_follow_their_conditional_density() -> None:
    case = random_problem(64, 9, 4, seed=10, alpha_prior="higher_order")
    data, state = case.data, case.state
    state.loading[:], state.intercept[:] = (0.5, 1.0, 1.5, 2.0), (-1.0, 0.0, 0.5, 1.0)
    found = np.zeros((64, len(_ability.GRID)))
    sweeps = 20_000
    numbers = np.zeros((4, 64), np.uint32)
    for sweep in range(sweeps):
        _kernels.philox(1, 2, 0, _ability.ABILITY, sweep, 1, numbers)
        _ability.move_abilities(data, state, numbers)
        found[np.arange(64), state.ability[:64]] += 1
    odds = state.loading * _ability.GRID[:, None] + state.intercept
    log_density = case.alpha @ odds.T - np.logaddexp(0, odds).sum(axis=1) - _ability.GRID**2 / 2
    density = np.exp(log_density)
    density /= density.sum(axis=1, keepdims=True)
    assert found @ _ability.GRID / sweeps == pytest.approx(density @ _ability.GRID, abs=0.06)
    # Models of the same mastery have the same density: pooled, the whole of it is seen.
    same = (case.alpha == case.alpha[0]).all(axis=1)
    assert np.abs(found[same].mean(axis=0) / sweeps - density[0]).max() < 0.01


def test_lambda_and_d_come_to_the_penalised_maximum() -> None:
    case = random_problem(64, 9, 2, seed=11, alpha_prior="higher_order")
    data, state = case.data, case.state
    rng = np.random.default_rng(4)
    theta = _ability.GRID
    state.at_theta[:] = 400 * np.exp(-(theta**2) / 2) / 20
    chance = 1 / (1 + np.exp(-(np.array([0.8, 2.0]) * theta[:, None] + np.array([-1.0, 0.5]))))
    state.mastered_at[:] = state.at_theta[:, None] * np.clip(chance + rng.normal(0, 0.02, chance.shape), 0, 1)
    for _ in range(100):
        _ability.set_regression(data, state)
    for k in range(2):

        def loss(point: np.ndarray, k: int = k) -> float:
            odds = point[0] * theta + point[1]
            fit = state.mastered_at[:, k] @ odds - state.at_theta @ np.logaddexp(0, odds)
            return float(-fit + (point[0] - 1) ** 2 / 2 + point[1] ** 2 / 8)

        best = minimize(loss, [1.0, 0.0], method="BFGS").x
        assert [state.loading[k], state.intercept[k]] == pytest.approx(best, abs=1e-3)


def test_kernels_are_compiled_also_where_their_folder_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(_compile, "_folder", lambda: tmp_path / "file" / "kernels")
    before = numba.config.CACHE_DIR
    doubled = _compile.kept_kernel(lambda number: 2 * number)
    assert doubled(21) == 42
    assert before == numba.config.CACHE_DIR


def test_kept_kernels_are_named_by_the_code_of_all_kernels(tmp_path: Path) -> None:
    here = Path(_compile.__file__).parent
    for name in _compile._KERNELS:
        (tmp_path / name).write_bytes((here / name).read_bytes())
    source = {path.name for path in here.glob("_*.py")}
    calls_numba = {name for name in source if "_compile import" in (here / name).read_text()}
    assert calls_numba < set(_compile._KERNELS)
    first = _compile.folder_of(tmp_path)
    with (tmp_path / "_ability.py").open("a") as file:
        file.write("# changed\n")
    assert _compile.folder_of(tmp_path).name != first.name
