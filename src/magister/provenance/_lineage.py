"""The lineage record: which rule made an artifact, from which bytes, with which parameters and code."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from magister.errors import UserError
from magister.provenance._hash import file_md5, value_sha256

METADATA_KEY = b"magister"
SIDECAR_SUFFIX = ".lineage.json"


@dataclass(frozen=True)
class Lineage:
    """What an artifact is made of.

    It holds no clock, host, absolute path, worker count or git revision: the same inputs, parameters and code
    give the same bytes on any machine and at any commit. (A revision inside would change every artifact with
    every commit, even one that touches no code; `code` names what did run.)

    Attributes:
        rule: name of the rule, script and log.
        wildcards: the rule's wildcard values.
        inputs: path -> md5, paths relative to the project (a file outside it: as the user names it).
        params: the slice of the parameters that the rule used.
        params_sha256: hash of that slice.
        code: path -> md5 of the script and the modules it imports, as they were when it started.
        command: md5 of the rule's shell command before its placeholders are filled in; empty without a rule.
        version: version of the package.
        models: fingerprints of the models that spoke, by name.
    """

    rule: str
    wildcards: dict[str, str]
    inputs: dict[str, str]
    params: dict[str, Any]
    params_sha256: str
    code: dict[str, str]
    version: str
    command: str = ""
    models: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, no spaces."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _within(path: Path, root: Path) -> str:
    """A path as the record names it: from the project's folder, where it lies there."""
    if path.is_absolute() and path.is_relative_to(root.resolve()):
        path = path.relative_to(root.resolve())
    return path.as_posix()


def code_md5s(files: tuple[str, ...], root: Path = Path(".")) -> dict[str, str]:
    """Path -> md5 of source files, from `code_files`."""
    return {path: file_md5(root / path) for path in files}


def make_lineage(
    rule: str,
    *,
    wildcards: dict[str, str],
    inputs: list[Path],
    params: dict[str, Any],
    code: dict[str, str],
    command: str = "",
    models: dict[str, Any] | None = None,
    root: Path = Path("."),
) -> Lineage:
    """Hash what a step reads.

    Args:
        rule: rule name.
        wildcards: wildcard values.
        inputs: files read, absolute or relative to `root`.
        params: parameter slice (a JSON value).
        code: path -> md5 of the source files, from `code_md5s`.
        command: md5 of the rule's shell command.
        models: fingerprints by model name.
        root: the project's folder.
    """
    from magister import __version__

    return Lineage(
        rule=rule,
        wildcards=dict(wildcards),
        inputs={_within(path, root): file_md5(root / path) for path in sorted(inputs)},
        params=params,
        params_sha256=value_sha256(params),
        code=dict(code),
        version=__version__,
        command=command,
        models=models or {},
    )


def read_lineage(path: Path) -> dict[str, Any]:
    """The record of an artifact: inside a parquet file, beside any other.

    Raises:
        UserError: the artifact is not there, cannot be read or carries none.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file; the rule that makes it has not run")
    foreign = f"{path}: carries no lineage record; it was not written by this pipeline"
    try:
        if path.suffix == ".parquet":
            text = (pq.read_schema(path).metadata or {}).get(METADATA_KEY, b"null")
        else:
            sidecar = path.with_name(path.name + SIDECAR_SUFFIX)
            text = sidecar.read_bytes() if sidecar.is_file() else b"null"
        record = json.loads(text)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UserError(f"{foreign} ({error})") from None
    if not isinstance(record, dict):
        raise UserError(foreign)
    return record
