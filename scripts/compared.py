"""What the models of an arena said, as the scripts that choose comparisons read it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from magister.arena.responses import response_texts
from magister.arena.vectors import Vectors
from magister.embeddings import open_vectors
from magister.errors import UserError
from scripts.step import Step


def response_vectors(step: Step) -> list[Vectors]:
    """Vectors of every model's responses, from the inputs `vectors` and `ids`."""
    files = zip(step.params["models"], step.inputs["vectors"], step.tables("ids"), strict=True)
    return [_vectors(*file) for file in files]


def instruction_vectors(step: Step) -> Vectors:
    """Vectors of the instructions, from the inputs `instruction_vectors` and `instruction_ids`."""
    return _vectors("instructions", step.path("instruction_vectors"), step.table("instruction_ids"))


def _vectors(name: str, path: Path, rows: pa.Table) -> Vectors:
    """A file of vectors with its ids."""
    found = open_vectors(path, rows)
    return Vectors(name, found.array, pa.array(found.ids, pa.string()))


def texts_of(step: Step, ids: pa.StringArray) -> dict[str, pa.StringArray]:
    """Responses of every model to some instructions, null where there is none."""
    texts = {}
    for name, table in zip(step.params["models"], step.tables("answers"), strict=True):
        said = response_texts(table)
        texts[name] = pa.array([said.get(key) for key in ids.to_pylist()], pa.string())
    return texts


def instructions_of(step: Step, pool: pa.Table, scenario: str) -> pa.Table:
    """The instructions of a scenario.

    Raises:
        UserError: it has none.
    """
    found = pool.filter(pc.equal(pool["scenario"], scenario))
    if not found.num_rows:
        known = ", ".join(sorted(set(pool["scenario"].to_pylist()))) or "none"
        raise UserError(
            f"params.yaml: arena.leagues.{step.wildcards['arena']}.scenarios: no instruction has the scenario "
            f"{scenario!r}; there are: {known}"
        )
    return found
