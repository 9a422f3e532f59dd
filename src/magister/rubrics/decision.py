"""Which version of a rubric is best so far, and whether to go on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import pyarrow as pa

from magister.config.rubrics_judging import Objective
from magister.errors import UserError
from magister.rubrics.iterations import Document, is_frozen
from magister.rubrics.objective import Evidence
from magister.rubrics.rubric import Rubric
from magister.stats import Estimate

StopReason = Literal["nothing_flagged", "insufficient_data", "patience", "budget"]


def decide(
    iteration: int,
    last: int,
    rubric: Rubric,
    evidence: Evidence,
    flags: pa.Table,
    history: Sequence[Document],
    options: Objective,
    *,
    calls: int | None = None,
) -> Document:
    """Choose the best version so far, and whether to go on.

    A version takes the place of the best one only where its objective is more than `min_delta` higher: within that
    the versions are a tie, which the earlier wins. `patience` counts iterations since a version gained more than
    `min_delta` and more than the standard error of its own objective.

    Args:
        iteration: of this version, from 0.
        last: the last iteration that there can be.
        rubric: this version.
        evidence: its objective.
        flags: RUBRIC_FLAGS table of it.
        history: what `decide` returned for the iterations before, in any order.
        options: `min_delta`, `patience`, `max_calls` and the weights.
        calls: model calls of all iterations so far, where they are limited.

    Returns:
        A document: the objective with its terms, what is flagged, the best iteration and its sha, whether to stop and
        why.

    Raises:
        UserError: an iteration is missing from the history, or the loop had stopped before.
    """
    before = sorted(history, key=lambda one: int(one["iteration"]))
    if [one["iteration"] for one in before] != list(range(iteration)):
        raise UserError(
            f"decisions of iterations 0 to {iteration - 1} are expected, found "
            f"{[one['iteration'] for one in before]}"
        )
    if before and before[-1]["stop"]:
        raise UserError(f"iteration {iteration}: the loop stopped at iteration {before[-1]['iteration']}")
    value, se = evidence.value.value, evidence.value.se
    best = _best(before)
    gained, why = _gain(value, se, best, options)
    chosen = iteration if best is None or gained is not None else int(best["iteration"])
    flagged: dict[str, dict[str, str]] = {}
    for row in flags.sort_by([("metric_id", "ascending"), ("flag", "ascending")]).to_pylist():
        flagged.setdefault(row["metric_id"], {})[row["flag"]] = row["evidence"]
    without = 0 if gained == "clear" or not before else int(before[-1]["without_gain"]) + 1
    of_best = flagged if chosen == iteration else before[chosen]["flags"]
    stop = _stop(iteration, last, of_best, without, calls, options)
    return {
        "status": "ok" if value is not None else "not_computable",
        "iteration": iteration,
        "scenario": rubric.scenario,
        "rubric_sha": rubric.sha,
        "parent_sha": rubric.parent_sha,
        "objective": _number(evidence.value),
        "terms": {name: _number(term) for name, term in evidence.terms.items()},
        "weights": {
            "unreliability": options.unreliability,
            "human": options.human,
            "missing": options.missing,
        },
        "flags": flagged,
        "gain": why,
        "best": chosen,
        "best_sha": rubric.sha if chosen == iteration else str(before[chosen]["rubric_sha"]),
        "best_objective": value if chosen == iteration else before[chosen]["objective"]["value"],
        "without_gain": without,
        "stop": stop is not None,
        "stop_reason": stop,
    }


def _best(before: Sequence[Document]) -> Document | None:
    return before[int(before[-1]["best"])] if before else None


def _gain(
    value: float | None, se: float | None, best: Document | None, options: Objective
) -> tuple[Literal["clear", "small"] | None, str]:
    """Whether this version beats the best so far, and in words."""
    if best is None:
        return "clear", "the first version"
    old = best["objective"]["value"]
    if value is None:
        return None, "its objective is not known"
    if old is None:
        return "clear", "the best so far has no objective"
    gain = value - float(old)
    needed = max(options.min_delta, se or 0.0)
    text = f"{gain:+.4f} against iteration {best['iteration']}"
    if gain > needed:
        return "clear", f"{text}, more than {needed:.4f}"
    if gain > options.min_delta:
        return "small", f"{text}, within its standard error {needed:.4f}"
    return None, f"{text}: a tie" if abs(gain) <= options.min_delta else f"{text}: worse"


def _stop(
    iteration: int,
    last: int,
    flagged: Mapping[str, Mapping[str, str]],
    without: int,
    calls: int | None,
    options: Objective,
) -> StopReason | None:
    """Why the loop ends here; `flagged` are the flags of the best version."""
    kinds = {flag for flags in flagged.values() for flag in flags}
    if not kinds:
        return "nothing_flagged"
    if kinds == {"insufficient_data"}:
        # Nothing can be rewritten for a reason; more of the same would show nothing either.
        return "insufficient_data"
    if without >= options.patience:
        return "patience"
    if iteration >= last or (options.max_calls is not None and (calls or 0) >= options.max_calls):
        return "budget"
    return None


def _number(found: Estimate) -> Document:
    return {
        "value": _finite(found.value),
        "se": _finite(found.se),
        "ci_low": _finite(found.ci_low),
        "ci_high": _finite(found.ci_high),
        "n_clusters": found.n_clusters,
        "status": found.status,
        "reason": found.reason,
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def select_best(decisions: Sequence[Document]) -> int:
    """The iteration whose version the loop ended with; stubs are passed over.

    Raises:
        UserError: there is no decision.
    """
    made = [one for one in decisions if not is_frozen(one)]
    if not made:
        raise UserError("no decision: the first iteration comes first")
    return int(max(made, key=lambda one: int(one["iteration"]))["best"])


def lineage(rubrics: Mapping[int, Rubric], best: int) -> list[tuple[int, int]]:
    """How the best version came about: pairs of iterations (parent, child), the oldest first.

    Args:
        rubrics: versions by iteration.
        best: iteration of the best one.
    """
    steps: list[tuple[int, int]] = []
    child = best
    while True:
        # A version refined from itself, or back to what it was, comes from the iteration before, never a later one.
        parents = [
            number
            for number in sorted(rubrics)
            if number < child and rubrics[number].sha == rubrics[child].parent_sha
        ]
        if not parents:
            return steps
        steps.insert(0, (parents[0], child))
        child = parents[0]
