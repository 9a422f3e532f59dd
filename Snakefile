"""Magister: from raw questions to boards. `snakemake --cores all` rebuilds whatever is out of date."""

from snakemake.utils import min_version

min_version("9.27")


configfile: "params.yaml"


include: "rules/common.smk"
include: "rules/llm.smk"
include: "rules/items.smk"
include: "rules/teaching.smk"
include: "rules/gates.smk"
include: "rules/boards.smk"


rule all:
    default_target: True
    input:
        "results/teaching.parquet",
    message:
        "Everything is up to date"


onsuccess:
    shell("python -m scripts.boards.show >&2")
