"""A scenario as every other module sees it, whichever dialect its file is written in.

Positions (file and line) are kept for messages. Nothing here holds an API key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

START = "START"
END = "END"
"""The two nodes of a graph that are nobody."""

Dialect = Literal["a", "b", "magister"]
"""`a`: Elmes 0.1.x; `b`: Elmes 1.0; `magister`: ours."""
Role = Literal["system", "user", "assistant"]
FieldType = Literal["str", "int", "float", "bool", "dict"]


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Where something stands, for messages."""

    file: str
    """The file, as it was named."""
    line: int
    """From 1."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Template:
    """A message whose `{name}` places are filled in per task."""

    role: Role
    """Who says it."""
    content: str
    """Text with places."""
    at: Position
    """Where it stands."""


@dataclass(frozen=True, slots=True)
class AnyKeyword:
    """The last message holds one of these."""

    keywords: tuple[str, ...]
    in_reasoning: bool = False
    """Whether the message's reasoning is searched too (`think_as_message`)."""


@dataclass(frozen=True, slots=True)
class AllKeywords:
    """The last message holds each of these."""

    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression, of those that `magister.rubrics.patterns` reads, matches in the last message."""

    pattern: str


@dataclass(frozen=True, slots=True)
class TurnLimit:
    """This many turns were taken: by one agent, or by all together."""

    turns: int
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class And:
    """Each of these holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """One of these holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """This does not hold."""

    part: Condition


Condition = AnyKeyword | AllKeywords | Pattern | TurnLimit | And | Or | Not


@dataclass(frozen=True, slots=True)
class Edge:
    """What follows a node: `then`, or with a condition `then` where it holds and `otherwise` where not."""

    source: str
    """An agent, or START."""
    then: str
    """An agent, or END."""
    at: Position
    """Where it stands."""
    condition: Condition | None = None
    """None: always `then`."""
    otherwise: str | None = None
    """An agent or END; None without a condition."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The nodes that may follow."""
        return (self.then,) if self.otherwise is None else (self.then, self.otherwise)


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model as the scenario file names it. Who really answers is configured elsewhere."""

    name: str
    """Name in the file."""
    served_name: str
    """What the endpoint calls it."""
    at: Position
    """Where it stands."""
    base_url: str | None = None
    """Address of the endpoint."""
    api_key: Literal["none", "environment", "placeholder", "literal"] = "none"
    """How the file gives the key. The key itself is never kept."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """`kargs`: body fields sent with each request."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What an agent hears of the dialogue so far."""

    enabled: bool = True
    """Off: the latest message alone."""
    keep_turns: int = 3
    """Pairs of messages kept before the latest one: 2 * keep_turns + 1 messages in all."""

    @property
    def messages(self) -> int:
        """How many messages are kept."""
        return 2 * self.keep_turns + 1 if self.enabled else 1


@dataclass(frozen=True, slots=True)
class Agent:
    """Somebody who speaks in the dialogue."""

    name: str
    """A node of the graph."""
    model: str
    """Name of its model in the file."""
    prompt: tuple[Template, ...]
    """What it is told before the dialogue."""
    at: Position
    """Where it stands."""
    memory: Memory = Memory()
    """What it hears of the dialogue."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """Body fields of its requests, over those of its model."""
    tools: tuple[str, ...] = ()
    """Tools that the file names. None is called here."""


@dataclass(frozen=True, slots=True)
class Start:
    """The message that opens each dialogue."""

    message: Template
    """What is said."""
    shown_to: Literal["all", "first"] = "all"
    """Whether every agent hears it, or the first one alone."""


@dataclass(frozen=True, slots=True)
class Task:
    """What one dialogue is about."""

    task_id: str
    """Hash of the variables, so that it stays when tasks are added or change places."""
    number: int
    """Place in the file, from 1."""
    variables: Mapping[str, str]
    """Values by name."""
    at: Position
    """Where it stands; of a combination, its first value."""
    held_out: bool = False
    """Kept for the objective of a rubric's evolution; nothing is diagnosed on it."""


