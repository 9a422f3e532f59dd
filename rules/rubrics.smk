"""Rubrics: dialogues of scenarios in waves, scored by judges. How rubrics evolve: rubrics_evolution.smk."""

RUBRICS = PARAMS.rubrics
SETS = RUBRICS.sets
SET = "data/rubrics/sets/{set}"
ITERATION = f"{SET}/{{iteration}}"


def set_of(wildcards):
    return SETS[wildcards.set]


def rubric_options(*names):
    """Some options that hold for all sets."""
    return {name: FULL["rubrics"][name] for name in names}


def set_options(wildcards, *names):
    """Some options of the rule's set."""
    options = FULL["rubrics"]["sets"][wildcards.set]
    return {name: options[name] for name in names}


def own_options(wildcards, *names):
    """Options that the rule's set has of its own, else those of all sets."""
    own = FULL["rubrics"]["sets"][wildcards.set]
    return {name: FULL["rubrics"][name] if own[name] is None else own[name] for name in names}


def speakers_in(one):
    """Who can have a turn in each wave of a set's dialogues."""
    from magister.rubrics.reader import read_scenario
    from magister.rubrics.wave_plan import speakers_by_wave
    from magister.rubrics.waves import Cast

    cast = Cast(one.partners, one.max_turns, one.semantics)
    return speakers_by_wave([read_scenario(Path(path)) for path in one.scenarios], cast, one.models)


try:
    SPEAKERS = {name: speakers_in(one) for name, one in SETS.items()}
except UserError as error:
    sys.exit(f"{error}")


def speakers_of(wildcards):
    """Everybody who can have a turn in the rule's wave."""
    return SPEAKERS[wildcards.set][int(wildcards.wave) - 1]


def scenario_files(wildcards):
    return set_of(wildcards).scenarios


def anchor_files(wildcards):
    return set_of(wildcards).anchors


def fingerprints_of(*roles):
    """Fingerprints of the models that have some roles in the rule's set."""

    def files(wildcards):
        one = set_of(wildcards)
        return [
            fingerprint_file(name) for name in sorted({name for role in roles for name in getattr(one, role)})
        ]

    return files


def waves_before(wildcards):
    """What was said in the earlier waves of an iteration."""
    folder = ITERATION.format(set=wildcards.set, iteration=wildcards.iteration)
    return [f"{folder}/waves/{number}/turns.parquet" for number in range(1, int(wildcards.wave))]


def all_waves(wildcards):
    folder = ITERATION.format(set=wildcards.set, iteration=wildcards.iteration)
    return [f"{folder}/waves/{number}/turns.parquet" for number in range(1, len(SPEAKERS[wildcards.set]) + 1)]


def of_speakers(suffix):
    """A file per speaker of a wave."""
    folder = f"{ITERATION}/waves/{{wave}}"
    return lambda wildcards: [
        f"{folder.format(set=wildcards.set, iteration=wildcards.iteration, wave=wildcards.wave)}/{name}{suffix}"
        for name in speakers_of(wildcards)
    ]


def of_judges(suffix):
    """A file per judge of an iteration, in the order in which the parameters name them."""
    return lambda wildcards: [
        f"{ITERATION.format(set=wildcards.set, iteration=wildcards.iteration)}/judge/{name}{suffix}"
        for name in set_of(wildcards).judges
    ]


wildcard_constraints:
    set=r"[^/]+",
    iteration=r"\d+",
    wave=r"[1-9]\d*",


def dialogue_options(wildcards):
    """Who is evaluated, who speaks for the others, and for how long."""
    return set_options(wildcards, "models", "partners", "max_turns", "samples", "semantics")


