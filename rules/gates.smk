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


def of_clusters(name):
    """A file of a study that finds its attributes in texts; none of another one."""
    return lambda wildcards: (
        f"data/diagnosis/studies/{wildcards.study}/{name}" if clustered(study_of(wildcards)) else []
    )


def of_tried(name):
    """A file for every number of attributes that a study tries."""
    return lambda wildcards: of_numbers(name)(wildcards) if clustered(study_of(wildcards)) else []


def of_kinds(name, *kinds):
    """A file of studies of some kinds; none of others."""
    return lambda wildcards: (
        f"data/diagnosis/studies/{wildcards.study}/{name}" if study_of(wildcards).kind in kinds else []
    )


def texts_of_study(wildcards):
    """Texts that attributes are found in, or whose types models are simulated by."""
    study = study_of(wildcards)
    needed = clustered(study) or study.kind == "simulated"
    return f"data/diagnosis/studies/{wildcards.study}/items.parquet" if needed else []


def cluster_plan(study):
    """How a study finds its attributes, as its gate is to know it; nothing where a Q-matrix is given."""
    if not clustered(study):
        return None
    return {
        "tried": numbers_tried(study),
        "runs": DIAGNOSIS.clustering.runs,
        "least_items": 1 if study.attributes else DIAGNOSIS.choice.least_items,
        "least_stability": DIAGNOSIS.choice.least_stability,
        "labeller": LABELLER is not None,
    }


def diagnosis_plan(wildcards):
    """What a study was to hold."""
    study, options = study_of(wildcards), FULL["diagnosis"]
    fit = ("chains", "draws", "delta", "alpha_prior", "min_sweeps", "max_sweeps")
    controls = ("share", "seed", "placebos", "least_models", "least_items", "alpha", "tolerance")
    return section(
        kind=study.kind,
        truth=study.simulation.truth if study.simulation else "",
        unparsed=DIAGNOSIS.unparsed,
        fixed=DIAGNOSIS.prior.fixed and not clustered(study),
        screening=options["screening"],
        clusters=cluster_plan(study),
        fit={name: options["saem"][name] for name in fit},
        controls={name: options["checks"][name] for name in controls},
        level=PARAMS.statistics.level,
    )


rule validate_diagnosis:
    input:
        **{f"saem_{name}": f"{STUDY}/saem/{name}.parquet" for name in SAEM_TABLES},
        code=code("gates.validate_diagnosis"),
        responses=f"{STUDY}/responses.parquet",
        rejected=of_kinds("responses_rejected.parquet", "file", "logs"),
        truth=of_kinds("true_mastery.parquet", "simulated"),
        texts=texts_of_study,
        screening=f"{STUDY}/screening.parquet",
        runs=of_clusters("cluster_runs.parquet"),
        # In the order in which the parameters name the numbers.
        tried=of_tried("clusters"),
        tried_predictions=of_tried("predictions"),
        curve=of_clusters("k_curve.parquet"),
        clusters_unreviewed=of_clusters("clusters_unreviewed.parquet"),
        prior_unreviewed=of_clusters("prior_unreviewed.parquet"),
        asked=of_clusters(f"labels/{LABELLER}.asked.parquet") if LABELLER else [],
        labels=of_clusters("labels.parquet"),
        clusters=of_clusters("clusters.parquet"),
        prior=f"{STUDY}/prior.parquet",
        attributes=f"{STUDY}/attributes.parquet",
        fit=f"{STUDY}/saem/fit.json",
        predictions=f"{STUDY}/predictions.parquet",
        placebo=f"{STUDY}/placebo.parquet",
        checks=f"{STUDY}/checks.parquet",
        support=f"{STUDY}/support.json",
        mastery=f"{STUDY}/mastery.parquet",
        profiles=f"{STUDY}/attribute_profiles.parquet",
        correlations=f"{STUDY}/attribute_correlations.parquet",
        item_profiles=f"{STUDY}/item_profiles.parquet",
        entries=f"{STUDY}/q_entries.parquet",
        corrections=f"{STUDY}/corrections.json",
    output:
        gate=f"{STUDY}/gate.json",
        lineage=f"{STUDY}/gate.json.lineage.json",
        page=f"{STUDY}/gate.html",
        page_lineage=f"{STUDY}/gate.html.lineage.json",
    log:
        "logs/validate_diagnosis/{study}.log",
    params:
        section=diagnosis_plan,
    message:
        "Gate: diagnosis ({wildcards.study})"
    shell:
        step(
            "gates.validate_diagnosis",
            [
                *["responses", "rejected", "truth", "texts", "screening", "runs", "tried"],
                *["tried_predictions", "curve", "clusters_unreviewed", "prior_unreviewed", "asked"],
                *["labels", "clusters", "prior", "attributes"],
                *[f"saem_{name}" for name in SAEM_TABLES],
                *["fit", "predictions", "placebo", "checks", "support", "mastery", "profiles"],
                *["correlations", "item_profiles", "entries", "corrections"],
            ],
            ["gate", "page"],
            ["study"],
        )


