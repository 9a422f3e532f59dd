"""Magister: from raw questions to boards. `snakemake --cores all` rebuilds whatever is out of date."""

import os
import sys
from pathlib import Path

from magister.config import read_yaml
from magister.errors import UserError
from snakemake.utils import min_version

min_version("9.27")

try:
    # Snakemake would name no line, and of a key that stands twice take the last.
    read_yaml(Path("params.yaml"))
except UserError as error:
    sys.exit(f"{error}")


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
        "results/teaching.csv",
        "results/teaching.md",
        "results/gate.json",
    message:
        "Everything is up to date"


onsuccess:
    # A run of one module leaves the boards as they are; `make run` shows them itself, also when nothing was done.
    if set(workflow.dag_settings.targets) <= {"all"} and os.environ.get("MAGISTER_PROGRESS") != "1":
        shell("python -m scripts.boards.show >&2")


onerror:
    print(
        "\nThe run stopped. What went wrong stands above and in logs/, a file per step. What is finished is kept:\n"
        "when the cause is gone, run the same command again. Snakemake's own report is in .snakemake/log/.",
        file=sys.stderr,
    )
