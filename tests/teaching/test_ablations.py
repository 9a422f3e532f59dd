"""Ablations of a league: every part of it is the league that the part would be by itself."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from league_tables import OPTIONS, Drawn, Row, drawn, rows_of
from scipy import stats as scipy_stats

from magister.contracts.schemas import CUMULATIVE_SHARES as SHARES
from magister.contracts.schemas import METRICS
from magister.contracts.schemas import WHOLE_LEAGUE as WHOLE
from magister.errors import UserError
from magister.stats import bootstrap_weights, crossed_sample, holm, sign_flip, student_mean
from magister.teaching.ablations import ORDERS, Variant, ablate
from magister.teaching.metrics import teaching_metrics

SIZES = ("n_items", "n_students", "n_clusters", "n_cells", "n_dropped")
NUMBERS = ("value", "ci_low", "ci_high", "se")
few = settings(max_examples=12, deadline=None)
leagues = st.builds(
    drawn,
    seed=st.integers(0, 10**6),
    teachers=st.integers(1, 4),
    students=st.integers(1, 3),
    items=st.integers(2, 14),
    rounds=st.integers(1, 3),
    datasets=st.integers(1, 2),
    lost=st.sampled_from([0.0, 0.1, 0.4]),
)


def by_hand() -> Drawn:
    """Four items of two data sets, two students, two teachers; the first teacher fixes all of student s0."""
    marks = [
        [["011", "011", "001", "111"], ["000", "010", "111", "100"]],
        [["000", "001", "000", "111"], ["001", "000", "110", "100"]],
    ]
    right = np.array([[[[mark == "1" for mark in item] for item in s] for s in t] for t in marks])
    # Verdicts: 0 correct, 1 wrong. The first teacher is always right, the second always says "wrong".
    truth = np.where(right[..., 0], 0, 1)
    verdict = np.stack([truth[0], np.ones_like(truth[1])])
    own = np.array([[True, True, True, False], [False, True, False, False]])
    status = np.zeros(right.shape, dtype=int)
    return Drawn(right, verdict, status, own, np.arange(4), np.array([0, 0, 1, 1]))


def values(table: pa.Table, ablation: str, setting: str) -> dict[tuple[str, str], float | None]:
    found = rows_of(table, "teacher", "metric", ablation=ablation, setting=setting)
    return {key: row["value"] for key, row in found.items()}


def test_a_small_league_worked_out_by_hand() -> None:
    table = by_hand().ablated().ablations
    whole = values(table, "full", WHOLE)
    # s0 goes from 1 to 4 of 4, s1 from 2 to 1: (3/4 - 1/4) / 2.
    assert whole["t0", "CA"] == 0.25
    assert whole["t1", "CA"] == (1 / 4 - 1 / 4) / 2
    assert (whole["t0", "AA"], whole["t0", "JA"], whole["t1", "JA"]) == (0.75, 1.0, 5 / 8)
    # Five cells are wrong at round 0; t0 has fixed three of them after a round.
    assert whole["t0", "GA"] == 3 / 5
    # s0: 3 right at round 1, 4 at round 2; s1: 2 right, then 1.
    assert whole["t0", "RA"] == pytest.approx(((4 / 3 - 1) + (1 / 2 - 1)) / 2)
    without_s1 = values(table, "leave_one_student", "s1")
    assert (without_s1["t0", "CA"], without_s1["t0", "GA"]) == (0.75, 2 / 3)
    without_d0 = values(table, "leave_one_dataset", "d0")
    assert (without_d0["t0", "CA"], without_d0["t0", "AA"]) == ((1 / 2 - 1 / 2) / 2, 0.5)
    first = rows_of(table, "teacher", ablation="rounds", setting="round 1")
    assert first["t0",]["value"] == (2 / 4 + 0 / 4) / 2
    assert (first["t0",]["whole"], first["t0",]["difference"]) == (0.25, 0.0)
    row = rows_of(table, "teacher", ablation="leave_one_student", setting="s1", metric="CA")["t0",]
    assert (row["whole"], row["difference"], row["rank"]) == (0.25, 0.5, 1)


@few
@given(leagues, st.sampled_from(["wrong", "drop"]))
def test_the_full_league_is_that_of_the_metrics(league: Drawn, policy: Any) -> None:
    measured = teaching_metrics(
        league.table(), league.answers(), policy=policy, resamples=0, level=0.9, seed=1
    )
    overall = rows_of(measured, "teacher", "metric", "round", slice_kind="overall")
    found = league.ablated(policy=policy, resamples=0).ablations
    for row in rows_of(found, "teacher", "metric", ablation="full").values():
        expected = overall[row["teacher"], row["metric"], row["round"]]
        assert row["value"] == pytest.approx(expected["value"], abs=1e-12)
        assert {name: row[name] for name in SIZES} == {name: expected[name] for name in SIZES}
        assert (row["status"] == "not_computable") == (expected["status"] == "not_computable")
    for row in rows_of(found, "teacher", "setting", ablation="rounds").values():
        assert row["value"] == pytest.approx(overall[row["teacher"], "CA", row["round"]]["value"], abs=1e-12)


def part(league: Drawn, students: list[int] | None = None, items: Any = None) -> Drawn:
    """A part of a league as a league; students keep their names only where the first ones stay."""
    s = slice(None) if students is None else students
    n = np.arange(league.own.shape[1]) if items is None else np.flatnonzero(items)
    return replace(
        league,
        right=league.right[:, s][:, :, n],
        verdict=league.verdict[:, s][:, :, n],
        status=league.status[:, s][:, :, n],
        own=league.own[:, n],
        cluster=league.cluster[n],
        dataset=league.dataset[n],
    )


def assert_same(rows: dict[Any, Row], others: dict[Any, Row]) -> None:
    for key, row in rows.items():
        for name in (*NUMBERS, *SIZES, "rank", "status"):
            assert row[name] == others[key][name], (key, name)


@few
@given(leagues.filter(lambda league: league.right.shape[1] == 2))
def test_without_one_of_two_students_the_other_is_left_alone(league: Drawn) -> None:
    found = rows_of(
        league.ablated().ablations, "teacher", "metric", ablation="leave_one_student", setting="s1"
    )
    alone = rows_of(part(league, [0]).ablated().ablations, "teacher", "metric", ablation="full")
    assert {metric for _, metric in found} == {"CA", "JA", "GA", "RA"}
    assert_same(found, alone)


@few
@given(leagues.filter(lambda league: len(set(league.dataset)) == 2))
def test_without_one_of_two_datasets_the_other_is_left_alone(league: Drawn) -> None:
    found = rows_of(
        league.ablated().ablations, "teacher", "metric", ablation="leave_one_dataset", setting="d1"
    )
    alone = part(league, items=league.dataset == 0).ablated().ablations
    assert_same(found, rows_of(alone, "teacher", "metric", ablation="full"))


def test_nothing_is_left_out_where_nothing_would_be_left() -> None:
    table = drawn(students=1, datasets=1).ablated().ablations
    assert set(table["ablation"].to_pylist()) == {"full", "cumulative", "rounds"}


@few
@given(leagues, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_byte(league: Drawn, random: Any) -> None:
    table, answers = league.table(), league.answers()
    order = list(range(table.num_rows))
    random.shuffle(order)
    turned = Variant(
        "option_order", "seed 1", table.take(order), answers.take(list(range(len(answers)))[::-1])
    )
    again = ablate(table.take(order), answers, [turned], **OPTIONS)
    found = league.ablated(league.variant("option_order", "seed 1"))
    assert [part.equals(other) for part, other in zip(found, again, strict=True)] == [True] * 3


def test_all_clusters_are_the_whole_league() -> None:
    table = drawn(lost=0.1).ablated().ablations
    every = rows_of(table, "teacher", "metric", ablation="cumulative", setting="100 %")
    assert_same(every, rows_of(table, "teacher", "metric", ablation="full"))
    assert {row["difference"] for row in every.values()} == {0.0}


def test_samples_grow_and_hold_clusters_of_every_dataset() -> None:
    found = drawn(items=80).ablated()
    sizes = [
        rows_of(found.ablations, "teacher", "metric", ablation="cumulative", setting=f"{share} %")["t0", "CA"]
        for share in SHARES
    ]
    # 20 clusters of two items in each of two data sets.
    assert [row["n_clusters"] for row in sizes] == [2, 4, 8, 12, 20, 30, 40]
    assert [row["n_items"] for row in sizes] == [2 * row["n_clusters"] for row in sizes]
    assert sizes[0]["difference_reason"] == "a part of the whole league: the difference is chance alone"
    assert (sizes[0]["difference_ci_low"], sizes[0]["p"]) == (None, None)
    assert sizes[0]["reason"].startswith("one cluster in each dataset")


def test_larger_samples_order_teachers_more_as_the_whole_does() -> None:
    agreement = rows_of(drawn(items=120).ablated().agreement, "setting", ablation="cumulative", metric="CA")
    rho = [agreement[f"{share} %",]["spearman"] for share in SHARES]
    assert rho == sorted(rho)
    assert rho[-1] == 1
    assert agreement["100 %",]["status"] == "no_interval"
    middle = agreement["50 %",]
    assert -1 <= middle["spearman_ci_low"] < middle["spearman"] < middle["spearman_ci_high"] <= 1
    assert f"{ORDERS} seeded orders" in middle["reason"]


def test_a_variant_that_changes_nothing_has_differences_of_exactly_zero() -> None:
    league = drawn(lost=0.1)
    found = league.ablated(league.variant("item_variants"))
    rows = rows_of(found.ablations, "teacher", "metric", ablation="item_variants").values()
    assert {row["difference"] for row in rows} == {0.0}
    assert {row["difference_status"] for row in rows} == {"no_interval"}
    assert {row["difference_reason"] for row in rows} == {"as in the whole league on every resample"}
    assert {row["p"] for row in rows} == {row["p_holm"] for row in rows} == {1.0}
    assert_same(
        rows_of(found.ablations, "teacher", "metric", ablation="item_variants"),
        rows_of(found.ablations, "teacher", "metric", ablation="full"),
    )
    gaps = found.contamination.to_pylist()
    assert [(row["gap"], row["status"], row["p"]) for row in gaps] == [(0.0, "no_interval", 1.0)] * 5
    for row in rows_of(found.agreement, "metric", ablation="item_variants").values():
        assert (row["spearman"], row["kendall"], row["n_swapped"]) == (1.0, 1.0, 0)
        assert (row["largest_change"], row["status"]) == (0.0, "no_interval")


def gain(totals: Any, students: Any) -> Any:
    """CA of sums (cells, gained)."""
    return student_mean(totals[..., 1], totals[..., 0], students)[..., None]


def test_differences_are_those_of_paired_units() -> None:
    league, other = drawn(1, items=60), drawn(2, items=60)
    found = league.ablated(other.variant(), resamples=500).ablations
    rows = rows_of(found, "teacher", ablation="prompts", metric="CA")
    # The same teacher under both conditions, as two units of one crossed sample.
    marks = np.concatenate([league.right, other.right])
    cells = np.stack([np.ones(marks.shape[:3]), marks[..., -1] * 1.0 - marks[..., 0]], axis=-1)
    sums = np.add.reduceat(cells, np.arange(0, 60, 2), axis=2).transpose(2, 0, 1, 3)
    strata = [f"d{name}" for name in league.dataset[::2]]
    weights = bootstrap_weights(strata, resamples=500, seed=OPTIONS["seed"])
    sample = crossed_sample(sums, gain, weights).differences([(5 + u, u) for u in range(5)])
    expected = sample.fixed_students(OPTIONS["level"])
    tests = sign_flip(sample.contributions(), flips=500, seed=OPTIONS["seed"])
    for u in range(5):
        row = rows[f"t{u}",]
        assert row["difference"] == pytest.approx(expected.value[u])
        assert row["difference_ci_low"] == pytest.approx(expected.ci_low[u])
        assert row["difference_ci_high"] == pytest.approx(expected.ci_high[u])
        assert row["p"] == tests.p[u]
    assert [rows[f"t{u}",]["p_holm"] for u in range(5)] == holm(tests.p).tolist()


def test_tests_are_made_where_both_sides_rest_on_the_same_clusters() -> None:
    found = drawn().ablated(drawn(2).variant("more_rounds"))
    tested = {row["ablation"] for row in found.ablations.to_pylist() if row["p"] is not None}
    assert tested == {"leave_one_student", "rounds", "more_rounds"}


def test_more_rounds_stand_against_the_last_round_of_the_league() -> None:
    league, longer = drawn(rounds=2), drawn(rounds=4)
    longer.right[..., :3] = league.right
    longer.verdict, longer.own = league.verdict, league.own
    table = league.ablated(longer.variant("more_rounds", "4 rounds")).ablations
    row = rows_of(table, "teacher", ablation="more_rounds", metric="CA")["t0",]
    before, after = (side.right[0, :, :, -1].mean() for side in (league, longer))
    assert row["round"] == 4
    assert row["difference"] == pytest.approx(after - before)
    # What was asked before the last round is as it was.
    for metric in ("AA", "JA", "GA"):
        assert rows_of(table, "teacher", ablation="more_rounds", metric=metric)["t0",]["difference"] == 0


def test_variants_of_fewer_items_are_paired_on_those_that_both_have() -> None:
    league, other = drawn(items=40), drawn(2, items=40)
    kept = np.arange(40) % 4 != 0
    variant = other.variant("item_variants")
    names = [f"i{n:03d}" for n in np.flatnonzero(kept)]
    fewer = [
        t.filter(pc.is_in(t["item_id"], pa.array(names))) for t in (variant.trajectories, variant.zero_shot)
    ]
    table = league.ablated(Variant("item_variants", "again", *fewer)).ablations
    mine = [t.filter(pc.is_in(t["item_id"], pa.array(names))) for t in (league.table(), league.answers())]
    whole = rows_of(ablate(*mine, **OPTIONS).ablations, "teacher", "metric", ablation="full")
    for key, row in rows_of(table, "teacher", "metric", ablation="item_variants").items():
        assert row["whole"] == whole[key]["value"]
        assert row["n_items"] == 30
        assert "paired on 30 of 40 items" in row["reason"]


def memoriser_and_honest(n: int = 60) -> tuple[Drawn, Drawn]:
    """t0 knows the items by heart, t1 can do them: both teach alike, in either form of the items."""
    league = drawn(4, teachers=2, items=n)
    league.own[:] = np.arange(n) % 10 != 0
    other = replace(league, own=league.own.copy())
    rng = np.random.default_rng(0)
    other.own[0] &= rng.random(n) < 0.4
    # The honest teacher misses other items in the other form, as many of them.
    other.own[1] = np.roll(league.own[1], 3)
    return league, other


def test_a_teacher_that_knows_the_items_by_heart_has_a_gap_and_an_honest_one_has_none() -> None:
    league, other = memoriser_and_honest()
    found = league.ablated(other.variant("option_order", "seed 1"), resamples=2000).contamination
    heart, honest = found.to_pylist()
    assert heart["aa_change"] < -0.3
    assert heart["ca_change"] == 0
    assert heart["gap"] == -heart["aa_change"]
    assert heart["gap_ci_low"] > 0
    assert heart["p_holm"] < 0.05
    assert honest["aa_change"] == pytest.approx(0)
    assert honest["gap_ci_low"] < 0 < honest["gap_ci_high"]
    assert honest["p_holm"] > 0.05


def test_an_honest_teacher_whose_students_suffer_too_has_no_gap() -> None:
    league, other = memoriser_and_honest()
    # The new form is harder for everyone: students lose at the last round what the teacher loses.
    harder = np.random.default_rng(1).random(60) < 0.4
    other.own[1] = league.own[1] & ~harder
    other.right = league.right.copy()
    other.right[1, :, harder, -1] = False
    found = league.ablated(other.variant("item_variants", "seed 1"), resamples=2000).contamination
    honest = found.to_pylist()[1]
    assert honest["ca_change"] < 0
    assert honest["aa_change"] < 0
    assert abs(honest["gap"]) < abs(honest["aa_change"]) / 1.5


def test_contamination_is_asked_of_forms_of_items_alone() -> None:
    league = drawn()
    assert league.ablated(drawn(2).variant("prompts")).contamination.num_rows == 0


def test_agreement_is_read_from_the_scores_of_both_sides() -> None:
    found = drawn(items=60, lost=0.05).ablated(drawn(7, items=60).variant())
    groups: dict[Any, list[Row]] = {}
    for row in found.ablations.to_pylist():
        groups.setdefault((row["ablation"], row["setting"], row["metric"]), []).append(row)
    agreement = rows_of(found.agreement, "ablation", "setting", "metric")
    assert set(groups) - set(agreement) == {("full", WHOLE, metric) for metric in METRICS}
    for key, row in agreement.items():
        pairs = [(r["value"], r["whole"]) for r in groups[key] if None not in (r["value"], r["whole"])]
        value, whole = np.array(pairs).T
        assert row["n_teachers"] == len(pairs)
        assert row["n_pairs"] == len(pairs) * (len(pairs) - 1) // 2
        signs = [
            np.sign(np.round(a - b, 12)) * np.sign(np.round(c - d, 12))
            for (a, c), (b, d) in itertools.combinations(pairs, 2)
        ]
        assert row["n_swapped"] == signs.count(-1)
        assert row["largest_change"] == pytest.approx(np.abs(value - whole).max())
        if key[0] != "cumulative":
            ranks = [np.round(side, 12) for side in (value, whole)]
            assert row["spearman"] == pytest.approx(scipy_stats.spearmanr(*ranks).statistic)
            assert row["kendall"] == pytest.approx(scipy_stats.kendalltau(*ranks).statistic)


def test_three_teachers_are_too_few_for_a_correlation_but_not_for_their_order() -> None:
    found = rows_of(drawn(teachers=3).ablated().agreement, "ablation", "setting", "metric")
    row = found["leave_one_student", "s0", "CA"]
    assert (row["status"], row["spearman"], row["kendall_ci_low"]) == ("not_computable", None, None)
    assert row["reason"] == "a correlation over 3 teachers says nothing: it takes 4"
    assert (row["n_teachers"], row["n_pairs"]) == (3, 3)
    assert row["largest_change"] > 0


def test_without_zero_shot_answers_aa_is_unknown_and_never_zero() -> None:
    league = drawn()
    found = ablate(league.table(), None, [league.variant("option_order")], **OPTIONS)
    row = rows_of(found.ablations, "teacher", "metric", ablation="full")["t0", "AA"]
    assert (row["value"], row["rank"], row["status"]) == (None, None, "not_computable")
    assert row["reason"] == "no zero-shot answers of this teacher"
    gap = found.contamination.to_pylist()[0]
    assert (gap["gap"], gap["ca_change"], gap["status"]) == (None, 0.0, "not_computable")
    agreement = rows_of(found.agreement, "metric", ablation="option_order")["AA",]
    assert (agreement["n_teachers"], agreement["largest_change"]) == (0, None)


def test_without_resamples_there_are_values_alone() -> None:
    found = drawn().ablated(drawn(2).variant(), resamples=0)
    for row in found.ablations.to_pylist():
        assert row["value"] is not None
        assert (row["ci_low"], row["difference_ci_low"], row["p"]) == (None, None, None)
        assert row["reason"].startswith("no resamples were asked for")


def test_few_clusters_have_students_t() -> None:
    league = drawn(items=8, datasets=1, students=1, rounds=1)
    row = rows_of(league.ablated(resamples=100).ablations, "teacher", "metric", ablation="full")["t0", "CA"]
    change = (league.right[0, 0, :, -1] * 1.0 - league.right[0, 0, :, 0]).reshape(4, 2).mean(axis=1)
    half = scipy_stats.t.ppf(0.95, 3) * change.std(ddof=1) / 2
    assert row["reason"] == "few clusters: Student's t in place of resamples"
    # No change of a share is larger than 1.
    ends = np.clip([change.mean() - half, change.mean() + half], -1, 1)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(ends))


def test_one_cluster_has_no_interval() -> None:
    row = rows_of(drawn(items=2).ablated().ablations, "teacher", "metric", ablation="full")["t0", "CA"]
    assert (row["status"], row["ci_low"], row["n_clusters"]) == ("no_interval", None, 1)
    assert "one cluster" in row["reason"]


def test_what_a_variant_must_not_change_is_said() -> None:
    league = drawn()
    moved = replace(league, cluster=np.arange(40) // 4, dataset=league.dataset)
    for other, said in (
        (drawn(teachers=4), "the teachers are t0, t1, t2, t3; in the league main they are"),
        (drawn(students=3), "run it with the same students"),
        (moved, "item 'i002' belongs to another dataset or cluster"),
    ):
        with pytest.raises(UserError, match=said):
            league.ablated(other.variant())
    strange = league.variant()
    renamed = [
        t.set_column(
            t.column_names.index("item_id"), "item_id", pc.binary_join_element_wise("x", t["item_id"], "")
        )
        for t in (strange.trajectories, strange.zero_shot)
    ]
    with pytest.raises(UserError, match="no item in common with the league main"):
        league.ablated(Variant("prompts", "again", *renamed))


def test_what_cannot_be_ablated_is_said() -> None:
    league = drawn()
    with pytest.raises(UserError, match="ablation 'vibes' is unknown"):
        league.ablated(league.variant("vibes"))
    with pytest.raises(UserError, match="'again' is given twice"):
        league.ablated(league.variant(), league.variant())
    with pytest.raises(UserError, match="level must lie between 0 and 1"):
        league.ablated(level=95)
    with pytest.raises(UserError, match="policy 'maybe' is unknown"):
        league.ablated(policy="maybe")
    with pytest.raises(UserError, match="no row of the arm taught"):
        ablate(league.table().slice(0, 0), None, **OPTIONS)
    two = pa.concat_tables([league.table(), replace(league, league="other").table()])
    with pytest.raises(UserError, match="here are main, other"):
        ablate(two, None, **OPTIONS)
    short = league.table()
    short = short.filter(pc.or_(pc.not_equal(short["teacher"], "t0"), pc.not_equal(short["item_id"], "i000")))
    with pytest.raises(UserError, match="did not teach the same students the same items"):
        ablate(short, None, **OPTIONS)
    with pytest.raises(UserError, match="that nobody was taught in league main, such as 'i040'"):
        ablate(league.table(), drawn(items=42).answers(), **OPTIONS)
