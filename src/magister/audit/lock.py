"""What `dvc.lock` says of a run: content of every folder, of what the stages read, and the parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from magister.errors import UserError

LOCK = "dvc.lock"


@dataclass(frozen=True)
class Lock:
    """A record of DVC's.

    Attributes:
        outs: path -> md5 of what the stages make; that of a folder ends in `.dir`.
        deps: path -> md5 of what they read, likewise.
        params: sections of `params.yaml` by name.
    """

    outs: Mapping[str, str] = field(default_factory=dict)
    deps: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)


def parse_lock(text: str, where: str = LOCK) -> Lock:
    """Read the text of a `dvc.lock`.

    Args:
        text: the text.
        where: its name for messages.

    Raises:
        UserError: it is none.
    """
    try:
        stages = (yaml.safe_load(text) or {}).get("stages", {}).values()
        outs = {entry["path"]: entry["md5"] for stage in stages for entry in stage.get("outs", [])}
        deps = {entry["path"]: entry["md5"] for stage in stages for entry in stage.get("deps", [])}
        params = {
            name: value
            for stage in stages
            for section in stage.get("params", {}).values()
            for name, value in section.items()
        }
    except (yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
        raise UserError(
            f"{where}: not a record of DVC's: {error}. Take it from version control again."
        ) from None
    return Lock(outs, {path: md5 for path, md5 in deps.items() if path not in outs}, params)


def read_lock(root: Path) -> Lock | None:
    """The `dvc.lock` of a project; None where nothing has been recorded.

    Raises:
        UserError: it cannot be read.
    """
    path = root / LOCK
    return parse_lock(path.read_text(encoding="utf-8")) if path.is_file() else None
