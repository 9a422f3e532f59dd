"""Blind sheets: what annotators see of a comparison, and the key that they do not see."""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.answers import strip_reasoning
from magister.arena._naming import names_a_family, names_model
from magister.contracts.arena_tables import SELECTIONS, SHEET, SHEET_KEY, VOTES_REJECTED
from magister.errors import UserError
from magister.llm import uniform

_COMPARISON = ("scenario", "model_a", "model_b", "instruction_id")
_SEPARATOR = "\x1f"


class Sheets(NamedTuple):
    """Comparisons ready to be judged.

    Attributes:
        sheet: SHEET table, sorted by `comparison_id`, which is in no order that tells anything.
        key: SHEET_KEY table in the same order.
        rejected: VOTES_REJECTED table: comparisons that cannot be shown, `row` being the row of SELECTIONS in
            the order of its key, from 1; reasons `missing_response` and `error`.
    """

    sheet: pa.Table
    key: pa.Table
    rejected: pa.Table


def shown_text(text: str) -> str:
    """A response as annotators see it: without its reasoning, otherwise untouched."""
    return strip_reasoning(text).text.strip()


def first_model(scenario: str, model_a: str, model_b: str, instruction_id: str, seed: int) -> str:
    """The model whose response stands first: by a hash of the comparison alone.

    Neither other models nor other instructions enter, so that adding some changes no sheet that is there.
    """
    text = _SEPARATOR.join((scenario, model_a, model_b, instruction_id))
    return model_a if uniform(text, "side", seed) < 0.5 else model_b


def comparison_id(*seen: str) -> str:
    """Hash of a comparison: who, on what, in which order, and all that is read.

    A vote therefore stays valid exactly as long as what was judged stays the same: after a new seed or a new
    response it belongs to no comparison, and is reported instead of counted for the wrong side.

    Args:
        *seen: scenario, instruction id, model 1, model 2, instruction, response 1, response 2.

    Returns:
        `c` and 23 hexadecimal digits; the letter keeps spreadsheets from reading a number.
    """
    text = json.dumps(seen, ensure_ascii=False, separators=(",", ":"))
    return "c" + hashlib.sha256(text.encode("utf-8")).hexdigest()[:23]


def annotation_sheet(
    selections: pa.Table, instructions: pa.Table, responses: pa.Table, *, seed: int
) -> Sheets:
    """Make the blind sheet of a selection.

    A comparison is (scenario, pair, instruction): however often and by whichever arm it was chosen, it is judged
    once. Where both arms chose it, its arm is `discrepant`; `random_probability` keeps the random arm whole:
    the rows that have one are the random sample, those of arm `discrepant` the discrepant one, and a row in both
    counts in both.

    Refusals, truncated and empty responses are shown: they are what the model said. Failed calls are not.

    Args:
        selections: SELECTIONS table.
        instructions: INSTRUCTIONS table.
        responses: ARENA_RESPONSES table of all models of the selection.
        seed: of the sides.

    Returns:
        Sheet, key, and the comparisons that cannot be shown.

    Raises:
        UserError: a selection names an unknown instruction, or its models are not in order.
    """
    chosen = _comparisons(selections)
    texts = _instructions(chosen, instructions)
    rows, reasons, statuses = zip(*(_responses(chosen, responses, side) for side in "ab"), strict=True)
    reason = [one or two for one, two in zip(*reasons, strict=True)]
    refused = np.array([bool(why) for why in reason], dtype=bool)
    rejected = _rejected(chosen, reason, statuses, refused)
    kept = np.flatnonzero(~refused)
    chosen, texts = chosen.take(kept), texts.take(kept)
    said = [responses.take(pa.array(np.asarray(row, dtype=np.int64)[kept])) for row in rows]
    sheet, key = _tables(chosen, texts, said, [_shown(table) for table in said], seed)
    return Sheets(sheet, key, rejected)


def _comparisons(selections: pa.Table) -> pa.Table:
    """A row per comparison: its arm, chances, and the first row of SELECTIONS that chose it."""
    table = selections.sort_by([(name, "ascending") for name in SELECTIONS.key])
    disordered = pc.greater_equal(table["model_a"], table["model_b"])
    if pc.any(disordered).as_py():
        row = table.filter(disordered).slice(0, 1).to_pylist()[0]
        raise UserError(
            f"selections: model_a {row['model_a']!r} must come before model_b {row['model_b']!r} "
            f"(scenario {row['scenario']!r}, rank {row['rank']}): write each pair in the order of its names"
        )
    random = pc.equal(table["arm"], "random")
    table = table.append_column("discrepant", pc.invert(random))
    drawn = pc.if_else(random, table["inclusion_probability"], pa.scalar(None, pa.float64()))
    table = table.append_column("random_probability", drawn)
    table = table.append_column("row", pa.array(np.arange(1, table.num_rows + 1), pa.int32()))
    wanted = [
        ("discrepant", "max"),
        ("inclusion_probability", "max"),
        ("random_probability", "max"),
        ("row", "min"),
    ]
    found = table.group_by(list(_COMPARISON), use_threads=False).aggregate(wanted)
    found = found.rename_columns(
        [name.removesuffix("_max").removesuffix("_min") for name in found.column_names]
    )
    arm = pc.if_else(found["discrepant"], "discrepant", "random")
    return found.append_column("arm", arm).sort_by([(name, "ascending") for name in _COMPARISON])


