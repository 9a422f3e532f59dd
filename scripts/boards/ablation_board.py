"""Put the ablations of all leagues on one page, and in one table."""

from magister.teaching.ablation_page import ablation_page
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the page and the table."""
    tables = [step.table(name) for name in ("ablations", "agreement", "contamination")]
    step.write_csv("csv", tables[0])
    step.write_text("md", ablation_page(*tables))


if __name__ == "__main__":
    run_step(__spec__.name, run)
