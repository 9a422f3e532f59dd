"""Put the answers of all models of a study together."""

from magister.diagnosis.responses import answer_grid, grid_table
from scripts.choices import league_items
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write every model x item."""
    items = league_items(step)["item_id"].to_pylist()
    grid = answer_grid(step.tables("answers"), items, step.params["unparsed"])
    step.write("responses", grid_table(grid), "response_matrix")


if __name__ == "__main__":
    run_step(__spec__.name, run)
