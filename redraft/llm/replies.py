"""Reads a structured reply out of the text around it. What json-repair makes of broken JSON counts only if the text has
both ends of it and the same keys, and each item of a list stands or falls by itself."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_origin

import json_repair
from pydantic import BaseModel, ValidationError

from redraft.lazy import pattern
from redraft.prompts.contract import (
    INTERNAL,
    OMITTABLE,
    SKIP_INVALID,
    AskedWhere,
    MaxItems,
    plain_name,
    under_field_names,
)
from redraft.prompts.tags import NO_ITEM, ItemRef, TagContext, Tags, asked_about, has_tag
from redraft.text.reply_cleanup import CLOSING, OPENING, final_channel

_MAX_WRAPPERS = 3


@dataclass(frozen=True, slots=True)
class ReplyField:
    """A field of a reply model, with what its annotation says of it."""

    is_list: bool = False
    model: type[BaseModel] = BaseModel
    """The type of its object, or of each entry of its list; for other values `BaseModel`, which has no fields."""
    omittable: bool = False
    skips_invalid: bool = False
    items: ItemRef | None = None
    """The items that it names, or that the entries of its list name."""
    limit: str | int = 0
    """The most entries of its list, or the prompt's field with that number; 0 for no limit."""
    where: str = ""
    """The prompt's field that has to be set for this one to be asked for; empty if it always is."""

    @property
    def entry_items(self) -> ItemRef | None:
        """Return the items that the ids of its entries name; None if they have no ids."""
        return reply_fields(self.model).get("id", _NO_FIELD).items if self.is_list else None

    def most(self, inputs: BaseModel) -> int:
        """Return the most entries of the list: as many as requested, or one per item; 0 for no limit."""
        if self.limit:
            return self.limit if isinstance(self.limit, int) else int(getattr(inputs, self.limit))
        items = self.entry_items or self.items
        return len(asked_about(inputs, items.field)) if items else 0


_NO_FIELD = ReplyField()


@cache
def reply_fields(shape: type[BaseModel]) -> Mapping[str, ReplyField]:
    """Return the fields of a reply model that a language model is asked for."""
    fields: dict[str, ReplyField] = {}
    for name, info in shape.model_fields.items():
        metadata: list[Any] = info.metadata
        if INTERNAL in metadata:
            continue
        is_list = get_origin(info.annotation) is list
        inner: Any = get_args(info.annotation)[0] if is_list else info.annotation
        marks = [*metadata, *getattr(inner, "__metadata__", ())]
        inner = inner.__origin__ if hasattr(inner, "__metadata__") else inner
        fields[name] = ReplyField(
            is_list,
            model=inner if isinstance(inner, type) and issubclass(inner, BaseModel) else BaseModel,
            omittable=OMITTABLE in metadata,
            skips_invalid=SKIP_INVALID in metadata,
            items=next((mark for mark in marks if isinstance(mark, ItemRef)), None),
            limit=next((mark.number for mark in metadata if isinstance(mark, MaxItems)), 0),
            where=next((mark.given for mark in metadata if isinstance(mark, AskedWhere)), ""),
        )
    return fields


