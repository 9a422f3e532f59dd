"""Who is whose kin: a judge that scores its own model, or its family's, prefers it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from magister.config.base import LocalFile
from magister.config.models import ModelConfig
from magister.llm import canonical_json

Exclude = Literal["none", "self", "family"]
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Kin:
    """A model as far as kinship goes.

    Attributes:
        name: its name in the configuration.
        identity: what answers, whatever the persona; equal for entries that share weights, endpoint or script.
        family: name of its family.
    """

    name: str
    identity: str
    family: str


def kin(
    name: str, model: ModelConfig, fingerprint: Mapping[str, Any], families: Mapping[str, str] | None = None
) -> Kin:
    """Say who a model is.

    Args:
        name: its name in the configuration.
        model: its entry.
        fingerprint: what `magister.llm.fingerprint` returned for it.
        families: families that are given by hand, by the model's name.

    Returns:
        Its kinship. The family is the one given, else the first word of what its weights, its endpoint's model or
        its script is called: `Qwen2.5-72B-Instruct` and `org/qwen-max` are `qwen`.
    """
    given = (families or {}).get(name)
    return Kin(name, canonical_json(dict(fingerprint)), given or family_of(_called(model)))


def _called(model: ModelConfig) -> str:
    if model.served_name is not None:
        return model.served_name
    if model.weights is not None:
        return model.weights.path if isinstance(model.weights, LocalFile) else model.weights.member
    return model.script or model.engine


def family_of(called: str) -> str:
    """The family of a model: the first word of its name without folders (`org/Qwen2.5-72B` is `qwen`)."""
    name = PurePath(called).name.lower()
    found = _WORD.search(name)
    return found[0] if found else name


def conflict(judge: Kin, candidate: Kin, exclude: Exclude) -> str:
    """Why a judge may not score a model; empty where it may."""
    if exclude != "none" and (judge.name == candidate.name or judge.identity == candidate.identity):
        return f"{judge.name} is the model that is scored" + (
            "" if judge.name == candidate.name else f" ({candidate.name} is the same in another persona)"
        )
    if exclude == "family" and judge.family == candidate.family:
        return f"{judge.name} and {candidate.name} are of one family ({judge.family})"
    return ""
