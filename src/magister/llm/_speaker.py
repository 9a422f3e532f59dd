"""A speaker: a configured model together with what makes its request keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from magister.config.models import ModelConfig
from magister.llm._requests import Request, build_request, chat_body


@dataclass(frozen=True)
class Speaker:
    """Who is asked.

    Attributes:
        name: its name in the configuration.
        model: its configuration.
        fingerprint: what `fingerprint` returned for it.
    """

    name: str
    model: ModelConfig
    fingerprint: dict[str, Any]

    def request(
        self,
        messages: Sequence[Mapping[str, Any]],
        max_tokens: int,
        sample: int = 0,
        response_format: Mapping[str, Any] | None = None,
    ) -> Request:
        """The request row that puts a conversation to this model.

        Args:
            messages: the conversation.
            max_tokens: reply limit.
            sample: index of a repeated draw.
            response_format: the JSON schema that the reply has to follow, for engines that hold it to one.
        """
        body = chat_body(self.model, messages, max_tokens, response_format)
        return build_request(self.fingerprint, body, sample)
