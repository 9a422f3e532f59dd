"""The mastery board, from answers and chains up: responses, profiles, entries of Q, controls, verdict and copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from magister.audit.recompute._arena_board import hold_cells
from magister.audit.recompute._controls import hold_checks, hold_verdict
from magister.audit.recompute._copies import hold_csv, hold_json, hold_lines, plain
from magister.audit.recompute._draws import student
from magister.audit.recompute._fit import Fit, read_fit
from magister.audit.recompute._ledger import Floats, Ledger, Sheet
from magister.audit.recompute._project import Project
from magister.audit.recompute._rows import hold_correct, hold_join, hold_replies, items_by_id, read_replies
from magister.config.diagnosis import Study
from magister.config.params import Params

BOARD_KEY = ("study", "model", "attribute")
_STATES = ("mastered", "undetermined", "not_mastered")
_CORRECTIONS = ("prior_confirmed", "added_process", "reassigned", "reduced")
_SHOWN = 20
_ABSENT = ("error", "missing")
Row = dict[str, Any]


def recompute_mastery(project: Project, params: Params) -> None:
    """Every number of the mastery board, and of what it is read from.

    Args:
        project: the files; its ledger takes what is found.
        params: of the project.
    """
    for name, study in params.diagnosis.studies.items():
        with project.part(f"data/diagnosis/studies/{name}"):
            _hold_study(project, name, study, params)
    with project.part("results/mastery.parquet"):
        _hold_board(project, list(params.diagnosis.studies))


def _hold_study(project: Project, name: str, study: Study, params: Params) -> None:
    folder, ledger = f"data/diagnosis/studies/{name}", project.ledger
    responses = project.sheet(f"{folder}/responses.parquet", ("model", "item_id"))
    if study.kind == "answers":
        _hold_answers(project, responses, study)
    screening = project.sheet(f"{folder}/screening.parquet", ("kind", "name"))
    hold_screening(ledger, screening, responses.table, params.diagnosis.screening.drop)
    fit = read_fit(project, folder, params.diagnosis.saem.delta)
    support = project.json(f"{folder}/support.json")
    if fit is None:
        return
    attributes = project.table(f"{folder}/attributes.parquet")
    mastery = project.sheet(f"{folder}/mastery.parquet", ("model", "attribute"))
    hold_mastery(ledger, mastery, fit, attributes, support["support"])
    profiles = project.sheet(f"{folder}/attribute_profiles.parquet", ("attribute",))
    hold_attributes(ledger, profiles, fit, params.statistics.level)
    pairs = project.sheet(f"{folder}/attribute_correlations.parquet", ("attribute_a", "attribute_b"))
    hold_correlations(ledger, pairs, fit)
    items = project.sheet(f"{folder}/item_profiles.parquet", ("item_id",))
    hold_items(ledger, items, fit)
    entries = project.sheet(f"{folder}/q_entries.parquet", ("item_id", "attribute"))
    prior = project.table(f"{folder}/prior.parquet")
    corrections = project.json(f"{folder}/corrections.json")
    hold_json(ledger, f"{folder}/corrections.json", corrections, hold_entries(ledger, entries, fit, prior),
              "profiles: corrections of items")  # fmt: skip
    checks = project.sheet(f"{folder}/checks.parquet", ("check", "statistic"))
    predictions = project.sheet(f"{folder}/predictions.parquet", ("predictor", "measure"))
    placebo = project.table(f"{folder}/placebo.parquet")
    hold_checks(ledger, checks, predictions, placebo, fit.record, params.diagnosis.checks.alpha)
    sizes = (len(fit.models), len(fit.items), len(fit.attributes), max(placebo.num_rows - 1, 0))
    hold_verdict(ledger, f"{folder}/support.json", support, checks.table, sizes, params.diagnosis.checks)


def _hold_answers(project: Project, responses: Sheet, study: Study) -> None:
    """Responses of models against their answers, and answers against replies and keys."""
    items = items_by_id(project.table("data/items/items.parquet"))
    parts = []
    for name in study.models:
        path = f"data/diagnosis/answers/{name}.parquet"
        sheet = project.sheet(path, ("model", "item_id"))
        hold_replies(
            project.ledger, sheet, read_replies(project, f"data/diagnosis/answers/{name}.responses.jsonl")
        )
        hold_correct(project.ledger, sheet, items)
        parts.append(sheet.table)
    every = pa.concat_tables(parts, promote_options="default")
    same = {name: name for name in ("status", "request_id")}
    hold_join(project.ledger, responses, every, same, ["model", "item_id"], "responses: the model's answer")
    columns = [every[name].to_pylist() for name in ("model", "item_id", "status", "correct")]
    known = {(model, item): (status, correct) for model, item, status, correct in zip(*columns, strict=True)}
    wanted, rows = [], []
    for row, key in enumerate(zip(responses.texts("model"), responses.texts("item_id"), strict=True)):
        status, correct = known.get(key, (None, None))
        # What is unparsed may count as wrong or as no response; the parameter says which, and both leave it unright.
        if status == "ok" or (status is not None and responses.numbers("correct")[row] == 1):
            rows.append(row)
            wanted.append(np.nan if correct is None else float(correct))
    project.ledger.compare(responses, "correct", np.array(wanted, dtype=np.float64), "responses: correct as answered",
                           rows=np.array(rows, dtype=np.int64))  # fmt: skip


def hold_screening(ledger: Ledger, sheet: Sheet, responses: pa.Table, drop: Sequence[str]) -> None:
    """Counts and shares of each model and item, and who stays.

    Args:
        ledger: for findings.
        sheet: SCREENING.
        responses: RESPONSE_MATRIX.
        drop: flags that take a row out.
    """
    counts: dict[tuple[str, str], list[int]] = {}
    columns = [responses[name].to_pylist() for name in ("model", "item_id", "status", "correct")]
    for model, item, status, correct in zip(*columns, strict=True):
        for key in (("model", model), ("item", item)):
            line = counts.setdefault(key, [0, 0, 0, 0])
            line[0] += correct is not None
            line[1] += bool(correct)
            line[2] += status not in (*_ABSENT, "ok")
            line[3] += status in _ABSENT
    keys = sorted(counts)
    rows, at = sheet.align(ledger, keys, "models and items of the responses")
    table = np.array([counts[keys[k]] for k in at.tolist()], dtype=np.float64).reshape(-1, 4)
    for column, place in (("n", 0), ("n_correct", 1), ("n_unparsed", 2), ("n_missing", 3)):
        ledger.compare(sheet, column, table[:, place], "screening: counts", rows=rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(table[:, 0] > 0, table[:, 1] / np.maximum(table[:, 0], 1), np.nan)
    ledger.compare(sheet, "share", share, "screening: counts", rows=rows)
    stays = np.array([not set(flags) & set(drop) for flags in sheet.texts("flags")[rows]], dtype=np.float64)
    ledger.compare(sheet, "kept", stays, "screening: who stays", rows=rows)


def hold_mastery(ledger: Ledger, sheet: Sheet, fit: Fit, attributes: pa.Table, support: str) -> None:
    """Every cell of a study's profiles.

    Args:
        ledger: for findings.
        sheet: MASTERY.
        fit: the chains.
        attributes: with labels.
        support: what the controls say.
    """
    keys = [(model, name) for model in fit.models for name in fit.attributes]
    rows, at = sheet.align(ledger, keys, "a row per model and attribute")
    p = np.clip(fit.mastery, 0, 1).ravel()[at]
    told = (np.tensordot(fit.kept, fit.unlocked, axes=1) / max(fit.kept.sum(), 1)).ravel()[at]
    ledger.compare(sheet, "p", p, "profiles: mastery", rows=rows)
    ledger.compare(sheet, "sd", np.sqrt(p * (1 - p)), "profiles: mastery", rows=rows, tolerance=1e-8)
    ledger.compare(sheet, "n_items", told, "profiles: items that tell", rows=rows)
    ledger.compare(
        sheet, "mcse", fit.mcse[0].ravel()[at], "profiles: Monte Carlo error, as the fit has it", rows=rows
    )
    # As published: a share that lies on the edge of a state is decided by the published digits.
    seen, items = sheet.numbers("p")[rows], sheet.numbers("n_items")[rows]
    known = items >= 0.5
    state = np.where(
        known & (seen >= 0.8), "mastered", np.where(known & (seen <= 0.2), "not_mastered", "undetermined")
    )
    ledger.compare(sheet, "state", state.astype(object), "profiles: the state", rows=rows)
    ledger.compare(
        sheet, "basis", np.where(known, "responses", "prior").astype(object), "profiles: the basis", rows=rows
    )
    ledger.compare(
        sheet, "support", np.full(rows.size, support, dtype=object), "profiles: the verdict", rows=rows
    )
    labels = dict(zip(attributes["attribute"].to_pylist(), attributes["label"].to_pylist(), strict=True))
    wanted = np.array([labels.get(keys[k][1]) for k in at.tolist()] or [None], dtype=object)[: at.size]
    ledger.compare(sheet, "label", wanted, "profiles: the label", rows=rows)
    off = ~((seen >= 0) & (seen <= 1))
    ledger.refuse(sheet, "p", off, "identity: a probability lies in 0..1", seen, "0 to 1", rows=rows)


def hold_attributes(ledger: Ledger, sheet: Sheet, fit: Fit, level: float) -> None:
    """Prevalence with Student's interval over models, and how well models are told apart.

    Args:
        ledger: for findings.
        sheet: ATTRIBUTE_PROFILES.
        fit: the chains.
        level: of the interval.
    """
    rows, at = sheet.align(ledger, [(name,) for name in fit.attributes], "a row per attribute")
    p = fit.mastery[:, at]
    n = len(fit.models)
    mean = p.mean(axis=0)
    ledger.compare(sheet, "prevalence", mean, "attributes: prevalence", rows=rows)
    error = p.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full(at.size, np.nan)
    half = student(level, n - 1) * error
    flat = ~(error > 1e-12) if n > 1 else np.ones(at.size, dtype=bool)
    for name, wanted in (("ci_low", np.maximum(mean - half, 0)), ("ci_high", np.minimum(mean + half, 1))):
        ledger.compare(
            sheet, name, np.where(flat, np.nan, wanted), "attributes: the interval", rows=rows, tolerance=1e-8
        )
    ledger.compare(sheet, "accuracy", np.maximum(p, 1 - p).mean(axis=0), "attributes: accuracy", rows=rows)
    ledger.compare(
        sheet, "consistency", (1 - 2 * p * (1 - p)).mean(axis=0), "attributes: consistency", rows=rows
    )
    ledger.compare(sheet, "n_models", np.full(rows.size, n), "attributes: counts", rows=rows)
    ledger.compare(sheet, "n_items", fit.needs.sum(axis=0)[at], "attributes: counts", rows=rows)
    ledger.compare(sheet, "level", np.full(rows.size, level), "attributes: the level", rows=rows)
    twins = _twins(fit)
    wanted = np.array([twins[k] for k in at.tolist()] or [None], dtype=object)[: at.size]
    ledger.compare(sheet, "duplicate_of", wanted, "attributes: duplicates", rows=rows)


def _correlations(fit: Fit) -> Floats:
    away = fit.mastery - fit.mastery.mean(axis=0)
    spread = np.sqrt((away**2).sum(axis=0))
    spread = np.where(spread > 1e-9 * np.sqrt(len(away)), spread, np.nan)
    return np.clip((away.T @ away) / np.outer(spread, spread), -1, 1)


def _twins(fit: Fit) -> list[str | None]:
    found, first = _correlations(fit), {}
    for k in range(len(fit.attributes)):
        for other in range(k):
            if other not in first and found[k, other] >= 0.95:
                first[k] = other
                break
    return [fit.attributes[first[k]] if k in first else None for k in range(len(fit.attributes))]


def hold_correlations(ledger: Ledger, sheet: Sheet, fit: Fit) -> None:
    """Correlations of mastery over models of all pairs of attributes.

    Args:
        ledger: for findings.
        sheet: ATTRIBUTE_CORRELATIONS.
        fit: the chains.
    """
    values, names, n = _correlations(fit), fit.attributes, len(fit.models)
    places = [(a, b) for a in range(len(names)) for b in range(a + 1, len(names))]
    rows, at = sheet.align(ledger, [(names[a], names[b]) for a, b in places], "a row per pair of attributes")
    wanted = np.array([values[places[k]] for k in at.tolist()], dtype=np.float64)
    if n < 4:
        wanted[:] = np.nan
    ledger.compare(sheet, "correlation", wanted, "attributes: correlations", rows=rows, tolerance=1e-7)
    ledger.compare(sheet, "n", np.full(rows.size, n), "attributes: counts", rows=rows)


def hold_items(ledger: Ledger, sheet: Sheet, fit: Fit) -> None:
    """Guess, slip, their errors, counts and how well each item fits.

    Args:
        ledger: for findings.
        sheet: ITEM_PROFILES.
        fit: the chains.
    """
    rows, at = sheet.align(ledger, [(name,) for name in fit.items], "a row per item")
    guess, slip = fit.guess.mean(axis=0), fit.slip.mean(axis=0)
    counts = np.tensordot(fit.kept, fit.counts, axes=1) / max(fit.kept.sum(), 1)
    numbers = {
        "guess": guess,
        "slip": slip,
        "discrimination": np.clip(1 - slip - guess, -1, 1),
        "n": (fit.correct >= 0).sum(axis=0),
        "n_mastered": counts[1],
        "n_other": counts[3],
        "pooled": fit.pooled.mean(axis=0) >= 0.5,
    }
    for name, wanted in numbers.items():
        ledger.compare(
            sheet, name, np.asarray(wanted, dtype=np.float64)[at], f"items: {name}", rows=rows, tolerance=1e-8
        )
    errors = _errors(fit, guess, slip)
    for name, wanted in zip(("guess_se", "slip_se"), errors, strict=True):
        ledger.compare(sheet, name, wanted[at], "items: standard errors", rows=rows, tolerance=1e-6)
    profiles = np.unique(fit.mastery > 0.5, axis=0)
    few = len(fit.models) / max(len(profiles), 1) < 5
    found = (np.full(len(fit.items), np.nan),) * 2 if few else _item_fit(fit, guess, slip)
    for name, wanted in zip(("rmsd", "pvaf"), found, strict=True):
        ledger.compare(sheet, name, wanted[at], "items: fit", rows=rows, tolerance=1e-7)
    needs = np.empty(at.size, dtype=object)
    needs[:] = [[fit.attributes[k] for k in np.flatnonzero(fit.needs[j])] for j in at.tolist()]
    seen = sheet.texts("attributes")[rows]
    off = np.array([list(one) != two for one, two in zip(seen, needs, strict=True)], dtype=bool)
    ledger.count("items: what they need", rows.size)
    ledger.refuse(sheet, "attributes", off, "items: what they need", seen, needs, rows=rows)


def _errors(fit: Fit, guess: Floats, slip: Floats) -> tuple[Floats, Floats]:
    """Errors of guess and slip: the inverse of the summed products of their scores, item by item.

    References:
        de la Torre (2009), Journal of Educational and Behavioral Statistics 34, 115-130, appendix.
    """
    out = np.full((2, len(fit.items)), np.nan)
    for j in range(len(fit.items)):
        seen = fit.correct[:, j] >= 0
        right = (fit.correct[seen, j] == 1).astype(np.float64)
        has = fit.mastery[seen][:, fit.needs[j]].prod(axis=1)
        c, g = (float(np.clip(x, 1e-9, 1 - 1e-9)) for x in (1 - slip[j], guess[j]))
        scores = np.stack([(1 - has) * (right - g) / (g * (1 - g)), has * (right - c) / (c * (1 - c))])
        told = np.array([(1 - has).sum() >= 0.5, has.sum() >= 0.5])
        matrix = scores @ scores.T
        if not told.all():
            matrix[0, 1] = matrix[1, 0] = 0.0
        for one, other in ((0, 1), (1, 0)):
            if not told[one]:
                continue
            taken = (
                matrix[0, 1] ** 2 / matrix[other, other] if told[other] and matrix[other, other] > 0 else 0.0
            )
            left = matrix[one, one] - taken
            if left > 1e-9 * matrix[one, one]:
                out[one, j] = 1 / np.sqrt(left)
    return out[0], out[1]


def _item_fit(fit: Fit, guess: Floats, slip: Floats) -> tuple[Floats, Floats]:
    """RMSD and PVAF over groups of models with one profile, item by item."""
    profiles, group = np.unique(fit.mastery > 0.5, axis=0, return_inverse=True)
    group = group.ravel()
    out = np.full((2, len(fit.items)), np.nan)
    for j in range(len(fit.items)):
        seen = np.flatnonzero(fit.correct[:, j] >= 0)
        size = np.bincount(group[seen], minlength=len(profiles)).astype(np.float64)
        right = np.bincount(group[seen], weights=fit.correct[seen, j] == 1, minlength=len(profiles))
        some = size > 0
        able = profiles[:, fit.needs[j]].all(axis=1)
        share, observed = size / size.sum(), np.where(some, right / np.maximum(size, 1), 0.0)
        expected = np.where(able, 1 - slip[j], guess[j])
        out[0, j] = np.sqrt((share * np.where(some, observed - expected, 0.0) ** 2).sum())
        mean = (share * observed).sum()
        total = (share * (observed - mean) ** 2).sum()
        between = 0.0
        for part in (able, ~able):
            weight = share[part].sum()
            if weight > 0:
                between += weight * ((share[part] * observed[part]).sum() / weight - mean) ** 2
        if total > 1e-12:
            out[1, j] = min(max(between / total, 0.0), 1.0)
    return out[0], out[1]


def hold_entries(ledger: Ledger, sheet: Sheet, fit: Fit, prior: pa.Table) -> dict[str, int]:
    """What became of every entry of Q; and how many items were corrected in which way.

    Args:
        ledger: for findings.
        sheet: Q_ENTRIES.
        fit: the chains.
        prior: of the entries.

    Returns:
        Items by what became of their reference.
    """
    keys = [(item, name) for item in fit.items for name in fit.attributes]
    rows, at = sheet.align(ledger, keys, "a row per item and attribute")
    believed = {
        (item, name): (probability, reference)
        for item, name, probability, reference in zip(
            *(prior[c].to_pylist() for c in ("item_id", "attribute", "probability", "reference")), strict=True
        )
    }
    known = [believed.get(key, (np.nan, False)) for key in keys]
    probability = np.array([one for one, _ in known], dtype=np.float64)
    reference = np.array([bool(two) for _, two in known])
    q = fit.q.mean(axis=0).ravel()
    edge = 0.5 / (fit.kept.sum() + 1)
    inner = np.clip(q, edge, 1 - edge)
    ledger.compare(sheet, "prior", probability[at], "entries: the prior", rows=rows)
    ledger.compare(sheet, "reference", reference[at].astype(np.float64), "entries: the prior", rows=rows)
    ledger.compare(sheet, "posterior", np.clip(q, 0, 1)[at], "entries: the posterior", rows=rows)
    ledger.compare(
        sheet,
        "log_odds",
        np.log(inner / (1 - inner))[at],
        "entries: the posterior",
        rows=rows,
        tolerance=1e-8,
    )
    has = q > 0.5
    pattern = np.where(reference, np.where(has, "kept", "dropped"), np.where(has, "added", "absent")).astype(
        object
    )
    ledger.compare(sheet, "pattern", pattern[at], "entries: the pattern", rows=rows)
    shape = (len(fit.items), len(fit.attributes))
    dropped = (reference & ~has).reshape(shape).any(axis=1)
    added = (has & ~reference).reshape(shape).any(axis=1)
    parts = (~dropped & ~added, ~dropped & added, dropped & added, dropped & ~added)
    return {name: int(part.sum()) for name, part in zip(_CORRECTIONS, parts, strict=True)}


def _hold_board(project: Project, studies: list[str]) -> None:
    """Cells of the board and its copies."""
    folders = {name: f"data/diagnosis/studies/{name}" for name in studies}
    board = project.sheet("results/mastery.parquet", BOARD_KEY)
    parts = {name: project.table(f"{folder}/mastery.parquet") for name, folder in folders.items()}
    hold_cells(project.ledger, board, parts, BOARD_KEY, "study")
    hold_csv(project, "results/mastery.csv", board.table, BOARD_KEY)
    documents = {name: _beside(project, folder) for name, folder in folders.items()}
    with project.part("results/mastery_beside.json"):
        seen, check = project.json("results/mastery_beside.json"), "copies: what stands beside the board"
        hold_json(project.ledger, "results/mastery_beside.json", seen, documents, check)
    with project.part("results/mastery.md"):
        text, check = project.text("results/mastery.md"), "copies: the page shows the board's numbers"
        hold_lines(
            project.ledger, "results/mastery.md", text, _lines(board.table.to_pylist(), documents), check
        )


def _beside(project: Project, folder: str) -> Row:
    """What `mastery_beside.json` says of a study."""
    mastery = project.table(f"{folder}/mastery.parquet").to_pylist()
    items = project.table(f"{folder}/item_profiles.parquet")
    profiles = project.table(f"{folder}/attribute_profiles.parquet").to_pylist()
    screening = project.table(f"{folder}/screening.parquet").to_pylist()
    responses = Counter(project.table(f"{folder}/responses.parquet")["status"].to_pylist())
    states = Counter((row["attribute"], row["state"]) for row in mastery)
    screened = {}
    for kind in ("model", "item"):
        rows = [row for row in screening if row["kind"] == kind]
        flags = Counter(flag for row in rows for flag in row["flags"])
        screened[kind] = {
            "n": len(rows),
            "left_out": sum(not row["kept"] for row in rows),
            "flags": dict(flags),
        }
    return {
        "verdict": project.json(f"{folder}/support.json"),
        "sizes": {
            "models": len({row["model"] for row in mastery}),
            "items": items.num_rows,
            "attributes": len(profiles),
            "responses": dict(responses),
            "screening": screened,
        },
        "corrections": project.json(f"{folder}/corrections.json"),
        "pooled": sum(items["pooled"].to_pylist()),
        "attributes": [
            row | {"states": {state: states[row["attribute"], state] for state in _STATES}}
            for row in profiles
        ],
        "predictions": project.table(f"{folder}/predictions.parquet").to_pylist(),
        "checks": project.table(f"{folder}/checks.parquet").to_pylist(),
    }


def _lines(rows: list[Row], documents: dict[str, Row]) -> list[tuple[str, str, list[str]]]:
    """Lines of attributes, of held-out predictions and of models with their mean mastery."""
    out = []
    for study, document in documents.items():
        heading = plain(f"Mastery: {study}")
        attributes = sorted(document["attributes"], key=lambda row: str(row["attribute"]))
        for number, row in enumerate(attributes, start=1):
            low, high = row["ci_low"], row["ci_high"]
            share = f"{100 * row['prevalence']:.0f} %"
            states = "/".join(str(row["states"][name]) for name in _STATES)
            if low is not None and high is not None:
                share += f" [{100 * low:.0f}, {100 * high:.0f}]"
            cells = [
                str(row["n_items"]),
                share,
                states,
                f"{row['accuracy']:.2f}",
                f"{row['consistency']:.2f}",
            ]
            out.append(
                (heading, plain(f"{number} {row['label']}"), [plain(f"{number} {row['label']}"), *cells])
            )
        models: dict[str, list[float]] = {}
        for row in rows:
            if row["study"] == study:
                models.setdefault(row["model"], []).append(row["p"])
        means = sorted(
            ((sum(p) / len(p), name) for name, p in models.items()), key=lambda one: (-one[0], one[1])
        )
        out += [(heading, plain(name), [plain(name), f"{mean:.2f}"]) for mean, name in means[:_SHOWN]]
    return out
