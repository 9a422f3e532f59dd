"""The bridge between the engines: what a run of Snakemake must see to so that DVC's record is never wrong.

Guard: what runs is what `params.yaml` says. Adopt: what DVC has brought is described to Snakemake. Prune: what
the present parameters do not ask for goes. Certify: what a full run has proved current is recorded in `dvc.lock`.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from magister.config.params import read_yaml
from magister.display import counted
from magister.errors import UserError
from magister.pipeline._adopt import SEEN, Adoption, Records, adopt, distrust, not_made
from magister.pipeline._dvc import STORE, DvcProject, files_under, in_stage, is_remnant, run_dvc
from magister.pipeline._dvc_lock import hold_folders
from magister.pipeline._folder import Membership
from magister.pipeline._manifest import MANIFEST, folder_md5, recorded_md5, update_manifest, write_manifest
from magister.pipeline._proof import Proof
from magister.pipeline._seen import Seen
from magister.provenance import SIDECAR_SUFFIX, file_md5, read_lineage

PARAMS = "params.yaml"
OWN = "data/own"
PREFIX = "magister: "
"""Begins each line about foreign files, among all that Snakemake prints."""
_NAMED = 5
_NOT_RECORDED = "Not recorded in dvc.lock"
_EMPTY = folder_md5({}, ".")
"""How DVC records a folder with nothing in it."""
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
    _held: ExitStack = field(default_factory=ExitStack)

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

    def hold(self) -> None:
        """Keep DVC from taking the stages' folders away while jobs run. DVC's own stage holds them already.

        Raises:
            UserError: DVC is at work there.
        """
        if self.project.exists and in_stage() is None:
            self._held = hold_folders(self.project.root, self.project.outs())

    def finish(self, proof: Proof | None, *, ran: bool) -> int:
        """End a run: let DVC in again, and record what the run has proved.

        Args:
            proof: what it has proved, if it has.
            ran: whether jobs may have run.

        Returns:
            Exit code of a run that has itself succeeded: 0, or 1 where DVC cannot record what it should.
        """
        self._held.close()
        try:
            if proof is not None:
                problems = self.settle(proof.outputs, full=proof.full)
            else:
                problems = []
                if ran and self.project.exists and self.membership.still_alone():
                    self._look(set())
        except UserError as error:
            problems = [f"{_NOT_RECORDED}: {error}"]
        say("\n".join(problems))
        return int(bool(problems) and self.project.versioned)

    def settle(self, asked: set[str], *, full: bool) -> list[str]:
        """After a run that has proved current what it was asked for: prune, and certify if that was everything.

        Args:
            asked: outputs of all jobs of the run, also of those that had nothing to do.
            full: whether the run covered everything.

        Returns:
            What keeps DVC from recording the run, as messages.
        """
        project, stage = self.project, in_stage()
        if not project.exists:
            return []
        partial = not (full or stage)
        if not self.membership.still_alone():
            return (
                []
                if partial
                else [f"{_NOT_RECORDED}: another Snakemake process works in this folder. Run again later."]
            )
        edited = self._look(asked)
        if edited:
            return [
                f"{_NOT_RECORDED}: changed during the run, and not by it: {_some(edited)}. Run again: each is put back "
                "or made anew."
            ]
        if partial:
            return []
        if self._stats([PARAMS, "dvc.yaml", *project.deps]) != self._sources or not self._as_written():
            distrust(project, asked)
            return [f"{_NOT_RECORDED}: a source file or params.yaml was edited during the run. Run again."]
        folders = project.outs(stage)
        for folder in folders:
            # A stage's folder may have nothing in it; DVC wants it to be there.
            (project.root / folder).mkdir(parents=True, exist_ok=True)
        missing = sorted(path for path in asked if not (project.root / path).exists() and stage is None)
        if missing:
            return [
                f"{_NOT_RECORDED}: these files are missing, and nothing that is out of date needs them. Make "
                f"them with `snakemake --cores all -- {' '.join(missing[:_NAMED])}`"
                + (f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else "")
            ]
        kept = self._prune(asked, folders)
        if kept:
            return [
                f"{_NOT_RECORDED}: of these files nothing in params.yaml is the source, and DVC's cache does "
                "not hold them. Move them away or delete them, then run again:\n  "
                + "\n  ".join(_places(kept, asked, folders))
            ]
        problem = self._record_store() or (self._certify() if stage is None else self._name_files(folders))
        return [] if problem is None else [f"{_NOT_RECORDED}: {problem}"]

    def _look(self, asked: set[str]) -> list[str]:
        """Remember what every file is now, for the next look.

        Returns:
            Files of those asked for that something else than a job of Snakemake's has changed.
        """
        root = self.project.root
        files = files_under(root, self.project.outs())
        seen = Seen(root / SEEN)
        foreign, edited = not_made(root, files, seen, Records(root / ".snakemake"))
        made = {p: s for p, s in files.items() if p not in foreign | edited and not is_remnant(p)}
        seen.keep(root, made, doubted=edited)
        return sorted((foreign | edited) & asked)

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

    def _mark(self, name: str) -> Path:
        return self.project.root / ".snakemake" / f"magister.{name}"

    def _state(self, folders: list[str]) -> str:
        return hashlib.sha256(json.dumps(self._stats(folders)).encode()).hexdigest()

    def _is_marked(self, name: str, folders: list[str]) -> bool:
        """Whether files are as they were when the mark was set."""
        mark = self._mark(name)
        return mark.is_file() and mark.read_text(encoding="utf-8") == self._state(folders)

    def _record_store(self) -> str | None:
        """Track the answers of models on their own: no stage owns them, so none removes them.

        Returns:
            What went wrong, if anything.
        """
        folders = [STORE, f"{STORE}.dvc"]
        if not (self.project.root / STORE).is_dir() or self._is_marked("store", folders):
            return None
        done = run_dvc(self.project.root, "add", "--quiet", "--no-relink", STORE)
        if done.returncode:
            return f"dvc add: {done.stderr.strip()}"
        self._mark("store").write_text(self._state(folders), encoding="utf-8")
        return None

    def _md5s(self) -> dict[str, str]:
        """md5 of every file in the folders of the stages, and of the answers of models."""
        root = self.project.root
        seen, kept = Seen(root / SEEN), Seen(root / ".snakemake" / "magister.kept")
        kept.keep(root, files_under(root, [STORE]))
        there = files_under(root, self.project.outs())
        return {path: md5 for path, md5 in seen.md5s.items() if path in there} | kept.md5s

    def _name_files(self, folders: list[str]) -> str | None:
        """Write into the manifest what DVC is about to record for a stage."""
        chosen = [Path(folder) for folder in (*folders, STORE)]
        named = {
            path: md5
            for path, md5 in self._md5s().items()
            if any(Path(path).is_relative_to(folder) for folder in chosen)
        }
        update_manifest(self.project.root / MANIFEST, named, [*folders, STORE])
        return None

    def _certify(self) -> str | None:
        """Record the outputs of all stages: in `dvc.lock` the folders, in `artifacts.md5` their files.

        Returns:
            What went wrong, if anything. Then `dvc.lock` says what it said.
        """
        project, root = self.project, self.project.root
        folders = [PARAMS, "dvc.yaml", "dvc.lock", MANIFEST, *project.deps, *project.outs()]
        if self._is_marked("certified", folders):
            return None
        md5s = self._md5s()
        problem = _contradiction(root, md5s)
        if problem is not None:
            return problem
        lock = root / "dvc.lock"
        before = lock.read_bytes() if lock.is_file() else None
        done = run_dvc(root, "commit", "--quiet", "--force", "--no-relink")
        if done.returncode:
            return f"dvc commit: {done.stderr.strip()}"
        wrong = [
            path for path, md5 in project.recorded().items() if (recorded_md5(md5s, path) or _EMPTY) != md5
        ]
        if wrong:
            lock.unlink()
            if before is not None:
                lock.write_bytes(before)
            return f"changed while it was recorded: {_some(wrong)}. Run again."
        write_manifest(root / MANIFEST, md5s)
        self._mark("certified").write_text(self._state(folders), encoding="utf-8")
        return None


def _contradiction(root: Path, md5s: Mapping[str, str]) -> str | None:
    """The first file that was made from another one than the one that is here, as a message.

    Snakemake compares what a job has read with what is here only where that is newer.
    """
    for path in sorted(md5s):
        if path.endswith(SIDECAR_SUFFIX) or path.split("/")[0] == STORE:
            continue
        try:
            inputs = read_lineage(root / path).get("inputs", {})
        except UserError:
            continue
        for name, md5 in inputs.items():
            if md5s.get(name, md5) != md5:
                return (
                    f"{path} was made from another {name} than the one that is here. Delete {path} and {name}, and run "
                    "again."
                )
    return None


def _some(paths: Collection[str]) -> str:
    """The first of some paths, and how many more there are."""
    named = sorted(paths)
    more = len(named) - _NAMED
    return ", ".join(named[:_NAMED]) + (f" and {more} more" if more > 0 else "")


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
