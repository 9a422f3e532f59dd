"""A rating of the arena board: which one, what it means, and which votes move it most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.arena.bradley_terry import Likelihood
from magister.arena.elo import EloScale
from magister.arena.votes import Votes, code_votes
from magister.audit.card import Again, Cell, Facts, Mover, Movers, Number, Transcript
from magister.audit.choosing import Coordinate, choose, refuse_unknown, refuse_unused
from magister.audit.formulas import arena_formula
from magister.audit.left_out import largest
from magister.audit.project import Project
from magister.audit.transcripts import response_of
from magister.audit.votes_left_out import REFITTED, VotesLeftOut, votes_left_out
from magister.display import visible

BOARD = "results/arena.parquet"
OVERALL, ALL = "overall", "all"
_KEY = ("league", "scope", "annotators", "system", "model")
_VOTE = (
    *(
        "vote_id",
        "comparison_id",
        "scenario",
        "instruction_id",
        "root_id",
        "arm",
        "model_a",
        "model_b",
        "winner",
    ),
    *("annotator", "annotator_kind", "request_ids", "flipped"),
)
# Ratings have six decimals.
_ROUNDING = 1e-5
_CODED = ("model_a", "model_b", "winner", "scenario", "annotator", "instruction_id", "root_id")
_ALIASES = {"bt": "bradley_terry", "bradley-terry": "bradley_terry", "bradleyterry": "bradley_terry"}

COORDINATES = (
    Coordinate("metric", "METRIC", "rating system"),
    Coordinate("in", "--in", "arena"),
    Coordinate("annotators", "--annotators", "kind of voters", lambda names: ALL if ALL in names else None),
    Coordinate("slice", "--slice", "scope", lambda names: OVERALL if OVERALL in names else None),
)


def find(project: Project, model: str, asked: Mapping[str, str], top: int) -> Facts:
    """Find a rating.

    Args:
        project: finished.
        model: one that is rated.
        asked: what the user says: `metric` (elo or bradley_terry) and any of `in`, `annotators` and `slice`.
        top: how many votes to show.

    Raises:
        UserError: there is no such rating, or several fit; or a file is gone.
    """
    refuse_unused(asked, COORDINATES, "arena")
    asked = {**asked, "metric": _ALIASES.get(asked["metric"].casefold(), asked["metric"])}
    board = project.table(BOARD)
    refuse_unknown(board["model"].to_pylist(), model, "arena")
    mine = board.filter(pc.equal(board["model"], model)).to_pylist()
    rows = [row | {"metric": row["system"], "in": row["league"], "slice": row["scope"]} for row in mine]
    row = choose(rows, COORDINATES, asked, f"arena, {model}")
    table = project.input(BOARD, "arena_ratings", ".parquet", arena=row["league"])
    wanted = [(name, "==", row[name]) for name in _KEY if name != "league"]
    behind = project.table(table, filters=wanted).to_pylist()
    problems = []
    if not behind or any(behind[0][name] != row[name] for name in ("rating", "ci_low", "ci_high", "n")):
        problems.append(
            f"{BOARD} and {table} do not say the same of this rating: the board was not made from this table"
        )
    elo = EloScale(k=float(project.params(table)["elo"]["k"]))
    votes, path = _votes(project, table, row)
    left, kept = _left_out(project, table, row, votes, elo)
    whose = "" if row["annotators"] == ALL else f", votes of {row['annotators']}"
    title = f"{row['system']} rating of {model}, arena {row['league']}, {row['scope']}{whose}"
    place = {"in": row["league"], "annotators": row["annotators"], "slice": row["scope"]}
    return Facts(
        cell=Cell("arena", model, row["system"], place, title, BOARD, "rating", table),
        number=_number(row),
        formula=arena_formula(row["system"], elo.k, Likelihood().prior_sd),
        counts={name: row[name] for name in ("n", "wins", "losses", "ties", "n_clusters")},
        statuses=_statuses(votes, row),
        beside=(*_beside(row), *_rejected(project, path)),
        again=_again(row, left, f"{votes.num_rows} votes of {path}"),
        movers=_movers(project, table, row, votes, left, kept, top),
        warnings=tuple(problems),
    )


def _votes(project: Project, table: str, row: Mapping[str, Any]) -> tuple[pa.Table, str]:
    """The votes that the rating was given: of these annotators, all scopes."""
    path = project.input(table, "annotations", "/votes.parquet")
    filters = None if row["annotators"] == ALL else [("annotator_kind", "==", row["annotators"])]
    return project.table(path, _VOTE, filters), path


def _statuses(votes: pa.Table, row: Mapping[str, Any]) -> dict[str, int]:
    """How the votes on a model in a scope went, seen from the model."""
    counts: Counter[str] = Counter(dict.fromkeys(("won", "lost", "tie", "both_bad"), 0))
    columns = ["scenario", "model_a", "model_b", "winner"]
    grouped = votes.select(columns).group_by(columns).aggregate([([], "count_all")])
    for one in grouped.to_pylist():
        if row["scope"] not in (OVERALL, one["scenario"]) or row["model"] not in (
            one["model_a"],
            one["model_b"],
        ):
            continue
        won = {"a": one["model_a"], "b": one["model_b"]}.get(one["winner"])
        said = one["winner"] if won is None else "won" if won == row["model"] else "lost"
        counts[said] += one["count_all"]
    return dict(counts)


def _rejected(project: Project, path: str) -> list[str]:
    """Comparisons without a vote, by reason."""
    beside = project.made_with(path, "/votes_rejected.parquet")
    if beside is None:
        return []
    reasons = Counter(project.table(beside, ["reason"])["reason"].to_pylist())
    if not reasons:
        return ["no vote of this arena was rejected"]
    said = ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items()))
    return [f"votes of this arena that do not count, by reason: {said}"]


def _number(row: Mapping[str, Any]) -> Number:
    if row["ci_low"] is None and row["ci_high"] is None:
        method = ""
    elif "interval is that of the model" in row["reason"]:
        method = "interval of the model with independent votes"
    elif "sandwich interval" in row["reason"]:
        method = "sandwich interval over instructions, Student's t"
    else:
        method = (
            "percentiles of a bootstrap of instructions with all their votes, at a level widened for few of them "
            "(Hesterberg 2015)"
        )
    names = ("ci_low", "ci_high", "se", "level", "resamples", "seed", "status", "reason")
    return Number(**{name: row[name] for name in names}, value=row["rating"], method=method, unit="points")


def _beside(row: Mapping[str, Any]) -> tuple[str, ...]:
    said = []
    if row["rank"] is not None:
        first = "" if row["p_first"] is None else f", first in {row['p_first']:.0%} of the resamples"
        said.append(
            f"rank {row['rank']} (interval {row['rank_low']}-{row['rank_high']}){first}, group {row['group']}"
        )
    if row["sandwich_low"] is not None:
        said.append(f"sandwich interval [{row['sandwich_low']:.1f}, {row['sandwich_high']:.1f}]")
    return tuple(said)


def _left_out(
    project: Project, table: str, row: Mapping[str, Any], votes: pa.Table, elo: EloScale
) -> tuple[VotesLeftOut | None, list[int]]:
    """The rating without each vote, and the row of each coded vote."""
    if row["n"] == 0 or not votes.num_rows:
        return None, []
    coded = code_votes(votes.select(_CODED), models=project.params(table)["models"])
    dropped = {row_number - 1 for row_number in coded.rejected["row"].to_pylist()}
    kept = [at for at in range(votes.num_rows) if at not in dropped]
    scenario = None if row["scope"] == OVERALL else coded.scenarios.index(row["scope"])
    return votes_left_out(coded, scenario, _code(coded, row["model"]), row["system"], elo), kept


def _code(votes: Votes, model: str) -> int:
    return votes.models.index(model)


def _again(row: Mapping[str, Any], left: VotesLeftOut | None, rows: str) -> Again:
    if left is None:
        return Again(None, rows, None, "no vote on this model")
    return Again(left.value, rows, abs(left.value - row["rating"]) <= _ROUNDING)


def _movers(
    project: Project,
    table: str,
    row: Mapping[str, Any],
    votes: pa.Table,
    left: VotesLeftOut | None,
    kept: Sequence[int],
    top: int,
) -> Movers:
    method = (
        "exact: the league rated again without the vote"
        if left is None or left.outcomes <= REFITTED
        else f"the {REFITTED} outcomes of pairs that a Newton step says move it most (Pregibon 1981) are rated again "
        "without a vote; the others keep the step's change"
    )
    unit = "vote"
    if left is None:
        return Movers(unit, method, 0, 0, (), "no vote on this model: nothing moves its rating")
    change = left.value - left.without
    rows = [kept[at] for at in left.votes.tolist()]
    ids = votes["vote_id"].take(pa.array(rows)).to_pylist()
    chosen, as_far = largest(change.round(6), lambda at: (ids[at],), top)
    told = votes.take(pa.array([rows[at] for at in chosen], pa.int64())).to_pylist()
    texts = _instructions(project, table, told)
    movers = []
    for at, vote in zip(chosen, told, strict=True):
        lost = bool(np.isnan(change[at]))
        said = _outcome(vote)
        text = texts.get((vote["scenario"], vote["instruction_id"]), "")
        asked = [f"asked    {text}"] if text else []
        voter = (
            "the answer key"
            if vote["annotator_kind"] == "key"
            else f"{vote['annotator_kind']} {vote['annotator']}"
        )
        lines = (
            *asked,
            f"voter    {voter}" + (", whose two orders contradict: a tie" if vote["flipped"] else ""),
            f"where    {vote['scenario']}, instruction {vote['instruction_id']}, comparison {vote['comparison_id']}",
        )
        facts = {name: vote[name] for name in _VOTE if name != "request_ids"} | {
            "instruction": text or None,
            "exact": bool(left.exact[at]),
        }
        movers.append(
            Mover(
                said,
                None if lost else float(change[at]),
                None if lost else float(left.without[at]),
                lines,
                facts,
                _transcripts(project, table, vote),
            )
        )
    note = "a vote without which the league falls apart has no change: there is no rating to compare with"
    return Movers(unit, method, len(rows), as_far, tuple(movers), note if np.isnan(change).any() else "")


def _outcome(vote: Mapping[str, Any]) -> str:
    one, two = vote["model_a"], vote["model_b"]
    if vote["winner"] == "a":
        return f"{one} beats {two}"
    if vote["winner"] == "b":
        return f"{two} beats {one}"
    one, two = sorted((one, two))
    return f"{one} ties with {two}" + (", both bad" if vote["winner"] == "both_bad" else "")


def _behind(project: Project, table: str, rule: str, suffix: str = "", **wildcards: str) -> list[str]:
    """Files of a rule anywhere behind a table."""
    return [
        path
        for path in project.trail.back(table)
        if project.rule(path) == rule
        and path.endswith(suffix)
        and all(project.wildcards(path).get(name) == value for name, value in wildcards.items())
    ]


def _instructions(
    project: Project, table: str, votes: Sequence[Mapping[str, Any]]
) -> dict[tuple[str, str], str]:
    """What was asked, by scenario and instruction."""
    wanted = sorted({vote["instruction_id"] for vote in votes})
    found = {}
    columns = ["scenario", "instruction_id", "instruction"]
    for key in _behind(project, table, "annotation_sheet", "sheet_key.parquet") if wanted else []:
        path = project.made_with(key, "/sheet.parquet")
        if path is None:
            continue
        for row in project.table(path, columns, [("instruction_id", "in", wanted)]).to_pylist():
            text = " ".join(visible(row["instruction"]).split())
            found[row["scenario"], row["instruction_id"]] = text if len(text) <= 160 else text[:159] + "…"
    return found


def _transcripts(project: Project, table: str, vote: Mapping[str, Any]) -> tuple[Transcript, ...]:
    """The two responses, and what the judge said."""
    found = []
    for path in _behind(project, table, "annotation_sheet", "sheet_key.parquet"):
        for row in project.table(path, filters=[("comparison_id", "==", vote["comparison_id"])]).to_pylist():
            for side in ("1", "2"):
                model = row[f"model_{side}"]
                source = _behind(project, table, "respond", model=model)
                found.append(
                    response_of(project, source, model, f"response of {model}", row[f"request_id_{side}"])
                )
    if vote["annotator_kind"] == "judge":
        source = _behind(project, table, "judge_votes", ".parquet", model=vote["annotator"])
        orders = [f"verdict of {vote['annotator']}, order {at}" for at in (1, 2)]
        for role, key in zip(orders, vote["request_ids"] or (), strict=False):
            found.append(response_of(project, source, vote["annotator"], role, key))
    return tuple(found)
