"""What judges said: scores out of replies, one repair for what cannot be read, a status for each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from magister.answers import parse_judge_reply
from magister.config.rubrics_judging import Judging
from magister.contracts.rubrics_score_tables import RUBRIC_ASKED, RUBRIC_REPAIRS, RUBRIC_SCORES
from magister.llm import Request, Response, Speaker
from magister.prompts import Prompt
from magister.rubrics.heard import Heard
from magister.rubrics.judging import Repairs, Row, repair_request, scores_row
from magister.rubrics.rubric import Rubric

REPAIRED = ("invalid", "ambiguous", "truncated")
"""Readings that are tried again; a refusal, an empty reply and a failed call hold nothing to be put into form."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One metric's score in a reply.

    Attributes:
        status: `ok`, or why there is none: of `parse_judge_reply`, `error` or `context_exceeded`.
        value: the score.
        rationale: the judge's reason.
    """

    status: str
    value: float | None = None
    rationale: str | None = None


def read_score(text: str, metric_id: str, rubric: Rubric, judging: Judging) -> Reading:
    """Read one metric's score.

    In a call for all metrics an object per metric and a bare number are read alike, under the metric's id or, where no
    other metric has it, under its name; a score out of range, of another type, or of two values is no score.

    Args:
        text: the reply.
        metric_id: which metric.
        rubric: whose scale holds.
        judging: how it was asked.
    """
    low, high = rubric.scale
    kind = f"{rubric.score_type} {low}..{high}"
    if judging.calls == "each":
        return _scored(text, "score", kind)
    found = _under(text, metric_id, kind, rubric)
    name = rubric.metric(metric_id).name
    if found.status != "invalid" or _folded(name) in [_folded(other) for other in rubric.metric_ids]:
        return found
    # Asked for by its id; some judges write the name instead.
    return _under(text, name, kind, rubric) if _only_name(name, rubric) else found


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip().casefold())


def _only_name(name: str, rubric: Rubric) -> bool:
    return sum(_folded(metric.name) == _folded(name) for metric in rubric.metrics) == 1


def _under(text: str, key: str, kind: str, rubric: Rubric) -> Reading:
    """A metric's score under a key of a common reply: a number, or an object with one."""
    flat = _scored(text, key, kind)
    if flat.status != "invalid":
        return flat
    entry = parse_judge_reply(text, {key: "dict"})
    if entry.status != "ok":
        # Nothing of that name, or no object: what the whole reply is decides.
        return Reading(entry.status)
    found = _scored(json.dumps(entry.values[key]), "score", kind)
    if found.value is not None and _may_go_on(text, key, found.value, rubric):
        return Reading("truncated")
    return found


def _may_go_on(text: str, key: str, value: float, rubric: Rubric) -> bool:
    """Whether the reply ends in this metric's number, which might have become another one."""
    keys = [name for metric in rubric.metrics for name in (metric.id, metric.name)]
    last = max(keys, key=lambda name: text.rfind(f'"{name}"'))
    cut = text.rstrip()[-1:].isdecimal() or text.rstrip().endswith(".")
    return cut and key == last and (rubric.score_type == "float" or 10 * value <= rubric.scale[1])


def _scored(text: str, name: str, kind: str) -> Reading:
    found = parse_judge_reply(text, {name: kind})
    if found.status != "ok":
        return Reading(found.status)
    reason = parse_judge_reply(text, {"reason": "str"}).values.get("reason") if name == "score" else None
    return Reading("ok", float(found.values[name]), reason or None)


def _reading(response: Response, metric_id: str, rubric: Rubric, judging: Judging) -> Reading:
    if response.failed_status is not None:
        return Reading(response.failed_status)
    if response.finish_reason == "content_filter":
        return Reading("refusal")
    found = read_score(response.text, metric_id, rubric, judging)
    if found.status in ("invalid", "no_answer") and response.finish_reason == "length":
        return Reading("truncated")
    return found


