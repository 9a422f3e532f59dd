"""How far annotators of an arena agree and what sways them: every statement from the votes themselves."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from magister.audit.recompute._draws import (
    REDRAWS,
    UNDEFINED,
    Draws,
    Published,
    hold_ends,
    hold_errors,
    student,
)
from magister.audit.recompute._ledger import Floats, Ledger, Sheet
from magister.audit.recompute._strength import POINTS, Season, strengths

Vote = dict[str, Any]
Key = tuple[str, str, str, str]
_KINDS = ("person", "judge", "key")
_TIE = "tie"


@dataclass(frozen=True)
class Trials:
    """Hits and trials of each observation, and its cluster, shape (n,)."""

    hits: Floats
    trials: Floats
    cluster: list[Any]


def hold_agreement(
    ledger: Ledger, sheet: Sheet, votes: pa.Table, key: pa.Table, redraws: int = REDRAWS
) -> None:
    """Every row of an arena's table of agreement.

    Args:
        ledger: for findings.
        sheet: ARENA_AGREEMENT.
        votes: VOTES.
        key: SHEET_KEY.
        redraws: resamples of our own.
    """
    rows = [_vote(row) for row in votes.to_pylist()]
    shares = (
        dict(_shares(rows)) | dict(_with_people(rows)) | dict(_pairs(rows)) | dict(_named(key.to_pylist()))
    )
    coefficients = dict(_alphas(rows)) | dict(_kappas(rows))
    influence = dict(_influences(rows))
    sheet.align(ledger, [*shares, *coefficients, *influence], "agreement in an arena")
    ledger.uniform(sheet, ("resamples", "level", "seed"))
    for place, trials in shares.items():
        _hold_share(ledger, sheet, place, trials)
    for place, (statistic, sums, n) in coefficients.items():
        _hold_coefficient(ledger, sheet, place, (statistic, sums, n), redraws)
    for place, (change, n) in influence.items():
        at = sheet.find([place])
        if at[0] >= 0:
            ledger.compare(
                sheet, "value", np.array([change]), "agreement: influence", rows=at, tolerance=1e-6
            )
            ledger.compare(sheet, "n", np.array([n]), "agreement: counts", rows=at)


def _vote(row: Mapping[str, Any]) -> Vote:
    winner = row["winner"] if row["winner"] in ("a", "b") else _TIE
    lengths = row["length_a"], row["length_b"]
    longer = None
    if None not in lengths:
        longer = "a" if lengths[0] > lengths[1] else "b" if lengths[1] > lengths[0] else _TIE
    return {
        "said": winner,
        "both_bad": row["winner"] == "both_bad",
        "comparison": row["comparison_id"],
        "root": (row["scenario"], row["root_id"]),
        "scenario": row["scenario"],
        "who": (row["annotator_kind"], row["annotator"]),
        "first": row["first"],
        "a_first": row["winner_a_first"],
        "b_first": row["winner_b_first"],
        "longer": longer,
        "models": (row["model_a"], row["model_b"]),
    }


def _places(statistic: str, kinds: Iterable[str], rows: list[Vote]) -> Iterable[tuple[Key, list[Vote]]]:
    """A statement per annotator, per kind, and per kind and scenario with votes."""
    groups: dict[Key, list[Vote]] = defaultdict(list)
    for row in rows:
        kind, name = row["who"]
        if kind in kinds:
            groups[statistic, "overall", kind, name].append(row)
            groups[statistic, "overall", kind, ""].append(row)
            groups[statistic, row["scenario"], kind, ""].append(row)
    return groups.items()


def _trials(rows: list[Vote], seen: Callable[[Vote], tuple[float, float]]) -> Trials:
    pairs = np.array([seen(row) for row in rows], dtype=np.float64).reshape(-1, 2)
    return Trials(pairs[:, 0], pairs[:, 1], [row["root"] for row in rows])


def _shares(rows: list[Vote]) -> Iterable[tuple[Key, Trials]]:
    """Shares of single votes."""

    def chosen(row: Vote) -> tuple[float, float]:
        """Decisive choices, and those that went to the side shown first; each order of a judge is a choice."""
        hits = n = 0
        if row["first"] in ("a", "b") and row["said"] != _TIE:
            hits, n = hits + (row["said"] == row["first"]), n + 1
        for said, first in ((row["a_first"], "a"), (row["b_first"], "b")):
            if said in ("a", "b"):
                hits, n = hits + (said == first), n + 1
        return float(hits), float(n)

    def in_both(first: str | None, second: str | None) -> Callable[[Vote], tuple[float, float]]:
        def seen(row: Vote) -> tuple[float, float]:
            a, b = (_side(row[name]) for name in ("a_first", "b_first"))
            hit = a != b if first is None else (a, b) == (first, second)
            return (float(hit), 1.0) if a is not None and b is not None else (0.0, 0.0)

        return seen

    def longer(row: Vote) -> tuple[float, float]:
        told = row["longer"] in ("a", "b") and row["said"] != _TIE
        return float(told and row["said"] == row["longer"]), float(told)

    plans: list[tuple[str, tuple[str, ...], Callable[[Vote], tuple[float, float]]]] = [
        ("first_share", ("person", "judge"), chosen),
        ("flip_share", ("judge",), in_both(None, None)),
        ("first_in_both", ("judge",), in_both("a", "b")),
        ("second_in_both", ("judge",), in_both("b", "a")),
        ("longer_share", _KINDS, longer),
        ("decisive_share", _KINDS, lambda row: (float(row["said"] != _TIE), 1.0)),
        ("both_bad_share", _KINDS, lambda row: (float(row["both_bad"]), 1.0)),
    ]
    for statistic, kinds, seen in plans:
        for place, some in _places(statistic, kinds, rows):
            yield place, _trials(some, seen)


def _side(said: str | None) -> str | None:
    return said if said in ("a", "b", None) else _TIE


def _said_by_people(rows: list[Vote]) -> dict[str, Counter[str]]:
    """How often people say what, by comparison."""
    people: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row["who"][0] == "person":
            people[row["comparison"]][row["said"]] += 1
    return people


def _with_people(rows: list[Vote]) -> Iterable[tuple[Key, Trials]]:
    """Each annotator against the people on the same comparisons, a person against the others."""
    people = _said_by_people(rows)
    if not people:
        return

    def agreeing(row: Vote) -> tuple[float, float]:
        counts, own = people[row["comparison"]], row["who"][0] == "person"
        return float(counts[row["said"]] - own), float(sum(counts.values()) - own)

    def sided(row: Vote) -> tuple[float, float]:
        if row["said"] == _TIE:
            return 0.0, 0.0
        counts, own = people[row["comparison"]], row["who"][0] == "person"
        return float(counts[row["said"]] - own), float(counts["a"] + counts["b"] - own)

    for statistic, seen in (("agreement_with_people", agreeing), ("decisive_agreement_with_people", sided)):
        for place, some in _places(statistic, _KINDS, rows):
            yield place, _trials(some, seen)


def _raters(rows: list[Vote]) -> Iterable[tuple[str, list[Vote]]]:
    present = {row["who"][0] for row in rows}
    for kind in ("person", "judge"):
        if kind in present:
            yield kind, [row for row in rows if row["who"][0] == kind]
    if len(present) > 1:
        yield "all", rows


def _scopes(rows: list[Vote]) -> Iterable[tuple[str, list[Vote]]]:
    if rows:
        yield "overall", rows
    for name in sorted({row["scenario"] for row in rows}):
        yield name, [row for row in rows if row["scenario"] == name]


def _by_comparison(rows: list[Vote]) -> dict[str, list[Vote]]:
    out: dict[str, list[Vote]] = defaultdict(list)
    for row in rows:
        out[row["comparison"]].append(row)
    return out


def _pairs(rows: list[Vote]) -> Iterable[tuple[Key, Trials]]:
    """Pairs of votes on one comparison, and those that say the same."""
    for kind, of_kind in _raters(rows):
        for scope, some in _scopes(of_kind):
            hits, trials, cluster = [], [], []
            for votes in _by_comparison(some).values():
                counts = Counter(row["said"] for row in votes)
                hits.append(sum(n * (n - 1) / 2 for n in counts.values()))
                trials.append(len(votes) * (len(votes) - 1) / 2)
                cluster.append(votes[0]["root"])
            yield ("pairwise_agreement", scope, kind, ""), Trials(np.array(hits), np.array(trials), cluster)


def _named(rows: list[Mapping[str, Any]]) -> Iterable[tuple[Key, Trials]]:
    """Comparisons with a response that says which model wrote it."""
    scopes = ["overall", *sorted({row["scenario"] for row in rows})] if rows else []
    for scope in scopes:
        some = [row for row in rows if scope in ("overall", row["scenario"])]
        hits = np.array([float(row["self_named_1"] or row["self_named_2"]) for row in some])
        cluster = [(row["scenario"], row["root_id"]) for row in some]
        yield ("self_named_share", scope, "none", ""), Trials(hits, np.ones(len(some)), cluster)


Coefficient = tuple[Callable[[Floats], Floats], Floats, int]


def _alphas(rows: list[Vote]) -> Iterable[tuple[Key, Coefficient]]:
    """Krippendorff's nominal alpha from disagreeing pairs, and what its resamples add up."""
    for kind, of_kind in _raters(rows):
        for scope, some in _scopes(of_kind):
            by_root: dict[Any, list[float]] = {}
            n = 0
            for votes in _by_comparison(some).values():
                m = len(votes)
                if m < 2:
                    continue
                n += m
                counts = Counter(row["said"] for row in votes)
                apart = (m * m - sum(c * c for c in counts.values())) / (m - 1)
                line = by_root.setdefault(votes[0]["root"], [0.0] * 5)
                for at, more in enumerate((m, apart, counts["a"], counts["b"], counts[_TIE])):
                    line[at] += more
            sums = np.array([by_root[root] for root in sorted(by_root)], dtype=np.float64).reshape(-1, 5)
            yield ("alpha", scope, kind, ""), (_alpha, sums, n)


