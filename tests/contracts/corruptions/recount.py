"""Ways to break what the gate counts again: values, sizes and rows of the metrics, ranks, intervals and p values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from corruptions.breaks import Break, Row, Values
from corruptions.teaching import is_share


def is_paired(row: Row) -> bool:
    return row["metric"] == "CA" and row["p"] is not None and row["se"] is not None


def has_places(row: Row) -> bool:
    return row["metric"] == "CA" and row["rank_status"] == "ok"


def _beside_interval(row: Row) -> Values:
    return {"random_ci_low": row["difference"] + 0.1, "random_ci_high": row["difference"] + 0.2}


_HOLM = frozenset({"p_adjusted_by_holm"})

RECOUNT_BREAKS: dict[str, dict[str, Break]] = {
    "metrics": {
        "row_of_league": Break(
            {"metric": "JA"},
            lambda row: row["arm"] == "sham" and row["metric"] == "GA",
            also=frozenset({"statuses_add_up", "statuses_counted"}),
        ),
        "value_recounted": Break(
            lambda row: {"value": row["value"] - 1e-6},
            lambda row: row["metric"] == "net_CA" and row["status"] == "ok",
        ),
        "sizes_recounted": Break(
            lambda row: {"n_clusters": row["n_clusters"] - 1}, lambda row: row["n_clusters"] > 1
        ),
        "se_where_ok": Break({"se": None}, is_share, also=frozenset({"se_positive"})),
        "interval_has_width": Break(lambda row: {"ci_low": row["value"], "ci_high": row["value"]}, is_share),
    },
    "standings": {
        "first_places_fit_interval": Break(
            {"rank_low": 1, "p_first": 0.0}, has_places, also=frozenset({"somebody_is_first"})
        ),
        "somebody_is_first": Break(
            {"rank_low": 2, "rank_high": 2, "p_first": 0.0},
            lambda row: has_places(row) and row["rank"] == 1,
            also=frozenset({"first_places_fit_interval", "rank_within_interval"}),
        ),
        "rank_within_interval": Break(
            {"rank": 2},
            lambda row: has_places(row) and row["rank_high"] == 1,
            also=frozenset({"rank_by_value"}),
        ),
    },
    "comparisons": {
        "difference_within_interval": Break(_beside_interval, lambda row: row["random_status"] == "ok"),
        "p_of_flips": Break(lambda row: {"p": row["p"] / 3}, is_paired, also=_HOLM),
        "p_fits_difference": Break(
            {"p": 1.0}, lambda row: is_paired(row) and row["difference"] != 0, also=_HOLM
        ),
    },
}

# What was broken before anything was counted again is now seen by more than one rule.
_SEEN_TWICE: Mapping[str, Mapping[str, set[str]]] = {
    "metrics": {
        "exchange_in_league": {"row_of_league"},
        "round_in_league": {"row_of_league"},
        "metric_known": {"row_of_league"},
        "value_in_range": {"value_recounted"},
        "value_unless_not_computable": {"se_where_ok"},
        "reason_unless_ok": {"se_where_ok"},
        "counts_fit": {"sizes_recounted"},
        "overall_is_complete": {"sizes_recounted"},
    },
    "standings": {"rank_by_value": {"rank_within_interval"}},
    "comparisons": {"difference_of_values": {"p_fits_difference", "difference_within_interval"}},
}


def with_recount(breaks: Mapping[str, Mapping[str, Break]]) -> dict[str, dict[str, Break]]:
    """The ways to break a league with those of the recount."""
    merged = {table: dict(rules) for table, rules in breaks.items()}
    for table, rules in _SEEN_TWICE.items():
        for rule, more in rules.items():
            merged[table][rule] = replace(merged[table][rule], also=merged[table][rule].also | more)
    for table, added in RECOUNT_BREAKS.items():
        merged[table] |= added
    return merged
