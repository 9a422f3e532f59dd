"""Commitments without a word for it: lines that are a choice, and values that end a reply."""

from __future__ import annotations

import re

from ._commit import Commit
from ._options import LETTERS, Options, past_bullet
from ._payload import Payload, read, slot_start
from ._text import Span

_LINE_HEAD = re.compile(
    r"^(?P<lead>[^\w\n(\[\"'$\\<-]*(?:-\s+)?)"
    r"(?P<word>(?:option|choice|letter|选项|选|answer choice)\s?:?\s?)?",
    re.I,
)
_WRONG_SIGN = re.compile(r"[✗✘❌]|\[ \]")
_LABELLED = re.compile(r"(?:^|\n)[\s>*-]{0,6}[(\[]?([A-Z])[)\].:]")
_VERDICT_LINE = re.compile(
    r"(?m)^[\s>*-]{0,6}(?:[Oo]ption )?[(\[]?([A-Z])[)\].:]{1,2}[ \t]*"
    r"((?i:true|false|correct|incorrect|right|wrong|yes|no)|正确|错误|对|错)[ \t.。!]*$"
)
_TRUE = re.compile(r"true|correct|right|yes|正确|对", re.I)
_REASON = re.compile(r"\s*(?:,\s*)?(?:because|since|as\b|due to|因为|由于)", re.I)


def line_choices(text: str, options: Options) -> list[Commit]:
    """Lines that are a choice and nothing else; the first line may go on to explain."""
    commits: list[Commit] = []
    spans = [(m.start(), m.end()) for m in re.finditer(r"[^\n\x1e]+", text) if m.group().strip("\x00 \t.")]
    for number, (start, end) in enumerate(spans):
        if (end - start > 400 and number) or (commits and start < commits[-1].payload.span[1]):
            continue
        line = text[start:end]
        head = _LINE_HEAD.match(line)
        if head is None or _WRONG_SIGN.search(head.group("lead")):
            continue
        at = start + head.end()
        char = re.match(
            r"[\"'(\[{$\\]*(?:(?:text(?:bf|rm|it)?|math(?:rm"
            r"|bf|sf))\{)?\(?(?:([A-Za-z])(?![A-Za-z])"
            r"|([A-Z]{2,26})(?![A-Za-z]))",
            text[at : at + 40],
        )
        value_first = None
        if char is None or (char.group(1) and char.group(1).islower() and len(spans) > 1):
            value_first = _value_letter(text, start, end, options)
            if value_first:
                commits.append(Commit("bare_line", value_first, value_first.span[0]))
            continue
        payload = read(text, at, options)
        if (
            payload is None
            or payload.by_value
            or payload.kind == "negated"
            or payload.span[0] > slot_start(text, at)  # a letter that only ends the line
        ):
            value_first = _value_letter(text, start, end, options)
            if value_first:
                commits.append(Commit("bare_line", value_first, value_first.span[0]))
            continue
        rest = text[payload.span[1] : end].strip(" \t)]}.,:;!*\"'$\\>✓✔✅☑✨🎉😊👍。")
        whole = len(spans) == 1
        if (
            not rest
            or (
                payload.kind == "option"
                and re.fullmatch(
                    r"(?:is )?(?:the )?(?:correct|right)?\W*(?:answer"
                    r"|option|choice|选项|项)?|for (?:sure|certain)|it is|of course",
                    rest,
                    re.I,
                )
            )
            or (payload.kind == "option" and _REJECTS.fullmatch(rest))
        ):
            rule = "bare_reply" if whole else "bare_line"
            if payload.kind == "none" and not whole:
                continue
            commits.append(Commit(rule, payload, payload.span[0]))
        elif number == 0 and payload.kind in {"option", "conflict"} and _opens(text, payload, end, head):
            labels = {m.group(1) for m in _LABELLED.finditer(text)}
            if len(labels) <= 1:
                commits.append(Commit("first_line", payload, payload.span[0]))
    return [*_one_run(text, commits), *_verdict_list(text, options)]


_REJECTS = re.compile(  # "B (not C)"
    r"\(?(?:and |but )?(?:(?:not|rather than|instead of)\s|不是)\s?(?:option )?"
    r"\(?[A-Z]\)?(?:\s?(?:,|or|nor|and)\s?[A-Z])*",
)


def _verdict_list(text: str, options: Options) -> list[Commit]:
    """'A: False' and 'B: True' on lines of their own: the options called true."""
    found: dict[str, tuple[bool, Span]] = {}
    for match in _VERDICT_LINE.finditer(text):
        if match[1] in options.letters:
            found[match[1]] = (_TRUE.match(match[2]) is not None, match.span(1))
    good = [letter for letter, (true, _) in found.items() if true]
    if len(found) < 2 or len(found) == len(good) or not good:
        return []
    indices = tuple(LETTERS.index(letter) for letter in good)
    span = found[good[0]][1]
    kind = "several" if len(good) > 1 else "option"
    return [Commit("marked_option", Payload(kind, indices, span), span[0])]


