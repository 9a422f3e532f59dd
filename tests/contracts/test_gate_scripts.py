"""The gates as steps: what they leave on disk, what they say, and with which code they end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from arena_gate_tables import arena_board_tables
from diagnosis_gate_tables import mastery_board_tables
from gate_tables import ITEMS_PLAN, PLAN, board_tables, external_tables, item_tables, teaching_tables

from magister.contracts.schemas import CONTRACTS
from magister.errors import UserError
from magister.provenance import make_lineage, read_lineage, write_table

ROOT = Path(__file__).parents[2]
CONTRACT_OF = {
    "items_table": "items",
    "built": "items",
    "pool_rejected": "rejected",
    "ladder_answers": "answers",
    "blind_answers": "answers",
    "zero_shot": "answers",
    "guides_asked": "asked",
    "revisions_asked": "asked",
    "board": "teaching_board",
    "variants": "items",
    "variant_reports": "variant_report",
    "meta": "meta_evaluation",
    "arena_ratings": "ratings",
}


@pytest.fixture(autouse=True)
def _project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps run from the project's folder."""
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(ROOT)


def written(
    folder: Path, tables: dict[str, list[pa.Table]], contracts: Mapping[str, str] = CONTRACT_OF
) -> list[str]:
    """Write tables as the pipeline does, by the contracts of their names; return the `--in` arguments."""
    lineage = make_lineage("test", wildcards={}, inputs=[], params={}, code={})
    arguments = []
    for name, parts in tables.items():
        paths = [folder / f"{name}{n}.parquet" for n in range(len(parts))]
        for path, part in zip(paths, parts, strict=True):
            write_table(path, part, CONTRACTS[contracts.get(name, name)], lineage)
        arguments += ["--in", name, *map(str, paths)]
    return arguments


def run_items(folder: Path, tables: dict[str, pa.Table]) -> int:
    """The exit code of `validate_items`; the pool comes in two files, as from two data sets."""
    from scripts.gates import validate_items
    from scripts.step import run_step

    parts = {
        "items_table" if name == "items" else name: [table]
        for name, table in tables.items()
        if not name.startswith("variant")
    }
    for name in ("pool", "pool_rejected"):
        parts[name] = [tables[name].slice(0, 4), tables[name].slice(4)]
    report, names = tables["variant_report"], sorted(ITEMS_PLAN.variants)
    parts["variants"] = [tables[f"variants/{name}"] for name in names]
    parts["variant_reports"] = [report.filter(pc.equal(report["variant"], name)) for name in names]
    arguments = ["--params", json.dumps(asdict(ITEMS_PLAN)), "--log", str(folder / "log")]
    arguments += [*written(folder, parts), *outputs(folder)]
    return exit_code(lambda: run_step("scripts.gates.validate_items", validate_items.run, arguments))


def run_teaching(folder: Path, tables: dict[str, pa.Table]) -> int:
    """The exit code of `validate_teaching`."""
    from scripts.gates import validate_teaching
    from scripts.step import run_step

    names = ("students", "teachers", "arms", "rounds", "datasets")
    params = {name: getattr(PLAN, name) for name in names} | {"blind": PLAN.blindness}
    parts = {"items_table" if name == "items" else name: [table] for name, table in tables.items()}
    arguments = ["--params", json.dumps(params), "--wildcards", json.dumps({"league": PLAN.league})]
    arguments += [*written(folder, parts), *outputs(folder)]
    return exit_code(lambda: run_step("scripts.gates.validate_teaching", validate_teaching.run, arguments))


def run_boards(folder: Path, tables: dict[str, pa.Table]) -> int:
    """The exit code of `validate_boards`."""
    from scripts.gates import validate_boards
    from scripts.step import run_step

    league = {name: getattr(PLAN, name) for name in ("teachers", "arms", "rounds")}
    arena = arena_board_tables()
    arenas = [name.removeprefix("ratings/") for name in arena if "/" in name]
    mastery = mastery_board_tables()
    studies = [name.removeprefix("mastery/") for name in mastery if "/" in name]
    params = {"leagues": {PLAN.league: league}, "arenas": arenas, "studies": studies}
    arguments = ["--params", json.dumps(params)]
    external = external_tables(PLAN)
    tables = {"meta": external["meta_evaluation"], "meta_names": external["meta_names"]} | tables
    boards = {"arena_board": arena["arena_board"], "mastery_board": mastery["mastery_board"]}
    parts = {name: [table] for name, table in (boards | tables).items()}
    parts["arena_ratings"] = [arena[f"ratings/{name}"] for name in arenas]
    parts["mastery"] = [mastery[f"mastery/{name}"] for name in studies]
    arguments += [*written(folder, parts), *outputs(folder)]
    return exit_code(lambda: run_step("scripts.gates.validate_boards", validate_boards.run, arguments))


def outputs(folder: Path) -> list[str]:
    """The `--out` arguments of a gate."""
    return ["--out", "gate", str(folder / "gate.json"), "--out", "page", str(folder / "gate.html")]


def exit_code(step: Any) -> int:
    try:
        step()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def with_status(tables: dict[str, pa.Table], status: str) -> dict[str, pa.Table]:
    """Say of the first item that it was rewritten in another way."""
    rows = tables["items"].to_pylist()
    rows[0]["rewrite_status"] = status
    return tables | {"items": pa.Table.from_pylist(rows, schema=tables["items"].schema)}


