"""Exact arithmetic over written expressions: rationals and polynomials, without evaluation of code."""

from __future__ import annotations

import re
from fractions import Fraction
from math import isqrt

Monomial = tuple[tuple[str, int], ...]
Poly = dict[Monomial, Fraction]

MAX_BITS = 4000  # numbers above this stay as they are written
_MAX_DIGITS = 1250
_MAX_TERMS = 40
_MAX_DEPTH = 40
_MAX_TOKENS = 400
_MAX_POWER = 12  # of a sum; single terms may have any small power
_MAX_DEGREE = 10_000

_TOKEN = re.compile(
    r"\s*(?:(?P<num>\d+(?:\.\d+)?(?:e[+-]?\d{1,6}(?![a-z0-9]))?"
    r"|\.\d+)|(?P<name>\\?[a-z]+|[π√∞])|(?P<op>\*\*"
    r"|[-+*/^(){}×·÷_]))",
)
_CONSTANTS = {"pi": "pi", "π": "pi", "infty": "∞", "infinity": "∞", "∞": "∞"}
_GREEK = {"alpha", "beta", "gamma", "theta", "lambda", "mu", "sigma", "omega", "phi", "rho", "delta"}
_FUNCTIONS = {"sin", "cos", "tan", "log", "ln", "exp", "arcsin", "arccos", "arctan", "sec", "csc", "cot"}


class NotAlgebra(ValueError):
    """The text is no expression that this module reads, or is too large for it."""


def _check(value: Fraction) -> Fraction:
    if value.numerator.bit_length() > MAX_BITS or value.denominator.bit_length() > MAX_BITS:
        raise NotAlgebra("number too large")
    return value


def _constant(value: Fraction | int) -> Poly:
    value = _check(Fraction(value))
    return {(): value} if value else {}


def _number(poly: Poly) -> Fraction | None:
    if not poly:
        return Fraction(0)
    return poly.get(()) if len(poly) == 1 else None


def _add(left: Poly, right: Poly, sign: int = 1) -> Poly:
    total = dict(left)
    for monomial, value in right.items():
        total[monomial] = _check(total.get(monomial, Fraction(0)) + sign * value)
        if not total[monomial]:
            del total[monomial]
    if len(total) > _MAX_TERMS:
        raise NotAlgebra("too many terms")
    return total


def _times(left: Poly, right: Poly) -> Poly:
    if len(left) * len(right) > _MAX_TERMS**2:
        raise NotAlgebra("too many terms")
    total: Poly = {}
    for first, a in left.items():
        for second, b in right.items():
            powers = dict(first)
            for atom, power in second:
                powers[atom] = powers.get(atom, 0) + power
            value = _check(a * b)
            for atom in [name for name in powers if name.startswith("sqrt(")]:
                # sqrt(n)^2 = n, so that every square root appears at most once in a term
                radicand = atom[5:-1]
                if radicand.isdigit():
                    whole, powers[atom] = divmod(powers[atom], 2)
                    value = _check(value * Fraction(int(radicand)) ** whole)
            key = tuple(sorted((atom, power) for atom, power in powers.items() if power))
            total = _add(total, {key: value})
    return total


def _invert(poly: Poly) -> Poly:
    if not poly:
        raise NotAlgebra("division by zero")
    if len(poly) == 1:
        ((monomial, value),) = poly.items()
        inverse: Poly = {tuple((atom, -power) for atom, power in monomial): 1 / value}
        return _times(inverse, _constant(1))
    return {((f"({render(poly)})", -1),): Fraction(1)}


