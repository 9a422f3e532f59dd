"""Dialogues in waves: turn t of all dialogues is one request file per model, and one response file.

State is what was said: dialogues are rebuilt from the scenarios and the transcripts of the earlier waves, so a wave
is a function of files. A dialogue that fails ends with a status; no other notices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from magister.answers import strip_reasoning
from magister.config.models import ModelConfig, Sampling
from magister.contracts.rubrics_tables import DIALOGUE_ASKED, DIALOGUES, TRANSCRIPTS
from magister.errors import UserError
from magister.llm import Request, Response, Speaker
from magister.rubrics.graph import Said, Semantics, first_speaker, follow
from magister.rubrics.memory import heard
from magister.rubrics.scenario import END, Agent, Scenario, Task

GOES_ON = ("ok", "truncated")
"""Statuses of a turn after which the dialogue goes on."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one agent said."""

    agent: str
    """Who."""
    speaker: str
    """The model that spoke for it."""
    request_id: str
    """Key of the request."""
    status: str
    """One of `TURN_STATUSES`."""
    text: str
    """As the model wrote it."""
    visible: str
    """Without reasoning."""
    finish_reason: str | None = None
    error: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A dialogue as far as it has come."""

    scenario: Scenario
    """What is played."""
    task: Task
    """What it is about."""
    model: str
    """Who is evaluated: the model of the candidate."""
    sample: int
    """Index of a repeated draw."""
    turns: tuple[Turn, ...] = ()
    """What was said."""
    following: str = END
    """Who speaks next; END where nobody does."""
    stop_kind: str | None = None
    """Why nobody does."""

    @property
    def dialogue_id(self) -> str:
        """Scenario, task and model; draws after the first are numbered."""
        name = f"{self.scenario.name}/{self.task.task_id}/{self.model}"
        return f"{name}#{self.sample + 1}" if self.sample else name

    @property
    def status(self) -> str:
        """`ok`, or why its last turn could not be used."""
        last = self.turns[-1].status if self.turns else "ok"
        return "ok" if last in GOES_ON else last


@dataclass(frozen=True)
class Cast:
    """Which model speaks for whom, and how the play goes.

    Attributes:
        partners: models of the agents that are not evaluated, by agent; `*` stands for all that are not named.
        max_turns: limit of turns below that of the scenario; None: none.
        semantics: `fixed`, or `compat` for scenarios of dialect A.
    """

    partners: Mapping[str, str]
    max_turns: int | None = None
    semantics: Semantics = "fixed"

    def speaker(self, dialogue: Dialogue, agent: str) -> str:
        """The model that speaks for an agent in a dialogue.

        Raises:
            UserError: nobody was named.
        """
        if agent == dialogue.scenario.candidate:
            return dialogue.model
        name = self.partners.get(agent, self.partners.get("*"))
        if name is None:
            raise UserError(
                f"scenario {dialogue.scenario.name}: no model speaks for the agent {agent!r}; "
                f"named are: {', '.join(sorted(self.partners)) or 'none'}. Name one for it, or one for '*'"
            )
        return name

    def limit(self, scenario: Scenario) -> int:
        """Turns after which a dialogue is cut."""
        limit = scenario.limits.max_turns
        return limit if self.max_turns is None else min(limit, self.max_turns)


class Due(NamedTuple):
    """A turn that is due."""

    dialogue: Dialogue
    agent: Agent
    speaker: str


def check_scenarios(scenarios: Sequence[Scenario], semantics: Semantics) -> None:
    """Refuse what cannot be played together.

    Raises:
        UserError: two scenarios have one name, or one is not of the dialect that `compat` is about.
    """
    names: dict[str, Scenario] = {}
    for scenario in scenarios:
        if scenario.name in names:
            raise UserError(
                f"{scenario.at.file}: the scenario is called {scenario.name!r}, as is that of "
                f"{names[scenario.name].at.file}. Rename one (`name:`, or the file)"
            )
        names[scenario.name] = scenario
        if semantics == "compat" and scenario.dialect != "a":
            raise UserError(
                f"{scenario.at.file}: `compat` plays scenarios of Elmes 0.1 as Elmes does; this one is of another "
                "dialect. Leave `compat` out"
            )


def open_dialogues(
    scenarios: Sequence[Scenario], models: Sequence[str], *, semantics: Semantics = "fixed", samples: int = 1
) -> list[Dialogue]:
    """One dialogue per scenario, task, model and draw, at its beginning.

    Args:
        scenarios: what is played.
        models: who is evaluated.
        semantics: see `Semantics`.
        samples: draws of each.

    Raises:
        UserError: see `check_scenarios`.
    """
    check_scenarios(scenarios, semantics)
    opened = [
        Dialogue(scenario, task, model, sample, following=first_speaker(scenario))
        for scenario in scenarios
        for task in scenario.tasks
        for model in sorted(set(models))
        for sample in range(samples)
    ]
    return sorted(opened, key=lambda one: one.dialogue_id)


def due(dialogues: Iterable[Dialogue], cast: Cast) -> list[Due]:
    """The turns that are due, in the order of the dialogues."""
    return [
        Due(one, one.scenario.agent(one.following), cast.speaker(one, one.following))
        for one in dialogues
        if one.stop_kind is None
    ]


def agent_model(model: ModelConfig, agent: Agent) -> ModelConfig:
    """A model with the sampling that the scenario wants for an agent."""
    if not agent.sampling:
        return model
    named = set(Sampling.model_fields) - {"extra"}
    known = {key: value for key, value in agent.sampling.items() if key in named}
    extra = {key: value for key, value in agent.sampling.items() if key not in named}
    merged = model.sampling.model_dump() | known
    merged["extra"] = {**model.sampling.extra, **extra}
    return model.model_copy(update={"sampling": Sampling.model_validate(merged)})


def wave_requests(
    dialogues: Sequence[Dialogue], cast: Cast, speaker: Speaker, *, max_tokens: int
) -> tuple[list[Request], pa.Table]:
    """Ask one model for all turns of this wave that are its own.

    Args:
        dialogues: all of them, as far as they have come.
        cast: who speaks for whom.
        speaker: the model.
        max_tokens: longest turn; a scenario may set a smaller one.

    Returns:
        Request rows, and the DIALOGUE_ASKED table that says which row belongs to which turn.
    """
    requests, asked = [], []
    for dialogue, agent, name in due(dialogues, cast):
        if name != speaker.name:
            continue
        scenario = dialogue.scenario
        messages = heard(scenario, agent, dialogue.task.variables, dialogue.turns, cast.semantics)
        wanted = replace(speaker, model=agent_model(speaker.model, agent))
        longest = min(max_tokens, scenario.limits.max_tokens or max_tokens)
        request = wanted.request(messages, longest, dialogue.sample)
        requests.append(request)
        asked.append(
            _place(dialogue)
            | {
                "turn": len(dialogue.turns) + 1,
                "agent": agent.name,
                "speaker": name,
                "request_id": request["custom_id"],
            }
        )
    return requests, pa.Table.from_pylist(asked, schema=DIALOGUE_ASKED.schema)


def _place(dialogue: Dialogue) -> dict[str, Any]:
    return {
        "dialogue_id": dialogue.dialogue_id,
        "scenario": dialogue.scenario.name,
        "task_id": dialogue.task.task_id,
        "model": dialogue.model,
        "sample": dialogue.sample,
    }


def read_turns(
    asked: pa.Table, responses: Mapping[str, Response], semantics: Semantics = "fixed"
) -> pa.Table:
    """Read what came back for a wave.

    Args:
        asked: DIALOGUE_ASKED table.
        responses: by request key.
        semantics: in `compat` an empty reply is a turn like any other.

    Returns:
        TRANSCRIPTS table of this wave.

    Raises:
        UserError: a request has no response.
    """
    rows = []
    for row in asked.to_pylist():
        response = responses.get(row["request_id"])
        if response is None:
            raise UserError(
                f"dialogue {row['dialogue_id']}, turn {row['turn']}: the response files do not hold request "
                f"{row['request_id']}; make them again from this wave's request files"
            )
        stripped = strip_reasoning(response.text)
        rows.append(
            row
            | {
                "status": _status(response, stripped.text, semantics),
                "text": response.text,
                "visible": stripped.text,
                "finish_reason": response.finish_reason,
                "error": response.error,
                "prompt_tokens": response.prompt_tokens,
                "completion_tokens": response.completion_tokens,
            }
        )
    table = pa.Table.from_pylist(rows, schema=TRANSCRIPTS.schema)
    return table.sort_by([(name, "ascending") for name in TRANSCRIPTS.key])


def _status(response: Response, visible: str, semantics: Semantics) -> str:
    if response.failed_status is not None:
        return response.failed_status
    if response.finish_reason == "content_filter":
        return "refusal"
    if not visible.strip() and semantics == "fixed":
        return "empty"
    return "truncated" if response.finish_reason == "length" else "ok"


def take_turn(dialogue: Dialogue, turn: Turn, cast: Cast) -> Dialogue:
    """A dialogue after one more turn."""
    turns = (*dialogue.turns, turn)
    if turn.status not in GOES_ON:
        return replace(dialogue, turns=turns, following=END, stop_kind="failed")
    said = Said(turn.text, turn.visible, [one.agent for one in turns])
    following = follow(dialogue.scenario.edge(turn.agent), said, cast.semantics)
    if following == END:
        return replace(dialogue, turns=turns, following=END, stop_kind="end")
    if len(turns) >= cast.limit(dialogue.scenario):
        return replace(dialogue, turns=turns, following=END, stop_kind="max_turns")
    return replace(dialogue, turns=turns, following=following)


def take_wave(dialogues: Sequence[Dialogue], wave: pa.Table, cast: Cast) -> list[Dialogue]:
    """All dialogues after one more wave.

    Args:
        dialogues: as far as they had come.
        wave: TRANSCRIPTS table of the wave.
        cast: who speaks for whom.

    Raises:
        UserError: the wave is not the one that was due.
    """
    rows = {row["dialogue_id"]: row for row in wave.to_pylist()}
    waiting = {one.dialogue.dialogue_id: one for one in due(dialogues, cast)}
    for name in sorted(set(rows) ^ set(waiting)) + sorted(set(rows) & set(waiting)):
        row, one = rows.get(name), waiting.get(name)
        seen = None if row is None else (row["turn"], row["agent"])
        wanted = None if one is None else (len(one.dialogue.turns) + 1, one.agent.name)
        if seen != wanted:
            raise UserError(
                f"dialogue {name}: turn and agent {seen or 'none'} in the transcripts, {wanted or 'none'} by the "
                "scenario; transcripts and scenario files are not of one run. Make the transcripts again"
            )
    return [
        take_turn(one, _turn(rows[one.dialogue_id]), cast) if one.dialogue_id in waiting else one
        for one in dialogues
    ]


def _turn(row: Mapping[str, Any]) -> Turn:
    return Turn(**{name: row[name] for name in Turn.__dataclass_fields__})


def replay(dialogues: Sequence[Dialogue], waves: Iterable[pa.Table], cast: Cast) -> list[Dialogue]:
    """Dialogues after all waves so far.

    Args:
        dialogues: at their beginning.
        waves: TRANSCRIPTS tables of the waves, in order.
        cast: who speaks for whom.
    """
    state = list(dialogues)
    for wave in waves:
        state = take_wave(state, wave, cast)
    return state


class Advanced(NamedTuple):
    """Dialogues after a wave, and what is asked in the next one.

    Attributes:
        dialogues: as far as they have come.
        transcripts: TRANSCRIPTS table of the wave.
        requests: request rows of the next wave by model; a model without a turn has an empty list.
        asked: DIALOGUE_ASKED table of the next wave.
    """

    dialogues: list[Dialogue]
    transcripts: pa.Table
    requests: dict[str, list[Request]]
    asked: pa.Table


def advance(
    dialogues: Sequence[Dialogue],
    asked: pa.Table,
    responses: Mapping[str, Response],
    cast: Cast,
    speakers: Mapping[str, Speaker],
    *,
    max_tokens: int,
) -> Advanced:
    """Read a wave and ask for the next.

    Args:
        dialogues: as far as they had come.
        asked: DIALOGUE_ASKED table of the wave; empty before the first.
        responses: what came back, by request key.
        cast: who speaks for whom.
        speakers: models by name.
        max_tokens: longest turn.
    """
    wave = read_turns(asked, responses, cast.semantics)
    state = take_wave(dialogues, wave, cast) if asked.num_rows else list(dialogues)
    requests: dict[str, list[Request]] = {}
    tables = [DIALOGUE_ASKED.schema.empty_table()]
    for name, speaker in sorted(speakers.items()):
        requests[name], table = wave_requests(state, cast, speaker, max_tokens=max_tokens)
        tables.append(table)
    following = pa.concat_tables(tables).sort_by([(name, "ascending") for name in DIALOGUE_ASKED.key])
    return Advanced(state, wave, requests, following)


def dialogue_table(dialogues: Iterable[Dialogue], cast: Cast) -> pa.Table:
    """How each dialogue ended.

    Args:
        dialogues: after their last wave.
        cast: who speaks for whom.

    Returns:
        DIALOGUES table.

    Raises:
        UserError: one has not ended.
    """
    rows = []
    for one in dialogues:
        if one.stop_kind is None:
            raise UserError(
                f"dialogue {one.dialogue_id} has not ended after {len(one.turns)} turns, {cast.limit(one.scenario)} "
                "are allowed; give the transcripts of all waves"
            )
        own = [turn for turn in one.turns if turn.agent == one.scenario.candidate]
        rows.append(
            _place(one)
            | {
                "status": one.status,
                "stop_kind": one.stop_kind,
                "turns": len(one.turns),
                "n": sum(turn.status in GOES_ON for turn in own),
                "truncated": sum(turn.status == "truncated" for turn in one.turns),
                "held_out": one.task.held_out,
            }
        )
    table = pa.Table.from_pylist(rows, schema=DIALOGUES.schema)
    return table.sort_by([(name, "ascending") for name in DIALOGUES.key])
