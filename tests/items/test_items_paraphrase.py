"""Questions in other words, and what holds them in check."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from items_helpers import choice_pool

from magister.config.items import Variant
from magister.contracts.schemas import ITEMS
from magister.errors import UserError
from magister.items import (
    Reply,
    apply_paraphrases,
    build_items,
    paraphrase_bodies,
    paraphrase_review_bodies,
    vary_items,
)
from magister.items.players import PARAPHRASER_MODES, paraphraser, reviewer
from magister.prompts import load_prompt

PROMPTS = Path(__file__).parents[2] / "prompts"
GOOD_REVIEW = {"meaning_kept": True, "answer_kept": True, "no_giveaway": True, "clear": True}


def varied(question, options, key="A", passage=None):
    """One item with a question of its own, in a variant that leaves its options."""
    pool = choice_pool([(options, key)])
    for name, value in (("question", question), ("passage", passage)):
        place = pool.schema.get_field_index(name)
        pool = pool.set_column(place, pool.schema.field(name), pa.array([value], pa.string()))
    items, _ = build_items(pool, pa.table({"item_id": [], "rank": [], "text": []}), options=4)
    return vary_items(items, pool, pool, Variant(paraphraser="p"), "v")


def capital():
    return varied("What is the capital of France?", ["Paris", "Rome", "Berlin", "Madrid"])


def summed(question="What is 12 + 30?"):
    return varied(question, ["42", "41", "52", "43"])


def said(text, status="ok"):
    return {"toy-0000": Reply(json.dumps({"question": text}), status)}


def outcome(made, text):
    return apply_paraphrases(made, said(text)).report["stem_status"][0].as_py()


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (capital(), "Which city is France's capital?"),
        (summed(), "Work out 12 + 30."),
        (summed(), "Add 30 to 12: what comes out?"),
        (summed(), "What do you get from twelve and 30?"),
        (summed("Tom has 1,200 pens and 2 caps. How many things?"), "How many things are 1200 pens and two caps?"),
        (varied("Which of these is not a metal?", ["wood", "iron"]), "Which of these is no metal?"),
        (varied("Is it hot or cold?", ["hot", "cold"]), "Would you call it cold, or is it hot?"),
        (varied("下列哪项不是金属?", ["木", "铁"]), "下列各物中, 哪一项并非金属?"),
        (varied("Is Paris large?", ["yes, Paris", "no"]), "Would you say that Paris is large?"),
    ],
)  # fmt: skip
def test_a_question_in_other_words_is_taken(made, text):
    out = apply_paraphrases(made, said(text))
    assert out.items["question"].to_pylist() == [text]
    assert out.report["stem_status"].to_pylist() == ["paraphrased"]
    assert out.items.drop_columns("question") == made.items.drop_columns("question")
    assert out.items.schema.equals(ITEMS.schema)


@pytest.mark.parametrize(
    ("made", "text", "reason"),
    [
        (capital(), "what is the capital of  France", "unchanged"),
        (capital(), "  ", "empty"),
        (capital(), "Which city is the capital of France: is it Paris?", "gold_stated"),
        (capital(), "Is it Rome that is the capital of France?", "option_stated"),
        (capital(), "Name the capital of France. Hint: option B is wrong.", "gold_stated|option_stated"),
        (capital(), "Which city is not the capital of France?", "changed_negation"),
        (capital(), "Which of the following is the capital of France?", "changed_reference"),
        (capital(), "Say: " + "which city is the capital of France, " * 5, "length"),
        (capital(), "I'm sorry, but I can't help with that.", "refused"),
        (summed(), "Show that 12 + 30 comes to 42.", "gold_stated"),
        (summed(), "Work out 12 + 300.", "changed_numbers"),
        (summed(), "Work out 12 + 30 + 12.", "changed_numbers"),
        (summed(), "Work out the sum.", "changed_numbers"),
        (summed(), "Work out twelve + thirty + two.", "changed_numbers"),
        (summed(), "Work out 12 - 30.", "changed_signs"),
        (summed(), "Work out 12 × 30.", "changed_signs"),
        (summed(), "Work out 12 + -30.", "changed_signs"),
        (varied("Which is not a metal?", ["wood", "iron"]), "Which one is a metal?", "changed_negation"),
        (varied("Is it hot or cold?", ["hot", "cold"]), "What does it feel like?", "changed_reference"),
        (varied("Which of these is a metal?", ["wood", "iron"]), "Name a metal.", "changed_reference"),
        (varied("三个人有几个苹果?", ["9", "8"]), "五个人有几个苹果呢?", "changed_numbers"),
    ],
)
def test_another_question_is_not_taken(made, text, reason):
    assert outcome(made, text).removeprefix("fallback:") in reason.split("|")
    assert apply_paraphrases(made, said(text)).items == made.items


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (None, "error"),
        (Reply(None), "error"),
        (Reply("late", "error"), "error"),
        (Reply("", "refusal"), "refused"),
        (Reply("I'm sorry, I can't help with that."), "refused"),
        (Reply('{"question": "Which ci', "truncated"), "truncated"),
        (Reply("Which city is the capital of France?"), "bad_json"),
        (Reply('{"question": ["Which"]}'), "bad_json"),
        (Reply('{"question": null}'), "bad_json"),
        (Reply('{"question": "Which \\ud800?"}'), "bad_json"),
    ],
)
def test_what_cannot_be_read_leaves_the_question(reply, reason):
    made = capital()
    out = apply_paraphrases(made, {} if reply is None else {"toy-0000": reply})
    assert out.report["stem_status"].to_pylist() == [f"fallback:{reason}"]
    assert out.items == made.items


def test_a_review_must_hold_on_every_point():
    made, text = capital(), "Which city is France's capital?"
    out = apply_paraphrases(made, said(text), {"toy-0000": Reply(json.dumps(GOOD_REVIEW))})
    assert json.loads(out.report["review"][0].as_py()) == GOOD_REVIEW
    assert out.items["question"].to_pylist() == [text]
    for point in GOOD_REVIEW:
        review = Reply(json.dumps(GOOD_REVIEW | {point: False}))
        out = apply_paraphrases(made, said(text), {"toy-0000": review})
        assert out.report["stem_status"].to_pylist() == [f"fallback:review_failed:{point}"]
        assert json.loads(out.report["review"][0].as_py())[point] is False
        assert out.items == made.items
    for reviews, reason in (({}, "error"), ({"toy-0000": Reply("All fine.")}, "bad_json")):
        out = apply_paraphrases(made, said(text), reviews)
        assert out.report["stem_status"].to_pylist() == [f"fallback:review_failed:{reason}"]
        assert out.report["review"].to_pylist() == [None]


def test_the_paraphraser_sees_neither_options_nor_gold():
    made = varied("What does the text say of it?", ["warm", "chilly"], passage="It was warm.")
    (messages,) = paraphrase_bodies(made.items, load_prompt(PROMPTS / "paraphrase/v1.md")).values()
    text = "\n".join(message["content"] for message in messages)
    assert "Question: What does the text say of it?" in text
    assert "Passage: It was warm." in text
    assert "chilly" not in text


def test_only_paraphrases_that_hold_are_reviewed_beside_their_question():
    made, prompt = capital(), load_prompt(PROMPTS / "paraphrase_review/v1.md")
    assert paraphrase_review_bodies(made.items, said("Is it Paris?"), prompt) == {}
    (messages,) = paraphrase_review_bodies(made.items, said("Name France's capital."), prompt).values()
    assert all(f"- {point}: " in messages[0]["content"] for point in GOOD_REVIEW)
    assert messages[1]["content"].endswith(
        "Question: What is the capital of France?\n\nNew question: Name France's capital.\n\nRight answer: Paris"
    )


def test_the_scripted_paraphraser_makes_each_mistake_on_demand():
    made = summed()
    (messages,) = paraphrase_bodies(made.items, load_prompt(PROMPTS / "paraphrase/v1.md")).values()
    found = {}
    for mode in PARAPHRASER_MODES:
        replies = {"toy-0000": Reply(paraphraser(messages, "key", {"mode": mode}))}
        found[mode] = apply_paraphrases(made, replies).report["stem_status"][0].as_py()
    assert found == {
        "reword": "paraphrased",
        "keep": "fallback:unchanged",
        "bad_json": "fallback:bad_json",
        "changed_number": "fallback:changed_numbers",
        "tell": "fallback:gold_stated",
        "empty": "fallback:empty",
        "refuse": "fallback:refused",
    }
    with pytest.raises(UserError, match="unknown mode 'shout'; known: reword"):
        paraphraser(messages, "key", {"mode": "shout"})
    with pytest.raises(UserError, match="rewords only questions with a sum"):
        paraphraser([{"role": "user", "content": "Who?"}], "key", {})


def test_the_scripted_reviewer_fills_in_the_checklist_it_is_shown():
    made = capital()
    prompt = load_prompt(PROMPTS / "paraphrase_review/v1.md")
    (messages,) = paraphrase_review_bodies(made.items, said("Name France's capital."), prompt).values()
    assert json.loads(reviewer(messages, "key", {})) == GOOD_REVIEW
    assert json.loads(reviewer(messages, "key", {"fails": "clear"})) == GOOD_REVIEW | {"clear": False}


numbers = st.integers(0, 10**6)


@settings(max_examples=150, deadline=None)
@given(kept=st.lists(numbers, min_size=1, max_size=5), other=numbers, data=st.data())
def test_a_number_more_less_or_other_is_noticed(kept, other, data):
    made = varied(f"Look at {' and '.join(map(str, kept))}: which is it?", ["this", "that"])
    order = data.draw(st.permutations(kept))

    def asked(values):
        return outcome(made, f"Which is it, when you look at {' and '.join(map(str, values))}?")

    assert asked(order) == "paraphrased"
    if other not in kept:
        assert asked([other, *order[1:]]) == "fallback:changed_numbers"
    assert asked([*order, other]) == "fallback:changed_numbers"
    assert asked(order[1:]) == "fallback:changed_numbers"
