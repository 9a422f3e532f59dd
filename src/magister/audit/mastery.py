"""A number of the mastery board: which one, what it means, and which responses move it most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc

from magister.audit.card import Again, Cell, Facts, Mover, Movers, Number, Transcript
from magister.audit.choosing import Coordinate, choose, refuse_unknown, refuse_unused
from magister.audit.evidence import Floats, weights_of_evidence, without_response
from magister.audit.formulas import mastery_formula
from magister.audit.items import Items
from magister.audit.left_out import largest
from magister.audit.project import Project
from magister.audit.transcripts import response_of
from magister.errors import UserError

BOARD = "results/mastery.parquet"
OVERALL = "overall"
_METHOD = (
    "weight of evidence of the response (natural logarithm of its likelihood with mastery over that without), and "
    "what the posterior would be without it. One step, not another fit: items, Q and other attributes stay as they "
    "were fitted, and what a response says by way of other attributes is not in it"
)
_DRAWS = "p is the mean of posterior draws; what is kept of these lies in saem/, which magister verify reads"

COORDINATES = (
    Coordinate("in", "--in", "study"),
    Coordinate("metric", "METRIC", "attribute"),
)


def find(project: Project, model: str, asked: Mapping[str, str], top: int) -> Facts:
    """Find a mastery.

    Args:
        project: finished.
        model: one of a study.
        asked: what the user says: `metric` (an attribute by name or label, or "overall") and `in`.
        top: how many responses to show.

    Raises:
        UserError: there is no such number, or several fit; or a file is gone.
    """
    refuse_unused(asked, COORDINATES, "mastery")
    board = project.table(BOARD)
    refuse_unknown(board["model"].to_pylist(), model, "mastery")
    mine = board.filter(pc.equal(board["model"], model)).to_pylist()
    chosen = choose(_candidates(mine), COORDINATES, asked, f"mastery, {model}")
    study, rows = chosen["in"], [row for row in mine if row["study"] == chosen["in"]]
    table = project.input(BOARD, "mastery_profiles", "/mastery.parquet", study=study)
    overall = chosen["attribute"] == OVERALL
    picked = rows if overall else [row for row in rows if row["attribute"] == chosen["attribute"]]
    behind = project.table(table, filters=[("model", "==", model)]).to_pylist()
    known = {row["attribute"]: row["p"] for row in behind}
    problems = [
        f"{BOARD} says {row['p']} for {row['attribute']}, {table} says {known.get(row['attribute'])}: the "
        "board was not made from this table"
        for row in picked
        if known.get(row["attribute"]) != row["p"]
    ]
    responses, path = _responses(project, table, model)
    metric = OVERALL if overall else chosen["attribute"]
    label = "" if overall else f" ({picked[0]['label']})"
    title = f"mastery of {metric}{label} by {model}, study {study}"
    number = _overall_number(picked) if overall else _number(picked[0])
    again = (
        _again(number, behind, table)
        if overall
        else Again(None, f"{len(responses)} responses of {path}", None, _DRAWS)
    )
    statuses = Counter(row["status"] for row in responses)
    return Facts(
        cell=Cell("mastery", model, metric, {"in": study}, title, BOARD, None if overall else "p", table),
        number=number,
        formula=mastery_formula(overall),
        counts=_counts(picked, responses, overall),
        statuses=dict(sorted(statuses.items())),
        beside=_beside(picked, overall),
        again=again,
        movers=_movers(project, table, rows, picked, responses, top),
        warnings=tuple(problems),
    )


def _candidates(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Attributes of a model under their names and labels, and all of them together."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        study, name = row["study"], row["attribute"]
        found[study, name] = {"in": study, "attribute": name, "metric": f"{name}={row['label']}"}
        found[study, OVERALL] = {"in": study, "attribute": OVERALL, "metric": OVERALL}
    return [found[key] for key in sorted(found)]


def _number(row: Mapping[str, Any]) -> Number:
    prior = row["basis"] == "prior"
    reason = (
        "no item tells of this attribute in most draws: p is what the prior believes, and no finding"
        if prior
        else "a posterior probability has no interval; its uncertainty is sd = sqrt(p (1 - p))"
    )
    return Number(
        row["p"],
        None,
        None,
        row["sd"],
        None,
        "",
        None,
        None,
        row["state"],
        reason,
        "probability, 0 to 1 (se is the posterior's sd)",
    )


def _overall_number(rows: Sequence[Mapping[str, Any]]) -> Number:
    values = [row["p"] for row in sorted(rows, key=lambda row: row["attribute"])]
    return Number(
        sum(values) / len(values), None, None, None, None, "", None, None, "no_interval",
        "the mean of posterior probabilities, by which the board's page sorts models; it has no interval",
        "probability, 0 to 1",
    )  # fmt: skip


def _counts(
    rows: Sequence[Mapping[str, Any]], responses: Sequence[Mapping[str, Any]], overall: bool
) -> dict[str, int | float]:
    answered = sum(row["correct"] is not None for row in responses)
    if overall:
        return {"n_attributes": len(rows), "n_responses": answered}
    return {"n_items": rows[0]["n_items"], "n_responses": answered}


def _beside(rows: Sequence[Mapping[str, Any]], overall: bool) -> tuple[str, ...]:
    support = rows[0]["support"].replace("_", " ")
    said = [f"the controls call the profiles of this study {support}"]
    if overall:
        states = Counter(row["state"] for row in rows)
        return (
            *said,
            "attributes: " + ", ".join(f"{count} {state}" for state, count in sorted(states.items())),
        )
    row = rows[0]
    mcse = "unknown" if row["mcse"] is None else f"{row['mcse']:.2g}"
    return (
        *said,
        f"state {row['state']} (mastered from 0.8, not mastered to 0.2), basis {row['basis']}, sd {row['sd']:.2g}, "
        f"simulation error {mcse}",
        f"{row['n_items']:.3g} answered items tell of it (mean over draws; below 0.5 p is the prior's)",
    )


def _again(number: Number, behind: Sequence[Mapping[str, Any]], table: str) -> Again:
    """The mean once more, from the table behind the board."""
    values = [row["p"] for row in sorted(behind, key=lambda row: row["attribute"])]
    value = sum(values) / len(values) if values else None
    agrees = None if value is None or number.value is None else abs(value - number.value) <= 1e-12
    return Again(value, f"{len(values)} rows of {table}", agrees)


def _responses(project: Project, table: str, model: str) -> tuple[list[dict[str, Any]], str]:
    """Responses of a model to the items of the fit."""
    found = [path for path in project.trail.artifacts[table].inputs if path.endswith("/responses.parquet")]
    if not found:
        raise UserError(f"{table}: its lineage names no responses; run magister verify {table}")
    rows = project.table(found[0], filters=[("model", "==", model)]).to_pylist()
    profiles = project.made_with(table, "/item_profiles.parquet")
    kept = None if profiles is None else set(project.table(profiles, ["item_id"])["item_id"].to_pylist())
    return [row for row in rows if kept is None or row["item_id"] in kept], found[0]


def _movers(
    project: Project,
    table: str,
    rows: Sequence[Mapping[str, Any]],
    picked: Sequence[Mapping[str, Any]],
    responses: Sequence[Mapping[str, Any]],
    top: int,
) -> Movers:
    unit = "response to an item"
    given = sorted((row for row in responses if row["correct"] is not None), key=lambda row: row["item_id"])
    fitted = _items(project, table, [row["attribute"] for row in rows])
    given = [row for row in given if row["item_id"] in fitted]
    if not given:
        return Movers(unit, _METHOD, 0, 0, (), "no response of the model is there: p is the prior's")
    weights, without = _evidence(fitted, rows, picked, given)
    value = np.array([row["p"] for row in picked]).mean()
    change = value - without
    size = weights[0] if len(picked) == 1 else change
    items = Items.read(project, table, [row["item_id"] for row in given])
    chosen, as_far = largest(size, lambda at: (given[at]["item_id"],), top)
    movers = []
    for at in chosen:
        row = given[at]
        guess, slip, needs = fitted[row["item_id"]]
        likely = [
            f"{one['attribute']} {need:.2f}" for one, need in zip(rows, needs, strict=True) if need > 0.05
        ]
        lines = (
            *items.lines(row["item_id"]),
            f"answer   {'right' if row['correct'] else 'wrong'}"
            + ("" if row["status"] == "ok" else f" ({row['status']})"),
            f"item     guess {guess:.2f}, slip {slip:.2f}; needs " + (", ".join(likely) or "nothing"),
        )
        facts = {"item_id": row["item_id"], **items.fact(row["item_id"]), "correct": row["correct"]}
        facts |= {"status": row["status"], "guess": guess, "slip": slip}
        facts |= {"needs": {one["attribute"]: need for one, need in zip(rows, needs, strict=True)}}
        transcripts: tuple[Transcript, ...] = ()
        if row["request_id"]:
            sources = [
                path for path in project.trail.back(table) if project.rule(path) == "diagnosis_answers"
            ]
            mine = [path for path in sources if project.wildcards(path).get("model") == row["model"]]
            transcripts = (response_of(project, mine, row["model"], "answer", row["request_id"]),)
        evidence = float(weights[0][at]) if len(picked) == 1 else None
        movers.append(
            Mover(row["item_id"], float(change[at]), float(without[at]), lines, facts, transcripts, evidence)
        )
    note = "" if len(picked) == 1 else "for the mean, responses are ranked by the change of the mean"
    return Movers(unit, _METHOD, len(given), as_far, tuple(movers), note)


_Item = tuple[float, float, tuple[float, ...]]


def _items(project: Project, table: str, attributes: Sequence[str]) -> dict[str, _Item]:
    """Guess, slip and what each item needs, by item."""
    profiles, entries = (
        project.made_with(table, f"/{name}.parquet") for name in ("item_profiles", "q_entries")
    )
    if profiles is None or entries is None:
        return {}
    needs: dict[str, dict[str, float]] = {}
    for row in project.table(entries, ["item_id", "attribute", "posterior"]).to_pylist():
        needs.setdefault(row["item_id"], {})[row["attribute"]] = row["posterior"]
    return {
        row["item_id"]: (row["guess"], row["slip"], tuple(needs[row["item_id"]][name] for name in attributes))
        for row in project.table(profiles, ["item_id", "guess", "slip"]).to_pylist()
    }


def _evidence(
    fitted: Mapping[str, _Item],
    rows: Sequence[Mapping[str, Any]],
    picked: Sequence[Mapping[str, Any]],
    given: Sequence[Mapping[str, Any]],
) -> tuple[list[Floats], Floats]:
    """Weights for each attribute, and the mean of the picked attributes without each response."""
    guess, slip = (np.array([fitted[row["item_id"]][at] for row in given]) for at in (0, 1))
    needs = np.array([fitted[row["item_id"]][2] for row in given])
    right = np.array([row["correct"] for row in given], dtype=bool)
    p = np.array([row["p"] for row in rows])
    place = {row["attribute"]: at for at, row in enumerate(rows)}
    weights = [weights_of_evidence(p, needs, guess, slip, right, place[row["attribute"]]) for row in picked]
    left = [without_response(row["p"], found) for row, found in zip(picked, weights, strict=True)]
    return weights, np.mean(left, axis=0)
