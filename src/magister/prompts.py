"""Prompt templates: Jinja2 files `prompts/<task>/<version>.md`, one message per `--- role` line.

The template's source is split into messages before anything is rendered, so that text of a model or a data
row can never open a new message; it is data inside one part.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import DictLoader, StrictUndefined, Template, TemplateError, UndefinedError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from magister.errors import UserError

ROLES = ("system", "user", "assistant")
_SEPARATOR = re.compile(r"^--- (\w+)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Prompt:
    """A parsed template.

    Attributes:
        name: for messages, usually the file's path.
        sha256: hash of the source.
        parts: (role, compiled template) in order.
    """

    name: str
    sha256: str
    parts: tuple[tuple[str, Template], ...]

    def render(self, **values: Any) -> list[dict[str, str]]:
        """Fill in the template.

        Args:
            **values: what the template names; a missing name is an error.

        Returns:
            Chat messages; parts that render to nothing are left out.

        Raises:
            UserError: the template names something it was not given, or does what no template may.
        """
        messages = []
        for role, template in self.parts:
            try:
                content = template.render(**values).strip()
            except UndefinedError as error:
                known = ", ".join(sorted(values))
                raise UserError(f"{self.name}: {error.message}; the names given are: {known}") from None
            except TemplateError as error:  # what the sandbox refuses
                raise UserError(f"{self.name}: {error}") from None
            if content:
                messages.append({"role": role, "content": content})
        return messages


def parse_prompt(source: str, name: str) -> Prompt:
    """Split a template into messages and compile each.

    Raises:
        UserError: no `--- role` line, an unknown role, text before the first line, or a template error.
    """
    pieces = _SEPARATOR.split(source)
    if len(pieces) < 3:
        raise UserError(f"{name}: no line `--- system`, `--- user` or `--- assistant` found")
    if pieces[0].strip():
        raise UserError(f"{name}: text before the first `--- role` line: {pieces[0].strip()[:60]!r}")
    # StrictUndefined: a misspelt name must not render to nothing.
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=DictLoader({})
    )
    parts = []
    for role, text in zip(pieces[1::2], pieces[2::2], strict=True):
        if role not in ROLES:
            raise UserError(f"{name}: unknown role {role!r}; expected one of {', '.join(ROLES)}")
        try:
            parts.append((role, environment.from_string(text)))
        except TemplateError as error:
            raise UserError(f"{name}: {error}") from None
    return Prompt(name, hashlib.sha256(source.encode()).hexdigest(), tuple(parts))


def load_prompt(path: Path) -> Prompt:
    """Read a template file.

    Raises:
        UserError: the file is missing (existing versions are listed) or does not parse.
    """
    try:
        source = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        versions = sorted(p.stem for p in path.parent.glob("*.md"))
        raise UserError(f"{path}: no such prompt; versions there: {', '.join(versions) or 'none'}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text: {error}") from None
    return parse_prompt(source, path.as_posix())
