"""The texts of a metric out of a model's reply: all of them in the right form, or none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from magister.answers import parse_judge_reply
from magister.llm import Response

FORM = (
    '{"anchors": {<levels>}, "desc": "what is scored", "name": "a short title", '
    '"neg_ex": ["what scores low"], "pos_ex": ["what scores high"]}'
)
_MAX_EXAMPLES = 5
_MAX_NAME = 80


@dataclass(frozen=True, slots=True)
class Told:
    """What a reply holds.

    Attributes:
        status: `ok`, or why nothing is taken: `invalid`, `refusal`, `truncated`, `no_answer`, `context_exceeded`,
            `error`.
        detail: what is wrong with it.
        values: by name; empty unless `ok`.
    """

    status: str
    detail: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


class Unfit(ValueError):
    """A text is not what was asked for."""


def form(scale: tuple[int, int]) -> str:
    """What a metric has to look like, as the model is shown it."""
    levels = ", ".join(f'"{score}": "what earns {score}"' for score in range(scale[0], scale[1] + 1))
    return FORM.replace("<levels>", levels)


def metric_schema(scale: tuple[int, int]) -> dict[str, Any]:
    """JSON schema of a metric's texts."""
    text = {"type": "string"}
    scores = [str(score) for score in range(scale[0], scale[1] + 1)]
    examples = {"type": "array", "items": text}
    properties = {
        "anchors": {
            "type": "object",
            "properties": dict.fromkeys(scores, text),
            "required": scores,
            "additionalProperties": False,
        },
        "desc": text,
        "name": text,
        "neg_ex": examples,
        "pos_ex": examples,
    }
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }


def told(response: Response, schema: Mapping[str, str]) -> Told:
    """Read an object of a reply, whose fields all have to be there.

    Args:
        response: what came back.
        schema: as of `parse_judge_reply`.
    """
    if response.failed_status is not None:
        return Told(response.failed_status, response.error or "")
    if response.finish_reason == "content_filter":
        return Told("refusal", "the endpoint cut the reply out")
    found = parse_judge_reply(response.text, dict(schema))
    if found.status == "ok":
        return Told("ok", "", found.values)
    if response.finish_reason == "length":
        return Told("truncated", "the reply ran into its length limit")
    if found.status == "ambiguous":
        return Told("invalid", "two objects that say different things")
    detail = {"invalid": f"no object with {', '.join(schema)}", "truncated": "the object is cut"}
    return Told(found.status, detail.get(found.status, ""))


METRIC_FIELDS = {"name": "str", "desc": "str", "pos_ex": "list", "neg_ex": "list", "anchors": "dict"}


def metric_texts(values: Mapping[str, Any], scale: tuple[int, int], max_chars: int) -> dict[str, Any]:
    """A metric's texts as fields of `Metric`.

    Args:
        values: name, desc, pos_ex, neg_ex, anchors as read.
        scale: lowest and highest score; each has an anchor.
        max_chars: longest text.

    Raises:
        Unfit: a text is missing, empty, too long or of another type; says which.
    """
    anchors = values.get("anchors")
    wanted = [str(score) for score in range(scale[0], scale[1] + 1)]
    if not isinstance(anchors, Mapping) or sorted(anchors, key=str) != sorted(wanted):
        seen = sorted(map(str, anchors)) if isinstance(anchors, Mapping) else anchors
        raise Unfit(f"anchors: levels {', '.join(wanted)} are wanted, found {seen!r:.60}")
    texts = {score: _text(anchors[score], f"anchors.{score}", max_chars) for score in wanted}
    if len(set(texts.values())) < len(texts):
        raise Unfit("anchors: two levels have one text")
    return {
        "name": _text(values.get("name"), "name", _MAX_NAME),
        "desc": _text(values.get("desc"), "desc", max_chars),
        "pos_ex": _texts(values.get("pos_ex"), "pos_ex", max_chars),
        "neg_ex": _texts(values.get("neg_ex"), "neg_ex", max_chars),
        "anchors": tuple((int(score), text) for score, text in texts.items()),
    }


def _texts(value: object, name: str, max_chars: int) -> tuple[str, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= _MAX_EXAMPLES:
        raise Unfit(f"{name}: a list of 1 to {_MAX_EXAMPLES} texts is wanted, found {value!r:.60}")
    return tuple(_text(one, f"{name}.{place}", max_chars) for place, one in enumerate(value, start=1))


def _text(value: object, name: str, max_chars: int) -> str:
    if not isinstance(value, str):
        raise Unfit(f"{name}: a text is wanted, found {value!r:.60}")
    text = re.sub(r"\s+", " ", value).strip()
    if not re.search(r"\w", text) or text.strip(". ") == "":
        raise Unfit(f"{name}: no words")
    if len(text) > max_chars:
        raise Unfit(f"{name}: {len(text)} characters, {max_chars} are allowed")
    return text
