"""The falsification gallery: where a model lost worst, and preference pairs to train on."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.arena._coded import TIE, A, B, code_votes
from magister.contracts.arena_tables import ANNOTATOR_KINDS, GALLERY
from magister.errors import UserError

_RESULTS = ("chosen", "rejected", "tie", "both_bad")


def gallery(
    votes: pa.Table,
    sheet: pa.Table,
    key: pa.Table,
    *,
    worst: int | None = None,
    kinds: Collection[str] = ANNOTATOR_KINDS,
) -> pa.Table:
    """List each model's losses, the worst first.

    A comparison is lost where more votes are against a model than for it. The worst is the one with the largest
    surplus of votes against it; then with the larger share of all its votes; then the first comparison id, which is
    a hash, so that neither names nor the order of rows play a part.

    Args:
        votes: VOTES table.
        sheet: SHEET table.
        key: SHEET_KEY table.
        worst: losses per model; all by default.
        kinds: kinds of annotators whose votes count.

    Returns:
        GALLERY table.

    Raises:
        UserError: an unknown kind, or a vote on a comparison that is not on the sheet.
    """
    losses = [row | {"model": row["rejected_model"]} for row in _decided(votes, sheet, key, kinds)]
    losses.sort(key=lambda row: (row["model"], *_badness(row)))
    rows: list[dict[str, Any]] = []
    for row in losses:
        rank = rows[-1]["rank"] + 1 if rows and rows[-1]["model"] == row["model"] else 1
        rows.append(
            {
                "model": row["model"],
                "rank": rank,
                **{name: row[name] for name in ("comparison_id", "scenario", "instruction_id", "arm")},
                "opponent": row["chosen_model"],
                "instruction": row["prompt"],
                "response": row["rejected"],
                "opponent_response": row["chosen"],
                "votes_against": row["counts"]["chosen"],
                "votes_for": row["counts"]["rejected"],
                "ties": row["counts"]["tie"],
                "both_bad": row["counts"]["both_bad"],
                "annotator_kinds": sorted(row["votes"]),
            }
        )
    kept = [row for row in rows if worst is None or row["rank"] <= worst]
    return pa.Table.from_pylist(kept, schema=GALLERY.schema)


def preference_pairs(
    votes: pa.Table, sheet: pa.Table, key: pa.Table, *, kinds: Collection[str] = ANNOTATOR_KINDS
) -> list[dict[str, Any]]:
    """Pairs of a preferred and a rejected response.

    Only comparisons that are decided, by more votes for one response than for the other, make a pair. `votes` counts
    by kind of annotator; who they are is not in it.

    Args:
        votes: VOTES table.
        sheet: SHEET table.
        key: SHEET_KEY table.
        kinds: kinds of annotators whose votes count.

    Returns:
        Records with prompt, chosen, rejected, chosen_model, rejected_model, scenario, instruction_id,
        comparison_id, arm and votes, in the order of comparison ids.

    Raises:
        UserError: as `gallery`.
    """
    return [
        {name: value for name, value in row.items() if name != "counts"}
        for row in _decided(votes, sheet, key, kinds)
    ]


def preference_lines(pairs: list[dict[str, Any]]) -> Iterator[str]:
    """The pairs as JSON lines, each with its line break."""
    for pair in pairs:
        yield json.dumps(pair, ensure_ascii=False, separators=(", ", ": ")) + "\n"


def _badness(row: dict[str, Any]) -> tuple[int, float, str]:
    counts = row["counts"]
    surplus = counts["chosen"] - counts["rejected"]
    return -surplus, -surplus / sum(counts.values()), row["comparison_id"]


def _decided(votes: pa.Table, sheet: pa.Table, key: pa.Table, kinds: Collection[str]) -> list[dict[str, Any]]:
    """Comparisons with more votes for one response than for the other, in the order of their ids."""
    unknown = sorted(set(kinds) - set(ANNOTATOR_KINDS))
    if unknown:
        raise UserError(f"kinds: {', '.join(unknown)} unknown; expected some of {', '.join(ANNOTATOR_KINDS)}")
    votes = votes.filter(pc.is_in(votes["annotator_kind"], value_set=pa.array(sorted(kinds), pa.string())))
    if not votes.num_rows:
        return []
    coded = code_votes(votes)
    names = sorted(set(votes["comparison_id"].to_pylist()))
    kind = np.array([ANNOTATOR_KINDS.index(one) for one in coded.kind], dtype=np.int64)[coded.annotator]
    # a, b, tie, both_bad, by kind.
    word = np.where(coded.both_bad, TIE + 1, coded.outcome)
    shape = (len(names), len(ANNOTATOR_KINDS), len(_RESULTS))
    cell = (coded.comparison * shape[1] + kind) * shape[2] + word
    counts = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)
    total = counts.sum(axis=1)
    decided = np.flatnonzero(total[:, A] != total[:, B])
    shown = {row["comparison_id"]: row for row in sheet.to_pylist()}
    hidden = {row["comparison_id"]: row for row in key.to_pylist()}
    rows = []
    for at in decided.tolist():
        name = names[at]
        if name not in shown or name not in hidden:
            raise UserError(f"votes: comparison {name} is not on the sheet; expected votes on this sheet")
        rows.append(_pair(shown[name], hidden[name], counts[at], a_won=bool(total[at, A] > total[at, B])))
    return rows


def _pair(shown: dict[str, Any], hidden: dict[str, Any], counts: Any, *, a_won: bool) -> dict[str, Any]:
    # Model a is the first by name.
    one_is_a = hidden["model_1"] < hidden["model_2"]
    better = "1" if one_is_a == a_won else "2"
    worse = "2" if better == "1" else "1"
    ordered = counts if a_won else counts[:, [B, A, TIE, TIE + 1]]
    by_kind = {
        kind: dict(zip(_RESULTS, ordered[at].tolist(), strict=True))
        for at, kind in enumerate(ANNOTATOR_KINDS)
        if ordered[at].any()
    }
    return {
        "prompt": shown["instruction"],
        "chosen": shown[f"response_{better}"],
        "rejected": shown[f"response_{worse}"],
        "chosen_model": hidden[f"model_{better}"],
        "rejected_model": hidden[f"model_{worse}"],
        **{name: hidden[name] for name in ("scenario", "instruction_id", "comparison_id", "arm")},
        "votes": by_kind,
        "counts": dict(zip(_RESULTS, ordered.sum(axis=0).tolist(), strict=True)),
    }
