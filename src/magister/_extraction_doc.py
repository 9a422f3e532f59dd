"""The page on reading replies, written from the rule tables: `python -m magister._extraction_doc`."""

from __future__ import annotations

import sys
from collections.abc import Callable

from magister.answers import (
    CHOICE_RULES,
    VALUE_RULES,
    VERDICT_RULES,
    Rule,
    extract_choice,
    extract_value,
    parse_verdict,
)

OPTIONS = ["30", "36", "42", "48", "48.0"]
"""The options of the examples; the last two mean the same."""

Reader = Callable[[str], tuple[str, str]]

_HEAD = """# How replies are read

Which option, value or verdict a reply commits to is decided by named rules; the id of the rule that decided stands
beside every answer in the tables. Written from the rules in `src/magister/answers/`; to write it again:
`python -m magister._extraction_doc > docs/extraction.md`. The outcomes below are worked out when the page is written.

## Statuses

| status | meaning | in the metrics |
|---|---|---|
| `ok` | the reply commits to one option (or, where several may be right, to a set) | right or wrong |
| `no_answer` | a finished reply that commits to nothing that was offered | counted, by the denominator policy |
| `ambiguous` | several options, a letter beside another option's text, or the options restated | the same |
| `refusal` | the model declines; not knowing is no refusal | the same |
| `truncated` | the length limit came before a commitment, or inside a reasoning block | the same |
| `error` | the call failed; there is no reply | leaves the denominator, and is counted |

## What is never done

- A letter is never guessed: a capital letter in prose, in a name ("Plan B"), a formula or a grade is no choice, nor
  is the article "A" or the pronoun "I".
- A reasoning block is never read: closed, closed only at its end, or never closed. Nor is a question that the model
  goes on to invent, or another turn.
- The options restated are never an answer by themselves; neither is the first or the last of them.
- What is denied, supposed, asked or somebody else's ("if it were B", "not B", "is it B?", "he says B") is no
  commitment.
- Of several commitments the last one wins, never the first. A remark behind an answer slot has to take the slot back:
  where it only calls another option right, the reply is `ambiguous`.
- A letter whose text is that of another option is scored by neither.
- Under a length limit a value at the very end is no commitment: "3" may have been on its way to "36".
- Text of a model is never evaluated: values are compared by exact rational arithmetic on what is written.
"""


def _choice(text: str) -> tuple[str, str]:
    found = extract_choice(text, OPTIONS, "stop")
    return f"`{found.status}`" + (f" {found.answer}" if found.answer else ""), found.rule


def _value(text: str) -> tuple[str, str]:
    found = extract_value(text, "stop")
    return f"`{found.status}`" + (f" {_code(found.answer)}" if found.answer else ""), found.rule


def _verdict(text: str) -> tuple[str, str]:
    found = parse_verdict(text)
    return f"`{found.verdict}`", found.rule


def _code(text: str) -> str:
    shown = text.replace("\n", "⏎").replace("|", "\\|")
    return f"`{shown}`" if shown else "(empty)"


def _table(rules: tuple[Rule, ...], reader: Reader) -> list[str]:
    lines = ["| rule | reads | example | outcome |", "|---|---|---|---|"]
    for rule in rules:
        outcome, by = reader(rule.example)
        if by != rule.id:
            raise ValueError(f"the example of rule {rule.id!r} is decided by {by!r}")
        description = rule.description.replace("|", "\\|").replace("<", "\\<")
        lines.append(f"| `{rule.id}` | {description} | {_code(rule.example)} | {outcome} |")
    return lines


def extraction_markdown() -> str:
    """The page as Markdown: a table for choices, values and verdicts.

    Raises:
        ValueError: the example of a rule is decided by another rule.
    """
    options = ", ".join(f"{letter}) {text}" for letter, text in zip("ABCDE", OPTIONS, strict=True))
    parts = [
        _HEAD,
        f"## Choices\n\n`extract_choice`. The options of the examples: {options}. ⏎ is a line break.\n",
        *_table(CHOICE_RULES, _choice),
        "\n## Values\n\n`extract_value`, for questions without options.\n",
        *_table(VALUE_RULES, _value),
        "\n## Verdicts\n\n`parse_verdict`, for what a teacher says of a solution. "
        "`none` is an outcome of its own, never `wrong`.\n",
        *_table(VERDICT_RULES, _verdict),
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.stdout.write(extraction_markdown())
