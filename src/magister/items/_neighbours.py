"""Near values of a number, to fill up options."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from magister.items._numbers import Number, parse_number, shift, write_like
from magister.items._text import seeded_draw, seeded_rank


def _swaps(scaled: int) -> list[int]:
    """The number with two neighbouring digits swapped; the first digit does not become zero."""
    digits, sign = str(abs(scaled)), -1 if scaled < 0 else 1
    swapped = []
    for place in range(len(digits) - 1):
        changed = digits[:place] + digits[place + 1] + digits[place] + digits[place + 2 :]
        if changed != digits and not changed.startswith("0"):
            swapped.append(sign * int(changed))
    return swapped


def _near(number: Number) -> list[int]:
    value = number.scaled
    step = 10 if abs(value) >= 10 else 2
    near = [value - 1, value + 1, value - step, value + step, *_swaps(value), 2 * value]
    near += [value // 2] if value % 2 == 0 else []
    near += [value - 100, value + 100] if abs(value) >= 1000 else []
    return [one for one in near if one >= 0 or value < 0]


def _side(number: Number, sign: int, seed: int, item_id: str) -> Iterator[int]:
    """Values on one side of a number: the near ones in seeded order, then ever farther ones."""
    near = {value for value in _near(number) if (value - number.scaled) * sign > 0}
    yield from sorted(near, key=lambda value: seeded_rank(seed, item_id, str(value)))
    for distance in count(3):
        value = number.scaled + sign * distance
        if value < 0 <= number.scaled:
            return
        if value not in near:
            yield value


def numeric_neighbours(gold: str, seed: int, item_id: str) -> Iterator[str]:
    """Give near values of a numeric gold in its own form, without end.

    One or ten off in the last place, two digits swapped, twice or half as much, in seeded order; then ever
    farther values. Never the gold, never one twice, never below zero where the gold is not. Each item draws
    its own share of smaller values, evenly between none and all: the gold is as often the smallest or the
    largest of its options as any other.

    Args:
        gold: the right value; nothing is given where it is not a number.
        seed: for the order.
        item_id: for the order.
    """
    number = parse_number(gold)
    if number is None:
        return
    below, above = _side(number, -1, seed, item_id), _side(number, 1, seed, item_id)
    share = seeded_draw(seed, item_id, "share")
    for step in count():
        value = next(below, None) if seeded_draw(seed, item_id, "step", str(step)) < share else None
        yield write_like(shift(number, next(above) if value is None else value), number)
