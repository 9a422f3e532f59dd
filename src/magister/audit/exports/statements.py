"""A chain as in-toto statements, one for each artifact.

Sources: in-toto Attestation Framework, Statement v1; SLSA v1.0, build provenance (predicate v1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from magister.audit.exports.chain import Chain, Run, media_type
from magister.audit.exports.names import BASE

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = f"{BASE}rule-run:v1"
"""A run of a rule; docs/exports.md says what its parameters and dependencies are."""
BUILDER_ID = f"{BASE}local"
"""Whoever ran the pipeline. It promises nothing: who vouches for a statement is who signs it."""


def _digest(chain: Chain, path: str, md5: str) -> dict[str, str]:
    """md5 as the records have it and, of a file that is there, sha256."""
    sha256 = chain.files[path].sha256
    return {"md5": md5} if sha256 is None else {"md5": md5, "sha256": sha256}


def _dependencies(chain: Chain, run: Run) -> list[dict[str, Any]]:
    inputs = [
        {
            "name": path,
            "digest": _digest(chain, path, md5),
            "mediaType": media_type(path),
            "annotations": {"role": "input"},
        }
        for path, md5 in sorted(run.inputs.items())
    ]
    code = [
        {
            "name": path,
            "digest": {"md5": md5},
            "mediaType": media_type(path),
            "annotations": {"role": "code"},
        }
        for path, md5 in sorted(run.code.items())
    ]
    return inputs + code


def _predicate(chain: Chain, run: Run) -> dict[str, Any]:
    record = run.record
    return {
        "buildDefinition": {
            "buildType": BUILD_TYPE,
            "externalParameters": {
                "rule": run.rule,
                "wildcards": record["wildcards"],
                "params": record["params"],
            },
            "internalParameters": {
                "params_sha256": record["params_sha256"],
                "command_md5": record["command"],
                "models": dict(run.models),
            },
            "resolvedDependencies": _dependencies(chain, run),
        },
        "runDetails": {
            "builder": {"id": BUILDER_ID, "version": {"magister": str(record["version"])}},
        },
    }


def statements(chain: Chain) -> Iterator[dict[str, Any]]:
    """An unsigned in-toto statement for each artifact of a chain, by path.

    There are no times and no number of the run in them: the same results give the same statements.

    Args:
        chain: what to export.
    """
    makers = {path: run for run in chain.runs for path in run.outputs}
    for path in sorted(makers):
        file = chain.files[path]
        yield {
            "_type": STATEMENT_TYPE,
            "subject": [{"name": path, "digest": _digest(chain, path, file.md5)}],
            "predicateType": PREDICATE_TYPE,
            "predicate": _predicate(chain, makers[path]),
        }
