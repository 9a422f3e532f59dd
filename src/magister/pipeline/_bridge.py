"""The bridge between the engines: what a run of Snakemake must see to so that DVC's record is never wrong.

Guard: what runs is what `params.yaml` says. Adopt: what DVC has brought is described to Snakemake. Prune: what
the present parameters do not ask for goes. Certify: what a full run has proved current is recorded in `dvc.lock`.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from magister.config.params import read_yaml
from magister.display import counted
from magister.errors import UserError
from magister.pipeline._adopt import Adoption, Records, adopt, distrust
from magister.pipeline._dvc import DvcProject, files_under, in_stage, is_remnant, run_dvc
from magister.pipeline._folder import Membership
from magister.provenance import file_md5

PARAMS = "params.yaml"
STORE = "store"
OWN = "data/own"
PREFIX = "magister: "
"""Begins each line about foreign files, among all that Snakemake prints."""
_NAMED = 5
SECTIONS = ("models", "embedders", "items", "teaching", "arena", "diagnosis", "rubrics", "statistics", "llm")
"""Sections that `dvc.yaml` compares: DVC needs each of them to stand in the file."""


@dataclass
class Bridge:
    """What one Snakemake process does for DVC. Without DVC in the folder it only guards.

    Attributes:
        project: the folder.
        config: the configuration as Snakemake has merged it.
        membership: this process's place among those that work in the folder.
    """

    project: DvcProject
    config: Mapping[str, Any]
    membership: Membership
    _sources: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.config = _plain(self.config)
        if self.project.exists:
            self._sources = self._stats([PARAMS, "dvc.yaml", *self.project.deps])

    def _stats(self, folders: list[str]) -> dict[str, list[int]]:
        files = files_under(self.project.root, folders)
        return {path: [stat.st_mtime_ns, stat.st_size] for path, stat in sorted(files.items())}

    def guard(self, *, touching: bool = False) -> None:
        """Refuse a run whose results could not be told from those of `params.yaml`.

        Args:
            touching: whether the run only says that files are current (`--touch`).

        Raises:
            UserError: the configuration is another one, or nothing would be proved.
        """
        written = read_yaml(self.project.root / PARAMS)
        if self.config != _plain(written):
            keys = sorted(_differences(self.config, written))
            raise UserError(
                f"{PARAMS} and the configuration of this run differ in {', '.join(keys[:_NAMED])}: the results would "
                f"not be those of {PARAMS}. Edit the file instead of using --config or --configfile, or try the "
                "change with `dvc exp run --set-param`."
            )
        if not self.project.exists:
            return
        if touching:
            raise UserError(
                "--touch says that files are current and proves nothing. `magister restore` checks files that DVC has "
                "brought and adopts them."
            )
        self._guard_files()
        lacking = [name for name in SECTIONS if name not in self.config]
        if lacking:
            raise UserError(
                f"{PARAMS}: no section {lacking[0]!r}. DVC compares the sections of the file, so each must stand "
                f"in it: add the line `{lacking[0]}: {{}}` for the defaults."
            )

    def _guard_files(self) -> None:
        """DVC does not notice an edit of a question file that no stage names among what it reads."""
        for name, dataset in self.config.get("items", {}).get("datasets", {}).items():
            path = dataset.get("path")
            if path is not None and not self.project.compares(path):
                raise UserError(
                    f"{PARAMS}: items.datasets.{name}.path: DVC does not compare {path!r}, so `dvc repro` would not "
                    f"notice its edits. Move it to {OWN}/ and write `path: {OWN}/{Path(path).name}`."
                )

    def adopt(self, commands: Mapping[str, str]) -> Adoption:
        """Describe to Snakemake what DVC has brought, and bring back certified files that were changed or removed.

        A folder that is gone altogether is left so, to be made anew, unless DVC has removed it to run a stage.

        Args:
            commands: shell command of each rule.
        """
        if not self.project.exists or not self.membership.alone:
            return Adoption()
        stage = in_stage()
        folders = self.project.outs(stage) if stage else self.project.outs()
        if stage is None:
            folders = [folder for folder in folders if (self.project.root / folder).is_dir()]
        return adopt(self.project, commands, folders)

    def settle(self, asked: set[str], *, full: bool) -> list[str]:
        """After a run that has proved current what it was asked for: prune, and certify if that was everything.

        Args:
            asked: outputs of all jobs of the run, also of those that had nothing to do.
            full: whether the run covered everything.

        Returns:
            Messages for the user.
        """
        project, stage = self.project, in_stage()
        if not project.exists or not (full or stage):
            return []
        if not self.membership.still_alone():
            return [
                "Not recorded in dvc.lock: another Snakemake process works in this folder. Run again later."
            ]
        if self._stats([PARAMS, "dvc.yaml", *project.deps]) != self._sources or not self._as_written():
            distrust(project, asked)
            return [
                "Not recorded in dvc.lock: a source file or params.yaml was edited during the run. Run again."
            ]
        folders = project.outs(stage)
        for folder in folders:
            # A stage's folder may have nothing in it; DVC wants it to be there.
            (project.root / folder).mkdir(parents=True, exist_ok=True)
        missing = sorted(path for path in asked if not (project.root / path).exists() and stage is None)
        if missing:
            return [
                "Not recorded in dvc.lock: these files are missing, and nothing that is out of date needs them. Make "
                f"them with `snakemake --cores all -- {' '.join(missing[:_NAMED])}`"
                + (f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else "")
            ]
        kept = self._prune(asked, folders)
        if kept:
            return [
                "Not recorded in dvc.lock: of these files nothing in params.yaml is the source, and DVC's cache does "
                "not hold them. Move them away or delete them, then run again:\n  "
                + "\n  ".join(_places(kept, asked, folders))
            ]
        problem = self._record_store()
        if problem is None and stage is None:
            problem = self._certify()
        return [] if problem is None else [f"Not recorded in dvc.lock: {problem}"]

    def _as_written(self) -> bool:
        try:
            return bool(self.config == _plain(read_yaml(self.project.root / PARAMS)))
        except UserError:
            return False

    def _prune(self, asked: set[str], folders: list[str]) -> list[str]:
        """Remove what nothing asks for and DVC's cache holds.

        Returns:
            What nothing asks for and only this folder holds.
        """
        root, records = self.project.root, None
        kept = []
        for path in sorted(files_under(root, folders)):
            if path in asked:
                continue
            if not is_remnant(path) and self.project.cached(file_md5(root / path)) is None:
                kept.append(path)
                continue
            records = records or Records(root / ".snakemake")
            records.forget(path)
            (root / path).unlink()
        for folder in folders:
            _remove_empty(root / folder)
        return kept

    def _record(self, name: str, folders: list[str], *command: str) -> str | None:
        """Run a DVC command unless the files are as they were after it last ran.

        Returns:
            What went wrong, if anything.
        """
        mark = self.project.root / ".snakemake" / f"magister.{name}"

        def state() -> str:
            return hashlib.sha256(json.dumps(self._stats(folders)).encode()).hexdigest()

        if mark.is_file() and mark.read_text(encoding="utf-8") == state():
            return None
        done = run_dvc(self.project.root, *command)
        if done.returncode:
            return f"dvc {command[0]}: {done.stderr.strip()}"
        mark.write_text(state(), encoding="utf-8")
        return None

    def _record_store(self) -> str | None:
        """Track the answers of models on their own: no stage owns them, so none removes them."""
        if not (self.project.root / STORE).is_dir():
            return None
        return self._record("store", [STORE, f"{STORE}.dvc"], "add", "--quiet", "--no-relink", STORE)

    def _certify(self) -> str | None:
        """Record the outputs of all stages in `dvc.lock`."""
        folders = [PARAMS, "dvc.yaml", "dvc.lock", *self.project.deps, *self.project.outs()]
        return self._record("certified", folders, "commit", "--quiet", "--force", "--no-relink")


def _plain(value: Any) -> Any:
    """A configuration as JSON has it, so that two of them compare by what they say."""
    return json.loads(json.dumps(value))


def _differences(one: Any, other: Any, place: str = "") -> set[str]:
    """Keys in which two configurations differ."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        found: set[str] = set()
        for key in {*one, *other}:
            inner = f"{place}.{key}" if place else str(key)
            found |= _differences(one[key], other[key], inner) if key in one and key in other else {inner}
        return found
    return set() if one == other else {place or "everything"}


