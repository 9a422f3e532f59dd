"""The gate of a study: however it is made, its tables keep every promise; what does not follow from them is missed."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from diagnosis_gate_tables import (
    DIAGNOSIS_PLAN,
    GIVEN_PLAN,
    Tables,
    diagnosis_expected,
    diagnosis_tables,
    given_tables,
    make_given,
    make_study,
    mastery_board_expected,
    mastery_board_tables,
)
from gate_tables import entry_of, failed_names
from test_gate_accepts import broken
from test_gate_scripts import exit_code, outputs, written

from magister.contracts._diagnosis_plan import DiagnosisPlan
from magister.contracts._support_checks import verdict_of
from magister.contracts.diagnosis_tables import MASTERY_BOARD
from magister.contracts.gate import run_gate
from magister.contracts.mastery_board_suite import mastery_board_suite
from magister.provenance import make_lineage, write_json

ROOT = Path(__file__).parents[2]
CONTRACT_OF = {
    "rejected": "responses_rejected",
    "truth": "simulated_mastery",
    "texts": "diagnosed_items",
    "runs": "cluster_runs",
    "tried": "q_clusters",
    "tried_predictions": "predictions",
    "curve": "k_curve",
    "clusters_unreviewed": "q_clusters",
    "prior_unreviewed": "q_prior",
    "asked": "labels_asked",
    "labels": "attribute_labels",
    "clusters": "q_clusters",
    "prior": "q_prior",
    "attributes": "q_attributes",
    "responses": "response_matrix",
    "checks": "diagnosis_checks",
    "profiles": "attribute_profiles",
    "correlations": "attribute_correlations",
    "entries": "q_entries",
}
CALLED = {"runs": "cluster_runs", "curve": "k_curve", "asked": "labels_asked", "entries": "q_entries"} | {
    name: f"attribute_{name}" for name in ("profiles", "correlations")
}
SAME = (
    *(
        "responses",
        "screening",
        "prior",
        "attributes",
        "predictions",
        "placebo",
        "checks",
        "mastery",
        "item_profiles",
    ),
    *("rejected", "truth", "texts", "clusters_unreviewed", "prior_unreviewed", "labels", "clusters"),
)


def changed(table: pa.Table, place: int, **values: Any) -> pa.Table:
    """The table with other values in one row."""
    rows = table.to_pylist()
    rows[place] |= values
    return pa.Table.from_pylist(rows, schema=table.schema)


def gate(tables: Tables, plan: DiagnosisPlan, *names: str) -> set[str]:
    """What fails of some tables."""
    held, expectations = diagnosis_expected(tables, plan)
    some = {name: held[name] for name in names}
    return failed_names(run_gate("diagnosis", some, [one for one in expectations if one.table in some]))


@pytest.mark.parametrize("unparsed", ["wrong", "missing"])
def test_a_study_of_clusters_keeps_every_promise(unparsed: str) -> None:
    plan = replace(DIAGNOSIS_PLAN, unparsed=unparsed)
    assert broken(diagnosis_expected(make_study(plan), plan)) == {}


@pytest.mark.parametrize("fixed", [False, True])
def test_a_study_of_a_given_matrix_keeps_every_promise(fixed: bool) -> None:
    plan = replace(GIVEN_PLAN, fixed=fixed)
    assert broken(diagnosis_expected(make_given(plan), plan)) == {}


@pytest.mark.parametrize(
    "screening",
    [
        {"drop": ()},
        {"drop": ("all_right", "all_wrong", "duplicate")},
        {"min_models": 30, "min_items": 20},
        {"duplicate_agreement": 0.9},
        {"format_share": 1.0, "format_unparsed": 0.0},
    ],
)
def test_screening_is_found_again_under_any_settings(screening: dict[str, Any]) -> None:
    plan = replace(GIVEN_PLAN, screening=replace(GIVEN_PLAN.screening, **screening))
    assert broken(diagnosis_expected(make_given(plan), plan)) == {}


def test_a_study_without_placebos_or_draws_keeps_every_promise() -> None:
    plan = replace(
        GIVEN_PLAN,
        controls=replace(GIVEN_PLAN.controls, placebos=0),
        fit=replace(GIVEN_PLAN.fit, draws=0, chains=1),
    )
    tables = make_given(plan)
    assert broken(diagnosis_expected(tables, plan)) == {}
    assert tables["support"]["support"].to_pylist() == ["undetermined"]


def test_a_study_that_can_hold_nothing_out_keeps_every_promise() -> None:
    tables = make_given(least_kept=100)
    assert tables["placebo"].num_rows == 0
    assert broken(diagnosis_expected(tables, GIVEN_PLAN)) == {}


def supported() -> Tables:
    """A study whose checks are all passed, and the verdict that follows."""
    tables = diagnosis_tables()
    checks, rungs = tables["checks"].to_pylist(), tables["rungs"].to_pylist()
    for row in checks:
        if row["check"] == "held_out":
            row |= {"value": 0.2, "low": 0.1, "high": 0.3}
        elif row["statistic"] == "joint":
            row |= {"p": 0.05}
        row |= {"holds": True}
    for row in rungs:
        row |= {"says": "supported"}
    verdict = {"support": "supported", "reasons": [row["reason"] for row in rungs]}
    made = {"checks": checks, "rungs": rungs, "support": [verdict]}
    return tables | {
        name: pa.Table.from_pylist(rows, schema=tables[name].schema) for name, rows in made.items()
    }


def without_support(tables: Tables, plan: DiagnosisPlan = DIAGNOSIS_PLAN) -> set[str]:
    """What does not follow from the checks."""
    return gate(tables, plan, "rungs", "support")


FALLEN = {"rungs:says_what_checks_say", "support:verdict_by_ladder", "support:reasons_of_ladder"}


def test_profiles_that_pass_every_check_are_supported() -> None:
    assert without_support(supported()) == set()


@pytest.mark.parametrize(
    ("statistic", "values"),
    [
        ("joint", {"p": 0.1}),
        ("joint", {"p": None}),
        ("loglik_over_2pl", {"low": -0.1}),
        ("loglik_over_2pl", {"low": -0.3, "high": -0.1}),
        ("loglik_over_item_mean", {"low": None, "high": None}),
        ("loglik_over_fixed_q", {"low": -0.3, "high": -0.1}),
        ("converged", {"holds": False}),
        ("item_share", {"holds": False}),
    ],
)
def test_profiles_that_fail_one_check_are_not(statistic: str, values: dict[str, Any]) -> None:
    tables = supported()
    (place,) = [at for at, row in enumerate(tables["checks"].to_pylist()) if row["statistic"] == statistic]
    assert without_support(tables | {"checks": changed(tables["checks"], place, **values)}) == FALLEN


@pytest.mark.parametrize(("option", "least"), [("least_models", 100), ("least_items", 100), ("alpha", 0.01)])
def test_profiles_of_too_few_models_items_or_placebos_are_not(option: str, least: float) -> None:
    controls = replace(DIAGNOSIS_PLAN.controls, **{option: least})
    assert without_support(supported(), replace(DIAGNOSIS_PLAN, controls=controls)) == FALLEN


def test_one_control_against_profiles_outweighs_all_that_are_open() -> None:
    passed = dict.fromkeys(("size", "item_mean", "placebo"), "supported")
    assert verdict_of(passed) == "supported"
    assert verdict_of(passed | {"convergence": "undetermined"}) == "undetermined"
    assert verdict_of(passed | {"convergence": "undetermined", "placebo": "not_supported"}) == "not_supported"
    assert verdict_of(passed | {"size": "undetermined", "placebo": "not_supported"}) == "undetermined"


def test_a_brier_score_that_is_lower_is_better() -> None:
    tables = diagnosis_tables()
    rows = {(row["predictor"], row["measure"]): row for row in tables["predictions"].to_pylist()}
    own, mean = rows["dina", "brier"], rows["item_mean", "brier"]
    assert mean["difference"] == pytest.approx(mean["value"] - own["value"])
    place = list(rows).index(("item_mean", "brier"))
    turned = changed(tables["predictions"], place, difference=-mean["difference"])
    assert "predictions:difference_of_values" in gate(
        tables | {"predictions": turned}, DIAGNOSIS_PLAN, "predictions"
    )


def test_placebos_are_held_against_the_real_prior_under_their_own_settings() -> None:
    tables = diagnosis_tables()
    place = next(at for at, draw in enumerate(tables["placebo"]["draw"].to_pylist()) if draw == 0)
    loglik = tables["placebo"]["loglik"].to_pylist()[place]
    moved = tables | {"placebo": changed(tables["placebo"], place, loglik=loglik - 0.01)}
    assert "predictions:difference_of_values" in gate(moved, DIAGNOSIS_PLAN, "predictions")


def test_the_smaller_of_equally_good_numbers_is_chosen() -> None:
    tables = diagnosis_tables()
    rows = tables["k_curve"].to_pylist()
    for row in rows:
        row["chosen"] = row["k"] == 2
        if row["measure"] in ("held_out_loglik", "stability"):
            row["value"] = 0.75
    curve = pa.Table.from_pylist(rows, schema=tables["k_curve"].schema)
    assert "k_curve:chosen_by_measures" not in gate(tables | {"k_curve": curve}, DIAGNOSIS_PLAN, "k_curve")
    for row in rows:
        row["chosen"] = row["k"] == 3
    curve = pa.Table.from_pylist(rows, schema=tables["k_curve"].schema)
    assert "k_curve:chosen_by_measures" in gate(tables | {"k_curve": curve}, DIAGNOSIS_PLAN, "k_curve")


def test_the_board_without_studies_is_empty() -> None:
    held, expectations = mastery_board_suite(MASTERY_BOARD.schema.empty_table(), {})
    assert run_gate("boards", held, expectations)["success"]


def test_the_board_holds_the_profiles_of_all_studies() -> None:
    tables = mastery_board_tables()
    assert broken(mastery_board_expected(tables)) == {}
    lost = tables | {"mastery_board": tables["mastery_board"].slice(1)}
    assert set(broken(mastery_board_expected(lost))) == {"mastery_board:rows"}


@pytest.fixture
def _project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps run from the project's folder."""
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(ROOT)


