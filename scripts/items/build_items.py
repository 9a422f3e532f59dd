"""Put gold and distractors together as multiple-choice items with a balanced order of options."""

from magister.items import build_items
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the items, and those that could not be built."""
    built, rejected = build_items(
        step.table("pool"),
        step.table("distractors"),
        options=step.params["options"],
        pad=step.params["pad"],
        seed=step.params["seed"],
    )
    step.write("built", built, "items")
    step.write("rejected", rejected, "rejected")


if __name__ == "__main__":
    run_step(__spec__.name, run)
