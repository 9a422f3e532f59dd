"""Reads scenario files of Elmes 0.1.x."""

from __future__ import annotations

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
)
from magister.rubrics._sections import Section
from magister.rubrics.scenario import Agent, Evaluation, Limits

DEFAULT_TURNS = 25
"""`recursion_limit` where the file says nothing."""
MISPLACED = {
    "format_mode": "Move it into `evaluation`: at the top it is not read and `tool` is used",
    "format": "Move it into `evaluation`",
    "recursion_limit": "Move it into `globals`",
    "start_prompt": "Move it into `tasks`",
    "mapping_file": "Nothing reads it: remove it",
    "pin_start": "Put `magister: 1` at the top of the file to use keys of Magister's own",
    "limits": "Put `magister: 1` at the top of the file to use keys of Magister's own",
    "dimensions": "Put `magister: 1` at the top of the file to use keys of Magister's own",
    "memory": "Each agent has its own `memory`; `globals.memory` is a folder",
    "keep_turns": "Move it into the `memory` of an agent",
}


def read(parts: Parts, root: Section) -> None:
    """Read a file.

    Args:
        parts: takes what is read.
        root: the whole file.
    """
    parts.limits = read_globals(root)
    read_models(parts, root.section("models", required=True), "api_base", "kargs")
    tasks = root.section("tasks", required=True)
    if tasks is not None:
        read_tasks(parts, tasks)
    variables = {name for task in parts.tasks for name in task.variables}
    if tasks is not None:
        read_start(parts, tasks, "all", variables)
        tasks.finish(MISPLACED)
    agents = root.section("agents", required=True)
    for name, one in agents.sections() if agents is not None else ():
        check_agent_name(parts, one, name)
        model = one.text("model", required=True)
        check_model(parts, one, "model", model)
        prompt = read_messages(one, "prompt", variables)
        memory = read_memory(one)
        one.finish({"system_prompt": "Elmes 0.1 calls it `prompt`, a list of messages"} | MISPLACED)
        parts.agents.append(Agent(name, model or "", prompt, one.at, memory))
    read_directions(parts, root)
    evaluation = root.section("evaluation")
    if evaluation is not None:
        parts.evaluation = _evaluation(parts, evaluation, variables)
    root.finish(MISPLACED)


def read_globals(root: Section) -> Limits:
    """`globals`: of it the number of turns alone decides a result."""
    section = root.section("globals")
    if section is None:
        return Limits(DEFAULT_TURNS)
    section.ignore("concurrency", "retry", "print_each_step")
    memory = section.section("memory")
    if memory is not None:
        memory.ignore("path")
        memory.finish(MISPLACED)
    turns = section.whole("recursion_limit", 1, MAX_TURNS)
    section.finish({"format_mode": MISPLACED["format_mode"], "mapping_file": MISPLACED["mapping_file"]})
    return Limits(turns or DEFAULT_TURNS)


def _evaluation(parts: Parts, section: Section, variables: set[str]) -> Evaluation:
    model = section.text("model", required=True)
    check_model(parts, section, "model", model)
    prompt = read_messages(section, "prompt", judge_names(variables))
    fields = read_fields(section.mappings("format", required=True), "field")
    check_names(parts.findings, "fields", ((field.name, field.at) for field in fields))
    mode = section.choice("format_mode", ("tool", "prompt"))
    name = section.text("name") or parts.name
    section.finish(MISPLACED | {"fields": "Elmes 0.1 calls it `format`"})
    return Evaluation(
        name=name,
        model=model or "",
        prompt=prompt,
        fields=fields,
        at=section.at,
        format_mode="prompt" if mode == "prompt" else "tool",
        raw=section.node.plain(),
    )
