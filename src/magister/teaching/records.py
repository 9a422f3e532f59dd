"""Records: a user's own trajectories, checked and completed, so that `teaching_metrics` can rate them.

A record is a row (teacher, student, item_id, round, correct). Everything else has a default that is said. A mistake
is named by its rows: what would change a score in silence (a repeated row, a round or an item that is missing, a
correctness that is neither 0 nor 1) is an error; what only limits what can be said is a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts.schemas import ARMS, LEAKS, METRICS_TABLE, STATUSES, TRAJECTORIES, VERDICTS
from magister.teaching._cube import FACTS, FLAGS
from magister.teaching._formulas import JUDGING
from magister.teaching._record_columns import NULL, Columns, Ints, combined, read_binary, read_whole

REQUIRED = ("teacher", "student", "item_id", "round", "correct")
_DEFAULTS = {"arm": "taught", "dataset": "all", "domain": "all", "cluster_id": "a cluster per item"}
_KNOWN = {*TRAJECTORIES.schema.names}
_OK, _ERROR = STATUSES.index("ok"), STATUSES.index("error")
_NO_VERDICT = VERDICTS.index("none")
MAX_ROUNDS = 6
NO_ROWS = "no rows: the file is empty, or has a header and nothing below it"
UNJUDGED = "the file holds no verdicts of this teacher"


@dataclass(frozen=True)
class Trajectories:
    """What is rated.

    Attributes:
        table: columns of the contract `trajectories`.
        notes: what was assumed, and what the numbers do not say.
        unjudged: (league, teacher) without a single verdict: their JA is unknown, not 0.
    """

    table: pa.Table
    notes: list[str]
    unjudged: set[tuple[str, str]] = field(default_factory=set)


def _statuses(columns: Columns, correct: Ints, notes: list[str]) -> Ints:
    """Statuses that agree with the correctness of their rows."""
    status = columns.words("status", STATUSES, "ok")
    lost = (correct == NULL) & (status == _OK)
    if lost.any():
        columns.complain(
            f"{columns.rows(lost)}: correct is empty; expected 0 or 1, or a status that says why (error: the call "
            "failed; no_answer: the reply holds none)"
        )
    odd = (correct == 1) & (status != _OK) & (status != _ERROR)
    if odd.any():
        columns.complain(f"{columns.rows(odd)}: correct is 1, but the status says that there is no answer")
    scored = (correct != NULL) & (status == _ERROR)
    if scored.any():
        notes.append(f"{int(scored.sum())} rows of status error have a correctness: it is not used.")
    return status


def _facts(columns: Columns, item: tuple[list[str], Ints], place: Ints) -> dict[str, pa.Array]:
    """What the metrics slice by; an item has one of each."""
    found: dict[str, pa.Array] = {}
    coded: dict[str, Ints] = {}
    for name in ("dataset", "domain"):
        names, codes = columns.texts(name, "all")
        found[name], coded[name] = _strings(names, codes), codes
    if columns.has("cluster_id"):
        names, codes = columns.texts("cluster_id")
        found["cluster_id"], coded["cluster_id"] = _strings(names, codes), codes
    else:
        found["cluster_id"] = _strings(*item)
    for name, low, high in (("band", 1, 5), ("n_options", 2, 26)):
        coded[name] = columns.values(name, read_whole(low, high), f"a whole number from {low} to {high}")
        found[name] = pa.array(coded[name].astype(np.int32), mask=coded[name] == NULL)
    for name in FLAGS:
        coded[name] = columns.values(name, read_binary, "0 or 1")
        found[name] = pa.array(coded[name] == 1, mask=coded[name] == NULL)
    first = np.zeros(int(place.max(initial=-1)) + 1, dtype=np.int64)
    first[place[::-1]] = np.arange(len(place))[::-1]
    for name, codes in coded.items():
        differs = codes != codes[first[place]]
        if differs.any():
            at = int(np.flatnonzero(differs)[0])
            columns.complain(
                f"rows {columns.numbers[first[place[at]]]} and {columns.numbers[at]}: item "
                f"{item[0][item[1][at]]!r} has two values of {name}; an item has one (two items need two ids)"
            )
    return found


def _strings(names: Sequence[str], codes: Ints) -> pa.Array:
    indices = pa.array(codes, mask=codes == NULL)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string())).cast(pa.string())


@dataclass(frozen=True)
class _Keys:
    """Names and codes of what identifies a row."""

    league: tuple[list[str], Ints]
    arm: Ints
    teacher: tuple[list[str], Ints]
    student: tuple[list[str], Ints]
    item: tuple[list[str], Ints]
    number: Ints

    def unit(self, at: int) -> str:
        """The teacher of a row, for messages."""
        teacher = self.teacher[0][self.teacher[1][at]]
        arm = ARMS[self.arm[at]]
        return f"teacher {teacher!r}" if arm == "taught" else f"arm {arm!r} ({teacher!r})"

    def cell(self, at: int) -> str:
        """The cell of a row, for messages."""
        student, item = self.student[0][self.student[1][at]], self.item[0][self.item[1][at]]
        return f"{self.unit(at)}, student {student!r}, item {item!r}"


def _check_repeats(columns: Columns, keys: _Keys, cell: Ints) -> None:
    """No row stands there twice."""
    key = cell * (MAX_ROUNDS + 1) + keys.number
    order = np.argsort(key, kind="stable")
    again = np.flatnonzero(np.diff(key[order]) == 0)
    if again.size:
        one, two = int(order[again[0]]), int(order[again[0] + 1])
        columns.complain(
            f"{again.size} repeated row(s), first {columns.numbers[one]} and {columns.numbers[two]}: "
            f"{keys.cell(one)}, round {keys.number[one]}; keep one of each"
        )


def _check_rounds(columns: Columns, keys: _Keys, unit: Ints, cell: Ints) -> None:
    """Every cell of a teacher has all rounds from 0 to the teacher's last."""
    n_units, n_cells = int(unit.max()) + 1, int(cell.max()) + 1
    last = np.zeros(n_units, dtype=np.int64)
    np.maximum.at(last, unit, keys.number)
    begins = np.zeros(n_units, dtype=bool)
    begins[unit[keys.number == 0]] = True
    for one in np.flatnonzero(~begins):
        rows = unit == one
        columns.complain(
            f"{columns.rows(rows)}: {keys.unit(int(np.flatnonzero(rows)[0]))} has no round 0, the students' answers "
            "before any teaching; add them (the same for all teachers)"
        )
    for one in np.flatnonzero(begins & (last == 0)):
        rows = unit == one
        columns.complain(
            f"{columns.rows(rows)}: {keys.unit(int(np.flatnonzero(rows)[0]))} has round 0 only: nothing was taught"
        )
    seen = np.zeros((n_cells, MAX_ROUNDS + 1), dtype=bool)
    seen[cell, keys.number] = True
    first = np.zeros(n_cells, dtype=np.int64)
    first[cell[::-1]] = np.arange(len(cell))[::-1]
    wanted = np.arange(MAX_ROUNDS + 1)[None, :] <= last[unit[first]][:, None]
    # A teacher without any round 0 has been named already.
    lacking = (wanted & ~seen).any(axis=1) & begins[unit[first]]
    if lacking.any():
        at = int(np.flatnonzero(lacking)[0])
        missing = np.flatnonzero(wanted[at] & ~seen[at])
        columns.complain(
            f"{int(lacking.sum())} student-item pair(s) lack a round, first: {keys.cell(int(first[at]))} lacks round "
            f"{', '.join(map(str, missing))} ({columns.rows(cell == at)}). A call that failed is a row of "
            "status error, without correct"
        )


