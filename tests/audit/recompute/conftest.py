"""The small projects, built once."""

from __future__ import annotations

from pathlib import Path

import pytest
import recompute_trees as trees


@pytest.fixture(scope="session")
def teaching(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trees.teaching_project(tmp_path_factory.mktemp("teaching"))


@pytest.fixture(scope="session")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trees.arena_project(tmp_path_factory.mktemp("arena"))


@pytest.fixture(scope="session")
def diagnosis(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trees.mastery_project(tmp_path_factory.mktemp("diagnosis"))


@pytest.fixture(scope="session")
def rubrics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trees.rubrics_project(tmp_path_factory.mktemp("rubrics"))


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spoiled")
