"""Whole projects: a good one has no finding; missing files, changed words, lines and copies are named."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import recompute_trees as trees

from magister.audit.findings import Finding
from magister.audit.recompute import MODULES, recompute_boards
from magister.errors import UserError

_LEAGUE, _ARENA = "data/teaching/main", "data/arena/leagues/small"
_STUDY, _SET = "data/diagnosis/studies/sums", "data/rubrics/sets/ours"


@pytest.fixture
def project(request: pytest.FixtureRequest, scratch: Path) -> Path:
    """A copy of the project of the test's first parameter, whose files may be written anew."""
    module = request.node.callspec.params["module"]
    return trees.copied(request.getfixturevalue(module), Path(tempfile.mkdtemp(dir=scratch)) / "project")


def found_in(root: Path, module: str, path: str) -> list[Finding]:
    return [finding for finding in recompute_boards(root, [module]).findings if finding.path == path]


@pytest.mark.parametrize("module", MODULES)
def test_a_good_project_has_no_finding_and_says_how_much_was_recomputed(module: str, project: Path) -> None:
    found = recompute_boards(project)
    assert found.findings == []
    assert set(found.counted) == {module}, "sections without a league, study or set are skipped"
    assert found.counted[module] == sum(found.checks[module].values()) > 4000


@pytest.mark.parametrize("module", MODULES)
def test_the_same_project_has_the_same_findings(module: str, project: Path) -> None:
    text = (project / "params.yaml").read_text(encoding="utf-8")
    (project / "params.yaml").unlink()
    trees.write_text(project, "params.yaml", text)
    board = next((project / "results").glob("*.parquet"))
    table = pq.read_table(board)
    trees.rewrite(project, board.relative_to(project).as_posix(), table.slice(1))
    first, second = recompute_boards(project), recompute_boards(project)
    assert first == second
    assert first.findings


MISSING = {
    "teaching": [
        *("data/items/items.parquet", "data/items/bands.parquet", f"{_LEAGUE}/trajectories.parquet"),
        *(f"{_LEAGUE}/blind_answers/ann.parquet", f"{_LEAGUE}/zero_shot/tom.responses.jsonl"),
        *(f"{_LEAGUE}/round2/guide/una.parquet", f"{_LEAGUE}/round1/control_guides.parquet"),
        *(f"{_LEAGUE}/metrics.parquet", f"{_LEAGUE}/standings.parquet", "results/teaching.parquet"),
        *(
            "results/teaching.csv",
            "results/teaching.md",
            "results/metrics.json",
            "results/teaching_rounds.csv",
        ),
    ],
    "arena": [
        *(f"{_ARENA}/votes.parquet", f"{_ARENA}/sheet_key.parquet", f"{_ARENA}/judge/jim.responses.jsonl"),
        *(f"{_ARENA}/ratings.parquet", f"{_ARENA}/lift.parquet", f"{_ARENA}/agreement.parquet"),
        *("results/arena.parquet", "results/arena_beside.json", "results/arena.md"),
    ],
    "diagnosis": [
        *(f"{_STUDY}/responses.parquet", f"{_STUDY}/saem/q.parquet", f"{_STUDY}/saem/fit.json"),
        *(f"{_STUDY}/mastery.parquet", f"{_STUDY}/checks.parquet", f"{_STUDY}/support.json"),
        *("results/mastery.parquet", "results/mastery.csv", "results/mastery_beside.json"),
    ],
    "rubrics": [
        *(f"{_SET}/1/judge/ann.scores.parquet", f"{_SET}/0/repair/bob.responses.jsonl", f"{_SET}/best.json"),
        *(
            f"{_SET}/standings.parquet",
            f"{_SET}/2/rubrics.json",
            "results/rubrics.parquet",
            "results/rubrics.md",
        ),
    ],
}


