"""Dialogues as judges get them: whole, without reasoning, and told apart where they failed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from loop import scenario
from rubric_tables import answered, speaker

from magister.contracts.rubrics_tables import DIALOGUE_ASKED
from magister.errors import UserError
from magister.llm import Response, ScriptedReply
from magister.rubrics.heard import heard_dialogues, scoring_notes
from magister.rubrics.reader import parse_scenario
from magister.rubrics.waves import Cast, advance, dialogue_table, open_dialogues

START = scenario(2)


def played(teacher: Any = "hello", student: Any = "hm", turns: int = 3) -> tuple[pa.Table, pa.Table]:
    """Transcripts and dialogues in which both always say the same."""
    who = {name: speaker(name, "echo") for name in ("t", "s")}
    said = {"t": teacher, "s": student}
    cast = Cast({"student": "s"}, max_turns=turns)
    state, asked, tables = open_dialogues([START], ["t"]), DIALOGUE_ASKED.schema.empty_table(), []
    responses: dict[str, Response] = {}
    while True:
        step = advance(state, asked, responses, cast, who, max_tokens=9)
        state, asked = step.dialogues, step.asked
        tables.append(step.transcripts)
        if not asked.num_rows:
            return pa.concat_tables(tables), dialogue_table(state, cast)
        responses = {}
        for name, requests in step.requests.items():
            plain = answered(who[name], requests)
            for key, one in plain.items():
                reply = said[name]
                reply = ScriptedReply(reply) if isinstance(reply, str) else reply
                error = reply.error
                responses[key] = Response(
                    key, "" if error else reply.text, None, reply.finish_reason, one.model, 1, 1, error
                )


def test_turns_are_put_together_without_reasoning() -> None:
    transcripts, dialogues = played("<think>I know it</think>Why?")
    found = heard_dialogues(transcripts, dialogues, START)
    assert len(found) == 2
    for one in found:
        assert [(turn.speaker, turn.text) for turn in one.turns] == [
            ("teacher", "Why?"), ("student", "hm"), ("teacher", "Why?"),
        ]  # fmt: skip
        assert (one.cut, one.failed, one.model, one.candidate, one.length) == (True, "", "t", "teacher", 8)
        assert one.variables["question"].startswith("What is")


def test_a_dialogue_that_ended_is_not_cut() -> None:
    (one, _) = heard_dialogues(*played("Bye <end>"), START)
    assert (one.cut, len(one.turns)) == (False, 1)


def test_a_call_without_an_answer_says_nothing_about_the_candidate() -> None:
    for who in (
        {"teacher": ScriptedReply("x", error="server")},
        {"student": ScriptedReply("x", error="server")},
    ):
        (one, _) = heard_dialogues(*played(**who), START)
        assert one.failed.endswith(": error")


def test_a_candidate_that_says_nothing_is_scored_as_it_stands() -> None:
    (one, _) = heard_dialogues(*played(""), START)
    assert (one.failed, [turn.text for turn in one.turns]) == ("", [""])
    (other, _) = heard_dialogues(*played(student=""), START)
    assert other.failed == "turn 2 (student): empty"


def test_held_out_tasks_may_be_named_from_outside() -> None:
    name = START.tasks[0].task_id
    found = {one.task_id: one.held_out for one in heard_dialogues(*played(), START, [name])}
    assert found == {name: True, START.tasks[1].task_id: False}


def test_missing_turns_and_other_tasks_are_errors() -> None:
    transcripts, dialogues = played()
    with pytest.raises(UserError, match="3 turns are expected, the transcripts hold 2"):
        heard_dialogues(transcripts.filter(pa.compute.less(transcripts["turn"], 3)), dialogues, START)
    with pytest.raises(UserError, match=r"is not one of sums\.yaml"):
        heard_dialogues(transcripts, dialogues, scenario(1))


def test_what_authors_tell_the_judge_is_filled_in_by_task() -> None:
    text = """
models: {m: {type: openai, api_key: k, api_base: b, model: m}}
agents: {teacher: {model: m, prompt: [{role: system, content: "Teach {q}"}]}}
directions: ["START -> teacher", "teacher -> END"]
tasks: {mode: iter, content: [{q: one}, {q: two}]}
evaluation:
  model: m
  prompt: [{role: system, content: Be strict.}, {role: user, content: "On {task.q}: {messages.as_dialog()}"}]
  format: [{field: x, type: int, description: y}]
"""
    found = scoring_notes(parse_scenario(text))
    assert sorted(found.values()) == [
        "Be strict.\n\nOn one: (the dialogue)",
        "Be strict.\n\nOn two: (the dialogue)",
    ]
    assert scoring_notes(START) == {}
