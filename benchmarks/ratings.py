"""How fast are the ratings of an arena, beside other packages, and do their intervals hold what they say?

Usage: python benchmarks/ratings.py [--coverage] [--replications 1000] [--sizes 280x8,100000x50,2000000x200]

Without options: seconds of each part of a rating on simulated votes of three sizes, and in the same run those of
evalica, choix and arena-rank for the same maximum-likelihood ratings, where they can be imported (`PYTHONPATH` may
name a folder that has them); a package that is not there is said to be missing. With --coverage: leagues are
simulated again and again from known strengths, with votes that depend on one another within instructions (and
annotators); the share of 95 % intervals that hold the true rating is printed, and a share outside 93-97 % is an error.
"""

from __future__ import annotations

import argparse
import importlib
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.arena.bradley_terry import POINTS, Games, Likelihood, Maximum, covariance, fit, sandwich
from magister.arena.elo import EloScale, mean_field
from magister.arena.league import order_league
from magister.arena.ratings import Settings, rate_votes
from magister.arena.resamples import components_of, design_of, replicates_of
from magister.arena.votes import Votes, code_votes

RESAMPLES = 1000
WANTED = (0.93, 0.97)


# speed


def simulated_votes(votes: int, models: int, seed: int = 0) -> pa.Table:
    """Votes on random pairs, a fifth of them ties."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, 0.8, models)
    a = rng.integers(0, models, votes)
    b = (a + rng.integers(1, models, votes)) % models
    won = rng.random(votes) < 1 / (1 + np.exp(strength[b] - strength[a]))
    winner = np.where(rng.random(votes) < 0.2, "tie", np.where(won, "model_a", "model_b"))
    names = np.array([f"model-{k:03d}" for k in range(models)])
    return pa.table({"model_a": names[a], "model_b": names[b], "winner": winner})


Seconds = tuple[float, float]


def best_of(times: int, work: Callable[[], Any]) -> tuple[Seconds, Any]:
    """Least seconds of several runs, of the clock and of processors, and the result of the last."""
    clock = busy = np.inf
    found = None
    for _ in range(times):
        begin, worked = time.perf_counter(), time.process_time()
        found = work()
        clock = min(clock, time.perf_counter() - begin)
        busy = min(busy, time.process_time() - worked)
    return (clock, busy), found


def speed(votes: int, models: int, repeats: int) -> None:
    """Print the seconds of one size."""
    table = simulated_votes(votes, models)
    likelihood, elo = Likelihood(), EloScale()
    heading = f"{votes:,} votes, {models} models (least of {repeats} runs)"
    print(f"\n{heading:<46}{'clock':>9}  {'processor':>9}")

    def line(name: str, seconds: Seconds, remark: str = "") -> None:
        print(f"  {name:<44}{seconds[0]:>9.3f} s{seconds[1]:>9.3f} s  {remark}", flush=True)

    seconds, coded = best_of(repeats, lambda: code_votes(table))
    line("read labels into codes", seconds)
    seconds, design = best_of(repeats, lambda: design_of(coded, order_league(coded)))
    line("order the models, count, find the units", seconds)
    tally = design.tally
    pairs = tally.pairs(slice(0, models))
    data = Games(*pairs.games(tally.counts[None, :]))

    def intervals() -> NDArray:
        best = Maximum.at(data, likelihood, fit(data, likelihood)[0])
        sandwich(best, likelihood, pairs, design.units)
        covariance(best, models)
        return best.theta

    seconds, theta = best_of(max(repeats, 5), intervals)
    line("Bradley-Terry with sandwich intervals", seconds)
    seconds, _ = best_of(max(repeats, 5), lambda: mean_field(data.games, data.points, elo))
    line("Elo, mean field", seconds)
    parts = components_of(design, likelihood, elo)
    seconds, _ = best_of(
        1,
        lambda: replicates_of(
            design,
            parts,
            likelihood=likelihood,
            elo=elo,
            resamples=RESAMPLES,
            seed=0,
            systems=("bradley_terry",),
        ),
    )
    line(f"{RESAMPLES} resamples, Bradley-Terry", seconds)
    seconds, _ = best_of(
        1, lambda: replicates_of(design, parts, likelihood=likelihood, elo=elo, resamples=RESAMPLES, seed=0)
    )
    line(f"{RESAMPLES} resamples, Bradley-Terry and Elo", seconds)
    seconds, _ = best_of(1, lambda: rate_votes(code_votes(table), Settings(resamples=RESAMPLES)))
    line("everything: codes to ranks and groups", seconds)
    mine = POINTS * theta[:models]
    order = np.argsort(tally.league.models)
    for peer in (evalica_ratings, choix_ratings, arena_rank_ratings):
        name = peer.__name__.removesuffix("_ratings").replace("_", "-")
        try:
            work = peer(coded)
        except ImportError as error:
            print(f"  {name:<44}  not importable: {error}")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                seconds, theirs = best_of(repeats if votes < 10**6 else 1, work)
            except (ArithmeticError, RuntimeError, TypeError, ValueError, AttributeError) as error:
                print(f"  {name:<44}  failed: {type(error).__name__}: {error}")
                continue
        theirs = np.asarray(theirs, dtype=np.float64)
        away = np.abs(theirs - theirs.mean() - (mine[order] - mine.mean())).max()
        line(f"{name}: maximum likelihood alone", seconds, f"farthest from ours {away:.2f} points")


def evalica_ratings(votes: Votes) -> Callable[[], NDArray]:
    """Bradley-Terry by evalica: a tie is half a win."""
    evalica, pd = importlib.import_module("evalica"), importlib.import_module("pandas")
    index = pd.Index(votes.models)
    first, second = ([votes.models[k] for k in side.tolist()] for side in (votes.low, votes.high))
    winners = [(evalica.Winner.X, evalica.Winner.Y, evalica.Winner.Draw)[k] for k in votes.outcome.tolist()]

    def work() -> NDArray:
        found = evalica.bradley_terry(first, second, winners, index=index, tolerance=1e-8, limit=10_000)
        return POINTS * np.log(found.scores.reindex(index).to_numpy())

    return work


def choix_ratings(votes: Votes) -> Callable[[], NDArray]:
    """Bradley-Terry by choix from a dense matrix of wins: a tie is half a win."""
    choix = importlib.import_module("choix")
    n = len(votes.models)

    def work() -> NDArray:
        wins = np.zeros((n, n))
        np.add.at(wins, (votes.low, votes.high), np.array([1.0, 0.0, 0.5])[votes.outcome])
        np.add.at(wins, (votes.high, votes.low), np.array([0.0, 1.0, 0.5])[votes.outcome])
        return POINTS * choix.ilsr_pairwise_dense(wins, alpha=1e-9)

    return work


def arena_rank_ratings(votes: Votes) -> Callable[[], NDArray]:
    """Bradley-Terry by arena-rank: a tie is half a win."""
    pd = importlib.import_module("pandas")
    data = importlib.import_module("arena_rank.utils.data_utils")
    model = importlib.import_module("arena_rank.models.bradley_terry")
    names = np.array(votes.models, dtype=object)
    frame = pd.DataFrame(
        {
            "model_a": names[votes.low],
            "model_b": names[votes.high],
            "winner": np.array(["model_a", "model_b", "tie"], dtype=object)[votes.outcome],
        }
    )

    def work() -> NDArray:
        dataset = data.PairDataset.from_pandas(frame)
        fitted = model.BradleyTerry(n_competitors=len(dataset.competitors))
        fitted.fit(dataset)
        found = fitted.compute_ratings_and_cis(dataset)
        order = np.argsort(np.array(found["competitors"], dtype=object))
        return np.asarray(found["ratings"], dtype=np.float64)[order]

    return work


# coverage


@dataclass(frozen=True)
class League:
    """A simulated league.

    Attributes:
        models: number of models.
        instructions: number of instructions; each is voted on for `pairs` random pairs.
        pairs: pairs of an instruction.
        annotators: 0 for one unnamed annotator; else each vote has one of them.
        instruction_sd: how far an instruction moves the strength of a model, in units of b.
        annotator_sd: how far an annotator's taste does.
        label: whether instructions are named in the votes.
    """

    models: int
    instructions: int
    pairs: int
    annotators: int = 0
    instruction_sd: float = 0.8
    annotator_sd: float = 0.0
    label: bool = True

    def __str__(self) -> str:
        who = f", {self.annotators} annotators (sd {self.annotator_sd})" if self.annotators else ""
        unit = "" if self.label else ", unnamed"
        return (
            f"{self.models} models, {self.instructions} instructions x {self.pairs} votes "
            f"(sd {self.instruction_sd}{unit}){who}"
        )


LEAGUES = (
    League(8, 280, 1, instruction_sd=0.0, label=False),
    League(8, 1000, 1, instruction_sd=0.0, label=False),
    League(7, 60, 10),
    League(8, 200, 8),
    League(20, 300, 20),
    League(8, 300, 6, annotators=12, annotator_sd=0.5),
    League(8, 300, 6, annotators=12, annotator_sd=0.0),
    League(8, 400, 6, annotators=40, annotator_sd=0.5),
)
TIE = 0.25


def mean_chance(difference: NDArray, sd: float) -> NDArray:
    """Chance of a win averaged over normal differences around the given ones (Gauss-Hermite)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    return (1 / (1 + np.exp(-(difference[..., None] + sd * nodes)))) @ (weights / weights.sum())