class ReplyShape:
    """The expected form of one reply, and its list if it has no other field."""

    def __init__(self, shape: type[BaseModel], tags: Tags | None = None) -> None:
        self.shape, self.tags, self.fields = shape, tags, reply_fields(shape)
        self._names = set(map(plain_name, self.fields))
        lists = [(name, field) for name, field in self.fields.items() if field.is_list and len(self.fields) == 1]
        self.list_name, self._list = lists[0] if lists else ("", _NO_FIELD)
        self._entry_fields = reply_fields(self._list.model)
        self.lists_texts = self._list.is_list and self._list.model is BaseModel
        self.items = self._list.entry_items
        """The items that the entries of the list name."""
        self.has_independent_entries = bool(self._entry_fields) and (bool(self.items) or self._list.skips_invalid)
        """Whether each entry is meaningful without the others."""

    def is_entry(self, value: object) -> bool:
        """Return whether this is one entry of the reply, standing by itself."""
        if not self.has_independent_entries or not isinstance(value, dict):
            return False
        if not self._names.isdisjoint(map(plain_name, value)):
            return False
        names = under_field_names(value, self._list.model).keys()
        if self.items is not None:
            return "id" in names
        return names >= {name for name, field in self._entry_fields.items() if not field.omittable}

    def reshaped(self, value: object, wrappers: int = _MAX_WRAPPERS) -> object:
        """Return the value in the form of the reply model: a bare list as its one list, an object out of what is around
        it, as of the call of a function."""
        if isinstance(value, list) and self.list_name:
            is_wrapper = len(value) == 1 and isinstance(value[0], dict) and not self.is_entry(value[0])
            return self.reshaped(value[0], wrappers - 1) if is_wrapper and wrappers else {self.list_name: value}
        if isinstance(value, list) and len(value) == 1 and wrappers:
            return self.reshaped(value[0], wrappers - 1)
        if not isinstance(value, dict):
            return value
        parts = [part for name, part in value.items() if plain_name(name) in self._names]
        if parts and self._list.model is not BaseModel:
            return {self.list_name: [parts[0]] if isinstance(parts[0], dict) else parts[0]}
        if parts:
            return value
        inner = [part for part in value.values() if isinstance(part, dict | list)]
        return self.reshaped(inner[0], wrappers - 1) if len(inner) == 1 and wrappers else value

    def joined(self, values: Iterable[object]) -> list[object]:
        """Return the values as replies: entries that stand by themselves as one list, and with them, where they name
        items, those of all other lists."""
        entries: list[object] = []
        replies: list[object] = []
        for value in values:
            reply = {self.list_name: [value]} if self.is_entry(value) else self.reshaped(value)
            listed = reply.get(self.list_name) if isinstance(reply, dict) else None
            # An example of the form has no entries.
            objects = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
            if objects and (self.items or self.is_entry(value)):
                entries += objects
            else:
                replies.append(reply)
        distinct = {json.dumps(entry, sort_keys=True): entry for entry in entries}
        return [*replies, {self.list_name: list(distinct.values())}] if entries else replies

    def item_of(self, entry: object, field: ReplyField) -> int:
        """Return the number of the item that an entry of a list names."""
        items = field.entry_items
        if self.tags is None or items is None or not isinstance(entry, dict):
            return NO_ITEM
        return self.tags.number(items.field, under_field_names(entry, field.model).get("id"))

    def with_certain_item(self, value: object) -> object:
        """Return the value with the tag of the only item asked about set in its only entry, unless that has another
        item's tag."""
        entries = value.get(self.list_name) if isinstance(value, dict) and self.list_name else None
        if self.tags is None or self.items is None or not isinstance(entries, list) or len(entries) != 1:
            return value
        if not isinstance(entries[0], dict) or self.item_of(entries[0], self._list) != NO_ITEM:
            return value
        entry, tags = under_field_names(entries[0], self._list.model), self.tags.asked(self.items.field)
        return value if has_tag(entry.get("id")) or len(tags) != 1 else {self.list_name: [{**entry, "id": tags[0]}]}


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


def read_value(text: str, shape: type[T], inputs: BaseModel | None = None, *, is_cut: bool = False) -> T:
    """Return the JSON value in `text` that fits `shape` and names items of `inputs`: bare, fenced or within prose.

    Invalid entries are left out, with all others about the same item. Several values count together if their entries
    name items, and only if they are equal if not. Of a text that `is_cut`, the complete entries count, where each is
    meaningful without the others."""
    form = ReplyShape(shape, Tags(inputs) if inputs is not None else None)
    if is_cut and not form.has_independent_entries:
        raise NoValueError("the reply breaks off within its JSON")
    failure = NoValueError("the reply holds no JSON object")
    replies: list[T] = []
    for value in form.joined(_values(final_channel(text), form, is_cut=is_cut)):
        try:
            replies.append(_validated(form.with_certain_item(value), shape, form))
        except NoValueError as error:
            failure = error
    if not replies:
        raise failure
    if any(reply != replies[-1] for reply in replies):
        raise NoValueError("the reply holds two answers that differ")
    return replies[-1]


