"""Ways to break the rules of the items gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gate_tables import item_tables

from corruptions.breaks import Break, Row, Values, choice_breaks, reply_breaks


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
