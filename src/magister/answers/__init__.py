"""What a reply says: choices, values, verdicts, guidance, leaks and judgements, read from text alone."""

from ._canonical import canonical_value
from ._choice import CHOICE_RULES, Choice, extract_choice
from ._guidance import Guidance, split_guidance
from ._judge import JudgeReply, parse_judge_reply
from ._leak import Leak, LeakSpan, find_leak
from ._pairwise import Pairwise, parse_pairwise
from ._reasoning import Stripped, strip_reasoning
from ._refusal import is_refusal
from ._scrub import Scrubbed, scrub_options
from ._text import Rule
from ._value import VALUE_RULES, Value, equal_values, extract_value
from ._verdict import Verdict, parse_verdict
from ._verdict_rules import VERDICT_RULES

__all__ = [
    "CHOICE_RULES",
    "VALUE_RULES",
    "VERDICT_RULES",
    "Choice",
    "Guidance",
    "JudgeReply",
    "Leak",
    "LeakSpan",
    "Pairwise",
    "Rule",
    "Scrubbed",
    "Stripped",
    "Value",
    "Verdict",
    "canonical_value",
    "equal_values",
    "extract_choice",
    "extract_value",
    "find_leak",
    "is_refusal",
    "parse_judge_reply",
    "parse_pairwise",
    "parse_verdict",
    "scrub_options",
    "split_guidance",
    "strip_reasoning",
]
