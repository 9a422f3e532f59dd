"""Ratings of one scope of votes: strengths, errors, tests, ranks and letters, each held against the published row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import special

from magister.audit.recompute._draws import (
    ERRORS,
    Published,
    adjusted,
    hold_ends,
    hold_errors,
    hold_ranks,
    letters_agree,
    ranked,
)
from magister.audit.recompute._ledger import LISTED, Bools, Floats, Ints, Ledger, Sheet
from magister.audit.recompute._scopes import Part, Scope, resampled
from magister.audit.recompute._strength import (
    POINTS,
    Season,
    elo_path,
    elo_paths,
    expected_points,
    profile_end,
    score_test,
    stiffness,
    strengths,
)

KEY = ("scope", "annotators", "system", "model")
MEAN = 1000.0
#: The published path of Elo's equation is within so many points of the exact one; of the second where it is stiff.
ELO_TOLERANCE, ELO_TOLERANCE_STIFF = 0.05, 0.5
# From this rate of decay on it is stiff: the published path takes a step per unit of it.
_STIFF = 10.0
# Ratings and errors are published with six decimals.
_DECIMALS = 2e-6
_STILL = 1e-5
# Ratings of a resample that are no further apart may be equal.
_LEVEL = 1e-3
# Relative to 1000 points.
_SLACK = {"Elo": ELO_TOLERANCE_STIFF / 1000, "Bradley-Terry": 1e-6}
# Resamples of larger leagues would take longer than everything else together.
_STIFFEST, _LARGEST = 300.0, 80


@dataclass(frozen=True)
class Plan:
    """What a table's intervals rest on, and how often is drawn here."""

    elo_k: float
    resamples: int
    level: float
    redraws: int


def hold_scope(
    ledger: Ledger, sheet: Sheet, scope: Scope, place: tuple[str, str], models: Sequence[str], plan: Plan
) -> None:
    """All rows of a scope, both systems.

    Args:
        ledger: for findings.
        sheet: the ratings.
        scope: what was counted.
        place: scope and annotators.
        models: of the arena, by code.
        plan: of the table.
    """
    for number, part in enumerate(scope.parts, start=1):
        drawn = _drawn(scope, part, plan)
        p = _tests(scope, part)
        for system in ("bradley_terry", "elo"):
            keys = [(*place, system, models[code]) for code in part.models.tolist()]
            rows = sheet.find(keys)
            if (rows < 0).any():
                for k in np.flatnonzero(rows < 0)[:LISTED].tolist():
                    said = ", ".join(f"{name} {value}" for name, value in zip(KEY, keys[k], strict=True))
                    ledger.add(sheet.path, said, "rows: ratings of an arena", "no such row", "a row")
                continue
            _hold_counts(ledger, sheet, rows, scope, part, number)
            _hold_ratings(ledger, sheet, rows, part, system, plan)
            if system == "bradley_terry":
                _hold_errors(ledger, sheet, rows, scope, part, plan)
            _hold_intervals(ledger, sheet, rows, scope, part, drawn[system], p, plan)
    present = {code for part in scope.parts for code in part.models.tolist()}
    for system in ("bradley_terry", "elo"):
        absent = [(*place, system, name) for code, name in enumerate(models) if code not in present]
        hold_absent(ledger, sheet, absent)


def hold_absent(ledger: Ledger, sheet: Sheet, keys: Sequence[tuple[str, ...]]) -> None:
    """Rows of models without a vote: nothing is known of them."""
    rows = sheet.find(keys)
    rows = rows[rows >= 0]
    unknown = (
        "rating",
        "ci_low",
        "ci_high",
        "se",
        "sandwich_low",
        "sandwich_high",
        "rank",
        "rank_low",
        "rank_high",
        "p_first",
    )
    for name in unknown:
        ledger.compare(sheet, name, np.full(rows.size, np.nan), "ratings: models without votes", rows=rows)
    for name in ("n", "wins", "losses", "ties", "n_clusters"):
        ledger.compare(sheet, name, np.zeros(rows.size), "ratings: models without votes", rows=rows)
    ledger.compare(sheet, "status", np.full(rows.size, "not_computable", dtype=object), "ratings: models without votes",
                   rows=rows)  # fmt: skip


