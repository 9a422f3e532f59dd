"""Audit cards: every number of every board is found, worked out again, and walked back to the answers of models."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest
from audit_projects import HOSTILE, make_project

from magister.audit.audit import BOARDS, audit
from magister.audit.card import Card
from magister.audit.card_page import render_page
from magister.audit.card_text import render
from magister.display import columns
from magister.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/schemas/audit.schema.json").read_text(encoding="utf-8"))
ONE_OF_EACH = {
    "teaching": ("tea", {"metric": "CA"}),
    "arena": ("a1", {"metric": "bradley_terry"}),
    "mastery": ("m1", {"metric": "adding"}),
    "rubrics": ("m1", {"metric": "overall"}),
}


def card(root: Path, board: str, **more: Any) -> Card:
    model, asked = ONE_OF_EACH[board]
    return audit(root, board, model, asked | more)


def test_every_number_of_the_league_is_what_comes_out_again(audited: Path) -> None:
    rows = pq.read_table(audited / "data/teaching/main/metrics.parquet").to_pylist()
    assert len({row["metric"] for row in rows}) > 20
    for row in rows[::31]:
        asked = {"metric": row["metric"], "arm": row["arm"], "round": str(row["round"])}
        found = audit(
            audited, "teaching", row["teacher"], asked | {"slice": f"{row['slice_kind']}={row['slice']}"}, 0
        )
        assert found.number.value == row["value"], row
        assert found.again.agrees is True, row
        assert found.cell.table == "data/teaching/main/metrics.parquet"
        assert not found.warnings


def test_every_rating_and_every_dimension_comes_out_again(audited: Path) -> None:
    for row in pq.read_table(audited / "results/arena.parquet").to_pylist():
        found = audit(audited, "arena", row["model"], {"metric": row["system"], "slice": row["scope"]}, 0)
        assert found.again.agrees is True
        assert sum(found.statuses.values()) == row["n"]
    for row in pq.read_table(audited / "results/rubrics.parquet").to_pylist():
        found = audit(audited, "rubrics", row["model"], {"metric": row["dim"]}, 0)
        assert found.again.agrees is True
        assert found.movers.n == row["n"]
        assert found.statuses.get("missing", 0) == row["n_missing"]


@pytest.mark.parametrize("board", BOARDS)
def test_a_card_is_what_the_published_schema_says(audited: Path, board: str) -> None:
    document = card(audited, board).document()
    text = json.dumps(document, allow_nan=False)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(json.loads(text), SCHEMA)


@pytest.mark.parametrize("board", BOARDS)
def test_what_moves_a_number_names_where_it_was_said(audited: Path, board: str) -> None:
    for mover in card(audited, board).movers.shown:
        assert mover.transcripts
        for one in mover.transcripts:
            lines = (audited / one.file).read_text(encoding="utf-8").splitlines()
            assert [line for line in lines if json.loads(line)["custom_id"] == one.key], one
            assert (audited / one.store).is_file()


@pytest.mark.parametrize("board", BOARDS)
def test_the_change_is_the_number_less_the_number_without_it(audited: Path, board: str) -> None:
    found = card(audited, board)
    assert found.movers.shown
    assert found.number.value is not None
    for mover in found.movers.shown:
        assert mover.change is not None
        assert mover.without is not None
        assert math.isclose(found.number.value - mover.without, mover.change, abs_tol=1e-5)


@pytest.mark.parametrize("board", BOARDS)
def test_the_files_go_from_the_board_down_to_the_store(audited: Path, board: str) -> None:
    found = card(audited, board)
    assert found.sources[0].path == found.cell.board_file
    assert found.sources[1].path == found.cell.table
    kinds = {one.kind for one in found.sources}
    assert "store" in kinds
    named = {one.path for one in found.sources}
    assert all(name in named for one in found.sources for name in one.inputs)
    assert all(one.md5 for one in found.sources)
    assert [one.steps for one in found.sources] == sorted(one.steps for one in found.sources)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("board", BOARDS)
def test_a_card_fits_its_terminal_and_nothing_in_it_steers_that(
    audited: Path, board: str, width: int
) -> None:
    text = render(card(audited, board), width)
    assert max(columns(line) for line in text.splitlines()) <= width
    assert "\x1b" not in text
    assert f"snakemake --cores all --force -- {BOARDS[board][0]}" in " ".join(
        text.replace("\\\n", "").split()
    )


@pytest.mark.parametrize("board", BOARDS)
def test_a_page_runs_nothing_and_asks_no_network(audited: Path, board: str) -> None:
    page = render_page(card(audited, board))
    assert "<script" not in page
    assert "\x1b" not in page
    assert "default-src 'none'" in page
    assert "http://" not in page
    assert "https://" not in page
    assert "src=" not in page
    if board in ("teaching", "arena"):
        assert "&lt;script&gt;" in page


def test_hostile_text_is_in_the_project_that_the_pages_are_made_of(audited: Path) -> None:
    items = pq.read_table(audited / "data/items/items.parquet")["question"].to_pylist()
    assert HOSTILE in items


@pytest.mark.parametrize("board", BOARDS)
def test_the_command_on_a_card_shows_the_card_again(audited: Path, board: str) -> None:
    import shlex

    found = card(audited, board)
    _, _, name, model, metric, *options = shlex.split(found.commands["audit"])
    asked = dict(zip((word.removeprefix("--") for word in options[::2]), options[1::2], strict=True))
    assert audit(audited, name, model, {"metric": metric, **asked}) == found


@pytest.mark.parametrize("board", BOARDS)
def test_the_file_that_is_rebuilt_is_one_that_a_rule_makes(board: str) -> None:
    rules = (ROOT / "rules/boards.smk").read_text(encoding="utf-8")
    assert f'="{BOARDS[board][0]}"' in rules


def test_an_unknown_number_has_a_reason_and_is_no_0(audited: Path) -> None:
    row = next(
        row
        for row in pq.read_table(audited / "data/teaching/main/metrics.parquet").to_pylist()
        if row["status"] == "no_interval"
    )
    asked = {"metric": row["metric"], "arm": row["arm"], "slice": f"{row['slice_kind']}={row['slice']}"}
    found = audit(audited, "teaching", row["teacher"], asked | {"round": str(row["round"])})
    assert found.number.ci_low is None
    assert found.number.reason
    assert "no interval" in render(found, 80)


def test_nothing_moves_a_number_that_is_unknown(audited: Path) -> None:
    rows = pq.read_table(audited / "data/teaching/main/metrics.parquet").to_pylist()
    row = next(row for row in rows if row["value"] is None)
    asked = {"metric": row["metric"], "arm": row["arm"], "slice": f"{row['slice_kind']}={row['slice']}"}
    found = audit(audited, "teaching", row["teacher"], asked | {"round": str(row["round"])})
    text = render(found, 80)
    assert f"unknown: {row['reason'][:20]}" in text
    assert "nothing moves it" in text
    assert found.document()["number"]["value"] is None


def test_a_prior_s_mastery_is_said_to_be_no_finding(audited: Path) -> None:
    found = audit(audited, "mastery", "m22", {"metric": "x01"})
    assert "no finding" in found.number.reason


def test_a_metric_that_an_arm_cannot_have_says_why(audited: Path) -> None:
    with pytest.raises(
        UserError, match="AA of sham is unknown on the teaching board: no teacher of its own here"
    ):
        audit(audited, "teaching", "sham", {"metric": "aa"})


@pytest.mark.parametrize(
    ("board", "model", "asked", "said"),
    [
        ("teachin", "tea", {"metric": "CA"}, "no board 'teachin'. Expected one of teaching"),
        ("teaching", "tae", {"metric": "CA"}, "no model 'tae'. Expected one of .*tea"),
        ("teaching", "tea", {"metric": "CAA"}, "no metric 'CAA'. Expected for METRIC: CA"),
        ("teaching", "tea", {"metric": "CA", "in": "other"}, "no league 'other'. Expected for --in: main"),
        ("teaching", "tea", {"metric": "CA", "slice": "d9"}, "no slice 'd9'. Expected for --slice: "),
        (
            "teaching",
            "tea",
            {"metric": "CA", "annotators": "key"},
            "--annotators says nothing on the teaching board",
        ),
        ("arena", "a2", {"metric": "elo"}, "no model 'a2'. Expected one of a1"),
        (
            "arena",
            "a1",
            {"metric": "glicko"},
            "no rating system 'glicko'. Expected for METRIC: bradley_terry, elo",
        ),
        (
            "mastery",
            "m1",
            {"metric": "dividing"},
            "no attribute 'dividing'. Expected for METRIC: overall, x01=adding",
        ),
        (
            "rubrics",
            "m1",
            {"metric": "cares"},
            "no dimension 'cares'. Expected for METRIC: care, craft, overall",
        ),
        ("rubrics", "m1", {"metric": "care", "slice": "x"}, "no scenario 'x'. Expected for --slice: sums"),
    ],
)
def test_a_number_that_is_not_there_names_those_that_are(
    audited: Path, board: str, model: str, asked: dict[str, str], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        audit(audited, board, model, asked)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return make_project(tmp_path)


def test_rows_that_were_changed_since_are_warned_of(own: Path) -> None:
    path = own / "data/teaching/main/trajectories.parquet"
    table = pq.read_table(path)
    right = table["correct"].to_pylist()
    at = next(
        n
        for n, row in enumerate(table.to_pylist())
        if row["arm"] == "taught" and row["round"] == 2 and row["status"] == "ok" and not row["correct"]
    )
    right[at] = True
    import pyarrow as pa

    changed = table.set_column(table.column_names.index("correct"), "correct", pa.array(right))
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), path)
    found = card(own, "teaching")
    assert found.again.agrees is False
    assert any("trajectories.parquet has changed since" in text for text in found.warnings)
    assert any("worked out again" in text for text in found.warnings)
    assert "NOT THE SAME" in render(found, 80)


def test_a_board_that_was_not_made_from_its_table_is_warned_of(own: Path) -> None:
    path = own / "results/teaching.parquet"
    table = pq.read_table(path)
    import pyarrow as pa

    other = table.set_column(table.column_names.index("ca"), "ca", pa.array([0.75] * table.num_rows))
    pq.write_table(other.replace_schema_metadata(table.schema.metadata), path)
    assert any("says 0.75 for ca" in text for text in card(own, "teaching").warnings)


def test_a_file_that_is_gone_is_named_and_the_card_is_still_made(own: Path) -> None:
    shutil.rmtree(own / "store")
    found = card(own, "arena")
    assert any("are not here, the first store/" in text for text in found.warnings)
    assert all(one.md5 is None for one in found.sources if one.kind == "store")


def test_rows_that_are_gone_end_in_what_to_do(own: Path) -> None:
    (own / "data/arena/leagues/duel/votes.parquet").unlink()
    with pytest.raises(
        UserError, match=r"votes.parquet: not there, and .*ratings.parquet was made from it. Run: "
    ):
        card(own, "arena")


def test_answers_of_another_task_are_found_in_its_file_of_the_store(own: Path) -> None:
    folder = own / "store/tea"
    (folder / "teaching.main.zero_shot.jsonl").rename(folder / "items.earlier.jsonl")
    found = card(own, "teaching")
    assert "store/tea/items.earlier.jsonl" in {one.path for one in found.sources}
    assert not found.warnings


def test_a_board_that_was_never_made_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"results/arena.parquet: not there yet. Run: snakemake"):
        audit(tmp_path, "arena", "a1", {"metric": "elo"})


def test_a_board_without_lineage_is_no_evidence(own: Path) -> None:
    path = own / "results/arena.parquet"
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)
    with pytest.raises(UserError, match="carries no lineage record"):
        card(own, "arena")
