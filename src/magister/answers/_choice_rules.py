"""The table of rules by which a reply commits to an option, and the patterns behind it."""

from __future__ import annotations

import re

from ._text import Rule

_ADVERB = (
    r"(?:,?\s*(?:therefore|thus|then|hence|clearly|obviously"
    r"|definitely|certainly|indeed|probably|likely|most likely"
    r"|simply"
    r"|actually|really|still|now|of course|also|indeed|in fact),?){0,2}"
)
_NOUN = r"(?:answer|ans|choice|option|solution|response|selection|conclusion|final[_ ]?answer|verdict|pick"
_NOUN += r"|(?:best )?guess)"
_NOUN += r"(?:[_ ](?:choice|option|letter|key|is the option))?"
_NOUN = rf"(?:{_NOUN}|(?:right|correct|best|only) (?:one|letter|statement|alternative))"

# The noun, an optional "to the question", and a verb or colon. What follows is read by the payload reader.
ANSWER_COLON = (
    rf"(?<![\w])(?:{_NOUN}s?|correct|final|(?<=\")letter(?=\"))[*_\"'’\])}}]{{0,3}}(?:\s?\([^()\n]{{0,40}}\)"
    rf")?(?:\s{{0,3}}(?::=|=>|->|[:=→])|\s--?\s(?=\(?(?-i:[A-Z])\)?(?![\w'-])))"
    r"|(?:(?:^|\n)[#>*\s]{0,8}ans(?:wer)?\.?\s?-{1,2}\s)"
)
ANSWER_IS = (
    rf"(?<![\w-]){_NOUN}s?\"?(?:\s(?:to|for|of|here|in"
    rf"|that|i|which|you|we|from|among|would)\b[^.,;:!?\n\x00]{{0,60}}?)?{_ADVERB}"
    r"\s+(?P<verb>is(?:n't)?|was(?:n't)?|are|must be"
    r"|has to be|should be|would be|will be|can only be"
    r"|can't be|cannot be"
    rf"|could be|might be|may be|can be|becomes|=)(?![\w])(?P<neg>\s+(?:not|never|neither)\b|n't)?{_ADVERB}"
)
ANSWER_HEADING = (
    r"(?:^|\n)[#>*\s]{0,8}(?:(?:the|my|final|correct)\s){0,4}(?:answer|choice|option)\s?(?:\?|!)?[ \t]*\n+"
)
ANSWER_WORD = r"(?<![\w])(?:answer|ans)\.?\s+(?=[\"'(\[]?[A-Z][\"')\].]{0,3}(?:\s*$|\s*\n|[.!]))"
QUESTION_ANSWER = (
    r"(?:(?:answer|correct|right|option|choose)|(?<!\w)(?-i:[A-Z]) or (?-i:[A-Z]))\s?\?\s{1,3}"
    r"(?=[\"'(\[]?[A-Z][\"')\].]{0,3}(?:\s*$|\s*\n|[.!,]))"
)
BOXED = r"\\?\bboxed\s?\{|\\fbox\s?\{"
XML = (
    r"\[\s?(?:final[_ ]?)?answer\s?\](?!\s?:)|<\s?(?:final[_ ]?)?(?:answer"
    r"|choice|option|ans|result|output|response|答案)\s?>"
)
HASHES = r"(?:^|\n)\s?#{4}\s(?!\s*(?:final|the|answer))"
ZH_ANSWER = (
    r"(?:(?:正确|最终|最后|最佳|我)?的?(?:答案|选项|選項|选择|回答|解答|结论|答)(?:应该|应当|应|就|选项|可能|只能|显然|因此|所以|便)?"
    r"(?:[\"')\]]{0,2}\s?[::=]|\]\s?|\s?(?:是|为|為|选|選))|正确的(?:应该|应)?是)(?P<zhneg>不|非)?\s?[::]?"
)
OTHER_ANSWER = (
    r"(?<!\w)(?:(?:la |el )?respuesta(?: correcta| final)?"
    r"|(?:la |ma )?(?:bonne )?r(?:é|é|e)ponse(?: correcte"
    r"| finale)?"
    r"|(?:die |meine )?(?:richtige |korrekte |endgültige )?(?:antwort"
    r"|lösung)|(?:правильный |верный |мой |итоговый )?ответ"
    r"|(?:a )?resposta(?: correta| final)?|(?:la )?risposta(?: corretta"
    r"| finale)?|(?:opción|opcion)(?: correcta)?"
    r"|odpowiedź|antwoord|cevap|jawaban|svar"
    r"|đáp án|trả lời|الإجابة|الجواب|उततर|答え|答|解答|回答|正解|最終的な答え|정답|답|답변)"
    r"(?:[\"']?\s{0,2}(?::|=|->|→)|\s+(?:es|est|ist"
    r"|lautet|wäre|è|é|jest|is|adalah|là)\b|\s?-\s|\s?(?:は"
    r"|은|는)\s?:?)"
    r"(?P<oneg>\s?(?:no|nicht|не|pas)\b)?"
)

