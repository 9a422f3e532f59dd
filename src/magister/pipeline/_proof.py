"""What a run of Snakemake has proved, read from its job graph when the process ends."""

from __future__ import annotations

from typing import Any, NamedTuple

from snakemake.settings.enums import RerunTrigger


class Proof(NamedTuple):
    """That a run found or made current everything it was asked for.

    Attributes:
        outputs: outputs of all its jobs, also of those that had nothing to do.
        full: whether it was asked for everything.
    """

    outputs: set[str]
    full: bool


def has_run(workflow: Any) -> bool:
    """Whether a process of Snakemake was to run jobs, and not only to look."""
    return workflow.executor_plugin is not None and not workflow.dryrun and not workflow.touch


def proof_of(workflow: Any, default: str) -> Proof | None:
    """Read what a run has proved.

    A run with nothing to do calls no hook, so this is asked at the end of the process.

    Args:
        workflow: Snakemake's workflow object.
        default: name of the rule that stands for everything.

    Returns:
        None where nothing is proved: no run, a dry one, one that failed, was told to look at less than everything
        or only touched files.
    """
    if workflow.executor_plugin is None or workflow.scheduler is None or workflow.dag is None:
        return None
    settings = workflow.dag_settings
    if workflow.dryrun or workflow.touch or set(settings.rerun_triggers) != set(RerunTrigger.all()):
        return None
    if settings.until or settings.omit_from or settings.batch is not None:
        return None
    if any(True for _ in workflow.dag.needrun_jobs()):
        return None
    outputs = {str(path) for job in workflow.dag.jobs for path in job.output}
    full = set(settings.targets) <= {default} and not settings.allowed_rules and not settings.target_jobs
    return Proof(outputs, full)
