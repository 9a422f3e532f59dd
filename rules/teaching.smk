"""Teaching: blind answers, rounds of guidance and revision, trajectories, metrics."""


def round_folder(league, number):
    return f"data/teaching/{league}/round{number}"


def league_of(wildcards):
    return PLAYED[wildcards.league]


def league_prompt(task):
    """The template of a task in the versions of the rule's league."""
    return lambda wildcards: prompt_file(task, getattr(league_of(wildcards).prompts, task))


def source_items(wildcards):
    """The items that a league takes: as they were built, or those of its variant."""
    variant = league_of(wildcards).items_variant
    if variant is None:
        return "data/items/items.parquet"
    return f"data/items/variants/{variant}/items.parquet"


def league_items(wildcards):
    """The items as the league asks them."""
    if league_of(wildcards).option_order == 0:
        return source_items(wildcards)
    return f"data/teaching/{wildcards.league}/items.parquet"


def fixed_arms(league):
    """Control arms whose words are fixed; in the others a teacher speaks."""
    return [arm for arm in league.arms if arm != "verdict_only"]


def answer_section(wildcards):
    return section(
        model=model_params(wildcards.model),
        datasets=league_of(wildcards).datasets,
        answer_as=PARAMS.teaching.answer_as,
        max_tokens=PARAMS.teaching.max_tokens.answer,
    )


def guide_section(wildcards):
    league = league_of(wildcards)
    return section(
        model=model_params(wildcards.model),
        datasets=league.datasets,
        arms=["taught", *(["verdict_only"] if "verdict_only" in league.arms else [])],
        blind=league.blind,
        may_tell_answer=league.may_tell_answer,
        max_tokens=PARAMS.teaching.max_tokens.guide,
    )


def revise_section(wildcards):
    league = league_of(wildcards)
    return section(
        model=model_params(wildcards.model),
        datasets=league.datasets,
        answer_as=PARAMS.teaching.answer_as,
        student_shots=league.student_shots,
        max_tokens=PARAMS.teaching.max_tokens.revise,
    )


def statistics_section(wildcards):
    return section(
        datasets=league_of(wildcards).datasets,
        policy=PARAMS.teaching.policy,
        statistics=FULL["statistics"],
    )


def blind_files(wildcards):
    """Blind answers of all students of the league."""
    return [
        f"data/teaching/{wildcards.league}/blind_answers/{name}.parquet"
        for name in league_of(wildcards).students
    ]


def earlier(kind, names):
    """Tables of a kind of all rounds before the rule's own."""

    def files(wildcards):
        return [
            f"{round_folder(wildcards.league, number)}/{kind}/{name}.parquet"
            for number in range(1, int(wildcards.round))
            for name in names(wildcards)
        ]

    return files


def zero_shot_files(wildcards):
    """Own answers of all teachers of the league."""
    return [
        f"data/teaching/{wildcards.league}/zero_shot/{name}.parquet" for name in league_of(wildcards).teachers
    ]


def guide_files(league, folder):
    """Guides of all teachers and control arms in a round's folder."""
    files = [f"{folder}/guide/{name}.parquet" for name in league.teachers]
    return files + ([f"{folder}/control_guides.parquet"] if fixed_arms(league) else [])


def revision_files(league, folder):
    """Revisions of all students in a round's folder."""
    return [f"{folder}/revise/{name}.parquet" for name in league.students]


def round_guides(wildcards):
    """What students are told in a round: the guides of all teachers and the control arms."""
    return guide_files(league_of(wildcards), round_folder(wildcards.league, wildcards.round))


def answers_before(wildcards):
    """A student's answers of the round before."""
    number = int(wildcards.round) - 1
    if number == 0:
        return f"data/teaching/{wildcards.league}/blind_answers/{wildcards.model}.parquet"
    return f"{round_folder(wildcards.league, number)}/revise/{wildcards.model}.parquet"


def all_rounds(select):
    """Files that `select(league, folder)` names, over all rounds."""

    def files(wildcards):
        league = league_of(wildcards)
        return [
            file
            for number in range(1, league.rounds + 1)
            for file in select(league, round_folder(wildcards.league, number))
        ]

    return files


# `{model}.asked.parquet` is no table of a model called `{model}.asked`.
ruleorder: guide_requests > guide
ruleorder: revise_requests > revise


rule reorder_items:
    input:
        code=code("teaching.reorder_items"),
        gate="data/items/gate.json",
        items_table=source_items,
    output:
        items_table="data/teaching/{league}/items.parquet",
    log:
        "logs/reorder_items/{league}.log",
    params:
        section=lambda wildcards: section(
            datasets=league_of(wildcards).datasets, option_order=league_of(wildcards).option_order
        ),
    message:
        "Putting options in another order ({wildcards.league})"
    shell:
        step("teaching.reorder_items", ["gate", "items_table"], ["items_table"], ["league"])


