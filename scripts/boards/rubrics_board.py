"""Put the standings of all sets on one board, for people and for programs."""

import json

from magister.rubrics._board_text import render_markdown
from magister.rubrics.board import rubrics_board
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the board as parquet, csv and Markdown, and what stands beside it as JSON."""
    names = step.params["sets"]
    board = rubrics_board(dict(zip(names, step.tables("standings"), strict=True)))
    documents = {
        name: json.loads(path.read_text(encoding="utf-8"))
        for name, path in zip(names, step.inputs["beside"], strict=True)
    }
    step.write("parquet", board, "rubrics_board")
    step.write_csv("csv", board)
    step.write_text("md", render_markdown(board, documents))
    step.write_json("beside", documents)


if __name__ == "__main__":
    run_step(__spec__.name, run)
