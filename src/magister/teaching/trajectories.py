"""Trajectories: every (arm, teacher, student, item) over rounds 0..T, in one long table."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts.schemas import TRAJECTORIES
from magister.teaching._cube import FLAGS


def item_facts(items: pa.Table, bands: pa.Table) -> pa.Table:
    """What the metrics slice by: dataset, domain, cluster, flags, number of options and band of each item."""
    facts = items.select(["item_id", "dataset", "domain", "cluster_id", *FLAGS]).append_column(
        "n_options", pc.list_value_length(items["options"]).cast(pa.int32())
    )
    return facts.join(bands.select(["item_id", "band"]), "item_id", join_type="left outer")


def _long(table: pa.Table, columns: dict[str, pa.Scalar | str]) -> pa.Table:
    """Rename and fill columns: a string names a column of `table`, a scalar fills."""
    data = {
        name: pa.repeat(source, table.num_rows) if isinstance(source, pa.Scalar) else table[source]
        for name, source in columns.items()
    }
    return pa.table(data)


def teaching_trajectories(
    league: str,
    items: pa.Table,
    bands: pa.Table,
    blind: pa.Table,
    guides: pa.Table,
    revisions: pa.Table,
) -> pa.Table:
    """Join what happened in a league.

    Args:
        league: its name.
        items: ITEMS table of the league.
        bands: BANDS table.
        blind: ANSWERS of all students.
        guides: GUIDES of all rounds, teachers and arms.
        revisions: REVISIONS of all rounds.

    Returns:
        TRAJECTORIES table; round 0 is the shared blind answer, repeated for each (arm, teacher).
    """
    word = pa.scalar
    exchanges = guides.group_by(["arm", "teacher"]).aggregate([])
    answer_columns = ["status", "answer", "correct"]
    start = _long(
        blind,
        {"student": "model", "item_id": "item_id", "request_id": "request_id"}
        | {name: name for name in answer_columns}
        | {"round": word(0, pa.int32()), "verdict": word("none"), "guide_status": word("not_asked")}
        | {"leak": word("none"), "guide_request_id": word(None, pa.string())},
    )
    # A cross join by a constant key: every exchange starts from the same blind answers.
    one = pa.scalar(0, pa.int8())
    start = (
        start.append_column("_", pa.repeat(one, start.num_rows))
        .join(exchanges.append_column("_", pa.repeat(one, exchanges.num_rows)), "_", join_type="inner")
        .drop_columns("_")
    )
    place = ["arm", "teacher", "student", "item_id", "round"]
    said = _long(
        guides,
        {name: name for name in place}
        | {"verdict": "verdict", "guide_status": "status", "leak": "leak", "guide_request_id": "request_id"},
    )
    later = revisions.select([*place, "request_id", *answer_columns]).join(said, place, join_type="inner")
    if later.num_rows != revisions.num_rows:
        raise ValueError(f"{revisions.num_rows - later.num_rows} revision(s) without a guide")
    columns = [name for name in TRAJECTORIES.schema.names if name in start.column_names]
    rows = pa.concat_tables([start.select(columns), later.select(columns)])
    rows = rows.join(item_facts(items, bands), "item_id", join_type="left outer")
    rows = rows.append_column("league", pa.repeat(word(league), rows.num_rows))
    return rows.select(TRAJECTORIES.schema.names).cast(TRAJECTORIES.schema)


def zero_shot_table(league: str, items: pa.Table, bands: pa.Table, zero_shot: pa.Table) -> pa.Table:
    """Teachers' own answers with what the metrics slice by.

    Args:
        league: its name.
        items: ITEMS table of the league.
        bands: BANDS table.
        zero_shot: ANSWERS of all teachers.

    Returns:
        Table (league, teacher, item_id, dataset, domain, cluster_id, band, n_options, flags, status, correct).
    """
    rows = zero_shot.select(["model", "item_id", "status", "correct"]).rename_columns({"model": "teacher"})
    rows = rows.join(item_facts(items, bands), "item_id", join_type="left outer")
    return rows.append_column("league", pa.repeat(pa.scalar(league), rows.num_rows))
