"""Archives: what a log never holds is refused, and nothing is unpacked."""

from __future__ import annotations

import zipfile

import pytest
from log_files import eval_file, log, sample

from magister.errors import UserError
from magister.items import read_log
from magister.items.sources import _archive


def test_an_archive_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_archive, "MEMBER_BYTES", 10_000)
    path = eval_file(tmp_path, log([sample("a", input="x" * 1_000_000)]))
    assert path.stat().st_size < 10_000
    with pytest.raises(UserError, match="more than 10000 bytes once unpacked"):
        read_log(path, "inspect")


def test_an_archive_of_many_members_is_read_up_to_a_total(tmp_path, monkeypatch):
    monkeypatch.setattr(_archive, "TOTAL_BYTES", 3_000)
    path = eval_file(tmp_path, log([sample(f"s{number}") for number in range(20)]))
    with pytest.raises(UserError, match="once unpacked"):
        read_log(path, "inspect")


@pytest.mark.parametrize(
    "name", ["../up.json", "/root.json", "samples/../../up.json", "C:\\up.json", "a\\..\\b"]
)
def test_a_member_that_leads_out_of_the_archive_is_refused(tmp_path, name):
    path = eval_file(tmp_path, log([sample("a")]))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, "{}")
    with pytest.raises(UserError, match="leads out of the archive"):
        read_log(path, "inspect")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 torn", b"{}"])
def test_a_damaged_archive_is_a_clear_error(tmp_path, content):
    path = tmp_path / "log.eval"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"log\.eval: not a readable zip archive"):
        read_log(path, "inspect")


def test_a_damaged_member_is_named(tmp_path):
    path = eval_file(tmp_path, log([sample("a")]))
    data = bytearray(path.read_bytes())
    at = data.index(b"samples/a_epoch_1.json") + len("samples/a_epoch_1.json") + 5
    data[at : at + 8] = b"\xff" * 8
    path.write_bytes(bytes(data))
    with pytest.raises(UserError, match=r"samples/a_epoch_1\.json: cannot be read"):
        read_log(path, "inspect")
