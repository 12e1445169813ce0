"""Reads a structured reply out of the text around it. What json-repair makes of broken JSON counts only if the text has
both ends of it and the same keys, and each item of a list stands or falls by itself."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import json_repair
from pydantic import BaseModel, ValidationError

from redraft.lazy import pattern
from redraft.llm.reply_forms import ReplyShape
from redraft.prompts.tags import TagContext, Tags
from redraft.text.reasoning import CLOSING, OPENING, final_channel, strip_reasoning

T = TypeVar("T", bound=BaseModel)

# The beginning of an object, of a list of them, or of a list of texts; the text may end right there.
_BEGINS = re.compile(r"""[{\[]\s*+(?:["'{\[}]|\Z)""")
_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*+"|[{\[,:]\s*+'(?:[^'\\]|\\.)*+')|(?P<cut>"|[{\[,:]\s*+')|[{}\[\]]""", re.DOTALL
)
_QUOTED_KEY = re.compile(r"""(?<=["'])([^"'\\]*+)["']\s*+:""")
_CLOSING = {"{": "}", "[": "]"}
_DEEPEST = 60
_MAX_SCANNED, _MAX_STARTS = 300_000, 200
_START = pattern(rf"(?P<thought>{OPENING.pattern})|(?P<thought_ends>{CLOSING.pattern})|[{{\[]", re.IGNORECASE)
_OBJECT = pattern(r"\{\s*(?:[\"'}]|\Z)|\[\s*(?:\{|\Z)")
# The beginning of a list of entries, bare or as the one field of an object.
_LIST = pattern(r"""(?:\{\s*["']?[\w -]+["']?\s*:\s*)?\[(?=\s*\{)""")
_NEXT = pattern(r"\s*,?\s*(?=\{)")
# Words that retract an earlier statement.
_FINAL = pattern(
    r"\bfinal\b|\bfinally\b|\bwait\b|\bcorrect(?:ed|ion)\b|\brevised\b|\bactually\b|\binstead\b|\bupdated?\b|\bsorry\b"
    r"|\boops\b|\bmistake\b|\bendgültig|\bkorrigiert|\bkorrektur|\bdéfinitive|\bcorrig|\bdefinitiv|\bисправлен"
    r"|\bокончательн|最终|更正|最終|訂正",
    re.IGNORECASE,
)
# What may separate entries of one reply: list marks, a fence, an unreadable entry, and words that name the next item.
_BETWEEN = pattern(
    r"(?:\{[^{}]*\}|\{(?![^{}]*\})|[}\s,;|*\-–—#>.`\"':()\[\]\d]"
    r"|\b(?:jsonl?|question|pair|sentence|fact|item|entry|id|number|for|and|then|next|[bcdfghjkmnpqrtvwx]{4,6})\b)*",
    re.IGNORECASE,
)
_MAX_COMPLAINT = 600
_STRANGERS = "it names none of the items: every id must be copied exactly from the item it belongs to"


class NoValueError(ValueError):
    """The text has no value of the wanted shape; the message can be sent back to the model."""

    def __init__(self, complaint: str, *, formless: bool = True, nameless: bool = False) -> None:
        super().__init__(complaint)
        self.nameless = nameless
        """Whether only the item names were missing."""
        self.formless = formless
        """Whether it does not even have the form that a server would enforce."""


class _CutJsonError(ValueError):
    """The text ends before the value does."""


class _Candidate(NamedTuple):
    """A JSON value of a reply, as read or as validated, and the words before it."""

    value: Any
    before: str


def read_value(text: str, shape: type[T], inputs: BaseModel | None = None) -> T:
    """Return the JSON value in `text` that fits `shape` and names items of `inputs`: bare, fenced or within prose.
    Invalid entries are left out, with all others about the same item. Of several values the last counts if the text
    says so or it does not conflict; conflicting ones are all rejected."""
    tags = Tags(inputs) if inputs is not None else None
    form = ReplyShape(shape, tags)
    failure = NoValueError("the reply holds no JSON object")
    values: list[_Candidate] = []
    for candidate in _joined(_candidates(final_channel(text), form), form):
        try:
            value = _validated(form.with_certain_item(form.reshaped(candidate.value)), shape, form)
        except NoValueError as error:
            failure = error
        else:
            values.append(_Candidate(value, candidate.before))
    if not values:
        raise failure
    retracted = max((at for at, candidate in enumerate(values) if _FINAL.search(candidate.before)), default=0)
    values = values[retracted:]
    if any(_conflict(candidate.value, values[-1].value) for candidate in values):
        raise NoValueError("the reply holds two answers that differ")
    reply: T = _continued(values, form)
    return reply


def whole_entries(text: str, shape: type[T], inputs: BaseModel) -> T | None:
    """Return the complete entries of a reply that was cut within its list; None if there is none, or entries depend
    on each other."""
    form, answer = ReplyShape(shape, Tags(inputs)), strip_reasoning(text)
    first = _OBJECT.search(answer)
    begins = _LIST.match(answer, first.start()) if first and form.has_independent_entries else None
    if begins is None:
        return None
    reader, at = _JsonReader(answer), begins.end()
    with suppress(_CutJsonError):
        reader.value(begins.start())
        # It is complete, so the cut value came after it.
        return None
    entries: list[object] = []
    with suppress(_CutJsonError):
        while (match := _NEXT.match(answer, at)) and (read := reader.value(match.end())):
            entries.append(read[0])
            at = read[1]
    try:
        return _validated(form.reshaped(entries), shape, form) if entries else None
    except NoValueError:
        return None


def _validated(value: object, shape: type[T], form: ReplyShape) -> T:
    """Return a value as the reply model, without its invalid entries. Raises `NoValueError` if nothing is left."""
    context = TagContext(form.tags) if form.tags else None
    try:
        valid, error = form.without_invalid(value)
        reply = shape.model_validate_json(json.dumps(valid), context=context)
    except ValidationError as invalid:
        formless = any(item["type"] != "value_error" for item in invalid.errors())
        raise NoValueError(_complaint(invalid), formless=formless) from None
    except (ValueError, RecursionError):
        raise NoValueError("the reply is nested too deeply") from None
    if context and form.is_nameless(reply, context):
        raise NoValueError(_complaint(error) if error else _STRANGERS, formless=False, nameless=True)
    return reply


def _complaint(error: ValidationError) -> str:
    lines = [f"{'.'.join(str(part) for part in item['loc']) or 'the value'}: {item['msg']}" for item in error.errors()]
    return "; ".join(lines)[:_MAX_COMPLAINT]


def _candidates(text: str, form: ReplyShape) -> list[_Candidate]:
    """Return the complete JSON values outside of reasoning, each with the words before it."""
    candidates: list[_Candidate] = []
    reader, at, word_start = _JsonReader(text), 0, 0
    for _ in range(_MAX_STARTS):
        if (start := _START.search(text, at)) is None:
            break
        at = start.end()
        if start["thought"]:
            if (closing := CLOSING.search(text, at)) is None:
                # Anything before was the beginning of a discarded answer.
                raise NoValueError("the reply ends during the reasoning", formless=False)
            at = word_start = closing.end()
        elif start["thought_ends"]:
            # Some servers remove the opening mark.
            candidates.clear()
            word_start = at
        else:
            try:
                read = reader.value(start.start())
            except _CutJsonError:
                if not candidates or _OBJECT.match(text, start.start()):
                    # A complete value inside a cut one is only a part of the answer.
                    raise NoValueError("the reply breaks off within its JSON") from None
                continue
            if read is not None:
                at = read[1]
                if form.may_be(read[0]):
                    candidates.append(_Candidate(read[0], text[word_start : start.start()]))
                    word_start = at
    return candidates


def _joined(candidates: Sequence[_Candidate], form: ReplyShape) -> Iterator[_Candidate]:
    """Yield consecutive entries, such as one per line, joined to one list."""
    entries: list[object] = []
    before = ""
    for candidate in candidates:
        is_entry = form.is_entry(candidate.value)
        if entries and not (is_entry and _BETWEEN.fullmatch(candidate.before)):
            yield _Candidate(entries, before)
            entries = []
        if is_entry:
            before = before if entries else candidate.before
            entries.append(candidate.value)
        else:
            yield candidate
    if entries:
        yield _Candidate(entries, before)


def _continued(values: Sequence[_Candidate], form: ReplyShape) -> Any:
    """Return the last reply with the entries before it that it directly continues."""
    last = values[-1].value
    entries: list[Any] = list(getattr(last, form.list_name)) if form.list_name else []
    if not (entries and isinstance(entries[0], BaseModel)):
        return last
    for earlier, later in zip(reversed(values[:-1]), reversed(values[1:]), strict=True):
        if not _BETWEEN.fullmatch(later.before):
            break
        entries = [entry for entry in getattr(earlier.value, form.list_name) if entry not in entries] + entries
    return last.model_copy(update={form.list_name: entries})


def _conflict(reply: BaseModel, later: BaseModel) -> bool:
    """Return whether two replies differ on a common item, or at all if they name no items."""
    if reply.model_dump(mode="json") == later.model_dump(mode="json"):
        return False
    entries, later_entries = _entries_by_item(reply), _entries_by_item(later)
    if not entries and not later_entries:
        return True
    return any(entries[item] != later_entries[item] for item in entries.keys() & later_entries.keys())


def _entries_by_item(reply: BaseModel) -> dict[tuple[str, int], object]:
    return {
        (name, entry["id"]): entry
        for name, entries in reply.model_dump(mode="json").items()
        if isinstance(entries, list)
        for entry in entries
        if isinstance(entry, dict) and "id" in entry
    }


class _JsonReader:
    """Reads the JSON values of one text, strictly or else by json-repair."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._left = _MAX_SCANNED
        """The characters that may still be scanned for broken values."""

    def value(self, start: int) -> tuple[object, int] | None:
        """Return the value that begins at a place, and its end; None if there is none. Raises `_CutJsonError` if the
        text ends within it."""
        try:
            return _DECODER.raw_decode(self._text, start)
        except json.JSONDecodeError:
            pass
        except (ValueError, RecursionError):
            return None
        end = self._end(start) if _BEGINS.match(self._text, start) else None
        if end is None:
            return None
        broken = self._text[start:end]
        try:
            value = json_repair.loads(broken, skip_json_loads=True)
            json.dumps(value, allow_nan=False)
        except (ValueError, RecursionError):
            return None
        # A repair that drops, invents or merges entries has other keys than the text.
        is_faithful = Counter(_QUOTED_KEY.findall(broken)) == Counter(_keys(value))
        return (value, end) if is_faithful and value else None

    def _end(self, start: int) -> int | None:
        """Return the end of the value by its brackets; None if they do not match."""
        closings: list[str] = []
        at, limit = start, start + self._left
        try:
            for match in _TOKEN.finditer(self._text, start, limit):
                at = match.end()
                if match["cut"]:
                    # A string without an end has no other quotation mark after it.
                    break
                if match[0][0] in _CLOSING:
                    closings.append(_CLOSING[match[0][0]])
                elif match[0] in ("}", "]") and closings.pop() != match[0]:
                    return None
                if not closings:
                    return at
                if len(closings) > _DEEPEST:
                    return None
            if limit < len(self._text):
                return None
            raise _CutJsonError
        finally:
            self._left -= at - start


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _keys(part)


def _without_disputed(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object without the keys that occur with different values."""
    first: dict[str, object] = {}
    disputed = {name for name, value in pairs if first.setdefault(name, value) != value}
    return {name: value for name, value in first.items() if name not in disputed}


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is no number of JSON")
    return number


# Python's decoder accepts NaN and Infinity, which would become scores, and refuses a harmless line break in a string.
_DECODER = json.JSONDecoder(
    strict=False, parse_float=_finite, parse_constant=_finite, object_pairs_hook=_without_disputed
)
