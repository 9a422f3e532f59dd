"""The mastery board: the verdict first, controls with every profile, names that are data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profile_cases import (
    CONVERGED,
    KnownMastery,
    irt_fit,
    made_fit,
    made_prior,
    made_responses,
    two_way_means,
)

from magister.contracts.diagnosis_tables import MASTERY_BOARD, RESPONSE_MATRIX, SCREENING
from magister.diagnosis._board_text import MOST_MODELS, render_markdown, render_text
from magister.diagnosis.board import StudyRecords, beside, mastery_board, model_rows
from magister.diagnosis.controls import Controls, Fitters, Plan, run_controls
from magister.diagnosis.profiles import attribute_table, corrections, item_table, mastery_table
from magister.diagnosis.simulation import simulate_dina, simulate_mastery, simulate_q
from magister.display import columns
from magister.provenance._artifact import conform


def study(models: int, attributes: int, *, placebos: int = 19) -> tuple[Any, Any, Any, Controls]:
    rng = np.random.default_rng(4)
    q = simulate_q(5 * attributes, attributes, rng)
    truth = simulate_dina(simulate_mastery(models, attributes, 0.3, rng), q, rng)
    responses, prior = made_responses(truth.responses.correct), made_prior(q)
    fitter = KnownMastery(truth.alpha)
    fitters = Fitters(fitter, fitter, lambda rest: irt_fit(rest, two_way_means(rest)))
    found = run_controls(
        responses, prior, CONVERGED, fitters, Plan(seed=0, placebos=placebos, replicates=100)
    )
    p = np.clip(truth.alpha * 0.9 + 0.05 + 0.2 * (rng.random(truth.alpha.shape) - 0.5), 0.01, 0.99)
    unlocked = np.full(p.shape, 3.0)
    unlocked[:, -1] = 0.0
    return made_fit(p, q, unlocked=unlocked, pooled=[True] + [False] * (len(q) - 1)), responses, prior, found


def records(
    models: int = 12, attributes: int = 3, *, labels: list[str] | None = None, **how: Any
) -> StudyRecords:
    fit, responses, prior, found = study(models, attributes, **how)
    names = labels or [f"skill {k}" for k in range(1, attributes + 1)]
    known = [
        {"attribute": name, "label": label, "status": "provisional", "terms": ["sum"]}
        for name, label in zip(fit.attributes, names, strict=True)
    ]
    answered = [
        {"model": model, "item_id": item, "status": "ok", "correct": bool(value), "request_id": None}
        for model, line in zip(responses.models, responses.correct.tolist(), strict=True)
        for item, value in zip(responses.items, line, strict=True)
    ]
    screened = [
        {"kind": "model", "name": "mute", "flags": ["format_failed"], "kept": False},
        {"kind": "model", "name": "fine", "flags": [], "kept": True},
        {"kind": "item", "name": "easy", "flags": ["all_right"], "kept": True},
    ]
    blank = {"n": 9, "n_correct": 0, "n_unparsed": 0, "n_missing": 0, "share": None, "duplicate_of": None}
    return StudyRecords(
        verdict=found.verdict.document(),
        corrections=corrections(fit, prior),
        mastery=mastery_table(fit, names, found.verdict.support),
        attributes=attribute_table(fit, known),
        items=item_table(fit, responses),
        predictions=found.predictions,
        checks=found.checks,
        responses=pa.Table.from_pylist(answered, schema=RESPONSE_MATRIX.schema),
        screening=pa.Table.from_pylist([blank | row for row in screened], schema=SCREENING.schema),
    )


def shown(found: StudyRecords, name: str = "sums", width: int = 80) -> tuple[str, str]:
    board = mastery_board({name: found.mastery})
    documents = {name: beside(found)}
    return render_text(board, documents, width), render_markdown(board, documents)


def named(table: pa.Table, column: str, names: list[str]) -> pa.Table:
    place = table.column_names.index(column)
    old = sorted(set(table[column].to_pylist()))
    new = dict(zip(old, names, strict=True))
    return table.set_column(
        place, table.schema.field(column), pa.array([new[name] for name in table[column].to_pylist()])
    )


def test_studies_stand_in_one_table_by_their_names() -> None:
    found = records()
    board = conform(mastery_board({"b": found.mastery, "a": found.mastery}), MASTERY_BOARD)
    assert board.num_rows == 2 * found.mastery.num_rows
    assert board["study"][0].as_py() == "a"
    assert mastery_board({}).schema == MASTERY_BOARD.schema


@pytest.mark.parametrize("support", ["supported", "not_supported", "undetermined"])
def test_the_verdict_and_its_reasons_come_first(support: str) -> None:
    found = records()
    found = StudyRecords(
        **(vars(found) | {"verdict": {"support": support, "reasons": ["first why"], "rungs": []}})
    )
    text, markdown = shown(found)
    words = {
        "supported": "profiles SUPPORTED",
        "not_supported": "profiles NOT SUPPORTED",
        "undetermined": "UNDETERMINED",
    }
    first, second, *_ = text.splitlines()
    assert first == f"Mastery, study sums: {words[support]}" + first.partition(words[support])[2]
    assert second == "  - first why"
    assert markdown.index(words[support]) < markdown.index("first why") < markdown.index("| held out")
    assert ("Do not read the profiles" in text) == (support == "not_supported")
    assert ("Do not read the profiles" in markdown) == (support == "not_supported")


def test_every_control_is_printed_with_the_profiles() -> None:
    for page in shown(records()):
        for words in (
            *("DINA", "reference Q", "items' means", "2PL", "shuffled"),
            *("joint test", "share of reference kept", "pairs of items", "skill 3", "prov."),
            "12 models, 15 items, 3 attributes",
            "1 of 2 models left out (format_failed 1)",
            "15 confirmed",
            "1 item hardly told",
        ):
            assert words in " ".join(page.split())
    text, _ = shown(records(placebos=3))
    assert "p cannot get to 0.05 with 3 placebos" in " ".join(text.split())


def test_signs_of_the_grid_are_the_states_of_the_table() -> None:
    found = records()
    text, _ = shown(found)
    rows = {(row["model"], row["attribute"]): row for row in found.mastery.to_pylist()}
    signs = {"mastered": "+", "not_mastered": "-", "undetermined": "?"}
    for model, _, _ in model_rows(mastery_board({"sums": found.mastery}), "sums"):
        line = next(line for line in text.splitlines() if line.startswith(f"{model} "))
        cells = line.split()[-1]
        expected = [rows[model, f"attribute {k:03d}"] for k in (1, 2, 3)]
        assert cells == "".join("." if r["basis"] == "prior" else signs[r["state"]] for r in expected)


def test_models_that_master_most_come_first_and_the_rest_is_counted() -> None:
    found = records(models=MOST_MODELS + 7)
    board = mastery_board({"sums": found.mastery})
    means = [mean for _, mean, _ in model_rows(board, "sums")]
    assert means == sorted(means, reverse=True)
    text, markdown = shown(found)
    assert "7 more models with a lower mean are in the table." in text
    assert "7 more with a lower mean are in the table" in markdown
    assert text.count("model 0") == MOST_MODELS


@pytest.mark.parametrize("attributes", [3, 28, 70])
@pytest.mark.parametrize("width", [80, 140])
def test_no_line_is_longer_than_the_terminal(attributes: int, width: int) -> None:
    found = records(attributes=attributes)
    long = [f"a family of models of some length-{n:02d}-instruct-2025" for n in range(12)]
    found = StudyRecords(**(vars(found) | {"mastery": named(found.mastery, "model", long)}))
    text, _ = shown(found, "a study with a name that is not short at all, so that it must be folded", width)
    assert max(columns(line) for line in text.splitlines()) <= width
    # Cut names stay different.
    grid = [line.split(" 0.")[0] for line in text.splitlines() if line.startswith("a f")]
    assert len(set(grid)) == 12


@given(st.text(max_size=30))
@settings(max_examples=25, deadline=None)
def test_names_are_data(name: str) -> None:
    found = STUDY
    names = [f"{n}{name}" for n in range(12)]
    found = StudyRecords(**(vars(found) | {"mastery": named(found.mastery, "model", names)}))
    board, documents = mastery_board({"sums": found.mastery}), {"sums": beside(found)}
    markdown = render_markdown(board, documents)
    pipes = markdown.count("|") - markdown.count("\\|")
    plain = render_markdown(mastery_board({"sums": STUDY.mastery}), {"sums": beside(STUDY)})
    assert pipes == plain.count("|") - plain.count("\\|")
    assert markdown.count("\n") == plain.count("\n")


STUDY = records()


def test_a_label_of_markup_stays_text() -> None:
    text, markdown = shown(records(labels=["<b>|x|</b>", "[a](b)", "plain"]))
    assert "<b>" not in markdown
    assert "&lt;b>\\|x\\|" in markdown
    assert "<b>|x|</b>" in text


def test_attributes_not_to_be_told_apart_are_said() -> None:
    found = records()
    rows = found.attributes.to_pylist()
    rows[2]["duplicate_of"] = rows[0]["attribute"]
    table = pa.Table.from_pylist(rows, schema=found.attributes.schema)
    text, markdown = shown(StudyRecords(**(vars(found) | {"attributes": table})))
    for page in (text, markdown):
        assert "not to be told apart: 3 as 1." in " ".join(page.split())


def test_nothing_diagnosed_is_said() -> None:
    for page in (render_text(mastery_board({}), {}), render_markdown(mastery_board({}), {})):
        assert page == "No study has been diagnosed yet.\n"


def test_states_are_counted_over_all_models() -> None:
    document = beside(records())
    for row in document["attributes"]:
        assert sum(row["states"].values()) == 12
    assert document["attributes"][-1]["states"] == {"mastered": 0, "not_mastered": 0, "undetermined": 12}
    assert document["sizes"]["responses"] == {"ok": 180}
