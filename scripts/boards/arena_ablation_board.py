"""Put on one page, and in one table, how few comparisons rank the models of each arena."""

from magister.arena.ablation_page import selection_page, with_league
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the page and the table."""
    ablations = with_league(dict(zip(step.params["leagues"], step.tables("ablations"), strict=True)))
    step.write_csv("csv", ablations)
    step.write_text("md", selection_page(ablations))


if __name__ == "__main__":
    run_step(__spec__.name, run)
