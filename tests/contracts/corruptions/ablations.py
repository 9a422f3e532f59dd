"""Ways to break the rules of the gate of the ablations."""

from __future__ import annotations

from collections.abc import Callable

from corruptions.breaks import BARE, Break, Row, shifted


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
            BARE | {"status": "not_computable", "reason": "lost"}, is_valued("option_order", "AA")
        ),
        "interval_where_ok": Break(BARE, is_bounded),
        "interval_around_value": Break(
            lambda row: {"ci_low": row["ci_high"]},
            lambda row: is_valued("option_order", "AA")(row) and row["value"] < row["ci_high"],
        ),
        "reason_unless_ok": Break(BARE | {"status": "no_interval", "reason": ""}, is_bounded),
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
        "aa_change_as_ablated": shifted("aa_change_ci_low"),
        "ca_change_as_ablated": shifted("ca_change_ci_low"),
        "gap_follows": shifted("gap"),
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
