"""CA beside the control arms and with leaks set apart, on small tables worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magister.contracts.schemas import TRAJECTORIES
from magister.teaching.metrics import teaching_metrics

ITEMS = ("i1", "i2", "i3", "i4")
Rows = list[dict[str, Any]]


def unit(
    marks: list[str], arm: str = "taught", teacher: str = "t", leaks: dict[str, list[str]] | None = None
) -> Rows:
    """Rows of one student: a string per item, 1 right and 0 wrong by round; `leaks` by item from round 1 on."""
    rows = []
    for item, right in zip(ITEMS, marks, strict=False):
        for number, mark in enumerate(right):
            leak = (leaks or {}).get(item, [])
            rows.append(
                {
                    "league": "main", "arm": arm, "teacher": teacher, "student": "s", "item_id": item, "round": number,
                    "dataset": "d", "domain": "k", "cluster_id": item, "n_options": 4, "band": 1, "status": "ok",
                    "verdict": "none", "guide_status": "ok",
                    "leak": leak[number - 1] if 0 < number <= len(leak) else "none",
                    "answer": None, "correct": mark == "1", "request_id": None, "guide_request_id": None,
                }
            )  # fmt: skip
    return rows


def measured(*units: Rows, resamples: int = 100) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Overall rows in the last round by (arm, teacher, metric)."""
    table = pa.Table.from_pylist([row for rows in units for row in rows], schema=TRAJECTORIES.schema)
    found = teaching_metrics(table, None, policy="wrong", resamples=resamples, level=0.95, seed=1)
    rows = sorted(found.to_pylist(), key=lambda row: row["round"])
    return {
        (row["arm"], row["teacher"], row["metric"]): row for row in rows if row["slice_kind"] == "overall"
    }


def test_net_ca_is_what_a_teacher_adds_to_neutral_words() -> None:
    found = measured(unit(["01", "01", "01", "10"]), unit(["01", "00", "00", "11"], "sham", "sham"))
    assert found["taught", "t", "CA"]["value"] == 0.5
    assert found["taught", "t", "net_CA"]["value"] == 0.25
    assert ("sham", "sham", "net_CA") not in found


def test_headroom_is_the_share_of_what_telling_the_answer_gains() -> None:
    found = measured(
        unit(["01", "01", "00", "11"]),
        unit(["01", "00", "00", "11"], "sham", "sham"),
        unit(["01", "01", "01", "11"], "oracle_tell", "oracle_tell"),
    )
    assert found["taught", "t", "headroom"]["value"] == pytest.approx(0.5)
    assert found["oracle_tell", "oracle_tell", "net_CA"]["value"] == pytest.approx(0.5)
    assert ("oracle_tell", "oracle_tell", "headroom") not in found


def test_students_whom_the_oracle_does_not_move_leave_no_headroom() -> None:
    same = ["01", "00", "00", "11"]
    found = measured(unit(same), unit(same, "sham", "sham"), unit(same, "oracle_tell", "oracle_tell"))
    row = found["taught", "t", "headroom"]
    assert (row["value"], row["status"]) == (None, "not_computable")
    assert "lifts nobody" in row["reason"]


def test_gains_that_differ_by_rounding_alone_leave_no_headroom() -> None:
    # 1/3 + 1 + 1 is less than 1 + 1 + 1/3 in floating point.
    third, all_three = ["01", "00", "00"], ["01", "01", "01"]
    by_arm = {"taught": (third, third, third), "sham": (third, all_three, all_three)}
    by_arm["oracle_tell"] = (all_three, all_three, third)
    units = [
        [row | {"student": f"s{n}"} for row in unit(marks, arm, "t" if arm == "taught" else arm)]
        for arm, students in by_arm.items()
        for n, marks in enumerate(students)
    ]
    row = measured(*units, resamples=0)["taught", "t", "headroom"]
    assert (row["value"], row["status"]) == (None, "not_computable")


