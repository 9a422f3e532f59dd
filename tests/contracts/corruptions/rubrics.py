"""Ways to break the rules of the gate of a set of scenarios, and of the rubrics' board."""

from __future__ import annotations

from corruptions.breaks import BARE, Break, Row, always, is_ok, shifted

OTHER = "another"


def has(column: str, value: object = None):  # type: ignore[no-untyped-def]
    """Rows with some value, or with that one."""
    if value is None:
        return lambda row: row[column] is not None
    return lambda row: row[column] == value


def is_vetoed(row: Row) -> bool:
    return bool(row["status"] == "vetoed")


def is_first_turn(row: Row) -> bool:
    return bool(row["turn"] == 1)


def is_known(row: Row) -> bool:
    return row["value"] is not None


def _estimate(known: bool = True) -> dict[str, Break]:
    """Ways to break what is said of a value and its status."""
    return {
        "value_unless_not_computable": Break({"value": None}, is_ok, also=frozenset({"counted_again"})),
        "reason_where_not_ok": Break({"reason": ""}, lambda row: row["status"] != "ok"),
    }


def _scores(also: frozenset[str] = frozenset()) -> dict[str, Break]:
    """Ways to break what is said of a judge's score."""
    return {
        "judge_known": Break({"judge": OTHER}),
        "of_the_version": Break({"rubric_sha": OTHER}),
        "value_where_scored": Break({"value": None}, is_ok),
        "value_on_scale": Break({"value": 2.5}, is_ok),
        "lowest_where_vetoed": Break(
            {"status": "vetoed", "value": 5.0, "reason": "x", "request_id": None, "was_repaired": False},
            is_ok,
            also=also,
        ),
        "reason_where_not_ok": Break({"reason": "because"}, is_ok),
        "request_where_asked": Break({"request_id": None}, is_ok),
        "repaired_by_a_repair": Break({"repair_id": None, "was_repaired": True}, is_ok),
    }


