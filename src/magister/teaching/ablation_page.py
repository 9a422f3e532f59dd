"""The ablations as a page: how far ranks hold, how much scores move, and for whom a setting matters."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from magister.contracts.schemas import ASKED_ABLATIONS
from magister.display import escape_markdown as escape

Row = dict[str, Any]


def ablation_page(ablations: pa.Table, agreement: pa.Table, contamination: pa.Table) -> str:
    """The ablations of CA as Markdown.

    Args:
        ablations: tables of contract `ablations` of all leagues.
        agreement: of contract `ablation_agreement`.
        contamination: of contract `contamination`.

    Returns:
        Markdown, ending in a newline: by league the spread of every teacher's CA over the settings, how far
        each setting orders the teachers as the whole league does, the changes that are no chance, and the gaps
        between AA and CA in another form of the items.
    """
    gain = ablations.filter(pc.equal(ablations["metric"], "CA"))
    order = agreement.filter(pc.equal(agreement["metric"], "CA")).to_pylist()
    gaps = contamination.to_pylist()
    rows = gain.to_pylist()
    if not rows:
        return "No league has been ablated yet.\n"
    lines: list[str] = []
    for league in sorted({row["league"] for row in rows}):
        lines += [f"### Ablations: {escape(league)}", ""]
        lines += _spread([row for row in rows if row["league"] == league])
        lines += _agreement([row for row in order if row["league"] == league])
        lines += _changes([row for row in rows if row["league"] == league])
        lines += _gaps([row for row in gaps if row["league"] == league])
    return "\n".join(lines)


def _spread(rows: list[Row]) -> list[str]:
    """Lowest and highest CA of every teacher over the settings, by what they change."""
    groups = {
        "league": ("full",),
        "without a student": ("leave_one_student",),
        "without a dataset": ("leave_one_dataset",),
        "played again": ASKED_ABLATIONS,
    }
    lines = ["CA in percent points, lowest to highest over the settings:", ""]
    lines += ["| teacher | " + " | ".join(groups) + " |", "|:---|" + ":---|" * len(groups)]
    for teacher in sorted({row["teacher"] for row in rows}):
        own = [row for row in rows if row["teacher"] == teacher]
        cells = [
            _range([row["value"] for row in own if row["ablation"] in kinds]) for kinds in groups.values()
        ]
        lines.append("| " + " | ".join([escape(teacher), *cells]) + " |")
    return [*lines, ""]


def _range(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    low, high = _points(min(known)), _points(max(known))
    return low if low == high else f"{low} to {high}"


def _agreement(rows: list[Row]) -> list[str]:
    lines = [
        "Does the setting order the teachers as the whole league does?",
        "",
        "| setting | Kendall tau-b | pairs swapped | largest change |",
        "|:---|:---|---:|---:|",
    ]
    for row in sorted(rows, key=_place):
        if row["ablation"] == "full":
            continue
        tau = "-" if row["kendall"] is None else f"{row['kendall']:+.2f}"
        if row["kendall_ci_low"] is not None and row["kendall_ci_high"] is not None:
            tau += f" [{row['kendall_ci_low']:+.2f}, {row['kendall_ci_high']:+.2f}]"
        change = "-" if row["largest_change"] is None else _points(row["largest_change"])
        lines.append(f"| {_setting(row)} | {tau} | {row['n_swapped']} of {row['n_pairs']} | {change} |")
    reasons = sorted({row["reason"] for row in rows if row["kendall"] is None and row["reason"]})
    return [*lines, "", *(f"- tau unknown: {escape(reason)}." for reason in reasons), ""]


def _changes(rows: list[Row]) -> list[str]:
    """Differences from the whole league that are no chance."""
    tested = [row for row in rows if row["p_holm"] is not None]
    found = [row for row in tested if row["p_holm"] <= 1 - row["level"]]
    if not tested:
        return [
            "No setting allows a test of single teachers: none was played again and no student left out.",
            "",
        ]
    if not found:
        count = len({(row["ablation"], row["setting"]) for row in tested})
        return [
            f"No teacher's CA differs from that in the whole league, in {count} settings tested (Holm).",
            "",
        ]
    lines = ["Changes of CA that are no chance (Holm over the teachers of a setting):", ""]
    lines += ["| setting | teacher | CA | change | p |", "|:---|:---|:---|:---|---:|"]
    for row in sorted(found, key=lambda row: (*_place(row), row["teacher"])):
        change = _points(row["difference"])
        if row["difference_ci_low"] is not None:
            change += f" [{_points(row['difference_ci_low'])}, {_points(row['difference_ci_high'])}]"
        cells = [_setting(row), escape(row["teacher"]), _points(row["value"]), change, f"{row['p_holm']:.3g}"]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _gaps(rows: list[Row]) -> list[str]:
    if not rows:
        return []
    lines = [
        "Items in another form: a teacher that knows them by heart loses AA, and CA less (gap above 0).",
        "",
        "| setting | teacher | change of AA | change of CA | gap | p |",
        "|:---|:---|:---|:---|:---|---:|",
    ]
    for row in sorted(rows, key=lambda row: (*_place(row), row["teacher"])):
        cells = [_setting(row), escape(row["teacher"])]
        cells += [_interval(row, name) for name in ("aa_change", "ca_change", "gap")]
        cells.append("-" if row["p_holm"] is None else f"{row['p_holm']:.3g}")
        lines.append("| " + " | ".join(cells) + " |")
    reasons = sorted({row["reason"] for row in rows if row["status"] != "ok" and row["reason"]})
    return [*lines, "", *(f"- {escape(reason)}." for reason in reasons), ""]


def _interval(row: Row, name: str) -> str:
    value, low, high = row[name], row[f"{name}_ci_low"], row[f"{name}_ci_high"]
    if value is None:
        return "-"
    return (
        _points(value)
        if low is None or high is None
        else f"{_points(value)} [{_points(low)}, {_points(high)}]"
    )


def _place(row: Row) -> tuple[Any, ...]:
    """Order of rows; settings that hold a number by it."""
    digits = "".join(letter for letter in row["setting"] if letter.isdigit())
    return row["ablation"], int(digits[:9] or 0), row["setting"]


def _setting(row: Row) -> str:
    words = {"leave_one_student": "without ", "leave_one_dataset": "without ", "cumulative": "clusters: "}
    return escape(words.get(row["ablation"], "") + row["setting"])


def _points(value: float) -> str:
    text = f"{100 * value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text
