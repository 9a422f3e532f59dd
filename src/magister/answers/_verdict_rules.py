"""The words of a verdict in several languages, and the table of rules."""

from __future__ import annotations

import re

from ._text import Rule

# 对 is a verdict only as a word of its own: not "for" (对于), "against" (面对), "compare" (对照) and the like
_ZH_RIGHT = (
    r"(?<![面核针绝校相反应比配成一两每几])(?<![对對]不)[对對](?:"
    r"(?:的|了|极了|劲|头|啊|呀|哦|啦|吧|喔|哒)?(?![一-鿿])(?!\s*[\"“「《]?[A-Za-z0-9$\\])"
    r"|的(?=答案|结果|做法|方法|思路|步骤|公式|选项|解法)"
    r"|(?:的|了)?(?=而且|但|并且|因[为此]|所以|可是|不过|然而))"
)
POSITIVE = (
    r"correct(?:ly)?|right|accurate|valid|true|sound"
    r"|perfect|flawless|spot on|正确|没错"
    rf"|{_ZH_RIGHT}"
    r"|無誤|无误|correct[ao]s?|correctes?|richtig|juste|exacte?"
    r"|korrekt|corrett[ao]|giust[ao]|esatt[ao]"
    r"|(?<![а-яё])(?:верно|правильно|верн(?:ый|ая|ое)|правильн(?:ый|ая|ое))(?![а-яё])|正しい|正解|정답|맞"
)
NEGATIVE = (
    r"incorrect(?:ly)?|wrong(?:ly)?|mistaken|inaccurate"
    r"|invalid|false|flawed|untrue|erroneous|faulty"
    r"|错误的?|错(?:了|的)?|錯誤?|有误(?!差)|有誤(?!差)|误(?!差)"
    r"|incorrect[ao]s?|equivocad[oa]|err[oó]ne[oa]|falsch"
    r"|faux|fausse|incorrecte|inkorrekt|scorrett[ao]|sbagliat[ao]|errad[oa]"
    r"|неверн(?:о|ый|ая|ое)|неправильн(?:о|ый|ая|ое)|ошибочн(?:о|ый|ая|ое)"
    r"|間違[いっ]|不正解|誤り|틀"
)
_LABEL_TEXT = (
    r"<\s?(?:verdict|correctness|judge?ment)\s?>\s*"
    r"|(?:^|(?<=[\n.!?。！？{,\x1e]))[\s\"'\[#>*-]{0,12}(?:\d[.)]\s?)?(?:the "
    r"|my |final |overall )?"
    r"(?:correctness(?: of (?:the |this |your )?(?:latest "
    r"|last |student'?s? |current |previous )?(?:solution"
    r"|answer|response|reply|attempt))?"
    r"|verdict|judge?ment|assessment|evaluation|status"
    r"|(?:is_|is )?correct(?: or (?:wrong|incorrect))?"
    r"|result|grade"
    r"|(?:最新|最后|学生)?(?:的)?(?:解答|答案|回答|解法)?的?正确性|判断(?:结果)?|判定(?:结果)?|评判(?:结果)?|评价|结论|对错|是否正确"
    r"|veredicto|verdicto|urteil|bewertung|вердикт|判定|評価)"
    r"[\"'\]]{0,2}(?:\s{0,3}[:=]|\s-{1,2}\s|\s(?:is"
    r"|was)(?=\s*:?\s*(?:in)?(?:correct|wrong|right)\b)"
    r"|[ \t]*\n)\s*:?\s*"
)
VERDICT_RULES: tuple[Rule, ...] = (
    Rule(
        "json", "a JSON field: verdict, correctness, correct, is_correct", example='{"verdict": "incorrect"}'
    ),
    Rule(
        "label",
        "'Correctness of the latest solution: Wrong', 'Verdict: correct', '判断：错误'",
        _LABEL_TEXT,
        example="Correctness of the latest solution: Wrong\nCount the rows.",
    ),
    Rule(
        "question_answered",
        "'Is it correct? No, ...'",
        r"\b(?:correct|right|wrong|accurate)\s?\?\s*(?P<yes>yes"
        r"|no|yep|nope|not)\b|(?:正确|对)吗\?\s*(?P<zh>不"
        r"|是|对(?![一-鿿])|否)",
        example="Is the solution correct? No, count again.",
    ),
    Rule(
        "opening",
        "a reply or sentence that is the verdict and nothing else: 'Wrong!', 'Correct.'",
        example="Incorrect. Count again.",
    ),
    Rule(
        "statement",
        "'your answer is incorrect', 'the solution isn't right', '回答有误'",
        rf"{POSITIVE}|{NEGATIVE}",
        example="Six rows were planted, so your answer isn't right.",
    ),
    Rule(
        "fault",
        "'there is an error in line 3', 'you made a mistake'; negated: 'no mistakes'",
        example="There is an error in line 3.",
    ),
    Rule(
        "part",
        "only a part of the solution is judged; a wrong part makes it wrong, a right part says nothing",
        example="Your second step is wrong.",
    ),
    Rule(
        "no_verdict", "nothing in the reply is a verdict on the solution", example="Which rows did you count?"
    ),
    Rule("empty", "no text", example=""),
    Rule(
        "unclosed_reasoning",
        "a reasoning block never closes, so there is no reply",
        example="<think>It is wrong",
    ),
)
LABEL = re.compile(_LABEL_TEXT, re.I)
QUESTION = re.compile(VERDICT_RULES[2].pattern, re.I)
WORD_EDGE = r"(?<![A-Za-z])(?:{})(?![A-Za-z])"
POS = re.compile(WORD_EDGE.format(POSITIVE), re.I)
NEG = re.compile(WORD_EDGE.format(NEGATIVE), re.I)

