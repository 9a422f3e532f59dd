"""How intervals of rubrics are drawn."""

from magister.rubrics._sums import Resampling
from scripts.step import Step


def plan(step: Step) -> Resampling:
    """The step's resamples, level and seed."""
    return Resampling(**step.params["statistics"])
