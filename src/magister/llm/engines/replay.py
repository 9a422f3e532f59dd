"""Replay: recorded answers only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from magister.errors import UserError
from magister.llm._requests import Request
from magister.llm.engines import Deliver

_SHOWN = 80


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
        said = " ".join(str(first["body"]["messages"][-1].get("content")).split())
        words = repr(said) if len(said) <= 2 * _SHOWN else f"{said[:_SHOWN]!r} ... {said[-_SHOWN:]!r}"
        raise UserError(
            f"{self._task}: replay, and the store has no answer of model {self._name!r} to {len(requests)} "
            f"request(s). The first is {first['custom_id']}: {words}. Nothing was asked. To record answers, run with "
            "the model at hand (`llm.replay: false`), then `magister record`; or take a store or a record that has "
            "them."
        )

    def close(self) -> None:
        """Free nothing."""
