"""Read the sheets that people filled in."""

from magister.arena.people import Sheet, import_sheets
from magister.errors import UserError
from magister.items import read_rows
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the votes and the rows that are none; a row that has to be mended stops the run."""
    sheets = []
    for path in step.inputs["filled"]:
        rows, broken = read_rows(path)
        lines = [(row.number, row.detail, row.raw) for row in broken]
        sheets.append(Sheet(str(path), rows, lines, annotator=path.stem))
    found = import_sheets(sheets, step.table("key"))
    # A sheet made before the last change of the league holds comparisons that are gone: listed, not counted.
    found.check(allow=("unknown_comparison",))
    taken = sorted(set(found.votes["annotator"].to_pylist()) & {"key", *step.params["judges"]})
    if taken:
        raise UserError(
            f"{', '.join(map(str, step.inputs['filled']))}: the annotator {taken[0]!r} has the name of a judge of this "
            "arena, or of the answer key; write another name into the column annotator, or rename the file"
        )
    step.write("votes", found.votes, "votes")
    step.write("rejected", found.rejected, "votes_rejected")


if __name__ == "__main__":
    run_step(__spec__.name, run)
