"""Diagnosis: attributes from the items' texts, how many, their names, and the prior of the Q-matrix."""


def clustered(study):
    """Whether a study finds its attributes in the items' texts."""
    return study.q is None


def settings_of(wildcards):
    """How a study's items are clustered, and into how many."""
    return {"clustering": FULL["diagnosis"]["clustering"], "k": numbers_tried(study_of(wildcards))}


# What a given Q-matrix is believed by, and what clusters are.
GIVEN_PRIOR = {name: FULL["diagnosis"]["prior"][name] for name in ("p_star", "r0", "fixed")}
CLUSTER_PRIOR = {name: FULL["diagnosis"]["prior"][name] for name in ("kind", "ceiling", "p_star", "r0")}


rule embed_items:
    input:
        code=code("diagnosis.embed_items"),
        texts=f"{STUDY}/items.parquet",
        embedder=embedder_files(DIAGNOSIS.embedder),
        embedder_fingerprint=embedder_fingerprint(DIAGNOSIS.embedder),
    output:
        vectors=f"{STUDY}/items.npy",
        vectors_lineage=f"{STUDY}/items.npy.lineage.json",
        ids=f"{STUDY}/items.ids.parquet",
    log:
        "logs/embed_items/{study}.log",
    params:
        section=section(**embedder_values(DIAGNOSIS.embedder)),
    message:
        "Embedding the items of {wildcards.study}"
    shell:
        step(
            "diagnosis.embed_items",
            ["texts", "embedder", "embedder_fingerprint"],
            ["vectors", "ids"],
            ["study"],
        )


rule cluster_items:
    input:
        code=code("diagnosis.cluster_items"),
        texts=f"{STUDY}/items.parquet",
        vectors=f"{STUDY}/items.npy",
        ids=f"{STUDY}/items.ids.parquet",
        embedder_fingerprint=embedder_fingerprint(DIAGNOSIS.embedder),
        frozen=given_file("frozen"),
    output:
        runs=f"{STUDY}/cluster_runs.parquet",
    log:
        "logs/cluster_items/{study}.log",
    threads: workflow.cores
    params:
        section=lambda wildcards: section(**settings_of(wildcards)),
    message:
        "Clustering the items of {wildcards.study}"
    shell:
        step(
            "diagnosis.cluster_items",
            ["texts", "vectors", "ids", "embedder_fingerprint", "frozen"],
            ["runs"],
            ["study"],
        )


rule k_prior:
    input:
        code=code("diagnosis.k_prior"),
        texts=f"{STUDY}/items.parquet",
        vectors=f"{STUDY}/items.npy",
        ids=f"{STUDY}/items.ids.parquet",
        runs=f"{STUDY}/cluster_runs.parquet",
    output:
        clusters=f"{STUDY}/k/{{k}}/clusters.parquet",
        prior=f"{STUDY}/k/{{k}}/prior.parquet",
    log:
        "logs/k_prior/{study}/{k}.log",
    params:
        section=section(prior=CLUSTER_PRIOR, linkage=DIAGNOSIS.prior.linkage),
    message:
        "{wildcards.k} attributes of {wildcards.study}"
    shell:
        step(
            "diagnosis.k_prior",
            ["texts", "vectors", "ids", "runs"],
            ["clusters", "prior"],
            ["study", "k"],
        )


rule k_predictions:
    input:
        code=code("diagnosis.k_predictions"),
        responses=f"{STUDY}/responses.parquet",
        screening=f"{STUDY}/screening.parquet",
        prior=f"{STUDY}/k/{{k}}/prior.parquet",
    output:
        predictions=f"{STUDY}/k/{{k}}/predictions.parquet",
    log:
        "logs/k_predictions/{study}/{k}.log",
    threads: min(workflow.cores, DIAGNOSIS.saem.chains)
    params:
        section=section(
            **diagnosis_options("saem", "checks"),
            level=PARAMS.statistics.level,
        ),
    message:
        "What {wildcards.k} attributes predict in {wildcards.study}"
    shell:
        step(
            "diagnosis.k_predictions",
            ["responses", "screening", "prior"],
            ["predictions"],
            ["study", "k"],
        )


def of_numbers(name):
    """A file for every number of attributes that the rule's study tries."""
    return lambda wildcards: [
        f"data/diagnosis/studies/{wildcards.study}/k/{k}/{name}.parquet"
        for k in numbers_tried(study_of(wildcards))
    ]


rule k_curve:
    input:
        code=code("diagnosis.k_curve"),
        texts=f"{STUDY}/items.parquet",
        vectors=f"{STUDY}/items.npy",
        ids=f"{STUDY}/items.ids.parquet",
        runs=f"{STUDY}/cluster_runs.parquet",
        clusters=of_numbers("clusters"),
        predictions=of_numbers("predictions"),
    output:
        curve=f"{STUDY}/k_curve.parquet",
    log:
        "logs/k_curve/{study}.log",
    params:
        section=lambda wildcards: section(
            choice={
                # A number that the study gives is not held to a floor.
                "least_items": 1 if study_of(wildcards).attributes else DIAGNOSIS.choice.least_items,
                "least_stability": DIAGNOSIS.choice.least_stability,
            },
            level=PARAMS.statistics.level,
        ),
    message:
        "Choosing the number of attributes of {wildcards.study}"
    shell:
        step(
            "diagnosis.k_curve",
            ["texts", "vectors", "ids", "runs", "clusters", "predictions"],
            ["curve"],
            ["study"],
        )