@pytest.mark.parametrize(
    ("module", "path"), [(module, path) for module in MODULES for path in MISSING[module]]
)
def test_a_missing_file_is_a_finding_and_no_crash(module: str, path: str, project: Path) -> None:
    (project / path).unlink()
    (finding,) = [one for one in found_in(project, module, path) if one.check == "file"]
    assert finding.seen == "no such file"


@pytest.mark.parametrize(
    ("module", "path"),
    [
        ("teaching", f"{_LEAGUE}/metrics.parquet"),
        ("arena", f"{_ARENA}/votes.parquet"),
        ("diagnosis", f"{_STUDY}/saem/items.parquet"),
        ("rubrics", f"{_SET}/metric_scores.parquet"),
    ],
)
def test_a_file_that_is_no_table_is_a_finding(module: str, path: str, project: Path) -> None:
    (project / path).unlink()
    trees.write_text(project, path, "PAR1 and nothing else")
    assert any(finding.check == "file" for finding in found_in(project, module, path))


@pytest.mark.parametrize(
    ("module", "path", "column"),
    [("teaching", f"{_LEAGUE}/metrics.parquet", "value"), ("arena", f"{_ARENA}/ratings.parquet", "rating")],
)
def test_a_table_without_a_column_is_a_finding(module: str, path: str, column: str, project: Path) -> None:
    trees.rewrite(project, path, pq.read_table(project / path).drop_columns(column))
    findings = recompute_boards(project, [module]).findings
    assert any(finding.check == "file" and column in finding.seen for finding in findings)


WORDS = [
    ("teaching", f"{_LEAGUE}/metrics.parquet", "status", "not_computable"),
    ("teaching", f"{_LEAGUE}/standings.parquet", "group", "zz"),
    ("teaching", f"{_LEAGUE}/trajectories.parquet", "verdict", "wrong"),
    ("teaching", f"{_LEAGUE}/trajectories.parquet", "leak", "option"),
    ("teaching", f"{_LEAGUE}/trajectories.parquet", "answer", "Z"),
    ("teaching", f"{_LEAGUE}/round1/guide/tom.parquet", "verdict", "none"),
    ("teaching", f"{_LEAGUE}/blind_answers/ann.parquet", "text", "Answer: nothing"),
    ("teaching", "results/teaching.parquet", "group", "q"),
    ("arena", f"{_ARENA}/votes.parquet", "winner", "b"),
    ("arena", f"{_ARENA}/ratings.parquet", "status", "unbounded"),
    ("arena", f"{_ARENA}/ratings.parquet", "group", ""),
    ("arena", f"{_ARENA}/agreement.parquet", "status", "not_computable"),
    ("arena", "results/arena.parquet", "reason", "other"),
    ("diagnosis", f"{_STUDY}/mastery.parquet", "state", "unknown"),
    ("diagnosis", f"{_STUDY}/mastery.parquet", "support", "supported"),
    ("diagnosis", f"{_STUDY}/q_entries.parquet", "pattern", "added"),
    ("rubrics", f"{_SET}/metric_scores.parquet", "status", "no_score"),
    ("rubrics", f"{_SET}/standings.parquet", "group", "zz"),
    ("rubrics", f"{_SET}/dialogue_scores.parquet", "policy", "renormalise"),
]


