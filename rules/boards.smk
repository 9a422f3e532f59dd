"""Boards: what is published."""


rule teaching_board:
    input:
        code=code("boards.teaching_board"),
        gates=expand("data/teaching/{league}/gate.json", league=LEAGUES),
        metrics=expand("data/teaching/{league}/metrics.parquet", league=LEAGUES),
        standings=expand("data/teaching/{league}/standings.parquet", league=LEAGUES),
    output:
        parquet="results/teaching.parquet",
        csv="results/teaching.csv",
        csv_lineage="results/teaching.csv.lineage.json",
        md="results/teaching.md",
        md_lineage="results/teaching.md.lineage.json",
        numbers="results/metrics.json",
        numbers_lineage="results/metrics.json.lineage.json",
        ca="results/teaching_ca.csv",
        ca_lineage="results/teaching_ca.csv.lineage.json",
        rounds="results/teaching_rounds.csv",
        rounds_lineage="results/teaching_rounds.csv.lineage.json",
    log:
        "logs/teaching_board.log",
    params:
        section=section(),
    message:
        "Writing the teaching board"
    shell:
        step(
            "boards.teaching_board",
            ["gates", "metrics", "standings"],
            ["parquet", "csv", "md", "numbers", "ca", "rounds"],
        )


rule meta_evaluation:
    input:
        code=code("boards.meta_evaluation"),
        gates=expand("data/teaching/{league}/gate.json", league=LEAGUES),
        items_table="data/items/items.parquet",
        bands="data/items/bands.parquet",
        trajectories=expand("data/teaching/{league}/trajectories.parquet", league=LEAGUES),
        zero_shot=[
            f"data/teaching/{name}/zero_shot/{teacher}.parquet"
            for name, league in LEAGUES.items()
            for teacher in league.teachers
        ],
        boards=PARAMS.teaching.external.boards,
    output:
        parquet="results/meta_evaluation.parquet",
        csv="results/meta_evaluation.csv",
        csv_lineage="results/meta_evaluation.csv.lineage.json",
        md="results/meta_evaluation.md",
        md_lineage="results/meta_evaluation.md.lineage.json",
        names_parquet="results/meta_names.parquet",
        names_csv="results/meta_names.csv",
        names_csv_lineage="results/meta_names.csv.lineage.json",
    log:
        "logs/meta_evaluation.log",
    params:
        section=section(
            # In the order of the files.
            leagues=[
                {"name": name, "teachers": league.teachers, "datasets": league.datasets}
                for name, league in LEAGUES.items()
            ],
            names=PARAMS.teaching.external.names,
            policy=PARAMS.teaching.policy,
            statistics=FULL["statistics"],
        ),
    message:
        "Comparing the leagues with external boards"
    shell:
        step(
            "boards.meta_evaluation",
            ["gates", "items_table", "bands", "trajectories", "zero_shot", "boards"],
            ["parquet", "csv", "md", "names_parquet", "names_csv"],
        )


rule teaching_plots:
    input:
        code=code("boards.teaching_plots"),
        gate="results/gate.json",
        board="results/teaching.parquet",
        metrics=expand("data/teaching/{league}/metrics.parquet", league=LEAGUES),
        meta="results/meta_evaluation.parquet",
        meta_names="results/meta_names.parquet",
    output:
        ca_forest="results/plots/ca_forest.svg",
        ca_forest_lineage="results/plots/ca_forest.svg.lineage.json",
        teaching_curve="results/plots/teaching_curve.svg",
        teaching_curve_lineage="results/plots/teaching_curve.svg.lineage.json",
        meta_scatter="results/plots/meta_scatter.svg",
        meta_scatter_lineage="results/plots/meta_scatter.svg.lineage.json",
    log:
        "logs/teaching_plots.log",
    params:
        section=section(),
    message:
        "Drawing the teaching board"
    shell:
        step(
            "boards.teaching_plots",
            ["gate", "board", "metrics", "meta", "meta_names"],
            ["ca_forest", "teaching_curve", "meta_scatter"],
        )


rule ablation_board:
    input:
        code=code("boards.ablation_board"),
        gates=expand("data/ablations/{league}/gate.json", league=LEAGUES),
        ablations=expand("data/ablations/{league}/ablations.parquet", league=LEAGUES),
        agreement=expand("data/ablations/{league}/agreement.parquet", league=LEAGUES),
        contamination=expand("data/ablations/{league}/contamination.parquet", league=LEAGUES),
    output:
        csv="results/ablations.csv",
        csv_lineage="results/ablations.csv.lineage.json",
        md="results/ablations.md",
        md_lineage="results/ablations.md.lineage.json",
    log:
        "logs/ablation_board.log",
    params:
        section=section(),
    message:
        "Writing the page of the ablations"
    shell:
        step(
            "boards.ablation_board",
            ["gates", "ablations", "agreement", "contamination"],
            ["csv", "md"],
        )