def truth(league: League, strength: NDArray) -> tuple[NDArray, NDArray]:
    """The ratings that endless votes of this league would give: Bradley-Terry's, and Elo's for as many votes."""
    k = league.models
    sd = np.sqrt(2 * (league.instruction_sd**2 + league.annotator_sd**2))
    chance = mean_chance(strength[:, None] - strength[None, :], sd)
    each = league.instructions * league.pairs / (k * (k - 1) / 2)
    games = np.full((k, k), each)
    np.fill_diagonal(games, 0)
    points = (games * ((1 - TIE) * chance + TIE / 2)).sum(axis=1)
    data = Games(games[None] * 1e6, points[None] * 1e6, np.zeros(1))
    return 1000 + POINTS * fit(data, Likelihood())[0], mean_field(games[None], points[None])[0]


def simulate(league: League, strength: NDArray, rng: np.random.Generator) -> pa.Table:
    """One league's votes."""
    k, n = league.models, league.instructions * league.pairs
    instruction = np.repeat(np.arange(league.instructions), league.pairs)
    a = rng.integers(0, k, n)
    b = (a + rng.integers(1, k, n)) % k
    moved = rng.normal(0, league.instruction_sd, (league.instructions, k))
    gap = strength[a] - strength[b] + moved[instruction, a] - moved[instruction, b]
    columns: dict[str, Any] = {}
    if league.annotators:
        annotator = rng.integers(0, league.annotators, n)
        taste = rng.normal(0, league.annotator_sd, (league.annotators, k))
        gap = gap + taste[annotator, a] - taste[annotator, b]
        columns["annotator"] = annotator
    won = rng.random(n) < 1 / (1 + np.exp(-gap))
    winner = np.where(rng.random(n) < TIE, "tie", np.where(won, "a", "b"))
    names = np.array([f"m{j:02d}" for j in range(k)])
    if league.label:
        columns["instruction_id"] = instruction
    return pa.table({"model_a": names[a], "model_b": names[b], "winner": winner, **columns})


