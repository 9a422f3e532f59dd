"""Teaching metrics on small tables worked out by hand."""

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from magister.contracts.schemas import METRICS_TABLE, TRAJECTORIES
from magister.errors import UserError
from magister.stats import wilson
from magister.teaching import metrics as module
from magister.teaching._cube import FACTS, FLAGS
from magister.teaching.metrics import check_identities, teaching_metrics

ZERO_SHOT = ["league", "teacher", "item_id", *FACTS, "status", "correct"]


def cell(right: str, verdict: str = "wrong", *, item: str = "i1", **changes: Any) -> list[dict[str, Any]]:
    """Rows of a student and item; a round is 1 right, 0 wrong, x error, - no_answer, c context_exceeded."""
    statuses = {"x": "error", "-": "no_answer", "c": "context_exceeded"}
    base = {
        "league": "main", "arm": "taught", "teacher": "t", "student": "s", "item_id": item, "dataset": "d",
        "domain": "k", "cluster_id": item, "n_options": 4, "band": 1, "guide_status": "ok", "leak": "none",
        "answer": None, "request_id": None, "guide_request_id": None,
    }  # fmt: skip
    rows = []
    for t, mark in enumerate(right):
        row = base | changes
        row |= {"round": t, "status": statuses.get(mark, "ok"), "verdict": verdict if t == 1 else "none"}
        row["correct"] = None if mark == "x" else mark == "1"
        rows.append(row)
    return rows


def table(*cells: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist([row for rows in cells for row in rows], schema=TRAJECTORIES.schema)


def zero_shot(*cells: list[dict[str, Any]]) -> pa.Table:
    return table(*cells).select(ZERO_SHOT)


def measure(trajectories: pa.Table, own: pa.Table | None = None, **changes: Any) -> pa.Table:
    settings: dict[str, Any] = {"policy": "wrong", "resamples": 200, "level": 0.95, "seed": 1}
    return teaching_metrics(trajectories, own, **(settings | changes))


def row_of(metrics: pa.Table, metric: str, t: int | None = None, **where: Any) -> dict[str, Any]:
    """The row of a metric at its last round, of teacher t, overall unless told otherwise."""
    wanted = {"metric": metric, "teacher": "t", "slice_kind": "overall"} | where
    if t is not None:
        wanted["round"] = t
    found = [row for row in metrics.to_pylist() if all(row[name] == value for name, value in wanted.items())]
    assert found, f"no row for {wanted}"
    return max(found, key=lambda row: row["round"])


EXAMPLE = table(
    cell("0111", "wrong", item="i1", student="a"),
    cell("0010", "correct", item="i2", student="a"),
    cell("1101", "correct", item="i3", student="a"),
    cell("1001", "wrong", item="i4", student="a"),
    cell("0000", "none", item="i1", student="b"),
    cell("0111", "wrong", item="i2", student="b"),
    cell("1111", "correct", item="i3", student="b"),
    cell("0011", "wrong", item="i4", student="b"),
)


@pytest.mark.parametrize(
    ("metric", "t", "value"),
    [
        ("p", 0, (2 / 4 + 1 / 4) / 2),
        ("p", 1, (2 / 4 + 2 / 4) / 2),
        ("p", 2, (2 / 4 + 3 / 4) / 2),
        ("p", 3, (3 / 4 + 3 / 4) / 2),
        ("CA", 1, (0 + 1 / 4) / 2),
        ("CA", 2, (0 + 2 / 4) / 2),
        ("CA", 3, (1 / 4 + 2 / 4) / 2),
        ("JA", 1, 5 / 8),
        ("JA_none", 1, 1 / 8),
        ("JA_balanced", 1, (2 / 3 + 3 / 5) / 2),
        ("JA_always_wrong", 1, 5 / 8),
        ("JA_mcc", 1, (2 * 3 - 1 * 2) / np.sqrt(3 * 5 * 4 * 4)),
        ("GA", 1, 2 / 5),
        ("regression", 1, 1 / 3),
        # a: C = 2, 2, 3; b: C = 2, 3, 3.
        ("RA", 3, ((2 / 2 * 3 / 2 - 1) + (3 / 2 * 3 / 3 - 1)) / 2),
        ("normalised_gain", 3, (3 / 4 - 3 / 8) / (1 - 3 / 8)),
    ],
)
def test_metrics_by_hand(metric: str, t: int, value: float) -> None:
    row = row_of(measure(EXAMPLE), metric, t)
    assert row["value"] == pytest.approx(value, abs=1e-15)
    assert (row["n_items"], row["n_students"], row["n_clusters"]) == (4, 2, 4)
    assert (row["n_cells"], row["n_dropped"]) == (8, 0)
    if metric in ("regression", "JA_balanced", "JA_mcc"):
        # With two clusters right at round 0 many resamples have none.
        assert row["status"] == "no_interval"
        assert "undefined on" in row["reason"]
    else:
        assert row["status"] == "ok"
        assert row["ci_low"] <= row["value"] <= row["ci_high"]
        assert row["se"] > 0


def test_table_keeps_its_contract_and_order() -> None:
    metrics = measure(EXAMPLE)
    assert metrics.schema.equals(METRICS_TABLE.schema)
    keys = [tuple(row[name] for name in METRICS_TABLE.key) for row in metrics.to_pylist()]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)
    for field in METRICS_TABLE.schema:
        assert field.nullable or metrics[field.name].null_count == 0
    for row in metrics.to_pylist():
        assert (row["value"] is None) == (row["status"] == "not_computable")
        assert row["status"] == "ok" or row["reason"]


