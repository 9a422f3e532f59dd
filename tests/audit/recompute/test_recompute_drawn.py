"""Drawn leagues and arenas: what the package makes of any of them comes out the same by other code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from magister.arena.agreement import agreement_table
from magister.arena.elo import EloScale
from magister.arena.lift import Resampling, selection_lift
from magister.arena.raters import rate_counts, rate_points
from magister.arena.ratings import Settings, rate_votes
from magister.arena.votes import code_votes
from magister.audit.findings import Finding
from magister.audit.recompute._annotators import hold_agreement
from magister.audit.recompute._arena import hold_ratings
from magister.audit.recompute._crossed import COMPARISONS_KEY, STANDINGS_KEY
from magister.audit.recompute._league_metrics import KEY as METRICS_KEY
from magister.audit.recompute._ledger import Ledger, Sheet
from magister.audit.recompute._lift import hold_lift
from magister.audit.recompute._ratings import KEY as RATINGS_KEY
from magister.audit.recompute._teaching import hold_league
from magister.contracts.arena_tables import SELECTION_LIFT, SHEET_KEY, VOTES
from magister.teaching.metrics import teaching_metrics
from magister.teaching.standings import standings
from magister.teaching.trajectories import zero_shot_table

sys.path.append(str(Path(__file__).resolve().parents[2] / "contracts"))
from test_recount import League

FEW: Any = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
CELL = ("league", "arm", "teacher", "student", "item_id", "round")


def league_findings(drawn: League, policy: Any, **options: Any) -> list[Finding]:
    """What a recomputation finds in the tables that the package makes of a league."""
    own = zero_shot_table("main", drawn.items, drawn.bands, drawn.zero_shot)
    metrics = teaching_metrics(drawn.trajectories, own, policy=policy, **options)
    ranked, compared = standings(drawn.trajectories, own, policy=policy, **options)
    tables = {
        "metrics": Sheet("metrics", metrics, METRICS_KEY),
        "standings": Sheet("standings", ranked, STANDINGS_KEY),
        "comparisons": Sheet("comparisons", compared, COMPARISONS_KEY),
    }
    ledger = Ledger("teaching")
    answers = own.rename_columns(["model" if name == "teacher" else name for name in own.column_names])
    hold_league(ledger, "main", Sheet("trajectories", drawn.trajectories, CELL), answers, tables, policy)
    return ledger.findings


@pytest.mark.parametrize("policy", ["wrong", "drop"])
@FEW
@given(
    seed=st.integers(0, 2**20),
    rounds=st.integers(1, 4),
    n_items=st.integers(1, 24),
    failing=st.sampled_from([0.0, 0.05, 0.3]),
    resamples=st.sampled_from([100, 400]),
)
@example(seed=647410, rounds=2, n_items=36, failing=0.0, resamples=400)
@example(seed=256178, rounds=4, n_items=10, failing=0.0, resamples=400)
def test_any_league_comes_out_the_same(
    policy: str, seed: int, rounds: int, n_items: int, failing: float, resamples: int
) -> None:
    drawn = League(seed, rounds, n_items, failing)
    assert league_findings(drawn, policy, resamples=resamples, level=0.9, seed=seed % 3) == []


def drawn_votes(rng: np.random.Generator) -> pa.Table:
    """Votes on pairs of some models by up to seven annotators of all kinds, on up to 20 instructions."""
    models, annotators = int(rng.integers(2, 6)), int(rng.integers(1, 8))
    strength = rng.normal(0, rng.choice([0.3, 1.0, 3.0]), models)
    rows: list[dict[str, Any]] = []
    pairs = [(a, b) for a in range(models) for b in range(a + 1, models)]
    for n in range(int(rng.integers(2, 21))):
        for (a, b), who in ((pair, who) for pair in pairs for who in range(annotators)):
            if rng.random() < 0.4:
                continue
            chance = 1 / (1 + np.exp(strength[b] - strength[a]))
            said = "a" if rng.random() < chance else "b"
            winner = str(rng.choice([said, said, said, "tie", "both_bad"]))
            kind = ("person", "judge", "key")[min(who % 3, 2)]
            judge = kind == "judge"
            word = winner if winner in ("a", "b") else "tie"
            flipped = bool(rng.random() < 0.3) if judge else None
            rows.append(
                {
                    "vote_id": f"v{len(rows)}", "comparison_id": f"c{n}-{a}-{b}", "scenario": f"s{n % 2}",
                    "instruction_id": f"i{n}", "root_id": f"i{n // 2}", "arm": "discrepant" if n % 3 else "random",
                    "model_a": f"m{a}", "model_b": f"m{b}", "winner": winner, "annotator": f"w{who}",
                    "annotator_kind": kind, "first": "a" if kind == "person" else "both", "request_ids": [],
                    "flipped": flipped, "winner_a_first": word if judge else None,
                    "winner_b_first": ("b" if flipped else word) if judge else None,
                    "length_a": int(rng.integers(1, 9)), "length_b": int(rng.integers(1, 9)),
                }
            )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=VOTES.schema)


def arena_findings(
    votes: pa.Table, models: list[str], elo_k: float, options: dict[str, Any]
) -> list[Finding]:
    """What a recomputation finds in the tables that the package makes of votes."""
    kinds = sorted(set(votes["annotator_kind"].to_pylist()))
    some = {"all": votes} | (
        {kind: votes.filter(pc.equal(votes["annotator_kind"], kind)) for kind in kinds}
        if len(kinds) > 1
        else {}
    )
    chosen = Settings(elo=EloScale(k=elo_k), **options)
    ratings = [
        rate_votes(code_votes(part, models=models), chosen, annotators=name).table
        for name, part in some.items()
    ]
    scopes = {"overall": votes} | {
        name: votes.filter(pc.equal(votes["scenario"], name)) for name in ("s0", "s1")
    }
    lift = [
        selection_lift(part, rater=rate_points, resampling=Resampling(**options), scope=name)
        for name, part in scopes.items()
        if len(set(part["arm"].to_pylist())) > 1
    ]
    key = SHEET_KEY.schema.empty_table()
    agreement = agreement_table(votes, key, rate=rate_counts, **options)
    ledger = Ledger("arena")
    hold_ratings(ledger, Sheet("ratings", pa.concat_tables(ratings), RATINGS_KEY), votes, models, elo_k)
    whole = pa.concat_tables([SELECTION_LIFT.schema.empty_table(), *lift])
    hold_lift(ledger, Sheet("lift", whole, SELECTION_LIFT.key), votes, ["s0", "s1"])
    place = ("statistic", "scope", "annotator_kind", "annotator")
    hold_agreement(ledger, Sheet("agreement", agreement, place), votes, key)
    return ledger.findings


@FEW
@given(seed=st.integers(0, 2**20), elo_k=st.sampled_from([4.0, 16.0]), resamples=st.sampled_from([60, 400]))
def test_any_arena_comes_out_the_same(seed: int, elo_k: float, resamples: int) -> None:
    votes = drawn_votes(np.random.default_rng(seed))
    if not votes.num_rows:
        return
    models = [f"m{n}" for n in range(6)]
    assert arena_findings(votes, models, elo_k, {"resamples": resamples, "seed": 1, "level": 0.9}) == []
