"""Regular expressions in linear time: a scenario file may name any pattern, and none can hang a run.

A subset of Python's syntax is read - literals, `.`, classes, `\\d \\w \\s` and their opposites, groups, `|`, `? * +`,
`{m,n}`, `^`, `$`, a leading `(?i)` - and matched by following all states at once (Thompson 1968), never by
backtracking: no pattern is catastrophic. Back-references, look-around and lazy quantifiers are refused.

Reference: Thompson, K. (1968). Regular expression search algorithm. Communications of the ACM 11(6), 419-422.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

MAX_PATTERN = 500
MAX_STATES = 2000
MAX_REPEAT = 100
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_SPECIAL = frozenset("\\.[](){}|?*+^$")

Test = Callable[[str], bool]
_KINDS: dict[str, Test] = {
    "d": str.isdecimal,
    "w": lambda char: char.isalnum() or char == "_",
    "s": str.isspace,
}


class PatternError(ValueError):
    """A pattern that is not read; the message says why and where."""


@dataclass(frozen=True, slots=True)
class _Tree:
    """`empty`, `char` (test), `start`, `end`, `then` (parts), `or` (parts), `repeat` (one part, least, most)."""

    kind: str
    test: Test | None = None
    parts: tuple[_Tree, ...] = ()
    least: int = 0
    most: int | None = None


@dataclass(slots=True)
class _Reader:
    text: str
    fold: bool
    at: int = 0
    depth: int = 0

    def refuse(self, why: str) -> PatternError:
        return PatternError(f"{why} at character {self.at + 1}")

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self) -> str:
        char = self.peek()
        self.at += 1
        return char

    def alternatives(self) -> _Tree:
        parts = [self.sequence()]
        while self.peek() == "|":
            self.take()
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else _Tree("or", parts=tuple(parts))

    def sequence(self) -> _Tree:
        parts: list[_Tree] = []
        while self.peek() not in ("", "|", ")"):
            parts.append(self.repeated(self.atom()))
        return _Tree("then", parts=tuple(parts)) if parts else _Tree("empty")

    def repeated(self, one: _Tree) -> _Tree:
        char = self.peek()
        if char not in ("?", "*", "+", "{"):
            return one
        if one.kind in ("start", "end"):
            raise self.refuse("nothing to repeat")
        self.take()
        least, most = {"?": (0, 1), "*": (0, None), "+": (1, None)}.get(char) or self.bounds()
        if self.peek() in ("?", "*", "+", "{"):
            raise self.refuse("a quantifier of a quantifier")
        return _Tree("repeat", parts=(one,), least=least, most=most)

    def bounds(self) -> tuple[int, int | None]:
        end = self.text.find("}", self.at)
        parts = self.text[self.at : end].split(",") if end >= 0 else []
        if (
            not 1 <= len(parts) <= 2
            or not parts[0].isdecimal()
            or not (parts[-1].isdecimal() or not parts[-1])
        ):
            raise self.refuse("expected {m}, {m,} or {m,n} (write \\{ for the character)")
        if any(len(part) > 4 for part in parts):
            raise self.refuse(f"more than {MAX_REPEAT} repetitions")
        least = int(parts[0])
        most = int(parts[-1]) if parts[-1] else None
        if max(least, most or 0) > MAX_REPEAT:
            raise self.refuse(f"more than {MAX_REPEAT} repetitions")
        if most is not None and most < least:
            raise self.refuse("the least number of repetitions is above the most")
        self.at = end + 1
        return least, most

    def atom(self) -> _Tree:
        char = self.take()
        if char == "(":
            return self.group()
        if char == "[":
            return _Tree("char", self.char_class())
        if char == ".":
            return _Tree("char", lambda one: one != "\n")
        if char in "^$":
            return _Tree("start" if char == "^" else "end")
        if char == "\\":
            return _Tree("char", self.escape())
        if char in "?*+{":
            self.at -= 1
            raise self.refuse("nothing to repeat")
        return _Tree("char", self.literal(char))

    def group(self) -> _Tree:
        if self.peek() == "?":
            self.take()
            if self.take() != ":":
                self.at -= 1
                raise self.refuse("look-around, names and flags of groups are not read")
        self.depth += 1
        if self.depth > 20:
            raise self.refuse("more than 20 groups in one another")
        inner = self.alternatives()
        if self.take() != ")":
            raise self.refuse("a group is not closed")
        self.depth -= 1
        return inner

    def literal(self, char: str) -> Test:
        if self.fold:
            folded = char.casefold()
            return lambda one: one.casefold() == folded
        return lambda one: one == char

    def escape(self) -> Test:
        char = self.take()
        if char.lower() in _KINDS:
            kind = _KINDS[char.lower()]
            return kind if char.islower() else lambda one: not kind(one)
        return self.literal(self.escaped(char))

    def escaped(self, char: str) -> str:
        if char in _ESCAPES:
            return _ESCAPES[char]
        if not char or char.isalnum():
            raise self.refuse(f"the escape \\{char} is not read")
        return char

    def char_class(self) -> Test:
        negated = self.peek() == "^"
        if negated:
            self.take()
        tests: list[Test] = []
        first = True
        while True:
            char = self.take()
            if not char:
                raise self.refuse("a class is not closed")
            if char == "]" and not first:
                break
            first = False
            if char == "\\" and self.peek().lower() in _KINDS and self.peek():
                tests.append(self.escape())
                continue
            low = self.escaped(self.take()) if char == "\\" else char
            if self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.take()
                char = self.take()
                high = self.escaped(self.take()) if char == "\\" else char
                if high < low:
                    raise self.refuse(f"the range {low}-{high} is empty")
                tests.append(self.range(low, high))
            else:
                tests.append(self.literal(low))
        if negated:
            return lambda one: not any(test(one) for test in tests)
        return lambda one: any(test(one) for test in tests)

    def range(self, low: str, high: str) -> Test:
        if self.fold:
            return lambda one: low <= one <= high or low <= one.lower() <= high or low <= one.upper() <= high
        return lambda one: low <= one <= high


@dataclass(slots=True)
class _State:
    """`char` consumes one character; `start` and `end` are passed at an end of the text, `split` always."""

    kind: str
    test: Test | None = None
    next: list[int] = field(default_factory=list)


class Regex:
    """A pattern, ready to be searched for.

    Attributes:
        pattern: as it was given.
    """

    def __init__(self, pattern: str) -> None:
        """Read a pattern.

        Raises:
            PatternError: it is not of the subset, or too long.
        """
        if len(pattern) > MAX_PATTERN:
            raise PatternError(f"{len(pattern)} characters, {MAX_PATTERN} are allowed")
        self.pattern = pattern
        fold = pattern.startswith("(?i)")
        reader = _Reader(pattern, fold, 4 if fold else 0)
        tree = reader.alternatives()
        if reader.at < len(pattern):
            raise reader.refuse("a group is closed that was not opened")
        self._states: list[_State] = []
        self._last = self._add(_State("match"))
        self._first = self._compile(tree, self._last)

    def _add(self, state: _State) -> int:
        if len(self._states) >= MAX_STATES:
            raise PatternError(f"more than {MAX_STATES} states: repeat less")
        self._states.append(state)
        return len(self._states) - 1

    def _compile(self, tree: _Tree, after: int) -> int:
        """Add the states of a tree that goes on to `after`; return where it begins."""
        if tree.kind == "empty":
            return after
        if tree.kind in ("char", "start", "end"):
            return self._add(_State(tree.kind, tree.test, [after]))
        if tree.kind == "or":
            return self._add(_State("split", next=[self._compile(part, after) for part in tree.parts]))
        if tree.kind == "then":
            for part in reversed(tree.parts):
                after = self._compile(part, after)
            return after
        inner = tree.parts[0]
        if tree.most is None:
            loop = self._add(_State("split", next=[after]))
            self._states[loop].next.append(self._compile(inner, loop))
            after = loop
        else:
            end = after
            for _ in range(tree.most - tree.least):
                after = self._add(_State("split", next=[self._compile(inner, after), end]))
        for _ in range(tree.least):
            after = self._compile(inner, after)
        return after

    def _reach(self, states: Iterable[int], at: int, length: int) -> set[int]:
        """States that are reached without a character."""
        seen: set[int] = set()
        waiting = list(states)
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            state = self._states[number]
            passes = (
                state.kind == "split"
                or (state.kind == "start" and at == 0)
                or (state.kind == "end" and at == length)
            )
            if passes:
                waiting += state.next
        return seen

    def search(self, text: str) -> bool:
        """Say whether the pattern matches somewhere in a text; time grows with its length alone."""
        current: set[int] = set()
        for at in range(len(text) + 1):
            current = self._reach([*current, self._first], at, len(text))
            if self._last in current:
                return True
            if at == len(text):
                break
            char = text[at]
            following: set[int] = set()
            for number in current:
                state = self._states[number]
                if state.kind == "char" and state.test is not None and state.test(char):
                    following.update(state.next)
            current = following
        return False


@lru_cache(maxsize=256)
def regex(pattern: str) -> Regex:
    """The pattern, read once.

    Raises:
        PatternError: it is not of the subset.
    """
    return Regex(pattern)
