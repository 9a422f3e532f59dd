"""What the answers of the ladder and the bands that follow from them promise beyond their contracts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import Mask, absent, facts, member, numbers, places, positions, same, true
from magister.contracts._reply_checks import choice_checks, reply_checks, sized, status_is
from magister.contracts.gate import Expectation, RowCheck, RowCount

_ROUNDING = 1e-12


def ladder_checks(
    answers: pa.Table, items: pa.Table, ladder: Sequence[str], rules: Collection[str]
) -> list[Expectation]:
    """Every model of the ladder answers every item.

    Args:
        answers: ANSWERS of the ladder.
        items: ITEMS.
        ladder: models, weakest first.
        rules: names of the rules that read choices.
    """
    known, truth = facts(answers, sized(items), "item_id", ("key", "n_options"))
    listed = f"one of {', '.join(ladder)}"
    return [
        RowCount(
            "ladder_answers",
            len(ladder) * items.num_rows,
            f"{len(ladder)} models x {items.num_rows} items",
        ),
        RowCheck("ladder_answers", "model_in_ladder", ("model",), listed, member(answers["model"], ladder)),
        RowCheck("ladder_answers", "answer_to_an_item", ("item_id",), "an item", known),
        *reply_checks("ladder_answers", answers, rules),
        *choice_checks("ladder_answers", answers, known, truth["key"], truth["n_options"]),
    ]


def _patterns(bands: pa.Table, answers: pa.Table, ladder: Sequence[str]) -> pa.ChunkedArray:
    """What the ladder's answers say of each banded item: 1 right, 0 not, ? no answer."""
    row, model = positions(answers, bands, ["item_id"]), places(answers["model"], ladder)
    used = (row >= 0) & (model >= 0)
    symbol = np.where(true(answers["correct"]), b"1", b"0")
    symbol[status_is(answers, "error")] = b"?"
    marks = np.full((bands.num_rows, max(len(ladder), 1)), b"?", dtype="S1")
    marks[row[used], model[used]] = symbol[used]
    text = pa.array(marks.view(f"S{marks.shape[1]}").ravel(), pa.binary(marks.shape[1]))
    return pa.chunked_array([text.cast(pa.binary())]).cast(pa.string())


def band_checks(
    bands: pa.Table, items: pa.Table, answers: pa.Table, ladder: Sequence[str], cuts: Sequence[float]
) -> list[Expectation]:
    """Bands say what the ladder answered.

    Args:
        bands: BANDS.
        items: ITEMS.
        answers: ANSWERS of the ladder.
        ladder: models, weakest first.
        cuts: ascending means that part the bands.
    """
    given = answers.filter(pa.array(~status_is(answers, "error")))
    answered = int(member(items["item_id"], given["item_id"]).sum())
    pattern = bands["pass_pattern"]
    solved, silent = (numbers(pc.count_substring(pattern, word)) for word in "1?")
    n_answered = numbers(bands["n_answered"])
    mean = solved / np.maximum(numbers(pc.utf8_length(pattern)) - silent, 1)
    ladder_mean = numbers(bands["ladder_mean"])
    grade = 5 - np.searchsorted(np.asarray(cuts) + _ROUNDING, ladder_mean, side="left")
    rising = ~true(pc.match_substring_regex(pattern, "1.*0"))
    unsolved = (solved == 0) & (silent == 0)

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("bands", name, columns, expected, passed)

    return [
        RowCount("bands", answered, "items that a model of the ladder answered"),
        check("band_of_an_item", ("item_id",), "an item", member(bands["item_id"], items["item_id"])),
        check(
            "pattern_of_ladder",
            ("pass_pattern",),
            f"the answers of {', '.join(ladder)} in this order",
            same(pattern, _patterns(bands, answers, ladder)),
        ),
        check(
            "answers_counted",
            ("pass_pattern", "n_answered"),
            "`n_answered` as the pattern has it, at least 1",
            (n_answered == numbers(pc.utf8_length(pattern)) - silent) & (n_answered > 0),
        ),
        check(
            "unsolved_follows",
            ("pass_pattern", "unsolved"),
            "`unsolved` where all answered and none was right",
            true(bands["unsolved"]) == unsolved,
        ),
        check(
            "monotone_follows",
            ("pass_pattern", "monotone"),
            "`monotone` where no weaker model solves what a stronger one does not",
            true(bands["monotone"]) == rising,
        ),
        check(
            "mean_follows",
            ("pass_pattern", "ladder_mean"),
            "the share of answers that are right",
            ~absent(bands["ladder_mean"]) & (np.abs(ladder_mean - mean) <= _ROUNDING),
        ),
        check(
            "band_follows",
            ("ladder_mean", "band"),
            "the band that the mean falls in",
            numbers(bands["band"]) == grade,
        ),
    ]
