"""What a verification looks at: the files, their hashes and records, and what is asked for, each read once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from magister.audit.trail import Artifact, Trail, read_trail
from magister.config.params import read_yaml
from magister.errors import UserError
from magister.pipeline import MANIFEST, DvcProject, Job, hash_files, read_jobs, read_manifest
from magister.pipeline._dvc import STORE, files_under, is_remnant
from magister.provenance import SIDECAR_SUFFIX

PARAMS = "params.yaml"
_BOARD_OF = {"diagnosis": "mastery"}
"""Boards that are not called as their module."""
_MODULE_OF = {board: module for module, board in _BOARD_OF.items()}


@dataclass
class Scene:
    """A project as it is.

    Attributes:
        root: its folder.
        trail: every artifact with its lineage.
        chosen: artifacts to be checked: those of the target and all behind them.
        named: files that are these or that these were made from, also such that are gone.
        folders: folders of the target, in which nothing may be missing.
        whole: whether that is everything.
        boards: modules whose boards are to be recomputed; None for all.
    """

    root: Path
    trail: Trail
    chosen: set[str]
    named: set[str]
    folders: list[str]
    whole: bool
    boards: set[str] | None
    project: DvcProject = field(init=False)

    def __post_init__(self) -> None:
        self.project = DvcProject(self.root)

    @cached_property
    def manifest(self) -> dict[str, str] | None:
        """Path -> md5 of what was recorded; None where nothing was.

        Raises:
            UserError: the manifest cannot be read.
        """
        path = self.root / MANIFEST
        return read_manifest(path) if path.is_file() else None

    @cached_property
    def files(self) -> set[str]:
        """All files in the folders of stages and in the store that are results."""
        found = files_under(self.root, [*self.project.outs(), STORE])
        return {path for path in found if not is_remnant(path)}

    def covers(self, path: str) -> bool:
        """Whether a file is to be checked: an artifact, what lies beside it, or an answer of a model."""
        main = path.removesuffix(SIDECAR_SUFFIX)
        return self.whole or main in self.named or path in self.stores or lies_in(path, self.folders)

    @cached_property
    def stores(self) -> set[str]:
        """Files of the store with the answers of the models that the target has asked."""
        models = {
            self.trail.artifacts[path].lineage.get("wildcards", {}).get("model")
            for path in self.chosen
            if path.endswith(".responses.jsonl")
        }
        found = (path for path in self.files if path.startswith(f"{STORE}/"))
        return {path for path in found if self.whole or path.split("/")[1] in models}

    @cached_property
    def md5s(self) -> dict[str, str]:
        """md5 of every file that is checked, or that an artifact that is checked was made from."""
        artifacts = [self.trail.artifacts[path] for path in self.chosen]
        named = {path for each in artifacts for path in (*each.inputs, *code_of(each))}
        named |= {path for path in self.files if self.covers(path)}
        return hash_files(self.root, named, threads=min(8, os.cpu_count() or 1))

    @cached_property
    def jobs(self) -> list[Job]:
        """Every job of a full run, as `params.yaml` and the rules ask for it now.

        Raises:
            UserError: Snakemake cannot read the project.
        """
        # Records of Snakemake are not asked: what a file was made with, its own lineage says.
        return read_jobs(self.root, triggers=("code",))

    @cached_property
    def params(self) -> Mapping[str, Any]:
        """The parameter file as it is.

        Raises:
            UserError: it cannot be read.
        """
        value = read_yaml(self.root / PARAMS)
        return value if isinstance(value, Mapping) else {}


def code_of(artifact: Artifact) -> Mapping[str, str]:
    """Path -> md5 of the source files that have made an artifact."""
    code = artifact.lineage.get("code", {})
    return code if isinstance(code, Mapping) else {}


def read_scene(root: Path, target: str | None = None) -> Scene:
    """Read what a target is, and everything behind it.

    Args:
        root: the project's folder.
        target: a file, a module or a board; everything by default.

    Raises:
        UserError: nothing was ever made, or there is no such target.
    """
    trail = read_trail(root)
    if target is None:
        return Scene(root, trail, set(trail.artifacts), set(), [], True, None)
    stages = DvcProject(root)
    boards = {PurePosixPath(path).stem for path in trail.artifacts if path.startswith("results/")}
    inside = stages.outs(target) if target in stages.stages else []
    if inside or target in boards:
        board = _BOARD_OF.get(target, target)
        wanted = {path for path in trail.artifacts if lies_in(path, inside)}
        wanted |= {path for path in trail.artifacts if PurePosixPath(path).parent.as_posix() == "results"
                   and PurePosixPath(path).stem == board}  # fmt: skip
        recomputed = None if target == "boards" else {_MODULE_OF.get(board, board)}
    else:
        path = PurePosixPath(os.path.relpath(root / target, root)).as_posix().removesuffix(SIDECAR_SUFFIX)
        if path not in trail.artifacts and path not in _recorded(root):
            names = ", ".join(stages.stages)
            raise UserError(
                f"{target}: no artifact, module or board. Modules: {names}. Artifacts lie in their folders: "
                f"{', '.join(stages.outs())}."
            )
        wanted = {path}
        board = PurePosixPath(path).stem
        recomputed = {_MODULE_OF.get(board, board)} if path.startswith("results/") else set()
    named = {name for path in wanted for name in trail.back(path)}
    return Scene(root, trail, named & set(trail.artifacts), named, inside, False, recomputed)


def _recorded(root: Path) -> dict[str, str]:
    """What the manifest names, if there is one: a file that is gone can be asked for."""
    path = root / MANIFEST
    return read_manifest(path) if path.is_file() else {}


def lies_in(path: str, folders: Iterable[str]) -> bool:
    """Whether a file lies in one of some folders."""
    return any(PurePosixPath(path).is_relative_to(folder) for folder in folders)
