"""Answer a request file: the one way in which any model is called."""

import os
from pathlib import Path

from magister.config.models import ModelConfig
from magister.llm import complete
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Ask what the store does not hold, and compose the response file."""
    name = step.wildcards["model"]
    fingerprint = step.json("fingerprint")
    step.models[name] = fingerprint
    weights = step.inputs.get("weights")
    complete(
        step.path("requests"),
        step.outputs["responses"],
        name=name,
        model=ModelConfig.model_validate(step.params["model"]),
        fingerprint=fingerprint,
        store_root=Path("store"),
        task=step.wildcards["step"],
        weights=weights[0] if weights else None,
        max_error_share=step.params["max_error_share"],
        replay=step.params["replay"] or os.environ.get("MAGISTER_REPLAY") == "1",
    )
    step.sidecar("responses")


if __name__ == "__main__":
    run_step(__spec__.name, run)
