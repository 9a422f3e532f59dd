"""Where what a model said lies: the response file that a table was read from, and the store behind it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from magister.audit.card import Transcript
from magister.audit.project import Project
from magister.llm import Store

STORE = "store"


def store_file(model: str, step: str) -> str:
    """The file of the store that a step's answers of a model are written to.

    Args:
        model: name of the model.
        step: the step's folder below `data/`.
    """
    return Store(Path(STORE), model, step).path.as_posix()


def response_of(project: Project, tables: Sequence[str], model: str, role: str, key: str) -> Transcript:
    """Find a response by the lineage of the table that it was read into.

    Args:
        project: finished.
        tables: where the table lies; none where the lineage does not say.
        model: who said it.
        role: what it was to the dialogue.
        key: `custom_id` of its line.
    """
    for table in tables:
        for file in project.inputs(table, "complete", model=model):
            step = project.wildcards(file)["step"]
            return Transcript(role, file, key, store_file(model, step))
    return Transcript(role, "", key, "")
