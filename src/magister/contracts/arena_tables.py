"""Schemas of the arena: instructions, responses, selections, votes and ratings."""

from __future__ import annotations

import pyarrow as pa

from magister.contracts.contract import METRIC_STATUSES, STATUSES, Contract
from magister.contracts.contract import table_schema as _schema

WINNERS = ("a", "b", "tie", "both_bad")
"""`both_bad` counts as a tie in ratings and on its own in the counts."""
SELECTION_ARMS = ("discrepant", "random")
ANNOTATOR_KINDS = ("person", "judge", "key")
RATING_SYSTEMS = ("elo", "bradley_terry")
RATING_STATUSES = ("ok", "unbounded", "no_interval", "not_computable")
"""`unbounded`: never beaten or never winning; the rating is a penalised value, one side of its interval open."""
LIFT_MEASURES = ("decisive", "vote_agreement", "pair_agreement", "width", "relative_width")
"""Of a selection beside votes on random instructions; the last two fall as votes tell more."""
LIFT_SHARES = LIFT_MEASURES[:3]
"""Those that are shares, 0..1."""
LIFT_ARMS = (*SELECTION_ARMS, "difference")
ABLATION_METHODS = ("embedding", "token", "random")
ARENA_ABLATION_MEASURES = ("spearman", "kendall", "pair_agreement", "width", "decisive")
"""Of a ranking by few votes: the first three beside the ranking by all; points; share of votes with a winner."""
RESPONSE_STATUSES = tuple(status for status in STATUSES if status not in ("no_answer", "ambiguous"))
RESPONSE_STATUSES += ("empty",)
SIMILARITY_STATUSES = (
    *("ok", "no_text", "error", "context_exceeded", "refusal", "truncated"),
    *("no_answer", "ambiguous", "invalid"),
)
"""Of a judge's score of two responses; `no_text`: one of them is missing, and nothing was asked."""
AGREEMENT_STATISTICS = (
    "alpha",
    "pairwise_agreement",
    "agreement_with_people",
    "decisive_agreement_with_people",
    "kappa_with_people",
    "first_share",
    "flip_share",
    "first_in_both",
    "second_in_both",
    "longer_share",
    "decisive_share",
    "both_bad_share",
    "self_named_share",
    "influence",
)
"""What is said of annotators; `docs/arena_votes.md` explains each."""

VECTOR_STATUSES = ("ok", "no_text", "error")

