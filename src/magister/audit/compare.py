"""What was rebuilt, held to the record: which files are the same, which differ, and what that began with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from magister.audit.content import apart, data_md5, named, read_table
from magister.audit.lock import LOCK, read_lock
from magister.audit.record import Record, versions
from magister.audit.replay import Replay
from magister.audit.trail import Trail, read_trail
from magister.config.params import read_yaml
from magister.errors import UserError
from magister.pipeline import MANIFEST, DvcProject, folder_md5, read_manifest
from magister.pipeline._dvc import files_under, is_remnant
from magister.provenance import SIDECAR_SUFFIX, file_md5, value_sha256

WEIGHTS = "data/raw/models/"
"""What a replay neither reads nor makes."""
ROUNDING = 1e-9
"""Fractions that are nearer than this, relative to their size, differ by rounding."""

Kind = Literal["data", "rounding", "origin", "missing", "new"]
"""How a file differs: what it says, in the last digits, only where it comes from; it is not there, or only here."""


@dataclass(frozen=True)
class Difference:
    """A file that is not what was recorded.

    Attributes:
        path: the file.
        kind: how it differs.
        first: the first file in its chain that differs.
        cause: why that one does.
    """

    path: str
    kind: Kind
    first: str
    cause: str


@dataclass
class Comparison:
    """A replay beside its record.

    Attributes:
        identical: paths with the same bytes.
        left_out: recorded files that a replay neither reads nor makes: weights.
        differences: all others, sorted by path.
        code: source files that are not those of the recorded run.
        packages: package -> version of the record and version here, where they differ.
        folders: folder -> whether it is what `dvc.lock` records; weights count as recorded. Empty without it.
        unlike: what the record itself has that `dvc.lock` or `artifacts.md5` has otherwise.
    """

    identical: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    packages: dict[str, tuple[str, str]] = field(default_factory=dict)
    folders: dict[str, bool] = field(default_factory=dict)
    unlike: list[str] = field(default_factory=list)

    def of(self, *kinds: Kind) -> list[Difference]:
        """Differences of some kinds."""
        return [one for one in self.differences if one.kind in kinds]

    @property
    def exit_code(self) -> int:
        """0: everything is byte-identical; 1: something differs; 2: something could not be replayed."""
        if self.of("data", "rounding", "origin", "new") or self.unlike:
            return 1
        return 2 if self.of("missing") else 0


def compare(root: Path, done: Replay) -> Comparison:
    """Hold what was rebuilt to the record, to `dvc.lock` and, where it is there, to `artifacts.md5`.

    Args:
        root: the project's folder.
        done: the replay.
    """
    record, folder = done.record, done.folder
    project = DvcProject(folder)
    here = {
        path: file_md5(folder / path) for path in files_under(folder, project.outs()) if not is_remnant(path)
    }
    result = Comparison(packages=_other_versions(record))
    result.code = sorted(
        path
        for path, md5 in record.code.items()
        if not (folder / path).is_file() or file_md5(folder / path) != md5
    )
    kinds: dict[str, Kind] = {path: "new" for path in here if path not in record.outputs}
    for path, output in record.outputs.items():
        if path.startswith(WEIGHTS):
            result.left_out.append(path)
        elif path not in here:
            kinds[path] = "missing"
        elif here[path] == output.md5:
            result.identical.append(path)
        else:
            same = output.data is None or data_md5(folder / path) == output.data
            kinds[path] = "origin" if same else "data"
    try:
        trail = read_trail(folder, project.outs())
    except UserError:
        # Not a single step came to its end.
        trail = Trail(folder, {}, [])
    causes = _Causes(trail, record, kinds, result, _parameters(root))
    originals = _Originals(root)
    for path, kind in sorted(kinds.items()):
        first, cause = causes.first(path)
        if kind == "data" and originals.rounded(path, record.outputs[path].md5, folder / path):
            kind = "rounding"
        result.differences.append(Difference(path, kind, first, cause))
    _hold_to_lock(root, result, record, here)
    _hold_to_manifest(root, result, record)
    return result


def _other_versions(record: Record) -> dict[str, tuple[str, str]]:
    here = versions()
    return {
        name: (version, here.get(name, "not installed"))
        for name, version in sorted(record.packages.items())
        if here.get(name) != version
    }


def _hold_to_lock(root: Path, result: Comparison, record: Record, here: Mapping[str, str]) -> None:
    lock = read_lock(root)
    if lock is None:
        return
    recorded = {path: output.md5 for path, output in record.outputs.items()}
    complete = {path: recorded[path] for path in result.left_out} | dict(here)
    for out, md5 in lock.outs.items():
        if folder_md5(recorded, out) != md5:
            result.unlike.append(
                f"{out}: {LOCK} records another run than the record; run `magister record` again"
            )
        result.folders[out] = folder_md5(complete, out) == md5


def _hold_to_manifest(root: Path, result: Comparison, record: Record) -> None:
    path = root / MANIFEST
    if not path.is_file():
        return
    for name, md5 in read_manifest(path).items():
        output = record.outputs.get(name)
        if output is not None and output.md5 != md5:
            result.unlike.append(f"{name}: {MANIFEST} has md5 {md5}, the record {output.md5}")


def _parameters(root: Path) -> list[str]:
    """Parameters that are not those of `dvc.lock`, as `key: old -> new`."""
    lock = read_lock(root)
    if lock is None:
        return []
    now = read_yaml(root / "params.yaml")
    found = (
        {name: value for name, value in now.items() if name in lock.params} if isinstance(now, dict) else {}
    )
    return changes(dict(lock.params), found)


def changes(one: Any, other: Any, place: str = "") -> list[str]:
    """What differs between two values of parameters, as `key: old -> new`, sorted by key.

    Args:
        one: the value before.
        other: the value after.
        place: name of the value.
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        lines = []
        for key in sorted({*one, *other}, key=str):
            inner = f"{place}.{key}" if place else str(key)
            if key not in one:
                lines.append(f"{inner}: added {_short(other[key])}")
            elif key not in other:
                lines.append(f"{inner}: removed, was {_short(one[key])}")
            else:
                lines += changes(one[key], other[key], inner)
        return lines
    return [] if one == other else [f"{place}: {_short(one)} -> {_short(other)}"]


