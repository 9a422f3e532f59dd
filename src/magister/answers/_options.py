"""The options of an item: matching a text to one of them, and finding where a reply restates their list."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ._canonical import canonical_value
from ._text import MASK, Span, fold

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LONGEST = 400  # an option text longer than this is only matched as a prefix of a list entry

_CONNECTOR = re.compile(
    r"\s+(?:because|since|as|so|due|which|given|for"
    r"|where|after|per|each|every|is|was|are|because"
    r"|therefore|and not)\b"
    r"|\s*(?:因为|由于|所以|，|。)",
    re.I,
)
_CUT = re.compile(r"[,;(\[]|\s-+\s|\.(?=\s|$)|[!?。！？；，]|\\[\])]|\$\s|\"")
_TAIL = re.compile(r"[\s.,;:!?。！？；，\"'})\]$>*_]+$")


_BULLETS = re.compile(r"(?:[ \t•*>#|✅✓→]|-(?=[\s*])|-(?![\d.$€£¥\\(]))*")


def past_bullet(line: str) -> int:
    """Where a line's own text begins; a hyphen before a number is its sign unless a space follows."""
    found = _BULLETS.match(line)
    return found.end() if found else 0


def text_key(text: str) -> str:
    """A text for exact comparison: folded, one space, no outer punctuation, no case."""
    return re.sub(r"\s+", " ", fold(text).text).strip(" .,;:!?。！？\"'").casefold()


@dataclass(frozen=True)
class Options:
    """The options of one item, prepared for matching.

    Attributes:
        texts: option texts as given.
        keys: the same for exact comparison.
        values: the same in canonical form.
        heads: folded texts that a restated list entry starts with.
        numeric: whether every option holds a digit.
    """

    texts: tuple[str, ...]
    keys: tuple[str, ...]
    values: tuple[str, ...]
    heads: tuple[str, ...]
    numeric: bool

    @property
    def letters(self) -> str:
        """The letters in use."""
        return LETTERS[: len(self.texts)]

    def match(self, text: str) -> tuple[int, ...]:
        """The options that a whole text means; more than one where they have the same value."""
        if not text or len(text) > self.reach or not self._possible(text):
            return ()
        key = text_key(text)
        if not key:
            return ()
        value = canonical_value(text)
        found = [
            i
            for i, (k, v) in enumerate(zip(self.keys, self.values, strict=True))
            if key == k or (value and value == v)
        ]
        exact = [i for i in found if self.keys[i] == key]
        if (
            len(exact) == 1
            and len(found) > 1
            and all(self._other_unit(exact[0], i) for i in found if i != exact[0])
        ):
            return (exact[0],)  # "36 hours" beside "36 minutes"
        return tuple(found)

    @property
    def reach(self) -> int:
        """The longest text that can mean an option."""
        return min(_LONGEST, max(90, 2 * max(map(len, self.texts), default=0) + 40))

    def _possible(self, text: str) -> bool:
        # Canonical form is costly: a sentence without digits is no number, nor is a long one.
        return not self.numeric or len(text) <= 24 or any(map(str.isdigit, text))

    def _other_unit(self, first: int, second: int) -> bool:
        units = [re.sub(r"[\d\s.,/+-]", "", self.keys[i]) for i in (first, second)]
        return all(units) and units[0] != units[1]

    def lookup(self, text: str) -> tuple[tuple[int, ...], int]:
        """The options at the start of a text: the whole of it, else up to a break in the sentence.

        Returns:
            Indices, and how many characters of the text they take.
        """
        whole = text.rstrip()
        ends = [len(whole)]
        sentence = re.search(r"\.(?=\s|$)|[!?。！？；;](?=\s|$|\W)", whole)
        if sentence:
            ends.append(sentence.start())
        ends += [match.start() for match, _ in zip(_CUT.finditer(whole), range(4), strict=False)]
        ends += [match.start() for match, _ in zip(_CONNECTOR.finditer(whole), range(3), strict=False)]
        for end in dict.fromkeys(ends):
            piece = _TAIL.sub("", whole[:end]) if end < len(whole) else whole
            found = self.match(piece) or self.match(_TAIL.sub("", piece))
            if found:
                return found, end
        limit = ends[1] if sentence else len(whole)
        equals = whole.rfind("=", 0, limit)
        if equals >= 0:
            found = self.match(whole[equals + 1 : limit])
            if found:
                return found, limit
        return (), 0

    def starts_with(self, text: str, index: int) -> int:
        """How many characters of `text` are option `index` at its start as a whole; 0 where it is not."""
        head = self.heads[index]
        if not head or text[: len(head)].casefold() != head.casefold():
            return 0
        after = text[len(head) : len(head) + 2]
        if after[:1].isalnum() and head[-1].isalnum() and head[-1].isascii() and after[0].isascii():
            return 0
        if head[-1].isdigit() and re.match(r"[.,/]\d|%", after):
            return 0
        return len(head)


