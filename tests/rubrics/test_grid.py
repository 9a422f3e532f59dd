"""The scenarios that ship with the project, and the grid."""

from __future__ import annotations

from pathlib import Path

import pytest

from magister.rubrics._grid_types import KINDS
from magister.rubrics.grid import LANGUAGES, SUBJECTS, Language, grid
from magister.rubrics.lint import lint_files, scenario_files
from magister.rubrics.reader import parse_scenario, read_scenario
from magister.rubrics.wave_plan import waves_needed
from magister.rubrics.waves import Cast, open_dialogues

OWN = Path(__file__).parents[2] / "data" / "scenarios"


def test_our_scenarios_are_without_a_finding() -> None:
    assert lint_files(scenario_files([OWN])) == []


def test_our_scenarios_are_of_every_kind() -> None:
    scenarios = [read_scenario(path) for path in scenario_files([OWN])]
    assert len(scenarios) >= 6
    assert {one.dialect for one in scenarios} == {"a", "magister"}
    assert {one.language for one in scenarios} >= {"en", "zh"}
    turns = {waves_needed([one], Cast({})) for one in scenarios}
    assert min(turns) == 1
    assert max(turns) > 5
    assert any(one.evaluation is not None and one.evaluation.vetoes for one in scenarios)
    assert open_dialogues(scenarios, ["one"])


def test_each_file_is_in_the_list_of_the_folder() -> None:
    listed = (OWN / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in scenario_files([OWN]) if f"`{path.name}`" not in listed] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_grid_is_made_of_valid_scenarios_that_differ(tmp_path: Path, language: Language) -> None:
    written = list(grid(language=language))
    assert len(written) == 330 == len({one.text for one in written})
    for one in written[:: len(KINDS) + 1]:
        (tmp_path / f"{one.name}.yaml").write_text(one.text, encoding="utf-8")
    assert lint_files(scenario_files([tmp_path])) == []
    scenarios = [parse_scenario(one.text, f"{one.name}.yaml") for one in written]
    assert {one.name for one in scenarios} == {one.name for one in written}
    assert all(sum(task.held_out for task in one.tasks) == 2 for one in scenarios)


def test_a_grid_is_the_same_each_time() -> None:
    assert list(grid(subjects=["art"])) == list(grid(subjects=["art"]))
    assert [
        one.name for one in grid(subjects=["physics", "art"], kinds=["lesson_plan"], stages=["primary"])
    ] == [
        "physics-primary-lesson_plan",
        "art-primary-lesson_plan",
    ]
    assert len(SUBJECTS) == 11
