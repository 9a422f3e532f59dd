"""Draw how few comparisons rank the models of an arena."""

from magister.plots import selection_curves
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the plot as SVG."""
    step.write_text("selection", selection_curves(step.table("ablation"), step.wildcards["arena"]))


if __name__ == "__main__":
    run_step(__spec__.name, run)