def _instructions(chosen: pa.Table, instructions: pa.Table) -> pa.Table:
    place = pc.index_in(chosen["instruction_id"], value_set=instructions["instruction_id"].combine_chunks())
    if place.null_count:
        unknown = chosen.filter(pc.is_null(place))["instruction_id"].unique().sort().to_pylist()
        raise UserError(
            f"selections: {len(unknown)} instruction(s) are unknown, first: {', '.join(unknown[:3])}; expected "
            "ids of the instructions at hand: make the selection anew"
        )
    return instructions.select(["text", "root_id"]).take(place)


def _responses(chosen: pa.Table, responses: pa.Table, side: str) -> tuple[list[int], list[str], list[str]]:
    """Row of the response (-1: none), why it cannot be shown (empty: it can), and who failed and how."""
    keys = pc.binary_join_element_wise(responses["model"], responses["instruction_id"], _SEPARATOR)
    wanted = pc.binary_join_element_wise(chosen[f"model_{side}"], chosen["instruction_id"], _SEPARATOR)
    place = pc.index_in(
        wanted, value_set=keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
    )
    status = pc.fill_null(responses["status"].take(place), "missing")
    reason = pc.if_else(
        pc.equal(status, "missing"), "missing_response", pc.if_else(pc.equal(status, "error"), "error", "")
    )
    told = pc.binary_join_element_wise(chosen[f"model_{side}"], status, ": ")
    return pc.fill_null(place, -1).to_pylist(), reason.to_pylist(), told.to_pylist()


def _rejected(
    chosen: pa.Table, reason: list[str], statuses: tuple[list[str], ...], refused: np.ndarray
) -> pa.Table:
    rows = []
    for at in np.flatnonzero(refused).tolist():
        row = chosen.slice(at, 1).to_pylist()[0]
        where = f"scenario {row['scenario']}, instruction {row['instruction_id']}"
        rows.append(
            {
                "source": "selection",
                "row": row["row"],
                "reason": reason[at],
                "detail": f"{where}: {statuses[0][at]}; {statuses[1][at]}",
                "raw": "",
            }
        )
    return pa.Table.from_pylist(rows, schema=VOTES_REJECTED.schema)


def _shown(responses: pa.Table) -> pa.Array:
    """The texts of responses as shown; each response is read once however often it is compared."""
    encoded = responses["text"].combine_chunks().dictionary_encode()
    texts = pa.array([shown_text(text) for text in encoded.dictionary.to_pylist()], pa.string())
    return texts.take(encoded.indices)


def _tables(
    chosen: pa.Table, texts: pa.Table, said: list[pa.Table], shown: list[pa.Array], seed: int
) -> tuple[pa.Table, pa.Table]:
    names = [chosen[name].to_pylist() for name in _COMPARISON]
    a_first = pa.array(
        [
            first_model(scenario, model_a, model_b, instruction, seed) == model_a
            for scenario, model_a, model_b, instruction in zip(*names, strict=True)
        ],
        pa.bool_(),
    )
    named = [_self_named(names[1], names[2], texts.to_pylist()) for texts in shown]
    by_side = {
        "model": [chosen["model_a"], chosen["model_b"]],
        "response": shown,
        "request_id": [table["request_id"] for table in said],
        "length": [pc.utf8_length(texts) for texts in shown],
        "self_named": named,
    }
    columns = {name: chosen[name] for name in chosen.column_names}
    columns |= {"instruction": texts["text"], "root_id": texts["root_id"]}
    for name, (a, b) in by_side.items():
        columns |= {f"{name}_1": pc.if_else(a_first, a, b), f"{name}_2": pc.if_else(a_first, b, a)}
    seen = ("scenario", "instruction_id", "model_1", "model_2", "instruction", "response_1", "response_2")
    ids = [comparison_id(*row) for row in zip(*(columns[name].to_pylist() for name in seen), strict=True)]
    columns["comparison_id"] = pa.array(ids, pa.string())
    made = pa.table(columns).sort_by([("comparison_id", "ascending")]).combine_chunks()
    sheet, key = (made.select(schema.names).cast(schema) for schema in (SHEET.schema, SHEET_KEY.schema))
    return sheet, key


def _self_named(models_a: list[str], models_b: list[str], texts: list[str]) -> pa.Array:
    """Whether each response gives a model away; a text is searched once, and once per model."""
    family = {text: names_a_family(text) for text in set(texts)}
    own = {
        place: names_model(place[1], place[0])
        for place in {*zip(models_a, texts, strict=True), *zip(models_b, texts, strict=True)}
    }
    rows = zip(models_a, models_b, texts, strict=True)
    return pa.array([family[text] or own[a, text] or own[b, text] for a, b, text in rows], pa.bool_())
