"""Schemas of the arena: instructions, responses, selections, votes and ratings."""

from __future__ import annotations

import math

import pyarrow as pa

from magister.contracts.schemas import STATUSES, Contract

WINNERS = ("a", "b", "tie", "both_bad")
"""`both_bad` counts as a tie in ratings and on its own in the counts."""
SELECTION_ARMS = ("discrepant", "random")
ANNOTATOR_KINDS = ("person", "judge", "key")
RATING_SYSTEMS = ("elo", "bradley_terry")
RATING_STATUSES = ("ok", "unbounded", "no_interval", "not_computable")
"""`unbounded`: never beaten or never winning; the rating is a penalised value, one side of its interval open."""
RESPONSE_STATUSES = tuple(status for status in STATUSES if status not in ("no_answer", "ambiguous"))
RESPONSE_STATUSES += ("empty",)

VECTOR_STATUSES = ("ok", "no_text", "error")

_s, _i, _f, _b = pa.string(), pa.int32(), pa.float64(), pa.bool_()
_strings = pa.list_(pa.string())


def _schema(required: dict[str, pa.DataType], nullable: dict[str, pa.DataType] | None = None) -> pa.Schema:
    fields = [pa.field(name, kind, nullable=False) for name, kind in required.items()]
    fields += [pa.field(name, kind, nullable=True) for name, kind in (nullable or {}).items()]
    return pa.schema(fields)


# `source`, `source_id`: where a seed comes from, and what identifies it there.
# `root_id`: the seed an instruction descends from, its own id for a seed; votes are resampled by it.
INSTRUCTIONS = Contract(
    "instructions",
    _schema(
        {"instruction_id": _s, "scenario": _s, "text": _s, "root_id": _s, "round": _i, "operation": _s},
        {"parent_id": _s, "generator": _s, "gold": _s, "request_id": _s, "source": _s, "source_id": _s},
    ),
    key=("instruction_id",),
    ranges={"round": (0, 1e3)},
)
# Rows of a source (round 0) and failed evolutions. `origin`: "<source> <row>", or the parent's id; a parent is
# evolved once a round.
INSTRUCTIONS_REJECTED = Contract(
    "instructions_rejected",
    _schema(
        {"scenario": _s, "round": _i, "origin": _s, "operation": _s, "reason": _s, "detail": _s, "raw": _s},
        {"parent_id": _s, "source": _s, "source_row": _i, "generator": _s, "request_id": _s},
    ),
    key=("scenario", "round", "origin"),
    ranges={"round": (0, 1e3), "source_row": (1, 1e9)},
    may_be_empty=True,
)
ARENA_RESPONSES = Contract(
    "arena_responses",
    _schema(
        {"model": _s, "instruction_id": _s, "request_id": _s, "status": _s, "text": _s},
        {"finish_reason": _s, "error": _s, "prompt_tokens": _i, "completion_tokens": _i},
    ),
    key=("model", "instruction_id"),
    allowed={"status": RESPONSE_STATUSES},
)
# The rows of a file of vectors, in its order. `error`: the code of a failed call, whose row is NaN, as is that of
# an instruction without a text (an empty response, or a call that failed).
VECTORS = Contract(
    "vectors",
    _schema({"instruction_id": _s, "row": _i, "status": _s}, {"tokens": _i, "truncated": _b, "error": _s}),
    key=("instruction_id",),
    allowed={"status": VECTOR_STATUSES},
    ranges={"row": (0, 1e9), "tokens": (0, 1e9)},
)
# Instructions chosen for a pair, `model_a` < `model_b`. Similarity, penalty and objective are null where a method
# has none; `rank` counts from 1 within pair, scenario and arm.
SELECTIONS = Contract(
    "selections",
    _schema(
        {"scenario": _s, "model_a": _s, "model_b": _s, "arm": _s, "rank": _i, "instruction_id": _s}
        | {"inclusion_probability": _f},
        {"similarity": _f, "penalty": _f, "objective": _f},
    ),
    key=("scenario", "model_a", "model_b", "arm", "rank"),
    allowed={"arm": SELECTION_ARMS},
    ranges={"rank": (1, 1e6), "inclusion_probability": (0, 1), "similarity": (-1, 1)},
)
# What an annotator sees: no model name, sides by the seed.
SHEET = Contract(
    "sheet",
    _schema(
        {"comparison_id": _s, "scenario": _s, "instruction_id": _s, "instruction": _s}
        | {"response_1": _s, "response_2": _s}
    ),
    key=("comparison_id",),
)
# What the annotator does not see. `model_1` gave response 1.
SHEET_KEY = Contract(
    "sheet_key",
    _schema(
        {"comparison_id": _s, "scenario": _s, "instruction_id": _s, "root_id": _s, "arm": _s}
        | {
            "model_1": _s,
            "model_2": _s,
            "request_id_1": _s,
            "request_id_2": _s,
            "length_1": _i,
            "length_2": _i,
        }
        | {"inclusion_probability": _f},
    ),
    key=("comparison_id",),
    allowed={"arm": SELECTION_ARMS},
)
# `model_a` < `model_b`; `first` is the side shown first ("both" where a judge saw both orders); `flipped`: a judge
# whose two orders contradict, which is a tie.
VOTES = Contract(
    "votes",
    _schema(
        {"vote_id": _s, "comparison_id": _s, "scenario": _s, "instruction_id": _s, "root_id": _s, "arm": _s}
        | {"model_a": _s, "model_b": _s, "winner": _s, "annotator": _s, "annotator_kind": _s, "first": _s}
        | {"request_ids": _strings},
        {"flipped": _b, "seconds": _f, "length_a": _i, "length_b": _i},
    ),
    key=("vote_id",),
    allowed={
        "winner": WINNERS,
        "arm": SELECTION_ARMS,
        "annotator_kind": ANNOTATOR_KINDS,
        "first": ("a", "b", "both", "none"),
    },
)
# Comparisons that got no vote, and why: `raw` is what was said.
VOTES_REJECTED = Contract(
    "votes_rejected",
    _schema(
        {"source": _s, "row": _i, "reason": _s, "detail": _s, "raw": _s},
        {"comparison_id": _s, "annotator": _s, "request_id": _s},
    ),
    key=("source", "row", "reason"),
    may_be_empty=True,
)
# A row per scope ("overall" or a scenario), annotators rated by, system and model. Anchor: a component's mean is 1000.
RATINGS = Contract(
    "ratings",
    _schema(
        {
            "scope": _s,
            "annotators": _s,
            "system": _s,
            "model": _s,
            "status": _s,
            "reason": _s,
            "component": _i,
        }
        | {"group": _s, "n": _i, "wins": _i, "losses": _i, "ties": _i, "n_clusters": _i}
        | {"resamples": _i, "seed": _i, "level": _f},
        dict.fromkeys(("rating", "ci_low", "ci_high", "se", "sandwich_low", "sandwich_high"), _f)
        | dict.fromkeys(("rank", "rank_low", "rank_high"), _i)
        | {"p_first": _f},
    ),
    key=("scope", "annotators", "system", "model"),
    allowed={"system": RATING_SYSTEMS, "status": RATING_STATUSES},
    ranges={"component": (1, 1e6), "level": (0, 1), "p_first": (0, 1), "rating": (-math.inf, math.inf)}
    | dict.fromkeys(("rank", "rank_low", "rank_high"), (1, 1e6))
    | dict.fromkeys(("n", "wins", "losses", "ties", "n_clusters", "resamples"), (0, 1e9)),
)