def _check_items(columns: Columns, keys: _Keys, unit: Ints) -> None:
    """All students of a teacher answered the same items."""
    pair = combined(unit, keys.student[1])
    asked = combined(unit, keys.item[1])
    n_pairs = int(pair.max()) + 1
    wanted = np.bincount(unit[_firsts(asked)], minlength=int(unit.max()) + 1)
    here = np.bincount(pair[_firsts(combined(pair, asked))], minlength=n_pairs)
    first = np.zeros(n_pairs, dtype=np.int64)
    first[pair[::-1]] = np.arange(len(pair))[::-1]
    for at in np.flatnonzero(here < wanted[unit[first]]):
        row = int(first[at])
        own = set(keys.item[1][pair == at].tolist())
        others = np.flatnonzero((unit == unit[row]) & ~np.isin(keys.item[1], list(own)))
        columns.complain(
            f"student {keys.student[0][keys.student[1][row]]!r} of {keys.unit(row)} has {here[at]} of "
            f"{wanted[unit[row]]} items; first missing: {keys.item[0][keys.item[1][others[0]]]!r} (row "
            f"{columns.numbers[others[0]]} has it of another student). A student that answered a part is not "
            "compared with one that answered all: add the rows, with status error where a call failed"
        )


def _firsts(codes: Ints) -> Ints:
    return np.unique(codes, return_index=True)[1]


