"""Converts a reply to the requested form: lenient JSON, other keys, other types."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from redraft.prompts.contract import AliasNames, AskedWhere, InternalField, MaxItems, Omittable, SkipInvalid, read_label
from redraft.prompts.tags import NO_ITEM, ItemRef, TagContext, Tags, asked_about, has_tag

# The beginning of an object, of a list of them, or of a list of texts.
_BEGINS = re.compile(r"""[{\[]\s*["'{\[}]""")
_TOKEN = re.compile(
    r"""(?P<blank>\s++)|(?P<opening>[{\[])|(?P<closing>[}\]])|(?P<comma>,)|(?P<colon>:)
    |(?P<double>"(?:[^"\\]|\\.)*+")|(?P<single>'(?:[^'\\]|\\.)*+')
    |(?P<number>-?\d++(?:\.\d++)?(?:[eE][+-]?\d++)?(?![\w.]))|(?P<word>[A-Za-z]++)""",
    re.DOTALL | re.VERBOSE,
)
_WORDS = {"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}
_ESCAPE = re.compile(r'\\(.)|(")', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_DEEPEST = 60
_MAX_CHARACTERS_READ = 300_000
# A cut literal or escape is reported at its start, at most this far from the end.
_CUT_LITERAL = 6


class TruncatedJsonError(ValueError):
    """The text ends before the value does."""


class NoJsonError(ValueError):
    """No value begins at this place."""


@dataclass(slots=True)
class LenientParser:
    """Parses the JSON-like values of one text."""

    text: str
    left: int = _MAX_CHARACTERS_READ
    """The characters that may still be parsed leniently."""

    def value(self, start: int) -> tuple[object, int]:
        """Return the value that begins at a place, and its end."""
        try:
            return _DECODER.raw_decode(self.text, start)
        except json.JSONDecodeError as error:
            cut = error.msg.startswith("Unterminated") or error.pos >= len(self.text) - _CUT_LITERAL
            if self.left > 0 and _BEGINS.match(self.text, start):
                try:
                    return self._loosely(start)
                except NoJsonError:
                    pass
            raise (TruncatedJsonError if cut else NoJsonError)(error.msg) from None
        except (ValueError, RecursionError) as error:
            raise NoJsonError(str(error)) from None

    def _loosely(self, start: int) -> tuple[object, int]:
        end, strict = self._strict(start)
        try:
            return _DECODER.decode(strict), end
        except (ValueError, RecursionError) as error:
            raise NoJsonError(str(error)) from None

    def _strict(self, start: int) -> tuple[int, str]:
        """Return the value's end, and its text as strict JSON."""
        parts: list[str] = []
        within: list[str] = []
        at = start
        while match := _TOKEN.match(self.text, at):
            at = match.end()
            self.left -= at - match.start()
            kind, token = match.lastgroup or "", match.group()
            if kind == "closing" and parts[-1] == ",":
                parts.pop()
            _keep_count(within, token)
            if kind != "blank":
                parts.append(_in_json(kind, token, last=at == len(self.text)))
            if not within:
                return at, "".join(parts)
            if len(within) > _DEEPEST or self.left < 0:
                raise NoJsonError("it is too deep, or too long")
        # A string without an end has no other quotation mark after it.
        if at >= len(self.text) - _CUT_LITERAL or self.text[at] in "\"'":
            raise TruncatedJsonError("the text ends within the value")
        raise NoJsonError("there is no value")


def _keep_count(within: list[str], token: str) -> None:
    """Update the stack of open brackets."""
    if token in _CLOSING:
        within.append(_CLOSING[token])
    elif token in _CLOSING.values() and within.pop() != token:
        raise NoJsonError("the brackets do not match")


def _in_json(kind: str, token: str, *, last: bool) -> str:
    if kind == "word":
        if last:
            raise TruncatedJsonError("the text ends within a word")
        if token not in _WORDS:
            raise NoJsonError(f"{token} is not a value")
        return _WORDS[token]
    return _quoted(token) if kind in ("double", "single") else token


def _quoted(token: str) -> str:
    """Return a text as a JSON string."""

    def escaped(found: re.Match[str]) -> str:
        letter = found[1]
        if letter is None:
            return '\\"'
        if letter in '"\\/bfnrtu':
            return found[0]
        # Quotation marks are escaped as in Markdown; letters are those of formulas.
        return f"\\\\{letter}" if letter.isalnum() else letter

    return f'"{_ESCAPE.sub(escaped, token[1:-1])}"'


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object without the keys that occur with different values."""
    said: dict[str, object] = {}
    disputed = {name for name, value in pairs if said.setdefault(name, value) != value}
    return {name: value for name, value in said.items() if name not in disputed}


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large")
    return number


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


# Python's decoder accepts NaN and Infinity, which would become scores, and refuses a harmless line break in a string.
_DECODER = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=_no_number, object_pairs_hook=_object)


# Wrappers of a reply that imitates a function call.
_ARGUMENTS = ("arguments", "parameters", "input")
_DEEPEST_OF_FORMS = 3
_NOT_LETTERS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a reply: its entries, and its possible names."""

    name: str
    entry: type[BaseModel] | None
    """The entry type of a list field."""
    one: type[BaseModel] | None
    """The type of an object field."""
    is_list: bool
    is_label: bool
    silent: bool
    alone: bool
    names: ItemRef | None
    """What the field names, or each entry of its list."""
    most: str | int
    """The most entries of its list, or the prompt's field with that number; 0 for no limit."""
    also: frozenset[str]
    where: str
    """The prompt's field that has to be set for this one to be asked for; empty if it always is."""


@cache
def _fields(shape: type[BaseModel]) -> dict[str, _Field]:
    asked = {name: field for name, field in shape.model_fields.items() if InternalField() not in field.metadata}
    return {name: _field(name, field.annotation, field.metadata) for name, field in asked.items()}


def _field(name: str, annotation: Any, metadata: Sequence[Any]) -> _Field:
    is_list = get_origin(annotation) is list
    inner = get_args(annotation)[0] if is_list else annotation
    marks = [*metadata, *getattr(inner, "__metadata__", ())]
    inner = getattr(inner, "__origin__", inner) if hasattr(inner, "__metadata__") else inner
    model = inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None
    return _Field(
        name,
        entry=model if is_list else None,
        one=None if is_list else model,
        is_list=is_list,
        is_label=_is_label(inner),
        silent=Omittable() in metadata,
        alone=SkipInvalid() in metadata,
        names=next((mark for mark in marks if isinstance(mark, ItemRef)), None),
        most=next((mark.number for mark in metadata if isinstance(mark, MaxItems)), 0),
        also=frozenset(_plain(other) for mark in metadata if isinstance(mark, AliasNames) for other in mark.names),
        where=next((mark.given for mark in metadata if isinstance(mark, AskedWhere)), ""),
    )


def _is_label(annotation: Any) -> bool:
    choices = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return all(get_origin(choice) is Literal for choice in choices)


@dataclass(frozen=True, slots=True)
class ReplyShape:
    """The expected form of a reply model."""

    shape: type[BaseModel]
    tags: Tags | None = None

    @property
    def entries(self) -> str:
        """Return the field that is the whole reply: its one list of entries; None if there is no such field."""
        fields = list(_fields(self.shape).values())
        return fields[0].name if len(fields) == 1 and fields[0].is_list else ""

    @property
    def has_independent_entries(self) -> bool:
        """Return whether each entry is meaningful without the others."""
        field = _fields(self.shape).get(self.entries)
        return field is not None and field.entry is not None and (field.alone or "id" in _fields(field.entry))

    def is_of_a_tree(self, name: str) -> bool:
        """Return whether an entry of a tree has a field of this name."""
        field = _fields(self.shape).get(self.entries)
        return (
            field is not None
            and field.entry is not None
            and not self.has_independent_entries
            and name in _fields(field.entry)
        )

    def asked(self, schema: dict[str, Any], given: BaseModel) -> dict[str, Any]:
        """Return the JSON schema without the fields that are not asked for."""
        fields = _fields(self.shape)
        left_out = {name for name, field in fields.items() if field.where and not getattr(given, field.where)}
        properties = {name: found for name, found in schema["properties"].items() if name not in left_out}
        for name, field in fields.items():
            if field.entry is not None and "items" in properties[name]:
                properties[name] = {
                    **properties[name],
                    "items": ReplyShape(field.entry).asked(properties[name]["items"], given),
                }
        required = [name for name in schema.get("required", ()) if name not in left_out]
        return {**schema, "properties": properties, **({"required": required} if "required" in schema else {})}

    def limited(self, schema: dict[str, Any], given: BaseModel) -> dict[str, Any]:
        """Return the JSON schema with the list lengths that the prompt states, so that a model cannot repeat itself
        endlessly."""
        properties = dict(schema.get("properties", {}))
        for name, field in _fields(self.shape).items():
            if not (found := properties.get(name)):
                continue
            if field.one is not None:
                properties[name] = ReplyShape(field.one).limited(found, given)
            elif field.is_list and found.get("type") == "array":
                items = ReplyShape(field.entry).limited(found["items"], given) if field.entry else found["items"]
                most = _most(field, given)
                properties[name] = {**found, "items": items, **({"maxItems": most} if most else {})}
        return {**schema, "properties": properties}

    def named(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON schema with the tags as enums, so that a model cannot number its entries or copy an example's
        tag."""
        properties = dict(schema.get("properties", {}))
        for name, field in _fields(self.shape).items():
            if not (found := properties.get(name)):
                continue
            if field.entry is not None:
                properties[name] = {**found, "items": ReplyShape(field.entry, self.tags).named(found["items"])}
            elif field.names is not None and self.tags is not None:
                of = field.names.field
                said = {"type": "string", "enum": self.tags.asked(of) if name == "id" else self.tags.all(of)}
                if said["enum"]:
                    properties[name] = {**found, "items": said} if field.is_list else said
        return {**schema, "properties": properties}

    def is_exact(self, value: object) -> bool:
        """Return whether the value has all fields of the shape, and no other."""
        fields = _fields(self.shape)
        if not isinstance(value, dict) or value.keys() - fields.keys():
            return False
        if any(not field.where for name, field in fields.items() if name not in value):
            return False
        for name, field in fields.items():
            if field.entry is not None:
                if not isinstance(value[name], list) or not all(map(ReplyShape(field.entry).is_exact, value[name])):
                    return False
            elif field.one is not None and not ReplyShape(field.one).is_exact(value[name]):
                return False
        return True

    def may_be(self, value: object) -> bool:
        """Return whether a value may be a reply."""
        if not isinstance(value, list) or any(isinstance(one, dict) for one in value):
            return True
        field = _fields(self.shape).get(self.entries)
        return field is not None and field.entry is None

    def is_entry(self, value: object) -> bool:
        """Return whether this is one entry of the reply, standing by itself."""
        field = _fields(self.shape).get(self.entries)
        if field is None or field.entry is None or not isinstance(value, dict):
            return False
        inner = _fields(field.entry)
        if any(_known(name, _fields(self.shape)) for name in value):
            return False
        named = {known for name in value if (known := _known(name, inner))}
        return "id" in named if "id" in inner else {name for name, one in inner.items() if not one.silent} <= named

    def unreadable(self, text: str) -> dict[str, object]:
        """Return a placeholder for an unreadable entry, about the item that its text names."""
        field = _fields(self.shape)[self.entries]
        return {**{name: {} for name in (_fields(field.entry) if field.entry else ())}, "id": text}

    def reshaped(self, value: object) -> object:
        """Return the value in the form of the shape, as far as that is certain."""
        return self._whole(value, _DEEPEST_OF_FORMS)

    def certain(self, value: object) -> object:
        """Return the value with the tag of the only item asked about set in its only entry, unless that has another
        item's tag."""
        names = self._names()
        entries = value.get(self.entries) if isinstance(value, dict) else None
        if self.tags is None or names is None or not isinstance(entries, list) or not entries:
            return value
        entry = entries[0]
        if any(one != entry for one in entries[1:]):
            return value
        if not isinstance(entry, dict) or self._item(entry, names) != NO_ITEM or has_tag(entry.get("id")):
            return value
        asked = self.tags.asked(names.field)
        return {self.entries: [{**entry, "id": asked[0]}]} if len(asked) == 1 else value

    def is_nameless(self, value: BaseModel, wire: TagContext) -> bool:
        """Return whether a parsed reply names things, but none of its items."""
        entries = getattr(value, self.entries) if self.entries else ()
        if entries and self._names() is not None:
            return all(entry.id == NO_ITEM for entry in entries)
        return bool(wire.strangers) and not wire.named

    def _names(self) -> ItemRef | None:
        """Return what the entries of the reply are about; None if they have no ids."""
        field = _fields(self.shape).get(self.entries)
        inner = _fields(field.entry) if field and field.entry else {}
        return inner["id"].names if "id" in inner else None

    def _whole(self, value: object, deep: int) -> object:
        fields = _fields(self.shape)
        if isinstance(value, list):
            if len(value) == 1 and deep and isinstance(value[0], dict) and not self.is_entry(value[0]):
                return self._whole(value[0], deep - 1)
            return self._put({self.entries: value}) if self.entries else value
        if not isinstance(value, dict):
            return value
        if any(_known(name, fields) for name in value):
            return self._put(_named(value, fields))
        if self.is_entry(value) or self._by_item(value, self.entries):
            return self._put({self.entries: value})
        inner: list[object] = [one for one in value.values() if isinstance(one, dict | list)]
        inner += [one for name in _ARGUMENTS if (one := _decoded(value.get(name))) is not None]
        return self._whole(inner[0], deep - 1) if len(inner) == 1 and deep else value

    def _put(self, value: dict[str, object]) -> dict[str, object]:
        """Return the value with each field in its form."""
        return {name: self._shaped(one, _fields(self.shape).get(name)) for name, one in value.items()}

    def _shaped(self, value: object, field: _Field | None) -> object:
        if field is None:
            return value
        if field.entry is not None:
            if isinstance(value, dict):
                value = self._by_item(value, field.name) or [value]
            inner = ReplyShape(field.entry, self.tags)
            return [inner._entry(one) for one in value] if isinstance(value, list) else value
        if field.names and field.is_list and isinstance(value, list):
            return [one["id"] if isinstance(one, dict) and "id" in one else one for one in value]
        return ReplyShape(field.one, self.tags)._entry(value) if field.one is not None else value

    def _entry(self, value: object) -> object:
        return self._put(_named(value, _fields(self.shape))) if isinstance(value, dict) else value

    def _by_item(self, value: dict[Any, object], name: str) -> list[object]:
        """Return the entries of an object keyed by item; None for any other object."""
        field = _fields(self.shape).get(name)
        inner = _fields(field.entry) if field and field.entry else {}
        names = inner["id"].names if "id" in inner else None
        if not value or names is None or self.tags is None:
            return []
        if any(self.tags.number(names.field, one) == NO_ITEM for one in value):
            return []
        said = [one.name for one in inner.values() if one.name != "id" and not one.silent]
        said = said or [one for one in inner if one == "answer"]
        found: list[object] = []
        for item, one in value.items():
            if isinstance(one, dict):
                found.append({**one, "id": item})
            elif len(said) == 1 and isinstance(one, str):
                found.append({"id": item, said[0]: one})
            else:
                return []
        return found

    def without_unreadable(self, value: object) -> tuple[object, ValidationError | None]:
        """Return the value without unreadable entries and others about the same items, and the first error; if nothing
        else is left, they stay."""
        if not isinstance(value, dict):
            return value, None
        kept, trouble = dict(value), None
        for name, field in _fields(self.shape).items():
            entries = value.get(name)
            if field.entry is None or not isinstance(entries, list):
                continue
            names = _fields(field.entry)["id"].names if "id" in _fields(field.entry) else None
            if names is None and not field.alone:
                continue
            wrong = {at: error for at, one in enumerate(entries) if (error := self._error(one, field.entry))}
            if not wrong or len(wrong) == len(entries):
                continue
            trouble = trouble or next(iter(wrong.values()))
            lost = {self._item(entries[at], names) for at in wrong} - {NO_ITEM}
            kept[name] = [
                one for at, one in enumerate(entries) if at not in wrong and self._item(one, names) not in lost
            ]
        return kept, trouble

    def _error(self, entry: object, kind: type[BaseModel]) -> ValidationError | None:
        try:
            kind.model_validate_json(json.dumps(entry), context=TagContext(self.tags) if self.tags else None)
        except ValidationError as error:
            return error
        return None

    def _item(self, entry: object, names: ItemRef | None) -> int:
        if self.tags is None or names is None or not isinstance(entry, dict):
            return NO_ITEM
        return self.tags.number(names.field, entry.get("id"))


def _most(field: _Field, given: BaseModel) -> int:
    """Return the most entries of a list: one per item, or as many as requested."""
    inner = _fields(field.entry) if field.entry else {}
    names = inner["id"].names if "id" in inner else field.names
    if field.most:
        return field.most if isinstance(field.most, int) else int(getattr(given, field.most))
    return len(asked_about(given, names.field)) if names else 0


def _plain(name: object) -> str:
    return _NOT_LETTERS.sub("", str(name)).casefold()


def _known(name: object, fields: dict[str, _Field]) -> str:
    """Return the field of this name, however it is spelled; None without one."""
    return next((field for field in fields if _plain(field) == _plain(name)), "")


def _named(value: dict[Any, object], fields: dict[str, _Field]) -> dict[str, object]:
    """Return the fields under their own names, without those that have different values under two names."""
    said: dict[str, object] = {}
    disputed = set[str]()
    for name, one in value.items():
        if field := _known(name, fields):
            if field in said and said[field] != one:
                disputed.add(field)
            said.setdefault(field, one)
    for field, known in fields.items():
        others = [one for name, one in value.items() if _plain(name) in known.also and not _known(name, fields)]
        if field in said or not others:
            continue
        says_none = known.is_label and read_label(others[0]) in ("", "none", "no", "n/a", "null")
        if all(other == others[0] for other in others) and not says_none:
            said[field] = others[0]
    return {name: one for name, one in said.items() if name not in disputed}


def _decoded(value: object) -> object:
    """Return the JSON within a text, as in the arguments of a function."""
    if not isinstance(value, str):
        return None
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None
