"""Schemas of dialogues: which request belongs to which turn, what was said, and how each dialogue ended."""

from __future__ import annotations

import pyarrow as pa

from magister.contracts.contract import Contract
from magister.contracts.contract import table_schema as _schema

TURN_STATUSES = ("ok", "truncated", "empty", "refusal", "context_exceeded", "error")
"""`truncated` goes on; the others after it end the dialogue."""
STOP_KINDS = ("end", "max_turns", "failed")
"""`end`: a direction led to END; `max_turns`: cut by the limit; `failed`: a turn could not be used."""
DIALOGUE_STATUSES = tuple(status for status in TURN_STATUSES if status != "truncated")

_s, _i, _b = pa.string(), pa.int32(), pa.bool_()
_DIALOGUE = {"dialogue_id": _s, "scenario": _s, "task_id": _s, "model": _s, "sample": _i}

# Which request asks whom for which turn. `model` is evaluated, `speaker` is the model that is asked.
DIALOGUE_ASKED = Contract(
    "dialogue_asked",
    _schema(_DIALOGUE | {"turn": _i, "agent": _s, "speaker": _s, "request_id": _s}),
    key=("dialogue_id", "turn"),
    ranges={"turn": (1, 1e3), "sample": (0, 1e6)},
    # Every dialogue of a wave has ended, or its speakers are others.
    may_be_empty=True,
)
# A row per turn. `text` is what the model said, `visible` what the others hear of it (the same without reasoning).
TRANSCRIPTS = Contract(
    "transcripts",
    _schema(
        _DIALOGUE
        | {"turn": _i, "agent": _s, "speaker": _s, "request_id": _s, "status": _s, "text": _s, "visible": _s},
        {"finish_reason": _s, "error": _s, "prompt_tokens": _i, "completion_tokens": _i},
    ),
    key=("dialogue_id", "turn"),
    allowed={"status": TURN_STATUSES},
    ranges={"turn": (1, 1e3), "sample": (0, 1e6)}
    | dict.fromkeys(("prompt_tokens", "completion_tokens"), (0.0, 1e9)),
    may_be_empty=True,
)
# A row per dialogue. `status` is that of its last turn, `ok` where that was cut short only; `n` counts turns of the
# evaluated agent that can be scored, `truncated` turns that the reply limit cut. After a stop nothing is played.
DIALOGUES = Contract(
    "dialogues",
    _schema(
        _DIALOGUE | {"status": _s, "stop_kind": _s, "turns": _i, "n": _i, "truncated": _i, "held_out": _b},
    ),
    key=("dialogue_id",),
    allowed={"status": DIALOGUE_STATUSES, "stop_kind": STOP_KINDS},
    ranges=dict.fromkeys(("turns", "n", "truncated"), (0.0, 1e3)) | {"sample": (0.0, 1e6)},
    may_be_empty=True,
)

RUBRICS_CONTRACTS = (DIALOGUE_ASKED, TRANSCRIPTS, DIALOGUES)
