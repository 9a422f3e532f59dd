"""The teaching metrics once more, from sums of marks per student: one function for the data and for resamples.

Notation of the docs: p_t the share right at round t, of a student; CA = mean over students of p_T - p_0; and so on.
Each is written as its definition reads, with means and products over the student axis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from magister.audit.recompute._ledger import Bools, Floats

JUDGING = ("JA", "JA_none", "JA_balanced", "JA_mcc", "JA_always_wrong")
BY_LEAK = ("CA_leak_none", "CA_leak_option", "CA_leak_gold")
MOVES = ("Fix", "Reg")
RELATIVE = ("net_CA", "headroom", "net_verdict")
TAUGHT_ONLY = (*JUDGING, "CA_masked", *BY_LEAK, "headroom", "net_verdict")
SHARES = ("p", "AA", "JA", "JA_none", "JA_balanced", "JA_always_wrong", "GA", "regression")
#: What a metric can be; a published interval is cut there.
RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(SHARES, (0.0, 1.0)),
    **dict.fromkeys(("CA", "CA_masked", *BY_LEAK, "JA_mcc"), (-1.0, 1.0)),
    **dict.fromkeys(("net_CA", "net_verdict", "corrected_gain"), (-2.0, 2.0)),
    "headroom": (-np.inf, np.inf),
    "RA": (-1.0, np.inf),
    "normalised_gain": (-np.inf, 1.0),
    **dict.fromkeys(MOVES, (0.0, np.inf)),
}
#: Ratios whose denominator may come near 0 on a resample: their spread has no finite error.
HEAVY = ("headroom", "RA", "normalised_gain", "corrected_gain")
# Gains that differ by no more are equal: means of shares are rounded.
_ROUNDING = 1e-12


def metrics_of(rounds: int) -> list[tuple[str, int]]:
    """Metrics and their rounds, of R rounds; AA alone where there is one."""
    last = rounds - 1
    if not last:
        return [("AA", 0)]
    found = [("p", t) for t in range(rounds)]
    found += [(name, t) for name in ("CA", *MOVES) for t in range(1, rounds)]
    found += [(name, 1) for name in (*JUDGING, "GA", "regression")]
    whole = ("RA", "normalised_gain", "corrected_gain", "CA_masked", *BY_LEAK, *RELATIVE)
    return found + [(name, last) for name in whole]


def rounds_read(metric: str, t: int) -> list[int]:
    """Rounds whose replies a metric reads: those of its counts by status."""
    if metric in ("p", "AA"):
        return [t]
    if metric in JUDGING:
        return [0]
    if metric in MOVES:
        return [t - 1, t]
    return list(range(1, t + 1)) if metric == "RA" else [0, t]


def values(
    sums: Floats,
    marks: Sequence[str],
    units: Sequence[tuple[str, str]],
    present: Bools,
    *,
    point: bool,
) -> dict[tuple[str, int], Floats]:
    """Every metric of U units from their sums.

    Args:
        sums: shape (..., S, U, F).
        marks: names of the F sums.
        units: arm and teacher, length U.
        present: students with cells in use, shape (S, U): means are over these.
        point: whether these are the data themselves. On them RA is unknown where nothing could be retained.

    Returns:
        By metric and round, shape (..., U); NaN where undefined.
    """
    of = {name: sums[..., k] for k, name in enumerate(marks)}
    rounds = sum(name.startswith("right") and name[5:].isdigit() for name in marks)
    last = rounds - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        share = {t: _ratio(of[f"right{t}"], of["cells"]) for t in range(rounds)}

        def mean(values: Floats) -> Floats:
            kept = np.where(present, values, 0.0).sum(axis=-2)
            return _ratio(kept, np.broadcast_to(present.sum(axis=0).astype(np.float64), kept.shape))

        if not last:
            return {("AA", 0): mean(share[0])}
        total = {name: value.sum(axis=-2) for name, value in of.items()}
        found = {("p", t): mean(share[t]) for t in range(rounds)}
        for t in range(1, rounds):
            found["CA", t] = mean(_ratio(of[f"right{t}"] - of["right0"], of["cells"]))
            found["Fix", t], found["Reg", t] = total[f"fix{t}"], total[f"reg{t}"]
        gain = found["CA", last]
        found |= _verdicts(total)
        found["GA", 1] = _ratio(total["fix1"], total["cells"] - total["right0"])
        found["regression", 1] = _ratio(total["reg1"], total["right0"])
        found["RA", last] = mean(_growth(of, share, last))
        if point and last >= 1:
            kept = sum(np.where(present, of[f"right{t}"], 0.0).sum(axis=-2) for t in range(1, last))
            found["RA", last] = (
                np.where(kept > 0, found["RA", last], np.nan) if last > 1 else found["RA", last] * np.nan
            )
        found["normalised_gain", last] = _ratio(gain, mean(_ratio(of["cells"] - of["right0"], of["cells"])))
        found["corrected_gain", last] = mean(_ratio(of[f"right{last}"] - of["right0"], _above_chance(of)))
        found["CA_masked", last] = mean(_ratio(of["masked"] - of["right0"], of["cells"]))
        for name in BY_LEAK:
            word = name.removeprefix("CA_")
            found[name, last] = _ratio(total[f"{word}T"] - total[f"{word}0"], total[word])
    place = {unit: u for u, unit in enumerate(units)}

    def of_unit(arm: str, teacher: str) -> Floats:
        u = place.get((arm, teacher))
        return np.full(gain.shape[:-1], np.nan) if u is None else gain[..., u]

    sham, oracle = of_unit("sham", "sham"), of_unit("oracle_tell", "oracle_tell")
    verdict = np.stack([of_unit("verdict_only", teacher) for _, teacher in units], axis=-1)
    room = (oracle - sham)[..., None]
    found["net_CA", last] = gain - sham[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        found["headroom", last] = np.where(room > _ROUNDING, found["net_CA", last] / room, np.nan)
    found["net_verdict", last] = gain - verdict
    return found


def has(metric: str, unit: tuple[str, str], units: Sequence[tuple[str, str]]) -> bool:
    """Whether a unit has a row of a metric, by the arms that were run beside it."""
    arm, teacher = unit
    sham, oracle = ("sham", "sham") in units, ("oracle_tell", "oracle_tell") in units
    if metric in TAUGHT_ONLY and arm != "taught":
        return False
    if metric == "net_CA":
        return sham and arm != "sham"
    if metric == "headroom":
        return sham and oracle
    return metric != "net_verdict" or ("verdict_only", teacher) in units


def _verdicts(total: dict[str, Floats]) -> dict[tuple[str, int], Floats]:
    """JA and its companions from the four cells of verdict and truth."""
    yes_right, no_wrong = total["hit_right"], total["hit_wrong"]
    right, wrong = total["judged_right"], total["judged"] - total["judged_right"]
    no_right, yes_wrong = right - yes_right, wrong - no_wrong
    root = np.sqrt(right) * np.sqrt(wrong) * np.sqrt(yes_right + yes_wrong) * np.sqrt(no_wrong + no_right)
    return {
        ("JA", 1): _ratio(yes_right + no_wrong, total["judged"]),
        ("JA_none", 1): _ratio(total["unjudged"], total["cells"]),
        ("JA_balanced", 1): (_ratio(yes_right, right) + _ratio(no_wrong, wrong)) / 2,
        ("JA_mcc", 1): _ratio(yes_right * no_wrong - no_right * yes_wrong, root),
        ("JA_always_wrong", 1): _ratio(wrong, total["judged"]),
    }


def _growth(of: dict[str, Floats], share: dict[int, Floats], last: int) -> Floats:
    """RA of each student: the product of C_t / C_(t-1) from round 2 on, less 1; 1 where nothing was right."""
    grown = np.where(of["cells"] > 0, 1.0, np.nan)
    for t in range(2, last + 1):
        before = of[f"right{t - 1}"]
        grown = grown * np.where(before > 0, (before + of[f"fix{t}"] - of[f"reg{t}"]) / before, 1.0)
    return grown - 1


def _above_chance(of: dict[str, Floats]) -> Floats:
    """Sum of 1 - 1 / (number of options) over the cells; unknown where a number is."""
    total = np.zeros(of["cells"].shape)
    for name, cells in of.items():
        if name.startswith("options"):
            k = int(name.removeprefix("options"))
            total = total + (cells * (k - 1) / k if k > 1 else np.where(cells > 0, np.nan, 0.0))
    return total


def _ratio(top: Floats, bottom: Floats) -> Floats:
    return np.where(bottom != 0, top / np.where(bottom != 0, bottom, 1.0), np.nan)
