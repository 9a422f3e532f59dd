"""Every kind of number: a changed cell of any board, or of a table behind it, is found and its place is named."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import recompute_trees as trees

from magister.audit.recompute import recompute_boards
from magister.audit.recompute._ledger import Sheet
from magister.contracts.schemas import CONTRACTS

_LEAGUE, _ARENA = "data/teaching/main", "data/arena/leagues/small"
_STUDY, _SET = "data/diagnosis/studies/sums", "data/rubrics/sets/ours"
TABLES: dict[str, dict[str, str]] = {
    "teaching": {
        f"{_LEAGUE}/blind_answers/ann.parquet": "answers",
        f"{_LEAGUE}/round1/guide/tom.parquet": "guides",
        f"{_LEAGUE}/round2/revise/bob.parquet": "revisions",
        f"{_LEAGUE}/trajectories.parquet": "trajectories",
        f"{_LEAGUE}/metrics.parquet": "metrics",
        f"{_LEAGUE}/standings.parquet": "standings",
        f"{_LEAGUE}/comparisons.parquet": "comparisons",
        "results/teaching.parquet": "teaching_board",
    },
    "arena": {
        f"{_ARENA}/votes.parquet": "votes",
        f"{_ARENA}/ratings.parquet": "ratings",
        f"{_ARENA}/lift.parquet": "selection_lift",
        f"{_ARENA}/agreement.parquet": "arena_agreement",
        "results/arena.parquet": "arena_board",
    },
    "diagnosis": {
        f"{_STUDY}/screening.parquet": "screening",
        f"{_STUDY}/saem/mastery.parquet": "saem_mastery",
        f"{_STUDY}/saem/q.parquet": "saem_q",
        f"{_STUDY}/saem/items.parquet": "saem_items",
        f"{_STUDY}/mastery.parquet": "mastery",
        f"{_STUDY}/attribute_profiles.parquet": "attribute_profiles",
        f"{_STUDY}/attribute_correlations.parquet": "attribute_correlations",
        f"{_STUDY}/item_profiles.parquet": "item_profiles",
        f"{_STUDY}/q_entries.parquet": "q_entries",
        f"{_STUDY}/predictions.parquet": "predictions",
        f"{_STUDY}/checks.parquet": "diagnosis_checks",
        "results/mastery.parquet": "mastery_board",
    },
    "rubrics": {
        f"{_SET}/1/judge/ann.scores.parquet": "rubric_scores",
        f"{_SET}/metric_scores.parquet": "rubric_metric_scores",
        f"{_SET}/dialogue_scores.parquet": "rubric_dialogue_scores",
        f"{_SET}/standings.parquet": "rubric_standings",
        f"{_SET}/1/diagnosis.parquet": "rubric_diagnosis",
        f"{_SET}/1/agreement.parquet": "rubric_judge_agreement",
        "results/rubrics.parquet": "rubrics_board",
    },
}
UNRECOMPUTED: dict[tuple[str, str], str] = {
    ("votes", "seconds"): "what people wrote on their sheets; no number reads it",
}
"""What cannot be recomputed, and why; the rest of these tables is."""
CASES = [
    (module, path, column)
    for module, tables in TABLES.items()
    for path, name in tables.items()
    for column in trees.numeric(CONTRACTS[name].schema.empty_table())
    if (name, column) not in UNRECOMPUTED and column not in CONTRACTS[name].key
]


BEHIND = {f"{_STUDY}/saem/mastery.parquet": f"{_STUDY}/mastery.parquet"}
BEHIND |= {f"{_STUDY}/saem/q.parquet": f"{_STUDY}/q_entries.parquet"}
"""Chains: their mean is published, by the same key but for the chain."""


@pytest.mark.parametrize(("module", "path", "column"), CASES)
def test_a_changed_cell_is_found_and_named(
    module: str, path: str, column: str, request: pytest.FixtureRequest, scratch: Path
) -> None:
    found = spoiled(request.getfixturevalue(module), module, path, scratch)
    place, seen = found[column]
    if path in BEHIND:
        # What follows from it stands elsewhere, by the same model, item and attribute.
        assert any(said.startswith(place) for said in seen), (place, seen)
        return
    assert [said for said in seen if said.startswith(place) and column_is_named(said, column)], (place, seen)


def column_is_named(place: str, column: str) -> bool:
    """Whether a finding is about a column: its own, or a sum that it is a part of."""
    _, _, said = place.rpartition(": ")
    first, _, last = said.partition(" to ")
    return said == column or column in said.split(" + ") or (bool(last) and first[:2] == column[:2])


@cache
def spoiled(root: Path, module: str, path: str, scratch: Path) -> dict[str, tuple[str, list[str]]]:
    """By column the place of a cell that was changed, and the places that were found in that file.

    As many columns are changed at once as there are rows: each in a row of its own.
    """
    name, table = TABLES[module][path], pq.read_table(root / path)
    sheet, waiting = (
        Sheet(path, table, CONTRACTS[name].key),
        [c for m, p, c in CASES if (m, p) == (module, path)],
    )
    out: dict[str, tuple[str, list[str]]] = {}
    while waiting:
        changed, places, left = table, {}, []
        for column in waiting:
            row = telling(name, table, column, {place for place, _ in places.values()})
            if row is None:
                left.append(column)
                continue
            far = SCALES.get(name, 1.0)
            changed = trees.with_cell(changed, row, column, trees.moved(table[column][row].as_py(), far))
            named = sheet.place(row)
            places[column] = (row, named.partition(", ")[2] if path in BEHIND else named)
        assert places, waiting
        copy = trees.copied(root, Path(tempfile.mkdtemp(dir=scratch)) / "project")
        trees.rewrite(copy, path, changed)
        where = BEHIND.get(path, path)
        found = recompute_boards(copy, [module]).findings
        seen = [finding.place for finding in found if finding.path in (path, where)]
        out |= {column: (place, seen) for column, (_, place) in places.items()}
        waiting = left
    return out


def telling(name: str, table: pa.Table, column: str, taken: set[int]) -> int | None:
    """A row that no other column has, where the column says something if it does anywhere."""
    rows = table.to_pylist()
    known = [k for k, row in enumerate(rows) if row[column] is not None]
    good = [
        k for k in known if all(rows[k][part] in values for part, values in PREFERRED.get(name, {}).items())
    ]
    free = [k for k in (good or known or range(len(rows))) if k not in taken]
    return free[len(free) // 2] if free else None


SCALES = {"ratings": 1000.0, "arena_board": 1000.0}
"""Points, where others have shares: what differs by chance between two sets of resamples is as much larger."""
PREFERRED: dict[str, dict[str, tuple[Any, ...]]] = {
    "metrics": {"status": ("ok",), "metric": ("CA", "JA", "p", "GA")},
    "revisions": {"asked": (True,)},
    "selection_lift": {"scope": ("overall",), "measure": ("decisive",)},
    "diagnosis_checks": {"check": ("placebo", "held_out")},
    "rubric_diagnosis": {"statistic": ("mean", "floor_share")},
    "rubric_judge_agreement": {"measure": ("mean_difference", "mean_absolute_difference")},
    "saem_mastery": {"chain": (1,)},
}
"""Rows that hold what others may lack."""


def test_what_cannot_be_recomputed_is_said_in_the_docs() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "recompute.md").read_text(encoding="utf-8")
    for (name, column), why in UNRECOMPUTED.items():
        assert f"`{name}.{column}`" in text, (name, column)
        assert why


def test_numbers_are_moved_by_what_counts() -> None:
    assert trees.moved(1) == 4
    assert trees.moved(True) is False
    assert trees.moved(None) == trees.moved(np.nan) == 0.37
