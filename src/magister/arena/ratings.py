"""Ratings of a league of votes: overall and by scenario, by Elo and by Bradley-Terry.

The mean rating of a connected part of a league is 1000; ratings of different parts cannot be compared, and each has
ranks of its own. Neither the order of the rows nor the side a model was shown on nor its name can change a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from magister.arena.bradley_terry import TIES, Likelihood, Ties
from magister.arena.elo import ORDERINGS, EloScale, Floats, mean_field, shuffled
from magister.arena.intervals import Standing, bradley_terry_standing, elo_standing, gather
from magister.arena.league import order_league
from magister.arena.position import position_note
from magister.arena.resamples import (
    MIN_ANNOTATORS,
    Component,
    Design,
    components_of,
    design_of,
    replicates_of,
    simulated_elo,
)
from magister.arena.votes import Votes, code_votes, describe_rejected, is_wrong
from magister.contracts.arena_tables import RATING_SYSTEMS, RATINGS
from magister.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

OVERALL = "overall"
MIN_RESAMPLES = 20
"""Fewer say nothing about a spread."""
EloMethod = Literal["mean_field", "shuffle"]


@dataclass(frozen=True)
class Settings:
    """How to rate.

    Attributes:
        seed: of resamples and orderings; part of every row.
        resamples: for the intervals; 0 for none.
        level: confidence level.
        systems: "elo", "bradley_terry" or both.
        elo: scale of Elo's ratings.
        method: "mean_field", or "shuffle" for the median over random orders of the votes.
        orderings: orders of "shuffle".
        likelihood: ties and ridge of Bradley-Terry.
    """

    seed: int = 0
    resamples: int = 1000
    level: float = 0.95
    systems: tuple[str, ...] = RATING_SYSTEMS
    elo: EloScale = field(default_factory=EloScale)
    method: EloMethod = "mean_field"
    orderings: int = ORDERINGS
    likelihood: Likelihood = field(default_factory=Likelihood)

    def __post_init__(self) -> None:
        wrong = [name for name in self.systems if name not in RATING_SYSTEMS]
        for bad, said in (
            (self.seed < 0, f"a seed of 0 or more, not {self.seed}"),
            (
                self.resamples != 0 and self.resamples < MIN_RESAMPLES,
                f"0 resamples or at least {MIN_RESAMPLES}, not {self.resamples}",
            ),
            (not 0 < self.level < 1, f"a level between 0 and 1, not {self.level!r}"),
            (
                bool(wrong) or not self.systems,
                f"systems among {', '.join(RATING_SYSTEMS)}, not {wrong or 'none'}",
            ),
            (self.method not in ("mean_field", "shuffle"), f"mean_field or shuffle, not {self.method!r}"),
            (self.orderings < 1, f"1 ordering or more, not {self.orderings}"),
            (self.likelihood.ties not in TIES, f"ties as {' or '.join(TIES)}, not {self.likelihood.ties!r}"),
            (not self.likelihood.prior_sd > 0, f"a prior_sd above 0, not {self.likelihood.prior_sd!r}"),
        ):
            if bad:
                raise UserError(f"ratings: expected {said}")


@dataclass(frozen=True)
class Ratings:
    """The table and what must be said beside it.

    Attributes:
        table: of the contract `ratings`, sorted by its key.
        notes: sentences: what is not connected, what ties or positions suggest, what was left out.
    """

    table: pa.Table
    notes: tuple[str, ...]


def rate_votes(
    votes: Votes, settings: Settings | None = None, *, by_scenario: bool = True, annotators: str = "all"
) -> Ratings:
    """Rate coded votes.

    Args:
        votes: by `code_votes`.
        settings: how.
        by_scenario: whether scenarios are rated on their own too.
        annotators: whose votes these are, for the table.

    Returns:
        A row per scope, system and model; a model without votes in a scope has status `not_computable`.

    Raises:
        UserError: a scenario has the name of all of them together.
    """
    settings = settings or Settings()
    if len(votes) == 0:
        nobody = unrated(votes.models, settings, annotators)
        return Ratings(nobody.table, (*nobody.notes, *_counts(votes)))
    scopes: list[tuple[str, int | None]] = [(OVERALL, None)]
    if by_scenario:
        if OVERALL in votes.scenarios:
            raise UserError(
                f"ratings: a scenario is called {OVERALL!r}, as all votes together are; rename it"
            )
        present = np.unique(votes.scenario[votes.scenario >= 0]).tolist()
        scopes += [(votes.scenarios[code], code) for code in present]
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    for scope, code in scopes:
        found, remarks = _rate_scope(votes, code, settings)
        rows += [{"scope": scope, "annotators": annotators, **row} for row in found]
        notes += [text if scope == OVERALL else f"{scope}: {text}" for text in remarks]
    table = pa.Table.from_pylist(rows, schema=RATINGS.schema)
    table = table.sort_by([(name, "ascending") for name in RATINGS.key])
    return Ratings(table, (*notes, *_counts(votes)))


def refuse_no_votes(votes: Votes) -> None:
    """Raise an error that says why no vote counts.

    Args:
        votes: by `code_votes`.

    Raises:
        UserError: there is none that counts.
    """
    if len(votes) == 0:
        said = "; ".join(describe_rejected(votes.rejected))
        unjudged = f"{votes.n_unjudged} of {votes.n_rows} row(s) have no winner"
        raise UserError(f"ratings: no vote counts: {unjudged}{'; ' if said else ''}{said}")


def unrated(models: Sequence[str], settings: Settings, annotators: str = "all") -> Ratings:
    """What is said of models on whom nobody voted.

    Args:
        models: their names.
        settings: how they would be rated.
        annotators: whose votes there are none of, for the table.

    Returns:
        A row per system and model, `not_computable`, each model a part of its own.
    """
    rows = [
        {"scope": OVERALL, "annotators": annotators, **_absent(model, system, at, settings)}
        for at, model in enumerate(sorted(models), start=1)
        for system in settings.systems
    ]
    table = pa.Table.from_pylist(rows, schema=RATINGS.schema)
    table = table.sort_by([(name, "ascending") for name in RATINGS.key])
    return Ratings(table, ("no vote counts: nothing is known of any model",))


def rate(
    votes: pd.DataFrame | pa.Table,
    *,
    seed: int = 0,
    resamples: int = 1000,
    level: float = 0.95,
    systems: Sequence[str] = RATING_SYSTEMS,
    by: str | None = None,
    columns: Mapping[str, str] | None = None,
    models: Sequence[str] | None = None,
    rejected: Literal["raise", "report"] = "raise",
    elo: EloMethod = "mean_field",
    ties: Ties = "half",
    prior_sd: float = Likelihood().prior_sd,
) -> pd.DataFrame:
    """Rate models by votes.

    Args:
        votes: a row per vote: `model_a`, `model_b` and `winner` (`model_a`, `model_b`, `tie`, `tie (bothbad)`, or `a`,
            `b`, `both_bad`); where they are there, `scenario`, `annotator`, `instruction_id`, `root_id`.
        seed: of the resamples.
        resamples: for the intervals; 0 for none.
        level: confidence level.
        systems: "elo", "bradley_terry" or both.
        by: "scenario" rates every scenario on its own too.
        columns: column of each role (`model_a`, `winner`, `instruction` ...) where its name is another.
        models: names that may stand in the votes; those without votes are listed too.
        rejected: whether votes that cannot be read are an error, or are left out and listed in the notes.
        elo: "mean_field", or "shuffle" for the median over 1000 random orders.
        ties: "half" or "davidson", for Bradley-Terry.
        prior_sd: of the ridge of Bradley-Terry, in points.

    Returns:
        A row per scope, system and model, best first: rating, interval, rank and its interval, group, component,
        counts, status and reason. `attrs["notes"]` holds sentences, `attrs["unjudged"]` and `attrs["rejected"]` counts.

    Raises:
        UserError: a label, a pair or a setting that cannot be used, or no vote that counts.
    """
    if by not in (None, "scenario"):
        raise UserError(f"rate: expected by=None or 'scenario', not {by!r}")
    settings = Settings(
        seed=seed,
        resamples=resamples,
        level=level,
        systems=tuple(systems),
        method=elo,
        likelihood=Likelihood(ties, prior_sd),
    )
    coded = code_votes(votes, columns=columns, models=models)
    if rejected == "raise":
        refuse_rejected(coded.rejected)
    refuse_no_votes(coded)
    if by and not coded.scenarios:
        raise UserError("rate: by='scenario', and the votes have no scenario")
    found = rate_votes(coded, settings, by_scenario=by is not None)
    frame = best_first(found.table)
    frame.attrs = {
        "notes": list(found.notes),
        "unjudged": coded.n_unjudged,
        "rejected": coded.rejected.num_rows,
    }
    return frame


def refuse_rejected(rejected: pa.Table) -> None:
    """Raise an error that names rows that cannot be read; repeated votes are no error.

    Args:
        rejected: table of the contract `votes_rejected`.

    Raises:
        UserError: there is such a row.
    """
    reasons = rejected["reason"].to_pylist()
    wrong = rejected.filter(pa.array([is_wrong(reason) for reason in reasons], pa.bool_()))
    if wrong.num_rows:
        raise UserError(f"votes: {'. '.join(describe_rejected(wrong))}")


def best_first(table: pa.Table) -> pd.DataFrame:
    """Ratings as a frame: overall first, in each scope and system by component and rank."""
    import pandas as pd

    whole = {pa.int32(): pd.Int32Dtype()}
    frame = table.to_pandas(types_mapper=whole.get)
    frame["_later"] = frame["scope"] != OVERALL
    order = ["_later", "scope", "system", "component", "rank", "model"]
    frame = frame.sort_values(order, na_position="last", ignore_index=True).drop(columns="_later")
    lead = [
        "scope",
        "system",
        "model",
        "rating",
        "ci_low",
        "ci_high",
        "rank",
        "rank_low",
        "rank_high",
        "p_first",
    ]
    lead += ["group", "component", "status", "reason", "n", "wins", "losses", "ties"]
    return frame[[*lead, *(name for name in frame.columns if name not in lead)]]


def _rate_scope(
    votes: Votes, scenario: int | None, settings: Settings
) -> tuple[list[dict[str, Any]], list[str]]:
    league = order_league(votes, scenario)
    design = design_of(votes, league)
    parts = components_of(design, settings.likelihood, settings.elo)
    replicates = replicates_of(
        design,
        parts,
        likelihood=settings.likelihood,
        elo=settings.elo,
        resamples=settings.resamples,
        seed=settings.seed,
        systems=settings.systems,
    )
    notes = _league_notes(design, len(parts))
    position = position_note(votes, league)
    rows: list[dict[str, Any]] = []
    for part in parts:
        evidence = gather(design, part, settings.likelihood, settings.elo, settings.level)
        said = [position] if position else []
        if not (design.tally.outcome[part.pairs.cells] != 2).any():
            said.append("all ties: nothing tells these models apart")
        if len(parts) > 1:
            said.append(f"one of {len(parts)} parts: no vote joins it to the others")
        for system in settings.systems:
            if system == "elo":
                rating = _elo(design, part, settings)
                found = elo_standing(
                    design,
                    part,
                    evidence,
                    replicates,
                    rating,
                    settings.level,
                    partial(
                        simulated_elo, part, settings.elo, resamples=settings.resamples, seed=settings.seed
                    ),
                )
            else:
                found = bradley_terry_standing(
                    design,
                    part,
                    evidence,
                    replicates,
                    settings.likelihood,
                    settings.level,
                    settings.elo.start,
                )
            rows += _rows(votes, design, part, system, found, said, settings)
    missing = sorted(set(range(len(votes.models))) - set(league.models.tolist()))
    rows += [
        _absent(votes.models[code], system, len(parts) + k, settings)
        for k, code in enumerate(missing, start=1)
        for system in settings.systems
    ]
    if missing:
        notes.append(f"no votes: {', '.join(votes.models[code] for code in missing)}")
    return rows, [*notes, *([position] if position else [])]


def _elo(design: Design, part: Component, settings: Settings) -> Floats:
    if settings.method == "mean_field":
        found = mean_field(part.data.games, part.data.points, settings.elo)[0]
    else:
        league = design.tally.league
        mine = (league.low >= part.at.start) & (league.low < part.at.stop)
        orders = shuffled(
            league.low[mine] - part.at.start,
            league.high[mine] - part.at.start,
            league.outcome[mine],
            part.k,
            orderings=settings.orderings,
            seed=settings.seed,
            elo=settings.elo,
        )
        found = np.median(orders, axis=0)
    alike = design.tally.league.alike[part.at]
    return np.array([np.sort(found[alike == code]).mean() for code in alike])


def _rows(
    votes: Votes,
    design: Design,
    part: Component,
    system: str,
    found: Standing,
    said: list[str],
    settings: Settings,
) -> list[dict[str, Any]]:
    league = design.tally.league
    wins, ties = design.tally.matrices(part.at)
    counts = {"wins": wins.sum(axis=1), "losses": wins.sum(axis=0), "ties": ties.sum(axis=1)}
    numbers = {
        name: getattr(found, name)
        for name in ("rating", "ci_low", "ci_high", "se", "sandwich_low", "sandwich_high", "p_first")
    }
    ranks = {name: getattr(found, name) for name in ("rank", "rank_low", "rank_high")}
    return [
        {
            "system": system,
            "model": votes.models[int(league.models[part.at.start + k])],
            "status": found.status[k],
            "reason": "; ".join([*found.reason[k], *said]),
            "component": int(league.component[part.at.start]),
            "group": found.group[k],
            **{name: int(column[k]) for name, column in counts.items()},
            "n": sum(int(column[k]) for column in counts.values()),
            "n_clusters": int(design.n_units[part.at.start + k]),
            "resamples": settings.resamples,
            "seed": settings.seed,
            "level": settings.level,
            **{name: None if np.isnan(column[k]) else float(column[k]) for name, column in numbers.items()},
            **{name: int(column[k]) or None for name, column in ranks.items()},
        }
        for k in range(part.k)
    ]


def _absent(model: str, system: str, component: int, settings: Settings) -> dict[str, Any]:
    """A model without votes: a part of the league of its own."""
    return {
        "system": system,
        "model": model,
        "status": "not_computable",
        "reason": "no votes",
        "component": component,
        "group": "",
        **dict.fromkeys(("wins", "losses", "ties", "n", "n_clusters"), 0),
        "resamples": settings.resamples,
        "seed": settings.seed,
        "level": settings.level,
    }


def _league_notes(design: Design, parts: int) -> list[str]:
    out = []
    if parts > 1:
        out.append(
            f"not connected: {parts} parts without a vote between them, each rated and ranked on its own; "
            "ratings of different parts cannot be compared"
        )
    if 0 < design.n_annotators < MIN_ANNOTATORS:
        out.append(
            f"{design.n_annotators} annotator(s): fewer than {MIN_ANNOTATORS} are not resampled, and the intervals "
            "hold for these annotators"
        )
    return out


def _counts(votes: Votes) -> list[str]:
    out = []
    if votes.n_unjudged:
        out.append(f"{votes.n_unjudged} of {votes.n_rows} row(s) have no winner: unjudged, not counted")
    if votes.n_both_bad:
        out.append(f"{votes.n_both_bad} tie(s) of {len(votes)} votes call both sides bad")
    return out + describe_rejected(votes.rejected)