def _compared(keys: _Keys, unit: Ints, right: Ints) -> list[str]:
    """What makes a comparison of teachers unlike, as notes."""
    notes: list[str] = []
    taught = keys.arm == ARMS.index("taught")
    for league in np.unique(keys.league[1][taught]):
        rows = np.flatnonzero(taught & (keys.league[1] == league))
        units = [rows[unit[rows] == one] for one in np.unique(unit[rows])]
        for kind, codes in (("items", keys.item[1]), ("students", keys.student[1])):
            sets = {tuple(np.unique(codes[one]).tolist()) for one in units}
            if len(sets) > 1:
                notes.append(
                    f"Teachers were rated on different {kind}: their ranks compare what is not alike."
                )
    start = keys.number == 0
    place = combined(keys.league[1], keys.student[1], keys.item[1])
    low = np.full(int(place.max()) + 1, 9, dtype=np.int64)
    high = np.full_like(low, -9)
    np.minimum.at(low, place[start], right[start])
    np.maximum.at(high, place[start], right[start])
    differ = int((high > low).sum())
    if differ:
        notes.append(
            f"{differ} student-item pairs have another answer at round 0 under another teacher: asked once and "
            "shared, they would not."
        )
    return notes


def complete_records(columns: Columns, league: str) -> Trajectories:
    """Check a user's rows and fill in what they leave out.

    Args:
        columns: the rows as texts.
        league: name of the league where no column says it.

    Returns:
        The trajectories.

    Raises:
        UserError: every kind of mistake, with the rows it was seen in.
    """
    if not len(columns):
        columns.complain(NO_ROWS)
        columns.stop()
    missing = [name for name in REQUIRED if name not in columns.table.column_names]
    if missing:
        found = ", ".join(columns.table.column_names) or "none"
        columns.complain(f"column(s) missing: {', '.join(missing)}. Columns found: {found}")
        columns.stop()
    notes: list[str] = []
    keys = _Keys(
        columns.texts("league", league),
        columns.words("arm", ARMS, "taught"),
        columns.texts("teacher"),
        columns.texts("student"),
        columns.texts("item_id"),
        columns.values("round", read_whole(0, MAX_ROUNDS), f"a whole number from 0 to {MAX_ROUNDS}"),
    )
    empty = keys.number == NULL
    if empty.any() and not any(": round " in problem for problem in columns.problems):
        columns.complain(f"{columns.rows(empty)}: round is empty; every row needs one")
    correct = columns.values("correct", read_binary, "0 or 1")
    status = (
        _statuses(columns, correct, notes)
        if not columns.problems
        else columns.words("status", STATUSES, "ok")
    )
    verdict = columns.words("verdict", VERDICTS, "none")
    guide_status = columns.words("guide_status", (*STATUSES, "not_asked"), "ok")
    leak = columns.words("leak", LEAKS, "none")
    columns.stop()
    facts = _facts(columns, keys.item, combined(keys.league[1], keys.item[1]))
    unit = combined(keys.league[1], keys.arm, keys.teacher[1])
    cell = combined(unit, keys.student[1], keys.item[1])
    _check_repeats(columns, keys, cell)
    _check_rounds(columns, keys, unit, cell)
    _check_items(columns, keys, unit)
    columns.stop()
    right = np.where(status == _OK, correct, 0)
    notes = [*_assumed(columns), *notes, *_compared(keys, unit, right), *_counted_leaks(leak)]
    unjudged = _unjudged(keys, verdict)
    if columns.has("verdict") and unjudged:
        names = ", ".join(sorted(teacher for _, teacher in unjudged))
        notes.append(f"No verdict of {names} in the file: JA is unknown.")
    given = pa.array(np.where(correct == NULL, 0, correct) == 1, mask=status == _ERROR)
    table = pa.table(
        {
            "league": _strings(*keys.league),
            "arm": _strings(ARMS, keys.arm),
            "teacher": _strings(*keys.teacher),
            "student": _strings(*keys.student),
            "item_id": _strings(*keys.item),
            "round": pa.array(keys.number.astype(np.int32)),
            **facts,
            "status": _strings(STATUSES, status),
            "verdict": _strings(VERDICTS, verdict),
            "guide_status": _strings((*STATUSES, "not_asked"), guide_status),
            "leak": _strings(LEAKS, leak),
            "correct": given,
        }
    )
    return Trajectories(table, notes, unjudged)


