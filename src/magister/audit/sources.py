"""Every file behind a number, from the board down to the answers of models and the raw data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from magister.audit.card import Source
from magister.audit.project import Project
from magister.audit.transcripts import STORE, store_file
from magister.llm import Store, read_responses


def sources_of(project: Project, board: str, table: str) -> tuple[Source, ...]:
    """The files behind a number.

    Args:
        project: finished.
        board: the board's file.
        table: the table that holds the number: what the board reads beside it is not behind the number.

    Returns:
        The board, the table, and all that the table was made from, nearest to the board first; the store's file stands
        one step behind the responses that were composed from it.
    """
    trail = project.trail
    recorded: dict[str, str] = {}
    steps = {board: 0, table: 1}
    order = [board, table]
    artifact = trail.artifacts.get(board)
    recorded[table] = dict(artifact.inputs if artifact else {}).get(table, "")
    waiting = [table]
    while waiting:
        nearer, waiting = waiting, []
        for path in nearer:
            made = trail.artifacts.get(path)
            for name, md5 in sorted(made.inputs.items() if made else ()):
                recorded.setdefault(name, md5)
                if name not in steps:
                    steps[name] = steps[path] + 1
                    order.append(name)
                    waiting.append(name)
    found = [
        _source(project, path, steps[path], recorded.get(path), (table,) if path == board else None)
        for path in order
    ]
    stores: dict[str, Source] = {}
    for one in found:
        if one.rule == "complete":
            for path in _stores_of(project, one):
                stores.setdefault(path, _store(project, path, one.steps + 1))
    return tuple(sorted([*found, *stores.values()], key=lambda one: (one.steps, one.kind, one.path)))


def _source(
    project: Project, path: str, steps: int, md5: str | None, inputs: tuple[str, ...] | None
) -> Source:
    artifact = project.trail.artifacts.get(path)
    there = (project.trail.root / path).is_file()
    problem = "" if there else "not here now"
    if artifact is None:
        return Source(path, "source", steps, md5, problem=problem)
    lineage = artifact.lineage
    return Source(
        path,
        "artifact",
        steps,
        md5 if md5 else project.trail.md5(path),
        artifact.rule,
        dict(lineage.get("wildcards", {})),
        dict(lineage.get("params", {})),
        tuple(sorted(artifact.inputs)) if inputs is None else inputs,
        len(lineage.get("code", {})),
        artifact.problem or problem,
    )


def _stores_of(project: Project, responses: Source) -> list[str]:
    """Files of the store that a response file was composed from.

    That of its own task; where there is none, all its requests were answered for other tasks of the model before.
    """
    model, step = responses.wildcards["model"], responses.wildcards["step"]
    own = store_file(model, step)
    root, file = project.trail.root, project.trail.root / responses.path
    if (root / own).is_file() or not file.is_file():
        return [own]
    keys = {one.custom_id for one in read_responses(file)}
    index = Store(root / STORE, model, step).look_up(keys)
    places = [*index.finished.values(), *index.failed.values()]
    return sorted({place.path.relative_to(root).as_posix() for place in places}) or [own]


def _store(project: Project, path: str, steps: int) -> Source:
    md5 = project.trail.md5(path)
    return Source(path, "store", steps, md5, problem="" if md5 else "not here now")


@dataclass(frozen=True)
class Siblings:
    """Files of one kind, a step and a rule.

    Attributes:
        pattern: what their paths have in common, `*` for what differs.
        files: at least one.
    """

    pattern: str
    files: tuple[Source, ...]


def siblings(sources: Sequence[Source]) -> list[Siblings]:
    """Put files of one rule and one kind of name together.

    Args:
        sources: from `sources_of`.

    Returns:
        Groups by the step of their nearest file; what no rule made stands for itself, the store's files together.
    """
    groups: dict[tuple[str, str, str], list[Source]] = {}
    for one in sources:
        suffix = one.path.rsplit("/", 1)[-1].partition(".")[2]
        last = {"source": one.path, "store": ""}.get(one.kind, suffix)
        groups.setdefault((one.kind, one.rule, last), []).append(one)
    found = [Siblings(pattern([one.path for one in some]), tuple(some)) for some in groups.values()]
    return sorted(
        found, key=lambda group: (min(one.steps for one in group.files), group.files[0].rule, group.pattern)
    )


def pattern(paths: Sequence[str]) -> str:
    """What some paths have in common, part by part: `data/a/round*/b.parquet`; `...` for folders, or none."""
    if len(set(paths)) == 1:
        return paths[0]
    split = [path.split("/") for path in paths]
    if len({len(parts) for parts in split}) > 1:
        # From both ends, whatever lies between.
        head = _common([tuple(parts[:-1]) for parts in split])
        tail = _common([tuple(reversed(parts[len(head) :])) for parts in split])
        return "/".join([*head, "...", *(reversed(tail) if tail else [_one([parts[-1] for parts in split])])])
    return "/".join(_one(list(column)) for column in zip(*split, strict=True))


def _one(names: Sequence[str]) -> str:
    if len(set(names)) == 1:
        return names[0]
    head = "".join(_common([tuple(name) for name in names]))
    tail = "".join(reversed(_common([tuple(reversed(name[len(head) :])) for name in names])))
    return f"{head}*{tail}"


def _common(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """The beginning that all have."""
    found = []
    for column in zip(*rows, strict=False):
        if len(set(column)) > 1:
            break
        found.append(column[0])
    return found
