"""What teachers were asked and what they said promise beyond their contracts."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import (
    Mask,
    absent,
    all_agree,
    largest_number,
    matches,
    member,
    taken,
    text_lengths,
    true,
)
from magister.contracts._league import Grid, Replies, at, place_checks
from magister.contracts._reply_checks import FAILED, status_is
from magister.contracts.gate import RowCheck
from magister.contracts.schemas import TEACHER_ARMS

_SCRUBBED = r'\{"round": \d+, "start": \d+, "end": \d+, "kind": "\w+"\}'
_LEAKED = r'\[\d+, \d+, "(?:gold|option)"\]'


def _listed(entry: str) -> str:
    """The pattern of a JSON list of such entries."""
    return rf"^\[{entry}(?:, {entry})*\]$"


def _longest_reply(replies: Replies, grid: Grid) -> np.ndarray:
    """By place, the length of the longest reply so far."""
    _, said = replies.take(np.arange(grid.size), ("text",))
    return np.maximum.accumulate(text_lengths(said["text"]).reshape(-1, grid.shape[3]), axis=1).ravel()


def asked_checks(rows: pa.Table, replies: Replies, grid: Grid) -> list[RowCheck]:
    """Teachers were asked about every reply, and saw no more than the league lets them.

    Args:
        rows: ASKED of the teachers.
        replies: the students' replies.
        grid: the places of the league.
    """
    name = "guides_asked"
    scrubbed, none = rows["scrubbed"], absent(rows["scrubbed"])
    before = at(_longest_reply(replies, grid), grid.number(rows, -1))
    strict = grid.plan.blindness == "strict"
    return [
        *place_checks(name, rows, grid),
        RowCheck(
            name,
            "only_teachers_asked",
            ("arm",),
            "an arm in which a teacher speaks",
            member(rows["arm"], TEACHER_ARMS),
        ),
        RowCheck(name, "request_named", ("request_id",), "a request", ~absent(rows["request_id"])),
        RowCheck(
            name,
            "scrubbed_where_strict",
            ("scrubbed",),
            f"nothing removed from replies unless blindness is strict (here {grid.plan.blindness})",
            none | strict,
        ),
        RowCheck(
            name,
            "scrubbed_spans",
            ("scrubbed",),
            "spans of earlier replies, as a list with round, start, end and kind",
            none
            | matches(scrubbed, _listed(_SCRUBBED)) & ((largest_number(scrubbed) <= before) | (before < 0)),
        ),
    ]


def guide_checks(rows: pa.Table, asked: pa.Table, grid: Grid, rules: Collection[str]) -> list[RowCheck]:
    """Every guide was asked for, and says what its status lets it say.

    Args:
        rows: GUIDES of teachers and control arms.
        asked: ASKED of the teachers.
        grid: the places of the league.
        rules: names of the rules that read verdicts.
    """
    number = grid.number(rows)
    inside = number >= 0
    place = at(grid.rows(asked), number)
    request = ("request_id", "scrubbed")
    as_asked = all_agree(rows.select(request), taken(asked, place, request))
    taught = member(rows["arm"], TEACHER_ARMS)
    ok, failed = status_is(rows, "ok"), status_is(rows, *FAILED)
    no_verdict = true(pc.equal(rows["verdict"], "none"))
    no_leak = true(pc.equal(rows["leak"], "none"))
    says_nothing = true(pc.equal(rows["guidance"], ""))
    no_text = true(pc.equal(rows["text"], ""))
    control_rule = true(pc.equal(rows["verdict_rule"], "control"))
    coded = ~absent(rows["error"])
    overflow = status_is(rows, "context_exceeded") == true(pc.equal(rows["error"], "context_length"))
    spans, no_spans = rows["leak_spans"], absent(rows["leak_spans"])
    gold = true(pc.equal(rows["leak"], "gold")) == true(pc.match_substring(spans, '"gold"'))
    guidance = text_lengths(rows["guidance"])
    control = (ok, no_verdict, control_rule, no_text, absent(rows["request_id"]), absent(rows["scrubbed"]))
    leak = ("leak", "leak_spans", "guidance")

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("guides", name, columns, expected, passed)

    return [
        *place_checks("guides", rows, grid),
        check("request_as_asked", request, "as in guides_asked", ~taught | ~inside | (place >= 0) & as_asked),
        check(
            "control_arms_unasked",
            ("status", "verdict", "verdict_rule", "request_id", "text"),
            "fixed words without a verdict in a control arm",
            taught | np.logical_and.reduce(control),
        ),
        check(
            "verdict_alone",
            ("arm", "guidance"),
            "no guidance in the arm verdict_only",
            ~member(rows["arm"], ["verdict_only"]) | says_nothing,
        ),
        check(
            "rule_known",
            ("verdict_rule",),
            "a rule that reads verdicts",
            ~taught | member(rows["verdict_rule"], sorted({*rules, *FAILED, "none"})),
        ),
        check(
            "failure_coded",
            ("status", "error"),
            "an error code where the call failed, and only there",
            (coded == failed) & (~coded | overflow),
        ),
        check("failure_silent", ("status", "text"), "no text where the call failed", ~failed | no_text),
        check(
            "silent_unless_heard",
            ("status", "verdict", "guidance"),
            "no verdict and no guidance of a call that failed or was refused",
            ~status_is(rows, *FAILED, "refusal") | no_verdict & says_nothing,
        ),
        check(
            "guidance_from_text",
            ("guidance", "text"),
            "no guidance without a text",
            ~taught | says_nothing | ~no_text,
        ),
        check(
            "leak_spans_where_leak", leak, "spans where there is a leak, and only there", no_spans == no_leak
        ),
        check(
            "leak_is_the_worst",
            leak,
            "leak gold where a span gives the gold away, and only there",
            gold | no_spans,
        ),
        check(
            "leak_spans_within_guidance",
            leak,
            "a list of [start, end, kind] within the guidance",
            no_spans | matches(spans, _listed(_LEAKED)) & (largest_number(spans) <= guidance),
        ),
    ]
