"""The scripts of profiles, controls, board and plots: files in, files out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import test_mastery_board as cases

from magister.contracts import schemas
from magister.contracts.diagnosis_tables import DIAGNOSIS_CONTRACTS, K_CURVE
from magister.diagnosis.profiles import entry_table
from magister.provenance import make_lineage, write_json, write_table
from scripts.boards import mastery_board, mastery_plots
from scripts.step import Step, read_table


@pytest.fixture(autouse=True)
def _contracts(monkeypatch: pytest.MonkeyPatch) -> None:
    for contract in DIAGNOSIS_CONTRACTS:
        monkeypatch.setitem(schemas.CONTRACTS, contract.name, contract)


def written(folder: Path, tables: dict[str, tuple[Any, str]]) -> dict[str, list[Path]]:
    """Tables and documents as the steps before write them."""
    lineage = make_lineage("test", wildcards={}, inputs=[], params={}, code={})
    paths = {}
    for name, (value, contract) in tables.items():
        path = folder / f"{name}.{'parquet' if contract else 'json'}"
        if contract:
            write_table(path, value, schemas.CONTRACTS[contract], lineage)
        else:
            write_json(path, value, lineage)
        paths[name] = [path]
    return paths


def step(rule: str, inputs: dict[str, list[Path]], outputs: dict[str, Path], **given: Any) -> Step:
    return Step(
        rule,
        f"scripts.boards.{rule}",
        inputs,
        outputs,
        given.get("params", {}),
        given.get("wildcards", {}),
        {},
    )


def test_the_board_is_written_for_people_and_for_programs(tmp_path: Path) -> None:
    found = cases.records()
    inputs = written(
        tmp_path,
        {
            "mastery": (found.mastery, "mastery"),
            "attributes": (found.attributes, "attribute_profiles"),
            "item_profiles": (found.items, "item_profiles"),
            "predictions": (found.predictions, "predictions"),
            "checks": (found.checks, "diagnosis_checks"),
            "responses": (found.responses, "response_matrix"),
            "screening": (found.screening, "screening"),
            "support": (dict(found.verdict), ""),
            "corrections": (dict(found.corrections), ""),
        },
    )
    outputs = {
        "parquet": tmp_path / "mastery_board.parquet",
        "csv": tmp_path / "board.csv",
        "md": tmp_path / "board.md",
        "beside": tmp_path / "beside.json",
    }
    mastery_board.run(step("mastery_board", inputs, outputs, params={"studies": ["sums"]}))
    assert pq.read_table(outputs["parquet"])["study"].unique().to_pylist() == ["sums"]
    assert outputs["md"].read_text().startswith("### Mastery: sums\n\n**")
    document = json.loads(outputs["beside"].read_text())["sums"]
    assert document["verdict"]["support"] == found.verdict["support"]
    assert len(document["verdict"]["rungs"]) == 7
    assert outputs["csv"].read_text().splitlines()[0].startswith("study,model,attribute,")


def test_four_plots_are_drawn(tmp_path: Path) -> None:
    fit, _, prior, _ = cases.study(12, 3)
    found = cases.records()
    inputs = written(
        tmp_path,
        {
            "mastery": (found.mastery, "mastery"),
            "entries": (entry_table(fit, prior), "q_entries"),
            "item_profiles": (found.items, "item_profiles"),
            "k_curve": (K_CURVE.schema.empty_table(), "k_curve"),
        },
    )
    outputs = {name: tmp_path / f"{name}.svg" for name in ("mastery", "q", "item_parameters", "k_curve")}
    mastery_plots.run(step("mastery_plots", inputs, outputs, wildcards={"study": "sums"}))
    assert all(path.read_text().startswith("<svg") for path in outputs.values())
    assert "Nothing to show" in outputs["k_curve"].read_text()
    assert "Nothing to show" not in outputs["q"].read_text()


CHECKS = {
    "seed": 0,
    "share": 0.1,
    "least_kept": 5,
    "placebos": 2,
    "placebo_chains": 1,
    "placebo_sweeps": 400,
    "replicates": 20,
    "least_models": 10,
    "least_items": 10,
    "alpha": 0.05,
    "tolerance": 0.05,
}


def test_a_study_goes_from_responses_to_profiles(tmp_path: Path) -> None:
    tables = pytest.importorskip("magister.diagnosis.saem_tables")
    from magister.diagnosis.qmatrix_tables import prior_table
    from magister.diagnosis.saem import fit_saem
    from scripts.diagnosis import diagnosis_checks, mastery_profiles

    fit, responses, prior, _ = cases.study(40, 3)
    fit = fit_saem(responses, prior, seed=0)
    found = cases.records()
    grid = [
        {"model": model, "item_id": item, "status": "ok", "correct": bool(value), "request_id": None}
        for model, line in zip(responses.models, responses.correct.tolist(), strict=True)
        for item, value in zip(responses.items, line, strict=True)
    ]
    names = [("item", name) for name in responses.items] + [("model", name) for name in responses.models]
    kept = {"n": 9, "n_correct": 0, "n_unparsed": 0, "n_missing": 0, "flags": [], "kept": True}
    attributes = [
        {"attribute": name, "label": name, "label_source": "terms", "status": "provisional"}
        | {"n_items": 3, "terms": ["sum"]}
        for name in fit.attributes
    ]
    made = {
        "responses": (found.responses.from_pylist(grid, schema=found.responses.schema), "response_matrix"),
        "screening": (
            found.screening.from_pylist(
                [{"kind": kind, "name": name} | kept for kind, name in names], schema=found.screening.schema
            ),
            "screening",
        ),
        "prior": (prior_table(prior), "q_prior"),
        "attributes": (
            found.responses.from_pylist(attributes, schema=schemas.CONTRACTS["q_attributes"].schema),
            "q_attributes",
        ),
    }
    fitted = tables.fit_tables(fit)._asdict()
    made |= {f"saem_{name}": (table, f"saem_{name}") for name, table in fitted.items()}
    inputs = written(tmp_path, made | {"fit": (tables.fit_record(fit), "")})
    outputs = {name: tmp_path / f"out_{name}.parquet" for name in ("predictions", "placebo", "checks")}
    outputs["support"] = tmp_path / "support.json"
    params = {
        "checks": CHECKS,
        "saem": {"chains": 2, "min_sweeps": 200, "max_sweeps": 400},
        "statistics": {"level": 0.95},
    }
    diagnosis_checks.run(step("diagnosis_checks", inputs, outputs, params=params))
    assert json.loads(outputs["support"].read_text())["support"] in schemas_support()
    assert read_table(outputs["placebo"]).num_rows == 3
    inputs["support"] = [outputs["support"]]
    profiles = {
        name: tmp_path / f"{name}.parquet"
        for name in ("mastery", "profiles", "correlations", "item_profiles", "entries")
    }
    profiles["corrections"] = tmp_path / "corrections.json"
    mastery_profiles.run(step("mastery_profiles", inputs, profiles, params=params))
    mastery = read_table(profiles["mastery"])
    assert mastery.num_rows == 40 * 3
    assert np.allclose(sorted(mastery["p"].to_pylist()), sorted(fit.alpha.ravel()))
    assert sum(json.loads(profiles["corrections"].read_text()).values()) == len(responses.items)


def schemas_support() -> tuple[str, ...]:
    return schemas.CONTRACTS["mastery"].allowed["support"]
