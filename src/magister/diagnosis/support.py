"""What the controls say of a study's profiles: one verdict, with its reasons.

The verdict is a function of the table of checks and the size of the study; anybody can take it again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Support = Literal["supported", "not_supported", "undetermined"]
Row = Mapping[str, Any]
_Said = tuple[Support, str]


@dataclass(frozen=True)
class Study:
    """Size of a study.

    Attributes:
        models, items, attributes: N, J, K.
        placebos: draws of the placebo.
    """

    models: int
    items: int
    attributes: int
    placebos: int


@dataclass(frozen=True)
class Rules:
    """What the verdict asks for.

    Attributes:
        least_models: fewer tell nothing of models in general.
        least_items: fewer tell nothing of items in general.
        alpha: level of the placebo's test.
        tolerance: how much of the gain over the item mean corrections of Q may lose against the reference.
    """

    least_models: int = 10
    least_items: int = 10
    alpha: float = 0.05
    tolerance: float = 0.05

    @property
    def least_placebos(self) -> int:
        """Draws with which p can get to alpha."""
        # 1 / alpha may be a hair above a whole number.
        return max(1, math.ceil(1 / self.alpha - 1 - 1e-9))


@dataclass(frozen=True)
class Rung:
    """What one question of the ladder came to.

    Attributes:
        name: the question.
        says: `supported` is no more than: this control has nothing against it.
        reason: a sentence.
    """

    name: str
    says: Support
    reason: str


@dataclass(frozen=True)
class Verdict:
    """What the controls say.

    Attributes:
        support: the verdict.
        reasons: why; of `supported`, what was passed.
        rungs: all questions with their answers, in the order of the ladder.
    """

    support: Support
    reasons: tuple[str, ...]
    rungs: tuple[Rung, ...]

    def document(self) -> dict[str, Any]:
        """The verdict as a JSON object."""
        return {
            "support": self.support,
            "reasons": list(self.reasons),
            "rungs": [vars(rung) for rung in self.rungs],
        }


def decide(checks: Sequence[Row], study: Study, rules: Rules | None = None) -> Verdict:
    """Weigh the controls of a study.

    A study that is too small is undetermined, whatever its controls say. Otherwise one control against the profiles
    is enough for `not_supported`, one that is open or missing for `undetermined`, and `supported` takes them all.

    Args:
        checks: rows of DIAGNOSIS_CHECKS.
        study: its size.
        rules: what is asked for.

    Returns:
        The verdict. Neither the order of rows nor checks that the ladder does not ask about change it.
    """
    asked = rules or Rules()
    found = {(row["check"], row["statistic"]): row for row in checks}
    rungs = [Rung(name, *question(found, study, asked)) for name, question in _LADDER.items()]
    size = rungs[0]
    if size.says != "supported":
        return Verdict("undetermined", (size.reason,), tuple(rungs))
    for support in ("not_supported", "undetermined"):
        reasons = tuple(rung.reason for rung in rungs if rung.says == support)
        if reasons:
            return Verdict(support, reasons, tuple(rungs))
    return Verdict("supported", tuple(rung.reason for rung in rungs), tuple(rungs))


_Found = Mapping[tuple[str, str], Row]


def _size(found: _Found, study: Study, rules: Rules) -> _Said:
    for count, least, what in (
        (study.models, rules.least_models, "models"),
        (study.items, rules.least_items, "items"),
    ):
        if count < least:
            return "undetermined", f"{count} {what}: {least} are needed before controls can tell anything"
    if study.items < study.attributes:
        return "undetermined", f"{study.attributes} attributes for {study.items} items: too few items to tell"
    return "supported", f"{study.models} models, {study.items} items, {study.attributes} attributes"


def _difference(found: _Found, against: str) -> Row | str:
    """The row of a comparison, or why there is none."""
    row = found.get(("held_out", f"loglik_over_{against}"))
    if row is None:
        return "not made"
    if row["value"] is None or row["low"] is None or row["high"] is None:
        return str(row["reason"] or "unknown")
    return row


def _interval(row: Row) -> str:
    return f"{row['value']:+.4f} [{row['low']:+.4f}, {row['high']:+.4f}] a response"


def _over_2pl(found: _Found, study: Study, rules: Rules) -> _Said:
    row = _difference(found, "2pl")
    if isinstance(row, str):
        return "undetermined", f"no comparison with a single ability (2PL): {row}"
    if row["high"] < 0:
        return (
            "not_supported",
            f"a single ability (2PL) predicts held-out responses better: log-likelihood {_interval(row)}",
        )
    if row["low"] > 0:
        return (
            "supported",
            f"attributes predict held-out responses better than a single ability (2PL): {_interval(row)}",
        )
    return (
        "undetermined",
        f"held-out responses do not tell attributes from a single ability (2PL): {_interval(row)}",
    )


def _over_item_mean(found: _Found, study: Study, rules: Rules) -> _Said:
    row = _difference(found, "item_mean")
    if isinstance(row, str):
        return "undetermined", f"no comparison with the items' means: {row}"
    if row["high"] < 0:
        return "not_supported", f"the items' means predict held-out responses better: {_interval(row)}"
    if row["low"] > 0:
        return (
            "supported",
            f"attributes predict held-out responses better than the items' means: {_interval(row)}",
        )
    return (
        "undetermined",
        f"held-out responses do not tell attributes from the items' means: {_interval(row)}",
    )


def _over_placebo(found: _Found, study: Study, rules: Rules) -> _Said:
    row = found.get(("placebo", "joint"))
    if row is None or row["p"] is None:
        return "undetermined", "no placebo: the prior has not been held against shuffled ones"
    p = row["p"]
    if study.placebos < rules.least_placebos:
        return (
            "undetermined",
            f"{study.placebos} placebos: p cannot get to {rules.alpha:g} with fewer than {rules.least_placebos}",
        )
    if p > rules.alpha:
        return (
            "not_supported",
            f"a shuffled prior does as well as the real one: p = {p:.3g} over {study.placebos} placebos",
        )
    return "supported", f"the real prior does better than {study.placebos} shuffled ones: p = {p:.3g}"


def _converged(found: _Found, study: Study, rules: Rules) -> _Said:
    row = found.get(("convergence", "converged"))
    if row is None:
        return "undetermined", "convergence is not known"
    if not row["holds"]:
        return "undetermined", f"the fit has not converged: {row['reason'] or 'no reason given'}"
    return "supported", "the chains converged"


def _over_fixed_q(found: _Found, study: Study, rules: Rules) -> _Said:
    same = found.get(("held_out", "loglik_over_fixed_q"))
    if same is not None and same["low"] is None and same["value"] == 0.0:
        return "supported", "the reference Q-matrix predicts every held-out response alike"
    row = _difference(found, "fixed_q")
    if isinstance(row, str):
        return "undetermined", f"no comparison with the reference Q-matrix: {row}"
    gain = _difference(found, "item_mean")
    allowed = 0.0 if isinstance(gain, str) else rules.tolerance * max(gain["value"], 0.0)
    if row["high"] < -allowed:
        return (
            "undetermined",
            f"the corrected Q-matrix predicts worse than the reference: {_interval(row)}; fit the reference as it is",
        )
    return "supported", f"the corrected Q-matrix predicts no worse than the reference: {_interval(row)}"


def _reproduced(found: _Found, study: Study, rules: Rules) -> _Said:
    rows = [row for (check, _), row in sorted(found.items()) if check == "posterior_predictive"]
    failed = [row["statistic"] for row in rows if row["holds"] is False]
    if failed:
        return (
            "undetermined",
            f"responses drawn from the fit do not look like those seen: {', '.join(failed)}",
        )
    if not any(row["holds"] for row in rows):
        why = next((row["reason"] for row in rows if row["reason"]), "not made")
        return "undetermined", f"no posterior predictive check: {why}"
    return "supported", "responses drawn from the fit look like those seen"


_LADDER: dict[str, Callable[[_Found, Study, Rules], _Said]] = {
    "size": _size,
    "single_ability": _over_2pl,
    "item_mean": _over_item_mean,
    "placebo": _over_placebo,
    "convergence": _converged,
    "fixed_q": _over_fixed_q,
    "posterior_predictive": _reproduced,
}
LADDER = tuple(_LADDER)