def _hold_counts(ledger: Ledger, sheet: Sheet, rows: Ints, scope: Scope, part: Part, number: int) -> None:
    low, high, score = part.votes
    k = part.models.size
    wins = np.bincount(low[score == 1], minlength=k) + np.bincount(high[score == 0], minlength=k)
    losses = np.bincount(high[score == 1], minlength=k) + np.bincount(low[score == 0], minlength=k)
    ties = sum(np.bincount(side[score == 0.5], minlength=k) for side in (low, high))
    counts = {
        "wins": wins,
        "losses": losses,
        "ties": ties,
        "n": wins + losses + ties,
        "n_clusters": part.units,
    }
    for name, wanted in counts.items():
        ledger.compare(sheet, name, wanted, "ratings: counts of votes", rows=rows)
    total = sum((sheet.numbers(name)[rows] for name in ("wins", "losses", "ties")), np.zeros(k))
    ledger.refuse(sheet, "n", sheet.numbers("n")[rows] != total, "identity: wins, losses and ties are all votes",
                  sheet.numbers("n")[rows], total, rows=rows)  # fmt: skip
    won, lost = sheet.numbers("wins")[rows].sum(), sheet.numbers("losses")[rows].sum()
    ledger.count("identity: a win is another's loss", 1)
    if won != lost:
        ledger.add(
            sheet.path, sheet.place(int(rows[0]), "wins"), "identity: a win is another's loss", won, lost
        )
    component = sheet.numbers("component")[rows]
    sizes = [(other.models.size, other.at.size) for other in scope.parts]
    # Parts of one size and number of votes may stand in any order.
    same = [k + 1 for k, size in enumerate(sizes) if size == sizes[number - 1]]
    off = ~np.isin(component, same) | (component != component[0])
    ledger.count("ratings: connected parts", k)
    ledger.refuse(
        sheet, "component", off, "ratings: connected parts", component, " or ".join(map(str, same)), rows=rows
    )


def _hold_ratings(ledger: Ledger, sheet: Sheet, rows: Ints, part: Part, system: str, plan: Plan) -> None:
    seen = sheet.numbers("rating")[rows]
    if system == "bradley_terry":
        wanted, tolerance, check = MEAN + POINTS * part.b, _DECIMALS, "ratings: Bradley-Terry"
    else:
        wanted, tolerance, check = (
            elo_path(part.season, plan.elo_k),
            _elo_tolerance(part, plan),
            "ratings: Elo",
        )
    ledger.count(check, rows.size)
    ledger.refuse(sheet, "rating", ~(np.abs(seen - wanted) <= tolerance), check, seen, wanted, rows=rows)
    check = (
        f"identity: {'Bradley-Terry' if system == 'bradley_terry' else 'Elo'} ratings have a mean of {MEAN:g}"
    )
    ledger.count(check, 1)
    if not abs(seen.mean() - MEAN) <= _DECIMALS:
        ledger.add(
            sheet.path,
            f"{sheet.place(int(rows[0]), 'rating')} and {rows.size - 1} more",
            check,
            seen.mean(),
            MEAN,
        )
    rank = sheet.numbers("rank")[rows]
    ledger.compare(sheet, "rank", ranked(seen), "ratings: the rank", rows=rows)
    low, high = (sheet.numbers(f"rank_{end}")[rows] for end in ("low", "high"))
    with np.errstate(invalid="ignore"):
        off = (low > rank) | (rank > high) | (low < 1) | (high > rows.size)
    ledger.refuse(sheet, "rank_low", off, "identity: a rank lies in its interval", low, "rank_low <= rank <= rank_high",
                  rows=rows)  # fmt: skip


def _elo_tolerance(part: Part, plan: Plan) -> float:
    return ELO_TOLERANCE if stiffness(part.season, plan.elo_k) < _STIFF else ELO_TOLERANCE_STIFF


