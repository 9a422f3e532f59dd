"""Simulated studies: what they promise of their truth, and that no name disturbs another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matrix_tables import diagnosed

from magister.contracts.diagnosis_tables import RESPONSE_MATRIX, SIMULATED_MASTERY
from magister.diagnosis.responses import grid_table
from magister.diagnosis.simulated import SimulationOptions, simulate_study
from magister.errors import UserError
from magister.provenance._artifact import conform

TYPES = {f"item-{number}": f"type-{number % 4}" for number in range(80)}


def test_responses_follow_mastery_guess_and_slip() -> None:
    study = simulate_study(
        diagnosed(TYPES), SimulationOptions(models=4000, guess=(0.2, 0.2), slip=(0.1, 0.1))
    )
    able = (~study.truth.alpha).astype(int) @ study.truth.q.T.astype(int) == 0
    right = study.grid.correct == 1
    assert right[able].mean() == pytest.approx(0.9, abs=0.005)
    assert right[~able].mean() == pytest.approx(0.2, abs=0.005)
    assert study.attributes == ("type-0", "type-1", "type-2", "type-3")
    assert study.truth.alpha.mean(axis=0) == pytest.approx(0.5, abs=0.03)


def test_every_item_needs_the_attribute_of_its_type_and_a_share_another_one() -> None:
    types = {f"item-{number}": f"type-{number % 4}" for number in range(1000)}
    study = simulate_study(diagnosed(types), SimulationOptions(models=2, second=0.3))
    needs = dict(zip(study.grid.items, study.truth.q, strict=True))
    assert all(needs[item][study.attributes.index(kind)] for item, kind in types.items())
    counts = study.truth.q.sum(axis=1)
    assert set(counts.tolist()) == {1, 2}
    assert (counts == 2).mean() == pytest.approx(0.3, abs=0.05)
    # Every attribute is a second one about equally often.
    assert study.truth.q.sum(axis=0) == pytest.approx(325, abs=40)
    alone = simulate_study(diagnosed(types), SimulationOptions(models=2, second=0.0))
    assert set(alone.truth.q.sum(axis=1).tolist()) == {1}


def test_mastery_of_attributes_is_correlated_as_asked() -> None:
    def correlation(value: float) -> float:
        options = SimulationOptions(models=4000, correlation=value)
        alpha = simulate_study(diagnosed(TYPES), options).truth.alpha
        return float(np.corrcoef(alpha.T)[np.triu_indices(4, 1)].mean())

    assert correlation(0.0) == pytest.approx(0.0, abs=0.03)
    # Of two halves of normal variables that correlate by r: 2/pi arcsin(r).
    assert correlation(0.5) == pytest.approx(2 / np.pi * np.arcsin(0.5), abs=0.03)


def test_one_ability_leaves_no_mastery_to_find() -> None:
    study = simulate_study(diagnosed(TYPES), SimulationOptions(models=500, truth="2pl"))
    assert study.attributes == ()
    assert study.mastery().num_rows == 0
    scores = study.grid.correct.mean(axis=1)
    halves = [study.grid.correct[:, start::2].mean(axis=1) for start in (0, 1)]
    assert np.corrcoef(*halves)[0, 1] > 0.8
    assert 0.1 < scores.std() < 0.4


def test_tables_are_those_of_the_contracts() -> None:
    study = simulate_study(diagnosed(TYPES), SimulationOptions(models=3))
    assert conform(grid_table(study.grid), RESPONSE_MATRIX).num_rows == 240
    mastery = conform(study.mastery(), SIMULATED_MASTERY).to_pylist()
    assert len(mastery) == 12
    assert mastery[0]["model"] == "simulated-0001"
    assert [row["mastered"] for row in mastery] == study.truth.alpha.ravel().tolist()


@settings(max_examples=20)
@given(
    st.sampled_from(["dina", "2pl"]),
    st.sets(st.sampled_from(sorted(TYPES)), min_size=30),
    st.integers(2, 30),
    st.integers(0, 5),
)
def test_more_items_or_models_change_none_of_the_others(
    truth: str, some: set, models: int, seed: int
) -> None:
    # All types stay: an attribute more may be the second one of an item.
    some |= {f"item-{number}" for number in range(4)}
    whole = simulate_study(diagnosed(TYPES), SimulationOptions(models=30, truth=truth, seed=seed))
    part = simulate_study(
        diagnosed({name: TYPES[name] for name in sorted(some, reverse=True)}),
        SimulationOptions(models=models, truth=truth, seed=seed),
    )
    columns = [whole.grid.items.index(name) for name in part.grid.items]
    assert part.grid.models == whole.grid.models[:models]
    assert np.array_equal(part.grid.correct, whole.grid.correct[:models][:, columns])
    assert np.array_equal(part.truth.alpha, whole.truth.alpha[:models])


def test_another_seed_is_another_study() -> None:
    one, two = (simulate_study(diagnosed(TYPES), SimulationOptions(models=50, seed=seed)) for seed in (0, 1))
    assert (one.grid.correct == two.grid.correct).mean() < 0.7
    assert not np.array_equal(one.truth.alpha, two.truth.alpha)


def test_items_without_types_are_refused_where_types_are_attributes() -> None:
    items = diagnosed({"a": "x", "b": None, "c": None})
    with pytest.raises(UserError, match="2 have none, first 'b'"):
        simulate_study(items)
    assert simulate_study(items, SimulationOptions(truth="2pl")).grid.items == ("a", "b", "c")
    with pytest.raises(UserError, match="needs items"):
        simulate_study(diagnosed({}))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"guess": (0.3, 0.2)}, "simulated.guess"),
        ({"slip": (0.1, 0.6)}, "simulated.slip"),
        ({"models": 1}, "simulated.models"),
        ({"correlation": 1.0}, "simulated.correlation"),
        ({"prevalence": 0.0}, "simulated.prevalence"),
        ({"second": 1.1}, "simulated.second"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict, says: str) -> None:
    with pytest.raises(UserError, match=says):
        SimulationOptions(**options)