_s, _i, _f, _b = pa.string(), pa.int32(), pa.float64(), pa.bool_()
_strings = pa.list_(pa.string())


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
    # No source is configured.
    may_be_empty=True,
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
# How alike a judge finds two responses: a row per pair, `model_a` < `model_b`, and instruction. `similarity` is null
# where there is no number to read, never a number in its place.
ARENA_SIMILARITIES = Contract(
    "arena_similarities",
    _schema(
        {"scenario": _s, "model_a": _s, "model_b": _s, "instruction_id": _s, "status": _s},
        {"similarity": _f, "request_id": _s},
    ),
    key=("scenario", "model_a", "model_b", "instruction_id"),
    allowed={"status": SIMILARITY_STATUSES},
    ranges={"similarity": (0, 1)},
    # Another similarity is chosen.
    may_be_empty=True,
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
    may_be_empty=True,
)
# What an annotator sees: no model name, sides by the seed.
SHEET = Contract(
    "sheet",
    _schema(
        {"comparison_id": _s, "scenario": _s, "instruction_id": _s, "instruction": _s}
        | {"response_1": _s, "response_2": _s}
    ),
    key=("comparison_id",),
    may_be_empty=True,
)
# What the annotator does not see. `model_1` gave response 1; lengths are in characters. An instruction that both
# arms chose is one comparison of arm `discrepant`; `random_probability` is its chance in the draw of the random arm,
# null where that draw did not choose it: all rows with a value are the random sample. `self_named`: the response
# says which model wrote it.
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
        | {"inclusion_probability": _f, "self_named_1": _b, "self_named_2": _b},
        {"random_probability": _f},
    ),
    key=("comparison_id",),
    allowed={"arm": SELECTION_ARMS},
    ranges=dict.fromkeys(("inclusion_probability", "random_probability"), (0.0, 1.0))
    | dict.fromkeys(("length_1", "length_2"), (0.0, 1e9)),
    may_be_empty=True,
)
# Which request asks a judge about which comparison; order 1: response 1 is A, order 2: response 2 is A.
ARENA_ASKED = Contract(
    "arena_asked",
    _schema({"annotator": _s, "comparison_id": _s, "order": _i, "request_id": _s}),
    key=("annotator", "comparison_id", "order"),
    ranges={"order": (1, 2)},
    may_be_empty=True,
)
# Responses held against the gold of their instruction; `correct` is null where there was no response (`error`).
ARENA_VERDICTS = Contract(
    "arena_verdicts",
    _schema(
        {"model": _s, "instruction_id": _s, "request_id": _s, "status": _s, "rule": _s, "gold": _s},
        {"answer": _s, "correct": _b},
    ),
    key=("model", "instruction_id"),
    allowed={"status": (*RESPONSE_STATUSES, "no_answer", "ambiguous")},
    may_be_empty=True,
)
# `model_a` < `model_b`; `first` is the side shown first ("both" where a judge saw both orders); `flipped`: a judge
# whose two orders contradict, which is a tie; `winner_a_first`, `winner_b_first`: what the judge said in each order.
VOTES = Contract(
    "votes",
    _schema(
        {"vote_id": _s, "comparison_id": _s, "scenario": _s, "instruction_id": _s, "root_id": _s, "arm": _s}
        | {"model_a": _s, "model_b": _s, "winner": _s, "annotator": _s, "annotator_kind": _s, "first": _s}
        | {"request_ids": _strings},
        {
            "flipped": _b,
            "winner_a_first": _s,
            "winner_b_first": _s,
            "seconds": _f,
            "length_a": _i,
            "length_b": _i,
        }
        | {"random_probability": _f},
    ),
    key=("vote_id",),
    allowed={
        "winner": WINNERS,
        "arm": SELECTION_ARMS,
        "annotator_kind": ANNOTATOR_KINDS,
        "first": ("a", "b", "both", "none"),
    }
    | dict.fromkeys(("winner_a_first", "winner_b_first"), ("a", "b", "tie")),
    # Nobody could be read, or no instruction has a gold value.
    may_be_empty=True,
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
# What is known of annotators. `annotator` is empty where all of a kind are meant, `annotator_kind` "all" where kinds
# are pooled and "none" where no annotator is meant; `model`: whose rating an annotator moves most.
ARENA_AGREEMENT = Contract(
    "arena_agreement",
    _schema(
        {"statistic": _s, "scope": _s, "annotator_kind": _s, "annotator": _s, "status": _s, "reason": _s}
        | {"n": _i, "n_clusters": _i, "level": _f, "resamples": _i, "seed": _i},
        dict.fromkeys(("value", "ci_low", "ci_high", "se"), _f) | {"model": _s},
    ),
    key=("statistic", "scope", "annotator_kind", "annotator"),
    allowed={
        "statistic": AGREEMENT_STATISTICS,
        "annotator_kind": (*ANNOTATOR_KINDS, "all", "none"),
        "status": METRIC_STATUSES,
    },
    ranges={"level": (0, 1)} | dict.fromkeys(("n", "n_clusters", "resamples"), (0, 1e9)),
)
# A model's worst losses; `votes_against` and `votes_for` are decisive votes.
GALLERY = Contract(
    "gallery",
    _schema(
        {"model": _s, "rank": _i, "comparison_id": _s, "scenario": _s, "instruction_id": _s, "opponent": _s}
        | {"arm": _s, "instruction": _s, "response": _s, "opponent_response": _s}
        | {"votes_against": _i, "votes_for": _i, "ties": _i, "both_bad": _i, "annotator_kinds": _strings}
    ),
    key=("model", "rank"),
    allowed={"arm": SELECTION_ARMS},
    ranges={"rank": (1, 1e6)} | dict.fromkeys(("votes_against", "votes_for", "ties", "both_bad"), (0.0, 1e9)),
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
    ranges={"component": (1.0, 1e6), "level": (0.0, 1.0), "p_first": (0.0, 1.0)}
    | dict.fromkeys(("rank", "rank_low", "rank_high"), (1.0, 1e6))
    | dict.fromkeys(("n", "wins", "losses", "ties", "n_clusters", "resamples"), (0.0, 1e9)),
)
# What selection did for votes: a row per scope, measure and arm; `difference` is discrepant - random. `n` counts votes,
# of `pair_agreement` pairs.
SELECTION_LIFT = Contract(
    "selection_lift",
    _schema(
        {"scope": _s, "measure": _s, "arm": _s, "status": _s, "reason": _s, "n": _i, "n_clusters": _i}
        | {"resamples": _i, "seed": _i, "level": _f},
        dict.fromkeys(("value", "ci_low", "ci_high"), _f),
    ),
    key=("scope", "measure", "arm"),
    allowed={"measure": LIFT_MEASURES, "arm": LIFT_ARMS},
    ranges={"level": (0, 1)} | dict.fromkeys(("n", "n_clusters", "resamples"), (0, 1e9)),
    may_be_empty=True,
)
# How well the first k comparisons of each pair rank the models, by votes of the answer key: a row per scenario, way
# of selecting, k and measure. `lam` is 0 for random draws, which have no penalty. `n` counts votes (of one draw),
# `n_reference` those that the reference rests on, `draws` the draws that are averaged; `difference` is that from
# random draws at the same k, null for these.
ARENA_ABLATION = Contract(
    "arena_ablation",
    _schema(
        {"scenario": _s, "method": _s, "lam": _f, "k": _i, "measure": _s, "status": _s, "reason": _s}
        | {"n": _i, "n_models": _i, "n_instructions": _i, "n_reference": _i, "draws": _i}
        | {"resamples": _i, "seed": _i, "level": _f},
        dict.fromkeys(("value", "ci_low", "ci_high"), _f)
        | dict.fromkeys(("difference", "difference_ci_low", "difference_ci_high"), _f),
    ),
    key=("scenario", "method", "lam", "k", "measure"),
    allowed={
        "method": ABLATION_METHODS,
        "measure": ARENA_ABLATION_MEASURES,
        "status": METRIC_STATUSES,
    },
    ranges={"level": (0, 1), "n_models": (2, 1e6)}
    | dict.fromkeys(("k", "draws"), (1.0, 1e6))
    | dict.fromkeys(("n", "n_instructions", "n_reference", "resamples"), (0.0, 1e9)),
)
# Ratings of all leagues, as published.
ARENA_BOARD = Contract(
    "arena_board",
    pa.schema([pa.field("league", _s, nullable=False), *RATINGS.schema]),
    key=("league", *RATINGS.key),
    allowed=RATINGS.allowed,
    ranges=RATINGS.ranges,
    may_be_empty=True,
)

ARENA_CONTRACTS = (
    *(
        INSTRUCTIONS,
        INSTRUCTIONS_REJECTED,
        ARENA_RESPONSES,
        VECTORS,
        ARENA_SIMILARITIES,
        SELECTIONS,
        SHEET,
        SHEET_KEY,
        ARENA_ASKED,
    ),
    *(
        ARENA_VERDICTS,
        VOTES,
        VOTES_REJECTED,
        ARENA_AGREEMENT,
        GALLERY,
        RATINGS,
        SELECTION_LIFT,
        ARENA_ABLATION,
    ),
    ARENA_BOARD,
)
