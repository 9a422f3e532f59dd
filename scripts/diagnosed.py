"""What later steps of a diagnosis read: the responses that were fitted, the prior, and the fit."""

from magister.diagnosis.fits import SaemFit
from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.prior import QPrior
from magister.diagnosis.qmatrix_tables import read_prior
from magister.diagnosis.responses import known_matrix, table_grid
from magister.diagnosis.saem_tables import read_fit
from magister.diagnosis.screening import apply_screening
from scripts.step import Step


def study_responses(step: Step) -> ResponseMatrix:
    """Responses of the models and items that stay after screening."""
    return apply_screening(known_matrix(table_grid(step.table("responses"))).matrix, step.table("screening"))


def study_prior(step: Step, responses: ResponseMatrix) -> QPrior:
    """The prior of the items that stay, in their order."""
    return read_prior(step.table("prior"), responses.items)


def study_fit(step: Step) -> SaemFit:
    """The fit as it was published: means of its chains, without draws."""
    return read_fit(
        mastery=step.table("saem_mastery"),
        q=step.table("saem_q"),
        items=step.table("saem_items"),
        attributes=step.table("saem_attributes"),
        trace=step.table("saem_trace"),
        diagnostics=step.json("diagnostics"),
    )
