"""Gate behind the boards: what is published is what was measured."""

from magister.contracts._league import exchanges
from magister.contracts.arena_board_suite import arena_board_suite
from magister.contracts.arena_tables import ARENA_BOARD
from magister.contracts.boards_suite import BoardRow, boards_suite
from magister.contracts.diagnosis_tables import MASTERY_BOARD
from magister.contracts.external_suite import external_suite
from magister.contracts.gate import Suite, run_gate
from magister.contracts.mastery_board_suite import mastery_board_suite
from magister.contracts.rubrics_board_suite import rubrics_board_suite
from magister.contracts.rubrics_score_tables import RUBRICS_BOARD
from scripts.gates.verdict import conclude, table_or_none
from scripts.step import Step, run_step


def _teaching(step: Step) -> Suite:
    """The teaching board and the comparison with others, where there are leagues."""
    leagues = step.params["leagues"]
    if not leagues:
        return {}, []
    rows = [
        BoardRow(name, arm, teacher, league["rounds"])
        for name, league in leagues.items()
        for arm, teacher in exchanges(league["teachers"], league["arms"])
    ]
    tables = [step.table(name) for name in ("board", "metrics", "standings")]
    board, promised = boards_suite(*tables, rows)
    teachers = {name: league["teachers"] for name, league in leagues.items()}
    meta, compared = external_suite(step.table("meta"), step.table("meta_names"), teachers)
    return board | meta, [*promised, *compared]


def run(step: Step) -> None:
    """Hold every board to what it was read from, and the comparison with others to its names."""
    board, promised = _teaching(step)
    ratings = dict(zip(step.params.get("arenas", []), step.tables("arena_ratings"), strict=True))
    arena, rated = arena_board_suite(table_or_none(step, "arena_board", ARENA_BOARD), ratings)
    profiles = dict(zip(step.params.get("studies", []), step.tables("mastery"), strict=True))
    mastery, profiled = mastery_board_suite(table_or_none(step, "mastery_board", MASTERY_BOARD), profiles)
    standings = dict(zip(step.params.get("sets", []), step.tables("rubric_standings"), strict=True))
    rubrics, stood = rubrics_board_suite(table_or_none(step, "rubrics_board", RUBRICS_BOARD), standings)
    tables = board | arena | mastery | rubrics
    conclude(step, run_gate("boards", tables, [*promised, *rated, *profiled, *stood]))


if __name__ == "__main__":
    run_step(__spec__.name, run)