def _opens(text: str, payload: Payload, end: int, head: re.Match[str]) -> bool:
    after = text[payload.span[1] : end]
    before = text[max(0, payload.span[0] - 1) : payload.span[0]]
    if _REASON.match(after) or payload.kind == "conflict":
        return True
    if re.match(r"[)\]]", after):
        return True
    if re.match(r"\.\s", after):
        return True
    return bool(head.group("word")) and before != "'" and re.match(r"[.,:;]", after) is not None


def _value_letter(text: str, start: int, end: int, options: Options) -> Payload | None:
    """'36 (B)': an option's text followed by its letter."""
    line = text[start:end]
    match = re.search(r"[\s,;-]*[(\[]\s?(?:option |choice )?([A-Z])\s?[)\]][.!\s]*$", line[-40:])
    if match is None or match.group(1) not in options.letters:
        return None
    offset = max(0, len(line) - 40)
    found, _ = options.lookup(line[: offset + match.start()][-200:])
    index = LETTERS.index(match.group(1))
    span = (start + offset + match.start(1), start + offset + match.end(1))
    if not found:
        return None
    return Payload("option" if index in found else "conflict", (index,), span)


def _one_run(text: str, commits: list[Commit]) -> list[Commit]:
    """Bare letters on consecutive lines belong together: 'A\\nB' names two options."""
    if len(commits) < 2:
        return commits
    merged = [commits[0]]
    for commit in commits[1:]:
        last = merged[-1]
        between = text[last.payload.span[1] : commit.payload.span[0]]
        joined = (
            commit.rule == last.rule == "bare_line"
            and between.count("\n") == 1
            and not re.search(r"\w", between)
        )
        if (
            joined
            and commit.payload.kind in {"option", "several"}
            and last.payload.kind in {"option", "several"}
        ):
            indices = tuple(dict.fromkeys((*last.payload.indices, *commit.payload.indices)))
            span = (last.payload.span[0], commit.payload.span[1])
            merged[-1] = Commit(
                "bare_line", Payload("several" if len(indices) > 1 else "option", indices, span), span[0]
            )
        else:
            merged.append(commit)
    return merged


_VALUE_FIRST = re.compile(
    r"\s*(?:(?:so|thus|therefore|hence|i think|i believe"
    r"|clearly)\b,?\s)?(?:it is |it's )?(.{1,200}?)\s(?:is"
    r"|are|must be|would be|should be)\s"
    r"(?:(?:the|my)\s)?(?:correct|right|final|best)?\s?(?:answer|option|choice|one|correct|right)\W*$",
    re.I,
)
_COPULA = re.compile(
    r"(?:[:=≈]|\b(?:is|are|was|were|be|equals|equal to"
    r"|becomes|gives|makes|get|called|named|it's|that's"
    r"|yields|have)\b(?:\s(?:exactly|just|only|equal to"
    r"|called|then|thus|therefore|actually|clearly))?"
    r"|是|为|等于|得到?|即|共有?)\s?:?\s*",
    re.I,
)


def value_choices(text: str, options: Options) -> list[Commit]:
    """Options committed to by their text alone: a whole line, else the end of the last sentence."""
    lines = [(m.start(), m.end()) for m in re.finditer(r"[^\n\x1e\x00]+", text) if m.group().strip(" \t.")]
    if not lines:
        return []
    for start, end in dict.fromkeys((lines[-1], lines[0])):
        line = text[start:end]
        if end - start > 500:
            continue
        signed = len(line) - len(line.lstrip(" \t•*>#✅✓→"))
        payload = None
        if line.strip().lower() not in {"", "not"}:
            for head in dict.fromkeys((signed, past_bullet(line))):
                payload = payload or _whole(line[head:], start + head, options)
        if payload:
            return [Commit("value_line", payload, payload.span[0])]
    start, end = lines[-1]
    sentences = [
        m.span()
        for m in re.finditer(
            r"(?:[^.!?。！？;；]|[.](?=\S))+[.!?。！？;；]?", text[max(start, end - 600) : end]
        )
    ]
    if not sentences:
        return []
    offset = max(start, end - 600)
    low, high = sentences[-1][0] + offset, sentences[-1][1] + offset
    sentence = text[low:high]
    if sentence.rstrip().endswith(("?", "？")) or re.search(
        r"\b(?:if|would|suppose)\b|如果|假设", sentence, re.I
    ):
        return []
    chosen = _chosen(sentence, low, options)
    if chosen and not _undecided(text[start:low], chosen, options):
        return [Commit("value_sentence", chosen, chosen.span[0])]
    if len(sentences) > 1 and _DISMISSED.fullmatch(text[offset + sentences[-2][0] : low].strip()):
        payload = _whole(sentence, low, options)
        if payload:
            return [Commit("value_sentence", payload, payload.span[0])]
    first = _VALUE_FIRST.match(sentence)
    if first:
        payload = _whole(first[1], low + first.start(1), options)
        if payload:
            return [Commit("value_sentence", payload, payload.span[0])]
    last = None
    for match in _COPULA.finditer(sentence):
        last = match
    if (
        last is None
        or re.match(r"\s*(?:not|n't|never|no|不)\b", sentence[last.end() :], re.I)
        or re.search(r"(?:n't|\bnot|不|\bnever|\bcould|\bmight|\bmay)\s*$", sentence[: last.start()], re.I)
    ):
        return []
    payload = _whole(sentence[last.end() :].rstrip(), low + last.end(), options)
    return [Commit("value_sentence", payload, payload.span[0])] if payload else []


