"""Model calls: weights, fingerprints, and the one rule that answers request files."""

FETCHED = {
    Path(model.weights.member).name: name
    for name, model in PARAMS.models.items()
    if model.weights is not None and not isinstance(model.weights, LocalFile)
}


rule fetch_model:
    input:
        code=code("llm.fetch_model"),
    output:
        weights="data/raw/models/{file}",
        lineage="data/raw/models/{file}.lineage.json",
    log:
        "logs/fetch_model/{file}.log",
    wildcard_constraints:
        file="|".join(re.escape(file) for file in FETCHED) or "none",
    params:
        section=lambda wildcards: section(weights=model_params(FETCHED[wildcards.file])["weights"]),
    message:
        "Fetching the weights {wildcards.file}"
    shell:
        step("llm.fetch_model", [], ["weights"], ["file"])


rule fingerprint_model:
    input:
        code=code("llm.fingerprint_model"),
        weights=lambda wildcards: weights_file(wildcards.model),
    output:
        fingerprint="data/models/{model}.json",
        lineage="data/models/{model}.json.lineage.json",
    log:
        "logs/fingerprint_model/{model}.log",
    params:
        section=lambda wildcards: section(model=model_params(wildcards.model)),
    message:
        "Fingerprinting {wildcards.model}"
    shell:
        step("llm.fingerprint_model", ["weights"], ["fingerprint"], ["model"])


rule complete:
    input:
        code=code("llm.complete"),
        requests="data/{step}/{model}.requests.jsonl",
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        weights=lambda wildcards: weights_file(wildcards.model),
    output:
        responses="data/{step}/{model}.responses.jsonl",
        lineage="data/{step}/{model}.responses.jsonl.lineage.json",
    log:
        "logs/complete/{step}/{model}.log",
    wildcard_constraints:
        step=r"(items|teaching)/.+",
    # An embedded model decodes on every core; other engines wait for others.
    threads: lambda wildcards: (workflow.cores if PARAMS.models[wildcards.model].engine == "llama_cpp" else 1)
    params:
        section=lambda wildcards: section(model=model_params(wildcards.model), **FULL["llm"]),
    message:
        "Asking {wildcards.model}: {wildcards.step}"
    shell:
        step(
            "llm.complete",
            ["requests", "fingerprint", "weights"],
            ["responses"],
            ["step", "model"],
        )


rule llm:
    input:
        [fingerprint_file(name) for name in PARAMS.models],
    message:
        "The models are fingerprinted"
