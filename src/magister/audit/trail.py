"""The trail: every artifact of a project with its lineage, as a graph that can be walked back to the sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from magister.errors import UserError
from magister.pipeline import DvcProject
from magister.pipeline._dvc import files_under, is_remnant
from magister.provenance import SIDECAR_SUFFIX, file_md5, read_lineage


@dataclass(frozen=True)
class Artifact:
    """A file that a rule has made.

    Attributes:
        path: from the project's folder.
        lineage: the record inside it or beside it; empty where it cannot be read.
        problem: why it cannot be read.
    """

    path: str
    lineage: Mapping[str, Any]
    problem: str | None = None

    @property
    def rule(self) -> str:
        """The rule that made it; empty where that is unknown."""
        return str(self.lineage.get("rule", ""))

    @property
    def inputs(self) -> Mapping[str, str]:
        """Path -> md5 of what it was made from."""
        inputs = self.lineage.get("inputs", {})
        return inputs if isinstance(inputs, Mapping) else {}


@dataclass
class Trail:
    """Artifacts of a project and what each was made from.

    Attributes:
        root: the project's folder.
        artifacts: by path, sorted. The lineage beside a file belongs to that file and is none itself.
        orphans: files in the folders of stages that no record describes, and records of files that are gone.
    """

    root: Path
    artifacts: dict[str, Artifact]
    orphans: list[str]
    _md5s: dict[str, str | None] = field(default_factory=dict)

    def md5(self, path: str) -> str | None:
        """md5 of a file as it is now, worked out once; None where it is not there."""
        if path not in self._md5s:
            file = self.root / path
            self._md5s[path] = file_md5(file) if file.is_file() else None
        return self._md5s[path]

    @cached_property
    def made_from(self) -> dict[str, list[str]]:
        """Path -> paths of what was made from it."""
        found: dict[str, list[str]] = {}
        for path, artifact in self.artifacts.items():
            for name in artifact.inputs:
                found.setdefault(name, []).append(path)
        return found

    def back(self, path: str) -> Iterator[str]:
        """A file and everything behind it, nearest first, each once: artifacts and sources.

        Args:
            path: path of an artifact from the project's folder.
        """
        waiting, seen = [path], {path}
        while waiting:
            nearer, waiting = waiting, []
            for name in nearer:
                yield name
                artifact = self.artifacts.get(name)
                for behind in sorted(artifact.inputs if artifact else ()):
                    if behind not in seen:
                        seen.add(behind)
                        waiting.append(behind)

    def sources(self) -> list[str]:
        """Files that artifacts were made from and no rule has made."""
        return sorted(set(self.made_from) - set(self.artifacts))


def read_trail(root: Path, folders: list[str] | None = None) -> Trail:
    """Read the lineage of every artifact in the folders of the stages.

    Args:
        root: the project's folder.
        folders: other folders than those that `dvc.yaml` names.

    Raises:
        UserError: there is no `dvc.yaml`, or nothing was ever made.
    """
    project = DvcProject(root)
    if folders is None and not (root / "dvc.yaml").is_file():
        raise UserError("dvc.yaml: not there. Run from the project's folder.")
    files = sorted(files_under(root, project.outs() if folders is None else folders))
    if not files:
        raise UserError("Nothing has been made here yet. Run: snakemake --cores all, or magister restore")
    there, artifacts, orphans = set(files), {}, []
    for path in files:
        if path.endswith(SIDECAR_SUFFIX):
            if path.removesuffix(SIDECAR_SUFFIX) not in there:
                orphans.append(path)
            continue
        if is_remnant(path):
            continue
        try:
            artifacts[path] = Artifact(path, read_lineage(root / path))
        except UserError as error:
            artifacts[path] = Artifact(path, {}, str(error))
            orphans.append(path)
    return Trail(root, artifacts, orphans)