RUBRIC_BREAKS: dict[str, dict[str, Break]] = {
    "metrics": {
        "takes_place": Break({"scenario": OTHER}, also=frozenset({"weights_sum_to_one"})),
        "weights_sum_to_one": shifted("weight"),
    },
    "tasks": {"takes_place": Break({"scenario": OTHER})},
    "decisions": {
        "of_the_version": Break({"rubric_sha": OTHER}, also=frozenset({"child_of_the_best"})),
        "best_won": Break(lambda row: {"best": row["best"] + 1}),
        "frozen_after_stop": Break({"frozen": True}, also=frozenset({"best_won", "child_of_the_best"})),
        "child_of_the_best": Break({"parent_sha": OTHER}, lambda row: row["iteration"] == 1),
    },
    "experts": {"is_scored": Break({"dialogue_id": OTHER})},
    "dialogue_asked": {"turn_said": Break({"speaker": OTHER})},
    "transcripts": {
        "of_a_dialogue": Break({"task_id": OTHER}),
        "turn_within_dialogue": Break({"turn": 9}, also=frozenset({"failed_at_the_end"})),
        "whose_turn": Break({"speaker": OTHER}),
        "failed_at_the_end": Break({"status": "refusal"}, is_first_turn),
        "error_coded": Break({"error": "timeout"}),
        "words_where_ok": Break({"visible": "  "}, is_ok),
    },
    "dialogues": {
        "task_known": Break({"task_id": OTHER}),
        "model_known": Break({"model": OTHER}),
        "held_out_as_task": Break(lambda row: {"held_out": not row["held_out"]}),
        "turns_counted": Break({"turns": 5}),
        "n_counted": Break(lambda row: {"n": row["n"] + 1}),
        "truncated_counted": Break(lambda row: {"truncated": row["truncated"] + 1}),
        "status_fits_end": Break({"status": "refusal"}),
        "cut_at_limit": Break({"stop_kind": "max_turns"}),
    },
    "checks": {
        "dialogue_known": Break({"dialogue_id": OTHER}),
        "check_known": Break({"check": OTHER}),
        "veto_failed": Break({"vetoes": True}, lambda row: row["status"] == "passed"),
        "turn_where_failed": Break({"turn": 1}, lambda row: row["status"] == "passed"),
    },
    "asked": {
        "is_scored": Break({"request_id": OTHER}),
        "judge_known": Break({"judge": OTHER}, also=frozenset({"is_scored"})),
    },
    "repairs": {
        "request_asked": Break({"request_id": OTHER}, also=frozenset({"was_read"})),
        "was_read": Break({"repair_id": OTHER}),
    },
    "scores": {
        **_scores(frozenset({"veto_found"})),
        "of_a_dialogue": Break({"task_id": OTHER}),
        "repeat_known": Break({"repeat": 2}),
        "veto_found": Break({"status": "ok", "reason": "", "request_id": OTHER}, is_vetoed),
    },
    "anchor_scores": _scores(),
    "diagnosis": {
        **_estimate(),
        "of_the_version": Break({"rubric_sha": OTHER}),
        "counted_again": shifted("value", where=lambda row: row["statistic"] in ("mean", "floor_share")),
        "interval_where_ok": Break(BARE, is_ok),
    },
    "flags": {
        "as_diagnosed": Break(
            lambda row: {"n": row["n"] + 1}, lambda row: row["flag"] != "insufficient_data"
        ),
        "threshold_passed": Break({"threshold": -3.0}, lambda row: row["flag"] == "too_strict"),
        "few_data_alone": Break(
            {"flag": "insufficient_data"},
            lambda row: row["flag"] == "too_strict",
            also=frozenset({"threshold_passed"}),
            old_key=False,
        ),
    },
    "records": {
        "of_the_best": Break({"parent_sha": OTHER}, lambda row: row["iteration"] > 0),
        "was_flagged": Break(
            {"metric_id": OTHER}, lambda row: row["iteration"] > 0, also=frozenset({"of_the_best"})
        ),
    },
    "task_changes": {
        "old_task_of_the_best": Break({"old_task_id": OTHER}, lambda row: row["status"] == "rewritten"),
        "task_of_the_iteration": Break({"task_id": OTHER}, lambda row: row["status"] == "rewritten"),
        "another_where_rewritten": Break({"status": "unchanged"}, lambda row: row["status"] == "rewritten"),
    },
    "agreement": {
        **_estimate(),
        "judges_known": Break({"judge_a": OTHER}),
        "counted_again": shifted(
            "value", where=lambda row: row["measure"] == "mean_difference" and row["metric_id"] != "overall"
        ),
    },
    "metric_scores": {
        "of_the_scores": Break({"task_id": OTHER}),
        "counted_again": shifted("value"),
        "n_judges_counted": Break(lambda row: {"n_judges": row["n_judges"] + 1}),
        "n_ratings_counted": Break(lambda row: {"n_ratings": row["n_ratings"] + 1}),
        "n_abstained_counted": Break(lambda row: {"n_abstained": row["n_abstained"] + 1}),
        "value_where_scored": Break({"status": "no_score"}, is_known),
    },
    "dialogue_scores": {
        "counted_again": shifted("value"),
        "weight_counted": Break({"weight_known": 0.125}),
        "n_known_counted": Break(lambda row: {"n_known": row["n_known"] + 1}),
        "n_metrics_counted": Break(lambda row: {"n_metrics": row["n_metrics"] + 1}),
        "policy_of_the_plan": Break({"policy": "renormalise"}),
    },
    "standings": {
        **_estimate(),
        "of_the_best": Break({"rubric_sha": OTHER}),
        "counted_again": shifted("value", frozenset({"rank_follows", "value_in_range"})),
        "n_counted": Break(lambda row: {"n": row["n"] + 1}),
        "n_missing_counted": Break(lambda row: {"n_missing": row["n_missing"] + 1}),
        "n_vetoed_counted": Break(lambda row: {"n_vetoed": row["n_vetoed"] + 1}),
        "rank_follows": Break(
            lambda row: {"rank": row["rank"] + 9}, also=frozenset({"rank_within_interval"})
        ),
        "rank_within_interval": Break({"rank_low": 9, "rank_high": 9}),
        "value_in_range": Break({"ci_high": 9.0}, is_ok),
        "value_unless_not_computable": Break(
            {"value": None}, is_ok, also=frozenset({"counted_again", "rank_follows"})
        ),
        "interval_where_ok": Break(BARE, is_ok),
        "reason_where_not_ok": Break({"reason": "", **BARE, "status": "no_interval"}, always),
    },
    "drift": {
        "metric_known": Break({"metric_id": OTHER}),
        "counted_again": shifted("value", where=lambda row: row["statistic"] in ("bias", "deviation")),
        "value_unless_not_computable": Break({"value": None}, is_known, also=frozenset({"counted_again"})),
    },
}
RUBRIC_BOARD_BREAKS: dict[str, dict[str, Break]] = {
    "rubrics_board": {
        "row_in_sets": Break({"scenario": OTHER}),
        "as_stood": Break(lambda row: {"n": row["n"] + 1}),
    }
}
