"""Ways to break the rules of the teaching gate."""

from __future__ import annotations

from collections.abc import Callable

from corruptions.breaks import BARE, Break, Row, Values, always, choice_breaks, reply_breaks


def place_breaks(where: Callable[[Row], bool] = always) -> dict[str, Break]:
    """Ways to put a row where the league was not played."""
    return {
        "exchange_in_league": Break({"teacher": "eve"}, where),
        "student_in_league": Break({"student": "eve"}, where),
        "item_in_league": Break({"item_id": "demo-0"}, where),
        "round_in_league": Break({"round": 3}, where),
    }


def is_control(row: Row) -> bool:
    """Whether no teacher speaks in the row's arm."""
    return row["arm"] == row["teacher"]


def is_taught(row: Row) -> bool:
    return bool(row["arm"] == "taught")


def is_guided(row: Row) -> bool:
    return is_taught(row) and row["round"] > 0 and row["verdict"] != "none"


def is_plain(row: Row) -> bool:
    return is_guided(row) and row["leak"] == "none"


def speaks_last(row: Row) -> bool:
    return bool(row["asked"]) and row["round"] == 2


def leaks(row: Row) -> bool:
    return bool(row["leak"] == "gold")


# What a row of the trajectories says stands in another table as well.
_TWICE = frozenset({"replies_as_given", "guides_as_given"})
_SCRUBBED = '[{"round": 0, "start": 8, "end": 99, "kind": "letter"}]'
_SILENT = {"verdict": "none", "guidance": "", "leak": "none", "leak_spans": None}


def is_share(row: Row) -> bool:
    return row["metric"] == "p" and row["status"] == "ok" and 0 < row["value"] < 1


def is_curve(row: Row) -> bool:
    return row["metric"] == "p" and row["round"] > 0


_COUNTED = frozenset({"statuses_counted", "statuses_add_up"})


def of_the_league(row: Row) -> bool:
    return bool(row["dataset"] == "sums")


def _another_key(row: Row) -> Values:
    return {"key": "A" if row["key"] != "A" else "B"}


