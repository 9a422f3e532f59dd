"""Ways to break the rules of the gate of an arena, and of the board of all arenas."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from arena_gate_tables import ARENA_PLAN, arena_tables

from corruptions.breaks import BARE, Break, Row, Values, shifted

GONE = "c" + 23 * "0"


def evolved(row: Row) -> bool:
    return bool(row["round"] > 0)


def seeded(row: Row) -> bool:
    return not evolved(row)


def said(row: Row) -> bool:
    return bool(row["status"] == "ok")


def of_kind(kind: str) -> Callable[[Row], bool]:
    return lambda row: bool(row["annotator_kind"] == kind)


def has(column: str) -> Callable[[Row], bool]:
    return lambda row: row[column] is not None


def more(*rules: str) -> frozenset[str]:
    return frozenset(rules)


@cache
def _rows(name: str) -> list[Row]:
    rows: list[Row] = arena_tables()[name].to_pylist()
    return rows


def _other_instruction(row: Row) -> Values:
    """The instruction of another selection of the same pair."""
    names = ("scenario", "model_a", "model_b")
    same = [other for other in _rows("selections") if all(other[name] == row[name] for name in names)]
    return {
        "instruction_id": next(
            o["instruction_id"] for o in same if o["instruction_id"] != row["instruction_id"]
        )
    }


def _other_comparison(row: Row) -> Values:
    """Who is compared on what in another row of the key."""
    other = next(other for other in _rows("sheet_key") if other["comparison_id"] != row["comparison_id"])
    return {name: other[name] for name in ("scenario", "instruction_id", "model_1", "model_2")}


def is_shown(row: Row) -> bool:
    """Whether a selection's comparison is on the sheet."""
    pair = {row["model_a"], row["model_b"]}
    return any(
        key["instruction_id"] == row["instruction_id"] and {key["model_1"], key["model_2"]} == pair
        for key in _rows("sheet_key")
    )


def is_bobs(row: Row) -> bool:
    """Whether `jim` judges a response of `bob`, who judges too."""
    (shown,) = [key for key in _rows("sheet_key") if key["comparison_id"] == row["comparison_id"]]
    return row["annotator"] == "jim" and "bob" in (shown["model_1"], shown["model_2"])


def both_voted(row: Row) -> bool:
    """Whether `pat` judged what `quin` judged."""
    of_quin = {vote["comparison_id"] for vote in _rows("votes") if vote["annotator"] == "quin"}
    return row["annotator"] == "pat" and row["comparison_id"] in of_quin


def is_unread(row: Row) -> bool:
    """Whether a judge's reply gave no vote."""
    return row["source"].startswith("judge:") and row["reason"] != "own_response"


def is_unscored(row: Row) -> bool:
    """Whether a judge's reply gave no score."""
    return row["status"] == "invalid"


def is_unanswered(row: Row) -> bool:
    return row["status"] in ("no_answer", "truncated", "refusal", "ambiguous")


def is_measure(measure: str, arm: str) -> Callable[[Row], bool]:
    return lambda row: row["measure"] == measure and row["arm"] == arm and row["value"] is not None


def is_way(measure: str, method: str) -> Callable[[Row], bool]:
    return lambda row: row["measure"] == measure and row["method"] == method and row["value"] is not None


def is_longer_share(row: Row) -> bool:
    return row["statistic"] == "longer_share" and said(row)


def vector_breaks() -> dict[str, Break]:
    """Ways to break the rows of a file of vectors."""
    return {
        "text_embedded": Break({"instruction_id": "nobody"}, also=more("row_by_id")),
        "row_by_id": Break({"row": 77}),
        "vector_where_text": Break({"status": "no_text"}, said),
        "failure_coded": Break({"error": "timeout"}, said),
    }


_UNFOUND = more("shown_or_listed", "ranks_consecutive")
_RANKED = more("rank_by_rating", "rank_interval_around_rank", "anchored", "interval_around_rating")

