"""Fixtures of the item tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def cases() -> Path:
    """The folder of cases with known outcomes, which is not part of the project."""
    default = Path(__file__).parents[2].parent / "shared" / "cases"
    folder = Path(os.environ.get("MAGISTER_CASES", default))
    if not (folder / "items").is_dir():
        pytest.skip("no cases: neither MAGISTER_CASES nor ../shared/cases has an items folder")
    return folder
