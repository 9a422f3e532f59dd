"""Labels of attributes: from their terms, or by a model whose word is held against the terms."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from magister.answers import parse_judge_reply
from magister.contracts.diagnosis_tables import ATTRIBUTE_LABELS, LABELS_ASKED
from magister.diagnosis.terms import label_of_terms, shown_items, words
from magister.errors import UserError
from magister.llm import Request, Response, Speaker
from magister.prompts import Prompt

MOST_CHARACTERS = 60
"""Of a label."""
_SHOWN = 400
"""Characters of an item that a model is shown."""
_STEM = 6
_LEAST = 3


class Asked(NamedTuple):
    """What a model is asked.

    Attributes:
        requests: one an attribute, in their order.
        asked: LABELS_ASKED table.
    """

    requests: list[Request]
    asked: pa.Table


def label_requests(
    clusters: pa.Table,
    items: pa.Table,
    terms: Mapping[str, Sequence[str]],
    speaker: Speaker,
    prompt: Prompt,
    *,
    examples: int = 5,
    max_tokens: int = 40,
) -> Asked:
    """Ask a model to name each attribute.

    Args:
        clusters: Q_CLUSTERS table.
        items: DIAGNOSED_ITEMS table.
        terms: of each attribute.
        speaker: the model.
        prompt: template over terms and texts (lists).
        examples: central items that it is shown, shortened.
        max_tokens: reply limit.

    Returns:
        Requests, and which request belongs to what.

    Raises:
        UserError: an item of a cluster has no text.
    """
    text = item_texts(items)
    requests, asked = [], []
    for attribute, shown in sorted(shown_items(clusters, central=examples, boundary=0).items()):
        texts = [shortened(" ".join(text_of(text, item).split()), _SHOWN) for item in shown.central]
        request = speaker.request(prompt.render(terms=list(terms[attribute]), texts=texts), max_tokens)
        requests.append(request)
        asked.append({"attribute": attribute, "request_id": request["custom_id"]})
    return Asked(requests, pa.Table.from_pylist(asked, schema=LABELS_ASKED.schema))


def item_texts(items: pa.Table) -> dict[str, str]:
    """Texts by item id.

    Args:
        items: DIAGNOSED_ITEMS table.
    """
    return dict(zip(items["item_id"].to_pylist(), items["text"].to_pylist(), strict=True))


def text_of(texts: Mapping[str, str], item: str) -> str:
    """The text of an item.

    Raises:
        UserError: it has none.
    """
    if item not in texts:
        raise UserError(
            f"the item {item!r} of the clusters is not among the {len(texts)} items of the study; make the clusters of "
            "the study's items"
        )
    return texts[item]


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters; an ellipsis says that it goes on."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def words_agree(label: str, terms: Sequence[str]) -> bool:
    """Whether a label and the terms of its attribute speak of the same thing.

    They do where a word of the label and a word of the terms begin alike: with the same six letters, or all letters of
    the shorter one, which has at least three ("sum" and "summation", "factoring" and "factorization"). The commonest
    English words do not count. The test is blunt on purpose: a label that it holds against may well be right, and
    then a reviewer says so.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    said, known = (
        {word for word in words(text) if word not in ENGLISH_STOP_WORDS}
        for text in (label, " \n ".join(terms))
    )
    return any(_alike(one, two) for one in said for two in known)


def _alike(one: str, two: str) -> bool:
    if one == two:
        return True
    if not (one.isascii() and two.isascii()):
        # Letters of other scripts are fewer a word; pairs of signs are whole words.
        return len(one) > _LEAST and one[:_STEM] == two[:_STEM]
    length = min(_STEM, len(one), len(two))
    return length >= _LEAST and one[:length] == two[:length]


