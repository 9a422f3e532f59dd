"""WordPiece: how BERT models cut a text into tokens. Reads `tokenizer.json`, needs no tokenizer library.

Follows the normaliser, the pre-tokeniser and the model of BERT (Devlin et al., NAACL 2019; Wu et al.,
arXiv:1609.08144) as `tokenizer.json` describes them. Text is data: `[SEP]` in a text is five characters and
never the special token.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from magister.errors import UserError

VERSION = 1
"""Part of an embedder's fingerprint: a change of any token is a new version."""

_CACHED_WORDS = 1 << 16
_CONTROLS = ("Cc", "Cf", "Co", "Cs")
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class _CleanTable(dict[int, str]):
    """By code point, filled as characters come: controls go, white space becomes a space, ideographs stand alone."""

    def __init__(self, clean: bool, ideographs: bool) -> None:
        super().__init__()
        self._clean, self._ideographs = clean, ideographs

    def __missing__(self, code: int) -> str:
        text = chr(code)
        if self._clean and text in "\t\n\r":
            text = " "
        elif self._clean and (code in (0, 0xFFFD) or unicodedata.category(text) in _CONTROLS):
            text = ""
        elif self._clean and text.isspace():
            text = " "
        elif self._ideographs and any(low <= code <= high for low, high in _IDEOGRAPHS):
            text = f" {text} "
        self[code] = text
        return text


class _SplitTable(dict[int, str]):
    """By code point: accents go, letters get their case, punctuation stands alone."""

    def __init__(self, accents: bool, lower: bool) -> None:
        super().__init__()
        self._accents, self._lower = accents, lower

    def __missing__(self, code: int) -> str:
        text = chr(code)
        kind = unicodedata.category(text)
        if self._accents and kind == "Mn":
            text = ""
        elif kind[0] == "P" or (code < 128 and kind[0] == "S"):
            text = f" {text} "
        elif self._lower:
            text = text.lower()
        self[code] = text
        return text


class WordPiece:
    """A tokenizer.

    Attributes:
        size: number of tokens in the vocabulary.
    """

    def __init__(self, spec: Mapping[str, Any], where: str = "tokenizer") -> None:
        """Take a tokenizer from the content of `tokenizer.json`.

        Raises:
            UserError: it is not a BERT WordPiece tokenizer.
        """
        try:
            kinds = tuple(spec[part]["type"] for part in ("normalizer", "pre_tokenizer", "model"))
            normalizer, model = spec["normalizer"], spec["model"]
            vocabulary: dict[str, int] = dict(model["vocab"])
            special = {token["content"]: int(token["id"]) for token in spec["added_tokens"]}
            unknown = str(model["unk_token"])
            self._prefix = str(model["continuing_subword_prefix"])
            self._longest_word = int(model["max_input_chars_per_word"])
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{where}: not a WordPiece tokenizer.json: {error!r} is missing or odd") from None
        if kinds != ("BertNormalizer", "BertPreTokenizer", "WordPiece"):
            raise UserError(
                f"{where}: expected BertNormalizer, BertPreTokenizer and WordPiece; found {', '.join(kinds)}"
            )
        missing = [name for name in ("[CLS]", "[SEP]", unknown) if name not in special]
        if missing:
            raise UserError(f"{where}: no special token {', '.join(missing)}")
        lower = bool(normalizer["lowercase"])
        accents = normalizer["strip_accents"]
        self._accents = lower if accents is None else bool(accents)
        self._clean = _CleanTable(bool(normalizer["clean_text"]), bool(normalizer["handle_chinese_chars"]))
        self._split = _SplitTable(self._accents, lower)
        self._vocabulary = vocabulary
        self._first, self._last = special["[CLS]"], special["[SEP]"]
        self._unknown = special[unknown]
        self._words: dict[str, tuple[int, ...]] = {}
        self.size = len(vocabulary)

    @classmethod
    def from_file(cls, path: Path) -> WordPiece:
        """Read `tokenizer.json`.

        Raises:
            UserError: the file is missing, not JSON, or another kind of tokenizer.
        """
        try:
            spec = json.loads(path.read_bytes())
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise UserError(f"{path}: not JSON: {error}") from None
        if not isinstance(spec, dict):
            raise UserError(f"{path}: expected an object, found {type(spec).__name__}")
        return cls(spec, str(path))

    def encode(self, text: str) -> list[int]:
        """Cut a text into tokens.

        Args:
            text: any text.

        Returns:
            Token ids, `[CLS]` first and `[SEP]` last, not truncated.
        """
        plain = text.translate(self._clean)
        if self._accents:
            plain = unicodedata.normalize("NFD", plain)
        ids = [self._first]
        known = self._words
        for word in plain.translate(self._split).split():
            pieces = known.get(word)
            if pieces is None:
                if len(known) >= _CACHED_WORDS:
                    known.clear()
                pieces = known[word] = self._pieces(word)
            ids += pieces
        ids.append(self._last)
        return ids

    def _pieces(self, word: str) -> tuple[int, ...]:
        """Longest piece first; a word with a part that no piece covers is unknown as a whole."""
        if len(word) > self._longest_word:
            return (self._unknown,)
        found, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = word[start:end] if start == 0 else self._prefix + word[start:end]
                if piece in self._vocabulary:
                    break
            else:
                return (self._unknown,)
            found.append(self._vocabulary[piece])
            start = end
        return tuple(found)
