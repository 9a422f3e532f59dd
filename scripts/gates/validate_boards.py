"""Gate behind the boards: what is published is what was measured."""

from magister.contracts._league import exchanges
from magister.contracts.boards_suite import BoardRow, boards_suite
from magister.contracts.gate import run_gate
from scripts.gates.verdict import conclude
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Hold the teaching board to the metrics that it was read from."""
    rows = [
        BoardRow(name, arm, teacher, league["rounds"])
        for name, league in step.params["leagues"].items()
        for arm, teacher in exchanges(league["teachers"], league["arms"])
    ]
    conclude(
        step,
        run_gate(
            "boards", *boards_suite(step.table("board"), step.table("metrics"), step.table("standings"), rows)
        ),
    )


if __name__ == "__main__":
    run_step(__spec__.name, run)
