"""Access to the handed cases, which are not part of the project."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cases() -> Callable[[str], list[dict[str, Any]]]:
    """Rows of a handed case file, such as `extraction/judge_json.jsonl`; skips where there is none."""

    def load(name: str) -> list[dict[str, Any]]:
        folder = Path(os.environ.get("MAGISTER_CASES") or _ROOT.parent / "shared" / "cases")
        path = folder / name
        if not path.is_file():
            pytest.skip(f"no handed cases: {path} is missing (set MAGISTER_CASES)")
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]

    return load