def repair_requests(
    asked: pa.Table,
    responses: Mapping[str, Response],
    rubric: Rubric,
    speaker: Speaker,
    judging: Judging,
    prompt: Prompt,
) -> Repairs:
    """Ask again, once, for the form of what could not be read.

    Args:
        asked: RUBRIC_ASKED table of one judge.
        responses: by request key.
        rubric: the version scored by.
        speaker: the judge.
        judging: how it was asked.
        prompt: template over low, high, whole, form, reply.

    Returns:
        A request per reply with a metric that could not be read; it asks for those metrics alone.
    """
    wanted: dict[str, list[str]] = {}
    for row in _rows(asked):
        response = responses[row["request_id"]]
        if _reading(response, row["metric_id"], rubric, judging).status in REPAIRED and response.text.strip():
            metrics = wanted.setdefault(row["request_id"], [])
            if row["metric_id"] not in metrics:
                metrics.append(row["metric_id"])
    requests: list[Request] = []
    repairs: list[Row] = []
    for request_id, ids in sorted(wanted.items()):
        request = repair_request(
            speaker,
            responses[request_id].text,
            [rubric.metric(name) for name in ids],
            rubric,
            judging,
            prompt,
        )
        requests.append(request)
        repairs.append(
            {"scenario": rubric.scenario, "request_id": request_id, "repair_id": request["custom_id"]}
        )
    return Repairs(requests, pa.Table.from_pylist(repairs, schema=RUBRIC_REPAIRS.schema))


def parse_scores(
    dialogues: Sequence[Heard],
    asked: pa.Table,
    responses: Mapping[str, Response],
    repairs: pa.Table,
    repaired: Mapping[str, Response],
    rubric: Rubric,
    judging: Judging,
    settled: pa.Table | None = None,
) -> pa.Table:
    """Read all replies of a judge.

    Args:
        dialogues: what was scored.
        asked: RUBRIC_ASKED table.
        responses: by request key.
        repairs: RUBRIC_REPAIRS table.
        repaired: responses to the repairs, by request key.
        rubric: the version scored by.
        judging: how it was asked.
        settled: RUBRIC_SCORES table of what was not asked.

    Returns:
        RUBRIC_SCORES table, a row per dialogue, metric, judge and repeat, whatever came back. What can be read
        neither at first nor after the repair is `parse_error`; no failure has a value.
    """
    by_id = {dialogue.dialogue_id: dialogue for dialogue in dialogues}
    again = dict(zip(repairs["request_id"].to_pylist(), repairs["repair_id"].to_pylist(), strict=True))
    rows = []
    for row in _rows(asked):
        first = responses[row["request_id"]]
        found = _reading(first, row["metric_id"], rubric, judging)
        made = scores_row(by_id[row["dialogue_id"]], rubric, row["metric_id"], row["judge"], row["repeat"])
        made |= {"request_id": row["request_id"]}
        repair_id = again.get(row["request_id"]) if found.status in REPAIRED else None
        if repair_id is not None:
            second = _reading(repaired[repair_id], row["metric_id"], rubric, judging)
            made |= {"repair_id": repair_id, "was_repaired": second.status == "ok"}
            reason = f"{found.status}; after the repair {second.status}"
            found = second if second.status == "ok" else Reading(found.status)
        else:
            reason = first.error or found.status
        if found.status == "ok":
            made |= {"status": "ok", "reason": "", "value": found.value, "rationale": found.rationale}
        else:
            status = "parse_error" if found.status in REPAIRED else found.status
            made |= {"status": status, "reason": reason, "value": None, "rationale": None}
        rows.append(made)
    table = pa.Table.from_pylist(rows, schema=RUBRIC_SCORES.schema)
    parts = [table] if settled is None else [table, settled]
    return pa.concat_tables(parts).sort_by([(name, "ascending") for name in RUBRIC_SCORES.key])


def _rows(asked: pa.Table) -> list[Row]:
    rows: list[Row] = asked.sort_by([(name, "ascending") for name in RUBRIC_ASKED.key]).to_pylist()
    return rows
