"""One way to break every rule of the gates, by the name it has in a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gate_tables import item_tables

Row = dict[str, Any]
Values = Mapping[str, Any]


def always(row: Row) -> bool:
    return True


@dataclass(frozen=True)
class Break:
    """A change of one row.

    Attributes:
        values: new values, or what makes them from the row.
        where: rows that can be changed so.
        table: table that is changed; by default the one whose rule it breaks.
        also: other rules of the same table that may break with it.
        old_key: whether the row that is named has the key from before the change.
        plan: fields of the plan that are changed with it.
    """

    values: Values | Callable[[Row], Values]
    where: Callable[[Row], bool] = always
    table: str = ""
    also: frozenset[str] = frozenset()
    old_key: bool = False
    plan: Values = field(default_factory=dict)

    def apply(self, row: Row) -> Row:
        """The row after the change."""
        return row | dict(self.values(row) if callable(self.values) else self.values)


FAILED = {
    "status": "error", "answer": None, "span_start": None, "span_end": None, "rule": "error", "correct": None,
}  # fmt: skip


def is_ok(row: Row) -> bool:
    return bool(row["status"] == "ok")


def reply_breaks(where: Callable[[Row], bool] = is_ok) -> dict[str, Break]:
    """Ways to break the rules of any reply."""

    def known(row: Row, values: Values) -> Row:
        return {name: value for name, value in values.items() if name in row}

    return {
        "rule_known": Break({"rule": "vibes"}, where),
        "answer_where_ok": Break(lambda row: known(row, {"status": "no_answer", "correct": False}), where),
        "span_where_ok": Break({"span_start": None, "span_end": None}, where),
        "span_paired": Break({"span_end": None}, where),
        "span_within_text": Break(lambda row: {"span_end": len(row["text"]) + 1}, where),
        "failure_coded": Break(lambda row: known(row, FAILED | {"text": "", "error": None}), where),
        "failure_silent": Break(lambda row: known(row, FAILED | {"error": "timeout"}), where),
    }


def choice_breaks(
    where: Callable[[Row], bool] = is_ok, also: frozenset[str] = frozenset()
) -> dict[str, Break]:
    """Ways to break the rules of an answer that names options."""
    return {
        "correct_null_on_error": Break({"correct": None}, where, also=also),
        "answer_within_options": Break(
            {"answer": "E"}, lambda row: where(row) and not row["correct"], also=also
        ),
        "correct_agrees_with_key": Break(lambda row: {"correct": not row["correct"]}, where, also=also),
    }


def place_breaks(where: Callable[[Row], bool] = always) -> dict[str, Break]:
    """Ways to put a row where the league was not played."""
    return {
        "exchange_in_league": Break({"teacher": "eve"}, where),
        "student_in_league": Break({"student": "eve"}, where),
        "item_in_league": Break({"item_id": "demo-0"}, where),
        "round_in_league": Break({"round": 3}, where),
    }


def _same_options(row: Row) -> Values:
    kept = "ABCD".index(row["key"])
    return {"options": [text if n == kept else "same" for n, text in enumerate(row["options"])]}


def _other_value(row: Row) -> Values:
    return {"canonical": "n:8" if row["rank"] == 1 else "n:7"}


def has_options(row: Row) -> bool:
    return row["options"] is not None


def form_breaks(also: Mapping[str, str]) -> dict[str, Break]:
    """Ways to break the form of an item, and which other rule each breaks with it."""

    def more(rule: str) -> frozenset[str]:
        return frozenset({also[rule]} if rule in also else ())

    values: dict[str, Values | Callable[[Row], Values]] = {
        "option_count": lambda row: {"options": [row["gold"]], "origins": ["native"], "key": "A"},
        "options_distinct": _same_options,
        "origins_match_options": {"origins": ["invented"] * 4},
        "key_within_options": {"key": "E"},
        "multi_is_several_keys": {"multi": True},
        "gold_is_the_key": {"gold": "none of these"},
        "rewrite_status_known": {"rewrite_status": "improved"},
    }
    return {rule: Break(value, also=more(rule)) for rule, value in values.items()}


def variant_breaks() -> dict[str, Break]:
    """Ways to break the items of a variant."""
    also = {"option_count": "option_count_kept", "key_within_options": "gold_kept"}
    also |= {"multi_is_several_keys": "item_facts_kept"}
    return form_breaks(also) | {
        "item_as_built": Break({"item_id": "nobody"}),
        "item_facts_kept": Break({"cluster_id": "elsewhere"}),
        "option_count_kept": Break(
            lambda row: {"options": [*row["options"], "more"], "origins": ["native"] * 5}
        ),
        "gold_kept": Break(
            lambda row: {"options": [f"9{text}" for text in row["options"]], "gold": f"9{row['gold']}"}
        ),
    }


def is_reworded(row: Row) -> bool:
    return bool(row["stem_status"] == "paraphrased")


ITEM_BREAKS: dict[str, dict[str, Break]] = {
    "items": form_breaks({}) | {
        "item_in_pool": Break({"item_id": "nobody"}),
        "pool_facts_kept": Break({"cluster_id": "elsewhere"}),
        "dataset_configured": Break({"dataset": "other"}, also=frozenset({"pool_facts_kept"})),
    },
    "variants/moved": variant_breaks(),
    "variants/other": variant_breaks(),
    "variant_report": {
        "item_of_variant": Break({"item_id": "nobody"}),
        "stem_status_known": Break(
            {"stem_status": "better"}, lambda row: str(row["stem_status"]).startswith("fallback")
        ),
        "stem_as_said": Break({"stem_status": "fallback:empty"}, is_reworded),
        "options_as_said": Break({"options_status": "redrawn"}, lambda row: row["variant"] == "other"),
        "order_as_said": Break(lambda row: {"order_changed": not row["order_changed"]}),
        "changes_as_asked": Break({"options_status": "native"}, lambda row: row["variant"] == "moved"),
        "review_where_asked": Break({"review": None}, is_reworded),
    },
    "pool": {
        "item_or_rejected": Break({"item_id": "nobody"}, table="items", old_key=True),
        "not_rejected_by_gate": Break({"source_row": 77}, lambda row: row["dataset"] == "sums" and has_options(row)),
        "key_where_options": Break({"key": None}, has_options),
        "dataset_configured": Break({"dataset": "other"}, has_options),
    },
    "rejected": {
        "rejected_from_pool": Break({"source_row": 99}),
        "dataset_configured": Break({"dataset": "other"}, also=frozenset({"rejected_from_pool"})),
    },
    "pool_rejected": {"dataset_configured": Break({"dataset": "other"})},
    "free_answers": {
        "model_configured": Break({"model": "eve"}),
        "item_is_open": Break({"item_id": "demo-0"}),
        "sample_drawn": Break({"sample": 3}),
    }
    | reply_breaks(),
    "distractors": {
        "item_is_open": Break({"item_id": "demo-0"}, also=frozenset({"requests_traced", "ranks_consecutive"})),
        "ranks_consecutive": Break({"rank": 5}),
        "text_is_one_line": Break({"text": "7\n8"}),
        "differs_from_gold": Break({"text": item_tables()["pool"]["gold"][-1].as_py()}),
        "value_once": Break(_other_value),
        "counts_fit": Break({"n_models": 2}),
        "requests_traced": Break({"request_ids": ["f2"]}),
    },
    "ladder_answers": {
        "model_in_ladder": Break({"model": "eve"}),
        "answer_to_an_item": Break({"item_id": "nobody"}),
    }
    | reply_breaks()
    | choice_breaks(),
    "bands": {
        "band_of_an_item": Break({"item_id": "nobody"}, also=frozenset({"pattern_of_ladder"})),
        "pattern_of_ladder": Break({"pass_pattern": "10", "monotone": False}),
        "answers_counted": Break({"n_answered": 1}),
        "unsolved_follows": Break({"unsolved": True}),
        "monotone_follows": Break({"monotone": False}),
        "mean_follows": Break({"ladder_mean": 0.45}),
        "band_follows": Break({"band": 4}),
    },
}  # fmt: skip


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
_BARE = {"ci_low": None, "ci_high": None}


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
        "interval_where_ok": Break(_BARE, is_share),
        "value_unless_not_computable": Break(
            _BARE | {"status": "not_computable", "reason": "lost"}, is_share
        ),
        "se_positive": Break({"se": 0.0}, is_share),
        "reason_unless_ok": Break(_BARE | {"status": "no_interval", "reason": ""}, is_share),
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

_MEASURED = frozenset(
    f"{name}_as_measured"
    for name in ("settings", "counts", "ca", "aa", "ja", "ga", "ra", "net_ca", "headroom", "ca_masked")
)


def _shifted(column: str, also: frozenset[str] = frozenset()) -> Break:
    return Break(lambda row: {column: row[column] + 0.125}, lambda row: row[column] is not None, also=also)


BOARD_BREAKS: dict[str, dict[str, Break]] = {
    "teaching_board": {
        "row_in_leagues": Break({"teacher": "eve"}, also=_MEASURED | {"standing_as_compared"}),
        "rounds_of_league": Break({"rounds": 1}),
        "settings_as_measured": Break({"seed": 99}),
        "counts_as_measured": Break(lambda row: {"n_ok": row["n_ok"] + 1}),
        "rank_by_ca": Break({"rank": 5}),
        "separation_by_interval": Break(lambda row: {"separated_from_zero": not row["separated_from_zero"]}),
        "ca_as_measured": _shifted("ca", frozenset({"rank_by_ca"})),
        "aa_as_measured": _shifted("aa_ci_low"),
        "ja_as_measured": Break({"ja_reason": "we know better"}, is_taught),
        "ga_as_measured": _shifted("ga"),
        "ra_as_measured": Break({"ra_reason": "we know better"}),
        "net_ca_as_measured": _shifted("net_ca"),
        "headroom_as_measured": Break({"headroom": 0.5}),
        "ca_masked_as_measured": Break({"ca_masked_reason": "we know better"}),
        "standing_as_compared": Break({"group": "zz"}),
        "unresponsive_as_measured": Break({"unresponsive": ["ann"]}),
    }
}  # fmt: skip


def is_bounded(row: Row) -> bool:
    return row["ablation"] == "leave_one_student" and row["status"] == row["difference_status"] == "ok"


def is_valued(ablation: str, *metrics: str) -> Callable[[Row], bool]:
    return lambda row: row["ablation"] == ablation and row["metric"] in metrics and row["value"] is not None


def is_tested(row: Row) -> bool:
    return row["p"] is not None and row["ablation"] == "option_order" and 0 < row["p_holm"] < 0.9


# A row that is put elsewhere is missed where it was.
_PLACED = frozenset({"whole_as_full", "whole_as_measured", "parts_add_up", "students_average"})
_BARE_DIFFERENCE = {"difference_ci_low": None, "difference_ci_high": None}


def agrees(row: Row) -> bool:
    return row["ablation"] == "leave_one_dataset" and row["status"] == "ok"


def has_gap(row: Row) -> bool:
    return bool(row["status"] == "ok")


ABLATION_BREAKS: dict[str, dict[str, Break]] = {
    "ablations": {
        "league_is_its_own": Break({"league": "other"}),
        "setting_planned": Break(
            {"setting": "dan"},
            is_valued("leave_one_student", "CA"),
            also=_PLACED | {"rank_by_value", "holm_over_teachers"},
        ),
        "round_of_metric": Break({"round": 5}, is_valued("cumulative", "GA")),
        "settings_as_measured": Break({"seed": 99}),
        "whole_as_measured": Break(
            lambda row: {"n_dropped": row["n_dropped"] + 1}, is_valued("rounds", "CA")
        ),
        "parts_add_up": Break(
            lambda row: {"n_cells": row["n_cells"] - 1}, is_valued("leave_one_dataset", "GA")
        ),
        "students_average": Break(
            lambda row: {"n_cells": row["n_cells"] - 1}, is_valued("leave_one_student", "RA")
        ),
        "value_in_range": Break({"ci_high": 1.5}, is_valued("option_order", "AA")),
        "value_unless_not_computable": Break(
            _BARE | {"status": "not_computable", "reason": "lost"}, is_valued("option_order", "AA")
        ),
        "interval_where_ok": Break(_BARE, is_bounded),
        "interval_around_value": Break(
            lambda row: {"ci_low": row["ci_high"]},
            lambda row: is_valued("option_order", "AA")(row) and row["value"] < row["ci_high"],
        ),
        "reason_unless_ok": Break(_BARE | {"status": "no_interval", "reason": ""}, is_bounded),
        "counts_fit": Break({"n_clusters": 99}, is_valued("more_rounds", "CA")),
        "whole_as_full": Break(
            lambda row: {"whole": row["whole"] + 0.125},
            is_valued("option_order", "CA"),
            also=frozenset({"difference_follows"}),
        ),
        "difference_follows": Break(
            lambda row: {"difference": row["difference"] + 0.125}, is_valued("option_order", "CA")
        ),
        "difference_unless_not_computable": Break(
            _BARE_DIFFERENCE | {"difference_status": "not_computable", "difference_reason": "lost"}, is_bounded
        ),
        "difference_bounded_where_ok": Break(_BARE_DIFFERENCE, is_bounded),
        "difference_reason_unless_ok": Break(
            _BARE_DIFFERENCE | {"difference_status": "no_interval", "difference_reason": ""}, is_bounded
        ),
        "tested_where_paired": Break({"p": 1.0, "p_holm": 1.0}, is_valued("cumulative", "CA")),
        "holm_over_teachers": Break(lambda row: {"p_holm": row["p_holm"] / 2}, is_tested),
        "rank_by_value": Break(lambda row: {"rank": row["rank"] + 5}, is_valued("cumulative", "CA")),
    },
    "agreement": {
        "league_is_its_own": Break({"league": "other"}),
        "setting_planned": Break(
            {"setting": "dan"},
            agrees,
            also=frozenset({"teachers_counted", "swaps_counted", "change_as_ablated"})
            | {"spearman_as_ordered", "kendall_as_ordered"},
        ),
        "settings_as_measured": Break({"resamples": 7}),
        "teachers_counted": Break({"n_teachers": 9, "n_pairs": 36}),
        "pairs_counted": Break({"n_pairs": 9}),
        "swaps_counted": Break(lambda row: {"n_swapped": row["n_swapped"] + 1}),
        "change_as_ablated": Break(
            lambda row: {"largest_change": row["largest_change"] + 0.125},
            lambda row: row["largest_change"] is not None,
        ),
        "spearman_as_ordered": Break({"spearman": -0.875}, agrees),
        "kendall_as_ordered": Break({"kendall": -0.875}, agrees),
        "coefficients_unless_not_computable": Break({"kendall": None}, agrees, also=frozenset({"kendall_as_ordered"})),
        "intervals_where_ok": Break({"spearman_ci_low": None}, agrees),
        "reason_unless_ok": Break(
            lambda row: {"status": "no_interval", "reason": ""}
            | {f"{name}_ci_{end}": None for name in ("spearman", "kendall") for end in ("low", "high")},
            agrees,
        ),
    },
    "contamination": {
        "league_is_its_own": Break({"league": "other"}),
        "setting_planned": Break(
            {"setting": "seed 2"},
            also=frozenset({"counts_as_ablated", "aa_change_as_ablated", "ca_change_as_ablated"})
            | {"holm_over_teachers"},
        ),
        "settings_as_measured": Break({"policy": "drop"}),
        "counts_as_ablated": Break({"n_items": 9}),
        "aa_change_as_ablated": _shifted("aa_change_ci_low"),
        "ca_change_as_ablated": _shifted("ca_change_ci_low"),
        "gap_follows": _shifted("gap"),
        "gap_unless_not_computable": Break(
            {"status": "not_computable", "reason": "lost", "gap_ci_low": None, "gap_ci_high": None}, has_gap
        ),
        "interval_where_ok": Break({"gap_ci_low": None}, has_gap),
        "reason_unless_ok": Break(
            {"status": "no_interval", "reason": "", "gap_ci_low": None, "gap_ci_high": None}, has_gap
        ),
        "holm_over_teachers": Break({"p_holm": 0.0}, has_gap),
    },
}  # fmt: skip


def _estimate_breaks(part: str, value: str, models: str) -> dict[str, Break]:
    """Ways to break an estimate of the meta-evaluation."""
    prefix = part.removesuffix("_") or "value"
    low, high, status = f"{part}ci_low", f"{part}ci_high", f"{part}status"

    def known(row: Row) -> bool:
        return bool(row[status] == "ok")

    few = {f"{name}_of_enough_models" for name in ("value", "difference", "partial")}
    return {
        f"{prefix}_interval_where_ok": Break({low: None}, known),
        f"{prefix}_interval_ordered": Break({low: 0.75, high: -0.75}, known),
        f"{prefix}_unless_not_computable": Break({value: None}, known),
        f"{prefix}_reason_unless_ok": Break(
            {low: None, high: None, status: "no_interval", f"{part}reason": ""}, known
        ),
        f"{prefix}_of_enough_models": Break(
            {"n_paired": 3, models: 3}, lambda row: known(row) and row["n_models"] > 3, also=frozenset(few)
        ),
    }


EXTERNAL_BREAKS: dict[str, dict[str, Break]] = {
    "meta_evaluation": {
        "target_looked_up": Break(
            {"board": "elsewhere"},
            lambda row: row["against"] == "external",
            also=frozenset({"models_counted"}),
        ),
        "models_counted": Break({"n_models": 8}),
        "difference_of_both": _shifted("aa_value"),
        "test_complete": Break({"p": None}, lambda row: row["p"] is not None),
        **_estimate_breaks("", "value", "n_models"),
        **_estimate_breaks("difference_", "difference", "n_paired"),
        **_estimate_breaks("partial_", "partial", "n_paired"),
    },
    "meta_names": {
        "teacher_in_league": Break(
            {"model": "eve"}, lambda row: row["league"] != "", also=frozenset({"every_teacher_looked_up"})
        ),
        "every_teacher_looked_up": Break({"board": "elsewhere"}, lambda row: row["league"] != ""),
        "status_of_its_side": Break(
            {"status": "used"}, lambda row: row["league"] == "" and row["status"] == "unmapped"
        ),
        "mapped_where_used": Break({"external_name": ""}, lambda row: row["status"] == "used"),
        "score_where_on_board": Break({"score": None}, lambda row: row["status"] == "used"),
        "traced_to_its_row": Break({"file": "", "row": 0}, lambda row: row["status"] == "used"),
        "reason_unless_used": Break({"reason": ""}, lambda row: row["status"] != "used"),
    },
}
