"""Reads chat completions of OpenAI-compatible servers, and the messages of LangChain's models: text, usage, finish."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeGuard

from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolCall
from langchain_core.messages.ai import UsageMetadata

from redraft.domain import Usage
from redraft.text.sanitizer import one_line

IRREGULARITIES = "redraft_odd"
"""The key of a message's irregularities."""
_ASSISTANT = "assistant"
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


class NoCompletionError(ValueError):
    """The server's answer has no reply in any form."""


def completion_message(response: object) -> AIMessage:
    """Return the reply in a chat completion, in whichever of their forms a server sends it. Raises `NoCompletionError`
    if there is none."""
    odd: list[str] = []
    completion: Mapping[str, Any] = response if isinstance(response, Mapping) else {}
    choices = completion.get("choices")
    choice = next((part for part in choices if isinstance(part, Mapping)), {}) if isinstance(choices, list) else {}
    message = choice.get("message")
    if isinstance(message, str) or (message is None and isinstance(choice.get("text"), str)):
        odd.append("the message is a text")
        message = {"role": _ASSISTANT, "content": message or choice["text"]}
    if not isinstance(message, Mapping):
        raise NoCompletionError(_shown(completion.get("error") or response))
    role, calls = message.get("role"), message.get("tool_calls")
    if role != _ASSISTANT:
        odd.append("there is no role" if role is None else f"role is {_shown(role)}")
    read_calls = _read_calls(calls, odd)
    refusal = _text(message, "refusal", odd)
    usage = completion.get("usage")
    usage_metadata = _usage(usage)
    if usage_metadata is None and usage not in (None, {}):
        odd.append(f"usage is {_shown(usage)}")
    return AIMessage(
        content=_content(message.get("content"), odd),
        additional_kwargs={
            **({"refusal": refusal} if refusal else {}),
            **{name: message[name] for name in THOUGHTS if isinstance(message.get(name), str)},
        },
        tool_calls=[call for call in read_calls if call["type"] == "tool_call"],
        invalid_tool_calls=[call for call in read_calls if call["type"] == "invalid_tool_call"],
        usage_metadata=usage_metadata,
        response_metadata={
            "finish_reason": _text(choice, "finish_reason", odd),
            "model_name": _text(completion, "model", odd),
            IRREGULARITIES: odd,
        },
    )


def _text(holder: Mapping[str, Any], name: str, odd: list[str]) -> str | None:
    """Return a field that has to be a text; None if it is none."""
    value = holder.get(name)
    if value is not None and not isinstance(value, str):
        odd.append(f"{name} is {_shown(value)}")
        return None
    return value


def _read_calls(calls: object, odd: list[str]) -> list[ToolCall | InvalidToolCall]:
    """Return the calls of functions in a reply, without what is none."""
    read_calls: list[ToolCall | InvalidToolCall] = []
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            continue
        name, text = function.get("name"), function.get("arguments")
        if not isinstance(name, str) or not isinstance(text, str):
            continue
        values, call_id = None, str(call.get("id") or "")
        with suppress(ValueError, RecursionError):
            values = json.loads(text, strict=False)
        if isinstance(values, dict):
            read_calls.append(ToolCall(name=name, args=values, id=call_id, type="tool_call"))
        else:
            error = "not a JSON object"
            read_calls.append(InvalidToolCall(name=name, args=text, id=call_id, error=error, type="invalid_tool_call"))
    if calls is not None and not (isinstance(calls, list) and len(calls) == len(read_calls)):
        odd.append(f"tool_calls is {_shown(calls)}")
    return read_calls


def _content(content: object, odd: list[str]) -> str:
    """Return the text of a reply, which some servers send in parts."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = content if isinstance(content, list) else [content]
    texts = [
        part.get("text") if isinstance(part, Mapping) and part.get("type") in _TEXT_PARTS else part for part in parts
    ]
    if not isinstance(content, list):
        odd.append(f"content is {_shown(content)}")
        if not isinstance(texts[0], str):
            return json.dumps(content, ensure_ascii=False, default=str)
    return "".join(text for text in texts if isinstance(text, str))


def _usage(usage: object) -> UsageMetadata | None:
    """Return the usage; None if there is none, or an implausible one."""
    if not isinstance(usage, Mapping) or not all(_is_count(usage.get(name)) for name in _COUNTS):
        return None
    prompt, completion = (usage[name] for name in _COUNTS)
    counts = []
    for name, part in zip(_COUNTS, ("cached_tokens", "reasoning_tokens"), strict=True):
        details = usage.get(f"{name}_details")
        number = details.get(part) if isinstance(details, Mapping) else 0
        counts.append(number if _is_count(number) else 0)
    cached, reasoning = counts
    return UsageMetadata(
        input_tokens=prompt,
        output_tokens=completion,
        total_tokens=prompt + completion,
        input_token_details={"cache_read": cached},
        output_token_details={"reasoning": reasoning},
    )


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


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def answered_by(message: AIMessage) -> str:
    """Return the model that the provider says has answered; empty where it says nothing."""
    metadata = message.response_metadata
    return next((metadata[name] for name in ("model_name", "model") if isinstance(metadata.get(name), str)), "")


def irregularities(message: AIMessage, requested: str) -> tuple[str, ...]:
    """Return the irregularities of a response, including an answer by another model than requested."""
    odd = [str(irregularity) for irregularity in message.response_metadata.get(IRREGULARITIES) or ()]
    answered = answered_by(message)
    # The names may differ in owner, date or size.
    name, answering_name = (model.casefold().rpartition("/")[2] for model in (requested, answered))
    if name and answering_name and not (name.startswith(answering_name) or answering_name.startswith(name)):
        odd.insert(0, f"{_shown(answered)} answered instead of {_shown(requested)}")
    return tuple(dict.fromkeys(odd))


def as_reply(message: BaseMessage) -> AIMessage:
    """Return the message as an assistant message, whatever role the provider gave it."""
    if isinstance(message, AIMessage):
        return message
    metadata = {**message.response_metadata, IRREGULARITIES: [f"the reply is a {type(message).__name__}"]}
    return AIMessage(
        content=message.content, additional_kwargs=message.additional_kwargs, response_metadata=metadata, id=message.id
    )


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
