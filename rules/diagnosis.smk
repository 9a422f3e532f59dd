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


def studies_where(holds):
    """A pattern of the names of some studies; one that no name fits where there are none."""
    return "|".join(re.escape(name) for name, study in STUDIES.items() if holds(study)) or "(?!)"


def given_file(option):
    """A file that the rule's study names, or none."""
    return lambda wildcards: getattr(study_of(wildcards), option) or []


wildcard_constraints:
    study=r"[^/]+",


def examined_section(wildcards):
    """A model answers the items of all studies that it is in."""
    mine = [study for study in STUDIES.values() if wildcards.model in study.models]
    return section(
        model=model_params(wildcards.model),
        datasets=sorted({dataset for study in mine for dataset in study.datasets}),
        **diagnosis_options("answer_as"),
        max_tokens=DIAGNOSIS.max_tokens,
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
            ["items_table", "fingerprint", "prompt"],
            ["requests"],
            ["model"],
        )