def _power(base: Poly, exponent: Poly) -> Poly:
    number = _number(exponent)
    if number is not None and number.denominator == 2 and number.numerator == 1:
        return _root(base)
    if number is None or number.denominator != 1:
        return {((f"({render(base)})^({render(exponent)})", 1),): Fraction(1)}
    degree = int(number)
    if not base and degree <= 0:
        raise NotAlgebra("zero to a power that is not positive")
    if abs(degree) > _MAX_DEGREE:
        raise NotAlgebra("exponent too large")
    if len(base) > 1 and abs(degree) > _MAX_POWER:
        raise NotAlgebra("power of a sum too large")
    if degree < 0:
        base, degree = _invert(base), -degree
    value = _number(base)
    if value is not None:
        bits = max(value.numerator.bit_length(), value.denominator.bit_length())
        if abs(value) != 1 and bits * degree > MAX_BITS + degree:
            raise NotAlgebra("number too large")
        return _constant(value**degree)
    if len(base) == 1:
        ((monomial, factor),) = base.items()
        scaled = _power(_constant(factor), _constant(degree))
        return _times({tuple((atom, power * degree) for atom, power in monomial): Fraction(1)}, scaled)
    result = _constant(1)
    for _ in range(degree):
        result = _times(result, base)
    return result


def _square_free(number: int) -> tuple[int, int]:
    outside, factor = 1, 2
    while factor * factor <= number and factor < 1000:
        while number % (factor * factor) == 0:
            number //= factor * factor
            outside *= factor
        factor += 1
    root = isqrt(number)
    return (outside * root, 1) if root * root == number else (outside, number)


def _root(poly: Poly) -> Poly:
    value = _number(poly)
    if value is None or value < 0:
        return {((f"sqrt({render(poly)})", 1),): Fraction(1)}
    if not value:
        return {}
    outside, inside = _square_free(value.numerator * value.denominator)
    scale = Fraction(outside, value.denominator)
    return _constant(scale) if inside == 1 else {((f"sqrt({inside})", 1),): _check(scale)}


def _rank(monomial: Monomial) -> tuple[int, Monomial]:
    return -sum(power for _, power in monomial), monomial


def render(poly: Poly) -> str:
    """A polynomial in one fixed order; reading the result gives the same polynomial."""
    if not poly:
        return "0"
    # Highest degree first, then by name, so that 3x-y+13 comes out the way people write it.
    order = sorted(poly, key=_rank)
    text = ""
    for monomial in order:
        value = poly[monomial]
        factors = [atom if power == 1 else f"{atom}^({power})" for atom, power in monomial]
        if value not in (1, -1) or not factors:
            number = str(abs(value))
            factors.insert(0, f"({number})" if factors and value.denominator != 1 else number)
        text += ("-" if value < 0 else "+" if text else "") + "*".join(factors)
    return text


