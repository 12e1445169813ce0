"""What a provider's exceptions mean to us: wait, try again, do without a feature, or give up."""

from __future__ import annotations

import re

import httpx

from redraft.domain import Usage
from redraft.errors import (
    CapabilityError,
    ModelError,
    ProviderError,
    RateLimited,
    RefusedReply,
    TransientError,
)

_SECRET = re.compile(r"\b(?:sk|key|pk|rk)-[A-Za-z0-9_\-*.]{6,}|(?i:bearer)\s+\S+|(?<=//)[^/@\s]+:[^/@\s]+@")
_WIDTH = 300
_FEATURES = {
    "json_schema": re.compile(r"response_format|json_schema", re.IGNORECASE),
    "tools": re.compile(r"\btools?\b|tool_choice|function", re.IGNORECASE),
    "temperature": re.compile(r"temperature", re.IGNORECASE),
    "max_completion_tokens": re.compile(r"max_completion_tokens", re.IGNORECASE),
}
_TOO_LONG = re.compile(r"context.{0,20}(length|window|size)|too many tokens|maximum.{0,20}tokens", re.IGNORECASE)
_FILTERED = re.compile(r"content.?(filter|policy|management)|responsible.?ai", re.IGNORECASE)


def redact(message: str) -> str:
    """The message, without anything that looks like a credential, on one line of sane length."""
    line = " ".join(_SECRET.sub("[redacted]", message).split())
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"


def translate(error: Exception, used: frozenset[str]) -> ModelError:
    """Our error for a provider's. `used` names the features that the request relied on."""
    message = redact(str(error) or type(error).__name__)
    status = _status(error)
    if status == 429:
        return _too_many(error, message)
    if status == 400 or status == 422:
        return _bad_request(message, used)
    if status in (401, 403):
        return ProviderError(message, hint="check the API key and what it may use")
    if status == 404:
        return ProviderError(message, hint="check the model's name and the base URL")
    if status is not None and (status >= 500 or status in (408, 409, 425)):
        return TransientError(f"HTTP {status}: {message}")
    if status is not None:
        return ProviderError(f"HTTP {status}: {message}", hint="check the model's name and the base URL")
    if _is_connection_trouble(error):
        cause = redact(str(error.__cause__)) if error.__cause__ else ""
        return TransientError(f"{message} {f'({cause})' if cause and cause not in message else ''}".strip())
    if isinstance(error, (IndexError, KeyError, TypeError, AttributeError, ValueError)):
        # What LangChain and the SDK raise when a 200 holds no chat completion: no choices, or a proxy's HTML page.
        return TransientError(f"the server's answer is not a chat completion ({message})")
    return ModelError(message, hint="see the message; the run can be resumed")


def _too_many(error: Exception, message: str) -> ModelError:
    if "insufficient_quota" in str(error):
        return ProviderError(message, hint="the account has no credit left; add some, then resume the run")
    return RateLimited(message, retry_after=_retry_after(error))


def _bad_request(message: str, used: frozenset[str]) -> ModelError:
    for feature, pattern in _FEATURES.items():
        if feature in used and pattern.search(message):
            return CapabilityError(f"{feature}: {message}")
    if _FILTERED.search(message):
        return RefusedReply(message, text="", usage=Usage(), finish_reason="content_filter")
    if _TOO_LONG.search(message):
        return ModelError(message, hint="use smaller --chunk-tokens and --context-tokens")
    return ProviderError(message, hint="the provider refuses the request; see its message")


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _retry_after(error: Exception) -> float | None:
    """Seconds from `retry-after-ms` or `retry-after`; a date, or nonsense, counts as not given."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * scale
        except ValueError:
            continue
        if 0 <= seconds <= 3600:
            return seconds
    return None


def _is_connection_trouble(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, (httpx.TransportError, OSError, TimeoutError)):
            return True
        if type(error).__name__ in {"APIConnectionError", "APITimeoutError", "ReadError", "RemoteProtocolError"}:
            return True
        error = error.__cause__
    return False
