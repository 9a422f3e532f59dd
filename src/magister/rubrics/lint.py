"""What is wrong with scenario files, before anything is asked: `magister rubrics lint`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from magister.display import counted
from magister.rubrics._common import judge_names
from magister.rubrics.alike import compare_texts
from magister.rubrics.families import family_of
from magister.rubrics.findings import Finding, Findings, ScenarioError
from magister.rubrics.graph import can_end, conditions, first_speaker, reachable
from magister.rubrics.reader import NAMES, read_tree
from magister.rubrics.scenario import (
    START,
    AllKeywords,
    AnyKeyword,
    Evaluation,
    EvaluationField,
    Scenario,
    Template,
)
from magister.rubrics.templates import DIALOGUE, places
from magister.rubrics.wave_plan import waves_needed
from magister.rubrics.waves import Cast
from magister.rubrics.yaml_lines import Node, read_yaml

MAX_COMPARED = 2000
"""Texts of one variable that are compared with one another."""
_BAR = "｜"
# `\n` as two characters; commands of LaTeX begin the same way.
_COMMANDS = (
    "abla|eq|e|u|ot|i|mid|parallel|leq|geq|less|gtr|subseteq|exists|ewline|ewcommand|earrow|warrow|simeq|cong"
)
_NEWLINE = re.compile(rf"\\n(?!(?:{_COMMANDS})(?![A-Za-z]))")
_NAMED = 4


def scenario_files(paths: Iterable[Path]) -> list[Path]:
    """The files that paths mean: of a folder all `.yaml` and `.yml` files in it, at any depth."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(
                one for one in path.rglob("*") if one.suffix in (".yaml", ".yml") and one.is_file()
            )
        else:
            found.append(path)
    return list(dict.fromkeys(found))


def lint_files(paths: Sequence[Path]) -> list[Finding]:
    """Look at scenario files.

    Args:
        paths: files; the same for a file whatever others there are, except for names that stand twice.

    Returns:
        Findings by file and line.
    """
    found: list[Finding] = []
    named: dict[str, Scenario] = {}
    for path in paths:
        findings, scenario = _lint(path)
        if scenario is not None and scenario.name in named:
            findings.error(
                "repeated_scenario",
                scenario.at.line,
                f"the scenario is called {scenario.name!r}, as is that of {named[scenario.name].at.file}",
                "Rename one: `name:` in Magister's own form, else the file",
            )
        if scenario is not None:
            named.setdefault(scenario.name, scenario)
        found += sorted(findings.found, key=lambda one: (one.at, one.code, one.message))
    return found


def _lint(path: Path) -> tuple[Findings, Scenario | None]:
    file = path.as_posix()
    try:
        tree = read_yaml(path)
    except ScenarioError as error:
        return Findings(file, list(error.findings)), None
    reading = read_tree(tree, file)
    findings, scenario = reading.findings, reading.scenario
    _check_text(tree, findings)
    if scenario is not None:
        for check in _CHECKS:
            check(scenario, findings)
    return findings, scenario


def _check_text(tree: Node, findings: Findings) -> None:
    for node in tree.scalars():
        if node.text.lstrip().startswith(_BAR):
            findings.add(
                "warning",
                "full_width_bar",
                node.line,
                f"the text begins with a full-width bar ({_BAR}), which is part of it: its lines are joined",
                "Write the ASCII bar `|` to keep the lines",
            )
        count = len(_NEWLINE.findall(node.text))
        if count:
            findings.add(
                "warning",
                "literal_newline",
                node.line,
                f"{count} times the two characters \\n, which are no line break here",
                "Put the text in double quotes, or write it as a block after `|`",
            )


def _check_keywords(scenario: Scenario, findings: Findings) -> None:
    for edge in scenario.edges:
        for one in conditions(edge.condition):
            if not isinstance(one, AnyKeyword | AllKeywords):
                continue
            for keyword in one.keywords:
                if keyword != keyword.lower() and scenario.dialect == "a":
                    findings.add(
                        "warning",
                        "upper_case_keyword",
                        edge.at.line,
                        f"the keyword {keyword!r} has capitals: Elmes 0.1 never finds it; here case does not count",
                        f"Write {keyword.lower()!r}",
                    )


def _used(templates: Iterable[Template], names: Iterable[str]) -> set[str]:
    known = set(names)
    return {place.name for template in templates for place in places(template.content, known)} & known


