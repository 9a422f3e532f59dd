"""A chain as a Workflow Run RO-Crate.

Sources: RO-Crate 1.1; Process Run Crate 0.5 and Workflow Run Crate 0.5 (w3id.org/ro/wfrun); Workflow RO-Crate 1.0
(w3id.org/workflowhub/workflow-ro-crate).
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rocrate.model.contextentity import ContextEntity
from rocrate.model.file import File
from rocrate.rocrate import ROCrate

from magister.audit.exports.chain import BOARDS, Chain, ChainFile, media_type
from magister.audit.exports.names import BASE, Files, file_name, local
from magister.audit.exports.parameters import Parameter
from magister.audit.exports.prov_json import prov_document
from magister.audit.exports.software import Package
from magister.display import counted
from magister.errors import UserError
from magister.provenance import SIDECAR_SUFFIX, value_sha256

PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
TERMS = "https://w3id.org/ro/terms/workflow-run/context"
"""JSON-LD context that knows md5 and sha256 beside the terms of RO-Crate 1.1."""
WORKFLOW = "Snakefile"
PARAMS = "params.yaml"
PROV = "provenance/prov.json"
PROV_JSON = "https://www.w3.org/Submission/2013/SUBM-prov-json-20130424/"
BESIDE = {
    "LICENSE": "The licence of the workflow.",
    "dvc.lock": "Content of every folder of results, parameters and code, as DVC recorded the run.",
    "dvc.yaml": "The stages of the workflow.",
    "pyproject.toml": "What the workflow needs to be installed.",
    "requirements/run.lock": "The packages of the workflow with their versions and hashes.",
}
"""Files of the project that come along where they are there."""


@dataclass(frozen=True)
class CrateFacts:
    """What a crate says that no record knows.

    Attributes:
        date: when it is published, ISO 8601.
        license: an SPDX identifier or an address.
        title: name of the crate; None for one made of its targets.
        agent: who ran the workflow, `NAME` or `NAME <ADDRESS>`; None where that stays unsaid.
        files: whether what is behind the targets is copied.
    """

    date: str
    license: str
    title: str | None = None
    agent: str | None = None
    files: Files = Files.copy


class _Builder:
    """A crate that is being filled."""

    def __init__(self, chain: Chain, facts: CrateFacts) -> None:
        self.chain, self.facts = chain, facts
        # Absolute, so that rocrate takes no path for an address whatever it holds.
        self.root = chain.root.resolve()
        self.crate = ROCrate(version="1.1")
        self.crate.metadata.extra_contexts.append(TERMS)

    def thing(self, name: str, kind: str, /, **properties: Any) -> ContextEntity:
        """Add something that is no file."""
        return self.crate.add(ContextEntity(self.crate, name, properties={"@type": kind} | properties))

    def file(self, file: ChainFile, **properties: Any) -> File:
        """Add a file of the chain: its bytes, or where they are left out its hashes and size."""
        described = {
            "name": file.path,
            "encodingFormat": media_type(file.path),
            "md5": file.md5,
        } | properties
        if file.size is not None:
            described |= {"sha256": file.sha256, "contentSize": str(file.size)}
        if not self._copied(file):
            # A relative name would promise that the file is in the crate.
            described["alternateName"] = file.path
            return self.crate.add_file(f"{BASE}file:{file_name(file.path, file.md5)}", properties=described)
        if file.size is None:
            raise UserError(
                f"{file.path}: not there, so it cannot be copied. Bring it back, or leave files out: --files reference"
            )
        entity = self.crate.add_file(self.root / file.path, dest_path=file.path, properties=described)
        beside = self.root / (file.path + SIDECAR_SUFFIX)
        if file.path in self.chain.made and beside.is_file():
            self.plain(file.path + SIDECAR_SUFFIX, f"Lineage of {file.path}.", about=entity)
        return entity

    def _copied(self, file: ChainFile) -> bool:
        outside = Path(file.path).is_absolute() or file.path.startswith("..")
        return not outside and (self.facts.files is Files.copy or file.path in self.chain.targets)

    def plain(self, path: str, description: str, **properties: Any) -> File:
        """Add a file of the project that is none of the chain's; one that is described already stays as it is."""
        there = self.crate.get(local(path))
        if there is not None:
            return there
        content = (self.root / path).read_bytes()
        return self.crate.add_file(
            self.root / path,
            dest_path=path,
            properties=_described(path, content, description) | properties,
        )


