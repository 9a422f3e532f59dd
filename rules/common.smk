"""Helpers that the rules share: paths, slices of the parameters, the code a step depends on."""

import hashlib
import json
import os
import sys
from pathlib import Path

from magister.config.base import LocalFile
from magister.config.models import PRICES
from magister.config.params import validate_params
from magister.config.teaching import derived_leagues, played_leagues
from magister.errors import UserError
from magister.offline import is_replay
from magister.pipeline import JOBS_FILE, Membership, check_folders, join_folder, quieten
from magister.provenance import code_files
from magister.recorded import pinned_path
from snakemake.settings.types import ExecMode

if os.environ.get("MAGISTER_PROGRESS") == "1":
    # Each step reports itself; Snakemake speaks up only where something is wrong.
    quieten(logger)

try:
    if workflow.exec_mode == ExecMode.DEFAULT:
        check_folders(Path("."))
    # Validated as a copy: `config` itself stays what params.yaml says, without defaults.
    PARAMS = validate_params(json.loads(json.dumps(config)))
    for name, dataset in PARAMS.items.datasets.items():
        if dataset.kind == "file" and not Path(dataset.path).is_file():
            raise UserError(f"params.yaml: items.datasets.{name}.path: no file {dataset.path!r}")
    for path in PARAMS.teaching.external.boards:
        if not Path(path).is_file():
            raise UserError(f"params.yaml: teaching.external.boards: no file {path!r}")
    for name, source in PARAMS.arena.sources.items():
        if source.kind == "file" and not Path(source.path).is_file():
            raise UserError(f"params.yaml: arena.sources.{name}.path: no file {source.path!r}")
    for name, league in PARAMS.arena.leagues.items():
        for path in league.people:
            if not Path(path).is_file():
                raise UserError(f"params.yaml: arena.leagues.{name}.people: no file {path!r}")
    for name, one in PARAMS.rubrics.sets.items():
        for option in ("scenarios", "anchors"):
            for path in getattr(one, option):
                if not Path(path).is_file():
                    raise UserError(f"params.yaml: rubrics.sets.{name}.{option}: no file {path!r}")
except UserError as error:
    sys.exit(f"{error}")

# A job that Snakemake starts on its own belongs to a run that is in the folder already.
if workflow.exec_mode == ExecMode.DEFAULT:
    # Who only wants to know the jobs is in no run's way.
    FOLDER = Membership(None, False) if JOBS_FILE in os.environ else join_folder(Path(".snakemake"))
    if FOLDER.held is not None and not FOLDER.alone:
        print(
            "Another Snakemake process works in this folder: a run beside it that writes the same files is refused.",
            file=sys.stderr,
        )

FULL = PARAMS.model_dump(mode="json")
# Leagues that stand on boards; those that ask the models again for the ablations of these; all that are played.
LEAGUES = PARAMS.teaching.leagues
DERIVED = derived_leagues(PARAMS.teaching, PARAMS.items.variants)
PLAYED = played_leagues(PARAMS.teaching, PARAMS.items.variants)
DATASETS = PARAMS.items.datasets

# A replay asks no model, so that it reads no weights: steps quote what the record says of them.
REPLAY = is_replay()

# Scripts run with the interpreter that runs Snakemake, whether or not its environment is activated. They may
# write bytecode: without it every job would compile its imports again.
# And with the source beside them, which is the one that is hashed, whichever folder the package was installed from.
shell.prefix(
    f"unset PYTHONDONTWRITEBYTECODE; export PATH={Path(sys.executable).parent}:$PATH; "
    'export PYTHONPATH="$PWD/src${{PYTHONPATH:+:$PYTHONPATH}}"; '
)


wildcard_constraints:
    model=r"[^/]+",
    league=r"[^/]+",
    dataset=r"[^/]+",
    variant=r"[^/]+",
    round=r"\d",


def code(module):
    """Source files that a script runs: listed as input, so that an edit is noticed by content."""
    return list(code_files(f"scripts.{module}"))


def section(**values):
    """The one parameter of a rule: the slice that its script gets, as canonical JSON.

    One value, since Snakemake compares the set of values and would not notice two that change places.
    """
    return json.dumps(values, sort_keys=True, ensure_ascii=False)


def step(module, reads, writes, wildcards=()):
    """The shell command of a rule.

    Args:
        module: script, for instance `teaching.guide`.
        reads: names of its inputs; without files they are left out.
        writes: names of its outputs.
        wildcards: names of the wildcards that the script gets.
    """
    values = ", ".join(f'"{name}": "{{wildcards.{name}}}"' for name in wildcards)
    lines = [
        f"python -m scripts.{module}",
        "--code {input.code:q}",
        "--params {params.section:q}",
        f"--wildcards '{{{{{values}}}}}'",
        "--log {log:q}",
    ]
    lines += [f"--in {name} {{input.{name}:q}}" for name in reads]
    lines += [f"--out {name} {{output.{name}:q}}" for name in writes]
    command = " \\\n    ".join(lines)
    # Recorded in the lineage: tells a file made by another form of the command.
    return f"{command} \\\n    --command {hashlib.md5(command.encode(), usedforsecurity=False).hexdigest()}"


def derived_of(name):
    """The leagues that are derived from a league, by name."""
    return {other: derived for other, derived in DERIVED.items() if derived.base == name}


def model_params(name):
    """A model's entry with its defaults, without its prices, which no step depends on."""
    return {option: value for option, value in FULL["models"][name].items() if option not in PRICES}


def weights_file(name):
    """The file of a model's weights; none where it has none, or none is read."""
    weights = PARAMS.models[name].weights
    return [] if weights is None or REPLAY else [pinned_path(weights)]


def fingerprint_file(name):
    """Where a model's fingerprint lies."""
    return f"data/models/{name}.json"


def prompt_file(task, version):
    """A prompt template."""
    return f"prompts/{task}/{version}.md"
