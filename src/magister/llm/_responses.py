"""Response files: rows of an OpenAI Batch output, in the order of the requests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from magister.errors import UserError
from magister.llm._files import read_lines
from magister.llm._rows import Row


@dataclass(frozen=True, slots=True)
class Response:
    """What came back for one request."""

    custom_id: str
    """Request key."""
    text: str
    """The reply, or the server's refusal in place of one; empty when there is none."""
    reasoning: str | None
    """The reasoning, where the server keeps it apart."""
    finish_reason: str | None
    """As returned: `stop`, `length`, `content_filter` ..."""
    model: str | None
    """The model's name as the server returned it."""
    prompt_tokens: int | None
    """None when the server did not count."""
    completion_tokens: int | None
    """None when the server did not count."""
    error: str | None
    """Error code when there is no answer: never to be scored as a wrong one."""

    @property
    def failed_status(self) -> str | None:
        """The status that a failed call gives its row; None when there is a reply to read.

        A prompt longer than the model's window is the model's limit and has a status of its own; all other
        errors are infrastructure and never answers.
        """
        if self.error is None:
            return None
        return "context_exceeded" if self.error == "context_length" else "error"


def read_responses(path: Path) -> list[Response]:
    """Read a response file.

    Raises:
        UserError: the file is missing or a line is not a response; names the line.
    """
    responses = []
    for number, line in read_lines(path):
        try:
            responses.append(_response(json.loads(line)))
        except (ValueError, KeyError, TypeError, IndexError):
            raise UserError(
                f"{path}, line {number}: not a row of a response file. Delete the file and run the step that "
                "writes it: answers are kept in the store."
            ) from None
    return responses


def _response(row: Row) -> Response:
    if row["error"] is not None:
        return Response(str(row["custom_id"]), "", None, None, None, None, None, str(row["error"]["code"]))
    body = row["response"]["body"]
    choice, usage = body["choices"][0], body.get("usage") or {}
    message = choice["message"]
    return Response(
        custom_id=str(row["custom_id"]),
        text=message.get("content") or message.get("refusal") or "",
        reasoning=message.get("reasoning_content"),
        finish_reason=choice.get("finish_reason"),
        model=body.get("model"),
        prompt_tokens=usage.get("prompt_tokens"),
        completion_tokens=usage.get("completion_tokens"),
        error=None,
    )