def test_errors_drop_the_whole_cell_under_either_policy() -> None:
    trajectories = table(
        cell("0111", item="i1"), cell("01x1", item="i2"), cell("0111", item="i3", guide_status="error"),
        cell("0011", item="i4"),
    )  # fmt: skip
    for policy in ("wrong", "drop"):
        row = row_of(measure(trajectories, policy=policy), "GA")
        assert row["value"] == 1 / 2
        assert (row["n_cells"], row["n_dropped"], row["n_items"], row["n_clusters"]) == (2, 2, 2, 2)
    row = row_of(measure(trajectories), "RA")
    assert (row["n_error"], row["n_ok"]) == (1, 11)


@pytest.mark.parametrize(("policy", "value", "used"), [("wrong", 2 / 4, 4), ("drop", 1.0, 1)])
def test_policy_decides_on_replies_without_an_answer(policy: str, value: float, used: int) -> None:
    trajectories = table(
        cell("-1", item="i1"), cell("01", item="i2"), cell("1c", item="i3"), cell("-1", item="i4"),
    )  # fmt: skip
    row = row_of(measure(trajectories, policy=policy), "CA")
    assert (row["value"], row["n_cells"], row["n_dropped"]) == (value, used, 4 - used)
    assert (row["n_no_answer"], row["n_context_exceeded"], row["n_ok"]) == (2, 1, 5)


def test_missing_verdict_is_a_non_match_or_no_part_of_ja() -> None:
    trajectories = table(
        cell("01", "wrong", item="i1"), cell("01", "none", item="i2"), cell("11", "none", item="i3"),
        cell("10", "wrong", item="i4"),
    )  # fmt: skip
    wrong = measure(trajectories)
    assert row_of(wrong, "JA")["value"] == 1 / 4
    assert row_of(wrong, "JA_always_wrong")["value"] == 1 / 2
    dropped = measure(trajectories, policy="drop")
    row = row_of(dropped, "JA")
    assert (row["value"], row["n_cells"], row["n_dropped"]) == (1 / 2, 2, 2)
    for metrics in (wrong, dropped):
        row = row_of(metrics, "JA_none")
        assert (row["value"], row["n_cells"]) == (1 / 2, 4)


def test_perfect_judge_has_mcc_of_one() -> None:
    trajectories = table(
        cell("01", "wrong", item="i1"), cell("11", "correct", item="i2"), cell("00", "wrong", item="i3")
    )
    assert row_of(measure(trajectories), "JA_mcc")["value"] == 1.0
    assert row_of(measure(trajectories), "JA_balanced")["value"] == 1.0


def test_control_arms_have_no_judging() -> None:
    metrics = measure(table(cell("01"), cell("01", arm="sham", teacher="sham")))
    names = {row["metric"] for row in metrics.to_pylist() if row["arm"] == "sham"}
    assert names == {"p", "CA", "Fix", "Reg", "GA", "regression", "RA", "normalised_gain", "corrected_gain"}


