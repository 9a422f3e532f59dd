"""A dialogue as a judge is shown it: data that cannot leave its frame, whatever is said in it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from magister.llm import canonical_json

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
