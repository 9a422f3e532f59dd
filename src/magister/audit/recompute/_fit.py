"""A fit of a study from the files of its chains, and whether the chains agree with themselves and the responses.

Means over chains, the counts behind guess and slip, and the log-likelihood of the draws that were kept are worked out
from the files; the sampling itself is not repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.audit.recompute._ledger import TOLERANCE, Bools, Floats, Ledger, Sheet
from magister.audit.recompute._project import Project

SAEM_KEYS = {
    "mastery": ("chain", "model", "attribute"),
    "abilities": ("chain", "model"),
    "q": ("chain", "item_id", "attribute"),
    "items": ("chain", "item_id"),
    "attributes": ("chain", "attribute"),
    "trace": ("chain", "sweep"),
    "draws": ("chain", "draw"),
}
# Draws are thinned from the sweeps whose mean is published: their own mean is near it, not equal.
_SPREADS = 6.0


@dataclass(frozen=True)
class Fit:
    """Means over chains of N models, J items and K attributes.

    Attributes:
        models, items, attributes: names, sorted.
        kept: sweeps kept by each chain, shape (C,).
        alpha, unlocked, mcse: shape (C, N, K).
        q: shape (C, J, K).
        guess, slip, pooled: shape (C, J).
        counts: right and answered by those who have what is needed, then by others, shape (C, 4, J).
        correct: 1 right, 0 wrong, -1 no response, shape (N, J).
        record: fit.json.
    """

    models: list[str]
    items: list[str]
    attributes: list[str]
    kept: Floats
    alpha: Floats
    unlocked: Floats
    mcse: Floats
    q: Floats
    guess: Floats
    slip: Floats
    pooled: Bools
    counts: Floats
    correct: NDArray[np.int8]
    record: Any

    @property
    def mastery(self) -> Floats:
        """Posterior mastery, shape (N, K)."""
        return np.asarray(self.alpha.mean(axis=0))

    @property
    def needs(self) -> Bools:
        """Which item needs which attribute, shape (J, K)."""
        return np.asarray(self.q.mean(axis=0) > 0.5)


def read_fit(project: Project, folder: str, delta: float) -> Fit | None:
    """Read a study's fit; None where its tables do not fit together, which is a finding.

    Args:
        project: the files.
        folder: of the study.
        delta: least distance of 1 - slip from guess.

    Raises:
        MissingError: a file is not there.
    """
    sheets = {name: project.sheet(f"{folder}/saem/{name}.parquet", key) for name, key in SAEM_KEYS.items()}
    record = project.json(f"{folder}/saem/fit.json")
    responses = project.table(f"{folder}/responses.parquet", ["model", "item_id", "correct"])
    screening = project.table(f"{folder}/screening.parquet", ["kind", "name", "kept"])
    models = sorted(set(sheets["abilities"].texts("model").tolist()))
    items = sorted(set(sheets["items"].texts("item_id").tolist()))
    attributes = sorted(set(sheets["attributes"].texts("attribute").tolist()))
    chains = len(record["chains"])
    names: dict[str, list[str]] = {"model": models, "item_id": items, "attribute": attributes}
    cubes: dict[tuple[str, str], Floats] = {}
    for table, columns in (
        ("mastery", ("p", "unlocked", "mcse")),
        ("q", ("p",)),
        ("items", ("guess", "slip", "pooled", "right_mastered", "n_mastered", "right_other", "n_other")),
    ):
        sheet = sheets[table]
        parts = [names[name] for name in SAEM_KEYS[table][1:]]
        keys = [(c + 1, *rest) for c in range(chains) for rest in _grid(parts)]
        rows, at = sheet.align(project.ledger, keys, f"{chains} chains of the fit")
        if at.size != len(keys):
            return None
        shape = (chains, *(len(part) for part in parts))
        for column in columns:
            cubes[table, column] = sheet.numbers(column)[rows].reshape(shape)
    counts = np.stack(
        [cubes["items", name] for name in ("right_mastered", "n_mastered", "right_other", "n_other")], axis=1
    )
    fit = Fit(
        models, items, attributes, np.array([one["kept"] for one in record["chains"]], dtype=np.float64),
        cubes["mastery", "p"], cubes["mastery", "unlocked"], cubes["mastery", "mcse"], cubes["q", "p"],
        cubes["items", "guess"], cubes["items", "slip"], cubes["items", "pooled"] > 0, counts,
        _matrix(responses, models, items), record,
    )  # fmt: skip
    _hold_models(project.ledger, f"{folder}/saem/abilities.parquet", fit, screening)
    _hold_chains(project.ledger, sheets, fit, f"{folder}/saem/fit.json", delta)
    return fit


def _grid(parts: list[list[str]]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [()]
    for part in parts:
        found = [(*head, name) for head in found for name in part]
    return found


def _matrix(responses: pa.Table, models: list[str], items: list[str]) -> NDArray[np.int8]:
    at_model = {name: k for k, name in enumerate(models)}
    at_item = {name: k for k, name in enumerate(items)}
    out = np.full((len(models), len(items)), -1, dtype=np.int8)
    for model, item, correct in zip(
        *(responses[name].to_pylist() for name in ("model", "item_id", "correct")), strict=True
    ):
        if correct is not None and model in at_model and item in at_item:
            out[at_model[model], at_item[item]] = bool(correct)
    return out


def _hold_models(ledger: Ledger, path: str, fit: Fit, screening: pa.Table) -> None:
    """The fit is of the models and items that screening kept and that have a response."""
    for kind, names in (("model", fit.models), ("item", fit.items)):
        kept = {row["name"] for row in screening.to_pylist() if row["kind"] == kind and row["kept"]}
        ledger.count("fit: models and items that stayed", len(names))
        for name in sorted(set(names) - kept):
            ledger.add(
                path,
                f"{kind} {name}",
                "fit: models and items that stayed",
                "in the fit",
                "left out by screening",
            )


def _hold_chains(ledger: Ledger, sheets: dict[str, Sheet], fit: Fit, record_path: str, delta: float) -> None:
    """Shares lie in 0..1, counts add up to the responses, guess and slip follow from counts."""
    items, mastery, q = sheets["items"], sheets["mastery"], sheets["q"]
    for sheet, column in ((mastery, "p"), (q, "p"), (items, "guess"), (items, "slip")):
        seen = sheet.numbers(column)
        off = ~((seen >= -TOLERANCE) & (seen <= 1 + TOLERANCE))
        ledger.count("identity: a probability lies in 0..1", len(sheet))
        ledger.refuse(sheet, column, off, "identity: a probability lies in 0..1", seen, "0 to 1")
    answered = np.tile((fit.correct >= 0).sum(axis=0), len(fit.kept)).astype(np.float64)
    right = np.tile((fit.correct == 1).sum(axis=0), len(fit.kept)).astype(np.float64)
    rows = items.find([(c + 1, name) for c in range(len(fit.kept)) for name in fit.items])
    counts = {
        name: items.numbers(name)[rows] for name in ("right_mastered", "n_mastered", "right_other", "n_other")
    }
    for parts, wanted in ((("n_mastered", "n_other"), answered), (("right_mastered", "right_other"), right)):
        total = counts[parts[0]] + counts[parts[1]]
        check = "identity: counts of an item are its responses"
        ledger.count(check, total.size)
        off = np.abs(total - wanted) > 1e-6 * np.maximum(wanted, 1.0)
        ledger.refuse(items, f"{parts[0]} + {parts[1]}", off, check, total, wanted, rows=rows)
    pooled = items.numbers("pooled")[rows] > 0
    guess = (counts["right_other"] + 1) / (counts["n_other"] + 2)
    slip = 1 - (counts["right_mastered"] + 1) / (counts["n_mastered"] + 2)
    ledger.compare(items, "pooled", 1 - slip - guess < delta, "fit: items held apart", rows=rows)
    free = np.flatnonzero(~pooled)
    for column, wanted in (("guess", guess), ("slip", slip)):
        ledger.compare(items, column, wanted[free], "fit: guess and slip from counts", rows=rows[free])
    held = np.flatnonzero(pooled)
    # Where they had to be held apart, their mean is that of all responses, unless it stands at an edge.
    n = counts["n_mastered"] + counts["n_other"] + 2
    middle = (counts["right_mastered"] + counts["right_other"] + 1) / n
    gap = 1 - items.numbers("slip")[rows] - items.numbers("guess")[rows]
    least = gap / 2 + 1 / n
    middle = np.clip(middle, least, 1 - least)
    for column, wanted in (("guess", middle - gap / 2), ("slip", 1 - middle - gap / 2)):
        ledger.compare(items, column, wanted[held], "fit: guess and slip held apart", rows=rows[held])
    spread = np.ptp(fit.mcse, axis=0).ravel()
    keys = [(1, model, name) for model in fit.models for name in fit.attributes]
    check = "identity: chains share one Monte Carlo error"
    ledger.count(check, spread.size)
    ledger.refuse(
        mastery, "mcse", spread > 0, check, spread, "one number for all chains", rows=mastery.find(keys)
    )
    _hold_record(ledger, sheets, fit, record_path)


def _hold_record(ledger: Ledger, sheets: dict[str, Sheet], fit: Fit, path: str) -> None:
    """fit.json: sizes, the mean log-likelihood, agreement of chains, and each chain's log-likelihood from its draws."""
    record, check = fit.record, "fit: its record"
    sizes = {"models": len(fit.models), "items": len(fit.items), "attributes": len(fit.attributes)}
    said = [float(one["loglik"]) for one in record["chains"]]
    wanted: dict[str, Any] = sizes | {"loglik": float(np.mean(said))}
    for name, number in wanted.items():
        ledger.count(check, 1)
        if not abs(float(record[name]) - number) <= 1e-9 * max(1.0, abs(number)):
            ledger.add(path, name, check, record[name], number)
    pairs = list(combinations(range(len(fit.kept)), 2))
    if pairs:
        q, alpha = fit.q > 0.5, fit.alpha > 0.5
        both = [(int((q[a] & q[b]).sum()), int((q[a] | q[b]).sum())) for a, b in pairs]
        agreement = {
            "q_jaccard": float(np.mean([one / two if two else 1.0 for one, two in both])),
            "alpha_agreement": float(np.mean([(alpha[a] == alpha[b]).mean() for a, b in pairs])),
        }
        for name, number in agreement.items():
            seen = record["diagnostics"][name]
            ledger.count("fit: agreement of its chains", 1)
            if seen is None or not abs(float(seen) - number) <= 1e-9:
                ledger.add(path, f"diagnostics.{name}", "fit: agreement of its chains", seen, number)
    draws = sheets["draws"]
    for c, loglik in enumerate(said):
        rows = np.flatnonzero(draws.numbers("chain") == c + 1)
        if rows.size < 5:
            continue
        found = np.array([_log_likelihood(fit, draws, int(row)) for row in rows])
        spread = max(float(found.std(ddof=1)), 1e-9 * abs(loglik))
        check = "fit: log-likelihood of the draws that were kept"
        ledger.count(check, 1)
        if not abs(found.mean() - loglik) <= _SPREADS * spread:
            ledger.add(
                path, f"chains[{c}].loglik", check, loglik, f"about {found.mean():.6g} (spread {spread:.3g})"
            )
        trace = sheets["trace"]
        mine = np.flatnonzero(trace.numbers("chain") == c + 1)
        check = "fit: log-likelihood of the trace"
        last = mine[trace.numbers("sweep")[mine] > trace.numbers("sweep")[mine].max(initial=0) - fit.kept[c]]
        seen = trace.numbers("loglik")[last]
        off = np.abs(seen - found.mean()) > 3 * _SPREADS * spread + 1e-6 * abs(loglik)
        ledger.count(check, last.size)
        ledger.refuse(trace, "loglik", off, check, seen, f"near {found.mean():.6g}", rows=last)


def _log_likelihood(fit: Fit, draws: Sheet, row: int) -> float:
    """log P(responses | mastery, Q, guess, slip) of one draw under DINA."""
    n, j, k = len(fit.models), len(fit.items), len(fit.attributes)

    def bits(column: str, shape: tuple[int, int]) -> Bools:
        raw = np.frombuffer(draws.texts(column)[row], np.uint8)
        return np.unpackbits(raw, bitorder="little", count=shape[0] * shape[1]).astype(bool).reshape(shape)

    alpha, q = bits("mastery", (n, k)), bits("q", (j, k))
    guess, slip = (np.asarray(draws.texts(name)[row], dtype=np.float64) for name in ("guess", "slip"))
    able = ((~alpha).astype(np.float32) @ q.T.astype(np.float32)) == 0
    right = np.where(able, 1 - slip, guess)
    with np.errstate(divide="ignore"):
        terms = np.where(fit.correct == 1, np.log(right), np.where(fit.correct == 0, np.log1p(-right), 0.0))
    return float(terms.sum())
