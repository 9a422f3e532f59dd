"""Magister: from raw questions to boards. `snakemake --cores all` rebuilds whatever is out of date."""

import os
import sys
from pathlib import Path

from magister.config.params import read_yaml
from magister.errors import UserError
from magister.pipeline import (
    JOBS_FILE,
    Bridge,
    DvcProject,
    at_exit,
    describe,
    has_run,
    proof_of,
    say,
    write_jobs,
)
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
    if JOBS_FILE in os.environ:
        # Someone wants to know the jobs: nothing else is done.
        at_exit(lambda: write_jobs(workflow, Path(os.environ[JOBS_FILE])))
    else:
        try:
            say(describe(BRIDGE.adopt({rule.name: rule.shellcmd or "" for rule in workflow.rules})))
        except UserError as error:
            sys.exit(f"{error}")
        # Prune and certify, also where there was nothing to do. What cannot be certified fails the run.
        at_exit(lambda: BRIDGE.finish(proof_of(workflow, "all"), ran=has_run(workflow)))


onstart:
    if workflow.local_exec:
        # Its limit of jobs per second is for clusters. With it, every pass of the scheduler that finds a job ready
        # asks for one more a second later, and as jobs end the passes add up to a core of work.
        workflow.scheduler.job_rate_limiter = None
    try:
        BRIDGE.guard(touching=workflow.touch)
        BRIDGE.hold()
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
