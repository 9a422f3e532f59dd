"""Dialogues go on in waves, each a request file per model; one that fails stops no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest
from rubric_speakers import make_speaker
from scenario_files import DIALECT_A, DIALECT_B, OURS

from magister.contracts.rubrics_tables import DIALOGUE_ASKED, DIALOGUES, TRANSCRIPTS
from magister.errors import UserError
from magister.llm import Request, Response, Speaker
from magister.rubrics.reader import parse_scenario
from magister.rubrics.wave_plan import speakers_by_wave, waves_needed
from magister.rubrics.waves import (
    Cast,
    Dialogue,
    advance,
    dialogue_table,
    open_dialogues,
    read_turns,
    replay,
    take_wave,
    wave_requests,
)

A, B, M = parse_scenario(DIALECT_A), parse_scenario(DIALECT_B), parse_scenario(OURS)
Say = Callable[[Request], Response | str]
CAST = Cast({"*": "two"})


def response(request_id: str, text: str, finish: str = "stop", error: str | None = None) -> Response:
    return Response(request_id, text, None, finish, None, 1, 2, error)


def play(
    dialogues: list[Dialogue], cast: Cast, speakers: dict[str, Speaker], say: Say
) -> tuple[list[Dialogue], list[pa.Table], list[pa.Table]]:
    """Play to the end; return the dialogues, the transcripts and the ASKED tables of the waves."""
    step = advance(dialogues, DIALOGUE_ASKED.schema.empty_table(), {}, cast, speakers, max_tokens=32)
    waves, asked = [], []
    while step.asked.num_rows:
        said = {}
        for request in [one for rows in step.requests.values() for one in rows]:
            reply = say(request)
            key = request["custom_id"]
            said[key] = reply if isinstance(reply, Response) else response(key, reply)
        asked.append(step.asked)
        step = advance(step.dialogues, step.asked, said, cast, speakers, max_tokens=32)
        waves.append(step.transcripts)
    return step.dialogues, waves, asked


def last(request: Request) -> str:
    return str(request["body"]["messages"][-1]["content"])


def test_a_dialogue_ends_where_its_directions_lead(speakers: dict[str, Speaker]) -> None:
    def say(request: Request) -> str:
        return "GOODBYE" if "Today" in last(request) else "hm"

    ended, waves, _ = play(open_dialogues([A], ["one"]), CAST, speakers, say)
    assert {(one.stop_kind, len(one.turns)) for one in ended} == {("end", 1)}
    assert len(waves) == 1


def test_a_cut_dialogue_says_so(speakers: dict[str, Speaker]) -> None:
    ended, waves, _ = play(open_dialogues([A], ["one"]), CAST, speakers, lambda request: "hm")
    table = dialogue_table(ended, CAST)
    assert set(table["stop_kind"].to_pylist()) == {"max_turns"}
    assert set(table["turns"].to_pylist()) == {7}
    assert set(table["n"].to_pylist()) == {4}
    assert set(table["status"].to_pylist()) == {"ok"}
    assert len(waves) == 7 == waves_needed([A], CAST)


def test_a_limit_of_the_run_is_one_of_the_dialogue(speakers: dict[str, Speaker]) -> None:
    cast = replace(CAST, max_turns=3)
    ended, _, _ = play(open_dialogues([A], ["one"]), cast, speakers, lambda request: "hm")
    assert {(one.stop_kind, len(one.turns)) for one in ended} == {("max_turns", 3)}
    assert waves_needed([A], cast) == 3


def test_a_message_that_ends_the_dialogue_in_its_last_turn_ended_it(speakers: dict[str, Speaker]) -> None:
    cast = replace(CAST, max_turns=1)
    ended, _, _ = play(open_dialogues([A], ["one"]), cast, speakers, lambda request: "goodbye")
    assert {one.stop_kind for one in ended} == {"end"}


def test_the_candidate_speaks_with_the_evaluated_model_and_others_with_their_own(
    speakers: dict[str, Speaker],
) -> None:
    _, waves, _ = play(open_dialogues([A], ["one"]), CAST, speakers, lambda request: "hm")
    rows = [row for wave in waves for row in wave.to_pylist()]
    assert {(row["agent"], row["speaker"]) for row in rows} == {("tutor", "one"), ("pupil", "two")}


def test_an_agent_without_a_model_is_named() -> None:
    with pytest.raises(UserError, match="no model speaks for the agent 'pupil'"):
        play(open_dialogues([A], ["one"]), Cast({}), {"one": make_speaker("one")}, lambda request: "hm")


@pytest.mark.parametrize(
    ("finish", "error", "text", "status"),
    [
        ("stop", "server", "", "error"),
        ("stop", "context_length", "", "context_exceeded"),
        ("content_filter", None, "no", "refusal"),
        ("stop", None, "  ", "empty"),
        ("length", None, "<think>never ends", "empty"),
    ],
)
def test_one_bad_reply_ends_its_dialogue_and_no_other(
    speakers: dict[str, Speaker], finish: str, error: str | None, text: str, status: str
) -> None:
    def say(request: Request) -> Response | str:
        if last(request) == "Today: thirds" and "Ada" in json.dumps(request):
            return response(request["custom_id"], text, finish, error)
        return "hm"

    ended, _, _ = play(open_dialogues([A], ["one"]), CAST, speakers, say)
    table = dialogue_table(ended, CAST).to_pylist()
    bad = [row for row in table if row["stop_kind"] == "failed"]
    assert [(row["status"], row["turns"], row["n"]) for row in bad] == [(status, 1, 0)]
    assert len(table) == 4
    assert {row["turns"] for row in table if row not in bad} == {7}


def test_a_cut_reply_goes_on_and_is_counted(speakers: dict[str, Speaker]) -> None:
    ended, _, _ = play(
        open_dialogues([A], ["one"]),
        replace(CAST, max_turns=2),
        speakers,
        lambda request: response(request["custom_id"], "hm", "length"),
    )
    assert {(row["status"], row["truncated"]) for row in dialogue_table(ended, CAST).to_pylist()} == {
        ("ok", 2)
    }


def test_reasoning_is_kept_and_shown_to_nobody(speakers: dict[str, Speaker]) -> None:
    seen: list[str] = []

    def say(request: Request) -> str:
        seen.append(json.dumps(request["body"]["messages"]))
        return "<think>goodbye</think>hm"

    ended, _, _ = play(open_dialogues([A], ["one"]), CAST, speakers, say)
    assert {one.stop_kind for one in ended} == {"max_turns"}
    assert not any("think" in text for text in seen)
    assert {turn.text for one in ended for turn in one.turns} == {"<think>goodbye</think>hm"}


def test_in_compat_reasoning_is_routed_on(speakers: dict[str, Speaker]) -> None:
    cast = replace(CAST, semantics="compat")
    ended, _, _ = play(
        open_dialogues([A], ["one"], semantics="compat"),
        cast,
        speakers,
        lambda request: "<think>goodbye</think>hm",
    )
    assert {(one.stop_kind, len(one.turns)) for one in ended} == {("end", 1)}


def test_compat_is_for_dialect_a() -> None:
    with pytest.raises(UserError, match="of another dialect"):
        open_dialogues([B], ["one"], semantics="compat")


def test_state_is_rebuilt_from_the_transcripts(speakers: dict[str, Speaker]) -> None:
    ended, waves, asked = play(open_dialogues([A, M], ["one", "two"], samples=2), CAST, speakers, last)
    for number in range(len(waves) + 1):
        state = replay(open_dialogues([M, A], ["two", "one"], samples=2), waves[:number], CAST)
        if number == len(waves):
            assert state == ended
            continue
        tables = [wave_requests(state, CAST, one, max_tokens=32)[1] for one in speakers.values()]
        again = pa.concat_tables(tables).sort_by([(name, "ascending") for name in DIALOGUE_ASKED.key])
        assert again == asked[number]


def test_transcripts_of_another_run_are_refused(speakers: dict[str, Speaker]) -> None:
    _, waves, _ = play(open_dialogues([A], ["one"]), CAST, speakers, lambda request: "hm")
    with pytest.raises(UserError, match="not of one run"):
        replay(open_dialogues([A], ["one"]), waves[1:], CAST)
    with pytest.raises(UserError, match="not of one run"):
        take_wave(open_dialogues([A], ["two"]), waves[0], CAST)


def test_a_missing_response_is_named(speakers: dict[str, Speaker]) -> None:
    _, asked = wave_requests(open_dialogues([A], ["one"]), CAST, speakers["one"], max_tokens=32)
    with pytest.raises(UserError, match="do not hold request"):
        read_turns(asked, {})


def test_tables_keep_their_promises(speakers: dict[str, Speaker]) -> None:
    ended, waves, asked = play(open_dialogues([A, M], ["one"]), CAST, speakers, last)
    assert all(wave.schema == TRANSCRIPTS.schema for wave in waves)
    assert all(table.schema == DIALOGUE_ASKED.schema for table in asked)
    table = dialogue_table(ended, CAST)
    assert table.schema == DIALOGUES.schema
    assert table["held_out"].to_pylist().count(True) == 1


def test_a_scenario_may_set_sampling_and_a_smaller_limit_of_a_turn(speakers: dict[str, Speaker]) -> None:
    requests, _ = wave_requests(open_dialogues([M], ["one"]), CAST, speakers["one"], max_tokens=99)
    body = requests[0]["body"]
    assert (body["temperature"], body["top_k"], body["max_tokens"]) == (0.5, 3, 64)
    requests, _ = wave_requests(open_dialogues([M], ["one"]), CAST, speakers["one"], max_tokens=32)
    assert requests[0]["body"]["max_tokens"] == 32
    requests, _ = wave_requests(open_dialogues([A], ["one"]), CAST, speakers["one"], max_tokens=32)
    assert (requests[0]["body"]["temperature"], requests[0]["body"]["max_tokens"]) == (0.0, 32)


def test_draws_are_different_requests(speakers: dict[str, Speaker]) -> None:
    requests, asked = wave_requests(
        open_dialogues([M], ["one"], samples=3), CAST, speakers["one"], max_tokens=32
    )
    assert len({request["custom_id"] for request in requests}) == 6
    assert [name.endswith("#2") for name in asked["dialogue_id"].to_pylist()].count(True) == 2


def test_two_scenarios_of_one_name_are_refused() -> None:
    with pytest.raises(UserError, match="Rename one"):
        open_dialogues([A, replace(A)], ["one"])


def test_dialogues_that_have_not_ended_are_refused() -> None:
    with pytest.raises(UserError, match="has not ended"):
        dialogue_table(open_dialogues([A], ["one"]), CAST)


def test_a_graph_without_a_loop_needs_no_more_waves_than_it_has_agents() -> None:
    straight = parse_scenario(DIALECT_A.replace("- pupil -> tutor", "- pupil -> END"))
    assert waves_needed([straight], CAST) == 2


def test_who_can_speak_in_a_wave_is_known_beforehand() -> None:
    cast = replace(CAST, max_turns=3)
    assert speakers_by_wave([A], cast, ["one", "three"]) == [["one", "three"], ["two"], ["one", "three"]]
    alone = parse_scenario(DIALECT_A.replace("- pupil -> tutor", "- pupil -> END"))
    assert len(speakers_by_wave([alone, A], CAST, ["one"])) == 7


def test_a_cast_without_a_partner_is_refused_with_file_and_agent() -> None:
    with pytest.raises(UserError, match=r"yaml: no model speaks for the agent 'pupil'"):
        speakers_by_wave([A], Cast({"tutor": "two"}), ["one"])
