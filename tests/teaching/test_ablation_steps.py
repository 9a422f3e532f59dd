"""The ablations as steps: tables of a league and of its variants in, three tables and a gate out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from league_tables import Drawn, drawn

from magister.contracts.schemas import ANSWERS, BANDS, CONTRACTS, ITEMS
from magister.provenance import make_lineage, write_table
from magister.teaching.metrics import teaching_metrics

ROOT = Path(__file__).parents[2]
STATISTICS = {"resamples": 200, "level": 0.9, "seed": 3}
VARIANTS = [
    {"league": "other", "ablation": "option_order", "setting": "seed 1"},
    {"league": "longer", "ablation": "more_rounds", "setting": "4 rounds"},
]


@pytest.fixture(autouse=True)
def _project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps run from the project's folder."""
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(ROOT)


def items(league: Drawn) -> pa.Table:
    """The items of a league, and one of a data set that it does not use."""
    facts = league.items(range(league.own.shape[1]))  # type: ignore[arg-type]
    names = ("item_id", "dataset", "domain", "cluster_id")
    rows = [dict(zip(names, row, strict=True)) for row in zip(*(facts[name] for name in names), strict=True)]
    rows.append(rows[0] | {"item_id": "elsewhere", "dataset": "unused"})
    more = {
        "options": ["1", "2", "3", "4"],
        "origins": ["native"] * 4,
        "key": "A",
        "gold": "1",
        "multi": False,
    }
    more |= {
        "rewrite_status": "native",
        "needs_options": False,
        "options_in_question": False,
        "question": "?",
    }
    return pa.Table.from_pylist([row | more for row in rows], schema=ITEMS.schema)


def own(league: Drawn, teacher: int) -> pa.Table:
    """A teacher's zero-shot answers."""
    rows = [
        {
            "model": f"t{teacher}",
            "item_id": f"i{n:03d}",
            "request_id": "q",
            "status": "ok",
            "rule": "r",
            "text": "",
        }
        | {"answer": "A", "correct": bool(right)}
        for n, right in enumerate(league.own[teacher])
    ]
    return pa.Table.from_pylist(rows, schema=ANSWERS.schema)


def written(folder: Path, name: str, contract: str, *tables: pa.Table) -> list[str]:
    """Write the tables of an input; its `--in` arguments."""
    lineage = make_lineage("test", wildcards={}, inputs=[], params={}, code={})
    paths = [folder / f"{name}{n}.parquet" for n in range(len(tables))]
    for path, table in zip(paths, tables, strict=True):
        write_table(path, table, CONTRACTS[contract], lineage)
    return ["--in", name, *map(str, paths)]


def run(module: str, arguments: list[str]) -> int:
    """The exit code of a step."""
    import importlib

    from scripts.step import run_step

    try:
        run_step(f"scripts.{module}", importlib.import_module(f"scripts.{module}").run, arguments)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def ablate_files(folder: Path, leagues: list[Drawn], variants: list[dict[str, str]]) -> int:
    """Run `league_ablations` on a league and its variants."""
    base = leagues[0]
    teachers = range(base.own.shape[0])
    params: Any = {
        "datasets": ["d0", "d1"],
        "policy": "wrong",
        "statistics": STATISTICS,
        "variants": variants,
    }
    answers = [[own(league, k) for k in teachers] for league in leagues]
    arguments = ["--params", json.dumps(params), "--wildcards", json.dumps({"league": "main"})]
    arguments += written(folder, "items_table", "items", items(base))
    arguments += written(folder, "bands", "bands", BANDS.schema.empty_table())
    arguments += written(folder, "trajectories", "trajectories", base.table())
    arguments += written(folder, "zero_shot", "answers", *answers[0])
    arguments += written(folder, "variants", "trajectories", *(league.table() for league in leagues[1:]))
    arguments += written(folder, "variants_zero_shot", "answers", *(t for part in answers[1:] for t in part))
    for name in ("ablations", "agreement", "contamination"):
        arguments += ["--out", name, str(folder / f"{name}.parquet")]
    return run("ablations.league_ablations", arguments)


def gate_files(folder: Path, base: Drawn, variants: list[dict[str, str]]) -> int:
    """Run `validate_ablations` on what that left."""
    metrics = teaching_metrics(base.table(), base.answers(), policy="wrong", **STATISTICS)
    params = {"teachers": base.teachers, "students": ["s0", "s1"], "rounds": 3, "variants": variants}
    arguments = ["--params", json.dumps(params), "--wildcards", json.dumps({"league": "main"})]
    for name in ("ablations", "agreement", "contamination"):
        arguments += ["--in", name, str(folder / f"{name}.parquet")]
    arguments += written(folder, "metrics", "metrics", metrics)
    arguments += ["--out", "gate", str(folder / "gate.json"), "--out", "page", str(folder / "gate.html")]
    return run("gates.validate_ablations", arguments)


def test_a_league_and_its_variants_are_ablated_and_pass_the_gate(tmp_path: Path) -> None:
    base, other, longer = drawn(), drawn(2), drawn(3, rounds=4)
    other.league, longer.league = "other", "longer"
    assert ablate_files(tmp_path, [base, other, longer], VARIANTS) == 0
    expected = base.ablated(
        other.variant("option_order", "seed 1"), longer.variant("more_rounds", "4 rounds"), **STATISTICS
    )
    for name, table in expected._asdict().items():
        assert pq.read_table(tmp_path / f"{name}.parquet").equals(table), name
    assert gate_files(tmp_path, base, VARIANTS) == 0


def test_a_league_without_variants_has_no_rows_of_contamination(tmp_path: Path) -> None:
    assert ablate_files(tmp_path, [drawn()], []) == 0
    assert pq.read_table(tmp_path / "contamination.parquet").num_rows == 0
    assert gate_files(tmp_path, drawn(), []) == 0


def test_the_gate_names_a_league_that_was_not_ablated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ablate_files(tmp_path, [drawn()], []) == 0
    assert gate_files(tmp_path, drawn(), VARIANTS[:1]) == 1
    message = capsys.readouterr().err
    assert (
        "contamination: expect_table_row_count_to_equal: expected 5 rows: 1 forms of the items x 5" in message
    )


def test_files_that_do_not_fit_the_variants_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ablate_files(tmp_path, [drawn()], VARIANTS) == 2
    assert "2 variants want as many trajectories and 5 files of own answers each" in capsys.readouterr().err
