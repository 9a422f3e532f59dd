"""Whether every file is the one that was recorded: in `artifacts.md5`, and by folder in `dvc.lock` and `store.dvc`."""

from __future__ import annotations

from magister.audit.checks import Check
from magister.audit.findings import Finding
from magister.audit.places import places
from magister.audit.scene import Scene, lies_in
from magister.errors import UserError
from magister.pipeline import MANIFEST, folder_md5, recorded_md5
from magister.pipeline._dvc import STORE

CONTENT = f"content as {MANIFEST} records it"
FOLDERS = f"{MANIFEST} as dvc.lock records it"
_GONE = "not there"


def check_contents(scene: Scene) -> Check:
    """Compare the md5 of every file with the manifest, and say where one differs.

    The place of a difference is known where DVC's cache holds the recorded content.
    """
    manifest = scene.manifest
    if manifest is None:
        return Check(
            CONTENT, 0, "files", unchecked=f"{MANIFEST} is not there: a full run of snakemake writes it"
        )
    found: list[Finding] = []
    n = 0
    settled = _recorded_since(scene, manifest)
    for path in sorted({*manifest, *scene.files}):
        if not scene.covers(path):
            continue
        n += 1
        if lies_in(path, settled):
            continue
        seen, expected = scene.md5s.get(path), manifest.get(path)
        if seen == expected:
            continue
        if seen is None or expected is None:
            known = "no such file" if expected is None else expected
            found.append(Finding(path, "", CONTENT, _GONE if seen is None else seen, known))
            continue
        found += _differing(scene, path, seen, expected)
    return Check(CONTENT, n, "files", found)


def _recorded_since(scene: Scene, manifest: dict[str, str]) -> list[str]:
    """Folders that are as DVC records them, and of which the manifest is not: it is that which differs."""
    if not scene.whole:
        return []
    return [
        folder
        for folder, md5 in scene.project.recorded().items()
        if recorded_md5(manifest, folder) != md5 and folder_md5(scene.md5s, folder) == md5
    ]


def _differing(scene: Scene, path: str, seen: str, expected: str) -> list[Finding]:
    """Where a file differs from what was recorded."""
    try:
        recorded = scene.project.cached(expected)
    except UserError:
        recorded = None
    if recorded is None:
        return [Finding(path, "", CONTENT, seen, expected)]
    some, n = places(scene.root / path, recorded)
    more = f" ({n} places differ)" if n > len(some) else ""
    return [Finding(path, place.place, CONTENT + more, place.seen, place.expected) for place in some]


def check_folders(scene: Scene) -> Check:
    """Work out the hash of every folder from its files' md5, and compare it with DVC's records."""
    if not scene.project.locked():
        return Check(
            FOLDERS, 0, "folders", unchecked="dvc.lock records nothing: a full run of snakemake writes it"
        )
    manifest = scene.manifest
    if manifest is None:
        return Check(FOLDERS, 0, "folders", unchecked=f"{MANIFEST} is not there")
    found, recorded = [], scene.project.recorded()
    named = {*scene.project.outs(), *recorded} | ({STORE} if (scene.root / STORE).is_dir() else set())
    for folder in sorted(named):
        now = recorded_md5(manifest, folder) or folder_md5({}, folder)
        if now != recorded.get(folder):
            found.append(
                Finding(MANIFEST, folder, FOLDERS, now, recorded.get(folder, f"no record of {folder}"))
            )
    return Check(FOLDERS, len(named), "folders", found)
