"""The parameter file: modules that are left out, and what an arena's similarity needs."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from magister.config.params import validate_params
from tests.test_config import BASE, arena, changed, complaint


def test_models_are_needed_and_named() -> None:
    raw = copy.deepcopy(BASE)
    del raw["models"]
    assert "  models: Field required" in complaint(raw)


def test_a_module_may_be_left_out_with_what_needs_it() -> None:
    raw = copy.deepcopy(BASE)
    del raw["teaching"]
    assert validate_params(raw) == validate_params(raw | {"teaching": {}})
    assert validate_params(raw).teaching.leagues == {}
    bare = {"models": BASE["models"]}
    assert validate_params(bare) == validate_params(bare | {"items": {}, "teaching": {}, "arena": {}})
    message = complaint(bare | {"teaching": BASE["teaching"]})
    assert "teaching.leagues.main.datasets: unknown dataset 'sums'; known: none" in message


@pytest.mark.parametrize(
    ("league", "words"),
    [
        ({"similarity": "judge"}, ["arena.leagues.duel: similarity 'judge' needs 'similarity_judge'"]),
        (
            {"similarity_judge": "una"},
            ["duel: similarity_judge 'una' is not asked with similarity 'embedding'"],
        ),
        (
            {"similarity": "judge", "similarity_judge": "eve"},
            ["arena.leagues.duel.similarity_judge: unknown model 'eve'"],
        ),
        (
            {"similarity": "judge", "similarity_judge": "una"},
            ["duel.similarity_judge: 'una' has `script: responder`", "`script: similarity_judge`"],
        ),
    ],
)
def test_a_judge_of_similarity_goes_with_that_similarity(league: dict[str, Any], words: list[str]) -> None:
    message = complaint(changed("arena", arena(**league)))
    assert all(word in message for word in words)
    assert message.startswith("params.yaml: 1 problem(s)")