ARENA_BREAKS: dict[str, dict[str, Break]] = {
    "instructions": {
        "round_played": Break({"round": 9}, lambda row: row["round"] == ARENA_PLAN.rounds),
        "root_is_a_seed": Break({"root_id": "nobody"}, evolved, also=more("child_of_its_parent")),
        "seed_is_its_own_root": Break(
            lambda row: {"root_id": row["instruction_id"]}, evolved,
            also=more("root_is_a_seed", "child_of_its_parent"),
        ),
        "evolved_from_round_1": Break({"generator": None}, evolved),
        "child_of_its_parent": Break({"parent_id": "nobody"}, evolved),
        "gold_of_seeds": Break({"gold": "7"}, evolved),
        "source_of_seeds": Break({"source": None}, seeded),
    },
    "instructions_rejected": {
        "round_played": Break({"round": 9}, evolved),
        "row_of_a_source": Break({"source": None}, seeded),
        "evolution_of_the_pool": Break({"origin": "elsewhere"}, evolved),
    },
    "responses": {
        "model_in_league": Break({"model": "eve"}),
        "instruction_in_pool": Break({"instruction_id": "nobody"}),
        "failure_coded": Break({"error": "timeout"}, said),
        "text_where_ok": Break({"text": " \n"}, said),
    },
    **{f"vectors/{name}": vector_breaks() for name in ARENA_PLAN.models},
    "instruction_vectors": vector_breaks(),
    "pairs": {
        "pair_in_league": Break({"model_b": "eve"}, also=more("budget_kept")),
        "instructions_counted": Break({"instructions": 99}),
        "budget_kept": Break(lambda row: {"discrepant": row["discrepant"] + 1}),
        "budget_configured": Break({"wanted": 9}),
    },
    "selections": {
        "pair_in_league": Break({"model_a": "zed"}, also=_UNFOUND),
        "instruction_of_scenario": Break({"instruction_id": "nobody"}, also=_UNFOUND),
        "ranks_consecutive": Break({"rank": 40}, also=_UNFOUND),
        "instruction_once": Break(_other_instruction, also=_UNFOUND),
        "similarity_known": Break({"similarity": None}, lambda row: row["arm"] == "random"),
        "similarity_as_measured": Break(
            {"similarity": -0.25}, lambda row: row["arm"] == "random", plan={"similarity": "token"}
        ),
        "objective_of_its_parts": Break({"penalty": 0.5}, lambda row: row["arm"] == "random"),
        "chance_of_its_draw": Break({"inclusion_probability": 0.5}, lambda row: row["arm"] == "discrepant"),
        "shown_or_listed": Break({"instruction_id": "nobody"}, is_shown, also=more("instruction_of_scenario")),
    },
    "sheet_missing": {
        "row_of_selections": Break({"row": 9999}),
        "reason_of_responses": Break({"reason": "refusal"}),
    },
    "sheet_key": {
        "comparison_selected": Break(
            {"instruction_id": "nobody"},
            also=more("chance_as_selected", "root_of_instruction", "responses_traced"),
        ),
        "comparison_once": Break(
            _other_comparison,
            lambda row: row["comparison_id"] != _rows("sheet_key")[0]["comparison_id"],
            also=more("chance_as_selected", "root_of_instruction", "responses_traced"),
        ),
        "chance_as_selected": Break({"inclusion_probability": 0.015625}),
        "root_of_instruction": Break({"root_id": "nobody"}),
        "responses_traced": Break({"request_id_1": "another"}),
        "lengths_as_shown": Break({"length_2": 99999}),
    },
    "sheet": {
        "comparison_in_key": Break({"comparison_id": GONE}),
        "id_tells_nothing": Break({"comparison_id": "ann-bob-1"}, also=more("comparison_in_key")),
        "instruction_as_given": Break({"instruction": "Another?"}),
        "responses_as_given": Break({"response_1": "Another."}),
    },
    "asked": {
        "judge_in_league": Break({"annotator": "eve"}, also=more("both_orders")),
        "comparison_on_sheet": Break({"comparison_id": GONE}, also=more("both_orders")),
        "both_orders": Break({"comparison_id": GONE}, also=more("comparison_on_sheet")),
        "own_responses_left_out": Break({"annotator": "bob"}, is_bobs, also=more("both_orders")),
    },
    "votes": {
        "comparison_on_sheet": Break({"comparison_id": GONE}),
        "comparison_facts_kept": Break({"root_id": "elsewhere"}),
        "sides_as_shown": Break({"length_a": 99999}),
        "annotator_configured": Break({}, of_kind("person"), plan={"people": False}),
        "annotator_of_one_kind": Break({"annotator": "jim"}, of_kind("person"), also=more("annotator_described")),
        "vote_once": Break({"annotator": "quin"}, both_voted),
        "first_as_shown": Break({"first": "none"}, of_kind("person")),
        "requests_traced": Break({"request_ids": []}, of_kind("judge")),
        "both_orders_of_judges": Break({"winner_a_first": None}, of_kind("judge")),
        "winner_of_both_orders": Break({"winner": "both_bad"}, of_kind("judge")),
        "flipped_where_contradicted": Break(lambda row: {"flipped": not row["flipped"]}, of_kind("judge")),
        "own_responses_left_out": Break(
            {"annotator": "bob"}, lambda row: of_kind("judge")(row) and is_bobs(row), also=more("requests_traced")
        ),
        "winner_by_verdicts": Break(
            lambda row: {"winner": "a" if row["winner"] == "tie" else "tie"}, of_kind("key")
        ),
        "seconds_of_people": Break({"seconds": -1.0}, of_kind("person")),
        "annotator_described": Break({"annotator": "eve"}, of_kind("person")),
    },
    "votes_rejected": {
        "source_configured": Break({"source": "judge:eve"}, is_unread, also=more("annotator_of_source")),
        "annotator_of_source": Break({"annotator": "eve"}, is_unread, also=more("request_as_asked")),
        "comparison_to_judge": Break({"comparison_id": None}, is_unread, also=more("request_as_asked")),
        "request_as_asked": Break({"request_id": "another"}, is_unread),
        # A judge who has no responses of its own, so that none of its rows has this reason already.
        "own_response_is_own": Break(
            {"reason": "own_response"},
            lambda row: is_unread(row) and row["annotator"] == "jim",
            also=more("request_as_asked"),
        ),
    },
    "judgements": {
        "vote_or_reason": Break({"comparison_id": GONE}, of_kind("judge"), table="votes", old_key=True),
    },
    "verdicts": {
        "response_compared": Break({"model": "eve"}, also=more("response_traced")),
        "gold_of_instruction": Break({"gold": "77"}),
        "response_traced": Break({"request_id": "another"}),
        "status_of_response": Break({"status": "empty"}, is_unanswered),
        "answer_where_ok": Break({"answer": None}, said),
        "correct_null_on_error": Break({"correct": None}, said),
        "wrong_without_answer": Break({"correct": True}, is_unanswered),
    },
    "ratings": {
        "scope_voted_on": Break({"scope": "elsewhere"}, also=_RANKED),
        "settings_as_configured": Break({"seed": 99}),
        "counts_as_voted": Break(lambda row: {"ties": row["ties"] + 1}),
        "component_connected": Break({"component": 7}, also=_RANKED),
        "rating_unless_not_computable": Break(BARE | {"status": "not_computable", "reason": "lost"}, said),
        "anchored": Break(lambda row: {"rating": row["rating"] + 0.5}, has("rating"), also=_RANKED),
        "interval_as_status": Break({"ci_low": None}, said),
        "interval_around_rating": Break(lambda row: {"ci_low": row["rating"] + 1, "ci_high": row["rating"] + 2}, said),
        "reason_unless_ok": Break(BARE | {"status": "no_interval", "reason": ""}, said),
        "rank_by_rating": Break(lambda row: {"rank": row["rank"] + 5}, has("rank"), also=_RANKED),
        "rank_interval_around_rank": Break({"rank_low": None}, has("rank_low")),
        "group_where_ranked": Break({"group": ""}, has("rank")),
    },
    "lift": {
        "scope_of_both_arms": Break({"scope": "elsewhere"}, also=more("difference_of_arms")),
        "settings_as_configured": Break({"level": 0.5}),
        "votes_counted": Break(lambda row: {"n": row["n"] + 1}, is_measure("decisive", "random")),
        "difference_of_arms": shifted("value", where=is_measure("width", "difference")),
        "value_in_range": Break({"value": 1.5}, is_measure("decisive", "random"), also=more("difference_of_arms")),
        "value_where_ok": Break({"value": None}, said, also=more("difference_of_arms")),
        "interval_where_ok": Break({"ci_low": None}, said),
        "reason_unless_ok": Break(BARE | {"status": "undefined", "reason": ""}, said),
    },
    "agreement": {
        "scope_in_league": Break({"scope": "elsewhere"}, is_longer_share),
        "annotator_voted": Break({"annotator": "eve"}, is_longer_share),
        "settings_as_configured": Break({"resamples": 7}),
        "counted_as_voted": Break(lambda row: {"n": row["n"] + 1}, lambda row: row["statistic"] == "first_share"),
        "value_in_range": Break({"ci_high": 1.5}, is_longer_share),
        "value_unless_not_computable": Break({"value": None}, is_longer_share),
        "interval_where_ok": Break({"ci_low": None}, is_longer_share),
        "reason_unless_ok": Break(BARE | {"status": "no_interval", "reason": ""}, is_longer_share),
    },
    "gallery": {
        "lost": Break({"model": "eve"}, also=more("ranks_by_surplus")),
        "comparison_facts_kept": Break({"opponent": "eve"}),
        "votes_counted": Break(lambda row: {"ties": row["ties"] + 1}, also=more("ranks_by_surplus")),
        "texts_as_shown": Break({"opponent_response": "Another."}),
        "kinds_of_votes": Break({"annotator_kinds": []}),
        "ranks_by_surplus": Break({"rank": 99}),
    },
    "ablation": {
        "of_the_league": Break({"scenario": "elsewhere"}, also=more("difference_from_random", "more_votes_with_k")),
        "level_as_configured": Break({"level": 0.5}),
        "value_in_range": Break({"value": 1.5}, is_way("decisive", "embedding"), also=more("difference_from_random")),
        "value_unless_not_computable": Break(
            {"value": None}, is_way("decisive", "embedding"), also=more("difference_from_random")
        ),
        "difference_from_random": shifted("difference", where=is_way("decisive", "embedding")),
        "more_votes_with_k": Break({"n": 0}, lambda row: row["k"] > 1 and row["n"] > 0),
        "interval_where_ok": Break({"ci_low": None}, said),
        "reason_unless_ok": Break(BARE | {"status": "no_interval", "reason": ""}, is_way("decisive", "embedding")),
    },
}  # fmt: skip

JUDGED_BREAKS: dict[str, dict[str, Break]] = {
    "similarities": {
        "pair_in_league": Break({"model_b": "eve"}, is_unscored, also=more("asked_where_text")),
        "instruction_of_scenario": Break({"scenario": "elsewhere"}, is_unscored),
        "scored_where_read": Break({"similarity": 0.5}, is_unscored),
        "asked_where_text": Break({"request_id": None}, is_unscored),
    },
}

ARENA_BOARD_BREAKS: dict[str, dict[str, Break]] = {
    "arena_board": {
        "row_in_leagues": Break({"league": "other"}),
        "as_rated": Break(lambda row: {"wins": row["wins"] + 1}),
    }
}
