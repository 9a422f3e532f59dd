"""A rubric: weighted dimensions, weighted metrics within them, and the score of a dialogue by them.

A version never changes. It is known by the hash of what it says; a refinement is a new version that names its parent.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from magister.errors import UserError
from magister.llm import canonical_json

FORMAT = 1
"""Version of the file's form."""
ID = re.compile(r"[a-z][a-z0-9_]{0,39}")
_TOLERANCE = 1e-9
ScoreType = Literal["int", "float"]
Missing = Literal["unknown", "renormalise"]
MISSING: tuple[Missing, ...] = ("unknown", "renormalise")

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Dimension:
    """What a scenario's metrics are about.

    Attributes:
        id: name in files, lower case.
        weight: share of the score, 0..1; the weights of a rubric add up to 1.
        desc: what is meant.
    """

    id: str
    weight: float
    desc: str


SEED_DIMENSIONS = (
    Dimension(
        "personalisation", 0.3, "Adapts to the learner's profile, level of understanding and personal needs."
    ),
    Dimension(
        "pedagogy",
        0.4,
        "Quality of teaching strategy and guidance, and command of the subject that is taught.",
    ),
    Dimension("creativity", 0.2, "Encourages critical thinking, several ways of reasoning, and curiosity."),
    Dimension("values", 0.1, "Brings in positive social values, and is sensitive to culture."),
)
"""The method's four starting dimensions with the weights that its experts gave; any others may take their place."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One thing that a judge scores.

    Attributes:
        id: name in files and replies; stays when the texts are rewritten.
        name: short title.
        dim: id of its dimension.
        weight: share of its dimension, 0..1; the weights within a dimension add up to 1.
        desc: what is scored.
        pos_ex: examples of what scores high.
        neg_ex: examples of what scores low.
        anchors: (score, what earns it), by score; may be empty for rubrics that people wrote without.
    """

    id: str
    name: str
    dim: str
    weight: float
    desc: str
    pos_ex: tuple[str, ...] = ()
    neg_ex: tuple[str, ...] = ()
    anchors: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Rubric:
    """An immutable version of a scenario's rubric.

    Attributes:
        scenario: id of the scenario.
        dimensions: by id.
        metrics: by id.
        scale: lowest and highest score of every metric.
        score_type: whether scores are whole numbers.
        parent_sha: the version it was refined from; None for a first one.
        sha: hash of all the above but the parent: the same content is the same version.
    """

    scenario: str
    dimensions: tuple[Dimension, ...]
    metrics: tuple[Metric, ...]
    scale: tuple[int, int] = (1, 5)
    score_type: ScoreType = "int"
    parent_sha: str | None = None
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        """Sort, check and hash.

        Raises:
            UserError: weights do not add up, or a metric cannot be scored; says which.
        """
        object.__setattr__(self, "dimensions", tuple(sorted(self.dimensions, key=lambda dim: dim.id)))
        object.__setattr__(self, "metrics", tuple(sorted(self.metrics, key=lambda metric: metric.id)))
        check_rubric(self, f"rubric of {self.scenario}")
        object.__setattr__(self, "sha", hashlib.sha256(canonical_json(_content(self)).encode()).hexdigest())

    @property
    def weights(self) -> FloatArray:
        """w_i of each metric: its dimension's weight times its own, shape (metrics,)."""
        share = {dim.id: dim.weight for dim in self.dimensions}
        return np.array([share[metric.dim] * metric.weight for metric in self.metrics])

    @property
    def metric_ids(self) -> tuple[str, ...]:
        """Ids in the order of `metrics` and of `weights`."""
        return tuple(metric.id for metric in self.metrics)

    def metric(self, metric_id: str) -> Metric:
        """The metric of an id.

        Raises:
            UserError: there is none; lists those that are.
        """
        for metric in self.metrics:
            if metric.id == metric_id:
                return metric
        raise UserError(
            f"rubric of {self.scenario}: no metric {metric_id!r}; it has {', '.join(self.metric_ids)}"
        )

    def refined(self, metrics: Iterable[Metric]) -> Rubric:
        """A child version in which the metrics of the same ids have these texts."""
        new = {metric.id: metric for metric in metrics}
        for metric_id in new:
            self.metric(metric_id)
        return replace(
            self, metrics=tuple(new.get(metric.id, metric) for metric in self.metrics), parent_sha=self.sha
        )


@dataclass(frozen=True)
class Scores:
    """Scores of D dialogues.

    Attributes:
        value: float64, shape (D,); NaN where it is unknown.
        known: metrics with a score, int64, shape (D,).
        weight: their share of the weights, shape (D,).
        policy: what became of dialogues with metrics that have none.
    """

    value: FloatArray
    known: NDArray[np.int64]
    weight: FloatArray
    policy: Missing


