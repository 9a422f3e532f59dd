"""Ablations: what becomes of the teachers' scores and ranks when one thing about a league changes."""


def variants_of(league):
    """The leagues that play a league again under another setting: name, ablation and setting of each."""
    return [(name, derived.ablation, derived.setting) for name, derived in derived_of(league).items()]


def played_again_section(league):
    """The same as parameters of a rule."""
    return [
        {"league": name, "ablation": ablation, "setting": setting}
        for name, ablation, setting in variants_of(league)
    ]


def with_variants(pattern):
    """A file of a league, then that of each of its variants."""
    return lambda wildcards: [
        pattern.format(league=league)
        for league in (wildcards.league, *(name for name, *_ in variants_of(wildcards.league)))
    ]


def own_answer_files(league, teachers):
    """Zero-shot answers of the teachers in a league."""
    return [f"data/teaching/{league}/zero_shot/{teacher}.parquet" for teacher in teachers]


rule league_ablations:
    input:
        code=code("ablations.league_ablations"),
        gates=with_variants("data/teaching/{league}/gate.json"),
        items_table="data/items/items.parquet",
        bands="data/items/bands.parquet",
        trajectories="data/teaching/{league}/trajectories.parquet",
        zero_shot=lambda wildcards: own_answer_files(wildcards.league, LEAGUES[wildcards.league].teachers),
        variants=lambda wildcards: [
            f"data/teaching/{name}/trajectories.parquet" for name, *_ in variants_of(wildcards.league)
        ],
        # The teachers of a variant are those of the league, in the same order.
        variants_zero_shot=lambda wildcards: [
            file
            for name, *_ in variants_of(wildcards.league)
            for file in own_answer_files(name, LEAGUES[wildcards.league].teachers)
        ],
    output:
        ablations="data/ablations/{league}/ablations.parquet",
        agreement="data/ablations/{league}/agreement.parquet",
        contamination="data/ablations/{league}/contamination.parquet",
    log:
        "logs/league_ablations/{league}.log",
    params:
        section=lambda wildcards: section(
            datasets=LEAGUES[wildcards.league].datasets,
            policy=PARAMS.teaching.policy,
            statistics=FULL["statistics"],
            variants=played_again_section(wildcards.league),
        ),
    message:
        "Ablating the league {wildcards.league}"
    shell:
        step(
            "ablations.league_ablations",
            [
                *["gates", "items_table", "bands", "trajectories", "zero_shot"],
                *["variants", "variants_zero_shot"],
            ],
            ["ablations", "agreement", "contamination"],
            ["league"],
        )


rule teaching_ablations:
    input:
        expand("data/ablations/{league}/gate.json", league=LEAGUES),
    message:
        "The teaching leagues are ablated: data/ablations/"


rule ablations:
    input:
        rules.teaching_ablations.input,
    message:
        "The ablations are up to date"
