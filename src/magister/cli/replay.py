"""`magister replay`: everything again from the recorded answers, and whether it came out the same."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magister.cli._printing import echo
from magister.display import counted

if TYPE_CHECKING:
    from magister.audit.compare import Comparison
    from magister.audit.replay import Replay

EXAMPLE = "Example: magister replay --fetch"
_SHOWN = 5


def replay(
    fetch: Annotated[
        bool,
        typer.Option(
            "--fetch", help="First fetch public question files that are not here, held to their hashes."
        ),
    ] = False,
    here: Annotated[
        bool,
        typer.Option("--here", help="Bring what was rebuilt into this project, which must hold no outputs."),
    ] = False,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Rebuild here and keep it; a temporary folder otherwise.")
    ] = None,
    recompute: Annotated[
        bool,
        typer.Option(
            "--recompute", help="Work out recorded vectors and clusters again too, compared by tolerance."
        ),
    ] = False,
    cores: Annotated[str, typer.Option(help="Cores for Snakemake: a number, or all.")] = "all",
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> None:
    """Rebuild everything from `recorded/`, without network, keys and models, and compare it with the record.

    Exit code 0: byte-identical. 1: something differs. 2: something could not be replayed.
    """
    from magister.audit.compare import compare
    from magister.audit.replay import check_free, put_here
    from magister.audit.replay import replay as rebuild

    root = Path()
    if here:
        check_free(root)
    target = folder or Path(tempfile.mkdtemp(prefix="magister-replay-"))
    try:
        done = rebuild(root, target, cores=cores, fetch=fetch, recompute=recompute)
        found = compare(root, done)
        notes = _notes(target)
        if here:
            put_here(root, done)
    finally:
        if folder is None:
            shutil.rmtree(target, ignore_errors=True)
    if as_json:
        typer.echo(json.dumps(_document(done, found, notes), indent=1, sort_keys=True, ensure_ascii=False))
    else:
        for line in _lines(done, found, notes):
            echo(line)
    short = any(note["agreement"] < note["least"] for note in notes)
    raise typer.Exit(max(found.exit_code, 1) if short and found.exit_code == 0 else found.exit_code)


def _notes(folder: Path) -> list[dict[str, Any]]:
    """What steps have worked out again beside the record."""
    paths = sorted((folder / "build/recomputed").glob("*.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def _document(done: Replay, found: Comparison, notes: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "answers": done.answers,
        "network": done.cut,
        "fetched": done.fetched,
        "missing_files": done.missing,
        "failed_steps": done.failed,
        "identical": len(found.identical),
        "left_out": found.left_out,
        "differences": [asdict(one) for one in found.differences],
        "changed_code": found.code,
        "other_packages": {name: list(pair) for name, pair in found.packages.items()},
        "folders_as_in_dvc_lock": found.folders,
        "record_unlike": found.unlike,
        "recomputed": notes,
        "exit_code": found.exit_code,
    }


def _lines(done: Replay, found: Comparison, notes: list[dict[str, Any]]) -> Iterator[str]:
    yield f"Replayed from {counted(done.answers, 'recorded answer')}; no model was asked. The network was {done.cut}."
    if done.fetched:
        yield f"Fetched beforehand, held to their hashes: {', '.join(done.fetched)}."
    if done.missing:
        yield (
            f"Not here, so that what is made of them was not replayed: the public files of {', '.join(done.missing)}. "
            "`magister replay --fetch` fetches them first."
        )
    for name, text in list(done.failed.items())[:_SHOWN]:
        yield f"stopped: {name}: {text}"
    if len(done.failed) > _SHOWN:
        yield f"and {counted(len(done.failed) - _SHOWN, 'more step')}"
    for note in notes:
        verdict = "agrees" if note["agreement"] >= note["least"] else "DIFFERS"
        yield (
            f"worked out again: {note['step']} {verdict}: {note['measure']} {note['agreement']:.6f}, at least "
            f"{note['least']:g} wanted"
        )
    total = len(found.identical) + len([one for one in found.differences if one.kind != "new"])
    yield f"{len(found.identical)} of {counted(total, 'recorded file')} byte-identical."
    if found.left_out:
        yield f"Neither read nor made, named by the record's hashes: {counted(len(found.left_out), 'file')} of weights."
    yield from found.unlike
    if found.code:
        shown = ", ".join(found.code[:_SHOWN]) + (" ..." if len(found.code) > _SHOWN else "")
        yield (
            f"Recorded with other code: {counted(len(found.code), 'source file')} changed since: {shown}. Files are "
            "compared by what they say too."
        )
    for kind, title in _TITLES.items():
        some = [one for one in found.differences if one.kind == kind]
        if not some:
            continue
        if kind == "missing":
            # One step that stopped is the reason of them all; it is named above.
            folders = Counter("/".join(one.path.split("/")[:-1][:2]) for one in some)
            places = ", ".join(f"{folder} ({count})" for folder, count in sorted(folders.items()))
            yield f"{title}: {counted(len(some), 'file')}: {places}"
            continue
        yield f"{title}: {counted(len(some), 'file')}"
        causes: dict[tuple[str, str], list[str]] = {}
        for one in some:
            causes.setdefault((one.first, one.cause), []).append(one.path)
        for (first, cause), paths in sorted(causes.items(), key=lambda item: -len(item[1]))[:_SHOWN]:
            yield f"  {paths[0]}" + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
            yield f"    began with {first}: {cause}"
        if len(causes) > _SHOWN:
            yield f"  and {counted(len(causes) - _SHOWN, 'more cause')}: see --json"
    lock = [folder for folder, same in found.folders.items() if not same]
    if found.exit_code == 0:
        yield (
            "Everything is byte-identical"
            + (
                f", and every folder is what dvc.lock records ({len(found.folders)})."
                if found.folders
                else "."
            )
        )
    elif lock:
        yield f"Not what dvc.lock records: {', '.join(lock)}"


_TITLES = {
    "data": "DIFFERENT in what they say",
    "rounding": "Different in the last digits (rounding)",
    "new": "Not in the record",
    "missing": "Not replayed",
    "origin": "The same in what they say, other lineage",
}
