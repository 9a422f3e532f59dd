"""The gate of an arena: whatever is said in it, its tables keep every promise; what is lost on the way is missed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from arena_gate_tables import (
    ARENA_PLAN,
    JUDGED_PLAN,
    SHARE,
    K,
    Tables,
    arena_board_expected,
    arena_board_tables,
    arena_expected,
    arena_tables,
    judged_expected,
    judged_tables,
    make_arena,
    statistics,
    talk,
)
from gate_tables import entry_of, failed_names
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_gate_accepts import TEXTS, broken
from test_gate_scripts import exit_code, outputs, written

from magister.contracts.gate import run_gate
from magister.llm import uniform
from magister.provenance import make_lineage, write_json

ROOT = Path(__file__).parents[2]
VERDICTS = ["[[A]]", "[[B]]", "[[tie]]", "I cannot say.", "$ERROR$", "[[A]] or [[B]]"]


def at_random(seed: int) -> Any:
    """Anything may be said, and any call may fail."""

    def say(name: str, task: str, request: Mapping[str, Any]) -> str:
        draw = uniform(request["custom_id"], name, task, seed)
        if draw < 0.3:
            return talk(name, task, request)
        texts = VERDICTS if task == "judge" else [*TEXTS, "$ERROR$", "$LONG$", "$CUT$ It is"]
        return texts[int((draw - 0.3) / 0.7 * len(texts))]

    return say


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 10**6),
    rounds=st.integers(0, 2),
    budget=st.sampled_from([(3, 2), (9, 9), (0, 4), (4, 0), (1, 1)]),
    judges=st.sampled_from([[], ["jim"], ["bob", "ann", "jim"]]),
    flags=st.fixed_dictionaries(dict.fromkeys(("exclude_self", "key", "people"), st.booleans())),
    policy=st.sampled_from(["wrong", "drop"]),
    similarity=st.sampled_from(["embedding", "token", "judge"]),
)
def test_an_arena_keeps_every_promise(
    seed: int,
    rounds: int,
    budget: tuple[int, int],
    judges: list[str],
    flags: dict[str, bool],
    policy: Any,
    similarity: str,
) -> None:
    plan = replace(ARENA_PLAN, rounds=rounds, budget=budget, judges=judges, similarity=similarity, **flags)
    tables = make_arena(at_random(seed), plan, policy)
    assert broken(arena_expected(tables, plan)) == {}


def test_a_similarity_that_was_not_asked_for_is_missed() -> None:
    plan = replace(ARENA_PLAN, similarity="token")
    tables = make_arena(plan=plan)
    row = next(place for place, arm in enumerate(tables["selections"]["arm"].to_pylist()) if arm == "random")
    rows = tables["selections"].to_pylist()
    rows[row]["similarity"] = -0.25
    changed = pa.Table.from_pylist(rows, schema=tables["selections"].schema)
    held, expectations = arena_expected(tables | {"selections": changed}, plan)
    (check,) = [one for one in expectations if getattr(one, "name", "") == "similarity_as_measured"]
    report = run_gate("arena", {"selections": held["selections"]}, [check])
    assert failed_names(report) == {"selections:similarity_as_measured"}


def test_a_score_that_is_lost_or_was_not_used_is_missed() -> None:
    tables = judged_tables()
    short = tables | {"similarities": without(tables["similarities"], 0)}
    report = run_gate("arena", *judged_expected(short))
    assert failed_names(report) == {"similarities:table_row_count_to_equal:"}
    scores = tables["similarities"].to_pylist()
    chosen = tables["selections"].to_pylist()[0]
    names = ("scenario", "model_a", "model_b", "instruction_id")
    (row,) = [row for row in scores if all(row[name] == chosen[name] for name in names)]
    row["similarity"] = 1 - row["similarity"] + 0.001
    changed = pa.Table.from_pylist(scores, schema=tables["similarities"].schema)
    held, expectations = arena_expected(tables | {"similarities": changed}, JUDGED_PLAN)
    (check,) = [one for one in expectations if getattr(one, "name", "") == "similarity_as_measured"]
    report = run_gate("arena", {"selections": held["selections"]}, [check])
    assert failed_names(report) == {"selections:similarity_as_measured"}


def without(table: pa.Table, place: int) -> pa.Table:
    return pa.concat_tables([table.slice(0, place), table.slice(place + 1)])


def gate(tables: Tables, *names: str) -> dict[str, Any]:
    """The report on some tables."""
    held, expectations = arena_expected(tables)
    return run_gate(
        "arena",
        {name: held[name] for name in names},
        [check for check in expectations if check.table in names],
    )


def test_an_attempt_at_an_instruction_that_is_lost_is_missed() -> None:
    rejected = arena_tables()["instructions_rejected"]
    place = rejected["round"].to_pylist().index(1)
    report = gate(arena_tables() | {"instructions_rejected": without(rejected, place)}, "lineages")
    assert failed_names(report) == {"lineages:column_values_to_be_between:n_outcomes"}
    (entry,) = [entry for entry in report["expectations"] if not entry["success"]]
    (key,) = entry["first_failed_keys"]
    assert key == {"root_id": key["root_id"], "round": 1}


def test_a_comparison_that_a_judge_gave_no_vote_on_and_no_reason_is_missed() -> None:
    votes = arena_tables()["votes"]
    place = votes["annotator"].to_pylist().index("jim")
    lost = votes.slice(place, 1).to_pylist()[0]
    report = gate(arena_tables() | {"votes": without(votes, place)}, "judgements")
    failed = "judgements:vote_or_reason"
    assert failed_names(report) == {failed}
    names = ("annotator_kind", "annotator", "comparison_id")
    assert entry_of(report, failed)["first_failed_keys"] == [{name: lost[name] for name in names}]


def test_a_selection_that_is_not_on_the_sheet_is_missed() -> None:
    tables = arena_tables()
    short = {name: without(tables[name], 4) for name in ("sheet", "sheet_key")}
    report = gate(tables | short, "selections", "sheet", "sheet_key")
    assert failed_names(report) == {"selections:shown_or_listed", "sheet_key:table_row_count_to_equal:"}
    shown = tables["sheet_key"].slice(4, 1).to_pylist()[0]
    (row,) = entry_of(report, "selections:shown_or_listed")["first_failed_values"]
    assert row["instruction_id"] == shown["instruction_id"]
    assert {row["model_a"], row["model_b"]} == {shown["model_1"], shown["model_2"]}


def test_responses_for_another_league_are_none_of_this_one() -> None:
    tables = arena_tables()
    plan = replace(ARENA_PLAN, scenarios=["sums"])
    held, expectations = arena_expected(tables, plan)
    own = [
        check for check in expectations if check.table in ("responses", "instruction_vectors", "vectors/ann")
    ]
    names = {check.table for check in own}
    assert run_gate("arena", {name: held[name] for name in names}, own)["success"]
    assert 0 < held["responses"][1].num_rows < tables["responses"].num_rows


def test_whose_votes_are_rated_is_known_by_kind_only_where_there_are_several() -> None:
    plan = replace(ARENA_PLAN, judges=[], key=False)
    tables = make_arena(plan=plan)
    assert set(tables["ratings"]["annotators"].to_pylist()) == {"all"}
    assert broken(arena_expected(tables, plan)) == {}
    assert set(arena_tables()["ratings"]["annotators"].to_pylist()) == {"all", "person", "judge", "key"}


def test_tables_that_cannot_be_compared_are_named_and_nothing_else_is_asked() -> None:
    tables = arena_tables()
    held, expectations = arena_expected(tables | {"votes": tables["votes"].drop_columns(["winner"])})
    assert expectations == []
    report = run_gate("arena", {"votes": held["votes"]})
    assert "votes:types" in failed_names(report)


def test_a_rating_that_is_not_on_the_board_is_missed() -> None:
    tables = arena_board_tables()
    held, expectations = arena_board_expected(tables | {"arena_board": tables["arena_board"].slice(1)})
    report = run_gate("boards", held, expectations)
    assert failed_names(report) == {"arena_board:table_row_count_to_equal:"}


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps run from the project's folder."""
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(ROOT)