rule wave_requests:
    input:
        code=code("rubrics.wave_requests"),
        scenarios=scenario_files,
        tasks=f"{ITERATION}/tasks.json",
        waves=waves_before,
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
    output:
        requests=f"{ITERATION}/waves/{{wave}}/{{model}}.requests.jsonl",
        lineage=f"{ITERATION}/waves/{{wave}}/{{model}}.requests.jsonl.lineage.json",
        asked=f"{ITERATION}/waves/{{wave}}/{{model}}.asked.parquet",
    log:
        "logs/wave_requests/{set}/{iteration}/{wave}/{model}.log",
    params:
        section=lambda wildcards: section(
            model=model_params(wildcards.model),
            **dialogue_options(wildcards),
            **rubric_options("max_tokens"),
        ),
    message:
        "Writing turn {wildcards.wave} of {wildcards.model} in {wildcards.set}, iteration {wildcards.iteration}"
    shell:
        step(
            "rubrics.wave_requests",
            ["scenarios", "tasks", "waves", "fingerprint"],
            ["requests", "asked"],
            ["set", "iteration", "wave", "model"],
        )


rule wave:
    input:
        code=code("rubrics.wave"),
        asked=of_speakers(".asked.parquet"),
        responses=of_speakers(".responses.jsonl"),
        fingerprints=lambda wildcards: [fingerprint_file(name) for name in speakers_of(wildcards)],
    output:
        turns=f"{ITERATION}/waves/{{wave}}/turns.parquet",
    log:
        "logs/wave/{set}/{iteration}/{wave}.log",
    params:
        section=lambda wildcards: section(**set_options(wildcards, "semantics")),
    message:
        "Reading turn {wildcards.wave} of the dialogues of {wildcards.set}, iteration {wildcards.iteration}"
    shell:
        step(
            "rubrics.wave",
            ["asked", "responses", "fingerprints"],
            ["turns"],
            ["set", "iteration", "wave"],
        )


rule dialogues:
    input:
        code=code("rubrics.dialogues"),
        scenarios=scenario_files,
        tasks=f"{ITERATION}/tasks.json",
        waves=all_waves,
    output:
        transcripts=f"{ITERATION}/transcripts.parquet",
        dialogues=f"{ITERATION}/dialogues.parquet",
    log:
        "logs/dialogues/{set}/{iteration}.log",
    params:
        section=lambda wildcards: section(**dialogue_options(wildcards)),
    message:
        "Putting the dialogues of {wildcards.set} together, iteration {wildcards.iteration}"
    shell:
        step(
            "rubrics.dialogues",
            ["scenarios", "tasks", "waves"],
            ["transcripts", "dialogues"],
            ["set", "iteration"],
        )


rule rubric_checks:
    input:
        code=code("rubrics.rubric_checks"),
        scenarios=scenario_files,
        rubrics=f"{ITERATION}/rubrics.json",
        tasks=f"{ITERATION}/tasks.json",
        transcripts=f"{ITERATION}/transcripts.parquet",
        dialogues=f"{ITERATION}/dialogues.parquet",
    output:
        checks=f"{ITERATION}/checks.parquet",
    log:
        "logs/rubric_checks/{set}/{iteration}.log",
    params:
        section=section(),
    message:
        "Checking the dialogues of {wildcards.set} by code, iteration {wildcards.iteration}"
    shell:
        step(
            "rubrics.rubric_checks",
            ["scenarios", "rubrics", "tasks", "transcripts", "dialogues"],
            ["checks"],
            ["set", "iteration"],
        )


def judge_section(wildcards):
    """What a judge is told, and who is whose kin."""
    one = set_of(wildcards)
    return section(
        model=model_params(wildcards.model),
        models={name: model_params(name) for name in sorted({*one.models, wildcards.model})},
        candidates=one.models,
        **set_options(wildcards, "source"),
        **own_options(wildcards, "judging"),
    )


