"""Ablation of the selection: how well do the first k comparisons of each pair rank the models, as k grows?

An answer key judges every comparison for free: right beats wrong, else a tie. So every way of selecting can be tried on
one scenario, and what a few of its comparisons say stands beside what all of them say.

- Ways: maximum discrepancy by the cosine of the responses' vectors, by the words they share, both without and with the
  penalty for likeness, and random draws. All of them pick among the same comparisons, those that every way can pick.
- The first k picks are the first k of one greedy run; those of a random draw are the first k of its order.
- The reference is the Bradley-Terry rating by all votes of the key in the scenario. It is taken as known.

Measures: Spearman's rho and Kendall's tau-b of both ratings; share of pairs of models that are ordered as the
reference orders them, a level pair 1/2, those that the reference leaves level left out; mean width of the ratings'
intervals by the sandwich variance, votes taken as independent; share of votes with a winner.

Intervals are those of votes: the selection is fixed, and the k votes of each pair are drawn again with replacement
within the pair. With random draws resample b belongs to draw b modulo the number of draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import special

from magister.arena._ablation_scores import MEASURES, Scores, Sums, reference_orders
from magister.arena._candidates import Candidates
from magister.arena._grid import FloatArray
from magister.arena.effort import Effort
from magister.arena.keys import Policy, key_verdicts
from magister.arena.prefilter import PreFilter, filter_similarities
from magister.arena.random_arm import draw_random, hash_ids, pair_key
from magister.arena.selection import Penalty, select
from magister.arena.similarity import Pair, Similarities, cosine_similarities
from magister.arena.tokens import token_similarities
from magister.arena.vectors import Vectors, check_unique, string_array
from magister.contracts.arena_tables import ARENA_ABLATION
from magister.errors import UserError
from magister.stats import BootstrapWeights, Estimates, bootstrap_weights, expanded_intervals

Codes = NDArray[np.int64]
#: More resamples than this are not drawn: each rates the models anew, for every k and way of selecting.
MOST_RESAMPLES = 1000
_BOUNDS = {
    "spearman": (-1.0, 1.0),
    "kendall": (-1.0, 1.0),
    "pair_agreement": (0.0, 1.0),
    "decisive": (0.0, 1.0),
}
_ONE_VOTE = "one vote for each pair: nothing to draw again"
_ALIKE = "all resamples give the same value: an interval cannot be estimated"
_NO_GOLD = "no instruction of the scenario has a gold value, so that no answer key can judge all comparisons"


@dataclass(frozen=True)
class Ablation:
    """What is tried.

    Attributes:
        k: most comparisons of each pair, 1 or more.
        lams: weights of the penalty.
        penalty: "max" or "mean" over earlier picks.
        draws: random draws that are averaged.
        resamples: B; at most `MOST_RESAMPLES` are drawn.
        seed: of draws and resamples.
        level: coverage, 0..1.
    """

    k: int = 10
    lams: tuple[float, ...] = (0.0, 1.0)
    penalty: Penalty = "max"
    draws: int = 20
    resamples: int = MOST_RESAMPLES
    seed: int = 0
    level: float = 0.95

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            UserError: for k or draws below 1.
        """
        if self.k < 1 or self.draws < 1:
            raise UserError(f"the ablation has k {self.k} and {self.draws} random draws; expected 1 or more")

    @property
    def used_resamples(self) -> int:
        """Resamples that are drawn."""
        return min(self.resamples, MOST_RESAMPLES)


@dataclass(frozen=True)
class Keyed:
    """Responses of a scenario as the answer key sees them.

    Attributes:
        scenario: its name.
        models: names, sorted, length M.
        ids: instructions with a gold value, sorted, length N.
        right: 1 for a right response, 0 for a wrong one, NaN for one without a verdict, shape (M, N).
    """

    scenario: str
    models: list[str]
    ids: pa.StringArray
    right: FloatArray

    @property
    def pairs(self) -> list[Pair]:
        """Every pair of models, in the order of their names."""
        return list(combinations(self.models, 2))

    @property
    def codes(self) -> Codes:
        """Positions of the two models of each pair, shape (P, 2)."""
        return np.array(list(combinations(range(len(self.models)), 2)), dtype=np.int64).reshape(-1, 2)

    def points(self, rows: Codes) -> FloatArray:
        """Votes on instructions: points of each pair's first model, NaN for row -1.

        Args:
            rows: instructions, shape (..., P, K).
        """
        at, codes = np.maximum(rows, 0), self.codes
        first, second = (self.right[codes[:, side][:, None], at] for side in (0, 1))
        return np.where(rows >= 0, 0.5 + (first - second) / 2, np.nan)

    def totals(self) -> Sums:
        """All votes of the scenario, counted per pair."""
        right, wrong = (np.where(np.isnan(self.right), 0.0, self.right == value) for value in (1.0, 0.0))
        a, b = self.codes.T
        won, lost, tied = (
            part[a, b][None, :]
            for part in (right @ wrong.T, wrong @ right.T, right @ right.T + wrong @ wrong.T)
        )
        return Sums(won + tied / 2, won + tied / 4, won + lost + tied)


