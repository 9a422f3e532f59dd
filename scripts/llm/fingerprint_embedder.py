"""Say what an embedder is: weights, tokenizer, engine and version."""

from magister.config.embedders import EmbedderConfig
from magister.embeddings import embedder_fingerprint
from magister.provenance import file_sha256
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Hash its files, where there are any, and write the fingerprint."""
    config = EmbedderConfig.model_validate(step.params["embedder"])
    hashes = [file_sha256(path) for path in step.inputs.get("embedder", [])]
    step.write_json("fingerprint", embedder_fingerprint(step.wildcards["embedder"], config, *hashes))


if __name__ == "__main__":
    run_step(__spec__.name, run)
