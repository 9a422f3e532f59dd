"""Arena: the pairs that differ most, blind votes, ratings."""


def arena_of(wildcards):
    return ARENAS[wildcards.arena]


def arena_options(wildcards, *names):
    """Some options of the rule's arena."""
    options = FULL["arena"]["leagues"][wildcards.arena]
    return {name: options[name] for name in names}


def of_models(form):
    """A file per model of the rule's arena."""
    return lambda wildcards: [form.format(model=name) for name in arena_of(wildcards).models]


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


wildcard_constraints:
    arena=r"[^/]+",


def of_similarity_judge(wildcards):
    """Scores of likeness, where the arena chooses by those of a judge."""
    name = arena_of(wildcards).similarity_judge
    return [] if name is None else f"data/arena/leagues/{wildcards.arena}/similarity/{name}.parquet"


def similarity_section(wildcards):
    return section(
        **arena_options(wildcards, "models", "scenarios"),
        model=model_params(wildcards.model),
        max_tokens=ARENA.max_tokens.similarity,
    )


rule similarity_requests:
    input:
        code=code("arena.similarity_requests"),
        pool=INSTRUCTIONS,
        answers=of_models("data/arena/respond/{model}.parquet"),
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("similarity", ARENA.prompts.similarity),
    output:
        requests="data/arena/leagues/{arena}/similarity/{model}.requests.jsonl",
        lineage="data/arena/leagues/{arena}/similarity/{model}.requests.jsonl.lineage.json",
    log:
        "logs/similarity_requests/{arena}/{model}.log",
    params:
        section=similarity_section,
    message:
        "Writing the responses of {wildcards.arena} whose likeness {wildcards.model} scores"
    shell:
        step(
            "arena.similarity_requests",
            ["pool", "answers", "fingerprint", "prompt"],
            ["requests"],
            ["arena", "model"],
        )


rule judge_similarities:
    input:
        code=code("arena.judge_similarities"),
        pool=INSTRUCTIONS,
        answers=of_models("data/arena/respond/{model}.parquet"),
        responses="data/arena/leagues/{arena}/similarity/{model}.responses.jsonl",
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("similarity", ARENA.prompts.similarity),
    output:
        similarities="data/arena/leagues/{arena}/similarity/{model}.parquet",
    log:
        "logs/judge_similarities/{arena}/{model}.log",
    params:
        section=similarity_section,
    message:
        "Reading how alike {wildcards.model} finds the responses of {wildcards.arena}"
    shell:
        step(
            "arena.judge_similarities",
            ["pool", "answers", "responses", "fingerprint", "prompt"],
            ["similarities"],
            ["arena", "model"],
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
        similarities=of_similarity_judge,
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
                *["instruction_vectors", "instruction_ids", "similarities"],
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
        INSTRUCTIONS if ARENA.sources else [],
        expand("data/arena/leagues/{arena}/ablation.parquet", arena=ARENAS),
        expand("data/arena/leagues/{arena}/gate.json", arena=ARENAS),
    message:
        "The arenas are rated"
