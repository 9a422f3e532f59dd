"""A fit by SAEM as tables, and back.

Models, items and attributes of the tables are in the order of their names, whatever their order in the fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.contracts.contract import Contract
from magister.contracts.diagnosis_tables import (
    SAEM_ABILITIES,
    SAEM_ATTRIBUTES,
    SAEM_DRAWS,
    SAEM_ITEMS,
    SAEM_MASTERY,
    SAEM_Q,
    SAEM_TRACE,
)
from magister.diagnosis.fits import Chain, Diagnostics, Draw, SaemFit
from magister.errors import UserError

_COUNTS = ("right_mastered", "n_mastered", "right_other", "n_other")


class SaemTables(NamedTuple):
    """Tables of a fit; each is of the contract of its name."""

    mastery: pa.Table
    abilities: pa.Table
    q: pa.Table
    items: pa.Table
    attributes: pa.Table
    trace: pa.Table
    draws: pa.Table


CONTRACTS: Mapping[str, Contract] = {
    "mastery": SAEM_MASTERY,
    "abilities": SAEM_ABILITIES,
    "q": SAEM_Q,
    "items": SAEM_ITEMS,
    "attributes": SAEM_ATTRIBUTES,
    "trace": SAEM_TRACE,
    "draws": SAEM_DRAWS,
}
"""Contracts of `SaemTables`, by field."""


def fit_tables(fit: SaemFit) -> SaemTables:
    """The tables of a fit.

    Args:
        fit: as `fit_saem` returns it.
    """
    fit = _ordered(fit)
    n_models, n_items, n_attributes = len(fit.models), len(fit.items), len(fit.attributes)
    models, items, attributes = (
        pa.array(names, pa.string()) for names in (fit.models, fit.items, fit.attributes)
    )
    by_model = _grid(models, attributes)
    by_item = _grid(items, attributes)
    parts: dict[str, list[pa.Table]] = {name: [] for name in SaemTables._fields}
    for number, chain in enumerate(fit.chains, start=1):

        def add(name: str, rows: int, columns: Mapping[str, Any], chain_number: int = number) -> None:
            said = pa.array(np.full(rows, chain_number, np.int32))
            parts[name].append(pa.table({"chain": said, **columns}, schema=CONTRACTS[name].schema))

        mastery = {"p": chain.alpha, "unlocked": chain.unlocked, "mcse": fit.alpha_mcse}
        add(
            "mastery",
            n_models * n_attributes,
            {"model": by_model[0], "attribute": by_model[1]}
            | {name: a.ravel() for name, a in mastery.items()},
        )
        add("abilities", n_models, {"model": models, "theta": chain.theta})
        add(
            "q",
            n_items * n_attributes,
            {"item_id": by_item[0], "attribute": by_item[1], "p": chain.q.ravel()},
        )
        add(
            "items",
            n_items,
            {"item_id": items, "guess": chain.guess, "slip": chain.slip, "pooled": chain.pooled}
            | dict(zip(_COUNTS, chain.counts, strict=True)),
        )
        add(
            "attributes",
            n_attributes,
            {"attribute": attributes, "loading": chain.loading, "intercept": chain.intercept},
        )
        changes = {"item_change": chain.trace_item_change, "q_change": chain.trace_q_change}
        add(
            "trace",
            len(chain.trace_sweep),
            {"sweep": chain.trace_sweep.astype(np.int32), "loglik": chain.trace_loglik}
            | {name: pa.array(values, from_pandas=True) for name, values in changes.items()},
        )
        add(
            "draws",
            len(chain.draws),
            {
                "draw": np.arange(1, len(chain.draws) + 1, dtype=np.int32),
                "mastery": [_packed(draw.alpha) for draw in chain.draws],
                "q": [_packed(draw.q) for draw in chain.draws],
                "guess": [draw.guess for draw in chain.draws],
                "slip": [draw.slip for draw in chain.draws],
            },
        )
    return SaemTables(**{name: pa.concat_tables(tables) for name, tables in parts.items()})


def fit_record(fit: SaemFit) -> dict[str, Any]:
    """What is known of a fit as a whole, fit for JSON; what is unknown is null."""
    return {
        "models": len(fit.models),
        "items": len(fit.items),
        "attributes": len(fit.attributes),
        "loglik": fit.loglik,
        "diagnostics": {name: _known(value) for name, value in asdict(fit.diagnostics).items()},
        "chains": [
            {"chain": number, "sweeps": chain.sweeps, "kept": chain.kept, "loglik": chain.loglik}
            for number, chain in enumerate(fit.chains, start=1)
        ],
    }


def read_fit(tables: SaemTables, record: Mapping[str, Any]) -> SaemFit:
    """A fit from its tables and its record; held-out predictions are not in them.

    Args:
        tables: in any order of rows.
        record: as `fit_record` makes it.

    Raises:
        UserError: the tables are not of one fit: rows are missing or there are too many.
    """
    ordered = {
        name: table.sort_by([(key, "ascending") for key in CONTRACTS[name].key])
        for name, table in tables._asdict().items()
    }
    n_chains = len(record["chains"])
    models, items, attributes = (
        _names(ordered[name][column])
        for name, column in (("abilities", "model"), ("items", "item_id"), ("attributes", "attribute"))
    )
    n_models, n_items, n_attributes = len(models), len(items), len(attributes)
    shapes = {
        "mastery": (n_chains, n_models, n_attributes),
        "abilities": (n_chains, n_models),
        "q": (n_chains, n_items, n_attributes),
        "items": (n_chains, n_items),
        "attributes": (n_chains, n_attributes),
    }
    for name, shape in shapes.items():
        if ordered[name].num_rows != math.prod(shape):
            raise UserError(
                f"table {CONTRACTS[name].name!r}: expected {math.prod(shape)} rows ({' x '.join(map(str, shape))}), "
                f"found {ordered[name].num_rows}; make all tables of the fit anew"
            )

    def values(name: str, column: str) -> NDArray[Any]:
        return np.asarray(ordered[name][column].to_numpy(zero_copy_only=False)).reshape(shapes[name])

    counts = np.stack([values("items", name) for name in _COUNTS], axis=1)
    chains = []
    for number, said in enumerate(record["chains"]):
        trace = _of_chain(ordered["trace"], number + 1)
        draws = _of_chain(ordered["draws"], number + 1)
        chains.append(
            Chain(
                alpha=values("mastery", "p")[number],
                q=values("q", "p")[number],
                unlocked=values("mastery", "unlocked")[number],
                guess=values("items", "guess")[number],
                slip=values("items", "slip")[number],
                counts=counts[number],
                pooled=values("items", "pooled")[number].astype(bool),
                loading=values("attributes", "loading")[number],
                intercept=values("attributes", "intercept")[number],
                theta=values("abilities", "theta")[number],
                loglik=float(said["loglik"]),
                trace_sweep=trace["sweep"].to_numpy().astype(np.int64),
                trace_loglik=trace["loglik"].to_numpy(),
                trace_item_change=trace["item_change"].to_numpy(zero_copy_only=False),
                trace_q_change=trace["q_change"].to_numpy(zero_copy_only=False),
                sweeps=int(said["sweeps"]),
                kept=int(said["kept"]),
                draws=tuple(
                    Draw(
                        alpha=_unpacked(row["mastery"], (n_models, n_attributes)),
                        q=_unpacked(row["q"], (n_items, n_attributes)),
                        guess=np.array(row["guess"]),
                        slip=np.array(row["slip"]),
                    )
                    for row in draws.to_pylist()
                ),
            )
        )
    known: dict[str, Any] = {
        name: np.nan if value is None else value for name, value in record["diagnostics"].items()
    }
    return SaemFit(
        models=models,
        items=items,
        attributes=attributes,
        alpha=np.mean([chain.alpha for chain in chains], axis=0),
        alpha_mcse=values("mastery", "mcse")[0],
        q=np.mean([chain.q for chain in chains], axis=0),
        guess=np.mean([chain.guess for chain in chains], axis=0),
        slip=np.mean([chain.slip for chain in chains], axis=0),
        loglik=float(record["loglik"]),
        chains=tuple(chains),
        diagnostics=Diagnostics(**known),
    )


def _ordered(fit: SaemFit) -> SaemFit:
    """The fit with its models, items and attributes in the order of their names."""
    i, j, k = (
        sorted(range(len(names)), key=names.__getitem__) for names in (fit.models, fit.items, fit.attributes)
    )
    chains = tuple(
        Chain(
            **vars(chain)
            | {
                "alpha": chain.alpha[np.ix_(i, k)],
                "q": chain.q[np.ix_(j, k)],
                "unlocked": chain.unlocked[np.ix_(i, k)],
                "guess": chain.guess[j],
                "slip": chain.slip[j],
                "counts": chain.counts[:, j],
                "pooled": chain.pooled[j],
                "loading": chain.loading[k],
                "intercept": chain.intercept[k],
                "theta": chain.theta[i],
                "draws": tuple(
                    Draw(draw.alpha[np.ix_(i, k)], draw.q[np.ix_(j, k)], draw.guess[j], draw.slip[j])
                    for draw in chain.draws
                ),
            }
        )
        for chain in fit.chains
    )
    return SaemFit(
        models=tuple(fit.models[at] for at in i),
        items=tuple(fit.items[at] for at in j),
        attributes=tuple(fit.attributes[at] for at in k),
        alpha=fit.alpha[np.ix_(i, k)],
        alpha_mcse=fit.alpha_mcse[np.ix_(i, k)],
        q=fit.q[np.ix_(j, k)],
        guess=fit.guess[j],
        slip=fit.slip[j],
        loglik=fit.loglik,
        chains=chains,
        diagnostics=fit.diagnostics,
    )


def _grid(outer: pa.Array, inner: pa.Array) -> tuple[pa.Array, pa.Array]:
    n, m = len(outer), len(inner)
    return outer.take(pa.array(np.repeat(np.arange(n), m))), inner.take(pa.array(np.tile(np.arange(m), n)))


def _packed(flags: NDArray[np.bool_]) -> bytes:
    return np.packbits(flags, axis=None, bitorder="little").tobytes()


def _unpacked(data: bytes, shape: tuple[int, int]) -> NDArray[np.bool_]:
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little", count=math.prod(shape))
    return bits.astype(bool).reshape(shape)


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _names(column: pa.ChunkedArray) -> tuple[str, ...]:
    return tuple(sorted(set(column.to_pylist())))


def _of_chain(table: pa.Table, number: int) -> pa.Table:
    return table.filter(pa.array(table["chain"].to_numpy() == number))
