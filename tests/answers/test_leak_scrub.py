"""What guidance gives away, and what a blind teacher may read."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magister.answers import extract_choice, find_leak, scrub_options

NUMBERS = ["30", "36", "42", "48"]
CITIES = ["London", "Rome", "Paris", "Madrid"]


@pytest.mark.parametrize(
    ("guidance", "kind"),
    [
        ("The answer is 36.", "gold"),
        ("It comes to 36.0 in the end.", "gold"),
        ("You need 36 miles.", "gold"),
        ("It is thirty-six.", "gold"),
        ("The result is $\\frac{72}{2}$.", "gold"),
        ("Think about option B.", "gold"),
        ("The right choice is (B).", "gold"),
        ("B is correct.", "gold"),
        ("答案是B。", "gold"),
        ("正确答案是36。", "gold"),
        ("It is not 42.", "option"),
        ("Option C is too large.", "option"),
        ("It isn't C.", "option"),
        ("Look at 360 again.", "none"),
        ("Look at 3.6 again.", "none"),
        ("What is 6*6?", "none"),
        ("A good way is to add six rows.", "none"),
        ("I think you should count again.", "none"),
        ("Look at line 36 and step 30.", "none"),
        ("", "none"),
    ],
)
def test_a_leak_is_found_and_ranked(guidance, kind):
    assert find_leak(guidance, NUMBERS, "B", "36").kind == kind


def test_option_texts_leak_as_whole_words_only():
    assert find_leak("Think of paris in spring.", CITIES, "C", "Paris").kind == "gold"
    assert find_leak("Think of Parisian streets.", CITIES, "C", "Paris").kind == "none"
    assert find_leak("It is not Rome.", CITIES, "C", "Paris").kind == "option"


def test_fractions_leak_by_value():
    assert find_leak("It is 0.5 of it.", ["1/2", "1/3"], "A", "1/2").kind == "gold"
    assert find_leak("That is $2π$.", ["2\\pi", "\\pi"], "A", "2\\pi").kind == "gold"


def test_what_the_question_says_is_marked():
    leak = find_leak("Start from the 36 trees.", NUMBERS, "B", "36", question="There are 36 trees ...")
    assert [span.in_question for span in leak.spans] == [True]
    leak = find_leak("It is 36.", NUMBERS, "B", "36", question="There are 6 rows.")
    assert [span.in_question for span in leak.spans] == [False]


def test_leak_spans_point_at_the_place():
    text = "**Hint:** it is `36` miles"
    (span,) = find_leak(text, NUMBERS, "B", "36").spans
    assert text[span.start : span.end] == "36"


@pytest.mark.parametrize(
    ("options", "text", "expected"),
    [
        (NUMBERS, "Answer: B) 36", "Answer: 36"),
        (NUMBERS, "Answer: B", "Answer: "),
        (NUMBERS, "B) 36", "36"),
        (NUMBERS, "I choose option B because 6*6=36.", "I choose  because 6*6=36."),
        (NUMBERS, "A) 30\nB) 36\nC) 42\nD) 48\nAnswer: B) 36", "\nAnswer: 36"),
        (NUMBERS, "The options are 30, 36, 42, or 48. I got 36.", "The options are . I got 36."),
        (CITIES, "London\nRome\nParis\nMadrid\nIt is Paris.", "\nIt is Paris."),
        (NUMBERS, "A train runs 36 miles. I think A is wrong.", "A train runs 36 miles. I think  is wrong."),
        (NUMBERS, "Let A = 5 and B = 6; A + B = 11.", "Let A = 5 and B = 6; A + B = 11."),
        (NUMBERS, "6*6 = 36 (B).", "6*6 = 36 ."),
        (NUMBERS, "选项A不对，答案是B。", "不对，答案是。"),
        (NUMBERS, '{"answer": "B"}', '{"answer": ""}'),
        (NUMBERS, "(B) / 6*6", " / 6*6"),
        (NUMBERS, "( B ), then", "(  ), then"),
        (NUMBERS, "(London, A) it is", "(London, it is"),
        (NUMBERS, "f(x, A) and (x + A) and sin(A)", "f(x, A) and (x + A) and sin(A)"),
        (NUMBERS, "the answer is (b).", "the answer is ."),
        (NUMBERS, "the answer is a sum", "the answer is a sum"),
        (NUMBERS, "b) 36", "36"),
        (NUMBERS, "$B$", "$$"),
        (NUMBERS, "Ответ: В", "Ответ: "),
        (NUMBERS, "Answer: A\nfor now", "Answer: \nfor now"),
        (NUMBERS, "I added 6 six times and got 36.", "I added 6 six times and got 36."),
    ],
)
def test_options_are_scrubbed_and_reasoning_stays(options, text, expected):
    assert scrub_options(text, options).text == expected


def test_removed_spans_refer_to_the_original():
    text = "**Answer:** Ｂ) 36"
    scrubbed = scrub_options(text, NUMBERS)
    kept, position = [], 0
    for start, end, _ in scrubbed.removed:
        kept.append(text[position:start])
        position = end
    assert "".join([*kept, text[position:]]) == scrubbed.text
    assert "Ｂ" not in scrubbed.text


REFERENCE = re.compile(
    r"(?<![A-Za-z0-9_])(?:[Aa]nswer|[Oo]ption|[Cc]hoice)(?: is|:)? \(?[A-D](?![A-Za-z'])[).]?(?:\s*$"
    r"|\n|\.)|(?<!\b[a-zP])(?<!sin)(?<!cos)(?<!tan)(?<!log)(?<![_'\\^])\([A-D]\)"
)
PIECES = st.lists(
    st.sampled_from(
        [
            "Answer: ",
            "B",
            "C) ",
            "option ",
            "A",
            " ",
            "36",
            "\n",
            "or ",
            "(D)",
            "the answer is ",
            ". ",
            "I ",
            "choose ",
            "trees",
            "**",
        ]
    )
    | st.text(max_size=4),
    max_size=25,
)


@given(PIECES)
@settings(max_examples=400, deadline=None)
def test_no_reference_to_a_letter_survives(pieces):
    text = "".join(pieces)
    scrubbed = scrub_options(text, NUMBERS)
    assert not REFERENCE.search(unicodedata.normalize("NFKC", scrubbed.text)), (text, scrubbed)
    assert scrub_options(scrubbed.text, NUMBERS).text == scrubbed.text
    ends = [end for _, end, _ in scrubbed.removed]
    starts = [start for start, _, _ in scrubbed.removed]
    assert all(0 <= a < b <= len(text) for a, b in zip(starts, ends, strict=True))
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))


AROUND = st.text(max_size=8).filter(
    lambda text: not re.search(r"[A-D(]", unicodedata.normalize("NFKC", text))
)
LABELS = st.sampled_from(
    ["({})", "[{}]", "( {} )", "{})", "Answer: {}", "answer is {}", "option {}", "Option ({})", "choice: {}"]
)


@pytest.mark.parametrize("text", ["<P\x85: (A) >", "<b (A) >", "<p option A>", "< br (A) >", "<i\n(A)>"])
def test_what_stands_between_angle_brackets_is_text_unless_it_is_a_tag(text):
    assert "A" not in scrub_options(text, NUMBERS).text
    assert find_leak(text, NUMBERS, "A", NUMBERS[0]).kind == "gold"


def test_a_tag_with_attributes_is_markup():
    assert extract_choice('Answer: <span class="x" style="color: red">B</span>', NUMBERS).answer == "B"
    assert extract_choice("Answer: <br/><font size=3>B</font >", NUMBERS).answer == "B"


@given(
    AROUND.filter(lambda text: not re.search(r"[\w'\\^(\[]\s*$", text)),
    LABELS,
    st.sampled_from("ABCD"),
    st.tuples(st.sampled_from("/=+-.,;:!?)(]>|%#\n。，"), AROUND).map("".join),
)
@settings(max_examples=400, deadline=None)
def test_a_label_or_slot_is_found_whatever_stands_around_it(before, label, letter, after):
    text = before + " " + label.format(letter) + " " + after
    assert not re.search(rf"(?<![A-Za-z]){letter}(?![A-Za-z])", scrub_options(text, NUMBERS).text)
    assert find_leak(text, NUMBERS, letter, NUMBERS["ABCD".index(letter)]).kind == "gold"


@given(PIECES)
@settings(max_examples=400, deadline=None)
def test_a_scrubbed_reply_says_no_letter(pieces):
    scrubbed = scrub_options("".join(pieces), NUMBERS).text
    choice = extract_choice(scrubbed, NUMBERS)
    if choice.status == "ok" and choice.span is not None:
        said = scrubbed[slice(*choice.span)]
        assert re.search(r"\d", said), (scrubbed, choice)


@given(PIECES)
@settings(max_examples=200, deadline=None)
def test_leaks_of_any_text_have_valid_spans(pieces):
    text = "".join(pieces)
    leak = find_leak(text, NUMBERS, "B", "36", text[:10])
    assert (leak.kind == "none") == (not leak.spans)
    assert all(0 <= span.start < span.end <= len(text) for span in leak.spans)
