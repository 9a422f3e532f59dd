"""Held-out responses: which are kept from a fit, and how well they are predicted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.stats import rankdata

from magister.contracts.diagnosis_tables import PREDICTION_MEASURES, PREDICTIONS, PREDICTORS
from magister.diagnosis.matrix import ResponseMatrix
from magister.stats import two_way_intervals

Array = NDArray[np.float64]
Row = dict[str, Any]
LEAST_KEPT = 5
"""Responses that every model and item keeps for the fit."""
CERTAIN = 1e-6
"""Predictions are held this far from 0 and 1: one certain miss must not outweigh all else."""
_HIGHER_IS_BETTER = {"loglik": 1.0, "auc": 1.0, "brier": -1.0}


@dataclass(frozen=True)
class HeldOut:
    """Cells that are kept from a fit, in the order of models' and items' names.

    Attributes:
        rows, columns: positions in the matrix, n.
        share: of each model's responses that were asked for.
        seed: of the choice.
    """

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    share: float
    seed: int


def hold_out(responses: ResponseMatrix, *, share: float, seed: int, least_kept: int = LEAST_KEPT) -> HeldOut:
    """Choose responses that a fit must predict.

    Every model gives the same share of its responses, those with the least hash of seed, model and item; an item
    gives no more than leaves it `least_kept`. Neither the order of rows nor another model changes a model's cells,
    unless an item runs short.

    Args:
        responses: N x J.
        share: of each model's responses, above 0 and below 1.
        seed: whole number, 0 or more.
        least_kept: responses that every model and item keeps.

    Returns:
        The cells; none where no model and item have responses to spare.

    Raises:
        ValueError: a share that is none.
    """
    if not 0 < share < 1:
        raise ValueError(f"share must lie between 0 and 1, not {share!r}")
    by_model, by_item = (np.argsort(np.asarray(names)) for names in (responses.models, responses.items))
    answered = responses.answered[np.ix_(by_model, by_item)]
    models = _hashes([responses.models[i] for i in by_model], f"{seed} model")
    items = _hashes([responses.items[j] for j in by_item], f"{seed} item")
    code = _mixed(models[:, None] ^ items[None, :])
    # What is not there comes last.
    place = _places(np.where(answered, code, np.iinfo(np.uint64).max))
    count = answered.sum(axis=1)
    # A share of a response is one response in as many models.
    part = _mixed(models) / 2.0**64
    quota = np.minimum(np.floor(share * count + part), np.maximum(count - least_kept, 0))
    held = answered & (place < quota[:, None])
    spare = np.maximum(answered.sum(axis=0) - least_kept, 0)
    place = _places(np.where(held, code, np.iinfo(np.uint64).max).T).T
    held &= place < spare[None, :]
    rows, columns = np.nonzero(held)
    return HeldOut(by_model[rows], by_item[columns], share, seed)


def _hashes(names: Sequence[str], what: str) -> NDArray[np.uint64]:
    digests = [hashlib.sha256(f"{what} {name}".encode()).digest()[:8] for name in names]
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def _mixed(code: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of SplitMix64 (Steele, Lea and Flood 2014): every bit depends on every other."""
    z = code + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _places(code: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Place of every value in its row, from 0; equal values in the order of columns, which are in order of names."""
    order = np.argsort(code, axis=1, kind="stable")
    place = np.empty(code.shape, dtype=np.int64)
    np.put_along_axis(place, order, np.broadcast_to(np.arange(code.shape[1]), code.shape), axis=1)
    return place


def item_means(responses: ResponseMatrix, held_out: HeldOut) -> Array:
    """P(right) of held-out cells from the item alone: (right + 1) / (n + 2) of the other models."""
    rest = responses.masked(held_out.rows, held_out.columns)
    right, n = (rest.correct == 1).sum(axis=0), rest.answered.sum(axis=0)
    return np.asarray((right + 1) / (n + 2))[held_out.columns]


def score_predictions(
    responses: ResponseMatrix,
    held_out: HeldOut,
    predicted: Mapping[str, Array],
    *,
    level: float,
    against: Mapping[str, Array] | None = None,
    absent: Mapping[str, str] | None = None,
) -> pa.Table:
    """Score predictions of held-out responses.

    Measures are the mean log-likelihood, the area under the ROC curve over all cells, and the Brier score. Their
    intervals are for models and items like these (`two_way_intervals`); that of the area uses DeLong's placements.

    Args:
        responses: N x J.
        held_out: n cells.
        predicted: P(right) of the cells by predictor, n; or D x n, of which measures are averaged over D.
        level: confidence level, 0..1.
        against: what a predictor is compared with, where that is not `dina`.
        absent: why a predictor has no predictions.

    Returns:
        PREDICTIONS table: every predictor and measure.

    Raises:
        ValueError: predictions that do not fit the cells.
    """
    truth = responses.correct[held_out.rows, held_out.columns] == 1
    scored = {name: _scores(truth, values) for name, values in predicted.items()}
    bases = {name: _scores(truth, values) for name, values in (against or {}).items()}
    common = {
        "n": truth.size,
        "n_models": np.unique(held_out.rows).size,
        "n_items": np.unique(held_out.columns).size,
        "seed": held_out.seed,
        "share": held_out.share,
        "level": level,
    }
    rows: list[Row] = []
    for predictor in PREDICTORS:
        found = scored.get(predictor)
        for place, measure in enumerate(PREDICTION_MEASURES):
            row: Row = {"predictor": predictor, "measure": measure} | common
            if found is None:
                reason = (absent or {}).get(predictor, "not fitted")
                rows.append(row | {"status": "not_computable", "reason": reason})
                continue
            value, influence = found[0][place], found[1][:, place]
            row |= _interval(value, influence, held_out, level, measure)
            base = bases.get(predictor, scored.get("dina"))
            if predictor != "dina" and base is not None and not np.isnan(value):
                sign = _HIGHER_IS_BETTER[measure]
                paired = _interval(
                    sign * (base[0][place] - value),
                    sign * (base[1][:, place] - influence),
                    held_out,
                    level,
                    measure,
                )
                row |= {
                    "difference": paired["value"],
                    "difference_ci_low": paired["ci_low"],
                    "difference_ci_high": paired["ci_high"],
                }
            rows.append(row)
    return pa.Table.from_pylist(rows, schema=PREDICTIONS.schema)


def mean_measures(responses: ResponseMatrix, held_out: HeldOut, predicted: Array) -> dict[str, float]:
    """The measures of one predictor by name; NaN where one cannot be computed."""
    truth = responses.correct[held_out.rows, held_out.columns] == 1
    return dict(zip(PREDICTION_MEASURES, _scores(truth, predicted)[0].tolist(), strict=True))


def _interval(value: float, influence: Array, held_out: HeldOut, level: float, measure: str) -> Row:
    found = two_way_intervals([value], influence[:, None], held_out.rows, held_out.columns, level).item()
    if found.value is None:
        one_kind = measure == "auc" and influence.size > 0
        reason = "all held-out responses are right, or all wrong" if one_kind else "no response is held out"
        return {"value": None, "ci_low": None, "ci_high": None, "status": "not_computable", "reason": reason}
    status = "ok" if found.status == "ok" else "no_interval"
    reason = "" if status == "ok" else _WHY[found.status]
    return {
        "value": found.value,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "status": status,
        "reason": reason,
    }


_WHY = {
    "one_cluster": "held-out responses of one model, or of one item: they cannot tell of others",
    "all_equal": "no variation between models and items",
}


def _scores(truth: NDArray[np.bool_], predicted: Array) -> tuple[Array, Array]:
    """The measures, 3, and the influence of every cell on each, n x 3."""
    several = np.atleast_2d(np.asarray(predicted, dtype=np.float64))
    if several.shape[1] != truth.size:
        raise ValueError(f"{several.shape[1]} predictions for {truth.size} held-out responses")
    values, influence = np.zeros(3), np.zeros((truth.size, 3))
    if not truth.size:
        return np.full(3, np.nan), influence
    for one in several:
        chance = np.clip(one, CERTAIN, 1 - CERTAIN)
        cells = np.stack([np.log(np.where(truth, chance, 1 - chance)), (chance - truth) ** 2], axis=1)
        area, placed = _area(truth, chance)
        means = cells.mean(axis=0)
        values += [means[0], area, means[1]]
        influence += np.stack(
            [(cells[:, 0] - means[0]) / truth.size, placed, (cells[:, 1] - means[1]) / truth.size], axis=1
        )
    return values / len(several), influence / len(several)


def _area(truth: NDArray[np.bool_], chance: Array) -> tuple[float, Array]:
    """Area under the ROC curve, ties as a half, and influences from placements (DeLong and others 1988)."""
    right, wrong = int(truth.sum()), int((~truth).sum())
    influence = np.zeros(truth.size)
    if not right or not wrong:
        return float("nan"), influence
    ranks = rankdata(chance)
    above = (ranks[truth] - rankdata(chance[truth])) / wrong
    below = 1 - (ranks[~truth] - rankdata(chance[~truth])) / right
    area = float(above.mean())
    influence[truth], influence[~truth] = (above - area) / right, (below - area) / wrong
    return area, influence
