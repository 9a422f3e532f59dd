"""A built-in generator: sums of two two-digit numbers, open or with options."""

from __future__ import annotations

from typing import Any

from magister.errors import UserError
from magister.items._text import seeded_draw, seeded_rank

_LOW, _HIGH = 10, 99
CAPACITY = (_HIGH - _LOW + 1) ** 2
MAX_OPTIONS = 6


def _slips(a: int, b: int, seed: int) -> list[int]:
    """Wrong sums that people arrive at, one per kind of slip."""
    sign = 1 if seeded_draw(seed, "sign", str(a), str(b)) % 2 else -1
    gold = a + b
    by_kind = {
        "off by one": gold + sign,
        "carry lost or doubled": gold + 10 * (1 if seeded_draw(seed, "carry", str(a), str(b)) % 2 else -1),
        "digits swapped": a + int(str(b)[::-1]),
        "subtracted": abs(a - b),
        "off by two": gold - 2 * sign,
        "off by a hundred": gold + 100,
        "only the tens added": a + b - b % 10,
    }
    order = sorted(by_kind, key=lambda kind: seeded_rank(seed, kind, str(a), str(b)))
    values: list[int] = []
    for kind in order:
        if by_kind[kind] != gold and by_kind[kind] not in values:
            values.append(by_kind[kind])
    return values


def generate_sums(size: int, seed: int, options: int | None = None) -> list[dict[str, Any]]:
    """Make distinct questions `What is a + b?`.

    Args:
        size: how many. A smaller size gives the first of the same questions.
        seed: which questions, in which order.
        options: number of options, the right one among them; None for open questions.

    Returns:
        Rows with question and answer, and options where asked for.

    Raises:
        UserError: more questions or options than there are.
    """
    if size > CAPACITY:
        raise UserError(f"generator 'sums': there are {CAPACITY} questions; {size} were asked for")
    if options is not None and not (isinstance(options, int) and 2 <= options <= MAX_OPTIONS):
        raise UserError(f"generator 'sums': options must be 2 to {MAX_OPTIONS}, found {options!r}")
    pairs = [(a, b) for a in range(_LOW, _HIGH + 1) for b in range(_LOW, _HIGH + 1)]
    pairs.sort(key=lambda pair: seeded_rank(seed, "sums", str(pair[0]), str(pair[1])))
    rows: list[dict[str, Any]] = []
    for a, b in pairs[:size]:
        row: dict[str, Any] = {"question": f"What is {a} + {b}?", "answer": str(a + b)}
        if options is not None:
            texts = [str(a + b), *(str(value) for value in _slips(a, b, seed)[: options - 1])]
            texts.sort(key=lambda text: seeded_rank(seed, "order", str(a), str(b), text))
            row["options"] = texts
        rows.append(row)
    return rows