rule chosen_prior:
    input:
        code=code("diagnosis.chosen_prior"),
        texts=f"{STUDY}/items.parquet",
        vectors=f"{STUDY}/items.npy",
        ids=f"{STUDY}/items.ids.parquet",
        runs=f"{STUDY}/cluster_runs.parquet",
        curve=f"{STUDY}/k_curve.parquet",
    output:
        clusters=f"{STUDY}/clusters_unreviewed.parquet",
        prior=f"{STUDY}/prior_unreviewed.parquet",
    log:
        "logs/chosen_prior/{study}.log",
    params:
        section=section(prior=CLUSTER_PRIOR, linkage=DIAGNOSIS.prior.linkage),
    message:
        "The attributes of {wildcards.study}"
    shell:
        step(
            "diagnosis.chosen_prior",
            ["texts", "vectors", "ids", "runs", "curve"],
            ["clusters", "prior"],
            ["study"],
        )


LABELLER = DIAGNOSIS.labeller
LABEL_FILES = f"{STUDY}/labels/{LABELLER}"


rule label_requests:
    input:
        code=code("diagnosis.label_requests"),
        clusters=f"{STUDY}/clusters_unreviewed.parquet",
        texts=f"{STUDY}/items.parquet",
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("label_attribute", DIAGNOSIS.prompts.label_attribute),
    output:
        requests=f"{STUDY}/labels/{{model}}.requests.jsonl",
        lineage=f"{STUDY}/labels/{{model}}.requests.jsonl.lineage.json",
        asked=f"{STUDY}/labels/{{model}}.asked.parquet",
    log:
        "logs/label_requests/{study}/{model}.log",
    params:
        section=lambda wildcards: section(
            model=model_params(wildcards.model),
            labeller=wildcards.model,
            **diagnosis_options("terms", "examples"),
            max_tokens=DIAGNOSIS.max_tokens.label,
        ),
    message:
        "Asking {wildcards.model} to name the attributes of {wildcards.study}"
    shell:
        step(
            "diagnosis.label_requests",
            ["clusters", "texts", "fingerprint", "prompt"],
            ["requests", "asked"],
            ["study", "model"],
        )


rule label_attributes:
    input:
        code=code("diagnosis.label_attributes"),
        clusters=f"{STUDY}/clusters_unreviewed.parquet",
        texts=f"{STUDY}/items.parquet",
        asked=f"{LABEL_FILES}.asked.parquet" if LABELLER else [],
        responses=f"{LABEL_FILES}.responses.jsonl" if LABELLER else [],
        fingerprint=fingerprint_file(LABELLER) if LABELLER else [],
    output:
        labels=f"{STUDY}/labels.parquet",
    log:
        "logs/label_attributes/{study}.log",
    params:
        section=section(labeller=LABELLER, **diagnosis_options("terms")),
    message:
        "Naming the attributes of {wildcards.study}"
    shell:
        step(
            "diagnosis.label_attributes",
            ["clusters", "texts", "asked", "responses", "fingerprint"],
            ["labels"],
            ["study"],
        )


rule build_qmatrix:
    input:
        code=code("diagnosis.build_qmatrix"),
        runs=f"{STUDY}/cluster_runs.parquet",
        clusters=f"{STUDY}/clusters_unreviewed.parquet",
        texts=f"{STUDY}/items.parquet",
        vectors=f"{STUDY}/items.npy",
        ids=f"{STUDY}/items.ids.parquet",
        labels=f"{STUDY}/labels.parquet",
        review=given_file("review"),
    output:
        clusters=f"{STUDY}/clusters.parquet",
        prior=f"{STUDY}/prior.parquet",
        attributes=f"{STUDY}/attributes.parquet",
        review=f"{STUDY}/review.csv",
        review_lineage=f"{STUDY}/review.csv.lineage.json",
    log:
        "logs/build_qmatrix/{study}.log",
    wildcard_constraints:
        study=studies_where(clustered),
    params:
        section=section(prior=CLUSTER_PRIOR, **diagnosis_options("terms"), review=FULL["diagnosis"]["review"]),
    message:
        "The Q-matrix of {wildcards.study}"
    shell:
        step(
            "diagnosis.build_qmatrix",
            ["runs", "clusters", "texts", "vectors", "ids", "labels", "review"],
            ["clusters", "prior", "attributes", "review"],
            ["study"],
        )


rule given_qmatrix:
    input:
        code=code("diagnosis.given_qmatrix"),
        q=given_file("q"),
        responses=f"{STUDY}/responses.parquet",
    output:
        prior=f"{STUDY}/prior.parquet",
        attributes=f"{STUDY}/attributes.parquet",
    log:
        "logs/given_qmatrix/{study}.log",
    wildcard_constraints:
        study=studies_where(lambda study: not clustered(study)),
    params:
        section=section(prior=GIVEN_PRIOR),
    message:
        "The Q-matrix of {wildcards.study}"
    shell:
        step("diagnosis.given_qmatrix", ["q", "responses"], ["prior", "attributes"], ["study"])
