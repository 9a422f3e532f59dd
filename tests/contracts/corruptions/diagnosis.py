"""Ways to break the rules of the gate of a study, and of the mastery board."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from diagnosis_gate_tables import DIAGNOSIS_PLAN, diagnosis_tables, given_tables

from corruptions.breaks import BARE, Break, Row, is_ok, shifted

_FLAT = {"fit": replace(DIAGNOSIS_PLAN.fit, alpha_prior="flat")}


def more(*rules: str) -> frozenset[str]:
    return frozenset(rules)


def said(**values: Any) -> Callable[[Row], bool]:
    """Rows that hold some values."""
    return lambda row: all(row[name] == value for name, value in values.items())


def known(column: str) -> Callable[[Row], bool]:
    """Rows in which a column holds something."""
    return lambda row: row[column] is not None


def ok_with(**values: Any) -> Callable[[Row], bool]:
    """Rows with an interval that hold some values."""
    return lambda row: is_ok(row) and said(**values)(row)


def turned(column: str, *also: str, where: Callable[[Row], bool] = lambda row: True) -> Break:
    """The other truth value."""
    return Break(lambda row: {column: not row[column]}, where, also=more(*also))


def one_more(column: str, *also: str) -> Break:
    """One too many."""
    return Break(lambda row: {column: row[column] + 1}, also=more(*also))


def other(column: str, *words: str, also: frozenset[str] = frozenset()) -> Break:
    """The first word that is not there."""
    return Break(lambda row: {column: next(word for word in words if word != row[column])}, also=also)


UNSURE = {"status": "no_interval", "reason": ""} | BARE
STRANGERS = {
    "chain": {"chain": 9},
    "model": {"model": "nobody"},
    "item_id": {"item_id": "nothing"},
    "attribute": {"attribute": "zz"},
}


def of_fit(*columns: str, also: frozenset[str] = frozenset()) -> dict[str, Break]:
    """Rows of a chain, model, item or attribute that no fit has."""
    return {f"{column}_of_fit": Break(STRANGERS[column], also=also) for column in columns}


@cache
def _needed(name: str) -> Counter[str]:
    """How many attributes the prior needs of each item."""
    prior = {"clustered": diagnosis_tables, "given": given_tables}[name]()["prior"]
    return Counter(row["item_id"] for row in prior.to_pylist() if row["reference"])


def prior_breaks(name: str = "clustered") -> dict[str, Break]:
    """Ways to break a prior; one of clusters or a given one."""
    follows = more("reference_of_clusters") if name == "clustered" else more()
    lost = more("item_needs_something") | follows
    found = {
        "item_of_study": Break(STRANGERS["item_id"], also=lost),
        "attribute_of_study": Break(STRANGERS["attribute"], also=lost),
        "item_needs_something": Break(
            {"reference": False},
            lambda row: row["reference"] and _needed(name)[row["item_id"]] == 1,
            also=follows,
        ),
        "probability_open": Break({"probability": 1.0}),
    }
    return found | {rule: turned("reference", *lost - {rule}) for rule in follows}


def cluster_breaks(*own: str) -> dict[str, Break]:
    """Ways to break the rows of clusters."""
    lost = more("as_of_chosen_number")
    ways = {
        "as_many_as_tried": Break(STRANGERS["attribute"], also=more("ranked_once")),
        "attribute_of_study": Break(STRANGERS["attribute"], also=more("ranked_once")),
        "as_of_chosen_number": Break(
            lambda row: {"together": row["together"] / 2}, also=more("margin_below_share")
        ),
    }
    return {
        "item_of_study": Break(STRANGERS["item_id"], also=lost),
        "ranked_once": Break({"rank": 99}, also=lost),
        "margin_below_share": Break({"together": 0.0}, lambda row: row["margin"] > 0, also=lost),
        "item_type_kept": Break({"item_type": "z"}, also=lost),
    } | {rule: ways[rule] for rule in own}


_COMPARED = more("difference_of_values", "difference_interval", "placebo_mean_of_draws")


def prediction_breaks() -> dict[str, Break]:
    """Ways to break predictions."""
    return {
        "cells_alike": one_more("n"),
        "choice_as_configured": Break({"seed": 99}),
        "value_unless_not_computable": Break({"value": None}, known("value"), also=_COMPARED),
        "value_in_bounds": Break(
            {"value": 1.5}, known("value"), also=_COMPARED | {"interval_around_value"}
        ),
        "interval_where_ok": Break({"ci_low": None}, is_ok),
        "interval_around_value": Break(
            lambda row: {"ci_low": row["value"] + 0.1, "ci_high": row["value"] + 0.2}, is_ok
        ),
        "reason_unless_ok": Break(UNSURE, is_ok),
        "difference_of_values": Break({"difference": 0.875}, also=more("difference_interval")),
        "difference_interval": Break({"difference_ci_low": 5.0}),
        "placebo_mean_of_draws": Break(
            {"value": 0.5},
            said(predictor="placebo"),
            also=_COMPARED | {"value_unless_not_computable", "value_in_bounds", "interval_around_value"},
        ),
    }  # fmt: skip


def attribute_breaks(name: str = "clustered") -> dict[str, Break]:
    """Ways to break the attributes; of clusters, or of a given matrix."""
    given = name == "given"
    unknown = more("label_as_made", "items_counted", "stability_of_items", "purity_of_items")
    return {
        "attribute_of_prior": Break(STRANGERS["attribute"], also=unknown),
        "label_there": Break({"label": " "}, also=more("label_as_made")),
        "given_with_the_matrix": Break(
            {"status": "provisional" if given else "given"}, lambda row: row["reviewer"] is None
        ),
        "reviewer_where_reviewed": Break(lambda row: {"reviewer": None if row["reviewer"] else "rita"}),
        "label_as_made": Break(
            {"label_source": "terms"} if given else {"label": "x"},
            lambda row: row["label_source"] != "reviewer",
        ),
        "items_counted": one_more("n_items"),
        "stability_of_items": Break({"stability": 0.125}),
        "purity_of_items": Break({"purity": 0.125}),
    }


_UNPROVEN = more("values_of_controls", "p_of_placebos", "holds_by_values", "value_unless_not_computable")


def _ok_response() -> Row:
    """A response of the given study that counts."""
    return next(row for row in given_tables()["responses"].to_pylist() if row["status"] == "ok")


DIAGNOSIS_BREAKS: dict[str, dict[str, Break]] = {
    "responses": {
        "correct_by_status": Break({"correct": None}, is_ok),
        "request_of_models_asked": Break({"request_id": "r"}),
    },
    "texts": {
        "item_answered": Break(STRANGERS["item_id"]),
        "text_there": Break({"text": " \n"}),
    },
    "truth": {
        "model_simulated": Break(STRANGERS["model"]),
        "attribute_is_a_type": Break(STRANGERS["attribute"]),
    },
    "screening": {
        "name_in_responses": Break({"name": "nobody"}, also=more("few_flagged", "twins_alike")),
        "counts_of_responses": one_more("n_missing"),
        "share_of_counts": Break({"share": 0.123}),
        "flags_once": Break(lambda row: {"flags": 2 * row["flags"]}, lambda row: bool(row["flags"])),
        "constant_flagged": Break({"flags": ["all_right"]}, said(flags=[])),
        "format_flagged": Break(
            lambda row: {"flags": row["flags"][1:]},
            lambda row: "format_failed" in row["flags"],
            also=more("kept_by_flags"),
        ),
        "few_flagged": Break({"flags": ["few_responses"]}, said(flags=[]), also=more("kept_by_flags")),
        "twin_named": Break({"duplicate_of": None}, known("duplicate_of"), also=more("twins_alike")),
        "twins_alike": Break({"duplicate_of": "simulated-0001"}, known("duplicate_of")),
        "kept_by_flags": turned("kept", "few_flagged", where=said(flags=[])),
    },
    "cluster_runs": {
        "number_tried": Break({"k": 9}),
        "item_of_study": Break(STRANGERS["item_id"]),
        "labels_of_runs": Break({"labels": [9] * 6}),
        "made_at_once": Break({"made_from": "elsewhere"}),
        "item_type_kept": Break({"item_type": "z"}),
    },
    "k_curve": {
        "number_tried": Break(
            {"k": 9}, also=more("chosen_by_measures", "smallest_counted", "prediction_as_made")
        ),
        "chosen_by_measures": turned("chosen", "choice_explained"),
        "choice_explained": Break(
            {"reason": ""}, said(chosen=True, measure="stability"), also=more("reason_unless_ok")
        ),
        "smallest_counted": shifted("value", where=said(measure="smallest")),
        "prediction_as_made": shifted(
            "value", more("chosen_by_measures"), where=said(measure="held_out_loglik")
        ),
        "value_in_bounds": Break({"value": 1.5}, said(measure="silhouette")),
        "value_unless_not_computable": Break({"value": None}, said(measure="silhouette")),
        "interval_where_ok": Break({"ci_low": None}, ok_with(measure="silhouette")),
        "reason_unless_ok": Break(UNSURE, ok_with(measure="silhouette")),
    },
    "clusters/2": cluster_breaks("as_many_as_tried"),
    "clusters/3": cluster_breaks("as_many_as_tried"),
    "predictions/2": prediction_breaks(),
    "predictions/3": prediction_breaks(),
    "clusters_unreviewed": cluster_breaks("as_of_chosen_number"),
    "clusters": cluster_breaks("attribute_of_study"),
    "prior_unreviewed": prior_breaks(),
    "prior": prior_breaks(),
    "labels_asked": {"attribute_of_clusters": Break(STRANGERS["attribute"])},
    "labels": {
        "attribute_of_clusters": Break(STRANGERS["attribute"], also=more("request_traced")),
        "label_there": Break({"label": " "}),
        "source_by_status": Break(
            {"status": "refusal"}, said(label_source="model"), also=more("reason_where_in_doubt")
        ),
        "held_against_terms": Break({"agrees": None}, known("agrees")),
        "reason_where_in_doubt": Break({"reason": ""}, said(agrees=False)),
        "request_traced": Break({"request_id": "r"}),
    },
    "attributes": attribute_breaks(),
    "saem_mastery": {
        **of_fit("chain", "model", "attribute"),
        "unlocked_were_answered": Break({"unlocked": 999.0}),
        "error_of_all_chains": Break({"mcse": 0.5}),
    },
    "saem_abilities": {
        **of_fit("chain", "model"),
        "theta_of_prior": Break({"theta": 0.5}, plan=_FLAT),
    },
    "saem_q": {
        **of_fit("chain", "item_id", "attribute", also=more("item_needs_something")),
        "item_needs_something": Break(
            {"p": 0.0}, lambda row: row["p"] > 0.8 and _needed("clustered")[row["item_id"]] == 1
            and row["item_id"].endswith("-05"),
        ),
        # The entry of the first chain stands for those of all.
        "fixed_entry_kept": Break({"probability": 1.0, "chain": 1}, table="prior"),
    },
    "saem_items": {
        **of_fit("chain", "item_id"),
        "right_within_n": Break(
            lambda row: {"right_mastered": row["n_mastered"] + 1},
            also=more("counts_of_responses", "rates_of_counts", "rates_apart"),
        ),
        "counts_of_responses": one_more("n_other", "rates_of_counts", "rates_apart"),
        "rates_of_counts": Break(
            lambda row: {"guess": row["guess"] + 0.03}, said(pooled=False), also=more("rates_apart")
        ),
        "rates_apart": Break(
            {"pooled": True}, lambda row: not row["pooled"] and 1 - row["slip"] - row["guess"] > 0.1
        ),
    },
    "saem_attributes": {
        **of_fit("chain", "attribute"),
        "loading_of_prior": Break({"loading": 0.5}, plan=_FLAT),
    },
    "saem_trace": {
        **of_fit("chain", also=more("up_to_the_last_sweep")),
        "up_to_the_last_sweep": Break({"sweep": 9999}),
        "changes_together": Break({"q_change": None}, known("q_change")),
    },
    "saem_draws": {
        **of_fit("chain"),
        "draw_of_chain": Break({"draw": 77}),
        "mastery_of_models": Break({"mastery": b"\0"}),
        "needs_of_items": Break(lambda row: {"q": bytes(len(row["q"]))}),
        "rates_of_items": Break({"guess": [0.5]}),
    },
    "fit": {
        "sizes_of_study": Break({"items": 99}),
        "mean_of_chains": shifted("loglik"),
        "sweeps_of_longest": Break({"sweeps": 7}),
        "reason_unless_converged": Break({"reason": "who knows"}),
        "converged_by_criteria": Break({"rhat_items": 1.2}),
        "entries_agree_as_told": Break({"q_jaccard": 0.125}),
        "mastery_agrees_as_told": Break({"alpha_agreement": 0.125}),
    },
    "chains": {
        "chain_in_order": Break(STRANGERS["chain"]),
        "sweeps_as_configured": Break({"sweeps": 100}, also=more("kept_of_sweeps")),
        "kept_of_sweeps": Break({"kept": 9999}),
    },
    "predictions": prediction_breaks(),
    "placebo": {
        "draw_asked_for": Break({"draw": 77}),
        "cells_of_predictions": one_more("n"),
        "measured": Break({"loglik": 0.5}),
    },
    "checks": {
        "statistic_of_check": Break({"statistic": "zz"}, also=_UNPROVEN),
        "values_of_controls": shifted("value", where=said(check="held_out")),
        "p_of_placebos": Break({"p": 0.7}, said(check="placebo")),
        "holds_by_values": turned("holds", where=said(statistic="rhat_items")),
        "replicates_by_p": turned(
            "holds", where=lambda row: row["check"] == "posterior_predictive" and row["holds"] is not None
        ),
        "value_unless_not_computable": Break(
            {"value": None},
            lambda row: row["check"] == "held_out" and row["value"] is not None,
            also=more("values_of_controls"),
        ),
        "ends_in_order": Break({"low": 9.0, "high": -9.0}, said(check="posterior_predictive")),
        "reason_unless_ok": Break({"status": "no_interval", "reason": ""}, ok_with(check="held_out")),
    },
    "rungs": {
        "says_what_checks_say": other("says", "supported", "undetermined"),
        "reason_there": Break({"reason": ""}),
    },
    "support": {
        "verdict_by_ladder": other("support", "supported", "undetermined"),
        "reasons_of_ladder": Break({"reasons": ["because"]}),
    },
    "mastery": {
        **of_fit("model", "attribute"),
        "label_of_attribute": Break({"label": "x"}),
        "mean_of_chains": Break(
            lambda row: {"p": row["p"] / 2 + 0.01}, lambda row: row["p"] > 0.1, also=more("sd_of_p", "state_of_p")
        ),
        "sd_of_p": Break({"sd": 0.4321}),
        "error_of_fit": Break({"mcse": 0.5}),
        "items_unlocked": one_more("n_items", "basis_of_items"),
        "basis_of_items": other("basis", "responses", "prior", also=more("state_of_p")),
        "state_of_p": other("state", "mastered", "not_mastered"),
        "support_of_verdict": other("support", "supported", "not_supported", "undetermined"),
    },
    "attribute_profiles": {
        **of_fit("attribute"),
        "label_of_attribute": Break({"terms": ["x"]}),
        "models_counted": Break({"n_models": 99}),
        "items_counted": Break({"n_items": 99}),
        "prevalence_of_mastery": shifted("prevalence", more("interval_around_prevalence")),
        "interval_where_ok": Break({"ci_low": None}, is_ok),
        "interval_around_prevalence": Break({"ci_low": 0.99, "ci_high": 1.0}, is_ok),
        "reason_unless_ok": Break(UNSURE, is_ok),
        "level_as_configured": Break({"level": 0.5}),
        "accuracy_of_mastery": Break({"accuracy": 0.5}),
        "consistency_of_mastery": Break({"consistency": 0.5}),
        "twin_by_correlation": Break({"duplicate_of": "a01"}, lambda row: row["attribute"] != "a01"),
    },
    "attribute_correlations": {
        "pair_of_study": Break({"attribute_b": "a00"}),
        "models_counted": Break({"n": 99}),
        "correlation_of_mastery": Break({"correlation": -0.75}),
        "value_where_ok": Break({"correlation": None}, also=more("correlation_of_mastery")),
        "reason_unless_ok": Break({"status": "not_computable", "reason": ""}, also=more("value_where_ok")),
    },
    "item_profiles": {
        "item_of_fit": Break(STRANGERS["item_id"]),
        "rates_of_chains": Break(
            lambda row: {"guess": row["guess"] + 0.01}, also=more("discrimination_of_rates")
        ),
        "discrimination_of_rates": Break({"discrimination": -0.5}),
        "pooled_in_half": turned("pooled"),
        "responses_counted": Break({"n": 99}),
        "counts_of_chains": one_more("n_other"),
        "attributes_needed": Break({"attributes": []}),
        "errors_where_ok": Break({"guess_se": None}, is_ok),
    },
    "q_entries": {
        "item_of_fit": Break(STRANGERS["item_id"]),
        "attribute_of_fit": Break(STRANGERS["attribute"]),
        "believed_as_prior": Break({"prior": 0.123}),
        "mean_of_chains": Break(
            lambda row: {"posterior": 1 - row["posterior"]}, also=more("odds_of_posterior", "pattern_of_entry")
        ),
        "odds_of_posterior": Break({"log_odds": 9.5}),
        "pattern_of_entry": other("pattern", "absent", "kept"),
    },
    "corrections": {"items_counted": one_more("items")},
}  # fmt: skip

GIVEN_BREAKS: dict[str, dict[str, Break]] = {
    "rejected": {
        "detail_told": Break({"detail": " "}),
        "rejected_not_used": Break(
            lambda row: {name: _ok_response()[name] for name in ("model", "item_id")}, known("model")
        ),
    },
    "prior": prior_breaks("given"),
    "attributes": attribute_breaks("given"),
}

MASTERY_BOARD_BREAKS: dict[str, dict[str, Break]] = {
    "mastery_board": {
        "row_in_studies": Break(STRANGERS["model"]),
        "as_profiled": Break({"sd": 0.123}),
    }
}
