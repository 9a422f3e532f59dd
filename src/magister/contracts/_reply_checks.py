"""What every table of replies promises: a status that fits the answer, a span that lies in the text."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import Mask, absent, matches, member, numbers, same, text_lengths, true
from magister.contracts._small import LETTERS, letters_fit
from magister.contracts.gate import RowCheck

FAILED = ("error", "context_exceeded")
# What stands for a rule where no text was read.
_UNREAD = ("none", *FAILED, "content_filter")
_PASSED_ON = r"^(?:kept:.|not_asked:(?:guide|earlier_answer)$)"


@dataclass(frozen=True)
class ReadingRules:
    """Names of the rules that a reply is read by.

    Attributes:
        choice: rules that find an option.
        value: rules that find a value.
        verdict: rules that find a verdict.
    """

    choice: Collection[str]
    value: Collection[str] = ()
    verdict: Collection[str] = ()


def status_is(rows: pa.Table, *words: str) -> Mask:
    """Rows of these statuses."""
    return member(rows["status"], words)


def reply_checks(
    table: str, rows: pa.Table, rules: Collection[str], asked: Mask | None = None
) -> list[RowCheck]:
    """Checks on replies, whatever they answer.

    Args:
        table: name of the table.
        rows: ANSWERS, FREE_ANSWERS or REVISIONS.
        rules: names of the rules that read such a reply.
        asked: rows in which a model spoke; all of them by default.
    """
    spoken = np.ones(rows.num_rows, dtype=bool) if asked is None else asked
    ok, failed = status_is(rows, "ok"), status_is(rows, *FAILED)
    no_span = absent(rows["span_start"])
    start, end = (np.nan_to_num(numbers(rows[name])) for name in ("span_start", "span_end"))
    whole = no_span == absent(rows["span_end"])
    inside = (start <= end) & (end <= text_lengths(rows["text"]))
    coded = ~absent(rows["error"])
    silent = true(pc.equal(rows["text"], ""))
    unread = status_is(rows, "error") & same(
        rows["rule"], pa.chunked_array([pa.repeat("call_failed", rows.num_rows)])
    )
    overflow = status_is(rows, "context_exceeded") == true(pc.equal(rows["error"], "context_length"))
    known = member(rows["rule"], sorted({*rules, *_UNREAD})) | ~spoken & matches(rows["rule"], _PASSED_ON)
    span = ("status", "span_start", "span_end")

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck(table, name, columns, expected, passed)

    return [
        check("rule_known", ("rule",), "a rule that reads replies", known),
        check(
            "answer_where_ok",
            ("status", "answer"),
            "an answer where the status is ok, and only there",
            absent(rows["answer"]) != ok,
        ),
        check("span_where_ok", span, "a span where the status is ok", ~ok | ~no_span),
        check("span_paired", span, "both ends of a span or none", whole),
        check("span_within_text", (*span, "text"), "a span within the text", no_span | ~whole | inside),
        check(
            "failure_coded",
            ("status", "error", "rule"),
            "an error code where the call failed, and only there",
            ~spoken | (coded == failed) & (~coded | overflow) | unread & ~coded,
        ),
        check("failure_silent", ("error", "text"), "no text where the call failed", ~coded | silent),
    ]


def answers_fit(answers: pa.ChunkedArray, sizes: pa.ChunkedArray) -> Mask:
    """Whether every letter of an answer names an option; no answer names none."""
    coded = answers.combine_chunks().dictionary_encode()
    words = coded.dictionary.to_pylist()
    # The smallest number of options with which each answer is one; 27 for what is no answer at all.
    needs = np.array(
        [LETTERS.index(word[-1]) + 1 if letters_fit(word, 26) else 27 for word in words] + [0],
        dtype=np.int64,
    )
    codes = coded.indices.fill_null(len(words)).to_numpy()
    return np.asarray(needs[codes] <= pc.fill_null(sizes, 0).to_numpy(), dtype=bool)


def choice_checks(
    table: str, rows: pa.Table, known: Mask, key: pa.ChunkedArray, sizes: pa.ChunkedArray
) -> list[RowCheck]:
    """Checks on answers that are letters of options.

    Args:
        table: name of the table.
        rows: ANSWERS, REVISIONS or TRAJECTORIES.
        known: rows whose item is known.
        key: each row's right answer, null where the item is not known.
        sizes: each row's number of options.
    """
    unmarked = absent(rows["correct"])
    right = status_is(rows, "ok") & same(rows["answer"], key)

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck(table, name, columns, expected, passed)

    return [
        check(
            "correct_null_on_error",
            ("status", "correct"),
            "`correct` null on an error, and only then",
            unmarked == status_is(rows, "error"),
        ),
        check(
            "answer_within_options",
            ("answer",),
            "letters of options that are there",
            answers_fit(rows["answer"], sizes) | ~known,
        ),
        check(
            "correct_agrees_with_key",
            ("answer", "correct", "status"),
            "`correct` where the answer is the item's key, and only there",
            (true(rows["correct"]) == right) | unmarked | ~known,
        ),
    ]


def sized(items: pa.Table) -> pa.Table:
    """Items with their number of options."""
    return items.append_column("n_options", pc.list_value_length(items["options"]))
