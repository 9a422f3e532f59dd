"""Fit a study by SAEM."""

from magister.diagnosis.saem_tables import fit_record, fit_tables
from scripts.diagnosed import study_prior, study_responses
from scripts.fits import CHECKPOINTS, fit
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write means and draws of every chain, and what is known of the fit as a whole."""
    responses = study_responses(step)
    checkpoint = CHECKPOINTS / f"{step.wildcards['study']}.npz"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    found = fit(responses, study_prior(step, responses), step.params["saem"], checkpoint=checkpoint)
    for name, table in fit_tables(found)._asdict().items():
        step.write(f"saem_{name}", table, f"saem_{name}")
    step.write_json("fit", fit_record(found))


if __name__ == "__main__":
    run_step(__spec__.name, run)
