"""How far annotators agree, and what sways them: one long table of statements with intervals."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.arena._coded import TIE, Coded, code_votes, sorted_codes
from magister.arena._shares import clustered_shares
from magister.arena._statements import OVERALL, Observed, Place, Row, Settings, share_statements, statement
from magister.arena.bias import length_statements, position_statements
from magister.arena.influence import Rate, influence_statements
from magister.contracts.arena_tables import ARENA_AGREEMENT
from magister.stats import Estimate, UnitBootstrap, krippendorff_alpha, weighted_kappa

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
_KINDS = ("person", "judge", "key")
_OUTCOMES = 3


def agreement_table(
    votes: pa.Table,
    key: pa.Table | None = None,
    *,
    rate: Rate | None = None,
    resamples: int,
    seed: int,
    level: float = 0.95,
) -> pa.Table:
    """All that is known of annotators; `docs/arena_votes.md` says what each statistic is.

    Outcomes are a, b and tie; `both_bad` is a tie, as in ratings. Intervals take root instructions for units.

    Args:
        votes: VOTES table.
        key: SHEET_KEY table, for the share of responses that name their model.
        rate: for the influence of annotators, see `magister.arena.influence.Rate`; without it there is none.
        resamples: bootstrap resamples of alpha and kappa; 0 for no interval.
        seed: of the resampling.
        level: coverage, 0..1.

    Returns:
        ARENA_AGREEMENT table, sorted by its key.
    """
    settings = Settings(resamples, seed, level)
    rows: list[Row] = []
    if votes.num_rows:
        coded = code_votes(votes)
        rows += _alpha_statements(coded, settings) + _pair_statements(coded, settings)
        rows += _with_people(coded, settings)
        rows += position_statements(coded, settings) + length_statements(coded, settings)
        every = np.ones(coded.outcome.size, dtype=bool)
        for statistic, hit in (("decisive_share", coded.outcome != TIE), ("both_bad_share", coded.both_bad)):
            rows += share_statements(statistic, coded, Observed.of(every, hit), _KINDS, settings)
        if rate is not None:
            rows += influence_statements(votes, rate, settings)
    if key is not None:
        rows += _naming_statements(key, settings)
    table = pa.Table.from_pylist(rows, schema=ARENA_AGREEMENT.schema)
    return table.sort_by([(name, "ascending") for name in ARENA_AGREEMENT.key]).combine_chunks()


def _scopes(coded: Coded) -> list[tuple[str, BoolArray]]:
    every = np.ones(coded.outcome.size, dtype=bool)
    return [(OVERALL, every), *((name, coded.scenario == at) for at, name in enumerate(coded.scenarios))]


def _raters(coded: Coded) -> list[tuple[str, BoolArray]]:
    """Kinds with several opinions to compare: people, judges, and all where there are several kinds."""
    kinds = coded.kinds
    found: list[tuple[str, BoolArray]] = [
        (kind, np.asarray(kinds == kind)) for kind in ("person", "judge") if kind in coded.kind
    ]
    if len(set(coded.kind)) > 1:
        found.append(("all", np.ones(kinds.size, dtype=bool)))
    return found


def nominal_alpha(coded: Coded, used: BoolArray, settings: Settings) -> Estimate:
    """Krippendorff's nominal alpha of some votes: units are comparisons, ratings a, b or tie.

    Alpha asks only how many annotators of a unit say what, not who: each unit's ratings are laid side by side, so
    that the table is as wide as the most judged comparison and not as all annotators together.

    Args:
        coded: the votes.
        used: votes to use, shape (votes,).
        settings: resamples of the root instructions, seed and level.

    Returns:
        The estimate; `n` counts votes on comparisons judged more than once.
    """
    order = np.lexsort((coded.outcome[used], coded.comparison[used]))
    unit, outcome = coded.comparison[used][order], coded.outcome[used][order]
    units, start, code = np.unique(unit, return_index=True, return_inverse=True)
    place = np.arange(unit.size) - start[code]
    ratings = np.full((units.size, int(place.max(initial=0)) + 1), np.nan)
    ratings[code, place] = outcome
    clusters = coded.root[used][order][start]
    plan = UnitBootstrap(settings.resamples, settings.seed, settings.level, clusters)
    return krippendorff_alpha(ratings, "nominal", plan)


def _alpha_statements(coded: Coded, settings: Settings) -> list[Row]:
    return [
        statement(Place("alpha", scope, kind), nominal_alpha(coded, inside & of_kind, settings), settings)
        for scope, inside in _scopes(coded)
        for kind, of_kind in _raters(coded)
        if (inside & of_kind).any()
    ]


def _counts(coded: Coded, used: BoolArray) -> IntArray:
    """Votes by comparison and outcome."""
    cells = coded.comparison[used] * _OUTCOMES + coded.outcome[used]
    return np.bincount(cells, minlength=coded.comparisons * _OUTCOMES).reshape(-1, _OUTCOMES)


def _one_per_comparison(coded: Coded) -> tuple[IntArray, IntArray]:
    """Root and scenario of each comparison."""
    _, first = np.unique(coded.comparison, return_index=True)
    return coded.root[first], coded.scenario[first]


def _pair_statements(coded: Coded, settings: Settings) -> list[Row]:
    """`pairwise_agreement`: the share of pairs of votes on one comparison that say the same."""
    root, scenario = _one_per_comparison(coded)
    rows = []
    for kind, of_kind in _raters(coded):
        counts = _counts(coded, of_kind)
        given = counts.sum(axis=1)
        same, pairs = (counts * (counts - 1) // 2).sum(axis=1), given * (given - 1) // 2
        for group, places in (
            (np.zeros(root.size, dtype=np.int64), [(0, OVERALL)]),
            (scenario, list(enumerate(coded.scenarios))),
        ):
            found = clustered_shares(same, pairs, group, root, groups=len(places), level=settings.level)
            voted = np.bincount(group, weights=given, minlength=len(places)) > 0
            rows += [
                statement(Place("pairwise_agreement", scope, kind), found[at], settings)
                for at, scope in places
                if voted[at]
            ]
    return rows


def _with_people(coded: Coded, settings: Settings) -> list[Row]:
    """Each annotator against the people who judged the same comparisons, a person against the other ones."""
    person = np.asarray(coded.kinds == "person")
    if not person.any():
        return []
    counts = _counts(coded, person)[coded.comparison]
    votes = np.arange(coded.outcome.size)
    own = person.astype(np.int64)
    same = counts[votes, coded.outcome] - own
    decisive = coded.outcome != TIE
    sided = np.where(decisive, counts[:, :TIE].sum(axis=1) - own, 0)
    rows = share_statements(
        "agreement_with_people", coded, Observed(votes, same, counts.sum(axis=1) - own), _KINDS, settings
    )
    rows += share_statements(
        "decisive_agreement_with_people",
        coded,
        Observed(votes[decisive], same[decisive], sided[decisive]),
        _KINDS,
        settings,
    )
    return rows + _kappa_statements(coded, counts, settings)


def _kappa_statements(coded: Coded, counts: IntArray, settings: Settings) -> list[Row]:
    """`kappa_with_people`: Cohen's kappa of a judge or the key with what most people say; no majority is a tie."""
    most = counts.max(axis=1)
    tied = (counts == most[:, None]).sum(axis=1) > 1
    plurality = np.where(tied, TIE, counts.argmax(axis=1))
    rows = []
    for at, (kind, name) in enumerate(zip(coded.kind, coded.name, strict=True)):
        if kind == "person":
            continue
        used = (coded.annotator == at) & (most > 0)
        plan = UnitBootstrap(settings.resamples, settings.seed, settings.level, coded.root[used])
        found = weighted_kappa(coded.outcome[used], plurality[used], "none", plan)
        rows.append(statement(Place("kappa_with_people", OVERALL, kind, name), found, settings))
    return rows


def _naming_statements(key: pa.Table, settings: Settings) -> list[Row]:
    """`self_named_share`: the share of comparisons with a response that says which model wrote it."""
    if not key.num_rows:
        return []
    named = np.asarray(pc.or_(key["self_named_1"], key["self_named_2"])).astype(np.int64)
    root, _ = sorted_codes(pc.binary_join_element_wise(key["scenario"], key["root_id"], "\x1f"))
    scenario, names = sorted_codes(key["scenario"])
    rows = []
    for group, places in ((np.zeros(named.size, dtype=np.int64), [OVERALL]), (scenario, names)):
        found = clustered_shares(
            named, np.ones(named.size), group, root, groups=len(places), level=settings.level
        )
        rows += [
            statement(Place("self_named_share", scope, "none"), found[at], settings)
            for at, scope in enumerate(places)
        ]
    return rows
