"""Reading a structured reply out of whatever a model wrote around it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import TypeVar

from pydantic import BaseModel, ValidationError

T = TypeVar("T", bound=BaseModel)

_CODE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)```", re.DOTALL)
_OPENING = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_CLOSING = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_MAX_STARTS = 200
_MAX_COMPLAINT = 600
# A literal or an escape that is cut off is reported where it begins, which is at most so far from the end.
_CUT_LITERAL = 6


class NoValueError(ValueError):
    """The text holds no value of the wanted shape; the message is fit to send back to the model."""


def read_value(text: str, shape: type[T]) -> T:
    """The first JSON value in `text` that fits `shape`: bare, in a code fence, or after some prose."""
    complaint = "the reply holds no JSON object"
    for candidate in _candidates(without_thoughts(text)):
        try:
            return shape.model_validate_json(json.dumps(candidate))
        except ValidationError as error:
            complaint = _complaint(error)
        except (ValueError, RecursionError):
            complaint = "the reply is nested too deeply"
    raise NoValueError(complaint)


def without_thoughts(text: str) -> str:
    """The reply without the thinking some models put before it. Thinking without an end leaves no reply."""
    text = text.strip()
    while _OPENING.match(text):
        closing = _CLOSING.search(text)
        if closing is None:
            return ""
        text = text[closing.end() :].strip()
    closing = None if text.startswith(("{", "[")) or _OPENING.search(text) else _CLOSING.search(text)
    # Some servers keep the opening tag to themselves.
    return text[closing.end() :].strip() if closing else text


def _candidates(text: str) -> Iterator[object]:
    """JSON values in the order in which they deserve belief."""
    for source in (text, *_CODE.findall(text)):
        try:
            yield _DECODER.decode(source)
        except (ValueError, RecursionError):
            continue
    at, tries = 0, 0
    while tries < _MAX_STARTS and (start := _next_start(text, at)) >= 0:
        tries += 1
        try:
            value, at = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if error.msg.startswith("Unterminated") or error.pos >= len(text) - _CUT_LITERAL:
                # What is whole inside a value that breaks off is a part of the answer, and not the answer.
                raise NoValueError("the reply breaks off within its JSON") from None
            at = start + 1
        except (ValueError, RecursionError):
            at = start + 1
        else:
            yield value


def _next_start(text: str, at: int) -> int:
    starts = [found for found in (text.find("{", at), text.find("[", at)) if found >= 0]
    return min(starts, default=-1)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large")
    return number


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


# Python reads NaN and Infinity, which would become scores, and refuses a line break in a string, which does no harm.
_DECODER = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=_no_number)


def _complaint(error: ValidationError) -> str:
    lines = [f"{'.'.join(str(part) for part in item['loc']) or 'the value'}: {item['msg']}" for item in error.errors()]
    return "; ".join(lines)[:_MAX_COMPLAINT]
