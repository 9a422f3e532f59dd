"""What people say of the attributes: a sheet out, their decisions back in, and the Q-matrix that follows from them.

A decision holds for the items that were looked at and for no others: each row carries a hash of its attribute's items,
and a sheet of other clusters is refused, not carried over.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.diagnosis.clusters import Partition, Runs
from magister.diagnosis.coassociation import Membership, membership
from magister.diagnosis.labels import MOST_CHARACTERS, item_texts, shortened, text_of
from magister.diagnosis.terms import shown_items
from magister.errors import CheckFailed, UserError
from magister.provenance import inert

SHOWN = ("attribute", "members", "n_items", "terms", "central_items", "boundary_items", "label", "reason")
"""Columns that are there to be read; none of their cells may change."""
FILLED = ("decision", "new_label", "reviewer", "note")
"""Columns that a reviewer fills in."""
DECISIONS = ("accept", "rename", "merge into <attribute>", "reject")
CENTRAL, BOUNDARY = 15, 5
"""Items of an attribute that a reviewer is shown."""
_SHOWN_CHARACTERS = 300
_MOST_ERRORS = 10
_MERGE = re.compile(r"merge\s+into\s+(\S+)", re.IGNORECASE)
_MARKED = re.compile(r"'(?=[=+\-@\t\r])")
_SCHEMA = pa.schema([pa.field(name, pa.string(), nullable=False) for name in (*SHOWN, *FILLED)])


@dataclass(frozen=True)
class Decision:
    """What a reviewer decided of an attribute.

    Attributes:
        attribute: which one.
        action: `accept`, `rename`, `merge` or `reject`.
        reviewer: who.
        label: the new one, of `rename`.
        target: the attribute that it becomes part of, of `merge`.
        note: what the reviewer wrote beside it.
        row: of the file.
    """

    attribute: str
    action: str
    reviewer: str
    label: str = ""
    target: str = ""
    note: str = ""
    row: int = 0


Decisions = Mapping[str, Decision]


class Review(NamedTuple):
    """A file that reviewers filled in.

    Attributes:
        source: its name for messages.
        rows: line and cells by column.
        broken: line, what is wrong and text of rows that cannot be read.
    """

    source: str
    rows: Sequence[tuple[int, Mapping[str, Any]]]
    broken: Sequence[tuple[int, str, str]] = ()


def fingerprint(items: Sequence[str]) -> str:
    """Hash of an attribute's items: `m` and 15 hexadecimal digits; with the letter no spreadsheet reads a number."""
    text = json.dumps(sorted(items), ensure_ascii=False, separators=(",", ":"))
    return "m" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:15]


def review_sheet(
    clusters: pa.Table,
    items: pa.Table,
    labels: pa.Table,
    decisions: Decisions | None = None,
    *,
    central: int = CENTRAL,
    boundary: int = BOUNDARY,
) -> pa.Table:
    """Make the sheet for reviewers: a row an attribute.

    Args:
        clusters: Q_CLUSTERS table, before any review.
        items: DIAGNOSED_ITEMS table.
        labels: ATTRIBUTE_LABELS table.
        decisions: what is decided already; it stands there again.
        central: items at the centre of each attribute that are shown, 10 to 20 being what a reviewer reads.
        boundary: items at its boundary.

    Returns:
        Texts only. `reason` says why a row needs a reviewer: label and terms disagree, or no label was read, or
        nobody has looked at it; it is empty where label and terms agree. Such rows may be left undecided too: they
        stay `provisional` either way.

    Raises:
        UserError: clusters, items and labels are not of the same study.
    """
    text = item_texts(items)
    members: dict[str, list[str]] = {}
    for attribute, item in zip(
        clusters["attribute"].to_pylist(), clusters["item_id"].to_pylist(), strict=True
    ):
        members.setdefault(attribute, []).append(item)
    named = {row["attribute"]: row for row in labels.to_pylist()}
    if set(named) != set(members):
        odd = ", ".join(sorted(set(named) ^ set(members))[:3])
        raise UserError(f"labels and clusters are not of the same attributes ({odd}); make the labels anew")
    rows = []
    for attribute, shown in sorted(shown_items(clusters, central=central, boundary=boundary).items()):
        label = named[attribute]
        decided = (decisions or {}).get(attribute)
        rows.append(
            {
                "attribute": attribute,
                "members": fingerprint(members[attribute]),
                "n_items": str(len(members[attribute])),
                "terms": ", ".join(label["terms"]),
                "central_items": _lines(shown.central, text),
                "boundary_items": _lines(shown.boundary, text),
                "label": label["label"],
                "reason": _why(label),
            }
            | dict(zip(FILLED, _filled(decided), strict=True))
        )
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _lines(items: Sequence[str], text: Mapping[str, str]) -> str:
    shown = (f"{item}: {' '.join(text_of(text, item).split())}" for item in items)
    return "\n".join(shortened(line, _SHOWN_CHARACTERS) for line in shown)