@lru_cache(maxsize=1024)
def _prepare(texts: tuple[str, ...]) -> Options:
    heads = tuple(re.sub(r"\s+", " ", fold(text).text).strip().rstrip(".") for text in texts)
    keys = tuple(text_key(text) for text in texts)
    numeric = all(any(map(str.isdigit, text)) for text in texts)
    return Options(texts, keys, tuple(canonical_value(text) for text in texts), heads, numeric)


def prepare(options: list[str]) -> Options:
    """Prepare an item's options, at most 26 of them."""
    return _prepare(tuple(str(text) for text in options[: len(LETTERS)]))


@dataclass(frozen=True)
class Entry:
    """One line of a restated option list.

    Attributes:
        index: which option.
        span: the entry in the folded text, label and option text.
        text: span of the option's text alone.
        rest: what follows on the same line, such as a tick.
    """

    index: int
    span: Span
    text: Span
    rest: str


_LABEL = re.compile(
    r"(?:(?<=\n)|(?<=\s)|(?<=[,;，；、。(])|^)(?:[-•▪>→➤]\s?)?(?:(?:option"
    r"|choice|选项)\s?)?[(\[]?([A-Z])(?:[)\]]|\s?[.:、-]"
    r"|(?=\s))[)\].:]?\s*",
    re.I,
)


def restated(text: str, options: Options) -> list[list[Entry]]:
    """Runs of at least two labelled options in order, each with its own text.

    Args:
        text: folded text.
        options: the item's options.

    Returns:
        One list of entries for each run.
    """
    runs: list[list[Entry]] = []
    current: list[Entry] = []
    for match in _LABEL.finditer(text):
        index = LETTERS.find(match.group(1).upper())
        if index < 0 or index >= len(options.texts):
            continue
        size = options.starts_with(text[match.end() : match.end() + 2 * _LONGEST], index)
        if not size:
            continue
        if current and match.start() < current[-1].span[1]:
            continue  # a label inside the previous option's own text
        line_end = text.find("\n", match.end() + size, match.end() + size + 60)
        rest = text[match.end() + size : line_end if line_end >= 0 else match.end() + size + 60]
        entry = Entry(index, (match.start(), match.end() + size), (match.end(), match.end() + size), rest)
        if _DISCUSSED.match(rest):
            continue
        follows = current and index == current[-1].index + 1
        if follows and _GAP.fullmatch(text[current[-1].span[1] : match.start()]):
            current.append(entry)
        else:
            runs.append(current)
            current = [entry]
    runs.append(current)
    return [run for run in runs if len(run) > 1]