def _assumed(columns: Columns) -> list[str]:
    """What the file left out, and what was put in its place."""
    defaults = [f"{name}: {value}" for name, value in _DEFAULTS.items() if not columns.has(name)]
    if not columns.has("status"):
        defaults.append("status: ok in every row (so no reply counts as missing, cut off or failed)")
    notes = [f"Not in the file, assumed: {'; '.join(defaults)}."] if defaults else []
    lacking = [name for name in ("band", "n_options", *FLAGS) if not columns.has(name)]
    if lacking:
        notes.append(f"Not in the file, so no slices by it: {', '.join(lacking)}.")
    if not columns.has("verdict"):
        notes.append("No column verdict: JA is unknown.")
    if not columns.has("guide_status"):
        notes.append("No column guide_status: no guide is taken to have failed.")
    extra = [name for name in columns.table.column_names if name not in _KNOWN]
    if extra:
        notes.append(f"Columns not used: {', '.join(extra)}.")
    return notes


def _counted_leaks(leak: Ints) -> list[str]:
    counts = {word: int((leak == at).sum()) for at, word in enumerate(LEAKS) if word != "none"}
    told = ", ".join(f"{word} {count}" for word, count in counts.items() if count)
    return (
        [f"Rows whose guide gives something away: {told}. They count like the others here."] if told else []
    )


def _unjudged(keys: _Keys, verdict: Ints) -> set[tuple[str, str]]:
    """Teachers without a single verdict in round 1."""
    first = (keys.number == 1) & (keys.arm == ARMS.index("taught"))
    spoke: NDArray[np.bool_] = first & (verdict != _NO_VERDICT)

    def names(rows: NDArray[np.bool_]) -> set[tuple[str, str]]:
        pairs = np.unique(np.stack([keys.league[1][rows], keys.teacher[1][rows]], axis=1), axis=0)
        return {(keys.league[0][league], keys.teacher[0][teacher]) for league, teacher in pairs.tolist()}

    return names(first) - names(spoke)


