"""Reads scenario files of Elmes 1.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from magister.rubrics._common import (
    MAX_TURNS,
    Parts,
    check_agent_name,
    check_model,
    check_names,
    read_directions,
    read_fields,
    read_memory,
    read_models,
    read_start,
    read_tasks,
    read_template,
)
from magister.rubrics._sections import Section
from magister.rubrics.dialect_a import MISPLACED
from magister.rubrics.scenario import Agent, Evaluation, Limits, Template

DEFAULT_TURNS = 40
"""`recursion_limit` where the file says nothing."""


def read(parts: Parts, root: Section) -> None:
    """Read a file.

    Args:
        parts: takes what is read.
        root: the whole file.
    """
    section = root.section("globals")
    turns = None
    if section is not None:
        section.ignore("concurrency", "output_dir", "retry", "memory")
        turns = section.whole("recursion_limit", 1, MAX_TURNS)
        section.finish(MISPLACED)
    parts.limits = Limits(turns or DEFAULT_TURNS)
    read_models(parts, root.section("models", required=True), "base_url", "kargs")
    tasks = root.section("tasks", required=True)
    if tasks is not None:
        read_tasks(parts, tasks)
    variables = {name for task in parts.tasks for name in task.variables}
    if tasks is not None:
        # In 1.0 an agent hears what was said to it; the start message is said to the first.
        read_start(parts, tasks, "first", variables)
        tasks.finish(MISPLACED)
    agents = root.section("agents", required=True)
    for name, one in agents.sections() if agents is not None else ():
        check_agent_name(parts, one, name)
        model = one.text("model", required=True)
        check_model(parts, one, "model", model)
        prompt = _system_prompt(one, variables)
        tools = tuple(node.text for node in one.items("tools"))
        memory = read_memory(one)
        one.finish({"prompt": "Elmes 1.0 calls it `system_prompt`"} | MISPLACED)
        parts.agents.append(Agent(name, model or "", prompt, one.at, memory, tools=tools))
    read_directions(parts, root)
    evaluation = root.section("evaluation")
    if evaluation is not None:
        parts.evaluation = _evaluation(parts, evaluation)
    root.ignore("mcps")
    root.finish(MISPLACED)


def _system_prompt(section: Section, variables: set[str]) -> tuple[Template, ...]:
    """A text, or a list of texts."""
    node = section.get("system_prompt", required=True)
    if node is None:
        return ()
    nodes = node.value if isinstance(node.value, list) else [node]
    found = (read_template(section, "system_prompt", one, "system", variables) for one in nodes)
    return tuple(message for message in found if message is not None)


def _reason(section: Section) -> Mapping[str, Any]:
    return {
        "reason": bool(section.flag("reason")),
        "description": section.text("rubric", required=True) or "",
    }


def _evaluation(parts: Parts, section: Section) -> Evaluation:
    model = section.text("judge_model", required=True)
    check_model(parts, section, "judge_model", model)
    fields = read_fields(section.mappings("fields", required=True), "name", _reason)
    check_names(parts.findings, "fields", ((field.name, field.at) for field in fields))
    name, target = section.text("name") or parts.name, section.text("target")
    section.finish(MISPLACED | {"model": "Elmes 1.0 calls it `judge_model`"})
    return Evaluation(
        name=name,
        model=model or "",
        prompt=(),
        fields=fields,
        at=section.at,
        target=target,
        raw=section.node.plain(),
    )