def run_arena(folder: Path, tables: Tables) -> int:
    """The exit code of `validate_arena`; responses come in a file a model."""
    from scripts.gates import validate_arena
    from scripts.step import run_step

    names = {
        "pool": "instructions", "pool_rejected": "instructions_rejected", "instruction_ids": "instruction_vectors",
        "key": "sheet_key", "missing": "sheet_missing", "selections": "selections", "sheet": "sheet",
        "similarities": "similarities",
        "asked": "asked", "votes": "votes", "votes_rejected": "votes_rejected", "verdicts": "verdicts",
        "ratings": "ratings", "lift": "lift", "agreement": "agreement", "gallery": "gallery",
        "ablation": "ablation",
    }  # fmt: skip
    contracts = names | {
        "instruction_ids": "vectors", "ids": "vectors", "missing": "votes_rejected", "asked": "arena_asked",
        "similarities": "arena_similarities",
        "verdicts": "arena_verdicts", "lift": "selection_lift", "agreement": "arena_agreement",
        "ablation": "arena_ablation",
        "answers": "arena_responses",
    }  # fmt: skip
    parts = {name: [tables[of]] for name, of in names.items()}
    responses = tables["responses"]
    parts["answers"] = [responses.filter(pc.equal(responses["model"], name)) for name in ARENA_PLAN.models]
    parts["ids"] = [tables[f"vectors/{name}"] for name in ARENA_PLAN.models]
    counts = tables["pairs"].to_pylist()
    filtered = {name: counts[0][name] for name in ("scenario", "model_a", "model_b")} | {"prefilter": {}}
    lineage = make_lineage("test", wildcards={}, inputs=[], params={}, code={})
    write_json(folder / "counts.json", [*counts, filtered], lineage)
    league = {
        name: getattr(ARENA_PLAN, name)
        for name in ("models", "scenarios", "similarity", "lam", "judges", "exclude_self")
    }
    league |= {"k": K, "random_share": SHARE, "key": True, "people": ["data/annotations/pat.csv"]}
    params = {
        "league": league,
        "rounds": ARENA_PLAN.rounds,
        "statistics": statistics(ARENA_PLAN),
        "ablation_k": 3,
    }
    arguments = ["--params", json.dumps(params), "--wildcards", json.dumps({"arena": "small"})]
    arguments += [
        *written(folder, parts, contracts),
        "--in",
        "counts",
        str(folder / "counts.json"),
        *outputs(folder),
    ]
    return exit_code(lambda: run_step("scripts.gates.validate_arena", validate_arena.run, arguments))


@pytest.mark.usefixtures("project")
def test_the_gate_of_an_arena_passes_and_then_names_a_vote_that_nobody_cast(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = arena_tables()
    assert run_arena(tmp_path, tables) == 0
    assert json.loads((tmp_path / "gate.json").read_text())["success"] is True
    rows = tables["votes"].to_pylist()
    place = next(n for n, row in enumerate(rows) if row["annotator"] == "pat")
    rows[place]["annotator"] = "eve"
    changed = pa.Table.from_pylist(rows, schema=tables["votes"].schema)
    assert run_arena(tmp_path, tables | {"votes": changed}) == 1
    message = capsys.readouterr().err
    assert "gate of arena" in message
    assert "votes: annotator_described: expected an annotator whose decisive votes are counted" in message
    assert f"vote_id={rows[place]['vote_id']}: annotator_kind='person', annotator='eve'" in message
    assert not (tmp_path / "gate.json").exists()
