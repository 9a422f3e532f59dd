"""A run as it was at some time: the files of a folder, or those that a revision's `dvc.lock` names in DVC's cache."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from magister.audit.content import data_md5
from magister.audit.lock import LOCK, parse_lock
from magister.errors import UserError
from magister.pipeline import DvcProject
from magister.pipeline._dvc import files_under, is_remnant
from magister.provenance import SIDECAR_SUFFIX, file_md5

_METADATA = b"magister"
PARAMS = "params.yaml"
_FOLDERS = ("data", "results")
"""Where outputs lie in a folder without a `dvc.yaml`."""
_GIVEN = ("data/annotations/", "data/external/", "data/own/")
"""Where files of the user's lie among them."""


@dataclass
class Snapshot:
    """The outputs of a run and where their bytes are.

    Attributes:
        name: what the user calls it.
        files: path of every output -> the file that holds it.
        md5s: path -> md5, as far as known.
        params: `params.yaml` of the run; empty where there is none.
    """

    name: str
    files: Mapping[str, Path]
    md5s: dict[str, str]
    params: Mapping[str, Any]
    _lineage: dict[str, dict[str, Any]] = field(default_factory=dict)
    _data: dict[str, str | None] = field(default_factory=dict)

    def file(self, path: str) -> Path:
        """The file that holds an output.

        Raises:
            UserError: its content is not on this machine.
        """
        file = self.files[path]
        if not file.is_file():
            raise UserError(
                f"{self.name}: DVC's cache does not hold {path} of this revision. Run `dvc fetch --all-commits`; where "
                "nobody has pushed it, it is lost."
            )
        return file

    def md5(self, path: str) -> str:
        """md5 of an output."""
        if path not in self.md5s:
            self.md5s[path] = file_md5(self.file(path))
        return self.md5s[path]

    def data(self, path: str) -> str | None:
        """md5 of what an output says, apart from its lineage."""
        if path not in self._data:
            self._data[path] = data_md5(self.file(path), path)
        return self._data[path]

    def lineage(self, path: str) -> dict[str, Any]:
        """The lineage of an output: inside a table, beside any other file; empty where it has none."""
        if path not in self._lineage:
            self._lineage[path] = self._read_lineage(path)
        return self._lineage[path]

    def _read_lineage(self, path: str) -> dict[str, Any]:
        text: bytes = b"null"
        try:
            if path.endswith(".parquet"):
                text = (pq.read_schema(self.file(path)).metadata or {}).get(_METADATA, text)
            elif path + SIDECAR_SUFFIX in self.files:
                text = self.file(path + SIDECAR_SUFFIX).read_bytes()
            record = json.loads(text)
        except (pa.ArrowException, ValueError) as error:
            raise UserError(
                f"{self.name}: {path}: its lineage cannot be read: {error}. Make it anew, or fetch it again."
            ) from None
        return record if isinstance(record, dict) else {}


def take_snapshot(root: Path, run: str) -> Snapshot:
    """A run by the name of a folder or of a git revision.

    Args:
        root: the project's folder, whose repository and DVC cache are used.
        run: a folder that holds a run, or a revision.

    Raises:
        UserError: it is neither, or its files are not on this machine.
    """
    folder = root / run
    if folder.is_dir() and any((folder / name).exists() for name in ("dvc.yaml", "results")):
        return _of_folder(folder, run)
    return _of_revision(root, run)


def _of_folder(folder: Path, name: str) -> Snapshot:
    outs = DvcProject(folder).outs() if (folder / "dvc.yaml").is_file() else list(_FOLDERS)
    paths = [
        path
        for path in sorted(files_under(folder, outs))
        if not is_remnant(path) and not path.startswith(_GIVEN)
    ]
    files = {path: folder / path for path in paths}
    if not files:
        raise UserError(f"{name}: nothing has been made in this folder yet. Run there: snakemake --cores all")
    params = folder / PARAMS
    text = params.read_text(encoding="utf-8") if params.is_file() else ""
    return Snapshot("the working folder" if name == "." else name, files, {}, _params(text))


def _git(root: Path, *arguments: str) -> str | None:
    """What git prints; None where it refuses."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        raise UserError("git: not installed, so that no revision can be read. Name two folders.") from None
    return done.stdout if done.returncode == 0 else None


def _of_revision(root: Path, run: str) -> Snapshot:
    found = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{run}^{{commit}}")
    if found is None:
        raise UserError(
            f"{run!r}: neither a folder with a run nor a revision of git. Name a folder, a commit, a branch or a tag."
        )
    revision = found.strip()
    text = _git(root, "show", f"{revision}:./{LOCK}")
    if text is None:
        raise UserError(f"{run}: no {LOCK} in this revision: no full run was committed with it.")
    project = DvcProject(root)
    files: dict[str, Path] = {}
    md5s: dict[str, str] = {}
    for out, md5 in parse_lock(text, f"{run}:{LOCK}").outs.items():
        for path, content in _listed(project, run, out, md5).items():
            md5s[path] = content
            files[path] = project.cached(content) or Path("absent") / content
    params = _git(root, "show", f"{revision}:./{PARAMS}") or ""
    return Snapshot(run, dict(sorted(files.items())), md5s, _params(params))


def _listed(project: DvcProject, run: str, out: str, md5: str) -> dict[str, str]:
    """The files of an output of a stage, path -> md5."""
    if not md5.endswith(".dir"):
        return {out: md5}
    listing = project.cached(md5)
    if listing is None:
        raise UserError(
            f"{run}: DVC's cache does not hold {out} of this revision ({md5}). Run `dvc fetch --all-commits`, then "
            "again; where nobody has pushed it, it is lost."
        )
    return {
        f"{out}/{entry['relpath']}": entry["md5"] for entry in json.loads(listing.read_text(encoding="utf-8"))
    }


def _params(text: str) -> Mapping[str, Any]:
    try:
        value = yaml.safe_load(io.StringIO(text))
    except yaml.YAMLError:
        return {}
    return value if isinstance(value, dict) else {}
