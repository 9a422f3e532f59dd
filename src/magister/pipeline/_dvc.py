"""What DVC says of a project: which folder belongs to which stage, and which content it has certified."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from configparser import ConfigParser
from configparser import Error as ConfigError
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from magister.config.params import read_yaml
from magister.errors import UserError

try:
    from yaml import CSafeLoader as FastLoader
except ImportError:  # built without libyaml
    from yaml import SafeLoader as FastLoader  # type: ignore[assignment]

STORE = "store"
"""Folder of the answers of models, tracked on its own by `store.dvc`."""


def in_stage() -> str | None:
    """Name of the DVC stage that this process runs in, if it does."""
    return os.environ.get("DVC_STAGE")


def run_dvc(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a DVC command in a project and keep what it prints."""
    return subprocess.run(
        [sys.executable, "-m", "dvc", *arguments], cwd=root, capture_output=True, text=True, check=False
    )


def _read(path: Path) -> dict[str, Any]:
    """A file of DVC's; nothing where it is not there."""
    value = read_yaml(path) if path.exists() else None
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True)
class DvcProject:
    """A folder that DVC works in.

    Attributes:
        root: the project's folder.
    """

    root: Path

    @property
    def exists(self) -> bool:
        """Whether DVC is set up here."""
        return (self.root / ".dvc").is_dir() and (self.root / "dvc.yaml").is_file()

    @property
    def versioned(self) -> bool:
        """Whether DVC can record anything here: it wants a git repository, unless its configuration says otherwise."""
        here = self.root.resolve()
        if any((folder / ".git").exists() for folder in (here, *here.parents)):
            return True
        settings = ConfigParser()
        try:
            settings.read([here / ".dvc" / "config", here / ".dvc" / "config.local"], encoding="utf-8")
            return settings.getboolean("core", "no_scm", fallback=False)
        except (ConfigError, ValueError):
            return False

    @cached_property
    def stages(self) -> dict[str, dict[str, Any]]:
        """The stages of `dvc.yaml` by name.

        Raises:
            UserError: the file cannot be read.
        """
        stages = _read(self.root / "dvc.yaml").get("stages", {})
        return {name: stage for name, stage in stages.items() if isinstance(stage, dict)}

    def outs(self, stage: str | None = None) -> list[str]:
        """Folders that a stage makes, or all stages."""
        chosen = self.stages.values() if stage is None else [self.stages.get(stage, {})]
        return sorted(str(out) for each in chosen for out in each.get("outs", []))

    @cached_property
    def deps(self) -> list[str]:
        """What any stage reads beyond the folders that stages make."""
        outs = set(self.outs())
        return sorted({str(d) for s in self.stages.values() for d in s.get("deps", [])} - outs)

    def compares(self, path: str) -> bool:
        """Whether a stage reads this path, so that DVC notices an edit."""
        inside = (self.root / path).resolve()
        return any(inside.is_relative_to((self.root / dep).resolve()) for dep in self.deps)

    @cached_property
    def _cache(self) -> Path:
        done = run_dvc(self.root, "cache", "dir")
        folder = done.stdout.strip().splitlines()
        if done.returncode or not folder:
            raise UserError(f"dvc cache dir: {done.stderr.strip() or 'it names no folder'}")
        return self.root / folder[-1] / "files" / "md5"

    def cached(self, md5: str) -> Path | None:
        """The file of DVC's cache with this content, if the cache holds it."""
        path = self._cache / md5[:2] / md5[2:]
        return path if path.is_file() else None

    def locked(self) -> dict[str, dict[str, Any]]:
        """What `dvc.lock` says now of each stage; nothing where it is not there.

        Raises:
            UserError: it cannot be read.
        """
        path = self.root / "dvc.lock"
        if not path.is_file():
            return {}
        try:
            # DVC writes this file and checks it; the fast reader will do.
            value = yaml.load(path.read_text(encoding="utf-8"), Loader=FastLoader)
            return {str(name): dict(stage) for name, stage in value["stages"].items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError) as error:
            raise UserError(
                f"dvc.lock: cannot be read: {error}. `git checkout dvc.lock` brings back what was committed."
            ) from None

    def recorded(self) -> dict[str, str]:
        """Path -> hash of every file or folder that `dvc.lock` records as made by a stage, and `store.dvc` as kept."""
        outs = [out for stage in self.locked().values() for out in stage.get("outs", [])]
        outs += _read(self.root / f"{STORE}.dvc").get("outs", [])
        return {str(out.get("path")): str(out.get("md5", "")) for out in outs}

    @cached_property
    def certified(self) -> dict[str, str]:
        """Path -> md5 of every file in stages' folders, as `dvc.lock` records them.

        A folder whose list of files is not in the cache is not certified: nothing is known of its files.
        """
        found: dict[str, str] = {}
        for stage in self.locked().values():
            for out in stage.get("outs", []):
                md5 = str(out.get("md5", ""))
                if not md5.endswith(".dir"):
                    found[out["path"]] = md5
                    continue
                listing = self.cached(md5)
                if listing is not None:
                    for entry in json.loads(listing.read_text(encoding="utf-8")):
                        found[f"{out['path']}/{entry['relpath']}"] = entry["md5"]
        return found

    def bring_back(self, path: str) -> bool:
        """Put the certified content of a file in its place, if the cache holds it."""
        source = self.cached(self.certified[path]) if path in self.certified else None
        if source is None:
            return False
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.part")
        shutil.copyfile(source, part)
        part.replace(target)
        return True

    def lost(self, folders: Sequence[str]) -> list[str]:
        """Certified files in some folders that are not there."""
        return sorted(
            path
            for path in self.certified
            if any(Path(path).is_relative_to(folder) for folder in folders)
            and not (self.root / path).exists()
        )


def is_remnant(path: str) -> bool:
    """Whether a file is none of the results: what a killed writer or a failed gate has left."""
    name = Path(path).name
    return (name.startswith(".") and name.endswith(".part")) or name.startswith("gate.failed.")


def files_under(root: Path, folders: list[str]) -> dict[str, os.stat_result]:
    """Every file in some folders, or named itself, by path from the project's folder."""
    found: dict[str, os.stat_result] = {}
    waiting = [root / folder for folder in folders]
    while waiting:
        path = waiting.pop()
        if path.is_file():
            found[path.relative_to(root).as_posix()] = path.stat()
            continue
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name != "__pycache__":
                            waiting.append(Path(entry.path))
                    elif entry.is_file():
                        found[Path(entry.path).relative_to(root).as_posix()] = entry.stat()
        except FileNotFoundError:
            continue
    return found