def coverage(replications: int) -> bool:
    """Print the coverage of every kind of interval; whether all of them hold."""
    print(f"Coverage of 95 % intervals, {replications} leagues each, {RESAMPLES} resamples; wanted 93-97 %")
    print(f"{'league':<66}{'BT boot':>9}{'BT sandw':>9}{'Elo boot':>9}")
    fine = True
    for league in LEAGUES:
        rng = np.random.default_rng(1)
        strength = np.linspace(1.0, -1.0, league.models)
        bt, elo = truth(league, strength)
        held = np.zeros(3)
        for _ in range(replications):
            coded = code_votes(simulate(league, strength, rng))
            # Two votes of one annotator on the same pair of an instruction count once: none are simulated away.
            rows = rate_votes(
                coded, Settings(resamples=RESAMPLES, seed=int(rng.integers(2**31)))
            ).table.to_pandas()
            rows = rows.sort_values(["system", "model"])
            mine, theirs = (rows[rows["system"] == name] for name in ("bradley_terry", "elo"))
            for at, (low, high, value) in enumerate(
                (
                    (mine["ci_low"], mine["ci_high"], bt),
                    (mine["sandwich_low"], mine["sandwich_high"], bt),
                    (theirs["ci_low"], theirs["ci_high"], elo),
                )
            ):
                held[at] += ((low.to_numpy() <= value) & (value <= high.to_numpy())).mean()
        share = held / replications
        wrong = (share < WANTED[0]) | (share > WANTED[1])
        fine &= not wrong.any()
        print(
            f"{league!s:<66}" + "".join(f"{100 * x:8.1f}%" for x in share) + (" <--" if wrong.any() else ""),
            flush=True,
        )
    return fine


def main() -> None:
    """Run what the options ask for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sizes", default="280x8,100000x50,2000000x200")
    options = parser.parse_args()
    if options.coverage:
        if not coverage(options.replications):
            raise SystemExit("a coverage lies outside 93-97 %")
        return
    for size in options.sizes.split(","):
        votes, models = (int(part) for part in size.split("x"))
        speed(votes, models, options.repeats)


if __name__ == "__main__":
    main()
