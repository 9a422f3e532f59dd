"""Put the profiles of all studies on one board, with their controls, for people and for programs."""

import json

from magister.diagnosis._board_text import render_markdown
from magister.diagnosis.board import StudyRecords, beside, mastery_board
from scripts.step import Step, run_step

_TABLES = ("mastery", "attributes", "items", "predictions", "checks", "responses", "screening")


def run(step: Step) -> None:
    """Write the board as parquet, csv and Markdown, and what stands beside it as JSON."""
    names = step.params["studies"]
    # Snakemake keeps the name `items` for itself.
    inputs = {kind: "item_profiles" if kind == "items" else kind for kind in _TABLES}
    tables = {kind: dict(zip(names, step.tables(name), strict=True)) for kind, name in inputs.items()}
    verdicts, corrections = (
        {
            name: json.loads(path.read_text(encoding="utf-8"))
            for name, path in zip(names, step.inputs.get(kind, []), strict=True)
        }
        for kind in ("support", "corrections")
    )
    board = mastery_board(tables["mastery"])
    documents = {
        name: beside(
            StudyRecords(
                verdict=verdicts[name],
                corrections=corrections[name],
                **{kind: tables[kind][name] for kind in _TABLES},
            )
        )
        for name in names
    }
    step.write("parquet", board, "mastery_board")
    step.write_csv("csv", board)
    step.write_text("md", render_markdown(board, documents))
    step.write_json("beside", documents)


if __name__ == "__main__":
    run_step(__spec__.name, run)
