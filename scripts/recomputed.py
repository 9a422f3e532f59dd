"""What `magister replay --recompute` works out again, beside what it takes from the record."""

import json
from pathlib import Path

from scripts.step import Step

WEIGHTS = Path("build/weights")
"""Where the replay puts files of embedders that are at hand."""
NOTES = Path("build/recomputed")
"""Where the steps of a replay say how far the two agree, a file each."""


def note(step: Step, measure: str, agreement: float, least: float) -> None:
    """Say how far what was worked out again agrees with the record.

    Args:
        step: the step.
        measure: what is compared, and how.
        agreement: how far they agree; 1 where they are the same.
        least: how far they must.
    """
    NOTES.mkdir(parents=True, exist_ok=True)
    name = ".".join([step.rule, *step.wildcards.values()])
    value = {"step": name, "measure": measure, "agreement": agreement, "least": least}
    (NOTES / f"{name}.json").write_text(json.dumps(value, sort_keys=True) + "\n", encoding="utf-8")
