"""Matrices and priors at the door of a fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from magister.diagnosis.matrix import MISSING, ResponseMatrix, response_matrix
from magister.diagnosis.prior import QPrior, point_prior, q_matrix
from magister.errors import UserError

CELLS = st.lists(st.lists(st.sampled_from([0, 1]), min_size=3, max_size=3), min_size=1, max_size=6)


def frame(values, index=None, columns=None) -> pd.DataFrame:
    return pd.DataFrame(values, index=index, columns=columns)


def test_values_are_read_whatever_the_type_of_their_column() -> None:
    found = response_matrix(frame({"x": [1, 0], "y": [True, None], "z": [np.nan, 0.0]}, ["a", "b"]))
    assert found.models == ("a", "b")
    assert found.items == ("x", "y", "z")
    assert found.correct.tolist() == [[1, 1, MISSING], [0, MISSING, 0]]
    assert found.answered.tolist() == [[True, True, False], [True, False, True]]


@pytest.mark.parametrize("bad", [2, 0.5, "1", "x", -1, np.inf])
def test_another_value_is_an_error_that_names_model_and_item(bad: object) -> None:
    with pytest.raises(
        UserError, match=r"model 'b', item 'y': expected 1, 0 or nothing, found .* \(1 such cells\)"
    ):
        response_matrix(frame({"x": [1, 0], "y": [1, bad]}, ["a", "b"]))


def test_an_array_is_numbered_from_1() -> None:
    found = response_matrix(np.array([[1, 0], [0, 1], [1, 1]]))
    assert found.models == ("model 1", "model 2", "model 3")
    assert found.items == ("item 1", "item 2")
    with pytest.raises(UserError, match="1 dimensions"):
        response_matrix(np.array([1, 0]))


def test_names_that_stand_twice_are_refused() -> None:
    with pytest.raises(UserError, match=r"the model 'a' stands twice \(again as model number 2\)"):
        response_matrix(frame([[1], [0]], ["a", "a"], ["x"]))
    with pytest.raises(UserError, match="the item 'x' stands twice"):
        response_matrix(frame([[1, 0]], ["a"], ["x", "x"]))


def test_a_model_or_item_without_a_response_is_refused_by_name() -> None:
    with pytest.raises(UserError, match=r"the model 'b' has no response \(1 such models\)"):
        response_matrix(frame([[1, 0], [None, None]], ["a", "b"], ["x", "y"]))
    with pytest.raises(UserError, match="the item 'y' has no response"):
        response_matrix(frame([[1, None], [0, None]], ["a", "b"], ["x", "y"]))
    with pytest.raises(UserError, match="found none"):
        response_matrix(frame([]))


def test_a_matrix_of_another_shape_is_a_mistake_of_the_code() -> None:
    with pytest.raises(ValueError, match="responses of shape"):
        ResponseMatrix(("a",), ("x", "y"), np.zeros((1, 1), dtype=np.int8))


@given(CELLS, st.data())
def test_masking_hides_the_cells_and_touches_nothing_else(cells: list[list[int]], data) -> None:
    found = response_matrix(np.array(cells))
    row = data.draw(st.integers(0, len(cells) - 1))
    column = data.draw(st.integers(0, 2))
    hidden = found.masked(np.array([row]), np.array([column]))
    changed = hidden.correct != found.correct
    assert np.argwhere(changed).tolist() == [[row, column]]
    assert hidden.correct[row, column] == MISSING
    assert found.answered.all()


@given(CELLS)
def test_a_matrix_is_what_its_frame_says(cells: list[list[int]]) -> None:
    found = response_matrix(frame(cells))
    assert found.correct.tolist() == cells
    assert response_matrix(found) is found


@given(CELLS)
def test_a_q_matrix_leaves_nothing_open_or_names_the_item_without_attributes(cells: list[list[int]]) -> None:
    table = frame(cells, columns=["p", "q", "r"])
    empty = [row for row, line in enumerate(cells) if not any(line)]
    if empty:
        with pytest.raises(UserError, match=f"the item {empty[0]} needs no attribute"):
            q_matrix(table)
        return
    prior = q_matrix(table)
    assert prior.reference.astype(int).tolist() == cells
    assert np.array_equal(prior.probability, prior.reference)
    assert prior.attributes == ("p", "q", "r")


def test_a_q_matrix_with_other_values_or_names_twice_is_refused() -> None:
    with pytest.raises(UserError, match=r"item 'i2', attribute 'q': expected 0 or 1, found 2"):
        q_matrix(frame([[1, 0], [1, 2]], ["i1", "i2"], ["p", "q"]))
    with pytest.raises(UserError, match="the item 'i1' stands twice"):
        q_matrix(frame([[1, 0], [1, 1]], ["i1", "i1"], ["p", "q"]))
    with pytest.raises(UserError, match="the attribute 'p' stands twice"):
        q_matrix(frame([[1, 0]], ["i1"], ["p", "p"]))


@given(CELLS, st.floats(0.5, 0.99))
def test_a_point_prior_says_the_same_of_every_entry_of_a_kind(cells: list[list[int]], kept: float) -> None:
    cells = [line if any(line) else [1, 0, 0] for line in cells]
    prior = point_prior(q_matrix(frame(cells, columns=["p", "q", "r"])), kept=kept)
    assert set(prior.probability[prior.reference].tolist()) == {kept}
    assert set(prior.probability[~prior.reference].tolist()) <= {1 / 3}


def test_the_prior_of_an_entry_that_is_not_there_can_be_given() -> None:
    prior = point_prior(q_matrix(frame([[1, 0]])), added=0.05)
    assert prior.probability.tolist() == [[0.8, 0.05]]


def test_a_prior_of_another_shape_is_a_mistake_of_the_code() -> None:
    with pytest.raises(ValueError, match="a prior of"):
        QPrior(("i",), ("p", "q"), np.ones((1, 1), dtype=bool), np.ones((1, 2)))
