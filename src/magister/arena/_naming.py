"""Responses that say which model wrote them: they are flagged, never edited."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_FAMILY = (
    r"Chat ?GPT|GPT[- ]?\d[\w.-]*|Claude|Gemini|Gemma|Bard|PaLM|Llama|LLaMA|Vicuna|Alpaca|Koala|Guanaco|Mistral|Mixtral"
    r"|Qwen|QwQ|Chat ?GLM|GLM-\d|Baichuan|Yi-\d|Deep ?Seek|Phi-\d|Falcon|OpenChat|OpenAssistant|Open Assistant"
    r"|WizardLM|InternLM|MiniCPM|SmolLM\d?|Grok|Command R|Kimi|Doubao|ERNIE|Copilot|Dolly|Zephyr|StableLM|OLMo"
    r"|Nemotron|Jamba|Hermes|文心一言|通义千问|豆包|讯飞星火|混元"
)
_MAKER = (
    r"OpenAI|Anthropic|Google(?: ?DeepMind)?|DeepMind|Meta(?: AI)?|Mistral(?: AI)?|Alibaba(?: Cloud)?|LMSYS"
    r"|Hugging ?Face|Microsoft|Tsinghua|Zhipu(?: ?AI)?|DeepSeek|Baidu|Tencent|ByteDance|Moonshot|xAI|Cohere|Databricks"
    r"|Stability AI|NVIDIA|阿里(?:云|巴巴)|百度|腾讯|智谱|清华|深度求索|字节跳动"
)
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
_GENERAL = re.compile(rf"{_SELF}(?:{_FAMILY})|\b[Aa]s (?:{_FAMILY}),|{_MADE}", re.I)
# A configured name this short, or of letters alone, may stand in a text for something else.
_MIN_LENGTH = 5


@lru_cache(maxsize=4096)
def _of_model(name: str) -> re.Pattern[str]:
    """The name in any spelling of its separators: after "I am" always, anywhere if it can mean nothing else."""
    parts = [re.escape(part) for part in re.split(r"[-_\s./:]+", name) if part]
    if not parts:
        return re.compile(r"(?!)")
    spelt = rf"{r'[-_ ./:]?'.join(parts)}(?![A-Za-z0-9])"
    unmistakable = len(name) >= _MIN_LENGTH and re.search(r"[\d_./:-]", name) is not None
    own = rf"(?<![A-Za-z0-9]){spelt}" if unmistakable else None
    return re.compile("|".join(part for part in (own, rf"{_SELF}{spelt}") if part), re.I)


def names_itself(text: str, models: Iterable[str] = ()) -> bool:
    """Whether a response says which model wrote it, or names one of the models compared.

    Found are "I am Vicuna", "developed by OpenAI" in a sentence about the writer, a well-known family after "I am",
    and the names given. A text that speaks about models in general is not.

    Args:
        text: the response as it is shown.
        models: names of the models in the comparison, as configured.

    Returns:
        True where the response is not blind.
    """
    return _GENERAL.search(text) is not None or any(_of_model(name).search(text) for name in models)
