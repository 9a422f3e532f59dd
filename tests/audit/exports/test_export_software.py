"""Packages a project asks for, in the versions of its lock file."""

from __future__ import annotations

from pathlib import Path

import pytest

from magister.audit.exports.software import direct_packages, project_license
from magister.errors import UserError
from tests.export_project import LOCK, PYPROJECT

ROOT = Path(__file__).resolve().parents[3]


def test_packages_of_others_are_left_out_and_every_pin_is_kept() -> None:
    assert direct_packages(PYPROJECT, LOCK) == [
        ("numpy", "2.4.6", "python_full_version < '3.12'"),
        ("numpy", "2.5.5", "python_full_version >= '3.12'"),
        ("snakemake", "9.27.1", ""),
        ("typing-extensions", "4.15.0", ""),
    ]


def test_a_package_that_is_not_pinned_is_named() -> None:
    with pytest.raises(UserError, match=r"no pin for snakemake, .*make lock"):
        direct_packages(PYPROJECT, LOCK.replace("snakemake==", "snakebite=="))


def test_the_project_pins_all_it_asks_for() -> None:
    pyproject, lock = (ROOT / name for name in ("pyproject.toml", "requirements/run.lock"))
    found = direct_packages(pyproject.read_text(encoding="utf-8"), lock.read_text(encoding="utf-8"))
    assert {"snakemake", "dvc", "rocrate", "pyarrow"} <= {package.name for package in found}
    assert project_license(pyproject.read_text(encoding="utf-8")) == "Apache-2.0"


@pytest.mark.parametrize(("text", "expected"), [("[project]", "names no licence"), ("[", "not valid TOML")])
def test_a_licence_that_is_not_named_has_to_be_given(text: str, expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        project_license(text)
