"""Draw the teaching board: CA, the curves over the rounds, and the teachers on boards of others."""

from magister.plots import ca_forest, meta_scatter, teaching_curve
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the plots as SVG."""
    board = step.table("board")
    step.write_text("ca_forest", ca_forest(board))
    step.write_text("teaching_curve", teaching_curve(step.table("metrics")))
    step.write_text("meta_scatter", meta_scatter(board, step.table("meta_names"), step.table("meta")))


if __name__ == "__main__":
    run_step(__spec__.name, run)
