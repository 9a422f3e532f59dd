"""The report of a gate as a page for people: one file, without scripts, links and anything from a network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, StrictUndefined

_TEMPLATE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{ title }}: {{ verdict }}</title>
<style>
:root { color-scheme: light dark; --ink: #1c2024; --soft: #5b6470; --line: #d8dde3; --paper: #fff; --band: #f4f6f8;
  --good: #16713a; --bad: #b3261e; --tint: #fdeeec; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --soft: #a2abb6; --line: #3a424b; --paper: #14181c; --band: #1d2329;
    --good: #69d08e; --bad: #ff9a90; --tint: #3a2020; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0.5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 0.5rem; overflow-wrap: anywhere; }
.note { color: var(--soft); }
.good { color: var(--good); font-weight: 600; white-space: nowrap; }
.bad { color: var(--bad); font-weight: 600; white-space: nowrap; }
table { width: 100%; border-collapse: collapse; font-size: 0.9rem; }
th, td { padding: 0.35rem 0.5rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
thead th { background: var(--band); }
tr.failed > * { background: var(--tint); }
th[scope=row] { font-weight: 600; }
.wide { overflow-x: auto; }
pre { margin: 0.4rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.8rem; }
@media (max-width: 40rem) {
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table, tbody, tr, th, td { display: block; }
  tr { padding: 0.4rem 0; border-bottom: 1px solid var(--line); }
  th, td { border: 0; padding: 0.1rem 0.4rem; }
  td::before { content: attr(data-label) ": "; color: var(--soft); font-weight: 400; }
}
</style>
</head>
<body>
<main>
<h1>{{ title }} <span class="{{ 'good' if success else 'bad' }}">{{ verdict }}</span></h1>
<p class="note">
{%- if not total %}Nothing was expected, so nothing is known.
{%- elif failed %}{{ failed }} of {{ total }} expectations failed. Nothing downstream was run.
{%- else %}All {{ total }} expectations hold.
{%- endif %} Of a failed one the first rows are shown, with their keys and values.</p>
{%- for table in tables %}
<section>
<h2>{{ table.name }} {% if table.failed %}<span class="bad">{{ table.failed }} failed</span>{% endif %}</h2>
<div class="wide">
<table>
<thead>
<tr><th scope="col">expectation</th><th scope="col">columns</th><th scope="col">expected</th>
<th scope="col">observed</th><th scope="col">result</th></tr>
</thead>
<tbody>
{%- for entry in table.entries %}
<tr{% if not entry.success %} class="failed"{% endif %}>
<th scope="row">{{ entry.name }}</th>
<td data-label="columns">{{ entry.columns }}</td>
<td data-label="expected">{{ entry.expected }}
{%- for row in entry.rows %}
<pre>{{ row }}</pre>
{%- endfor %}</td>
<td data-label="observed">{{ entry.observed }}</td>
<td data-label="result"><span class="{{ 'good' if entry.success else 'bad' }}">{{ entry.result }}</span></td>
</tr>
{%- endfor %}
</tbody>
</table>
</div>
</section>
{%- endfor %}
</main>
</body>
</html>
"""


def _text(value: Any) -> str:
    """A value as it is read: text as it stands, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _named(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_text(value)}" for name, value in values.items())


def _row(key: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in values.items() if name not in key}
    return _named(key) + (f"\n{_named(rest)}" if rest else "")


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    rows = zip(entry["first_failed_keys"], entry["first_failed_values"], strict=True)
    whole = isinstance(entry["observed"], int) and entry["check"] != "types" and entry["columns"]
    broken = f"{entry['n_failed']} failed" if entry["first_failed_keys"] else "failed"
    return {
        "name": entry["check"] or entry["expectation"].removeprefix("expect_").replace("_", " "),
        "columns": ", ".join(entry["columns"]),
        "expected": entry["expected"],
        "observed": f"{entry['observed']} rows" if whole else _text(entry["observed"]),
        "success": entry["success"],
        "result": "holds" if entry["success"] else broken,
        "rows": [_row(key, values) for key, values in rows],
    }


def render_page(report: Mapping[str, Any], title: str) -> str:
    """Write the report of a gate as HTML.

    Args:
        report: from `magister.contracts.gate.run_gate`.
        title: names the gate.

    Returns:
        A page without times: tables that failed first, in them the failed expectations first, otherwise in
        the order of the report. Text of models and data is escaped.
    """
    tables: dict[str, list[dict[str, Any]]] = {}
    for entry in report["expectations"]:
        tables.setdefault(entry["table"], []).append(_entry(entry))
    shown: list[dict[str, Any]] = [
        {
            "name": name,
            "entries": sorted(entries, key=lambda entry: entry["success"]),
            "failed": sum(not entry["success"] for entry in entries),
        }
        for name, entries in tables.items()
    ]
    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(_TEMPLATE).render(
        title=title,
        verdict="passed" if report["success"] else "failed",
        success=report["success"],
        total=len(report["expectations"]),
        failed=sum(table["failed"] for table in shown),
        tables=sorted(shown, key=lambda table: not table["failed"]),
    )
