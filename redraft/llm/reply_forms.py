"""Bringing what a model wrote into the form that was asked for: loose JSON, other keys, other types."""

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

from redraft.prompts.contract import Also, AtMost, EachAlone, Silent, label
from redraft.prompts.tags import NOBODY, Names, Tags, Wire, asked_about, has_tag

# The beginning of an object, of a list of them, or of a list of texts: no word of a text looks so.
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
_MOST_READ = 300_000
# A literal or an escape that is cut off is reported where it begins, which is at most so far from the end.
_CUT_LITERAL = 6


class BrokenOffError(ValueError):
    """The text ends before the value does."""


class NoJsonError(ValueError):
    """No value begins there."""


@dataclass(slots=True)
class LenientParser:
    """Reads the values of one text."""

    text: str
    left: int = _MOST_READ
    """The characters that may still be read otherwise than to the letter."""

    def value(self, start: int) -> tuple[object, int]:
        """The value that begins there, and where it ends."""
        try:
            return _DECODER.raw_decode(self.text, start)
        except json.JSONDecodeError as error:
            cut = error.msg.startswith("Unterminated") or error.pos >= len(self.text) - _CUT_LITERAL
            if self.left > 0 and _BEGINS.match(self.text, start):
                try:
                    return self._loosely(start)
                except NoJsonError:
                    pass
            raise (BrokenOffError if cut else NoJsonError)(error.msg) from None
        except (ValueError, RecursionError) as error:
            raise NoJsonError(str(error)) from None

    def _loosely(self, start: int) -> tuple[object, int]:
        end, strict = self._strict(start)
        try:
            return _DECODER.decode(strict), end
        except (ValueError, RecursionError) as error:
            raise NoJsonError(str(error)) from None

    def _strict(self, start: int) -> tuple[int, str]:
        """Where the value ends, and how it would stand in JSON."""
        parts: list[str] = []
        within: list[str] = []
        at = start
        while found := _TOKEN.match(self.text, at):
            at = found.end()
            self.left -= at - found.start()
            kind, token = found.lastgroup or "", found.group()
            if kind == "closing" and parts[-1] == ",":
                parts.pop()
            _keep_count(within, token)
            if kind != "blank":
                parts.append(_in_json(kind, token, last=at == len(self.text)))
            if not within:
                return at, "".join(parts)
            if len(within) > _DEEPEST or self.left < 0:
                raise NoJsonError("it is too deep, or too long")
        # Between two marks a text has no end only where there is no other mark of the kind.
        if at >= len(self.text) - _CUT_LITERAL or self.text[at] in "\"'":
            raise BrokenOffError("the text ends within the value")
        raise NoJsonError("there is no value")


def _keep_count(within: list[str], token: str) -> None:
    """Keep account of the brackets that are still to be closed."""
    if token in _CLOSING:
        within.append(_CLOSING[token])
    elif token in _CLOSING.values() and within.pop() != token:
        raise NoJsonError("the brackets do not match")


def _in_json(kind: str, token: str, *, last: bool) -> str:
    if kind == "word":
        if last:
            raise BrokenOffError("the text ends within a word")
        if token not in _WORDS:
            raise NoJsonError(f"{token} is no value")
        return _WORDS[token]
    return _quoted(token) if kind in ("double", "single") else token


def _quoted(token: str) -> str:
    """A text with the escapes and between the marks that JSON has."""

    def escaped(found: re.Match[str]) -> str:
        letter = found[1]
        if letter is None:
            return '\\"'
        if letter in '"\\/bfnrtu':
            return found[0]
        # Marks are escaped as in Markdown; a letter is that of a formula.
        return f"\\\\{letter}" if letter.isalnum() else letter

    return f'"{_ESCAPE.sub(escaped, token[1:-1])}"'


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object without the names that two things are said of: neither is believed."""
    said: dict[str, object] = {}
    disputed = {name for name, value in pairs if said.setdefault(name, value) != value}
    return {name: value for name, value in said.items() if name not in disputed}


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large")
    return number


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


# Python reads NaN and Infinity, which would become scores, and refuses a line break in a string, which does no harm.
_DECODER = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=_no_number, object_pairs_hook=_object)


# What a model puts around a reply that it takes for the call of a function.
_ARGUMENTS = ("arguments", "parameters", "input")
_DEEPEST_OF_FORMS = 3
_NOT_LETTERS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a reply: what is in its list, and the names by which it is known."""

    name: str
    entry: type[BaseModel] | None
    """The kind of entry of which the field is a list."""
    one: type[BaseModel] | None
    """The kind of object that the field is."""
    is_list: bool
    is_label: bool
    silent: bool
    alone: bool
    names: Names | None
    """What the field names, or each of its list."""
    most: str | int
    """How many may be in its list, or which of the numbers that the prompt is given says so; 0 where none does."""
    also: frozenset[str]


