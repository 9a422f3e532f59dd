"""The page on reading replies, and the examples that stand on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from magister._extraction_doc import OPTIONS, extraction_markdown
from magister.answers import (
    CHOICE_RULES,
    VALUE_RULES,
    VERDICT_RULES,
    extract_choice,
    extract_value,
    parse_verdict,
)

PAGE = Path(__file__).parents[2] / "docs" / "extraction.md"


def test_the_page_on_extraction_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == extraction_markdown(), (
        "docs/extraction.md is not what the rules of magister.answers say; "
        "write it again: python -m magister._extraction_doc > docs/extraction.md"
    )


@pytest.mark.parametrize("rule", CHOICE_RULES, ids=lambda rule: rule.id)
def test_the_example_of_a_choice_rule_is_decided_by_it(rule):
    assert extract_choice(rule.example, OPTIONS, "stop").rule == rule.id


@pytest.mark.parametrize("rule", VALUE_RULES, ids=lambda rule: rule.id)
def test_the_example_of_a_value_rule_is_decided_by_it(rule):
    assert extract_value(rule.example, "stop").rule == rule.id


@pytest.mark.parametrize("rule", VERDICT_RULES, ids=lambda rule: rule.id)
def test_the_example_of_a_verdict_rule_is_decided_by_it(rule):
    assert parse_verdict(rule.example).rule == rule.id
