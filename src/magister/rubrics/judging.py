"""What judges are asked: dialogues as data, the rubric's metrics as criteria, scores in a fixed form."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from magister.config.models import ModelConfig
from magister.config.rubrics_judging import Judging
from magister.contracts.rubrics_score_tables import RUBRIC_ASKED, RUBRIC_SCORES
from magister.errors import UserError
from magister.llm import Request, Speaker
from magister.prompts import Prompt
from magister.rubrics.families import Kin, conflict
from magister.rubrics.heard import Heard, data_line, dialogue_lines, task_line
from magister.rubrics.rubric import Metric, Rubric

Row = dict[str, Any]
Structured = Literal["auto", "schema", "off"]


@dataclass(frozen=True)
class Shot:
    """A dialogue that experts have scored, shown to the judge as an example; it is never scored itself.

    Attributes:
        dialogue: what was said.
        scores: score by metric id; other metrics are not shown with it.
        reasons: the experts' reasons by metric id.
    """

    dialogue: Heard
    scores: Mapping[str, float]
    reasons: Mapping[str, str]


class Asked(NamedTuple):
    """What a judge is asked.

    Attributes:
        requests: in the order of dialogues, repeats and metrics.
        asked: RUBRIC_ASKED table.
        settled: RUBRIC_SCORES table of what is not asked: `excluded` and `vetoed` dialogues.
    """

    requests: list[Request]
    asked: pa.Table
    settled: pa.Table


@dataclass(frozen=True)
class Panel:
    """Who judges what.

    Attributes:
        judge: the judge.
        kin: the judge's kinship.
        candidates: kinship of the models that are scored, by name.
    """

    judge: Speaker
    kin: Kin
    candidates: Mapping[str, Kin]


def judge_requests(
    dialogues: Sequence[Heard],
    rubric: Rubric,
    panel: Panel,
    judging: Judging,
    prompt: Prompt,
    *,
    shots: Sequence[Shot] = (),
    vetoed: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
) -> Asked:
    """Ask a judge to score dialogues.

    Args:
        dialogues: what is scored, all of the rubric's scenario.
        rubric: the version to score by.
        panel: who judges whom.
        judging: how.
        prompt: template over candidate, low, high, whole, reason, form, notes, criteria, shots, task, dialogue.
        shots: examples; those that score none of the metrics in a call are left out of it.
        vetoed: why a dialogue may not be scored, by its id (`checks.vetoes`). It gets the lowest score, and no call.
        notes: what the authors of the scenario tell the judge, by task (`heard.scoring_notes`).

    Returns:
        Requests, which request asks for what, and what needs none.

    Raises:
        UserError: a shot is among the dialogues, a dialogue is of another scenario, or a model's kinship is unknown.
    """
    check_scored(dialogues, rubric.scenario, [shot.dialogue for shot in shots])
    speaker = _judge(panel.judge, judging)
    veto = vetoed or {}
    requests: list[Request] = []
    asked: list[Row] = []
    settled: list[Row] = []
    groups = [rubric.metrics] if judging.calls == "all" else [(metric,) for metric in rubric.metrics]
    for dialogue in sorted(dialogues, key=lambda one: one.dialogue_id):
        if dialogue.model not in panel.candidates:
            raise UserError(
                f"dialogue {dialogue.dialogue_id}: model {dialogue.model!r} is not among those that are scored: "
                f"{', '.join(sorted(panel.candidates))}"
            )
        why = _why_not(dialogue, panel, judging)
        for repeat in range(1, judging.repeats + 1):
            place: Row = {"scenario": rubric.scenario, "dialogue_id": dialogue.dialogue_id}
            place |= {"judge": speaker.name, "repeat": repeat}
            if why or dialogue.dialogue_id in veto:
                # A veto is a fact about the dialogue; that this judge may not score it comes first.
                status = "excluded" if why else "vetoed"
                reason = why or veto[dialogue.dialogue_id]
                for metric in rubric.metrics:
                    row = scores_row(dialogue, rubric, metric.id, speaker.name, repeat)
                    value = None if why else float(rubric.scale[0])
                    settled.append(row | {"status": status, "reason": reason, "value": value})
                continue
            for metrics in groups:
                note = (notes or {}).get(dialogue.task_id, "")
                messages = _messages(dialogue, metrics, rubric, judging, prompt, shots, note)
                request = speaker.request(
                    messages,
                    judging.max_tokens,
                    repeat - 1,
                    _response_format(speaker.model, metrics, rubric, judging),
                )
                requests.append(request)
                asked += [
                    place | {"metric_id": metric.id, "request_id": request["custom_id"]} for metric in metrics
                ]
    return Asked(
        requests,
        pa.Table.from_pylist(asked, schema=RUBRIC_ASKED.schema),
        pa.Table.from_pylist(settled, schema=RUBRIC_SCORES.schema),
    )


def check_scored(dialogues: Sequence[Heard], scenario: str, shots: Sequence[Heard] = ()) -> None:
    """Hold what is scored apart from what the judge is shown with its scores.

    Raises:
        UserError: a dialogue is among the shots (by name or by what is said in it), stands twice, or is of another
            scenario.
    """
    seen: set[str] = set()
    ids = {shot.dialogue_id for shot in shots}
    contents = {shot.content_sha: shot.dialogue_id for shot in shots}
    for dialogue in dialogues:
        name = dialogue.dialogue_id
        if dialogue.scenario != scenario:
            raise UserError(f"dialogue {name} is of {dialogue.scenario!r}; the rubric is of {scenario!r}")
        if name in seen:
            raise UserError(f"dialogue {name} stands twice among those to be scored")
        seen.add(name)
        shot = name if name in ids else contents.get(dialogue.content_sha)
        if shot is not None:
            raise UserError(
                f"dialogue {name} is the example {shot} that the judge is shown with its scores; take it out of the "
                "examples, or out of what is scored"
            )


def scores_row(dialogue: Heard, rubric: Rubric, metric_id: str, judge: str, repeat: int) -> Row:
    """What all rows of RUBRIC_SCORES begin with."""
    return {
        "scenario": rubric.scenario,
        "rubric_sha": rubric.sha,
        "dialogue_id": dialogue.dialogue_id,
        "task_id": dialogue.task_id,
        "model": dialogue.model,
        "held_out": dialogue.held_out,
        "metric_id": metric_id,
        "judge": judge,
        "repeat": repeat,
        "was_repaired": False,
    }


def reply_form(metric_ids: Sequence[str], judging: Judging) -> str:
    """What a reply has to look like, as the judge is shown it."""
    one = '{"reason": "...", "score": 0}' if judging.reason else "0"
    if judging.calls == "each":
        return one if judging.reason else '{"score": 0}'
    return "{" + ", ".join(f'"{name}": {one}' for name in metric_ids) + "}"


def reply_schema(
    metric_ids: Sequence[str],
    rubric: Rubric,
    judging: Judging,
    *,
    optional: bool = False,
    bounded: bool = False,
) -> dict[str, Any]:
    """JSON schema of a reply.

    Request files are written with sorted keys, and engines write fields in the order of the schema: `reason` comes
    before `score`, and metrics are in the order of their ids.

    Args:
        metric_ids: what is asked for.
        rubric: whose scale holds.
        judging: one call for all, and whether reasons are asked for.
        optional: null is allowed in place of a score.
        bounded: reasons have a length limit, which not all engines know.
    """
    low, high = rubric.scale
    score: dict[str, Any]
    if rubric.score_type == "int":
        score = {"enum": [*range(low, high + 1), *([None] if optional else [])]}
    else:
        score = {"type": ["number", "null"] if optional else "number", "minimum": low, "maximum": high}
    reason: dict[str, Any] = {"type": "string"} | ({"maxLength": judging.reason_chars} if bounded else {})
    one = _object({"reason": reason, "score": score} if judging.reason else {"score": score})
    if judging.calls == "each":
        return one
    return _object(dict.fromkeys(metric_ids, one if judging.reason else score))


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }


def holds_schema(model: ModelConfig, structured: Structured) -> bool:
    """Whether replies are held to a JSON schema: a model with a grammar of its own, and a player, cannot be."""
    if structured != "auto":
        return structured == "schema"
    return model.engine != "scripted" and "grammar" not in model.sampling.extra


def json_format(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A schema as `response_format` of a request."""
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def _response_format(
    model: ModelConfig, metrics: Sequence[Metric], rubric: Rubric, judging: Judging, *, optional: bool = False
) -> dict[str, Any] | None:
    if not holds_schema(model, judging.structured):
        return None
    schema = reply_schema(
        [metric.id for metric in metrics],
        rubric,
        judging,
        optional=optional,
        bounded=model.engine == "llama_cpp",
    )
    return json_format("scores", schema)


