"""The page of a gate: everything of the report, nothing from a network, nothing that runs."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from gate_tables import ITEMS_PLAN, board_tables, boards_expected, item_tables, items_expected

from magister.contracts.gate import run_gate
from magister.contracts.page import render_page

EVIL = "<script>alert(1)</script><img src=//evil.test/x onerror=alert(2)>"


def report(**columns: Any) -> dict[str, Any]:
    """The gate of items of which one was changed."""
    tables = item_tables()
    rows = tables["items"].to_pylist()
    rows[0] |= columns
    tables["items"] = tables["items"].from_pylist(rows, schema=tables["items"].schema)
    return run_gate("items", *items_expected(tables, ITEMS_PLAN))


class Tags(HTMLParser):
    """The tags of a page with their attributes, and whether each is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_page_loads_and_runs_nothing() -> None:
    page = render_page(report(), "Gate: items")
    tags = Tags(page)
    assert tags.open == []
    assert {tag for tag, _ in tags.found} <= {
        *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "section", "div"),
        *("table", "thead", "tbody", "tr", "th", "td", "span", "pre"),
    }
    assert not re.search(r"https?:|url\(|@import|\bon\w+=|src=|href=", page)
    policy = [attributes["content"] for _, attributes in tags.found if "http-equiv" in attributes]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page


def test_every_expectation_of_the_report_stands_on_the_page() -> None:
    found = report()
    page = render_page(found, "Gate: items")
    assert page.count('<th scope="row">') == len(found["expectations"])
    assert f"All {len(found['expectations'])} expectations hold." in page
    assert "passed" in page
    for table in {entry["table"] for entry in found["expectations"]}:
        assert f"<h2>{table} </h2>" in page


def test_what_failed_stands_first_with_its_rows() -> None:
    page = render_page(report(rewrite_status="improved"), "Gate: items")
    assert re.findall(r"<h2>(\w+)", page)[0] == "items"
    first = page[page.index('<th scope="row">') :]
    assert first.startswith('<th scope="row">rewrite_status_known</th>')
    assert "<pre>item_id=demo-0\nrewrite_status=improved</pre>" in first
    assert "1 failed" in first
    assert "Nothing downstream was run." in page


def test_text_of_models_and_data_is_text() -> None:
    page = render_page(report(rewrite_status=EVIL, item_id=f"x{EVIL}"), f"Gate: {EVIL}")
    tags = {tag for tag, _ in Tags(page).found}
    assert not tags & {"script", "img"}
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_the_same_report_is_the_same_page() -> None:
    tables = board_tables()
    pages = {render_page(run_gate("boards", *boards_expected(tables)), "Gate: boards") for _ in range(2)}
    assert len(pages) == 1


def test_a_gate_that_expects_nothing_says_so() -> None:
    page = render_page({"module": "m", "success": False, "expectations": []}, "Gate: m")
    assert "Nothing was expected, so nothing is known." in page
    assert "failed" in page