def keyed_responses(
    scenario: str,
    instructions: pa.Table,
    responses: pa.Table,
    models: Sequence[str],
    policy: Policy = "wrong",
) -> Keyed:
    """Hold all responses of a scenario against the answer key.

    Args:
        scenario: its name.
        instructions: INSTRUCTIONS table of the scenario; those without gold are left out.
        responses: ARENA_RESPONSES table.
        models: names.
        policy: as in `keys.key_votes`.

    Returns:
        The verdicts.
    """
    with_gold = instructions.filter(pc.is_valid(instructions["gold"])).sort_by("instruction_id")
    ids = string_array(with_gold["instruction_id"])
    check_unique(ids, f"instructions of {scenario}")
    names = sorted(set(models))
    golds = dict(zip(ids.to_pylist(), with_gold["gold"].to_pylist(), strict=True))
    wanted = {(name, key): gold for name in names for key, gold in golds.items()}
    verdicts = key_verdicts(wanted, responses)
    if policy == "drop":
        verdicts = verdicts.filter(pc.equal(verdicts["status"], "ok"))
    verdicts = verdicts.filter(pc.is_valid(verdicts["correct"]))
    right = np.full((len(names), len(ids)), np.nan)
    model, instruction = (
        np.asarray(
            pc.index_in(string_array(verdicts[column]), among).to_numpy(zero_copy_only=False), dtype=np.int64
        )
        for column, among in (("model", pa.array(names, pa.string())), ("instruction_id", ids))
    )
    right[model, instruction] = np.asarray(pc.cast(verdicts["correct"], pa.float64()).to_numpy())
    return Keyed(scenario, names, ids, right)


@dataclass(frozen=True)
class Prefixes:
    """What one way of selecting picks, in its order.

    Attributes:
        method: "embedding", "token" or "random".
        lam: weight of the penalty.
        rows: instructions, -1 where a pair has no more, shape (draws, P, K).
    """

    method: str
    lam: float
    rows: Codes


def pick_prefixes(
    keyed: Keyed,
    texts: Mapping[str, pa.StringArray],
    vectors: Sequence[Vectors],
    instructions: Vectors,
    plan: Ablation,
    *,
    prefilter: PreFilter | None = None,
    effort: Effort | None = None,
) -> list[Prefixes]:
    """Pick the first K comparisons of every pair, in every way.

    Args:
        keyed: the scenario.
        texts: responses of each model to `keyed.ids`, null for none.
        vectors: of each model's responses.
        instructions: vectors of the instructions.
        plan: what is tried.
        prefilter: takes out comparisons beforehand; None for none.
        effort: memory and threads.

    Returns:
        The picks: both similarities with every weight of the penalty, and the random draws last. A comparison can be
        picked where the key has a vote on it, both similarities exist and the instruction has a vector.
    """
    effort = effort or Effort()
    place = {pair: at for at, pair in enumerate(keyed.pairs)}
    shape = (len(place), plan.k)
    ways = [(method, lam) for method in ("embedding", "token") for lam in sorted(set(plan.lams))]
    picked = {way: np.full((1, *shape), -1, dtype=np.int64) for way in ways}
    drawn = np.full((plan.draws, *shape), -1, dtype=np.int64)
    if not len(keyed.ids):
        return [*(Prefixes(*way, rows) for way, rows in picked.items()), Prefixes("random", 0.0, drawn)]
    hashed = hash_ids(keyed.ids)
    at = instructions.positions(keyed.ids)
    absent = Candidates(instructions, at, effort, passes=0).absent
    for part in _similarities(keyed, dict(texts), vectors, prefilter, effort):
        here = [place[pair] for pair in part[0].pairs]
        both = {"embedding": part[0].values, "token": part[1].values}
        voted = keyed.right[keyed.codes[here, 0]] + keyed.right[keyed.codes[here, 1]]
        able = ~np.isnan(both["embedding"] + both["token"] + voted) & ~absent
        for method, lam in ways:
            values = np.where(able, both[method], np.nan)
            picks = select(
                values, instructions, plan.k, lam, penalty=plan.penalty, ids=keyed.ids, effort=effort
            )
            picked[method, lam][0, here] = picks.rows
        for row, pair, can in zip(here, part[0].pairs, able, strict=True):
            for draw in range(plan.draws):
                key = pair_key(["ablation", str(draw), keyed.scenario, *pair], plan.seed)
                lot = draw_random(hashed, can, plan.k, key)
                drawn[draw, row, : lot.size] = lot
    return [*(Prefixes(*way, rows) for way, rows in picked.items()), Prefixes("random", 0.0, drawn)]


