"""The record of a run that goes into version control: answers of models, and what the outputs were."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from magister.audit.content import data_md5, named, read_table
from magister.audit.lock import LOCK, read_lock
from magister.audit.packing import SUFFIX, pack, read_packed, write_packed, write_store
from magister.audit.trail import Artifact, Trail, read_trail
from magister.config.embedders import EmbedderConfig
from magister.config.models import ModelConfig
from magister.embeddings._rows import embedding_key
from magister.errors import UserError
from magister.llm import Row, Store, check_requests, read_requests, read_row
from magister.pipeline import DvcProject, folder_md5
from magister.pipeline._dvc import files_under, is_remnant
from magister.provenance import value_sha256
from magister.recorded import FILES, FOLDER, MODELS, pinned_path
from magister.wheels import scrub_addresses

INDEX = FOLDER / "index.json"
ARTIFACTS = FOLDER / "artifacts.tsv"
SOURCES = FOLDER / "sources.tsv"
KINDS = ("responses", "embeddings")
_FORMAT = 1
_PACKAGES = (
    *("great-expectations", "matplotlib", "numba", "numpy", "pandas", "pyarrow", "reasoning-gym"),
    *("scikit-learn", "scipy", "snakemake", "umap-learn"),
)
"""Packages that bytes of outputs depend on."""


@dataclass(frozen=True)
class Output:
    """An output as it was.

    Attributes:
        md5: of its bytes.
        data: md5 of what it says, apart from its lineage; None for the lineage beside a file.
        params: hash of the parameters that its rule used; empty where it carries none.
    """

    md5: str
    data: str | None
    params: str


@dataclass(frozen=True)
class Record:
    """The record of a run.

    Attributes:
        outputs: by path.
        sources: path -> md5 of every file that a step has read and no rule has made, code apart.
        code: path -> md5 of every source file that a step has run.
        packages: versions of packages that bytes depend on.
        answers: by kind (`responses`, `embeddings`) and model: how many rows, and their sha256.
    """

    outputs: Mapping[str, Output]
    sources: Mapping[str, str]
    code: Mapping[str, str]
    packages: Mapping[str, str]
    answers: Mapping[str, Mapping[str, Mapping[str, Any]]]


@dataclass
class Recorded:
    """What `record` has written.

    Attributes:
        rows: answers by model, `responses/NAME` or `embeddings/NAME`.
        outputs: how many outputs are described.
        kept: artifacts that are kept as they are.
        size: bytes of the whole record.
    """

    rows: dict[str, int] = field(default_factory=dict)
    outputs: int = 0
    kept: list[str] = field(default_factory=list)
    size: int = 0


def versions() -> dict[str, str]:
    """Versions of this Python and of the packages that bytes of outputs depend on."""
    found = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def record(root: Path) -> Recorded:
    """Pack what a replay of the present run needs.

    Of answers only those that the run's requests have asked for. No key, host or time is in it.

    Args:
        root: the project's folder.

    Raises:
        UserError: the run is not the one that `dvc.lock` certifies, an answer is missing, or an answer's error names
            an address.
    """
    trail = read_trail(root)
    md5s = _certified(trail)
    answers = {"responses": _responses(trail), "embeddings": _embeddings(trail)}
    done = Recorded(outputs=len(md5s))
    index: dict[str, Any] = {"format": _FORMAT, "packages": versions()}
    for kind, models in answers.items():
        index[kind] = {}
        for name, rows in sorted(models.items()):
            index[kind][name] = write_packed(root / FOLDER / kind / f"{name}{SUFFIX}", pack(rows))
            done.rows[f"{kind}/{name}"] = len(rows)
        _remove_others(root / FOLDER / kind, {f"{name}{SUFFIX}" for name in models})
    done.kept = sorted(path for path, artifact in trail.artifacts.items() if _is_kept(artifact))
    for path in done.kept:
        (root / FILES / path).parent.mkdir(parents=True, exist_ok=True)
        (root / FILES / path).write_bytes((root / path).read_bytes())
    _remove_others(root / FILES, set(done.kept))
    _write_json(root / INDEX, index)
    _write_json(root / MODELS, _models(trail))
    _write_lines(root / ARTIFACTS, _output_lines(trail, md5s))
    _write_lines(root / SOURCES, _source_lines(trail))
    done.size = sum(stat.st_size for stat in files_under(root, [FOLDER.as_posix()]).values())
    return done


def _certified(trail: Trail) -> dict[str, str]:
    """md5 of every file that the stages made, held to `dvc.lock`."""
    project, lock = DvcProject(trail.root), read_lock(trail.root)
    if lock is None:
        raise UserError(
            f"{LOCK}: not there, so that no full run has been recorded yet. Run: snakemake --cores all"
        )
    paths = [path for path in files_under(trail.root, project.outs()) if not is_remnant(path)]
    md5s = {path: md5 for path in sorted(paths) if (md5 := trail.md5(path)) is not None}
    other = [out for out in project.outs() if lock.outs.get(out) != folder_md5(md5s, out)]
    if other:
        raise UserError(
            f"{named(other)}: not what {LOCK} records. Only a full run is recorded: snakemake --cores all"
        )
    return md5s


def _responses(trail: Trail) -> dict[str, dict[str, Row]]:
    """Answers to the requests of the run, by model and key. Scripted models are functions and need none."""
    found: dict[str, dict[str, Row]] = {}
    for path, artifact in trail.artifacts.items():
        if artifact.rule != "complete":
            continue
        name = artifact.lineage["wildcards"]["model"]
        if ModelConfig.model_validate(artifact.lineage["params"]["model"]).engine == "scripted":
            continue
        asked = trail.root / next(name for name in artifact.inputs if name.endswith(".requests.jsonl"))
        requests = read_requests(asked)
        check_requests(requests, artifact.lineage["models"][name], asked)
        rows = {
            row["custom_id"]: row
            for row in map(json.loads, (trail.root / path).read_text(encoding="utf-8").splitlines())
        }
        mine = found.setdefault(name, {})
        for key in {request["custom_id"] for request in requests}:
            if key not in rows:
                raise UserError(
                    f"{path}: no answer to {key}, which {asked.name} asks for. Delete it and run again."
                )
            _keep(mine, rows[key], path)
    return found


def _keep(rows: dict[str, Row], row: Row, where: str) -> None:
    """Add an answer; one that came goes before one that failed."""
    key, error = row["custom_id"], row["error"]
    if error is not None and scrub_addresses(str(error.get("message", ""))) != error.get("message", ""):
        raise UserError(
            f"{where}: the error of {key} names an address, which does not belong into version control. Run again "
            "until the request has an answer."
        )
    known = rows.setdefault(key, row)
    if known["error"] is not None and error is None:
        rows[key] = row
    elif error is None and known["response"] != row["response"]:
        raise UserError(
            f"{where}: two answers to {key}: another task of the model has another one. Run again with one store."
        )


def _embeddings(trail: Trail) -> dict[str, dict[str, Row]]:
    """Vectors of the texts of the run, by embedder and key. Hashed words are a function and need none."""
    keys: dict[str, set[str]] = {}
    for path, artifact in trail.artifacts.items():
        options = artifact.lineage.get("params", {})
        name = options.get("embedder_name")
        if name is None or EmbedderConfig.model_validate(options["embedder"]).engine == "hashed":
            continue
        # A step that had nothing to compare asked for nothing.
        fingerprint = artifact.lineage["models"].get(name)
        if fingerprint is not None:
            texts = _texts(trail, path, artifact)
            keys.setdefault(name, set()).update(embedding_key(fingerprint, text) for text in texts)
    found: dict[str, dict[str, Row]] = {}
    for name, wanted in keys.items():
        store = Store(trail.root / "store" / "embedders", name, "recorded")
        index = store.look_up(wanted)
        places = index.failed | index.finished
        if len(places) < len(wanted):
            raise UserError(
                f"{store.folder}: no vector of {len(wanted) - len(places)} of {len(wanted)} texts of this run. Bring "
                "the store back: dvc checkout store.dvc, or dvc pull."
            )
        rows = found.setdefault(name, {})
        for key, place in places.items():
            with place.path.open("rb") as file:
                _keep(rows, read_row(file, place) | {"custom_id": key}, str(place.path))
    return found


def _texts(trail: Trail, path: str, artifact: Artifact) -> set[str]:
    """Texts that a step may have embedded: of the tables it reads and, where it makes texts, of those it writes."""
    texts: set[str] = set()
    tables = [name for name in artifact.inputs if name.endswith(".parquet")]
    tables += [path] if path.endswith(".parquet") else []
    for name in tables:
        table = read_table(trail.root / name)
        columns = {"text"} & set(table.column_names)
        if artifact.rule == "evolve_instructions" and "operation" in table.column_names:
            # What says too much the same as another one is rejected with its text.
            columns |= {"raw"} & set(table.column_names)
        for column in columns:
            texts.update(text for text in table[column].to_pylist() if text is not None and text.strip())
    return texts


def _is_kept(artifact: Artifact) -> bool:
    """Whether an artifact's arithmetic is another one on another processor, and nobody has given its outcome."""
    if artifact.rule != "cluster_items":
        return False
    study = artifact.lineage["wildcards"]["study"]
    known = (f"data/diagnosis/studies/{study}/", "data/models/")
    return all(name.startswith(known) for name in artifact.inputs)


