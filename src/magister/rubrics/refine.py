"""Flagged metrics are written anew, with the numbers that flagged them; a reply that is not in form changes nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from magister.config.rubrics_judging import SceneGen
from magister.contracts.rubrics_score_tables import REFINEMENTS
from magister.llm import Request, Response, Speaker
from magister.prompts import Prompt
from magister.rubrics.heard import data_line
from magister.rubrics.judging import criterion, holds_schema, json_format
from magister.rubrics.metric_text import METRIC_FIELDS, Unfit, form, metric_schema, metric_texts, told
from magister.rubrics.rubric import Metric, Rubric

_SHOWN = 2
_SHOWN_CHARS = 240


class Refined(NamedTuple):
    """The next version.

    Attributes:
        rubric: the version; the parent itself where no metric changed.
        record: REFINEMENTS table, a row per metric that was to be rewritten.
    """

    rubric: Rubric
    record: pa.Table


def flagged_metrics(flags: pa.Table, spared: Sequence[str] = ()) -> dict[str, dict[str, str]]:
    """Metrics that can be rewritten for a reason: evidence by flag, by metric.

    Args:
        flags: RUBRIC_FLAGS table.
        spared: metrics whose tasks are written anew instead.
    """
    found: dict[str, dict[str, str]] = {}
    for row in flags.sort_by([("metric_id", "ascending"), ("flag", "ascending")]).to_pylist():
        if row["flag"] != "insufficient_data" and row["metric_id"] not in spared:
            found.setdefault(row["metric_id"], {})[row["flag"]] = row["evidence"]
    return found


def refine_requests(
    rubric: Rubric,
    flagged: Mapping[str, Mapping[str, str]],
    said: Mapping[str, Sequence[str]],
    about: str,
    speaker: Speaker,
    prompt: Prompt,
    options: SceneGen,
    *,
    iteration: int,
) -> dict[str, Request]:
    """Ask for flagged metrics to be written anew, a call each.

    Args:
        rubric: the best version so far.
        flagged: `flagged_metrics` of it.
        said: `judges_words` on it.
        about: the scenario in a line (`initial.about`).
        speaker: who writes.
        prompt: template over scenario, dimension, metric, others, evidence, said, low, high, form.
        options: lengths.
        iteration: of the version to be made, from 1: the same metric asked for again is another draw.

    Returns:
        Requests by metric.
    """
    dims = {dim.id: dim for dim in rubric.dimensions}
    found = {}
    for metric_id in sorted(flagged):
        metric = rubric.metric(metric_id)
        messages = prompt.render(
            scenario=about,
            dimension=data_line({"id": metric.dim, "about": dims[metric.dim].desc}),
            metric=criterion(metric),
            others=data_line({one.id: one.desc for one in rubric.metrics if one.id != metric_id}),
            evidence=[
                {"flag": flag, "text": data_line(text)} for flag, text in sorted(flagged[metric_id].items())
            ],
            said="\n".join(said.get(metric_id, [])),
            low=rubric.scale[0],
            high=rubric.scale[1],
            form=form(rubric.scale),
        )
        held = holds_schema(speaker.model, options.structured)
        schema = json_format("metric", metric_schema(rubric.scale)) if held else None
        found[metric_id] = speaker.request(messages, options.max_tokens, iteration - 1, schema)
    return found


def judges_words(scores: pa.Table, wanted: Collection[str]) -> dict[str, list[str]]:
    """Judges' words on the lowest and the highest dialogues of metrics, a JSON object a line.

    Nothing is taken of held-out tasks: metrics would be written to the objective.

    Args:
        scores: RUBRIC_SCORES table.
        wanted: metrics.
    """
    rows: dict[str, list[tuple[float, str, str, str]]] = {}
    for row in scores.select(
        ["metric_id", "value", "dialogue_id", "judge", "rationale", "status", "held_out"]
    ).to_pylist():
        if row["metric_id"] in wanted and row["status"] == "ok" and row["rationale"] and not row["held_out"]:
            entry = (row["value"], row["dialogue_id"], row["judge"], row["rationale"])
            rows.setdefault(row["metric_id"], []).append(entry)
    found = {}
    for metric_id, entries in rows.items():
        ordered = sorted(set(entries))
        shown = ordered if len(ordered) <= 2 * _SHOWN else [*ordered[:_SHOWN], *ordered[-_SHOWN:]]
        found[metric_id] = [
            data_line({"score": value, "reason": reason[:_SHOWN_CHARS]}) for value, _, _, reason in shown
        ]
    return {name: found[name] for name in sorted(found)}


def parse_refinements(
    rubric: Rubric,
    flagged: Mapping[str, Mapping[str, str]],
    requests: Mapping[str, Request],
    responses: Mapping[str, Response],
    options: SceneGen,
) -> Refined:
    """Read rewritten metrics.

    Id, dimension and weight stay; the texts are taken as a whole, or not at all.

    Args:
        rubric: the version that was refined.
        flagged: `flagged_metrics` of it.
        requests: `refine_requests`.
        responses: by request key.
        options: lengths.

    Returns:
        The next version, whose parent is `rubric`, and what became of each metric.
    """
    taken: list[Metric] = []
    rows = []
    for metric_id in sorted(flagged):
        old = rubric.metric(metric_id)
        response = responses[requests[metric_id]["custom_id"]]
        found = told(response, METRIC_FIELDS)
        status, detail = found.status, found.detail
        if status == "ok":
            try:
                new = replace(old, **metric_texts(found.values, rubric.scale, options.max_chars))
                taken_name = _other_name(rubric, new)
                if taken_name:
                    raise Unfit(f"name: {new.name!r} is that of {taken_name}")
                status = "unchanged" if new == old else "rewritten"
                taken.append(new)
            except Unfit as unfit:
                status, detail = "invalid", str(unfit)
        rows.append(
            {
                "scenario": rubric.scenario,
                "parent_sha": rubric.sha,
                "metric_id": metric_id,
                "flags": ",".join(sorted(flagged[metric_id])),
                "status": status,
                "detail": detail,
                "raw": response.text,
                "request_id": response.custom_id,
            }
        )
    changed = [metric for metric in taken if metric != rubric.metric(metric.id)]
    table = pa.Table.from_pylist(rows, schema=REFINEMENTS.schema)
    return Refined(rubric.refined(changed) if changed else rubric, table)


def _other_name(rubric: Rubric, metric: Metric) -> str:
    """The other metric of a name, if there is one."""
    for one in rubric.metrics:
        if one.id != metric.id and one.name.casefold() == metric.name.casefold():
            return one.id
    return ""
