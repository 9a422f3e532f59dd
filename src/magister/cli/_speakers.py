"""Configured models as commands call them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from magister.errors import UserError

if TYPE_CHECKING:
    from magister.config.models import ModelConfig
    from magister.llm import Speaker


def weights_files(models: Mapping[str, ModelConfig]) -> dict[str, Path]:
    """Files with the weights of those models that load some.

    Raises:
        UserError: one was not fetched yet; says how.
    """
    from magister.config.base import LocalFile

    found = {}
    for name, model in models.items():
        if isinstance(model.weights, LocalFile):
            found[name] = Path(model.weights.path)
        elif model.weights is not None:
            path = Path("data/raw/models") / Path(model.weights.member).name
            if not path.is_file():
                raise UserError(f"{path}: not fetched yet. Run: snakemake --cores 1 {path.as_posix()}")
            found[name] = path
    return found


def speakers_of(models: Mapping[str, ModelConfig], weights: Mapping[str, Path]) -> dict[str, Speaker]:
    """Models with what makes their request keys.

    Args:
        models: configurations by name.
        weights: files with weights by name.

    Raises:
        UserError: a file is missing, or an engine is not installed.
    """
    from magister.llm import Speaker, fingerprint
    from magister.provenance import file_sha256

    found = {}
    for name, model in models.items():
        path = weights.get(name)
        if path is not None and not path.is_file():
            raise UserError(f"models.{name}: no file {path}")
        sha = file_sha256(path) if path is not None else None
        found[name] = Speaker(name, model, fingerprint(name, model, sha))
    return found
