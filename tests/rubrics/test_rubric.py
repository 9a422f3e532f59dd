"""A rubric adds up, never changes, and never takes an unknown score for a low one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rubric_tables import metric, rubric

from magister.errors import UserError
from magister.rubrics.rubric import (
    SEED_DIMENSIONS,
    Dimension,
    Metric,
    Rubric,
    read_rubric,
    rubric_document,
    score_dialogues,
)

texts = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=20).filter(str.strip)


@st.composite
def rubrics(draw: st.DrawFn) -> Rubric:
    """Rubrics of any content."""
    dims, metrics = [], []
    parts = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    for number, part in enumerate(parts):
        dims.append(Dimension(f"d{number}", part / sum(parts), draw(texts)))
        own = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
        for place, share in enumerate(own):
            anchors = tuple((score, draw(texts)) for score in sorted(draw(st.sets(st.integers(1, 5)))))
            examples = tuple(draw(st.lists(texts, max_size=2)))
            metrics.append(
                Metric(
                    f"m{number}_{place}",
                    draw(texts),
                    f"d{number}",
                    share / sum(own),
                    draw(texts),
                    examples,
                    (),
                    anchors,
                )
            )
    return Rubric("s", tuple(dims), tuple(draw(st.permutations(metrics))))


def test_the_seed_dimensions_weigh_one() -> None:
    weights = {dim.id: dim.weight for dim in SEED_DIMENSIONS}
    assert weights == {"personalisation": 0.3, "pedagogy": 0.4, "creativity": 0.2, "values": 0.1}
    Rubric("s", SEED_DIMENSIONS, tuple(Metric(f"m_{dim.id}", "m", dim.id, 1, "d") for dim in SEED_DIMENSIONS))


@given(rubrics())
def test_a_file_gives_back_the_same_version(made: Rubric) -> None:
    again = read_rubric(json.loads(json.dumps(rubric_document(made))), "r.json")
    assert again == made
    assert again.sha == made.sha


@given(rubrics(), st.randoms(use_true_random=False))
def test_the_order_in_which_metrics_are_named_makes_no_version(made: Rubric, random: Any) -> None:
    mixed = list(made.metrics)
    random.shuffle(mixed)
    assert Rubric("s", made.dimensions, tuple(mixed)).sha == made.sha


def test_another_text_is_another_version_and_names_its_parent() -> None:
    first = rubric()
    second = first.refined([replace(first.metric("asks"), desc="asks before it tells")])
    assert (second.sha != first.sha, second.parent_sha) == (True, first.sha)
    assert second.metric("fits") == first.metric("fits")
    # What was said before is the version that said it.
    assert second.refined([first.metric("asks")]).sha == first.sha


def test_weights_count_over_dimensions_and_within_them() -> None:
    made = rubric(metric("a", weight=0.25), metric("b", weight=0.75), metric("c", "values"))
    assert made.weights.tolist() == [0.125, 0.375, 0.5]
    assert score_dialogues(made, np.array([[1.0, 5.0, 3.0]])).value.tolist() == [3.5]


@given(rubrics(), st.data())
def test_a_score_lies_between_its_metrics_scores(made: Rubric, data: st.DataObject) -> None:
    row = data.draw(st.lists(st.integers(1, 5), min_size=len(made.metrics), max_size=len(made.metrics)))
    value = score_dialogues(made, np.array([row], dtype=float)).value[0]
    assert min(row) - 1e-9 <= value <= max(row) + 1e-9


def test_a_missing_metric_makes_the_score_unknown_and_never_lower() -> None:
    made = rubric()
    values = np.array([[4.0, np.nan], [np.nan, np.nan], [4.0, 4.0]])
    strict = score_dialogues(made, values)
    assert np.isnan(strict.value).tolist() == [True, True, False]
    assert strict.known.tolist() == [1, 0, 2]
    loose = score_dialogues(made, values, "renormalise")
    assert (loose.value[0], np.isnan(loose.value[1]), loose.weight[0]) == (4.0, True, 0.5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"metrics": []}, "no metrics"),
        ({"weights": 1}, "unknown 'weights'"),
        ({"sha": "0" * 64}, "a version never changes"),
        ({"scale": [5, 1]}, "must lie below"),
        ({"scale": [1, 5, 9]}, "two whole numbers"),
        ({"format": 7}, "format 7"),
        ({"scenario": None}, "'scenario' is missing"),
        ({"score_type": "grade"}, "expected int or float"),
    ],
)
def test_a_broken_file_is_told_by_its_place(change: dict[str, Any], said: str) -> None:
    document = rubric_document(rubric())
    if "sha" not in change:
        del document["sha"]
    with pytest.raises(UserError, match=said) as caught:
        read_rubric(document | change, "r.json")
    assert "r.json" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"weight": 0.5}, "metrics of pedagogy: weights add up to 0.5, not to 1 .*divide each by 0.5"),
        ({"weight": -1.0}, "asks: weight -1.0; expected a share"),
        ({"weight": True}, "metric 1: weight: expected a number, found True"),
        ({"dim": "magic"}, "metric 1 \\(asks\\): unknown dimension 'magic'"),
        ({"id": "Asks!"}, "row 1: id 'Asks!'"),
        ({"id": "fits"}, "fits: twice"),
        ({"desc": " "}, "desc is empty"),
        ({"anchors": {"6": "x"}}, "expected scores 1..5"),
        ({"anchors": {"high": "x"}}, "anchors: 'high'"),
        ({"anchors": {"1": " "}}, "an anchor is empty"),
        ({"pos_ex": [1]}, "pos_ex: expected a list of texts"),
    ],
)
def test_a_broken_metric_is_told_by_its_row(change: dict[str, Any], said: str) -> None:
    document = rubric_document(rubric())
    del document["sha"]
    document["metrics"][0] |= change
    with pytest.raises(UserError, match=said):
        read_rubric(document, "r.json")


def test_a_dimension_without_a_metric_is_an_error() -> None:
    with pytest.raises(UserError, match="dimension 'values' has no metric; add one"):
        Rubric("s", (Dimension("pedagogy", 0.5, "p"), Dimension("values", 0.5, "v")), (metric("asks"),))
