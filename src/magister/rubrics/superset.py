"""Reads scenario files in Magister's own form: Elmes 0.1 with what is missing there; `magister: 1` is the mark."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from magister.config.models import Sampling
from magister.errors import UserError
from magister.llm import canonical_json
from magister.rubrics._common import (
    MAX_TURNS,
    Parts,
    check_agent_name,
    check_model,
    check_names,
    judge_names,
    read_directions,
    read_fields,
    read_memory,
    read_messages,
    read_models,
    read_start,
    read_tasks,
    read_template,
)
from magister.rubrics._sections import Section
from magister.rubrics.findings import Findings, suggestion
from magister.rubrics.patterns import PatternError, regex
from magister.rubrics.scenario import Agent, Dimension, Evaluation, Limits, Template, Veto
from magister.rubrics.yaml_lines import Node

VERSION = 1
DEFAULT_TURNS = 20
_ENV = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_TOLERANCE = 1e-6
OWNED = frozenset({"model", "messages", "max_tokens", "response_format", "stream", "n", "extra"})
"""Body fields that `sampling` cannot set: they have a place of their own, or would change what comes back."""
_VETOES = {
    "role_leak": ("keywords",),
    "answer_leak": ("variable",),
    "turns": ("at_least", "at_most"),
    "keywords": ("keywords",),
    "regex": ("pattern",),
}
_ABOUT = ("language", "subject", "grade", "task_type")


def read(parts: Parts, root: Section) -> None:
    """Read a file.

    Args:
        parts: takes what is read.
        root: the whole file.
    """
    _version(parts, root)
    parts.name = root.text("name") or parts.name
    parts.about = {key: root.text(key) for key in _ABOUT}
    pinned = root.flag("pin_start")
    parts.pin_start = True if pinned is None else pinned
    parts.limits = _limits(root)
    models = root.section("models")
    if models is not None:
        expanded = Section("models", _expand(models.node, parts.findings), parts.findings)
        read_models(parts, expanded, "base_url", "sampling")
    tasks = root.section("tasks", required=True)
    if tasks is not None:
        read_tasks(parts, tasks)
        _held_out(parts, tasks)
    variables = {name for task in parts.tasks for name in task.variables}
    if tasks is not None:
        shown = tasks.choice("shown_to", ("all", "first"))
        read_start(parts, tasks, "first" if shown == "first" else "all", variables)
        tasks.finish({"recursion_limit": "Write `limits: {max_turns: ...}` at the top"})
    _agents(parts, root, variables)
    read_directions(parts, root)
    candidate = root.text("candidate")
    names = {agent.name for agent in parts.agents}
    if candidate is not None and candidate not in names:
        parts.findings.error(
            "unknown_agent",
            root.line("candidate"),
            f"candidate: no agent {candidate!r}{suggestion(candidate, names)}",
            f"Name one of: {', '.join(sorted(names))}",
        )
    parts.candidate = candidate
    evaluation = root.section("evaluation")
    if evaluation is not None:
        parts.evaluation = _evaluation(parts, evaluation, variables)
    root.finish(
        {"globals": "Write `limits: {max_turns: ...}`; retries and concurrency belong to params.yaml"}
    )


def _version(parts: Parts, root: Section) -> None:
    version = root.whole("magister", 1, 10**6)
    if version is not None and version != VERSION:
        parts.findings.error(
            "version",
            root.line("magister"),
            f"magister: {version} is a later form than this version reads ({VERSION})",
            "Update Magister, or write the file in the form of `magister: 1`",
        )


def _limits(root: Section) -> Limits:
    section = root.section("limits")
    if section is None:
        return Limits(DEFAULT_TURNS)
    turns, tokens = section.whole("max_turns", 1, MAX_TURNS), section.whole("max_tokens", 1, 10**6)
    section.finish({"recursion_limit": "It is called `max_turns` here"})
    return Limits(turns or DEFAULT_TURNS, tokens)


def _expand(node: Node, findings: Findings) -> Node:
    """Put the values of environment variables into `${NAME}`. A key stays as it is written: it is never read here."""
    if isinstance(node.value, list):
        return replace(node, value=[_expand(one, findings) for one in node.value])
    if isinstance(node.value, dict):
        expanded = {
            key: one if key == "api_key" and _set(one, findings) else _expand(one, findings)
            for key, one in node.value.items()
        }
        return replace(node, value=expanded)
    if not isinstance(node.value, str) or not _set(node, findings):
        return node
    text = _ENV.sub(lambda match: os.environ[match[1]], node.text)
    return replace(node, value=text, text=text)


def _set(node: Node, findings: Findings) -> bool:
    """Whether all environment variables that a scalar names are set; those that are not are noted."""
    missing = [name for name in _ENV.findall(node.text) if name not in os.environ]
    for name in missing:
        findings.error(
            "environment",
            node.line,
            f"the environment variable {name} is not set",
            f"Set it: export {name}=...",
        )
    return not missing


def _held_out(parts: Parts, tasks: Section) -> None:
    for node in tasks.items("held_out"):
        number = node.value
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(parts.tasks):
            tasks.wrong("held_out", node, f"numbers of tasks, from 1 to {len(parts.tasks)}")
            continue
        parts.tasks[number - 1] = replace(parts.tasks[number - 1], held_out=True)


def _agents(parts: Parts, root: Section, variables: set[str]) -> None:
    agents = root.section("agents", required=True)
    for name, one in agents.sections() if agents is not None else ():
        check_agent_name(parts, one, name)
        model = one.text("model")
        if parts.models:
            check_model(parts, one, "model", model)
        sampling = _sampling(one)
        memory, prompt = read_memory(one), _prompt(one, variables)
        one.finish({"system_prompt": "It is called `prompt` here: a text, or a list of messages"})
        parts.agents.append(Agent(name, model or name, prompt, one.at, memory, sampling))


def _sampling(section: Section) -> dict[str, Any]:
    """Body fields of an agent's requests, checked as those of a model are."""
    sampling = section.section("sampling")
    if sampling is None:
        return {}
    fields: dict[str, Any] = sampling.node.plain()
    owned = sorted(OWNED.intersection(fields))
    known = {key: value for key, value in fields.items() if key in Sampling.model_fields and key != "extra"}
    try:
        if owned:
            raise ValueError(f"{', '.join(owned)} cannot be set here")
        Sampling.model_validate(known)
        canonical_json(fields)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        sampling.findings.error(
            "wrong_type", sampling.line(place), f"{sampling.path(place)}: {first['msg']}", "Correct it"
        )
    except (ValueError, UserError) as error:
        sampling.findings.error("wrong_type", sampling.node.line, f"{sampling.name}: {error}", "Remove it")
    return fields