_GAP = re.compile(
    r"(?:\W|\b(?:or|and|correct|incorrect|right|wrong"
    r"|answer(?!\W*(?:[:=]|is))|yes|no|option|choice"
    r"|the)\b|[和与或正确错误])*+",
    re.I,
)
_DISCUSSED = re.compile(
    r"[ \t]*[-:,(]{0,2}[ \t]*(?:(?:is|isn't|are|was"
    r"|wasn't|seems?|looks?|would|can|could|cannot|can't"
    r"|because|which|too|fits?|does"
    r"|doesn't|since|as|has|might|may|must)\b|[不是太偏对符过])",
    re.I,
)
_MARK = re.compile(
    r"^\s*[-,;:(]?\s*(?:[✓✔✅☑√⭐]|<-+|←|yes\b|\(?(?:the )?(?:correct"
    r"|right)(?: answer| option| choice)?\)?[.!]?\s*$"
    r"|\(?正确(?:答案)?\)?)",
    re.I,
)
_WRONG_MARK = re.compile(r"^\s*[-,;:(]?\s*(?:[✗✘❌×]|no\b|\(?(?:incorrect|wrong)\)?|\(?错误?\)?)", re.I)
_TICK_BEFORE = re.compile(r"(?:[✓✔✅☑→➤]|\[[xX]\]|->|=>)\s*$")


def marked(text: str, original: str, run: list[Entry], spans: list[Span]) -> Entry | None:
    """The one entry of a restated list that carries a tick, a remark or bold type.

    Args:
        text: folded text.
        original: the reply as it came, where emphasis is still to be seen.
        run: the entries.
        spans: the entries' spans in the original.

    Returns:
        The entry, or None where none or several are marked.
    """
    good = [entry for entry in run if _MARK.match(entry.rest) or _ticked(text, entry)]
    if len(good) == 1:
        return good[0]
    bad = [entry for entry in run if _WRONG_MARK.match(entry.rest)]
    if not good and len(bad) == len(run) - 1:
        return next(entry for entry in run if entry not in bad)
    bold = [entry for entry, (start, end) in zip(run, spans, strict=True) if _bold(original, start, end)]
    return bold[0] if not good and len(bold) == 1 else None


def _ticked(text: str, entry: Entry) -> bool:
    start = entry.span[0]
    return _TICK_BEFORE.search(text[max(0, start - 6) : entry.text[0] - 1]) is not None


def _bold(original: str, start: int, end: int) -> bool:
    before, after = original[max(0, start - 8) : start], original[end : end + 9]
    return (before.endswith("**") and "**" in after[:4]) or (
        before.lower().endswith(("<b>", "<strong>")) and "</" in after
    )


def plain_lists(text: str, options: Options) -> list[Span]:
    """Unlabelled restatements: consecutive lines, or items between commas, that are different options.

    Args:
        text: folded text.
        options: the item's options.

    Returns:
        Their spans.
    """
    spans: list[Span] = []
    lines: list[tuple[int, int, int]] = []
    position = 0
    for line in text.split("\n"):
        bare = line[past_bullet(line) :].strip(" \t•*.,;|")
        found = options.match(bare) if bare and len(bare) <= _LONGEST and _plausible(bare, options) else ()
        if len(found) == 1 and found[0] not in [index for index, _, _ in lines]:
            lines.append((found[0], position, position + len(line)))
        elif line.strip():
            if len(lines) > 1:
                spans.append((lines[0][1], lines[-1][2]))
            lines = [(found[0], position, position + len(line))] if len(found) == 1 else []
        position += len(line) + 1
    if len(lines) > 1:
        spans.append((lines[0][1], lines[-1][2]))
    return spans


def _plausible(line: str, options: Options) -> bool:
    # Canonical form is only worked out for lines that could be an option at all.
    return len(line) <= 24 or any(abs(len(line) - len(head)) <= 24 for head in options.heads)


def mask(text: str, spans: list[Span]) -> str:
    """Blank out spans, keeping every offset."""
    parts, position = [], 0
    for start, end in sorted(spans):
        start = max(start, position)
        if end > start:
            parts += [text[position:start], MASK * (end - start)]
            position = end
    return "".join([*parts, text[position:]])
