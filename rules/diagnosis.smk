"""Diagnosis: responses of models, attributes from the items' texts, SAEM, mastery profiles and their controls."""

DIAGNOSIS = PARAMS.diagnosis
STUDIES = DIAGNOSIS.studies
STUDY = "data/diagnosis/studies/{study}"
# Everybody who answers items in some study.
EXAMINED = sorted({name for study in STUDIES.values() for name in study.models})


def study_of(wildcards):
    return STUDIES[wildcards.study]


def study_options(wildcards, *names):
    """Some options of the rule's study."""
    options = FULL["diagnosis"]["studies"][wildcards.study]
    return {name: options[name] for name in names}


def diagnosis_options(*names):
    """Some options that hold for all studies."""
    return {name: FULL["diagnosis"][name] for name in names}


def given_file(option):
    """A file that the rule's study names, or none."""
    return lambda wildcards: getattr(study_of(wildcards), option) or []


def studies_where(holds):
    """A pattern of the names of some studies; one that no name fits where there are none."""
    return "|".join(re.escape(name) for name, study in STUDIES.items() if holds(study)) or "(?!)"


def numbers_tried(study):
    """Numbers of attributes that clusters are made for."""
    return [study.attributes] if study.attributes else sorted(set(DIAGNOSIS.choice.tried))


def of_pipeline(file):
    """A file of the pipeline's items, where a study's items are those."""
    return lambda wildcards: file if study_of(wildcards).datasets else []


def own_texts(wildcards):
    """The responses' own files, where the texts of their items stand there."""
    study = study_of(wildcards)
    return [] if study.datasets or study.texts else matrix_files(wildcards)


def imported_responses(wildcards):
    """Responses that others have collected: texts of other items are left out."""
    return (
        [] if study_of(wildcards).datasets else f"data/diagnosis/studies/{wildcards.study}/responses.parquet"
    )


def matrix_files(wildcards):
    """Files of the responses that others have collected."""
    study = study_of(wildcards)
    return study.logs if study.kind == "logs" else [study.path]


def matrix_section(wildcards):
    """How they are read."""
    study = FULL["diagnosis"]["studies"][wildcards.study]
    form = study["log_form"] if study["kind"] == "logs" else study["matrix"]
    return {"kind": study["kind"], "form": form | {"unparsed": DIAGNOSIS.unparsed}}


wildcard_constraints:
    study=r"[^/]+",
    k=r"\d+",


def examined_section(wildcards):
    """A model answers the items of all studies that it is in."""
    mine = [study for study in STUDIES.values() if wildcards.model in study.models]
    return section(
        model=model_params(wildcards.model),
        datasets=sorted({dataset for study in mine for dataset in study.datasets}),
        answer_as=DIAGNOSIS.answer_as,
        max_tokens=DIAGNOSIS.max_tokens.answer,
    )


rule diagnosis_requests:
    input:
        code=code("diagnosis.diagnosis_requests"),
        items_table="data/items/items.parquet",
        gate="data/items/gate.json",
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("answer", DIAGNOSIS.prompts.answer),
    output:
        requests="data/diagnosis/answers/{model}.requests.jsonl",
        lineage="data/diagnosis/answers/{model}.requests.jsonl.lineage.json",
    log:
        "logs/diagnosis_requests/{model}.log",
    params:
        section=examined_section,
    message:
        "Writing the items for {wildcards.model}"
    shell:
        step(
            "diagnosis.diagnosis_requests",
            ["items_table", "gate", "fingerprint", "prompt"],
            ["requests"],
            ["model"],
        )


rule diagnosis_answers:
    input:
        code=code("diagnosis.diagnosis_answers"),
        items_table="data/items/items.parquet",
        responses="data/diagnosis/answers/{model}.responses.jsonl",
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("answer", DIAGNOSIS.prompts.answer),
    output:
        answers="data/diagnosis/answers/{model}.parquet",
    log:
        "logs/diagnosis_answers/{model}.log",
    params:
        section=examined_section,
    message:
        "Reading the answers of {wildcards.model}"
    shell:
        step(
            "diagnosis.diagnosis_answers",
            ["items_table", "responses", "fingerprint", "prompt"],
            ["answers"],
            ["model"],
        )


rule diagnosed_items:
    input:
        code=code("diagnosis.diagnosed_items"),
        items_table=of_pipeline("data/items/items.parquet"),
        gate=of_pipeline("data/items/gate.json"),
        items_file=given_file("texts"),
        files=own_texts,
        responses=imported_responses,
    output:
        texts=f"{STUDY}/items.parquet",
    log:
        "logs/diagnosed_items/{study}.log",
    params:
        section=lambda wildcards: section(
            **(
                study_options(wildcards, "datasets", "item_type")
                if study_of(wildcards).datasets
                else matrix_section(wildcards)
            ),
            columns=study_of(wildcards).text_columns,
        ),
    message:
        "Texts of the items of {wildcards.study}"
    shell:
        step(
            "diagnosis.diagnosed_items",
            ["items_table", "gate", "items_file", "files", "responses"],
            ["texts"],
            ["study"],
        )


rule response_matrix:
    input:
        code=code("diagnosis.response_matrix"),
        items_table="data/items/items.parquet",
        answers=lambda wildcards: [
            f"data/diagnosis/answers/{name}.parquet" for name in study_of(wildcards).models
        ],
    output:
        responses=f"{STUDY}/responses.parquet",
    log:
        "logs/response_matrix/{study}.log",
    wildcard_constraints:
        study=studies_where(lambda study: study.kind == "answers"),
    params:
        section=lambda wildcards: section(
            **study_options(wildcards, "datasets"), **diagnosis_options("unparsed")
        ),
    message:
        "Putting the answers of {wildcards.study} together"
    shell:
        step("diagnosis.response_matrix", ["items_table", "answers"], ["responses"], ["study"])


