"""Put the ratings of all arenas on one board, for people and for programs."""

import json

from magister.arena._board_text import render_markdown
from magister.arena.board import LeagueRecords, arena_board, beside
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the board as parquet, csv and Markdown, and what stands beside it as JSON."""
    names = step.params["leagues"]
    tables = {
        kind: dict(zip(names, step.tables(kind), strict=True))
        for kind in ("ratings", "lift", "agreement", "votes", "rejected", "sheet", "missing")
    }
    notes = [json.loads(path.read_text(encoding="utf-8")) for path in step.inputs.get("notes", [])]
    board = arena_board(tables["ratings"])
    documents = {
        name: beside(
            LeagueRecords(
                notes=said,
                lift=tables["lift"][name],
                agreement=tables["agreement"][name],
                votes=tables["votes"][name],
                rejected=tables["rejected"][name],
                n_comparisons=tables["sheet"][name].num_rows,
                missing=tables["missing"][name],
            )
        )
        for name, said in zip(names, notes, strict=True)
    }
    step.write("parquet", board, "arena_board")
    step.write_csv("csv", board)
    step.write_text("md", render_markdown(board, documents))
    step.write_json("beside", documents)


if __name__ == "__main__":
    run_step(__spec__.name, run)
