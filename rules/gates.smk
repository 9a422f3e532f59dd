"""Gates between the stages: a failed one names rows and stops everything downstream."""


rule validate_items:
    input:
        code=code("gates.validate_items"),
        pool=POOL,
        pool_rejected=expand("data/items/pool_rejected/{dataset}.parquet", dataset=DATASETS),
        free_answers=expand("data/items/free_answers/{model}.parquet", model=DISTRACTOR_MODELS),
        distractors="data/items/distractors.parquet",
        items_table="data/items/items.parquet",
        rejected="data/items/rejected.parquet",
        ladder_answers=expand("data/items/ladder_answers/{model}.parquet", model=LADDER),
        bands="data/items/bands.parquet",
        # In the order in which the parameters name them.
        variants=expand("data/items/variants/{variant}/items.parquet", variant=sorted(VARIANTS)),
        variant_reports=expand("data/items/variants/{variant}/report.parquet", variant=sorted(VARIANTS)),
    output:
        gate="data/items/gate.json",
        lineage="data/items/gate.json.lineage.json",
        page="data/items/gate.html",
        page_lineage="data/items/gate.html.lineage.json",
    log:
        "logs/validate_items.log",
    params:
        section=section(
            datasets=list(DATASETS),
            distractor_models=DISTRACTOR_MODELS,
            samples=PARAMS.items.distractor_samples,
            ladder=LADDER,
            band_cuts=PARAMS.items.band_cuts,
            **({"variants": FULL["items"]["variants"]} if VARIANTS else {}),
        ),
    message:
        "Gate: items"
    shell:
        step(
            "gates.validate_items",
            [
                *["pool", "pool_rejected", "free_answers", "distractors"],
                *["items_table", "rejected", "ladder_answers", "bands", "variants", "variant_reports"],
            ],
            ["gate", "page"],
        )


rule validate_teaching:
    input:
        code=code("gates.validate_teaching"),
        items_table=league_items,
        # What the league's own order was made from.
        built=lambda wildcards: source_items(wildcards) if league_of(wildcards).option_order else [],
        bands="data/items/bands.parquet",
        blind_answers=blind_files,
        zero_shot=zero_shot_files,
        guides_asked=all_rounds(
            lambda league, folder: [f"{folder}/guide/{name}.asked.parquet" for name in league.teachers]
        ),
        guides=all_rounds(guide_files),
        revisions_asked=all_rounds(
            lambda league, folder: [f"{folder}/revise/{name}.asked.parquet" for name in league.students]
        ),
        revisions=all_rounds(revision_files),
        trajectories="data/teaching/{league}/trajectories.parquet",
        metrics="data/teaching/{league}/metrics.parquet",
        standings="data/teaching/{league}/standings.parquet",
        comparisons="data/teaching/{league}/comparisons.parquet",
    output:
        gate="data/teaching/{league}/gate.json",
        lineage="data/teaching/{league}/gate.json.lineage.json",
        page="data/teaching/{league}/gate.html",
        page_lineage="data/teaching/{league}/gate.html.lineage.json",
    log:
        "logs/validate_teaching/{league}.log",
    params:
        section=lambda wildcards: section(
            students=league_of(wildcards).students,
            teachers=league_of(wildcards).teachers,
            arms=league_of(wildcards).arms,
            rounds=league_of(wildcards).rounds,
            datasets=league_of(wildcards).datasets,
            blind=league_of(wildcards).blind,
        ),
    message:
        "Gate: teaching ({wildcards.league})"
    shell:
        step(
            "gates.validate_teaching",
            [
                *["items_table", "built", "bands", "blind_answers", "zero_shot", "guides_asked", "guides"],
                *["revisions_asked", "revisions", "trajectories", "metrics"],
                *["standings", "comparisons"],
            ],
            ["gate", "page"],
            ["league"],
        )


rule validate_ablations:
    input:
        code=code("gates.validate_ablations"),
        ablations="data/ablations/{league}/ablations.parquet",
        agreement="data/ablations/{league}/agreement.parquet",
        contamination="data/ablations/{league}/contamination.parquet",
        metrics="data/teaching/{league}/metrics.parquet",
    output:
        gate="data/ablations/{league}/gate.json",
        lineage="data/ablations/{league}/gate.json.lineage.json",
        page="data/ablations/{league}/gate.html",
        page_lineage="data/ablations/{league}/gate.html.lineage.json",
    log:
        "logs/validate_ablations/{league}.log",
    params:
        section=lambda wildcards: section(
            teachers=LEAGUES[wildcards.league].teachers,
            students=LEAGUES[wildcards.league].students,
            rounds=LEAGUES[wildcards.league].rounds,
            variants=played_again_section(wildcards.league),
        ),
    message:
        "Gate: ablations ({wildcards.league})"
    shell:
        step(
            "gates.validate_ablations",
            ["ablations", "agreement", "contamination", "metrics"],
            ["gate", "page"],
            ["league"],
        )


