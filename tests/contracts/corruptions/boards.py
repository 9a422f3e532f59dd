"""Ways to break the rules of the gate of the boards."""

from __future__ import annotations

from corruptions.breaks import Break, Row, shifted
from corruptions.teaching import is_taught

_MEASURED = frozenset(
    f"{name}_as_measured"
    for name in ("settings", "counts", "ca", "aa", "ja", "ga", "ra", "net_ca", "headroom", "ca_masked")
)

BOARD_BREAKS: dict[str, dict[str, Break]] = {
    "teaching_board": {
        "row_in_leagues": Break({"teacher": "eve"}, also=_MEASURED | {"standing_as_compared"}),
        "rounds_of_league": Break({"rounds": 1}),
        "settings_as_measured": Break({"seed": 99}),
        "counts_as_measured": Break(lambda row: {"n_ok": row["n_ok"] + 1}),
        "rank_by_ca": Break({"rank": 5}),
        "separation_by_interval": Break(lambda row: {"separated_from_zero": not row["separated_from_zero"]}),
        "ca_as_measured": shifted("ca", frozenset({"rank_by_ca"})),
        "aa_as_measured": shifted("aa_ci_low"),
        "ja_as_measured": Break({"ja_reason": "we know better"}, is_taught),
        "ga_as_measured": shifted("ga"),
        "ra_as_measured": Break({"ra_reason": "we know better"}),
        "net_ca_as_measured": shifted("net_ca"),
        "headroom_as_measured": Break({"headroom": 0.5}),
        "ca_masked_as_measured": Break({"ca_masked_reason": "we know better"}, is_taught),
        "standing_as_compared": Break({"group": "zz"}),
        "unresponsive_as_measured": Break({"unresponsive": ["ann"]}),
    }
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
        "difference_of_both": shifted("aa_value"),
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
