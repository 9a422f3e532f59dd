"""Magister: from raw questions to boards. `snakemake --cores all` rebuilds whatever is out of date."""

import atexit
import os
import sys
from pathlib import Path

from magister.config.params import read_yaml
from magister.errors import UserError
from magister.pipeline import Bridge, DvcProject, describe, proof_of, say
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
include: "rules/ablations.smk"
include: "rules/arena_pool.smk"
include: "rules/arena.smk"
include: "rules/diagnosis.smk"
include: "rules/diagnosis_q.smk"
include: "rules/rubrics.smk"
include: "rules/rubrics_evolution.smk"
include: "rules/gates.smk"
include: "rules/boards.smk"


rule all:
    default_target: True
    input:
        # Every module's target, so that a full run makes what the modules' stages make, no more and no less.
        rules.llm.input,
        rules.items.input,
        rules.teaching.input,
        rules.ablations.input,
        rules.arena.input,
        rules.diagnosis.input,
        rules.rubrics.input,
        rules.boards.input,
    message:
        "Everything is up to date"


if workflow.exec_mode == ExecMode.DEFAULT:
    BRIDGE = Bridge(DvcProject(Path(".")), config, FOLDER)
    try:
        say(describe(BRIDGE.adopt({rule.name: rule.shellcmd or "" for rule in workflow.rules})))
    except UserError as error:
        sys.exit(f"{error}")

    def settle():
        """Prune and certify. At the end of the process: Snakemake calls no hook where there was nothing to do."""
        proof = proof_of(workflow, "all")
        if proof is not None:
            say("\n".join(BRIDGE.settle(proof.outputs, full=proof.full)))

    atexit.register(settle)


onstart:
    try:
        BRIDGE.guard(touching=workflow.touch)
    except UserError as error:
        sys.exit(f"{error}")


onsuccess:
    # A run of one module leaves the boards as they are; `make run` shows them itself, also when nothing was done.
    shown = set(workflow.dag_settings.targets) <= {"all"} and os.environ.get("MAGISTER_PROGRESS") != "1"
    if shown and (LEAGUES or ARENAS or STUDIES or SETS):
        shell("python -m scripts.boards.show >&2")


onerror:
    print(
        "\nThe run stopped. What went wrong stands above and in logs/, a file per step. What is finished is kept:\n"
        "when the cause is gone, run the same command again. Snakemake's own report is in .snakemake/log/.",
        file=sys.stderr,
    )