LEAGUE_BREAKS: dict[str, dict[str, Break]] = {
    "items": {
        "item_was_built": Break({"item_id": "demo-0"}, of_the_league),
        "facts_as_built": Break({"question": "Another?"}, of_the_league),
        "options_as_built": Break(lambda row: {"origins": ["padded", *row["origins"][1:]]}, of_the_league),
        "key_as_built": Break(_another_key, of_the_league),
    },
    "blind_answers": {
        "student_in_league": Break({"model": "eve"}),
        "item_in_league": Break({"item_id": "demo-0"}),
    }
    | reply_breaks()
    | choice_breaks(),
    "zero_shot": {
        "teacher_in_league": Break({"model": "eve"}),
        "item_in_league": Break({"item_id": "demo-0"}),
    }
    | reply_breaks()
    | choice_breaks(),
    "guides_asked": place_breaks()
    | {
        "only_teachers_asked": Break({"arm": "sham", "teacher": "sham"}),
        "request_named": Break({"request_id": None}),
        "scrubbed_where_strict": Break(
            {}, lambda row: row["scrubbed"] is not None, plan={"blindness": "paper"}
        ),
        "scrubbed_spans": Break({"scrubbed": _SCRUBBED}),
    },
    "guides": place_breaks()
    | {
        "request_as_asked": Break({"request_id": "another"}, is_taught),
        "control_arms_unasked": Break({"text": "Well."}, is_control),
        "verdict_alone": Break(
            {"guidance": "Add up."}, lambda row: row["arm"] == "verdict_only" and row["text"] != ""
        ),
        "rule_known": Break({"verdict_rule": "vibes"}, is_taught),
        "failure_coded": Break({"error": "timeout"}),
        "failure_silent": Break(_SILENT | {"status": "error", "error": "timeout"}, is_plain),
        "silent_unless_heard": Break({"status": "refusal"}, is_plain),
        "guidance_from_text": Break({"text": ""}, is_plain),
        "leak_spans_where_leak": Break({"leak_spans": None}, leaks),
        "leak_is_the_worst": Break({"leak": "option"}, leaks),
        "leak_spans_within_guidance": Break({"leak_spans": '[[6, 99, "gold"]]'}, leaks),
    },
    "revisions_asked": place_breaks()
    | {
        "asked_where_told": Break({"request_id": None}, lambda row: row["request_id"] is not None),
        "nothing_scrubbed": Break({"scrubbed": _SCRUBBED}),
    },
    "revisions": place_breaks(speaks_last)
    | reply_breaks(speaks_last)
    | choice_breaks(speaks_last)
    | {
        "request_as_asked": Break({"request_id": "another"}, speaks_last),
        "stopped_after_failure": Break({"status": "error"}, lambda row: row["round"] == 2, table="guides"),
        "kept_as_before": Break({"rule": "kept:refusal"}, lambda row: not row["asked"]),
    },
    "trajectories": {
        name: Break(broken.values, lambda row: is_taught(row) and row["round"] == 2)
        for name, broken in place_breaks().items()
    }
    | {"item_in_league": Break({"item_id": "demo-0"}, is_guided, also=frozenset({"band_as_given"}))}
    | choice_breaks(is_guided, _TWICE)
    | {
        "item_facts_kept": Break({"domain": "art"}),
        "league_is_its_own": Break({"league": "other"}),
        "answer_where_ok": Break({"status": "no_answer", "correct": False}, is_guided, also=_TWICE),
        "blind_answers_shared": Break({"request_id": "x"}, lambda row: row["round"] == 0, also=_TWICE),
        "blind_rows_unguided": Break({"leak": "gold"}, lambda row: row["round"] == 0),
        "guide_status_known": Break({"guide_status": "not_asked"}, is_guided, also=_TWICE),
        "failed_guide_is_silent": Break({"guide_status": "context_exceeded"}, is_guided, also=_TWICE),
        "failed_guide_fails_reply": Break(
            {"guide_status": "error", "verdict": "none"}, is_plain, also=_TWICE
        ),
        "control_arms_unjudged": Break(
            {"guide_request_id": "g"}, lambda row: is_control(row) and row["round"] > 0, also=_TWICE
        ),
        "guides_traced": Break({"guide_request_id": None}, is_guided, also=_TWICE),
        "replies_as_given": Break({"request_id": "another"}, lambda row: row["round"] > 0),
        "guides_as_given": Break({"leak": "option"}, is_plain),
        "band_as_given": Break({"band": 2}),
    },
    "metrics": {
        "league_is_its_own": Break({"league": "other"}),
        "exchange_in_league": Break({"teacher": "eve"}),
        "round_in_league": Break({"round": 3}, is_curve, also=_COUNTED),
        "metric_known": Break({"metric": "vibes"}, is_curve, also=_COUNTED),
        "value_in_range": Break({"value": 1.25, "ci_low": 1.0, "ci_high": 1.5}, is_share),
        "interval_ordered": Break(
            lambda row: {"ci_low": row["ci_high"], "ci_high": row["ci_low"]},
            lambda row: is_share(row) and row["ci_low"] < row["ci_high"],
        ),
        "interval_where_ok": Break(BARE, is_share),
        "value_unless_not_computable": Break(BARE | {"status": "not_computable", "reason": "lost"}, is_share),
        "se_positive": Break({"se": 0.0}, is_share),
        "reason_unless_ok": Break(BARE | {"status": "no_interval", "reason": ""}, is_share),
        "statuses_add_up": Break(lambda row: {"n_ok": row["n_ok"] + 1}, also=_COUNTED),
        "statuses_counted": Break(
            lambda row: {"n_ok": row["n_ok"] - 1, "n_refusal": 1}, lambda row: row["n_ok"] > 0
        ),
        "counts_fit": Break({"n_items": 99}),
        "overall_is_complete": Break(
            lambda row: {name: row[name] - 1 for name in ("n_cells", "n_ok")},
            lambda row: row["metric"] == "p" and row["slice_kind"] == "overall",
            also=_COUNTED,
        ),
    },
}


def is_ranked(row: Row) -> bool:
    return row["metric"] == "CA" and row["rank"] is not None


LEAGUE_BREAKS |= {
    "standings": {
        "teacher_in_league": Break({"teacher": "eve"}, also=frozenset({"as_measured"})),
        "as_measured": Break(lambda row: {"n_items": row["n_items"] + 1}),
        "rank_by_value": Break(lambda row: {"rank": row["rank"] + 5}, is_ranked),
        "rank_interval_where_ok": Break({"rank_low": None}, lambda row: row["rank_status"] == "ok"),
        "random_interval_where_ok": Break(
            {"random_status": "no_interval", "random_reason": ""}, lambda row: row["random_status"] == "ok"
        ),
        "group_where_ranked": Break({"group": ""}, is_ranked),
    },
    "comparisons": {
        "pair_in_league": Break(
            lambda row: {"second": row["first"], "first": row["second"]},
            also=frozenset({"difference_of_values"}),
        ),
        "difference_of_values": Break(
            lambda row: {"difference": row["difference"] + 0.25}, lambda row: row["difference"] is not None
        ),
        "p_adjusted_by_holm": Break(
            lambda row: {"p_holm": 0.5 * row["p_holm"] + 0.4},
            lambda row: row["p_holm"] is not None and row["p_holm"] != 0.8,
            also=frozenset({"letters_by_p"}),
        ),
        "letters_by_p": Break(
            lambda row: {"p_holm": 0.0 if row["p_holm"] > 0.05 else 1.0},
            lambda row: row["p_holm"] is not None,
            also=frozenset({"p_adjusted_by_holm"}),
        ),
        "interval_where_ok": Break(
            {"status": "ok", "reason": "", "ci_low": None, "ci_high": None}, lambda row: row["metric"] == "CA"
        ),
        "random_interval_where_ok": Break(
            {
                "random_status": "no_interval",
                "random_reason": "",
                "random_ci_low": None,
                "random_ci_high": None,
            }
        ),
    },
}