SELECT = (
    r"\b(?:(?:choose|chose|choosing|pick|picked|picking"
    r"|select|selected|selecting|(?:go|going|went|gone) (?:with"
    r"|for)|opt(?:ed)? for"
    r"|vote for|circle|settle (?:on|for)|stick with"
    r"|sticking with|keep|stay with|stand by|prefer|conclude|answer with|i(?:'d"
    r"| would|'ll| will)? answer"
    r"|leaves(?: us)?(?: only)?(?: with)?|leaving(?: us)?(?: only)?(?: with)?"
    r"|corresponds to|matches|points to"
    r"|(?:chang(?:e|ed|ing)|switch(?:ed|ing)?|revis(?:e|ed|ing)|updat(?:e|ed|ing))\s"
    r"(?:(?:it|my|the|this|that|final|answer|choice|selection|option|from|[A-Z])\s){0,8}to)\s+(?:with\s)?"
    r"(?:answer |the |only )?"
    r"|(?:which|that|this|it|so it|so this|so that|here it)(?:'s"
    r"| is| must be| has to be| should be| would be)\s+"
    r"(?:clearly |therefore |thus |definitely |probably |then |just |simply |answer |the |only )?)"
    r"(?=(?:(?:option|choice|answer|letter)\s?)*[\"'(\[]*(?:[A-Z](?![\w])|\\boxed|\$)"
    r"|(?:option|choice|answer|letter)\s[\"'(\[]*[a-z](?:[)\].,;!\"']|\s*$|\s*\n))"
)
IS_OPTION = (
    r"(?<!\w)(?:is|=|equals|matches|to|gives|with|so|thus"
    r"|therefore|hence|,|→|->|=>)\s+(?:the )?(?:answer )?(?:option"
    r"|choice|letter)\s(?=[\"'(\[]*[A-Z](?!\w))"
)
THEREFORE = (
    r"(?:(?<!\w)(?:so|thus|therefore|hence|consequently"
    r"|finally|ultimately|clearly|overall|final|probably"
    r"|i (?:think|believe|guess|say|feel)|i'd say|i would say|i'd guess)[,:]?\s"
    r"|[∴⇒→]\s?|[=-]>\s?)"
    r"(?:it's |it is |probably |definitely |must be )?(?=(?:option "
    r"|choice )?[\"'(\[]*[A-Z][\"')\]]{0,2}(?:[.!]|\s*$"
    r"|\s*\n))"
)
CORRECTION = (
    r"(?<!\w)(?:(?:no|wait|actually|correction|rather|sorry|instead|hmm|scratch that)\b[,:.!\s-]{1,4}){1,3}"
    r"(?:it's |it is |i mean |it must be |make that )?(?=(?:option "
    r"|choice )?[\"'(\[]*[A-Z][\"')\]]{0,2}(?:[.!]|\s*$"
    r"|\s*\n))"
)
NOT_BUT = (
    r"(?:\bbut(?: rather)?|\brather|而是|\binstead,?)\s?(?:it's "
    r"|it is |the answer is |answer |is )?(?=(?:option "
    r"|choice )?[\"'(\[]*[A-Z][\"')\]]{0,2}(?:[.!,;。]"
    r"|\s*$|\s*\n))"
    r"|\bneither\b[^;.\n]{0,60}[;.,]\s?(?:but )?(?:only )?(?=[A-Z]\sis[.!]?\s*(?:$|\n))"
)
OPTION_CORRECT = (
    r"(?<![\w.'\"-])(?:(?P<word>option|choice|answer"
    r"|letter|statement|选项)\s?)?[\"'(\[]?(?P<letter>[A-Z])[\"')\]]?"
    r"(?:[):.](?!\s?(?:hmm|no|wait|actually|sorry)\b)\s?(?P<gap>[^.;!?\n\x00]{0,60}?))?,?\s(?:is"
    r"|must be|should be|would be|has to be|seems|seems to be"
    r"|appears to be|looks)\s"
    r"(?:(?:definitely|clearly|indeed|probably|likely"
    r"|thus|therefore|the|my|an?|only|most|one|obviously"
    r"|actually|also|that is|to be|answer that is)\s){0,5}"
    r"(?:correct|right|best|true|answer|solution|valid"
    r"|appropriate|accurate|suitable|choice|winner|final answer)\b"
)
ZH_CORRECT = (
    r"(?<![A-Za-z])[(\[\"]?(?P<letter>[A-Z])[)\]\"]?(?:[::、.]\s?(?P<gap>[^,。;!?\n\x00]{0,30}?))?(?:选项|項|项)?[はが]?"
    r"(?:是|才是|就是|为|最|完全|都|才|选项)*(?:唯一|最)?(?:正确|正確|对的|对(?!不|于|应)|正しい|正解|最佳|最合适|最恰当|符合题意|符合|答案|合适)"
)
ZH_SELECT = (
    r"(?:改为|改成|改选|换成|更正为|我(?:认为|觉得|想|猜)(?:应该|应)?(?:是|为)|选择?|選(?:択|ぶ|择)?|选定|挑选?|(?:所以|因此|因而|故|于是)(?:应该|应|就)?(?:是|为))(?!项|項|択肢)(?:项|项为|的是|了)?\s?[::]?\s?[\"'(\[]?(?:选项"
    r"|選択肢)?\s?(?=[\"'(\[]?[A-Z](?![A-Za-z]))(?![\"'(\[]?[A-Z][)\]]?\s?(?:选项|项)?(?:还是|吗|呢|么))"
)
HEDGE = (
    r"(?:\beither\s|\bbetween\s|\bboth\s|\b(?:could"
    r"|might|may|can) be (?:either\s)?|\bis (?:either\s)?"
    r"|\bare\s|\b(?:choose|pick|say) )?"
    r"(?<![\w.])(?:option |choice |answer )?[\"'(\[]?(?P<first>[A-Z])[\"')\]]?\s(?P<joint>or|and|&|/)\s"
    r"(?:option |choice |answer |maybe |possibly |also )?[\"'(\[]?(?P<second>[A-Z])[\"')\]]?(?![\w'+-])"
)
ZH_HEDGE = (
    r"(?<![A-Za-z、])(?<!排除)(?<!排除了)(?<!除了)(?<!除)(?<!不选)(?<!不是)(?<!去掉)"
    r"(?P<first>[A-Z])\s?(?:选项|项)?(?P<joint>或者?是?"
    r"|和|与|以及|、)\s?(?:选项)?(?P<second>[A-Z])(?![A-Za-z])(?:\s?[、和与或]\s?[A-Z](?![A-Za-z]))*+"
    r"(?!\s?(?:选项|项)?(?:都|均|全)?(?:是)?(?:不|错|非|没))(?=[^。\n]{0,12}(?:都"
    r"|均|可能|之间|对|正确|。|$|\n))"
)

