"""Put the headline metrics of all leagues on one board."""

from magister.teaching.board import render_markdown, teaching_board
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the board as parquet, csv and Markdown."""
    board = teaching_board(step.table("metrics"))
    step.write("parquet", board, "teaching_board")
    step.write_text("csv", board.to_pandas().to_csv(index=False, lineterminator="\n"))
    step.write_text("md", render_markdown(board))


if __name__ == "__main__":
    run_step(__spec__.name, run)
