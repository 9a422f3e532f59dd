"""What stands behind some artifacts: the runs of rules and the files between them, checked to fit together."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from magister.audit.trail import Artifact, Trail
from magister.display import counted
from magister.errors import UserError
from magister.provenance import file_sha256, value_sha256

BOARDS = tuple(f"results/{board}.parquet" for board in ("teaching", "arena", "mastery", "rubrics"))
"""What is exported where nothing is named."""

MEDIA_TYPES = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".lock": "text/plain",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".py": "text/x-python",
    ".smk": "text/plain",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".yaml": "application/yaml",
}


def media_type(path: str) -> str:
    """Media type of a file by the end of its name; bytes where that says nothing."""
    if Path(path).name == "Snakefile":
        return "text/plain"
    return MEDIA_TYPES.get(Path(path).suffix, "application/octet-stream")


@dataclass(frozen=True)
class ChainFile:
    """A file of a chain.

    Attributes:
        path: from the project's folder, or as the user names a file outside it.
        md5: of the content that the records name.
        size: bytes; None where the file is not there.
        sha256: of the same content; None where the file is not there.
    """

    path: str
    md5: str
    size: int | None
    sha256: str | None


@dataclass(frozen=True)
class Run:
    """A run of a rule, as the records of its outputs have it.

    Attributes:
        record: the lineage record that all of its outputs carry.
        outputs: those of its outputs that are in the chain, sorted.
    """

    record: Mapping[str, Any]
    outputs: tuple[str, ...]

    @cached_property
    def id(self) -> str:
        """sha256 of the record: two runs with one id are one."""
        return value_sha256(self.record)

    @property
    def rule(self) -> str:
        """The rule's name."""
        return str(self.record["rule"])

    @property
    def name(self) -> str:
        """The rule with its wildcards, for people."""
        values = ", ".join(f"{key}={value}" for key, value in sorted(self.record["wildcards"].items()))
        return f"{self.rule} ({values})" if values else self.rule

    @property
    def inputs(self) -> Mapping[str, str]:
        """Path -> md5 of what it read."""
        inputs: Mapping[str, str] = self.record["inputs"]
        return inputs

    @property
    def code(self) -> Mapping[str, str]:
        """Path -> md5 of the source files that it ran."""
        code: Mapping[str, str] = self.record["code"]
        return code

    @property
    def models(self) -> Mapping[str, Any]:
        """Fingerprints of the models behind it, by name."""
        models: Mapping[str, Any] = self.record["models"]
        return models


@dataclass(frozen=True)
class Chain:
    """Some artifacts and everything behind them.

    Attributes:
        root: the project's folder.
        targets: the artifacts asked for, sorted.
        files: every artifact and source, by path, sorted.
        runs: what made the artifacts, sorted by rule, wildcards and id.
    """

    root: Path
    targets: tuple[str, ...]
    files: Mapping[str, ChainFile]
    runs: tuple[Run, ...]

    @cached_property
    def made(self) -> frozenset[str]:
        """Paths of the files that a rule has made."""
        return frozenset(path for run in self.runs for path in run.outputs)

    @property
    def sources(self) -> list[str]:
        """Paths of the files that no rule has made."""
        return [path for path in self.files if path not in self.made]

    @cached_property
    def code(self) -> tuple[tuple[str, str], ...]:
        """(path, md5) of the source files that any run used, sorted; a path comes twice where runs differ in it."""
        return tuple(sorted({item for run in self.runs for item in run.code.items()}))

    @cached_property
    def models(self) -> dict[tuple[str, str], Mapping[str, Any]]:
        """(name, sha256 of the fingerprint) -> fingerprint, sorted."""
        found = {
            (name, value_sha256(fingerprint)): fingerprint
            for run in self.runs
            for name, fingerprint in run.models.items()
        }
        return dict(sorted(found.items()))

    @property
    def versions(self) -> list[str]:
        """Versions of the package that made the artifacts, sorted."""
        return sorted({str(run.record["version"]) for run in self.runs})


_FIELDS = {
    "rule": str,
    "wildcards": dict,
    "inputs": dict,
    "params": dict,
    "params_sha256": str,
    "code": dict,
    "command": str,
    "version": str,
    "models": dict,
}


