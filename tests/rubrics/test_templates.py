"""Templates fill in variables and leave every other brace alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magister.rubrics.templates import TemplateError, as_dialogue, fill, judge_values, places


def test_json_braces_survive() -> None:
    text = 'Reply {"score": 1, "why": {"a": []}} for {topic}.'
    assert fill(text, {"topic": "halves"}) == 'Reply {"score": 1, "why": {"a": []}} for halves.'


def test_formulas_survive() -> None:
    text = r"\frac{a}{b} + \sqrt[3]{x} + x^{n} + a_{ij} = {topic}"
    assert fill(text, {"topic": "1"}) == r"\frac{a}{b} + \sqrt[3]{x} + x^{n} + a_{ij} = 1"


def test_an_unknown_name_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(TemplateError, match="did you mean 'topic'"):
        fill("About {topc}", {"topic": "halves"})
    with pytest.raises(TemplateError, match="names no variable"):
        fill("{topic}{oops}", {"topic": "halves"})


def test_doubled_braces_are_text() -> None:
    assert fill("{{topic}} is {topic}; {{}}", {"topic": "x"}) == "{topic} is x; {{}}"


def test_names_may_be_of_any_spelling() -> None:
    assert fill("{学科} {grade level}", {"学科": "数学", "grade level": "4"}) == "数学 4"


def test_judges_see_task_and_dialogue() -> None:
    values = judge_values({"topic": "x"}, [("tutor", "a"), ("pupil", "b")])
    assert fill("{task.topic}: {messages.as_dialog()}", values) == "x: tutor: a\npupil: b"
    assert as_dialogue([]) == ""


def test_places_know_their_lines() -> None:
    assert [(one.name, one.line) for one in places("{a}\n\n{b}", {"a"})] == [("a", 0), ("b", 2)]


@given(st.text(max_size=60), st.text(max_size=10))
def test_a_value_is_never_read_as_a_template(value: str, other: str) -> None:
    assert fill("[{a}|{b}]", {"a": value, "b": other}) == f"[{value}|{other}]"


@given(st.text(st.characters(exclude_characters="{}"), max_size=60))
def test_text_without_braces_stays(text: str) -> None:
    assert fill(text, {"a": "1"}) == text


@given(st.text("{}ab \"'\\^_1", max_size=30))
def test_filling_succeeds_where_all_places_are_known(text: str) -> None:
    known = {"a": "A", "b": "B"}
    unknown = [place.name for place in places(text, known) if place.name not in known]
    if unknown:
        with pytest.raises(TemplateError):
            fill(text, known)
    else:
        fill(text, known)