def _similarities(
    keyed: Keyed,
    texts: dict[str, pa.StringArray],
    vectors: Sequence[Vectors],
    prefilter: PreFilter | None,
    effort: Effort,
) -> Iterator[tuple[Similarities, Similarities]]:
    """Cosines and shares of words of the same pairs, some pairs at a time."""
    for part in cosine_similarities(vectors, keyed.ids, keyed.pairs, effort):
        if prefilter is not None:
            ((part, _),) = filter_similarities([part], texts, prefilter)
        yield part, token_similarities(texts, part.pairs)


def ablation_table(keyed: Keyed, prefixes: Sequence[Prefixes], plan: Ablation) -> pa.Table:
    """How well the first k picks rank the models, for k from 1 to K.

    Args:
        keyed: the scenario.
        prefixes: what each way picks, random draws among them.
        plan: what is tried.

    Returns:
        ARENA_ABLATION table, sorted by its key, a row per way, k and measure. Where nothing can be said every row has
        status `not_computable` and the reason.
    """
    ways = [(way.method, way.lam, len(way.rows)) for way in prefixes]
    why = why_not(keyed, prefixes)
    if why:
        return _table(keyed, plan, [_unknown(*way, k, why) for way in ways for k in range(1, plan.k + 1)])
    scores = Scores(
        keyed.codes, len(keyed.models), reference_orders(keyed.codes, len(keyed.models), keyed.totals())
    )
    z = float(special.ndtri(0.5 + plan.level / 2))
    found: list[_Found] = []
    for way in prefixes:
        points = keyed.points(way.rows)
        for k in range(1, plan.k + 1):
            found.append(_resampled(way, k, points[:, :, :k], scores, z, keyed, plan))
    random = {one.k: one for one in found if one.method == "random"}
    return _table(keyed, plan, [_estimated(one, random.get(one.k), scores, plan) for one in found])


def why_not(keyed: Keyed, prefixes: Sequence[Prefixes]) -> str:
    """Why a scenario says nothing about selection; empty where it does."""
    if not len(keyed.ids):
        return _NO_GOLD
    met = np.zeros(len(keyed.models), dtype=bool)
    codes = keyed.codes
    for way in prefixes:
        met[codes[(way.rows[:, :, 0] >= 0).any(axis=0)].ravel()] = True
    without = [name for name, some in zip(keyed.models, met.tolist(), strict=True) if not some]
    if without:
        return f"no comparison of {', '.join(without)} can be picked: no verdict, no text or no vector"
    return ""


@dataclass(frozen=True)
class _Found:
    """Measures of one way at one k.

    Attributes:
        value: shape (5,), NaN where undefined.
        replicates: shape (B, 5).
        weights: the resamples; its clusters are votes and its strata pairs.
        lost: draws on which a measure is undefined, shape (5,).
    """

    method: str
    lam: float
    draws: int
    k: int
    value: FloatArray
    replicates: FloatArray
    weights: BootstrapWeights
    lost: Codes


