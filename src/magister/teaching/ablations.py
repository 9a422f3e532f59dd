"""Ablations of a teaching league: what becomes of CA, AA, JA, GA, RA and of the teachers' ranks when one thing changes.

The metrics are those of `magister.teaching.metrics`, with its denominators and policies; only the arm "taught" is read.

=====================  =========================  ==================================================================
ablation               settings                   what is set against the whole league
=====================  =========================  ==================================================================
full                   whole league               the league itself
leave_one_student      the student left out       the league without the student (not AA, which has no students)
leave_one_dataset      the dataset left out       the league without the dataset; not with one dataset
cumulative             5 %, 10 %, ... 100 %       a sample of the clusters of every dataset, in a seeded order
rounds                 round 1, ..., round T      CA up to that round
more_rounds and other  named by the caller        the league run again under another condition, on the items that
asked ablations                                   both have; its last round against the last one of the league
=====================  =========================  ==================================================================

**Differences** are setting - whole, on the same clusters and the same resamples. A difference has a p value where both
sides rest on the same clusters (one student left out, a round, an asked ablation): sign flips of what each cluster adds
to it, adjusted by Holm's method over the teachers of a league, ablation, setting and metric. A cumulative sample is a
part of the whole, and its difference chance alone: it has neither interval nor p.

**Intervals** are those of clusters resampled within datasets, for these students: expanded percentile intervals, or
Student's t where the clusters are too few to resample.

**Agreement** of a setting with the whole league is Spearman's rho and Kendall's tau-b between the teachers' scores on
both, teachers fixed, with intervals over resamples of clusters that both sides share. A resample orders close teachers
less alike than the data do, so an interval may lie below its value. A cumulative setting has the mean over `ORDERS`
seeded orders in which a sample may grow, and the range that holds `level` of them; its rows in the table of ablations,
the swapped pairs and the largest change are those of the first order.

**Contamination** (option_order, item_variants): a teacher that knows the items by heart does worse on them in another
form, while what it does for students stays. Its gap, (change of CA) - (change of AA), is above 0.

References:
    Teach2Eval (ICLR 2026), its ablations; Hesterberg (2015), The American Statistician 69, 371-386 (expanded
    intervals); Fisher (1935), The Design of Experiments, section 21 (sign flips); Holm (1979), Scandinavian Journal of
    Statistics 6, 65-70.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.contracts.schemas import (
    ABLATION_AGREEMENT,
    ABLATIONS,
    ASKED_ABLATIONS,
    CONTAMINATION,
    CUMULATIVE_SHARES,
    FORM_ABLATIONS,
    METRICS,
    WHOLE_LEAGUE,
    Contract,
)
from magister.errors import UserError
from magister.stats import BootstrapWeights, bootstrap_weights
from magister.teaching._ablation_rows import (
    Difference,
    Draws,
    Options,
    Policy,
    Rows,
    Setting,
    ablation_rows,
    agreement_rows,
    contamination_rows,
    differences,
)
from magister.teaching._cube import Ints
from magister.teaching._marks import Marks, Sums, league_marks, same_items
from magister.teaching._samples import Sample, compare, drawn_sums, gains_by_round, headline
from magister.teaching._scores import present_students, scores, totals

__all__ = ["ORDERS", "AblationTables", "Variant", "ablate"]

#: Seeded orders in which a sample may grow.
ORDERS = 200

_ITSELF = "the whole league itself"
_PART = "a part of the whole league: the difference is chance alone"
_OF_STUDENTS = tuple(metric for metric in METRICS if metric != "AA")


@dataclass(frozen=True)
class Variant:
    """A league that was run again under another condition: the same teachers, students and item ids.

    Attributes:
        ablation: one of `ASKED_ABLATIONS`.
        setting: what was changed, in words.
        trajectories: TRAJECTORIES of the league.
        zero_shot: the teachers' own answers there; None for none.
    """

    ablation: str
    setting: str
    trajectories: pa.Table
    zero_shot: pa.Table | None


class AblationTables(NamedTuple):
    """What `ablate` returns: tables of the contracts of these names, sorted by their keys."""

    ablations: pa.Table
    agreement: pa.Table
    contamination: pa.Table


def ablate(
    trajectories: pa.Table,
    zero_shot: pa.Table | None,
    variants: Iterable[Variant] = (),
    *,
    policy: Policy,
    resamples: int,
    level: float,
    seed: int,
) -> AblationTables:
    """All ablations of a league.

    Args:
        trajectories: TRAJECTORIES of the league.
        zero_shot: the teachers' own answers, see `magister.teaching.trajectories.zero_shot_table`; None for none.
        variants: leagues run again under another condition. One is read at a time, so that a generator never
            holds two.
        policy: "wrong" or "drop", see `magister.teaching.metrics`.
        resamples: bootstrap resamples, and sign flips; 0 for values alone.
        level: confidence level, 0..1.
        seed: seed of both, and of the orders of cumulative samples.

    Returns:
        Tables ABLATIONS, ABLATION_AGREEMENT and CONTAMINATION.

    Raises:
        UserError: for options or tables that cannot be used, or a variant that changes more than one thing; the
            message says which.
    """
    if policy not in ("wrong", "drop"):
        raise UserError(f"policy {policy!r} is unknown; expected wrong or drop")
    if not 0 < level < 1:
        raise UserError(f"level must lie between 0 and 1 (0.95 for 95 %), not {level!r}")
    if resamples < 0 or seed < 0:
        raise UserError(f"resamples and seed must be 0 or more, not {resamples} and {seed}")
    league = _League(league_marks(trajectories, zero_shot, policy), Options(policy, resamples, level, seed))
    league.full()
    league.leave_one_student()
    league.leave_one_dataset()
    league.cumulative()
    league.rounds()
    seen: set[tuple[str, str]] = set()
    for variant in variants:
        if variant.ablation not in ASKED_ABLATIONS:
            raise UserError(
                f"ablation {variant.ablation!r} is unknown; expected one of {', '.join(ASKED_ABLATIONS)}"
            )
        if (variant.ablation, variant.setting) in seen:
            raise UserError(f"ablation {variant.ablation}, setting {variant.setting!r} is given twice")
        seen.add((variant.ablation, variant.setting))
        league.variant(variant)
    return AblationTables(
        _table(league.ablations, ABLATIONS),
        _table(league.agreement, ABLATION_AGREEMENT),
        _table(league.contamination, CONTAMINATION),
    )


class _League:
    """A league with all that its ablations share; every method adds the rows of one."""

    def __init__(self, marks: Marks, options: Options) -> None:
        self.marks, self.options = marks, options
        self.ablations: Rows = []
        self.agreement: Rows = []
        self.contamination: Rows = []
        sums = marks.sums()
        weights = self._weights(sums)
        self.drawn = drawn_sums(sums, weights)
        self.whole = headline(sums, weights, self.drawn)

    def _weights(self, sums: Sums) -> BootstrapWeights:
        return bootstrap_weights(sums.strata, resamples=self.options.resamples, seed=self.options.seed)

    def _setting(self, ablation: str, name: str, note: str = "") -> Setting:
        return Setting(self.marks.league, ablation, name, note)

    def _add(
        self, setting: Setting, sample: Sample, whole: Sample, difference: Difference | str, *, agree: bool
    ) -> None:
        """Rows of a setting, and how far it orders the teachers as the whole league does."""
        at = [METRICS.index(metric) for metric in sample.metrics]
        value = whole.value[:, at]
        self.ablations += ablation_rows(setting, sample, value, difference, self.options)
        if agree:
            draws = Draws(sample.replicates, whole.replicates[:, at], sample.weights)
            self.agreement += agreement_rows(
                setting, sample.metrics, sample.value, value, draws, self.options
            )

    def full(self) -> None:
        """The whole league; it agrees with itself, so there is no row of agreement."""
        self._add(self._setting("full", WHOLE_LEAGUE), self.whole, self.whole, _ITSELF, agree=False)

    def leave_one_student(self) -> None:
        """The league without one student at a time, where there are others."""
        students = self.marks.students
        for left, name in enumerate(students if len(students) > 1 else ()):
            rest: Ints = np.flatnonzero(np.arange(len(students)) != left)
            sums = self.marks.of_students(rest).sums()
            cells, own = self.whole.sums.split(self.drawn)
            drawn = sums.join(cells[:, rest], own)
            sample = headline(sums, self.whole.weights, drawn).only(_OF_STUDENTS)
            found = differences(compare(sample, self.whole), self.options, tested=True)
            self._add(self._setting("leave_one_student", name), sample, self.whole, found, agree=True)

    def leave_one_dataset(self) -> None:
        """The league without one dataset at a time, where there are others."""
        strata = np.asarray(self.whole.sums.strata, dtype=object)
        names = sorted(set(self.whole.sums.strata))
        for name in names if len(names) > 1 else ():
            rest, gone = np.flatnonzero(strata != name), np.flatnonzero(strata == name)
            without = drawn_sums(self.whole.sums.of_clusters(gone), self.whole.weights, gone)
            sums = self.whole.sums.of_clusters(rest)
            # A stratum's resamples depend on the stratum alone: the others keep theirs.
            sample = headline(sums, self._weights(sums), np.subtract(self.drawn, without, out=without))
            found = differences(compare(sample, self.whole, rest), self.options, tested=False)
            self._add(self._setting("leave_one_dataset", name), sample, self.whole, found, agree=True)

    def cumulative(self) -> None:
        """Growing samples of the clusters of every dataset."""
        whole = self.whole
        place, size = (
            _places(whole.sums.strata, self.options.seed),
            whole.weights.sizes[whole.weights.stratum],
        )
        flat, present = whole.sums.flat.astype(np.float64), present_students(whole.sums)
        for share in CUMULATIVE_SHARES:
            # Rounded up, so that every dataset has a cluster.
            held = place < -(-share * size // 100)
            chosen = np.flatnonzero(held[0])
            sums = whole.sums.of_clusters(chosen)
            weights = self._weights(sums)
            sample = headline(sums, weights, drawn_sums(sums, weights))
            note = f"{chosen.size} of {size.size} clusters"
            setting = self._setting("cumulative", f"{share} %", note)
            self._add(setting, sample, whole, _PART, agree=False)
            with np.errstate(invalid="ignore", divide="ignore"):
                boards = scores(totals(whole.sums, flat @ held.T.astype(np.float64)), present)
            draws = Draws(boards, whole.value[:, :, None], None)
            setting = setting._replace(note=f"mean and range of {ORDERS} seeded orders, {note}")
            self.agreement += agreement_rows(setting, METRICS, sample.value, whole.value, draws, self.options)

    def rounds(self) -> None:
        """CA up to every round, the last included."""
        for sample in gains_by_round(self.whole, self.drawn):
            (number,) = sample.rounds
            found = differences(compare(sample, self.whole), self.options, tested=True)
            self._add(self._setting("rounds", f"round {number}"), sample, self.whole, found, agree=True)

    def variant(self, given: Variant) -> None:
        """The league under another condition, on the items that both have."""
        where = f"{given.ablation} ({given.setting})"
        other = league_marks(given.trajectories, given.zero_shot, self.options.policy)
        here, there = same_items(self.marks, other, where)
        whole, note = self.whole, ""
        if here.size < len(self.marks.ids):
            sums = self.marks.of_items(here).sums()
            weights = self._weights(sums)
            whole = headline(sums, weights, drawn_sums(sums, weights))
            note = f"paired on {here.size} of {len(self.marks.ids)} items"
        sums = other.of_items(there).sums()
        sample = headline(sums, whole.weights, drawn_sums(sums, whole.weights))
        paired = compare(sample, whole)
        found = differences(paired, self.options, tested=True)
        setting = self._setting(given.ablation, given.setting, note)
        self._add(setting, sample, whole, found, agree=True)
        if given.ablation in FORM_ABLATIONS:
            self.contamination += contamination_rows(setting, sample, paired, found, self.options)


def _places(strata: tuple[str, ...], seed: int) -> NDArray[np.int64]:
    """Place of every cluster in its dataset, in `ORDERS` seeded orders, shape (ORDERS, C).

    The orders of a dataset depend on the seed, its name and its number of clusters alone.
    """
    labels = np.asarray(strata, dtype=object)
    place = np.zeros((ORDERS, labels.size), dtype=np.int64)
    for name in sorted(set(strata)):
        members = np.flatnonzero(labels == name)
        digest = hashlib.sha256(f"cumulative {name}".encode()).digest()
        words = [int.from_bytes(digest[i : i + 4], "big") for i in range(0, 16, 4)]
        stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words])))
        place[:, members] = stream.permuted(np.tile(np.arange(members.size), (ORDERS, 1)), axis=1)
    return place


def _table(rows: Rows, contract: Contract) -> pa.Table:
    table = pa.Table.from_pylist(rows, schema=contract.schema)
    return table.sort_by([(column, "ascending") for column in contract.key])
