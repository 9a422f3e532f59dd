"""What the blind sheet of an arena and its key promise: every selection is shown, or it is said why not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._arena_plan import COMPARISON, PAIR, with_pair
from magister.contracts._columns import (
    Codes,
    Mask,
    agree,
    all_agree,
    facts,
    matches,
    member,
    numbers,
    positions,
    row_codes,
    same,
    taken,
    true,
)
from magister.contracts._estimates import close
from magister.contracts.arena_tables import SELECTIONS
from magister.contracts.gate import Expectation, RowCheck, RowCount

_CHANCES = ("arm", "inclusion_probability", "random_probability")
_SIDES = (1, 2)


def _answers(key: pa.Table, responses: pa.Table, side: int) -> Codes:
    """The row of the response that stands on a side of each comparison."""
    return positions(key, responses, (f"model_{side}", "instruction_id"), ("model", "instruction_id"))


def key_checks(
    key: pa.Table, sheet: pa.Table, rows: pa.Table, missing: pa.Table, pool: pa.Table, responses: pa.Table
) -> list[Expectation]:
    """Checks on SHEET_KEY.

    Args:
        key: the key.
        sheet: SHEET.
        rows: SELECTIONS.
        missing: VOTES_REJECTED of what cannot be shown.
        pool: INSTRUCTIONS.
        responses: ARENA_RESPONSES.
    """
    paired = with_pair(key)
    drawn = pc.equal(rows["arm"], "random")
    arms = [rows.filter(pc.invert(drawn)), rows.filter(drawn)]
    chosen, lot = (positions(paired, arm, COMPARISON) for arm in arms)
    found = [
        numbers(taken(arm, at, ("inclusion_probability",))["inclusion_probability"])
        for arm, at in zip(arms, (chosen, lot), strict=True)
    ]
    arm = np.where(
        chosen >= 0, true(pc.equal(key["arm"], "discrepant")), true(pc.equal(key["arm"], "random"))
    )
    chance = close(numbers(key["inclusion_probability"]), np.fmax(*found))
    chance &= close(numbers(key["random_probability"]), found[1])
    shown = taken(sheet, positions(key, sheet, ["comparison_id"]), ("response_1", "response_2"))
    lengths, traced = [], []
    for side in _SIDES:
        lengths.append(same(key[f"length_{side}"], pc.utf8_length(shown[f"response_{side}"])))
        answer = taken(responses, _answers(key, responses, side), ("request_id",))
        traced.append(same(key[f"request_id_{side}"], answer["request_id"]))
    _, times = np.unique(row_codes(paired, COMPARISON), return_inverse=True)
    of_pool, truth = facts(key, pool, "instruction_id", ("root_id", "scenario"))
    comparisons = np.unique(row_codes(rows, COMPARISON)).size

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("sheet_key", name, columns, expected, passed)

    models = ("model_1", "model_2")
    return [
        RowCount(
            "sheet_key",
            comparisons - missing.num_rows,
            f"{comparisons} comparisons selected, {missing.num_rows} of which cannot be shown",
        ),
        check(
            "comparison_selected",
            ("scenario", *models, "instruction_id"),
            "an instruction that was selected for the two models",
            (chosen >= 0) | (lot >= 0),
        ),
        check(
            "comparison_once",
            ("scenario", *models, "instruction_id"),
            "a comparison that stands on the sheet once",
            np.bincount(times, minlength=1)[times] == 1,
        ),
        check("chance_as_selected", _CHANCES, "arm and chances as in selections", arm & chance),
        check(
            "root_of_instruction",
            ("root_id", "scenario"),
            "root and scenario of the instruction",
            of_pool & same(key["root_id"], truth["root_id"]) & same(key["scenario"], truth["scenario"]),
        ),
        check(
            "responses_traced",
            ("request_id_1", "request_id_2"),
            "the requests of the responses of the two models",
            traced[0] & traced[1],
        ),
        check(
            "lengths_as_shown",
            ("length_1", "length_2"),
            "characters of the responses as they are shown",
            lengths[0] & lengths[1],
        ),
    ]


def sheet_checks(
    sheet: pa.Table, key: pa.Table, pool: pa.Table, responses: pa.Table, shown: Callable[[str], str]
) -> list[Expectation]:
    """Checks on SHEET.

    Args:
        sheet: the sheet.
        key: SHEET_KEY.
        pool: INSTRUCTIONS.
        responses: ARENA_RESPONSES.
        shown: what annotators see of a text.
    """
    place = positions(sheet, key, ["comparison_id"])
    columns = ("scenario", "instruction_id", "model_1", "model_2")
    hidden = taken(key, place, columns)
    facts_kept = all_agree(sheet.select(columns[:2]), hidden.select(columns[:2]))
    _, truth = facts(sheet, pool, "instruction_id", ("text",))
    given = [
        agree(
            sheet[f"response_{side}"],
            _shown(taken(responses, _answers(hidden, responses, side), ("text",)), shown),
        )
        for side in _SIDES
    ]

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("sheet", name, columns, expected, passed)

    return [
        RowCount("sheet", key.num_rows, "the comparisons of its key"),
        check("comparison_in_key", ("comparison_id",), "a comparison of the key", place >= 0),
        check(
            "id_tells_nothing",
            ("comparison_id",),
            "a hash, in which no model can be read",
            matches(sheet["comparison_id"], "^c[0-9a-f]{23}$"),
        ),
        check(
            "instruction_as_given",
            ("scenario", "instruction_id", "instruction"),
            "scenario and instruction of the key, and its text in the pool",
            (place < 0) | facts_kept & same(sheet["instruction"], truth["text"]),
        ),
        check(
            "responses_as_given",
            ("response_1", "response_2"),
            "what the models said, without their reasoning",
            (place < 0) | given[0] & given[1],
        ),
    ]


def _shown(responses: pa.Table, shown: Callable[[str], str]) -> pa.ChunkedArray:
    """Texts as annotators see them; each is read once however often it stands there."""
    coded = responses["text"].combine_chunks().dictionary_encode()
    words = pa.array([shown(text) for text in coded.dictionary.to_pylist()], pa.string())
    return pa.chunked_array([words.take(coded.indices)], pa.string())


def _numbered(rows: pa.Table) -> Codes:
    """Number of each selection in the order of its key, from 1."""
    number = np.empty(rows.num_rows, dtype=np.int64)
    number[np.argsort(row_codes(rows, SELECTIONS.key), kind="stable")] = np.arange(1, rows.num_rows + 1)
    return number


def _first(rows: pa.Table) -> Codes:
    """The least number of a selection of the same comparison."""
    _, code = np.unique(row_codes(rows, COMPARISON), return_inverse=True)
    least = np.full(rows.num_rows, np.iinfo(np.int64).max)
    np.minimum.at(least, code, _numbered(rows))
    return least[code]


def shown_check(rows: pa.Table, key: pa.Table, missing: pa.Table) -> RowCheck:
    """No selection is lost on the way to the sheet.

    Args:
        rows: SELECTIONS.
        key: SHEET_KEY.
        missing: VOTES_REJECTED of what cannot be shown.
    """
    shown = positions(rows, with_pair(key), COMPARISON) >= 0
    listed = np.isin(_first(rows), np.nan_to_num(numbers(missing["row"])))
    return RowCheck(
        "selections",
        "shown_or_listed",
        COMPARISON,
        "a comparison on the sheet, or a row of sheet_missing that says why not",
        shown != listed,
    )


def missing_checks(missing: pa.Table, rows: pa.Table, responses: pa.Table) -> list[RowCheck]:
    """Checks on VOTES_REJECTED of comparisons that cannot be shown.

    Args:
        missing: those.
        rows: SELECTIONS.
        responses: ARENA_RESPONSES.
    """
    numbered = rows.append_column("row", pa.array(_first(rows), pa.int32()))
    place = positions(missing, numbered, ["row"])
    of = taken(numbered, place, (*COMPARISON, "row"))
    statuses = []
    for side in PAIR:
        at = positions(of, responses, (side, "instruction_id"), ("model", "instruction_id"))
        statuses.append(pc.fill_null(taken(responses, at, ("status",))["status"], "missing_response"))
    reason = np.logical_or.reduce([same(missing["reason"], status) for status in statuses])

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("sheet_missing", name, columns, expected, passed)

    return [
        check(
            "row_of_selections",
            ("source", "row"),
            "source selection and the number of a row of selections",
            (place >= 0) & true(pc.equal(missing["source"], "selection")),
        ),
        check(
            "reason_of_responses",
            ("reason",),
            "missing_response or error, as one of the two responses is",
            (place < 0) | reason & member(missing["reason"], ("missing_response", "error")),
        ),
    ]
