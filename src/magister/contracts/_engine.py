"""Great Expectations, started for what a gate needs of it: no analytics, no files, no plots, no databases."""

from __future__ import annotations

import gc
import importlib
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

# Imported by the library for plots and distribution tests: most of a second that no gate uses.
_LATER = ("altair", "scipy.stats")
# Optional there; gates read no database.
_WITHOUT = ("sqlalchemy",)


def _stand_in(name: str) -> ModuleType:
    """A module that is imported when something of it is first used."""
    module = ModuleType(name)

    def load(attribute: str) -> Any:
        if attribute.startswith("__"):  # what the import system asks of every module
            raise AttributeError(attribute)
        return getattr(importlib.import_module(name), attribute)

    module.__dict__["__getattr__"] = load
    return module


@contextmanager
def _sparing() -> Iterator[None]:
    """Leave out of an import what is not there yet and not needed; nothing of it stays behind."""
    import scipy  # noqa: F401 - `scipy.stats` can stand in for itself only where `scipy` is real

    placed: dict[str, ModuleType | None] = {name: _stand_in(name) for name in _LATER}
    placed |= dict.fromkeys(_WITHOUT)
    placed = {name: module for name, module in placed.items() if name not in sys.modules}
    sys.modules.update(placed)  # type: ignore[arg-type]
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # What is imported stays: it is not searched for garbage again, least of all at the end of the process.
        gc.freeze()
        if collecting:
            gc.enable()
        for name, module in placed.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


@cache
def frames() -> Any:
    """The engine's name for any data frame: `frames().get_batch({"dataframe": frame})` is what a suite runs on.

    It has no analytics, progress bars and docs. The first call imports the engine, which takes a second.
    """
    os.environ["GX_ANALYTICS_ENABLED"] = "False"
    with _sparing():
        import great_expectations as gx
        from great_expectations.data_context.types.base import (
            DataContextConfig,
            InMemoryStoreBackendDefaults,
        )

    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    config = DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        analytics_enabled=False,
        progress_bars={"globally": False},
    )
    context = gx.get_context(mode="ephemeral", project_config=config)
    # One for all: the engine writes its configuration anew for each asset.
    asset = context.data_sources.pandas_default.add_dataframe_asset("frames")
    return asset.add_batch_definition_whole_dataframe("whole")