class _Reader:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.at = 0
        self.depth = 0
        position = 0
        text = text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None or len(self.tokens) > _MAX_TOKENS:
                raise NotAlgebra("not an expression")
            self.tokens.append((str(match.lastgroup), match.group().strip()))
            position = match.end()
        words = [token for kind, token in self.tokens if kind == "name"]
        self.symbols = len(words) < len(self.tokens)

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self) -> tuple[str, str]:
        if self.at >= len(self.tokens):
            raise NotAlgebra("unfinished expression")
        self.at += 1
        return self.tokens[self.at - 1]

    def sum(self) -> Poly:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise NotAlgebra("nested too deeply")
        total = self.product()
        while self.peek() in {"+", "-"}:
            sign = 1 if self.take()[1] == "+" else -1
            total = _add(total, self.product(), sign)
        self.depth -= 1
        return total

    def product(self) -> Poly:
        total = self.signed()
        while True:
            token = self.peek()
            if token in {"*", "×", "·", "\\cdot", "\\times"}:
                self.take()
                total = _times(total, self.signed())
            elif token in {"/", "÷", "\\div"}:
                self.take()
                total = _times(total, _invert(self.signed()))
            elif token and token not in {"+", "-", ")", "}", "^", "**", "_"}:
                if self.tokens[self.at][0] == "num" and self.tokens[self.at - 1][0] == "num":
                    raise NotAlgebra("two numbers in a row")
                total = _times(total, self.raised())
            else:
                return total

    def signed(self) -> Poly:
        sign = 1
        for _ in range(4):
            if self.peek() not in {"+", "-"}:
                break
            sign *= -1 if self.take()[1] == "-" else 1
        value = self.raised()
        return value if sign == 1 else _times(_constant(-1), value)

    def raised(self) -> Poly:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise NotAlgebra("nested too deeply")
        base = self.atom()
        if self.peek() in {"^", "**"}:
            self.take()
            exponent = self.signed()
            base = _power(base, exponent)
        self.depth -= 1
        return base

    def group(self) -> Poly:
        """A braced argument, or the one digit or letter that LaTeX takes without braces."""
        if self.peek() in {"{", "("}:
            return self.atom()
        kind, token = self.take()
        if kind == "num" and token.isdigit() and len(token) > 1:
            self.at -= 1
            self.tokens[self.at] = ("num", token[1:])
            return _constant(int(token[0]))
        self.at -= 1
        return self.atom()

    def atom(self) -> Poly:
        kind, token = self.take()
        if kind == "num":
            return self.number(token)
        if token in {"(", "{"}:
            value = self.sum()
            if self.take()[1] != {"(": ")", "{": "}"}[token]:
                raise NotAlgebra("unbalanced")
            return value
        if kind == "name":
            return self.name(token)
        raise NotAlgebra("unexpected sign")

    def number(self, token: str) -> Poly:
        mantissa, _, exponent = token.partition("e")
        if len(mantissa) > _MAX_DIGITS or (exponent and abs(int(exponent)) > _MAX_DIGITS):
            raise NotAlgebra("number too large")
        value = Fraction(mantissa) * (Fraction(10) ** int(exponent or 0))
        if token.isdigit() and self.peek() in {"\\frac", "frac"}:
            # 1\frac{1}{2} is one and a half where the fraction is a proper one of whole numbers
            saved = self.at
            part = _number(self.atom())
            if part is not None and 0 < part < 1:
                return _constant(value + part)
            self.at = saved
        return _constant(value)

    def name(self, token: str) -> Poly:
        word = token.lstrip("\\")
        if word in _CONSTANTS or word in _GREEK:
            return {((_CONSTANTS.get(word, word), 1),): Fraction(1)}
        if word == "frac":
            top = self.group()
            return _times(top, _invert(self.group()))
        if word in {"sqrt", "√"}:
            return _root(self.group() if token.startswith("\\") else self.atom())
        if word in _FUNCTIONS:
            argument = self.group() if self.peek() in {"(", "{"} else self.raised()
            return {((f"{word}({render(argument)})", 1),): Fraction(1)}
        if token.startswith("\\") or len(word) > 2 or not (self.symbols or len(word) == 1):
            raise NotAlgebra("a word")
        if len(word) == 2 and self.peek() == "(":
            raise NotAlgebra("a call of an unknown function")
        if self.peek() == "_":  # an index belongs to the name: a_1, x_{n}
            self.take()
            index = render(self.group())
            return {((f"{word}_{{{index}}}", 1),): Fraction(1)}
        value = _constant(1)
        for letter in word[:-1]:
            value = _times(value, {((letter, 1),): Fraction(1)})
        return _times(value, {((word[-1], 1),): Fraction(1)})


def parse(text: str) -> Poly:
    """Read an expression exactly.

    Args:
        text: lower-case text with `\\frac`, `\\sqrt`, `^`, implicit products and single-letter symbols.

    Returns:
        The expression as a polynomial with rational coefficients over its symbols.

    Raises:
        NotAlgebra: the text is a word, a sentence or too large to be worked out exactly.
    """
    if len(text) > 4 * _MAX_DIGITS:
        raise NotAlgebra("too long")
    reader = _Reader(text)
    value = reader.sum()
    if reader.at < len(reader.tokens):
        raise NotAlgebra("trailing text")
    return value


def number(poly: Poly) -> Fraction | None:
    """The rational that a polynomial is, or None where it holds symbols."""
    return _number(poly)


def scaled(poly: Poly) -> Poly:
    """The polynomial divided by its leading coefficient, for equations that differ by a factor."""
    if not poly:
        return poly
    lead = poly[min(poly, key=_rank)]
    return {monomial: _check(value / lead) for monomial, value in poly.items()}
