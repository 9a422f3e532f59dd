"""Write the fixed guidance of the control arms."""

from magister.teaching.guides import control_guides
from scripts.choices import league_items
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the guides of all control arms for one round."""
    guides = control_guides(
        league_items(step),
        step.params["students"],
        step.params["arms"],
        int(step.wildcards["round"]),
        step.params["seed"],
    )
    step.write("guides", guides, "guides")


if __name__ == "__main__":
    run_step(__spec__.name, run)