# Tables of an iteration that its gate reads, by what they are called there.
ITERATION_TABLES = {
    **{name: f"{name}.parquet" for name in ("transcripts", "dialogues", "checks", "diagnosis", "flags")},
    **{"agreement": "agreement.parquet", "records": "record.parquet"},
}


def rubric_tables(wildcards):
    """Files of a set's iterations, a list an iteration, by what the gate calls them."""
    one, found = set_of(wildcards), {}
    for number in range(one.iterations + 1):
        folder = ITERATION.format(set=wildcards.set, iteration=number)
        files = {name: [f"{folder}/{file}"] for name, file in ITERATION_TABLES.items()}
        files["task_changes"] = [f"{folder}/task_changes.parquet"] if number else []
        files["dialogue_asked"] = [
            f"{folder}/waves/{wave}/{name}.asked.parquet"
            for wave, names in enumerate(SPEAKERS[wildcards.set], start=1)
            for name in names
        ]
        for name in ("asked", "scores", "anchor_scores"):
            files[name] = [f"{folder}/judge/{judge}.{name}.parquet" for judge in one.judges]
        files["repairs"] = [f"{folder}/repair/{judge}.repairs.parquet" for judge in one.judges]
        for name, paths in files.items():
            found.setdefault(name, []).append(paths)
    return found


def rubric_files(name):
    """The files that the gate calls so, iteration by iteration."""
    return lambda wildcards: [path for paths in rubric_tables(wildcards)[name] for path in paths]


rule validate_rubrics:
    input:
        code=code("gates.validate_rubrics"),
        scenarios=scenario_files,
        anchors=anchor_files,
        rubrics=each_iteration("rubrics.json"),
        tasks=each_iteration("tasks.json"),
        decisions=each_iteration("decisions.json"),
        dialogue_asked=rubric_files("dialogue_asked"),
        transcripts=rubric_files("transcripts"),
        dialogues=rubric_files("dialogues"),
        checks=rubric_files("checks"),
        asked=rubric_files("asked"),
        repairs=rubric_files("repairs"),
        scores=rubric_files("scores"),
        anchor_scores=rubric_files("anchor_scores"),
        diagnosis=rubric_files("diagnosis"),
        flags=rubric_files("flags"),
        records=rubric_files("records"),
        task_changes=rubric_files("task_changes"),
        agreement=rubric_files("agreement"),
        metric_scores=f"{SET}/metric_scores.parquet",
        dialogue_scores=f"{SET}/dialogue_scores.parquet",
        standings=f"{SET}/standings.parquet",
        drift=f"{SET}/anchor_drift.parquet",
    output:
        gate=f"{SET}/gate.json",
        lineage=f"{SET}/gate.json.lineage.json",
        page=f"{SET}/gate.html",
        page_lineage=f"{SET}/gate.html.lineage.json",
    log:
        "logs/validate_rubrics/{set}.log",
    params:
        section=lambda wildcards: section(
            set_options=set_options(
                wildcards,
                *["models", "partners", "judges", "samples", "semantics", "iterations", "max_turns"],
            ),
            **own_options(wildcards, "judging"),
            min_delta=RUBRICS.objective.min_delta,
            files={
                name: [len(paths) for paths in files] for name, files in rubric_tables(wildcards).items()
            },
        ),
    message:
        "Gate: rubrics ({wildcards.set})"
    shell:
        step(
            "gates.validate_rubrics",
            [
                *["scenarios", "anchors", "rubrics", "tasks", "decisions", "dialogue_asked"],
                *["transcripts", "dialogues", "checks", "asked", "repairs", "scores", "anchor_scores"],
                *["diagnosis", "flags", "records", "task_changes", "agreement"],
                *["metric_scores", "dialogue_scores", "standings", "drift"],
            ],
            ["gate", "page"],
            ["set"],
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
        mastery_board=["results/mastery.parquet"] if STUDIES else [],
        # In the order in which the parameters name the studies.
        mastery=expand("data/diagnosis/studies/{study}/mastery.parquet", study=STUDIES),
        rubrics_board=["results/rubrics.parquet"] if SETS else [],
        # In the order in which the parameters name the sets.
        rubric_standings=expand("data/rubrics/sets/{set}/standings.parquet", set=SETS),
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
            studies=list(STUDIES),
            sets=list(SETS),
        ),
    message:
        "Gate: boards"
    shell:
        step(
            "gates.validate_boards",
            [
                *["board", "metrics", "standings", "meta", "meta_names"],
                *["arena_board", "arena_ratings", "mastery_board", "mastery"],
                *["rubrics_board", "rubric_standings"],
            ],
            ["gate", "page"],
        )
