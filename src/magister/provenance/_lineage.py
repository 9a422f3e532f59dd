"""The lineage record: which rule made an artifact, from which bytes, with which parameters and code."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

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
        inputs: path -> md5, paths relative to the project.
        params: the slice of the parameters that the rule used.
        params_sha256: hash of that slice.
        code: path -> md5 of the script and the modules it imports.
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
    models: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, no spaces."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def make_lineage(
    rule: str,
    *,
    wildcards: dict[str, str],
    inputs: list[Path],
    params: dict[str, Any],
    code: tuple[str, ...],
    models: dict[str, Any] | None = None,
    root: Path = Path("."),
) -> Lineage:
    """Hash what a step reads.

    Args:
        rule: rule name.
        wildcards: wildcard values.
        inputs: files read, relative to `root`.
        params: parameter slice (a JSON value).
        code: source files, from `code_files`.
        models: fingerprints by model name.
        root: the project's folder.
    """
    from magister import __version__

    return Lineage(
        rule=rule,
        wildcards=dict(wildcards),
        inputs={path.as_posix(): file_md5(root / path) for path in sorted(inputs)},
        params=params,
        params_sha256=value_sha256(params),
        code={path: file_md5(root / path) for path in code},
        version=__version__,
        models=models or {},
    )


def read_lineage(path: Path) -> dict[str, Any]:
    """The record of an artifact: inside a parquet file, beside any other.

    Raises:
        UserError: the artifact carries none.
    """
    if path.suffix == ".parquet":
        metadata = pq.read_schema(path).metadata or {}
        if METADATA_KEY in metadata:
            record: dict[str, Any] = json.loads(metadata[METADATA_KEY])
            return record
    else:
        sidecar = path.with_name(path.name + SIDECAR_SUFFIX)
        if sidecar.is_file():
            record = json.loads(sidecar.read_text(encoding="utf-8"))
            return record
    raise UserError(f"{path}: carries no lineage record; it was not written by this pipeline")
