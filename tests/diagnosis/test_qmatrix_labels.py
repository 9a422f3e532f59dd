"""Labels by a model: what is asked, what is read, and when label and terms disagree."""

from __future__ import annotations

from pathlib import Path

import pytest
from qmatrix_cases import clusters_of, study

from magister.config.models import ModelConfig
from magister.contracts.diagnosis_tables import ATTRIBUTE_LABELS, LABELS_ASKED
from magister.diagnosis.clusters import Partition
from magister.diagnosis.labels import label_requests, read_labels, term_labels, words_agree
from magister.diagnosis.qmatrix_tables import attribute_terms
from magister.errors import UserError
from magister.llm import Response, Speaker, fingerprint
from magister.prompts import load_prompt
from magister.provenance import conform

PROMPT = load_prompt(Path(__file__).resolve().parents[2] / "prompts" / "label_attribute" / "v1.md")
ITEMS, PARTS = study()
TERMS = attribute_terms(PARTS, ITEMS, 6)


def speaker() -> Speaker:
    config = ModelConfig(engine="scripted", script="echo")
    return Speaker("namer", config, fingerprint("namer", config, None))


def ask():  # type: ignore[no-untyped-def]
    return label_requests(clusters_of(PARTS), ITEMS, TERMS, speaker(), PROMPT, examples=3)


def reply(key: str, text: str, finish: str = "stop", error: str | None = None) -> Response:
    return Response(key, text, None, finish, None, None, None, error)


def read(*texts: str | Response):  # type: ignore[no-untyped-def]
    asked = ask().asked
    keys = asked["request_id"].to_pylist()
    said = [*texts, *['{"label": "sorting words by letters"}'] * (3 - len(texts))]
    responses = {
        key: reply(key, text) if isinstance(text, str) else Response(key, *[getattr(text, name) for name in (
            "text", "reasoning", "finish_reason", "model", "prompt_tokens", "completion_tokens", "error")])
        for key, text in zip(keys, said, strict=True)
    }  # fmt: skip
    table = read_labels(asked, responses, TERMS)
    assert conform(table, ATTRIBUTE_LABELS).equals(table)
    return table.to_pylist()


def test_a_model_sees_terms_and_central_items_of_one_attribute() -> None:
    made = ask()
    assert conform(made.asked, LABELS_ASKED).equals(made.asked)
    assert made.asked["attribute"].to_pylist() == ["a01", "a02", "a03"]
    first = made.requests[0]["body"]["messages"][-1]["content"]
    assert ", ".join(TERMS["a01"]) in first
    assert first.count("greatest common divisor of") == 3
    assert "rectangle" not in first


def test_a_label_with_a_word_of_the_terms_agrees() -> None:
    (first, *_) = read('```json\n{"label": "Greatest common divisors."}\n```')
    assert (first["label"], first["label_source"], first["agrees"]) == (
        "Greatest common divisors",
        "model",
        True,
    )
    assert (first["status"], first["reason"]) == ("ok", "")


def test_a_label_without_one_disagrees() -> None:
    (first, *_) = read('{"label": "long division"}')
    assert (first["label"], first["agrees"]) == ("long division", False)
    assert first["reason"] == "label and terms share no word"


def test_one_label_for_two_attributes_disagrees_with_both() -> None:
    rows = read('{"label": "common divisor"}', '{"label": "Common Divisor"}')
    assert [row["agrees"] for row in rows] == [False, False, True]
    assert rows[0]["reason"] == "the same label as a02"


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (reply("", "", error="server"), "error"),
        (reply("", "", error="context_length"), "context_exceeded"),
        (reply("", "no", "content_filter"), "refusal"),
        (reply("", '{"label": "greatest com', "length"), "truncated"),
        ("", "no_answer"),
        ("Divisors, I think.", "invalid"),
        ('{"label": "' + "long " * 20 + '"}', "invalid"),
        ('{"label": "42"}', "invalid"),
        ('{"name": "divisors"}', "invalid"),
    ],
)
def test_a_reply_without_a_label_leaves_the_terms_and_says_why(said: str | Response, status: str) -> None:
    (first, *_) = read(said)
    assert first["status"] == status
    assert (first["label"], first["label_source"]) == (", ".join(TERMS["a01"][:3]), "terms")
    assert first["agrees"] is None
    assert first["reason"]


@pytest.mark.parametrize(
    ("label", "terms", "agrees"),
    [
        ("Factoring", ["factorization"], True),
        ("the sum of numbers", ["summation"], True),
        ("the use of it", ["of", "the it"], False),
        ("geometry", ["perimeter", "rectangle"], False),
        ("area", ["ar", "a"], False),
        ("解方程", ["方程"], True),
        ("сложение", ["сложение чисел"], True),
        ("", ["sum"], False),
        ("sum", [], False),
    ],
)
def test_label_and_terms_agree_where_words_begin_alike(label: str, terms: list[str], agrees: bool) -> None:
    assert words_agree(label, terms) is agrees


def test_labels_without_a_model_are_terms() -> None:
    table = term_labels(TERMS)
    assert conform(table, ATTRIBUTE_LABELS).equals(table)
    assert set(table["label_source"].to_pylist()) == {"terms"}


def test_labels_of_other_attributes_or_without_a_response_are_refused() -> None:
    asked = ask().asked
    with pytest.raises(UserError, match="not on both sides: a04"):
        read_labels(asked, {}, TERMS | {"a04": []})
    with pytest.raises(UserError, match=r"request for a label of a01 .* has no response"):
        read_labels(asked, {}, TERMS)


def test_an_item_without_a_text_is_named() -> None:
    parts = Partition((*PARTS.items, "zz"), PARTS.attributes, PARTS.labels.take([*range(27), 0], mode="clip"))
    with pytest.raises(UserError, match="'zz' of the clusters is not among"):
        attribute_terms(parts, ITEMS, 6)
