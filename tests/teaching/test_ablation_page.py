"""The page of the ablations."""

from __future__ import annotations

import pyarrow as pa
from league_tables import drawn

from magister.teaching.ablation_page import ablation_page
from magister.teaching.ablations import AblationTables


def page(found: AblationTables) -> str:
    return ablation_page(found.ablations, found.agreement, found.contamination)


def test_every_teacher_has_its_spread_and_every_setting_its_agreement() -> None:
    league = drawn()
    text = page(league.ablated(league.variant("prompts", "prompts v2"), resamples=100))
    for teacher in league.teachers:
        assert f"| {teacher} | " in text
    for setting in ("without s0", "without s1", "prompts v2", "clusters: 10 %", "round 1"):
        assert f"| {setting} | " in text
    lines = [line for line in text.splitlines() if line.startswith("| prompts v2")]
    assert lines[0].startswith("| prompts v2 | +1.00")
    assert "0 of 10" in lines[0]


def test_what_no_setting_changes_is_said() -> None:
    league = drawn(students=1)
    text = page(league.ablated(league.variant("prompts", "prompts v2"), resamples=100))
    assert "No teacher's CA differs" in text or "Changes of CA that are no chance" in text
    assert "knows them by heart" not in text


def test_gaps_stand_where_items_came_in_another_form() -> None:
    league = drawn()
    text = page(league.ablated(league.variant("option_order", "option order 1"), resamples=100))
    assert "| setting | teacher | change of AA | change of CA | gap | p |" in text


def test_an_empty_table_says_so() -> None:
    found = drawn().ablated(resamples=100)
    empty = AblationTables(*(table.slice(0, 0) for table in found))
    assert page(empty) == "No league has been ablated yet.\n"


def test_names_are_escaped_and_order_of_rows_changes_nothing() -> None:
    found = drawn().ablated(resamples=100)
    position = found.ablations.column_names.index("teacher")
    names = pa.array([f"a|{name}" for name in found.ablations["teacher"].to_pylist()])
    hostile = found.ablations.set_column(position, found.ablations.schema.field(position), names)
    text = ablation_page(hostile, found.agreement, found.contamination)
    assert "| a\\|" in text
    turned = AblationTables(
        *(table.take(pa.array(range(table.num_rows)[::-1], pa.int64())) for table in found)
    )
    assert page(turned) == page(found)