@pytest.mark.parametrize(("module", "path", "column", "word"), WORDS)
def test_a_changed_word_is_found_and_named(
    module: str, path: str, column: str, word: str, project: Path
) -> None:
    table = pq.read_table(project / path)
    said = table[column].to_pylist()
    # Letters of Elo hang on resamples, of which there are few here.
    system = table["system"].to_pylist() if "system" in table.column_names else ["bradley_terry"] * len(said)
    free = [k for k in range(len(said)) if said[k] not in (word, None, "") and system[k] == "bradley_terry"]
    row = free[len(free) // 3]
    trees.rewrite(project, path, trees.with_cell(table, row, column, word))
    findings = found_in(project, module, path)
    assert any(finding.place.endswith(f": {column}") and word in finding.seen for finding in findings), (
        findings
    )


@pytest.mark.parametrize(
    ("module", "path"),
    [
        ("teaching", f"{_LEAGUE}/trajectories.parquet"),
        ("teaching", f"{_LEAGUE}/metrics.parquet"),
        ("teaching", "results/teaching.parquet"),
        ("arena", f"{_ARENA}/ratings.parquet"),
        ("arena", f"{_ARENA}/lift.parquet"),
        ("diagnosis", f"{_STUDY}/mastery.parquet"),
        ("diagnosis", f"{_STUDY}/saem/items.parquet"),
        ("rubrics", f"{_SET}/standings.parquet"),
        ("rubrics", f"{_SET}/metric_scores.parquet"),
    ],
)
def test_a_deleted_row_is_named(module: str, path: str, project: Path) -> None:
    table = pq.read_table(project / path)
    row = table.num_rows // 2
    trees.rewrite(project, path, pa.concat_tables([table.slice(0, row), table.slice(row + 1)]))
    gone = table.slice(row, 1).to_pylist()[0]
    findings = recompute_boards(project, [module]).findings
    names = [value for value in gone.values() if isinstance(value, str) and value][:1]
    assert any(finding.path == path and names[0] in finding.place for finding in findings), findings[:3]


@pytest.mark.parametrize(
    ("module", "path"), [("teaching", f"{_LEAGUE}/metrics.parquet"), ("arena", f"{_ARENA}/ratings.parquet")]
)
def test_a_row_that_stands_twice_is_named(module: str, path: str, project: Path) -> None:
    table = pq.read_table(project / path)
    trees.rewrite(project, path, pa.concat_tables([table, table.slice(3, 1)]))
    assert found_in(project, module, path)


@pytest.mark.parametrize("module", ["teaching"])
def test_a_changed_reply_is_found_in_the_row_that_was_read_from_it(module: str, project: Path) -> None:
    path = f"{_LEAGUE}/round1/revise/ann.responses.jsonl"
    trees.rewrite_text(project, path, "Answer: ", "Answer: (")
    (finding,) = found_in(project, module, path.replace(".responses.jsonl", ".parquet"))
    assert finding.place.startswith("arm ")
    assert finding.place.endswith(": text")
    assert finding.expected.startswith("Answer: (")


@pytest.mark.parametrize("module", ["teaching"])
def test_a_failed_call_that_counts_as_an_answer_is_found(module: str, project: Path) -> None:
    path = f"{_LEAGUE}/blind_answers/bob.responses.jsonl"
    first, *rest = (project / path).read_text(encoding="utf-8").splitlines()
    (project / path).unlink()
    failed = json.loads(first) | {"response": None, "error": {"code": "timeout"}}
    trees.write_text(project, path, "\n".join([json.dumps(failed), *rest, ""]))
    findings = found_in(project, module, f"{_LEAGUE}/blind_answers/bob.parquet")
    assert {finding.expected for finding in findings if finding.place.endswith(": status")} == {"error"}


@pytest.mark.parametrize("module", ["arena"])
def test_a_changed_verdict_of_a_judge_is_found_in_its_vote(module: str, project: Path) -> None:
    path = f"{_ARENA}/judge/jim.responses.jsonl"
    trees.rewrite_text(project, path, "[[A]]", "[[tie]]", times=-1)
    findings = found_in(project, module, f"{_ARENA}/votes/judge/jim.parquet")
    assert {finding.check for finding in findings} == {"votes: plain replies of judges, read again"}


@pytest.mark.parametrize("module", ["rubrics"])
def test_a_changed_score_of_a_judge_is_found(module: str, project: Path) -> None:
    path = f"{_SET}/1/judge/bob.responses.jsonl"
    trees.rewrite_text(project, path, '\\"score\\": 1', '\\"score\\": 4', times=-1)
    findings = found_in(project, module, f"{_SET}/1/judge/bob.scores.parquet")
    assert {finding.check for finding in findings} == {"scores: plain replies of judges, read again"}
    assert findings[0].expected == "4"


COPIES = [
    ("teaching", "results/teaching.csv", "0.5", "0.625"),
    ("teaching", "results/teaching.md", "+50.0", "+60.0"),
    ("teaching", "results/metrics.json", '"n_cells": 8', '"n_cells": 9'),
    ("teaching", "results/teaching_ca.csv", "0.5", "0.75"),
    ("teaching", "results/teaching_rounds.csv", "0.5", "0.75"),
    ("arena", "results/arena_beside.json", '"comparisons": ', '"comparisons": 1'),
    ("diagnosis", "results/mastery_beside.json", '"models": ', '"models": 1'),
    ("rubrics", "results/rubrics_beside.json", '"iteration": 0', '"iteration": 7'),
    ("rubrics", "results/rubrics.csv", "1.25", "1.5"),
    ("rubrics", "results/rubrics.md", "1.25", "1.75"),
]


@pytest.mark.parametrize(("module", "path", "before", "after"), COPIES)
def test_a_copy_that_says_something_else_is_found(
    module: str, path: str, before: str, after: str, project: Path
) -> None:
    trees.rewrite_text(project, path, before, after)
    findings = found_in(project, module, path)
    assert findings
    assert all(finding.check.startswith("copies: ") for finding in findings)


@pytest.mark.parametrize("module", ["arena", "diagnosis"])
def test_a_changed_cell_of_a_csv_is_named(module: str, project: Path) -> None:
    path = {"arena": "results/arena.csv", "diagnosis": "results/mastery.csv"}[module]
    lines = (project / path).read_text(encoding="utf-8").splitlines()
    cells = lines[1].split(",")
    place = next(k for k, cell in enumerate(cells) if cell.replace(".", "").isdigit() and "." in cell)
    cells[place] = "7.125"
    (project / path).unlink()
    trees.write_text(project, path, "\n".join([lines[0], ",".join(cells), *lines[2:], ""]))
    (finding,) = found_in(project, module, path)
    assert finding.seen == "7.125"
    assert finding.place.endswith(lines[0].split(",")[place])


@pytest.mark.parametrize(("module", "support"), [("diagnosis", "supported"), ("diagnosis", "undetermined")])
def test_a_verdict_that_does_not_follow_from_the_checks_is_found(
    module: str, support: str, project: Path
) -> None:
    path = f"{_STUDY}/support.json"
    said = json.loads((project / path).read_text(encoding="utf-8"))["support"]
    if said == support:
        support = "not_supported"
    trees.rewrite_text(project, path, f'"support": "{said}"', f'"support": "{support}"')
    assert [(one.seen, one.expected) for one in found_in(project, module, path)] == [(support, said)]


def test_an_unknown_module_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match="'chess' is none; expected some of teaching, arena, diagnosis, rubrics"
    ):
        recompute_boards(tmp_path, ["chess"])


def test_a_project_without_parameters_is_a_finding(tmp_path: Path) -> None:
    (finding,) = recompute_boards(tmp_path).findings
    assert (finding.path, finding.check) == ("params.yaml", "file")


def test_a_long_list_of_findings_is_counted_and_not_listed(teaching: Path, scratch: Path) -> None:
    project = trees.copied(teaching, Path(tempfile.mkdtemp(dir=scratch)) / "project")
    path = f"{_LEAGUE}/metrics.parquet"
    table = pq.read_table(project / path)
    at = table.column_names.index("n_ok")
    trees.rewrite(
        project,
        path,
        table.set_column(at, table.schema.field(at), pa.array([99] * table.num_rows, pa.int32())),
    )
    findings = [one for one in found_in(project, "teaching", path) if one.place == "n_ok"]
    assert any("more rows like these" in finding.seen for finding in findings)
