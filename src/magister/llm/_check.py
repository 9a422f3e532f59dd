"""Whether the configured models answer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from magister.config.models import ModelConfig
from magister.errors import UserError
from magister.llm._requests import ENDPOINT, chat_body
from magister.llm._rows import Row
from magister.llm.engines import create_engine

_MESSAGES = [{"role": "user", "content": "Answer with one word: are you there?"}]
_TOKENS = 8
_ATTEMPTS = 2

_ADVICE = {
    "context_length": "raise the model's `context`, or shorten its `system`",
    "rate_limit": "lower `limits.concurrency`, set `limits.requests_per_minute`, or wait",
    "server": "the endpoint fails on its side; look at its log, or try later",
    "timeout": "raise `limits.timeout`, or see whether the endpoint is overloaded",
    "connection": "check `base_url`, and that the server runs and can be reached from here",
    "bad_request": "the endpoint refuses a field; see `sampling` (a null in its `extra` leaves a field out)",
    "cancelled": "run the check again",
}


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How one model took a tiny request."""

    name: str
    """The model's name."""
    engine: str
    """Its engine."""
    ok: bool
    """Whether it answered."""
    detail: str
    """The reply's beginning; or the error code, what was said and what to do."""
    seconds: float
    """Wall time, loading included."""
    tokens: int | None
    """Tokens read and written; None when they were not counted."""


def check_models(
    models: Mapping[str, ModelConfig], *, weights: Mapping[str, Path] | None = None
) -> list[CheckResult]:
    """Ask each model one tiny question; of scripted ones, only find the player. Nothing is stored.

    Args:
        models: configurations by name.
        weights: files with weights by model name, for engines that load them.

    Returns:
        A row per model, in order. A failure is a row, not an exception.
    """
    found = weights or {}
    return [_check(name, model, found.get(name)) for name, model in models.items()]


def _check(name: str, model: ModelConfig, weights: Path | None) -> CheckResult:
    started = time.monotonic()
    rows: list[Row] = []
    detail = ""
    limits = model.limits.model_copy(update={"attempts": min(_ATTEMPTS, model.limits.attempts)})
    try:
        engine = create_engine(name, model.model_copy(update={"limits": limits}), weights=weights, workers=1)
        try:
            if model.engine == "scripted":  # players know their own prompts alone, not a greeting
                detail, seconds = f"player {model.script!r} is there", time.monotonic() - started
                return CheckResult(name, model.engine, True, detail, seconds, None)
            body = chat_body(model, _MESSAGES, _TOKENS)
            engine.run([{"custom_id": "check", "method": "POST", "url": ENDPOINT, "body": body}], rows.append)
        finally:
            engine.close()
    except UserError as error:
        detail = str(error)
    except Exception as error:  # noqa: BLE001 - one broken model must not hide how the others are
        detail = f"{type(error).__name__}: {error}"
    seconds = time.monotonic() - started
    if detail or not rows:
        return CheckResult(name, model.engine, False, detail or "no row was delivered", seconds, None)
    error_row = rows[0]["error"]
    if error_row is not None:
        code = error_row["code"]
        detail = f"{code}: {error_row['message']}. What to do: {_ADVICE.get(code, 'see the message')}."
        return CheckResult(name, model.engine, False, detail, seconds, None)
    answer = rows[0]["response"]["body"]
    text = answer["choices"][0]["message"]["content"] or ""
    return CheckResult(name, model.engine, True, text[:60], seconds, answer["usage"].get("total_tokens"))
