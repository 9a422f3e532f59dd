"""Put the profiles of a study to the test: held-out responses, rival models, placebo priors, replicated responses."""

from magister.diagnosis.controls import Fitters, Plan, run_controls
from magister.diagnosis.fits import SaemFit
from magister.diagnosis.held_out import HeldOut
from magister.diagnosis.irt import fit_2pl
from magister.diagnosis.matrix import ResponseMatrix
from magister.diagnosis.prior import QPrior
from magister.diagnosis.support import Rules
from scripts.diagnosed import study_diagnostics, study_prior, study_responses
from scripts.fits import fit
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write predictions, placebos, checks, and the verdict."""
    given, saem = step.params["checks"], step.params["saem"]
    short = saem | {"max_sweeps": given["placebo_sweeps"], "chains": given["placebo_chains"]}
    responses = study_responses(step)

    def profile(rest: ResponseMatrix, prior: QPrior, seed: int, cells: HeldOut) -> SaemFit:
        return fit(rest, prior, saem | {"seed": seed}, held_out=cells)

    def placebo(rest: ResponseMatrix, prior: QPrior, seed: int, cells: HeldOut) -> SaemFit:
        return fit(rest, prior, short | {"seed": seed}, held_out=cells)

    plan = Plan(
        seed=given["seed"],
        share=given["share"],
        placebos=given["placebos"],
        replicates=given["replicates"],
        level=step.params["statistics"]["level"],
        least_kept=given["least_kept"],
    )
    rules = Rules(
        least_models=given["least_models"],
        least_items=given["least_items"],
        alpha=given["alpha"],
        tolerance=given["tolerance"],
    )
    found = run_controls(
        responses,
        study_prior(step, responses),
        study_diagnostics(step),
        Fitters(profile, placebo, fit_2pl),
        plan,
        rules,
    )
    step.write("predictions", found.predictions, "predictions")
    step.write("placebo", found.placebo, "placebo")
    step.write("checks", found.checks, "diagnosis_checks")
    step.write_json("support", found.verdict.document())


if __name__ == "__main__":
    run_step(__spec__.name, run)
