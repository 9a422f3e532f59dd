"""Say what a model is: weights, engine and version, decoding profile."""

from magister.config.models import ModelConfig
from magister.llm import fingerprint
from magister.offline import is_replay
from magister.provenance import file_sha256
from magister.recorded import quoted, read_recorded_models
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Hash the weights, where there are any, and write the fingerprint; in a replay, as the record has them."""
    name = step.wildcards["model"]
    model = ModelConfig.model_validate(step.params["model"])
    if model.weights is not None and is_replay():
        recorded = read_recorded_models()
        step.quoted.update(quoted(model.weights))
        weights = recorded.file(model.weights)["sha256"]
        value = fingerprint(name, model, weights, engine_version=recorded.engine(f"models/{name}"))
    else:
        value = fingerprint(name, model, file_sha256(step.path("weights")) if model.weights else None)
    step.write_json("fingerprint", value)


if __name__ == "__main__":
    run_step(__spec__.name, run)