rule validate_arena:
    input:
        code=code("gates.validate_arena"),
        pool=INSTRUCTIONS,
        pool_rejected=expand(
            "data/arena/pool/rejected{number}.parquet", number=range(ARENA.evolution.rounds + 1)
        ),
        # In the order in which the parameters name the models.
        answers=of_models("data/arena/respond/{model}.parquet"),
        ids=of_models("data/arena/vectors/{model}.ids.parquet"),
        instruction_ids="data/arena/instruction_vectors.ids.parquet",
        similarities=of_similarity_judge,
        selections="data/arena/leagues/{arena}/selections.parquet",
        counts="data/arena/leagues/{arena}/selections.json",
        sheet="data/arena/leagues/{arena}/sheet.parquet",
        key="data/arena/leagues/{arena}/sheet_key.parquet",
        missing="data/arena/leagues/{arena}/sheet_missing.parquet",
        asked=lambda wildcards: [
            f"data/arena/leagues/{wildcards.arena}/judge/{name}.asked.parquet"
            for name in arena_of(wildcards).judges
        ],
        votes="data/arena/leagues/{arena}/votes.parquet",
        votes_rejected="data/arena/leagues/{arena}/votes_rejected.parquet",
        verdicts=lambda wildcards: (
            f"data/arena/leagues/{wildcards.arena}/verdicts.parquet" if arena_of(wildcards).key else []
        ),
        ratings="data/arena/leagues/{arena}/ratings.parquet",
        lift="data/arena/leagues/{arena}/lift.parquet",
        agreement="data/arena/leagues/{arena}/agreement.parquet",
        gallery="data/arena/leagues/{arena}/gallery.parquet",
        ablation="data/arena/leagues/{arena}/ablation.parquet",
    output:
        gate="data/arena/leagues/{arena}/gate.json",
        lineage="data/arena/leagues/{arena}/gate.json.lineage.json",
        page="data/arena/leagues/{arena}/gate.html",
        page_lineage="data/arena/leagues/{arena}/gate.html.lineage.json",
    log:
        "logs/validate_arena/{arena}.log",
    params:
        section=lambda wildcards: section(
            league=arena_options(
                wildcards,
                *["models", "scenarios", "k", "similarity", "lam", "random_share", "key", "judges"],
                *["exclude_self", "people"],
            ),
            rounds=ARENA.evolution.rounds,
            ablation_k=ARENA.ablation_k,
            statistics=FULL["statistics"],
        ),
    message:
        "Gate: arena ({wildcards.arena})"
    shell:
        step(
            "gates.validate_arena",
            [
                *["pool", "pool_rejected", "answers", "ids", "instruction_ids", "similarities"],
                *["selections", "counts"],
                *["sheet", "key", "missing", "asked", "votes", "votes_rejected", "verdicts"],
                *["ratings", "lift", "agreement", "gallery", "ablation"],
            ],
            ["gate", "page"],
            ["arena"],
        )


rule validate_boards:
    input:
        code=code("gates.validate_boards"),
        board=["results/teaching.parquet"] if LEAGUES else [],
        metrics=expand("data/teaching/{league}/metrics.parquet", league=LEAGUES),
        standings=expand("data/teaching/{league}/standings.parquet", league=LEAGUES),
        meta=["results/meta_evaluation.parquet"] if LEAGUES else [],
        meta_names=["results/meta_names.parquet"] if LEAGUES else [],
        arena_board=["results/arena.parquet"] if ARENAS else [],
        # In the order in which the parameters name the leagues.
        arena_ratings=expand("data/arena/leagues/{arena}/ratings.parquet", arena=ARENAS),
    output:
        gate="results/gate.json",
        lineage="results/gate.json.lineage.json",
        page="results/gate.html",
        page_lineage="results/gate.html.lineage.json",
    log:
        "logs/validate_boards.log",
    params:
        section=section(
            leagues={
                name: {"teachers": league.teachers, "arms": league.arms, "rounds": league.rounds}
                for name, league in LEAGUES.items()
            },
            arenas=list(ARENAS),
        ),
    message:
        "Gate: boards"
    shell:
        step(
            "gates.validate_boards",
            [
                *["board", "metrics", "standings", "meta", "meta_names"],
                *["arena_board", "arena_ratings"],
            ],
            ["gate", "page"],
        )
