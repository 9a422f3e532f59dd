"""`magister diagnose`: reading, screening, options, output and exit codes; fits stand in for themselves."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_helpers import Run, widest

from magister.diagnosis import study
from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.prior import QPrior

MODELS = ("ann", "bob", "a-model-with-a-name-that-is-much-too-long-for-a-column")


@pytest.fixture
def fitted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[ResponseMatrix, study.Believed, study.FitOptions]]:
    """Fits that say the same of everybody; what they were given."""
    seen: list[tuple[ResponseMatrix, study.Believed, study.FitOptions]] = []

    def given(q: QPrior, belief: str, p_star: float) -> study.Believed:
        return study.Believed(
            q, pa.table({"attribute": list(q.attributes)}), notes=(f"believed {belief} {p_star}",)
        )

    def texts(items: pa.Table, vectors: Any, ks: Any, seed: int) -> study.Believed:
        ids, found = tuple(items["item_id"].to_pylist()), np.ones((items.num_rows, 1))
        assert len(vectors) == items.num_rows
        prior = QPrior(ids, ("a01",), found == 1, found)
        return study.Believed(prior, pa.table({"attribute": ["a01"]}), notes=(f"tried {ks} by seed {seed}",))

    def fit(matrix: ResponseMatrix, believed: study.Believed, options: study.FitOptions) -> study.Profiles:
        seen.append((matrix, believed, options))
        names = believed.prior.attributes
        attributes = [
            {
                "attribute": name,
                "label": f"{name} label",
                "label_status": "given",
                "terms": ["x", "y"],
                "n_items": 2,
            }
            | {"prevalence": 0.5, "ci_low": 0.25, "ci_high": None, "level": 0.95, "accuracy": 0.9}
            | {"duplicate_of": None}
            for name in names
        ]
        mastery = [
            {"model": model, "attribute": name, "label": f"{name} label", "p": p, "sd": 0.1, "basis": basis}
            | {"state": state, "support": "not_supported"}
            for model in sorted(matrix.models)
            for name, p, basis, state in zip(
                names,
                [0.95, 0.05, 0.5, 1.0] * 5,
                ["responses", "responses", "prior", "responses"] * 5,
                ["mastered", "not_mastered", "undetermined", "mastered"] * 5,
                strict=False,
            )
        ]
        items = [{"item_id": item, "pooled": item == "i1"} for item in matrix.items]
        tables = {
            "attribute_profiles": pa.Table.from_pylist(attributes),
            "mastery": pa.Table.from_pylist(mastery),
            "item_profiles": pa.Table.from_pylist(items),
        }
        return study.Profiles(
            tables, "not_supported", ("2PL is better",), {"support": "not_supported"}, ("SAEM ran",)
        )

    monkeypatch.setattr(study, "given_prior", given)
    monkeypatch.setattr(study, "text_prior", texts)
    monkeypatch.setattr(study, "fit_profiles", fit)
    return seen


def responses(name: str = "r.csv", *extra: str) -> str:
    rows = ["i1,1,0,1", "i2,0,1,", "i3,1,1,NA", "i4,0,0,0", *extra]
    Path(name).write_text("\n".join([",".join(["item_id", *MODELS]), *rows]) + "\n", encoding="utf-8")
    return name


def q_matrix(attributes: int = 2) -> str:
    heads = [f"p{number}" for number in range(attributes)]
    rows = [
        f"i{at},{','.join('1' if (at + k) % 2 else '0' for k in range(attributes))}" for at in range(1, 5)
    ]
    Path("q.csv").write_text("\n".join([",".join(["item_id", *heads]), *rows]) + "\n", encoding="utf-8")
    return "q.csv"


def test_people_get_counts_policy_screening_verdict_and_profiles(run: Run, fitted: list) -> None:
    done = run("diagnose", responses(), "--q", q_matrix(4))
    assert (done.code, done.err) == (0, "Fitting; then 22 fits for the controls ...\n")
    said = " ".join(done.out.split())
    assert (
        "r.csv: 3 models x 4 items: 10 of 12 responses read, 1 unparsed (count as wrong), 1 missing" in said
    )
    assert "Screening: 1 item all_wrong (0 left out): i4." in said
    assert "believed point 0.8." in said
    assert "PROFILES ARE NOT SUPPORTED by the controls: - 2PL is better." in said
    assert "p0 p0 label 2 .50 [.25, ?] .90 given" in said
    assert "ann .95±.10+ .05±.10- .50(p)? 1.00±.10+" in said
    assert "1 of 4 items do not tell those who master" in said
    assert widest(done.out) <= 80
    # Models stand in the order of the file.
    assert done.out.index("\nann") < done.out.index("\nbob") < done.out.index("\na-model")


def test_many_attributes_are_printed_in_blocks_within_80_columns(run: Run, fitted: list) -> None:
    rows = [f"i{at}," + ",".join(str((at * k) % 2) for k in range(1, 31)) for at in range(1, 31)]
    Path("r.csv").write_text(
        "\n".join(["item_id," + ",".join(f"m{k}" for k in range(30)), *rows]), encoding="utf-8"
    )
    q = [f"i{at}," + ",".join("1" if k == at % 20 else "0" for k in range(20)) for at in range(1, 31)]
    Path("q.csv").write_text(
        "\n".join(["item_id," + ",".join(f"p{k}" for k in range(20)), *q]), encoding="utf-8"
    )
    done = run("diagnose", "r.csv", "--q", "q.csv")
    assert done.code == 0
    assert widest(done.out) <= 80
    assert done.out.count("\nmodel ") > 1
    assert "... and 10 more models: --format csv or --out has them all." in done.out


def test_programs_get_the_mastery_table_and_no_notes(run: Run, fitted: list) -> None:
    done = run("diagnose", responses(), "--q", q_matrix(), "--format", "json")
    rows = json.loads(done.out)
    assert [(row["model"], row["attribute"]) for row in rows][-2:] == [("bob", "p0"), ("bob", "p1")]
    assert "PROFILES ARE NOT SUPPORTED" in done.err
    done = run("diagnose", responses(), "--q", q_matrix(), "--format", "csv")
    assert {row["support"] for row in csv.DictReader(io.StringIO(done.out))} == {"not_supported"}


def test_all_tables_go_to_a_new_folder(run: Run, fitted: list) -> None:
    done = run("diagnose", responses(), "--q", q_matrix(), "--out", "new/all")
    assert done.code == 0
    names = {path.name for path in Path("new/all").iterdir()}
    assert {
        "mastery.csv",
        "mastery.parquet",
        "response_matrix.parquet",
        "screening.csv",
        "verdict.json",
    } <= names
    assert pq.read_table("new/all/screening.parquet").num_rows == 7
    assert "x; y" in Path("new/all/attribute_profiles.csv").read_text(encoding="utf-8")
    again = run("diagnose", responses(), "--q", q_matrix(), "--out", "new/all")
    assert (again.code, "new/all: this is there already" in again.err) == (2, True)


def test_options_reach_the_fit(run: Run, fitted: list) -> None:
    options = ("--chains", "2", "--placebos", "5", "--seed", "7", "--method", "exact_em", "--belief", "fixed")
    assert run("diagnose", responses(), "--q", q_matrix(), *options).code == 0
    matrix, _, found = fitted[-1]
    assert found == study.FitOptions("exact_em", chains=2, placebos=5, seed=7)
    assert matrix.models == MODELS
    assert matrix.correct[2].tolist() == [1, 0, -1, 0]
    run("diagnose", responses(), "--q", q_matrix(), "--unparsed", "missing")
    assert fitted[-1][0].correct[2].tolist() == [1, -1, -1, 0]
    run("diagnose", responses(), "--q", q_matrix(), "--empty", "missing")
    assert fitted[-1][0].correct[2].tolist() == [1, -1, -1, 0]


def test_attributes_are_made_of_texts_by_their_file_or_their_vectors(run: Run, fitted: list) -> None:
    texts = "item_id,text\n" + "".join(f"i{at},text {at}\n" for at in range(1, 6))
    Path("items.csv").write_text(texts, encoding="utf-8")
    done = run("diagnose", responses(), "--text", "items.csv", "-k", "2", "-k", "3", "--seed", "4")
    assert done.code == 0
    assert "vectors: hashed words" in done.out
    assert "tried [2, 3] by seed 4." in done.out
    assert fitted[-1][1].prior.items == ("i1", "i2", "i3", "i4")
    np.save("v.npy", np.eye(5, dtype=np.float32))
    Path("v.txt").write_text("i5\ni4\ni3\ni2\ni1\n", encoding="utf-8")
    done = run("diagnose", responses(), "--text", "items.csv", "--vectors", "v.npy")
    assert "vectors: v.npy." in done.out
    Path("v.txt").write_text("i5\ni4\ni3\ni2\nx\n", encoding="utf-8")
    done = run("diagnose", responses(), "--text", "items.csv", "--vectors", "v.npy")
    assert (done.code, "1 items have no vector, first 'i1'" in done.err) == (2, True)


def test_models_and_items_that_are_screened_out_are_fitted_only_if_asked_for(run: Run, fitted: list) -> None:
    name = responses("r.csv", "i5,NA,NA,1")
    Path("q.csv").write_text("item_id,p\ni1,1\ni2,1\ni3,1\ni4,1\ni5,1\n", encoding="utf-8")
    done = run("diagnose", name, "--q", "q.csv")
    assert "Fitted: 3 models x 4 items." in done.out
    assert fitted[-1][0].items == ("i1", "i2", "i3", "i4")
    done = run("diagnose", name, "--q", "q.csv", "--screening", "keep")
    assert fitted[-1][0].items == ("i1", "i2", "i3", "i4", "i5")
    only = run("diagnose", name, "--screening", "only", "--format", "json")
    assert only.code == 0
    rows = {row["name"]: row for row in json.loads(only.out)}
    assert rows["i5"]["flags"] == ["few_responses", "all_right"]
    assert len(fitted) == 2


def test_a_bad_cell_is_an_error_unless_there_is_a_place_to_list_it(run: Run, fitted: list) -> None:
    name = responses("r.csv", "i5,1,7,0")
    done = run("diagnose", name, "--screening", "only")
    assert done.code == 2
    assert "r.csv: row 6, column 'bob': expected 1, 0, true, false" in " ".join(done.err.split())
    done = run("diagnose", name, "--screening", "only", "--rejected", "out/bad.csv")
    assert done.code == 1
    assert "1 cell(s) or row(s) are no responses and count as missing; see out/bad.csv" in done.err
    (row,) = csv.DictReader(io.StringIO(Path("out/bad.csv").read_text(encoding="utf-8")))
    assert (row["row"], row["column"], row["raw"], row["reason"]) == ("6", "bob", "7", "bad_value")


def test_logs_of_other_tools_are_read(run: Run, fitted: list) -> None:
    for model, value in (("a", 1.0), ("b", 0.0)):
        lines = [
            {"doc_id": at, "doc": {"question": f"Why {at}?"}, "target": "so", "resps": [["so"]]}
            | {"filtered_resps": ["so"], "metrics": ["acc"], "acc": value}
            for at in range(3)
        ]
        Path(model).mkdir()
        Path(f"{model}/samples_toy.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    done = run("diagnose", "a/samples_toy.jsonl", "b/samples_toy.jsonl", "--logs", "lm_eval", "-k", "1")
    assert done.code == 0
    assert "2 models x 3 items: 6 of 6 responses read" in " ".join(done.out.split())
    assert fitted[-1][0].models == ("a", "b")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("r.csv",), "no attributes: give a Q-matrix with --q, or the items' texts with --text"),
        (("r.csv", "--q", "q.csv", "--text", "t.csv"), "--q and --text: give one of them"),
        (("r.csv", "--method", "exact_em"), "takes a Q-matrix as it is: give it with --q"),
        (("r.csv", "--belief", "fixed"), "--belief fixed is for a Q-matrix"),
        (("r.csv", "--q", "q.csv", "-k", "3"), "--attributes is for attributes made from texts"),
        (("r.csv", "--q", "q.csv", "--p-star", "1.2"), "expected a probability"),
        (("r.csv", "r.csv", "--q", "q.csv"), "2 files of responses; expected one"),
        (("r.csv", "--q", "q.csv", "--column", "item_id"), "--column 'item_id': expected ROLE=NAME"),
        (("r.csv", "--q", "no.csv"), "no.csv: not found"),
        (("no.csv", "--q", "q.csv"), "no.csv: not found"),
        (("r.csv", "--q", "q.csv", "--min-models", "9"), "screening leaves nothing of 3 models x 4 items"),
        (("r.csv", "--text", "r.csv"), "expected the columns item_id and text"),
    ],
)
def test_mistakes_are_told_with_what_to_do(
    run: Run, fitted: list, arguments: tuple[str, ...], says: str
) -> None:
    responses()
    q_matrix()
    done = run("diagnose", *arguments)
    assert done.code == 2
    assert says in " ".join(done.err.split())
