"""Reasoning blocks: what a model thought before it replied, and what it replied."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ._text import Span

_NAMES = (
    r"think(?:ing)?|thoughts?|reason(?:ing)?|seed:think|reflection|scratchpad|analysis|inner_monologue"
    r"|chain_of_thought|cot|思考|思考过程|思维链|推理|推理过程"
)
_TAG = re.compile(
    rf"(?P<lt><|&lt;|◁|〈)\s?(?P<close>/)?\s?(?:{_NAMES})(?:\s[^<>\n]{{0,60}})?\s?(?:>|&gt;|▷|〉)"
    r"|(?P<open2>\[THINK\]|<[|｜](?:begin_of_thought|thinking|think)[|｜]>|【思考(?:过程)?】"
    r"|<unused94>|<\|channel\|>\s?(?:analysis|commentary)[^<\n]{0,40}<\|message\|>)"
    r"|(?P<close2>\[/THINK\]|<[|｜](?:end_of_thought|/thinking|/think)[|｜]>|【/思考(?:过程)?】|【思考结束】"
    r"|<unused95>|(?:<\|end\|>)?(?:<\|start\|>)?(?:assistant)?<\|channel\|>\s?final[^<\n"
    r"]{0,40}<\|message\|>)",
    re.I,
)
_HINT = re.compile(r"[<◁〈【]|&lt;|\[/?THINK", re.I)


@dataclass(frozen=True)
class Stripped:
    """A reply without its reasoning.

    Attributes:
        text: what remains for a reader.
        reasoning: the removed blocks, joined by line breaks, without their tags.
        status: `truncated` where a block never closes, else `ok`.
    """

    text: str
    reasoning: str
    status: Literal["ok", "truncated"]


def visible_spans(text: str) -> tuple[list[Span], list[Span], bool]:
    """Find what a reader of the reply sees.

    A closing tag without an opening one makes everything before it reasoning. Blocks may nest; opening tags
    that follow one another directly count as one, since chat templates often open the block that the model
    opens again.

    Returns:
        Visible spans, reasoning spans (without tags), and whether a block never closes.
    """
    if not _HINT.search(text):
        return ([(0, len(text))] if text else []), [], False
    visible: list[Span] = []
    hidden: list[Span] = []
    depth = 0
    position = 0
    last_open = -1
    for match in _TAG.finditer(text):
        closes = bool(match.group("close") or match.group("close2"))
        if closes and depth == 0:
            # An orphan close: nothing seen so far was meant for a reader.
            hidden += [*visible, (position, match.start())]
            visible = []
            position = match.end()
        elif closes:
            depth -= 1
            if depth == 0:
                hidden.append((position, match.start()))
                position = match.end()
        elif depth == 0:
            visible.append((position, match.start()))
            depth, position, last_open = 1, match.end(), match.end()
        else:
            if text[last_open : match.start()].strip():
                depth += 1
            last_open = match.end()
    if depth:
        hidden.append((position, len(text)))
        return [], hidden, True
    visible.append((position, len(text)))
    return [(a, b) for a, b in visible if b > a], [(a, b) for a, b in hidden if b > a], False


def strip_reasoning(text: str | None) -> Stripped:
    """Separate a reply from the reasoning that came with it.

    Args:
        text: the reply as the model gave it; None reads as empty.

    Returns:
        The visible text, the reasoning, and a status. A block that never closes leaves no visible text at
        all, also where something stood before it: the model was cut before it came to a reply.
    """
    source = text or ""
    visible, hidden, unclosed = visible_spans(source)
    reasoning = "\n".join(source[a:b].strip() for a, b in sorted(hidden)).strip()
    if unclosed:
        return Stripped("", reasoning, "truncated")
    if not hidden and visible == [(0, len(source))]:
        return Stripped(source, "", "ok")
    shown = "\n".join(piece for a, b in visible if (piece := source[a:b].strip()))
    return Stripped(shown, reasoning, "ok")