def _places(kept: Collection[str], asked: Collection[str], folders: Collection[str]) -> list[str]:
    """Where files lie that nothing asks for, as a few lines.

    Args:
        kept: their paths.
        asked: paths that must stay.
        folders: those of the stages, which stay too.

    Returns:
        The largest folders with nothing else in them, with the number of their files; single files by their paths.
    """
    needed = {Path(folder) for folder in folders}
    needed |= {parent for path in (*asked, *folders) for parent in Path(path).parents}
    places: dict[Path, list[str]] = {}
    for path in kept:
        free = [parent for parent in Path(path).parents if parent not in needed]
        places.setdefault(free[-1] if free else Path(path), []).append(path)
    ordered = sorted(places.items(), key=lambda place: (-len(place[1]), place[0]))
    lines = [
        some[0] if len(some) == 1 else f"{place}/ ({counted(len(some), 'file')})" for place, some in ordered
    ]
    more = sum(len(some) for _, some in ordered[_NAMED:])
    return lines[:_NAMED] + ([f"and {counted(more, 'file')} in other places"] if more else [])


def _remove_empty(folder: Path) -> None:
    """Remove folders in a folder that hold nothing."""
    for path in sorted((p for p in folder.rglob("*") if p.is_dir()), reverse=True):
        if not any(path.iterdir()):
            path.rmdir()


def describe(adoption: Adoption) -> str:
    """What became of foreign files, as a message; empty where there were none."""
    lines = []
    if adoption.adopted:
        lines.append(
            f"as DVC has recorded them, fitting their lineage, adopted: {counted(len(adoption.adopted), 'file')}"
        )
    if adoption.repaired:
        names = ", ".join(adoption.repaired[:_NAMED]) + (" ..." if len(adoption.repaired) > _NAMED else "")
        lines.append(
            f"changed or lost, put back from DVC's cache: {counted(len(adoption.repaired), 'file')}: {names}"
        )
    if adoption.refused:
        lines.append(
            f"put here by something else, will be made anew: {counted(len(adoption.refused), 'file')}"
        )
        lines += [f"  {path}: {reason}" for path, reason in list(adoption.refused.items())[:_NAMED]]
        if len(adoption.refused) > _NAMED:
            lines.append(f"  and {len(adoption.refused) - _NAMED} more")
    return "\n".join(PREFIX + line for line in lines)


def say(text: str) -> None:
    """Print a message for the user beside Snakemake's own."""
    if text:
        print(text, file=sys.stderr, flush=True)
