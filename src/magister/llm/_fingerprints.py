"""Fingerprints: what a model is, in so far as its answers depend on it."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from magister.config.models import ModelConfig
from magister.errors import UserError


def fingerprint(
    name: str, model: ModelConfig, weights_sha256: str | None, *, engine_version: str | None = None
) -> dict[str, Any]:
    """Describe who answers.

    Persona and sampling are not in it: they are in every request. Address, key, limits and the model's name
    in the configuration are in neither, so that the same model may be moved, throttled and renamed.

    Args:
        name: the model's name in the configuration, for messages.
        model: its entry.
        weights_sha256: hash of the weights, for an engine that loads them.
        engine_version: version of an engine that runs here; that of the installed package by default.

    Returns:
        A flat mapping for `request_key` and for lineage. Loads no model and no native library.

    Raises:
        UserError: the hash of the weights is missing, the engine is not installed, or the player is unknown.
    """
    if model.engine == "llama_cpp":
        if weights_sha256 is None:
            raise UserError(f"models.{name}: the hash of the weights is not known; fetch the weights first")
        return {
            "engine": "llama_cpp",
            "engine_version": engine_version or _installed("xllamacpp", name),
            "weights_sha256": weights_sha256,
            "profile": model.profile,
            "context": model.context,
            "chat_template": "from weights",
        }
    if model.engine == "openai":
        # The server decides on engine, template and context; no version of ours says anything about them.
        return {"engine": "openai", "served_name": model.served_name, "revision": model.revision}
    # Imported late: finding a player imports the modules that define them.
    from magister.llm.engines.scripted import find_player, source_sha256

    player = find_player(str(model.script), f"models.{name}.script")
    return {
        "engine": "scripted",
        "script": model.script,
        "script_args": dict(model.script_args),
        "source_sha256": source_sha256(player),
    }


def _installed(distribution: str, name: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        raise UserError(
            f"models.{name}: engine 'llama_cpp' needs the package {distribution!r}, which is not installed. "
            f"Run: pip install {distribution}"
        ) from None
