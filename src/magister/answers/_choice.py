"""The option that a reply commits to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from . import _options
from ._choice_rules import CHOICE_RULES, EXPLICIT
from ._commit import Commit, statements
from ._line_choice import line_choices, value_choices
from ._marked import marked_lines
from ._options import Entry, Options
from ._payload import Payload
from ._reasoning import visible_spans
from ._refusal import refuses
from ._text import Folded, Span, fold, segments

__all__ = ["CHOICE_RULES", "Choice", "extract_choice"]


@dataclass(frozen=True)
class Choice:
    """What a reply to a multiple-choice item says.

    Attributes:
        status: `ok`, `no_answer`, `ambiguous`, `refusal`, `truncated` or `error`.
        answer: the letter (several in order, as "AC", where several were wanted); None unless `ok`.
        rule: id of the rule in `CHOICE_RULES` that decided.
        span: where the commitment stands in the reply, or None.
    """

    status: str
    answer: str | None
    rule: str
    span: Span | None


_RETRACTION = re.compile(
    r"\bno,|\b(?:wait|actually|correction|sorry|hmm|on second thought"
    r"|let me re|i was wrong|revised?)\b|等等|更正|重新|不对",
    re.I,
)


def _foreign_list(text: str, options: Options) -> int | None:
    """Where another question with options of its own begins."""
    labels = list(re.finditer(r"\n[ \t]*[(\[]?([AB])[).:\]][ \t]*(?=\S)", text))
    for first, second in pairwise(labels):
        if (first.group(1), second.group(1)) != ("A", "B") or second.start() - first.end() > 200:
            continue
        if any(options.starts_with(text[m.end() : m.end() + 800], i) for i, m in enumerate((first, second))):
            continue
        above = text[: first.start()].rstrip()
        if above.endswith(("?", "？", ":")):
            return max(above.rfind("\n") + 1, 0)
    return None


def _with_cut_entry(text: str, last: Entry, options: Options) -> int:
    """The end of a restated list, with the entry in which the reply breaks off."""
    end = last.span[1]
    following = last.index + 1
    if following < len(options.texts) and len(text) - end < 400:
        cut = re.fullmatch(r"[\s,;|*-]*[(\[]?([A-Z])[)\].:]?\s*(.*)", text[end:], re.S)
        if (
            cut
            and cut[1] == options.letters[following]
            and options.heads[following].startswith(cut[2].strip())
        ):
            return len(text)
    return end


def _echoes(folded: Folded, text: str, original: str, options: Options) -> tuple[list[Span], Commit | None]:
    """Restated option lists, to be kept out of the search, and the entry that one of them marks."""
    spans: list[Span] = []
    tick: Commit | None = None
    for run in _options.restated(text, options):
        entries: list[Entry] = run
        before = text[max(0, run[0].span[0] - 40) : run[0].span[0]]
        whole = len(run) == len(options.texts)
        if (
            not whole
            and re.search(
                r"(?:answer|choice|option|答案|respuesta|réponse|antwort|ответ)\W{0,4}(?:is)?\W{0,4}$",
                before,
                re.I,
            )
            and "\n" not in before[-3:]
        ):
            # "Answer: B) 36" followed by the next entries: the first is the answer, the others are drift
            spans += [entry.span for entry in run[1:]]
            continue
        found = _options.marked(text, original, entries, [folded.original(entry.span) for entry in entries])
        if found is not None:
            tick = Commit("marked_option", Payload("option", (found.index,), found.span), found.span[0])
        spans.append((run[0].span[0], _with_cut_entry(text, run[-1], options)))
    spans += _options.plain_lists(text, options)
    for indices, span in marked_lines(text, options):
        spans.append(span)
        if indices:
            kind = "option" if len(indices) == 1 else "several"
            tick = Commit("marked_option", Payload(kind, indices, span), span[0])
    return spans, tick


def _segment(
    folded: Folded, span: Span, original: str, options: Options, cut: bool
) -> tuple[Commit | None, list[Commit], bool]:
    """The last commitment in one segment of a reply, all of them, and whether it restates the options."""
    text = folded.text[: span[1]]
    prefix = span[0]
    if prefix:
        text = "\x00" * prefix + text[prefix:]
    spans, tick = _echoes(folded, text, original, options)
    text = _options.mask(text, spans)
    if cut:
        return None, [], bool(spans)
    commits = _strung(text, statements(text, options))
    lines = line_choices(text, options)
    if tick is not None:
        lines.append(tick)
    slots = [commit for commit in commits if commit.rule in EXPLICIT]
    if slots:
        # After an answer slot a bare line only counts as a change of mind that is said to be one.
        final = max(commit.start for commit in slots)
        lines = [line for line in lines if line.start < final or _RETRACTION.search(text, final, line.start)]
    commits = _left_open(text, _behind_labels(text, commits, slots))
    joint = [commit.payload.span for commit in commits if commit.payload.kind == "several"]
    commits = [
        commit
        for commit in commits
        if commit.payload.kind == "several"
        or not any(a <= commit.payload.span[0] and commit.payload.span[1] <= b for a, b in joint)
    ]
    commits = sorted(commits + lines, key=lambda commit: (commit.start, commit.payload.span[1]))
    if not commits:
        commits = value_choices(text, options)
    return (commits[-1] if commits else None), commits, bool(spans)


_REMARKS = {"option_correct", "zh_correct", "zh_select"}


def _behind_labels(text: str, commits: list[Commit], slots: list[Commit]) -> list[Commit]:
    """Without remarks on another option that follow a labelled answer and do not take it back.

    A whole sentence that calls another option right leaves open which of the two is meant.
    """
    kept: list[Commit] = []
    for commit in commits:
        label = max((s for s in slots if s.start < commit.start), key=lambda s: s.start, default=None)
        if (
            commit.rule not in _REMARKS
            or commit.payload.kind != "option"
            or label is None
            or label.payload.indices == commit.payload.indices
            or _RETRACTION.search(text, label.payload.span[1], commit.payload.span[1])
        ):
            kept.append(commit)
        elif label.payload.kind == "option" and _PLAIN.search(
            text[max(label.payload.span[1], commit.start - 30) : commit.payload.span[1] + 40]
        ):
            both = (*label.payload.indices, *commit.payload.indices)
            kept.append(
                Commit(commit.rule, Payload("several", both, commit.payload.span, True), commit.start)
            )
    return kept


_STRUNG = re.compile(
    r"[\s$)(\]\[{}\\*]*(?:or|and|,|/|&|或者?|和|、)?[\s$)(\]\[{}\\*]*\\?(?:boxed|fbox)\s?\{[\s({\\*]*(?:text\s?\{)?\(?"
)


def _strung(text: str, commits: list[Commit]) -> list[Commit]:
    """Boxes that stand side by side are one commitment: `\\boxed{A}` or `\\boxed{B}`."""
    boxes = sorted((commit for commit in commits if commit.rule == "boxed"), key=lambda commit: commit.start)
    for first, second in pairwise(boxes):
        between = text[first.payload.span[1] : second.payload.span[0]]
        if {first.payload.kind, second.payload.kind} <= {"option", "several"} and _STRUNG.fullmatch(between):
            indices = tuple(dict.fromkeys((*first.payload.indices, *second.payload.indices)))
            if len(indices) > 1:
                span = (first.payload.span[0], second.payload.span[1])
                either = re.search(r"\bor\b|或|/", between) is not None
                commits = [*commits, Commit("boxed", Payload("several", indices, span, either), second.start)]
    return commits


def _left_open(text: str, commits: list[Commit]) -> list[Commit]:
    """ "B fits. C fits." and "maybe B, maybe C" leave open which of the two is meant."""
    for rule in ("fits", "hedged"):
        same = sorted((commit for commit in commits if commit.rule == rule), key=lambda commit: commit.start)
        indices = tuple(dict.fromkeys(index for commit in same for index in commit.payload.indices))
        if len(indices) < 2:
            continue
        span = (same[0].payload.span[0], same[-1].payload.span[1])
        if not _RETRACTION.search(text, *span):
            commits = [*commits, Commit(rule, Payload("several", indices, span, True), same[-1].start)]
    return commits


_PLAIN = re.compile(
    r"(?:^|[\n.。!])\s*(?:(?:option|choice|answer) )?\(?[A-Z]\)? is (?:the )?(?:correct|right|best|true)"
    r"(?: (?:answer|option|choice|one))?(?:[.!\n]|$)"
    r"|(?:^|[\n.。!])\s*(?:选项|故选|应选|选)?[A-Z](?:是正确的|正确)?(?:[。\n.]|$)",
    re.I,
)

_TRUNCATED = {"length", "max_tokens", "model_length"}
_FAILED = {"error", "abort", "cancelled", "timeout"}
_FILTERED = {"content_filter", "refusal", "safety"}
_FAILURE_TEXTS = {"$ERROR$", "API_ERROR", "[API ERROR]"}


def without_reply(text: str | None, finish_reason: str | None) -> Choice | None:
    """The outcome of a call that brought no text to read, or None where there is some."""
    if (
        finish_reason in _FAILED
        or (text is None and finish_reason is None)
        or (text and text.strip() in _FAILURE_TEXTS)
    ):
        return Choice("error", None, "call_failed", None)
    if text is None or not text.strip():
        if finish_reason in _FILTERED:
            return Choice("refusal", None, "refusal", None)
        return Choice("truncated" if finish_reason in _TRUNCATED else "no_answer", None, "empty", None)
    return None


def extract_choice(
    text: str | None, options: list[str], finish_reason: str | None = None, multi: bool = False
) -> Choice:
    """Read the option that a reply commits to.

    The last commitment wins; text that the model goes on to invent after it (another question, another turn)
    is not read, nor is a reasoning block, nor a restated option list. Nothing is guessed: a letter counts
    where a rule of `CHOICE_RULES` reads it as a choice, an option's text where it is the whole of what is
    committed.

    Declared policies:
        * A letter and a text of one commitment that name different options are `ambiguous`
          (`letter_text_conflict`): the reply is scored by neither.
        * A reasoning block that never closes is no reply: `truncated` if the length limit stopped it, else
          `no_answer`.
        * A Cyrillic look-alike in an answer slot is read as the Latin letter.
        * Under a length limit a value at the very end, or one in plain prose, is no commitment.
        * None as text is `error` unless the finish reason says that the model did finish.

    Args:
        text: the reply, or None where there is none.
        options: option texts in order; the first is A.
        finish_reason: as the engine gave it.
        multi: whether several options may be right.

    Returns:
        Status, letter or letters, rule and span.
    """
    missing = without_reply(text, finish_reason)
    if missing is not None:
        return missing
    assert text is not None
    prepared = _options.prepare(options)
    truncated = finish_reason in _TRUNCATED
    visible, _, unclosed = visible_spans(text)
    if unclosed:
        return Choice("truncated" if truncated else "no_answer", None, "unclosed_reasoning", None)
    folded = fold(text, visible)
    commit, commits, echoed = _search(folded, text, prepared)
    if commit is not None and truncated and _may_be_cut(folded.text, commit):
        commit = None
    if commit is not None:
        return _judge(commit, commits, folded, prepared, multi)
    if refuses(folded.text) or finish_reason in _FILTERED:
        return Choice("refusal", None, "refusal", None)
    if truncated:
        return Choice("truncated", None, "no_commitment", None)
    if echoed:
        return Choice("ambiguous", None, "options_echo", None)
    return Choice("no_answer", None, "no_commitment", None)


def _search(folded: Folded, original: str, options: Options) -> tuple[Commit | None, list[Commit], bool]:
    recited: tuple[Commit, list[Commit], bool] | None = None
    echoed = False
    for span, recital in segments(folded.text):
        part = _part(folded, span)
        commit, commits, echo = _segment(part, (0, len(part.text)), original, options, False)
        if commit is not None:
            start = _foreign_list(part.text, options)
            if start and start > commits[0].start:
                first = _segment(part, (0, start), original, options, False)
                commit, commits = (first[0], first[1]) if first[0] is not None else (commit, commits)
            moved = (_shift(commit, span[0]), [_shift(each, span[0]) for each in commits], echo)
            if recital and recited is None:
                recited = moved
                continue
            return moved
        echoed = echoed or echo
    if recited is not None:
        return recited
    return None, [], echoed


def _part(folded: Folded, span: Span) -> Folded:
    if span == (0, len(folded.text)):
        return folded
    return _Slice(
        folded.text[span[0] : span[1]], folded.starts, folded.origins, folded.copied, folded, span[0]
    )


@dataclass(frozen=True)
class _Slice(Folded):
    """A stretch of a folded text whose offsets count from its own start."""

    whole: Folded
    offset: int

    def original(self, span: Span) -> Span:
        return self.whole.original((span[0] + self.offset, span[1] + self.offset))


def _shift(commit: Commit, offset: int) -> Commit:
    if not offset:
        return commit
    payload = commit.payload
    moved = Payload(
        payload.kind,
        payload.indices,
        (payload.span[0] + offset, payload.span[1] + offset),
        payload.either,
        payload.by_value,
    )
    return Commit(commit.rule, moved, commit.start + offset)


def _may_be_cut(text: str, commit: Commit) -> bool:
    if commit.rule in {"value_sentence", "value_line"}:
        return True
    last = text[commit.payload.span[0] :].strip()
    if commit.rule == "hedged" and last in {"A", "a"}:
        return True  # an article, for all one knows
    by_text = commit.payload.by_value or commit.payload.kind == "none"
    return by_text and not text[commit.payload.span[1] :].strip()


def _judge(commit: Commit, commits: list[Commit], folded: Folded, options: Options, multi: bool) -> Choice:
    payload = commit.payload
    span = folded.original(payload.span)
    if payload.kind == "none":
        return Choice("no_answer", None, "not_an_option", span)
    if payload.kind in {"conflict", "equal"}:
        return Choice(
            "ambiguous", None, "letter_text_conflict" if payload.kind == "conflict" else "equal_options", span
        )
    indices = set(payload.indices)
    if multi and commit.rule not in EXPLICIT:
        # "A is correct. C is correct." names both; an answer slot is complete in itself.
        for other in commits:
            if other.rule == commit.rule and other.payload.kind == "option":
                indices |= set(other.payload.indices)
    if len(indices) > 1 and (not multi or payload.either):
        return Choice("ambiguous", None, commit.rule, span)
    return Choice("ok", "".join(options.letters[i] for i in sorted(indices)), commit.rule, span)