def _spoken(scenario: Scenario) -> list[Template]:
    """What agents are told."""
    start = [scenario.start.message] if scenario.start is not None else []
    return start + [one for agent in scenario.agents for one in agent.prompt]


def _check_variables(scenario: Scenario, findings: Findings) -> None:
    names = scenario.variables
    used = _used(_spoken(scenario), names)
    evaluation = scenario.evaluation
    if evaluation is not None:
        used |= {
            name.removeprefix("task.")
            for name in _used(evaluation.prompt, judge_names(names))
            if name != DIALOGUE
        }
        used |= {
            str(veto.arguments["variable"]) for veto in evaluation.vetoes if "variable" in veto.arguments
        }
    for name in names:
        if name not in used:
            findings.add(
                "warning",
                "unused_variable",
                scenario.tasks[0].at.line,
                f"the task variable {name!r} is named in no prompt",
                f"Write {{{name}}} where it belongs, or remove it",
            )


def _check_graph(scenario: Scenario, findings: Findings) -> None:
    reached, ending = reachable(scenario), can_end(scenario)
    for agent in scenario.agents:
        if agent.name not in reached:
            findings.add(
                "warning",
                "unreachable_agent",
                agent.at.line,
                f"no direction leads to the agent {agent.name!r}",
                "Add one, or remove the agent",
            )
    line = scenario.edge(START).at.line
    if START not in ending:
        findings.add(
            "warning",
            "no_path_to_end",
            line,
            f"no direction leads to END: every dialogue runs into the limit of {scenario.limits.max_turns} turns",
            'Add a router that leads to END, such as any_keyword(keywords=["<end>"], then=END, otherwise=...)',
        )
    for name in sorted(reached - ending) if START in ending else ():
        findings.add(
            "warning",
            "no_path_to_end",
            scenario.edge(name).at.line,
            f"from the agent {name!r} no direction leads to END",
            "Add one",
        )


def _check_start(scenario: Scenario, findings: Findings) -> None:
    first = scenario.agent(first_speaker(scenario))
    if scenario.start is None:
        if not any(one.role == "user" for one in first.prompt):
            findings.add(
                "warning",
                "nothing_to_answer",
                first.at.line,
                f"{first.name!r} speaks first and has neither a start prompt nor a user message to answer",
                "Add `start_prompt` to `tasks`: many models say nothing to a system message alone",
            )
        return
    if scenario.dialect == "magister" and scenario.pin_start:
        return
    turns = waves_needed([scenario], Cast({}))
    reached = reachable(scenario)
    losing = [
        f"{agent.name!r} (the last {2 * agent.memory.keep_turns + 1})"
        for agent in scenario.agents
        if (scenario.start.shown_to == "all" or agent.name == first.name)
        and agent.name in reached
        and turns > 2 * agent.memory.keep_turns + 1
    ]
    if losing:
        lost = (
            "here it is lost (`pin_start: false`)"
            if scenario.dialect == "magister"
            else f"{NAMES[scenario.dialect]} loses it; here it stays, except in compat"
        )
        findings.add(
            "warning",
            "start_outside_window",
            scenario.start.message.at.line,
            f"of up to {turns} turns some hear a part: {', '.join(losing)}. The start prompt leaves it: {lost}",
            "Put what an agent needs into its own prompt, or raise `keep_turns`",
        )


def _numeric(fields: Iterable[EvaluationField]) -> list[EvaluationField]:
    flat: list[EvaluationField] = []
    for one in fields:
        flat += _numeric(one.items) if one.type == "dict" else [one] if one.type in ("int", "float") else []
    return flat


def _check_ranges(scenario: Scenario, findings: Findings) -> None:
    if scenario.evaluation is None:
        findings.add(
            "note",
            "no_evaluation",
            1,
            "the scenario says nothing about scoring",
            "Add `evaluation` to score it",
        )
        return
    key = {"a": "`min: 1` and `max: 5`", "b": "`min: 1` and `max: 5`", "magister": "`range: [1, 5]`"}[
        scenario.dialect
    ]
    for ends in (("least", "greatest"), ("greatest",), ("least",)):
        without = [
            one
            for one in _numeric(scenario.evaluation.fields)
            if ends == tuple(w for w, end in (("least", one.low), ("greatest", one.high)) if end is None)
        ]
        if without:
            names = ", ".join(repr(one.name) for one in without[:_NAMED]) + (
                ", ..." if len(without) > _NAMED else ""
            )
            findings.add(
                "warning" if "greatest" in ends else "note",
                "no_range",
                without[0].at.line,
                f"{counted(len(without), 'score')} without a {' and '.join(ends)} value ({names}): replies cannot be "
                "checked",
                f"Add {key}",
            )