def score_dialogues(rubric: Rubric, values: FloatArray, policy: Missing = "unknown") -> Scores:
    """Score(tau, R) = sum_i w_i s_i(tau).

    Args:
        rubric: R.
        values: s_i, shape (D, metrics), columns in the order of `rubric.metrics`; NaN where a metric has no score.
        policy: `unknown` - a dialogue with a metric that has none has no score; `renormalise` - the weights of
            the metrics that have one are scaled to 1, which assumes that the others would have scored alike. A
            dialogue without any has none. A missing metric never counts as a low one.

    Returns:
        The scores, on the rubric's scale.

    Raises:
        ValueError: the shape does not fit.

    References:
        Elmes+, eq. 1.
    """
    x, w = np.asarray(values, dtype=np.float64), rubric.weights
    if x.ndim != 2 or x.shape[1] != w.size:
        raise ValueError(f"values must have shape (dialogues, {w.size}), not {x.shape}")
    if policy not in MISSING:
        raise ValueError(f"policy {policy!r} is unknown; expected {' or '.join(MISSING)}")
    given = ~np.isnan(x)
    # A sum in a fixed order, so that no BLAS decides on its last bit.
    weight = (given * w).sum(axis=1)
    total = (np.where(given, x, 0.0) * w).sum(axis=1)
    usable = given.all(axis=1) if policy == "unknown" else weight > 0
    value = np.where(usable, total / np.where(usable, weight, 1.0), np.nan)
    return Scores(value, given.sum(axis=1), weight, policy)


def check_rubric(rubric: Rubric, where: str) -> None:
    """Hold a rubric to what a score needs.

    Raises:
        UserError: no metrics, an id that is no id or stands twice, a dimension without metrics, a weight that is no
            share, weights that do not add up to 1, a scale or anchors that are none. Names the row and what to do.
    """
    low, high = rubric.scale
    if not low < high:
        raise UserError(f"{where}: scale {low}..{high}: the lowest score must lie below the highest")
    if not rubric.metrics:
        raise UserError(f"{where}: no metrics; a rubric has one at least")
    _check_ids([dim.id for dim in rubric.dimensions], f"{where}: dimensions")
    _check_ids([metric.id for metric in rubric.metrics], f"{where}: metrics")
    _check_weights([(dim.id, dim.weight) for dim in rubric.dimensions], f"{where}: dimensions")
    known = [dim.id for dim in rubric.dimensions]
    for row, metric in enumerate(rubric.metrics, start=1):
        place = f"{where}: metric {row} ({metric.id})"
        if metric.dim not in known:
            raise UserError(f"{place}: unknown dimension {metric.dim!r}; expected one of {', '.join(known)}")
        for name in ("name", "desc"):
            if not getattr(metric, name).strip():
                raise UserError(f"{place}: {name} is empty; write what is scored")
        scores = [score for score, _ in metric.anchors]
        if scores != sorted(set(scores)) or any(not low <= score <= high for score in scores):
            raise UserError(f"{place}: anchors at {scores}; expected scores {low}..{high}, each once, sorted")
        if any(not text.strip() for _, text in metric.anchors):
            raise UserError(f"{place}: an anchor is empty; say what earns the score, or leave it out")
    for dim in rubric.dimensions:
        own = [(metric.id, metric.weight) for metric in rubric.metrics if metric.dim == dim.id]
        if not own:
            raise UserError(
                f"{where}: dimension {dim.id!r} has no metric; add one, or take the dimension out and give its "
                "weight to the others"
            )
        _check_weights(own, f"{where}: metrics of {dim.id}")


def _check_ids(ids: Sequence[str], where: str) -> None:
    for row, name in enumerate(ids, start=1):
        if not ID.fullmatch(name):
            raise UserError(
                f"{where}: row {row}: id {name!r}; expected a letter a-z, then up to 39 of a-z, 0-9 and _"
            )
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise UserError(f"{where}: {', '.join(twice)}: twice; ids must differ")


def _check_weights(weights: Sequence[tuple[str, float]], where: str) -> None:
    for name, weight in weights:
        if not (math.isfinite(weight) and 0 < weight <= 1 + _TOLERANCE):
            raise UserError(f"{where}: {name}: weight {weight!r}; expected a share above 0 and up to 1")
    total = math.fsum(weight for _, weight in weights)
    if abs(total - 1) > _TOLERANCE:
        shown = ", ".join(f"{name} {weight:g}" for name, weight in weights)
        raise UserError(
            f"{where}: weights add up to {total:.6g}, not to 1 ({shown}); divide each by {total:.6g}"
        )


def _content(rubric: Rubric) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "scenario": rubric.scenario,
        "scale": list(rubric.scale),
        "score_type": rubric.score_type,
        "dimensions": [{"id": dim.id, "weight": dim.weight, "desc": dim.desc} for dim in rubric.dimensions],
        "metrics": [metric_document(metric) for metric in rubric.metrics],
    }


