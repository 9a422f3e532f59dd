"""The objective of a version of a rubric: each of its terms from the ratings, and the sum from its terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from magister.audit.recompute import _weighted as weighted
from magister.audit.recompute._ledger import Ledger
from magister.audit.recompute._rubric_scores import Rubric, weights_of
from magister.audit.recompute._rubric_statistics import Ratings


def hold_objective(
    ledger: Ledger,
    path: str,
    scenario: str,
    decision: Mapping[str, Any],
    scores: list[Mapping[str, Any]],
    rubric: Rubric,
) -> None:
    """Terms and value of the objective in a decision.

    The term of people's scores is taken as it stands: anchors are not read here.

    Args:
        ledger: for findings.
        path: of decisions.json.
        scenario: its name.
        decision: of the version.
        scores: RUBRIC_SCORES rows of the version.
        rubric: the version.
    """
    terms = {name: term["value"] for name, term in decision["terms"].items()}
    held = [row for row in scores if row["held_out"]] or scores
    if not held:
        return
    ratings = Ratings(held, rubric, development=False)
    for name, value in terms_of(ratings).items():
        if name not in terms:
            continue
        ledger.count("objective: its terms", 1)
        seen = np.nan if terms[name] is None else float(terms[name])
        if not (abs(seen - value) <= 1e-7 or (np.isnan(seen) and np.isnan(value))):
            ledger.add(path, f"{scenario}: terms.{name}", "objective: its terms", terms[name], value)
    if terms and all(value is not None for value in terms.values()):
        factor = {name: -float(decision["weights"][name]) for name in decision["weights"]} | {
            "discrimination": 1.0
        }
        wanted = sum(factor[name] * float(value) for name, value in terms.items())
        seen = decision["objective"]["value"]
        ledger.count("identity: the objective is the sum of its terms", 1)
        if seen is None or not abs(float(seen) - wanted) <= 1e-9:
            ledger.add(
                path,
                f"{scenario}: objective.value",
                "identity: the objective is the sum of its terms",
                seen,
                wanted,
            )


def terms_of(ratings: Ratings) -> dict[str, float]:
    """Discrimination, unreliability and missing of a version, each a mean over metrics by their weights."""
    weight = weights_of(ratings.rubric)
    low, high = (float(end) for end in ratings.rubric["scale"])
    parts: dict[str, list[tuple[float, float]]] = {"discrimination": [], "unreliability": [], "missing": []}
    _, group = np.unique(np.array(ratings.model), return_inverse=True)
    for m, name in enumerate(ratings.metrics):
        x = ratings.panel[:, m]
        there = ~np.isnan(x)
        if there.any():
            eta = float(
                weighted.between(x[there], group[there], omega=False)(np.ones((1, int(there.sum()))))[0]
            )
            parts["discrimination"].append((weight[name], 0.0 if np.isnan(eta) else eta))
        table = ratings.by_judge[:, m] if len(ratings.judges) > 1 else ratings.value[:, m, 0]
        one, two = np.triu_indices(table.shape[1], 1)
        gap = np.abs(table[:, one] - table[:, two])
        if (~np.isnan(gap)).any():
            parts["unreliability"].append((weight[name], float(np.nanmean(gap)) / (high - low)))
        asked = ~np.isin(ratings.status[:, m].astype(str), ("", "excluded", "vetoed"))
        if asked.any():
            parts["missing"].append((weight[name], float(np.isnan(ratings.value[:, m][asked]).mean())))
    return {
        name: sum(w * value for w, value in found) / sum(w for w, _ in found)
        for name, found in parts.items()
        if found
    }
