"""Replay: recorded answers only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from magister.errors import UserError
from magister.llm._requests import Request
from magister.llm.engines import Deliver

_SHOWN = 200


class ReplayEngine:
    """Stands where an engine would answer what the store does not hold, and says that nothing may."""

    order: Literal["file", "prefix"] = "file"

    def __init__(self, name: str, task: str) -> None:
        self._name = name
        self._task = task

    def run(self, requests: Sequence[Request], deliver: Deliver) -> None:
        """Refuse.

        Raises:
            UserError: there is a request; names the first and how to record it.
        """
        del deliver
        if not requests:
            return
        first = requests[0]
        last = str(first["body"]["messages"][-1].get("content"))
        raise UserError(
            f"{self._task}: replay, and the store has no answer of model {self._name!r} to {len(requests)} "
            f"request(s); first: {first['custom_id']}, which ends: {last[:_SHOWN]!r}. To record answers, set "
            "`llm.replay: false` and run again with the model at hand; or fetch a store that has them."
        )

    def close(self) -> None:
        """Free nothing."""
