"""What the Snakefile asks of the package: who works in a folder, whether it can be written to, what is news."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from magister.errors import UserError
from magister.pipeline import Membership, check_folders, is_news, join_folder


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A project's Snakemake folder with what a killed run left in it."""
    folder = tmp_path / ".snakemake"
    (folder / "locks").mkdir(parents=True)
    (folder / "locks/0.output.lock").write_text("results/teaching.md\n")
    return folder


@pytest.fixture
def first(state: Path) -> Iterator[Membership]:
    """The first process in the folder. Its lock goes with it."""
    member = join_folder(state)
    yield member
    if member.held is not None:
        os.close(member.held)


def test_who_comes_alone_clears_what_a_killed_run_left(state: Path, first: Membership) -> None:
    assert first.alone
    assert not (state / "locks").exists()


def test_nothing_is_cleared_beside_a_live_process(state: Path, first: Membership) -> None:
    (state / "locks").mkdir()
    (state / "locks/0.output.lock").write_text("results/teaching.md\n")
    for _ in range(2):
        second = join_folder(state)
        assert not second.alone
        assert (state / "locks/0.output.lock").is_file()
        assert second.held is not None
        os.close(second.held)


def test_the_folder_is_free_again_when_the_last_has_left(state: Path) -> None:
    for _ in range(2):
        member = join_folder(state)
        assert member.alone
        assert member.held is not None
        os.close(member.held)


def test_jobs_do_not_hold_the_folder_of_a_run_that_is_gone(first: Membership) -> None:
    assert first.held is not None
    assert not os.get_inheritable(first.held)


def test_a_folder_that_is_no_folder_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("x")
    assert join_folder(tmp_path / "state") == Membership(None, False)


def test_a_fresh_project_can_be_written_to(tmp_path: Path) -> None:
    check_folders(tmp_path)
    (tmp_path / "results").mkdir()
    check_folders(tmp_path)


@pytest.mark.parametrize("name", [".snakemake", "data", "logs", "results", "store"])
def test_a_file_in_the_place_of_a_folder_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")
    with pytest.raises(UserError, match=rf"^{name}: expected a folder"):
        check_folders(tmp_path)


def test_a_link_to_nowhere_is_named(tmp_path: Path) -> None:
    (tmp_path / "store").symlink_to(tmp_path / "gone")
    with pytest.raises(UserError, match="store: expected a folder"):
        check_folders(tmp_path)


def test_a_folder_without_rights_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "results")
    with pytest.raises(UserError, match="results: cannot be written to"):
        check_folders(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(UserError, match="the project's folder: cannot be written to"):
        check_folders(tmp_path)


def said(text: str, level: int = logging.ERROR) -> logging.LogRecord:
    return logging.LogRecord("snakemake", level, "", 0, text, None, None)


FAILED = (
    "RuleException:\nCalledProcessError in file rules/x.smk, line 1:\n"
    "Command 'python\n -m x' returned non-zero exit status {}."
)


@pytest.mark.parametrize("status", [1, 2, 130])
def test_what_a_step_has_said_is_not_said_again(status: int) -> None:
    assert not is_news(said(FAILED.format(status)))
    assert not is_news(said("Exiting because a job execution failed. Look above for error messages"))
    assert not is_news(said("Select jobs to execute...", logging.INFO))


@pytest.mark.parametrize(
    "text", [FAILED.format(137), FAILED.format(12), "LockException:\nError: Directory cannot be locked."]
)
def test_what_no_step_can_say_is_news(text: str) -> None:
    assert is_news(said(text))
