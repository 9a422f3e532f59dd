"""What the dialects share: messages, memory, directions, tasks, and putting a scenario together."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from magister.llm import canonical_json
from magister.rubrics._sections import Section
from magister.rubrics.findings import Findings, ScenarioError, suggestion
from magister.rubrics.router import RouterError, parse_router
from magister.rubrics.scenario import (
    END,
    START,
    Agent,
    Dialect,
    Edge,
    Evaluation,
    EvaluationField,
    Limits,
    Memory,
    ModelEntry,
    Position,
    Role,
    Scenario,
    Start,
    Task,
    Template,
)
from magister.rubrics.templates import DIALOGUE, places, unknown_name
from magister.rubrics.yaml_lines import Node

MAX_TASKS = 100_000
MAX_TURNS = 1000
_ROLES: tuple[Role, ...] = ("system", "user", "assistant")
_FIELD_TYPES = ("str", "int", "float", "bool", "dict")
_DIRECTION = re.compile(r"\s*(\S+?)\s*->\s*(.+?)\s*", re.DOTALL)


@dataclass
class Parts:
    """A scenario while it is read."""

    name: str
    dialect: Dialect
    rule: str
    findings: Findings
    models: list[ModelEntry] = field(default_factory=list)
    agents: list[Agent] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    start: Start | None = None
    evaluation: Evaluation | None = None
    limits: Limits = field(default_factory=Limits)
    candidate: str | None = None
    pin_start: bool = True
    about: dict[str, str | None] = field(default_factory=dict)

    def finish(self) -> Scenario:
        """Put the scenario together.

        Raises:
            ScenarioError: something in the file is an error.
        """
        first = next((edge.then for edge in self.edges if edge.source == START), None)
        if first is None and not self.findings.errors:
            self.findings.error(
                "direction", 1, "no direction begins at START", "Add `- START -> agent` to `directions`"
            )
        leaving = {edge.source for edge in self.edges}
        for edge in self.edges:
            for target in edge.targets:
                if target not in leaving and target != END and not self.findings.errors:
                    self.findings.error(
                        "direction",
                        edge.at.line,
                        f"nothing follows the agent {target!r}",
                        f"Add `- {target} -> END`, or whoever speaks next",
                    )
        if self.findings.errors:
            raise ScenarioError(self.findings.errors)
        return Scenario(
            name=self.name,
            dialect=self.dialect,
            rule=self.rule,
            models=tuple(self.models),
            agents=tuple(self.agents),
            edges=tuple(self.edges),
            candidate=self.candidate or str(first),
            start=self.start,
            tasks=tuple(self.tasks),
            at=Position(self.findings.file, 1),
            evaluation=self.evaluation,
            limits=self.limits,
            pin_start=self.pin_start,
            **self.about,
        )


def template_lines(node: Node, offset: int) -> int:
    """The line of the file that holds a line of a scalar's text; the scalar's own where folding hides it."""
    return node.line + 1 + offset if node.style == "|" else node.line


def read_template(
    section: Section, key: str, node: Node, role: Role, names: Collection[str] | None
) -> Template | None:
    """A text with places, whose names are checked.

    Args:
        section: where it stands.
        key: under which key.
        node: the text.
        role: who says it.
        names: variables that there are; None: the template is not filled in.
    """
    if isinstance(node.value, dict | list):
        section.wrong(key, node, "a text")
        return None
    for place in places(node.text, names) if names is not None else ():
        if place.name not in (names or ()):
            section.findings.error(
                "unknown_variable",
                template_lines(node, place.line),
                unknown_name(place.name, names or ()),
                f"Correct the name; for the text itself write {{{{{place.name}}}}}",
            )
    return Template(role, node.text, Position(section.findings.file, node.line))


def read_message(section: Section, names: Collection[str] | None) -> Template | None:
    """A message: `role` and `content`."""
    role = section.choice("role", _ROLES)
    node = section.get("content", required=True)
    section.finish()
    if role is None and "role" not in section:
        section.findings.error(
            "missing_key", section.node.line, f"{section.path('role')} is missing", "Add `role: user`"
        )
    if node is None:
        return None
    return read_template(section, "content", node, _role(role), names)


def _role(role: str | None) -> Role:
    return next((one for one in _ROLES if one == role), "user")


def read_messages(section: Section, key: str, names: Collection[str] | None) -> tuple[Template, ...]:
    """A list of messages."""
    return tuple(
        message
        for one in section.mappings(key, required=True)
        if (message := read_message(one, names)) is not None
    )


def read_memory(section: Section) -> Memory:
    """`memory{enable, id, keep_turns}` of an agent."""
    memory = section.section("memory")
    if memory is None:
        return Memory()
    memory.ignore("id")
    enabled, keep = memory.flag("enable"), memory.whole("keep_turns", 0, 10_000)
    memory.finish()
    return Memory(True if enabled is None else enabled, 3 if keep is None else keep)


def key_kind(text: str | None) -> Literal["none", "environment", "placeholder", "literal"]:
    """How a file gives an API key, without keeping it."""
    if text is None or not text.strip():
        return "none"
    if re.fullmatch(r"\s*\$\{\w+\}\s*", text):
        return "environment"
    value = text.strip().lower()
    if value.startswith("<") or value in ("empty", "none", "-", "xxx", "sk-xxx", "your api key"):
        return "placeholder"
    return "literal"


def masked_url(url: str | None) -> str | None:
    """An address without a user or key in it."""
    return None if url is None else re.sub(r"(?<=//)[^/@\s]*@", "[key]@", url)


def read_models(parts: Parts, section: Section | None, address: str, sampling: str) -> None:
    """`models`: who the file says speaks.

    Args:
        parts: the scenario.
        section: the section.
        address: key of the endpoint's address.
        sampling: key of the body fields.
    """
    if section is None:
        return
    for name, one in section.sections():
        one.ignore("type")
        key = one.text("api_key", show=False)
        kind = key_kind(key)
        if kind == "literal":
            parts.findings.add(
                "warning",
                "api_key_in_file",
                one.line("api_key"),
                f"{one.path('api_key')} holds a key",
                "Remove it and revoke it: keys come from the environment (`api_key_env` in params.yaml)",
            )
        served = one.text("model", required=True)
        url = masked_url(one.text(address))
        fields = one.section(sampling)
        one.finish({"base_url": "Elmes 0.1 calls it `api_base`", "api_base": "Elmes 1.0 calls it `base_url`"})
        parts.models.append(
            ModelEntry(
                name, served or "", one.at, url, kind, fields.node.plain() if fields is not None else {}
            )
        )


def check_model(parts: Parts, section: Section, key: str, name: str | None) -> None:
    """Note a model that `models` does not have."""
    known = {model.name for model in parts.models}
    if name is not None and name not in known:
        parts.findings.error(
            "unknown_model",
            section.line(key),
            f"{section.path(key)}: no model {name!r} in `models`{suggestion(name, known)}",
            f"Name one of: {', '.join(sorted(known)) or 'none'}",
        )


def check_agent_name(parts: Parts, section: Section, name: str) -> None:
    """Note an agent whose name is a node of the graph already, or cannot stand in a direction."""
    if name in (START, END):
        parts.findings.error("agent_name", section.node.line, f"an agent is called {name}", "Rename it")
    elif not name.strip() or re.search(r"\s|->|:", name):
        parts.findings.error(
            "agent_name",
            section.node.line,
            f"the agent name {name!r} cannot stand in a direction",
            "Use letters, digits, `_` and `-`",
        )


def read_directions(parts: Parts, root: Section) -> None:
    """`directions`: an edge per line."""
    agents = {agent.name for agent in parts.agents}
    seen: dict[str, int] = {}
    for node in root.items("directions", required=True):
        if not isinstance(node.value, str):
            root.wrong("directions", node, "a text such as `a -> b`")
            continue
        match = _DIRECTION.fullmatch(node.text)
        if match is None:
            parts.findings.error(
                "direction", node.line, f"{node.text[:60]!r} is no direction", "Write `agent -> agent`"
            )
            continue
        edge = _edge(parts, node, match[1], match[2])
        if edge is None:
            continue
        if edge.source in seen:
            parts.findings.error(
                "direction",
                node.line,
                f"a second direction leaves {edge.source}, the first is on line {seen[edge.source]}",
                "Keep one; where both are meant, use a router",
            )
        seen.setdefault(edge.source, node.line)
        for place in (edge.source, *edge.targets):
            special = START if place == edge.source else END
            if place in agents or place == special:
                continue
            if place in (START, END):
                message = f"nothing {'leaves END' if place == END else 'leads to START'}"
            else:
                message = f"no agent {place!r}{suggestion(place, {*agents, START, END})}"
            parts.findings.error(
                "direction", node.line, message, f"Name one of: {', '.join(sorted(agents))}, {special}"
            )
        parts.edges.append(edge)


def _edge(parts: Parts, node: Node, source: str, target: str) -> Edge | None:
    at = Position(parts.findings.file, node.line)
    if not target.startswith("router:"):
        return Edge(source, target, at)
    try:
        route = parse_router(target.removeprefix("router:"))
    except RouterError as error:
        parts.findings.error("router", node.line, str(error), "Write one of these forms")
        return None
    return Edge(source, route.then, at, route.condition, route.otherwise)


def read_start(
    parts: Parts, tasks: Section, shown_to: Literal["all", "first"], names: Collection[str]
) -> None:
    """`start_prompt`: a text, or `role` and `content`."""
    node = tasks.get("start_prompt")
    if node is None:
        return
    if isinstance(node.value, dict):
        message = read_message(Section(tasks.path("start_prompt"), node, parts.findings), names)
    else:
        message = read_template(tasks, "start_prompt", node, "user", names)
    if message is not None:
        parts.start = Start(message, shown_to)


def read_tasks(parts: Parts, tasks: Section) -> None:
    """`mode` and `content`: `iter` lists tasks, `union` combines the values of each variable."""
    mode = (tasks.text("mode") or "").lower()
    if mode not in ("iter", "union"):
        seen = f"{mode!r}" if mode else "nothing"
        parts.findings.error(
            "wrong_type",
            tasks.line("mode"),
            f"{tasks.path('mode')}: expected iter or union, found {seen}"
            + (" (`model` is another key)" if "model" in tasks else ""),
            "`iter`: a list of tasks; `union`: all combinations of each variable's values",
        )
        tasks.ignore("content")
        return
    rows = _listed(tasks) if mode == "iter" else _combined(parts, tasks)
    counts: dict[str, int] = {}
    for number, (variables, line) in enumerate(rows, start=1):
        digest = hashlib.sha256(canonical_json(variables).encode()).hexdigest()[:12]
        counts[digest] = counts.get(digest, 0) + 1
        # Equal tasks are different dialogues of one task; the first keeps the plain id.
        suffix = f"-{counts[digest]}" if counts[digest] > 1 else ""
        parts.tasks.append(Task(digest + suffix, number, variables, Position(parts.findings.file, line)))
    if not parts.tasks and not parts.findings.errors:
        parts.findings.error(
            "missing_key", tasks.line("content"), f"{tasks.path('content')} holds no task", "Add one"
        )


def _value(section: Section, key: str, node: Node) -> str | None:
    if isinstance(node.value, dict | list) or node.value is None:
        section.wrong(key, node, "a text")
        return None
    return node.text


def _listed(tasks: Section) -> Iterable[tuple[dict[str, str], int]]:
    rows = tasks.mappings("content", required=True)
    wanted = sorted({key for row in rows for key in row.keys()})  # noqa: SIM118 - a section is no mapping
    for row in rows:
        variables: dict[str, str] = {}
        for key in wanted:
            node = row.get(key, required=True)
            value = None if node is None else _value(row, key, node)
            if value is not None:
                variables[key] = value
        yield variables, row.node.line


def _combined(parts: Parts, tasks: Section) -> Iterable[tuple[dict[str, str], int]]:
    content = tasks.section("content", required=True)
    if content is None:
        return
    names = content.keys()
    values: list[list[tuple[str, int]]] = []
    count = 1
    for name in names:
        listed = [
            (value, node.line)
            for node in content.items(name, required=True)
            if (value := _value(content, name, node)) is not None
        ]
        values.append(listed)
        count *= len(listed)
    if count > MAX_TASKS:
        parts.findings.error(
            "too_large",
            content.node.line,
            f"{count} combinations of values, {MAX_TASKS} are allowed",
            "List the tasks that are meant with `mode: iter`",
        )
        return
    for row in itertools.product(*values) if names else ():
        yield {name: value for name, (value, _) in zip(names, row, strict=True)}, row[0][1]


def read_fields(
    nodes: Iterable[Section], name_key: str, more: Callable[[Section], Mapping[str, Any]] | None = None
) -> tuple[EvaluationField, ...]:
    """What the judge returns.

    Args:
        nodes: a section per field.
        name_key: key of its name.
        more: reads what one dialect alone has.
    """
    found = []
    for one in nodes:
        name = one.text(name_key, required=True)
        kind = one.choice("type", _FIELD_TYPES)
        description = one.text("description") or ""
        low, high = one.number("min"), one.number("max")
        items = read_fields(one.mappings("items", required=True), name_key) if kind == "dict" else ()
        extra = dict(more(one)) if more is not None else {}
        one.finish()
        low, high = extra.pop("low", low), extra.pop("high", high)
        if low is not None and high is not None and low >= high:
            one.findings.error(
                "range", one.node.line, f"{one.name}: the range {low:g}..{high:g} is empty", "Correct it"
            )
        chosen = next((allowed for allowed in _FIELD_TYPES if allowed == kind), "float")
        found.append(
            EvaluationField(
                name=name or "",
                type=chosen,  # type: ignore[arg-type]
                description=extra.pop("description", description),
                at=one.at,
                low=low,
                high=high,
                items=items,
                **extra,
            )
        )
    return tuple(found)


def check_names(findings: Findings, what: str, named: Iterable[tuple[str, Position]]) -> None:
    """Note a name that stands twice."""
    seen: dict[str, Position] = {}
    for name, at in named:
        if name in seen:
            findings.error(
                "repeated_name",
                at.line,
                f"two {what} are called {name!r}, the first on line {seen[name].line}",
                "Rename one",
            )
        seen.setdefault(name, at)


def judge_names(variables: Iterable[str]) -> set[str]:
    """What a judge's prompt may name."""
    return {f"task.{name}" for name in variables} | {DIALOGUE}
