"""The command, called in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_helpers import Ran, Run

from magister import cli


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call the command in an empty folder, on a terminal of 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def call(*arguments: str) -> Ran:
        with pytest.raises(SystemExit) as stop:
            cli.main(list(arguments))
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Ran(int(stop.value.code or 0), said.out, said.err)

    return call