# After this a letter of either case ends the sentence: "maybe b", "I lean towards B.", "so it must be B".
HEDGED = (
    r"(?:^|(?<=[\n\x1e])|(?<=[.!?,;:]\s))[ \t]{0,3}(?:(?:so|thus|therefore|hence|well"
    r"|ok|okay|hmm|then|and|but)[,:]?\s){0,2}"
    r"(?:(?:maybe|perhaps|probably|likely|most likely|definitely|certainly|clearly|obviously|presumably|surely"
    r"|i(?:'d| would| will|'ll)? (?:think|guess|say|believe|suppose|choose|pick|select|vote|vote for|go with|go for"
    r"|answer|lean towards?|opt for)"
    r"|i(?:'m| am) (?:going with|leaning towards?|"
    r"(?:fairly |pretty |quite |very )?(?:sure|confident|certain))|let's go with"
    r"|it(?:'s| is| must be| has to be| should be)|that(?:'s| is)|must be|has to be|should be"
    r"|so|thus|therefore|hence)[,:]?\s){1,3}(?:that\s)?(?:(?:it|that)(?:'s| is)\s)?"
    r"(?:(?:probably|likely|definitely|clearly)\s)?(?:the answer is\s)?(?:option |choice |answer |letter )?"
    r"(?=[\"'(\[]*(?:(?-i:[A-Z])[\"')\]]{0,2}[ \t]*(?:[.!]|$|\n|, (?:or )?(?:maybe|perhaps|possibly))"
    r"|(?-i:[a-hj-z]|(?<=[(\[\"'])i)"
    r"[\"')\]]{0,2}[ \t]*[.!]?[ \t]*(?:$|\n)))"
)
FITS = (
    r"(?<![\w.'\"-])(?:option |choice |answer )?[\"'(\[]?(?P<letter>[A-Z])[\"')\]]?\s"
    r"(?:(?:fits|works|matches|holds|suits|satisfies (?:it|them|this|everything|all(?: (?:of )?(?:the|these))? \w+))"
    r"(?:\s(?:best|better|perfectly|exactly|well|here|everything|the (?:question|facts|data|description|conditions)"
    r"|all(?: (?:of )?(?:them|the \w+))?))?|does fit|is (?:the )?better(?: (?:one|choice|fit|option|answer))?)"
    r"(?=[ \t]*(?:[.!;]|$|\n))"
)

