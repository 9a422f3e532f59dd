"""Anchors: dialogues that experts have scored, shown to judges as examples or scored again in every iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from magister.contracts.rubrics_score_tables import HUMAN_SCORES
from magister.errors import UserError
from magister.rubrics.heard import Heard, Said
from magister.rubrics.judging import Shot
from magister.rubrics.rubric import Rubric

Use = Literal["shot", "calibration"]
_KEYS = ("anchor_id", "scenario", "use", "variables", "turns", "scores", "annotator")
_OPTIONAL = ("model", "candidate")


@dataclass(frozen=True)
class Anchor:
    """A dialogue with one expert's scores.

    Attributes:
        dialogue: what was said; its id is the anchor's.
        use: `shot` - an example for judges; `calibration` - scored by them and compared with the expert.
        annotator: who scored it.
        scores: by metric id.
        reasons: by metric id; those that were given.
    """

    dialogue: Heard
    use: Use
    annotator: str
    scores: Mapping[str, float]
    reasons: Mapping[str, str]


def read_anchors(rows: Sequence[object], where: str) -> list[Anchor]:
    """Read anchors, one JSON object each.

    Fields: anchor_id, scenario, use (`shot` or `calibration`), variables (of the task), turns (a list of speaker and
    text), scores (by metric: score and, if wanted, reason), annotator; model and candidate (default `teacher`) if
    known. Several people may score one anchor: a row each, with the same dialogue.

    Args:
        rows: parsed lines.
        where: their file, for messages.

    Raises:
        UserError: a row is not an anchor, two rows of one anchor differ in what was said or in its use, or a person has
            scored one twice. Names the line.
    """
    found = [_anchor(row, f"{where}, line {number}") for number, row in enumerate(rows, start=1)]
    first: dict[tuple[str, str], tuple[int, Anchor]] = {}
    seen: dict[tuple[str, str, str], int] = {}
    for number, anchor in enumerate(found, start=1):
        name = (anchor.dialogue.scenario, anchor.dialogue.dialogue_id)
        line, other = first.setdefault(name, (number, anchor))
        if (other.dialogue, other.use) != (anchor.dialogue, anchor.use):
            raise UserError(
                f"{where}, line {number}: anchor {name[1]!r} differs from line {line} in more than who scored it; give "
                "another dialogue another anchor_id"
            )
        before = seen.setdefault((*name, anchor.annotator), number)
        if before != number:
            raise UserError(
                f"{where}, line {number}: {anchor.annotator!r} scored {name[1]!r} in line {before} already"
            )
    return found


def _anchor(row: object, where: str) -> Anchor:
    if not isinstance(row, Mapping):
        raise UserError(f"{where}: expected an object, found {type(row).__name__}")
    missing = [key for key in _KEYS if key not in row]
    unknown = sorted(set(row) - set(_KEYS) - set(_OPTIONAL))
    if missing or unknown:
        raise UserError(
            f"{where}: missing: {', '.join(missing) or 'nothing'}; unknown: {', '.join(unknown) or 'nothing'}; an "
            f"anchor has {', '.join(_KEYS)}, and may have {', '.join(_OPTIONAL)}"
        )
    use = row["use"]
    if use not in ("shot", "calibration"):
        raise UserError(f"{where}: use {use!r}; expected shot or calibration")
    turns = row["turns"]
    if not isinstance(turns, list) or not turns:
        raise UserError(f"{where}: turns: expected a list of speaker and text")
    for place, turn in enumerate(turns, start=1):
        if not isinstance(turn, Mapping) or set(turn) != {"speaker", "text"}:
            raise UserError(f"{where}: turn {place}: expected speaker and text, found {turn!r:.60}")
    scores, reasons = {}, {}
    if not isinstance(row["scores"], Mapping) or not row["scores"]:
        raise UserError(f"{where}: scores: expected an object, a metric each")
    for name, entry in row["scores"].items():
        score = entry.get("score") if isinstance(entry, Mapping) else entry
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise UserError(f"{where}: scores: {name}: expected a number, found {score!r}")
        scores[str(name)] = float(score)
        if isinstance(entry, Mapping) and entry.get("reason"):
            reasons[str(name)] = str(entry["reason"])
    anchor_id = str(row["anchor_id"])
    dialogue = Heard(
        anchor_id,
        str(row["scenario"]),
        anchor_id,
        str(row.get("model", f"anchor {anchor_id}")),
        str(row.get("candidate", "teacher")),
        tuple(Said(str(turn["speaker"]), str(turn["text"])) for turn in turns),
        {str(key): str(value) for key, value in row["variables"].items()},
    )
    return Anchor(dialogue, use, str(row["annotator"]), scores, reasons)


def check_anchors(anchors: Sequence[Anchor], rubric: Rubric) -> None:
    """Hold anchors to a rubric's metrics and scale.

    Raises:
        UserError: a metric is unknown, or a score is off the scale.
    """
    low, high = rubric.scale
    for anchor in anchors:
        for name, score in sorted(anchor.scores.items()):
            rubric.metric(name)
            if not low <= score <= high:
                raise UserError(
                    f"anchor {anchor.dialogue.dialogue_id}: {name}: score {score:g} is not on the scale {low}..{high}"
                )


def shots(anchors: Sequence[Anchor], scenario: str) -> list[Shot]:
    """The examples for judges of a scenario; of several experts the median score, and one's reason."""
    return [
        Shot(
            own[0].dialogue,
            {
                name: float(np.median([one.scores[name] for one in own if name in one.scores]))
                for name in sorted({name for one in own for name in one.scores})
            },
            {name: text for one in reversed(own) for name, text in one.reasons.items()},
        )
        for own in _by_dialogue(anchors, scenario, "shot")
    ]


def calibration(anchors: Sequence[Anchor], scenario: str) -> tuple[list[Heard], pa.Table]:
    """The anchors that judges score: dialogues, and what experts gave them as a HUMAN_SCORES table."""
    groups = _by_dialogue(anchors, scenario, "calibration")
    rows = [
        {
            "scenario": scenario,
            "dialogue_id": one.dialogue.dialogue_id,
            "metric_id": name,
            "annotator": one.annotator,
            "value": score,
            "rationale": one.reasons.get(name),
        }
        for own in groups
        for one in own
        for name, score in sorted(one.scores.items())
    ]
    return [own[0].dialogue for own in groups], pa.Table.from_pylist(rows, schema=HUMAN_SCORES.schema)


def _by_dialogue(anchors: Sequence[Anchor], scenario: str, use: Use) -> list[list[Anchor]]:
    groups: dict[str, list[Anchor]] = {}
    for anchor in sorted(anchors, key=lambda one: (one.dialogue.dialogue_id, one.annotator)):
        if (anchor.dialogue.scenario, anchor.use) == (scenario, use):
            groups.setdefault(anchor.dialogue.dialogue_id, []).append(anchor)
    return [groups[name] for name in sorted(groups)]
