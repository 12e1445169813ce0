"""Translates providers' exceptions into decisions: wait, retry, do without a feature, or give up."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from pathlib import Path
from traceback import walk_tb
from typing import Any
from urllib.parse import urlsplit

from redraft.domain import Usage
from redraft.errors import (
    CapabilityError,
    KeyRejected,
    ModelError,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    RefusedReply,
    RejectedRequest,
    RunCommand,
    ServerUnreachable,
    Set,
    TimedOut,
    TransientError,
    UnknownModel,
    UsageError,
)
from redraft.llm.addresses import plain_address, redacted

_SECRET = re.compile(r"\b(?:sk|key|pk|rk)-[A-Za-z0-9_\-*.]{6,}|(?i:bearer)\s+\S+|(?<=//)[^/@\s]+:[^/@\s]+@")
_STATUS_AT_START = re.compile(r"^Error code: \d+( - )?")
"""What OpenAI's client writes before the words of the server."""
_WIDTH = 300
_FEATURES = {
    "maxItems": re.compile(r"max_?items", re.IGNORECASE),
    "enum": re.compile(r"\benums?\b", re.IGNORECASE),
    "json_schema": re.compile(r"response_format|json_schema", re.IGNORECASE),
    "tools": re.compile(r"\btools?\b|tool_choice|function", re.IGNORECASE),
    # Some take only one of the two; prompts set the temperature.
    "top_p": re.compile(r"\btop_?p\b", re.IGNORECASE),
    "temperature": re.compile(r"temperature", re.IGNORECASE),
    "max_completion_tokens": re.compile(r"max_completion_tokens", re.IGNORECASE),
}
_TOO_LONG = re.compile(r"context.{0,20}(length|window|size)|too many tokens|maximum.{0,20}tokens", re.IGNORECASE)
_UNKNOWN = re.compile(
    r"model_not_found|\bmodel\b.{0,120}(?:not exist|not found|not supported|not available)|not_found_error.*\bmodel:"
    r"|(?:unknown|no such|invalid) model\b",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content.?(filter|policy|management)|responsible.?ai|moderation", re.IGNORECASE)
# With which a provider complains about a request.
_REJECTIONS = (400, 404, 413, 422, 501)
_ARGUMENTS = re.compile(r"\barguments?\b")
# What reads the answer of an OpenAI-compatible server: the packages in between, and `envelope`.
_CLIENTS = frozenset({"redraft", "langchain_core", "langchain_openai", "openai", "httpx", "httpx2", "pydantic"})
_LOST = frozenset({"TransportError", "APIConnectionError", "ClientConnectionError"})
_UNREACHED = frozenset({"ConnectError", "ConnectTimeout", "ClientConnectorError"})
_LATE = frozenset({"TimeoutError", "ReadTimeout", "WriteTimeout", "APITimeoutError", "ReadTimeoutError"})
_REFUSED = re.compile(r"all connection attempts failed|connection refused|connect call failed", re.IGNORECASE)
_NO_CREDIT = "the account has no credit left; add some, then resume the run"
_NOTHING_ANSWERS = ("start the server; ", RunCommand("models"), " shows what answers, and where")
_USUAL_PLACE = "the chat model"


def redact(message: str, secrets: Sequence[str] = ()) -> str:
    """Return the message on one line, shortened, without `secrets` and anything that looks like one."""
    line = " ".join(redacted(message, tuple(secrets), _SECRET).split())
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"


def safe_cause(error: Exception, secrets: Sequence[str] = ()) -> Exception | None:
    """Return a provider's exception as the cause of ours: without secrets in what it says, and without the frames that
    hold them; None if it cannot be cleaned, or already is an error of ours."""
    for cause in _causes(error):
        if isinstance(cause, ModelError):
            return None
        cause.__traceback__ = cause.__context__ = None
        for name in ("args", "message", "body"):
            if (value := getattr(cause, name, None)) is not None:
                with suppress(AttributeError, TypeError):
                    setattr(cause, name, redacted(value, tuple(secrets), _SECRET))
        if redacted(str(cause), tuple(secrets), _SECRET) != str(cause):
            return None
    return error


def translate(
    error: Exception,
    features: frozenset[str],
    secrets: Sequence[str] = (),
    *,
    speaks_openai: bool = False,
    address: str = "",
    key_place: str = _USUAL_PLACE,
) -> ModelError:
    """Return our error for any exception of a chat model; `features` names the features that the request relied on, and
    `key_place` says where to put another key. Programming errors are named, and not retried."""
    for model_error in _causes(error):
        if isinstance(model_error, ModelError):
            return model_error
    message = redact(_STATUS_AT_START.sub("", str(error)) or type(error).__name__, secrets)
    status = status_of(error)
    if status is not None and status >= 300:
        model_error = _of_status(status, error, message, features, address, key_place)
        model_error.status = status
        return model_error
    # The HTTP libraries of the SDKs share these names, and no base class. A missing file is not a connection error.
    kinds = {kind.__name__ for cause in _causes(error) for kind in type(cause).__mro__}
    if kinds & _LOST or any(isinstance(cause, OSError) and cause.filename is None for cause in _causes(error)):
        cause = redact(str(error.__cause__), secrets) if error.__cause__ else ""
        names = {type(cause).__name__ for cause in _causes(error)}
        message = "connection lost" if message == "Connection error." else message
        details = f"{message} {f'({cause})' if cause and cause not in message else ''}".strip()
        if names & _UNREACHED:
            last = redact(str([*_causes(error)][-1]), secrets)
            why = "connection refused" if any(_REFUSED.search(repr(cause)) for cause in _causes(error)) else last
            where = f"nothing answers at {redact(address, secrets)}: " if address else ""
            return ServerUnreachable(f"{where}{why}", fix=_NOTHING_ANSWERS)
        return (TimedOut if names & _LATE else TransientError)(details)
    # The package that raised the error, with the file and line.
    place = None
    for frame, line in reversed(list(walk_tb(error.__traceback__))):
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in sys.stdlib_module_names:
            place = package, f"{Path(frame.f_code.co_filename).name}, line {line}"
            break
    # LangChain or OpenAI's client could not parse a 200 response, as opposed to a programming error.
    is_unparsed = isinstance(error, (IndexError, KeyError, TypeError, AttributeError, ValueError))
    is_unparsed = is_unparsed and place is not None and place[0] in _CLIENTS
    is_unparsed = is_unparsed and not (isinstance(error, TypeError) and _ARGUMENTS.search(str(error)))
    if status is not None or (speaks_openai and is_unparsed):
        return TransientError(f"the server's answer is not a chat completion ({type(error).__name__}: {message})")
    return ModelError(
        f"{type(error).__name__}: {message}{f' ({place[1]})' if place else ''}",
        hint="the chat model's library raised this error; fix what it names, then resume the run",
    )


def check_address_hint(address: str) -> str:
    """Return what may be wrong with an address, as a hint; usually the end of its path is missing."""
    if address and not re.search(r"/v\d", urlsplit(address).path):
        return f"did you mean {plain_address(address)}/v1?"
    return "check the model's name and the base URL"


def _of_status(
    status: int, error: Exception, message: str, features: frozenset[str], address: str, key_place: str
) -> ModelError:
    if status < 400:
        # Documents and keys go only to the chosen address.
        elsewhere = "another address"
        with suppress(UsageError):
            elsewhere = plain_address(str(_headers(error).get("location") or ""))
        return ProviderError(
            f"HTTP {status}: the server redirects to {elsewhere}, which is not followed",
            hint="if that is where the model is, give that address as the base URL",
        )
    details = f"{error} {getattr(error, 'body', '')}"
    is_throttled = status == 429 or (status in (503, 529) and _retry_after(error) is not None)
    if status == 402 or (is_throttled and "insufficient_quota" in details):
        return QuotaExhausted(message, hint=_NO_CREDIT)
    if is_throttled:
        return RateLimited(message, retry_after=_retry_after(error))
    if model_error := _known_complaint(status, message, features):
        return model_error
    if status in (401, 403):
        reason = "" if message == type(error).__name__ else f": {message}"
        refused = f"{redact(address) or 'the provider'} refused the API key (HTTP {status}){reason}"
        advice = "check the key's permissions, or put another" if status == 403 else "put a valid key"
        return KeyRejected(refused, hint=f"{advice} into {key_place}")
    if status in (400, 404) and _UNKNOWN.search(details):
        return UnknownModel(f"HTTP {status}: {message}", hint=check_address_hint(address))
    if status in (400, 413, 422):
        # It may be this one request, so others are still sent.
        return RejectedRequest(message, hint="the provider rejected the request; see its message")
    if status >= 500 or status in (408, 409, 425):
        return TransientError(f"HTTP {status}: {message}")
    return ProviderError(f"HTTP {status}: {message}", hint=check_address_hint(address))


def _known_complaint(status: int, message: str, features: frozenset[str]) -> ModelError | None:
    if status in _REJECTIONS and _TOO_LONG.search(message):
        error = RejectedRequest(message, fix=("use smaller ", Set("chunk_tokens"), " and ", Set("context_tokens")))
        error.too_long = True
        return error
    for feature, pattern in _FEATURES.items():
        if status in _REJECTIONS and feature in features and pattern.search(message):
            return CapabilityError(f"{feature}: {message}")
    if status in (*_REJECTIONS, 403) and _FILTERED.search(message):
        return RefusedReply(message, text="", usage=Usage(), finish_reason="content_filter")
    return None


def status_of(error: Exception) -> int | None:
    """Return the HTTP status of an exception, of its response, or of its cause."""
    for cause in _causes(error):
        holders = ((cause, "status_code"), (cause, "code"), (getattr(cause, "response", None), "status_code"))
        for value in (getattr(holder, name, None) for holder, name in holders):
            if isinstance(value, int) and 100 <= value < 600:
                return value
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _headers(error: Exception) -> Any:
    """Return the headers of the response that an exception or its cause has."""
    responses = (getattr(cause, "response", None) for cause in _causes(error))
    return next((headers for response in responses if (headers := getattr(response, "headers", None))), {})


def _retry_after(error: Exception) -> float | None:
    """Return the seconds of `retry-after-ms` or `retry-after`, which may be a date; nonsense is ignored."""
    headers = _headers(error)
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = str(headers.get(name) or "")
        with suppress(ValueError, TypeError):
            is_date = not value.replace(".", "").isdecimal()
            seconds = parsedate_to_datetime(value).timestamp() - time.time() if is_date else float(value) * scale
            return max(0.0, seconds)
    return None
