"""Model calls: weights, fingerprints, and the one rule that answers request files."""


def embedder_options(name):
    """Weights and tokenizer of an embedder, in this order, where it has them."""
    embedder = PARAMS.embedders[name]
    return [option for option in ("weights", "tokenizer") if getattr(embedder, option) is not None]


# Files of models and embedders that are fetched: how each is pinned.
FETCHED = {
    Path(file.member).name: file.model_dump(mode="json")
    for file in [
        *[model.weights for model in PARAMS.models.values()],
        *[
            getattr(PARAMS.embedders[name], option)
            for name in PARAMS.embedders
            for option in embedder_options(name)
        ],
    ]
    if file is not None and not isinstance(file, LocalFile)
}


def embedder_files(name):
    """Weights and tokenizer of an embedder; none where it has none, none is read or nobody is named."""
    if name is None or REPLAY:
        return []
    return [pinned_path(getattr(PARAMS.embedders[name], option)) for option in embedder_options(name)]


def embedder_fingerprint(name):
    """Where an embedder's fingerprint lies."""
    return [] if name is None else f"data/models/embedders/{name}.json"


def embedder_values(name):
    """What a step that embeds is told."""
    return {"embedder_name": name, "embedder": name and FULL["embedders"][name], **FULL["llm"]}


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
        section=lambda wildcards: section(weights=FETCHED[wildcards.file]),
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


rule fingerprint_embedder:
    input:
        code=code("llm.fingerprint_embedder"),
        embedder=lambda wildcards: embedder_files(wildcards.embedder),
    output:
        fingerprint="data/models/embedders/{embedder}.json",
        lineage="data/models/embedders/{embedder}.json.lineage.json",
    log:
        "logs/fingerprint_embedder/{embedder}.log",
    wildcard_constraints:
        embedder=r"[^/]+",
    params:
        section=lambda wildcards: section(embedder=FULL["embedders"][wildcards.embedder]),
    message:
        "Fingerprinting {wildcards.embedder}"
    shell:
        step("llm.fingerprint_embedder", ["embedder"], ["fingerprint"], ["embedder"])


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
        step=r"(items|teaching|arena|diagnosis|rubrics)/.+",
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
        [embedder_fingerprint(name) for name in PARAMS.embedders],
    message:
        "The models are fingerprinted"
