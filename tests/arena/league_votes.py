"""Votes for the tests of ratings."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Match = tuple[str, str, str | None]


def frame(matches: Sequence[Match], **columns: Sequence[Any]) -> pd.DataFrame:
    """A row per match."""
    return pd.DataFrame(list(matches), columns=["model_a", "model_b", "winner"]).assign(**columns)


def round_robin(models: int, games: int, seed: int = 0, tie: float = 0.2) -> pd.DataFrame:
    """Every pair plays some games; strengths fall from the first model to the last."""
    rng = np.random.default_rng(seed)
    strength = np.linspace(1, -1, models)
    rows: list[Match] = []
    for i, j in itertools.combinations(range(models), 2):
        for _ in range(games):
            a, b = (i, j) if rng.random() < 0.5 else (j, i)
            won = rng.random() < 1 / (1 + np.exp(strength[b] - strength[a]))
            said = "tie" if rng.random() < tie else "model_a" if won else "model_b"
            rows.append((f"m{a}", f"m{b}", said))
    return frame(rows)


def swap_sides(votes: pd.DataFrame) -> pd.DataFrame:
    """The same votes, shown the other way around."""
    other = {"model_a": "model_b", "model_b": "model_a", "a": "b", "b": "a"}
    return votes.rename(columns={"model_a": "model_b", "model_b": "model_a"}).assign(
        winner=votes["winner"].map(lambda said: other.get(said, said))
    )


def of(
    table: pd.DataFrame, column: str, system: str = "bradley_terry", scope: str = "overall"
) -> dict[str, Any]:
    """A column of one system by model."""
    part = table[(table["system"] == system) & (table["scope"] == scope)]
    return dict(zip(part["model"], part[column], strict=True))


def sequential_elo(a: NDArray, b: NDArray, score: NDArray, models: int, k: float = 4.0) -> NDArray:
    """Elo as its definition says, a vote at a time."""
    ratings = np.full(models, 1000.0)
    for i, j, s in zip(a, b, score, strict=True):
        gain = k * (s - 1 / (1 + 10 ** ((ratings[j] - ratings[i]) / 400)))
        ratings[i] += gain
        ratings[j] -= gain
    return ratings