def test_what_cannot_be_computed_is_absent_with_a_reason() -> None:
    metrics = measure(table(cell("11", "correct", item="i1"), cell("10", "correct", item="i2")))
    for metric in ("GA", "normalised_gain", "RA", "JA_mcc", "JA_balanced", "AA"):
        row = row_of(metrics, metric)
        assert (row["value"], row["ci_low"], row["se"]) == (None, None, None), metric
        assert row["status"] == "not_computable"
        assert row["reason"]
    assert row_of(metrics, "GA")["reason"] == "no cell was wrong at round 0: nothing to fix"
    assert row_of(metrics, "CA")["value"] == -0.5


def test_r_is_one_where_nothing_was_right() -> None:
    metrics = measure(table(cell("1010", student="a"), cell("1111", student="b"), cell("1100", student="c")))
    # a: C = 0, 1, 0 -> 1 * 0; b: 1 * 1; c: 0 * 1.
    assert row_of(metrics, "RA")["value"] == pytest.approx((-1 + 0 - 1) / 3)
    nothing = row_of(measure(table(cell("0000"), cell("0001", item="i2"))), "RA")
    assert (nothing["value"], nothing["status"]) == (None, "not_computable")


def test_all_cells_dropped_is_not_a_score_of_zero() -> None:
    metrics = measure(table(cell("x1", item="i1"), cell("0x", item="i2")))
    for row in metrics.to_pylist():
        assert row["value"] is None
        assert row["status"] == "not_computable"
    row = row_of(metrics, "CA")
    assert row["reason"] == "no cell in use: all 2 dropped"
    assert (row["n_cells"], row["n_dropped"], row["n_items"], row["n_students"]) == (0, 2, 0, 0)


def test_student_without_cells_is_no_part_of_the_mean() -> None:
    row = row_of(
        measure(table(cell("01", student="a"), cell("01", student="a", item="i2"), cell("x1", student="b"))),
        "CA",
    )
    assert (row["value"], row["n_students"]) == (1.0, 1)
    assert "no cells of student b" in row["reason"]


def test_one_cluster_gives_a_value_without_an_interval() -> None:
    metrics = measure(table(cell("01", item="i1", cluster_id="c"), cell("00", item="i2", cluster_id="c")))
    row = row_of(metrics, "CA")
    assert (row["value"], row["ci_low"], row["ci_high"], row["se"]) == (0.5, None, None, None)
    assert (row["status"], row["n_clusters"]) == ("no_interval", 1)
    assert row["reason"].startswith("one cluster")


def test_slice_of_one_cluster_has_no_interval_although_its_dataset_has_more() -> None:
    cells = [cell("01", item="i1", cluster_id="c", band=2), cell("00", item="i2", cluster_id="c", band=2)]
    metrics = measure(table(*cells, *(cell("10", item=f"j{n}") for n in range(5))))
    row = row_of(metrics, "CA", slice_kind="band", slice="2")
    assert (row["value"], row["ci_low"], row["status"]) == (0.5, None, "no_interval")
    assert row["reason"] == "one cluster: its sampling error cannot be estimated"


def test_one_cluster_per_dataset_gives_no_interval_and_a_single_one_is_noted() -> None:
    singles = table(cell("01", item="i1", dataset="d"), cell("00", item="i2", dataset="e"))
    row = row_of(measure(singles), "CA")
    assert (row["status"], row["n_clusters"]) == ("no_interval", 2)
    assert row["reason"].startswith("one cluster in each dataset")
    mixed = pa.concat_tables([singles, table(cell("00", item="i3", dataset="d"))])
    row = row_of(measure(mixed), "CA")
    assert row["status"] == "ok"
    assert row["reason"].endswith("1 of 2 datasets have one cluster and add nothing to the interval")


def test_share_at_its_end_has_the_wilson_interval_over_clusters() -> None:
    metrics = measure(table(*(cell("01", item=f"i{n}") for n in range(30))))
    row = row_of(metrics, "GA")
    expected = wilson(30, 30).item()
    assert (row["value"], row["ci_low"], row["ci_high"]) == (1.0, expected.ci_low, expected.ci_high)
    assert (row["status"], row["se"]) == ("ok", None)
    assert "Wilson" in row["reason"]
    change = row_of(metrics, "CA")
    assert (change["value"], change["ci_low"], change["status"]) == (1.0, None, "no_interval")


