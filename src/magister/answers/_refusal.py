"""Refusals: the model declines to do what was asked."""

from __future__ import annotations

import re

from ._reasoning import visible_spans
from ._text import fold

_DO = (
    r"(?:answer|help|assist|provide|comply|fulfil+|rate"
    r"|judge|evaluate|grade|score|assess|respond|engage"
    r"|discuss"
    r"|offer|give|choose|select|pick|do that|do this"
    r"|participate|continue with|complete|compare|support"
    r"|share|generate)"
)
_REFUSAL = re.compile(
    r"\bi\s?(?:'m| am) (?:really |very |so |truly )?(?:sorry"
    rf"|afraid)\b[^.\n]{{0,40}}\b(?:can't|cannot|can not"
    r"|unable|not able|won't)\b(?! (?:determine|tell"
    r"|be sure|decide|find|figure))"
    r"|\b(?:i|we) (?:can't|cannot|can not|could not"
    rf"|couldn't|won't|will not|must not) (?:\w+ ){{0,2}}?{_DO}\b"
    r"|\b(?:i|we)(?:'m| am| are) (?:unable|not able"
    r"|not allowed|not permitted|not comfortable|not willing"
    r"|unwilling)"
    rf"(?: to)? (?:\w+ ){{0,2}}?(?:{_DO}|answering|helping|providing|assisting)\b"
    r"|\bi (?:must|have to|need to) (?:decline|refuse)|\bi (?:decline|refuse) to\b"
    r"|\bas an? (?:ai|artificial intelligence|language model)\b[^.\n]{0,60}\b(?:can't"
    r"|cannot|unable|not able|do not|don't)\b"
    r"|\bagainst my (?:guidelines|programming|policy)"
    r"|(?:抱歉|对不起|很遗憾|不好意思|對不起)[，,。 ]{0,2}[^。\n]{0,16}(?:无法|不能|無法|没办法|不便)"
    r"|我(?:无法|不能|無法|不便|拒绝)(?:回答|提供|协助|帮助|评价|评分|评判|完成|满足|判断这)"
    r"|作为(?:一个|一名)?(?:AI|人工智能|语言模型)[^。\n]{0,30}(?:无法|不能)"
    r"|lo siento,?[^.\n]{0,20}no puedo|no puedo (?:responder|ayudar|contestar)"
    r"|(?:désolée?|navrée?),?[^.\n]{0,20}je ne peux pas|je ne peux pas (?:répondre|vous aider)"
    r"|ich kann (?:ihnen |dir |dabei |das |diese frage "
    r"|darauf )*(?:nicht|leider nicht) (?:\w+ )?(?:helfen"
    r"|beantworten|antworten)"
    r"|(?:извините|простите|к сожалению),?[^.\n]{0,20}не могу|не могу (?:ответить|помочь)"
    r"|申し訳[^。\n]{0,20}(?:できません|お答え|いたしかね)|お答えできません|죄송[^.\n]{0,20}(?:없습니다|어렵습니다)",
    re.I,
)
_OPENING = 400  # a refusal is said at the start; later ones are about something else


def refuses(folded: str) -> bool:
    """Whether folded text opens with a refusal."""
    return _REFUSAL.search(folded, 0, _OPENING) is not None


def is_refusal(text: str | None) -> bool:
    """Whether a reply declines the request.

    Not knowing ("I don't know", "cannot be determined") is no refusal.

    Args:
        text: the reply; reasoning in it is not read.

    Returns:
        True where the visible reply opens with a refusal.
    """
    source = text or ""
    visible, _, _ = visible_spans(source)
    return refuses(fold(source, visible).text)
