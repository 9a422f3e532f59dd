"""Made-up tables that keep their contracts, for any number of teachers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from magister.contracts.arena_tables import ARENA_ABLATION
from magister.contracts.diagnosis_tables import ITEM_PROFILES, K_CURVE, K_MEASURES, MASTERY, Q_ENTRIES
from magister.contracts.schemas import (
    ABLATION_AGREEMENT,
    ABLATIONS,
    CONTAMINATION,
    METRICS,
    METRICS_TABLE,
    STANDINGS,
    TEACHING_BOARD,
    Contract,
)
from magister.provenance._artifact import conform
from magister.stats import ModelBootstrap
from magister.teaching.external import match_names, read_boards
from magister.teaching.meta_evaluation import LeagueScores, meta_evaluation

Row = dict[str, Any]
SETTINGS = {"policy": "wrong", "resamples": 1000, "seed": 0, "level": 0.95}
COUNTS = {"n_items": 240, "n_students": 4, "n_clusters": 200, "n_cells": 960, "n_dropped": 3}
CONTROLS = ("sham", "oracle_tell", "self_revise")
FAMILIES = (
    "atlas-7b-instruct",
    "borealis-72b",
    "corvus",
    "delphi-mini-2025-01",
    "ember-1.5b-chat-extended-context",
)


def names(count: int) -> list[str]:
    """Names of several lengths."""
    return [f"{FAMILIES[n % len(FAMILIES)]}-{n}" for n in range(count)]


def made(contract: Contract, rows: Sequence[Row]) -> pa.Table:
    """Rows as a table that keeps its contract; what a row does not name is 0, empty or null."""
    blank: Row = {}
    for field in contract.schema:
        if field.nullable:
            blank[field.name] = None
        elif pa.types.is_string(field.type):
            blank[field.name] = ""
        else:
            blank[field.name] = False if pa.types.is_boolean(field.type) else 0
    table = pa.Table.from_pylist([blank | row for row in rows], schema=contract.schema)
    return conform(table, contract)


def interval(value: float, half: float, prefix: str = "") -> Row:
    """The columns of an interval."""
    return {f"{prefix}ci_low": value - half, f"{prefix}ci_high": value + 1.2 * half}


def effects(count: int, seed: int = 0) -> np.ndarray:
    """CA of some teachers, some of them below 0."""
    return np.sort(np.random.default_rng(seed).normal(0.06, 0.06, count))[::-1]


def teaching_board(
    teachers: Sequence[str], league: str = "main", change: Callable[[Row], Row] = lambda row: {}
) -> pa.Table:
    """The board of a league with control arms."""
    rng = np.random.default_rng(1)
    rows = []
    units = [("taught", name) for name in teachers] + [(arm, arm) for arm in CONTROLS]
    values = [*effects(len(teachers)), 0.005, 0.31, -0.02]
    for rank, ((arm, name), value) in enumerate(zip(units, values, strict=True), start=1):
        row: Row = {"league": league, "arm": arm, "teacher": name, "rounds": 3} | SETTINGS | COUNTS
        for metric, center in zip(METRICS, (value, 0.5 + 2 * value, 0.7, 0.3, 0.1), strict=True):
            center = float(center + (0 if metric == "CA" else rng.normal(0, 0.04)))
            low = metric.lower()
            row |= {low: center, f"{low}_status": "ok"} | interval(
                center, 0.02 + 0.03 * rng.random(), f"{low}_"
            )
        row |= {"rank": rank if arm == "taught" else None, "separated_from_zero": row["ca_ci_low"] > 0}
        rows.append(row | change(row))
    return made(TEACHING_BOARD, rows)


def metrics(
    teachers: Sequence[str],
    league: str = "main",
    rounds: int = 3,
    change: Callable[[Row], Row] = lambda row: {},
) -> pa.Table:
    """p of every round."""
    rows = []
    gains = [*effects(len(teachers)), 0.005, 0.31, -0.02]
    units = [("taught", name) for name in teachers] + [(arm, arm) for arm in CONTROLS]
    for (arm, name), gain in zip(units, gains, strict=True):
        for t in range(rounds + 1):
            value = float(0.42 + gain * (1 - 0.4**t))
            row = {"league": league, "arm": arm, "teacher": name, "slice_kind": "overall", "slice": "all"}
            row |= {"metric": "p", "round": t, "status": "ok", "value": value} | SETTINGS | COUNTS
            row |= interval(value, 0.03)
            rows.append(row | change(row))
    return made(METRICS_TABLE, rows)


def arena_ablation(scenarios: Sequence[str], change: Callable[[Row], Row] = lambda row: {}) -> pa.Table:
    """One or two comparisons per pair, selected and drawn at random."""
    rows = []
    for scenario in scenarios:
        for method, lam in (("embedding", 1.0), ("random", 0.0)):
            for k in (1, 2):
                value = 0.5 + k / 10 + (0.05 if lam else 0)
                row = {
                    "scenario": scenario,
                    "method": method,
                    "lam": lam,
                    "k": k,
                    "measure": "pair_agreement",
                }
                row |= {"status": "ok", "value": value, "draws": 1 if lam else 20, "n": 6 * k, "n_models": 4}
                row |= {"n_instructions": 30, "n_reference": 180, "resamples": 1000, "level": 0.95}
                row |= interval(value, 0.1)
                rows.append(row | change(row))
    return made(ARENA_ABLATION, rows)


def standings(teachers: Sequence[str], league: str = "main") -> pa.Table:
    """Ranks with intervals."""
    rows = []
    count = len(teachers)
    for n, name in enumerate(teachers):
        low, high = max(1, n - 2), min(count, n + 4)
        row = {"league": league, "metric": "CA", "teacher": name, "round": 3, "value": 0.2 - n / 100}
        row |= {"rank": n + 1, "rank_low": low, "rank_high": high, "p_first": max(0.0, 0.6 - 0.25 * n)}
        row |= {
            "status": "ok",
            "random_status": "ok",
            "rank_status": "ok",
            "group": "abcdef"[n // 6 : n // 6 + 2],
        }
        rows.append(row | SETTINGS | COUNTS | interval(0.2 - n / 100, 0.03))
    return made(STANDINGS, rows)


def ablations(
    teachers: Sequence[str],
    league: str = "main",
    students: int = 4,
    datasets: int = 9,
    change: Callable[[Row], Row] = lambda row: {},
) -> pa.Table:
    """Every ablation of CA."""
    rng = np.random.default_rng(3)
    settings = [("full", "whole league", 3, 240)]
    settings += [("leave_one_student", f"student-{n}", 3, 240) for n in range(students)]
    settings += [("leave_one_dataset", f"dataset-{n}", 3, 200) for n in range(datasets)]
    settings += [("cumulative", f"{share} %", 3, 240 * share // 100) for share in (10, 20, 40, 60, 80, 100)]
    settings += [("rounds", f"round {t}", t, 240) for t in range(1, 7)]
    settings += [("answer_revelation", "answer allowed", 3, 240), ("prompts", "guide v2", 3, 240)]
    settings += [("prompts", "revise v2", 3, 240), ("option_order", "seed 1", 3, 240)]
    settings += [("item_variants", "paraphrase 1", 3, 240), ("more_rounds", "6 rounds", 6, 240)]
    rows = []
    for ablation, setting, t, items in settings:
        for n, (name, whole) in enumerate(zip(teachers, effects(len(teachers)).tolist(), strict=True)):
            shift = 0.0 if ablation == "full" else float(rng.normal(0, 0.02))
            half = 0.03 * float(np.sqrt(240 / items))
            row: Row = {"league": league, "ablation": ablation, "setting": setting, "teacher": name}
            row |= {
                "metric": "CA",
                "round": t,
                "status": "ok",
                "difference_status": "ok",
                "value": whole + shift,
            }
            row |= (
                {"whole": whole, "difference": shift, "rank": n + 1} | SETTINGS | COUNTS | {"n_items": items}
            )
            row |= interval(whole + shift, half) | interval(shift, 0.02, "difference_")
            rows.append(row | change(row))
    return made(ABLATIONS, rows)


def agreement(league: str = "main") -> pa.Table:
    """Agreement of growing samples with all items."""
    rows = []
    for share in (10, 20, 40, 60, 80, 100):
        row: Row = {"league": league, "ablation": "cumulative", "setting": f"{share} %", "metric": "CA"}
        row |= {"status": "ok", "n_teachers": 10, "n_pairs": 45, "n_swapped": 100 - share} | SETTINGS
        for name in ("spearman", "kendall"):
            value = 1 - 0.5 * (1 - share / 100)
            row |= {
                name: value,
                f"{name}_ci_low": value - 0.15 * (100 - share) / 100,
                f"{name}_ci_high": min(1.0, value + 0.05),
            }
        rows.append(row)
    return made(ABLATION_AGREEMENT, rows)


def contamination(
    teachers: Sequence[str], league: str = "main", change: Callable[[Row], Row] = lambda row: {}
) -> pa.Table:
    """Two forms of the items; every fourth teacher knows them by heart."""
    rng = np.random.default_rng(4)
    rows = []
    for ablation, setting in (
        ("option_order", "seed 1"),
        ("item_variants", "paraphrase 1"),
        ("item_variants", "harder distractors"),
    ):
        for n, name in enumerate(teachers):
            own, effect = float(rng.normal(-0.12 if n % 4 == 0 else 0, 0.02)), float(rng.normal(0, 0.02))
            row: Row = {
                "league": league,
                "ablation": ablation,
                "setting": setting,
                "teacher": name,
                "status": "ok",
            }
            row |= {"n_items": 240, "n_clusters": 200} | SETTINGS
            for column, value in (("aa_change", own), ("ca_change", effect), ("gap", own - effect)):
                row |= {column: value} | interval(value, 0.03, f"{column}_")
            rows.append(row | change(row))
    return made(CONTAMINATION, rows)


def external(
    teachers: Sequence[str], league: str = "main", boards: Sequence[str] = ("arena",)
) -> tuple[pa.Table, pa.Table]:
    """META_NAMES and META_EVALUATION of boards that score all teachers but the last."""
    rng = np.random.default_rng(6)
    values = effects(len(teachers))
    scored = teachers[:-1] if len(teachers) > 1 else teachers
    lines = ["board,model,score,date"]
    for board in boards:
        lines += [
            f'"{board}",model {n},{1200 + 900 * value + rng.normal(0, 40):.0f},2025-01-01'
            for n, value in enumerate(values[: len(scored)])
        ]
    found = read_boards([("data/external/x.csv", "\n".join(lines).encode())])
    mapped = {board: {name: f"model {n}" for n, name in enumerate(scored)} for board in boards}
    table = match_names({league: list(teachers)}, found, mapped)
    scores = np.stack([values + rng.normal(0, 0.01 * k, len(values)) for k in range(len(METRICS))], axis=1)
    replicates = scores + rng.normal(0, 0.02, size=(100, *scores.shape))
    order = np.argsort(teachers)
    clusters = np.full(scores.shape, 200)
    one = LeagueScores(
        league, "wrong", tuple(sorted(teachers)), scores[order], replicates[:, order], clusters
    )
    return table, meta_evaluation([one], table, ModelBootstrap(100, 0))


def mastery(models: Sequence[str], attributes: int = 6, support: str = "supported") -> pa.Table:
    """Mastery of some attributes; the last is known from the prior alone."""
    rng = np.random.default_rng(8)
    rows = []
    for model in models:
        for k, p in enumerate(rng.beta(0.4, 0.4, attributes).tolist(), start=1):
            prior = k == attributes
            state = "mastered" if p >= 0.8 else "not_mastered" if p <= 0.2 else "undetermined"
            row: Row = {"model": model, "attribute": f"a{k:02d}", "label": f"skill {k}", "p": p, "sd": 0.1}
            row |= {"n_items": 0.0 if prior else 4.0, "basis": "prior" if prior else "responses"}
            rows.append(row | {"state": "undetermined" if prior else state, "support": support})
    return made(MASTERY, rows)


def q_entries(items: Sequence[str], attributes: int = 5) -> pa.Table:
    """A Q-matrix of which every third item has changed."""
    rng = np.random.default_rng(9)
    rows = []
    for n, item in enumerate(items):
        before, after = n % attributes, (n + (n % 3 == 0)) % attributes
        for k in range(attributes):
            had, has = k == before, k == after
            pattern = {(True, True): "kept", (True, False): "dropped", (False, True): "added"}
            p = float(rng.uniform(0.6, 1) if has else rng.uniform(0, 0.4))
            row: Row = {"item_id": item, "attribute": f"a{k:02d}", "reference": had, "posterior": p}
            rows.append(
                row
                | {"prior": 0.8 if had else 0.2, "pattern": pattern.get((had, has), "absent"), "log_odds": p}
            )
    return made(Q_ENTRIES, rows)


def item_profiles(items: Sequence[str], change: Callable[[Row], Row] = lambda row: {}) -> pa.Table:
    """Items of which the first is held at the least distance."""
    rng = np.random.default_rng(10)
    rows = []
    for n, item in enumerate(items):
        guess, slip = float(rng.uniform(0.05, 0.4)), float(rng.uniform(0.05, 0.4))
        row: Row = {"item_id": item, "guess": guess, "slip": slip, "discrimination": 1 - guess - slip}
        row |= {"guess_se": 0.03, "slip_se": 0.02, "pooled": n == 0, "status": "ok", "attributes": ["a01"]}
        rows.append(row | change(row))
    return made(ITEM_PROFILES, rows)


def k_curve(change: Callable[[Row], Row] = lambda row: {}) -> pa.Table:
    """Measures at four numbers of attributes."""
    rows = []
    for k in (4, 8, 16, 28):
        for n, measure in enumerate(K_MEASURES):
            value = 0.9 - 0.01 * k - 0.1 * n
            row: Row = {"k": k, "measure": measure, "chosen": k == 8, "status": "ok", "value": value, "n": 50}
            row |= interval(value, 0.02) if measure == "held_out_loglik" else {}
            rows.append(row | change(row))
    return made(K_CURVE, rows)