def test_a_gate_that_passes_writes_its_report_with_lineage(tmp_path: Path) -> None:
    assert run_items(tmp_path, item_tables()) == 0
    report = json.loads((tmp_path / "gate.json").read_text())
    assert report["success"] is True
    lineage = read_lineage(tmp_path / "gate.json")
    assert lineage["rule"] == "validate_items"
    assert "src/magister/contracts/items_suite.py" in lineage["code"]
    assert "src/magister/contracts/teaching_suite.py" not in lineage["code"]
    assert (tmp_path / "log").read_text() == "ok\n"


def test_a_gate_that_fails_says_which_rows_and_leaves_report_and_page_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_items(tmp_path, item_tables()) == 0
    assert run_items(tmp_path, with_status(item_tables(), "im<b>proved")) == 1
    message = capsys.readouterr().err
    failed = tmp_path / "gate.failed.json"
    assert "gate of items: 1 of" in message
    assert "items: rewrite_status_known: expected one of native, rules, rewritten or" in message
    assert "item_id=demo-0: rewrite_status='im<b>proved'" in message
    assert f"Full report: {failed}" in message
    assert (tmp_path / "log").read_text() == message
    assert not (tmp_path / "gate.json").exists()
    assert not (tmp_path / "gate.html").exists()
    report = json.loads(failed.read_text())
    assert report["success"] is False
    page = (tmp_path / "gate.failed.html").read_text()
    assert "im&lt;b&gt;proved" in page
    assert str(tmp_path) not in failed.read_text() + page


def test_a_gate_that_passes_again_removes_what_the_failure_left(tmp_path: Path) -> None:
    assert run_items(tmp_path, with_status(item_tables(), "improved")) == 1
    assert run_items(tmp_path, item_tables()) == 0
    assert {path.name for path in tmp_path.glob("gate*")} == {
        *("gate.json", "gate.json.lineage.json", "gate.html", "gate.html.lineage.json"),
    }
    assert read_lineage(tmp_path / "gate.html") == read_lineage(tmp_path / "gate.json")


def test_the_gate_file_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
        assert run_teaching(folder, teaching_tables()) == 0
    for name in ("gate.json", "gate.html"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
        assert str(tmp_path) not in (first / name).read_text()


def test_the_gate_of_the_boards_names_a_number_that_nobody_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = board_tables()
    assert run_boards(tmp_path, tables) == 0
    rows = tables["board"].to_pylist()
    next(row for row in rows if row["teacher"] == "una")["aa"] = 0.75
    tables["board"] = pa.Table.from_pylist(rows, schema=tables["board"].schema)
    assert run_boards(tmp_path, tables) == 1
    message = capsys.readouterr().err
    assert "aa_as_measured: expected AA as in the metrics; 1 row(s)" in message
    assert "league=main, arm=taught, teacher=una: aa=0.75" in message


def test_the_gate_of_the_boards_names_a_rating_that_no_league_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board = arena_board_tables()["arena_board"]
    rows = board.to_pylist()
    rows[0]["rating"] = 1500.25
    tables = board_tables() | {"arena_board": pa.Table.from_pylist(rows, schema=board.schema)}
    assert run_boards(tmp_path, tables) == 1
    message = capsys.readouterr().err
    assert "arena_board: as_rated: expected as in the ratings of the league; 1 row(s)" in message
    assert f"league=small, scope={rows[0]['scope']}" in message


def test_the_gate_of_the_boards_names_a_mastery_that_no_study_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board = mastery_board_tables()["mastery_board"]
    rows = board.to_pylist()
    rows[0]["p"] = 0.123
    tables = board_tables() | {"mastery_board": pa.Table.from_pylist(rows, schema=board.schema)}
    assert run_boards(tmp_path, tables) == 1
    message = capsys.readouterr().err
    assert "mastery_board: as_profiled: expected as in the profiles of the study; 1 row(s)" in message
    assert f"study=file, model={rows[0]['model']}" in message


def test_the_gate_of_the_boards_misses_a_teacher_that_nobody_looked_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = external_tables(PLAN)["meta_names"]
    kept = names.filter(pa.compute.not_equal(names["model"], "una"))
    assert run_boards(tmp_path, board_tables() | {"meta_names": kept}) == 1
    message = capsys.readouterr().err
    assert "meta_names: every_teacher_looked_up" in message
    assert "league=main, board=arena, model=tom" in message


def test_the_teaching_gate_names_what_a_league_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = teaching_tables()
    assert run_teaching(tmp_path, tables | {"trajectories": tables["trajectories"].slice(3)}) == 1
    message = capsys.readouterr().err
    assert "cells: n_rounds: expected from 3 to 3; 1 row(s)" in message
    assert "arm=taught, teacher=tom, student=ann, item_id=sums-4: n_rounds=0" in message


def test_a_full_disk_is_the_users_to_mend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from scripts.gates.verdict import conclude
    from scripts.step import Step

    def full(self: Path, *args: Any, **kwargs: Any) -> int:
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_text", full)
    outputs = {"gate": tmp_path / "gate.json", "page": tmp_path / "gate.html"}
    step = Step("validate_items", "scripts.gates.validate_items", {}, outputs, {}, {}, {})
    with pytest.raises(UserError, match="No space left on device"):
        conclude(step, {"module": "items", "success": False, "expectations": []})
