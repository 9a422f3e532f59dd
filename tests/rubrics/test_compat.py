"""Dialect A in compat mode asks what Elmes 0.1 asks, byte for byte."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from scenario_files import DIALECT_A

from magister.rubrics.compat import judge_messages, reference_turn
from magister.rubrics.reader import parse_scenario, read_scenario
from magister.rubrics.scenario import Scenario
from magister.rubrics.waves import Cast, Dialogue, Turn, due, open_dialogues, take_turn

JUDGED = "<START OF EVAL OUTPUT>"


def trace(path: Path) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Bodies of dialogue turns as they were sent, with their numbers; and the judge's bodies."""
    turns, judge = {}, []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if JUDGED in line:
            judge.append(row["body"])
        else:
            mark = '"body": '
            turns[line[line.index(mark) + len(mark) : -1]] = row["n"]
    return turns, judge


def reply(number: int, body: str, long: bool) -> str:
    """What the traces' server said to request `number`."""
    own = sum(message["role"] == "assistant" for message in json.loads(body)["messages"])
    return f"回复{number}" + ("" if long or own < 2 else " <end>")


def play(
    scenario: Scenario, answers: dict[str, int], cast: Cast, long: bool
) -> tuple[list[str], list[Dialogue]]:
    """Play a scenario against a trace; return the bodies and the dialogues."""
    dialogues, bodies = open_dialogues([scenario], ["m"], semantics="compat"), []
    while waiting := due(dialogues, cast):
        taken = {}
        for dialogue, agent, _ in waiting:
            sent = reference_turn(scenario, agent.name, dialogue.task.variables, dialogue.turns)
            body = json.dumps(sent, ensure_ascii=False)
            bodies.append(body)
            assert body in answers
            text = reply(answers[body], body, long)
            taken[dialogue.dialogue_id] = Turn(agent.name, "m", "", "ok", text, text)
        dialogues = [
            take_turn(one, taken[one.dialogue_id], cast) if one.dialogue_id in taken else one
            for one in dialogues
        ]
    return bodies, dialogues


FILES = (
    "question.yaml",
    "knowledge.yaml",
    "cross.yaml",
    "config_guided_task.yaml",
    "config.v0.1.13.yaml.example",
)


def test_four_scenarios_and_the_example_ask_byte_for_byte(handed: Path) -> None:
    answers, judge = trace(handed / "golden_v0.1.13/requests_4examples_mock.jsonl")
    cast = Cast({"*": "m"}, semantics="compat")
    bodies: list[str] = []
    prompts: Counter[str] = Counter()
    for name in FILES:
        scenario = read_scenario(handed / name)
        asked, dialogues = play(scenario, answers, cast, long=False)
        bodies += asked
        assert {one.stop_kind for one in dialogues} == {"end"}
        assert scenario.evaluation is not None
        for one in dialogues:
            turns = [(turn.agent, turn.text) for turn in one.turns]
            messages = judge_messages(scenario.evaluation, one.task.variables, turns)
            prompts[json.dumps([message["content"] for message in messages], ensure_ascii=False)] += 1
    assert sorted(bodies) == sorted(answers)
    # What the judge is told before the form of its reply is described, which holds random numbers.
    cut = "\n\n# NOTE"
    told = [[message["content"].partition(cut)[0] for message in body["messages"]] for body in judge]
    assert prompts == Counter(json.dumps(one, ensure_ascii=False) for one in told)


def test_a_dialogue_that_never_ends_is_cut_after_as_many_visits(handed: Path) -> None:
    answers, _ = trace(handed / "golden_v0.1.13/requests_guided_neverending_recursion16.jsonl")
    scenario = read_scenario(handed / "config_guided_task.yaml")
    bodies, dialogues = play(scenario, answers, Cast({"*": "m"}, max_turns=16, semantics="compat"), long=True)
    assert sorted(bodies) == sorted(answers)
    assert {(one.stop_kind, len(one.turns)) for one in dialogues} == {("max_turns", 16)}


def test_all_handed_files_are_read(handed: Path) -> None:
    dialects = {name: read_scenario(handed / name).dialect for name in (*FILES, "config.v1.0.0.yaml.example")}
    assert dialects.pop("config.v1.0.0.yaml.example") == "b"
    assert set(dialects.values()) == {"a"}


def test_a_body_is_that_of_the_file() -> None:
    scenario = parse_scenario(DIALECT_A)
    said = Turn("tutor", "m", "", "ok", "Halves?", "Halves?")
    body = reference_turn(scenario, "pupil", scenario.tasks[0].variables, [said])
    assert json.dumps(body) == (
        '{"messages": [{"content": "You are Ada.", "role": "system"}, {"content": "Today: halves", "role": "user"}, '
        '{"content": "Halves?", "role": "user"}], "model": "alpha-1", "stream": false, "temperature": 0.0}'
    )