def _alpha(total: Floats) -> Floats:
    """1 - D_o / D_e with D_o the mean over ratings of disagreeing pairs, D_e that of any two ratings."""
    n, apart = total[..., 0], total[..., 1]
    expected = n * n - (total[..., 2:] ** 2).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 0, 1 - (n - 1) * apart / expected, np.nan)


def _kappas(rows: list[Vote]) -> Iterable[tuple[Key, Coefficient]]:
    """Cohen's kappa of judges and the key with what most people say; no majority is a tie."""
    people = _said_by_people(rows)
    if not people:
        return
    words = ("a", "b", _TIE)
    for kind, name in sorted({row["who"] for row in rows if row["who"][0] != "person"}):
        by_root: dict[Any, Floats] = {}
        n = 0
        for row in rows:
            counts = people.get(row["comparison"])
            if row["who"] != (kind, name) or not counts:
                continue
            most = max(counts.values())
            leading = [word for word in words if counts[word] == most]
            plural = leading[0] if len(leading) == 1 else _TIE
            line = by_root.setdefault(row["root"], np.zeros(8))
            line[0] += 1
            line[1] += row["said"] != plural
            line[2 + words.index(row["said"])] += 1
            line[5 + words.index(plural)] += 1
            n += 1
        sums = np.array([by_root[root] for root in sorted(by_root)]).reshape(-1, 8)
        yield ("kappa_with_people", "overall", kind, name), (_kappa, sums, n)