def _checked(artifact: Artifact) -> Mapping[str, Any]:
    """The record of an artifact.

    Raises:
        UserError: it cannot be read or lacks a field.
    """
    if artifact.problem is not None:
        raise UserError(f"{artifact.problem}. Make it anew: snakemake --cores all")
    for name, kind in _FIELDS.items():
        if not isinstance(artifact.lineage.get(name), kind):
            raise UserError(
                f"{artifact.path}: its lineage record has no usable {name!r}. Make it anew: snakemake --cores all"
            )
    if value_sha256(artifact.lineage["params"]) != artifact.lineage["params_sha256"]:
        raise UserError(
            f"{artifact.path}: its lineage record is damaged: params are not those of params_sha256. "
            "Make it anew: snakemake --cores all"
        )
    return artifact.lineage


def _target(trail: Trail, name: str) -> str:
    """A target as the trail names it."""
    path = Path(name)
    if path.is_absolute() and path.is_relative_to(trail.root.resolve()):
        path = path.relative_to(trail.root.resolve())
    found = os.path.normpath(path).replace(os.sep, "/")
    if found not in trail.artifacts:
        there = (trail.root / found).exists()
        why = "no rule has made it" if there else "no such artifact"
        known = [board for board in BOARDS if board in trail.artifacts] or sorted(trail.artifacts)[:3]
        raise UserError(f"{name}: {why}. Expected one that a rule makes, for instance {known[0]}")
    return found


def _file(trail: Trail, path: str, md5: str) -> ChainFile:
    here = trail.root / path
    if trail.md5(path) is None:
        return ChainFile(path, md5, None, None)
    return ChainFile(path, md5, here.stat().st_size, file_sha256(here))


def chain_behind(trail: Trail, targets: Sequence[str] = ()) -> Chain:
    """Gather some artifacts and everything behind them.

    Args:
        trail: the project's artifacts.
        targets: paths of artifacts; the boards that there are by default.

    Raises:
        UserError: a target is no artifact, a record is damaged, or a file is not what a record says it was made
            from: a chain with a break would say what is not so.
    """
    chosen = [_target(trail, name) for name in targets] or [b for b in BOARDS if b in trail.artifacts]
    if not chosen:
        raise UserError(
            f"none of {', '.join(BOARDS)} is there yet. Run: snakemake --cores all, or name a file"
        )
    md5s: dict[str, str] = {}
    outputs: dict[str, list[str]] = {}
    records: dict[str, Mapping[str, Any]] = {}
    for path in sorted({path for target in chosen for path in trail.back(target)}):
        if path not in trail.artifacts:
            continue
        record = _checked(trail.artifacts[path])
        key = json.dumps(record, sort_keys=True)
        records[key] = record
        outputs.setdefault(key, []).append(path)
        md5 = trail.md5(path)
        assert md5 is not None
        md5s[path] = md5
    _join_inputs(trail, records, outputs, md5s)
    runs = [Run(records[key], tuple(sorted(paths))) for key, paths in outputs.items()]
    return Chain(
        root=trail.root,
        targets=tuple(sorted(set(chosen))),
        files={path: _file(trail, path, md5s[path]) for path in sorted(md5s)},
        runs=tuple(sorted(runs, key=lambda run: (run.rule, run.name, run.id))),
    )


def _join_inputs(
    trail: Trail,
    records: Mapping[str, Mapping[str, Any]],
    outputs: Mapping[str, list[str]],
    md5s: dict[str, str],
) -> None:
    """Add what runs read to the md5s of the chain.

    Raises:
        UserError: a file is not what a run has read.
    """
    broken = []
    for key, record in records.items():
        for path, md5 in record["inputs"].items():
            now = trail.md5(path) or md5s.setdefault(path, md5)
            md5s[path] = now
            if now != md5:
                broken.append((outputs[key][0], path))
    if broken:
        first, changed = min(broken)
        more = f" ({counted(len(broken) - 1, 'more place')} like it)" if len(broken) > 1 else ""
        raise UserError(
            f"{changed}: not the content that {first} was made from{more}. "
            "Bring everything up to date: snakemake --cores all"
        )
