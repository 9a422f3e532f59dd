"""Whether every answer is the one that was stored, and every request the one that its key says.

Lines are compared as bytes: request files, response files and the store are written in one canonical form.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from magister.audit.checks import Check, shown
from magister.audit.findings import Finding
from magister.audit.scene import Scene
from magister.pipeline._dvc import STORE

REQUESTS = "requests are what their custom_id says"
RESPONSES = "responses are those of the store"
_REQUESTS, _RESPONSES = ".requests.jsonl", ".responses.jsonl"
_MUCH = 64 * 2**20
"""Bytes from which on other processes are worth starting."""
_STORED = re.compile(rb'\{"attempts":\d+,("custom_id":"([^"\\]+)",.*\})\n?', re.DOTALL)
_ANSWER = re.compile(rb'\{("custom_id":"([^"\\]+)",.*\})\n?', re.DOTALL)


def check_requests(scene: Scene) -> Check:
    """Work out the key of every request again, from the model's fingerprint and the request itself."""
    found: list[Finding] = []
    chosen: list[tuple[Path, str]] = []
    names: list[str] = []
    for path in sorted(name for name in scene.chosen if name.endswith(_REQUESTS)):
        model = path.rsplit("/", 1)[-1].removesuffix(_REQUESTS)
        named = f"data/models/{model}.json"
        try:
            known = _dump(json.loads((scene.root / named).read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            found.append(
                Finding(named, "", REQUESTS, f"cannot be read: {error}", "the fingerprint of the model")
            )
            continue
        names.append(path)
        chosen.append((scene.root / path, known))
    n = 0
    for path, (count, problems) in zip(names, _over_cores(_wrong_keys, chosen), strict=True):
        n += count
        found += [Finding(path, place, REQUESTS, *pair) for place, *pair in problems]
    return Check(REQUESTS, n, "requests", found)


Problems = tuple[int, list[tuple[str, str, str]]]
"""How many rows a file has, and what is wrong with them: place, what is seen, what is expected."""


def _over_cores(work: Callable[[Path, str], Problems], files: list[tuple[Path, str]]) -> list[Problems]:
    """Do the same with every file, on all cores where there is much to read: parsing holds the interpreter."""
    size = sum(path.stat().st_size for path, _ in files)
    cores = min(len(files), os.cpu_count() or 1)
    if size < _MUCH or cores < 2:
        return [work(*each) for each in files]
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        return list(pool.map(work, *zip(*files, strict=True)))


def _wrong_keys(path: Path, fingerprint: str) -> Problems:
    """Requests of a file whose key is not theirs."""
    n, found = 0, []
    for number, line in _lines(path):
        n += 1
        problem = _problem(line, fingerprint)
        if problem:
            found.append((f"line {number}, custom_id {problem[0]}", *problem[1:]))
    return n, found


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        yield from enumerate(file, start=1)


def _dump(value: Any) -> str:
    """The one form that hashes are taken of; written out here, so that it is not the code that has made them."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _problem(line: bytes, fingerprint: str) -> tuple[str, str, str] | None:
    """What is wrong with a line of a request file: its key, what is seen, what is expected."""
    try:
        row = json.loads(line)
        key, body = str(row["custom_id"]), row["body"]
        request = _dump({name: value for name, value in body.items() if name != "model"})
        text = f'{{"fingerprint":{fingerprint},"request":{request},"sample":{row.get("sample", 0):d}}}'
        digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return "unknown", f"cannot be read: {shown(str(error))}", "a request"
    return None if digest == key else (key, "a request with another key", digest)


def check_responses(scene: Scene) -> Check:
    """Find every response, byte by byte, in the store of its model, and one for every request."""
    found: list[Finding] = []
    n = 0
    by_model: dict[str, list[str]] = {}
    for path in sorted(name for name in scene.chosen if name.endswith(_RESPONSES)):
        by_model.setdefault(path.rsplit("/", 1)[-1].removesuffix(_RESPONSES), []).append(path)
    for model, paths in sorted(by_model.items()):
        stored, torn = _stored(scene.root / STORE / model)
        found += [
            Finding(f"{STORE}/{model}/{name}", place, RESPONSES, "no row", "a row") for name, place in torn
        ]
        for path in paths:
            asked = scene.root / f"{path.removesuffix(_RESPONSES)}{_REQUESTS}"
            count, problems = _compare(scene.root / path, asked, stored)
            n += count
            found += [Finding(path, place, RESPONSES, *pair) for place, *pair in problems]
    return Check(RESPONSES, n, "responses", found)


def _stored(folder: Path) -> tuple[dict[bytes, set[bytes]], list[tuple[str, str]]]:
    """What the store holds of a model: key -> hashes of its answers; and lines that are none."""
    found: dict[bytes, set[bytes]] = {}
    torn = []
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in _lines(path):
            row = _STORED.fullmatch(line)
            if row is None:
                torn.append((path.name, f"line {number}"))
            else:
                found.setdefault(row[2], set()).add(_digest(row[1]))
    return found, torn


def _named(key: bytes) -> str:
    return f"custom_id {key.decode('utf-8', 'replace')}"


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=16).digest()


def _keys(path: Path) -> list[bytes]:
    """Keys of a request file, as far as they can be read."""
    keys = []
    for _, line in _lines(path):
        found = re.search(rb'"custom_id":"([^"\\]+)","method":', line)
        keys.append(found[1] if found else b"")
    return keys


def _compare(path: Path, asked: Path, stored: dict[bytes, set[bytes]]) -> Problems:
    """Hold a response file against its requests and the store."""
    keys = _keys(asked) if asked.is_file() else []
    problems, answered = [], []
    for number, line in _lines(path):
        row = _ANSWER.fullmatch(line)
        place = f"line {number}"
        if row is None:
            answered.append(b"")
            problems.append((place, shown(line.decode("utf-8", "replace")), "a response"))
            continue
        key = row[2]
        answered.append(key)
        place += f", {_named(key)}"
        if key not in stored:
            problems.append((place, "a response", "an answer in the store"))
        elif _digest(row[1]) not in stored[key]:
            problems.append((place, "another response", "the answer in the store"))
    if answered != keys:
        missing, known = set(keys) - set(answered), set(keys)
        problems += [(_named(key), "no response", "one") for key in keys if key in missing]
        problems += [
            (_named(key), "a response", f"no such request in {asked.name}")
            for key in answered
            if key and key not in known
        ]
        if not problems:
            problems.append(("order of rows", "another", f"that of {asked.name}"))
    return len(answered), problems
