"""What servers send, and what the packages between make of it: replies with their usage and finish, and exceptions as
decisions: wait, retry, do without a feature, or give up."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from pathlib import Path
from traceback import walk_tb
from typing import Any, TypeGuard
from urllib.parse import urlsplit

from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall
from langchain_core.messages.ai import UsageMetadata

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
from redraft.text.sanitizer import one_line

# No model reads or writes more at once, so a larger count is wrong.
_MAX_TOKENS = 1_000_000_000
_COUNTS = ("prompt_tokens", "completion_tokens")
THOUGHTS = ("reasoning_content", "reasoning")
"""The fields in which servers return reasoning apart from a reply."""
_LONGEST = 60
# Other providers' finish reasons in OpenAI's terms.
_FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
    "safety": "content_filter",
}
_TEXT_PARTS = frozenset({None, "text", "output_text"})


def completion_message(response: object) -> AIMessage:
    """Return the reply in a chat completion, in whichever of their forms a server sends it. Raises `ValueError` if
    there is none."""
    completion: Mapping[str, Any] = response if isinstance(response, Mapping) else {}
    choices = completion.get("choices")
    choice = next((part for part in choices if isinstance(part, Mapping)), {}) if isinstance(choices, list) else {}
    message = choice.get("message")
    if isinstance(message, str) or (message is None and isinstance(choice.get("text"), str)):
        message = {"content": message or choice["text"]}
    if not isinstance(message, Mapping):
        raise ValueError(one_line(repr(completion.get("error") or response), _LONGEST))
    calls: list[ToolCall] = []
    invalid_calls: list[InvalidToolCall] = []
    written = message.get("tool_calls")
    for call in written if isinstance(written, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        name, text = (function.get("name"), function.get("arguments")) if isinstance(function, Mapping) else ("", None)
        if not isinstance(name, str) or not isinstance(text, str):
            continue
        values = None
        with suppress(ValueError, RecursionError):
            values = json.loads(text, strict=False)
        call_id = str(call.get("id") or "")
        if isinstance(values, dict):
            calls.append(ToolCall(name=name, args=values, id=call_id, type="tool_call"))
        else:
            invalid_calls += [InvalidToolCall(name=name, args=text, id=call_id, error=None, type="invalid_tool_call")]
    texts = {name: message[name] for name in ("refusal", *THOUGHTS) if isinstance(message.get(name), str)}
    finish, model = choice.get("finish_reason"), completion.get("model")
    reported, usage = completion.get("usage"), None
    counts: Mapping[str, Any] = reported if isinstance(reported, Mapping) else {}
    details = (counts.get(f"{name}_details") for name in _COUNTS)
    asked, replied = (part if isinstance(part, Mapping) else {} for part in details)
    totals: list[Any] = [counts.get(name) for name in _COUNTS]
    totals += [asked.get("cached_tokens"), replied.get("reasoning_tokens")]
    plausible = plausible_usage(Usage(*totals))
    if plausible.reported:
        usage = UsageMetadata(
            input_tokens=plausible.prompt_tokens,
            output_tokens=plausible.completion_tokens,
            total_tokens=plausible.prompt_tokens + plausible.completion_tokens,
            input_token_details={"cache_read": plausible.cached_prompt_tokens},
            output_token_details={"reasoning": plausible.reasoning_tokens},
        )
    return AIMessage(
        content=_content(message.get("content")),
        additional_kwargs={name: text for name, text in texts.items() if text or name != "refusal"},
        tool_calls=calls,
        invalid_tool_calls=invalid_calls,
        usage_metadata=usage,
        response_metadata={
            "finish_reason": finish if isinstance(finish, str) else None,
            "model_name": model if isinstance(model, str) else None,
        },
    )


def _content(content: object) -> str:
    """Return the text of a reply, which some servers send in parts."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = content if isinstance(content, list) else [content]
    texts = [
        part.get("text") if isinstance(part, Mapping) and part.get("type") in _TEXT_PARTS else part for part in parts
    ]
    if not isinstance(content, list) and not isinstance(texts[0], str):
        return json.dumps(content, ensure_ascii=False, default=str)
    return "".join(text for text in texts if isinstance(text, str))


def _is_count(value: object) -> TypeGuard[int]:
    """Return whether a value is a plausible number of tokens."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_TOKENS


def plausible_usage(usage: Usage) -> Usage:
    """Return the usage reported by any package's model, if it is plausible."""
    if not _is_count(usage.prompt_tokens) or not _is_count(usage.completion_tokens):
        return Usage(reported=False)
    cached, reasoning = (
        count if _is_count(count) else 0 for count in (usage.cached_prompt_tokens, usage.reasoning_tokens)
    )
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    return Usage(prompt, completion, min(cached, prompt), min(reasoning, completion), usage.reported)


def answered_by(message: AIMessage) -> str:
    """Return the model that the provider says has answered; empty where it says nothing."""
    metadata = message.response_metadata
    return next((metadata[name] for name in ("model_name", "model") if isinstance(metadata.get(name), str)), "")


def other_model(message: AIMessage, requested: str) -> str:
    """Return a sentence that says that another model has answered than was requested; empty if it was that one."""
    answered = answered_by(message)
    # The names may differ in owner, date or size.
    name, answering_name = (model.casefold().rpartition("/")[2] for model in (requested, answered))
    is_other = name and answering_name and not (name.startswith(answering_name) or answering_name.startswith(name))
    answering, wanted = (one_line(repr(model), _LONGEST) for model in (answered, requested))
    return f"{answering} answered instead of {wanted}" if is_other else ""


def finish_of(message: AIMessage) -> str:
    """Return the finish reason in OpenAI's terms."""
    reasons = (message.response_metadata.get(name) for name in ("finish_reason", "stop_reason", "done_reason"))
    reason = one_line(str(next(filter(None, reasons), ""))).lower()
    return _FINISHES.get(reason, reason)


def text_of(message: AIMessage) -> str:
    """Return the reply's text, or the arguments of its tool call."""
    if message.tool_calls:
        return json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
    if message.invalid_tool_calls:
        return str(message.invalid_tool_calls[0]["args"] or "")
    return str(message.text)


def usage_of(message: AIMessage) -> Usage:
    """Return the usage, as far as the provider reports it."""
    usage = message.usage_metadata
    if not usage:
        return Usage(reported=False)
    cached = usage.get("input_token_details", {}).get("cache_read", 0) or 0
    reasoning = usage.get("output_token_details", {}).get("reasoning", 0) or 0
    return plausible_usage(Usage(usage["input_tokens"], usage["output_tokens"], cached, reasoning))


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
