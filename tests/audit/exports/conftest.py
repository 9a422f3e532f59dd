"""The small finished project of the exports."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.export_project import make_project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project's folder."""
    return make_project(tmp_path / "project")
