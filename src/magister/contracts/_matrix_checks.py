"""What the responses of a study promise: every model and item, and what their statuses say."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import Mask, absent, facts, member, same, true
from magister.contracts._diagnosis_grid import Axis, Grid, Responses, known_names
from magister.contracts._diagnosis_plan import ABSENT, UNPARSED, DiagnosisPlan
from magister.contracts.gate import Expectation, RowCheck, RowCount

_SAID = ("model", "item_id")
# The others are of rows that do not say whose response they are, or of responses that stand in another row.
_LOST = ("bad_value", "conflict", "unscored", "not_binary")


def blank(texts: pa.ChunkedArray) -> Mask:
    """Texts in which nothing stands, or none."""
    return true(pc.equal(pc.utf8_trim_whitespace(pc.fill_null(texts, "")), ""))


def response_checks(table: pa.Table, responses: Responses, plan: DiagnosisPlan) -> list[Expectation]:
    """Checks on RESPONSE_MATRIX.

    Args:
        table: the responses.
        responses: the same on their grid.
        plan: what the study was to hold.
    """
    unread, gone = member(table["status"], UNPARSED), member(table["status"], ABSENT)
    known = ~absent(table["correct"])
    asked = ~absent(table["request_id"])
    size = len(responses.models) * len(responses.items)
    unparsed = plan.unparsed == "wrong"
    return [
        RowCount("responses", size, f"{len(responses.models)} models x {len(responses.items)} items"),
        RowCheck(
            "responses",
            "correct_by_status",
            ("status", "correct"),
            "right or wrong where there is an answer, unknown where nobody knows; unreadable replies count as "
            f"{plan.unparsed}",
            np.where(gone, ~known, np.where(unread, known == unparsed, known)),
        ),
        RowCheck(
            "responses",
            "request_of_models_asked",
            ("status", "request_id"),
            "a request where a model of the pipeline was asked, and none elsewhere",
            asked == (~member(table["status"], ["missing"]) & (plan.kind == "answers")),
        ),
    ]


def text_checks(table: pa.Table, responses: Responses) -> list[Expectation]:
    """Checks on DIAGNOSED_ITEMS.

    Args:
        table: the items with their texts.
        responses: of the study.
    """
    return [
        RowCount("texts", len(responses.items), "the items of the responses"),
        RowCheck(
            "texts",
            "item_answered",
            ("item_id",),
            "an item of the responses",
            member(table["item_id"], responses.items),
        ),
        RowCheck("texts", "text_there", ("text",), "a text", ~blank(table["text"])),
    ]


def rejection_checks(table: pa.Table, responses: pa.Table) -> list[RowCheck]:
    """Checks on RESPONSES_REJECTED.

    Args:
        table: cells and rows that are no responses.
        responses: RESPONSE_MATRIX.
    """
    known, said = facts(table, responses, _SAID, ("status",))
    lost = member(table["reason"], _LOST) & known
    return [
        RowCheck("rejected", "detail_told", ("reason", "detail"), "what is wrong", ~blank(table["detail"])),
        RowCheck(
            "rejected",
            "rejected_not_used",
            ("reason", *_SAID),
            "no response of status ok where the only value of a model and an item was rejected",
            ~lost | ~member(said["status"], ["ok"]),
        ),
    ]


def truth_checks(
    table: pa.Table, texts: pa.Table, responses: Responses, plan: DiagnosisPlan
) -> list[Expectation]:
    """Checks on SIMULATED_MASTERY.

    Args:
        table: what simulated models truly master.
        texts: DIAGNOSED_ITEMS.
        responses: of the study.
        plan: what the study was to hold.
    """
    kinds = known_names(texts["item_type"]) if plan.truth == "dina" else []
    grid = Grid(table, (Axis("model", responses.models), Axis("attribute", kinds)))
    return [
        RowCount("truth", grid.cells, f"{len(responses.models)} models x {len(kinds)} attributes"),
        RowCheck("truth", "model_simulated", ("model",), "a model of the responses", grid.on("model")),
        RowCheck("truth", "attribute_is_a_type", ("attribute",), "a type of the items", grid.on("attribute")),
    ]


def item_type_check(name: str, table: pa.Table, texts: pa.Table) -> RowCheck:
    """Rows of items that have the type that the item has."""
    known, said = facts(table, texts, "item_id", ("item_type",))
    alike = same(table["item_type"], said["item_type"]) | (
        absent(table["item_type"]) & absent(said["item_type"])
    )
    return RowCheck(name, "item_type_kept", ("item_id", "item_type"), "the type of the item", alike | ~known)
