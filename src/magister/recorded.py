"""The record that a project carries with it: what a replay reads in place of models, weights and engines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from magister.config.base import LocalFile, WheelFile
from magister.errors import UserError
from magister.offline import is_replay

FOLDER = Path("recorded")
"""Where the record lies in a project."""
MODELS = FOLDER / "models.json"
"""What the record says of engines and of files that only a model reads."""
FILES = FOLDER / "files"
"""Artifacts that are kept as they were, by their path: their arithmetic is another one on another processor."""


def pinned_path(file: WheelFile | LocalFile) -> str:
    """Where a pinned file of a model lies, from the project's folder."""
    return file.path if isinstance(file, LocalFile) else f"data/raw/models/{Path(file.member).name}"


@dataclass(frozen=True)
class RecordedModels:
    """What was recorded of the models of a run.

    Attributes:
        engines: version of the engine by model, `models/NAME` or `embedders/NAME`.
        files: path -> `md5` and `sha256` of each file that a model was loaded from.
    """

    engines: Mapping[str, str]
    files: Mapping[str, Mapping[str, str]]

    def engine(self, name: str) -> str:
        """Version of the engine that a model was run with.

        Raises:
            UserError: the record knows no such model.
        """
        if name not in self.engines:
            known = ", ".join(sorted(self.engines)) or "none"
            raise UserError(
                f"{MODELS}: nothing is recorded of {name.replace('/', '.')}; recorded: {known}. A model that was added "
                "since must be run: `snakemake --cores all`, then `magister record`."
            )
        return self.engines[name]

    def file(self, file: WheelFile | LocalFile) -> Mapping[str, str]:
        """The hashes of a model's file as they were recorded.

        Raises:
            UserError: it is not recorded, or `params.yaml` pins another content.
        """
        path = pinned_path(file)
        pinned = file.sha256 if isinstance(file, LocalFile) else file.member_sha256
        found = self.files.get(path)
        if found is None:
            raise UserError(
                f"{MODELS}: no file {path!r}. A model that was added since must be run: `snakemake --cores all`, then "
                "`magister record`."
            )
        if pinned is not None and pinned != found["sha256"]:
            raise UserError(
                f"{path}: params.yaml pins sha256 {pinned}, the answers were recorded with {found['sha256']}. They are "
                "those of another model: set the pin back, or run the new one."
            )
        return found


def read_recorded_models(root: Path = Path()) -> RecordedModels:
    """Read what was recorded of the models.

    Args:
        root: the project's folder.

    Raises:
        UserError: there is no record, or it cannot be read.
    """
    path = root / MODELS
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        return RecordedModels(value["engines"], value["files"])
    except FileNotFoundError:
        raise UserError(
            f"{MODELS}: not there, so that nothing can be replayed. `magister record` writes it after a full run."
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{MODELS}: cannot be read: {error!r}. Take the file from version control again."
        ) from None


def quoted(*files: WheelFile | LocalFile | None) -> dict[str, str]:
    """In a replay, what lineage says of files that only a model reads: path -> md5, from the record.

    The files themselves are not there. What an artifact was made from is what its answers were made from, and these
    are recorded; the key of each answer holds the sha256 of the weights, which `params.yaml` pins too.

    Args:
        files: weights and the like; None where a model has none.

    Returns:
        Nothing outside a replay.

    Raises:
        UserError: the record does not know a file, or knows another content of it.
    """
    wanted = [file for file in files if file is not None]
    if not wanted or not is_replay():
        return {}
    recorded = read_recorded_models()
    return {pinned_path(file): recorded.file(file)["md5"] for file in wanted}


def recorded_file(output: Path) -> Path:
    """Where the record keeps an artifact as it was.

    Args:
        output: path of the artifact from the project's folder.

    Raises:
        UserError: the record does not hold it.
    """
    path = FILES / output
    if not path.is_file():
        raise UserError(
            f"{path}: not in the record, and its arithmetic is another one on another processor. `magister record`, "
            "where the run was made, packs it; outside a replay it is worked out anew."
        )
    return path
