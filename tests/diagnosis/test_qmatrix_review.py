"""What reviewers decide: read strictly, valid for the items they looked at, and carried into the Q-matrix."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from qmatrix_cases import clouds, clusters_of, hand_runs, ids, items_table, partition

from magister.diagnosis.clusters import Partition
from magister.diagnosis.coassociation import graded_prior
from magister.diagnosis.labels import term_labels
from magister.diagnosis.projection import unit_vectors
from magister.diagnosis.review import (
    Decision,
    Review,
    apply_review,
    fingerprint,
    read_review,
    review_csv,
    review_sheet,
)
from magister.errors import CheckFailed, UserError
from magister.items import read_rows

PARTS = partition(0, 0, 0, 0, 1, 1, 1, 2, 2)
CLUSTERS = clusters_of(PARTS)
ITEMS = items_table({name: (f"text of {name}, line\none", None) for name in PARTS.items})
LABELS = term_labels({"a01": ["sum", "plus"], "a02": ["=1+1"], "a03": []})


def sheet(decisions: dict[str, Decision] | None = None, parts: Partition = PARTS):  # type: ignore[no-untyped-def]
    return review_sheet(clusters_of(parts), ITEMS, LABELS, decisions, central=2, boundary=1)


def read(rows: list[dict[str, Any]], parts: Partition = PARTS) -> dict[str, Decision]:
    review = Review("r.csv", [(at, row) for at, row in enumerate(rows, start=2)])
    return read_review(review, sheet(parts=parts), clusters_of(parts))


def filled(**decided: dict[str, str]) -> list[dict[str, Any]]:
    """Rows of the sheet, some filled in."""
    return [row | decided.get(row["attribute"], {}) for row in sheet().to_pylist()]


def refused(message: str, **decided: dict[str, str]) -> None:
    with pytest.raises(CheckFailed, match=message):
        read(filled(**decided))


ANN = {"reviewer": "Ann"}


def test_a_sheet_shows_terms_central_and_boundary_items() -> None:
    first, second, third = sheet().to_pylist()
    assert first["attribute"] == "a01"
    assert first["central_items"] == "i0000: text of i0000, line one\ni0001: text of i0001, line one"
    assert first["boundary_items"].startswith("i0003: ")
    assert (first["n_items"], first["members"]) == ("4", fingerprint(PARTS.items[:4]))
    assert (second["label"], third["label"]) == ("=1+1", "a03")
    assert third["reason"] == "the label is made of the terms: its texts have no terms"
    assert {first[name] for name in ("decision", "new_label", "reviewer", "note")} == {""}


def test_decisions_are_read() -> None:
    found = read(
        filled(
            a01={"decision": "Accept", "reviewer": " Ann "},
            a02={"decision": "rename", "new_label": "adding", "note": "clear", **ANN},
            a03={"decision": "merge  into a01", **ANN},
        )
    )
    assert [(name, one.action, one.label, one.target) for name, one in found.items()] == [
        ("a01", "accept", "", ""),
        ("a02", "rename", "adding", ""),
        ("a03", "merge", "", "a01"),
    ]
    assert found["a01"].reviewer == "Ann"


def test_undecided_rows_and_missing_rows_stay_undecided() -> None:
    assert read(filled()) == {}
    assert read(filled()[:1]) == {}
    assert read([]) == {}
    assert read(filled(a01=ANN)) == {}


risky = st.text(alphabet="=+-@'ab \n\t\"", min_size=1, max_size=12)


@given(label=risky.filter(lambda text: "\n" not in text.strip() and text.strip()), note=risky)
def test_a_sheet_comes_back_as_it_was_and_runs_nothing(label: str, note: str, tmp_path_factory: Any) -> None:
    decided = {"a02": Decision("a02", "rename", "=Ann", label.strip(), "", note.strip(), 3)}
    text = review_csv(sheet(decided))
    cells = [cell for row in csv.reader(io.StringIO(text.removeprefix("\ufeff"))) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    path: Path = tmp_path_factory.mktemp("sheet") / "review.csv"
    # As a spreadsheet saves it.
    path.write_bytes(text.replace("\n", "\r\n").encode())
    rows, broken = read_rows(path)
    assert not broken
    review = Review(str(path), rows)
    marks = label.strip().startswith("'") or note.strip().startswith("'")
    found = read_review(review, sheet(), CLUSTERS)["a02"]
    assert found.reviewer == "=Ann"
    if not marks:
        assert (found.label, found.note) == (label.strip(), note.strip())


def test_a_sheet_with_decisions_shows_them_again() -> None:
    decided = read(filled(a03={"decision": "merge into a01", "note": "same", **ANN}))
    assert sheet(decided).to_pylist()[2]["decision"] == "merge into a01"
    assert {name: one.action for name, one in read(sheet(decided).to_pylist()).items()} == {"a03": "merge"}


def test_unknown_attributes_and_decisions_are_refused_with_file_and_line() -> None:
    refused(r"r\.csv, line 3: decision 'yes' of a02 is unknown", a02={"decision": "yes", **ANN})
    refused("line 2: attribute 'a09' is unknown", a01={"attribute": "a09"})
    refused("become part of 'a07', which is unknown", a01={"decision": "merge into a07", **ANN})


def test_a_decision_needs_a_reviewer() -> None:
    refused("line 2: a01 is decided by nobody", a01={"decision": "accept"})


def test_two_rows_for_one_attribute_are_refused() -> None:
    with pytest.raises(CheckFailed, match="line 5: a01 stands in line 2 already"):
        read([*filled(), filled()[0]])


@pytest.mark.parametrize("column", ["n_items", "terms", "central_items", "boundary_items", "label", "reason"])
def test_a_cell_that_is_there_to_be_read_must_not_change(column: str) -> None:
    refused(f"line 2: a01: column '{column}' is there to be read", a01={column: "other"})


def test_a_new_label_belongs_to_rename_and_rename_to_a_new_label() -> None:
    refused("a01 has a new label and no decision", a01={"new_label": "x"})
    refused("`rename`, and nothing else, has one", a01={"decision": "accept", "new_label": "x", **ANN})
    refused("`rename`, and nothing else, has one", a01={"decision": "rename", **ANN})
    refused("at most 60", a01={"decision": "rename", "new_label": "x" * 61, **ANN})


def test_merges_lead_somewhere() -> None:
    refused("in a circle: a01 into a01", a01={"decision": "merge into a01", **ANN})
    refused(
        "in a circle: a01 into a02 into a01",
        a01={"decision": "merge into a02", **ANN},
        a02={"decision": "merge into a01", **ANN},
    )
    refused(
        "a01 becomes part of a02, which line 3 rejects",
        a01={"decision": "merge into a02", **ANN},
        a02={"decision": "reject", **ANN},
    )
    refused(
        "every attribute is rejected", **{name: {"decision": "reject", **ANN} for name in PARTS.attributes}
    )


def test_two_attributes_of_one_label_are_refused() -> None:
    refused(
        "a02 has the label of a01, 'adding'; rename one, or write `merge into a01`",
        a01={"decision": "rename", "new_label": "adding", **ANN},
        a02={"decision": "rename", "new_label": "Adding", **ANN},
    )


def test_a_review_of_other_items_is_refused_and_says_what_changed() -> None:
    old = filled(a01={"decision": "accept", **ANN})
    moved = partition(0, 1, 0, 0, 1, 1, 1, 2, 2)  # i0001 has moved, and the sizes with it
    with pytest.raises(CheckFailed) as caught:
        read(old, moved)
    assert "a01 has other items than when it was reviewed: 4 then, 4 now" in str(caught.value)
    assert "of the 3 items shown then: 1 in a01, 2 in a02" in str(caught.value)
    swapped = Partition(PARTS.items, PARTS.attributes, np.array([1, 0, 2])[PARTS.labels])
    with pytest.raises(CheckFailed, match="those items are a02 now: move the decision there"):
        read(old, swapped)


def test_all_errors_are_told_at_once_up_to_ten() -> None:
    rows = [filled()[0] | {"attribute": f"b{number}"} for number in range(12)]
    with pytest.raises(CheckFailed, match=r"(?s)12 row\(s\).*and 2 more"):
        read(rows)


def test_a_file_without_a_column_or_with_unreadable_rows_is_refused() -> None:
    with pytest.raises(UserError, match="no column members"):
        read([{name: cell for name, cell in row.items() if name != "members"} for row in filled()])
    review = Review("r.csv", [], [(4, "expected 12 cells, found 3", "x")])
    with pytest.raises(CheckFailed, match=r"r\.csv, line 4: expected 12 cells, found 3"):
        read_review(review, sheet(), CLUSTERS)


def test_other_labels_than_clusters_are_refused() -> None:
    with pytest.raises(UserError, match="not of the same attributes"):
        review_sheet(CLUSTERS, ITEMS, LABELS.slice(0, 2))


RUNS = hand_runs([0, 0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1, 1, 2, 2], k=3)
UNIT = unit_vectors(np.array([[1, 0, 0]] * 4 + [[0, 1, 0]] * 3 + [[0.1, 0.9, 1], [0.9, 0.1, 1]]), ids(9))


def decided(**actions: str) -> dict[str, Decision]:
    return {
        name: Decision(name, action.split()[0], "Ann", target=action.split()[-1] if " " in action else "")
        for name, action in actions.items()
    }


def test_without_decisions_nothing_changes() -> None:
    found = apply_review(RUNS, 3, PARTS, {}, UNIT)
    assert found.partition.attributes == PARTS.attributes
    assert (found.partition.labels == PARTS.labels).all()


def test_merged_attributes_are_one_and_their_shares_are_counted_together() -> None:
    found = apply_review(RUNS, 3, PARTS, decided(a02="merge into a01"), UNIT)
    assert found.partition.attributes == ("a01", "a03")
    assert found.partition.labels.tolist() == [0] * 7 + [1] * 2
    # The item between the two is now certain.
    prior = graded_prior(found)
    assert prior.probability[3].tolist() == [pytest.approx(0.95), pytest.approx(0.5)]
    chained = apply_review(RUNS, 3, PARTS, decided(a02="merge into a01", a03="merge into a02"), UNIT)
    assert chained.partition.attributes == ("a01",)


def test_items_of_a_rejected_attribute_go_where_runs_put_them_and_else_to_the_nearest() -> None:
    found = apply_review(RUNS, 3, PARTS, decided(a03="reject"), UNIT)
    assert found.partition.attributes == ("a01", "a02")
    assert found.partition.labels[7:].tolist() == [1, 0]
    assert graded_prior(found, r0=0.1).probability[7].tolist() == pytest.approx([0.525, 0.525])
    by_runs = apply_review(RUNS, 3, PARTS, decided(a01="reject"), UNIT)
    assert by_runs.partition.attributes == ("a02", "a03")
    assert by_runs.partition.labels[3] == 0


@given(seed=st.integers(0, 2**31))
def test_every_item_keeps_an_attribute_whatever_is_decided(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors, _ = clouds(3, 3, 0.5, seed=seed % 1000)
    actions = {name: ("accept", "reject", "merge into a02")[rng.integers(3)] for name in ("a01", "a03")}
    found = apply_review(RUNS, 3, PARTS, decided(**actions), unit_vectors(vectors, ids(9)))
    assert found.together.shape == (9, len(found.partition.attributes))
    assert set(found.partition.labels.tolist()) <= set(range(len(found.partition.attributes)))
    assert found.shares.sum(axis=1) == pytest.approx(1.0)
