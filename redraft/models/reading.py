"""Reading a structured reply out of whatever a model wrote around it."""

from __future__ import annotations

import json
import re
from typing import TypeVar

from pydantic import BaseModel, ValidationError

T = TypeVar("T", bound=BaseModel)

_CODE = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_MAX_STARTS = 20
_MAX_COMPLAINT = 600


class NoValueError(ValueError):
    """The text holds no value of the wanted shape; the message is fit to send back to the model."""


def read_value(text: str, shape: type[T]) -> T:
    """The first JSON value in `text` that fits `shape`: bare, in a code fence, or after some prose."""
    complaint = "the reply holds no JSON object"
    for candidate in _candidates(_THOUGHT.sub("", text)):
        try:
            return shape.model_validate(candidate)
        except ValidationError as error:
            complaint = _complaint(error)
    raise NoValueError(complaint)


def without_thoughts(text: str) -> str:
    """The reply without the thinking some models put before it."""
    return _THOUGHT.sub("", text).strip()


def _candidates(text: str) -> list[object]:
    """JSON values in the order in which they deserve belief."""
    found: list[object] = []
    for source in (text, *_CODE.findall(text)):
        try:
            found.append(json.loads(source))
        except (ValueError, RecursionError):
            continue
    decoder = json.JSONDecoder()
    at, tries = 0, 0
    while tries < _MAX_STARTS and (start := _next_start(text, at)) >= 0:
        tries += 1
        try:
            value, at = decoder.raw_decode(text, start)
            found.append(value)
        except (ValueError, RecursionError):
            at = start + 1
    return found


def _next_start(text: str, at: int) -> int:
    starts = [found for found in (text.find("{", at), text.find("[", at)) if found >= 0]
    return min(starts, default=-1)


def _complaint(error: ValidationError) -> str:
    lines = [f"{'.'.join(str(part) for part in item['loc']) or 'the value'}: {item['msg']}" for item in error.errors()]
    return "; ".join(lines)[:_MAX_COMPLAINT]
