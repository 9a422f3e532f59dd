"""Rubrics: the first one, its iterations unrolled to the last that there can be, and the best."""


def before(name):
    """A file of each iteration before the rule's."""
    return lambda wildcards: [
        f"{ITERATION.format(set=wildcards.set, iteration=number)}/{name}"
        for number in range(int(wildcards.iteration))
    ]


def iterations_of(wildcards):
    """All iterations of the rule's set."""
    return range(set_of(wildcards).iterations + 1)


def each_iteration(name):
    """A file of every iteration."""
    return lambda wildcards: [
        f"{ITERATION.format(set=wildcards.set, iteration=number)}/{name}"
        for number in iterations_of(wildcards)
    ]


def each_judgement(suffix):
    """A file of every iteration and judge, iteration by iteration."""
    return lambda wildcards: [
        f"{ITERATION.format(set=wildcards.set, iteration=number)}/judge/{name}{suffix}"
        for number in iterations_of(wildcards)
        for name in set_of(wildcards).judges
    ]


def evolution_sources(wildcards):
    """What says which calls were made so far, where they are limited."""
    if RUBRICS.objective.max_calls is None:
        return []
    files = []
    for number in range(int(wildcards.iteration) + 1):
        folder = ITERATION.format(set=wildcards.set, iteration=number)
        files += [f"{folder}/transcripts.parquet", f"{folder}/record.parquet"]
        files += [f"{folder}/task_changes.parquet"] if number else []
        files += [
            f"{folder}/judge/{name}.{kind}.parquet"
            for name in set_of(wildcards).judges
            for kind in ("scores", "anchor_scores")
        ]
    return files


def begun(form):
    """A file of the first metrics that a model writes; none where the scenario's authors wrote them."""

    def files(wildcards):
        one = set_of(wildcards)
        return form(one.writer, wildcards.set) if one.source == "scenegen" else []

    return files


rule first_rubric_requests:
    input:
        code=code("rubrics.first_rubric_requests"),
        scenarios=scenario_files,
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("initial_metrics", RUBRICS.prompts.initial_metrics),
    output:
        requests=f"{SET}/0/write/{{model}}.requests.jsonl",
        lineage=f"{SET}/0/write/{{model}}.requests.jsonl.lineage.json",
    log:
        "logs/first_rubric_requests/{set}/{model}.log",
    params:
        section=lambda wildcards: section(
            model=model_params(wildcards.model), **rubric_options("dimensions", "scenegen")
        ),
    message:
        "Writing the dimensions of {wildcards.set} for {wildcards.model}"
    shell:
        step(
            "rubrics.first_rubric_requests",
            ["scenarios", "fingerprint", "prompt"],
            ["requests"],
            ["set", "model"],
        )


rule first_rubric:
    input:
        code=code("rubrics.first_rubric"),
        scenarios=scenario_files,
        responses=begun(lambda writer, name: f"{SET.format(set=name)}/0/write/{writer}.responses.jsonl"),
        fingerprint=begun(lambda writer, name: fingerprint_file(writer)),
        prompt=begun(lambda writer, name: prompt_file("initial_metrics", RUBRICS.prompts.initial_metrics)),
    output:
        rubrics=f"{SET}/0/rubrics.json",
        rubrics_lineage=f"{SET}/0/rubrics.json.lineage.json",
        tasks=f"{SET}/0/tasks.json",
        tasks_lineage=f"{SET}/0/tasks.json.lineage.json",
        record=f"{SET}/0/record.parquet",
    log:
        "logs/first_rubric/{set}.log",
    params:
        section=lambda wildcards: section(
            **set_options(wildcards, "source", "writer"),
            **rubric_options("dimensions", "scale", "scenegen"),
            model=set_of(wildcards).writer and model_params(set_of(wildcards).writer),
        ),
    message:
        "The first rubrics of {wildcards.set}"
    shell:
        step(
            "rubrics.first_rubric",
            ["scenarios", "responses", "fingerprint", "prompt"],
            ["rubrics", "tasks", "record"],
            ["set"],
        )


