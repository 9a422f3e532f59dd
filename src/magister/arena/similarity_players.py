"""A scripted judge of similarity: it reads the conversation that `prompts/similarity/v1.md` makes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from magister.errors import UserError
from magister.llm import player, uniform

_SHOWN = re.compile(
    r"Task: .*\n\nReply 1:\n(?P<one>.*)\n\nReply 2:\n(?P<two>.*)\n\nHow alike are they\?\s*$", re.DOTALL
)


@player("similarity_judge")
def similarity_judge(messages: list[dict[str, Any]], request_key: str, args: Mapping[str, Any]) -> str:
    """Say how alike two replies are: the share of their words that both have.

    Args (of the configuration):
        unreadable: share of the requests that get no number (default 0), drawn for each on its own.
    """
    if uniform(request_key, "unreadable") < float(args.get("unreadable", 0.0)):
        return "They are rather alike."
    shown = _SHOWN.search(str(messages[-1]["content"]))
    if shown is None:
        raise UserError(
            "similarity_judge: expected the conversation of `prompts/similarity/v1.md` (`Task:`, `Reply 1:`, "
            f"`Reply 2:`), found: {messages[-1]['content'][:100]!r}"
        )
    one, two = (Counter(shown[side].lower().split()) for side in ("one", "two"))
    total = one.total() + two.total()
    return f'{{"similarity": {round(2 * (one & two).total() / total, 4) if total else 1.0}}}'
