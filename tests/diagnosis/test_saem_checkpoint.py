"""Fits that are stopped and go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from saem_cases import believed, same_fit, simulated

from magister.diagnosis import fit_saem, saem
from magister.diagnosis._chain import Run
from magister.diagnosis.fits import SaemFit
from magister.diagnosis.prior import QPrior
from magister.diagnosis.saem import SaemOptions
from magister.diagnosis.simulation import Truth
from magister.errors import UserError

LONG = SaemOptions(min_sweeps=8000, max_sweeps=8000)
SHORT = SaemOptions(max_sweeps=400)
CELLS = (np.array([3, 1]), np.array([2, 5]))

KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
from test_saem_checkpoint import long_fit
long_fit(Path(sys.argv[1]))
"""


def long_problem() -> tuple[Truth, QPrior]:
    truth = simulated(400, 80, 5, seed=1, missing=0.05)
    return truth, believed(truth, truth.q)


def long_fit(checkpoint: Path | None) -> SaemFit:
    truth, prior = long_problem()
    return fit_saem(
        truth.responses, prior, seed=3, chains=2, options=LONG, held_out=CELLS, checkpoint=checkpoint
    )


class Stopped(Exception):
    """Stands for the end of a process."""


def stop_after(monkeypatch: pytest.MonkeyPatch, blocks: int) -> list[int]:
    """Stop a fit when so many blocks of a chain were run; the list counts them."""
    ran: list[int] = []
    run_block = saem.run_block

    def counted(run: Run) -> None:
        if len(ran) >= blocks:
            raise Stopped
        run_block(run)
        ran.append(run.sweep)

    monkeypatch.setattr(saem, "run_block", counted)
    return ran


@pytest.fixture(scope="module")
def problem() -> tuple[Truth, QPrior]:
    truth = simulated(120, 30, 3, seed=2)
    return truth, believed(truth, truth.q)


@pytest.mark.slow
def test_a_killed_fit_goes_on_to_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = long_fit(None)
    path = tmp_path / "fit.npz"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED.format(folder=str(Path(__file__).parent)), str(path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        while not path.exists():
            assert process.poll() is None, "the fit ended without a checkpoint"
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL
    assert path.exists()
    ran = stop_after(monkeypatch, 1000)
    resumed = long_fit(path)
    assert same_fit(whole, resumed)
    # It went on from there: the first sweeps that it ran are later ones than those of the first checkpoint.
    assert ran[0] > 200
    assert not path.exists()


@pytest.mark.parametrize("blocks", [4, 7, 12, 13, 19])
def test_a_fit_goes_on_from_wherever_it_was_stopped(
    problem: tuple[Truth, QPrior], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: int
) -> None:
    truth, prior = problem
    options = replace(SHORT, min_sweeps=800, max_sweeps=3000)
    path = tmp_path / "folder" / "fit.npz"

    def fit(checkpoint: Path | None) -> SaemFit:
        return fit_saem(
            truth.responses, prior, seed=1, chains=1, options=options, held_out=CELLS, checkpoint=checkpoint
        )

    whole = fit(None)
    with monkeypatch.context() as patch:
        stop_after(patch, blocks)
        try:
            fit(path)
        except Stopped:
            assert path.exists()
    assert same_fit(whole, fit(path))
    assert [*path.parent.iterdir()] == []


def test_a_checkpoint_of_another_fit_is_said_and_not_used(
    problem: tuple[Truth, QPrior],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    truth, prior = problem
    path = tmp_path / "fit.npz"
    with monkeypatch.context() as patch:
        stop_after(patch, 6)
        with pytest.raises(Stopped):
            fit_saem(
                truth.responses,
                prior,
                seed=1,
                chains=1,
                options=replace(SHORT, min_sweeps=400, max_sweeps=500),
                checkpoint=path,
            )
    kept = path.read_bytes()
    other = truth.responses.correct.copy()
    other[0, 0] = 1 - other[0, 0]
    changed = replace(truth.responses, correct=other)
    fits = [
        {"seed": 2},
        {"chains": 2},
        {"options": replace(SHORT, min_sweeps=400, max_sweeps=500, delta=0.04)},
        {"responses": changed},
        {"prior": replace(prior, probability=prior.probability * 0.99)},
        {"held_out": CELLS},
    ]
    for difference in fits:
        path.write_bytes(kept)
        arguments = {
            "responses": truth.responses,
            "prior": prior,
            "seed": 1,
            "chains": 1,
            "options": replace(SHORT, min_sweeps=400, max_sweeps=500),
        } | difference
        found = fit_saem(**arguments, checkpoint=path)
        assert "is of other data, options or another version; the fit starts anew" in capsys.readouterr().err
        assert same_fit(found, fit_saem(**arguments))


def test_a_file_that_is_no_checkpoint_is_refused_and_kept(
    problem: tuple[Truth, QPrior], tmp_path: Path
) -> None:
    truth, prior = problem
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    with pytest.raises(UserError, match=r"notes\.txt: is no checkpoint of a fit"):
        fit_saem(truth.responses, prior, seed=1, chains=1, options=SHORT, checkpoint=path)
    assert path.read_text() == "mine"
    np.savez(tmp_path / "other.npz", a=np.arange(3))
    with pytest.raises(UserError, match="is no checkpoint of a fit"):
        fit_saem(truth.responses, prior, seed=1, chains=1, options=SHORT, checkpoint=tmp_path / "other.npz")


def test_pickled_objects_in_a_checkpoint_are_not_read(problem: tuple[Truth, QPrior], tmp_path: Path) -> None:
    truth, prior = problem
    path = tmp_path / "fit.npz"
    np.savez(path, mark=np.array([{"a": 1}], dtype=object))
    with pytest.raises(UserError, match="is no checkpoint of a fit"):
        fit_saem(truth.responses, prior, seed=1, chains=1, options=SHORT, checkpoint=path)


def test_a_checkpoint_that_cannot_be_written_is_an_error_of_the_user(
    problem: tuple[Truth, QPrior], tmp_path: Path
) -> None:
    truth, prior = problem
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        fit_saem(
            truth.responses,
            prior,
            seed=1,
            chains=1,
            options=SHORT,
            checkpoint=tmp_path / "file" / "fit.npz",
        )