def _variance(scope: Scope, part: Part) -> tuple[Floats, Floats, Bools]:
    """Of each model by units, what annotators add, and whether units do not vary at all."""
    added = np.maximum(part.added.diagonal(), 0.0) if scope.people is not None else np.zeros(part.models.size)
    unit = part.by_unit.diagonal()
    return unit, added, unit + added <= 1e-9 * part.by_model.diagonal()


def _quantile(scope: Scope, part: Part, level: float) -> Floats:
    t = special.stdtrit(np.maximum(part.units - 1, 1), 0.5 + level / 2)
    if scope.people is None:
        return np.asarray(t)
    unit, added, _ = _variance(scope, part)
    other = special.stdtrit(max(scope.people.stratum.size - 1, 1), 0.5 + level / 2)
    share = np.where(unit + added > 0, added / np.where(unit + added > 0, unit + added, 1.0), 0.0)
    return np.asarray(np.sqrt(t**2 * (1 - share) + other**2 * share))


def _hold_errors(ledger: Ledger, sheet: Sheet, rows: Ints, scope: Scope, part: Part, plan: Plan) -> None:
    """Standard errors and sandwich intervals of Bradley-Terry, and ends by the profile: nothing of it is drawn."""
    unit, added, still = _variance(scope, part)
    few, unbounded = part.units < 2, part.open_low | part.open_high
    variance = np.where(still, part.by_model.diagonal(), unit + added)
    se = np.where(few | unbounded, np.nan, np.sqrt(variance))
    check = "ratings: Bradley-Terry standard errors"
    ledger.compare(sheet, "se", se, check, rows=rows, tolerance=1e-6)
    half = _quantile(scope, part, plan.level) * np.sqrt(variance)
    rating = MEAN + POINTS * part.b
    told = ~(unbounded | still | few)
    for name, sign in (("sandwich_low", -1), ("sandwich_high", 1)):
        wanted = np.where(told, rating + sign * half, np.nan)
        ledger.compare(sheet, name, wanted, "ratings: sandwich intervals", rows=rows, tolerance=1e-6)
    model = still & ~few & ~unbounded
    for name, sign in (("ci_low", -1), ("ci_high", 1)):
        ledger.compare(sheet, name, (rating + sign * half)[model], "ratings: intervals of the model", rows=rows[model],
                       tolerance=1e-6)  # fmt: skip


def _drawn(scope: Scope, part: Part, plan: Plan) -> dict[str, Floats | None]:
    """Ratings on our own resamples, shape (B', k), by system; None where that would take too long."""
    k = part.models.size
    if k > _LARGEST:
        return {"bradley_terry": None, "elo": None}
    out: dict[str, Floats | None] = {}
    units = np.unique(scope.ballots.unit, return_inverse=True)[1]
    season = resampled(scope.draws, part, units)
    people = None
    if scope.people is not None:
        people = resampled(scope.people, part, np.unique(scope.ballots.annotator, return_inverse=True)[1])
    for system in ("bradley_terry", "elo"):
        if system == "elo" and stiffness(season, plan.elo_k) > _STIFFEST:
            out[system] = None
            continue

        def rate(some: Season, system: str = system) -> Floats:
            return (
                MEAN + POINTS * strengths(some, part.b)
                if system == "bradley_terry"
                else elo_paths(some, plan.elo_k)
            )

        drawn = rate(season)
        if people is not None:
            middle = rate(Season(part.season.games[None], part.season.points[None]))
            drawn = drawn + (rate(people) - middle) * part.annotator_share
        out[system] = drawn
    return out


