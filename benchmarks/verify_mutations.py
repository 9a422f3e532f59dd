"""Does `magister verify` notice? Damages a copy of a finished project, one place at a time, and prints what was caught.

python benchmarks/verify_mutations.py FOLDER [--whole] [--only WORD]

One artifact of every type (each table contract, request and response files, the store, documents, pages, plots,
vectors, lineage records) is damaged in every way that fits it; then parameters, scripts, prompts and DVC's records
are. A line says whether the file was named, and the row, line or place in it. Exit code 1 if anything was missed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from magister.audit.findings import Finding
from magister.audit.places import contract_of, name_row
from magister.audit.scene import read_scene
from magister.audit.verification import run_checks
from magister.pipeline import MANIFEST, Job

Damage = Callable[[Path], str | None]
"""Damages a file. Returns a text that the place must hold (empty: none is asked for), or None where it does not fit."""


@dataclass
class Tried:
    """What became of one damage."""

    kind: str
    path: str
    damage: str
    named: bool
    placed: bool
    first: Finding | None


def flip_byte(path: Path) -> str | None:
    content = bytearray(path.read_bytes())
    if not content:
        return None
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    return ""


def append_byte(path: Path) -> str | None:
    with path.open("ab") as file:
        file.write(b"\n")
    return ""


def remove(path: Path) -> str | None:
    path.unlink()
    return ""


def _table(path: Path) -> pa.Table | None:
    if path.suffix != ".parquet":
        return None
    table = pq.read_table(path)
    return table if table.num_rows > 1 and contract_of(table.schema) is not None else None


def drop_row(path: Path) -> str | None:
    if path.suffix == ".jsonl":
        return _lines(path, lambda lines: (lines.pop(len(lines) // 2), lines)[1])
    table = _table(path)
    contract = None if table is None else contract_of(table.schema)
    if table is None or contract is None:
        return None
    at = table.num_rows // 2
    pq.write_table(pa.concat_tables([table.slice(0, at), table.slice(at + 1)]), path, compression="zstd")
    return name_row(table, at, contract.key)


def swap_values(path: Path) -> str | None:
    """Exchange all values but the key of two rows that differ."""
    table = _table(path)
    contract = None if table is None else contract_of(table.schema)
    if table is None or contract is None:
        return None
    rows = table.to_pylist()
    values = [name for name in table.column_names if name not in contract.key]
    for at in range(len(rows) - 1):
        one, other = rows[at], rows[at + 1]
        if any(one[name] != other[name] and one[name] == one[name] for name in values):
            for name in values:
                one[name], other[name] = other[name], one[name]
            pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path, compression="zstd")
            return name_row(table, at, contract.key)
    return None


def swap_rows(path: Path) -> str | None:
    """Exchange two rows."""
    if path.suffix == ".jsonl":

        def exchange(lines: list[bytes]) -> list[bytes]:
            lines[0], lines[-1] = lines[-1], lines[0]
            return lines

        return _lines(path, exchange)
    table = _table(path)
    contract = None if table is None else contract_of(table.schema)
    if table is None or contract is None:
        return None
    order = [1, 0, *range(2, table.num_rows)]
    pq.write_table(table.take(pa.array(order)), path, compression="zstd")
    return name_row(table, 0, contract.key)


def _lines(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> str | None:
    lines = path.read_bytes().splitlines(keepends=True)
    if len(lines) < 2 or lines[0] == lines[-1]:
        return None
    path.write_bytes(b"".join(change(lines)))
    return "line "


def edit_text(path: Path) -> str | None:
    """Change a word of an answer or a question, its key left as it is."""
    if path.suffix != ".jsonl":
        return None
    lines = path.read_bytes().splitlines(keepends=True)
    at = len(lines) // 2
    for old, new in ((b'"content":"', b'"content":"Certainly. '), (b'"role":"', b'"role":"x')):
        if lines and old in lines[at]:
            lines[at] = lines[at].replace(old, new, 1)
            path.write_bytes(b"".join(lines))
            return str(json.loads(lines[at])["custom_id"])
    return None


DAMAGES: dict[str, Damage] = {
    "flip a byte": flip_byte,
    "append a byte": append_byte,
    "remove": remove,
    "drop a row": drop_row,
    "swap two rows' values": swap_values,
    "swap two rows": swap_rows,
    "edit a text": edit_text,
}


def kinds(root: Path) -> dict[str, str]:
    """One artifact of each type: type -> path, the smallest that has rows enough."""
    found: dict[str, tuple[int, str]] = {}
    scene = read_scene(root)
    for path in sorted(scene.files):
        file = root / path
        size = file.stat().st_size
        name = file.name
        if path.startswith("store/"):
            kind = "store" if name.endswith(".jsonl") else "store lock"
        elif name.endswith(".lineage.json"):
            kind = "lineage record"
        elif name.endswith((".requests.jsonl", ".responses.jsonl")):
            kind = name.split(".")[-2]
        elif file.suffix == ".parquet":
            contract = contract_of(pq.read_schema(file))
            kind = f"table {contract.name if contract else '?'}"
            size = max(0, 3 - pq.read_metadata(file).num_rows) * 10**9 + size
        elif name.startswith("gate"):
            kind = f"gate{file.suffix}"
        else:
            kind = f"{path.split('/')[1] if path.startswith('data/') else 'board'} {file.suffix or name}"
        if name.endswith(".jsonl") and size < 2000:
            size += 10**9
        if kind not in found or (size, path) < found[kind]:
            found[kind] = (size, path)
    return {kind: path for kind, (_, path) in sorted(found.items())}


def edits(root: Path) -> Iterator[tuple[str, str, Damage, str]]:
    """Edits of what stages read: type, file, edit, and the file that must be named."""

    def parameter(path: Path) -> str:
        params = yaml.safe_load(path.read_text(encoding="utf-8"))
        params.setdefault("statistics", {})["resamples"] = 123
        path.write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")
        return "statistics.resamples"

    def comment(path: Path) -> str:
        with path.open("a", encoding="utf-8") as file:
            file.write("# edited\n")
        return ""

    def sentence(path: Path) -> str:
        with path.open("a", encoding="utf-8") as file:
            file.write("Be quick.\n")
        return ""

    def line(path: Path) -> str:
        text = path.read_text(encoding="utf-8").splitlines(keepends=True)
        text[3] = "0" * 32 + text[3][32:]
        path.write_text("".join(text), encoding="utf-8")
        return ""

    def hash_of_folder(path: Path) -> str:
        text = path.read_text(encoding="utf-8")
        at = text.index(".dir", text.index("outs:")) - 32
        path.write_text(text[:at] + "0" * 32 + text[at + 32 :], encoding="utf-8")
        return ""

    scene = read_scene(root)
    code = {name for each in scene.trail.artifacts.values() for name in each.lineage.get("code", {})}
    prompts = [name for name in scene.trail.sources() if name.startswith("prompts/")]
    yield "parameters", "params.yaml", parameter, "params.yaml"
    for name in ("scripts/teaching/guide.py", "scripts/llm/complete.py", "src/magister/stats/_cluster.py"):
        if name in code:
            yield "script", name, comment, name
    if prompts:
        yield "prompt", prompts[0], sentence, prompts[0]
    yield "rule", "rules/teaching.smk", comment, "rules/teaching.smk"
    yield "manifest", MANIFEST, line, MANIFEST
    yield "dvc.lock", "dvc.lock", hash_of_folder, MANIFEST
    yield "store.dvc", "store.dvc", hash_of_folder, MANIFEST


@dataclass
class Known:
    """What damages to artifacts do not change, worked out once."""

    cache: Path
    jobs: list[Job]


def tried(
    root: Path, kind: str, path: str, name: str, place: str, target: str | None, known: Known, must_name: str
) -> Tried:
    """Verify a damaged project."""
    scene = read_scene(root, target)
    scene.project.__dict__["_cache"] = known.cache
    if must_name == path and kind not in ("parameters", "script", "prompt", "rule"):
        scene.__dict__["jobs"] = known.jobs
    found = run_checks(scene, target).findings
    here = [finding for finding in found if finding.path == must_name]
    placed = [finding for finding in here if place in finding.place]
    return Tried(kind, path, name, bool(here), bool(placed), (placed or here or found or [None])[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path, help="a finished project; it is copied and stays as it is")
    parser.add_argument(
        "--whole", action="store_true", help="verify everything each time, not the damaged file"
    )
    parser.add_argument("--only", default="", help="types with this word in them")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="magister-verify-") as folder:
        root = Path(folder) / "project"
        shutil.copytree(
            chosen.folder, root, symlinks=True, ignore=shutil.ignore_patterns(".venv", "build", "__pycache__")
        )
        clean = run_checks(read_scene(root), None)
        print(f"untouched: {len(clean.findings)} findings, exit code {clean.exit_code}", flush=True)
        for finding in clean.findings[:5]:
            print(f"  {finding}")
        first = read_scene(root)
        known = Known(first.project._cache, first.jobs)
        results = [] if clean.exit_code == 0 else [Tried("untouched", "", "nothing", False, False, None)]
        for kind, path in kinds(root).items():
            if chosen.only not in kind:
                continue
            for name, damage in DAMAGES.items():
                target = (
                    path if not chosen.whole and name != "remove" and not path.startswith("store/") else None
                )
                results += attempt(root, kind, path, name, damage, target, known, path)
        for kind, path, damage, must_name in edits(root):
            if chosen.only in kind:
                results += attempt(root, kind, path, "edit", damage, None, known, must_name)
    missed = [each for each in results if not each.named]
    unplaced = [each for each in results if each.named and not each.placed]
    print(f"\n{len(results)} damages to {len({each.kind for each in results})} types of file")
    print(
        f"file named: {len(results) - len(missed)}, row or place named: {len(results) - len(missed) - len(unplaced)}"
    )
    for each in [*missed, *unplaced]:
        print(
            f"{'MISSED' if not each.named else 'no place'}: {each.kind}, {each.path}: {each.damage}: {each.first}"
        )
    return int(bool(missed))


def attempt(
    root: Path,
    kind: str,
    path: str,
    name: str,
    damage: Damage,
    target: str | None,
    known: Known,
    must_name: str,
) -> list[Tried]:
    """Damage a file, verify, put it back."""
    file = root / path
    before = file.read_bytes()
    place = damage(file)
    if place is None:
        return []
    try:
        result = tried(root, kind, path, name, place, target, known, must_name)
    finally:
        file.write_bytes(before)
    state = "MISSED" if not result.named else "named" if result.placed else "named, no place"
    first = result.first.place if result.first is not None else ""
    print(f"{kind:<28} {name:<22} {state:<16} {first[:70]}", flush=True)
    return [result]


if __name__ == "__main__":
    sys.exit(main())