@cache
def _fields(shape: type[BaseModel]) -> dict[str, _Field]:
    return {name: _field(name, field.annotation, field.metadata) for name, field in shape.model_fields.items()}


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
        silent=Silent() in metadata,
        alone=EachAlone() in metadata,
        names=next((mark for mark in marks if isinstance(mark, Names)), None),
        most=next((mark.number for mark in metadata if isinstance(mark, AtMost)), 0),
        also=frozenset(_plain(other) for mark in metadata if isinstance(mark, Also) for other in mark.names),
    )


def _is_label(annotation: Any) -> bool:
    choices = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return all(get_origin(one) is Literal for one in choices)


@dataclass(frozen=True, slots=True)
class ReplyShape:
    """What a reply of one shape looks like."""

    shape: type[BaseModel]
    tags: Tags | None = None

    @property
    def entries(self) -> str:
        """The field that is the whole reply: its one list of entries; nothing where there is no such field."""
        fields = list(_fields(self.shape).values())
        return fields[0].name if len(fields) == 1 and fields[0].is_list else ""

    @property
    def is_severable(self) -> bool:
        """Whether the entries of the reply say what they say without the others."""
        field = _fields(self.shape).get(self.entries)
        return field is not None and field.entry is not None and (field.alone or "id" in _fields(field.entry))

    def is_of_a_tree(self, name: str) -> bool:
        """Whether an entry that says nothing without the others has a field of this name."""
        field = _fields(self.shape).get(self.entries)
        return field is not None and field.entry is not None and not self.is_severable and name in _fields(field.entry)

    def limited(self, schema: dict[str, Any], given: BaseModel) -> dict[str, Any]:
        """The JSON schema of the shape, with how long its lists may be where what the prompt is given tells that.

        A model that writes by a schema, and has come to repeat itself, cannot go on without an end then.
        """
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
        """The JSON schema of the shape, with the tags themselves wherever an item is named: an entry is about one of
        those that are asked about.

        A model that is kept to the schema cannot number its entries then, or copy the tag of an example.
        """
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
        """Whether the value has all fields of the shape, and no other."""
        fields = _fields(self.shape)
        if not isinstance(value, dict) or value.keys() != fields.keys():
            return False
        for name, field in fields.items():
            if field.entry is not None:
                if not isinstance(value[name], list) or not all(map(ReplyShape(field.entry).is_exact, value[name])):
                    return False
            elif field.one is not None and not ReplyShape(field.one).is_exact(value[name]):
                return False
        return True

    def may_be(self, value: object) -> bool:
        """Whether a value may be a reply: a list without an object in it is none where entries are asked for."""
        if not isinstance(value, list) or any(isinstance(one, dict) for one in value):
            return True
        field = _fields(self.shape).get(self.entries)
        return field is not None and field.entry is None

    def is_entry(self, value: object) -> bool:
        """Whether this is one entry of the reply, standing by itself."""
        field = _fields(self.shape).get(self.entries)
        if field is None or field.entry is None or not isinstance(value, dict):
            return False
        inner = _fields(field.entry)
        if any(_known(name, _fields(self.shape)) for name in value):
            return False
        named = {known for name in value if (known := _known(name, inner))}
        return "id" in named if "id" in inner else {name for name, one in inner.items() if not one.silent} <= named

    def unreadable(self, text: str) -> dict[str, object]:
        """An entry of which no more is known than its text: it is about the item that is named there."""
        field = _fields(self.shape)[self.entries]
        return {**{name: {} for name in (_fields(field.entry) if field.entry else ())}, "id": text}

    def folded(self, value: object) -> object:
        """The value in the form of the shape, as far as it is certain how."""
        return self._whole(value, _DEEPEST_OF_FORMS)

    def certain(self, value: object) -> object:
        """The value with the tag of the one item that is asked about in the one entry that there is, or in several
        alike, where that has a name of the model's own for it, or none. One that has a tag of something else is about
        that, as an entry is that was copied from the example of a prompt.
        """
        names = self._names()
        entries = value.get(self.entries) if isinstance(value, dict) else None
        if self.tags is None or names is None or not isinstance(entries, list) or not entries:
            return value
        entry = entries[0]
        if any(one != entry for one in entries[1:]):
            return value
        if not isinstance(entry, dict) or self._item(entry, names) != NOBODY or has_tag(entry.get("id")):
            return value
        asked = self.tags.asked(names.field)
        return {self.entries: [{**entry, "id": asked[0]}]} if len(asked) == 1 else value

    def is_nameless(self, value: BaseModel, wire: Wire) -> bool:
        """Whether a reply that came by this wire names things, and none of the items that it is to be about."""
        entries = getattr(value, self.entries) if self.entries else ()
        if entries and self._names() is not None:
            return all(one.id == NOBODY for one in entries)
        return bool(wire.strangers) and not wire.named

    def _names(self) -> Names | None:
        """What the entries of the reply name, each as what it is about."""
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
        """The value with each of its fields in its form."""
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
        """The entries of an object whose names are those of items; nothing where they are not."""
        field = _fields(self.shape).get(name)
        inner = _fields(field.entry) if field and field.entry else {}
        names = inner["id"].names if "id" in inner else None
        if not value or names is None or self.tags is None:
            return []
        if any(self.tags.number(names.field, one) == NOBODY for one in value):
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
        """The value without the entries that cannot be read, and without all that is said of the same items; and what
        is wrong with the first of them. Where there is no other, they stay.
        """
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
            lost = {self._item(entries[at], names) for at in wrong} - {NOBODY}
            kept[name] = [
                one for at, one in enumerate(entries) if at not in wrong and self._item(one, names) not in lost
            ]
        return kept, trouble

    def _error(self, entry: object, kind: type[BaseModel]) -> ValidationError | None:
        try:
            kind.model_validate_json(json.dumps(entry), context=Wire(self.tags) if self.tags else None)
        except ValidationError as error:
            return error
        return None

    def _item(self, entry: object, names: Names | None) -> int:
        if self.tags is None or names is None or not isinstance(entry, dict):
            return NOBODY
        return self.tags.number(names.field, entry.get("id"))


