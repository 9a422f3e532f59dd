"""Responses that say which model wrote them: they are flagged, never edited."""

from __future__ import annotations

import re
from functools import lru_cache

# A text without any of the words on the left, in lower case, is not searched for the pattern on the right.
_FAMILIES = {
    "gpt": r"Chat ?GPT|GPT[- ]?\d[\w.-]*",
    "llama": "Llama",
    "glm": r"Chat ?GLM|GLM-\d",
    "yi-": r"Yi-\d",
    "phi-": r"Phi-\d",
    "deep": "Deep ?Seek",
    "open": "Open ?Chat|Open ?Assistant",
    "command r": "Command R",
    **{
        name.lower(): name
        for name in (
            "Claude", "Gemini", "Gemma", "Bard", "PaLM", "Vicuna", "Alpaca", "Koala", "Guanaco", "Mistral", "Mixtral",
            "Qwen", "QwQ", "Baichuan", "Falcon", "WizardLM", "InternLM", "MiniCPM", "SmolLM", "Grok", "Kimi", "Doubao",
            "ERNIE", "Copilot", "Dolly", "Zephyr", "StableLM", "OLMo", "Nemotron", "Jamba", "Hermes", "文心一言",
            "通义千问", "豆包", "讯飞星火", "混元",
        )
    },
}  # fmt: skip
_MAKERS = {
    "google": "Google(?: ?DeepMind)?",
    "meta": "Meta(?: AI)?",
    "mistral": "Mistral(?: AI)?",
    "alibaba": "Alibaba(?: Cloud)?",
    "hugging": "Hugging ?Face",
    "zhipu": "Zhipu(?: ?AI)?",
    **{
        name.lower(): name
        for name in (
            "OpenAI", "Anthropic", "DeepMind", "LMSYS", "Microsoft", "Tsinghua", "DeepSeek", "Baidu", "Tencent",
            "ByteDance", "Moonshot", "xAI", "Cohere", "Databricks", "Stability AI", "NVIDIA", "阿里云", "阿里巴巴",
            "百度", "腾讯", "智谱", "清华", "深度求索", "字节跳动",
        )
    },
}  # fmt: skip
_HINTS = tuple(sorted({*_FAMILIES, *_MAKERS}))
_FAMILY, _MAKER = ("|".join(names.values()) for names in (_FAMILIES, _MAKERS))
_SELF = (
    r"(?:\bI am|\bI['’]m|\bmy name is|\bcall me|\bthis is|我是|我叫|我的名字是)\s?"
    r"(?:(?:an?|the|AI|large|language|model|assistant|chatbot|called|named|known as|,)\s){0,6}"
)
_MADE = (
    r"(?:\bI\b|\bAI\b|\blanguage model\b|\bassistant\b)[^.!?\n]{0,80}"
    r"\b(?:trained|developed|created|made|built|designed)"
    rf"(?: and \w+)? by (?:the )?(?:\w+ (?:at|from) )?(?:{_MAKER})\b"
    rf"|我是[^。！？\n]{{0,20}}由[^。！？\n]{{0,20}}(?:{_MAKER})"
)
_GENERAL = re.compile(rf"{_SELF}(?:{_FAMILY})|\bas (?:{_FAMILY}),|{_MADE}", re.I)
# A configured name this short, or of letters alone, may stand in a text for something else.
_MIN_LENGTH = 5


@lru_cache(maxsize=4096)
def _of_model(name: str) -> tuple[tuple[str, ...], re.Pattern[str]]:
    """The parts of a model's name in lower case, and the name in any spelling of its separators.

    It is looked for after "I am", and anywhere if it can mean nothing else.
    """
    parts = [part for part in re.split(r"[-_\s./:]+", name) if part]
    if not parts:
        return (), re.compile(r"(?!)")
    spelt = rf"{r'[-_ ./:]?'.join(re.escape(part) for part in parts)}(?![A-Za-z0-9])"
    unmistakable = len(name) >= _MIN_LENGTH and re.search(r"[\d_./:-]", name) is not None
    own = rf"(?<![A-Za-z0-9]){spelt}" if unmistakable else None
    pattern = re.compile("|".join(part for part in (own, rf"{_SELF}{spelt}") if part), re.I)
    return tuple(part.lower() for part in parts), pattern


def names_a_family(text: str) -> bool:
    """Whether a response says of its writer which family or maker it is of.

    Found are "I am Vicuna" and "developed by OpenAI" in a sentence about the writer. A text that speaks about models
    in general is not.

    Args:
        text: the response as it is shown.

    Returns:
        True where the response is not blind.
    """
    low = text.lower()
    return any(hint in low for hint in _HINTS) and _GENERAL.search(text) is not None


def names_model(text: str, model: str) -> bool:
    """Whether a response holds a model's configured name.

    Args:
        text: the response as it is shown.
        model: name of a model in the comparison.

    Returns:
        True where the response is not blind.
    """
    parts, pattern = _of_model(model)
    low = text.lower()
    return all(part in low for part in parts) and pattern.search(text) is not None
