"""Put the headline metrics of all leagues on one board, for people, for programs and for charts."""

from magister.teaching.board import render_markdown, teaching_board
from magister.teaching.numbers import board_numbers, ca_chart, rounds_chart
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the board as parquet, csv and Markdown, its numbers as JSON, and the data of two charts."""
    metrics = step.table("metrics")
    board = teaching_board(metrics, step.table("standings"))
    step.write("parquet", board, "teaching_board")
    step.write_csv("csv", board)
    step.write_text("md", render_markdown(board))
    step.write_json("numbers", board_numbers(board))
    step.write_csv("ca", ca_chart(board))
    step.write_csv("rounds", rounds_chart(metrics))


if __name__ == "__main__":
    run_step(__spec__.name, run)
