"""29 models on MMLU-Pro: standard errors and what a denominator does."""

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from magister.stats import cluster_mean

MODEL = "Meta-Llama-3_1-70B-Instruct"
Table = dict[str, NDArray]


@pytest.fixture(scope="module")
def mmlu_pro(cases: Path) -> Table:
    with (cases / "diagnosis/mmlu_pro_12032x29.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    return dict(zip(head, np.array(rows).T, strict=True))


def scores(answers: NDArray, unparsed: float) -> NDArray:
    """1, 0, `unparsed` for no answer found, NaN for a question that was not asked."""
    return np.select([answers == "1", answers == "0", answers == ""], [1.0, 0.0, unparsed], np.nan)


@pytest.mark.parametrize(
    ("cluster", "se", "clusters"),
    [("question_id", 0.00441, 12_032), ("category", 0.02801, 14), ("src", 0.02412, 91)],
)
def test_clusters_of_questions_multiply_the_standard_error(
    mmlu_pro: Table, cluster: str, se: float, clusters: int
) -> None:
    found = cluster_mean(scores(mmlu_pro[MODEL], 0.0), mmlu_pro[cluster])
    assert found.value == pytest.approx(0.6282, abs=5e-5)
    assert found.se == pytest.approx(se, abs=5e-6)
    assert (found.n, found.n_clusters, found.status) == (12_032, clusters, "ok")


def test_dropping_unparsed_answers_swaps_models(mmlu_pro: Table) -> None:
    models = list(mmlu_pro)[5:]
    wrong, dropped = (
        [float(np.nanmean(scores(mmlu_pro[model], policy))) for model in models] for policy in (0.0, np.nan)
    )
    pairs = list(itertools.combinations(range(len(models)), 2))
    swapped = sum((wrong[i] - wrong[j]) * (dropped[i] - dropped[j]) < 0 for i, j in pairs)
    assert (len(pairs), swapped) == (406, 25)