rule blind_answer_requests:
    input:
        code=code("teaching.blind_answer_requests"),
        gate="data/items/gate.json",
        items_table=league_items,
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=league_prompt("answer"),
    output:
        requests="data/teaching/{league}/blind_answers/{model}.requests.jsonl",
        lineage="data/teaching/{league}/blind_answers/{model}.requests.jsonl.lineage.json",
    log:
        "logs/blind_answer_requests/{league}/{model}.log",
    params:
        section=answer_section,
    message:
        "Writing items for the student {wildcards.model} ({wildcards.league})"
    shell:
        step(
            "teaching.blind_answer_requests",
            ["gate", "items_table", "fingerprint", "prompt"],
            ["requests"],
            ["league", "model"],
        )


rule blind_answers:
    input:
        code=code("teaching.blind_answers"),
        items_table=league_items,
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=league_prompt("answer"),
        responses="data/teaching/{league}/blind_answers/{model}.responses.jsonl",
    output:
        answers="data/teaching/{league}/blind_answers/{model}.parquet",
    log:
        "logs/blind_answers/{league}/{model}.log",
    params:
        section=answer_section,
    message:
        "Reading blind answers of the student {wildcards.model} ({wildcards.league})"
    shell:
        step(
            "teaching.blind_answers",
            ["items_table", "fingerprint", "prompt", "responses"],
            ["answers"],
            ["league", "model"],
        )


rule zero_shot_requests:
    input:
        code=code("teaching.zero_shot_requests"),
        gate="data/items/gate.json",
        items_table=league_items,
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=league_prompt("answer"),
    output:
        requests="data/teaching/{league}/zero_shot/{model}.requests.jsonl",
        lineage="data/teaching/{league}/zero_shot/{model}.requests.jsonl.lineage.json",
    log:
        "logs/zero_shot_requests/{league}/{model}.log",
    params:
        section=answer_section,
    message:
        "Writing items for the teacher {wildcards.model} itself ({wildcards.league})"
    shell:
        step(
            "teaching.zero_shot_requests",
            ["gate", "items_table", "fingerprint", "prompt"],
            ["requests"],
            ["league", "model"],
        )


rule zero_shot:
    input:
        code=code("teaching.zero_shot"),
        items_table=league_items,
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=league_prompt("answer"),
        responses="data/teaching/{league}/zero_shot/{model}.responses.jsonl",
    output:
        answers="data/teaching/{league}/zero_shot/{model}.parquet",
    log:
        "logs/zero_shot/{league}/{model}.log",
    params:
        section=answer_section,
    message:
        "Reading the teacher {wildcards.model}'s own answers ({wildcards.league})"
    shell:
        step(
            "teaching.zero_shot",
            ["items_table", "fingerprint", "prompt", "responses"],
            ["answers"],
            ["league", "model"],
        )


rule guide_requests:
    input:
        code=code("teaching.guide_requests"),
        items_table=league_items,
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=league_prompt("guide"),
        blind=blind_files,
        revisions=earlier("revise", lambda wildcards: league_of(wildcards).students),
        guides=earlier("guide", lambda wildcards: [wildcards.model]),
    output:
        requests="data/teaching/{league}/round{round}/guide/{model}.requests.jsonl",
        lineage="data/teaching/{league}/round{round}/guide/{model}.requests.jsonl.lineage.json",
        asked="data/teaching/{league}/round{round}/guide/{model}.asked.parquet",
    log:
        "logs/guide_requests/{league}/{round}/{model}.log",
    params:
        section=guide_section,
    message:
        "Round {wildcards.round}: showing students' replies to {wildcards.model} ({wildcards.league})"
    shell:
        step(
            "teaching.guide_requests",
            ["items_table", "fingerprint", "prompt", "blind", "revisions", "guides"],
            ["requests", "asked"],
            ["league", "round", "model"],
        )


rule guide:
    input:
        code=code("teaching.guide"),
        items_table=league_items,
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        asked="data/teaching/{league}/round{round}/guide/{model}.asked.parquet",
        responses="data/teaching/{league}/round{round}/guide/{model}.responses.jsonl",
    output:
        guides="data/teaching/{league}/round{round}/guide/{model}.parquet",
    log:
        "logs/guide/{league}/{round}/{model}.log",
    params:
        section=guide_section,
    message:
        "Round {wildcards.round}: reading the guidance of {wildcards.model} ({wildcards.league})"
    shell:
        step(
            "teaching.guide",
            ["items_table", "fingerprint", "asked", "responses"],
            ["guides"],
            ["league", "round", "model"],
        )