def _why_not(dialogue: Heard, panel: Panel, judging: Judging) -> str:
    if dialogue.failed:
        return f"the dialogue failed in {dialogue.failed}"
    if judging.cut_dialogues == "exclude" and dialogue.cut:
        return "the dialogue was cut by the limit of turns"
    return conflict(panel.kin, panel.candidates[dialogue.model], judging.exclude)


def _judge(speaker: Speaker, judging: Judging) -> Speaker:
    """The judge with the sampling that is wanted."""
    if judging.sampling == "model":
        return speaker
    sampling = speaker.model.sampling.model_copy(update={"temperature": 0.0, "top_p": 1.0})
    return Speaker(speaker.name, speaker.model.model_copy(update={"sampling": sampling}), speaker.fingerprint)


def criterion(metric: Metric) -> str:
    """A metric as the judge is shown it, on one line."""
    shown: dict[str, Any] = {"id": metric.id, "name": metric.name, "scores": metric.desc}
    if metric.pos_ex:
        shown["high"] = list(metric.pos_ex)
    if metric.neg_ex:
        shown["low"] = list(metric.neg_ex)
    if metric.anchors:
        shown["levels"] = {str(score): text for score, text in metric.anchors}
    return data_line(shown)


def _messages(
    dialogue: Heard,
    metrics: Sequence[Metric],
    rubric: Rubric,
    judging: Judging,
    prompt: Prompt,
    shots: Sequence[Shot],
    note: str,
) -> list[dict[str, str]]:
    ids = [metric.id for metric in metrics]
    return prompt.render(
        candidate=dialogue.candidate,
        low=rubric.scale[0],
        high=rubric.scale[1],
        whole=rubric.score_type == "int",
        reason=judging.reason,
        form=reply_form(ids, judging),
        notes=data_line(note) if note else "",
        criteria="\n".join(map(criterion, metrics)),
        shots=[
            {
                "task": task_line(shot.dialogue.variables),
                "dialogue": dialogue_lines(shot.dialogue.turns),
                "reply": _shown_reply(shot, ids, rubric, judging),
            }
            for shot in sorted(shots, key=lambda one: one.dialogue.dialogue_id)
            if set(shot.scores) & set(ids)
        ],
        task=task_line(dialogue.variables),
        dialogue=dialogue_lines(dialogue.turns),
    )


