"""Answer a request file: the one way in which any model is called."""

from pathlib import Path

from magister.config.models import ModelConfig
from magister.llm import complete
from magister.offline import is_replay
from magister.recorded import quoted
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Ask what the store does not hold, and compose the response file."""
    name = step.wildcards["model"]
    fingerprint = step.json("fingerprint")
    step.models[name] = fingerprint
    weights = step.inputs.get("weights")
    model = ModelConfig.model_validate(step.params["model"])
    step.quoted.update(quoted(model.weights))
    complete(
        step.path("requests"),
        step.outputs["responses"],
        name=name,
        model=model,
        fingerprint=fingerprint,
        store_root=Path("store"),
        task=step.wildcards["step"],
        weights=weights[0] if weights else None,
        max_error_share=step.params["max_error_share"],
        # A scripted model is a function of the request: a replay runs it like any other code.
        replay=step.params["replay"] or (is_replay() and model.engine != "scripted"),
    )
    step.sidecar("responses")


if __name__ == "__main__":
    run_step(__spec__.name, run)