def _tests(scope: Scope, part: Part) -> Floats:
    """p of every pair by Bradley-Terry, shape (k, k): differences over their errors, or score tests of open ends."""
    k = part.models.size

    def of_differences(covariance: Floats) -> Floats:
        own = covariance.diagonal()
        return own[:, None] + own[None, :] - 2 * covariance

    unit = of_differences(part.by_unit)
    added = np.maximum(of_differences(part.added), 0.0) if scope.people is not None else np.zeros_like(unit)
    own, units = of_differences(part.by_model), np.minimum(part.units[:, None], part.units[None, :])
    freedom = np.maximum(units - 1, 1).astype(np.float64)
    if scope.people is not None:
        below = unit**2 / freedom + added**2 / max(scope.people.stratum.size - 1, 1)
        freedom = np.where(below > 0, (unit + added) ** 2 / np.where(below > 0, below, 1.0), freedom)
    variance = np.where(unit + added <= 1e-9 * own, own, unit + added)
    difference = POINTS * (part.b[:, None] - part.b[None, :])
    t = np.where(variance > 0, np.abs(difference) / np.sqrt(np.where(variance > 0, variance, 1.0)), 0.0)
    p: Floats = np.minimum(2 * special.stdtr(freedom, -t), 1.0)
    unbounded = part.open_low | part.open_high
    each = part.season.games.sum(axis=1) / np.maximum(part.units, 1)
    for i, j in combinations(range(k), 2):
        if unbounded[i] or unbounded[j]:
            p[i, j] = p[j, i] = score_test(part.season, part.b, i, j, float(max(each[i], each[j])))
    return p


def _hold_intervals(
    ledger: Ledger,
    sheet: Sheet,
    rows: Ints,
    scope: Scope,
    part: Part,
    drawn: Floats | None,
    p: Floats,
    plan: Plan,
) -> None:
    """Ends, statuses, ranks, first places and letters."""
    elo = sheet.texts("system")[rows[0]] == "elo"
    few, unbounded = part.units < 2, part.open_low | part.open_high
    status = np.where(
        unbounded, "unbounded", np.where(few | (elo & (plan.resamples == 0)), "no_interval", "ok")
    )
    ledger.compare(sheet, "status", status.astype(object), "ratings: the status", rows=rows)
    for name, ends in (("ci_low", part.open_low), ("ci_high", part.open_high)):
        # Between others that never met it both ways a model has no end at all.
        seen = sheet.numbers(name)[rows]
        gone = ends | few
        ledger.refuse(sheet, name, np.isnan(seen) != gone, "ratings: ends that votes bound", seen,
                      "a number where votes bound it, null elsewhere", rows=rows)  # fmt: skip
    _hold_profile(ledger, sheet, rows, part, plan, elo=bool(elo))
    if drawn is None:
        ledger.count("ratings: intervals not redrawn, too large a league", rows.size)
        return
    still = np.ptp(drawn, axis=0) <= _STILL
    _, _, unvaried = _variance(scope, part)
    fixed = still if elo else still | unvaried
    tails = special.ndtr(
        -np.sqrt(part.units / np.maximum(part.units - 1, 1)) * _quantile(scope, part, plan.level)
    )
    simple = ~(unbounded | few | fixed)
    system = "Elo" if elo else "Bradley-Terry"
    check = f"ratings: {system} intervals, redrawn"
    percentile = simple & (tails * plan.resamples >= 1)
    if percentile.any():
        held = Published(sheet, rows[percentile], "ci_low", "ci_high", plan.resamples, check)
        hold_ends(ledger, held, drawn[:, percentile], tails[percentile], slack=_SLACK[system])
    other = simple & ~percentile
    if other.any():
        _hold_student(ledger, sheet, rows[other], drawn[:, other], part.units[other], tails[other], plan)
    if elo:
        some = Published(
            sheet, rows[simple], "ci_low", "ci_high", plan.resamples, "ratings: Elo standard errors, redrawn"
        )
        if simple.any():
            hold_errors(ledger, some, drawn[:, simple])
        model = still & ~(unbounded | few)
        if model.any():
            _hold_model(ledger, sheet, rows[model], part, model, tails[model], plan)
        tests = _elo_tests(scope, part, drawn, p, (still, sheet.numbers("rating")[rows]), plan)
    else:
        tests = p, p
    _hold_order(ledger, sheet, rows, scope, part, drawn, tests, still if elo else unvaried, plan)


