"""What a league of an arena promises beyond its contracts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._annotator_checks import agreement_checks
from magister.contracts._arena_ablation_checks import arena_ablation_checks
from magister.contracts._arena_plan import ArenaPlan
from magister.contracts._gallery_checks import gallery_checks
from magister.contracts._instruction_checks import instruction_checks, lineages, rejection_checks
from magister.contracts._judgement_checks import asked_checks, judgements
from magister.contracts._judgement_checks import rejection_checks as unvoted_checks
from magister.contracts._lift_checks import lift_checks
from magister.contracts._rating_checks import rating_checks
from magister.contracts._response_checks import of_scenarios, response_checks, vector_checks
from magister.contracts._selection_checks import PAIRS, pair_checks, selection_checks
from magister.contracts._sheet_checks import key_checks, missing_checks, sheet_checks, shown_check
from magister.contracts._similarity_checks import measured_check, similarity_checks
from magister.contracts._small import comparable
from magister.contracts._verdict_checks import verdict_checks
from magister.contracts._vote_checks import described_check, vote_checks
from magister.contracts.arena_tables import (
    ARENA_ABLATION,
    ARENA_AGREEMENT,
    ARENA_ASKED,
    ARENA_RESPONSES,
    ARENA_SIMILARITIES,
    ARENA_VERDICTS,
    GALLERY,
    INSTRUCTIONS,
    INSTRUCTIONS_REJECTED,
    RATINGS,
    SELECTION_LIFT,
    SELECTIONS,
    SHEET,
    SHEET_KEY,
    VECTORS,
    VOTES,
    VOTES_REJECTED,
)
from magister.contracts.gate import Expectation, Suite, Tables

__all__ = ["PAIRS", "ArenaPlan", "ArenaTables", "arena_suite"]


@dataclass(frozen=True)
class ArenaTables:
    """Tables of a league of an arena.

    Attributes:
        instructions: INSTRUCTIONS, the pool after its last round.
        instructions_rejected: INSTRUCTIONS_REJECTED of all rounds.
        responses: ARENA_RESPONSES of the league's models.
        vectors: VECTORS of their responses, in the order of the plan's models.
        instruction_vectors: VECTORS of the instructions.
        similarities: ARENA_SIMILARITIES, empty unless a judge scores likeness.
        pairs: what comparisons were chosen from, see `PAIRS`.
        selections: SELECTIONS.
        sheet: SHEET.
        sheet_key: SHEET_KEY.
        sheet_missing: VOTES_REJECTED of selections that cannot be shown.
        asked: ARENA_ASKED of all judges.
        votes: VOTES.
        votes_rejected: VOTES_REJECTED.
        verdicts: ARENA_VERDICTS.
        ratings: RATINGS.
        lift: SELECTION_LIFT.
        agreement: ARENA_AGREEMENT.
        gallery: GALLERY.
        ablation: ARENA_ABLATION.
    """

    instructions: pa.Table
    instructions_rejected: pa.Table
    responses: pa.Table
    vectors: Sequence[pa.Table]
    instruction_vectors: pa.Table
    similarities: pa.Table
    pairs: pa.Table
    selections: pa.Table
    sheet: pa.Table
    sheet_key: pa.Table
    sheet_missing: pa.Table
    asked: pa.Table
    votes: pa.Table
    votes_rejected: pa.Table
    verdicts: pa.Table
    ratings: pa.Table
    lift: pa.Table
    agreement: pa.Table
    gallery: pa.Table
    ablation: pa.Table


def arena_suite(given: ArenaTables, plan: ArenaPlan) -> Suite:
    """What a league of an arena promises.

    Args:
        given: its tables.
        plan: what the league was to hold.

    Returns:
        Tables and expectations for `run_gate`.
    """
    vectors = {f"vectors/{name}": table for name, table in zip(plan.models, given.vectors, strict=True)}
    tables: Tables = {
        "instructions": (INSTRUCTIONS, given.instructions),
        "instructions_rejected": (INSTRUCTIONS_REJECTED, given.instructions_rejected),
        "responses": (ARENA_RESPONSES, given.responses),
        **{name: (VECTORS, table) for name, table in vectors.items()},
        "instruction_vectors": (VECTORS, given.instruction_vectors),
        "similarities": (ARENA_SIMILARITIES, given.similarities),
        "pairs": (PAIRS, given.pairs),
        "selections": (SELECTIONS, given.selections),
        "sheet": (SHEET, given.sheet),
        "sheet_key": (SHEET_KEY, given.sheet_key),
        "sheet_missing": (VOTES_REJECTED, given.sheet_missing),
        "asked": (ARENA_ASKED, given.asked),
        "votes": (VOTES, given.votes),
        "votes_rejected": (VOTES_REJECTED, given.votes_rejected),
        "verdicts": (ARENA_VERDICTS, given.verdicts),
        "ratings": (RATINGS, given.ratings),
        "lift": (SELECTION_LIFT, given.lift),
        "agreement": (ARENA_AGREEMENT, given.agreement),
        "gallery": (GALLERY, given.gallery),
        "ablation": (ARENA_ABLATION, given.ablation),
    }
    if not comparable(tables):
        return tables, []
    pool, key = given.instructions, given.sheet_key
    own = of_scenarios(given.responses, pool, plan)
    tables["responses"] = (ARENA_RESPONSES, own)
    if plan.rounds:
        tables["lineages"] = lineages(pool, given.instructions_rejected, plan.rounds)
    tables["judgements"], judged = judgements(given.votes, given.votes_rejected, key, pool, plan)
    return tables, [
        *instruction_checks(pool, plan.rounds),
        *rejection_checks(given.instructions_rejected, pool, plan.rounds),
        *response_checks(own, pool, plan),
        *_vector_checks(vectors, given),
        *similarity_checks(given.similarities, pool, own, plan),
        *selection_checks(given.selections, given.pairs, pool, plan),
        measured_check(given.selections, given.similarities, plan),
        *pair_checks(given.pairs, given.selections, pool, plan),
        shown_check(given.selections, key, given.sheet_missing),
        *missing_checks(given.sheet_missing, given.selections, own),
        *key_checks(key, given.sheet, given.selections, given.sheet_missing, pool, own),
        *sheet_checks(given.sheet, key, pool, own, plan.shown),
        *asked_checks(given.asked, key, plan),
        *vote_checks(given.votes, key, given.asked, given.verdicts, plan),
        described_check(given.votes, given.agreement),
        *unvoted_checks(given.votes_rejected, key, pool, given.asked, plan),
        *judged,
        *verdict_checks(given.verdicts, key if plan.key else key.slice(0, 0), pool, own),
        *rating_checks(given.ratings, given.votes, plan),
        *lift_checks(given.lift, given.votes, plan),
        *agreement_checks(given.agreement, given.votes, key, plan),
        *gallery_checks(given.gallery, given.votes, given.sheet, key),
        *arena_ablation_checks(given.ablation, plan),
    ]


def _vector_checks(vectors: dict[str, pa.Table], given: ArenaTables) -> list[Expectation]:
    """Checks on the rows of all files of vectors."""
    found = vector_checks("instruction_vectors", given.instruction_vectors, given.instructions)
    for name, table in vectors.items():
        said = given.responses.filter(pc.equal(given.responses["model"], name.removeprefix("vectors/")))
        found += vector_checks(name, table, said)
    return found