def _most(field: _Field, given: BaseModel) -> int:
    """How many entries a list may have: one for each of the items, or as many as are asked for."""
    inner = _fields(field.entry) if field.entry else {}
    names = inner["id"].names if "id" in inner else field.names
    if field.most:
        return field.most if isinstance(field.most, int) else int(getattr(given, field.most))
    return len(asked_about(given, names.field)) if names else 0


def _plain(name: object) -> str:
    return _NOT_LETTERS.sub("", str(name)).casefold()


def _known(name: object, fields: dict[str, _Field]) -> str:
    """The field that a name means, however it is spelt; nothing where it is none."""
    return next((one for one in fields if _plain(one) == _plain(name)), "")


def _named(value: dict[Any, object], fields: dict[str, _Field]) -> dict[str, object]:
    """The fields under their own names. What is said of one twice, and differently, is left out."""
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
        if all(one == others[0] for one in others) and not (known.is_label and _says_none(others[0])):
            said[field] = others[0]
    return {name: one for name, one in said.items() if name not in disputed}


def _says_none(value: object) -> bool:
    return label(value) in ("", "none", "no", "n/a", "null")


def _decoded(value: object) -> object:
    """What a text holds that is itself JSON, as the arguments of a function are."""
    if not isinstance(value, str):
        return None
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None