def _prompt(section: Section, names: set[str]) -> tuple[Template, ...]:
    """A text, which is a system message, or a list of messages."""
    node = section.get("prompt", required=True)
    if node is None:
        return ()
    if isinstance(node.value, list):
        return read_messages(section, "prompt", names)
    message = read_template(section, "prompt", node, "system", names)
    return () if message is None else (message,)


def _evaluation(parts: Parts, section: Section, variables: set[str]) -> Evaluation:
    model = section.text("model")
    if parts.models:
        check_model(parts, section, "model", model)
    prompt = _prompt(section, judge_names(variables)) if "prompt" in section else ()
    dimensions = tuple(_dimension(one) for one in section.mappings("dimensions"))
    fields = read_fields(section.mappings("fields", required=True), "name", _field)
    check_names(parts.findings, "fields", ((field.name, field.at) for field in fields))
    check_names(parts.findings, "dimensions", ((one.name, one.at) for one in dimensions))
    vetoes = tuple(
        veto for one in section.mappings("vetoes") if (veto := _veto(parts, one, variables)) is not None
    )
    check_names(parts.findings, "vetoes", ((veto.name, veto.at) for veto in vetoes))
    mode, name = section.choice("format_mode", ("tool", "prompt")), section.text("name")
    section.finish({"format": "It is called `fields` here"})
    evaluation = Evaluation(
        name=name or parts.name,
        model=model or "judge",
        prompt=prompt,
        fields=fields,
        at=section.at,
        format_mode="prompt" if mode == "prompt" else "tool",
        dimensions=dimensions,
        vetoes=vetoes,
        raw=section.node.plain(),
    )
    _check_weights(parts.findings, evaluation)
    return evaluation


def _dimension(section: Section) -> Dimension:
    name, weight = section.text("name", required=True), section.number("weight")
    section.get("weight", required=True)
    description = section.text("description") or ""
    section.finish()
    return Dimension(name or "", 0.0 if weight is None else weight, description, section.at)


