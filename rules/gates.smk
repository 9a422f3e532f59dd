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
        ),
    message:
        "Gate: items"
    shell:
        step(
            "gates.validate_items",
            [
                *["pool", "pool_rejected", "free_answers", "distractors"],
                *["items_table", "rejected", "ladder_answers", "bands"],
            ],
            ["gate", "page"],
        )


rule validate_teaching:
    input:
        code=code("gates.validate_teaching"),
        items_table="data/items/items.parquet",
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
                *["items_table", "bands", "blind_answers", "zero_shot", "guides_asked", "guides"],
                *["revisions_asked", "revisions", "trajectories", "metrics"],
            ],
            ["gate", "page"],
            ["league"],
        )


rule validate_boards:
    input:
        code=code("gates.validate_boards"),
        board="results/teaching.parquet",
        metrics=expand("data/teaching/{league}/metrics.parquet", league=LEAGUES),
        meta="results/meta_evaluation.parquet",
        meta_names="results/meta_names.parquet",
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
            }
        ),
    message:
        "Gate: boards"
    shell:
        step("gates.validate_boards", ["board", "metrics", "meta", "meta_names"], ["gate", "page"])