def _check_judge(scenario: Scenario, findings: Findings) -> None:
    evaluation = scenario.evaluation
    if evaluation is None:
        return
    models = {model.name: model.served_name for model in scenario.models}
    judge, candidate = models.get(evaluation.model), models.get(scenario.agent(scenario.candidate).model)
    if judge and candidate and family_of(judge) == family_of(candidate):
        same = "is the model that it scores" if judge == candidate else f"is of one family with {candidate!r}"
        findings.add(
            "warning",
            "judge_family",
            evaluation.at.line,
            f"the judge {judge!r} {same}: judges prefer their own",
            "Name a judge of another family",
        )
    if evaluation.prompt:
        _check_judge_prompt(scenario, evaluation, findings)


def _check_judge_prompt(scenario: Scenario, evaluation: Evaluation, findings: Findings) -> None:
    shown = _used(evaluation.prompt, judge_names(scenario.variables))
    line = evaluation.prompt[0].at.line
    if DIALOGUE not in shown:
        findings.add(
            "warning",
            "judge_deaf",
            line,
            "the judge's prompt never shows the dialogue",
            f"Write {{{DIALOGUE}}} where it belongs",
        )
    if not shown - {DIALOGUE} and scenario.variables:
        names = ", ".join(f"{{task.{name}}}" for name in scenario.variables)
        findings.add(
            "warning",
            "judge_blind",
            line,
            "the judge's prompt never shows the task: whether the dialogue is about it cannot be judged",
            f"Write {names} where it belongs",
        )


def _check_tasks(scenario: Scenario, findings: Findings) -> None:
    """Tasks that stand twice, and such that are about something else."""
    listed: dict[int, str] = {}
    combined: dict[str, dict[str, int]] = {}
    lines = {task.at.line for task in scenario.tasks}
    if len(lines) == len(scenario.tasks):
        for task in scenario.tasks:
            listed[task.number - 1] = " ".join(task.variables[name] for name in sorted(task.variables))
        _report(findings, list(listed.values()), [task.at.line for task in scenario.tasks], "the task")
        return
    for task in scenario.tasks:
        for name, value in task.variables.items():
            combined.setdefault(name, {}).setdefault(value, task.at.line)
    for name, values in combined.items():
        _report(findings, list(values), list(values.values()), f"the value of {name!r}")
    _repeated_combinations(scenario, findings)


def _repeated_combinations(scenario: Scenario, findings: Findings) -> None:
    again = [task for task in scenario.tasks if "-" in task.task_id]
    if again:
        findings.add(
            "warning",
            "duplicate_task",
            again[0].at.line,
            f"{len(again)} of {len(scenario.tasks)} tasks stand there more than once: a value is listed twice",
            "Remove the repeated value",
        )


def _report(findings: Findings, texts: list[str], lines: list[int], what: str) -> None:
    alike = compare_texts(texts[:MAX_COMPARED])
    for at, earlier, equal in alike.repeated:
        findings.add(
            "warning",
            "duplicate_task",
            lines[at],
            f"{what} {_shown(texts[at])} {'is' if equal else 'is nearly'} that of line {lines[earlier]}",
            "Remove one: copies count a task twice",
        )
    for at in alike.apart:
        findings.add(
            "warning",
            "off_topic_task",
            lines[at],
            f"{what} {_shown(texts[at])} is unlike all others",
            "Look whether it belongs here",
        )


def _shown(text: str) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= 40 else flat[:37] + "...")


def _check_tools(scenario: Scenario, findings: Findings) -> None:
    for agent in scenario.agents:
        if agent.tools:
            findings.add(
                "note",
                "tools",
                agent.at.line,
                f"{agent.name!r} may use tools ({', '.join(agent.tools)}), which are not called here",
                "Expect other dialogues than with tools",
            )


_CHECKS: tuple[Callable[[Scenario, Findings], None], ...] = (
    _check_keywords,
    _check_variables,
    _check_graph,
    _check_start,
    _check_ranges,
    _check_judge,
    _check_tasks,
    _check_tools,
)
