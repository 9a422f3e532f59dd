"""The verdict: every rung of the ladder, and the two controls that must come out right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profile_cases import (
    CONVERGED,
    NOT_CONVERGED,
    KnownMastery,
    irt_fit,
    made_prior,
    made_responses,
    two_way_means,
)

from magister.contracts.diagnosis_tables import DIAGNOSIS_CHECKS, PLACEBO, PREDICTIONS
from magister.diagnosis.controls import Fitters, Plan, run_controls
from magister.diagnosis.simulation import simulate_dina, simulate_mastery, simulate_q
from magister.diagnosis.support import LADDER, Rules, Study, decide
from magister.provenance._artifact import conform

STUDY = Study(models=60, items=80, attributes=8, placebos=19)
Row = dict[str, Any]


def row(check: str, statistic: str, **given: Any) -> Row:
    empty = dict.fromkeys(("value", "expected", "low", "high", "p", "holds"))
    return {"check": check, "statistic": statistic, "status": "ok", "reason": "", "n": 9} | empty | given


def over(against: str, value: float, low: float | None, high: float | None) -> Row:
    return row("held_out", f"loglik_over_{against}", value=value, low=low, high=high)


def passed() -> dict[str, Row]:
    """Checks that all pass, by what a test changes."""
    return {
        "2pl": over("2pl", 0.02, 0.01, 0.03),
        "item_mean": over("item_mean", 0.1, 0.08, 0.12),
        "fixed_q": over("fixed_q", 0.001, -0.001, 0.003),
        "placebo": row("placebo", "joint", p=0.05),
        "converged": row("convergence", "converged", holds=True),
        "score_sd": row("posterior_predictive", "score_sd", holds=True, p=0.4),
        "pair_correlation": row("posterior_predictive", "pair_correlation", holds=None),
    }


def verdict(study: Study = STUDY, rules: Rules | None = None, **changed: Row | None) -> tuple[str, str]:
    rows = [found for found in (passed() | changed).values() if found is not None]
    found = decide(rows, study, rules)
    return found.support, " | ".join(found.reasons)


def test_all_controls_passed_is_supported_and_says_what_was_passed() -> None:
    support, said = verdict()
    assert support == "supported"
    assert said.count(" | ") == len(LADDER) - 1


RUNGS: list[tuple[str, str, dict[str, Any], str]] = [
    ("size", "undetermined", {"study": Study(9, 80, 8, 19)}, "9 models: 10 are needed"),
    ("size", "undetermined", {"study": Study(60, 9, 8, 19)}, "9 items: 10 are needed"),
    ("size", "undetermined", {"study": Study(60, 12, 13, 19)}, "13 attributes for 12 items"),
    ("single_ability", "not_supported", {"2pl": over("2pl", -0.02, -0.03, -0.01)}, "a single ability (2PL)"),
    ("single_ability", "undetermined", {"2pl": over("2pl", 0.01, -0.01, 0.03)}, "do not tell attributes"),
    ("single_ability", "undetermined", {"2pl": None}, "(2PL): not made"),
    ("item_mean", "not_supported", {"item_mean": over("item_mean", -0.2, -0.3, -0.1)}, "items' means"),
    ("item_mean", "undetermined", {"item_mean": over("item_mean", 0.0, -0.1, 0.1)}, "items' means"),
    ("item_mean", "undetermined", {"item_mean": None}, "items' means: not made"),
    ("placebo", "not_supported", {"placebo": row("placebo", "joint", p=0.1)}, "does as well as the real one"),
    ("placebo", "undetermined", {"study": Study(60, 80, 8, 18)}, "fewer than 19"),
    ("placebo", "undetermined", {"placebo": None}, "no placebo"),
    ("placebo", "undetermined", {"placebo": row("placebo", "joint")}, "no placebo"),
    (
        "convergence",
        "undetermined",
        {"converged": row("convergence", "converged", holds=False, reason="R-hat 1.4")},
        "R-hat 1.4",
    ),
    ("convergence", "undetermined", {"converged": None}, "convergence is not known"),
    (
        "fixed_q",
        "undetermined",
        {"fixed_q": over("fixed_q", -0.02, -0.03, -0.01)},
        "worse than the reference",
    ),
    ("fixed_q", "undetermined", {"fixed_q": None}, "reference Q-matrix: not made"),
    (
        "posterior_predictive",
        "undetermined",
        {"score_sd": row("posterior_predictive", "score_sd", holds=False)},
        "do not look like those seen: score_sd",
    ),
    ("posterior_predictive", "undetermined", {"score_sd": None}, "no posterior predictive check"),
]


@pytest.mark.parametrize(("rung", "support", "changed", "words"), RUNGS)
def test_every_rung_decides(rung: str, support: str, changed: dict[str, Any], words: str) -> None:
    found, said = verdict(**changed)
    assert found == support
    assert words in said
    rows = [one for one in (passed() | {k: v for k, v in changed.items() if k != "study"}).values() if one]
    rungs = {one.name: one.says for one in decide(rows, changed.get("study", STUDY)).rungs}
    assert {name for name, says in rungs.items() if says != "supported"} == {rung}


def test_every_rung_is_tested() -> None:
    assert [*dict.fromkeys(rung for rung, *_ in RUNGS)] == list(LADDER)


def test_one_control_against_outweighs_all_that_is_open() -> None:
    support, said = verdict(
        placebo=row("placebo", "joint", p=0.6),
        converged=row("convergence", "converged", holds=False, reason="cap"),
    )
    assert support == "not_supported"
    assert "cap" not in said


def test_a_study_too_small_is_undetermined_whatever_its_controls_say() -> None:
    support, said = verdict(
        Study(4, 80, 8, 19), placebo=row("placebo", "joint", p=0.9), **{"2pl": over("2pl", -1, -2, -0.5)}
    )
    assert support == "undetermined"
    assert said.startswith("4 models")


def test_corrections_may_lose_a_small_part_of_the_gain() -> None:
    assert verdict(fixed_q=over("fixed_q", -0.003, -0.0045, -0.001))[0] == "supported"
    assert verdict(rules=Rules(tolerance=0.0), fixed_q=over("fixed_q", -0.003, -0.004, -0.001))[0] == (
        "undetermined"
    )


def test_a_reference_that_predicts_alike_is_not_missing() -> None:
    assert verdict(fixed_q=over("fixed_q", 0.0, None, None))[0] == "supported"
    assert verdict(fixed_q=over("fixed_q", -0.1, None, None))[0] == "undetermined"


@pytest.mark.parametrize(("alpha", "least"), [(0.05, 19), (0.01, 99), (0.1, 9), (0.3, 3)])
def test_the_least_number_of_placebos_is_that_with_which_p_gets_to_alpha(alpha: float, least: int) -> None:
    assert Rules(alpha=alpha).least_placebos == least
    assert 1 / (1 + least) <= alpha + 1e-12 < 1 / least


@given(st.permutations(list(passed())), st.integers(0, 10_000))
def test_the_order_of_checks_changes_nothing(order: list[str], seed: int) -> None:
    rows = passed() | {"placebo": row("placebo", "joint", p=(seed % 20 + 1) / 20)}
    assert decide([rows[name] for name in order], STUDY) == decide(list(rows.values()), STUDY)


# Controls end to end, with fits that know the truth of mastery.


def controls(truth: str, **how: Any):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(11)
    q = simulate_q(60, 6, rng)
    if truth == "dina":
        found = simulate_dina(simulate_mastery(150, 6, 0.3, rng), q, rng)
        alpha, responses = found.alpha, made_responses(found.responses.correct)
    else:
        theta = rng.standard_normal((150, 1))
        chance = 1 / (1 + np.exp(-1.5 * (theta - rng.normal(0, 1, 60))))
        responses = made_responses(rng.random(chance.shape) < chance)
        alpha = theta > rng.normal(0, 0.6, 6)
    prior = made_prior(q)
    fitter = KnownMastery(alpha, how.pop("posterior", None))
    fitters = Fitters(
        fitter,
        fitter,
        lambda rest: irt_fit(rest, two_way_means(rest), converged=how.get("irt_converged", True)),
    )
    plan = Plan(seed=2, placebos=how.get("placebos", 19), replicates=100)
    return run_controls(responses, prior, how.get("diagnostics", CONVERGED), fitters, plan)


def test_a_dina_truth_under_its_real_prior_is_supported() -> None:
    found = controls("dina")
    assert found.verdict.support == "supported", found.verdict.reasons
    for table, contract in (
        (found.predictions, PREDICTIONS),
        (found.placebo, PLACEBO),
        (found.checks, DIAGNOSIS_CHECKS),
    ):
        conform(table, contract)


def test_a_single_ability_is_not_supported() -> None:
    found = controls("2pl")
    assert found.verdict.support == "not_supported"
    assert any("single ability" in reason for reason in found.verdict.reasons)
    assert any("shuffled prior" in reason for reason in found.verdict.reasons)


def test_few_placebos_or_no_convergence_leave_a_true_profile_undetermined() -> None:
    few = controls("dina", placebos=5)
    assert few.verdict.support == "undetermined"
    assert "5 placebos" in " ".join(few.verdict.reasons)
    joint = next(r for r in few.checks.to_pylist() if (r["check"], r["statistic"]) == ("placebo", "joint"))
    assert joint["holds"] is None
    lost = controls("dina", diagnostics=NOT_CONVERGED)
    assert lost.verdict.support == "undetermined"
    assert NOT_CONVERGED.reason in " ".join(lost.verdict.reasons)


def test_a_2pl_that_has_not_converged_is_no_rival_and_no_excuse() -> None:
    found = controls("dina", irt_converged=False)
    assert found.verdict.support == "undetermined"
    assert "has not converged" in " ".join(found.verdict.reasons)
    rows = [r for r in found.predictions.to_pylist() if r["predictor"] == "2pl"]
    assert {r["status"] for r in rows} == {"not_computable"}


def test_no_placebo_at_all_is_said() -> None:
    found = controls("dina", placebos=0)
    rows = [r for r in found.predictions.to_pylist() if r["predictor"] == "placebo"]
    assert {r["reason"] for r in rows} == {"no placebo was asked for"}
    assert "no placebo" in " ".join(found.verdict.reasons)


def test_a_study_without_a_response_to_spare_is_undetermined() -> None:
    rng = np.random.default_rng(0)
    alpha = rng.random((12, 2)) < 0.5
    responses = made_responses(np.where(rng.random((12, 12)) < 0.4, rng.random((12, 12)) < 0.5, -1))
    fitter = KnownMastery(alpha)
    fitters = Fitters(fitter, fitter, lambda rest: irt_fit(rest, two_way_means(rest)))
    prior = made_prior(np.tile(np.eye(2), (6, 1)))
    found = run_controls(responses, prior, CONVERGED, fitters, Plan(seed=0, least_kept=12))
    assert found.verdict.support == "undetermined"
    assert {r["status"] for r in found.predictions.to_pylist()} == {"not_computable"}
    assert found.placebo.num_rows == 0
    conform(found.checks, DIAGNOSIS_CHECKS)
