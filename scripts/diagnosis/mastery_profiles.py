"""Profiles of a study: mastery of models, attributes, items, and what became of the Q-matrix."""

from magister.diagnosis.item_fit import profile_item_fit
from magister.diagnosis.profiles import (
    NEEDED,
    ItemFit,
    attribute_table,
    corrections,
    correlation_table,
    entry_table,
    item_errors,
    item_table,
    mastery_table,
    models_a_profile,
)
from scripts.diagnosed import study_fit, study_prior, study_responses
from scripts.step import Step, run_step

LEAST_A_PROFILE = 5
"""Fewer models a profile, and the fit of items over profiles is that of single responses."""


def run(step: Step) -> None:
    """Write the tables, and how many items were corrected in which way."""
    responses, fit = study_responses(step), study_fit(step)
    prior = study_prior(step, responses)
    known = step.table("attributes").to_pylist()
    labels = {row["attribute"]: row["label"] for row in known}
    fitted = None
    if models_a_profile(fit) >= LEAST_A_PROFILE:
        found = profile_item_fit(responses, fit.alpha > NEEDED, fit.q > NEEDED, fit.guess, fit.slip)
        fitted = ItemFit(*item_errors(fit, responses), found.rmsd, found.pvaf)
    support = step.json("support")["support"]
    step.write("mastery", mastery_table(fit, [labels[name] for name in fit.attributes], support), "mastery")
    level = step.params["statistics"]["level"]
    step.write("profiles", attribute_table(fit, known, level=level), "attribute_profiles")
    step.write("correlations", correlation_table(fit), "attribute_correlations")
    step.write("item_profiles", item_table(fit, responses, fitted), "item_profiles")
    step.write("entries", entry_table(fit, prior), "q_entries")
    step.write_json("corrections", corrections(fit, prior))


if __name__ == "__main__":
    run_step(__spec__.name, run)
