"""Make the blind sheet of the chosen comparisons."""

from magister.arena.people import export_csv
from magister.arena.sheets import annotation_sheet
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the sheet, for programs and for people, its key, and what cannot be shown."""
    made = annotation_sheet(
        step.table("selections"), step.table("pool"), step.table("answers"), seed=step.params["seed"]
    )
    step.write("sheet", made.sheet, "sheet")
    step.write("key", made.key, "sheet_key")
    step.write("missing", made.rejected, "votes_rejected")
    step.write_text("csv", export_csv(made.sheet))


if __name__ == "__main__":
    run_step(__spec__.name, run)