def _short(value: Any, width: int = 48) -> str:
    text = str(value) if not isinstance(value, str) else repr(value)
    return text if len(text) <= width else text[: width - 3] + "..."


class _Originals:
    """The recorded files themselves, where this machine has them: in the project, or in DVC's cache."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._project = DvcProject(root)

    def rounded(self, path: str, md5: str, found: Path) -> bool:
        """Whether a table differs from the recorded one by rounding alone; False where that cannot be known."""
        if not path.endswith(".parquet"):
            return False
        source: Path | None = self._root / path
        if source is None or not source.is_file() or file_md5(source) != md5:
            source = self._project.cached(md5) if self._project.exists else None
        if source is None:
            return False
        gap = apart(read_table(source), read_table(found))
        return gap.same_form and gap.relative <= ROUNDING


class _Causes:
    """Finds the first file in a chain that is not as recorded, and why it is not."""

    def __init__(
        self,
        trail: Trail,
        record: Record,
        kinds: Mapping[str, Kind],
        result: Comparison,
        params: list[str],
    ) -> None:
        self._trail, self._record, self._kinds = trail, record, kinds
        self._result, self._params = result, params
        self._known: dict[str, tuple[str, str]] = {}

    def first(self, path: str) -> tuple[str, str]:
        """The first file behind a path that differs in what it says or, without one, in where it comes from."""
        if path in self._known:
            return self._known[path]
        described = path.removesuffix(SIDECAR_SUFFIX)
        artifact = self._trail.artifacts.get(described)
        if self._kinds.get(path) == "missing" or artifact is None:
            found = (path, "not made: a step before it stopped, or nothing in params.yaml asks for it")
        else:
            behind = self._behind(path, artifact.inputs)
            found = self.first(behind) if behind else (described, self._cause(described))
        self._known[path] = found
        return found

    def _behind(self, path: str, inputs: Iterable[str]) -> str | None:
        """The input to blame: one that says something else; for a file that says the same, any that differs."""
        kinds: tuple[Kind, ...] = ("data",) if self._kinds.get(path) == "data" else ("data", "origin")
        for kind in kinds:
            for name in sorted(inputs):
                if self._kinds.get(name) == kind:
                    return name
        return None

    def _cause(self, path: str) -> str:
        artifact = self._trail.artifacts[path]
        record = self._record
        causes = []
        code = [
            name for name, md5 in artifact.lineage.get("code", {}).items() if record.code.get(name) != md5
        ]
        if code:
            causes.append(f"code: {named(code)}")
        read = [
            name
            for name, md5 in artifact.inputs.items()
            if name not in self._trail.artifacts and record.sources.get(name, md5) != md5
        ]
        added = [
            name
            for name in artifact.inputs
            if name not in record.outputs and name not in record.sources and not name.startswith(WEIGHTS)
        ]
        if read or added:
            causes.append(f"inputs: {named([*read, *added])}")
        output = record.outputs.get(path)
        if output is not None and value_sha256(artifact.lineage.get("params", {})) != output.params:
            causes.append(f"parameters: {'; '.join(self._params[:5]) or artifact.rule}")
        if causes:
            return "; ".join(causes)
        if output is None:
            return "not in the record: params.yaml did not ask for it"
        others = [f"{name} {old} -> {new}" for name, (old, new) in self._result.packages.items()]
        if others:
            return f"the same code, parameters and inputs under other packages: {', '.join(others)}"
        return "the same code, parameters, inputs and packages: the arithmetic of this processor"
