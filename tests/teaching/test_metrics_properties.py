"""Teaching metrics on random trajectories: identities, invariances, a plain reference, scripted pairs."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from teaching_tables import shuffled
from test_metrics import cell, measure, row_of, table, zero_shot

from magister.contracts.schemas import METRIC_RANGES, TRAJECTORIES
from magister.stats import bootstrap_weights, expanded_intervals
from magister.teaching._cube import FLAGS
from magister.teaching.metrics import check_identities


def random_trajectories(
    seed: int, *, teachers: tuple[str, ...] = ("t", "u"), bad: float = 0.1, items: int = 8, rounds: int = 3
) -> pa.Table:
    """Every teacher with the same students, items, clusters and blind answers."""
    rng = np.random.default_rng(seed)
    cells = []
    for student in ("a", "b", "c"):
        blind = ["1" if x < 0.4 else "-" if x > 1 - bad else "0" for x in rng.random(items)]
        for teacher in teachers:
            # Each teacher has a stream of its own, so that another teacher cannot change its rows.
            own = np.random.default_rng([seed, *teacher.encode(), *student.encode()])
            for n in range(items):
                marks = own.choice(list("01-x"), size=rounds, p=[0.5, 0.5 - bad, bad / 2, bad / 2])
                cells.append(
                    cell(
                        blind[n] + "".join(marks),
                        str(own.choice(["correct", "wrong", "none"], p=[0.4, 0.5, 0.1])),
                        item=f"i{n}",
                        teacher=teacher,
                        student=student,
                        cluster_id=f"c{n // 2}" if n % 3 else f"c{n}",
                        dataset="d" if n < items * 0.6 else "e",
                        band=n % 3 + 1,
                    )
                )
    return table(*cells)


@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.1, 0.3]),
    st.integers(1, 6),
    st.sampled_from(["wrong", "drop"]),
)
@settings(max_examples=60, deadline=None)
def test_identities_hold(seed: int, bad: float, rounds: int, policy: Any) -> None:
    found = check_identities(random_trajectories(seed, bad=bad, rounds=rounds), policy=policy)
    assert all(identity.difference <= 1e-12 for identity in found)
    if bad == 0.0:
        assert {"retention", "decomposition"} <= {identity.name for identity in found}


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_reported_metrics_obey_the_decomposition_for_a_single_student(seed: int) -> None:
    rows = random_trajectories(seed, teachers=("t",), bad=0.0)
    metrics = measure(rows.filter(pc.equal(rows["student"], "a")), resamples=0)
    values = {name: row_of(metrics, name)["value"] for name in ("CA", "GA", "regression", "RA")}
    p0, p1, p3 = (row_of(metrics, "p", t)["value"] for t in (0, 1, 3))
    if p1 == 0 or row_of(metrics, "p", 2)["value"] == 0:
        return
    terms = p0 * (1 - (values["regression"] or 0)) + (values["GA"] or 0) * (1 - p0)
    assert values["RA"] == pytest.approx(p3 / p1 - 1, abs=1e-12)
    assert values["CA"] == pytest.approx(terms * (1 + values["RA"]) - p0, abs=1e-12)


@given(st.integers(0, 10**6), st.sampled_from(["wrong", "drop"]))
@settings(max_examples=15, deadline=None)
def test_row_order_changes_no_byte(seed: int, policy: str) -> None:
    rows = random_trajectories(seed)
    own = zero_shot(*(cell(mark, item=f"i{n}") for n, mark in enumerate("101-x1")))
    metrics = measure(rows, own, policy=policy)
    again = measure(shuffled(rows, seed), shuffled(own, seed), policy=policy)
    assert again.equals(metrics)
    pieces = pa.concat_tables([rows.slice(0, 7), rows.slice(7)])
    assert measure(pieces, own, policy=policy).equals(metrics)


@given(st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_names_of_teachers_change_no_number(seed: int) -> None:
    rows = random_trajectories(seed)
    position = rows.column_names.index("teacher")
    names = pc.if_else(pc.equal(rows["teacher"], "t"), "zebra", "ant")
    renamed = measure(rows.set_column(position, rows.schema.field(position), names))
    metrics = measure(rows)
    for old, new in (("t", "zebra"), ("u", "ant")):
        mine = metrics.filter(pc.equal(metrics["teacher"], old)).drop_columns("teacher")
        theirs = renamed.filter(pc.equal(renamed["teacher"], new)).drop_columns("teacher")
        assert mine.equals(theirs)


@given(st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_another_teacher_changes_no_row(seed: int) -> None:
    alone = measure(random_trajectories(seed, teachers=("t",)))
    more = random_trajectories(seed, teachers=("t", "u", "v"))
    # One of the others was asked about items that nobody else saw.
    more = pa.concat_tables([more, table(cell("0101", teacher="w", item="i99", dataset="d"))])
    metrics = measure(more)
    assert metrics.filter(pc.equal(metrics["teacher"], "t")).equals(alone)


def naive(rows: list[dict[str, Any]], weight: dict[tuple[str, str], int]) -> dict[str, float]:
    """CA, JA, GA, RA of one teacher under policy "wrong" with loops and weighted clusters."""
    cells: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for row in rows:
        cells.setdefault((row["student"], row["item_id"]), {})[row["round"]] = row
    by_student: dict[str, list[tuple[float, list[bool], str]]] = {}
    for (student, _), by_round in cells.items():
        if any(row["status"] == "error" for row in by_round.values()):
            continue
        w = weight[by_round[0]["dataset"], by_round[0]["cluster_id"]]
        right = [bool(by_round[t]["correct"]) for t in sorted(by_round)]
        by_student.setdefault(student, []).append((w, right, by_round[1]["verdict"]))
    ca, ra, pooled = [], [], []
    for triples in by_student.values():
        pooled += triples
        n = sum(w for w, _, _ in triples)
        count = [sum(w for w, right, _ in triples if right[t]) for t in range(len(triples[0][1]))]
        ca.append((count[-1] - count[0]) / n if n else np.nan)
        product = 1.0 if n else np.nan
        for t in range(2, len(count)):
            product *= 1 + (count[t] - count[t - 1]) / count[t - 1] if count[t - 1] else 1
        ra.append(product - 1)
    n = sum(w for w, _, _ in pooled)
    wrong = sum(w for w, right, _ in pooled if not right[0])
    fixed = sum(w for w, right, _ in pooled if not right[0] and right[1])
    match = sum(w for w, right, verdict in pooled if verdict == ("correct" if right[0] else "wrong"))
    return {
        "CA": sum(ca) / len(ca),
        "RA": sum(ra) / len(ra),
        "JA": match / n if n else np.nan,
        "GA": fixed / wrong if wrong else np.nan,
    }


@pytest.mark.parametrize("seed", range(4))
def test_values_and_intervals_agree_with_plain_loops(seed: int) -> None:
    rows = random_trajectories(seed, items=12)
    metrics = measure(rows, resamples=150)
    mine = rows.filter(pc.equal(rows["teacher"], "u")).to_pylist()
    clusters = sorted({(row["dataset"], row["cluster_id"]) for row in mine})
    weights = bootstrap_weights([dataset for dataset, _ in clusters], resamples=150, seed=1)
    w = weights.matrix()
    point = naive(mine, dict.fromkeys(clusters, 1))
    replicates = [naive(mine, dict(zip(clusters, draw, strict=True))) for draw in w.astype(int).tolist()]
    for metric in ("CA", "RA", "JA", "GA"):
        row = row_of(metrics, metric, teacher="u")
        assert row["value"] == pytest.approx(point[metric], abs=1e-12)
        column = np.array([replicate[metric] for replicate in replicates])
        expected = expanded_intervals(point[metric], column[:, None], weights)[0]
        assert row["ci_low"] == pytest.approx(max(expected.ci_low, METRIC_RANGES[metric][0]), abs=1e-12)
        assert row["ci_high"] == pytest.approx(min(expected.ci_high, METRIC_RANGES[metric][1]), abs=1e-12)
        assert row["se"] == pytest.approx(np.nanstd(column, ddof=1), abs=1e-12)


def test_dataset_slice_equals_the_metrics_of_that_dataset_alone() -> None:
    rows = random_trajectories(3)
    together = measure(rows).filter(pc.equal(measure(rows)["slice"], "d"))
    alone = measure(rows.filter(pc.equal(rows["dataset"], "d")))
    alone = alone.filter(pc.equal(alone["slice"], "d"))
    assert together.equals(alone)


def scripted(rng: np.random.Generator, items: int, q: float, k: int, p0: float) -> pa.Table:
    """Verdict right with probability q; told "wrong" the student re-guesses among the other k - 1 options."""
    truth = rng.random(items) < p0
    verdict = np.where(rng.random(items) < q, truth, ~truth)
    lucky = rng.random(items) < 1 / (k - 1)
    after = np.where(verdict, truth, ~truth & lucky)
    base = {
        "league": "main", "arm": "taught", "teacher": "t", "student": "s", "dataset": "d", "domain": "k",
        "n_options": k, "band": 1, "guide_status": "ok", "leak": "none", "status": "ok",
    }  # fmt: skip
    ids = [f"i{n:05d}" for n in range(items)]
    tables = []
    for t, right in enumerate((truth, after)):
        columns = {name: [value] * items for name, value in base.items()}
        columns |= {"item_id": ids, "cluster_id": ids, "round": [t] * items, "correct": right.tolist()}
        columns["verdict"] = np.where(verdict, "correct", "wrong").tolist() if t else ["none"] * items
        columns |= {name: [None] * items for name in ("answer", "request_id", "guide_request_id", *FLAGS)}
        tables.append(pa.table(columns).select(TRAJECTORIES.schema.names).cast(TRAJECTORIES.schema))
    return pa.concat_tables(tables)


@pytest.mark.parametrize(("q", "k"), [(1.0, 2), (0.7, 4), (0.9, 5), (0.5, 3)])
def test_scripted_pairs_have_their_closed_form(q: float, k: int) -> None:
    metrics = measure(scripted(np.random.default_rng(17), 4000, q, k, 0.4), resamples=400, level=0.99)
    for metric, expected in (("GA", q / (k - 1)), ("JA", q)):
        row = row_of(metrics, metric)
        assert row["ci_low"] <= expected <= row["ci_high"]
    # Right answers are lost when they are called wrong.
    row = row_of(metrics, "regression")
    if q < 1:
        assert row["ci_low"] <= 1 - q <= row["ci_high"]
    else:
        assert row["value"] == 0.0


def test_intervals_of_ca_cover_the_truth() -> None:
    q, k, p0, items, simulations = 0.8, 4, 0.4, 80, 150
    truth = (1 - p0) * q / (k - 1) - p0 * (1 - q)
    rng = np.random.default_rng(23)
    hits = 0
    for _ in range(simulations):
        row = row_of(measure(scripted(rng, items, q, k, p0), resamples=200), "CA")
        hits += row["ci_low"] <= truth <= row["ci_high"]
    assert 0.89 <= hits / simulations <= 0.99


@given(st.integers(0, 10**6), st.sampled_from(["wrong", "drop"]))
@settings(max_examples=20, deadline=None)
def test_fixes_and_regressions_add_up_to_the_change_of_every_round(seed: int, policy: str) -> None:
    metrics = measure(random_trajectories(seed), policy=policy, resamples=0)
    for student in ("a", "b"):
        where = {"slice_kind": "student", "slice": student}
        if row_of(metrics, "CA", **where)["value"] is None:
            continue
        cells = row_of(metrics, "CA", **where)["n_cells"]
        for t in (1, 2, 3):
            change = row_of(metrics, "p", t, **where)["value"] - row_of(metrics, "p", t - 1, **where)["value"]
            moved = row_of(metrics, "Fix", t, **where)["value"] - row_of(metrics, "Reg", t, **where)["value"]
            assert moved / cells == pytest.approx(change, abs=1e-12)


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_overall_ca_is_the_mean_over_its_student_slices(seed: int) -> None:
    metrics = measure(random_trajectories(seed), resamples=0)
    names = {row["slice"] for row in metrics.to_pylist() if row["slice_kind"] == "student"}
    parts = [row_of(metrics, "CA", slice_kind="student", slice=name)["value"] for name in sorted(names)]
    known = [value for value in parts if value is not None]
    if known:
        assert row_of(metrics, "CA")["value"] == pytest.approx(float(np.mean(known)), abs=1e-12)
