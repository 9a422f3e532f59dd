"""Whether the chain of lineage holds: from every artifact back to sources, as the parameters and rules of now ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from magister.audit.checks import Check, differences, shown
from magister.audit.findings import Finding
from magister.audit.scene import PARAMS, Scene, code_of
from magister.audit.trail import Artifact
from magister.display import counted
from magister.errors import UserError
from magister.pipeline import Job, folder_md5, hash_files
from magister.pipeline._dvc import files_under
from magister.provenance import SIDECAR_SUFFIX, value_sha256

RECORDS = "lineage of every artifact"
INPUTS = "inputs as the lineage names them"
CODE = "code as the lineage names it"
ASKED = "made as the parameters and rules ask"
LOCKED = "parameters and code as dvc.lock has them"
_GONE = "not there"


def check_records(scene: Scene) -> Check:
    """Every artifact has a lineage that is whole, nothing lies there without one, and no lineage goes round."""
    found = [
        Finding(path, "", RECORDS, "a record of a file that is gone", "the file beside it")
        for path in scene.trail.orphans
        if path.endswith(SIDECAR_SUFFIX) and scene.covers(path)
    ]
    for path in sorted(scene.chosen):
        artifact = scene.trail.artifacts[path]
        if artifact.problem is not None:
            found.append(Finding(path, "", RECORDS, artifact.problem, "a lineage record"))
            continue
        lineage = artifact.lineage
        digest = value_sha256(lineage.get("params", {}))
        if digest != lineage.get("params_sha256"):
            found.append(Finding(path, "params_sha256", RECORDS, str(lineage.get("params_sha256")), digest))
    found += [
        Finding(path, "", RECORDS, f"made from itself, by way of {by}", "sources at its end")
        for path, by in _circles({path: scene.trail.artifacts[path] for path in scene.chosen})
    ]
    return Check(RECORDS, len(scene.chosen), "artifacts", found)


def _circles(artifacts: Mapping[str, Artifact]) -> list[tuple[str, str]]:
    """Artifacts that stand behind themselves, each with one that it was made from."""
    waiting = {path: {name for name in each.inputs if name in artifacts} for path, each in artifacts.items()}
    made_from: dict[str, list[str]] = {}
    for path, names in waiting.items():
        for name in names:
            made_from.setdefault(name, []).append(path)
    ready = [path for path, names in waiting.items() if not names]
    while ready:
        path = ready.pop()
        del waiting[path]
        for after in made_from.get(path, ()):
            waiting[after].discard(path)
            if not waiting[after]:
                ready.append(after)
    # What is only made from a circle is none: the circles are what stays when the ends are taken off as well.
    while True:
        used = {name for names in waiting.values() for name in names}
        ends = [path for path in waiting if path not in used]
        if not ends:
            return [(path, min(names)) for path, names in sorted(waiting.items())]
        for path in ends:
            del waiting[path]


def check_inputs(scene: Scene) -> Check:
    """What every artifact says it was made from is what is here: artifacts, sources and prompts."""
    seen, manifest = scene.md5s, scene.manifest or {}
    users: dict[tuple[str, str], list[str]] = {}
    for path in sorted(scene.chosen):
        for name, md5 in scene.trail.artifacts[path].inputs.items():
            users.setdefault((name, str(md5)), []).append(path)
    found = []
    for (name, md5), paths in sorted(users.items()):
        now = seen.get(name)
        if now == md5:
            continue
        if name in manifest and manifest[name] == md5:
            # The lineage is right and the file is not: that is said of its content.
            continue
        if name in scene.files:
            found += [Finding(path, f"input {name}", INPUTS, md5, now or _GONE) for path in paths]
        else:
            found.append(Finding(name, _of(paths), INPUTS, now or _GONE, md5))
    return Check(INPUTS, len(users), "files", found)


def check_code(scene: Scene) -> Check:
    """The source files that have made the artifacts are those that are here."""
    users: dict[tuple[str, str], list[str]] = {}
    for path in sorted(scene.chosen):
        for name, md5 in code_of(scene.trail.artifacts[path]).items():
            users.setdefault((name, str(md5)), []).append(path)
    found = [
        Finding(name, _of(paths), CODE, scene.md5s.get(name, _GONE), md5)
        for (name, md5), paths in sorted(users.items())
        if scene.md5s.get(name) != md5
    ]
    return Check(CODE, len({name for name, _ in users}), "files", found)


def _of(paths: list[str]) -> str:
    return f"for {paths[0]}" + (f" and {counted(len(paths) - 1, 'more artifact')}" if len(paths) > 1 else "")


def check_asked(scene: Scene) -> Check:
    """Every artifact is asked for by `params.yaml` and the rules, with these parameters, inputs, code and command."""
    try:
        jobs = scene.jobs
    except UserError as error:
        return Check(ASKED, 0, "artifacts", unchecked=str(error))
    made_by = {path: job for job in jobs for path in job.outputs}
    found = []
    for path in sorted(scene.chosen):
        artifact, job = scene.trail.artifacts[path], made_by.get(path)
        if artifact.problem is not None:
            continue
        if job is None:
            found.append(
                Finding(path, "", ASKED, f"made by the rule {artifact.rule}", "no job of a full run makes it")
            )
        else:
            found += _unlike(path, artifact, job)
    found += [
        Finding(path, "", ASKED, _GONE, f"a file made by the rule {made_by[path].rule}")
        for path in sorted(set(made_by) - scene.files)
        if scene.covers(path)
    ]
    return Check(ASKED, len(scene.chosen), "artifacts", found)


def _unlike(path: str, artifact: Artifact, job: Job) -> Iterable[Finding]:
    """What an artifact was made with that its job of now does not have."""
    lineage = artifact.lineage
    pairs: list[tuple[str, Any, Any]] = [
        ("rule", lineage.get("rule"), job.rule),
        ("command", lineage.get("command"), job.command),
    ]
    # A script is told of the wildcards that it needs; which these are is part of the command.
    told = lineage.get("wildcards", {})
    pairs += differences(told, {name: job.wildcards.get(name) for name in told}, "wildcards")
    for kind, recorded, now in (
        ("input", artifact.inputs, job.inputs),
        ("code", code_of(artifact), job.code),
    ):
        pairs += [
            (f"{kind} {name}", "a part of its lineage", None) for name in sorted(set(recorded) - set(now))
        ]
        pairs += [(f"{kind} {name}", None, "a part of its job") for name in sorted(set(now) - set(recorded))]
    pairs += differences(lineage.get("params"), job.params or {}, "params")
    return [
        Finding(path, place, ASKED, shown(seen), shown(expected))
        for place, seen, expected in pairs
        if seen != expected
    ]


def check_lock(scene: Scene) -> Check:
    """The parameters and the sources are those that `dvc.lock` records."""
    stages = scene.project.locked()
    if not stages:
        return Check(
            LOCKED, 0, "stages", unchecked="dvc.lock is not there: a full run of snakemake writes it"
        )
    recorded = scene.project.recorded()
    params: dict[str, Any] = {}
    deps: dict[str, str] = {}
    for stage in stages.values():
        params |= (stage.get("params") or {}).get(PARAMS, {})
        deps |= {str(dep["path"]): str(dep.get("md5")) for dep in stage.get("deps", [])}
    found = []
    for name, value in sorted(params.items()):
        for place, expected, seen in differences(value, _at(scene.params, name), name):
            found.append(Finding(PARAMS, place, LOCKED, shown(seen), shown(expected)))
    md5s = hash_files(scene.root, files_under(scene.root, sorted(set(deps) - set(recorded))))
    for path, md5 in sorted(deps.items()):
        if path in recorded:
            now: str | None = recorded[path]
        elif path in md5s:
            now = md5s[path]
        else:
            now = folder_md5(md5s, path) if (scene.root / path).is_dir() else None
        if now != md5:
            place = "the hash of what stages read" if path in recorded else ""
            found.append(Finding("dvc.lock" if place else path, place and path, LOCKED, now or _GONE, md5))
    return Check(LOCKED, len(params) + len(deps), "records", found)


def _at(params: Mapping[str, Any], name: str) -> Any:
    """A parameter named with dots."""
    value: Any = params
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
