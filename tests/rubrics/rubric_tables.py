"""Small rubrics and speakers that the tests of rubrics share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from magister.config.models import ModelConfig
from magister.llm import Request, Response, ScriptedReply, Speaker, fingerprint
from magister.llm.engines.scripted import find_player
from magister.prompts import Prompt, load_prompt
from magister.rubrics.rubric import Dimension, Metric, Rubric

PROMPTS = Path(__file__).resolve().parents[2] / "prompts"


def prompt(task: str) -> Prompt:
    """A shipped template."""
    return load_prompt(PROMPTS / task / "v1.md")


def metric(name: str, dim: str = "pedagogy", weight: float = 1.0, desc: str = "", **more: Any) -> Metric:
    """A metric with anchors for all five scores."""
    anchors = tuple((score, f"{name} at {score}") for score in range(1, 6))
    values = {"pos_ex": ("a question",), "neg_ex": ("a lecture",), "anchors": anchors} | more
    return Metric(name, name.replace("_", " "), dim, weight, desc or f"how well it does {name}", **values)


def rubric(*metrics: Metric, scenario: str = "sums", **more: Any) -> Rubric:
    """A rubric whose dimensions have equal weights; by default one metric in each of two dimensions."""
    chosen = metrics or (metric("asks"), metric("fits", "personalisation"))
    names = sorted({one.dim for one in chosen})
    dims = tuple(Dimension(name, 1 / len(names), f"all about {name}") for name in names)
    return Rubric(scenario, dims, tuple(chosen), **more)


def speaker(name: str, script: str, **args: Any) -> Speaker:
    """A scripted speaker."""
    model = ModelConfig(engine="scripted", script=script, script_args=args)
    return Speaker(name, model, fingerprint(name, model, None))


def response(key: str, said: str | ScriptedReply) -> Response:
    """A response file's row as it is read."""
    reply = ScriptedReply(said) if isinstance(said, str) else said
    if reply.error is not None:
        return Response(key, "", None, None, None, None, None, reply.error)
    return Response(key, reply.text, None, reply.finish_reason, "m", 1, 1, None)


def answered(who: Speaker, requests: Sequence[Request]) -> dict[str, Response]:
    """What a scripted speaker says to requests."""
    play = find_player(str(who.model.script))
    return {
        request["custom_id"]: response(
            request["custom_id"],
            play(request["body"]["messages"], request["custom_id"], dict(who.model.script_args)),
        )
        for request in requests
    }