rule judge_rubric_requests:
    input:
        code=code("rubrics.judge_rubric_requests"),
        scenarios=scenario_files,
        rubrics=f"{ITERATION}/rubrics.json",
        tasks=f"{ITERATION}/tasks.json",
        transcripts=f"{ITERATION}/transcripts.parquet",
        dialogues=f"{ITERATION}/dialogues.parquet",
        checks=f"{ITERATION}/checks.parquet",
        anchors=anchor_files,
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        fingerprints=lambda wildcards: [
            fingerprint_file(name) for name in sorted({*set_of(wildcards).models, wildcards.model})
        ],
        prompt=prompt_file("judge_rubric", RUBRICS.prompts.judge_rubric),
    output:
        requests=f"{ITERATION}/judge/{{model}}.requests.jsonl",
        lineage=f"{ITERATION}/judge/{{model}}.requests.jsonl.lineage.json",
        asked=f"{ITERATION}/judge/{{model}}.asked.parquet",
        settled=f"{ITERATION}/judge/{{model}}.settled.parquet",
    log:
        "logs/judge_rubric_requests/{set}/{iteration}/{model}.log",
    params:
        section=judge_section,
    message:
        "Writing the dialogues of {wildcards.set} for {wildcards.model}, iteration {wildcards.iteration}"
    shell:
        step(
            "rubrics.judge_rubric_requests",
            [
                *["scenarios", "rubrics", "tasks", "transcripts", "dialogues", "checks", "anchors"],
                *["fingerprint", "fingerprints", "prompt"],
            ],
            ["requests", "asked", "settled"],
            ["set", "iteration", "model"],
        )


def repair_section(wildcards):
    """How a judge's replies are read."""
    return section(model=model_params(wildcards.model), **own_options(wildcards, "judging"))


rule repair_score_requests:
    input:
        code=code("rubrics.repair_score_requests"),
        scenarios=scenario_files,
        rubrics=f"{ITERATION}/rubrics.json",
        tasks=f"{ITERATION}/tasks.json",
        asked=f"{ITERATION}/judge/{{model}}.asked.parquet",
        responses=f"{ITERATION}/judge/{{model}}.responses.jsonl",
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("repair_score", RUBRICS.prompts.repair_score),
    output:
        requests=f"{ITERATION}/repair/{{model}}.requests.jsonl",
        lineage=f"{ITERATION}/repair/{{model}}.requests.jsonl.lineage.json",
        repairs=f"{ITERATION}/repair/{{model}}.repairs.parquet",
    log:
        "logs/repair_score_requests/{set}/{iteration}/{model}.log",
    params:
        section=repair_section,
    message:
        "Writing what {wildcards.model} is asked to put into form in {wildcards.set}, iteration {wildcards.iteration}"
    shell:
        step(
            "rubrics.repair_score_requests",
            ["scenarios", "rubrics", "tasks", "asked", "responses", "fingerprint", "prompt"],
            ["requests", "repairs"],
            ["set", "iteration", "model"],
        )


rule rubric_scores:
    input:
        code=code("rubrics.rubric_scores"),
        scenarios=scenario_files,
        rubrics=f"{ITERATION}/rubrics.json",
        tasks=f"{ITERATION}/tasks.json",
        transcripts=f"{ITERATION}/transcripts.parquet",
        dialogues=f"{ITERATION}/dialogues.parquet",
        anchors=anchor_files,
        asked=f"{ITERATION}/judge/{{model}}.asked.parquet",
        settled=f"{ITERATION}/judge/{{model}}.settled.parquet",
        responses=f"{ITERATION}/judge/{{model}}.responses.jsonl",
        repairs=f"{ITERATION}/repair/{{model}}.repairs.parquet",
        repaired=f"{ITERATION}/repair/{{model}}.responses.jsonl",
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
    output:
        scores=f"{ITERATION}/judge/{{model}}.scores.parquet",
        anchor_scores=f"{ITERATION}/judge/{{model}}.anchor_scores.parquet",
    log:
        "logs/rubric_scores/{set}/{iteration}/{model}.log",
    params:
        section=repair_section,
    message:
        "Reading the scores of {wildcards.model} in {wildcards.set}, iteration {wildcards.iteration}"
    shell:
        step(
            "rubrics.rubric_scores",
            [
                *["scenarios", "rubrics", "tasks", "transcripts", "dialogues", "anchors"],
                *["asked", "settled", "responses", "repairs", "repaired", "fingerprint"],
            ],
            ["scores", "anchor_scores"],
            ["set", "iteration", "model"],
        )


rule rubrics:
    input:
        expand(f"{SET}/gate.json", set=SETS),
    message:
        "The rubrics are scored"
