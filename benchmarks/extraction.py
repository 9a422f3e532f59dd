"""A hundred thousand spoiled replies: nothing is raised, nothing is guessed; prints counts and replies per second.

python benchmarks/extraction.py --replies 100000 --seed 1
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from magister.answers import (
    CHOICE_RULES,
    VALUE_RULES,
    VERDICT_RULES,
    extract_choice,
    extract_value,
    parse_verdict,
    scrub_options,
)

NUMBERS = ["30", "36", "42", "48"]
CITIES = ["London", "Rome", "Paris", "Madrid"]
STATUSES = {"ok", "no_answer", "ambiguous", "refusal", "truncated", "error"}
IDS = {rule.id for rule in (*CHOICE_RULES, *VALUE_RULES, *VERDICT_RULES)}
FINISHED = {"answer_colon", "answer_is", "boxed", "xml", "zh_answer", "hashes"}

CLEAR = [  # commit to B among NUMBERS, whatever is wrapped around them
    "Answer: B", "The answer is B.", "Answer: B) 36", "The correct answer is (B).", "Final answer: B",
    "$\\boxed{B}$", "<answer>B</answer>", "答案：B", "正确答案是B。", "Six rows of six are 36.\n\nAnswer: B",
]  # fmt: skip
SEEDS = [
    *CLEAR, "B", "b", "(B) 36", "36", "So 6 times 6 is 36.", "maybe b", "It is either A or B.",
    "B and D are left. D fits.",
    "A) 30\nB) 36\nC) 42\nD) 48", "A ❌\nB ✅\nC ❌\nD ❌", "Answer: B) 42", "I'm sorry, but I can't help with that.",
    "<think>Maybe A? No.</think>\nAnswer: B", "<think>The answer is B", "Maybe C.</think>Answer: B",
    "Answer: None of the above",
    "A farmer counts the trees in every row, and I think that is all.",
    "Answer: B\n\nQuestion: What is 7*7?\nAnswer: C",
    "选项A不对，C也不对，只有选项B是对的。", "所以选B。", "答案不是A而是B", "我无法回答这个问题。", "答案可能是A或者B",
    "I choose A. On second thought, I choose B.", "Paris (not London)", '{"answer": "B", "reason": "six rows"}',
    "Is the answer B?", "If the answer is B then there are 36 trees.", "The answer is not B.", "ABCD", "B or C? C.",
    "Correctness of the latest solution: Wrong\nCount again.", "Your answer isn't right.", "回答正确。",
]  # fmt: skip
NOISE = [
    "**", "`", "$", "\n", "\n\n", "```", "<b>", "</b>", "<think>",
    "</think>", "...", "?", "!", "，", "。", "（", "）", " or ", " not ",
    "I ", "A ", "B) ", "option ", "Answer: ", "答案", "选", "不",
    "\x00", "\ud800", "½", "ﬁ", "\u200b", "</s>", "<|im_end|>", "\\", "{", "}",
]  # fmt: skip
WRAPS: list[Callable[[str], str]] = [
    lambda text: f"**{text}**" if "\n" not in text else text,
    lambda text: f"  {text}\n\n",
    lambda text: f"\ufeff{text}",
    lambda text: f"<b>{text}</b>",
    lambda text: f"<think>It may be A. Answer: C</think>\n{text}",
    lambda text: f"Perhaps C?</think>\n\n{text}",
    lambda text: f"{text}</s>",
    lambda text: f"{text}<|im_end|>",
    lambda text: f"\r\n{text}\r\n",
    lambda text: f"> {text}" if "\n" not in text else text,
]
_WIDE = {ord(narrow): ord(narrow) + 0xFEE0 for narrow in "ABCD:()!?"}


@dataclass
class Tally:
    """What a run saw.

    Attributes:
        statuses: replies by outcome, of each reader.
        broken: invariants that did not hold, with the reply.
        seconds: time spent in the readers.
    """

    statuses: Counter[str]
    broken: list[tuple[str, str]]
    seconds: float = 0.0


def handed_seeds() -> list[str]:
    """Replies of the handed cases, where they are."""
    root = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("MAGISTER_CASES") or root.parent / "shared" / "cases") / "extraction"
    texts = []
    for name in ("mcq_extraction", "teacher_verdicts"):
        path = folder / f"{name}.jsonl"
        if path.is_file():
            rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
            texts += [row["text"] for row in rows if row.get("text")]
    return texts


def mutate(text: str, rng: random.Random) -> str:
    """One change of the kinds that replies come with."""
    at = rng.randrange(len(text) + 1)
    end = min(len(text), at + rng.randrange(1, 9))
    kind = rng.randrange(9)
    if kind == 0:
        return text[:at]
    if kind == 1:
        return text[:at] + rng.choice(NOISE) + text[at:]
    if kind == 2:
        return text[:at] + text[end:]
    if kind == 3:
        return text[:end] + text[at:]
    if kind == 4:
        one, other = rng.sample("ABCD", 2)
        return text.translate({ord(one): other, ord(other): one})
    if kind == 5:
        return text.translate(_WIDE)
    if kind == 6:
        return rng.choice(WRAPS)(text)
    if kind == 7:
        return text + rng.choice(["\n", " ", ""]) + rng.choice(SEEDS)
    return rng.choice([text.lower(), text.upper(), text.replace(" ", ""), text[::-1]])


def without_mentions(text: str) -> str:
    """A text from which every letter, digit and option text that could name an option is gone."""
    text = re.sub(r"(?i)london|rome|paris|madrid|th?irty|forty", "", text)
    return "".join(char for char in text if not _names(char))


def _names(char: str) -> bool:
    folded = _folded(char)
    return any(c.isdigit() or c in "abcdABCDАВСавс" for c in folded)


def _folded(char: str) -> str:
    return unicodedata.normalize("NFKC", char)


def check(text: str, tally: Tally) -> None:
    """Read one reply in every way and hold the outcomes to what must be so."""
    started = time.perf_counter()
    for options in (NUMBERS, CITIES):
        for reason in ("stop", "length"):
            choice = extract_choice(text, options, reason)
            tally.statuses[f"choice {choice.status}"] += 1
            _hold(choice.status in STATUSES and choice.rule in IDS, "a named outcome", text, tally)
            _hold(
                (choice.answer is not None) == (choice.status == "ok"),
                "an answer if and only if ok",
                text,
                tally,
            )
            _hold(choice.answer in (None, *"ABCD"), "an option that was offered", text, tally)
            if choice.span is not None:
                _hold(0 <= choice.span[0] <= choice.span[1] <= len(text), "a span in the reply", text, tally)
            if reason == "length" and choice.status == "ok":
                full = extract_choice(text, options, "stop")
                _hold(full.answer == choice.answer, "cut replies say what whole ones say", text, tally)
                _hold(
                    choice.rule not in {"value_line", "value_sentence"}, "a finished commitment", text, tally
                )
    bare = without_mentions(text)
    found = extract_choice(bare, NUMBERS, "stop")
    _hold(found.answer is None, "no mention, no letter", bare, tally)
    value, verdict = extract_value(text, "stop"), parse_verdict(text)
    tally.statuses[f"value {value.status}"] += 1
    tally.statuses[f"verdict {verdict.verdict}"] += 1
    _hold(value.rule in IDS and verdict.rule in IDS, "a named outcome", text, tally)
    scrubbed = scrub_options(text, NUMBERS).text
    again = extract_choice(scrubbed, NUMBERS, "stop")
    if again.status == "ok" and again.span is not None:
        said = scrubbed[slice(*again.span)]
        _hold(any(map(str.isdigit, _folded(said))) or len(said) > 2, "no letter after scrubbing", text, tally)
    tally.seconds += time.perf_counter() - started


def check_wrapped(text: str, wraps: list[Callable[[str], str]], tally: Tally) -> None:
    """A clear answer stays what it is."""
    for wrap in wraps:
        text = wrap(text)
    choice = extract_choice(text, NUMBERS, "stop")
    _hold((choice.status, choice.answer) == ("ok", "B"), "a clear answer stays", text, tally)


def _hold(true: bool, name: str, text: str, tally: Tally) -> None:
    if not true:
        tally.broken.append((name, text))


def run(replies: int, seed: int) -> Tally:
    """Spoil and read.

    Args:
        replies: how many spoiled replies.
        seed: of the changes.

    Returns:
        Counts, broken invariants and time.
    """
    rng = random.Random(seed)
    seeds = [*SEEDS, *handed_seeds()]
    tally = Tally(Counter(), [])
    for number in range(replies):
        text = rng.choice(seeds)
        for _ in range(rng.randrange(1, 5)):
            text = mutate(text, rng)[:2000]
        check(text, tally)
        if number % 10 == 0:
            check_wrapped(rng.choice(CLEAR), rng.choices(WRAPS, k=rng.randrange(4)), tally)
    return tally


def main() -> int:
    """Run, print, and fail where an invariant broke."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    tally = run(arguments.replies, arguments.seed)
    for name, count in sorted(tally.statuses.items()):
        print(f"{name:22}{count:10,}")
    print(f"{arguments.replies / tally.seconds:,.0f} replies per second, each read eight times")
    for name, text in tally.broken[:20]:
        print(f"BROKEN {name}: {text!r}")
    print(f"{len(tally.broken)} broken")
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
