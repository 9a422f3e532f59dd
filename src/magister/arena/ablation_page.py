"""The ablation of the selection as a page: what the first comparisons of each pair say, by how they were selected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from magister.contracts.arena_tables import ABLATION_METHODS, ARENA_ABLATION
from magister.display import escape_markdown as escape

Row = dict[str, Any]
#: Comparisons per pair of which the conclusion speaks, where there are as many.
CONCLUDED_AT = 5
_HEAD = "Pairs of models ordered as by all votes of the answer key, percent; K: comparisons per pair."
_KEY = (
    "Intervals are those of the votes: the selection is fixed, its votes are drawn again within each pair. A pair "
    "whose votes all agree does not vary, so that intervals at small K are too narrow rather than too wide. lambda: "
    "weight of the penalty for instructions like those picked already. The table beside this page has all measures."
)


def with_league(tables: Mapping[str, pa.Table]) -> pa.Table:
    """The ablations of all leagues as one table.

    Args:
        tables: ARENA_ABLATION tables by league.

    Returns:
        Their rows with the column `league` in front, leagues in the order of their names.
    """
    name = pa.field("league", pa.string(), nullable=False)
    schema = pa.schema([name, *ARENA_ABLATION.schema])
    parts = [
        table.cast(ARENA_ABLATION.schema).add_column(
            0, name, pa.array([league] * table.num_rows, pa.string())
        )
        for league, table in sorted(tables.items())
    ]
    return pa.concat_tables([schema.empty_table(), *parts]).combine_chunks()


def selection_page(ablations: pa.Table) -> str:
    """The ablations as Markdown.

    Args:
        ablations: what `with_league` returns.

    Returns:
        Markdown, ending in a newline: by league and scenario the agreement of pairs for every K and way, and what
        follows from it.
    """
    rows = [row for row in ablations.to_pylist() if row["measure"] == "pair_agreement"]
    if not rows:
        return "No arena has been ablated yet.\n"
    lines = []
    for league in sorted({row["league"] for row in rows}):
        lines += [f"### How few comparisons rank the models: {escape(league)}", ""]
        mine = [row for row in rows if row["league"] == league]
        for scenario in sorted({row["scenario"] for row in mine}):
            lines += _scenario(scenario, [row for row in mine if row["scenario"] == scenario])
    return "\n".join([*lines, _KEY, ""])


def conclusions(rows: list[Row]) -> list[str]:
    """What selecting did beside random draws, a sentence for every similarity at the largest lambda.

    Args:
        rows: of measure `pair_agreement`, one league and scenario.
    """
    lam = max(row["lam"] for row in rows)
    k = min(CONCLUDED_AT, max(row["k"] for row in rows))
    at = {(row["method"], row["lam"]): row for row in rows if row["k"] == k}
    random = at["random", 0.0]
    return [
        _conclusion(at[method, lam], random)
        for method in ABLATION_METHODS
        if method != "random" and (method, lam) in at
    ]


def _conclusion(row: Row, random: Row) -> str:
    named = f"At K = {row['k']}, lambda {row['lam']:g}, {row['method']}"
    if row["value"] is None or random["value"] is None:
        return f"{named}: unknown: {row['reason'] or random['reason']}."
    text = f"{named} orders {_share(row)} % of the pairs as all votes do, random draws {_share(random)} %: "
    low, high = row["difference_ci_low"], row["difference_ci_high"]
    if low is None or high is None:
        return f"{text}the difference has no interval: {row['reason']}."
    ends = f"{100 * row['difference']:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
    if low > 0:
        verdict = "leaves out 0: selecting helped"
    elif high < 0:
        verdict = "leaves out 0: selecting did harm"
    else:
        verdict = "holds 0: neither is shown to be better"
    return f"{text}the interval of the difference, {ends}, {verdict}."


def _scenario(scenario: str, rows: list[Row]) -> list[str]:
    lines = [f"#### scenario {escape(scenario)}", ""]
    first = rows[0]
    if all(row["value"] is None for row in rows):
        return [*lines, f"Unknown: {escape(first['reason'])}.", ""]
    ways = sorted(
        {(row["method"], row["lam"]) for row in rows},
        key=lambda way: (ABLATION_METHODS.index(way[0]), way[1]),
    )
    cells = {(row["method"], row["lam"], row["k"]): _share(row) for row in rows}
    names = ["random draws" if method == "random" else f"{method}, lambda {lam:g}" for method, lam in ways]
    lines += [
        f"{first['n_models']} models, {first['n_instructions']} instructions with a gold value, all votes: "
        f"{first['n_reference']}. {_HEAD}",
        "",
        f"| K | votes | {' | '.join(names)} |",
        "|---:|---:|" + ":---|" * len(names),
    ]
    votes = {row["k"]: row["n"] for row in rows}
    for k in sorted(votes):
        lines.append(f"| {k} | {votes[k]} | " + " | ".join(cells[*way, k] for way in ways) + " |")
    return [*lines, "", *(f"- {escape(text)}" for text in conclusions(rows)), ""]


def _share(row: Row) -> str:
    """A share in percent with its interval."""
    if row["value"] is None:
        return "-"
    text = f"{100 * row['value']:.1f}"
    if row["ci_low"] is not None and row["ci_high"] is not None:
        text += f" [{100 * row['ci_low']:.1f}, {100 * row['ci_high']:.1f}]"
    return text
