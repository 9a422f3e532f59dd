"""Templates: texts with `{name}` places, and nothing else. Values are data: a place in a value stays as it is.

A name in braces that is no variable is a mistake. Other braces are text: JSON (`{"score": 1}`), and the braces of a
formula (`\\sqrt{x}`, `x^{n}`) where they hold no variable. `{{name}}` is the text `{name}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from magister.errors import UserError
from magister.rubrics.findings import suggestion

DIALOGUE = "messages.as_dialog()"
"""The place of the dialogue in a judge's prompt."""

# What stands between braces may be a variable of any spelling, or look like one: a word, dotted words, a call.
_PLACE = re.compile(r"\{\{([^{}\n]{1,100})\}\}|\{([^{}\n]{1,100})\}")
_NAME = re.compile(r"[^\W\d]\w*(?:\.\w+)*(?:\(\))?")
_COMMAND = re.compile(r"\\[A-Za-z]+\*?(?:\{[^{}]*\}|\[[^\[\]]*\])*$")


class TemplateError(UserError):
    """A template names a variable that there is not."""


@dataclass(frozen=True, slots=True)
class Place:
    """A name in a template.

    Attributes:
        name: what stands between the braces.
        line: lines before it in the template.
    """

    name: str
    line: int


def _in_formula(text: str, start: int, name: str) -> bool:
    """Whether braces belong to a formula: `\\frac{a}{b}`, `x^{n}`, `a_{ij}`."""
    before = text[max(0, start - 1) : start]
    if before == "^" or (before == "_" and len(name) <= 3):
        return True
    return _COMMAND.search(text, max(0, start - 120), start) is not None


def _unfold(text: str, names: Collection[str], put: Callable[[str, re.Match[str]], str]) -> str:
    """Replace every place; `put` gets its name. Braces that are text stay."""

    def replaced(match: re.Match[str]) -> str:
        if match[1] is not None:
            return "{" + match[1] + "}" if _NAME.fullmatch(match[1]) or match[1] in names else match[0]
        name = match[2]
        if name not in names:
            if not _NAME.fullmatch(name):
                return match[0]
            if _in_formula(text, match.start(), name):
                return match[0]
        return put(name, match)

    return _PLACE.sub(replaced, text)


def places(text: str, names: Collection[str]) -> list[Place]:
    """Find the names in a template, known or not, in order.

    Args:
        text: the template.
        names: variables that there are.
    """
    found: list[Place] = []

    def put(name: str, match: re.Match[str]) -> str:
        found.append(Place(name, text.count("\n", 0, match.start())))
        return match[0]

    _unfold(text, names, put)
    return found


def unknown_name(name: str, names: Collection[str]) -> str:
    """Say that a name is no variable, with what may have been meant and what there is."""
    known = ", ".join(sorted(names)) or "none"
    return f"{{{name}}} names no variable{suggestion(name, names)}; there are: {known}"


def fill(text: str, values: Mapping[str, str]) -> str:
    """Fill in a template, in one pass.

    Args:
        text: the template.
        values: by name.

    Raises:
        TemplateError: it names a variable that there is not.
    """

    def put(name: str, match: re.Match[str]) -> str:
        if name not in values:
            raise TemplateError(f"{unknown_name(name, values)}. For the text itself write {{{{{name}}}}}")
        return values[name]

    return _unfold(text, values, put)


def as_dialogue(turns: Sequence[tuple[str, str]]) -> str:
    """Write a dialogue as a judge reads it: a line `name: text` per turn.

    Args:
        turns: (agent, text) in order.
    """
    return "\n".join(f"{agent}: {text}" for agent, text in turns)


def judge_values(variables: Mapping[str, str], turns: Sequence[tuple[str, str]]) -> dict[str, str]:
    """What a judge's prompt may name: `task.<variable>` and the dialogue.

    Args:
        variables: those of the task.
        turns: (agent, text) in order.
    """
    return {f"task.{name}": value for name, value in variables.items()} | {DIALOGUE: as_dialogue(turns)}
