"""What students were asked after a guide and what they then answered promise beyond their contracts."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import Mask, absent, agree, all_agree, facts, same, taken, true
from magister.contracts._league import Grid, Replies, at, place_checks
from magister.contracts._reply_checks import choice_checks, reply_checks, sized
from magister.contracts.gate import RowCheck

_KEPT = ("text", "answer", "correct", "status", "span_start", "span_end")


def _is(column: pa.ChunkedArray, word: str) -> Mask:
    return true(pc.equal(column, word))


def asked_checks(rows: pa.Table, guides: pa.Table, replies: Replies, grid: Grid) -> list[RowCheck]:
    """Students were asked where a guide gave them something to act on, and only there.

    Args:
        rows: ASKED of the students.
        guides: GUIDES.
        replies: the students' replies.
        grid: the places of the league.
    """
    name = "revisions_asked"
    place = at(grid.rows(guides), grid.number(rows))
    told = taken(guides, place, ("arm", "status", "guidance", "verdict"))
    replied, before = replies.take(grid.number(rows, -1), ("status",))
    says = ~_is(pc.utf8_trim_whitespace(told["guidance"]), "") | ~_is(told["verdict"], "none")
    ended = _is(told["status"], "error") | _is(before["status"], "error")
    expected = ~ended & (says | _is(rows["arm"], "self_revise"))
    return [
        *place_checks(name, rows, grid),
        RowCheck(
            name,
            "asked_where_told",
            ("request_id",),
            "a request where a guide said something and nothing failed before, and only there",
            (absent(rows["request_id"]) != expected) | (place < 0) | ~replied,
        ),
        RowCheck(name, "nothing_scrubbed", ("scrubbed",), "nothing removed", absent(rows["scrubbed"])),
    ]


def revision_checks(
    rows: pa.Table,
    items: pa.Table,
    asked: pa.Table,
    guides: pa.Table,
    replies: Replies,
    grid: Grid,
    rules: Collection[str],
) -> list[RowCheck]:
    """Revisions were asked for, or are the answers of the round before.

    Args:
        rows: REVISIONS.
        items: ITEMS of the league.
        asked: ASKED of the students.
        guides: GUIDES.
        replies: the students' replies.
        grid: the places of the league.
        rules: names of the rules that read choices.
    """
    known, truth = facts(rows, sized(items), "item_id", ("key", "n_options"))
    number = grid.number(rows)
    inside = number >= 0
    place = at(grid.rows(asked), number)
    request = agree(rows["request_id"], taken(asked, place, ("request_id",))["request_id"])
    spoken = true(rows["asked"])
    status = taken(guides, at(grid.rows(guides), number), ("status",))["status"]
    replied, before = replies.take(grid.number(rows, -1), _KEPT)
    guide_failed, reply_failed = _is(status, "error"), _is(before["status"], "error")
    ended = guide_failed | reply_failed
    cause = pc.if_else(pa.array(guide_failed), "not_asked:guide", "not_asked:earlier_answer")
    stopped = _is(rows["status"], "error") & ~spoken & same(rows["rule"], pa.chunked_array([cause]))
    rule = same(rows["rule"], pc.binary_join_element_wise("kept:", status, ""))
    kept = rule & all_agree(rows.select(_KEPT), before)

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("revisions", name, columns, expected, passed)

    return [
        *place_checks("revisions", rows, grid),
        *reply_checks("revisions", rows, rules, spoken),
        *choice_checks("revisions", rows, known, truth["key"], truth["n_options"]),
        check(
            "request_as_asked",
            ("asked", "request_id"),
            "as in revisions_asked: a request where the student was asked, and only there",
            ~inside | (place >= 0) & request & (spoken != absent(rows["request_id"])),
        ),
        check(
            "stopped_after_failure",
            ("status", "rule", "asked"),
            "status error and no request after a guide or an answer with an error",
            ~inside | ~ended | stopped,
        ),
        check(
            "kept_as_before",
            ("rule", *_KEPT),
            "the answer of the round before where the student was not asked",
            ~inside | spoken | ended | replied & kept,
        ),
    ]