def _hold_profile(ledger: Ledger, sheet: Sheet, rows: Ints, part: Part, plan: Plan, *, elo: bool) -> None:
    """The other end of a model with one open end."""
    for k in np.flatnonzero((part.open_low ^ part.open_high) & (part.units > 1)).tolist():
        critical = -2 * np.log((1 - plan.level) / 2) * part.season.games.sum(axis=1)[k] / part.units[k]
        side = -1 if part.open_high[k] else 1
        end, b = profile_end(part.season, part.b, k, side, float(critical))
        wanted = MEAN + POINTS * end
        if elo:
            there = Season(part.season.games, expected_points(part.season.games, b))
            wanted = float(elo_path(there, plan.elo_k)[k])
        name = "ci_low" if side < 0 else "ci_high"
        seen = float(sheet.numbers(name)[rows[k]])
        ledger.count("ratings: ends by the profile", 1)
        if not abs(seen - wanted) <= (_elo_tolerance(part, plan) if elo else 1e-4):
            ledger.add(
                sheet.path, sheet.place(int(rows[k]), name), "ratings: ends by the profile", seen, wanted
            )


def _hold_student(
    ledger: Ledger, sheet: Sheet, rows: Ints, drawn: Floats, units: Ints, tails: Floats, plan: Plan
) -> None:
    """Few units: rating +- t sqrt(G / (G - 1)) times the spread of resamples, of which ours is another estimate."""
    spread = drawn.std(axis=0, ddof=1)
    quantile = -special.ndtri(tails)
    allowed = 8 * np.sqrt(0.75 * (1 / max(plan.resamples, 1) + 1 / len(drawn)))
    rating = sheet.numbers("rating")[rows]
    check = "ratings: intervals of few units, redrawn"
    for name, sign in (("ci_low", -1), ("ci_high", 1)):
        seen, wanted = sheet.numbers(name)[rows], rating + sign * quantile * spread
        off = np.abs(seen - wanted) > allowed * quantile * spread + 1e-5
        ledger.count(check, rows.size)
        ledger.refuse(sheet, name, off, check, seen, wanted, rows=rows)


def _hold_model(
    ledger: Ledger, sheet: Sheet, rows: Ints, part: Part, model: Bools, tails: Floats, plan: Plan
) -> None:
    """Elo where votes do not vary: leagues drawn from the Bradley-Terry fit, every vote on its own and decisive."""
    k = part.models.size
    i, j = np.triu_indices(k, 1)
    games = part.season.games[i, j].astype(np.int64)
    stream = np.random.Generator(np.random.Philox(key=[4_471, 5]))
    won = stream.binomial(games, special.expit(part.b[i] - part.b[j]), size=(plan.redraws, games.size))
    points = np.zeros((plan.redraws, k))
    for at, (one, two) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        points[:, one] += won[:, at]
        points[:, two] += games[at] - won[:, at]
    season = Season(np.broadcast_to(part.season.games, (plan.redraws, k, k)), points)
    drawn = elo_paths(season, plan.elo_k)[:, model]
    held = Published(
        sheet, rows, "ci_low", "ci_high", plan.resamples, "ratings: Elo intervals of the model, redrawn"
    )
    if (tails * plan.resamples >= 1).all():
        hold_ends(ledger, held, drawn, tails, slack=_SLACK["Elo"])
    hold_errors(ledger, held, drawn)


