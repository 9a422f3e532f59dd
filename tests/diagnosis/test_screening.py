"""What screening flags, what it takes out, and that no order matters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matrix_tables import grid

from magister.contracts.diagnosis_tables import SCREENING
from magister.diagnosis.matrix import ResponseMatrix, response_matrix
from magister.diagnosis.responses import Grid, known_matrix, matrix_grid
from magister.diagnosis.screening import ScreeningOptions, apply_screening, describe, duplicates, screen
from magister.errors import UserError
from magister.provenance._artifact import conform

LINES = st.lists(st.text("10u.", min_size=4, max_size=4), min_size=1, max_size=6)


def flags(found, kind: str) -> dict[str, tuple[list[str], bool]]:
    rows = conform(found, SCREENING).to_pylist()
    return {row["name"]: (row["flags"], row["kept"]) for row in rows if row["kind"] == kind}


def random_matrix(models: int, items: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random((models, items)) < 0.5).astype(np.int8)


def named(correct: np.ndarray) -> ResponseMatrix:
    return ResponseMatrix(
        tuple(f"m{at:03d}" for at in range(len(correct))),
        tuple(f"i{at:03d}" for at in range(correct.shape[1])),
        correct.astype(np.int8),
    )


def test_every_model_and_item_has_its_counts() -> None:
    found = screen(grid({"a": "10u.", "b": "1e11"}), ScreeningOptions(min_models=1))
    rows = {(row["kind"], row["name"]): row for row in conform(found, SCREENING).to_pylist()}
    assert len(rows) == 6
    a = rows["model", "a"]
    assert [a[name] for name in ("n", "n_correct", "n_unparsed", "n_missing")] == [3, 1, 1, 1]
    assert a["share"] == pytest.approx(1 / 3)
    assert rows["item", "i002"]["n_missing"] == 1
    assert rows["item", "i001"]["share"] == 1.0


def test_what_nobody_answered_has_no_share_and_never_stays() -> None:
    found = screen(grid({"a": "1.", "b": "0."}), ScreeningOptions(min_models=0, min_items=0, drop=()))
    row = next(row for row in found.to_pylist() if row["name"] == "i002")
    assert (row["share"], row["flags"], row["kept"]) == (None, ["few_responses"], False)


def test_a_model_near_zero_because_of_its_format_is_told_from_a_weak_one() -> None:
    lines = {
        "format": "u" * 19 + "1",
        "weak": "0" * 19 + "1",
        "half": "u" * 10 + "1" * 10,
        "good": "1" * 19 + "0",
    }
    for unparsed in ("wrong", "missing"):
        found = flags(screen(grid(lines, unparsed=unparsed), ScreeningOptions(min_models=1)), "model")
        assert {name for name, (marks, _) in found.items() if "format_failed" in marks} == {"format"}
        assert not found["format"][1]
        assert found["weak"][1]


def test_all_right_and_all_wrong_are_flagged_and_stay() -> None:
    found = screen(grid({"a": "110", "b": "100", "c": "101"}))
    assert flags(found, "item") == {"i001": (["all_right"], True), "i002": ([], True), "i003": ([], True)}
    wrong = screen(grid({"a": "00", "b": "10"}))
    assert flags(wrong, "model")["a"] == (["all_wrong"], True)
    assert flags(wrong, "item")["i002"] == (["all_wrong"], True)
    gone = screen(grid({"a": "110", "b": "100", "c": "101"}), ScreeningOptions(drop=("all_right",)))
    assert flags(gone, "item")["i001"] == (["all_right"], False)


def test_few_responses_are_counted_among_what_stays() -> None:
    # The item i3 has two responses, one of them of a model that goes.
    found = screen(grid({"a": "110", "b": "01.", "c": "..1"}), ScreeningOptions(min_models=2, min_items=2))
    assert flags(found, "model") == {
        "a": ([], True),
        "b": ([], True),
        "c": (["few_responses", "all_right"], False),
    }
    assert flags(found, "item")["i003"] == (["few_responses"], False)
    assert flags(found, "item")["i001"] == ([], True)


def test_later_twins_by_name_are_flagged_whatever_their_place() -> None:
    one = "1001" * 30
    lines = {"z": one, "b": one, "c": "0" + one[1:], "a": "01" * 60, "m": one}
    found = screen(grid(lines), ScreeningOptions(min_models=1))
    rows = {row["name"]: row for row in found.to_pylist() if row["kind"] == "model"}
    assert {name: row["duplicate_of"] for name, row in rows.items()} == {
        "a": None,
        "b": None,
        "c": None,
        "m": "b",
        "z": "b",
    }
    assert describe(found)[0] == "2 models duplicate (2 left out): m (of b), z (of b)"


def test_models_that_are_all_right_are_alike_without_being_duplicates() -> None:
    found = screen(grid({"a": "1" * 200, "b": "1" * 200, "c": "0" * 200, "d": "0" * 200}))
    assert all("duplicate" not in marks for marks, _ in flags(found, "model").values())


def test_too_few_common_items_say_nothing_of_twins() -> None:
    lines = {"a": "10" * 49 + "1", "b": "10" * 49 + "1"}
    assert all("duplicate" not in marks for marks, _ in flags(screen(grid(lines)), "model").values())
    found = screen(grid(lines), ScreeningOptions(duplicate_items=99))
    assert "duplicate" in flags(found, "model")["b"][0]


def test_near_twins_are_found_by_their_share_of_equal_responses() -> None:
    correct = random_matrix(40, 300)
    correct[30] = correct[4]
    correct[30, :6] ^= 1
    correct[31] = correct[4]
    correct[31, 10] = -1
    assert duplicates(correct, 100).tolist() == [-1] * 40
    assert np.flatnonzero(duplicates(correct, 100, 0.98) >= 0).tolist() == [30, 31]
    assert duplicates(correct, 100, 0.98)[[30, 31]].tolist() == [4, 4]
    assert np.flatnonzero(duplicates(correct, 100, 0.99) >= 0).tolist() == [31]
    assert (duplicates(correct, 300, 0.98) >= 0).sum() == 1


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.7, 0.9, 1.0]), st.integers(1, 40))
def test_packed_duplicates_are_those_of_a_plain_count(seed: int, agreement: float, fewest: int) -> None:
    rng = np.random.default_rng(seed)
    correct = rng.integers(-1, 2, (9, 40)).astype(np.int8)
    for row in range(4, 9):
        correct[row] = correct[rng.integers(0, row)]
        changed = rng.random(40) < rng.choice([0.0, 0.1])
        correct[row, changed] = rng.integers(-1, 2, int(changed.sum()))
    expected: list[int] = []
    for row in range(9):
        known = correct[row] >= 0
        twin = -1
        able = known.sum() >= max(fewest, 1) and 0 < correct[row][known].sum() < known.sum()
        for earlier in range(row if able else 0):
            before = correct[earlier] >= 0
            if expected[earlier] >= 0 or not 0 < correct[earlier][before].sum() < before.sum():
                continue
            common = known & before
            equal = (correct[row] == correct[earlier]) & common
            alike = (
                np.array_equal(correct[row], correct[earlier])
                if agreement == 1
                else common.sum() >= fewest
                and before.sum() >= fewest
                and equal.sum() >= agreement * common.sum()
            )
            if alike:
                twin = earlier
                break
        expected.append(twin)
    assert duplicates(correct, fewest, agreement).tolist() == expected


@given(LINES, st.randoms())
def test_the_order_of_models_and_items_changes_nothing(lines: list[str], random) -> None:
    found = grid({f"m{at}": line for at, line in enumerate(lines)})
    options = ScreeningOptions(duplicate_items=2)
    rows, columns = list(range(len(lines))), list(range(4))
    random.shuffle(rows)
    random.shuffle(columns)
    here = np.ix_(rows, columns)
    other = Grid(
        tuple(found.models[at] for at in rows),
        tuple(found.items[at] for at in columns),
        found.correct[here],
        found.status[here],
    )
    assert conform(screen(other, options), SCREENING).equals(conform(screen(found, options), SCREENING))


@given(LINES, st.integers(0, 3), st.integers(0, 3))
def test_what_stays_has_enough_responses_and_can_be_fitted(lines: list[str], models: int, items: int) -> None:
    found = grid({f"m{at}": line for at, line in enumerate(lines)})
    if (found.correct < 0).all():
        return
    table = screen(found, ScreeningOptions(min_models=models, min_items=items, duplicate_items=3))
    matrix = known_matrix(found).matrix
    if not any(row["kept"] for row in table.to_pylist()):
        with pytest.raises(UserError, match="screening leaves nothing"):
            apply_screening(matrix, table)
        return
    left = response_matrix(apply_screening(matrix, table))
    assert set(left.models) == {
        row["name"] for row in table.to_pylist() if row["kept"] and row["kind"] == "model"
    }
    assert set(left.items) == {
        row["name"] for row in table.to_pylist() if row["kept"] and row["kind"] == "item"
    }
    assert left.answered.sum(axis=0).min() >= models
    assert left.answered.sum(axis=1).min() >= items


def test_results_with_and_without_what_was_screened_out_come_from_one_table() -> None:
    correct = random_matrix(6, 120)
    correct[5] = correct[0]
    matrix = named(correct)
    table = screen(matrix_grid(matrix))
    assert apply_screening(matrix, table).models == matrix.models[:5]
    everything = screen(matrix_grid(matrix), ScreeningOptions(drop=()))
    assert apply_screening(matrix, everything).models == matrix.models
    assert flags(everything, "model")["m005"] == (["duplicate"], True)


def test_responses_that_were_not_screened_are_refused() -> None:
    table = screen(grid({"a": "10", "b": "01"}))
    with pytest.raises(UserError, match="the model 'c' was not screened"):
        apply_screening(known_matrix(grid({"a": "10", "c": "01"})).matrix, table)


def test_screening_that_leaves_nothing_says_what_it_took() -> None:
    found = grid({"a": "10", "b": "01"})
    table = screen(found, ScreeningOptions(min_models=3))
    with pytest.raises(UserError, match=r"2 items few_responses \(2 left out\): i001, i002"):
        apply_screening(known_matrix(found).matrix, table)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"drop": ("slow",)}, "'slow' is no flag"),
        ({"format_share": 1.5}, "screening.format_share: expected a share"),
        ({"duplicate_agreement": 0.4}, "0.4 is no agreement"),
    ],
)
def test_limits_that_make_no_sense_are_refused(options: dict, says: str) -> None:
    with pytest.raises(UserError, match=says):
        ScreeningOptions(**options)