_STOP = r".!?。！？;；:\n,，、\x1e✓✔✅✗✘❌"
CLAUSE = re.compile(rf"[^{_STOP}]+(?:\.(?=\d)[^{_STOP}]+)*[{_STOP}]?|[{_STOP}]")
NOT_SO = re.compile(
    r"[\s\W]*(?:nope|not (?:quite|yet|exactly)"
    r"|(?:but |and |however )?(?:the |your )?(?:final "
    r"|latest )?(?:answer|result|solution|conclusion)\s?(?:is not"
    r"|isn't|was not|wasn't))"
    r"\W*",
    re.I,
)
JOINT = re.compile(
    r"\s(?=(?:but|however|although|though|yet|while"
    r"|whereas|except|and (?:the|your|it|this|that|so"
    r"|there)|so (?:the|it|this|your)|because|since"
    r"|apart)\b)"
    r"|(?=但是?|然而|不过|可是|只是|因为)",
    re.I,
)
NEGATION = re.compile(
    r"\b(?:not|never|no|hardly|barely|neither|nor|without"
    r"|free of|far from|nothing|none|doesn't|don't|cannot"
    r"|can't|fails? to be|lacks?|anything but)\b|n't\b"
    r"|n’t\b"
    r"|不(?!错|过|仅|但|只)|没有?|無|无(?!误)|并非|非|未|\b(?:nicht"
    r"|kein|keine|keinen|pas|aucune?|sin|ning[uú]n|нет"
    r"|не|без)\b",
    re.I,
)
NOT_MERELY = re.compile(r"\bnot (?:only|just|merely)\b", re.I)
PARTIAL = re.compile(
    r"\b(?:partial(?:ly)?|partly|mostly|somewhat|half|largely|in part)\b|部分|基本上?|大致", re.I
)
NEARLY = re.compile(
    r"\b(?:almost|nearly|close to|not (?:quite|entirely|fully|completely))\b|不完全|不太|几乎", re.I
)
HYPOTHESIS = re.compile(
    r"\b(?:if|whether|would|could(?! not\b)|might|may|should|suppose"
    r"|assume|assuming|unless|make sure|ensure|be sure"
    r"|check (?:that|if)|verify|determine|see if|confirm"
    r"|(?<!appears )(?<!seems )to be|must be|maybe|perhaps|possibly|needs? to be|has to be|instead of"
    r"|until|once|so that|in order|let's|before)\b|是否"
    r"|如果|假如|若|确保|应该|请|可能|要想|才能",
    re.I,
)
RULING = re.compile(  # "I would mark this as wrong" is a judgement, not a condition
    r"\b(?:i|we)(?:'d|’d|\s(?:would|should))(?P<not>n't|n’t|\snot)?\s(?:have to |still )?"
    r"(?:say|mark|call|grade|judge|consider|rate|score|count|deem|label)\b",
    re.I,
)
HABIT = re.compile(
    r"\b(?:often|usually|commonly|typically|frequently|sometimes|generally|tends? to)\b"
    r"|往往|通常|常常|经常|容易|一般",
    re.I,
)
GOT_IT = re.compile(
    r"[\s\W]*(?:(?:yes|yep|yeah|well done|great|exactly|congratulations)\W+)?"
    r"(?:you(?:['’]ve| have)? (?:really |finally |just )?(?:got|nailed) it|nailed it)\W*",
    re.I,
)
DISCOURSE = re.compile(
    r"[\s\W]{0,8}(?:all right[,.!]|(?:(?:ok|okay|so|well),? )?right,\s+(?:let|now|so|then|look|try|what|how|where|why"
    r"|first|next|back|we|on to|moving|go)\b)",
    re.I,
)
WAY = re.compile(  # what can be right while the answer is not
    r"\s*(?:approach|method|way|formula|sign|order|units?|equation|expression|steps?|side|triangle|angle|hand"
    r"|now|away|track|direction|path|idea|thinking|place|operation|的?做法|的?方法|的?思路|的?步骤|的?公式)",
    re.I,
)
ADVICE = re.compile(
    r"\b(?:avoid|look(?:ing)? for|check(?:ing)? for"
    r"|find|spot|locate|common|typical|careful|beware"
    r"|watch|prevent|possible|potential|any|spotting"
    r"|learn from)\b|避免|检查|寻找|找出|小心|注意|常见",
    re.I,
)
FAULT = re.compile(
    r"\b(?:errors?|mistakes?|miscalculat\w+|slip|blunder"
    r"|flaws?|went wrong|goes wrong|typo|bug|incorrectly"
    r"|wrongly|misread|misinterpret\w*|overlooked|miscounted"
    r"|fehler|erreurs?|err(?:or|ores)|ошибк\w+)\b"
    r"|错误|差错|漏洞|失误|算错|做错|写错|搞错|弄错|出错|有问题|问题(?=出在)|誤り|間違い|ミス",
    re.I,
)
ATTRIBUTE = re.compile(
    r"\s*(?:answer|value|result|approach|method|way"
    r"|formula|number|option|choice|sign|order|units?"
    r"|conclusion|equation|expression|total|one|steps?"
    r"|side|triangle|angle|hand|now|away|track|direction"
    r"|path|idea|thinking|figure|place|amount|operation"
    r"|solution"
    r"|的?答案|的?结果|的?做法|的?方法|的?思路|的?步骤|的?公式|的?选项|的?解法|的?值)",
    re.I,
)
COPULA = re.compile(
    r"(?:\b(?:is|are|was|were|be|seems?|looks?|appears?"
    r"|remains?|isn't|aren't|wasn't|got|get|gets|have"
    r"|has|reached?|found|gave|gives?|arrived at|came to"
    r"|that's|it's|this is|you're|chose)\b|'s|'re|是"
    r"|为|属于|做|答|回答|说得|计算|ist|est|es|está)[^,.]*$",
    re.I,
)
PART = re.compile(
    r"\b(?:reasoning|method|approach|steps?|setup|set-up"
    r"|formula|idea|start|beginning|explanation|logic"
    r"|thinking|direction|part|first|equation|process"
    r"|notation|intermediate|line|calculation|arithmetic"
    r"|strategy|track|assumption|format|units?|intuition)\b"
    r"|思路|方法|步骤|过程|推理|公式|第.步|想法|开头|前半|方向|部分",
    re.I,
)
SUBJECT_VERB = re.compile(
    r"\b(?:is|are|was|were|isn't|aren't|wasn't|seems?"
    r"|looks?|appears?|contains?|has|have)\b|'s\b|是"
    r"|有|不|正确|错误|对",
    re.I,
)
PUT_RIGHT = re.compile(
    r"\s*(?:correct|right)\s+(?:the|your|this|that|it|any|these|those|for|yourself|and)\b", re.I
)
OPENING = re.compile(
    r"[\s\W]*+(?:(?>(?:yes|no|well|sorry|ok|okay|unfortunately"
    r"|great|good(?: job)?|well done|that|this|it|you"
    r"|your"
    r"|the|student|latest|final|solution|answer|is|are"
    r"|s|re|both|absolutely|completely|totally|exactly|still"
    r"|also|all)"
    r"(?![A-Za-z])|是的|回答|答案|解答|完全|[这是的你做很答])[\s'!-]*+)*+"
    r"(?:(?:not|isn't|不是|不)\s*(?:(?:quite|entirely|fully|yet)\s)?)?"
    rf"(?:{POSITIVE}|{NEGATIVE})(?:\s(?:answer|solution|result|again|now|overall|job))?"
    r"(?:\sand (?:complete|concise|clear|clean|thorough|rigorous|precise|accurate|incomplete|unclear"
    r"|well[- ](?:explained|written|justified|reasoned|structured|presented)))?\W*",
    re.I,
)
BOTH = re.compile(
    r"[\s\W]*(?:correct|right|正确)\s?(?:/|\||or|,|或|还是)\s?(?:wrong"
    r"|incorrect|false|错误)|[\s\W]*(?:wrong|incorrect)\s?(?:/"
    r"|\||or)\s?(?:correct|right)",
    re.I,
)
YES = re.compile(r"\W{0,6}(?:yes|true|✓|✔|✅|是的?|对|yep|pass(?:ed)?|да|sí|oui|ja)(?![A-Za-z])", re.I)
NO = re.compile(r"\W{0,6}(?:no|false|not|✗|✘|❌|否|不|nope|fail(?:ed)?|нет|non|nein)(?![A-Za-z])", re.I)
TICK = re.compile(r"\s{0,3}(?:(?P<yes>[✓✔✅])|(?P<no>[✗✘❌]))")
