"""The arena board, from the replies of judges up: votes, ratings, lift, agreement, board and its copies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.audit.recompute._annotators import hold_agreement
from magister.audit.recompute._arena_board import hold_board
from magister.audit.recompute._ballots import KEY as VOTES_KEY
from magister.audit.recompute._ballots import KINDS, ballots_of, hold_judge, hold_judged, hold_key
from magister.audit.recompute._draws import REDRAWS
from magister.audit.recompute._ledger import Ledger, Sheet
from magister.audit.recompute._lift import hold_lift
from magister.audit.recompute._project import Project
from magister.audit.recompute._ratings import KEY, Plan, hold_absent, hold_scope
from magister.audit.recompute._rows import hold_join, read_replies
from magister.audit.recompute._scopes import scope_of
from magister.config.arena import ArenaLeague
from magister.config.params import Params

OVERALL = "overall"


def recompute_arena(project: Project, params: Params) -> None:
    """Every number of the arena board, and of what it is read from.

    Args:
        project: the files; its ledger takes what is found.
        params: of the project.
    """
    for name, league in params.arena.leagues.items():
        with project.part(f"data/arena/leagues/{name}"):
            hold_arena(project, name, league, params.arena.elo.k)
    hold_board(project, list(params.arena.leagues))


def hold_arena(project: Project, name: str, league: ArenaLeague, elo_k: float) -> None:
    """Tables of one arena.

    Args:
        project: the files.
        name: of the arena.
        league: its section of the parameters.
        elo_k: points at stake in a vote.

    Raises:
        MissingError: a file is not there.
    """
    folder = f"data/arena/leagues/{name}"
    votes = project.sheet(f"{folder}/votes.parquet", VOTES_KEY)
    key = project.table(f"{folder}/sheet_key.parquet")
    _hold_votes(project, folder, league, votes, key)
    ratings = project.sheet(f"{folder}/ratings.parquet", KEY)
    hold_ratings(project.ledger, ratings, votes.table, league.models, elo_k)
    hold_lift(project.ledger, project.sheet(f"{folder}/lift.parquet", ("scope", "measure", "arm")), votes.table,
              sorted(league.scenarios))  # fmt: skip
    agreement = project.sheet(
        f"{folder}/agreement.parquet", ("statistic", "scope", "annotator_kind", "annotator")
    )
    hold_agreement(project.ledger, agreement, votes.table, key)


def hold_ratings(
    ledger: Ledger, ratings: Sheet, votes: pa.Table, models: list[str], elo_k: float, redraws: int = REDRAWS
) -> None:
    """The ratings of an arena: by all votes and by those of each kind, overall and by scenario.

    Args:
        ledger: for findings.
        ratings: RATINGS.
        votes: VOTES.
        models: of the arena.
        elo_k: points at stake in a vote.
        redraws: resamples of our own.
    """
    present = [kind for kind in KINDS if kind in set(votes["annotator_kind"].to_pylist())]
    chosen = {"all": votes}
    if len(present) > 1:
        chosen |= {kind: votes.filter(pc.equal(votes["annotator_kind"], kind)) for kind in present}
    names = sorted(set(models))
    keys = []
    for annotators, some in chosen.items():
        ballots = ballots_of(some, models)
        scopes = [OVERALL, *(ballots.scenarios if ballots.low.size else [])]
        keys += [
            (scope, annotators, system, name)
            for scope in scopes
            for system in ("bradley_terry", "elo")
            for name in names
        ]
    rows, _ = ratings.align(ledger, keys, "ratings of an arena")
    if not rows.size:
        return
    ledger.uniform(ratings, ("resamples", "level", "seed"))
    settings = {name: float(np.median(ratings.numbers(name))) for name in ("resamples", "level")}
    plan = Plan(elo_k, int(settings["resamples"]), settings["level"], redraws)
    for annotators, some in chosen.items():
        ballots = ballots_of(some, models)
        if not ballots.low.size:
            absent = [
                (OVERALL, annotators, system, name) for system in ("bradley_terry", "elo") for name in names
            ]
            hold_absent(ledger, ratings, absent)
            continue
        hold_scope(ledger, ratings, scope_of(ballots, redraws), (OVERALL, annotators), names, plan)
        for code, scenario in enumerate(ballots.scenarios):
            part = ballots.some(ballots.scenario == code)
            hold_scope(ledger, ratings, scope_of(part, redraws), (scenario, annotators), names, plan)


def _hold_votes(project: Project, folder: str, league: ArenaLeague, votes: Sheet, key: pa.Table) -> None:
    """Votes against the replies of judges and the answer key, and all of them against those of each."""
    ledger = project.ledger
    hold_judge(ledger, votes)
    parts = []
    for name in league.judges:
        mine = project.sheet(f"{folder}/votes/judge/{name}.parquet", VOTES_KEY)
        asked = project.table(f"{folder}/judge/{name}.asked.parquet")
        hold_judged(ledger, mine, asked, key, read_replies(project, f"{folder}/judge/{name}.responses.jsonl"))
        parts.append(mine.table)
    if league.key:
        mine = project.sheet(f"{folder}/votes/key.parquet", VOTES_KEY)
        hold_key(ledger, mine, project.table(f"{folder}/verdicts.parquet"))
        parts.append(mine.table)
    if league.people:
        parts.append(project.table(f"{folder}/votes/people.parquet"))
    if parts:
        every = pa.concat_tables(parts, promote_options="default")
        same = {
            name: name
            for name in (
                "comparison_id",
                "scenario",
                "root_id",
                "arm",
                "model_a",
                "model_b",
                "winner",
                "annotator",
            )
        }
        more = (
            "annotator_kind",
            "first",
            "flipped",
            "winner_a_first",
            "winner_b_first",
            "length_a",
            "length_b",
        )
        same |= {name: name for name in more}
        hold_join(ledger, votes, every, same, ["vote_id"], "votes: all of them")
        if len(votes) != every.num_rows:
            ledger.add(
                votes.path, "", "rows: votes of an arena", f"{len(votes)} rows", f"{every.num_rows} rows"
            )
    sides = {name: name for name in ("scenario", "root_id", "arm", "instruction_id", "random_probability")}
    hold_join(ledger, votes, key, sides, ["comparison_id"], "votes: the comparison")