def _models(trail: Trail) -> dict[str, Any]:
    """Versions of engines, and hashes of the files that models were loaded from: `RecordedModels`."""
    engines: dict[str, str] = {}
    files: dict[str, dict[str, str]] = {}
    for path, artifact in trail.artifacts.items():
        if artifact.rule not in ("fingerprint_model", "fingerprint_embedder") or not artifact.inputs:
            continue
        print_ = json.loads((trail.root / path).read_text(encoding="utf-8"))
        options = artifact.lineage["params"]
        config: ModelConfig | EmbedderConfig
        if artifact.rule == "fingerprint_model":
            kind, name = "models", artifact.lineage["wildcards"]["model"]
            config = ModelConfig.model_validate(options["model"])
            hashed = [(config.weights, print_.get("weights_sha256"))]
        else:
            kind, name = "embedders", artifact.lineage["wildcards"]["embedder"]
            config = EmbedderConfig.model_validate(options["embedder"])
            hashed = [
                (config.weights, print_.get("weights_sha256")),
                (config.tokenizer, print_.get("tokenizer_sha256")),
            ]
        engines[f"{kind}/{name}"] = print_["engine_version"]
        for file, sha256 in hashed:
            if file is not None:
                place = pinned_path(file)
                files[place] = {"md5": artifact.inputs[place], "sha256": sha256}
    return {"engines": engines, "files": files}