def term_labels(terms: Mapping[str, Sequence[str]]) -> pa.Table:
    """Labels without a model: the first three terms.

    Args:
        terms: of each attribute.

    Returns:
        ATTRIBUTE_LABELS table.
    """
    rows = [_term_row(attribute, found) for attribute, found in sorted(terms.items())]
    return pa.Table.from_pylist(rows, schema=ATTRIBUTE_LABELS.schema)


def _term_row(
    attribute: str, terms: Sequence[str], status: str = "ok", reason: str = ""
) -> dict[str, object]:
    return {
        "attribute": attribute,
        "label": label_of_terms(terms, attribute),
        "label_source": "terms",
        "terms": list(terms),
        "status": status,
        "reason": reason or ("" if terms else "its texts have no terms"),
        "agrees": None,
        "raw": None,
        "request_id": None,
    }


def read_labels(
    asked: pa.Table, responses: Mapping[str, Response], terms: Mapping[str, Sequence[str]]
) -> pa.Table:
    """Read the labels that a model gave.

    Args:
        asked: LABELS_ASKED table from `label_requests`.
        responses: by request key.
        terms: of each attribute.

    Returns:
        ATTRIBUTE_LABELS table. A reply that holds no label leaves the attribute with that of its terms and the status
        of the reply: `error`, `context_exceeded`, `refusal`, `truncated`, `no_answer`, `ambiguous` or `invalid` (no
        line of at most 60 characters). `agrees` is False, with the reason, where label and terms disagree
        (`words_agree`), or where two attributes have the same label.

    Raises:
        UserError: an attribute of the terms was not asked for, or has no response.
    """
    requests = dict(zip(asked["attribute"].to_pylist(), asked["request_id"].to_pylist(), strict=True))
    if set(requests) != set(terms):
        odd = sorted(set(requests) ^ set(terms))
        raise UserError(
            f"labels were asked for {len(requests)} attributes, and there are {len(terms)}; not on both sides: "
            f"{', '.join(odd[:3])}. Make the requests anew"
        )
    rows = []
    for attribute, request in sorted(requests.items()):
        if request not in responses:
            raise UserError(
                f"the request for a label of {attribute} ({request}) has no response; complete it first"
            )
        label, status = _read(responses[request])
        said = {"raw": responses[request].text, "request_id": request}
        if label is None:
            told = responses[request].error or f"the reply holds no label: {status}"
            rows.append(_term_row(attribute, terms[attribute], status, told) | said)
            continue
        agrees = words_agree(label, terms[attribute])
        rows.append(
            _term_row(attribute, terms[attribute])
            | said
            | {"label": label, "label_source": "model", "agrees": agrees}
            | {"reason": "" if agrees else "label and terms share no word"}
        )
    return pa.Table.from_pylist(_same_labels(rows), schema=ATTRIBUTE_LABELS.schema)


def _same_labels(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Mark labels that several attributes have: they cannot all be right."""
    who: dict[str, list[str]] = {}
    for row in rows:
        who.setdefault(str(row["label"]).casefold(), []).append(str(row["attribute"]))
    for row in rows:
        others = [name for name in who[str(row["label"]).casefold()] if name != row["attribute"]]
        if others and row["label_source"] == "model":
            told = f"the same label as {', '.join(others)}"
            row["reason"] = f"{row['reason']}; {told}" if row["reason"] else told
            row["agrees"] = False
    return rows


def _read(response: Response) -> tuple[str | None, str]:
    failed = response.failed_status
    if failed is not None:
        return None, failed
    if response.finish_reason == "content_filter":
        return None, "refusal"
    said = parse_judge_reply(response.text, {"label": "str"})
    if said.status != "ok":
        cut = response.finish_reason == "length" and said.status in ("invalid", "no_answer")
        return None, "truncated" if cut else said.status
    label = re.sub(r"\s+", " ", said.values["label"]).strip().strip("\"'“”.").strip()
    if not label or len(label) > MOST_CHARACTERS or not any(sign.isalpha() for sign in label):
        return None, "invalid"
    return label, "ok"
