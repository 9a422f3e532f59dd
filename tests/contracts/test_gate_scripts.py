"""The gates as steps: what they leave on disk, what they say, and with which code they end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from gate_tables import DATASETS, PLAN, item_tables, teaching_tables

from magister.contracts.schemas import CONTRACTS
from magister.errors import UserError
from magister.provenance import make_lineage, read_lineage, write_table

ROOT = Path(__file__).parents[2]
CONTRACT_OF = {"items_table": "items", "pool_rejected": "rejected"}


@pytest.fixture(autouse=True)
def _project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps run from the project's folder."""
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(ROOT)


def written(folder: Path, tables: dict[str, list[pa.Table]]) -> list[str]:
    """Write tables as the pipeline does; return the `--in` arguments."""
    lineage = make_lineage("test", wildcards={}, inputs=[], params={}, code={})
    arguments = []
    for name, parts in tables.items():
        paths = [folder / f"{name}{n}.parquet" for n in range(len(parts))]
        for path, part in zip(paths, parts, strict=True):
            write_table(path, part, CONTRACTS[CONTRACT_OF.get(name, name)], lineage)
        arguments += ["--in", name, *map(str, paths)]
    return arguments


def run_items(folder: Path, tables: dict[str, pa.Table]) -> int:
    """The exit code of `validate_items`; the pool comes in two files, as from two data sets."""
    from scripts.gates import validate_items
    from scripts.step import run_step

    parts = {"items_table" if name == "items" else name: [table] for name, table in tables.items()}
    for name in ("pool", "pool_rejected"):
        parts[name] = [tables[name].slice(0, 4), tables[name].slice(4)]
    arguments = ["--params", json.dumps({"datasets": DATASETS}), "--log", str(folder / "log")]
    arguments += [*written(folder, parts), "--out", "gate", str(folder / "gate.json")]
    return exit_code(lambda: run_step("scripts.gates.validate_items", validate_items.run, arguments))


def run_teaching(folder: Path, tables: dict[str, pa.Table]) -> int:
    """The exit code of `validate_teaching`."""
    from scripts.gates import validate_teaching
    from scripts.step import run_step

    names = ("students", "teachers", "arms", "rounds", "datasets")
    params = {name: getattr(PLAN, name) for name in names}
    parts = {"items_table" if name == "items" else name: [table] for name, table in tables.items()}
    arguments = ["--params", json.dumps(params), "--wildcards", json.dumps({"league": PLAN.league})]
    arguments += [*written(folder, parts), "--out", "gate", str(folder / "gate.json")]
    return exit_code(lambda: run_step("scripts.gates.validate_teaching", validate_teaching.run, arguments))


def exit_code(step: Any) -> int:
    try:
        step()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def with_key(tables: dict[str, pa.Table], key: str) -> dict[str, pa.Table]:
    """Give the first item another key."""
    rows = tables["items"].to_pylist()
    rows[0]["key"] = key
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


def test_a_gate_that_fails_says_which_rows_and_leaves_the_report_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_items(tmp_path, item_tables()) == 0
    assert run_items(tmp_path, with_key(item_tables(), "E")) == 1
    message = capsys.readouterr().err
    failed = tmp_path / "gate.failed.json"
    assert "gate of items: 1 of" in message
    assert (
        "items: key_within_options: expected letters of options that are there, in order; 1 row(s)" in message
    )
    assert "item_id=demo-0: key='E', options=" in message
    assert f"Full report: {failed}" in message
    assert (tmp_path / "log").read_text() == message
    assert not (tmp_path / "gate.json").exists()
    report = json.loads(failed.read_text())
    assert report["success"] is False
    assert str(tmp_path) not in failed.read_text()


def test_a_gate_that_passes_again_removes_the_report_of_the_failure(tmp_path: Path) -> None:
    assert run_items(tmp_path, with_key(item_tables(), "E")) == 1
    assert run_items(tmp_path, item_tables()) == 0
    assert (tmp_path / "gate.json").is_file()
    assert not (tmp_path / "gate.failed.json").exists()


def test_the_gate_file_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
        assert run_teaching(folder, teaching_tables()) == 0
    assert (first / "gate.json").read_bytes() == (second / "gate.json").read_bytes()
    assert str(tmp_path) not in (first / "gate.json").read_text()


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
    step = Step(
        "validate_items", "scripts.gates.validate_items", {}, {"gate": tmp_path / "gate.json"}, {}, {}, {}
    )
    with pytest.raises(UserError, match="No space left on device"):
        conclude(step, {"module": "items", "success": False, "expectations": []})