rule refine_rubric_requests:
    input:
        code=code("rubrics.refine_rubric_requests"),
        scenarios=scenario_files,
        decisions=before("decisions.json"),
        rubrics=before("rubrics.json"),
        tasks=before("tasks.json"),
        flags=before("flags.parquet"),
        diagnoses=before("diagnosis.parquet"),
        evidence=before("evidence.json"),
        # What stands in the first one was not written anew.
        records=lambda wildcards: before("record.parquet")(wildcards)[1:],
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        refine_prompt=prompt_file("refine_metric", RUBRICS.prompts.refine_metric),
        task_prompt=prompt_file("regenerate_task", RUBRICS.prompts.regenerate_task),
    output:
        requests=f"{ITERATION}/write/{{model}}.requests.jsonl",
        lineage=f"{ITERATION}/write/{{model}}.requests.jsonl.lineage.json",
    log:
        "logs/refine_rubric_requests/{set}/{iteration}/{model}.log",
    wildcard_constraints:
        iteration=r"[1-9]\d*",
    params:
        section=lambda wildcards: section(
            model=model_params(wildcards.model), writer=wildcards.model, **rubric_options("scenegen")
        ),
    message:
        "Writing what {wildcards.model} is to improve in {wildcards.set}, iteration {wildcards.iteration}"
    shell:
        step(
            "rubrics.refine_rubric_requests",
            [
                *["scenarios", "decisions", "rubrics", "tasks", "flags", "diagnoses", "evidence"],
                *["records", "fingerprint", "refine_prompt", "task_prompt"],
            ],
            ["requests"],
            ["set", "iteration", "model"],
        )


rule refine_rubric:
    input:
        code=code("rubrics.refine_rubric"),
        scenarios=scenario_files,
        decisions=before("decisions.json"),
        rubrics=before("rubrics.json"),
        tasks=before("tasks.json"),
        flags=before("flags.parquet"),
        diagnoses=before("diagnosis.parquet"),
        evidence=before("evidence.json"),
        records=lambda wildcards: before("record.parquet")(wildcards)[1:],
        responses=lambda wildcards: (
            f"{ITERATION.format(set=wildcards.set, iteration=wildcards.iteration)}"
            f"/write/{set_of(wildcards).writer}.responses.jsonl"
        ),
        fingerprint=lambda wildcards: fingerprint_file(set_of(wildcards).writer),
        refine_prompt=prompt_file("refine_metric", RUBRICS.prompts.refine_metric),
        task_prompt=prompt_file("regenerate_task", RUBRICS.prompts.regenerate_task),
    output:
        rubrics=f"{ITERATION}/rubrics.json",
        rubrics_lineage=f"{ITERATION}/rubrics.json.lineage.json",
        tasks=f"{ITERATION}/tasks.json",
        tasks_lineage=f"{ITERATION}/tasks.json.lineage.json",
        record=f"{ITERATION}/record.parquet",
        task_changes=f"{ITERATION}/task_changes.parquet",
    log:
        "logs/refine_rubric/{set}/{iteration}.log",
    wildcard_constraints:
        iteration=r"[1-9]\d*",
    params:
        section=lambda wildcards: section(
            model=model_params(set_of(wildcards).writer),
            **set_options(wildcards, "writer"),
            **rubric_options("scenegen"),
        ),
    message:
        "The rubrics of {wildcards.set}, iteration {wildcards.iteration}"
    shell:
        step(
            "rubrics.refine_rubric",
            [
                *["scenarios", "decisions", "rubrics", "tasks", "flags", "diagnoses", "evidence"],
                *["records", "responses", "fingerprint", "refine_prompt", "task_prompt"],
            ],
            ["rubrics", "tasks", "record", "task_changes"],
            ["set", "iteration"],
        )


rule diagnose_rubric:
    input:
        code=code("rubrics.diagnose_rubric"),
        scenarios=scenario_files,
        rubrics=f"{ITERATION}/rubrics.json",
        tasks=f"{ITERATION}/tasks.json",
        transcripts=f"{ITERATION}/transcripts.parquet",
        dialogues=f"{ITERATION}/dialogues.parquet",
        scores=of_judges(".scores.parquet"),
        anchor_scores=of_judges(".anchor_scores.parquet"),
        anchors=anchor_files,
        fingerprints=fingerprints_of("models", "judges"),
    output:
        diagnosis=f"{ITERATION}/diagnosis.parquet",
        flags=f"{ITERATION}/flags.parquet",
        agreement=f"{ITERATION}/agreement.parquet",
        evidence=f"{ITERATION}/evidence.json",
        evidence_lineage=f"{ITERATION}/evidence.json.lineage.json",
    log:
        "logs/diagnose_rubric/{set}/{iteration}.log",
    params:
        section=lambda wildcards: section(
            models={
                name: model_params(name)
                for name in sorted({*set_of(wildcards).models, *set_of(wildcards).judges})
            },
            candidates=set_of(wildcards).models,
            **set_options(wildcards, "judges"),
            **own_options(wildcards, "judging", "checks"),
            statistics=FULL["statistics"],
        ),
    message:
        "What is wrong with the metrics of {wildcards.set}, iteration {wildcards.iteration}"
    shell:
        step(
            "rubrics.diagnose_rubric",
            [
                *["scenarios", "rubrics", "tasks", "transcripts", "dialogues"],
                *["scores", "anchor_scores", "anchors", "fingerprints"],
            ],
            ["diagnosis", "flags", "agreement", "evidence"],
            ["set", "iteration"],
        )


