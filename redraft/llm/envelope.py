"""Normalizes chat completions of OpenAI-compatible servers: author, finish reason, usage and text."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from redraft.domain import Usage

IRREGULARITIES = "redraft_odd"
"""The key of a message's irregularities."""
_ASSISTANT = "assistant"
# No model reads or writes more at once, so a larger count is wrong.
_MAX_TOKENS = 1_000_000_000
_COUNTS = ("prompt_tokens", "completion_tokens")
_DETAILS = {"prompt_tokens_details": ("cached_tokens",), "completion_tokens_details": ("reasoning_tokens",)}
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


def normalized_completion(response: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a chat completion with all fields as in the protocol, and its irregularities; one without a reply is left
    unchanged."""
    odd: list[str] = []
    kept = {name: response[name] for name in ("error", "choices") if name in response}
    for name in ("id", "model", "service_tier", "system_fingerprint"):
        value = response.get(name)
        if isinstance(value, str):
            kept[name] = value
        elif value is not None:
            odd.append(f"{name} is {_shown(value)}")
    if isinstance(kept.get("choices"), list):
        kept["choices"] = [_choice(one, odd) for one in kept["choices"] if isinstance(one, Mapping)]
    if (usage := _used(response.get("usage"), odd)) is not None:
        kept["usage"] = usage
    return kept, odd


def _choice(choice: Mapping[str, Any], odd: list[str]) -> dict[str, Any]:
    message, finish = choice.get("message"), choice.get("finish_reason")
    if isinstance(message, str) or (message is None and isinstance(choice.get("text"), str)):
        odd.append("the message is a text")
        message = {"role": _ASSISTANT, "content": message or choice["text"]}
    if finish is not None and not isinstance(finish, str):
        odd.append(f"finish_reason is {_shown(finish)}")
        finish = None
    made: dict[str, Any] = {"finish_reason": finish}
    if isinstance(message, Mapping):
        made["message"] = _message(message, odd)
    return made


def _message(message: Mapping[str, Any], odd: list[str]) -> dict[str, Any]:
    made = {str(name): value for name, value in message.items() if name not in ("function_call", "audio")}
    if message.get("role") != _ASSISTANT:
        odd.append(f"role is {_shown(message['role'])}" if message.get("role") is not None else "there is no role")
    made["role"] = _ASSISTANT
    made["content"] = _content(message.get("content"), odd)
    if (refusal := message.get("refusal")) is not None and not isinstance(refusal, str):
        odd.append(f"refusal is {_shown(refusal)}")
        made["refusal"] = None
    calls = message.get("tool_calls")
    made["tool_calls"] = [call for call in calls if _is_call(call)] if isinstance(calls, list) else None
    if calls is not None and (not isinstance(calls, list) or len(made["tool_calls"]) < len(calls)):
        odd.append(f"tool_calls is {_shown(calls)}")
    for name in ("name", "id"):
        if not isinstance(made.get(name), str):
            made.pop(name, None)
    return made


def _is_call(call: object) -> bool:
    function = call.get("function") if isinstance(call, Mapping) else None
    return (
        isinstance(function, Mapping)
        and isinstance(function.get("name"), str)
        and isinstance(function.get("arguments"), str)
    )


def _content(content: object, odd: list[str]) -> str | None:
    """Return the text of a reply, which some servers send in parts."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(_part(one) for one in content)
    odd.append(f"content is {_shown(content)}")
    if isinstance(content, Mapping) and isinstance(content.get("text"), str):
        return str(content["text"])
    return json.dumps(content, ensure_ascii=False, default=str)


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    said = part.get("text") if isinstance(part, Mapping) and part.get("type") in _TEXT_PARTS else None
    return said if isinstance(said, str) else ""


def _used(usage: object, odd: list[str]) -> dict[str, Any] | None:
    """Return the usage; None if implausible."""
    if usage is None:
        return None
    if not isinstance(usage, Mapping):
        odd.append(f"usage is {_shown(usage)}")
        return None
    counts = {name: _count(usage.get(name), name, odd) for name in _COUNTS}
    if any(value is None for value in counts.values()):
        if usage:
            odd.append("usage does not say what was used")
        return None
    made: dict[str, Any] = {**counts, "total_tokens": sum(value or 0 for value in counts.values())}
    for (details, names), most in zip(_DETAILS.items(), counts.values(), strict=True):
        told = usage.get(details)
        if isinstance(told, Mapping):
            found = {name: _count(told.get(name), name, odd) for name in names}
            made[details] = {name: min(value, most or 0) for name, value in found.items() if value is not None}
    return made


def _count(value: object, name: str, odd: list[str]) -> int | None:
    """Return a number of tokens; None if it is not one."""
    if value is None:
        return None
    given = value
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < _LONGEST:
        value = int(value)
    if isinstance(value, float) and math.isfinite(value):
        value = math.ceil(value)
    if given is not value:
        odd.append(f"{name} is {_shown(given)}")
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_TOKENS:
        if given is value:
            odd.append(f"{name} is {_shown(given)}")
        return None
    return value


def plausible_usage(usage: Usage) -> Usage:
    """Return the usage reported by any package's model, if it is plausible."""
    odd: list[str] = []
    both = [_count(getattr(usage, name), name, odd) for name in _COUNTS]
    prompt, completion = both
    if prompt is None or completion is None:
        return Usage(reported=False)
    cached = _count(usage.cached_prompt_tokens, "", odd) or 0
    thought = _count(usage.reasoning_tokens, "", odd) or 0
    return Usage(prompt, completion, min(cached, prompt), min(thought, completion), usage.reported)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def answered_by(message: AIMessage) -> str:
    """Return the model that the provider says has answered; empty where it says nothing."""
    told = message.response_metadata
    return next((told[name] for name in ("model_name", "model") if isinstance(told.get(name), str)), "")


def irregularities(message: AIMessage, asked: str) -> tuple[str, ...]:
    """Return the irregularities of a response, including an answer by another model than requested."""
    found = [str(one) for one in message.response_metadata.get(IRREGULARITIES) or ()]
    answered = answered_by(message)
    if answered and asked and not _is_same(asked, answered):
        found.insert(0, f"{_shown(answered)} answered instead of {_shown(asked)}")
    return tuple(dict.fromkeys(found))


def _is_same(asked: str, answered: str) -> bool:
    """Return whether two names may be one model's, with or without owner, date or size."""
    one, other = (name.casefold().rpartition("/")[2] for name in (asked, answered))
    return one.startswith(other) or other.startswith(one)


def as_reply(message: BaseMessage) -> AIMessage:
    """Return the message as an assistant message, whatever role the provider gave it."""
    if isinstance(message, AIMessage):
        return message
    told = {**message.response_metadata, IRREGULARITIES: [f"the reply is a {type(message).__name__}"]}
    return AIMessage(
        content=message.content, additional_kwargs=message.additional_kwargs, response_metadata=told, id=message.id
    )


def finish_of(message: AIMessage) -> str:
    """Return the finish reason in OpenAI's terms."""
    told = (message.response_metadata.get(name) for name in ("finish_reason", "stop_reason", "done_reason"))
    reason = str(next(filter(None, told), "")).lower()
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
    found = message.usage_metadata
    if not found:
        return Usage(reported=False)
    return plausible_usage(
        Usage(
            prompt_tokens=found["input_tokens"],
            completion_tokens=found["output_tokens"],
            cached_prompt_tokens=found.get("input_token_details", {}).get("cache_read", 0) or 0,
            reasoning_tokens=found.get("output_token_details", {}).get("reasoning", 0) or 0,
        )
    )
