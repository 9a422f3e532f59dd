"""Free-form values: what is committed, and what it equals."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magister.answers import VALUE_RULES, canonical_value, equal_values, extract_value

STATED = [  # declared where either way can be defended
    ("percent", True),
    ("decimal_comma", False),
]


def test_every_handed_pair_compares_as_expected(cases):
    policy = dict(STATED)
    for row in cases("extraction/numeric_equivalence.jsonl"):
        expected = row["expect_equal"]
        if expected is None:
            expected = policy[row["id"]]
        assert equal_values(row["gold"], row["pred"]) is expected, row


EQUAL = [
    ("36", "36 miles"),
    ("1/2", "\\frac12"),
    ("0.5", "1/2"),
    ("1000", "1{,}000"),
    ("70000", "70 000"),
    ("-1/2", "\\frac{-1}{2}"),
    ("2\\sqrt{3}", "\\sqrt{12}"),
    ("2\\pi", "2π"),
    ("x^2+1", "1+x^2"),
    ("x²", "x**2"),
    ("1500", "1.5e3"),
    ("1500", "1.5 \\times 10^3"),
    ("3/2", "1½"),
    ("3/2", "1 1/2"),
    ("90", "90^\\circ"),
    ("5", "five"),
    ("21", "Twenty-One"),
    ("1500000", "1.5 million"),
    ("18", "The answer is 18 dollars per day."),
    ("18", "<think>It is 20.</think>Answer: 18"),
    ("Paris", "It is in France. Answer: paris."),
    ("{1,2}", "\\{2, 1\\}"),
    ("[0,1)", "[0, 1)"),
    ("2x+1", "y = 2x + 1"),
    ("36", "Total = 36"),
    ("-3", "The result is -3."),
    ("36", "答案是36个。"),
    ("0.001", "10^{-3}"),
    ("18", "Answer: 18\n\nQuestion: 2+2?\nAnswer: 4"),
    ("3", "\\sqrt{9}"),
    ("1/3", "2/6"),
    ("nile", "The Nile"),
    ("36", "$\\boxed{36}$"),
    ("4", "Answer: 3. Wait.\nAnswer: 4"),
    ("12.5", "$12.50"),
    ("5", "+5"),
]
UNEQUAL = [
    ("5", "25"),
    ("12", "120"),
    ("-3", "3"),
    ("1/2", "1/3"),
    ("0.333", "1/3"),
    ("2\\pi", "6.28"),
    ("20%", "0.2"),
    ("3.5", "3,5"),
    ("(1,2)", "(2,1)"),
    ("1", "(2,1)"),
    ("2021", "\\pm 2021"),
    ("Paris", "London"),
    ("36", "I don't know."),
    ("18", "Answer: 18 or 20"),
    ("x+1", "x-1"),
    ("3", "3-5"),
    ("2014", "2020-01-05"),
    ("", ""),
    ("", "5"),
    ("36", ""),
    ("10^{10^9}", "10^{10^8}"),
    ("0", "x^2"),
    ("18", "She eats 18. The answer is 20."),
    ("[0,1)", "[0,1]"),
    ("3:30 am", "3:30 pm"),
    ("\\frac{1}{2^{99}}", "\\frac{1}{2^{98}}"),
]


FURTHER = [  # (gold, pred, equal)
    ("29", "29.0", True),
    ("29", "The answer is 29.", True),
    ("1/2", "0.5", True),
    ("0.5", ".5", True),
    ("1/2", "\\frac{1}{2}", True),
    ("1/2", "\\frac12", True),
    ("\\frac{1}{2}", "\\frac{2}{4}", True),
    ("1/3", "0.3333", False),
    ("20%", "20", True),
    ("0.2", "20%", False),
    ("5", "+5", True),
    ("5", "5.", True),
    ("42", "**42**", True),
    ("42", "`42`", True),
    ("42", "42 apples", True),
    ("42", "$42$", True),
    ("42", "\\(42\\)", True),
    ("42", "\\[42\\]", True),
    ("1e-3", "0.001", True),
    ("1.5e3", "1500", True),
    ("1500", "1.5\\times10^3", True),
    ("1500", "1.5×10³", True),
    ("2^{10}", "1024", True),
    ("\\sqrt{4}", "2", True),
    ("\\sqrt{2}", "1.414", False),
    ("2\\sqrt{2}", "\\sqrt{8}", True),
    ("x=5", "5", True),
    ("x = 5", "x=5", True),
    ("(1,2)", "(1, 2)", True),
    ("\\{1,2\\}", "\\{2,1\\}", True),
    ("[1,2]", "(1,2)", False),
    ("90^\\circ", "90", True),
    ("90°", "90 degrees", True),
    ("3:30", "3:30 ", True),
    ("5 m", "5 meters", True),
    ("yes", "Yes.", True),
    ("Paris", "paris", True),
    ("12", "12 and 13", False),
    ("12", "12, 13", False),
    ("12", "12 or 13", False),
    ("\\infty", "infinity", True),
    ("\\infty", "∞", True),
    ("x^2", "x²", True),
    ("2x", "x*2", True),
    ("x+y", "y+x", True),
    ("a/b", "\\frac{a}{b}", True),
    ("(x+1)(x-1)", "x^2-1", True),
    ("1 000", "1000", True),
    ("1,234,567", "1234567", True),
    ("12,345.67", "12345.67", True),
    ("1,23", "1.23", False),
    ("-3", "−3", True),
    ("-3", "- 3", True),
    ("-3", "(3)", False),
    ("3", "three", True),
    ("13", "thirteen", True),
    ("100", "one hundred", True),
    ("7", "VII", False),
    ("36", "36\\text{ cm}", True),
    ("36", "36 \\mathrm{~cm}^2", True),
    ("36", "The area is 36 square cm.", True),
    ("5", "The answer is 5, not 6", True),
    ("18", "So the answer is $\\boxed{18}$ dollars.", True),
    ("18", "18 is the answer", True),
    ("18", "Total = $18.00", True),
    ("18", "= 18", True),
    ("18", "180", False),
    ("18", "1.8", False),
    ("18", "018", True),
    ("0", "-0", True),
    ("0", "0.0", True),
    ("36", "３６．０", True),
    ("½", "0.5", True),
    ("1½", "1.5", True),
    ("\\frac{3}{2}", "1 1/2", True),
    ("-1/2", "-\\frac{1}{2}", True),
    ("\\pm 5", "5", False),
    ("\\pm 5", "\\pm5", True),
    ("10^{10^9}", "10^{10^9}", True),
    ("3/4", "3 / 4", True),
    ("3/4", "6/8", True),
    ("0.75", "75/100", True),
    ("1000000", "1 million", True),
    ("1000000", "10^6", True),
    ("6", "2*3", True),
    ("6", "2+4", True),
    ("B", "b", True),
    ("\\text{B}", "B", True),
    ("18", "Answer: 18\nAnswer: 20", False),
    ("20", "Answer: 18\nAnswer: 20", True),
    ("36", "答案：36", True),
    ("36", "答案是36", True),
    ("36", "共36个苹果", True),
    ("2\\pi", "2*pi", True),
    ("2\\pi", "6.283185307", False),
    ("e", "2.718", False),
    ("1:2", "1 : 2", True),
    ("$1", "$1.00", True),
    ("€5", "5 euros", True),
    ("18", "<answer>18</answer>", True),
    ("18", '{"answer": 18}', True),
    ("18", '{"answer": "18"}', True),
    ("12 hours", "12", True),
    ("\\frac{\\sqrt{2}}{2}", "\\frac{1}{\\sqrt{2}}", True),
    ("5", "25/5", True),
    ("18", "18;", True),
    ("18", "“18”", True),
    ("3.0", "3", True),
    ("-0.5", "-1/2", True),
    ("1/2", "-1/2", False),
    ("2 1/2", "2.5", True),
    ("21/2", "2 1/2", False),
    ("x>5", "5", False),
    ("x>5", "x > 5", True),
    ("x \\ge 5", "x≥5", True),
]


@pytest.mark.parametrize(("gold", "pred", "equal"), FURTHER)
def test_further_pairs(gold, pred, equal):
    assert equal_values(gold, pred) is equal


@pytest.mark.parametrize(("gold", "pred"), EQUAL)
def test_the_same_value_is_equal_however_it_is_written(gold, pred):
    assert equal_values(gold, pred)


@pytest.mark.parametrize(("gold", "pred"), UNEQUAL)
def test_different_values_are_not_equal(gold, pred):
    assert not equal_values(gold, pred)


PROSE = [  # (gold, reply, number that the reply commits to)
    ("72", "Natalia sold 48+24 = 72 clips altogether in April and May.", "72"),
    ("18", "Janet makes 9 * 2 = $18 every day at the farmer's market.", "18"),
    ("45", "Total = 45 miles in 3 hours", "45"),
    ("50", "Answer: 5 * 10 = 50 miles in 3 hours", "50"),
    ("5", "Total cost = $2 + $3 = $5 for both of the kids on Sunday.", "5"),
    ("3000", "Profit = 3 thousand dollars in all for the first year", "3 thousand"),
    ("12", "So the total is 12 (24 / 2).", "12"),
    ("12", "2 * 6 = 12 (24 / 2).", "12"),
    ("12", "The answer is 12 (since 24 / 2 = 12).", "12"),
    ("12", "12. Check: 12*2=24", "12"),
    ("12", "12\nCheck: 12*2=24", "12"),
    ("12", "I get 12. To check, 12*2 = 24.", "12"),
    ("12", "So there are 12 eggs. Verification: 12 + 3 = 15.", "12"),
]


@pytest.mark.parametrize(("gold", "reply", "number"), PROSE)
def test_a_number_in_prose_is_the_value_without_what_it_counts(gold, reply, number):
    assert extract_value(reply).answer == number
    assert equal_values(gold, reply)


@pytest.mark.parametrize(
    ("gold", "reply"),
    [
        ("24", "I get 12. To check, 12*2 = 24."),
        ("24", "12. Check: 12*2=24"),
        ("10", "5*2 = 10 apples and 3 pears"),
        ("5", "x = 5 or 6 apples in the basket"),
        ("5", "The length = 5 feet 3 inches in all the drawings"),
        ("3", "Meet at t = 3:30 in the afternoon on the second Sunday"),
        ("3", "It takes = 3-5 days for the whole of the work"),
        ("3", "y = 3 more than the number of apples in it"),
        ("12", "I get 12. To check, 12*2 = 24. Wait, that is wrong, 12/2 = 6."),
        ("2", "x = 2 (3 + 4)"),
    ],
)
def test_a_number_in_prose_is_not_cut_from_a_larger_value(gold, reply):
    assert not equal_values(gold, reply)


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ("Answer: 18", "18", "answer_colon"),
        ("6*6=36\n#### 36", "36", "hashes"),
        ("<answer>Paris</answer>", "Paris", "xml"),
        ('{"answer": 42, "why": "6*7"}', "42", "answer_colon"),
        ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}", "boxed"),
        ("The answer is Paris.", "Paris", "answer_is"),
        ("6*6=36", "36", "last_equation"),
        ("He has 5 apples and eats 2, so 3 are left.", "3", "last_number"),
        ("It is $1,250.50 in all.", "1,250.50", "last_number"),
        ("Paris", "Paris", "bare"),
    ],
)
def test_the_last_committed_value_is_found(text, answer, rule):
    value = extract_value(text)
    assert (value.status, value.answer, value.rule) == ("ok", answer, rule)
    assert value.span is not None
    assert text[slice(*value.span)] == answer


@pytest.mark.parametrize(
    ("text", "finish_reason", "status"),
    [
        (None, None, "error"),
        ("", "stop", "no_answer"),
        ("I don't know.", "stop", "no_answer"),
        ("Answer: <value>", "stop", "no_answer"),
        ("<think>Answer: 5", "stop", "no_answer"),
        ("<think>Answer: 5", "length", "truncated"),
        ("First we add 5 and 6 to get 11", "length", "truncated"),
        ("The answer is 3", "length", "truncated"),
        ("I'm sorry, I can't help with that.", "stop", "refusal"),
    ],
)
def test_a_reply_without_a_value_says_why(text, finish_reason, status):
    assert extract_value(text, finish_reason).status == status


@pytest.mark.parametrize(
    "text",
    [
        "10^{10^9}",
        "9" * 5000,
        "2^(2^(2^(2^9)))",
        "(x+1)^{999999}",
        "(" * 3000,
        "9^9^9^9^9",
        "1/0",
        "0^{-1}",
        "1e999999",
        "\\sqrt{" * 500,
    ],
)
def test_enormous_values_stay_as_written_and_take_no_time(text):
    start = time.perf_counter()
    canonical_value(text)
    assert time.perf_counter() - start < 1


@given(st.fractions(max_denominator=10**6))
def test_a_rational_has_one_canonical_form(value):
    assert canonical_value(str(value)) == str(value)
    assert canonical_value(f"\\frac{{{value.numerator}}}{{{value.denominator}}}") == str(value)
    assert equal_values(str(value), f"Answer: {value}")


@given(st.integers(-(10**12), 10**12), st.integers(0, 6))
def test_decimals_are_exact(number, places):
    text = f"{'-' if number < 0 else ''}{abs(number) // 10**places}" + (
        f".{abs(number) % 10**places:0{places}d}" if places else ""
    )
    assert canonical_value(text) == str(Fraction(number, 10**places))


PARTS = (
    "0 1 2 12 . , / - + * ^ ( ) { } [ ] x y \\frac \\sqrt \\pi = $ % cm miles a the of"
    " ½ ² \\text{ 1,000 ± π : "
    "and or e3 # _ \\boxed{ million five i am"
)
TEXTS = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from([" ", *PARTS.split()]), max_size=12).map("".join),
)


@given(TEXTS)
@settings(max_examples=600, deadline=None)
def test_canonical_form_is_a_fixed_point_and_agrees_with_equality(text):
    canonical = canonical_value(text)
    assert canonical_value(canonical) == canonical
    if canonical:
        assert equal_values(text, text)
        assert equal_values(text, canonical)


@given(TEXTS, st.sampled_from([None, "stop", "length"]))
@settings(max_examples=300, deadline=None)
def test_any_text_gives_a_value_or_a_status(text, finish_reason):
    value = extract_value(text, finish_reason)
    assert value.rule in {rule.id for rule in VALUE_RULES}
    assert (value.answer is not None) == (value.status == "ok")
    if value.span is not None:
        assert 0 <= value.span[0] <= value.span[1] <= len(text)
