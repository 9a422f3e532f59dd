"""Cognitive diagnosis: which attributes items need, and which of them models have mastered."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from magister.diagnosis.exact_em import fit_exact_em
    from magister.diagnosis.irt import fit_2pl
    from magister.diagnosis.saem import fit_saem

__all__ = ["fit_2pl", "fit_exact_em", "fit_saem"]

_WHERE = {
    "fit_2pl": "magister.diagnosis.irt",
    "fit_exact_em": "magister.diagnosis.exact_em",
    "fit_saem": "magister.diagnosis.saem",
}


def __getattr__(name: str) -> Any:
    # Imported on use and by name: a step of the diagnosis neither waits for nor depends on the code of another.
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
