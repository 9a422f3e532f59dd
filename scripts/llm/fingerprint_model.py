"""Say what a model is: weights, engine and version, decoding profile."""

from magister.config.models import ModelConfig
from magister.llm import fingerprint
from magister.provenance import file_sha256
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Hash the weights, where there are any, and write the fingerprint."""
    model = ModelConfig.model_validate(step.params["model"])
    weights = file_sha256(step.path("weights")) if step.inputs.get("weights") else None
    step.write_json("fingerprint", fingerprint(step.wildcards["model"], model, weights))


if __name__ == "__main__":
    run_step(__spec__.name, run)
