"""The random arm: a share of a pair's comparisons drawn at random, so that selection can be held to account."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.errors import UserError

Words = NDArray[np.uint64]


def split_budget(k: int, share: float) -> tuple[int, int]:
    """Comparisons of a pair by arm.

    Args:
        k: comparisons of a pair, 1 or more.
        share: part drawn at random, 0..1; a half is rounded up.

    Returns:
        Comparisons selected and comparisons drawn at random; their sum is k.

    Raises:
        UserError: for another k or share.
    """
    if k < 1:
        raise UserError(f"k is {k}; expected 1 or more comparisons for each pair")
    if not 0 <= share <= 1:
        raise UserError(f"the random share is {share:g}; expected 0 to 1")
    drawn = int((Decimal(str(share)) * k).quantize(Decimal(1), ROUND_HALF_UP))
    return k - drawn, drawn


def hash_ids(ids: pa.StringArray) -> Words:
    """64 bits of each id, uint64, shape (N,); the same on any machine."""
    return np.array([_bits(name.encode()) for name in ids.to_pylist()], dtype=np.uint64)


def pair_key(names: Iterable[str], seed: int) -> np.uint64:
    """64 bits of a pair and a seed. No other pair has a part in it.

    Args:
        names: scenario and models, in an order that the caller fixes.
        seed: whole number, 0 or more.
    """
    parts = [str(seed).encode(), *(name.encode() for name in names)]
    return np.uint64(_bits(b"".join(len(part).to_bytes(8, "little") + part for part in parts)))


def draw_random(hashed: Words, eligible: NDArray[np.bool_], count: int, key: np.uint64) -> NDArray[np.int64]:
    """Draw instructions without replacement, each set of them as likely as any other.

    Every instruction gets a priority from its id and the pair, and the lowest win. So a draw depends on no order of
    rows, no other pair draws along, and an instruction that joins the pool takes a place at most.

    Args:
        hashed: `hash_ids` of the instructions, in the order of their ids, shape (N,).
        eligible: which can be drawn, shape (N,).
        count: how many.
        key: `pair_key`.

    Returns:
        Rows drawn, in the order of their priorities, int64; all that are eligible where they are fewer than `count`.

    References:
        Ohlsson (1998), Sequential Poisson sampling, Journal of Official Statistics 14, 149-162 (permanent random
        numbers; here with equal probabilities, where the lowest numbers are a simple random sample).
    """
    among = np.flatnonzero(eligible)
    priority = _mix(hashed[among] ^ key)
    if count < among.size:
        # All of the lowest, ties of 64-bit numbers included; ids then order them.
        edge = np.partition(priority, count - 1)[count - 1] if count else np.uint64(0)
        low = np.flatnonzero(priority <= edge)
        among, priority = among[low], priority[low]
    return among[np.argsort(priority, kind="stable")][:count]


def _bits(data: bytes) -> int:
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "little")


def _mix(words: Words) -> Words:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014, OOPSLA): every bit depends on all bits."""
    mixed = words + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