_LEAD_IN = re.compile(
    r"\s*(?:(?:i(?:'d| would|'ll| will)? (?:think|guess|say|believe|choose|pick|select|answer|go with)|i'm going with"
    r"|so|thus|therefore|hence|maybe|probably|definitely|clearly|no(?=[,:]))[,:]?\s){1,2}(?:it's |it is |that's )?",
    re.I,
)
_NOT_THIS = re.compile(
    r"(?P<head>.{1,120}?)\s?(?:,|\(|\s)\s?(?:and |but )?(?:(?:not|rather than|instead of)\s|而不是|不是)"
    r"\s?(?P<other>.{1,120}?)\)?[.!。]?\s*",
    re.I,
)
_BUT_THIS = re.compile(
    r"\s*(?:(?:it's |it is )?not\s|不是)(?P<other>.{1,120}?)"
    r"[,，]?\s?(?:but(?: rather)?\s|而是)(?P<head>.{1,120}?)[.!。]?\s*",
    re.I,
)
_ASIDE = re.compile(r"(?P<head>.{1,120}?)\s\((?P<other>[^()?]{1,80})\)[.!]?\s*")
_DOUBT = re.compile(r"\b(?:not|no|never|wrong|incorrect|maybe|or|unsure|false|if|but)\b|n't", re.I)
_DISMISSED = re.compile(r"(?:not\s[^.!?]{1,80}[.!]|[^.!?]{1,80}\?)", re.I)


def _undecided(before: str, chosen: Payload, options: Options) -> bool:
    """Whether what stands before names another option in the same way: "Maybe Paris. Maybe London." """
    for sentence in re.split(r"(?<=[.!?;])\s|[。！？；]", before):
        payload = _chosen(sentence, 0, options) if sentence.strip() else None
        if payload and payload.indices != chosen.indices:
            return True
    return False


def _chosen(sentence: str, start: int, options: Options) -> Payload | None:
    """One option's text with another one rejected ("Paris, not London"), or behind words of choosing."""
    for pattern in (_BUT_THIS, _NOT_THIS):
        match = pattern.fullmatch(sentence)
        if match is None:
            continue
        other = options.match(match["other"])
        head = _LEAD_IN.match(match["head"])
        at = match.start("head") + (head.end() if head else 0)
        payload = _whole(sentence[at : match.end("head")], start + at, options)
        if other and payload and payload.kind == "option" and payload.indices != other:
            return payload
    aside = _ASIDE.fullmatch(sentence)
    if aside and not _DOUBT.search(aside["other"]):
        others = {
            i for i, head in enumerate(options.heads) if head and head.casefold() in aside["other"].casefold()
        }
        payload = _whole(aside["head"], start, options)
        if payload and payload.kind == "option" and others <= set(payload.indices):
            return payload
    lead = _LEAD_IN.match(sentence)
    return _whole(sentence[lead.end() :].rstrip(), start + lead.end(), options) if lead else None


def _whole(piece: str, start: int, options: Options) -> Payload | None:
    found = options.match(piece) or options.match(piece.rstrip(" .!*$"))
    if found:
        return Payload(
            "option" if len(found) == 1 else "equal",
            found,
            (start, start + len(piece.rstrip(" .!*"))),
            by_value=True,
        )
    parts = [
        options.match(part)
        for part in re.split(
            r"\s*(?:,|;|/|、|或|和)\s*(?:and |or )?|\s+(?:and|or)\s+", piece[:200].strip(" .!")
        )
    ]
    indices = tuple(dict.fromkeys(part[0] for part in parts if part))
    if len(parts) > 1 and all(parts) and len(indices) > 1:
        return Payload(
            "several", indices, (start, start + len(piece.rstrip())), " or " in piece, by_value=True
        )
    return None
