"""The section `rubrics`: sets name what there is, and a mistake is told with its key."""

from __future__ import annotations

from typing import Any

import pytest

from magister.config.params import validate_params
from magister.errors import UserError


def params(**options: Any) -> dict[str, Any]:
    """A set with two models, and what is changed in it."""
    script = {
        "teacher": "rubric_teacher",
        "pupil": "rubric_student",
        "judge": "rubric_judge",
        "writer": "rubric_writer",
    }
    one = {
        "scenarios": ["data/scenarios/a.yaml"],
        "models": ["teacher"],
        "partners": {"*": "pupil"},
        "judges": ["judge"],
    }
    return {
        "models": {name: {"engine": "scripted", "script": player} for name, player in script.items()},
        "rubrics": {"sets": {"ours": one | options}},
    }


def test_a_set_needs_no_more_than_scenarios_models_and_judges() -> None:
    read = validate_params(params()).rubrics
    assert (read.sets["ours"].source, read.sets["ours"].iterations, read.scale) == ("scenario", 0, [1, 5])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"models": ["nobody"]}, "rubrics.sets.ours.models: unknown model 'nobody'"),
        ({"partners": {"pupil": "nobody"}}, "rubrics.sets.ours.partners: unknown model 'nobody'"),
        ({"judges": ["judge", "judge"]}, "rubrics.sets.ours.judges: judge stands there twice"),
        ({"judges": ["teacher"]}, "cannot answer as one of the rubric judges"),
        ({"models": ["judge"]}, "cannot answer as one of the speakers"),
        ({"iterations": 2}, "need 'writer'"),
        ({"source": "scenegen"}, "need 'writer'"),
        ({"writer": "writer"}, "writes nothing"),
        ({"iterations": 1, "writer": "judge"}, "cannot answer as one of the rubric writers"),
        ({"scenarios": ["other/a.yaml"]}, "in data/scenarios/, where both engines notice edits"),
        ({"scenarios": ["data/scenarios/a.yaml"] * 2}, "data/scenarios/a.yaml stands there twice"),
        ({"anchors": ["data/annotations/a.csv"]}, "expected a file .jsonl in data/annotations/"),
    ],
)
def test_a_mistake_in_a_set_is_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as caught:
        validate_params(params(**options))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"scale": [5, 1]}, "the lowest score first"),
        ({"dimensions": [{"id": "a", "weight": 0.5, "desc": "x"}]}, "add up to 0.5, not to 1"),
        ({"dimensions": [{"id": "A b", "weight": 1, "desc": "x"}]}, "rubrics.dimensions.0.id"),
        ({"dimensions": [{"id": "a", "weight": 0.5, "desc": "x"}] * 2}, "stands there twice"),
    ],
)
def test_a_mistake_in_the_section_is_named(section: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as caught:
        validate_params(params() | {"rubrics": section})
    assert said in str(caught.value)
