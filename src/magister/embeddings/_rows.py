"""Rows of the store that hold vectors: answers of `/v1/embeddings` in the OpenAI Batch form, one text each."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import numpy as np

from magister.embeddings._engine import Embedding
from magister.errors import UserError
from magister.llm import Row, failure, request_key


def embedding_key(fingerprint: Mapping[str, Any], text: str) -> str:
    """Hash all that a vector depends on: what embeds, and the text.

    Raises:
        UserError: the text is not valid Unicode.
    """
    return request_key(fingerprint, {"input": text})


def to_row(key: str, embedding: Embedding) -> Row:
    """Make the row of a vector, or of a failed call.

    The vector stands there as the API's `encoding_format: base64` has it: little-endian float32.
    """
    if embedding.vector is None:
        code, message = embedding.error or ("server", "no vector")
        return failure(key, code, message, embedding.attempts)
    data = base64.b64encode(embedding.vector.astype("<f4").tobytes()).decode("ascii")
    body: dict[str, Any] = {"data": [{"index": 0, "embedding": data}]}
    if embedding.tokens is not None:
        body["usage"] = {"prompt_tokens": embedding.tokens, "total_tokens": embedding.tokens}
    if embedding.truncated is not None:
        body["truncated"] = embedding.truncated
    return {
        "custom_id": key,
        "response": {"status_code": 200, "body": body},
        "error": None,
        "attempts": embedding.attempts,
    }


def from_row(row: Row) -> Embedding:
    """Read a row that `to_row` made.

    Raises:
        UserError: it holds no vector.
    """
    if row["error"] is not None:
        return Embedding(None, error=(row["error"]["code"], row["error"].get("message", "")))
    body = row["response"]["body"]
    try:
        data = base64.b64decode(body["data"][0]["embedding"], validate=True)
        vector = np.frombuffer(data, dtype="<f4").astype(np.float32)
    except (KeyError, IndexError, TypeError, ValueError, binascii.Error):
        raise UserError(
            f"the store's row {row['custom_id']} holds no vector. Delete this line and run again: its text is "
            "embedded anew."
        ) from None
    tokens = (body.get("usage") or {}).get("prompt_tokens")
    return Embedding(vector, tokens, body.get("truncated"))
