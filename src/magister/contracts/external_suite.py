"""What the comparison with external boards promises: every teacher is looked up, every unknown says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts._columns import Mask, absent, numbers, positions, row_codes, taken, true
from magister.contracts._small import comparable
from magister.contracts.gate import Expectation, RowCheck, RowCount, Suite, Tables
from magister.contracts.schemas import COEFFICIENTS, META_EVALUATION, META_NAMES, METRICS

# Fewer models say nothing about a correlation; `magister.stats.MIN_MODELS`, which gates do not import.
_ENOUGH = 4
_PARTS = {"": "value", "difference_": "difference", "partial_": "partial"}
# Scores that were added up in another order may differ in the last bits.
_EQUAL = 1e-9


def external_suite(meta: pa.Table, names: pa.Table, teachers: Mapping[str, Sequence[str]]) -> Suite:
    """What the meta-evaluation and its table of names promise.

    Args:
        meta: META_EVALUATION.
        names: META_NAMES.
        teachers: teachers by league.

    Returns:
        Tables and expectations for `run_gate`.
    """
    tables: Tables = {"meta_evaluation": (META_EVALUATION, meta), "meta_names": (META_NAMES, names)}
    if not comparable(tables):
        return tables, []
    return tables, [*_meta_checks(meta, names, teachers), *_name_checks(names, teachers)]


def _meta_checks(meta: pa.Table, names: pa.Table, teachers: Mapping[str, Sequence[str]]) -> list[Expectation]:
    name = "meta_evaluation"
    within = true(pc.equal(meta["against"], "league"))
    looked_up = names.filter(pc.not_equal(names["league"], ""))
    used = looked_up.filter(pc.equal(looked_up["status"], "used"))
    sizes = pa.table(
        {
            "league": pa.array(list(teachers), pa.string()),
            "size": pa.array([len(members) for members in teachers.values()], pa.int64()),
        }
    )
    place = positions(meta, sizes, ["league"])
    on_board = positions(meta, looked_up, ["league", "board"]) >= 0
    is_ca = true(pc.equal(meta["board"], "CA")) & true(pc.not_equal(meta["metric"], "CA"))
    counted = used.group_by(["league", "board"]).aggregate([([], "count_all")])
    matched = numbers(
        taken(counted, positions(meta, counted, ["league", "board"]), ["count_all"])["count_all"]
    )
    limit = np.where(within, numbers(taken(sizes, place, ["size"])["size"]), np.nan_to_num(matched))
    models, paired = numbers(meta["n_models"]), numbers(meta["n_paired"])
    whole = numbers(meta["value"]) - numbers(meta["aa_value"])
    same_models = (models == paired) & ~np.isnan(whole) & ~absent(meta["difference"])
    boards = looked_up.group_by(["league", "board"]).aggregate([]).num_rows
    rows = len(COEFFICIENTS) * (len(teachers) * (len(METRICS) - 1) + boards * len(METRICS))

    def check(rule: str, columns: Sequence[str], expected: str, passed: Mask) -> RowCheck:
        return RowCheck(name, rule, tuple(columns), expected, passed)

    found: list[Expectation] = [
        RowCount(name, rows, "a row per league, board, metric and coefficient"),
        check(
            "target_looked_up",
            ("league", "against", "board", "metric"),
            "CA of a league, or a board on which its teachers were looked up",
            np.where(within, is_ca & (place >= 0), on_board),
        ),
        check(
            "models_counted",
            ("n_models", "n_paired"),
            "no more models than were matched, and no more with AA than without",
            (paired <= models) & (np.isnan(limit) | (models <= limit)),
        ),
        check(
            "difference_of_both",
            ("value", "aa_value", "difference"),
            "value less aa_value, where both are over the same models",
            ~same_models | (np.abs(numbers(meta["difference"]) - whole) <= _EQUAL),
        ),
        check("test_complete", ("t", "p"), "t and p, or neither", absent(meta["t"]) == absent(meta["p"])),
    ]
    for part, value in _PARTS.items():
        found += _part_checks(meta, part, value, models if part == "" else paired)
    return found


def _part_checks(meta: pa.Table, part: str, value: str, models: np.ndarray) -> list[Expectation]:
    """The rules of an estimate: the correlation, the difference, the partial correlation."""
    name = "meta_evaluation"
    prefix = part.removesuffix("_") if part else "value"
    ends = (f"{part}ci_low", f"{part}ci_high")
    status, reason = f"{part}status", f"{part}reason"
    low, high = (numbers(meta[end]) for end in ends)
    is_ok, unknown = (true(pc.equal(meta[status], word)) for word in ("ok", "not_computable"))
    lacks = [absent(meta[end]) for end in ends]
    return [
        RowCheck(
            name,
            f"{prefix}_interval_where_ok",
            (*ends, status),
            "both ends where the status is ok, else none",
            np.where(is_ok, ~lacks[0] & ~lacks[1], lacks[0] & lacks[1]),
        ),
        RowCheck(
            name,
            f"{prefix}_interval_ordered",
            ends,
            "the lower end first",
            lacks[0] | lacks[1] | (low <= high),
        ),
        RowCheck(
            name,
            f"{prefix}_unless_not_computable",
            (value, status),
            "a number, unless the status is not_computable",
            absent(meta[value]) == unknown,
        ),
        RowCheck(
            name,
            f"{prefix}_reason_unless_ok",
            (reason, status),
            "a reason, unless the status is ok",
            is_ok | true(pc.not_equal(meta[reason], "")),
        ),
        RowCheck(
            name,
            f"{prefix}_of_enough_models",
            (status, "n_models", "n_paired"),
            f"not_computable over fewer than {_ENOUGH} models",
            unknown | (models >= _ENOUGH),
        ),
    ]


def _name_checks(names: pa.Table, teachers: Mapping[str, Sequence[str]]) -> list[Expectation]:
    name = "meta_names"
    pairs = [(league, model) for league, members in teachers.items() for model in members]
    known = pa.table(
        {
            "league": pa.array([league for league, _ in pairs], pa.string()),
            "model": pa.array([model for _, model in pairs], pa.string()),
        }
    )
    ours = true(pc.not_equal(names["league"], ""))
    teaches = positions(names, known, ["league", "model"]) >= 0
    nobody = true(pc.equal(names["model"], ""))
    status = {word: true(pc.equal(names["status"], word)) for word in META_NAMES.allowed["status"]}
    of_file = status["superseded"] | status["rejected"] | status["not_a_teacher"]
    of_teacher = status["used"] | status["not_on_board"]
    mapped = true(pc.not_equal(names["external_name"], ""))
    scored = ~absent(names["score"]) & ~absent(names["date"])
    bare = absent(names["score"]) & absent(names["date"])
    placed = true(pc.not_equal(names["file"], "")) & (numbers(names["row"]) > 0)
    unplaced = true(pc.equal(names["file"], "")) & (numbers(names["row"]) == 0)
    from_file = ~ours | status["used"]

    def check(rule: str, columns: Sequence[str], expected: str, passed: Mask) -> RowCheck:
        return RowCheck(name, rule, tuple(columns), expected, passed)

    return [
        check(
            "teacher_in_league",
            ("league", "model"),
            "a teacher of the league, or neither",
            np.where(ours, teaches, nobody),
        ),
        check(
            "every_teacher_looked_up",
            ("league", "board"),
            "all teachers of the league, once each",
            ~ours | _complete(names, ours & teaches, known),
        ),
        check(
            "status_of_its_side",
            ("league", "status"),
            "what can become of a teacher, or of a row of a file",
            np.where(ours, ~of_file, ~of_teacher),
        ),
        check(
            "mapped_where_used",
            ("external_name", "status"),
            "a name where one is mapped",
            ~ours | (mapped == of_teacher),
        ),
        check(
            "score_where_on_board",
            ("score", "date", "status"),
            "score and date of a row that can be used, else neither",
            np.where(from_file & ~status["rejected"], scored, bare),
        ),
        check(
            "traced_to_its_row",
            ("file", "row"),
            "file and row of a score, else neither",
            np.where(from_file, placed, unplaced),
        ),
        check(
            "reason_unless_used",
            ("reason", "status"),
            "a reason, unless the name is used",
            status["used"] | true(pc.not_equal(names["reason"], "")),
        ),
    ]


def _complete(names: pa.Table, counted: Mask, known: pa.Table) -> Mask:
    """Rows whose league and board hold as many teachers as the league has."""
    codes = row_codes(names, ["league", "board"])
    _, group = np.unique(codes, return_inverse=True)
    found = np.bincount(group[counted], minlength=int(group.max(initial=-1)) + 1)
    sizes = known.group_by(["league"]).aggregate([([], "count_all")])
    wanted = numbers(taken(sizes, positions(names, sizes, ["league"]), ["count_all"])["count_all"])
    return np.asarray(np.isnan(wanted) | (found[group] == wanted), dtype=bool)
