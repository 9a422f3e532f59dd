"""Router text is read as data, or refused with what is allowed."""

from __future__ import annotations

import ast
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magister.rubrics.graph import Said, conditions, holds
from magister.rubrics.router import Route, RouterError, parse_router
from magister.rubrics.scenario import (
    END,
    AllKeywords,
    And,
    AnyKeyword,
    Condition,
    Not,
    Or,
    Pattern,
    TurnLimit,
)


def test_both_dialects_routers_are_read() -> None:
    wanted = Route(AnyKeyword(("<end>", "下课")), END, "student")
    for name, target in (("any_keyword_route", '"student"'), ("any_keyword_router", "student")):
        text = f'{name}(keywords=["<end>", "下课"], exists_to=END, else_to={target})'
        assert parse_router(text) == wanted


def test_gates_combine() -> None:
    text = 'gate(any_keyword(["a"]) or not regex("a+") and turn_limit(6, agent="t"), then=END, otherwise="b")'
    assert parse_router(text).condition == Or(
        (AnyKeyword(("a",)), And((Not(Pattern("a+")), TurnLimit(6, "t"))))
    )


def test_keywords_may_stand_in_any_number_of_lines() -> None:
    assert parse_router(
        'all_keywords(\n keywords=["a",\n "b"], then=END,\n otherwise="c")'
    ).condition == AllKeywords(("a", "b"))


HOSTILE = [
    '__import__("os").system("touch /tmp/owned")',
    "any_keyword(keywords=[open('/etc/passwd').read()], then=END, otherwise=END)",
    "any_keyword(keywords=[c for c in 'ab'], then=END, otherwise=END)",
    "any_keyword(keywords=['a' * 10**9], then=END, otherwise=END)",
    "any_keyword(keywords=[f'{exit()}'], then=END, otherwise=END)",
    "any_keyword(*[['a']], then=END, otherwise=END)",
    "any_keyword(**{'keywords': ['a']}, then=END, otherwise=END)",
    "any_keyword(keywords=['a'], then=END.x, otherwise=END)",
    "(lambda: any_keyword(['a'], then=END, otherwise=END))()",
    "gate(any_keyword(['a']) if True else turn_limit(2), then=END, otherwise=END)",
    "gate((x := any_keyword(['a'])), then=END, otherwise=END)",
    "turn_limit(turns=True, then=END, otherwise=END)",
    "turn_limit(turns=0, then=END, otherwise=END)",
    "any_keyword(keywords=[], then=END, otherwise=END)",
    "any_keyword(keywords=[''], then=END, otherwise=END)",
    "any_keyword(keywords=['a'], then=END)",
    "any_keyword(keywords=['a'], then=END, exists_to=END, otherwise=END)",
    "any_keyword_route",
    "import os",
    "a; b",
    "(" * 300,
    "not " * 3000 + "turn_limit(1)",
    "any_keyword(keywords=['a'], then=END, otherwise=END)" + " " * 30_000 + "#",
    "\x00",
    "",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_is_no_router_is_refused(text: str) -> None:
    with pytest.raises(RouterError, match="allowed are"):
        parse_router(text)


def test_a_pattern_that_is_not_read_is_refused() -> None:
    with pytest.raises(RouterError, match="pattern"):
        parse_router('regex("(a)\\\\1", then=END, otherwise=END)')


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(RouterError):
        assert isinstance(parse_router(text), Route)


NAMES = (
    "any_keyword",
    "gate",
    "turn_limit",
    "regex",
    "exit",
    "then",
    "END",
    "otherwise",
    "keywords",
    "__import__",
)
SIGNS = (
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'a'",
    "3",
    ".",
    ",",
    "=",
    ":=",
    "*",
    "not",
    "and",
    "or",
    "if",
    "else",
    "lambda:",
)
FRAGMENTS = st.sampled_from((*NAMES, *SIGNS))


@given(st.lists(FRAGMENTS, max_size=25).map(" ".join))
def test_a_route_holds_nothing_but_literals(text: str) -> None:
    try:
        route = parse_router(text)
    except RouterError:
        return
    assert isinstance(route.then, str)
    assert conditions(route.condition)
    assert ast.parse(text, mode="eval")


WORDS = st.text("abc", min_size=1, max_size=2)
LEAVES: st.SearchStrategy[Condition] = (
    st.builds(AnyKeyword, st.lists(WORDS, min_size=1, max_size=2).map(tuple))
    | st.builds(AllKeywords, st.lists(WORDS, min_size=1, max_size=2).map(tuple))
    | st.builds(TurnLimit, st.integers(1, 4), st.none() | st.just("t"))
)
CONDITIONS: st.SearchStrategy[Condition] = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(And, st.lists(inner, min_size=2, max_size=3).map(tuple))
        | st.builds(Or, st.lists(inner, min_size=2, max_size=3).map(tuple))
    ),
    max_leaves=6,
)


def written(condition: Condition) -> str:
    """A condition as router text."""
    if isinstance(condition, AnyKeyword | AllKeywords):
        name = "any_keyword" if isinstance(condition, AnyKeyword) else "all_keywords"
        return f"{name}({list(condition.keywords)!r})"
    if isinstance(condition, TurnLimit):
        return f"turn_limit({condition.turns}{f', agent={condition.agent!r}' if condition.agent else ''})"
    if isinstance(condition, Not):
        return f"(not {written(condition.part)})"
    assert isinstance(condition, And | Or)
    word = " and " if isinstance(condition, And) else " or "
    return "(" + word.join(written(part) for part in condition.parts) + ")"


def truth(condition: Condition, said: Said) -> bool:
    """What Python makes of the same condition."""
    names = {
        "any_keyword": lambda words: any(word in said.visible for word in words),
        "all_keywords": lambda words: all(word in said.visible for word in words),
        "turn_limit": lambda turns, agent=None: sum(agent in (None, one) for one in said.speakers) >= turns,
    }
    return bool(eval(written(condition), {"__builtins__": {}}, names))


@given(CONDITIONS, st.text("abc", max_size=6), st.lists(st.sampled_from(["t", "s"]), max_size=5))
def test_a_gate_means_what_it_says(condition: Condition, text: str, speakers: list[str]) -> None:
    route = parse_router(f"gate({written(condition)}, then=END, otherwise='t')")
    said = Said(text, text, speakers)
    assert holds(route.condition, said) == truth(condition, said)


def test_reasoning_is_not_routed_on_unless_asked_for() -> None:
    said = Said("<think>goodbye</think>hello", "hello", ["t"])
    assert not holds(AnyKeyword(("goodbye",)), said)
    assert holds(AnyKeyword(("goodbye",), in_reasoning=True), said)
    assert holds(AnyKeyword(("goodbye",)), said, "compat")


def test_upper_case_keywords_match_outside_compat_alone() -> None:
    said = Said("Class IS OVER", "Class IS OVER", ["t"])
    assert holds(AnyKeyword(("Is Over",)), said)
    assert not holds(AnyKeyword(("Is Over",)), said, "compat")
    assert holds(AnyKeyword(("is over",)), said, "compat")
