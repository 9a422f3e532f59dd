"""Lists with a line for each option and a mark on some of them: ticks, crosses, boxes, "yes" and "no"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ._options import LETTERS, Options
from ._text import Span

_BULLET = re.compile(r"[ \t>*•]*(?:-[ \t]+|\d{1,2}[.)][ \t]+(?=\S))?")
_BEFORE = re.compile(
    r"(?:(?P<good>[✓✔✅☑●◉🔘]|\[[✓✔]\])|(?P<bad>[✗✘❌])|(?P<empty>[☐○◯⬜]|\[ ?\]|\( ?\))|(?P<box>[\[(][xX][\])]))[ \t]*"
)
_AFTER = re.compile(
    r"[ \t:,=(-]+(?:(?P<good>[✓✔✅☑]|yes|true|correct|right|正确|对)|(?P<bad>[✗✘❌]|no|false|incorrect|wrong|错误|错))"
    r"[)\s.!。]*$",
    re.I,
)
_ALONE = re.compile(r"\W{0,2}(?:(?P<good>[✓✔✅☑])|(?P<bad>[✗✘❌]))\W{0,2}")
_LETTER = re.compile(
    r"(?:(?:option|choice|选项)[ \t]?)?[(\[]?(?P<letter>[A-Z])(?:[)\].:、]{1,2}|(?=\s)|$)[ \t]*", re.I
)


@dataclass
class _Line:
    """One option's line.

    Attributes:
        index: which option.
        span: the line.
        mark: `good`, `bad`, `empty`, `box`, or an empty string.
    """

    index: int
    span: Span
    mark: str


def _option(core: str, options: Options) -> int | None:
    """The option that a line names: its letter, alone or with its own text, or its text."""
    core = core.strip()
    found = _LETTER.match(core)
    if found is not None and found["letter"].isupper() and found["letter"] in options.letters:
        index, rest = LETTERS.index(found["letter"]), core[found.end() :]
        if not rest.strip(" .:-") or not rest[options.starts_with(rest, index) :].strip(" .:-"):
            return index
    named = options.match(core) if core and len(core) <= options.reach else ()
    return named[0] if len(named) == 1 else None


def _kind(found: re.Match[str] | None) -> str:
    return "" if found is None else str(found.lastgroup)


def _read(line: str, options: Options) -> tuple[int, str] | None:
    bullet = _BULLET.match(line)
    body = line[bullet.end() if bullet else 0 :]
    before = _BEFORE.match(body)
    core = body[before.end() :] if before else body
    index = _option(core, options)
    if index is not None:
        return index, _kind(before)
    after = _AFTER.search(core)
    index = _option(core[: after.start()], options) if after else None
    if index is None or (before is not None and _kind(before) != _kind(after)):
        return None
    return index, _kind(after)


def _judged(run: list[_Line], options: Options) -> tuple[int, ...] | None:
    """The options that a list marks; empty where the marks leave it open, None where there are no marks."""
    marks = {line.mark for line in run}
    if len(run) < 2 or marks == {""}:
        return None
    # A crossed box is a choice beside empty boxes; by itself it may as well strike the option out.
    good = [line for line in run if line.mark == "good" or (line.mark == "box" and "empty" in marks)]
    bad = [line for line in run if line.mark == "bad"]
    if good:
        return tuple(sorted(line.index for line in good))
    left = [line.index for line in run if line.mark != "bad"]
    return tuple(left) if len(run) == len(options.texts) and len(bad) == len(run) - 1 else ()


def marked_lines(text: str, options: Options) -> list[tuple[tuple[int, ...], Span]]:
    """Find lists that judge the options line by line.

    Args:
        text: folded text.
        options: the item's options.

    Returns:
        For each list the options it marks as right (none where the marks leave it open) and its span.
    """
    if not re.search(
        r"[✓✔✅☑●◉🔘✗✘❌☐○◯⬜]|\[[ xX]?\]|\([ xX]?\)"
        r"|(?:yes|no|true|false|correct|incorrect|right|wrong|[对错确误])\W*$",
        text,
        re.I | re.M,
    ):
        return []
    runs: list[list[_Line]] = [[]]
    position = 0
    for line in text.split("\n"):
        span = (position, position + len(line))
        position = span[1] + 1
        if not line.strip() or len(line) > 500:
            continue
        alone = _ALONE.fullmatch(line.strip())
        if alone and runs[-1] and not runs[-1][-1].mark:
            runs[-1][-1].mark = _kind(alone)
            continue
        read = _read(line, options)
        if read is None:
            runs.append([])
        elif any(other.index == read[0] for other in runs[-1]):
            runs.append([_Line(read[0], span, read[1])])
        else:
            runs[-1].append(_Line(read[0], span, read[1]))
    return [
        (judged, (run[0].span[0], run[-1].span[1]))
        for run in runs
        if (judged := _judged(run, options)) is not None
    ]
