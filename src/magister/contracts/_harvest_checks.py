"""What free-form answers and the distractors harvested from them promise beyond their contracts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import (
    Codes,
    Mask,
    facts,
    matches,
    member,
    numbers,
    positions,
    row_codes,
    same,
)
from magister.contracts._reply_checks import reply_checks, status_is
from magister.contracts.gate import Expectation, RowCheck, RowCount


def free_answer_checks(
    answers: pa.Table, pool: pa.Table, models: Sequence[str], samples: int, rules: Collection[str]
) -> list[Expectation]:
    """Every model answers every open question so often, and nothing else.

    Args:
        answers: FREE_ANSWERS of all distractor models.
        pool: POOL.
        models: the distractor models.
        samples: draws per question.
        rules: names of the rules that read values.
    """
    open_items = pool.filter(pc.is_null(pool["options"]))["item_id"]
    asked = len(models) * len(open_items) * samples
    listed = f"one of {', '.join(sorted(models))}"
    sample = numbers(answers["sample"])

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("free_answers", name, columns, expected, passed)

    return [
        RowCount(
            "free_answers",
            asked,
            f"{len(models)} models x {len(open_items)} open questions x {samples} samples",
        ),
        check("model_configured", ("model",), listed, member(answers["model"], models)),
        check(
            "item_is_open", ("item_id",), "a question without options", member(answers["item_id"], open_items)
        ),
        check("sample_drawn", ("sample",), f"a sample below {samples}", sample < samples),
        *reply_checks("free_answers", answers, rules),
    ]


def _places_within(group: Codes, order_by: Codes) -> Codes:
    """Place of each row within its group, from 1."""
    order = np.lexsort((order_by, group))
    ordered = group[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]] if group.size else np.zeros(0, dtype=bool)
    starts = np.maximum.accumulate(np.where(first, np.arange(group.size), 0))
    place = np.empty(group.size, dtype=np.int64)
    place[order] = np.arange(group.size) - starts + 1
    return place


def _all_traced(distractors: pa.Table, answers: pa.Table) -> Mask:
    """Rows with requests, each of which brought an answer to the row's own item."""
    lists = distractors["request_ids"].combine_chunks()
    row = pc.list_parent_indices(lists)
    given = pa.table({"item_id": distractors["item_id"].take(row), "request_id": lists.flatten()})
    found = (
        positions(given, answers.filter(pa.array(status_is(answers, "ok"))), ("item_id", "request_id")) >= 0
    )
    traced = np.asarray(pc.fill_null(pc.list_value_length(lists), 0).to_numpy()) > 0
    traced[row.to_numpy()[~found]] = False
    return traced


def distractor_checks(
    distractors: pa.Table,
    answers: pa.Table,
    pool: pa.Table,
    models: Sequence[str],
    samples: int,
    max_chars: int,
) -> list[Expectation]:
    """Every distractor is a wrong answer that was given.

    Args:
        distractors: DISTRACTORS.
        answers: FREE_ANSWERS of all distractor models.
        pool: POOL.
        models: the distractor models.
        samples: draws per question.
        max_chars: length of the longest distractor.
    """
    open_items = pool.filter(pc.is_null(pool["options"]))
    known, source = facts(distractors, open_items, "item_id", ("gold",))
    item = row_codes(distractors, ["item_id"])
    _, candidate, times = np.unique(
        row_codes(distractors, ["item_id", "canonical"]), return_inverse=True, return_counts=True
    )
    place = _places_within(item, row_codes(distractors, ["rank"]))
    n_models, n_answers = (numbers(distractors[name]) for name in ("n_models", "n_answers"))
    n_requests = numbers(pc.list_value_length(distractors["request_ids"]))
    fit = (n_models <= np.minimum(n_answers, len(models))) & (n_answers <= len(models) * samples)
    text = distractors["text"]
    line = matches(text, r"^[^\n\r]*\S[^\n\r]*$") & (numbers(pc.utf8_length(text)) <= max_chars)

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("distractors", name, columns, expected, passed)

    return [
        check("item_is_open", ("item_id",), "a question without options", known),
        check(
            "ranks_consecutive",
            ("rank",),
            "ranks 1, 2, ... within an item",
            numbers(distractors["rank"]) == place,
        ),
        check("text_is_one_line", ("text",), f"one line of 1 to {max_chars} characters", line),
        check(
            "differs_from_gold",
            ("text",),
            "another text than the gold",
            ~same(pc.utf8_trim_whitespace(text), pc.utf8_trim_whitespace(source["gold"])),
        ),
        check(
            "value_once",
            ("canonical",),
            "no other candidate of the item with this value",
            (times == 1)[candidate],
        ),
        check(
            "counts_fit",
            ("n_models", "n_answers", "request_ids"),
            "no more models and answers than there are, and no more requests than answers",
            fit & (n_requests <= n_answers),
        ),
        check(
            "requests_traced",
            ("request_ids",),
            "requests that brought an answer to this item",
            _all_traced(distractors, answers),
        ),
    ]
