"""Probabilities of the verdicts in a structured reply, from the log-probabilities of its tokens."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel

from redraft.prompts.contract import VerdictLabels
from redraft.prompts.tags import NO_ITEM, ItemRef, Tags

ALTERNATIVES = 5
"""How many tokens are asked for at each place; no provider allows fewer."""
# Where the labels have less of the probability, it says nothing of them.
_MIN = 0.5
_DIGITS = 6
_DECODER = json.JSONDecoder()
_BETWEEN = re.compile(r"[\s,:]*")

ValueT = TypeVar("ValueT")


class VerdictField(NamedTuple):
    """The list of a reply whose entries have a verdict with probabilities, the field of the verdict, and its labels."""

    entries: str
    name: str
    labels: tuple[str, ...]
    items: str
    """The field of the prompt's input that the entries are about."""


class ReplyToken(NamedTuple):
    """A token, and the probability of each token that the model might have put in its place, its own included."""

    text: bytes
    likely: Mapping[bytes, float]


class _TokenPlace(NamedTuple):
    """A label in a text, and where it begins."""

    label: str
    begin: int


def verdict_field(shape: object) -> VerdictField | None:
    """Return the verdict of a reply's entries that has probabilities; None where there is none."""
    if not isinstance(shape, type) or not issubclass(shape, BaseModel):
        return None
    for entries, field in shape.model_fields.items():
        entry = next((one for one in getattr(field.annotation, "__args__", ())), None)
        if not isinstance(entry, type) or not issubclass(entry, BaseModel) or "id" not in entry.model_fields:
            continue
        names = next((ref for ref in entry.model_fields["id"].metadata if isinstance(ref, ItemRef)), None)
        for name, told in entry.model_fields.items():
            for mark in told.metadata:
                if isinstance(mark, VerdictLabels) and names is not None:
                    return VerdictField(entries, name, mark.labels, names.field)
    return None


def tokens_of(told: object) -> list[ReplyToken]:
    """Return the tokens of a chat completion's `logprobs`; none if it is not in OpenAI's format."""
    content = told.get("content") if isinstance(told, Mapping) else None
    try:
        return [_token(one) for one in content or ()]
    except (AttributeError, KeyError, TypeError, ValueError):
        return []


def _token(one: Mapping[str, Any]) -> ReplyToken:
    others = {_bytes(other): math.exp(min(0.0, other["logprob"])) for other in one.get("top_logprobs") or ()}
    own = _bytes(one)
    return ReplyToken(own, {own: math.exp(min(0.0, one["logprob"])), **others})


def _bytes(one: Mapping[str, Any]) -> bytes:
    # A token may be a part of a letter.
    return bytes(one["bytes"]) if one.get("bytes") else one["token"].encode("utf-8", "replace")


def with_odds(value: ValueT, given: BaseModel, text: str, tokens: Sequence[ReplyToken]) -> ValueT:
    """Return a reply whose entries have the probabilities of their verdicts, as far as the tokens of its text tell
    them. An entry whose verdict is not found exactly where the JSON has it gets none."""
    weighed = verdict_field(type(value))
    begin = b"".join(token.text for token in tokens).rfind(text.encode("utf-8", "replace")) if text else -1
    if weighed is None or begin < 0 or not isinstance(value, BaseModel):
        return value
    places = _places(text, weighed, Tags(given))
    entries = list(getattr(value, weighed.entries))
    for n, one in enumerate(entries):
        said = getattr(one, weighed.name)
        place = places.get(one.id)
        if place and place.label == (said[0] if isinstance(said, list) and said else said):
            at = begin + len(text[: place.begin].encode("utf-8", "replace"))
            entries[n] = one.model_copy(update={"odds": _odds(tokens, at, place.label, weighed.labels)})
    return value.model_copy(update={weighed.entries: entries})


def _places(text: str, weighed: VerdictField, tags: Tags) -> dict[int, _TokenPlace]:
    """Return the verdict on each item where the text has it, without items that are named twice; none where the text
    holds several objects, or is not strict JSON."""
    begin = text.find("{")
    try:
        end = _DECODER.raw_decode(text, begin)[1] if begin >= 0 else 0
    except (ValueError, RecursionError):
        return {}
    if begin < 0 or "{" in text[end:]:
        return {}
    found: dict[int, _TokenPlace] = {NO_ITEM: _TokenPlace("", 0)}
    twice: set[int] = {NO_ITEM}
    for entry in [at for name, _, at in _parts(text, begin) if name == weighed.entries]:
        for _, value, at in _parts(text, entry):
            fields = {
                name: (said, place) for name, said, place in (_parts(text, at) if isinstance(value, dict) else ())
            }
            number = tags.number(weighed.items, fields.get("id", ("",))[0])
            said, place = fields.get(weighed.name, (None, 0))
            if isinstance(said, list):
                said, place = next(((one, where) for _, one, where in _parts(text, place)), (None, 0))
            twice |= {number} & found.keys()
            # A label that is written with escapes has no place of its own.
            if isinstance(said, str) and text.startswith(f'"{said}"', place):
                found[number] = _TokenPlace(said, place + 1)
    return {number: token_place for number, token_place in found.items() if number not in twice}


def _parts(text: str, at: int) -> Iterator[tuple[str, object, int]]:
    """Yield the members of the object or list that begins at a place, each with its name and its place; nothing for
    anything else."""
    closing = {"{": "}", "[": "]"}.get(text[at], "")
    at = _next(text, at + 1)
    while closing and text[at] != closing:
        name = ""
        if closing == "}":
            name, at = _DECODER.raw_decode(text, at)
            at = _next(text, at)
        value, end = _DECODER.raw_decode(text, at)
        yield name, value, at
        at = _next(text, end)


def _next(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


def _odds(tokens: Sequence[ReplyToken], at: int, label: str, labels: Sequence[str]) -> dict[str, float] | None:
    """Return the probability of each label where one of them begins at a byte of the tokens' text. Each token that
    might have stood there counts for the label that it begins, and one that begins several for none of them; while the
    label itself could still become another, the next token is read, too."""
    ends = [*accumulate(len(reply_token.text) for reply_token in tokens)]
    n = next((n for n, end in enumerate(ends) if end > at), len(tokens))
    mass = dict.fromkeys(labels, 0.0)
    path, done = 1.0, b""
    for token in tokens[n:]:
        lead = token.text[: max(0, at - (ends[n] - len(token.text)))] if token is tokens[n] else b""
        for other, likely in token.likely.items():
            # Tokens often differ in the blank before them.
            said, before = (other.lstrip(), lead.lstrip()) if lead else (other, lead)
            fits = _begun(done + said[len(before) :], labels) if said.startswith(before) else []
            if other != token.text and len(fits) == 1:
                mass[fits[0]] += path * likely
        path *= token.likely[token.text]
        done += token.text[len(lead) :]
        if (fits := _begun(done, labels)) == [label]:
            mass[label] += path
            break
        if label not in fits:
            return None
    total = sum(mass.values())
    return {name: round(one / total, _DIGITS) for name, one in mass.items()} if total >= _MIN else None


def _begun(said: bytes, labels: Sequence[str]) -> list[str]:
    """Return the labels that may be meant where this stands after the quotation mark."""
    words = said.decode("utf-8", "replace").casefold()
    return [label for label in labels if label.startswith(words) or words.startswith(f'{label}"')]