def run_diagnosis(folder: Path, tables: Tables, plan: DiagnosisPlan) -> int:
    """The exit code of `validate_diagnosis`."""
    from scripts.gates import validate_diagnosis
    from scripts.step import run_step

    parts = {
        name: [tables[CALLED.get(name, name)]]
        for name in (*SAME, *CALLED)
        if CALLED.get(name, name) in tables
    }
    parts |= {name: [table] for name, table in tables.items() if name.startswith("saem_")}
    if plan.clusters is not None:
        for name, part in (("tried", "clusters"), ("tried_predictions", "predictions")):
            parts[name] = [tables[f"{part}/{k}"] for k in plan.clusters.tried]
    arguments = ["--params", json.dumps(asdict(plan)), "--wildcards", json.dumps({"study": "sums"})]
    arguments += [*written(folder, parts, CONTRACT_OF), *outputs(folder)]
    for name, document in documents(tables).items():
        write_json(folder / f"{name}.json", document, LINEAGE)
        arguments += ["--in", name, str(folder / f"{name}.json")]
    return exit_code(lambda: run_step("scripts.gates.validate_diagnosis", validate_diagnosis.run, arguments))


LINEAGE = make_lineage("test", wildcards={}, inputs=[], params={}, code={})


def documents(tables: Tables) -> dict[str, Any]:
    """The documents of a study as they were before they stood as tables."""
    (fit,) = tables["fit"].to_pylist()
    (verdict,) = tables["support"].to_pylist()
    whole = ("models", "items", "attributes", "loglik")
    diagnostics = {name: value for name, value in fit.items() if name not in whole}
    return {
        "fit": {name: fit[name] for name in whole}
        | {"diagnostics": diagnostics, "chains": tables["chains"].to_pylist()},
        "support": verdict | {"rungs": tables["rungs"].to_pylist()},
        "corrections": dict(
            zip(*(tables["corrections"][name].to_pylist() for name in ("correction", "items")), strict=True)
        ),
    }


