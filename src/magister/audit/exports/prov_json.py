"""A chain as W3C PROV, in the PROV-JSON form.

Sources: PROV-DM, W3C Recommendation of 2013-04-30; The PROV-JSON Serialization, W3C Member Submission of 2013-04-24.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from magister.audit.exports.chain import Chain, Run, media_type
from magister.audit.exports.names import BASE, file_name, local
from magister.provenance import value_sha256

PREFIXES = {
    "magister": BASE,
    "file": f"{BASE}file:",
    "run": f"{BASE}run:",
    "code": f"{BASE}code:",
    "model": f"{BASE}model:",
    "software": f"{BASE}software:",
    "dcterms": "http://purl.org/dc/terms/",
}


def _typed(*names: str) -> list[dict[str, str]]:
    return [{"$": name, "type": "prov:QUALIFIED_NAME"} for name in names]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _file(path: str, md5: str) -> str:
    return f"file:{file_name(path, md5)}"


def _run(run: Run) -> str:
    return f"run:{run.id}"


def _plan(run: Run) -> str:
    return f"code:{value_sha256(dict(run.code))}"


def _model(name: str, sha256: str) -> str:
    return f"model:{local(sha256, name)}"


def _software(version: str) -> str:
    return f"software:{local('magister', version)}"


def _numbered(letter: str, relations: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Relations under names that say nothing, in a fixed order."""
    ordered = sorted(relations, key=lambda relation: json.dumps(relation, sort_keys=True))
    return {f"_:{letter}{number}": relation for number, relation in enumerate(ordered, 1)}


def _entities(chain: Chain) -> dict[str, dict[str, Any]]:
    entities: dict[str, dict[str, Any]] = {}
    for path, md5 in chain.code:
        entities[_file(path, md5)] = {
            "prov:label": path,
            "prov:type": _typed("magister:Code"),
            "dcterms:format": media_type(path),
            "magister:path": path,
            "magister:md5": md5,
        }
    for file in chain.files.values():
        kind = "magister:Artifact" if file.path in chain.made else "magister:Source"
        entities[_file(file.path, file.md5)] = {
            "prov:label": file.path,
            "prov:type": _typed(kind, *(["magister:Target"] if file.path in chain.targets else [])),
            "dcterms:format": media_type(file.path),
            "magister:path": file.path,
            "magister:md5": file.md5,
        }
        if file.size is not None:
            entities[_file(file.path, file.md5)] |= {
                "magister:sha256": file.sha256,
                "magister:bytes": file.size,
            }
    for run in chain.runs:
        entities[_plan(run)] = {
            "prov:label": f"code of {run.rule}",
            "prov:type": _typed("prov:Plan", "prov:Collection"),
        }
    return entities


def _activity(run: Run) -> dict[str, Any]:
    record = run.record
    return {
        "prov:label": run.name,
        "prov:type": _typed("magister:RuleRun"),
        "magister:rule": run.rule,
        "magister:wildcards": _text(record["wildcards"]),
        "magister:params": _text(record["params"]),
        "magister:params_sha256": record["params_sha256"],
        "magister:command_md5": record["command"],
    }


def _agents(chain: Chain) -> dict[str, dict[str, Any]]:
    agents: dict[str, dict[str, Any]] = {
        _software(version): {
            "prov:label": f"magister {version}",
            "prov:type": _typed("prov:SoftwareAgent"),
            "magister:version": version,
        }
        for version in chain.versions
    }
    for (name, sha256), fingerprint in chain.models.items():
        agents[_model(name, sha256)] = {
            "prov:label": name,
            "prov:type": _typed("prov:SoftwareAgent", "magister:Model"),
            "magister:fingerprint": _text(fingerprint),
            "magister:fingerprint_sha256": sha256,
        }
    return agents


def prov_document(chain: Chain) -> Mapping[str, Any]:
    """A chain as a PROV-JSON document.

    Files are entities, with the bytes they had: another content is another entity. Runs of rules are activities.
    Models and the package are agents; the code of a run is the plan that the package followed, a collection of
    source files. There are no times in it, since no record holds any: the same results give the same document.

    Args:
        chain: what to export.
    """
    used, generated, derived, associated, members = [], [], [], [], []
    plans: dict[str, Mapping[str, str]] = {}
    for run in chain.runs:
        activity, plan = _run(run), _plan(run)
        plans[plan] = run.code
        read = [_file(path, md5) for path, md5 in sorted(run.inputs.items())]
        made = [_file(path, chain.files[path].md5) for path in run.outputs]
        used += [{"prov:activity": activity, "prov:entity": entity} for entity in read]
        generated += [{"prov:entity": entity, "prov:activity": activity} for entity in made]
        derived += [
            {"prov:generatedEntity": output, "prov:usedEntity": entity, "prov:activity": activity}
            for output in made
            for entity in read
        ]
        associated.append(
            {
                "prov:activity": activity,
                "prov:agent": _software(str(run.record["version"])),
                "prov:plan": plan,
            }
        )
        associated += [
            {"prov:activity": activity, "prov:agent": _model(name, value_sha256(fingerprint))}
            for name, fingerprint in run.models.items()
        ]
    for plan, code in plans.items():
        members += [{"prov:collection": plan, "prov:entity": _file(path, md5)} for path, md5 in code.items()]
    return {
        "prefix": PREFIXES,
        "entity": _entities(chain),
        "activity": {_run(run): _activity(run) for run in chain.runs},
        "agent": _agents(chain),
        "used": _numbered("u", used),
        "wasGeneratedBy": _numbered("g", generated),
        "wasDerivedFrom": _numbered("d", derived),
        "wasAssociatedWith": _numbered("a", associated),
        "hadMember": _numbered("m", members),
    }