LEAGUE_PLOTS = ["rank_intervals", "leave_one_out", "convergence", "by_round", "changes", "contamination"]


rule league_plots:
    input:
        code=code("boards.league_plots"),
        gates=["data/teaching/{league}/gate.json", "data/ablations/{league}/gate.json"],
        standings="data/teaching/{league}/standings.parquet",
        ablations="data/ablations/{league}/ablations.parquet",
        agreement="data/ablations/{league}/agreement.parquet",
        contamination="data/ablations/{league}/contamination.parquet",
    output:
        **{name: f"results/plots/{{league}}/{name}.svg" for name in LEAGUE_PLOTS},
        **{f"{name}_lineage": f"results/plots/{{league}}/{name}.svg.lineage.json" for name in LEAGUE_PLOTS},
    log:
        "logs/league_plots/{league}.log",
    params:
        section=section(),
    message:
        "Drawing the standings and ablations of the league {wildcards.league}"
    shell:
        step(
            "boards.league_plots",
            ["gates", "standings", "ablations", "agreement", "contamination"],
            LEAGUE_PLOTS,
            ["league"],
        )


def of_arenas(name):
    """A file per arena."""
    return expand(f"data/arena/leagues/{{arena}}/{name}", arena=ARENAS)


rule arena_board:
    input:
        code=code("boards.arena_board"),
        gates=of_arenas("gate.json"),
        ratings=of_arenas("ratings.parquet"),
        notes=of_arenas("ratings.json"),
        lift=of_arenas("lift.parquet"),
        agreement=of_arenas("agreement.parquet"),
        votes=of_arenas("votes.parquet"),
        rejected=of_arenas("votes_rejected.parquet"),
        sheet=of_arenas("sheet_key.parquet"),
        missing=of_arenas("sheet_missing.parquet"),
    output:
        parquet="results/arena.parquet",
        csv="results/arena.csv",
        csv_lineage="results/arena.csv.lineage.json",
        md="results/arena.md",
        md_lineage="results/arena.md.lineage.json",
        beside="results/arena_beside.json",
        beside_lineage="results/arena_beside.json.lineage.json",
    log:
        "logs/arena_board.log",
    params:
        section=section(leagues=list(ARENAS)),
    message:
        "Writing the arena board"
    shell:
        step(
            "boards.arena_board",
            [
                *["gates", "ratings", "notes", "lift", "agreement"],
                *["votes", "rejected", "sheet", "missing"],
            ],
            ["parquet", "csv", "md", "beside"],
        )


rule arena_ablation_board:
    input:
        code=code("boards.arena_ablation_board"),
        gates=of_arenas("gate.json"),
        ablations=of_arenas("ablation.parquet"),
    output:
        csv="results/arena_ablation.csv",
        csv_lineage="results/arena_ablation.csv.lineage.json",
        md="results/arena_ablation.md",
        md_lineage="results/arena_ablation.md.lineage.json",
    log:
        "logs/arena_ablation_board.log",
    params:
        section=section(leagues=list(ARENAS)),
    message:
        "Writing what few comparisons say"
    shell:
        step("boards.arena_ablation_board", ["gates", "ablations"], ["csv", "md"])


rule arena_plots:
    input:
        code=code("boards.arena_plots"),
        gate="data/arena/leagues/{arena}/gate.json",
        ablation="data/arena/leagues/{arena}/ablation.parquet",
    output:
        selection="results/plots/arena/{arena}/selection.svg",
        selection_lineage="results/plots/arena/{arena}/selection.svg.lineage.json",
    log:
        "logs/arena_plots/{arena}.log",
    params:
        section=section(),
    message:
        "Drawing what few comparisons say in {wildcards.arena}"
    shell:
        step("boards.arena_plots", ["gate", "ablation"], ["selection"], ["arena"])


def where(some, names):
    """Files in results/ of a module that has something to publish."""
    return [f"results/{name}" for name in names] if some else []


def of_studies(name):
    """A file per study."""
    return expand(f"data/diagnosis/studies/{{study}}/{name}", study=STUDIES)