def test_no_resamples_gives_values_only() -> None:
    row = row_of(measure(EXAMPLE, resamples=0), "CA")
    assert (row["value"], row["ci_low"], row["status"]) == (pytest.approx(3 / 8), None, "no_interval")


def test_slices_exist_only_where_there_are_items() -> None:
    trajectories = table(
        cell("01", item="i1", dataset="d", domain="k", band=1, n_options=4),
        cell("00", item="i2", dataset="e", domain="k", band=None, n_options=2),
    )
    rows = [row for row in measure(trajectories).to_pylist() if row["metric"] == "CA"]
    assert [(row["slice_kind"], row["slice"]) for row in rows] == [
        ("band", "1"), ("dataset", "d"), ("dataset", "e"), ("domain", "k"), ("macro", "datasets"),
        ("n_options", "2"), ("n_options", "4"), ("overall", "all"), ("student", "s"),
    ]  # fmt: skip
    assert [row["value"] for row in rows] == [1.0, 1.0, 0.0, 0.5, 0.5, 0.0, 1.0, 0.5, 0.5]


def test_flagged_items_are_slices_of_their_own_and_unknown_flags_of_none() -> None:
    flagged = {"needs_options": True, "options_in_question": False}
    trajectories = table(
        cell("01", item="i1", **flagged),
        cell("00", item="i2", **(flagged | {"needs_options": False})),
        cell("10", item="i3"),
    )
    found = {
        (row["slice_kind"], row["slice"]): row["value"]
        for row in measure(trajectories).to_pylist()
        if row["metric"] == "CA" and row["slice_kind"] in FLAGS
    }
    # No item has its options in the question: "no" would be the whole.
    assert found == {("needs_options", "yes"): 1.0, ("needs_options", "no"): 0.0}


def test_macro_weighs_datasets_alike_and_names_those_without_a_value() -> None:
    metrics = measure(
        table(
            *(cell("00", item=f"a{n}", dataset="d") for n in range(8)),
            *(cell("01", item=f"b{n}", dataset="e") for n in range(2)),
            *(cell("11", item=f"c{n}", dataset="f") for n in range(2)),
        )
    )
    assert row_of(metrics, "CA")["value"] == pytest.approx(2 / 12)
    assert row_of(metrics, "CA", slice_kind="macro")["value"] == pytest.approx((0 + 1 + 0) / 3)
    gain = row_of(metrics, "GA", slice_kind="macro")
    assert gain["value"] == pytest.approx(0.5)
    assert "unknown in f" in gain["reason"]
    assert not [row for row in metrics.to_pylist() if row["slice_kind"] == "macro" and row["metric"] == "Fix"]


def test_gain_is_corrected_for_chance_by_the_options_of_the_cells() -> None:
    cells = [cell("01", item="i1", n_options=2), cell("00", item="i2", n_options=4)]
    # One of two cells gained; what lies above chance is (1 - 1/2) + (1 - 1/4).
    assert row_of(measure(table(*cells)), "corrected_gain")["value"] == pytest.approx(1 / 1.25)
    unknown = measure(table(*cells, cell("01", item="i3", n_options=None)))
    row = row_of(unknown, "corrected_gain")
    assert (row["value"], row["reason"]) == (None, "the number of options of some items is unknown")


def test_few_clusters_have_an_interval_of_students_t_and_say_so() -> None:
    few = row_of(
        measure(table(*(cell(right, item=f"i{n}") for n, right in enumerate(("01", "00", "01"))))), "p", 1
    )
    assert few["status"] == "ok"
    assert "Student's t" in few["reason"]
    assert (few["ci_low"], few["ci_high"]) == (0.0, 1.0)


def test_aa_is_the_share_right_of_the_teachers_own_answers() -> None:
    own = zero_shot(
        cell("1", item="i1"), cell("0", item="i2"), cell("-", item="i3"), cell("x", item="i4"),
        cell("1", item="i5", dataset="e"), cell("1", item="i1", teacher="u"),
    )  # fmt: skip
    row = row_of(measure(EXAMPLE, own), "AA")
    assert row["value"] == 2 / 4
    assert (row["arm"], row["n_cells"], row["n_dropped"], row["n_students"]) == ("taught", 4, 1, 0)
    assert (row["n_ok"], row["n_no_answer"], row["n_error"]) == (3, 1, 1)
    assert row_of(measure(EXAMPLE, own, policy="drop"), "AA")["value"] == 2 / 3
    assert row_of(measure(EXAMPLE, own), "AA", slice_kind="dataset", slice="e")["value"] == 1.0
    assert row_of(measure(EXAMPLE, own), "AA", teacher="u")["value"] == 1.0
    other = row_of(measure(EXAMPLE, own), "AA", slice_kind="band", slice="1")
    assert other["status"] == "ok"


