"""A grid of scenarios: subject by stage by kind of task, from templates, for work with hundreds of them.

What stands in them is ours and plain: a grid shows that a run carries hundreds of scenarios, and gives rubrics
something to evolve from. It is no benchmark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import yaml

from magister.errors import UserError
from magister.rubrics._grid_topics import LEARNERS, STAGES, SUBJECTS, TOPICS
from magister.rubrics._grid_types import CURIOUS, KIND, KINDS, PERSONAL, RIGHT, Kind, Score
from magister.rubrics.findings import suggestion

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
DIMENSIONS = (
    ("personalisation", 0.3, ("Fits this learner.", "适合这名学习者。")),
    ("pedagogy", 0.4, ("Teaches well and rightly.", "教得好，教得对。")),
    ("creativity", 0.2, ("Opens ways of thinking.", "打开思路。")),
    ("values", 0.1, ("Respect and honesty.", "尊重与诚实。")),
)
"""The seed dimensions with their weights."""
_FRAME = (
    "{told} Subject: {subject}, {stage}. The learner {{learner}}. Be brief.",
    "{told}学科：{subject}，{stage}。学习者{{learner}}。语言简洁。",
)
_LEARNER = (
    "You are a learner in {stage}, subject {subject}, and this is you: a person who {{learner}}. Reply in one or two "
    "sentences, make the mistakes that such a learner makes, and say so when something is unclear.",
    "你是一名{stage}{subject}学习者：{{learner}}。用一两句话回答，会犯这样的学习者常犯的错误，不明白就说出来。",
)
_JUDGE = (
    "You judge the teacher's turns. Task: {{task.topic}} ({subject}, {stage}). The learner {{task.learner}}.\n\n"
    "{{messages.as_dialog()}}\n",
    "你评价老师说的话。主题：{{task.topic}}（{subject}，{stage}）。学习者：{{task.learner}}。\n\n{{messages.as_dialog()}}\n",
)
_PLAYS = (["Learner:", "Student:"], ["学习者：", "学生："])


class Written(NamedTuple):
    """One scenario of a grid.

    Attributes:
        name: its name, and that of its file without the ending.
        text: its file.
    """

    name: str
    text: str


def grid(
    *,
    language: Language = "en",
    subjects: Sequence[str] = (),
    stages: Sequence[str] = (),
    kinds: Sequence[str] = (),
) -> Iterator[Written]:
    """Write the scenarios of a grid, the same texts each time.

    Args:
        language: of all that is said.
        subjects: some of `SUBJECTS`; all where none is named.
        stages: some of `STAGES`; all where none is named.
        kinds: names of some of `KINDS`; all where none is named.

    Yields:
        Scenarios in Magister's own form, by subject, stage and kind.

    Raises:
        UserError: a name is unknown.
    """
    names = {kind.name: kind for kind in KINDS}
    for one in _chosen(subjects, tuple(SUBJECTS), "subject"):
        for stage in _chosen(stages, tuple(STAGES), "stage"):
            for kind in _chosen(kinds, tuple(names), "kind"):
                yield _written(one, stage, names[kind], language)


def _chosen(wanted: Sequence[str], known: tuple[str, ...], what: str) -> list[str]:
    for one in wanted:
        if one not in known:
            raise UserError(f"no {what} {one!r}{suggestion(one, known)}; known: {', '.join(known)}")
    return [one for one in known if not wanted or one in wanted]


def _written(subject: str, stage: str, kind: Kind, language: Language) -> Written:
    at = LANGUAGES.index(language)
    frame = {"told": kind.told[at], "subject": SUBJECTS[subject][at], "stage": STAGES[stage][at]}
    topics = [topic[at] for topic in TOPICS[subject, stage]]
    name = f"{subject}-{stage}-{kind.name}" + ("-zh" if language == "zh" else "")
    agents: dict[str, Any] = {"teacher": {"prompt": _FRAME[at].format(**frame)}}
    directions = ["START -> teacher"]
    if kind.talks:
        agents["learner"] = {"prompt": _LEARNER[at].format(**frame)}
        directions += [
            'teacher -> router:any_keyword(keywords=["<end>"], then=END, otherwise="learner")',
            "learner -> teacher",
        ]
    else:
        directions.append("teacher -> END")
    evaluation: dict[str, Any] = {
        "name": name,
        "prompt": [{"role": "system", "content": _JUDGE[at].format(**frame)}],
        "dimensions": [
            {"name": dimension, "weight": weight, "description": text[at]}
            for dimension, weight, text in DIMENSIONS
        ],
        "fields": [
            _field(PERSONAL, "personalisation", at),
            _field(kind.score, "pedagogy", at),
            _field(RIGHT, "pedagogy", at),
            _field(CURIOUS, "creativity", at),
            _field(KIND, "values", at),
        ],
    }
    if kind.talks:
        evaluation["vetoes"] = [
            {"name": "plays_both_parts", "kind": "role_leak", "agent": "teacher", "keywords": _PLAYS[at]}
        ]
    document = {
        "magister": 1,
        "name": name,
        "language": language,
        "subject": subject,
        "grade": stage,
        "task_type": kind.name,
        "candidate": "teacher",
        "limits": {"max_turns": 8 if kind.talks else 1},
        "agents": agents,
        "directions": directions,
        "tasks": {
            "mode": "union",
            "start_prompt": kind.opening[at],
            # The last topic with each learner.
            "held_out": [len(topics), 2 * len(topics)],
            "content": {"learner": [learner[at] for learner in LEARNERS[stage]], "topic": topics},
        },
        "evaluation": evaluation,
    }
    return Written(name, yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110))


def _field(score: Score, dimension: str, at: int) -> dict[str, Any]:
    return {
        "name": score.name,
        "dimension": dimension,
        "type": "int",
        "range": [1, 5],
        "description": score.text[at],
        "anchors": {1: score.worst[at], 5: score.best[at]},
    }