def _validated(value: object, shape: type[T], form: ReplyShape) -> T:
    """Return a value as the reply model, without its invalid entries. Raises `NoValueError` if nothing is left."""
    context = TagContext(form.tags, is_reply=True) if form.tags else None
    first_error: ValidationError | None = None
    try:
        try:
            reply = shape.model_validate_json(json.dumps(value), context=context)
        except ValidationError as error:
            first_error = error
            context = TagContext(form.tags, is_reply=True) if form.tags else None
            reply = shape.model_validate_json(json.dumps(_valid_part(value, error, form)), context=context)
    except ValidationError as error:
        formless = any(item["type"] != "value_error" for item in error.errors())
        raise NoValueError(_complaint(error), formless=formless) from None
    except (ValueError, RecursionError):
        raise NoValueError("the reply is nested too deeply") from None
    entries = getattr(reply, form.list_name) if form.items else ()
    if context and (
        all(entry.id == NO_ITEM for entry in entries) if entries else context.strangers and not context.named
    ):
        raise NoValueError(_complaint(first_error) if first_error else _STRANGERS, formless=False, nameless=True)
    return reply


def _valid_part(value: object, error: ValidationError, form: ReplyShape) -> object:
    """Return a value without the entries that an error names, and others about the same items. Only entries that name
    items, or that may be skipped, are left out."""
    invalid: dict[str, set[int]] = {}
    for item in error.errors():
        name, at = (*item["loc"], "", "")[:2]
        field = form.fields.get(str(name))
        if field is None or not isinstance(at, int) or not (field.entry_items or field.skips_invalid):
            raise error
        invalid.setdefault(str(name), set()).add(at)
    rest: dict[str, Any] = under_field_names(value, form.shape) if isinstance(value, dict) else {}
    for name, places in invalid.items():
        field, entries = form.fields[name], rest[name]
        if len(places) == len(entries):
            raise error
        lost = {form.item_of(entries[at], field) for at in places} - {NO_ITEM}
        rest[name] = [
            entry for at, entry in enumerate(entries) if at not in places and form.item_of(entry, field) not in lost
        ]
    return rest


def _complaint(error: ValidationError) -> str:
    lines = [f"{'.'.join(str(part) for part in item['loc']) or 'the value'}: {item['msg']}" for item in error.errors()]
    return "; ".join(lines)[:_MAX_COMPLAINT]


def _values(text: str, form: ReplyShape, *, is_cut: bool) -> list[object]:
    """Return the complete JSON values outside of reasoning; of a text that is cut, also those within its last one."""
    values: list[object] = []
    reader, at = _JsonReader(text), 0
    for _ in range(_MAX_STARTS):
        if (start := _START.search(text, at)) is None:
            break
        at = start.end()
        if start["thought"]:
            if (closing := CLOSING.search(text, at)) is None:
                # Anything before was the beginning of a discarded answer.
                raise NoValueError("the reply ends during the reasoning", formless=False)
            at = closing.end()
        elif start["thought_ends"]:
            # Some servers remove the opening mark.
            values.clear()
        else:
            try:
                read = reader.value(start.start())
            except EOFError:
                if not is_cut and (not values or _OBJECT.match(text, start.start())):
                    # A complete value inside a cut one is only a part of the answer.
                    raise NoValueError("the reply breaks off within its JSON") from None
                continue
            if read is not None:
                at = read[1]
                # A list of texts is a reply only where texts are asked for.
                is_plain_list = isinstance(read[0], list) and not any(isinstance(part, dict) for part in read[0])
                values += [] if is_plain_list and not form.lists_texts else [read[0]]
    return values


class _JsonReader:
    """Reads the JSON values of one text, strictly or else by json-repair."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._left = _MAX_SCANNED
        """The characters that may still be scanned for broken values."""

    def value(self, start: int) -> tuple[object, int] | None:
        """Return the value that begins at a place, and its end; None if there is none. Raises `EOFError` if the
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
            raise EOFError
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
