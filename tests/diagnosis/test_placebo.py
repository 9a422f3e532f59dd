"""Placebo priors: how rows are dealt out anew, and what p says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profile_cases import CONVERGED, KnownMastery, made_fit, made_prior, made_responses

from magister.contracts.diagnosis_tables import PLACEBO
from magister.diagnosis.held_out import hold_out
from magister.diagnosis.placebo import permute_rows, placebo_p, run_placebo, share_kept
from magister.diagnosis.prior import QPrior
from magister.diagnosis.simulation import simulate_dina, simulate_mastery, simulate_q


def table(**columns: list[float | None]) -> pa.Table:
    count = len(next(iter(columns.values())))
    blank = {name: [0.5] * count for name in ("loglik", "auc", "brier", "share_kept", "fit_loglik")}
    given_columns = blank | columns | {"draw": list(range(count)), "n": [9] * count}
    return pa.table(given_columns | {"converged": [True] * count}).select(PLACEBO.schema.names)


@given(st.integers(1, 30), st.integers(1, 5), st.integers(0, 9), st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_rows_stay_whole_and_columns_keep_their_sums(
    items: int, attributes: int, seed: int, draw: int
) -> None:
    rng = np.random.default_rng(items)
    reference = rng.random((items, attributes)) < 0.4
    reference[:, 0] |= ~reference.any(axis=1)
    prior = made_prior(reference)
    prior = QPrior(prior.items, prior.attributes, reference, rng.random((items, attributes)))
    found = permute_rows(prior, seed=seed, draw=draw)
    assert found.items == prior.items
    rows = [tuple(row) for row in np.hstack([prior.reference, prior.probability]).tolist()]
    assert sorted(rows) == sorted(
        tuple(row) for row in np.hstack([found.reference, found.probability]).tolist()
    )
    assert (found.reference.sum(axis=0) == reference.sum(axis=0)).all()


def test_the_order_of_items_changes_no_permutation() -> None:
    prior = made_prior(simulate_q(20, 4, np.random.default_rng(0)))
    order = np.random.default_rng(1).permutation(20)
    other = QPrior(
        tuple(prior.items[j] for j in order),
        prior.attributes,
        prior.reference[order],
        prior.probability[order],
    )
    one, two = (permute_rows(each, seed=3, draw=2) for each in (prior, other))
    by_name = [two.items.index(name) for name in one.items]
    assert (one.reference == two.reference[by_name]).all()


def test_every_permutation_is_as_likely() -> None:
    prior = made_prior(np.eye(3))
    seen: dict[tuple[int, ...], int] = {}
    for draw in range(1, 1201):
        key = tuple(permute_rows(prior, seed=0, draw=draw).reference.argmax(axis=1).tolist())
        seen[key] = seen.get(key, 0) + 1
    assert len(seen) == 6
    # Binomial with mean 200 and SD 13.
    assert max(abs(count - 200) for count in seen.values()) < 55


def test_p_counts_placebos_that_do_as_well_and_ties_count() -> None:
    found = placebo_p(table(loglik=[-0.5, -0.6, -0.5, -0.4, -0.9]))
    assert found["loglik"] == 3 / 5
    # A lower Brier score is better.
    assert placebo_p(table(brier=[0.1, 0.2, 0.3]))["brier"] == 1 / 3
    assert placebo_p(table(auc=[0.5] * 4))["auc"] == 1.0


def test_the_joint_test_takes_the_one_measure_that_tells() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(-0.5, 0.01, 20).tolist()
    noise[0] = float(np.median(noise))
    share = [0.95, *rng.normal(0.2, 0.03, 19).tolist()]
    found = placebo_p(table(loglik=noise, share_kept=share))
    assert found["joint"] == pytest.approx(0.05)
    # A prior that leaves nothing open keeps everything, real or not: the other measure must tell.
    found = placebo_p(table(loglik=[-0.3, *noise[1:]], share_kept=[1.0] * 20))
    assert found["joint"] == pytest.approx(0.05)
    assert found["share_kept"] == 1.0


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_the_joint_p_depends_on_no_order_of_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one = table(loglik=rng.normal(size=12).tolist(), share_kept=rng.random(12).tolist())
    assert placebo_p(one) == placebo_p(one.take(rng.permutation(12)))


def test_the_joint_p_is_uniform_where_the_real_prior_is_one_more_permutation() -> None:
    rng = np.random.default_rng(7)
    ps = [
        placebo_p(table(loglik=rng.normal(size=20).tolist(), share_kept=rng.random(20).tolist()))["joint"]
        for _ in range(600)
    ]
    share = np.mean([p is not None and p <= 0.1 for p in ps])
    assert abs(share - 0.1) < 0.04


def test_without_placebos_or_values_there_is_no_p() -> None:
    assert placebo_p(PLACEBO.schema.empty_table())["joint"] is None
    assert placebo_p(table(loglik=[-0.5]))["loglik"] is None
    found = placebo_p(table(auc=[None, 0.4, 0.3]))
    assert found["auc"] is None
    assert found["loglik"] == 1.0


def test_share_kept_looks_at_the_reference_alone() -> None:
    prior = made_prior([[1, 0], [1, 1]])
    assert share_kept(prior, np.array([[0.9, 0.9], [0.2, 0.51]])) == 2 / 3


def test_draw_0_is_the_real_prior_and_all_are_fitted_alike() -> None:
    rng = np.random.default_rng(0)
    q = simulate_q(40, 4, rng)
    truth = simulate_dina(simulate_mastery(120, 4, 0.2, rng), q, rng)
    responses = made_responses(truth.responses.correct)
    cells = hold_out(responses, share=0.1, seed=0)
    fitter = KnownMastery(truth.alpha, q)
    seeds: list[int] = []

    def fit(prior: QPrior, seed: int):  # type: ignore[no-untyped-def]
        seeds.append(seed)
        return fitter(responses.masked(cells.rows, cells.columns), prior, seed, cells)

    prior = made_prior(q)
    run = run_placebo(responses, cells, prior, fit, draws=19, seed=5)
    assert seeds == list(range(5, 25))
    assert (fitter.asked[0].reference == q).all()
    rows = run.table.to_pylist()
    assert [row["draw"] for row in rows] == list(range(20))
    assert rows[0]["share_kept"] == 1.0
    assert max(row["share_kept"] for row in rows[1:]) < 0.8
    assert max(row["loglik"] for row in rows[1:]) < rows[0]["loglik"]
    assert run.predicted.shape == (19, cells.rows.size)
    assert placebo_p(run.table)["joint"] == pytest.approx(0.05)


def test_a_fit_that_has_not_converged_is_said_to() -> None:
    responses = made_responses(np.ones((8, 8)))
    cells = hold_out(responses, share=0.2, seed=0)
    fit = made_fit(np.ones((8, 1)), np.ones((8, 1)), held_out=np.full(cells.rows.size, 0.9))
    run = run_placebo(responses, cells, made_prior(np.ones((8, 1))), lambda prior, seed: fit, draws=1, seed=0)
    rows = run.table.to_pylist()
    assert rows[0]["converged"] is CONVERGED.converged
    # All responses are right: no curve.
    assert rows[0]["auc"] is None
