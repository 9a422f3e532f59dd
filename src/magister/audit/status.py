"""How far a project is, module by module: files, rows, answers of models, and what is out of date."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.parquet as pq

from magister.audit.places import contract_of
from magister.config.models import ModelConfig
from magister.config.params import load_params
from magister.errors import UserError
from magister.llm import read_responses
from magister.pipeline import DvcProject, Job, read_jobs
from magister.pipeline._dvc import files_under, is_remnant, run_dvc
from magister.provenance import SIDECAR_SUFFIX
from magister.teaching.plan import price

MAIN = {
    "items": ("items",),
    "teaching": ("trajectories",),
    "ablations": ("ablations",),
    "arena": ("votes",),
    "diagnosis": ("response_matrix",),
    "rubrics": ("rubric_scores",),
    "boards": ("teaching_board", "arena_board", "mastery_board", "rubrics_board"),
}
"""Tables that a module is about: the rows of these are its rows."""
_REQUESTS, _RESPONSES = ".requests.jsonl", ".responses.jsonl"


@dataclass
class ModuleStatus:
    """One module.

    Attributes:
        module: its name.
        files: artifacts in its folders.
        tables: rows by type of table.
        rows: rows of its main tables; None for a module without tables.
        requests: calls that its request files name.
        responses: replies and errors that came back.
        errors: of these, calls without a reply.
        truncated: of these, replies cut at their length limit.
        unreadable: files that cannot be read.
        tokens_in: tokens read, as far as servers count them; equal requests count once.
        tokens_out: tokens written, likewise.
        cost: money for them, where prices are configured; None where one is not known.
        missing: files that a full run makes and that are not there; None where it cannot be told.
        stale: files that a full run would make anew; None where it cannot be told.
        recorded: whether `dvc.lock` records the module as it is; None where it cannot be told.
    """

    module: str
    files: int = 0
    tables: dict[str, int] = field(default_factory=dict)
    rows: int | None = None
    requests: int = 0
    responses: int = 0
    errors: int = 0
    truncated: int = 0
    unreadable: list[str] = field(default_factory=list)
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0
    missing: list[str] | None = None
    stale: list[str] | None = None
    recorded: bool | None = None


@dataclass(frozen=True)
class Status:
    """A project.

    Attributes:
        modules: in the order of `dvc.yaml`.
        notes: why something cannot be told.
    """

    modules: list[ModuleStatus]
    notes: list[str]


def project_status(root: Path) -> Status:
    """Look at a project. Nothing in it is changed.

    Args:
        root: its folder.

    Raises:
        UserError: there is no project, or `params.yaml` cannot be read.
    """
    project = DvcProject(root)
    if not project.stages:
        raise UserError("dvc.yaml: not there, or without stages. Run from the project's folder.")
    models = load_params(root / "params.yaml").models
    notes: list[str] = []
    found = []
    for module in project.stages:
        status = ModuleStatus(module)
        paths = sorted(files_under(root, project.outs(module)))
        for path in paths:
            if not path.endswith(SIDECAR_SUFFIX) and not is_remnant(path):
                _count(root, path, status)
        _add_calls(root, [path for path in paths if path.endswith(_RESPONSES)], status, models)
        mains = MAIN.get(module, ())
        if mains:
            status.rows = sum(status.tables.get(name, 0) for name in mains)
        found.append(status)
    try:
        jobs = read_jobs(root)
    except UserError as error:
        notes.append(f"Stale and missing files are unknown: {error}")
    else:
        _add_jobs(root, project, found, jobs, notes)
    _add_records(root, found, notes)
    return Status(found, notes)


def _count(root: Path, path: str, status: ModuleStatus) -> None:
    """Count an artifact and its rows."""
    status.files += 1
    try:
        if path.endswith(".parquet"):
            with pq.ParquetFile(root / path) as file:
                contract = contract_of(file.schema_arrow)
                name = contract.name if contract else "unknown"
                status.tables[name] = status.tables.get(name, 0) + file.metadata.num_rows
        elif path.endswith(_REQUESTS):
            with (root / path).open("rb") as stream:
                status.requests += sum(1 for line in stream if line.strip())
    except (pa.ArrowException, OSError):
        status.unreadable.append(path)


def _add_calls(root: Path, paths: list[str], status: ModuleStatus, models: Mapping[str, ModelConfig]) -> None:
    """Count answers, and what they have cost."""
    tokens: dict[str, list[int]] = {}
    asked: set[tuple[str, str]] = set()
    for path in paths:
        model = PurePosixPath(path).name.removesuffix(_RESPONSES)
        try:
            responses = read_responses(root / path)
        except UserError:
            status.unreadable.append(path)
            continue
        status.responses += len(responses)
        sums = tokens.setdefault(model, [0, 0])
        for response in responses:
            status.errors += response.error is not None
            status.truncated += response.finish_reason == "length"
            if (model, response.custom_id) not in asked:
                asked.add((model, response.custom_id))
                sums[0] += response.prompt_tokens or 0
                sums[1] += response.completion_tokens or 0
    status.tokens_in = sum(sent for sent, _ in tokens.values())
    status.tokens_out = sum(received for _, received in tokens.values())
    costs = [price(models[name], *sums) if name in models else None for name, sums in sorted(tokens.items())]
    known = [cost for cost in costs if cost is not None]
    status.cost = sum(known) if len(known) == len(costs) else None


def _add_jobs(
    root: Path, project: DvcProject, found: list[ModuleStatus], jobs: list[Job], notes: list[str]
) -> None:
    """What a full run would make: files that are not there, and files that are out of date."""
    unknown = 0
    for status in found:
        folders = project.outs(status.module)
        own = [job for job in jobs if any(PurePosixPath(job.outputs[0]).is_relative_to(f) for f in folders)]
        outputs = [(job, path) for job in own for path in job.outputs if not path.endswith(SIDECAR_SUFFIX)]
        there = [(job, path) for job, path in outputs if (root / path).is_file()]
        status.missing = sorted({path for _, path in outputs} - {path for _, path in there})
        untold = [path for job, path in there if job.stale is None and not job.known]
        unknown += len(untold)
        if not untold:
            status.stale = sorted(path for job, path in there if job.stale is not None)
    if unknown:
        notes.append(
            f"Stale files are unknown: Snakemake has no record of {unknown} files. `snakemake --dry-run` looks at them."
        )


def _add_records(root: Path, found: list[ModuleStatus], notes: list[str]) -> None:
    """Whether DVC's record of a module is that of now."""
    if not (root / "dvc.lock").is_file():
        notes.append("Nothing is recorded: dvc.lock is not there. A full run of snakemake writes it.")
        return
    done = run_dvc(root, "status", "--json")
    try:
        changed = json.loads(done.stdout)
    except ValueError:
        notes.append(f"What is recorded is unknown: dvc status: {done.stderr.strip()}")
        return
    for status in found:
        status.recorded = status.module not in changed