rule mastery_board:
    input:
        code=code("boards.mastery_board"),
        gates=of_studies("gate.json"),
        mastery=of_studies("mastery.parquet"),
        attributes=of_studies("attribute_profiles.parquet"),
        item_profiles=of_studies("item_profiles.parquet"),
        predictions=of_studies("predictions.parquet"),
        checks=of_studies("checks.parquet"),
        responses=of_studies("responses.parquet"),
        screening=of_studies("screening.parquet"),
        support=of_studies("support.json"),
        corrections=of_studies("corrections.json"),
    output:
        parquet="results/mastery.parquet",
        csv="results/mastery.csv",
        csv_lineage="results/mastery.csv.lineage.json",
        md="results/mastery.md",
        md_lineage="results/mastery.md.lineage.json",
        beside="results/mastery_beside.json",
        beside_lineage="results/mastery_beside.json.lineage.json",
    log:
        "logs/mastery_board.log",
    params:
        section=section(studies=list(STUDIES)),
    message:
        "Writing the mastery board"
    shell:
        step(
            "boards.mastery_board",
            [
                *["gates", "mastery", "attributes", "item_profiles", "predictions"],
                *["checks", "responses", "screening", "support", "corrections"],
            ],
            ["parquet", "csv", "md", "beside"],
        )


STUDY_PLOTS = ["mastery", "q", "item_parameters", "k_curve"]


rule mastery_plots:
    input:
        code=code("boards.mastery_plots"),
        gate=f"{STUDY}/gate.json",
        mastery=f"{STUDY}/mastery.parquet",
        entries=f"{STUDY}/q_entries.parquet",
        item_profiles=f"{STUDY}/item_profiles.parquet",
        k_curve=lambda wildcards: (
            f"data/diagnosis/studies/{wildcards.study}/k_curve.parquet"
            if clustered(study_of(wildcards))
            else []
        ),
    output:
        **{name: f"results/plots/diagnosis/{{study}}/{name}.svg" for name in STUDY_PLOTS},
        **{
            f"{name}_lineage": f"results/plots/diagnosis/{{study}}/{name}.svg.lineage.json"
            for name in STUDY_PLOTS
        },
    log:
        "logs/mastery_plots/{study}.log",
    params:
        section=section(),
    message:
        "Drawing the study {wildcards.study}"
    shell:
        step(
            "boards.mastery_plots",
            ["gate", "mastery", "entries", "item_profiles", "k_curve"],
            STUDY_PLOTS,
            ["study"],
        )


def of_sets(name):
    """A file per set of scenarios."""
    return expand(f"data/rubrics/sets/{{set}}/{name}", set=SETS)


rule rubrics_board:
    input:
        code=code("boards.rubrics_board"),
        gates=of_sets("gate.json"),
        standings=of_sets("standings.parquet"),
        beside=of_sets("beside.json"),
    output:
        parquet="results/rubrics.parquet",
        csv="results/rubrics.csv",
        csv_lineage="results/rubrics.csv.lineage.json",
        md="results/rubrics.md",
        md_lineage="results/rubrics.md.lineage.json",
        beside="results/rubrics_beside.json",
        beside_lineage="results/rubrics_beside.json.lineage.json",
    log:
        "logs/rubrics_board.log",
    params:
        section=section(sets=list(SETS)),
    message:
        "Writing the rubrics' board"
    shell:
        step(
            "boards.rubrics_board",
            ["gates", "standings", "beside"],
            ["parquet", "csv", "md", "beside"],
        )


rule boards:
    input:
        where(ARENAS, [f"arena.{form}" for form in ("parquet", "csv", "md")]),
        where(ARENAS, ["arena_beside.json", "arena_ablation.csv", "arena_ablation.md"]),
        expand("results/plots/arena/{arena}/selection.svg", arena=ARENAS),
        where(LEAGUES, [f"teaching.{form}" for form in ("parquet", "csv", "md")]),
        where(LEAGUES, ["metrics.json", "teaching_ca.csv", "teaching_rounds.csv"]),
        where(LEAGUES, [f"meta_evaluation.{form}" for form in ("parquet", "csv", "md")]),
        where(LEAGUES, ["meta_names.parquet", "meta_names.csv"]),
        where(LEAGUES or ARENAS or STUDIES or SETS, ["gate.json"]),
        where(LEAGUES, [f"plots/{name}.svg" for name in ("ca_forest", "teaching_curve", "meta_scatter")]),
        where(LEAGUES, ["ablations.csv", "ablations.md"]),
        expand("results/plots/{league}/{name}.svg", league=LEAGUES, name=LEAGUE_PLOTS),
        where(STUDIES, [f"mastery.{form}" for form in ("parquet", "csv", "md")]),
        where(STUDIES, ["mastery_beside.json"]),
        expand("results/plots/diagnosis/{study}/{name}.svg", study=STUDIES, name=STUDY_PLOTS),
        where(SETS, [f"rubrics.{form}" for form in ("parquet", "csv", "md")]),
        where(SETS, ["rubrics_beside.json"]),
    message:
        "The boards are in results/"
