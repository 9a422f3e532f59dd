"""Engines: what turns requests into answers. A new one is a module with a class and a line in `_ENGINES`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Literal, Protocol

from magister.config.models import ModelConfig
from magister.errors import UserError
from magister.llm._requests import Request
from magister.llm._rows import Row

__all__ = ["Deliver", "Engine", "create_engine"]

Deliver = Callable[[Row], None]

_ENGINES = {
    "llama_cpp": "magister.llm.engines.llama_cpp:LlamaCppEngine",
    "openai": "magister.llm.engines.openai:OpenAIEngine",
    "scripted": "magister.llm.engines.scripted:ScriptedEngine",
}


class Engine(Protocol):
    """Something that answers requests."""

    order: Literal["file", "prefix"]
    """The order it likes requests in: as they stand, or sorted, so that shared beginnings are neighbours."""

    def run(self, requests: Sequence[Request], deliver: Deliver) -> None:
        """Answer requests, handing over each row as it is finished, in any order, each exactly once.

        An exception out of `deliver` ends the run.

        Raises:
            UserError: no request can be answered (a refused key, an unknown model).
        """

    def close(self) -> None:
        """Free what it holds. May be called twice."""


def create_engine(
    name: str, model: ModelConfig, *, weights: Path | None = None, workers: int | None = None
) -> Engine:
    """Start the engine of a model.

    Args:
        name: the model's name, for messages.
        model: its configuration.
        weights: file with its weights, for an engine that loads them.
        workers: how many answers an embedded engine works on at once; one per usable core by default.
            Never changes an answer in the deterministic profile.

    Raises:
        UserError: the engine or something it needs is missing.
    """
    module_name, _, class_name = _ENGINES[model.engine].partition(":")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        raise UserError(
            f"models.{name}: engine {model.engine!r} needs the package {error.name!r}, which is not installed"
        ) from None
    engine: Engine = getattr(module, class_name)(name, model, weights=weights, workers=workers)
    return engine