def test_teacher_without_zero_shot_answers_has_no_aa() -> None:
    own = zero_shot(cell("1", teacher="u"))
    row = row_of(measure(EXAMPLE, own), "AA")
    assert (row["value"], row["reason"]) == (None, "no zero-shot answers of this teacher here")


def test_empty_tables_give_an_empty_table() -> None:
    metrics = measure(TRAJECTORIES.schema.empty_table(), zero_shot())
    assert metrics.num_rows == 0
    assert metrics.schema.equals(METRICS_TABLE.schema)


def test_leagues_are_apart() -> None:
    both = table(cell("01"), cell("00", league="other", dataset="e"))
    metrics = measure(both)
    assert row_of(metrics, "CA", league="main")["value"] == 1.0
    assert row_of(metrics, "CA", league="other")["value"] == 0.0


@pytest.mark.parametrize(
    ("trajectories", "message"),
    [
        (table(cell("01"), cell("01")), "repeat a student"),
        (table(cell("01")[1:], cell("01", item="i2")), "lack a round"),
        (table(cell("0")), "no round after 0"),
        (table(cell("01", "incorrect")), "verdict 'incorrect' is unknown"),
        (table([row | {"status": "fine"} for row in cell("01")]), "status 'fine' is unknown"),
        (table([row | {"correct": None} for row in cell("01")]), "no `correct`"),
        (table(cell("01", student="a"), cell("01", student="b", dataset="e")), "more than one dataset"),
        (table(cell("01")).drop_columns("band"), "column 'band' is missing"),
    ],
)
def test_tables_that_cannot_be_rated_are_refused(trajectories: pa.Table, message: str) -> None:
    with pytest.raises(UserError, match=message):
        measure(trajectories)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"policy": "zero"}, "wrong or drop"), ({"level": 95}, "level"), ({"resamples": -1}, "resamples")],
)
def test_bad_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        measure(EXAMPLE, **changes)


def test_dictionary_columns_are_read_like_strings() -> None:
    columns = [
        column.dictionary_encode() if pa.types.is_string(column.type) else column
        for column in EXAMPLE.columns
    ]
    coded = pa.table(dict(zip(EXAMPLE.column_names, columns, strict=True)))
    assert measure(coded).equals(measure(EXAMPLE))


def test_identities_of_a_verdict_that_never_changes() -> None:
    wrong = table(
        cell("01", "wrong", item="i1"), cell("11", "wrong", item="i2"), cell("10", "wrong", item="i3")
    )
    found = {identity.name: identity for identity in check_identities(wrong)}
    assert found["always_wrong"].lhs == pytest.approx(1 / 3)
    assert found["always_wrong"].difference <= 1e-12
    right = table(cell("01", "correct", item="i1"), cell("11", "correct", item="i2"))
    assert {i.name: i.lhs for i in check_identities(right)}["always_right"] == 0.5


def test_values_do_not_depend_on_how_teachers_are_batched(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [
        cell(right, item=f"i{n}", student=student, teacher=teacher)
        for teacher in "tuv"
        for student in "abc"
        for n, right in enumerate(("0111", "0010", "1101", "0001", "1011"))
    ]
    whole = measure(table(*cells))
    monkeypatch.setattr(module, "_BATCH_BYTES", 1)
    assert measure(table(*cells)).equals(whole)


def test_bytes_do_not_depend_on_the_number_of_threads() -> None:
    code = (
        "import sys, hashlib; sys.path.insert(0, 'benchmarks');"
        "from teaching_metrics import simulate; from magister.teaching.metrics import teaching_metrics as f;"
        "t = f(simulate(5, 2, 240, 3, 1), None, policy='wrong', resamples=300, level=0.95, seed=1);"
        "print(hashlib.sha256(str(t.to_pylist()).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={
                "OPENBLAS_NUM_THREADS": threads,
                "OMP_NUM_THREADS": threads,
                "PYTHONPATH": ":".join(sys.path),
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(digests) == 1