rule control_guides:
    input:
        code=code("teaching.control_guides"),
        items_table=league_items,
    output:
        guides="data/teaching/{league}/round{round}/control_guides.parquet",
    log:
        "logs/control_guides/{league}/{round}.log",
    params:
        section=lambda wildcards: section(
            datasets=league_of(wildcards).datasets,
            students=league_of(wildcards).students,
            arms=fixed_arms(league_of(wildcards)),
            seed=PARAMS.teaching.seed,
        ),
    message:
        "Round {wildcards.round}: writing the guidance of the control arms ({wildcards.league})"
    shell:
        step("teaching.control_guides", ["items_table"], ["guides"], ["league", "round"])


rule revise_requests:
    input:
        code=code("teaching.revise_requests"),
        items_table=league_items,
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=league_prompt("revise"),
        guides=round_guides,
        previous=answers_before,
    output:
        requests="data/teaching/{league}/round{round}/revise/{model}.requests.jsonl",
        lineage="data/teaching/{league}/round{round}/revise/{model}.requests.jsonl.lineage.json",
        asked="data/teaching/{league}/round{round}/revise/{model}.asked.parquet",
    log:
        "logs/revise_requests/{league}/{round}/{model}.log",
    params:
        section=revise_section,
    message:
        "Round {wildcards.round}: handing guidance to the student {wildcards.model} ({wildcards.league})"
    shell:
        step(
            "teaching.revise_requests",
            ["items_table", "fingerprint", "prompt", "guides", "previous"],
            ["requests", "asked"],
            ["league", "round", "model"],
        )


rule revise:
    input:
        code=code("teaching.revise"),
        items_table=league_items,
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        guides=round_guides,
        previous=answers_before,
        asked="data/teaching/{league}/round{round}/revise/{model}.asked.parquet",
        responses="data/teaching/{league}/round{round}/revise/{model}.responses.jsonl",
    output:
        revisions="data/teaching/{league}/round{round}/revise/{model}.parquet",
    log:
        "logs/revise/{league}/{round}/{model}.log",
    params:
        section=revise_section,
    message:
        "Round {wildcards.round}: reading the revisions of {wildcards.model} ({wildcards.league})"
    shell:
        step(
            "teaching.revise",
            ["items_table", "fingerprint", "guides", "previous", "asked", "responses"],
            ["revisions"],
            ["league", "round", "model"],
        )


rule teaching_trajectories:
    input:
        code=code("teaching.teaching_trajectories"),
        items_table=league_items,
        bands="data/items/bands.parquet",
        blind=blind_files,
        guides=all_rounds(guide_files),
        revisions=all_rounds(revision_files),
    output:
        trajectories="data/teaching/{league}/trajectories.parquet",
    log:
        "logs/teaching_trajectories/{league}.log",
    params:
        section=lambda wildcards: section(datasets=league_of(wildcards).datasets),
    message:
        "Joining the trajectories of the league {wildcards.league}"
    shell:
        step(
            "teaching.teaching_trajectories",
            ["items_table", "bands", "blind", "guides", "revisions"],
            ["trajectories"],
            ["league"],
        )


rule teaching_metrics:
    input:
        code=code("teaching.teaching_metrics"),
        items_table=league_items,
        bands="data/items/bands.parquet",
        trajectories="data/teaching/{league}/trajectories.parquet",
        zero_shot=zero_shot_files,
    output:
        metrics="data/teaching/{league}/metrics.parquet",
    log:
        "logs/teaching_metrics/{league}.log",
    params:
        section=statistics_section,
    message:
        "Rating the teachers of the league {wildcards.league}"
    shell:
        step(
            "teaching.teaching_metrics",
            ["items_table", "bands", "trajectories", "zero_shot"],
            ["metrics"],
            ["league"],
        )


rule teaching_standings:
    input:
        code=code("teaching.teaching_standings"),
        items_table=league_items,
        bands="data/items/bands.parquet",
        trajectories="data/teaching/{league}/trajectories.parquet",
        zero_shot=zero_shot_files,
    output:
        standings="data/teaching/{league}/standings.parquet",
        comparisons="data/teaching/{league}/comparisons.parquet",
    log:
        "logs/teaching_standings/{league}.log",
    params:
        section=statistics_section,
    message:
        "Comparing the teachers of the league {wildcards.league}"
    shell:
        step(
            "teaching.teaching_standings",
            ["items_table", "bands", "trajectories", "zero_shot"],
            ["standings", "comparisons"],
            ["league"],
        )


rule teaching:
    input:
        expand("data/teaching/{league}/gate.json", league=PLAYED),
    message:
        "The teaching leagues are rated"