rule import_matrix:
    input:
        code=code("diagnosis.import_matrix"),
        files=matrix_files,
    output:
        responses=f"{STUDY}/responses.parquet",
        rejected=f"{STUDY}/responses_rejected.parquet",
    log:
        "logs/import_matrix/{study}.log",
    wildcard_constraints:
        study=studies_where(lambda study: study.kind in ("file", "logs")),
    params:
        section=lambda wildcards: section(**matrix_section(wildcards)),
    message:
        "Reading the responses of {wildcards.study}"
    shell:
        step("diagnosis.import_matrix", ["files"], ["responses", "rejected"], ["study"])


rule simulate_matrix:
    input:
        code=code("diagnosis.simulate_matrix"),
        texts=f"{STUDY}/items.parquet",
    output:
        responses=f"{STUDY}/responses.parquet",
        mastery=f"{STUDY}/true_mastery.parquet",
    log:
        "logs/simulate_matrix/{study}.log",
    wildcard_constraints:
        study=studies_where(lambda study: study.kind == "simulated"),
    params:
        section=lambda wildcards: section(**study_options(wildcards, "simulation")),
    message:
        "Simulating the models of {wildcards.study}"
    shell:
        step("diagnosis.simulate_matrix", ["texts"], ["responses", "mastery"], ["study"])


rule screen_responses:
    input:
        code=code("diagnosis.screen_responses"),
        responses=f"{STUDY}/responses.parquet",
    output:
        screening=f"{STUDY}/screening.parquet",
    log:
        "logs/screen_responses/{study}.log",
    params:
        section=section(**diagnosis_options("screening")),
    message:
        "Screening the responses of {wildcards.study}"
    shell:
        step("diagnosis.screen_responses", ["responses"], ["screening"], ["study"])


SAEM_TABLES = ["mastery", "abilities", "q", "items", "attributes", "trace", "draws"]


rule fit_saem:
    input:
        code=code("diagnosis.fit_saem"),
        responses=f"{STUDY}/responses.parquet",
        screening=f"{STUDY}/screening.parquet",
        prior=f"{STUDY}/prior.parquet",
    output:
        **{f"saem_{name}": f"{STUDY}/saem/{name}.parquet" for name in SAEM_TABLES},
        fit=f"{STUDY}/saem/fit.json",
        fit_lineage=f"{STUDY}/saem/fit.json.lineage.json",
    log:
        "logs/fit_saem/{study}.log",
    threads: min(workflow.cores, DIAGNOSIS.saem.chains)
    params:
        section=section(**diagnosis_options("saem")),
    message:
        "Fitting {wildcards.study}"
    shell:
        step(
            "diagnosis.fit_saem",
            ["responses", "screening", "prior"],
            [*[f"saem_{name}" for name in SAEM_TABLES], "fit"],
            ["study"],
        )


rule diagnosis_checks:
    input:
        code=code("diagnosis.diagnosis_checks"),
        responses=f"{STUDY}/responses.parquet",
        screening=f"{STUDY}/screening.parquet",
        prior=f"{STUDY}/prior.parquet",
        fit=f"{STUDY}/saem/fit.json",
    output:
        predictions=f"{STUDY}/predictions.parquet",
        placebo=f"{STUDY}/placebo.parquet",
        checks=f"{STUDY}/checks.parquet",
        support=f"{STUDY}/support.json",
        support_lineage=f"{STUDY}/support.json.lineage.json",
    log:
        "logs/diagnosis_checks/{study}.log",
    threads: min(workflow.cores, DIAGNOSIS.saem.chains)
    params:
        section=section(**diagnosis_options("saem", "checks"), statistics=FULL["statistics"]),
    message:
        "Putting the profiles of {wildcards.study} to the test"
    shell:
        step(
            "diagnosis.diagnosis_checks",
            ["responses", "screening", "prior", "fit"],
            ["predictions", "placebo", "checks", "support"],
            ["study"],
        )


rule mastery_profiles:
    input:
        **{f"saem_{name}": f"{STUDY}/saem/{name}.parquet" for name in SAEM_TABLES},
        code=code("diagnosis.mastery_profiles"),
        responses=f"{STUDY}/responses.parquet",
        screening=f"{STUDY}/screening.parquet",
        prior=f"{STUDY}/prior.parquet",
        attributes=f"{STUDY}/attributes.parquet",
        fit=f"{STUDY}/saem/fit.json",
        support=f"{STUDY}/support.json",
    output:
        mastery=f"{STUDY}/mastery.parquet",
        profiles=f"{STUDY}/attribute_profiles.parquet",
        correlations=f"{STUDY}/attribute_correlations.parquet",
        item_profiles=f"{STUDY}/item_profiles.parquet",
        entries=f"{STUDY}/q_entries.parquet",
        corrections=f"{STUDY}/corrections.json",
        corrections_lineage=f"{STUDY}/corrections.json.lineage.json",
    log:
        "logs/mastery_profiles/{study}.log",
    params:
        section=section(statistics=FULL["statistics"]),
    message:
        "Mastery in {wildcards.study}"
    shell:
        step(
            "diagnosis.mastery_profiles",
            [
                *["responses", "screening", "prior", "attributes"],
                *[f"saem_{name}" for name in SAEM_TABLES],
                *["fit", "support"],
            ],
            ["mastery", "profiles", "correlations", "item_profiles", "entries", "corrections"],
            ["study"],
        )


rule diagnosis:
    input:
        expand("data/diagnosis/studies/{study}/gate.json", study=STUDIES),
    message:
        "Mastery is diagnosed"