def _why(label: Mapping[str, Any]) -> str:
    if label["label_source"] == "terms":
        told = "the label is made of the terms"
        return f"{told}: {label['reason']}" if label["reason"] else told
    return str(label["reason"])


def _filled(decided: Decision | None) -> tuple[str, str, str, str]:
    if decided is None:
        return "", "", "", ""
    action = f"merge into {decided.target}" if decided.action == "merge" else decided.action
    return action, decided.label, decided.reviewer, decided.note


def review_csv(sheet: pa.Table) -> str:
    """The sheet as a file that a spreadsheet opens without running anything.

    Texts that begin like a formula get an apostrophe before them (`magister.provenance.inert`), which is taken off when
    the file is read back. All cells are quoted, and the file begins with a byte order mark, without which spreadsheets
    misread UTF-8.
    """
    out = io.StringIO(newline="")
    out.write("\ufeff")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(sheet.column_names)
    writer.writerows(row.values() for row in inert(sheet).to_pylist())
    return out.getvalue()


@dataclass
class _Reading:
    """What is read so far."""

    review: Review
    sheet: dict[str, dict[str, str]]
    items: dict[str, str]
    seen: dict[str, int] = field(default_factory=dict)
    decisions: dict[str, Decision] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def refuse(self, line: int, told: str) -> None:
        self.errors.append(f"{self.review.source}, line {line}: {told}")


def read_review(review: Review, sheet: pa.Table, clusters: pa.Table) -> dict[str, Decision]:
    """Read what reviewers decided.

    A row without a decision, and an attribute without a row, stay undecided. Columns of one's own are not read.

    Args:
        review: the file.
        sheet: `review_sheet` of the clusters at hand.
        clusters: Q_CLUSTERS table, before any review.

    Returns:
        Decisions by attribute.

    Raises:
        UserError: the file lacks a column.
        CheckFailed: rows have to be mended, each named with file and line: one that cannot be read, an unknown
            attribute or decision, no reviewer, two rows for one attribute, a cell that was only to be read and reads
            otherwise, a sheet of other items (and what has changed), a new label without `rename` or the other
            way round, a merge that leads nowhere, two attributes of one label.
    """
    found = {name for _, cells in review.rows for name in cells}
    missing = [name for name in (*SHOWN, *FILLED) if name not in found]
    if review.rows and missing:
        raise UserError(
            f"{review.source}: no column {', '.join(missing)}; found: {', '.join(sorted(found))}. Expected the columns "
            "of the sheet, separated by commas (some spreadsheets save semicolons)"
        )
    attribute_of = dict(zip(clusters["item_id"].to_pylist(), clusters["attribute"].to_pylist(), strict=True))
    reading = _Reading(review, {row["attribute"]: row for row in sheet.to_pylist()}, attribute_of)
    for line, detail, _ in review.broken:
        reading.refuse(line, detail)
    for line, cells in review.rows:
        _read_row(reading, line, {name: _plain(cells[name]) for name in (*SHOWN, *FILLED)})
    _follow_merges(reading)
    _check_labels(reading)
    if reading.errors:
        shown = "\n".join(f"  {told}" for told in reading.errors[:_MOST_ERRORS])
        rest = len(reading.errors) - _MOST_ERRORS
        raise CheckFailed(
            f"{len(reading.errors)} row(s) of the review have to be mended:\n{shown}"
            + (f"\n  and {rest} more" if rest > 0 else "")
        )
    return dict(sorted(reading.decisions.items()))


