"""The manifest: the files of folders that DVC records by one hash, as `md5sum -c` reads them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from magister.errors import UserError
from magister.pipeline import (
    folder_md5,
    hash_files,
    read_manifest,
    recorded_md5,
    update_manifest,
    write_manifest,
)

MD5S = st.text("0123456789abcdef", min_size=32, max_size=32)
NAMES = st.text(min_size=1, max_size=20).filter(lambda name: name.isprintable() or "\n" in name)


def encodable(md5s: dict[str, str]) -> bool:
    return all(name == name.encode("utf-8", "ignore").decode() and "\r" not in name for name in md5s)


@given(st.dictionaries(NAMES, MD5S).filter(encodable))
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, md5s: dict[str, str]) -> None:
    path = tmp_path_factory.mktemp("manifest") / "artifacts.md5"
    write_manifest(path, md5s)
    assert read_manifest(path) == md5s
    before = path.read_bytes()
    write_manifest(path, dict(reversed(md5s.items())))
    assert path.read_bytes() == before


@pytest.mark.skipif(shutil.which("md5sum") is None, reason="there is no md5sum here")
def test_md5sum_reads_it_and_names_the_file_that_differs(tmp_path: Path) -> None:
    names = ["data/a b.txt", "data/back\\slash", "data/new\nline", "data/ü.txt"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    write_manifest(tmp_path / "artifacts.md5", hash_files(tmp_path, names))

    def check() -> subprocess.CompletedProcess[str]:
        command = ["md5sum", "--check", "--quiet", "--strict", "artifacts.md5"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert check().returncode == 0
    (tmp_path / names[0]).write_text("other")
    assert check().returncode == 1
    assert "data/a b.txt: FAILED" in check().stdout


def test_a_folder_has_the_hash_that_dvc_records(tmp_path: Path) -> None:
    names = ["out/b.txt", "out/a/z.json", "out/a.txt", "out/ü", 'out/q"uote', "out/a b", "single"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    (tmp_path / "empty").mkdir()
    (tmp_path / "dvc.yaml").write_text("stages: {work: {cmd: x, outs: [out, single, empty]}}\n")

    def dvc(*arguments: str) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "dvc", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    dvc("init", "--no-scm", "--quiet")
    dvc("commit", "--force", "--quiet")
    lock = yaml.safe_load((tmp_path / "dvc.lock").read_text())
    recorded = {out["path"]: out["md5"] for out in lock["stages"]["work"]["outs"]}
    md5s = hash_files(tmp_path, names, threads=2)
    assert recorded_md5(md5s, "out") == recorded["out"]
    assert recorded_md5(md5s, "single") == recorded["single"]
    assert recorded_md5(md5s, "empty") is None
    assert folder_md5({}, "empty") == recorded["empty"]


def test_a_folder_is_replaced_and_the_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "artifacts.md5"
    one, two = "1" * 32, "2" * 32
    update_manifest(path, {"data/a/x": one, "data/ab/x": one}, ["data/a", "data/ab"])
    update_manifest(path, {"data/a/y": two}, ["data/a"])
    assert read_manifest(path) == {"data/a/y": two, "data/ab/x": one}


@pytest.mark.parametrize(
    ("text", "line"), [("0\n", 1), (f"{'0' * 32}  a\n{'0' * 32} b\n", 2), (f"{'0' * 32}  a\n" * 2, 2)]
)
def test_a_line_that_is_none_is_named(tmp_path: Path, text: str, line: int) -> None:
    (tmp_path / "artifacts.md5").write_text(text)
    with pytest.raises(UserError, match=f"line {line}:"):
        read_manifest(tmp_path / "artifacts.md5")
