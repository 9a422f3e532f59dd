"""Finished projects."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from audit_projects import make_project
from finished import Finished


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A finished project. Not to be changed: take a copy."""
    project = Finished(tmp_path_factory.mktemp("finished"))
    project.build()
    return project


@pytest.fixture
def finished(built: Finished, tmp_path: Path) -> Finished:
    """A copy of the finished project."""
    return Finished(Path(shutil.copytree(built.root, tmp_path / "project")), list(built.jobs))


@pytest.fixture(scope="session")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a number on every board; nobody writes to it."""
    return make_project(tmp_path_factory.mktemp("audited"))
