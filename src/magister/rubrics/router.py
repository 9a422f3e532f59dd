"""Router text: what decides who speaks next. Parsed as Python literals, never evaluated.

`any_keyword_route(keywords=["<end>"], exists_to=END, else_to="student")` and its kin are read from the syntax tree;
whatever is not one of the forms in `ALLOWED` is refused.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from magister.errors import UserError
from magister.rubrics.patterns import PatternError, regex
from magister.rubrics.scenario import (
    AllKeywords,
    And,
    AnyKeyword,
    Condition,
    Not,
    Or,
    Pattern,
    TurnLimit,
)

ALLOWED = (
    'any_keyword_route(keywords=["..."], exists_to=END, else_to="agent")',
    'any_keyword_router(keywords=["..."], exists_to=END, else_to="agent")',
    'any_keyword(keywords=["..."], then=END, otherwise="agent")',
    'all_keywords(keywords=["..."], then=END, otherwise="agent")',
    'regex(pattern="...", then=END, otherwise="agent")',
    'turn_limit(turns=6, agent="teacher", then=END, otherwise="agent")',
    'gate(any_keyword(["..."]) or not regex("...") and turn_limit(6), then=END, otherwise="agent")',
)
"""The forms of a router. `exists_to`/`else_to` and `then`/`otherwise` mean the same."""
MAX_TEXT = 20_000
MAX_DEPTH = 20
MAX_TURNS = 1000
_ANY = ("any_keyword_route", "any_keyword_router", "any_keyword")
_ALL = ("all_keyword_route", "all_keyword_router", "all_keywords")
_TARGETS = {"exists_to": "then", "then": "then", "else_to": "otherwise", "otherwise": "otherwise"}


class RouterError(UserError):
    """Router text that is not one of the allowed forms."""


@dataclass(frozen=True, slots=True)
class Route:
    """What a router says."""

    condition: Condition
    """What is asked."""
    then: str
    """The node that follows where it holds."""
    otherwise: str
    """The node that follows where not."""


def _refuse(message: str) -> RouterError:
    return RouterError(f"{message}; allowed are: {'; '.join(ALLOWED)}")


def parse_router(text: str) -> Route:
    """Read what stands behind `router:`.

    Args:
        text: for instance `any_keyword_route(keywords=["bye"], exists_to=END, else_to="student")`.

    Raises:
        RouterError: it is anything else than an allowed form. Nothing in it is ever run.
    """
    if len(text) > MAX_TEXT:
        raise _refuse(f"a router of {len(text)} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # `"\\d"` in a pattern is meant as it stands
            tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise _refuse(f"the router {_shown(text)} cannot be read: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise _refuse(f"the router {_shown(text)} cannot be read") from None
    name, call = _call(tree, text)
    targets: dict[str, str] = {}
    others: list[ast.keyword] = []
    for keyword in call.keywords:
        place = _TARGETS.get(keyword.arg or "")
        if place is None:
            others.append(keyword)
        elif place in targets:
            raise _refuse(f"{name} names its target {place!r} twice")
        else:
            targets[place] = _target(keyword.value, keyword.arg or "")
    missing = [place for place in ("then", "otherwise") if place not in targets]
    if missing:
        raise _refuse(f"{name} does not say where to go ({' and '.join(missing)} missing)")
    inner = ast.Call(call.func, call.args, others)
    if name == "gate":
        if len(call.args) != 1 or others:
            raise _refuse("gate takes one condition and two targets")
        condition = _condition(call.args[0], 0)
    else:
        condition = _test(name, inner)
    return Route(condition, targets["then"], targets["otherwise"])


def _shown(text: str) -> str:
    short = " ".join(text.split())
    return repr(short if len(short) <= 80 else short[:77] + "...")


def _source(node: ast.AST) -> str:
    try:
        return _shown(ast.unparse(node))
    except (RecursionError, ValueError):
        return "what stands there"


def _call(node: ast.expr, text: str) -> tuple[str, ast.Call]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise _refuse(f"{_shown(text)} is no router")
    return node.func.id, node


def _condition(node: ast.expr, depth: int) -> Condition:
    if depth > MAX_DEPTH:
        raise _refuse(f"conditions nest more than {MAX_DEPTH} deep")
    if isinstance(node, ast.BoolOp):
        parts = tuple(_condition(part, depth + 1) for part in node.values)
        return And(parts) if isinstance(node.op, ast.And) else Or(parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return Not(_condition(node.operand, depth + 1))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _test(node.func.id, node)
    raise _refuse(f"{_source(node)} is no condition")


def _test(name: str, call: ast.Call) -> Condition:
    tests: dict[str, Callable[[dict[str, ast.expr]], Condition]] = {
        **dict.fromkeys(_ANY, _any_keyword),
        **dict.fromkeys(_ALL, lambda given: AllKeywords(_keywords(given["keywords"]))),
        "regex": _pattern,
        "turn_limit": _turn_limit,
    }
    accepted = {
        **dict.fromkeys(_ANY, ("keywords", "think_as_message")),
        **dict.fromkeys(_ALL, ("keywords",)),
        "regex": ("pattern",),
        "turn_limit": ("turns", "agent"),
    }
    if name not in tests:
        raise _refuse(f"there is no router {name!r}")
    names = accepted[name]
    if len(call.args) > len(names):
        raise _refuse(f"{name} takes {', '.join(names)}; {len(call.args)} values are given")
    given: dict[str, ast.expr] = dict(zip(names, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg not in names:
            raise _refuse(f"{name} has no argument {keyword.arg or '**'!r}")
        if keyword.arg in given:
            raise _refuse(f"{name} is given {keyword.arg!r} twice")
        given[keyword.arg] = keyword.value
    if names[0] not in given:
        raise _refuse(f"{name} needs {names[0]!r}")
    return tests[name](given)


def _any_keyword(given: dict[str, ast.expr]) -> Condition:
    reasoning = False
    if "think_as_message" in given:
        node = given["think_as_message"]
        if not isinstance(node, ast.Constant) or not isinstance(node.value, bool):
            raise _refuse(f"think_as_message is True or False, not {_source(node)}")
        reasoning = node.value
    return AnyKeyword(_keywords(given["keywords"]), reasoning)


def _keywords(node: ast.expr) -> tuple[str, ...]:
    if not isinstance(node, ast.List | ast.Tuple) or not node.elts:
        raise _refuse(f"keywords are a list of texts with at least one, not {_source(node)}")
    found = tuple(_text(element, "a keyword") for element in node.elts)
    if "" in found:
        raise _refuse("an empty keyword, which every message holds")
    return found


def _text(node: ast.expr, what: str) -> str:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise _refuse(f"{what} is a text in quotes, not {_source(node)}")
    return node.value


def _pattern(given: dict[str, ast.expr]) -> Condition:
    pattern = _text(given["pattern"], "a pattern")
    try:
        regex(pattern)
    except PatternError as error:
        raise RouterError(
            f"the pattern {pattern!r} is not read: {error}. Patterns may hold literals, `.`, classes, groups, "
            "`|`, `? * +`, `{m,n}`, `^`, `$` and a leading `(?i)`"
        ) from None
    return Pattern(pattern)


def _turn_limit(given: dict[str, ast.expr]) -> Condition:
    node = given["turns"]
    turns = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(turns, int) or isinstance(turns, bool) or not 1 <= turns <= MAX_TURNS:
        raise _refuse(f"turns is a whole number from 1 to {MAX_TURNS}, not {_source(node)}")
    agent = _text(given["agent"], "agent") if "agent" in given else None
    return TurnLimit(turns, agent)


def _target(node: ast.expr, name: str) -> str:
    """A node: a text, or a bare name (END, and agents' names as some files write them)."""
    if isinstance(node, ast.Name):
        return node.id
    target = _text(node, name)
    if not target.strip():
        raise _refuse(f"{name} is empty")
    return target.strip()