def without_judging(metrics: pa.Table, unjudged: set[tuple[str, str]]) -> pa.Table:
    """Metrics in which the judging of teachers without verdicts is unknown, which else would read as all wrong.

    Args:
        metrics: table of contract `metrics`.
        unjudged: (league, teacher), from `complete_records`.

    Returns:
        The table, with the values of JA and its companions taken out where they rest on nothing.
    """
    rows = []
    for row in metrics.to_pylist():
        if row["metric"] in JUDGING and (row["league"], row["teacher"]) in unjudged:
            row |= {"status": "not_computable", "reason": UNJUDGED}
            row |= dict.fromkeys(("value", "ci_low", "ci_high", "se"))
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=METRICS_TABLE.schema)


def complete_zero_shot(columns: Columns, trajectories: pa.Table) -> Trajectories:
    """Check teachers' own answers and join what their items are.

    Args:
        columns: rows with teacher (or model), item_id, correct; optionally league and status.
        trajectories: those of `complete_records`: they say what an item is, and which teachers there are.

    Returns:
        The table that `teaching_metrics` reads as `zero_shot`, with notes.

    Raises:
        UserError: mistakes, with the rows they were seen in.
    """
    names = columns.table.column_names
    if "teacher" not in names and "model" in names:
        columns.table = columns.table.rename_columns(
            ["teacher" if name == "model" else name for name in names]
        )
    lacking = [name for name in ("teacher", "item_id", "correct") if name not in columns.table.column_names]
    leagues = pc.unique(trajectories["league"]).to_pylist()
    if not len(columns):
        columns.complain(NO_ROWS)
    elif lacking:
        columns.complain(f"column(s) missing: {', '.join(lacking)}. Columns found: {', '.join(names)}")
    elif len(leagues) > 1 and not columns.has("league"):
        columns.complain(f"column missing: league; the trajectories have {', '.join(leagues)}")
    columns.stop()
    notes: list[str] = []
    league, teacher = columns.texts("league", leagues[0]), columns.texts("teacher")
    item = columns.texts("item_id")
    correct = columns.values("correct", read_binary, "0 or 1")
    status = (
        _statuses(columns, correct, notes)
        if not columns.problems
        else columns.words("status", STATUSES, "ok")
    )
    columns.stop()
    key = combined(league[1], teacher[1], item[1])
    order = np.argsort(key, kind="stable")
    again = np.flatnonzero(np.diff(key[order]) == 0)
    if again.size:
        one, two = int(order[again[0]]), int(order[again[0] + 1])
        columns.complain(
            f"{again.size} repeated row(s), first {columns.numbers[one]} and {columns.numbers[two]}: teacher "
            f"{teacher[0][teacher[1][one]]!r}, item {item[0][item[1][one]]!r}; keep one of each"
        )
        columns.stop()
    own = pa.table(
        {
            "league": _strings(*league),
            "teacher": _strings(*teacher),
            "item_id": _strings(*item),
            "status": _strings(STATUSES, status),
            "correct": pa.array(np.where(correct == NULL, 0, correct) == 1, mask=status == _ERROR),
        }
    )
    facts = trajectories.group_by(["league", "item_id"]).aggregate([(name, "min") for name in FACTS])
    facts = facts.rename_columns([name.removesuffix("_min") for name in facts.column_names])
    taught = trajectories.filter(pc.equal(trajectories["arm"], "taught"))
    rated = taught.group_by(["league", "teacher"]).aggregate([])
    table = own.join(facts, ["league", "item_id"], join_type="inner")
    table = table.join(rated, ["league", "teacher"], join_type="inner")
    unused = own.num_rows - table.num_rows
    if unused:
        notes.append(
            f"Zero-shot rows of teachers or items that are not in the trajectories, not used: {unused}."
        )
    counts = table.group_by("teacher").aggregate([("item_id", "count")]).to_pylist()
    total = pc.count_distinct(taught["item_id"]).as_py()
    partial = sorted((row["teacher"], row["item_id_count"]) for row in counts if row["item_id_count"] < total)
    if partial and len(leagues) == 1:
        listed = ", ".join(f"{name} {count}" for name, count in partial)
        notes.append(f"AA rests on a part of the {total} items: {listed}.")
    return Trajectories(table, notes)
