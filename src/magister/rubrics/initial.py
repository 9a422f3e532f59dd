"""The first rubric of a scenario: from a model and weighted dimensions, or as people wrote it into the scenario."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from magister.config.rubrics_judging import SceneGen
from magister.contracts.rubrics_score_tables import REFINEMENTS
from magister.errors import UserError
from magister.llm import Request, Response, Speaker
from magister.prompts import Prompt
from magister.rubrics.heard import data_line
from magister.rubrics.judging import holds_schema, json_format
from magister.rubrics.metric_text import METRIC_FIELDS, Unfit, form, metric_schema, metric_texts, told
from magister.rubrics.rubric import ID, SEED_DIMENSIONS, Dimension, Metric, Rubric
from magister.rubrics.scenario import EvaluationField, Scenario

SCALE = (1, 5)
FIRST = ""
"""In place of a parent's sha in what is recorded of a first rubric."""


def read_dimensions(document: object, where: str) -> tuple[Dimension, ...]:
    """Read dimensions that take the place of the seed dimensions: a list of objects with id, weight and desc.

    Raises:
        UserError: an entry is not one.
    """
    if not isinstance(document, list) or not document:
        raise UserError(f"{where}: a list of dimensions is expected, each with id, weight and desc")
    found = []
    for row, entry in enumerate(document, start=1):
        if not isinstance(entry, dict) or set(entry) != {"id", "weight", "desc"}:
            raise UserError(f"{where}: dimension {row}: expected id, weight and desc, found {entry!r:.80}")
        if not isinstance(entry["id"], str) or not ID.fullmatch(entry["id"]):
            raise UserError(f"{where}: dimension {row}: id {entry['id']!r}; expected a-z, 0-9 and _")
        if isinstance(entry["weight"], bool) or not isinstance(entry["weight"], int | float):
            raise UserError(f"{where}: dimension {row}: weight {entry['weight']!r}; expected a number")
        found.append(Dimension(entry["id"], float(entry["weight"]), str(entry["desc"])))
    total = math.fsum(dim.weight for dim in found)
    if abs(total - 1) > 1e-9:
        raise UserError(f"{where}: weights add up to {total:.6g}, not to 1; divide each by {total:.6g}")
    return tuple(found)


def shares(dimensions: Sequence[Dimension], total: int) -> dict[str, int]:
    """How many metrics each dimension gets: by weight, the largest remainders first, one at least.

    Raises:
        UserError: there are fewer metrics than dimensions.
    """
    if total < len(dimensions):
        raise UserError(f"{total} metrics for {len(dimensions)} dimensions; each needs one at least")
    count = {dim.id: 1 for dim in dimensions}
    for _ in range(total - len(dimensions)):
        # The one that is furthest below its share; of equal ones the first by id.
        short = min(dimensions, key=lambda dim: (round(count[dim.id] - dim.weight * total, 9), dim.id))
        count[short.id] += 1
    return count


def about(scenario: Scenario, variables: Mapping[str, str] | None = None) -> str:
    """A scenario in a line: what a model needs to know to write metrics or tasks for it."""
    known: dict[str, Any] = {"scenario": scenario.name, "scored": scenario.candidate}
    for name in ("subject", "grade", "task_type", "language"):
        value = getattr(scenario, name)
        if value:
            known[name] = value
    known["agents"] = [agent.name for agent in scenario.agents]
    told_candidate = scenario.agent(scenario.candidate).prompt
    if told_candidate:
        known["told"] = " ".join(part.content for part in told_candidate)[:1500]
    known["example_task"] = dict(variables or (scenario.tasks[0].variables if scenario.tasks else {}))
    return data_line(known)


def initial_requests(
    scenario: Scenario,
    speaker: Speaker,
    prompt: Prompt,
    options: SceneGen,
    dimensions: Sequence[Dimension] = SEED_DIMENSIONS,
) -> dict[str, Request]:
    """Ask for the metrics of a first rubric, a call per dimension.

    Args:
        scenario: what is taught and scored.
        speaker: who writes.
        prompt: template over scenario, dimension, others, count, form.
        options: how many metrics.
        dimensions: what they are about.

    Returns:
        Requests by dimension.

    References:
        Elmes+, eq. 2 (MetricGen).
    """
    count = shares(dimensions, options.metrics)
    found = {}
    for dim in sorted(dimensions, key=lambda one: one.id):
        messages = prompt.render(
            scenario=about(scenario),
            dimension=data_line({"id": dim.id, "about": dim.desc}),
            others=data_line({one.id: one.desc for one in dimensions if one.id != dim.id}),
            count=count[dim.id],
            form='{"metrics": [' + form(SCALE) + (", ...]}" if count[dim.id] > 1 else "]}"),
        )
        schema = {
            "type": "object",
            "properties": {"metrics": {"type": "array", "items": metric_schema(SCALE)}},
            "required": ["metrics"],
            "additionalProperties": False,
        }
        held = holds_schema(speaker.model, options.structured)
        found[dim.id] = speaker.request(
            messages, options.max_tokens, 0, json_format("metrics", schema) if held else None
        )
    return found


class Initial(NamedTuple):
    """A first rubric.

    Attributes:
        rubric: the version.
        record: REFINEMENTS table, a row per dimension (in place of a metric) with what became of its call.
    """

    rubric: Rubric
    record: pa.Table