@dataclass(frozen=True, slots=True)
class EvaluationField:
    """One thing that the judge returns."""

    name: str
    """As the file names it."""
    type: FieldType
    """What a value is."""
    description: str
    """What it means, for the judge."""
    at: Position
    """Where it stands."""
    low: float | None = None
    """Least value; None where the file does not say."""
    high: float | None = None
    """Greatest value; None where the file does not say."""
    items: tuple[EvaluationField, ...] = ()
    """Parts of a dict."""
    reason: bool = False
    """Whether a reason is asked for with the score."""
    dimension: str | None = None
    """The dimension it belongs to."""
    weight: float | None = None
    """Share of its dimension; None: equal shares."""
    anchors: Mapping[int, str] = field(default_factory=dict)
    """What a score means, by score."""
    positive_example: str | None = None
    """What deserves a high score."""
    negative_example: str | None = None
    """What deserves a low one."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension of the rubric."""

    name: str
    weight: float
    description: str
    at: Position


@dataclass(frozen=True, slots=True)
class Veto:
    """What forces all scores to the lowest value, found by code before the judge is asked."""

    name: str
    """For tables."""
    kind: Literal["role_leak", "answer_leak", "turns", "keywords", "regex"]
    """What is looked for."""
    agent: str | None
    """In whose turns; None: the candidate's."""
    at: Position
    """Where it stands."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """`keywords`, `pattern`, `variable` (the answer), `at_least`, `at_most` (turns)."""
    description: str = ""
    """For people and for the judge."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How a judge scores the dialogue."""

    name: str
    """As the file names it."""
    model: str
    """Name of the judge's model in the file."""
    prompt: tuple[Template, ...]
    """What the judge is told; empty where the file leaves it to us."""
    fields: tuple[EvaluationField, ...]
    """What it returns, in order."""
    at: Position
    """Where it stands."""
    format_mode: Literal["tool", "prompt"] = "tool"
    """How the file wants the reply."""
    target: str | None = None
    """Name of what is evaluated, for people."""
    dimensions: tuple[Dimension, ...] = ()
    """Dimensions and their weights."""
    vetoes: tuple[Veto, ...] = ()
    """What code checks."""
    raw: Mapping[str, Any] = field(default_factory=dict)
    """The section as the file has it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a dialogue goes."""

    max_turns: int = 25
    """Turns of all agents together (`recursion_limit`)."""
    max_tokens: int | None = None
    """Longest turn in tokens; None: as configured."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario file, read."""

    name: str
    """From the file, else its file name."""
    dialect: Dialect
    """What it is written in."""
    rule: str
    """Which rule told the dialect."""
    models: tuple[ModelEntry, ...]
    """Models in the file's order."""
    agents: tuple[Agent, ...]
    """Agents in the file's order."""
    edges: tuple[Edge, ...]
    """One per node that is followed by something, in the file's order."""
    candidate: str
    """The agent whose model is evaluated: named by the file, else the first to speak."""
    start: Start | None
    """What opens a dialogue."""
    tasks: tuple[Task, ...]
    """In the file's order; of `union`, the last variable varies fastest."""
    at: Position
    """The file's first line."""
    evaluation: Evaluation | None = None
    """How it is scored; None: not at all."""
    limits: Limits = Limits()
    """How far a dialogue goes."""
    pin_start: bool = True
    """Whether the start message stays in every agent's window."""
    language: str | None = None
    """Language of the dialogue, where the file says so."""
    subject: str | None = None
    """School subject, where the file says so."""
    grade: str | None = None
    """Stage or grade, where the file says so."""
    task_type: str | None = None
    """Kind of teaching task, where the file says so."""

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the tasks' variables, sorted."""
        return tuple(sorted({name for task in self.tasks for name in task.variables}))

    def agent(self, name: str) -> Agent:
        """The agent of a name.

        Raises:
            KeyError: there is none.
        """
        for agent in self.agents:
            if agent.name == name:
                return agent
        raise KeyError(name)

    def edge(self, source: str) -> Edge:
        """What follows a node.

        Raises:
            KeyError: nothing does.
        """
        for edge in self.edges:
            if edge.source == source:
                return edge
        raise KeyError(source)
