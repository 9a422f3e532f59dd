"""From DVC to Snakemake: files that DVC has brought are described to Snakemake by their own lineage.

Snakemake knows a file by the record it wrote when it made it. A file that something else put there - `dvc pull`,
`dvc checkout`, the run cache, an editor - is foreign: it has no record, or one with another time, or the old time and
other content than when it was last looked at. Foreign files are adopted where `dvc.lock` certifies their content and
their lineage fits what they would be made of now; the record then says with which parameters they were made, so
that Snakemake itself sees what a change of parameters touches. All others are made anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snakemake.persistence import RECORD_FORMAT_VERSION, MetadataRecord
from snakemake.persistence.file import FilePersistence

from magister.errors import UserError
from magister.pipeline._dvc import DvcProject, files_under, is_remnant
from magister.pipeline._seen import Seen, hash_files
from magister.provenance import SIDECAR_SUFFIX, file_md5, file_sha256, read_lineage

SEEN = ".snakemake/magister.seen"
"""Where it is written what was looked at."""
LONG_AGO = 1.0
"""Time of last change of a file that must be made anew: everything it is made of is newer."""


class Records:
    """Snakemake's records of the files it has made (its file backend, kept to by a pinned version)."""

    def __init__(self, state: Path) -> None:
        self._store = FilePersistence(path=state.absolute())
        self._folder = Path(self._store._metadata_path)
        self._begun = self._store._incomplete_path

    def exists(self, path: str) -> bool:
        """Whether there is a record."""
        return os.path.exists(self._store._record_path(str(self._folder), path))

    def begun(self, path: str) -> bool:
        """Whether a job that makes the file was started and has not ended."""
        return os.path.exists(self._store._record_path(self._begun, path))

    def end_time(self, path: str) -> float | None:
        """When Snakemake saw the file complete; None without a record."""
        record = self._store._io_read(str(self._folder), path)
        return record.get("endtime") if record else None

    def write(self, path: str, record: MetadataRecord) -> None:
        """Replace a record: the file is complete."""
        self._store._write_record(path, record)
        self._store._unmark_incomplete(path)

    def forget(self, path: str) -> None:
        """Remove a record."""
        self._store._delete_record(path)


@dataclass
class Adoption:
    """What became of foreign files.

    Attributes:
        adopted: paths that are described to Snakemake now.
        repaired: those of them that had been changed or removed.
        refused: path -> why it will be made anew.
    """

    adopted: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


@dataclass
class _Hashes:
    """Hashes of files, each worked out once."""

    root: Path
    md5s: dict[str, str | None] = field(default_factory=dict)
    sha256s: dict[str, str] = field(default_factory=dict)

    def md5(self, path: str) -> str | None:
        if path not in self.md5s:
            file = self.root / path
            self.md5s[path] = file_md5(file) if file.is_file() else None
        return self.md5s[path]

    def sha256(self, path: str) -> str:
        if path not in self.sha256s:
            self.sha256s[path] = f"sha256:{file_sha256(self.root / path)}"
        return self.sha256s[path]


def _described(path: str) -> str:
    """The file that a sidecar describes; any other file is its own."""
    return path.removesuffix(SIDECAR_SUFFIX)


def unfit(lineage: Mapping[str, Any], commands: Mapping[str, str], hashes: _Hashes) -> str | None:
    """Why a file with this lineage is not what its rule would make of the inputs and the code now.

    Parameters are not looked at: Snakemake compares them itself with those of the record.

    Args:
        lineage: the record in the file.
        commands: shell command of each rule.
        hashes: md5 of the files now.
    """
    rule = str(lineage.get("rule"))
    if rule not in commands:
        return f"no rule {rule!r} makes it now"
    if not lineage.get("command") or not commands[rule].endswith(f"--command {lineage['command']}"):
        return f"the command of the rule {rule} has changed"
    return _changed(lineage, "code", hashes) or _changed(lineage, "inputs", hashes)


def _changed(lineage: Mapping[str, Any], kind: str, hashes: _Hashes) -> str | None:
    """The first of the code or the inputs that is not what it was, as a message."""
    for name, md5 in lineage.get(kind, {}).items():
        found = hashes.md5(name)
        if found != md5:
            return f"{name} is {'missing' if found is None else 'another one now'}"
    return None


