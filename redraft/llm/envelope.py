"""Reads chat completions of OpenAI-compatible servers, and the messages of LangChain's models: text, usage, finish."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeGuard

from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall
from langchain_core.messages.ai import UsageMetadata

from redraft.domain import Usage
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
    return AIMessage(
        content=_content(message.get("content")),
        additional_kwargs={name: text for name, text in texts.items() if text or name != "refusal"},
        tool_calls=calls,
        invalid_tool_calls=invalid_calls,
        usage_metadata=_usage(completion.get("usage")),
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


def _usage(usage: object) -> UsageMetadata | None:
    """Return the usage; None if there is none, or an implausible one."""
    counts: Mapping[str, Any] = usage if isinstance(usage, Mapping) else {}
    details = (counts.get(f"{name}_details") for name in _COUNTS)
    asked, replied = (part if isinstance(part, Mapping) else {} for part in details)
    totals: list[Any] = [counts.get(name) for name in _COUNTS]
    totals += [asked.get("cached_tokens"), replied.get("reasoning_tokens")]
    plausible = plausible_usage(Usage(*totals))
    if not plausible.reported:
        return None
    return UsageMetadata(
        input_tokens=plausible.prompt_tokens,
        output_tokens=plausible.completion_tokens,
        total_tokens=plausible.prompt_tokens + plausible.completion_tokens,
        input_token_details={"cache_read": plausible.cached_prompt_tokens},
        output_token_details={"reasoning": plausible.reasoning_tokens},
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
