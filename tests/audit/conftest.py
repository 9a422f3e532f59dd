"""A finished project that the tests of cards share."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_projects import make_project


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a number on every board; nobody writes to it."""
    return make_project(tmp_path_factory.mktemp("audited"))
