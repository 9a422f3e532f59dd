"""What dialogues promise: turns that were asked for, by those whose turn it was, and ends that fit them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts._columns import Mask, absent, all_agree, member, numbers, positions, same, taken, true
from magister.contracts._rubric_plan import RubricPlan
from magister.contracts.gate import Expectation, RowCheck, RowCount

GOES_ON = ("ok", "truncated")
DIALOGUE = ("iteration", "dialogue_id")
_ABOUT = ("scenario", "task_id", "model", "sample")


def looked_up(column: pa.ChunkedArray, values: dict[str, object], kind: pa.DataType) -> pa.ChunkedArray:
    """What a mapping says of each text of a column; null where it says nothing."""
    names = list(values)
    at = pc.index_in(column, value_set=pa.array(names, pa.string()))
    return pa.chunked_array([pa.array([values[name] for name in names], kind)]).take(at)


def turn_counts(transcripts: pa.Table, dialogues: pa.Table, wanted: Mask) -> NDArray[np.int64]:
    """How many of some turns each dialogue has."""
    at = positions(transcripts, dialogues, DIALOGUE)
    return np.bincount(at[wanted & (at >= 0)], minlength=dialogues.num_rows)


def asked_checks(asked: pa.Table, transcripts: pa.Table) -> list[Expectation]:
    """Turns that were asked for are those that were said."""
    name, key = "dialogue_asked", (*DIALOGUE, "turn")
    place = positions(asked, transcripts, key)
    others = [column for column in asked.column_names if column not in key]
    alike = all_agree(asked.select(others), taken(transcripts, place, others))
    return [
        RowCount(name, transcripts.num_rows, "the turns that were said"),
        RowCheck(name, "turn_said", tuple(others), "a turn of the transcripts, with the same facts", alike),
    ]


def transcript_checks(
    transcripts: pa.Table, dialogues: pa.Table, candidates: pa.ChunkedArray, plan: RubricPlan
) -> list[Expectation]:
    """Turns are of a dialogue, in order, by whose turn it is, and the last one alone may have failed."""
    name = "transcripts"
    place = positions(transcripts, dialogues, DIALOGUE)
    facts = taken(dialogues, place, (*_ABOUT, "turns"))
    turn, turns = numbers(transcripts["turn"]), numbers(facts["turns"])
    goes_on = member(transcripts["status"], GOES_ON)
    own = same(transcripts["agent"], candidates)
    named = looked_up(transcripts["agent"], dict(plan.partners), pa.string())
    partner = pc.coalesce(named, pa.scalar(plan.partners.get("*"), pa.string()))
    plays = np.where(
        own, same(transcripts["speaker"], transcripts["model"]), same(transcripts["speaker"], partner)
    )
    coded = ~absent(transcripts["error"]) == member(transcripts["status"], ("error", "context_exceeded"))
    silent = goes_on & ~true(pc.match_substring_regex(transcripts["visible"], r"\S"))
    alike = all_agree(transcripts.select(_ABOUT), facts.select(_ABOUT))
    return [
        RowCount(name, int(pc.sum(dialogues["turns"]).as_py() or 0), "the turns of all dialogues"),
        RowCheck(name, "of_a_dialogue", (*DIALOGUE, *_ABOUT), "a dialogue, with its facts", alike),
        RowCheck(
            name, "turn_within_dialogue", ("turn",), "a turn of the dialogue", (turn <= turns) | (place < 0)
        ),
        RowCheck(name, "whose_turn", ("agent", "speaker"), "the model that speaks for the agent", plays),
        RowCheck(
            name,
            "failed_at_the_end",
            ("status", "turn"),
            "the last turn, where it failed",
            goes_on | (turn == turns) | (place < 0),
        ),
        RowCheck(
            name, "error_coded", ("status", "error"), "an error where the call failed, and only then", coded
        ),
        RowCheck(
            name,
            "words_where_ok",
            ("status", "visible"),
            "words, where the turn is ok",
            ~silent | (plan.semantics == "compat"),
        ),
    ]


def dialogue_checks(
    dialogues: pa.Table, transcripts: pa.Table, tasks: pa.Table, candidates: pa.ChunkedArray, plan: RubricPlan
) -> list[Expectation]:
    """A dialogue for every task, model and draw; its numbers are those of its turns."""
    name, task = "dialogues", ("iteration", "scenario", "task_id")
    place = positions(dialogues, tasks, task)
    goes_on, truncated = (member(transcripts["status"], words) for words in (GOES_ON, ("truncated",)))
    everything = np.ones(transcripts.num_rows, dtype=bool)
    own = same(transcripts["agent"], candidates)
    turns = numbers(dialogues["turns"])
    limit = numbers(looked_up(dialogues["scenario"], dict(plan.limits), pa.int64()))
    failed = true(pc.equal(dialogues["stop_kind"], "failed"))
    cut = true(pc.equal(dialogues["stop_kind"], "max_turns"))
    ok = true(pc.equal(dialogues["status"], "ok"))
    counted = {
        "turns": turn_counts(transcripts, dialogues, everything),
        "n": turn_counts(transcripts, dialogues, own & goes_on),
        "truncated": turn_counts(transcripts, dialogues, truncated),
    }
    held = same(dialogues["held_out"], taken(tasks, place, ["held_out"])["held_out"])
    return [
        RowCount(name, tasks.num_rows * len(plan.models) * plan.samples, "tasks x models x draws"),
        RowCheck(name, "task_known", task, "a task of the iteration", place >= 0),
        RowCheck(
            name, "model_known", ("model",), "a model of the set", member(dialogues["model"], plan.models)
        ),
        RowCheck(name, "held_out_as_task", ("held_out",), "as its task", held | (place < 0)),
        *(
            RowCheck(
                name,
                f"{column}_counted",
                (column,),
                "as counted in the transcripts",
                numbers(dialogues[column]) == found,
            )
            for column, found in counted.items()
        ),
        RowCheck(name, "status_fits_end", ("status", "stop_kind"), "ok unless it failed", failed == ~ok),
        RowCheck(
            name,
            "cut_at_limit",
            ("stop_kind", "turns"),
            "turns up to the limit; as many where it was cut",
            (turns <= limit) & (~cut | (turns == limit)),
        ),
    ]
