"""A dialogue as a judge is shown it: data that cannot leave its frame, whatever is said in it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from magister.errors import UserError
from magister.llm import canonical_json
from magister.rubrics.scenario import Scenario
from magister.rubrics.templates import DIALOGUE, fill, judge_values

# What some reader or terminal takes for the end of a line, besides what JSON escapes itself.
_BREAKS = re.compile("[\x7f\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Said:
    """One turn.

    Attributes:
        speaker: the agent's name.
        text: what it said, without reasoning.
    """

    speaker: str
    text: str


@dataclass(frozen=True)
class Heard:
    """A dialogue to be scored.

    Attributes:
        dialogue_id: its name in tables.
        scenario: id of its scenario.
        task_id: id of its task.
        model: who is evaluated.
        candidate: the agent whose turns are scored.
        turns: what was said, in order.
        variables: what the task is about, by name.
        cut: whether it ran into the limit of turns.
        held_out: whether its task is kept for the objective.
        failed: why it says nothing about the candidate: a call that got no answer, or a turn of somebody else that
            could not be used. A candidate that refuses, says nothing or runs out of its window is scored as it stands.
    """

    dialogue_id: str
    scenario: str
    task_id: str
    model: str
    candidate: str
    turns: tuple[Said, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    held_out: bool = False
    failed: str = ""

    @property
    def content_sha(self) -> str:
        """Hash of what was said about what: the same for a copy of a dialogue under another name."""
        said = [[turn.speaker, turn.text] for turn in self.turns]
        return hashlib.sha256(canonical_json([dict(self.variables), said]).encode()).hexdigest()

    @property
    def length(self) -> int:
        """Characters of the candidate's turns."""
        return sum(len(turn.text) for turn in self.turns if turn.speaker == self.candidate)


def data_line(value: Mapping[str, Any] | str) -> str:
    """JSON on one line that holds no line break and no closing tag: nothing in it can end the frame around it.

    It is JSON all the same and reads back as it was.
    """
    text = json.dumps(value, ensure_ascii=False).replace("</", "<\\/")
    return _BREAKS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def dialogue_lines(turns: Sequence[Said]) -> str:
    """The turns of a dialogue, a line each."""
    return "\n".join(
        data_line({"turn": number, "speaker": turn.speaker, "text": turn.text})
        for number, turn in enumerate(turns, start=1)
    )


def task_line(variables: Mapping[str, str]) -> str:
    """What a task is about, on one line."""
    return data_line(dict(sorted(variables.items())))


def scoring_notes(scenario: Scenario) -> dict[str, str]:
    """What a scenario's authors tell the judge, by task: for the rubric that they wrote themselves.

    The dialogue, which their text may hold a place for, is shown by our prompt.
    """
    if scenario.evaluation is None:
        return {}
    notes = {}
    for task in scenario.tasks:
        values = judge_values(task.variables, []) | {DIALOGUE: "(the dialogue)"}
        notes[task.task_id] = "\n\n".join(fill(one.content, values) for one in scenario.evaluation.prompt)
    return notes


def heard_dialogues(
    transcripts: pa.Table, dialogues: pa.Table, scenario: Scenario, held_out: Collection[str] = ()
) -> list[Heard]:
    """Put the dialogues of a scenario together.

    Args:
        transcripts: TRANSCRIPTS table of all waves.
        dialogues: DIALOGUES table.
        scenario: the scenario; dialogues of others are left out.
        held_out: tasks that are held out besides those that the scenario names.

    Returns:
        Its dialogues, by id. Reasoning is not in them.

    Raises:
        UserError: a task is not of the scenario, or turns are missing.
    """
    tasks = {task.task_id: task for task in scenario.tasks}
    turns: dict[str, list[dict[str, Any]]] = {}
    for row in transcripts.sort_by([("dialogue_id", "ascending"), ("turn", "ascending")]).to_pylist():
        turns.setdefault(row["dialogue_id"], []).append(row)
    found = []
    for row in dialogues.sort_by("dialogue_id").to_pylist():
        if row["scenario"] != scenario.name:
            continue
        name, own = row["dialogue_id"], turns.get(row["dialogue_id"], [])
        if row["task_id"] not in tasks:
            raise UserError(f"dialogue {name}: task {row['task_id']} is not one of {scenario.at.file}")
        if [turn["turn"] for turn in own] != list(range(1, row["turns"] + 1)):
            raise UserError(
                f"dialogue {name}: {row['turns']} turns are expected, the transcripts hold {len(own)}; give the "
                "transcripts of all waves"
            )
        task = tasks[row["task_id"]]
        found.append(
            Heard(
                name,
                scenario.name,
                task.task_id,
                row["model"],
                scenario.candidate,
                tuple(Said(turn["agent"], turn["visible"]) for turn in own),
                dict(task.variables),
                row["stop_kind"] == "max_turns",
                row["held_out"] or task.task_id in held_out,
                _failed(own, scenario.candidate) if row["stop_kind"] == "failed" else "",
            )
        )
    return found


def _failed(turns: Sequence[Mapping[str, Any]], candidate: str) -> str:
    last = turns[-1]
    if last["agent"] == candidate and last["status"] != "error":
        return ""
    return f"turn {last['turn']} ({last['agent']}): {last['status']}"
