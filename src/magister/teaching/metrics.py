"""How well models teach: CA, AA, JA, GA, RA and the measures beside them, with intervals.

Notation of the spec: students m, items n, rounds t = 0..T, c_{m,n,t} in {0, 1} whether the reply is right,
p_{m,t} the share right of student m at round t. A *cell* is a pair (m, n) of one teacher in one arm.

**Metrics** (round in brackets)

=========================  ================================================================================
CA [t = 1..T]              mean over m of (p_{m,t} - p_{m,0}); the headline is the row with the largest round
p [t = 0..T]               mean over m of p_{m,t}, the curve
AA [0]                     share right among the teacher's own zero-shot answers
JA [1]                     share of cells whose round-1 verdict equals c_{m,n,0}; pooled over (m, n)
JA_none [1]                share of cells without a verdict at round 1; pooled
JA_balanced [1]            mean of the shares judged rightly of cells right and of cells wrong at round 0
JA_mcc [1]                 Matthews correlation of verdict and truth; "none" counts as the opposite
JA_always_wrong [1]        1 - p_0 over the cells of JA: the JA of a teacher that always says "wrong"
GA [1]                     |wrong at 0 and right at 1| / |wrong at 0|; pooled over (m, n)
regression [1]             rho = |right at 0 and wrong at 1| / |right at 0|; pooled over (m, n)
RA [T]                     mean over m of prod_{t=2..T} r_{m,t} - 1, r_{m,t} = 1 + (Fix - Reg) / C_{m,t-1},
                           C_{m,t} the number right, r = 1 where C_{m,t-1} = 0
normalised_gain [T]        (p_T - p_0) / (1 - p_0) with p_t the mean over m: a ratio of means
CA_masked [T]              CA with leaks masked: from the first guide of a cell that leaked an option or the gold
                           value on, the student keeps the answer it had before
CA_leak_none [T]           change of the share right over the cells whose guides leaked nothing; pooled
CA_leak_option [T]         the same over the cells whose worst leak was an option that is wrong
CA_leak_gold [T]           the same over the cells in which the gold value was given away
net_CA [T]                 CA - CA of the arm sham
headroom [T]               (CA - CA of sham) / (CA of oracle_tell - CA of sham); unknown where telling the
                           answer lifts nobody
net_verdict [T]            CA - CA of the same teacher in the arm verdict_only: what guidance adds to verdicts
=========================  ================================================================================

JA and its companions, the rows on leaks, headroom and net_verdict exist for arm "taught" only; net_CA for every arm
but sham, and the last three only where their control arms were run with the same students and items. In arms
without a teacher the teacher column repeats the arm. Differences are paired: both arms see the same resamples.

**Denominators.** A cell with a status "error" in any round, of the student or of a guide, is dropped whole:
infrastructure is never an answer. Policy "wrong": every other status, context_exceeded included, is a wrong
answer, and a verdict "none" is a non-match in JA. Policy "drop": cells with any status but "ok" are
dropped, and cells without a verdict leave JA. `n_cells` are the cells used, `n_dropped` those asked but not
used; `n_<status>` counts the student replies of the slice in the rounds the metric reads, before any cell
is dropped (CA: 0 and t; p: t; JA and companions: 0; GA and regression: 0 and 1; RA: 1..T; normalised_gain:
0 and T; AA: the teacher's zero-shot replies).

**Intervals.** Percentile bootstrap over clusters of items, resampled within their dataset. The students are
fixed: the estimand is the effect on *these* students over items like these, and a resample of a cluster
takes it for all students at once. Teachers with the same clusters share their resamples (paired), and an
interval depends on no other teacher. All sums are sums of whole numbers, which floats hold exactly, and the
few divisions after them have one fixed order: no row order and no number of threads can change a bit.

**Status of a row**: "ok"; "no_interval" (a value without an interval); "not_computable" (no value). The
last two give a reason; so does an "ok" row with something to say, such as a student without cells. A share
of exactly 0 or 1 that does not vary over clusters has the Wilson interval with n = clusters, and its reason
says so.

References:
    Teach2Eval (ICLR 2026); Hake (1998), Am. J. Phys. 66, 64-74 (normalised gain); Davison and Hinkley (1997),
    sections 3.8 and 5.3 (stratified and percentile bootstrap).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts.schemas import METRICS_TABLE, STATUSES
from magister.errors import UserError
from magister.stats import (
    REASONS,
    BootstrapWeights,
    Estimate,
    bootstrap_weights,
    percentile_intervals,
    wilson,
)
from magister.teaching._cube import (
    CORRECT,
    NONE,
    WRONG,
    Bools,
    Cube,
    Ints,
    trajectory_cubes,
    zero_shot_cubes,
)
from magister.teaching._formulas import (
    BY_LEAK,
    JUDGING,
    RELATIVE,
    TAUGHT_ONLY,
    Floats,
    Layout,
    clusters_read,
    final_gain,
    nothing_retained,
    relative,
    statistics,
)
from magister.teaching._identities import Identity, check_identities

__all__ = ["SLICE_KINDS", "Identity", "Policy", "check_identities", "teaching_metrics"]

Policy = Literal["wrong", "drop"]

SLICE_KINDS = ("overall", "domain", "dataset", "band", "n_options")
_STATUS_COLUMNS = tuple(f"n_{status}" for status in STATUSES)
# Replicates of one batch of teachers may take this much memory.
_BATCH_BYTES = 96 * 2**20
_SHARES = ("p", "AA", "JA", "JA_none", "JA_balanced", "JA_always_wrong", "GA", "regression")
_WHY_UNDEFINED = {
    "GA": "no cell was wrong at round 0: nothing to fix",
    "regression": "no cell was right at round 0: nothing to lose",
    "JA": "no cell with a verdict",
    "JA_always_wrong": "no cell with a verdict",
    "JA_balanced": "the cells of round 0 are all right or all wrong",
    "JA_mcc": "verdicts or truths do not vary",
    "RA": "no round after 1, or nothing right that could be retained",
    "normalised_gain": "every cell was right at round 0: nothing to gain",
    "CA_masked": "no cell in use",
    "net_CA": "no cell of the arm sham in use",
    "headroom": "telling the answer lifts nobody above the arm sham: there is no room to take a share of",
    "net_verdict": "no cell of the arm verdict_only in use",
    **{name: f"no cell of this kind: {name.removeprefix('CA_leak_')}" for name in BY_LEAK},
}


@dataclass(frozen=True)
class _Settings:
    policy: Policy
    resamples: int
    level: float
    seed: int


def teaching_metrics(
    trajectories: pa.Table,
    zero_shot: pa.Table | None,
    *,
    policy: Policy,
    resamples: int,
    level: float,
    seed: int,
) -> pa.Table:
    """All metrics of all teachers and control arms, overall and by slice.

    Args:
        trajectories: table of that contract: rounds 0..T of every (league, arm, teacher, student, item).
        zero_shot: the teachers' own answers (league, teacher, item_id, dataset, domain, cluster_id, band,
            n_options, status, correct), or None: AA then is "not_computable".
        policy: "wrong" or "drop", see the module.
        resamples: bootstrap resamples; 0 for values without intervals.
        level: confidence level, 0..1.
        seed: seed of the bootstrap.

    Returns:
        Table of contract `metrics`, sorted by its key. Shares are 0..1.

    Raises:
        UserError: for settings or tables that cannot be used; the message says which.
    """
    if policy not in ("wrong", "drop"):
        raise UserError(f"policy {policy!r} is unknown; expected wrong or drop")
    if not 0 < level < 1:
        raise UserError(f"level must lie between 0 and 1 (0.95 for 95 %), not {level!r}")
    if resamples < 0 or seed < 0:
        raise UserError(f"resamples and seed must be 0 or more, not {resamples} and {seed}")
    settings = _Settings(policy, resamples, level, seed)
    weights: dict[tuple[str, ...], BootstrapWeights] = {}
    tables = []
    taught = []
    for cube in trajectory_cubes(trajectories):
        tables += _cube_tables(cube, settings, weights)
        taught.append((cube, [teacher for arm, teacher in cube.units if arm == "taught"]))
    for cube in zero_shot_cubes(zero_shot) if zero_shot is not None else []:
        tables += _cube_tables(cube, settings, weights)
    rows = pa.concat_tables(tables) if tables else METRICS_TABLE.schema.empty_table()
    why = "no zero-shot answers" if zero_shot is None else "no zero-shot answers of this teacher here"
    rows = pa.concat_tables([rows, _missing_aa(rows, taught, settings, why)])
    return rows.sort_by([(column, "ascending") for column in METRICS_TABLE.key])


@dataclass(frozen=True)
class _Job:
    """What all slices of a cube share; `kept` are the cells in use, shape (U, S, N)."""

    cube: Cube
    layout: Layout
    settings: _Settings
    weights: BootstrapWeights
    kept: Bools


@dataclass(frozen=True)
class _Counts:
    """Whole-number sums of one slice for a batch of units.

    Attributes:
        units: arm and teacher of each unit.
        sums: shape (U, F, c), see `Layout`.
        clusters: positions of the c clusters among those of the cube.
        n_items: items with a cell in use, shape (U,).
        statuses: replies before any cell is dropped, shape (U, R, len(STATUSES)).
        asked: cells before any is dropped, shape (U,).
    """

    units: tuple[tuple[str, str], ...]
    sums: NDArray[np.int32]
    clusters: Ints
    n_items: Ints
    statuses: Ints
    asked: Ints


def _cube_tables(
    cube: Cube, settings: _Settings, weights: dict[tuple[str, ...], BootstrapWeights]
) -> list[pa.Table]:
    """Rows of every unit, slice and metric of a cube."""
    strata = cube.items.strata
    if strata not in weights:
        weights[strata] = bootstrap_weights(strata, resamples=settings.resamples, seed=settings.seed)
    layout = Layout(len(cube.students), cube.rounds, own=cube.rounds == 1)
    job = _Job(cube, layout, settings, weights[strata], cube.kept(settings.policy))
    batch = max(1, _BATCH_BYTES // (8 * layout.width * max(settings.resamples, 1)))
    tables = []
    for kind, label, items in cube.items.each_slice(SLICE_KINDS):
        controls = _controls(job, items)
        for begin in range(0, len(cube.units), batch):
            counts = _count(job, items, slice(begin, begin + batch))
            tables.append(_rows(job, counts, kind, label, controls))
    return tables


_Controls = dict[tuple[str, str], tuple[Floats, Floats]]
"""CA of units that others are compared with: its value, shape (), and its replicates, shape (B,)."""


def _controls(job: _Job, items: Ints) -> _Controls:
    """CA of the control arms in one slice."""
    found: _Controls = {}
    for u, unit in enumerate(job.cube.units):
        if job.layout.own or unit[0] not in ("sham", "oracle_tell", "verdict_only"):
            continue
        counts = _count(job, items, slice(u, u + 1))
        total = counts.sums.sum(axis=2, dtype=np.int64)
        present = total[:, : job.layout.students] > 0
        value = final_gain(total[:, :, None].astype(np.float64), job.layout, present)[0, 0]
        some = counts.sums[:, : job.layout.pooled].reshape(-1, counts.clusters.size).T
        drawn = job.weights.totals(some, counts.clusters).T[None]
        found[unit] = np.asarray(value), final_gain(drawn, job.layout, present)[0]
    return found


def _beside(units: Sequence[tuple[str, str]], gain: Floats, controls: _Controls, of: int) -> Floats:
    """`relative` of some units, on values (`of` 0) or replicates (1); shape (U, 3, B)."""
    unknown = np.full(gain.shape[1], np.nan)

    def control(arm: str, teacher: str) -> Floats:
        return (
            np.broadcast_to(controls[arm, teacher][of], unknown.shape)
            if (arm, teacher) in controls
            else unknown
        )

    verdict = np.stack([control("verdict_only", teacher) for _, teacher in units])
    return relative(gain, control("sham", "sham"), control("oracle_tell", "oracle_tell"), verdict)


def _shown(metric: str, unit: tuple[str, str], controls: _Controls) -> bool:
    """Whether a metric means anything for a unit, given the control arms that were run."""
    arm, teacher = unit
    if metric in TAUGHT_ONLY and arm != "taught":
        return False
    sham, oracle = ("sham", "sham") in controls, ("oracle_tell", "oracle_tell") in controls
    if metric == "net_CA":
        return sham and arm != "sham"
    if metric == "headroom":
        return sham and oracle
    return metric != "net_verdict" or ("verdict_only", teacher) in controls


def _count(job: _Job, items: Ints, chosen: slice) -> _Counts:
    """Sums per unit and cluster over some items, for some units."""
    cube, layout, kept = job.cube, job.layout, job.kept
    asked = cube.asked()[chosen][:, :, items]
    status = cube.status[chosen][:, :, items]
    used = kept[chosen][:, :, items]
    right = cube.right[chosen][:, :, items] & used[..., None]
    cluster = cube.items.cluster[items]
    starts = np.flatnonzero(np.concatenate([[True], cluster[1:] != cluster[:-1]]))

    def per_cluster(marks: Bools) -> NDArray[np.int32]:
        return np.asarray(np.add.reduceat(marks, starts, axis=-1, dtype=np.int32))

    sums = np.empty((asked.shape[0], layout.width, starts.size), dtype=np.int32)
    sums[:, : layout.students] = per_cluster(used)
    by_round = per_cluster(np.moveaxis(right, -1, 2))  # (U, S, R, c)
    sums[:, layout.students : layout.pooled] = by_round.reshape(asked.shape[0], -1, starts.size)
    if not layout.own:
        verdict = cube.verdict[chosen][:, :, items]
        judged = used & (verdict != NONE) if job.settings.policy == "drop" else used
        before, after = right[..., 0], right[..., 1]
        pooled = (
            used & ~before & after,
            before & ~after,
            judged,
            judged & before,
            judged & before & (verdict == CORRECT),
            judged & ~before & (verdict == WRONG),
            used & (verdict == NONE),
        )
        for k, marks in enumerate(pooled):
            sums[:, layout.pooled + k] = per_cluster(marks.sum(axis=1, dtype=np.int32))
        leaked = cube.leaked[chosen][:, :, items].astype(np.int64)
        kept_at = np.minimum(leaked, cube.rounds) - 1
        held = np.take_along_axis(right, kept_at[..., None], axis=-1)[..., 0]
        sums[:, layout.masked : layout.by_leak] = per_cluster(held)
        worst = cube.leak[chosen][:, :, items]
        for k in range(len(BY_LEAK)):
            cells = used & (worst == k)
            for place, marks in enumerate((cells, cells & before, cells & right[..., -1])):
                at = layout.by_leak + 3 * k + place
                sums[:, at] = per_cluster(marks.sum(axis=1, dtype=np.int32))
    statuses = np.stack([(status == code).sum(axis=(1, 2)) for code in range(len(STATUSES))], axis=-1)
    n_items = used.any(axis=1).sum(axis=1)
    return _Counts(cube.units[chosen], sums, cluster[starts], n_items, statuses, asked.sum(axis=(1, 2)))


def _rows(job: _Job, counts: _Counts, kind: str, label: str, controls: _Controls) -> pa.Table:
    """Values, intervals and counts of one slice as rows."""
    cube, layout, settings, weights = job.cube, job.layout, job.settings, job.weights
    total = counts.sums.sum(axis=2, dtype=np.int64)
    present = total[:, : layout.students] > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        value = statistics(total[:, :, None].astype(np.float64), layout, present)[:, :, 0]
        flat = counts.sums.reshape(-1, counts.clusters.size).T
        drawn = weights.totals(flat, counts.clusters).T.reshape(*counts.sums.shape[:2], settings.resamples)
        replicates = statistics(drawn, layout, present)
    if not layout.own:
        at = [metric for metric, _ in layout.metrics].index("RA")
        value[:, at] = np.where(nothing_retained(total, layout), np.nan, value[:, at])
        names = [metric for metric, _ in layout.metrics]
        last, first = layout.metrics.index(("CA", layout.rounds - 1)), names.index(RELATIVE[0])
        span = slice(first, first + len(RELATIVE))
        value[:, span] = _beside(counts.units, value[:, last, None], controls, 0)[:, :, 0]
        replicates[:, span] = _beside(counts.units, replicates[:, last], controls, 1)
    found = percentile_intervals(
        value.ravel(), replicates.reshape(value.size, settings.resamples).T, settings.level
    )
    clusters = clusters_read(counts.sums, layout)
    varies = _varies(weights, counts.clusters)
    still = _still_datasets(weights, counts.clusters)
    clusters_used = (counts.sums[:, : layout.students].sum(axis=1) > 0).sum(axis=1)
    read = [layout.rounds_read(metric, t) for metric, t in layout.metrics]
    replies = np.stack([counts.statuses[:, rounds].sum(axis=1) for rounds in read], axis=1).tolist()
    columns: dict[str, list[Any]] = {name: [] for name in METRICS_TABLE.schema.names}
    for u, (arm, teacher) in enumerate(counts.units):
        absent = _absent_students(cube, layout, present[u])
        asked = int(counts.asked[u])
        for k, (metric, t) in enumerate(layout.metrics):
            if not _shown(metric, (arm, teacher), controls):
                continue
            used = int(total[u, : layout.students].sum())
            if settings.policy == "drop" and metric in JUDGING and metric != "JA_none":
                used = int(total[u, layout.pooled + 2])
            if metric in BY_LEAK:
                used = int(total[u, layout.by_leak + 3 * BY_LEAK.index(metric)])
            basis = _Basis(metric, used, asked, int(clusters[u, k]), varies)
            result = _result(found[u * len(layout.metrics) + k], basis, settings.level)
            _append(
                columns,
                league=cube.league, arm=arm, teacher=teacher, slice_kind=kind, slice=label,
                metric=metric, round=t, policy=settings.policy, status=result.status,
                reason="; ".join(
                    part for part in (result.reason, absent, still if result.status == "ok" else "") if part
                ),
                n_items=int(counts.n_items[u]), n_students=0 if layout.own else int(present[u].sum()),
                n_clusters=int(clusters_used[u]), n_cells=used, n_dropped=asked - used,
                **dict(zip(_STATUS_COLUMNS, replies[u][k], strict=True)),
                resamples=settings.resamples, seed=settings.seed, level=settings.level,
                value=result.value, ci_low=result.ci_low, ci_high=result.ci_high, se=result.se,
            )  # fmt: skip
    return _table(columns)


class _Basis(NamedTuple):
    """What a value rests on: cells used and asked, clusters in its denominator, whether strata can vary."""

    metric: str
    used: int
    asked: int
    clusters: int
    varies: bool


def _result(found: Estimate, basis: _Basis, level: float) -> Estimate:
    """The estimate of a row, with the status vocabulary of the table."""
    metric, used, asked, clusters, varies = basis
    if used == 0:
        reason = _WHY_UNDEFINED[metric] if metric in BY_LEAK else f"no cell in use: all {asked} dropped"
        return Estimate(None, None, None, None, 0, 0, "not_computable", reason)
    if found.value is None:
        return Estimate(None, None, None, None, 0, 0, "not_computable", _WHY_UNDEFINED[metric])
    bare = Estimate(found.value, None, None, None, 0, 0, "no_interval", found.reason)
    if found.status == "no_resamples":
        return bare
    if clusters < 2:
        return replace(bare, reason=REASONS["one_cluster"])
    if not varies:
        return replace(bare, reason="one cluster in each dataset: resamples cannot differ")
    if found.status == "all_equal" and metric in _SHARES and found.value in (0.0, 1.0):
        exact = wilson(int(found.value) * clusters, clusters, level).item()
        reason = f"Wilson interval over {clusters} clusters: all resamples are equal"
        return Estimate(found.value, exact.ci_low, exact.ci_high, None, 0, 0, "ok", reason)
    return found if found.status == "ok" else bare


def _absent_students(cube: Cube, layout: Layout, present: Bools) -> str:
    """Says which students a mean is not over; they are never a 0 in it."""
    absent = [name for name, here in zip(cube.students, present.tolist(), strict=True) if not here]
    return f"no cells of student {', '.join(absent)}" if absent and present.any() and not layout.own else ""


def _still_datasets(weights: BootstrapWeights, clusters: Ints) -> str:
    """Says how many datasets have nothing to resample, so that the interval misses their share."""
    sizes = weights.sizes[np.unique(weights.stratum[clusters])]
    single = int((sizes == 1).sum())
    return (
        f"{single} of {sizes.size} datasets have one cluster and add nothing to the interval"
        if single
        else ""
    )


def _varies(weights: BootstrapWeights, clusters: Ints) -> bool:
    """Whether any stratum in the slice has clusters to choose from."""
    return bool((weights.sizes[weights.stratum[clusters]] > 1).any())


def _missing_aa(
    rows: pa.Table, taught: list[tuple[Cube, list[str]]], settings: _Settings, why: str
) -> pa.Table:
    """Rows that say that AA is unknown, for slices of teachers without zero-shot answers."""
    keys = ("league", "teacher", "slice_kind", "slice")
    own = rows.filter(pc.equal(rows["metric"], "AA"))
    have = set(zip(*(own[key].to_pylist() for key in keys), strict=True))
    columns: dict[str, list[Any]] = {name: [] for name in METRICS_TABLE.schema.names}
    for cube, teachers in taught:
        slices = [(kind, label) for kind, label, _ in cube.items.each_slice(SLICE_KINDS)]
        for (kind, label), teacher in itertools.product(slices, teachers):
            if (cube.league, teacher, kind, label) in have:
                continue
            counts = ("n_items", "n_students", "n_clusters", "n_cells", "n_dropped")
            _append(
                columns,
                league=cube.league, arm="taught", teacher=teacher, slice_kind=kind, slice=label,
                metric="AA", round=0, policy=settings.policy, status="not_computable", reason=why,
                **dict.fromkeys((*counts, *_STATUS_COLUMNS), 0),
                resamples=settings.resamples, seed=settings.seed, level=settings.level,
                value=None, ci_low=None, ci_high=None, se=None,
            )  # fmt: skip
    return _table(columns)


def _append(columns: dict[str, list[Any]], **row: Any) -> None:
    for name, cell in row.items():
        columns[name].append(cell)


def _table(columns: dict[str, list[Any]]) -> pa.Table:
    schema = METRICS_TABLE.schema
    return pa.Table.from_arrays(
        [pa.array(columns[field.name], type=field.type) for field in schema], schema=schema
    )