rule decide_rubric:
    input:
        code=code("rubrics.decide_rubric"),
        scenarios=scenario_files,
        rubrics=f"{ITERATION}/rubrics.json",
        tasks=f"{ITERATION}/tasks.json",
        scores=of_judges(".scores.parquet"),
        anchor_scores=of_judges(".anchor_scores.parquet"),
        flags=f"{ITERATION}/flags.parquet",
        anchors=anchor_files,
        decisions=before("decisions.json"),
        spoken=evolution_sources,
    output:
        decisions=f"{ITERATION}/decisions.json",
        lineage=f"{ITERATION}/decisions.json.lineage.json",
    log:
        "logs/decide_rubric/{set}/{iteration}.log",
    params:
        section=lambda wildcards: section(
            **set_options(wildcards, "iterations"),
            **rubric_options("objective"),
            statistics=FULL["statistics"],
        ),
    message:
        "Which rubrics of {wildcards.set} are best after iteration {wildcards.iteration}"
    shell:
        step(
            "rubrics.decide_rubric",
            [
                *["scenarios", "rubrics", "tasks", "scores", "anchor_scores", "flags"],
                *["anchors", "decisions", "spoken"],
            ],
            ["decisions"],
            ["set", "iteration"],
        )


rule best_rubric:
    input:
        code=code("rubrics.best_rubric"),
        decisions=each_iteration("decisions.json"),
        rubrics=each_iteration("rubrics.json"),
        flags=each_iteration("flags.parquet"),
        anchor_scores=each_judgement(".anchor_scores.parquet"),
        anchors=anchor_files,
    output:
        best=f"{SET}/best.json",
        best_lineage=f"{SET}/best.json.lineage.json",
        lineages=f"{SET}/lineages.json",
        lineages_lineage=f"{SET}/lineages.json.lineage.json",
        text=f"{SET}/lineages.md",
        text_lineage=f"{SET}/lineages.md.lineage.json",
        drift=f"{SET}/anchor_drift.parquet",
    log:
        "logs/best_rubric/{set}.log",
    params:
        section=lambda wildcards: section(**set_options(wildcards, "judges"), statistics=FULL["statistics"]),
    message:
        "The best rubrics of {wildcards.set}"
    shell:
        step(
            "rubrics.best_rubric",
            ["decisions", "rubrics", "flags", "anchor_scores", "anchors"],
            ["best", "lineages", "text", "drift"],
            ["set"],
        )


rule rubric_profiles:
    input:
        code=code("rubrics.rubric_profiles"),
        best=f"{SET}/best.json",
        decisions=each_iteration("decisions.json"),
        agreements=each_iteration("agreement.parquet"),
        scores=each_judgement(".scores.parquet"),
    output:
        metrics=f"{SET}/metric_scores.parquet",
        totals=f"{SET}/dialogue_scores.parquet",
        standings=f"{SET}/standings.parquet",
        beside=f"{SET}/beside.json",
        beside_lineage=f"{SET}/beside.json.lineage.json",
    log:
        "logs/rubric_profiles/{set}.log",
    params:
        section=lambda wildcards: section(
            candidates=set_of(wildcards).models,
            **set_options(wildcards, "judges"),
            **own_options(wildcards, "judging"),
            statistics=FULL["statistics"],
        ),
    message:
        "How good the models are by the rubrics of {wildcards.set}"
    shell:
        step(
            "rubrics.rubric_profiles",
            ["best", "decisions", "agreements", "scores"],
            ["metrics", "totals", "standings", "beside"],
            ["set"],
        )