def metric_document(metric: Metric) -> dict[str, Any]:
    """A metric as it stands in a file."""
    return {
        "id": metric.id,
        "name": metric.name,
        "dim": metric.dim,
        "weight": metric.weight,
        "desc": metric.desc,
        "pos_ex": list(metric.pos_ex),
        "neg_ex": list(metric.neg_ex),
        "anchors": {str(score): text for score, text in metric.anchors},
    }


def rubric_document(rubric: Rubric) -> dict[str, Any]:
    """A version as a JSON document: the same version gives the same bytes, written with sorted keys."""
    return {**_content(rubric), "parent_sha": rubric.parent_sha, "sha": rubric.sha}


def read_rubric(document: object, where: str) -> Rubric:
    """Read a version.

    Args:
        document: what `rubric_document` made, or a hand-written one, which needs no `sha`.
        where: the file's name, for messages.

    Raises:
        UserError: something is missing, of another type, unknown, or the `sha` is not that of the content.
    """
    top = _fields(
        document,
        where,
        {"scenario": str, "dimensions": list, "metrics": list},
        {"format": int, "scale": list, "score_type": str, "parent_sha": str, "sha": str},
    )
    if top.get("format", FORMAT) != FORMAT:
        raise UserError(f"{where}: format {top['format']}; this version reads {FORMAT}")
    scale = top.get("scale", [1, 5])
    if len(scale) != 2 or any(not isinstance(end, int) or isinstance(end, bool) for end in scale):
        raise UserError(f"{where}: scale {scale!r}; expected two whole numbers, the lowest and highest score")
    score_type = top.get("score_type", "int")
    if score_type not in ("int", "float"):
        raise UserError(f"{where}: score_type {score_type!r}; expected int or float")
    dimensions = []
    for row, entry in enumerate(top["dimensions"], start=1):
        values = _fields(entry, f"{where}: dimension {row}", {"id": str, "weight": float, "desc": str}, {})
        dimensions.append(Dimension(values["id"], float(values["weight"]), values["desc"]))
    metrics = [read_metric(entry, f"{where}: metric {row}") for row, entry in enumerate(top["metrics"], 1)]
    try:
        rubric = Rubric(
            top["scenario"],
            tuple(dimensions),
            tuple(metrics),
            (scale[0], scale[1]),
            score_type,
            top.get("parent_sha"),
        )
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    if top.get("sha", rubric.sha) != rubric.sha:
        raise UserError(
            f"{where}: sha {top['sha'][:12]} is not that of the content ({rubric.sha[:12]}): a version never changes. "
            "Take `sha` out to make this a new version, and name the old one in `parent_sha`"
        )
    return rubric


def read_metric(entry: object, where: str) -> Metric:
    """Read one metric of a file.

    Raises:
        UserError: something is missing, of another type or unknown.
    """
    values = _fields(
        entry,
        where,
        {"id": str, "name": str, "dim": str, "weight": float, "desc": str},
        {"pos_ex": list, "neg_ex": list, "anchors": dict},
    )
    for name in ("pos_ex", "neg_ex"):
        if any(not isinstance(text, str) for text in values.get(name, [])):
            raise UserError(f"{where}: {name}: expected a list of texts")
    anchors = []
    for score, text in values.get("anchors", {}).items():
        if not re.fullmatch(r"-?\d{1,6}", str(score)) or not isinstance(text, str):
            raise UserError(f"{where}: anchors: {score!r}: expected whole scores, each with a text")
        anchors.append((int(score), text))
    return Metric(
        values["id"],
        values["name"],
        values["dim"],
        float(values["weight"]),
        values["desc"],
        tuple(values.get("pos_ex", [])),
        tuple(values.get("neg_ex", [])),
        tuple(sorted(anchors)),
    )


_KINDS = {str: "text", float: "number", int: "whole number", list: "list", dict: "object"}


def _fields(
    value: object, where: str, required: Mapping[str, type], optional: Mapping[str, type]
) -> dict[str, Any]:
    """An object's fields with their types; null is the same as not given."""
    if not isinstance(value, dict):
        raise UserError(f"{where}: expected an object, found {type(value).__name__}")
    known = {**required, **optional}
    unknown = sorted(set(value) - set(known))
    if unknown:
        raise UserError(f"{where}: unknown {', '.join(map(repr, unknown))}; known: {', '.join(known)}")
    found = {key: entry for key, entry in value.items() if entry is not None}
    for key in required:
        if key not in found:
            raise UserError(f"{where}: {key!r} is missing; expected a {_KINDS[required[key]]}")
    for key, entry in found.items():
        kind = known[key]
        allowed = (int, float) if kind is float else kind
        if not isinstance(entry, allowed) or isinstance(entry, bool):
            raise UserError(f"{where}: {key}: expected a {_KINDS[kind]}, found {entry!r:.60}")
    return found
