"""Draw a study: models by attributes, the Q-matrix before and after, items, and the number of attributes."""

from magister.contracts.diagnosis_tables import K_CURVE
from magister.plots import item_plot, k_curve, mastery_map, q_map
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the plots as SVG."""
    study = step.wildcards["study"]
    step.write_text("mastery", mastery_map(step.table("mastery"), study))
    step.write_text("q", q_map(step.table("entries"), study))
    step.write_text("item_parameters", item_plot(step.table("item_profiles"), study))
    # A given Q-matrix has none.
    curve = step.table("k_curve") if step.inputs.get("k_curve") else K_CURVE.schema.empty_table()
    step.write_text("k_curve", k_curve(curve, study))


if __name__ == "__main__":
    run_step(__spec__.name, run)