def test_a_verdict_alone_is_set_against_the_same_teacher() -> None:
    found = measured(
        unit(["01", "01", "01", "11"]),
        unit(["00", "00", "00", "11"], teacher="u"),
        unit(["01", "00", "00", "11"], "verdict_only"),
    )
    assert found["taught", "t", "net_verdict"]["value"] == 0.5
    assert ("taught", "u", "net_verdict") not in found
    assert ("verdict_only", "t", "JA") not in found


def test_without_control_arms_nothing_is_said_of_them() -> None:
    found = measured(unit(["01", "01"]))
    assert not {metric for _, _, metric in found} & {"net_CA", "headroom", "net_verdict"}


def test_paired_arms_that_agree_everywhere_have_a_difference_that_does_not_vary() -> None:
    same = ["01", "00", "01", "11"]
    row = measured(unit(same), unit(same, "sham", "sham"))["taught", "t", "net_CA"]
    assert row["value"] == 0
    assert (row["status"], row["ci_low"]) == ("no_interval", None)


def test_masking_keeps_the_answer_from_before_the_first_leak() -> None:
    found = measured(
        unit(
            ["011", "001", "011", "000"],
            leaks={"i1": ["gold", "none"], "i2": ["none", "gold"], "i3": ["none", "option"]},
        )
    )
    # i1 falls back to round 0, i2 and i3 to round 1: of three items gained, one is left.
    assert found["taught", "t", "CA"]["value"] == 0.75
    assert found["taught", "t", "CA_masked"]["value"] == 0.25


def test_a_teller_gains_nothing_once_its_leaks_are_masked() -> None:
    everywhere = {item: ["gold", "gold"] for item in ITEMS}
    found = measured(unit(["011", "001", "011", "111"], leaks=everywhere))
    assert found["taught", "t", "CA"]["value"] == 0.75
    assert found["taught", "t", "CA_masked"]["value"] == 0


def test_gains_are_split_by_the_worst_leak_of_a_cell() -> None:
    found = measured(
        unit(["01", "01", "00", "10"], leaks={"i1": ["gold"], "i2": ["option"], "i3": ["option"]})
    )
    values = {name: found["taught", "t", f"CA_leak_{name}"] for name in ("none", "option", "gold")}
    assert {name: row["value"] for name, row in values.items()} == {"none": -1.0, "option": 0.5, "gold": 1.0}
    assert {name: row["n_cells"] for name, row in values.items()} == {"none": 1, "option": 2, "gold": 1}
    assert values["gold"]["n_dropped"] == 3


def test_a_kind_of_leak_that_did_not_happen_is_unknown_and_not_zero() -> None:
    row = measured(unit(["01", "00"]))["taught", "t", "CA_leak_gold"]
    assert (row["value"], row["status"], row["n_cells"]) == (None, "not_computable", 0)
    assert "no cell of this kind" in row["reason"]


marks = st.lists(st.text("01", min_size=3, max_size=3), min_size=4, max_size=4)
kinds = st.lists(
    st.lists(st.sampled_from(["none", "option", "gold"]), min_size=2, max_size=2), min_size=4, max_size=4
)


@settings(max_examples=60, deadline=None)
@given(marks, kinds, marks)
def test_leaks_part_the_gain_and_net_ca_adds_up(taught: list[str], leaks: Any, sham: list[str]) -> None:
    by_item = dict(zip(ITEMS, leaks, strict=True))
    found = measured(unit(taught, leaks=by_item), unit(sham, "sham", "sham"), resamples=0)
    gain = found["taught", "t", "CA"]["value"]
    assert found["taught", "t", "net_CA"]["value"] == gain - found["sham", "sham", "CA"]["value"]
    parts = [found["taught", "t", f"CA_leak_{name}"] for name in ("none", "option", "gold")]
    assert sum(part["n_cells"] for part in parts) == 4
    assert np.isclose(sum((part["value"] or 0) * part["n_cells"] for part in parts) / 4, gain)
    masked = found["taught", "t", "CA_masked"]["value"]
    if all(leak == ["none", "none"] for leak in leaks):
        assert masked == gain
