"""How well held-out responses are predicted with one number of attributes."""

from magister.diagnosis.held_out import hold_out, score_predictions
from scripts.diagnosed import study_prior, study_responses
from scripts.fits import fit
from scripts.step import Step, run_step

_RIVALS = ("fixed_q", "item_mean", "2pl", "placebo")


def run(step: Step) -> None:
    """Write the predictions of a fit with this number; rivals are asked once the number is chosen."""
    responses, checks = study_responses(step), step.params["checks"]
    cells = hold_out(responses, share=checks["share"], seed=checks["seed"], least_kept=checks["least_kept"])
    predicted, absent = {}, dict.fromkeys(_RIVALS, "not asked for the number of attributes")
    if cells.rows.size:
        rest = responses.masked(cells.rows, cells.columns)
        predicted["dina"] = fit(
            rest, study_prior(step, responses), step.params["saem"], held_out=cells
        ).held_out
    else:
        absent["dina"] = (
            f"no model and item have more than {checks['least_kept']} responses: none can be held out"
        )
    level = step.params["level"]
    step.write(
        "predictions",
        score_predictions(responses, cells, predicted, level=level, absent=absent),
        "predictions",
    )


if __name__ == "__main__":
    run_step(__spec__.name, run)