def _shown_reply(shot: Shot, ids: Collection[str], rubric: Rubric, judging: Judging) -> str:
    """Experts' scores in the form that the judge is to use."""
    whole = rubric.score_type == "int"
    given: dict[str, Any] = {}
    for name in ids:
        if name in shot.scores:
            score = shot.scores[name]
            value = int(score) if whole and float(score).is_integer() else score
            entry: dict[str, Any] = {"reason": shot.reasons.get(name, ""), "score": value}
            given[name] = entry if judging.reason else value
    if judging.calls == "each":
        (only,) = given.values()
        return data_line(only if judging.reason else {"score": only})
    return data_line(given)


class Repairs(NamedTuple):
    """Requests that put unreadable replies into the right form.

    Attributes:
        requests: one per reply.
        repairs: RUBRIC_REPAIRS table.
    """

    requests: list[Request]
    repairs: pa.Table


def repair_request(
    speaker: Speaker, reply: str, metrics: Sequence[Metric], rubric: Rubric, judging: Judging, prompt: Prompt
) -> Request:
    """Ask a judge to put what it wrote into the right form.

    Args:
        speaker: the judge.
        reply: what it wrote.
        metrics: what could not be read from it.
        rubric: the version scored by.
        judging: how.
        prompt: template over low, high, whole, form, reply.
    """
    messages = prompt.render(
        low=rubric.scale[0],
        high=rubric.scale[1],
        whole=rubric.score_type == "int",
        form=reply_form([metric.id for metric in metrics], judging),
        reply=data_line(reply),
    )
    judge = _judge(speaker, judging)
    return judge.request(
        messages,
        judging.max_tokens,
        0,
        _response_format(judge.model, metrics, rubric, judging, optional=True),
    )