def distrust(project: DvcProject, paths: Iterable[str]) -> None:
    """Forget the records of files whose code was edited while it ran: Snakemake has hashed the new text.

    Args:
        project: the project.
        paths: outputs of the run.
    """
    records, hashes = Records(project.root / ".snakemake"), _Hashes(project.root)
    for path in sorted(paths):
        try:
            lineage = read_lineage(project.root / path)
        except UserError:
            continue
        if _changed(lineage, "code", hashes) is not None:
            records.forget(path)


def _record(lineage: Mapping[str, Any], command: str, ended: float, hashes: _Hashes) -> MetadataRecord:
    """The record that Snakemake would have written."""
    names = sorted([*lineage["inputs"], *lineage["code"]])
    section = json.dumps(lineage["params"], sort_keys=True, ensure_ascii=False)
    return MetadataRecord(
        rule=lineage["rule"],
        input=names,
        params=[repr(section)],
        code=command,
        record_format_version=RECORD_FORMAT_VERSION,
        starttime=ended,
        endtime=ended,
        incomplete=False,
        input_checksums={name: hashes.sha256(name) for name in names},
    )


def not_made(
    root: Path, files: Mapping[str, os.stat_result], seen: Seen, records: Records
) -> tuple[set[str], set[str]]:
    """Files that no job of Snakemake's has made as they are.

    Args:
        root: the project's folder.
        files: what there is.
        seen: what was looked at before.
        records: those of Snakemake.

    Returns:
        Foreign files: there is no record of them, or one with another time. And edited ones: they have the time of
        the record and other content than when they were looked at.
    """
    foreign, posing = set(), []
    for path, stat in files.items():
        if is_remnant(path) or (seen.has(path, stat) and records.exists(path)):
            continue
        if records.end_time(path) != stat.st_mtime or records.begun(path):
            foreign.add(path)
        elif seen.poses(path, stat):
            posing.append(path)
    edited = {path for path, md5 in hash_files(root, posing).items() if md5 != seen.md5s[path]}
    return foreign, edited


def adopt(project: DvcProject, commands: Mapping[str, str], folders: Sequence[str]) -> Adoption:
    """Describe to Snakemake every foreign file that it may trust, and see that the others are made anew.

    A file whose content is not the certified one, or that is gone, is put back from DVC's cache where the certified
    one is what would be made now.

    Call it only where no other process works in the folder.

    Args:
        project: the project.
        commands: shell command of each rule.
        folders: folders of stages in which certified files must not be missing.

    Returns:
        What was adopted and what was not, with reasons.

    Raises:
        UserError: DVC's own files cannot be read.
    """
    root, result = project.root, Adoption()
    files = files_under(root, project.outs())
    seen = Seen(root / SEEN)
    records = Records(root / ".snakemake")
    foreign = set().union(*not_made(root, files, seen, records))
    # A file whose lineage lies beside it may be the same in two runs that have made it from different things.
    foreign |= {main for main in map(_described, foreign) if main in files}
    hashes = _Hashes(root)
    # A file that was there at the last look, or all of them where there was none.
    lost = project.lost(folders) if folders and seen.misses(files) else []
    changed = [path for path in foreign if project.certified.get(path) != hashes.md5(path)]
    for path in [*lost, *changed]:
        if project.bring_back(path):
            result.repaired.append(path)
            hashes.md5s.pop(path, None)
    files |= files_under(root, result.repaired)
    for path in sorted(foreign.union(lost) & files.keys()):
        reason: str | None = None
        lineage: dict[str, Any] = {}
        if project.certified.get(path) != hashes.md5(path):
            reason = (
                "it is not what DVC has recorded"
                if path in project.certified
                else "dvc.lock does not certify it"
            )
        else:
            try:
                lineage = read_lineage(root / _described(path))
                reason = unfit(lineage, commands, hashes)
            except UserError:
                reason = "it carries no lineage record"
        if reason is None:
            record = _record(lineage, commands[lineage["rule"]], files[path].st_mtime, hashes)
            records.write(path, record)
            result.adopted.append(path)
        elif records.begun(path):
            # A job that makes it was cut off: Snakemake runs it again by itself.
            del files[path]
        else:
            records.forget(path)
            os.utime(root / path, (LONG_AGO, LONG_AGO))
            result.refused[path] = reason
            del files[path]
    kept = {path: md5 for path, md5 in hashes.md5s.items() if md5 is not None}
    seen.keep(root, {path: stat for path, stat in files.items() if not is_remnant(path)}, kept)
    return result
