"""Say what an embedder is: weights, tokenizer, engine and version."""

from magister.config.embedders import EmbedderConfig
from magister.embeddings import embedder_fingerprint
from magister.offline import is_replay
from magister.provenance import file_sha256
from magister.recorded import quoted, read_recorded_models
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Hash its files, where there are any, and write the fingerprint; in a replay, as the record has them."""
    name = step.wildcards["embedder"]
    config = EmbedderConfig.model_validate(step.params["embedder"])
    files = [file for file in (config.weights, config.tokenizer) if file is not None]
    if files and is_replay():
        recorded = read_recorded_models()
        step.quoted.update(quoted(*files))
        hashes = [recorded.file(file)["sha256"] for file in files]
        version = recorded.engine(f"embedders/{name}")
        value = embedder_fingerprint(name, config, *hashes, engine_version=version)
    else:
        value = embedder_fingerprint(
            name, config, *(file_sha256(path) for path in step.inputs.get("embedder", []))
        )
    step.write_json("fingerprint", value)


if __name__ == "__main__":
    run_step(__spec__.name, run)
