"""Responses that others have collected, as steps read them."""

from __future__ import annotations

from magister.diagnosis.log_files import LogForm, read_logs
from magister.diagnosis.matrix_files import MatrixForm, ResponseFile, read_matrix
from scripts.step import Step


def imported(step: Step) -> ResponseFile:
    """The step's `files`: logs of another tool, or a matrix."""
    form = step.params["form"]
    if step.params["kind"] == "logs":
        return read_logs(step.inputs["files"], LogForm(**form))
    return read_matrix(step.path("files"), MatrixForm(**form | {"ignore": tuple(form["ignore"])}))
