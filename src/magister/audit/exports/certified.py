"""Whether a chain is what the last recorded run made, with the parameters and rules that are here now."""

from __future__ import annotations

from typing import Any

from magister.audit.exports.chain import Chain
from magister.audit.trail import Trail
from magister.config.params import read_yaml
from magister.errors import UserError
from magister.pipeline import DvcProject
from magister.provenance import SIDECAR_SUFFIX

_AGAIN = "Bring everything up to date: snakemake --cores all"


def _stages(chain: Chain) -> dict[str, dict[str, Any]]:
    """The recorded stages that made something of the chain."""
    lock = chain.root / "dvc.lock"
    if not lock.is_file():
        raise UserError("dvc.lock: not there: no full run has been recorded. Run: snakemake --cores all")
    recorded = read_yaml(lock)
    stages = recorded.get("stages") if isinstance(recorded, dict) else None
    if not isinstance(stages, dict):
        raise UserError(f"dvc.lock: names no stages. {_AGAIN}")
    return {
        name: stage
        for name, stage in stages.items()
        if any(
            path == out["path"] or path.startswith(f"{out['path']}/")
            for out in stage.get("outs", [])
            for path in chain.made
        )
    }


def check_certified(chain: Chain, trail: Trail) -> None:
    """Hold a chain, the parameters, the rules and the code against the records.

    A run crate says that these parameters and these sources made these results. Lineage records cannot tell all of
    it: they hold the slices of the parameters and not the file, and the code of steps and not the rules.

    Args:
        chain: what is exported.
        trail: the artifacts it is from.

    Raises:
        UserError: `dvc.lock` is not there or records something else; a source file has changed since.
    """
    stages = _stages(chain)
    certified = DvcProject(chain.root).certified
    # A record beside a file says as much as the file does.
    beside = [path + SIDECAR_SUFFIX for path in chain.made]
    for path in sorted([*chain.made, *(path for path in beside if trail.md5(path) is not None)]):
        if path not in certified:
            raise UserError(
                f"{path}: not in dvc.lock, or DVC's cache lacks the list of its folder. "
                "Run: snakemake --cores all, or dvc fetch"
            )
        if certified[path] != trail.md5(path):
            raise UserError(f"{path}: not the content that dvc.lock records. {_AGAIN}")
    for name, stage in sorted(stages.items()):
        for file, sections in stage.get("params", {}).items():
            now = read_yaml(chain.root / file)
            for section, value in sections.items():
                if not isinstance(now, dict) or section not in now or now[section] != value:
                    raise UserError(f"{file}: {section} is not as it was when stage {name} ran. {_AGAIN}")
        for dep in stage.get("deps", []):
            path, md5 = dep["path"], str(dep.get("md5", ""))
            if (chain.root / path).is_file() and trail.md5(path) != md5:
                raise UserError(f"{path}: not as it was when stage {name} ran. {_AGAIN}")
    for path, md5 in chain.code:
        if trail.md5(path) != md5:
            raise UserError(f"{path}: not the code that ran. {_AGAIN}")
