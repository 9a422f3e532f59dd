"""Rows of parsed replies against the responses they were read from, and trajectories against those rows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.audit.recompute._ledger import Ints, Ledger, Sheet
from magister.audit.recompute._project import MissingError, Project

# One line that says nothing but the answer. Anything else is the readers' business, not ours.
_PLAIN_ANSWER = re.compile(r"^Answer: (\S.*)$")
_PLAIN_VERDICT = re.compile(r"^Verdict: (correct|wrong)\n")


@dataclass(frozen=True)
class Reply:
    """What a response file says of one request; the text is empty where there is none."""

    text: str
    finish_reason: str | None
    error: str | None
    prompt_tokens: int | None
    completion_tokens: int | None


def read_replies(project: Project, path: str) -> dict[str, Reply]:
    """Replies of a response file, by request.

    Args:
        project: where the file is.
        path: of the response file; a line that is no response is noted and left out.

    Raises:
        MissingError: the file is not there.
    """
    found: dict[str, Reply] = {}
    for number, line in enumerate(project.text(path).splitlines(), start=1):
        try:
            row = json.loads(line)
            found[row["custom_id"]] = _reply(row)
        except (ValueError, KeyError, TypeError, IndexError):
            project.ledger.add(path, f"line {number}", "replies: a response file", line[:80], "a response")
    return found


def _reply(row: Mapping[str, Any]) -> Reply:
    if row["error"] is not None:
        return Reply("", None, str(row["error"]["code"]), None, None)
    body = row["response"]["body"]
    message, usage = body["choices"][0]["message"], body.get("usage") or {}
    return Reply(
        message.get("content") or message.get("refusal") or "",
        body["choices"][0].get("finish_reason"),
        None,
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
    )


def hold_replies(
    ledger: Ledger, sheet: Sheet, replies: Mapping[str, Reply], asked: Ints | None = None
) -> None:
    """Rows of answers, guides or revisions against the responses to their requests.

    Texts, finish reasons, errors and tokens are those of the response; a failed call has status `error`, a prompt
    beyond the window `context_exceeded`, and nothing else has either; a reply cut off by a filter is a refusal.

    Args:
        ledger: for findings.
        sheet: table with request_id, text, status, finish_reason, error and tokens.
        replies: by request.
        asked: rows that were asked for; all by default.
    """
    rows = np.arange(len(sheet)) if asked is None else asked
    ids = sheet.texts("request_id")[rows]
    said = [replies.get(name) for name in ids.tolist()]
    lost = np.array([reply is None for reply in said], dtype=bool)
    ledger.refuse(
        sheet, "request_id", lost, "replies: every request has a response", ids, "a response", rows=rows
    )
    rows, known = rows[~lost], [reply for reply in said if reply is not None]
    for column in ("text", "finish_reason", "error", "prompt_tokens", "completion_tokens"):
        wanted = np.array([getattr(reply, column) for reply in known] or [None], dtype=object)[: len(known)]
        seen = sheet.texts(column)[rows]
        ledger.count("replies: what the response says", rows.size)
        ledger.refuse(sheet, column, np.asarray(seen != wanted, dtype=bool), "replies: what the response says",
                      seen, wanted, rows=rows)  # fmt: skip
    status = sheet.texts("status")[rows]
    failed = np.array(
        ["" if reply.error is None else "context_exceeded" if reply.error == "context_length" else "error"
         for reply in known] or [""], dtype=object)[: len(known)]  # fmt: skip
    filtered = np.array([reply.finish_reason == "content_filter" for reply in known] or [False])[: len(known)]
    broken = np.array(
        [reply.finish_reason in ("error", "abort", "cancelled", "timeout") for reply in known] or [False]
    )
    wrong = np.where(
        failed != "", status != failed, np.isin(status, ["error", "context_exceeded"]) & ~broken[: len(known)]
    )
    wrong = np.asarray(wrong, dtype=bool) | (filtered & (failed == "") & (status != "refusal"))
    ledger.count("replies: the status of a failed call", rows.size)
    wanted = np.where(failed != "", failed, np.where(filtered, "refusal", "no failure"))
    ledger.refuse(sheet, "status", wrong, "replies: the status of a failed call", status, wanted, rows=rows)
    cut = np.array(
        [reply.finish_reason in ("length", "max_tokens", "model_length") for reply in known] or [False]
    )
    off = (status == "truncated") & ~cut[: len(known)]
    # A reply may also be cut inside its reasoning by the engine's own rule; only the finish reason says so.
    ledger.refuse(sheet, "status", off, "replies: truncated means stopped by the limit", status,
                  "another status: the reply was not stopped by its limit", rows=rows)  # fmt: skip


def hold_correct(
    ledger: Ledger, sheet: Sheet, items: Mapping[str, Mapping[str, Any]], rows: Ints | None = None
) -> None:
    """`correct` of answers: status ok and the key; unknown where a call failed. And plain replies, read again.

    Args:
        ledger: for findings.
        sheet: ANSWERS or REVISIONS.
        items: by id, with `key`, `options` and `multi`.
        rows: rows to look at; all by default.
    """
    at = np.arange(len(sheet)) if rows is None else rows
    ids, status, answer = (sheet.texts(name)[at] for name in ("item_id", "status", "answer"))
    lost = np.array([name not in items for name in ids.tolist()], dtype=bool)
    ledger.refuse(sheet, "item_id", lost, "answers: an item of the league", ids, "an item", rows=at)
    at, ids, status, answer = (values[~lost] for values in (at, ids, status, answer))
    key = np.array([items[name]["key"] for name in ids.tolist()] or [None], dtype=object)[: ids.size]
    wanted = np.where(status == "error", np.nan, ((status == "ok") & (answer == key)).astype(np.float64))
    ledger.compare(sheet, "correct", wanted, "answers: correct is the key", rows=at)
    odd = (status == "ok") != np.array([value is not None for value in answer.tolist()] or [False])[
        : ids.size
    ]
    ledger.refuse(sheet, "answer", np.asarray(odd, dtype=bool), "answers: an answer with status ok alone", answer,
                  "an answer with status ok, null without", rows=at)  # fmt: skip
    _hold_spans(ledger, sheet, at)
    plain = np.array([plain_answer(text, items[name]) for text, name in zip(sheet.texts("text")[at], ids, strict=True)]
                     or [None], dtype=object)[: ids.size]  # fmt: skip
    read = np.array([letter is not None for letter in plain.tolist()] or [False])[: ids.size]
    ledger.count("answers: plain replies, read again", int(read.sum()))
    ledger.refuse(sheet, "answer", read & np.asarray(answer != plain, dtype=bool), "answers: plain replies, read again",
                  answer, plain, rows=at)  # fmt: skip


def _hold_spans(ledger: Ledger, sheet: Sheet, rows: Ints) -> None:
    """Where an answer stands in its reply: within it, the end after the start."""
    start, end = (sheet.numbers(f"span_{part}")[rows] for part in ("start", "end"))
    size = np.array([len(text or "") for text in sheet.texts("text")[rows].tolist()] or [0])[: rows.size]
    check = "identity: an answer stands in its reply"
    ledger.count(check, int((~np.isnan(start)).sum()))
    with np.errstate(invalid="ignore"):
        off = (start < 0) | (end > size) | (start > end) | (np.isnan(start) != np.isnan(end))
    said = np.array(
        [f"{a:g} to {b:g} of {n}" for a, b, n in zip(start, end, size, strict=True)], dtype=object
    )
    ledger.refuse(sheet, "span_start + span_end", off, check, said, "a part of the reply", rows=rows)


def hold_asked(ledger: Ledger, sheet: Sheet) -> None:
    """Students that were not asked keep an answer, or have none after a failure; their rows hold no tokens.

    Args:
        ledger: for findings.
        sheet: REVISIONS.
    """
    rules = sheet.texts("rule").astype(str)
    kept = np.char.startswith(rules.astype(str), "kept:") | np.char.startswith(
        rules.astype(str), "not_asked:"
    )
    asked = sheet.numbers("asked") == 1
    check = "revisions: the rule says whether anybody was asked"
    ledger.count(check, len(sheet))
    ledger.refuse(
        sheet, "asked", asked == kept, check, asked, "asked, or a rule that keeps the answer before"
    )
    for column in ("prompt_tokens", "completion_tokens"):
        seen = sheet.numbers(column)
        ledger.refuse(sheet, column, ~asked & ~np.isnan(seen), check, seen, "null: nobody was asked")


def plain_answer(text: str | None, item: Mapping[str, Any]) -> str | None:
    """The letter that a reply of the one line "Answer: X" gives, X being the text of one option; else None."""
    found = _PLAIN_ANSWER.match(text or "")
    if found is None or item["multi"]:
        return None
    said = found.group(1).strip()
    exact = [k for k, option in enumerate(item["options"]) if option.strip() == said]
    folded = [k for k, option in enumerate(item["options"]) if option.strip().casefold() == said.casefold()]
    return ascii_uppercase[exact[0]] if len(exact) == 1 and exact == folded and len(said) > 1 else None


def hold_guides(ledger: Ledger, sheet: Sheet) -> None:
    """Guides: the worst leak is that of its spans, and a plain verdict in the first line is the verdict.

    Args:
        ledger: for findings.
        sheet: GUIDES.
    """
    leaks = []
    for spans in sheet.texts("leak_spans").tolist():
        kinds = {span[2] for span in json.loads(spans)} if spans else set()
        leaks.append("gold" if "gold" in kinds else "option" if kinds else "none")
    ledger.compare(
        sheet, "leak", np.array(leaks or [""], dtype=object)[: len(leaks)], "guides: the worst of its leaks"
    )
    texts, verdicts = sheet.texts("text"), sheet.texts("verdict")
    plain = np.full(len(sheet), None, dtype=object)
    for row, text in enumerate(texts.tolist()):
        found = _PLAIN_VERDICT.match(text or "")
        if (
            found
            and text.lower().count("verdict") == 1
            and not re.search(r"(?i)\b(in)?correct|wrong|right\b", text[found.end() :])
        ):
            plain[row] = found.group(1)
    read = np.array([word is not None for word in plain.tolist()] or [False])[: len(sheet)]
    off = read & np.asarray(verdicts != plain, dtype=bool) & (sheet.texts("status") == "ok")
    ledger.count("guides: plain verdicts, read again", int(read.sum()))
    ledger.refuse(sheet, "verdict", off, "guides: plain verdicts, read again", verdicts, plain)


def hold_join(
    ledger: Ledger, left: Sheet, right: pa.Table, columns: Mapping[str, str], on: Sequence[str], check: str
) -> None:
    """Columns of a long table against the rows they were joined from, without a loop over rows.

    Args:
        ledger: for findings.
        left: the long table.
        right: the rows, one for each key.
        columns: column of `left` by column of `right` that it repeats.
        on: the key, in both.
        check: name of the check.
    """
    here = left.table.select([*on, *columns]).append_column("__row", pa.array(np.arange(len(left))))
    there = right.select([*on, *columns.values()]).rename_columns([*on, *(f"__{name}" for name in columns)])
    there = there.append_column("__there", pa.repeat(pa.scalar(True), there.num_rows))
    both = here.join(there, list(on), join_type="left outer")
    rows = np.asarray(both["__row"].to_numpy(), dtype=np.int64)
    lost = np.asarray(pc.is_null(both["__there"]).to_numpy())
    if lost.any():
        ledger.refuse(left, "", np.ones(int(lost.sum()), dtype=bool), f"rows: {check}", ["a row"] * int(lost.sum()),
                      "no such row", rows=rows[lost])  # fmt: skip
    if both.num_rows != len(left):
        seen = f"{both.num_rows - len(left)} keys stand twice in what it is made of"
        ledger.add(left.path, "", f"rows: {check}", seen, "one row of each key")
    for name in columns:
        differs = pc.fill_null(pc.not_equal(both[name], both[f"__{name}"]), False)
        one = pc.xor(pc.is_null(both[name]), pc.is_null(both[f"__{name}"]))
        off = np.asarray(pc.or_(differs, one).to_numpy(zero_copy_only=False)) & ~lost
        ledger.count(check, len(left))
        at = np.flatnonzero(off)
        if at.size:
            seen, wanted = (both[column].take(pa.array(at)).to_pylist() for column in (name, f"__{name}"))
            ledger.refuse(left, name, np.ones(at.size, dtype=bool), check, seen, wanted, rows=rows[at])


def items_by_id(table: pa.Table) -> dict[str, dict[str, Any]]:
    """Items by their id: key, options and multi."""
    rows = table.select(["item_id", "key", "options", "multi"]).to_pylist()
    return {row["item_id"]: row for row in rows}


def replies_beside(project: Project, path: str, found: dict[str, dict[str, Reply]]) -> dict[str, Reply]:
    """Replies of the response file beside a table, read once; none where it is missing."""
    name = f"{path.removesuffix('.parquet')}.responses.jsonl"
    if name not in found:
        try:
            found[name] = read_replies(project, name)
        except MissingError:
            found[name] = {}
    return found[name]


__all__ = ["NDArray", "Reply", "hold_asked", "hold_correct", "hold_guides", "hold_join", "hold_replies", "items_by_id",
           "plain_answer", "read_replies", "replies_beside"]  # fmt: skip
