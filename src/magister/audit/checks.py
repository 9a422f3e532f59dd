"""A check and what it has found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from magister.audit.findings import Finding


@dataclass(frozen=True)
class Check:
    """One kind of check over all that it concerns.

    Attributes:
        name: what is held, in a few words.
        n: how many things were looked at.
        unit: what they are, in the plural.
        findings: where it does not hold.
        unchecked: why it cannot be told; None where it can.
    """

    name: str
    n: int
    unit: str
    findings: Sequence[Finding] = field(default_factory=list)
    unchecked: str | None = None


def shown(value: Any, width: int = 80) -> str:
    """A value in a message, cut."""
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def differences(one: Any, other: Any, place: str = "") -> list[tuple[str, Any, Any]]:
    """Places in which two JSON values differ: a dotted path, and the value in each.

    What only one of them has is `None` in the other.
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        found: list[tuple[str, Any, Any]] = []
        for key in sorted({*one, *other}, key=str):
            inner = f"{place}.{key}" if place else str(key)
            found += differences(one.get(key), other.get(key), inner)
        return found
    if isinstance(one, list) and isinstance(other, list):
        found = []
        for at in range(max(len(one), len(other))):
            first, second = (value[at] if at < len(value) else None for value in (one, other))
            found += differences(first, second, f"{place}[{at}]")
        return found
    return [] if type(one) is type(other) and one == other else [(place, one, other)]