def _resampled(
    way: Prefixes, k: int, points: FloatArray, scores: Scores, z: float, keyed: Keyed, plan: Ablation
) -> _Found:
    """Measures by the votes (draws, P, k), and on resamples of them."""
    there = ~np.isnan(points[0])
    pair, column = np.nonzero(there)
    votes = points[:, pair, column]
    starts = np.flatnonzero(np.diff(pair, prepend=-1))
    some = pair[starts]
    labels = [f"{way.method} {float(way.lam)!r} {a}\0{b}" for a, b in keyed.pairs]
    weights = bootstrap_weights(
        [labels[at] for at in pair.tolist()], resamples=plan.used_resamples, seed=plan.seed
    )

    def sums(counts: FloatArray, said: FloatArray) -> Sums:
        parts = []
        for each in (said, said * said, np.ones(said.shape)):
            whole = np.zeros((counts.shape[0], len(labels)))
            whole[:, some] = np.add.reduceat(counts * each, starts, axis=1)
            parts.append(whole)
        return Sums(*parts)

    by_draw = scores.measures(sums(np.ones(votes.shape), votes), z)
    counts = weights.matrix()
    replicates = np.empty((plan.used_resamples, len(MEASURES)))
    step = max(1, 2**22 // max(pair.size, 1))
    for start in range(0, plan.used_resamples, step):
        part = np.arange(start, min(start + step, plan.used_resamples))
        drawn = counts[part].astype(np.float64)
        replicates[part] = scores.measures(sums(drawn, votes[part % len(votes)]), z)
    lost = np.isnan(by_draw).sum(axis=0)
    held = np.where(np.isnan(by_draw), 0.0, by_draw).sum(axis=0)
    value = np.where(lost < len(by_draw), held / np.maximum(len(by_draw) - lost, 1), np.nan)
    return _Found(way.method, way.lam, len(votes), k, value, replicates, weights, lost)


_Row = dict[str, object]


def _estimated(one: _Found, random: _Found | None, scores: Scores, plan: Ablation) -> list[_Row]:
    """Rows of one way at one k, a measure each."""
    single = not (one.weights.sizes > 1).any()
    own = expanded_intervals(one.value, one.replicates, one.weights, plan.level)
    beside = None
    if random is not None and one.method != "random":
        beside = expanded_intervals(
            one.value - random.value, one.replicates - random.replicates, one.weights, plan.level
        )
    rows = []
    for at, measure in enumerate(MEASURES):
        low, high = _BOUNDS.get(measure, (0.0, np.inf))
        row = _interval(own, at, "", low, high, single)
        row |= _status(own, at, one, scores, single)
        if beside is not None:
            row |= {"difference": _number(beside.value[at])}
            row |= _interval(beside, at, "difference_", low - high, high - low, single)
        rows.append(
            {"method": one.method, "lam": one.lam, "k": one.k, "measure": measure, "draws": one.draws}
            | {"value": _number(own.value[at]), "n": one.weights.n_clusters}
            | row
        )
    return rows


def _status(own: Estimates, at: int, one: _Found, scores: Scores, single: bool) -> _Row:
    if np.isnan(own.value[at]):
        return {"status": "not_computable", "reason": scores.why_undefined(MEASURES[at])}
    notes = []
    if single:
        notes.append(_ONE_VOTE)
    elif own.status[at] == "all_equal":
        notes.append(_ALIKE)
    elif own.reason[at]:
        notes.append(str(own.reason[at]))
    if one.lost[at]:
        notes.append(f"undefined on {one.lost[at]} of {one.draws} random draws and left out")
    known = own.status[at] == "ok" and not single
    return {"status": "ok" if known else "no_interval", "reason": "; ".join(notes)}


def _interval(found: Estimates, at: int, prefix: str, low: float, high: float, single: bool) -> _Row:
    """The ends of an interval, none beyond what the measure can be."""
    if single or found.status[at] != "ok":
        return {f"{prefix}ci_low": None, f"{prefix}ci_high": None}
    return {
        f"{prefix}ci_low": max(float(found.ci_low[at]), low),
        f"{prefix}ci_high": min(float(found.ci_high[at]), high),
    }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _unknown(method: str, lam: float, draws: int, k: int, why: str) -> list[_Row]:
    same = {"method": method, "lam": lam, "k": k, "draws": draws, "n": 0}
    return [same | {"measure": measure, "status": "not_computable", "reason": why} for measure in MEASURES]


def _table(keyed: Keyed, plan: Ablation, rows: Sequence[Sequence[_Row]]) -> pa.Table:
    same = {
        "scenario": keyed.scenario,
        "n_models": len(keyed.models),
        "n_instructions": len(keyed.ids),
        "n_reference": int(keyed.totals().votes.sum()),
        "resamples": plan.used_resamples,
        "seed": plan.seed,
        "level": plan.level,
    }
    table = pa.Table.from_pylist([same | row for part in rows for row in part], schema=ARENA_ABLATION.schema)
    return table.sort_by([(name, "ascending") for name in ARENA_ABLATION.key]).combine_chunks()
