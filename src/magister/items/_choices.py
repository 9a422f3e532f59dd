"""Options and keys as sources write them: lists, text blocks, columns; letters, texts, indices."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from magister.items._text import clean, fold_option

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Not the start of an abbreviation such as "A.D.".
_LABEL = re.compile(r"\(?([A-Za-z])(?:[):、．：）]|\.(?![A-Za-z]\.))\s*|[(（]([A-Za-z])[)）]\s*")
_ONE_LETTER = re.compile(r"[(\[]?([A-Za-z])[)\].:]?")
_LETTERS_ONLY = re.compile(r"[A-Z](?:[\s,;、&+]*(?:and\s+)?[A-Z])+")
_OUTER_SIGNS = re.compile(r"^[\W_]+|[\W_]+$")
_INDEX = re.compile(r"\d{1,3}(?:\.0+)?")
READINGS = ("text", "labelled", "label", "index0", "index1")


class Malformed(ValueError):
    """A value of a kind that cannot be read, with the reason for the user."""


@dataclass(frozen=True)
class Options:
    """The options of one row.

    Attributes:
        texts: option texts, labels removed.
        labels: what the source calls each option: its letter unless the source says otherwise.
        positions: place of each option in the source, from 0; gaps where columns were empty.
    """

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    positions: tuple[int, ...]


def scalar_text(value: Any) -> str | None:
    """Text of a cell; None for a missing one.

    Raises:
        Malformed: the cell is a list or a mapping.
    """
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, str | int | float):
        return clean(str(value)) or None
    raise Malformed(f"expected text, found {type(value).__name__}")


def _labelled(lines: Sequence[str]) -> list[str] | None:
    """Texts of lines labelled A, B, C ... in order; a line without a label belongs to the option before."""
    texts: list[str] = []
    for line in lines:
        match = _LABEL.match(line.strip())
        letter = (match[1] or match[2]).upper() if match else None
        if match and len(texts) < len(LETTERS) and letter == LETTERS[len(texts)]:
            texts.append(line.strip()[match.end() :])
        elif texts:
            # A line of signs alone is what is left of a quotation mark or a rule, not text.
            texts[-1] += f"\n{line}" if any(character.isalnum() for character in line) else ""
        else:
            return None
    return [clean(text) for text in texts] if len(texts) > 1 else None


def strip_labels(texts: Sequence[str]) -> list[str]:
    """Remove `A.`, `(B)` ... where every text carries the label of its place."""
    stripped = []
    for place, text in enumerate(texts):
        match = _LABEL.match(text.strip())
        if match is None or place >= len(LETTERS) or (match[1] or match[2]).upper() != LETTERS[place]:
            return [clean(text) for text in texts]
        stripped.append(clean(text.strip()[match.end() :]))
    return stripped


def _from_list(values: Sequence[Any], labels: Sequence[Any] | None = None) -> Options:
    if values and all(isinstance(value, Mapping) and "text" in value for value in values):
        labels = [value.get("label", LETTERS[i % 26]) for i, value in enumerate(values)]
        values = [value["text"] for value in values]
    texts = [scalar_text(value) or "" for value in values]
    names = [scalar_text(label) or "" for label in (labels if labels is not None else LETTERS)]
    names += [""] * (len(texts) - len(names))
    return Options(tuple(strip_labels(texts)), tuple(names[: len(texts)]), tuple(range(len(texts))))


def _json_list(text: str) -> list[Any] | None:
    """A list written as JSON text, as in a cell of a CSV file."""
    if not text.strip().startswith("["):
        return None
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, list) else None


def _from_block(block: str) -> Options:
    text = block.strip()
    values = _json_list(text)
    if values is not None:
        return _from_list(values)
    lines = [line for line in text.splitlines() if line.strip()]
    return _from_list(_labelled(lines) or lines)


def read_options(value: Any) -> Options | None:
    """Read the options of a row.

    Args:
        value: a list, a text block `A. ...`, a mapping of letters to texts, or a mapping with the lists
            `text` and `label`.

    Returns:
        The options, or None where there are none (an open question).

    Raises:
        Malformed: a value of another kind.
    """
    if value is None or value == "" or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, str):
        return _from_block(value) if value.strip() else None
    if isinstance(value, Mapping):
        texts, labels = value.get("text"), value.get("label")
        if isinstance(texts, list):
            return _from_list(texts, labels if isinstance(labels, list) else None)
        # Parquet gives every row all letters; those that a row lacks are null.
        present = {str(label): text for label, text in value.items() if text is not None}
        return _from_list(list(present.values()), list(present))
    if isinstance(value, Sequence):
        return _from_list(list(value)) if len(value) else None
    raise Malformed(f"options: expected a list or text, found {type(value).__name__}")


def read_option_columns(values: Sequence[Any]) -> Options | None:
    """Read options from several columns. Empty cells are no options; the others keep their letters."""
    texts = [scalar_text(value) for value in values]
    kept = [place for place, text in enumerate(texts) if text is not None]
    if not kept:
        return None
    shown = strip_labels([texts[place] or "" for place in kept])
    return Options(tuple(shown), tuple(LETTERS[place % 26] for place in kept), tuple(kept))


def _words(text: str) -> str:
    """A text without the signs around it, unless it is signs alone: beside a letter, that much must agree."""
    folded = fold_option(text)
    return _OUTER_SIGNS.sub("", folded) or folded


def _single(answer: Any, options: Options) -> dict[str, int]:
    """Every way in which one answer names an option, with the place it names."""
    text = scalar_text(answer)
    if text is None:
        return {}
    found: dict[str, int] = {}
    keys = [fold_option(option) for option in options.texts]
    if keys.count(fold_option(text)) == 1:
        found["text"] = keys.index(fold_option(text))
    plain = unicodedata.normalize("NFKC", text)
    names = [label.upper() for label in options.labels]
    if names.count(plain.upper()) == 1:
        found["label"] = names.index(plain.upper())
    elif (match := _ONE_LETTER.fullmatch(plain)) and match[1].upper() in names:
        found["label"] = names.index(match[1].upper())
    elif (match := _LABEL.match(text)) and (match[1] or match[2]).upper() in names:
        place = names.index((match[1] or match[2]).upper())
        if _words(text[match.end() :]) == _words(options.texts[place]):
            found["labelled"] = place
    # Where the source labels options by number, a number is a label.
    if "label" not in found and _INDEX.fullmatch(plain):
        index = int(float(plain))
        for reading, position in (("index0", index), ("index1", index - 1)):
            if position in options.positions:
                found[reading] = options.positions.index(position)
    return found


def key_readings(answer: Any, options: Options) -> dict[str, tuple[int, ...]]:
    """Every way in which an answer names options.

    Args:
        answer: a letter, several letters (`AC`, `A, C`), an option's text, `B. text`, an index, or a list of
            these.
        options: the row's options.

    Returns:
        By reading (one of `READINGS`), the places named, ascending. Empty where nothing matches.
    """
    if isinstance(answer, str):
        answer = _json_list(answer) or answer
    parts = list(answer) if isinstance(answer, Sequence) and not isinstance(answer, str) else [answer]
    singles = [_single(part, options) for part in parts]
    found = {
        reading: tuple(sorted({single[reading] for single in singles}))
        for reading in READINGS
        if singles and all(reading in single for single in singles)
    }
    if len(parts) == 1 and isinstance(parts[0], str) and "label" not in found:
        plain = unicodedata.normalize("NFKC", parts[0]).strip()
        letters = re.sub(r"\band\b|[^A-Z]", "", plain) if _LETTERS_ONLY.fullmatch(plain) else ""
        if len(set(letters)) == len(letters) > 1 and all(letter in options.labels for letter in letters):
            found["label"] = tuple(sorted(options.labels.index(letter) for letter in letters))
    return found


def choose_reading(
    found: Mapping[str, tuple[int, ...]], answer: Any, support: Counter[str]
) -> tuple[int, ...] | None:
    """Decide which options an answer means when it can be read in several ways.

    The reading that fits more rows of the data set wins: a letter among letters is a letter even where one
    option happens to read "B". At a tie an index counts from 0, and written text goes before an index.

    Args:
        found: readings of this row, from `key_readings`.
        answer: the answer as it stands, for ties.
        support: by reading, how many rows of the data set it fits.

    Returns:
        The places of the right options, or None where two readings disagree and nothing decides.
    """
    candidates = dict(found)
    if "index0" in candidates and "index1" in candidates:
        weaker = "index0" if support["index1"] > support["index0"] else "index1"
        del candidates[weaker]
    if len(set(candidates.values())) == 1:
        return next(iter(candidates.values()))
    most = max(support[reading] for reading in candidates)
    best = {reading: places for reading, places in candidates.items() if support[reading] == most}
    if len(set(best.values())) == 1:
        return next(iter(best.values()))
    if isinstance(answer, str) and "text" in best and not best.keys() & {"label", "labelled"}:
        return best["text"]
    return None