def _output_lines(trail: Trail, md5s: Mapping[str, str]) -> Iterable[str]:
    yield "md5\tdata\tparams\tpath"
    for path, md5 in md5s.items():
        artifact = trail.artifacts.get(path)
        params = artifact.lineage.get("params", {}) if artifact else {}
        yield "\t".join([md5, data_md5(trail.root / path) or "-", value_sha256(params), path])


def _source_lines(trail: Trail) -> Iterable[str]:
    yield "md5\tkind\tpath"
    code = {
        path: str(md5)
        for artifact in trail.artifacts.values()
        for path, md5 in artifact.lineage.get("code", {}).items()
    }
    read = {path: md5 for path in trail.sources() if (md5 := trail.md5(path)) is not None}
    rows = [(path, "code", md5) for path, md5 in code.items()]
    rows += [(path, "input", md5) for path, md5 in read.items()]
    for path, kind, md5 in sorted(rows):
        yield f"{md5}\t{kind}\t{path}"


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, sort_keys=True, indent=1) + "\n", encoding="utf-8")


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _remove_others(folder: Path, names: set[str]) -> None:
    """Remove files of an earlier record."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.relative_to(folder).as_posix() not in names:
            path.unlink()


def read_record(root: Path) -> Record:
    """Read the record of a project.

    Raises:
        UserError: there is none, or it cannot be read.
    """
    if not (root / INDEX).is_file():
        raise UserError(
            f"{INDEX}: not there, so that nothing can be replayed. `magister record` writes the record after a full "
            "run; a project that was published with one has it in version control."
        )
    try:
        index = json.loads((root / INDEX).read_text(encoding="utf-8"))
        if index["format"] != _FORMAT:
            raise UserError(
                f"{INDEX}: format {index['format']}; this version reads {_FORMAT}. Use the version that wrote it."
            )
        outputs = {
            path: Output(md5, None if data == "-" else data, params)
            for md5, data, params, path in _rows(root / ARTIFACTS, 4)
        }
        sources = {(kind, path): md5 for md5, kind, path in _rows(root / SOURCES, 3)}
        return Record(
            outputs,
            {path: md5 for (kind, path), md5 in sources.items() if kind == "input"},
            {path: md5 for (kind, path), md5 in sources.items() if kind == "code"},
            index["packages"],
            {kind: index[kind] for kind in KINDS},
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{FOLDER}/: the record cannot be read: {error!r}. Take it from version control again."
        ) from None


def _rows(path: Path, width: int) -> list[list[str]]:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    if any(len(row) != width for row in rows):
        raise ValueError(f"{path.name}: a line without {width} fields")
    return rows


def unpack(root: Path, known: Record, store: Path) -> int:
    """Put the recorded answers into a store.

    Args:
        root: the project's folder.
        known: its record.
        store: folder of all stores.

    Returns:
        How many answers there are.

    Raises:
        UserError: a file is missing or damaged, or holds other answers than were recorded.
    """
    count = 0
    for kind, models in known.answers.items():
        for name, expected in models.items():
            rows = read_packed(root / FOLDER / kind / f"{name}{SUFFIX}", expected)
            write_store(store / "embedders" / name if kind == "embeddings" else store / name, rows)
            count += len(rows)
    return count