CHOICE_RULES: tuple[Rule, ...] = (
    Rule(
        "answer_colon",
        "'Answer: B', 'Final choice = B', also as a JSON field",
        ANSWER_COLON,
        example="Answer: B",
    ),
    Rule(
        "answer_is",
        "'The correct answer is B', 'my choice would be (B)'",
        ANSWER_IS,
        example="The correct answer is **B**.",
    ),
    Rule(
        "answer_heading",
        "a line 'Answer' with the choice on the next line",
        ANSWER_HEADING,
        example="## Answer\n\nB) 36",
    ),
    Rule("answer_word", "'Answer B.' at the end of a line", ANSWER_WORD, example="Answer B."),
    Rule("question_answer", "'Which is correct? B'", QUESTION_ANSWER, example="A or B? B."),
    Rule("boxed", "LaTeX \\boxed{B} or \\boxed{value}", BOXED, example="Thus, $\\boxed{\\text{B}}$."),
    Rule("xml", "<answer>B</answer>", XML, example="<answer>B</answer>"),
    Rule("hashes", "'#### B' at the start of a line", HASHES, example="6*6 = 36\n#### B"),
    Rule("zh_answer", "'答案：B', '正确答案是B', '答案选B'", ZH_ANSWER, example="正确答案是B。"),
    Rule(
        "other_answer",
        "the words for 'answer' of es, fr, de, ru, pt, it, ja, ko and others",
        OTHER_ANSWER,
        example="Respuesta: B",
    ),
    Rule(
        "hedged",
        "'maybe b', 'I lean towards B.', 'so it must be B' at the end of a sentence",
        HEDGED,
        example="maybe b",
    ),
    Rule(
        "select",
        "'I choose B', 'go with B', 'which is B', 'that leaves B'",
        SELECT,
        example="I'd go with B because 6*6 = 36.",
    ),
    Rule("is_option", "'... is option B', '..., so option B'", IS_OPTION, example="36 is option B."),
    Rule(
        "therefore",
        "'So B.', 'Therefore, (B)', '→ B' with nothing after it in the sentence",
        THEREFORE,
        example="6*6 = 36. So B.",
    ),
    Rule(
        "correction",
        "'... no, wait, B.': a change of mind that names the new choice",
        CORRECTION,
        example="It looks like 30. No, wait, B.",
    ),
    Rule("not_but", "'not A but B', '不是A，而是B'", NOT_BUT, example="It is not A but B."),
    Rule(
        "option_correct",
        "'B is correct', 'option (B) is the best answer', 'B) 36 is right'",
        OPTION_CORRECT,
        example="Six rows of six are 36, and option (B) is the best answer.",
    ),
    Rule("zh_correct", "'选项B是对的', 'B正确', '只有B符合题意'", ZH_CORRECT, example="只有选项B是对的。"),
    Rule("zh_select", "'选B', '故选B', '我选择B'", ZH_SELECT, example="所以选B。"),
    Rule(
        "fits",
        "'D fits.', 'only D works' of one option; of several it leaves the choice open",
        FITS,
        example="Two candidates: B and D. D fits.",
    ),
    Rule(
        "hedge",
        "'either A or B', 'both A and B are right': several options, one wanted",
        HEDGE,
        example="It is either A or B.",
    ),
    Rule("zh_hedge", "'A或B', 'A和B都对'", ZH_HEDGE, example="A和B都对。"),
    Rule("bare_reply", "the whole reply is a letter, or a letter with its option's text", example="**B**"),
    Rule(
        "bare_line",
        "a line is a letter, or a letter with its option's text, and nothing else",
        example="6*6 = 36.\n\nB",
    ),
    Rule(
        "first_line",
        "the reply opens with 'B) ...' or 'B. ...' and labels nothing else",
        example="B) because there are six rows of six.\nSix each.",
    ),
    Rule(
        "marked_option",
        "the one ticked or bold entry of a restated option list",
        example="A ❌\nB ✅\nC ❌\nD ❌",
    ),
    Rule("value_line", "a line is the text or value of exactly one option", example="36"),
    Rule(
        "value_sentence",
        "the last sentence ends in 'is VALUE' or '= VALUE' with the value of one option",
        example="Six times six is 36.",
    ),
    Rule(
        "letter_text_conflict",
        "letter and text of one commitment name different options: ambiguous",
        example="Answer: B) 42",
    ),
    Rule("equal_options", "the committed value is that of several options: ambiguous", example="Answer: 48"),
    Rule(
        "options_echo",
        "the reply restates the options and commits to none: ambiguous",
        example="A) 30\nB) 36\nC) 42\nD) 48",
    ),
    Rule(
        "not_an_option",
        "the last commitment names no option (letter out of range, 'none of the above', 'unknown')",
        example="Answer: none of these",
    ),
    Rule(
        "unclosed_reasoning",
        "a reasoning block never closes, so there is no reply",
        example="<think>The answer is B",
    ),
    Rule(
        "no_commitment",
        "nothing in the reply commits to an option",
        example="A farmer counts the trees in every row.",
    ),
    Rule("empty", "no text", example=""),
    Rule("refusal", "the model declines", example="I'm sorry, but I can't help with that."),
    Rule("call_failed", "there is no reply because the call failed", example="API_ERROR"),
)

_FLAGS = re.I
# Letters are case-sensitive in prose: these patterns look at the letter themselves.
_CASED = {
    "answer_word", "question_answer", "select", "is_option", "therefore", "correction", "not_but", "option_correct",
    "zh_correct", "zh_select", "fits", "hedge", "zh_hedge",
}  # fmt: skip


def _compile(rule: Rule) -> re.Pattern[str]:
    pattern = rule.pattern
    if rule.id in _CASED:
        # words in any case, letters in capitals only
        pattern = re.sub(r"\[A-Z\]", "(?-i:[A-Z])", pattern)
    return re.compile(pattern, _FLAGS)


PATTERNS: dict[str, re.Pattern[str]] = {rule.id: _compile(rule) for rule in CHOICE_RULES if rule.pattern}

EXPLICIT = frozenset(
    (
        "answer_colon",
        "answer_is",
        "answer_heading",
        "answer_word",
        "question_answer",
        "boxed",
        "xml",
        "hashes",
        "zh_answer",
        "other_answer",
    )
)
"""Rules that open an answer slot; the others are statements."""
