"""Gates between the stages: a failed one names rows and stops everything downstream."""


rule validate_items:
    input:
        code=code("gates.validate_items"),
        pool=POOL,
        pool_rejected=expand("data/items/pool_rejected/{dataset}.parquet", dataset=DATASETS),
        items_table="data/items/items.parquet",
        rejected="data/items/rejected.parquet",
        bands="data/items/bands.parquet",
    output:
        gate="data/items/gate.json",
        lineage="data/items/gate.json.lineage.json",
    log:
        "logs/validate_items.log",
    params:
        section=section(datasets=list(DATASETS)),
    message:
        "Gate: items"
    shell:
        step(
            "gates.validate_items",
            ["pool", "pool_rejected", "items_table", "rejected", "bands"],
            ["gate"],
        )


rule validate_teaching:
    input:
        code=code("gates.validate_teaching"),
        items_table="data/items/items.parquet",
        trajectories="data/teaching/{league}/trajectories.parquet",
        metrics="data/teaching/{league}/metrics.parquet",
    output:
        gate="data/teaching/{league}/gate.json",
        lineage="data/teaching/{league}/gate.json.lineage.json",
    log:
        "logs/validate_teaching/{league}.log",
    params:
        section=lambda wildcards: section(
            students=league_of(wildcards).students,
            teachers=league_of(wildcards).teachers,
            arms=league_of(wildcards).arms,
            rounds=league_of(wildcards).rounds,
            datasets=league_of(wildcards).datasets,
        ),
    message:
        "Gate: teaching ({wildcards.league})"
    shell:
        step(
            "gates.validate_teaching",
            ["items_table", "trajectories", "metrics"],
            ["gate"],
            ["league"],
        )