def _field(section: Section) -> Mapping[str, Any]:
    """What only our fields have."""
    extra: dict[str, Any] = {
        "dimension": section.text("dimension"),
        "weight": section.number("weight"),
        "positive_example": section.text("positive"),
        "negative_example": section.text("negative"),
        "reason": bool(section.flag("reason")),
        "anchors": _anchors(section),
    }
    ends = section.items("range")
    if ends:
        values = [node.value for node in ends]
        numbers = [
            float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        if len(values) == 2 and len(numbers) == 2:
            extra |= {"low": numbers[0], "high": numbers[1]}
        else:
            section.wrong("range", ends[0], "two numbers, such as [1, 5]")
    return extra


def _anchors(section: Section) -> dict[int, str]:
    anchors = section.section("anchors")
    found: dict[int, str] = {}
    if anchors is None:
        return found
    for key in anchors.keys():  # noqa: SIM118 - a section is no mapping
        text = anchors.text(key, required=True)
        if not re.fullmatch(r"-?\d{1,6}", key):
            anchors.findings.error(
                "wrong_type", anchors.line(key), f"{anchors.path(key)}: a score is expected", "Write `1: ...`"
            )
        elif text is not None:
            found[int(key)] = text
    return found


def _veto(parts: Parts, section: Section, variables: set[str]) -> Veto | None:
    name = section.text("name", required=True)
    kind = section.choice("kind", tuple(_VETOES))
    section.get("kind", required=True)
    agent, description = section.text("agent"), section.text("description") or ""
    names = {one.name for one in parts.agents}
    if agent is not None and agent not in names:
        parts.findings.error(
            "unknown_agent",
            section.line("agent"),
            f"{section.path('agent')}: no agent {agent!r}{suggestion(agent, names)}",
            f"Name one of: {', '.join(sorted(names))}",
        )
    arguments: dict[str, Any] = {}
    for key in _VETOES.get(kind or "", ()):
        if key == "keywords":
            words = tuple(node.text for node in section.items(key, required=kind == "keywords") if node.text)
            arguments |= {key: words} if words else {}
        elif key in ("at_least", "at_most"):
            number = section.whole(key, 0, MAX_TURNS)
            arguments |= {key: number} if number is not None else {}
        else:
            text = section.text(key, required=True)
            arguments |= {key: text} if text is not None else {}
    section.finish()
    _check_veto(section, kind, arguments, variables)
    if name is None or kind is None:
        return None
    return Veto(name, kind, agent, section.at, arguments, description)  # type: ignore[arg-type]


def _check_veto(section: Section, kind: str | None, arguments: dict[str, Any], variables: set[str]) -> None:
    findings, line = section.findings, section.node.line
    variable = arguments.get("variable")
    if variable is not None and variable not in variables:
        findings.error(
            "unknown_variable",
            section.line("variable"),
            f"{section.path('variable')}: no task variable {variable!r}{suggestion(variable, variables)}",
            f"Name one of: {', '.join(sorted(variables)) or 'none'}",
        )
    if "pattern" in arguments:
        try:
            regex(arguments["pattern"])
        except PatternError as error:
            findings.error(
                "pattern",
                section.line("pattern"),
                f"{section.path('pattern')} is not read: {error}",
                "Simplify it",
            )
    if kind == "turns" and not arguments:
        findings.error("missing_key", line, f"{section.name} sets no limit", "Add `at_least:` or `at_most:`")


def _check_weights(findings: Findings, evaluation: Evaluation) -> None:
    """Weights sum to 1 over the dimensions and within each."""
    names = {dimension.name for dimension in evaluation.dimensions}
    if names:
        total = math.fsum(dimension.weight for dimension in evaluation.dimensions)
        _check_sum(findings, evaluation.dimensions[0].at.line, "the dimensions", total)
    groups: dict[str | None, list[float | None]] = {}
    for field in evaluation.fields:
        if field.weight is not None and field.weight < 0:
            findings.error("weights", field.at.line, f"the weight of {field.name!r} is below 0", "Correct it")
        if names and field.dimension not in names:
            seen = "none" if field.dimension is None else repr(field.dimension)
            findings.error(
                "unknown_dimension",
                field.at.line,
                f"the field {field.name!r} has dimension {seen}{suggestion(field.dimension or '', names)}",
                f"Name one of: {', '.join(sorted(names))}",
            )
        groups.setdefault(field.dimension, []).append(field.weight)
    for dimension in evaluation.dimensions:
        if dimension.weight < 0:
            findings.error(
                "weights", dimension.at.line, f"the weight of {dimension.name!r} is below 0", "Correct it"
            )
        if dimension.name not in groups:
            findings.error(
                "weights", dimension.at.line, f"the dimension {dimension.name!r} has no field", "Add one"
            )
    for name, weights in groups.items():
        given = [weight for weight in weights if weight is not None]
        if not given:
            continue
        what = "the fields" if name is None else f"the fields of {name!r}"
        line = next(field.at.line for field in evaluation.fields if field.dimension == name)
        if len(given) < len(weights):
            findings.error("weights", line, f"of {what} some have a weight and some not", "Give all or none")
        else:
            _check_sum(findings, line, what, math.fsum(given))


def _check_sum(findings: Findings, line: int, what: str, total: float) -> None:
    if abs(total - 1) > _TOLERANCE:
        findings.error("weights", line, f"the weights of {what} sum to {total:g}", "Make them sum to 1")
