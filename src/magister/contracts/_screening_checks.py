"""What the screening of responses promises: every count, flag and twin is found again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import Codes, Mask, absent, numbers, places, true
from magister.contracts._diagnosis_grid import Floats, Responses
from magister.contracts._diagnosis_plan import DiagnosisPlan, ScreeningPlan
from magister.contracts._estimates import close
from magister.contracts.diagnosis_tables import SCREEN_FLAGS
from magister.contracts.gate import Expectation, RowCheck, RowCount

_COUNTS = ("n", "n_correct", "n_unparsed", "n_missing")
_KINDS = ("model", "item")


class _Side:
    """Counts of all models, or of all items."""

    def __init__(self, kind: str, responses: Responses) -> None:
        self.names = responses.models if kind == "model" else responses.items
        axis = 1 if kind == "model" else 0
        known = ~np.isnan(responses.correct)
        self.n = known.sum(axis=axis)
        self.n_correct = (responses.correct == 1).sum(axis=axis)
        self.n_unparsed = responses.unparsed.sum(axis=axis)
        self.n_missing = responses.absent.sum(axis=axis)
        self.replies = (~responses.absent).sum(axis=axis)


def _flagged(table: pa.Table, flag: str) -> Mask:
    lists = table["flags"].combine_chunks()
    lists = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
    found = np.zeros(table.num_rows, dtype=bool)
    rows = pc.list_parent_indices(lists).to_numpy()
    found[rows[true(pa.chunked_array([pc.equal(lists.flatten(), flag)]))]] = True
    return found


def _twins(responses: Responses, options: ScreeningPlan) -> Codes:
    """Where responses must be equal in their gaps too: the first model that responds as each does, -1 for none."""
    correct = np.where(np.isnan(responses.correct), -1, responses.correct).astype(np.int8)
    n, right = (correct >= 0).sum(axis=1), (correct == 1).sum(axis=1)
    able = np.flatnonzero((n >= max(options.duplicate_items, 1)) & (right > 0) & (right < n))
    twin = np.full(len(correct), -1, dtype=np.int64)
    first: dict[bytes, int] = {}
    for at in able.tolist():
        before = first.setdefault(correct[at].tobytes(), at)
        twin[at] = before if before != at else -1
    return twin


def _alike(responses: Responses, one: Codes, other: Codes, options: ScreeningPlan) -> Mask:
    """Pairs of models that have enough items in common and agree in enough of them."""
    passed = np.zeros(one.size, dtype=bool)
    for at, (a, b) in enumerate(zip(one.tolist(), other.tolist(), strict=True)):
        if a < 0 or b < 0:
            continue
        pair = responses.correct[[a, b]]
        common = ~np.isnan(pair).any(axis=0)
        agreed = int((pair[0] == pair[1])[common].sum())
        enough = int(common.sum()) >= options.duplicate_items
        passed[at] = enough and agreed >= options.duplicate_agreement * int(common.sum())
    return passed


def _few(responses: Responses, stays: Sequence[Mask], options: ScreeningPlan) -> list[Mask]:
    """Models and items with few responses among those that stay."""
    known = ~np.isnan(responses.correct)
    stays = [stay.copy() for stay in stays]
    while True:
        counts = [(known & stays[1]).sum(axis=1), (known & stays[0][:, None]).sum(axis=0)]
        empty = [stay & (count == 0) for stay, count in zip(stays, counts, strict=True)]
        if not any(part.any() for part in empty):
            break
        stays = [stay & ~part for stay, part in zip(stays, empty, strict=True)]
    least = (options.min_items, options.min_models)
    return [count < max(number, 1) for count, number in zip(counts, least, strict=True)]


def screening_checks(table: pa.Table, responses: Responses, plan: DiagnosisPlan) -> list[Expectation]:
    """Checks on SCREENING.

    Args:
        table: models and items with their flags.
        responses: of the study.
        plan: what the study was to hold.
    """
    options = plan.screening
    kind = places(table["kind"], _KINDS)
    sides = [_Side(name, responses) for name in _KINDS]
    place = np.full(table.num_rows, -1, dtype=np.int64)
    for number, side in enumerate(sides):
        place = np.where(kind == number, places(table["name"], side.names), place)
    known = place >= 0

    def read(of_sides: Sequence[Floats | Mask | Codes]) -> Floats:
        """Values of both sides by row."""
        out = np.full(table.num_rows, np.nan)
        for number, values in enumerate(of_sides):
            rows = known & (kind == number)
            out[rows] = values[place[rows]]
        return out

    counts = {name: read([getattr(side, name) for side in sides]) for name in (*_COUNTS, "replies")}
    n, right = counts["n"], counts["n_correct"]
    is_model = kind == 0
    flags = {flag: _flagged(table, flag) for flag in SCREEN_FLAGS}
    failed = (
        (counts["n_unparsed"] > 0)
        & (right <= options.format_share * counts["replies"])
        & (counts["n_unparsed"] >= options.format_unparsed * counts["replies"])
    )
    dropped = np.logical_or.reduce([flags[flag] for flag in options.drop] or [np.zeros_like(known)])
    kept = true(table["kept"])
    stays = [np.zeros(len(side.names), dtype=bool) for side in sides]
    for number, stay in enumerate(stays):
        stay[place[known & (kind == number) & kept]] = True
    few = read(_few(responses, stays, options)) == 1
    share = np.divide(right, n, out=np.full(n.shape, np.nan), where=n > 0)
    twin = np.where(is_model, places(table["duplicate_of"], responses.models), -1)
    has_twin = ~absent(table["duplicate_of"])
    row_of = np.full(len(responses.models), -1, dtype=np.int64)
    row_of[place[known & is_model]] = np.flatnonzero(known & is_model)
    single = np.zeros(table.num_rows, dtype=bool)
    found = (twin >= 0) & (row_of[np.maximum(twin, 0)] >= 0) if row_of.size else single
    single[found] = ~has_twin[row_of[twin[found]]]
    alike = _alike(responses, np.where(has_twin & is_model, place, -1), twin, options)
    twins = ~has_twin | (alike & single & (twin < place))
    if options.duplicate_agreement >= 1:
        own = known & is_model
        twins[own] &= _twins(responses, options)[place[own]] == twin[own]

    def check(name: str, columns: tuple[str, ...], expected: str, passed: Mask) -> RowCheck:
        return RowCheck("screening", name, columns, expected, passed)

    named = sum(len(side.names) for side in sides)
    return [
        RowCount("screening", named, "the models and the items of the responses"),
        check("name_in_responses", ("kind", "name"), "a model or an item of the responses", known),
        check(
            "counts_of_responses",
            _COUNTS,
            "known, right, unreadable and unknown responses, counted again",
            ~known | np.logical_and.reduce([numbers(table[name]) == counts[name] for name in _COUNTS]),
        ),
        check(
            "share_of_counts",
            ("share", "n", "n_correct"),
            "n_correct / n, and none without a response",
            ~known | close(numbers(table["share"]), share),
        ),
        check(
            "flags_once",
            ("flags",),
            "each flag once, in the order of the contract, and those of formats and twins at models alone",
            _in_order(table) & (is_model | ~(flags["format_failed"] | flags["duplicate"])),
        ),
        check(
            "constant_flagged",
            ("flags", "n", "n_correct"),
            "all_right or all_wrong where all known responses are, and only there",
            ~known
            | (flags["all_right"] == ((n > 0) & (right == n)))
            & (flags["all_wrong"] == ((n > 0) & (right == 0))),
        ),
        check(
            "format_flagged",
            ("flags", "n_unparsed"),
            "format_failed where few replies are right and many cannot be read, and only there",
            ~known | ~is_model | (flags["format_failed"] == failed),
        ),
        check(
            "few_flagged",
            ("flags", "n"),
            "few_responses where few are left among what stays, and only there",
            ~known | (flags["few_responses"] == few),
        ),
        check(
            "twin_named",
            ("flags", "duplicate_of"),
            "a twin where the flag says duplicate, and only there",
            flags["duplicate"] == has_twin,
        ),
        check(
            "twins_alike",
            ("name", "duplicate_of"),
            "the first model by name that responds alike and is itself no duplicate",
            twins,
        ),
        check(
            "kept_by_flags",
            ("flags", "kept", "n"),
            f"left out by the flags {', '.join(options.drop) or '(none)'}, or without any response",
            ~known | (kept == ~(dropped | (n == 0))),
        ),
    ]


def _in_order(table: pa.Table) -> Mask:
    """Lists of flags that name each once, in their order, and no other."""
    lists = table["flags"].to_pylist()
    return np.array(
        [told == [flag for flag in SCREEN_FLAGS if flag in (told or [])] for told in lists], dtype=bool
    )