def _few(values: Any) -> Any:
    """A single value instead of a list of one, as RO-Crate's flat JSON-LD has it."""
    return values[0] if isinstance(values, list) and len(values) == 1 else values


def _described(path: str, content: bytes, description: str) -> dict[str, Any]:
    return {
        "name": path,
        "description": description,
        "encodingFormat": media_type(path),
        "contentSize": str(len(content)),
        "md5": hashlib.md5(content, usedforsecurity=False).hexdigest(),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _license(build: _Builder) -> ContextEntity:
    given = build.facts.license
    if re.fullmatch(r"https?://\S+", given):
        return build.thing(given, "CreativeWork", name=given)
    if not re.fullmatch(r"[A-Za-z0-9.+-]+", given):
        raise UserError(
            f"--license {given!r}: expected an SPDX identifier such as Apache-2.0, or an address (https://...)"
        )
    return build.thing(f"https://spdx.org/licenses/{given}", "CreativeWork", name=given, identifier=given)


def _agent(build: _Builder) -> ContextEntity | None:
    given = build.facts.agent
    if given is None:
        return None
    found = re.fullmatch(r"\s*([^<>]*[^<>\s])\s*(?:<(https?://[^<>\s]+)>)?\s*", given)
    if found is None:
        raise UserError(f"--agent {given!r}: expected NAME or NAME <ADDRESS>, the address with https://")
    return build.thing(found[2] or f"#agent/{local(found[1])}", "Person", name=found[1])


def _slot(build: _Builder, side: str, path: str) -> ContextEntity:
    return build.thing(
        f"#{side}/{local(path)}",
        "FormalParameter",
        name=path,
        additionalType="File",
        encodingFormat=media_type(path),
    )


def _values(build: _Builder, params: Sequence[Parameter]) -> tuple[list[ContextEntity], list[ContextEntity]]:
    """Slots and values of the parameters. One that is set to null has no value."""
    slots, values = [], []
    for one in params:
        at = "/".join(quote(key, safe="") for key in one.keys)
        several = {"multipleValues": True} if isinstance(one.plain, list) else {}
        slot = build.thing(
            f"#parameter/{at}", "FormalParameter", name=one.name, additionalType=one.kind, **several
        )
        value = {} if one.value is None else {"value": _few(one.plain)}
        values.append(
            build.thing(f"#value/{at}", "PropertyValue", name=one.name, exampleOfWork=slot, **value)
        )
        slots.append(slot)
    return slots, values


def _software(build: _Builder, packages: Sequence[Package]) -> list[ContextEntity]:
    """The package itself, what it is made with, and the models."""
    found = [
        build.thing(
            f"{BASE}software:{local('magister', version)}",
            "SoftwareApplication",
            name="magister",
            softwareVersion=version,
        )
        for version in build.chain.versions
    ]
    for package in packages:
        where = {"description": f"Pinned where {package.marker}."} if package.marker else {}
        found.append(
            build.thing(
                f"pkg:pypi/{local(package.name)}@{local(package.version)}",
                "SoftwareApplication",
                name=package.name,
                softwareVersion=package.version,
                **where,
            )
        )
    for (name, sha256), fingerprint in build.chain.models.items():
        model = f"{BASE}model:{local(sha256, name)}"
        parts = [
            build.thing(
                f"#fingerprint/{local(sha256, name, key)}",
                "PropertyValue",
                name=key,
                **({} if value is None else {"value": Parameter((key,), value).plain}),
            )
            for key, value in sorted(fingerprint.items())
        ]
        found.append(
            build.thing(
                model,
                "SoftwareApplication",
                name=name,
                softwareVersion=sha256,
                description="A language model or embedder. Its version is the sha256 of its fingerprint.",
                additionalProperty=_few(parts),
            )
        )
    return found


def _title(chain: Chain) -> str:
    names = [Path(path).stem if path in BOARDS else path for path in chain.targets]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"Magister: {shown}"


def _workflow(build: _Builder, packages: Sequence[Package]) -> File:
    """The main workflow with its rules and the code that ran."""
    root = build.root
    if not (root / WORKFLOW).is_file():
        raise UserError(f"{WORKFLOW}: not there. Run from the project's folder.")
    engine = ", ".join(package.version for package in packages if package.name == "snakemake")
    workflow = build.crate.add_workflow(
        root / WORKFLOW, WORKFLOW, main=True, lang="snakemake", lang_version=engine or None
    )
    described = _described(WORKFLOW, (root / WORKFLOW).read_bytes(), "The workflow; its rules are in rules/.")
    for key, value in described.items():
        workflow[key] = value
    workflow["name"] = "Magister"
    workflow["version"] = ", ".join(build.chain.versions)
    source = {"@type": ["File", "SoftwareSourceCode"], "version": workflow["version"]}
    rules = sorted(path.relative_to(root).as_posix() for path in (root / "rules").glob("*.smk"))
    parts = [build.plain(path, "Rules of the workflow.", **source) for path in rules]
    parts += [build.plain(path, "Code of the steps.", **source) for path, _ in build.chain.code]
    if parts:
        workflow["hasPart"] = _few(parts)
    return workflow


def run_crate(
    chain: Chain, facts: CrateFacts, params: Sequence[Parameter], packages: Sequence[Package]
) -> ROCrate:
    """Describe a chain as the result of a run of the workflow. Nothing is written yet.

    The workflow, its code, the parameters and the targets are copied; what is behind the targets is copied too or,
    with `Files.reference`, described by size and hashes under a name that is no path. `provenance/prov.json` says
    which run of which rule made each file. A crate is the same bytes whenever it is made of the same.

    Args:
        chain: what to export, of which `check_certified` holds.
        facts: what no record knows.
        params: values of `params.yaml`.
        packages: those the project asks for, as pinned.

    Returns:
        A crate whose `write(folder)` copies the files.

    Raises:
        UserError: a file to copy is not there, or a fact is not of its form.
    """
    build = _Builder(chain, facts)
    crate, root = build.crate, build.crate.root_dataset
    agent, licence = _agent(build), _license(build)
    workflow = _workflow(build, packages)
    software = _software(build, packages)
    inputs, outputs, objects, results = [], [], [], []
    for path, file in chain.files.items():
        if path in chain.targets:
            outputs.append(_slot(build, "output", path))
            results.append(build.file(file, exampleOfWork=outputs[-1]))
        elif path not in chain.made:
            inputs.append(_slot(build, "input", path))
            objects.append(build.file(file, exampleOfWork=inputs[-1]))
        else:
            build.file(file)
    slots, values = _values(build, params)
    # The file itself fills no slot: the workflow finds it by its name.
    objects.append(build.plain(PARAMS, "The parameters of the run."))
    if inputs + slots:
        workflow["input"] = _few(inputs + slots)
    workflow["output"] = _few(outputs)
    workflow["softwareRequirements"] = _few(software)
    ids = value_sha256([run.id for run in chain.runs])
    action = build.thing(
        f"#run/{ids}",
        "CreateAction",
        name="Run of the workflow",
        description=f"snakemake --cores all: {counted(len(chain.runs), 'run')} of rules, each of them in {PROV}.",
        instrument=workflow,
        object=_few(objects + values),
        result=_few(results),
        actionStatus="http://schema.org/CompletedActionStatus",
        **({"agent": agent} if agent is not None else {}),
    )
    _provenance(build, action)
    for path, description in BESIDE.items():
        if (build.root / path).is_file():
            build.plain(path, description)
    if (build.root / "README.md").is_file():
        build.plain("README.md", "What the workflow is and how to run it.", about=root)
    root["name"] = facts.title or _title(chain)
    root["description"] = (
        f"{', '.join(chain.targets)} and everything behind: {counted(len(chain.files), 'file')}, "
        f"{counted(len(chain.runs), 'run')} of rules. Every file has its md5 and sha256."
    )
    root["datePublished"] = facts.date
    root["license"] = licence
    root["mentions"] = action
    if agent is not None:
        root["author"] = agent
    root["conformsTo"] = [
        build.thing(name, "CreativeWork", name=title, version=version)
        for name, (title, version) in PROFILES.items()
    ]
    return crate


def _provenance(build: _Builder, action: ContextEntity) -> None:
    """The runs of rules one by one, in the form that PROV gives them."""
    document: Mapping[str, Any] = prov_document(build.chain)
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, indent=1) + "\n"
    described = _described(PROV, text.encode(), "Every run of a rule: W3C PROV, as PROV-JSON.")
    form = build.thing(PROV_JSON, "CreativeWork", name="The PROV-JSON Serialization")
    build.crate.add_file(
        io.StringIO(text),
        dest_path=PROV,
        properties=described | {"about": action, "conformsTo": form},
    )
