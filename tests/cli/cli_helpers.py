"""What the tests of the command share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml


class Ran:
    """What a call of the command did."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


Run = Callable[..., Ran]


def params(**models: dict[str, Any]) -> Path:
    """A parameter file with these models; the first is the student, the teacher one that can teach."""
    sums = {"kind": "generated", "generator": "sums", "n": 3}
    names = list(models)[:1]
    able = [name for name, model in models.items() if model.get("script") != "student"]
    if not able:
        able, models = ["tutor"], models | {"tutor": {"engine": "scripted", "script": "teacher"}}
    league = {"students": names, "teachers": able[:1], "datasets": ["sums"]}
    content = {
        "models": models,
        "items": {"datasets": {"sums": sums}},
        "teaching": {"leagues": {"main": league}},
    }
    path = Path("params.yaml")
    path.write_text(yaml.safe_dump(content))
    return path


SCRIPTED = {"engine": "scripted", "script": "student"}


def widest(text: str) -> int:
    return max((len(line) for line in text.splitlines()), default=0)
