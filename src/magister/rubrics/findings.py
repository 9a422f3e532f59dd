"""What is wrong with a scenario file: where, how bad, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

from magister.errors import UserError
from magister.rubrics.scenario import Position

Severity = Literal["error", "warning", "note"]
"""`error`: cannot be run; `warning`: runs, and measures something else than meant; `note`: worth a look."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    code: str
    """What kind of thing: see docs/rubrics_scenarios.md."""
    severity: Severity
    """How bad it is."""
    at: Position
    """Where it stands."""
    message: str
    """What was seen, and what was expected."""
    advice: str
    """What to do."""


@dataclass(slots=True)
class Findings:
    """Findings of one file, as they are made."""

    file: str
    found: list[Finding] = field(default_factory=list)

    def add(self, severity: Severity, code: str, line: int, message: str, advice: str) -> None:
        """Note one."""
        self.found.append(Finding(code, severity, Position(self.file, line), message, advice))

    def error(self, code: str, line: int, message: str, advice: str) -> None:
        """Note something that keeps the file from being run."""
        self.add("error", code, line, message, advice)

    @property
    def errors(self) -> list[Finding]:
        """Those that keep the file from being run, in the order of the file."""
        return sorted((one for one in self.found if one.severity == "error"), key=lambda one: one.at)


class ScenarioError(UserError):
    """A scenario file cannot be read.

    Attributes:
        findings: why.
    """

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        lines = [f"{one.at}: {one.message}. {one.advice}." for one in self.findings[:_SHOWN]]
        if len(self.findings) > _SHOWN:
            lines.append(f"... and {len(self.findings) - _SHOWN} more: `magister rubrics lint` lists all")
        super().__init__("\n".join(lines))


def suggestion(name: str, known: Iterable[str]) -> str:
    """What a misspelt name may have meant: ` (did you mean 'x'?)`, or nothing."""
    close = get_close_matches(name, sorted(known), 1, 0.6)
    return f" (did you mean {close[0]!r}?)" if close else ""
