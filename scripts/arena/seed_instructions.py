"""Read the sources of instructions through their gate."""

from pathlib import Path

from magister.arena.instructions import gather_instructions, load_instructions
from magister.config.instructions import InstructionLimits, InstructionSource
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the pool of round 0 and what was rejected."""
    files = {file: Path(file) for file in map(str, step.inputs.get("raw", []))}
    sources = {
        name: InstructionSource.model_validate(given)
        for name, given in sorted(step.params["sources"].items())
    }
    rows = {
        name: load_instructions(name, source, files.get(step.params["files"].get(name, "")))
        for name, source in sources.items()
    }
    limits = InstructionLimits.model_validate(step.params["limits"])
    pool = gather_instructions(sources, rows, limits)
    step.write("pool", pool.instructions, "instructions")
    step.write("rejected", pool.rejected, "instructions_rejected")


if __name__ == "__main__":
    run_step(__spec__.name, run)
