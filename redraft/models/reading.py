"""Reading a structured reply out of whatever a model wrote around it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from redraft.models.thoughts import CLOSING, OPENING, final_channel
from redraft.prompts.tags import Tags, Wire

T = TypeVar("T", bound=BaseModel)

_START = re.compile(rf"(?P<thought>{OPENING.pattern})|(?P<thought_ends>{CLOSING.pattern})|[{{\[]", re.IGNORECASE)
# The beginning of an object, or of a list of them: no word of a text looks so. A text may end right there.
_OBJECT = re.compile(r"\{\s*(?:[\"}]|\Z)|\[\s*(?:\{|\Z)")
# By these words a model takes back what it has said before.
_FINAL = re.compile(
    r"\bfinal\b|\bfinally\b|\bwait\b|\bcorrect(?:ed|ion)\b|\brevised\b|\bactually\b|\binstead\b|\bupdated?\b|\bsorry\b"
    r"|\boops\b|\bmistake\b|\bendgültig|\bkorrigiert|\bkorrektur|\bdéfinitive|\bcorrig|\bdefinitiv|\bисправлен|\bокончательн"
    r"|最终|更正|最終|訂正",
    re.IGNORECASE,
)
_MAX_STARTS = 200
_MAX_COMPLAINT = 600
# A literal or an escape that is cut off is reported where it begins, which is at most so far from the end.
_CUT_LITERAL = 6


class NoValueError(ValueError):
    """The text holds no value of the wanted shape; the message is fit to send back to the model."""


@dataclass(frozen=True, slots=True)
class _Found(Generic[T]):
    """A value in a reply, and the words between it and the one before."""

    value: T
    before: str


def read_value(text: str, shape: type[T], given: BaseModel | None = None) -> T:
    """The JSON value in `text` that fits `shape`, and names items of what was `given`: bare, fenced or within prose.

    Of several the last counts where the words before it say so, or where it leaves standing what the others say.
    Where two are at odds, neither is believed.
    """
    tags = Tags(given) if given is not None else None
    complaint = "the reply holds no JSON object"
    found = list[_Found[T]]()
    for candidate, before in _candidates(final_channel(text), found):
        try:
            wire = Wire(tags) if tags else None
            value = shape.model_validate_json(json.dumps(candidate), context=wire)
        except ValidationError as error:
            complaint = _complaint(error)
            continue
        except (ValueError, RecursionError):
            complaint = "the reply is nested too deeply"
            continue
        if wire and wire.strangers and not wire.named:
            complaint = "it names none of the items: every id is to be copied to the letter from the item it belongs to"
            continue
        found.append(_Found(value, before))
    if not found:
        raise NoValueError(complaint)
    settled = max((place for place, one in enumerate(found) if _FINAL.search(one.before)), default=0)
    if any(_at_odds(one.value, found[-1].value) for one in found[settled:]):
        raise NoValueError("the reply holds two answers that differ")
    return found[-1].value


def _candidates(text: str, found: list[_Found[T]]) -> Iterator[tuple[object, str]]:
    """The whole JSON values outside of thoughts, each with the words before it.

    What has been `found` is dropped where it turns out to have been thought.
    """
    at = said_to = tries = 0
    while start := _START.search(text, at):
        if start["thought"]:
            closing = CLOSING.search(text, start.end())
            if closing is None:
                # Whatever stands before is the beginning of an answer that was thought better of.
                raise NoValueError("the reply ends within its thoughts")
            at = said_to = closing.end()
            continue
        if start["thought_ends"]:
            # Some servers keep the opening sign to themselves.
            found.clear()
            at = said_to = start.end()
            continue
        tries += 1
        if tries > _MAX_STARTS:
            return
        try:
            value, end = _DECODER.raw_decode(text, start.start())
        except json.JSONDecodeError as error:
            cut = error.msg.startswith("Unterminated") or error.pos >= len(text) - _CUT_LITERAL
            if cut and (not found or _OBJECT.match(text, start.start())):
                # What is whole inside a value that breaks off is a part of the answer, and not the answer.
                raise NoValueError("the reply breaks off within its JSON") from None
            at = start.end()
        except (ValueError, RecursionError):
            at = start.end()
        else:
            yield value, text[said_to : start.start()]
            at = said_to = end


def _at_odds(one: BaseModel, other: BaseModel) -> bool:
    """Whether two values speak differently of an item of which both speak; or differ, where they speak of none."""
    first, second = one.model_dump(mode="json"), other.model_dump(mode="json")
    if first == second:
        return False
    ours, theirs = _entries(first), _entries(second)
    if not ours and not theirs:
        return True
    return any(ours[key] != theirs[key] for key in ours.keys() & theirs.keys())


def _entries(value: dict[str, Any]) -> dict[tuple[str, int], object]:
    """The entries of a reply by the item that they name."""
    return {
        (name, one["id"]): one
        for name, entries in value.items()
        if isinstance(entries, list)
        for one in entries
        if isinstance(one, dict) and "id" in one
    }


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