def _kappa(total: Floats) -> Floats:
    n = total[..., 0]
    same = (total[..., 2:5] * total[..., 5:8]).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = n - same / n
        return np.where(expected > 1e-12, 1 - total[..., 1] / expected, np.nan)


def _influences(rows: list[Vote]) -> Iterable[tuple[Key, tuple[float, int]]]:
    """The largest change of a rating without an annotator."""
    for kind in ("person", "judge"):
        some = [row for row in rows if row["who"][0] == kind]
        names = sorted({row["who"][1] for row in some})
        if len(names) < 2:
            continue
        models = sorted({name for row in some for name in row["models"]})
        whole = _rate(some, models)
        for name in names:
            left = _rate([row for row in some if row["who"][1] != name], models)
            lost = (np.isnan(left) & ~np.isnan(whole)).any()
            change = float("nan") if lost else float(np.nanmax(np.abs(left - whole)))
            yield ("influence", "overall", kind, name), (change, sum(row["who"][1] == name for row in some))


def _rate(rows: list[Vote], models: list[str]) -> Floats:
    games, points = np.zeros((len(models), len(models))), np.zeros(len(models))
    for row in rows:
        i, j = (models.index(name) for name in row["models"])
        games[i, j] += 1
        games[j, i] += 1
        score = {"a": 1.0, "b": 0.0}.get(row["said"], 0.5)
        points[i] += score
        points[j] += 1 - score
    found = 1000.0 + POINTS * strengths(Season(games, points))
    return np.where(games.sum(axis=1) > 0, found, np.nan)


