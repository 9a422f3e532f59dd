"""The teaching board against the metrics and standings of its leagues, and its copies against the board."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.audit.recompute._copies import bracketed, hold_csv, hold_json, hold_lines, percent, plain
from magister.audit.recompute._league_metrics import KEY
from magister.audit.recompute._ledger import Ledger, Sheet
from magister.audit.recompute._project import Project

BOARD_KEY = ("league", "arm", "teacher")
METRICS = ("CA", "AA", "JA", "GA", "RA", "net_CA", "headroom", "CA_masked")
_COUNTS = ("n_items", "n_students", "n_clusters", "n_cells", "n_dropped")
_STATUSES = ("ok", "no_answer", "ambiguous", "refusal", "truncated", "context_exceeded", "error")
_PLACE = ("rank_low", "rank_high", "p_first", "group")
_ARMS = ("taught", "verdict_only", "sham", "oracle_tell", "wrong_oracle", "self_revise")
_BOARD = "results/teaching.parquet"
Row = dict[str, Any]


def hold_board(project: Project, leagues: Sequence[str]) -> None:
    """Cells of the board and its copies.

    Args:
        project: the files.
        leagues: whose rows are published.
    """
    with project.part(_BOARD):
        board = project.sheet(_BOARD, BOARD_KEY)
        metrics = project.tables([f"data/teaching/{name}/metrics.parquet" for name in leagues])
        standings = project.tables([f"data/teaching/{name}/standings.parquet" for name in leagues])
        hold_cells(project.ledger, board, metrics, standings)
        rows = board.table.to_pylist()
        hold_csv(project, "results/teaching.csv", board.table, BOARD_KEY)
        _hold_charts(project, rows, metrics)
        with project.part("results/metrics.json"):
            seen, check = project.json("results/metrics.json"), "copies: the JSON says what the board says"
            hold_json(project.ledger, "results/metrics.json", seen, _numbers(rows), check)
        with project.part("results/teaching.md"):
            text, check = project.text("results/teaching.md"), "copies: the page shows the board's numbers"
            hold_lines(project.ledger, "results/teaching.md", text, _lines(rows), check)


def hold_cells(ledger: Ledger, board: Sheet, metrics: pa.Table, standings: pa.Table) -> None:
    """Every cell of the board.

    Args:
        ledger: for findings.
        board: the board.
        metrics: of all its leagues.
        standings: of all its leagues.
    """
    headline = _headline(metrics)
    keys = sorted({key for key, _ in headline})
    rows, at = board.align(ledger, keys, "a row per league, arm and teacher")
    found = [keys[k] for k in at.tolist()]
    for metric in METRICS:
        some = [headline.get((key, metric), {}) for key in found]
        name = metric.lower()
        for column, of in ((name, "value"), (f"{name}_ci_low", "ci_low"), (f"{name}_ci_high", "ci_high")):
            wanted = np.array([_number(row.get(of)) for row in some], dtype=np.float64)
            ledger.compare(board, column, wanted, f"board: {metric}", rows=rows)
        status = np.array([row.get("status", "not_computable") for row in some] or [""], dtype=object)[
            : len(some)
        ]
        ledger.compare(board, f"{name}_status", status, f"board: {metric}", rows=rows)
    gains = [headline.get((key, "CA"), {}) for key in found]
    for column in (*_COUNTS, *(f"n_{status}" for status in _STATUSES)):
        wanted = np.array([_number(row.get(column, 0)) for row in gains], dtype=np.float64)
        ledger.compare(board, column, wanted, "board: counts", rows=rows)
    for column in ("resamples", "seed", "level", "policy", "rounds"):
        of = "round" if column == "rounds" else column
        values = [row.get(of, 0) for row in gains]
        kind = object if column == "policy" else np.float64
        ledger.compare(board, column, np.array(values, dtype=kind), "board: settings", rows=rows)
    separated = [_separated(row) for row in gains]
    ledger.compare(
        board,
        "separated_from_zero",
        np.array(separated, dtype=np.float64),
        "board: separated from 0",
        rows=rows,
    )
    _hold_ranks(ledger, board, rows, found, gains, standings)
    _hold_unresponsive(ledger, board, rows, found, metrics)
    _hold_identities(ledger, board)


def _headline(metrics: pa.Table) -> dict[tuple[tuple[str, str, str], str], Row]:
    """Overall rows of the board's metrics at their last round."""
    chosen = pc.and_(
        pc.equal(metrics["slice_kind"], "overall"), pc.is_in(metrics["metric"], pa.array(METRICS))
    )
    found: dict[tuple[tuple[str, str, str], str], Row] = {}
    for row in sorted(metrics.filter(chosen).to_pylist(), key=lambda row: int(row["round"])):
        found[(row["league"], row["arm"], row["teacher"]), row["metric"]] = row
    return found