@pytest.mark.usefixtures("_project")
@pytest.mark.parametrize("kind", ["clustered", "given"])
def test_a_study_passes_its_gate_as_a_step(tmp_path: Path, kind: str) -> None:
    made = {
        "clustered": (diagnosis_tables(), DIAGNOSIS_PLAN),
        "given": (given_tables(), GIVEN_PLAN),
    }
    assert run_diagnosis(tmp_path, *made[kind]) == 0
    report = json.loads((tmp_path / "gate.json").read_text())
    assert (report["module"], report["success"]) == ("diagnosis", True)


@pytest.mark.usefixtures("_project")
def test_mastery_that_no_chain_has_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = diagnosis_tables()
    row = tables["mastery"].to_pylist()[4]
    wrong = changed(tables["mastery"], 4, p=1 - row["p"])
    assert run_diagnosis(tmp_path, tables | {"mastery": wrong}, DIAGNOSIS_PLAN) == 1
    message = capsys.readouterr().err
    assert "mastery: mean_of_chains: expected the mean over chains; 1 row(s)" in message
    assert f"model={row['model']}, attribute={row['attribute']}: p=" in message
    assert not (tmp_path / "gate.json").exists()


def test_a_study_fitted_by_saem_keeps_every_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    import diagnosis_gate_tables as made

    from magister.diagnosis.irt import fit_2pl
    from magister.diagnosis.saem import SaemOptions, fit_saem

    class Saem(made.Guess):
        def __call__(self, given: Any, prior: Any, seed: int = 0, held_out: Any = None) -> Any:
            cells = None if held_out is None else (held_out.rows, held_out.columns)
            options = SaemOptions(draws=self.draws, max_sweeps=400)
            return fit_saem(given, prior, seed=seed, chains=self.chains, options=options, held_out=cells)

    monkeypatch.setattr(made, "Guess", Saem)
    monkeypatch.setattr(made, "by_ability", fit_2pl)
    plan = replace(GIVEN_PLAN, controls=replace(GIVEN_PLAN.controls, placebos=2))
    tables = make_given(plan)
    assert pc.count_distinct(tables["saem_trace"]["sweep"]).as_py() > 10
    assert broken(diagnosis_expected(tables, plan)) == {}


def test_of_bytes_a_report_shows_how_many() -> None:
    tables = diagnosis_tables()
    cut = tables | {"saem_draws": changed(tables["saem_draws"], 0, mastery=b"\0")}
    held, expectations = diagnosis_expected(cut)
    own = [one for one in expectations if one.table == "saem_draws"]
    report = run_gate("diagnosis", {"saem_draws": held["saem_draws"]}, own)
    entry = entry_of(report, "saem_draws:mastery_of_models")
    assert entry["first_failed_values"] == [{"mastery": "1 bytes"}]
    assert "saem_draws" in json.dumps(report)
