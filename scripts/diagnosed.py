"""What later steps of a diagnosis read: the responses that were fitted, the prior, and the fit."""

import math

from magister.diagnosis.fits import Diagnostics, SaemFit
from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.prior import QPrior
from magister.diagnosis.qmatrix_tables import read_prior
from magister.diagnosis.responses import known_matrix, table_grid
from magister.diagnosis.saem_tables import SaemTables, read_fit
from magister.diagnosis.screening import apply_screening
from scripts.step import Step


def study_responses(step: Step) -> ResponseMatrix:
    """Responses of the models and items that stay after screening."""
    return apply_screening(known_matrix(table_grid(step.table("responses"))).matrix, step.table("screening"))


def study_prior(step: Step, responses: ResponseMatrix) -> QPrior:
    """The prior of the items that stay, in their order."""
    return read_prior(step.table("prior"), responses.items)


def study_fit(step: Step) -> SaemFit:
    """The fit that was published: inputs `saem_<table>` and its record, `fit`."""
    tables = SaemTables(*(step.table(f"saem_{name}") for name in SaemTables._fields))
    return read_fit(tables, step.json("fit"))


def study_diagnostics(step: Step) -> Diagnostics:
    """Whether that fit has converged, from its record."""
    found = step.json("fit")["diagnostics"]
    return Diagnostics(**{name: math.nan if value is None else value for name, value in found.items()})