def _hold_share(ledger: Ledger, sheet: Sheet, place: Key, trials: Trials) -> None:
    """A share with Wilson's interval at the effective number of trials that clusters leave.

    References:
        Dean and Pagano (2015), Journal of Survey Statistics and Methodology 3, 484-503.
    """
    at = sheet.find([place])
    if at[0] < 0:
        return
    hits: dict[Any, float] = defaultdict(float)
    sizes: dict[Any, float] = defaultdict(float)
    for hit, n, unit in zip(trials.hits, trials.trials, trials.cluster, strict=True):
        if n > 0:
            hits[unit] += hit
            sizes[unit] += n
    whole, count = sum(sizes.values()), len(sizes)
    check = f"agreement: {place[0]}"
    value = sum(hits.values()) / whole if whole else np.nan
    low = high = se = np.nan
    if count > 1:
        top = np.array([hits[unit] for unit in sizes])
        size = np.array([sizes[unit] for unit in sizes])
        variance = count / (count - 1) * float(((top - value * size) ** 2).sum()) / whole**2
        most = count if value in (0.0, 1.0) else value * (1 - value) / variance if variance > 1e-18 else whole
        effective = min(whole, most)
        t = float(student(float(sheet.numbers("level")[at[0]]), count - 1))
        # The ends solve (p - x)^2 = t^2 x (1 - x) / n.
        a, b = 1 + t * t / effective, value + t * t / (2 * effective)
        half = np.sqrt(max(b * b - a * value * value, 0.0)) / a
        low = 0.0 if value <= 0 else b / a - half
        high = 1.0 if value >= 1 else b / a + half
        se = half / t
    for column, wanted in (("value", value), ("ci_low", low), ("ci_high", high), ("se", se)):
        ledger.compare(sheet, column, np.array([wanted]), check, rows=at, tolerance=1e-8)
    for column, number in (("n", whole), ("n_clusters", count)):
        ledger.compare(sheet, column, np.array([float(number)]), "agreement: counts", rows=at)
    status = "not_computable" if not whole else "no_interval" if count < 2 else "ok"
    ledger.compare(sheet, "status", np.array([status], dtype=object), "agreement: the status", rows=at)


def _hold_coefficient(ledger: Ledger, sheet: Sheet, place: Key, given: Coefficient, redraws: int) -> None:
    """Alpha or kappa, and its interval by resamples of our own."""
    at = sheet.find([place])
    if at[0] < 0:
        return
    statistic, sums, n = given
    value = statistic(sums.sum(axis=0)) if len(sums) else np.array(np.nan)
    ledger.compare(
        sheet, "value", np.array([float(value)]), f"agreement: {place[0]}", rows=at, tolerance=1e-8
    )
    ledger.compare(sheet, "n", np.array([float(n)]), "agreement: counts", rows=at)
    seen = sheet.numbers("ci_low")[at]
    ok = sheet.texts("status")[at[0]] == "ok"
    ledger.refuse(sheet, "ci_low", np.isnan(seen) == ok, "agreement: an interval where the status says so", seen,
                  "a number with status ok, null without", rows=at)  # fmt: skip
    if not ok or len(sums) < 2:
        return
    drawn = statistic(Draws(np.zeros(len(sums)), redraws, salt=8).totals(sums))[:, None]
    if np.isnan(drawn).mean() > 2 * UNDEFINED:
        ledger.refuse(sheet, "status", np.array([True]), "agreement: the status", ["ok"],
                      "no_interval: undefined on too many resamples", rows=at)  # fmt: skip
        return
    level, resamples = float(sheet.numbers("level")[at[0]]), int(sheet.numbers("resamples")[at[0]])
    held = Published(sheet, at, "ci_low", "ci_high", resamples, "agreement: intervals, redrawn")
    hold_ends(ledger, held, drawn, (1 - level) / 2)
    hold_errors(ledger, held, drawn)
