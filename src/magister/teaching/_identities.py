"""Identities that every trajectories table obeys: a check of the metrics against their own definitions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.teaching._cube import CORRECT, WRONG, Bools, trajectory_cubes


class Identity(NamedTuple):
    """One identity on one pair of teacher and student; both sides are computed in their own way."""

    name: str
    league: str
    arm: str
    teacher: str
    student: str
    lhs: float
    rhs: float
    difference: float


def check_identities(trajectories: pa.Table, *, policy: str = "wrong") -> list[Identity]:
    """The identities of the spec wherever they apply.

    - ``retention``: RA_m = p_{m,T} / p_{m,1} - 1 if no C_{m,t}, t = 1..T-1, is 0 (left side from counted
      fixes and regressions);
    - ``decomposition``: CA_m = [p_0 (1 - rho) + GA (1 - p_0)] (1 + RA) - p_0 under the same condition; a
      term whose share has no denominator is 0;
    - ``always_wrong``: JA = 1 - p_0 if every verdict of the pair is "wrong";
    - ``always_right``: JA = p_0 if every verdict of the pair is "correct".

    The fourth identity of the spec is an expectation over scripted students and holds only within an
    interval.

    Args:
        trajectories: table of that contract.
        policy: which cells count, as in `teaching_metrics`.

    Returns:
        One record per identity, unit and student; `difference` is |lhs - rhs|, 0 up to rounding.
    """
    found = []
    for cube in trajectory_cubes(trajectories):
        kept = cube.kept(policy)
        for u, (arm, teacher) in enumerate(cube.units):
            for s, student in enumerate(cube.students):
                right = cube.right[u, s][kept[u, s]]
                sides = _growth_identities(right)
                if arm == "taught":
                    sides += _verdict_identities(right[:, 0], cube.verdict[u, s][kept[u, s]])
                found += [
                    Identity(name, cube.league, arm, teacher, student, lhs, rhs, abs(lhs - rhs))
                    for name, lhs, rhs in sides
                ]
    return sorted(found)


def _growth_identities(right: Bools) -> list[tuple[str, float, float]]:
    """Identities 1 and 2 for one student; `right` has shape (cells, R)."""
    cells, rounds = right.shape
    counts = right.sum(axis=0)
    if cells == 0 or (counts[1:-1] == 0).any() or counts[1] == 0:
        return []
    retained = 1.0
    for t in range(2, rounds):
        fixed = int((~right[:, t - 1] & right[:, t]).sum())
        lost = int((right[:, t - 1] & ~right[:, t]).sum())
        retained *= 1 + (fixed - lost) / int(counts[t - 1])
    p = counts / cells
    wrong = ~right[:, 0]
    ga = float(right[wrong, 1].mean()) if wrong.any() else 0.0
    rho = float((~right[~wrong, 1]).mean()) if not wrong.all() else 0.0
    built = (p[0] * (1 - rho) + ga * (1 - p[0])) * retained - p[0]
    return [
        ("retention", retained - 1, float(p[-1] / p[1] - 1)),
        ("decomposition", float(p[-1] - p[0]), float(built)),
    ]


def _verdict_identities(right: Bools, verdict: NDArray[np.int8]) -> list[tuple[str, float, float]]:
    """Identity 3 for one student; both arguments have shape (cells,)."""
    if right.size == 0:
        return []
    ja = float(np.where(right, verdict == CORRECT, verdict == WRONG).mean())
    p0 = float(right.mean())
    sides = []
    if (verdict == WRONG).all():
        sides.append(("always_wrong", ja, 1 - p0))
    if (verdict == CORRECT).all():
        sides.append(("always_right", ja, p0))
    return sides