def _plain(cell: object) -> str:
    """A cell as it was before a spreadsheet: line breaks, spaces at the ends, and the mark of a text."""
    text = "" if cell is None else str(cell).replace("\r\n", "\n").replace("\r", "\n")
    return _MARKED.sub("", text, count=1).strip() if text.startswith("'") else text.strip()


def _read_row(reading: _Reading, line: int, cells: Mapping[str, str]) -> None:
    attribute = cells["attribute"]
    if attribute not in reading.sheet:
        known = ", ".join(sorted(reading.sheet)[:5])
        reading.refuse(
            line, f"attribute {attribute!r} is unknown; there are {len(reading.sheet)}: {known} ..."
        )
        return
    if attribute in reading.seen:
        reading.refuse(
            line, f"{attribute} stands in line {reading.seen[attribute]} already; keep one of the two"
        )
        return
    reading.seen[attribute] = line
    expected = {name: _plain(cell) for name, cell in reading.sheet[attribute].items()}
    if cells["members"] != expected["members"]:
        reading.refuse(line, _changed(reading, cells, expected))
        return
    edited = [name for name in SHOWN if cells[name] != expected[name]]
    if edited:
        name = edited[0]
        reading.refuse(
            line,
            f"{attribute}: column {name!r} is there to be read, and reads {shortened(cells[name], 60)!r} where the "
            f"sheet has {shortened(expected[name], 60)!r}. Undo the change (a new label goes into `new_label`, with "
            "the decision `rename`); if nobody changed it, the sheet was made with other settings: copy the decisions "
            "into a new one",
        )
        return
    _decide(reading, line, cells)


def _decide(reading: _Reading, line: int, cells: Mapping[str, str]) -> None:
    attribute, said, label = cells["attribute"], cells["decision"], cells["new_label"]
    if not said:
        if label:
            reading.refuse(line, f"{attribute} has a new label and no decision; write `rename` beside it")
        return
    merge = _MERGE.fullmatch(said)
    action = "merge" if merge else said.casefold()
    told = ""
    if action not in ("accept", "rename", "merge", "reject"):
        told = f"decision {said!r} of {attribute} is unknown; expected one of: {', '.join(DECISIONS)}"
    elif not cells["reviewer"]:
        told = f"{attribute} is decided by nobody; fill in column `reviewer`"
    elif (action == "rename") != bool(label):
        told = f"{attribute}: decision {said!r} with the new label {label!r}; `rename`, and nothing else, has one"
    elif len(label) > MOST_CHARACTERS or "\n" in label:
        told = f"{attribute}: the new label has {len(label)} characters; expected a line of at most {MOST_CHARACTERS}"
    elif merge and merge[1] not in reading.sheet:
        told = f"{attribute} is to become part of {merge[1]!r}, which is unknown"
    if told:
        reading.refuse(line, told)
        return
    reading.decisions[attribute] = Decision(
        attribute, action, cells["reviewer"], label, merge[1] if merge else "", cells["note"], line
    )


def _changed(reading: _Reading, cells: Mapping[str, str], expected: Mapping[str, str]) -> str:
    """What has become of the items that a row was about."""
    attribute = cells["attribute"]
    told = f"{attribute} has other items than when it was reviewed: {cells['n_items']} then, {expected['n_items']} now"
    same = [name for name, row in reading.sheet.items() if row["members"] == cells["members"]]
    if same:
        return f"{told}; those items are {same[0]} now: move the decision there, into a new sheet"
    where: dict[str, int] = {}
    gone = 0
    lines = [line for name in ("central_items", "boundary_items") for line in cells[name].split("\n") if line]
    for line in lines:
        parts = line.split(": ")
        item = next(
            (name for at in range(1, len(parts)) if (name := ": ".join(parts[:at])) in reading.items), None
        )
        if item is None:
            gone += 1
        else:
            where[reading.items[item]] = where.get(reading.items[item], 0) + 1
    now = [f"{count} in {name}" for name, count in sorted(where.items())]
    now += [f"{gone} no longer in the study"] if gone else []
    return f"{told}; of the {len(lines)} items shown then: {', '.join(now)}. Review {attribute} again, in a new sheet"