def _hold_ranks(
    ledger: Ledger,
    board: Sheet,
    rows: np.ndarray,
    keys: Sequence[tuple[str, str, str]],
    gains: Sequence[Row],
    standings: pa.Table,
) -> None:
    """Ranks by CA among the teachers of a league, and their place from the standings."""
    scores = {
        key: row["value"]
        for key, row in zip(keys, gains, strict=True)
        if key[1] == "taught" and row.get("value") is not None
    }
    rank = [
        np.nan
        if key not in scores
        else 1 + sum(other[0] == key[0] and score > scores[key] + 1e-12 for other, score in scores.items())
        for key in keys
    ]
    ledger.compare(board, "rank", np.array(rank, dtype=np.float64), "board: the rank by CA", rows=rows)
    gain = standings.filter(pc.equal(standings["metric"], "CA")).to_pylist()
    stood = {(row["league"], "taught", row["teacher"]): row for row in gain}
    for column in (*_PLACE, "random_ci_low", "random_ci_high", "random_reason"):
        name = f"ca_{column}" if column.startswith("random") else column
        values = [stood.get(key, {}).get(column) for key in keys]
        wanted = (
            np.array(values or [None], dtype=object)[: len(values)]
            if column in ("group", "random_reason")
            else np.array([_number(value) for value in values], dtype=np.float64)
        )
        ledger.compare(board, name, wanted, "board: the place in the standings", rows=rows)


def _hold_unresponsive(
    ledger: Ledger, board: Sheet, rows: np.ndarray, keys: Sequence[tuple[str, str, str]], metrics: pa.Table
) -> None:
    """Students whom the answer told does not lift for certain."""
    told = pc.and_(pc.equal(metrics["arm"], "oracle_tell"), pc.equal(metrics["slice_kind"], "student"))
    last: dict[tuple[str, str], Row] = {}
    for row in metrics.filter(pc.and_(told, pc.equal(metrics["metric"], "CA"))).to_pylist():
        one = (row["league"], row["slice"])
        if one not in last or row["round"] > last[one]["round"]:
            last[one] = row
    still: dict[str, list[str]] = {league: [] for league, _ in last}
    for (league, name), row in sorted(last.items()):
        floor = row["value"] if row["ci_low"] is None else row["ci_low"]
        if floor is not None and floor <= 0:
            still[league].append(name)
    wanted = np.empty(len(keys), dtype=object)
    wanted[:] = [still.get(league) for league, _, _ in keys]
    seen = board.texts("unresponsive")[rows]
    off = np.array([one != two for one, two in zip(seen, wanted, strict=True)], dtype=bool)
    ledger.count("board: unresponsive students", len(keys))
    ledger.refuse(board, "unresponsive", off, "board: unresponsive students", seen, wanted, rows=rows)


def _hold_identities(ledger: Ledger, board: Sheet) -> None:
    """net CA = CA - CA of sham; headroom = net CA of the teacher / that of oracle_tell; counts by status add up."""
    by_key = {row: k for k, row in enumerate(zip(*(board.texts(name) for name in BOARD_KEY), strict=True))}
    ca, net, room = (board.numbers(name) for name in ("ca", "net_ca", "headroom"))
    sham = np.array([_at(ca, by_key.get((league, "sham", "sham"))) for league in board.texts("league")])
    told = np.array(
        [_at(ca, by_key.get((league, "oracle_tell", "oracle_tell"))) for league in board.texts("league")]
    )
    some = np.flatnonzero(~np.isnan(net))
    ledger.compare(board, "net_ca", (ca - sham)[some], "identity: net CA = CA - CA of sham", rows=some)
    some = np.flatnonzero(~np.isnan(room))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (ca - sham) / (told - sham)
    ledger.compare(
        board, "headroom", share[some], "identity: headroom = net CA / net CA of oracle_tell", rows=some
    )
    total = sum((board.numbers(f"n_{status}") for status in _STATUSES), np.zeros(len(board)))
    asked = 2 * (board.numbers("n_cells") + board.numbers("n_dropped"))
    ledger.count("identity: statuses add up to the replies", len(board))
    ledger.refuse(
        board, "n_ok to n_error", total != asked, "identity: statuses add up to the replies", total, asked
    )
    for name in ("aa", "ja", "ga"):
        value = board.numbers(name)
        with np.errstate(invalid="ignore"):
            off = (value < 0) | (value > 1)
        ledger.refuse(board, name, off, "identity: a share lies in 0..1", value, "0 to 1")


def _at(values: np.ndarray, place: int | None) -> float:
    return np.nan if place is None else float(values[place])


def _number(value: Any) -> float:
    return np.nan if value is None else float(value)


def _separated(row: Row) -> float:
    low, high = row.get("ci_low"), row.get("ci_high")
    return np.nan if low is None or high is None else float(low > 0 or high < 0)


def _name(row: Row) -> str:
    name = " ".join(str(row["teacher"]).split())
    return name if row["arm"] in ("taught", row["teacher"]) else f"{row['arm']}: {name}"


def _order(row: Row) -> tuple[Any, ...]:
    arm = _ARMS.index(row["arm"]) if row["arm"] in _ARMS else len(_ARMS)
    rank = row.get("rank")
    return row["league"], row["arm"] != "taught", arm, rank is None, rank or 0, row["teacher"]


