"""The rubrics' board, and what stands beside it: judges' agreement, suspect metrics, how a rubric came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from magister.contracts.rubrics_score_tables import OVERALL, RUBRICS_BOARD, SCORED
from magister.display import counted
from magister.rubrics.iterations import Document, is_frozen


def rubrics_board(standings: Mapping[str, pa.Table]) -> pa.Table:
    """Put the sets' standings on one board.

    Args:
        standings: RUBRIC_STANDINGS tables (`profiles.board_rows`) by set.

    Returns:
        RUBRICS_BOARD table, sorted by its key.
    """
    parts = [
        table.add_column(0, "set", pa.array([name] * table.num_rows, pa.string())).cast(RUBRICS_BOARD.schema)
        for name, table in standings.items()
    ]
    table = pa.concat_tables([RUBRICS_BOARD.schema.empty_table(), *parts])
    return table.sort_by([(name, "ascending") for name in RUBRICS_BOARD.key])


def beside(
    agreement: pa.Table, decisions: Sequence[Document], scores: pa.Table | None = None
) -> dict[str, Any]:
    """What belongs beside the scores of a scenario, as a document.

    Args:
        agreement: JUDGE_AGREEMENT table of the best version.
        decisions: of all iterations, stubs among them.
        scores: RUBRIC_SCORES table of the best version.

    Returns:
        `agreement` and `evolution` as sentences, `flags` by metric, `objective` of each version, and `judges`: how
        often each judge's scores came to what, of those that failed somewhere.
    """
    made = sorted((one for one in decisions if not is_frozen(one)), key=lambda one: int(one["iteration"]))
    document: dict[str, Any] = {
        "agreement": _agreement(agreement),
        "flags": {},
        "evolution": "",
        "objective": [],
        "judges": {} if scores is None else _failures(scores),
    }
    if made:
        best = made[int(made[-1]["best"])]
        document["flags"] = {name: sorted(found) for name, found in best["flags"].items()}
        document["objective"] = [
            {"iteration": one["iteration"], "value": one["objective"]["value"], "terms": _terms(one)}
            for one in made
        ]
        why = made[-1]["stop_reason"]
        document["evolution"] = f"best of {counted(len(made), 'iteration')} is number {best['iteration']}" + (
            f"; stopped: {str(why).replace('_', ' ')}" if why else ""
        )
    return document


def _failures(scores: pa.Table) -> dict[str, dict[str, int]]:
    """Statuses with their numbers by judge, of judges with a failure among them."""
    counts: dict[str, dict[str, int]] = {}
    counted = scores.group_by(["judge", "status"]).aggregate([([], "count_all")])
    for row in counted.sort_by([("judge", "ascending"), ("status", "ascending")]).to_pylist():
        counts.setdefault(row["judge"], {})[row["status"]] = row["count_all"]
    return {judge: found for judge, found in counts.items() if set(found) - set(SCORED)}


def _terms(decision: Mapping[str, Any]) -> dict[str, float | None]:
    return {name: term["value"] for name, term in decision["terms"].items()}


def _agreement(table: pa.Table) -> str:
    """Pairs of judges over all metrics, in one sentence."""
    rows = [
        row for row in table.to_pylist() if row["metric_id"] == OVERALL and row["measure"] == "alpha_ordinal"
    ]
    said = [
        f"{row['judge_a']} and {row['judge_b']} alpha {row['value']:.2f} "
        + ("" if row["ci_low"] is None else f"[{row['ci_low']:.2f}, {row['ci_high']:.2f}] ")
        + f"(n = {row['n']})"
        for row in rows
        if row["value"] is not None
    ]
    return ", ".join(said)
