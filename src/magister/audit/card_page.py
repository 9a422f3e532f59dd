"""An audit card as a page: one file, without scripts and anything from a network; all text of models is escaped."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, StrictUndefined

from magister.audit.card import Card, Mover, Source
from magister.audit.card_text import (
    again_text,
    change_figure,
    counts_text,
    headline,
    interval_text,
    movers_text,
    params_text,
)
from magister.audit.sources import siblings
from magister.display import visible

_TEMPLATE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{ title }}</title>
<style>
:root { color-scheme: light dark; --ink: #1c2024; --soft: #5b6470; --line: #d8dde3; --paper: #fff; --band: #f4f6f8;
  --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --soft: #a2abb6; --line: #3a424b; --paper: #14181c; --band: #1d2329; --bad: #ff9a90; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 56rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.2rem; margin: 0.5rem 0; }
h2 { font-size: 1.05rem; margin: 2rem 0 0.5rem; border-bottom: 1px solid var(--line); }
.value { font-size: 1.6rem; font-weight: 600; }
.note { color: var(--soft); }
.bad { color: var(--bad); font-weight: 600; }
dl { display: grid; grid-template-columns: minmax(5rem, max-content) 1fr; gap: 0.2rem 1rem; margin: 0.5rem 0; }
dt { color: var(--soft); }
dd { margin: 0; }
ol { padding-left: 2rem; }
li { margin: 0.6rem 0; }
details > div { margin-left: 1rem; }
code { font-size: 0.85rem; }
pre { background: var(--band); padding: 0.5rem; white-space: pre-wrap; font-size: 0.85rem; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin: 0 0 0.5rem 1rem; } }
</style>
</head>
<body>
<main>
<h1>{{ title }}</h1>
<p class="value">{{ headline }}</p>
{%- for warning in warnings %}
<p class="bad" role="alert">{{ warning }}</p>
{%- endfor %}
{%- for section in sections %}
<section>
<h2>{{ section.title }}</h2>
<dl>
{%- for label, text in section.rows %}
<dt>{{ label }}</dt><dd>{{ text }}</dd>
{%- endfor %}
</dl>
</section>
{%- endfor %}
<section>
<h2>What moves it most</h2>
{%- for text in said %}
<p class="note">{{ text }}</p>
{%- endfor %}
<ol>
{%- for mover in movers %}
<li><strong>{{ mover.change }}</strong> {{ mover.name }}
<dl>
{%- for label, text in mover.rows %}
<dt>{{ label }}</dt><dd>{{ text }}</dd>
{%- endfor %}
</dl>
{%- if mover.transcripts %}
<details><summary>where what was said lies</summary>
<dl>
{%- for one in mover.transcripts %}
<dt>{{ one.role }}</dt><dd><code>{{ one.key }}</code> in <code>{{ one.file or "an unknown file" }}</code></dd>
{%- endfor %}
</dl>
</details>
{%- endif %}
</li>
{%- endfor %}
</ol>
</section>
<section>
<h2>Where it comes from: {{ n_sources }} files</h2>
<p class="note">Steps back from the board; the md5 of each file as recorded by what was made from it.</p>
<ol start="0">
{%- for group in groups %}
<li value="{{ group.steps }}"><details><summary><code>{{ group.pattern }}</code> {{ group.said }}</summary>
{%- for one in group.files %}
<div><code>{{ one.path }}</code><br><code class="note">md5 {{ one.md5 }}</code>
{%- if one.problem %} <span class="bad">{{ one.problem }}</span>{% endif %}
{%- if one.params %}<br><span class="note">{{ one.params }}</span>{% endif %}</div>
{%- endfor %}
</details></li>
{%- endfor %}
</ol>
</section>
<section>
<h2>Commands</h2>
<dl>
{%- for name, command in commands %}
<dt>{{ name }}</dt><dd><pre>{{ command }}</pre></dd>
{%- endfor %}
</dl>
</section>
</main>
</body>
</html>
"""


def render_page(card: Card) -> str:
    """Write a card as HTML.

    Args:
        card: the card.

    Returns:
        A page without times. Text of models and data is escaped.
    """
    number, cell, formula = card.number, card.cell, card.formula
    stands = (
        f"{cell.board_file}, column {cell.column}"
        if cell.column
        else f"{cell.table} (not printed on the board)"
    )
    some = {name: count for name, count in card.statuses.items() if count}
    sections = [
        {
            "title": "The number",
            "rows": [
                ("unit", number.unit),
                ("interval", interval_text(number)),
                ("status", number.status),
                *([("reason", number.reason)] if number.reason else []),
                *(("beside", text) for text in card.beside),
                ("stands in", stands),
            ],
        },
        {
            "title": "What it means",
            "rows": [
                ("words", formula.words),
                ("formula", formula.symbols),
                ("source", formula.source),
                ("counted", formula.denominator),
            ],
        },
        {
            "title": "What it rests on",
            "rows": [
                ("counts", counts_text(card.counts)),
                ("statuses", counts_text(some) or "none"),
                ("check", again_text(card)),
            ],
        },
    ]
    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    text = environment.from_string(_TEMPLATE).render(
        title=cell.title,
        headline=headline(number),
        warnings=card.warnings,
        sections=sections,
        said=movers_text(card),
        movers=[_mover(mover, number.unit) for mover in card.movers.shown],
        n_sources=len(card.sources),
        groups=[
            {
                "steps": min(one.steps for one in group.files),
                "pattern": group.pattern,
                "said": _said(group.files),
                "files": [_file(one) for one in group.files],
            }
            for group in siblings(card.sources)
        ],
        commands=list(card.commands.items()),
    )
    return visible(text)


def _mover(mover: Mover, unit: str) -> dict[str, Any]:
    rows = []
    for line in mover.lines:
        label, _, text = line.partition(" ")
        rows.append((label, text.strip()))
    return {
        "change": change_figure(mover.change, unit),
        "name": mover.name,
        "rows": rows,
        "transcripts": mover.transcripts,
    }


def _said(files: tuple[Source, ...]) -> str:
    first = files[0]
    made = first.rule or ("answers as they came" if first.kind == "store" else "no rule made it")
    return f"{made}, {len(files)} files" if len(files) > 1 else made


def _file(source: Source) -> dict[str, str]:
    return {
        "path": source.path,
        "md5": source.md5 or "unknown",
        "problem": source.problem,
        "params": params_text(source.params),
    }