def parse_initial(
    scenario: Scenario,
    requests: Mapping[str, Request],
    responses: Mapping[str, Response],
    options: SceneGen,
    dimensions: Sequence[Dimension] = SEED_DIMENSIONS,
) -> Initial:
    """Read the metrics of a first rubric.

    A dimension whose reply cannot be used is one metric that says what the dimension says; `record` tells which ones.

    Args:
        scenario: what is taught and scored.
        requests: `initial_requests`.
        responses: by request key.
        options: how many metrics, and how long.
        dimensions: what they are about.

    Returns:
        The rubric: equal weights within a dimension, ids `<dimension>_1`, `_2`, ...
    """
    count = shares(dimensions, options.metrics)
    metrics: list[Metric] = []
    rows = []
    for dim in sorted(dimensions, key=lambda one: one.id):
        response = responses[requests[dim.id]["custom_id"]]
        found = told(response, {"metrics": "list"})
        status, detail, texts = found.status, found.detail, []
        if status == "ok":
            try:
                texts = _metrics(found.values["metrics"], count[dim.id], options.max_chars)
                status = "rewritten"
            except Unfit as unfit:
                status, detail = "invalid", str(unfit)
        if not texts:
            texts = [{"name": dim.id, "desc": dim.desc}]
        for number, values in enumerate(texts, start=1):
            metrics.append(Metric(id=f"{dim.id[:36]}_{number}", dim=dim.id, weight=1 / len(texts), **values))
        rows.append(
            {
                "scenario": scenario.name,
                "parent_sha": FIRST,
                "metric_id": dim.id,
                "flags": "",
                "status": status,
                "detail": detail,
                "raw": response.text,
                "request_id": response.custom_id,
            }
        )
    rubric = Rubric(scenario.name, tuple(dimensions), tuple(metrics), SCALE)
    return Initial(rubric, pa.Table.from_pylist(rows, schema=REFINEMENTS.schema))


def _metrics(entries: Sequence[Any], count: int, max_chars: int) -> list[dict[str, Any]]:
    if len(entries) != count:
        raise Unfit(f"{count} metrics are wanted, found {len(entries)}")
    texts = []
    for place, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict) or not set(METRIC_FIELDS) <= set(entry):
            raise Unfit(f"metric {place}: {', '.join(METRIC_FIELDS)} are wanted")
        try:
            texts.append(metric_texts(entry, SCALE, max_chars))
        except Unfit as unfit:
            raise Unfit(f"metric {place}: {unfit}") from None
    names = [one["name"].casefold() for one in texts]
    if len(set(names)) < len(names):
        raise Unfit("two metrics have one name")
    return texts


def scenario_rubric(scenario: Scenario, scale: tuple[int, int] = SCALE) -> Rubric:
    """The rubric that people wrote into a scenario.

    Fields that are numbers become metrics, the parts of a `dict` too; those that are texts are the judge's reasons and
    none. Without dimensions all are of one, `expert`; without weights they weigh alike.

    Args:
        scenario: what is taught and scored.
        scale: of a file that gives none.

    Raises:
        UserError: the scenario scores nothing, or its fields are on several scales.
    """
    evaluation = scenario.evaluation
    where = evaluation.at if evaluation is not None else scenario.at
    fields = [] if evaluation is None else [part for one in evaluation.fields for part in _scored(one)]
    if evaluation is None or not fields:
        raise UserError(
            f"{where}: scenario {scenario.name} has no field with a number: there is nothing to score"
        )
    scales = sorted({(one.low, one.high) for one in fields if one.high is not None})
    if len(scales) > 1:
        raise UserError(
            f"{where}: fields are scored on several scales ({', '.join(f'{a or 1:g}..{b:g}' for a, b in scales)}); "
            "a score adds them up, so give all the same"
        )
    low, high = scales[0] if scales else scale
    names = [dim.name for dim in evaluation.dimensions] or ["expert"]
    dim_ids = _ids(names, "d")
    weight_of = {dim.name: dim.weight for dim in evaluation.dimensions} or {"expert": 1.0}
    desc_of = {dim.name: dim.description for dim in evaluation.dimensions}
    ids = _ids([one.name for one in fields], "m")
    own = [one.dimension or names[0] for one in fields]
    metrics = []
    for one, dim in zip(fields, own, strict=True):
        weight = one.weight if one.weight is not None else 1 / own.count(dim)
        metrics.append(
            Metric(
                ids[one.name],
                one.name,
                dim_ids[dim],
                weight,
                one.description or one.name,
                (one.positive_example,) if one.positive_example else (),
                (one.negative_example,) if one.negative_example else (),
                tuple(sorted(one.anchors.items())),
            )
        )
    whole = all(one.type == "int" for one in fields)
    dims = tuple(
        Dimension(dim_ids[name], weight_of[name], desc_of.get(name) or "as the scenario's authors wrote it")
        for name in names
    )
    return Rubric(
        scenario.name,
        dims,
        tuple(metrics),
        (int(scale[0] if low is None else low), int(scale[1] if high is None else high)),
        "int" if whole else "float",
    )


def _scored(one: EvaluationField) -> list[EvaluationField]:
    """The numbers of a field; a dict's score has the name of the dict where it is its only one."""
    if one.type in ("int", "float"):
        return [one]
    parts = [part for part in one.items if part.type in ("int", "float")]
    if len(parts) == 1:
        part = parts[0]
        return [
            EvaluationField(
                one.name,
                part.type,
                " ".join(text for text in (one.description, part.description) if text),
                one.at,
                part.low,
                part.high,
                (),
                True,
                one.dimension,
                one.weight,
                one.anchors,
                one.positive_example,
                one.negative_example,
            )
        ]
    return parts


def _ids(names: Sequence[str], prefix: str) -> dict[str, str]:
    """An id for each name: the name where it can be one, else its place."""
    found: dict[str, str] = {}
    for place, name in enumerate(names, start=1):
        plain = name.strip().lower().replace(" ", "_").replace("-", "_")
        usable = ID.fullmatch(plain) is not None and plain not in found.values()
        found[name] = plain if usable else f"{prefix}{place:02}"
    return found
