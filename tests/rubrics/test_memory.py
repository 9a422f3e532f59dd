"""What an agent hears."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st
from scenario_files import DIALECT_A, DIALECT_B, OURS

from magister.rubrics.memory import heard
from magister.rubrics.reader import parse_scenario
from magister.rubrics.scenario import Memory

A, B, M = parse_scenario(DIALECT_A), parse_scenario(DIALECT_B), parse_scenario(OURS)


@dataclass(frozen=True)
class Line:
    agent: str
    text: str
    visible: str


def lines(count: int) -> list[Line]:
    return [Line(("tutor", "pupil")[n % 2], f"<think>x</think>{n}", str(n)) for n in range(count)]


def contents(messages: list[dict[str, str]]) -> list[str]:
    return [message["content"] for message in messages]


def test_the_first_agent_hears_prompt_and_start() -> None:
    messages = heard(M, M.agent("tutor"), M.tasks[0].variables, [])
    assert messages == [
        {"role": "system", "content": "Teach halves."},
        {"role": "user", "content": "Today: halves"},
    ]


def test_without_a_start_message_the_first_agent_hears_its_prompt_alone() -> None:
    silent = replace(A, start=None)
    messages = heard(silent, A.agent("tutor"), A.tasks[0].variables, [], "compat")
    assert [message["role"] for message in messages] == ["system"]


def test_own_turns_are_assistant_and_all_others_user() -> None:
    messages = heard(M, M.agent("pupil"), M.tasks[0].variables, lines(2))
    assert [(one["role"], one["content"]) for one in messages[1:]] == [
        ("user", "Today: halves"),
        ("user", "0"),
        ("assistant", "1"),
    ]


def test_reasoning_is_heard_in_compat_alone() -> None:
    assert contents(heard(A, A.agent("pupil"), A.tasks[0].variables, lines(1)))[-1] == "0"
    compat = heard(A, A.agent("pupil"), A.tasks[0].variables, lines(1), "compat")
    assert contents(compat)[-1] == "<think>x</think>0"


def test_the_start_message_stays_unless_the_scenario_lets_it_go() -> None:
    agent, variables = M.agent("tutor"), M.tasks[0].variables  # keeps one pair, so three messages
    assert contents(heard(M, agent, variables, lines(5)))[1:] == ["Today: halves", "2", "3", "4"]
    loose = replace(M, pin_start=False)
    assert contents(heard(loose, agent, variables, lines(5)))[1:] == ["2", "3", "4"]
    assert contents(heard(loose, agent, variables, lines(2)))[1:] == ["Today: halves", "0", "1"]


def test_memory_that_is_off_is_off_outside_compat_alone() -> None:
    agent = replace(A.agent("tutor"), memory=Memory(False, 2))
    assert contents(heard(A, agent, A.tasks[0].variables, lines(4)))[1:] == ["Today: halves", "3"]
    assert len(heard(A, agent, A.tasks[0].variables, lines(9), "compat")) == 1 + 5


def test_in_dialect_b_the_start_message_is_for_the_first_agent() -> None:
    variables = B.tasks[0].variables
    assert "Today: halves" in contents(heard(B, B.agent("tutor"), variables, []))
    assert "Today: halves" not in contents(heard(B, B.agent("pupil"), variables, lines(1)))


@given(st.integers(0, 30), st.integers(0, 6), st.booleans())
def test_the_window_is_the_end_of_the_dialogue(count: int, keep: int, enabled: bool) -> None:
    agent = replace(M.agent("pupil"), memory=Memory(enabled, keep))
    said = contents(heard(M, agent, M.tasks[0].variables, lines(count)))[1:]
    size = 2 * keep + 1 if enabled else 1
    assert said == ["Today: halves", *[str(n) for n in range(count)][-size:]]
    compat = contents(heard(M, agent, M.tasks[0].variables, lines(count), "compat"))[1:]
    everything = ["Today: halves", *[line.text for line in lines(count)]]
    assert compat == everything[-(2 * keep + 1) :]