def _follow_merges(reading: _Reading) -> None:
    """Let every merge name the attribute that stays; refuse those that lead to none."""
    decisions = reading.decisions
    for attribute, decision in sorted(decisions.items()):
        if decision.action != "merge":
            continue
        path = [attribute]
        while (here := decisions.get(path[-1])) is not None and here.action == "merge":
            if here.target in path:
                chain = " into ".join([*path, here.target])
                reading.refuse(decision.row, f"a merge in a circle: {chain}; let one of them stay")
                break
            path.append(here.target)
        else:
            if here is not None and here.action == "reject":
                reading.refuse(
                    decision.row,
                    f"{attribute} becomes part of {path[-1]}, which line {here.row} rejects; reject both, or merge "
                    "into another one",
                )
    rejected = {name for name, decision in decisions.items() if decision.action == "reject"}
    if rejected >= reading.sheet.keys():
        reading.refuse(1, "every attribute is rejected; at least one has to stay")


def surviving(decisions: Decisions, attribute: str) -> str:
    """The attribute that one becomes part of by merges; itself where it stays."""
    while (here := decisions.get(attribute)) is not None and here.action == "merge":
        attribute = here.target
    return attribute


def _check_labels(reading: _Reading) -> None:
    """Two attributes that stay may not be called alike by reviewers."""
    who: dict[str, str] = {}
    for attribute, decision in sorted(reading.decisions.items()):
        if decision.action not in ("accept", "rename"):
            continue
        label = (decision.label or reading.sheet[attribute]["label"]).casefold()
        if label in who:
            reading.refuse(
                decision.row,
                f"{attribute} has the label of {who[label]}, {label!r}; rename one, or write `merge into {who[label]}`",
            )
        who.setdefault(label, attribute)


def apply_review(
    runs: Runs, k: int, partition: Partition, decisions: Decisions, unit: NDArray[np.float64]
) -> Membership:
    """Items and attributes as the reviewers leave them.

    A merged attribute's items become the other one's, and shares of runs are counted for both together. A rejected
    attribute leaves the Q-matrix; its items go to the attribute that they are together with most often, of those that
    stay; where they never are with any, to the one with the nearest mean vector, and their prior is the same for all.

    Args:
        runs: labels of all runs.
        k: number of clusters of the partition before the review.
        partition: before the review.
        decisions: from `read_review`.
        unit: n x d, vectors of the items, of length 1.

    Returns:
        The partition after the review and how often items are together; attributes keep their names.
    """
    names = sorted({surviving(decisions, name) for name in partition.attributes})
    place = {name: at for at, name in enumerate(names)}
    target = np.array([place[surviving(decisions, name)] for name in partition.attributes])
    joined = membership(runs, k, Partition(partition.items, tuple(names), target[partition.labels]))
    rejected = {name for name, decision in decisions.items() if decision.action == "reject"}
    staying = np.array([at for at, name in enumerate(names) if name not in rejected], dtype=np.intp)
    if len(staying) == len(names):
        return joined
    labels = joined.partition.labels
    centres = np.zeros((len(names), unit.shape[1]))
    np.add.at(centres, labels, unit)
    length = np.sqrt(np.square(centres).sum(axis=1, keepdims=True))
    centres = np.divide(centres, length, out=np.zeros_like(centres), where=length > 0)[staying]
    together = joined.together[:, staying]
    moved = np.flatnonzero(~np.isin(labels, staying))
    # First by runs, then by vectors: a cosine is at most 1 and cannot outweigh a millionth of the runs.
    near = together[moved].round(9) * 1e7 + (unit[moved] @ centres.T).round(9)
    after = np.searchsorted(staying, labels).astype(np.intp)
    after[moved] = near.argmax(axis=1)
    kept = tuple(names[at] for at in staying.tolist())
    return Membership(Partition(partition.items, kept, after), together)
