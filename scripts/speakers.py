"""Speakers and replies as steps read them."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from magister.config.models import ModelConfig
from magister.llm import Request, Response, Speaker, read_responses, write_requests
from scripts.step import Step


def speaker(step: Step, name: str) -> Speaker:
    """The model of a step: its configuration from the parameters, its fingerprint from the input of that name."""
    fingerprint = step.json("fingerprint")
    step.models[name] = fingerprint
    return Speaker(name, ModelConfig.model_validate(step.params["model"]), fingerprint)


def responses(step: Step, name: str = "responses") -> dict[str, Response]:
    """Responses by request key."""
    return {row.custom_id: row for path in step.inputs[name] for row in read_responses(path)}


def write_step_requests(step: Step, requests: Iterable[Request], asked: pa.Table | None = None) -> None:
    """Write a request file with its lineage and, where given, the table of what each request belongs to."""
    write_requests(step.outputs["requests"], requests)
    step.sidecar("requests")
    if asked is not None:
        step.write("asked", asked, "asked")