def _elo_tests(
    scope: Scope, part: Part, drawn: Floats, p: Floats, given: tuple[Bools, Floats], plan: Plan
) -> tuple[Floats, Floats]:
    """Least and greatest p of pairs by Elo, (k, k) each: those that resamples cannot move rest on the likelihood.

    Args:
        scope: of the part.
        part: k models.
        drawn: ratings on our resamples.
        p: by Bradley-Terry.
        given: models that resamples do not move, and the published ratings.
        plan: of the table.
    """
    still, rating = given
    trusted = ~(part.open_low | part.open_high | still | (part.units < 2))
    both = trusted[:, None] & trusted[None, :]
    covariance = np.atleast_2d(np.cov(drawn.T))
    own = covariance.diagonal()
    variance = own[:, None] + own[None, :] - 2 * covariance
    freedom = np.maximum(part.units - 1, 1).astype(np.float64)
    if scope.people is not None:
        unit, added, _ = _variance(scope, part)
        below = unit**2 / freedom + added**2 / max(scope.people.stratum.size - 1, 1)
        freedom = np.where(below > 0, (unit + added) ** 2 / np.where(below > 0, below, 1.0), freedom)
    least = np.minimum(freedom[:, None], freedom[None, :])
    # Both variances are estimates from resamples; that far they may lie apart.
    apart = min(ERRORS * np.sqrt(2 * (1 / max(plan.resamples, 1) + 1 / len(drawn))), 0.9)
    use = both & (variance > _STILL**2)
    out = []
    for share in (1 - apart, 1 + apart):
        t = np.abs(rating[:, None] - rating[None, :]) / np.sqrt(np.maximum(variance, _STILL**2) * share)
        out.append(np.where(use, np.minimum(2 * special.stdtr(least, -t), 1.0), p))
    return out[0], out[1]


def _hold_order(
    ledger: Ledger,
    sheet: Sheet,
    rows: Ints,
    scope: Scope,
    part: Part,
    drawn: Floats,
    tests: tuple[Floats, Floats],
    still: Bools,
    plan: Plan,
) -> None:
    """Letters, rank intervals and first places."""
    k = part.models.size
    if k < 2:
        return
    alpha = 1 - plan.level
    i, j = np.triu_indices(k, 1)
    holm, most = (adjusted(p[i, j]) for p in tests)
    told: list[bool | None] = [
        True if high <= alpha - 1e-6 else False if low > alpha + 1e-6 else None
        for low, high in zip(holm.tolist(), most.tolist(), strict=True)
    ]
    groups = [text or "" for text in sheet.texts("group")[rows].tolist()]
    pairs = list(zip(i.tolist(), j.tolist(), strict=True))
    ledger.count("ratings: letters of groups", len(pairs))
    for m in letters_agree(groups, pairs, told):
        one, two = pairs[m]
        seen = f"{groups[one] or 'none'} and {groups[two] or 'none'} of {sheet.texts('model')[rows[two]]}"
        wanted = "no letter in common" if told[m] else "a letter in common"
        ledger.add(sheet.path, sheet.place(int(rows[one]), "group"), "ratings: letters of groups", seen,
                   f"{wanted}: Holm's p is {holm[m]:.4g}")  # fmt: skip
    if (part.units < 2).any() or plan.resamples == 0:
        return
    blind = part.open_low | part.open_high | still
    rating = sheet.numbers("rating")[rows]
    unsure = (blind[:, None] | blind[None, :]) & ~(tests[0] <= alpha) & ~np.eye(k, dtype=bool)
    above = (unsure & (rating[None, :] >= rating[:, None])).sum(axis=1)
    below = (unsure & (rating[None, :] <= rating[:, None])).sum(axis=1)
    shifts = []
    for some in (np.asarray([one is True for one in told]), np.asarray([one is not False for one in told])):
        apart = np.zeros((k, k), dtype=bool)
        apart[i, j] = apart[j, i] = some
        better = (apart & (rating[None, :] > rating[:, None])).sum(axis=1)
        worse = (apart & (rating[None, :] < rating[:, None])).sum(axis=1)
        shifts.append((above, below, better, worse))
    count = scope.units
    t = special.stdtrit(max(count - 1, 1), 0.5 + plan.level / 2)
    tail = float(special.ndtr(-np.sqrt(count / max(count - 1, 1)) * t))
    hold_ranks(ledger, sheet, rows, drawn, tail, plan.resamples, shifts=shifts, slack=_LEVEL)
    first = sheet.numbers("p_first")[rows]
    ledger.refuse(sheet, "p_first", np.isnan(first) != blind, "ratings: first places where resamples tell", first,
                  "a share where resamples can move the model, null elsewhere", rows=rows)  # fmt: skip
