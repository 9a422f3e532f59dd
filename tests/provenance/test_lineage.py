"""The record: what went in, by content, and nothing that differs between machines."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from magister import __version__
from magister.errors import UserError
from magister.provenance import (
    code_files,
    code_md5s,
    file_md5,
    file_sha256,
    make_lineage,
    read_lineage,
    value_sha256,
    write_json,
)

FILES = {
    "src/magister/__init__.py": "",
    "src/magister/a/__init__.py": "from magister.a._one import one\n",
    "src/magister/a/_one.py": "from ._two import two\nfrom . import _three\n",
    "src/magister/a/_two.py": "import json\nfrom ..b import thing as other\n",
    "src/magister/a/_three.py": "",
    "src/magister/a/deep/__init__.py": "from .. import _three\nfrom .leaf import x\n",
    "src/magister/a/deep/leaf.py": "",
    "src/magister/b/__init__.py": "def f():\n    from magister import late\n",
    "src/magister/b/unused.py": "",
    "src/magister/late.py": "import magister.a.deep.leaf as leaf\n",
    "src/magister/other.py": "raise RuntimeError('nobody imports this')\n",
    "scripts/__init__.py": "",
    "scripts/step.py": "import numpy\n",
    "scripts/work/__init__.py": "",
    "scripts/work/go.py": "from magister.a import one\nfrom scripts.step import Step\n",
    "scripts/work/cycle.py": "from scripts.work import cycle_too\n",
    "scripts/work/cycle_too.py": "from . import cycle\n",
    "scripts/work/alone.py": "raise RuntimeError('never run')\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_the_code_of_a_script_is_what_it_imports_directly_and_through_others(project: Path) -> None:
    assert code_files("scripts.work.go", project) == (
        "scripts/__init__.py",
        "scripts/step.py",
        "scripts/work/__init__.py",
        "scripts/work/go.py",
        "src/magister/__init__.py",
        "src/magister/a/__init__.py",
        "src/magister/a/_one.py",
        "src/magister/a/_three.py",
        "src/magister/a/_two.py",
        "src/magister/a/deep/__init__.py",
        "src/magister/a/deep/leaf.py",
        "src/magister/b/__init__.py",
        "src/magister/late.py",
    )


def test_a_script_that_imports_nothing_is_its_own_code(project: Path) -> None:
    assert code_files("scripts.work.alone", project) == (
        "scripts/__init__.py",
        "scripts/work/__init__.py",
        "scripts/work/alone.py",
    )


def test_modules_that_import_each_other_end(project: Path) -> None:
    found = code_files("scripts.work.cycle", project)
    assert {"scripts/work/cycle.py", "scripts/work/cycle_too.py"} <= set(found)


def test_a_module_that_is_not_there_is_an_error(project: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"scripts\.work\.gone"):
        code_files("scripts.work.gone", project)


def test_every_script_of_the_project_has_code(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    for path in sorted((root / "scripts").rglob("*.py")):
        module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        assert path.relative_to(root).as_posix() in code_files(module)


def test_an_edit_to_a_gate_leaves_the_code_of_other_steps_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    assert "src/magister/contracts/gate.py" in code_files("scripts.gates.validate_items")
    assert "src/magister/contracts/gate.py" not in code_files("scripts.teaching.guide")


@given(st.binary(max_size=300))
def test_hashes_are_those_of_hashlib(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("hash") / "file"
    path.write_bytes(content)
    assert file_md5(path) == hashlib.md5(content).hexdigest()
    assert file_sha256(path) == hashlib.sha256(content).hexdigest()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), json_values, max_size=4))
def test_the_hash_of_a_value_does_not_depend_on_the_order_of_its_keys(value: dict[str, object]) -> None:
    turned = dict(reversed(list(value.items())))
    try:
        expected = value_sha256(value)
    except UnicodeEncodeError:  # half a surrogate pair is no text
        return
    assert value_sha256(turned) == expected
    assert value_sha256({**value, "another": 1}) != expected or value.get("another") == 1


def test_a_value_that_json_has_no_word_for_has_no_hash() -> None:
    with pytest.raises(ValueError):
        value_sha256({"x": float("nan")})


def test_the_record_says_what_went_in_by_content(project: Path) -> None:
    (project / "data").mkdir()
    (project / "data" / "b.csv").write_text("b")
    (project / "data" / "a.csv").write_text("a")
    record = make_lineage(
        "guide",
        wildcards={"league": "main"},
        inputs=[Path("data/b.csv"), project.resolve() / "data" / "a.csv"],
        params={"n": 1},
        code=code_md5s(code_files("scripts.work.alone", project), project),
        models={"tom": {"weights": "x"}},
        root=project,
    )
    assert record.inputs == {
        "data/a.csv": hashlib.md5(b"a").hexdigest(),
        "data/b.csv": hashlib.md5(b"b").hexdigest(),
    }
    assert record.code["scripts/work/alone.py"] == file_md5(project / "scripts/work/alone.py")
    assert record.params_sha256 == value_sha256({"n": 1})
    assert record.version == __version__
    assert str(project) not in record.to_json()
    assert json.loads(record.to_json()) == asdict(record)
    assert set(asdict(record)) == {
        "rule", "wildcards", "inputs", "params", "params_sha256", "code", "version", "command", "models",
    }  # fmt: skip


def test_the_record_is_the_same_wherever_the_project_lies(project: Path, tmp_path: Path) -> None:
    def record(root: Path) -> str:
        code = code_md5s(code_files("scripts.work.go", root), root)
        return make_lineage(
            "go", wildcards={}, inputs=[Path("scripts/step.py")], params={}, code=code, root=root
        ).to_json()

    elsewhere = tmp_path / "elsewhere"
    for name, text in FILES.items():
        (elsewhere / name).parent.mkdir(parents=True, exist_ok=True)
        (elsewhere / name).write_text(text)
    assert record(elsewhere) == record(project)


def test_files_of_others_carry_no_record(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "foreign.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "foreign.json").write_text("{}")
    (tmp_path / "torn.json").write_text("{}")
    (tmp_path / "torn.json.lineage.json").write_text('{"rule": "gu')
    (tmp_path / "list.json").write_text("{}")
    (tmp_path / "list.json.lineage.json").write_text("[]")
    for name in ("foreign.parquet", "broken.parquet", "foreign.json", "torn.json", "list.json"):
        with pytest.raises(UserError, match=rf"{name}: carries no lineage record"):
            read_lineage(tmp_path / name)


@pytest.mark.parametrize("name", ["gone.parquet", "gone.json"])
def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match=f"{name}: no such file"):
        read_lineage(tmp_path / name)


def test_a_sidecar_without_its_file_is_no_record_of_anything(tmp_path: Path) -> None:
    record = make_lineage("r", wildcards={}, inputs=[], params={}, code={})
    write_json(tmp_path / "a.json", {}, record)
    (tmp_path / "a.json").unlink()
    with pytest.raises(UserError, match="no such file"):
        read_lineage(tmp_path / "a.json")