def _numbers(rows: Sequence[Row]) -> dict[str, dict[str, dict[str, Any]]]:
    """`metrics.json`: what is known of each row."""
    out: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        found = {metric: row[metric.lower()] for metric in METRICS}
        found |= {"ci_low": row["ca_ci_low"], "ci_high": row["ca_ci_high"]}
        found |= {
            name: row[name] for name in ("rank", "rank_low", "rank_high", "p_first", "rounds", *_COUNTS)
        }
        out.setdefault(row["league"], {})[_name(row)] = {k: v for k, v in found.items() if v is not None}
    return out


def _hold_charts(project: Project, rows: Sequence[Row], metrics: pa.Table) -> None:
    """The two charts' data."""

    def series(row: Row) -> str:
        return f"{row['league']}: {_name(row)}" + ("" if row["arm"] == "taught" else " (control)")

    columns = (*BOARD_KEY, "series", "ca", "ca_ci_low", "ca_ci_high", "ca_status", *_COUNTS)
    known = [row | {"series": series(row)} for row in sorted(rows, key=_order) if row["ca"] is not None]
    chart = pa.table({name: [row[name] for row in known] for name in columns})
    hold_csv(project, "results/teaching_ca.csv", chart, BOARD_KEY)
    kept = pc.and_(
        pc.equal(metrics["slice_kind"], "overall"), pc.is_in(metrics["metric"], pa.array(["p", "CA"]))
    )
    places: dict[tuple[Any, ...], Row] = {}
    for row in metrics.filter(kept).to_pylist():
        entry = places.setdefault((row["league"], row["arm"], row["teacher"], row["round"]), {})
        entry[row["metric"]] = row
    lines = []
    for (league, arm, teacher, number), entry in places.items():
        p, ca = entry.get("p"), entry.get("CA", {})
        if p is None or p["value"] is None:
            continue
        line = {"league": league, "arm": arm, "teacher": teacher, "round": number}
        line |= {"series": series(line), "p": p["value"], "p_ci_low": p["ci_low"], "p_ci_high": p["ci_high"]}
        line |= {"p_status": p["status"], "ca": ca.get("value"), "ca_ci_low": ca.get("ci_low")}
        line |= {"ca_ci_high": ca.get("ci_high"), "ca_status": ca.get("status", "not_computable")}
        lines.append(line | {name: p[name] for name in _COUNTS})
    lines.sort(key=lambda line: (*_order(line), line["round"]))
    parts = [f"{metric}{part}" for metric in ("p", "ca") for part in ("", "_ci_low", "_ci_high", "_status")]
    names = (*BOARD_KEY, "series", "round", *parts, *_COUNTS)
    curve = pa.table({name: [line[name] for line in lines] for name in names})
    hold_csv(project, "results/teaching_rounds.csv", curve, (*BOARD_KEY, "round"))


def _lines(rows: Sequence[Row]) -> list[tuple[str, str, list[str]]]:
    """Rows of the page: headline, place, and beside the controls."""
    out = []
    ranked = {row["league"]: 0 for row in rows}
    for row in rows:
        ranked[row["league"]] += row["rank"] is not None
    for row in rows:
        heading, own = f"Teaching: {plain(row['league'])}", row["arm"] == "taught"
        name = " ".join(str(row["teacher"]).split()) if own else f"control: {_name(row)}"
        cells = [
            bracketed(row[m], row[f"{m}_ci_low"], row[f"{m}_ci_high"], signed=m in ("ca", "ra"))
            for m in ("ca", "aa", "ja", "ga", "ra")
        ]
        alone = ranked[row["league"]] == 1
        rank = "-" if row["rank"] is None or alone else str(row["rank"])
        out.append((heading, plain(row["teacher"] if own else name), [rank, plain(name), *cells]))
        if row["rank"] is not None and not alone:
            low, high = row["rank_low"], row["rank_high"]
            span = "-" if low is None else str(low) if low == high else f"{low}-{high}"
            random = "-"
            if row["ca_random_ci_low"] is not None:
                ends = (percent(row[f"ca_random_ci_{end}"], signed=True) for end in ("low", "high"))
                random = f"[{', '.join(ends)}]"
            out.append(
                (
                    heading,
                    plain(name),
                    [plain(name), span, _chance(row["p_first"]), row["group"] or "-", random],
                )
            )
        if any(row[m] is not None for m in ("net_ca", "headroom", "ca_masked")):
            beside = [
                bracketed(row["net_ca"], row["net_ca_ci_low"], row["net_ca_ci_high"], signed=True),
                _room(row),
                bracketed(row["ca_masked"], row["ca_masked_ci_low"], row["ca_masked_ci_high"], signed=True),
            ]
            out.append((heading, plain(_name(row)), [plain(_name(row)), *beside]))
    return out


def _room(row: Row) -> str:
    value, low, high = (row[f"headroom{part}"] for part in ("", "_ci_low", "_ci_high"))
    if value is None:
        return "-"
    said = f"{100 * value:+.0f}"
    return said if low is None or high is None else f"{said} [{100 * low:+.0f}, {100 * high:+.0f}]"


def _chance(share: float | None) -> str:
    if share is None:
        return "-"
    if 0 < share < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


__all__ = ["BOARD_KEY", "KEY", "hold_board", "hold_cells"]
