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
Fix [t = 1..T]             cells wrong at t - 1 and right at t: a count, pooled over (m, n)
Reg [t = 1..T]             cells right at t - 1 and wrong at t: a count, pooled over (m, n)
RA [T]                     mean over m of prod_{t=2..T} r_{m,t} - 1, r_{m,t} = 1 + (Fix - Reg) / C_{m,t-1},
                           C_{m,t} the number right, r = 1 where C_{m,t-1} = 0
normalised_gain [T]        (p_T - p_0) / (1 - p_0) with p_t the mean over m: a ratio of means
corrected_gain [T]         CA in units of what lies above chance: mean over m of (p_{m,T} - p_{m,0}) / (1 - c_m), c_m
                           the mean of 1 / (number of options) over the student's cells
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

**Slices.** "overall" pools all items (micro); "macro" is the mean over the datasets that have a value, where there
are two or more; then by domain, dataset, band, number of options and flag of the items (`needs_options`,
`options_in_question`, `multi`: "yes" and "no", where any item has it), and by student.

**Denominators.** A cell with a status "error" in any round, of the student or of a guide, is dropped whole:
infrastructure is never an answer. Policy "wrong": every other status, context_exceeded included, is a wrong
answer, and a verdict "none" is a non-match in JA. Policy "drop": cells with any status but "ok" are
dropped, and cells without a verdict leave JA. `n_cells` are the cells used, `n_dropped` those asked but not
used; `n_<status>` counts the student replies of the slice in the rounds the metric reads, before any cell
is dropped (CA: 0 and t; p: t; JA and companions: 0; GA and regression: 0 and 1; Fix and Reg: t - 1 and t; RA: 1..T;
the gains: 0 and T; AA: the teacher's zero-shot replies).

**Intervals.** Percentile bootstrap over clusters of items, resampled within their dataset, at a level that allows for
few clusters (`magister.stats.expanded_intervals`). The students are
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
    sections 3.8 and 5.3 (stratified and percentile bootstrap); Hesterberg (2015), The American Statistician 69,
    371-386 (expanded percentile intervals).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from magister.contracts.schemas import METRIC_RANGES, METRICS_TABLE, SHARES, STATUSES
from magister.errors import UserError
from magister.stats import (
    REASONS,
    BootstrapWeights,
    Estimate,
    bootstrap_weights,
    expanded_intervals,
    wilson,
)
from magister.teaching._cube import FLAGS, Bools, Cube, Ints, trajectory_cubes, zero_shot_cubes
from magister.teaching._formulas import BY_LEAK, JUDGING, MOVES, Floats, Layout, clusters_read
from magister.teaching._identities import Identity, check_identities
from magister.teaching._measure import (
    Controls,
    Counts,
    Job,
    Policy,
    controls_of,
    count,
    job_of,
    measure,
    shown,
)

__all__ = ["SLICE_KINDS", "Identity", "Policy", "check_identities", "teaching_metrics"]

# By items; "macro" and "student" stand beside these.
SLICE_KINDS = ("overall", "domain", "dataset", "band", "n_options", *FLAGS)
_STATUS_COLUMNS = tuple(f"n_{status}" for status in STATUSES)
# Replicates of one batch of teachers may take this much memory.
_BATCH_BYTES = 96 * 2**20
_WHY_UNDEFINED = {
    "GA": "no cell was wrong at round 0: nothing to fix",
    "regression": "no cell was right at round 0: nothing to lose",
    "JA": "no cell with a verdict",
    "JA_always_wrong": "no cell with a verdict",
    "JA_balanced": "the cells of round 0 are all right or all wrong",
    "JA_mcc": "verdicts or truths do not vary",
    "RA": "no round after 1, or nothing right that could be retained",
    "corrected_gain": "the number of options of some items is unknown",
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
            n_options, the flags, status, correct), or None: AA then is "not_computable".
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
    tables: list[pa.Table] = []
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


_Slice = tuple[str, str, Ints]
"""Kind, label and positions of the items."""


def _cube_tables(
    cube: Cube, settings: _Settings, weights: dict[tuple[str, ...], BootstrapWeights]
) -> Iterator[pa.Table]:
    """Rows of every unit, slice and metric of a cube."""
    strata = cube.items.strata
    if strata not in weights:
        weights[strata] = bootstrap_weights(strata, resamples=settings.resamples, seed=settings.seed)
    job = job_of(cube, settings.policy, weights[strata])
    yield from _slice_tables(job, list(cube.items.each_slice(SLICE_KINDS)), settings)
    if job.layout.own:
        return
    everything = np.arange(len(cube.items.ids))
    for s, student in enumerate(cube.students):
        alone = job_of(cube.of_student(s), settings.policy, weights[strata])
        yield from _slice_tables(alone, [("student", student, everything)], settings)


def _slice_tables(job: Job, slices: list[_Slice], settings: _Settings) -> Iterator[pa.Table]:
    """Rows of some slices, a batch of units at a time; the macro rows where there are several datasets."""
    cube, layout = job.cube, job.layout
    batch = max(1, _BATCH_BYTES // (8 * layout.width * max(settings.resamples, 1)))
    several = sum(kind == "dataset" for kind, _, _ in slices) > 1
    for begin in range(0, len(cube.units), batch):
        chosen = slice(begin, begin + batch)
        teachers = {teacher for arm, teacher in cube.units[chosen] if arm == "taught"}
        over = _Macro([], 0.0, 0.0, np.int64(0))
        whole: tuple[Counts, Controls] | None = None
        for kind, label, items in slices:
            counts, controls = count(job, items, chosen), controls_of(job, items, teachers)
            value, replicates = measure(job, counts, controls)
            yield _rows(job, counts, controls, _Slot(kind, label, value, replicates), settings)
            if kind == "overall":
                whole = counts, controls
            elif kind == "dataset" and several:
                over = over.with_dataset(label, value, replicates)
        if several and whole is not None:
            yield _rows(job, *whole, over.slot(), settings)


@dataclass(frozen=True)
class _Slot:
    """What a slice has, for a batch of units.

    Attributes:
        kind: of the slice.
        label: of the slice.
        value: shape (U, M).
        replicates: shape (U, M, B).
        without: per unit and metric what the value is not over, length U of length M; none where empty.
    """

    kind: str
    label: str
    value: Floats
    replicates: Floats
    without: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class _Macro:
    """Sums over the datasets seen so far; a dataset counts where it has a value."""

    unknown: list[tuple[str, Bools]]
    value: Floats | float
    replicates: Floats | float
    known: NDArray[np.int64] | np.int64

    def with_dataset(self, label: str, value: Floats, replicates: Floats) -> _Macro:
        lacks = np.isnan(value)
        return _Macro(
            [*self.unknown, (label, lacks)],
            self.value + np.where(lacks, 0.0, value),
            self.replicates + np.where(lacks[..., None], 0.0, replicates),
            self.known + ~lacks,
        )

    def slot(self) -> _Slot:
        """The means."""
        known = np.where(self.known > 0, self.known, np.nan)
        units, metrics = known.shape
        without = tuple(
            tuple(", ".join(label for label, lacks in self.unknown if lacks[u, k]) for k in range(metrics))
            for u in range(units)
        )
        return _Slot("macro", "datasets", self.value / known, self.replicates / known[..., None], without)


def _rows(job: Job, counts: Counts, controls: Controls, slot: _Slot, settings: _Settings) -> pa.Table:
    """Values, intervals and counts of one slice as rows."""
    cube, layout, weights = job.cube, job.layout, job.weights
    total = counts.sums.sum(axis=2, dtype=np.int64)
    present = total[:, : layout.students] > 0
    found = expanded_intervals(
        slot.value.ravel(),
        slot.replicates.reshape(slot.value.size, settings.resamples).T,
        weights,
        settings.level,
        counts.clusters,
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
            if not shown(metric, (arm, teacher), controls) or (slot.kind == "macro" and metric in MOVES):
                continue
            used = int(total[u, : layout.students].sum())
            if settings.policy == "drop" and metric in JUDGING and metric != "JA_none":
                used = int(total[u, layout.pooled])
            if metric in BY_LEAK:
                used = int(total[u, layout.by_leak + 3 * BY_LEAK.index(metric)])
            basis = _Basis(metric, used, asked, int(clusters[u, k]), varies)
            result = _result(found[u * len(layout.metrics) + k], basis, settings.level)
            without = f"unknown in {slot.without[u][k]}" if slot.without and slot.without[u][k] else ""
            ok = still if result.status == "ok" else ""
            _append(
                columns,
                league=cube.league, arm=arm, teacher=teacher, slice_kind=slot.kind, slice=slot.label,
                metric=metric, round=t, policy=settings.policy, status=result.status,
                reason="; ".join(part for part in (result.reason, absent, without, ok) if part),
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
    if found.status == "all_equal" and metric in SHARES and found.value in (0.0, 1.0):
        exact = wilson(int(found.value) * clusters, clusters, level).item()
        reason = f"Wilson interval over {clusters} clusters: all resamples are equal"
        return Estimate(found.value, exact.ci_low, exact.ci_high, None, 0, 0, "ok", reason)
    if found.status != "ok":
        return bare
    if found.ci_low is None or found.ci_high is None:
        return found
    # Student's t knows no bounds; a share has them.
    floor, ceiling = METRIC_RANGES[metric]
    return replace(found, ci_low=max(found.ci_low, floor), ci_high=min(found.ci_high, ceiling))


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
        if sum(kind == "dataset" for kind, _ in slices) > 1:
            slices.append(("macro", "datasets"))
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
