"""What the tests of dialogues share."""

from __future__ import annotations

from pathlib import Path

import pytest
from rubric_speakers import make_speaker

from magister.llm import Speaker


@pytest.fixture
def speakers() -> dict[str, Speaker]:
    """Two models."""
    return {name: make_speaker(name) for name in ("one", "two")}


@pytest.fixture
def handed(cases: Path) -> Path:
    """The folder of handed scenario files."""
    folder = cases / "rubrics"
    if not folder.is_dir():
        pytest.skip("no handed cases of rubrics")
    return folder
