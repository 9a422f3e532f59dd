"""The mastery board: profiles of all studies, and the controls that stand beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts.diagnosis_tables import MASTERY_BOARD, MASTERY_STATES

Row = dict[str, Any]


@dataclass(frozen=True)
class StudyRecords:
    """What is known of one study.

    Attributes:
        verdict: `Verdict.document`.
        corrections: items by what became of their reference (`corrections`).
        mastery: MASTERY table.
        attributes: ATTRIBUTE_PROFILES table.
        items: ITEM_PROFILES table.
        predictions: PREDICTIONS table.
        checks: DIAGNOSIS_CHECKS table.
        responses: RESPONSE_MATRIX table.
        screening: SCREENING table.
    """

    verdict: Mapping[str, Any]
    corrections: Mapping[str, int]
    mastery: pa.Table
    attributes: pa.Table
    items: pa.Table
    predictions: pa.Table
    checks: pa.Table
    responses: pa.Table
    screening: pa.Table


def mastery_board(studies: Mapping[str, pa.Table]) -> pa.Table:
    """Put the profiles of all studies into one table.

    Args:
        studies: MASTERY tables by study.

    Returns:
        MASTERY_BOARD table, sorted by its key.
    """
    tables = [
        mastery.add_column(
            0, MASTERY_BOARD.schema.field("study"), pa.array([name] * mastery.num_rows, pa.string())
        )
        for name, mastery in studies.items()
    ]
    board = pa.concat_tables(tables) if tables else MASTERY_BOARD.schema.empty_table()
    return board.cast(MASTERY_BOARD.schema).sort_by([(name, "ascending") for name in MASTERY_BOARD.key])


def beside(records: StudyRecords) -> dict[str, Any]:
    """What belongs beside the profiles of a study, as a document.

    Returns:
        verdict; sizes (models, items and attributes of the profiles, responses by status, models and items left out and
        flags of the screening); corrections of Q; pooled (items whose c - g was held at its least); attributes with the
        number of models in each state; predictions and checks.
    """
    states = _states(records.mastery)
    attributes = [
        row | {"states": {state: states[row["attribute"], state] for state in MASTERY_STATES}}
        for row in records.attributes.to_pylist()
    ]
    return {
        "verdict": dict(records.verdict),
        "sizes": {
            "models": len(set(records.mastery["model"].to_pylist())),
            "items": records.items.num_rows,
            "attributes": records.attributes.num_rows,
            "responses": _counts(records.responses["status"]),
            "screening": _screened(records.screening),
        },
        "corrections": dict(records.corrections),
        "pooled": sum(records.items["pooled"].to_pylist()),
        "attributes": attributes,
        "predictions": records.predictions.to_pylist(),
        "checks": records.checks.to_pylist(),
    }


def _counts(column: pa.ChunkedArray) -> dict[str, int]:
    found = {row["values"]: row["counts"] for row in pc.value_counts(column).to_pylist()}
    return dict(sorted(found.items()))


def _states(mastery: pa.Table) -> Counter[tuple[str, str]]:
    counted = mastery.group_by(["attribute", "state"]).aggregate([([], "count_all")])
    return Counter({(row["attribute"], row["state"]): row["count_all"] for row in counted.to_pylist()})


def _screened(screening: pa.Table) -> dict[str, Any]:
    """By kind: how many there were, how many were left out, and how often each flag was given."""
    found: dict[str, Any] = {}
    for kind in ("model", "item"):
        rows = [row for row in screening.to_pylist() if row["kind"] == kind]
        flags = Counter(flag for row in rows for flag in row["flags"])
        found[kind] = {
            "n": len(rows),
            "left_out": sum(not row["kept"] for row in rows),
            "flags": dict(sorted(flags.items())),
        }
    return found


def model_rows(board: pa.Table, study: str) -> list[tuple[str, float, dict[str, Row]]]:
    """Models of a study, those that master most first.

    Returns:
        Name, mean mastery over attributes, and rows by attribute; equal means in the order of names.
    """
    found: dict[str, dict[str, Row]] = {}
    for row in board.filter(pc.equal(board["study"], study)).to_pylist():
        found.setdefault(row["model"], {})[row["attribute"]] = row
    means = {
        model: sum(row["p"] for _, row in sorted(rows.items())) / len(rows) for model, rows in found.items()
    }
    return sorted(
        ((model, means[model], rows) for model, rows in found.items()), key=lambda one: (-one[1], one[0])
    )
