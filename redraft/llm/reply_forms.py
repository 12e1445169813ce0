"""Puts a JSON value into the form of a reply model: other names, other nesting, and single entries."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from redraft.prompts.contract import AliasNames, AskedWhere, InternalField, MaxItems, Omittable, SkipInvalid, read_label
from redraft.prompts.tags import NO_ITEM, ItemRef, TagContext, Tags, asked_about, has_tag

# The wrappers of a reply that imitates a function call.
_ARGUMENTS = ("arguments", "parameters", "input")
_MAX_WRAPPERS = 3
_NOT_LETTERS = re.compile(r"[\W_]+")
_NO_LABEL = ("", "none", "no", "n/a", "null")


@dataclass(frozen=True, slots=True)
class ReplyField:
    """A field of a reply model, with what its annotation says of it."""

    name: str
    is_list: bool
    model: type[BaseModel] | None
    """The type of its object, or of each entry of its list."""
    is_label: bool
    omittable: bool
    skips_invalid: bool
    items: ItemRef | None
    """The items that it names, or that the entries of its list name."""
    limit: str | int
    """The most entries of its list, or the prompt's field with that number; 0 for no limit."""
    aliases: frozenset[str]
    where: str
    """The prompt's field that has to be set for this one to be asked for; empty if it always is."""

    @property
    def entry_items(self) -> ItemRef | None:
        """Return the items that the ids of its entries name; None if they have no ids."""
        fields = reply_fields(self.model) if self.is_list and self.model else {}
        return fields["id"].items if "id" in fields else None

    def most(self, inputs: BaseModel) -> int:
        """Return the most entries of the list: as many as requested, or one per item; 0 for no limit."""
        if self.limit:
            return self.limit if isinstance(self.limit, int) else int(getattr(inputs, self.limit))
        items = self.entry_items or self.items
        return len(asked_about(inputs, items.field)) if items else 0


@cache
def reply_fields(shape: type[BaseModel]) -> Mapping[str, ReplyField]:
    """Return the fields of a reply model that a language model is asked for."""
    return {
        name: _field(name, info.annotation, info.metadata)
        for name, info in shape.model_fields.items()
        if InternalField() not in info.metadata
    }


def _field(name: str, annotation: Any, metadata: list[Any]) -> ReplyField:
    is_list = get_origin(annotation) is list
    inner = get_args(annotation)[0] if is_list else annotation
    marks = [*metadata, *getattr(inner, "__metadata__", ())]
    inner = inner.__origin__ if hasattr(inner, "__metadata__") else inner
    choices = get_args(inner) if get_origin(inner) in (Union, UnionType) else (inner,)
    return ReplyField(
        name,
        is_list,
        model=inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None,
        is_label=all(get_origin(choice) is Literal for choice in choices),
        omittable=Omittable() in metadata,
        skips_invalid=SkipInvalid() in metadata,
        items=next((mark for mark in marks if isinstance(mark, ItemRef)), None),
        limit=next((mark.number for mark in metadata if isinstance(mark, MaxItems)), 0),
        aliases=frozenset(_plain(alias) for mark in metadata if isinstance(mark, AliasNames) for alias in mark.names),
        where=next((mark.given for mark in metadata if isinstance(mark, AskedWhere)), ""),
    )


class ReplyShape:
    """The expected form of one reply."""

    def __init__(self, shape: type[BaseModel], tags: Tags | None = None) -> None:
        self.tags = tags
        self._fields = reply_fields(shape)
        only = next(iter(self._fields.values())) if len(self._fields) == 1 else None
        self._list = only if only and only.is_list else None
        self.list_name = self._list.name if self._list else ""
        """The one list of the reply that has no other field; empty if there is none."""
        self._entry_fields = reply_fields(self._list.model) if self._list and self._list.model else {}
        self.has_independent_entries = bool(self._entry_fields) and (
            "id" in self._entry_fields or (self._list is not None and self._list.skips_invalid)
        )
        """Whether each entry is meaningful without the others."""

    def may_be(self, value: object) -> bool:
        """Return whether a value may be a reply: a list of texts is only where texts are asked for."""
        is_plain_list = isinstance(value, list) and not any(isinstance(part, dict) for part in value)
        return not is_plain_list or (self._list is not None and self._list.model is None)

    def is_entry(self, value: object) -> bool:
        """Return whether this is one entry of the reply, standing by itself."""
        if not self.has_independent_entries or not isinstance(value, dict):
            return False
        if any(_field_called(name, self._fields) for name in value):
            return False
        names = {_field_called(name, self._entry_fields) for name in value}
        if "id" in self._entry_fields:
            return "id" in names
        return names >= {name for name, field in self._entry_fields.items() if not field.omittable}

    def reshaped(self, value: object, wrappers: int = _MAX_WRAPPERS) -> object:
        """Return the value in the form of the reply model, as far as that is certain."""
        if isinstance(value, list):
            if len(value) == 1 and wrappers and isinstance(value[0], dict) and not self.is_entry(value[0]):
                return self.reshaped(value[0], wrappers - 1)
            return self._filled({self.list_name: value}) if self.list_name else value
        if not isinstance(value, dict):
            return value
        if any(_field_called(name, self._fields) for name in value):
            return self._entry(value)
        if self.is_entry(value) or self._by_item(value, self._list):
            return self._filled({self.list_name: value})
        inner: list[object] = [part for part in value.values() if isinstance(part, dict | list)]
        inner += [part for name in _ARGUMENTS if (part := _decoded(value.get(name))) is not None]
        return self.reshaped(inner[0], wrappers - 1) if len(inner) == 1 and wrappers else value

    def _entry(self, value: object) -> object:
        return self._filled(_under_field_names(value, self._fields)) if isinstance(value, dict) else value

    def _filled(self, value: dict[str, object]) -> dict[str, object]:
        """Return the value with each field in its form."""
        fields = self._fields
        return {name: self._in_form(part, fields[name]) if name in fields else part for name, part in value.items()}

    def _in_form(self, value: object, field: ReplyField) -> object:
        if field.model is None:
            if field.items and field.is_list and isinstance(value, list):
                return [part["id"] if isinstance(part, dict) and "id" in part else part for part in value]
            return value
        shape = ReplyShape(field.model, self.tags)
        if not field.is_list:
            return shape._entry(value)
        if isinstance(value, dict):
            value = self._by_item(value, field) or [value]
        return [shape._entry(part) for part in value] if isinstance(value, list) else value

    def _by_item(self, value: dict[Any, object], field: ReplyField | None) -> list[object]:
        """Return the entries of an object keyed by item; empty for any other object."""
        items = field.entry_items if field else None
        if not value or self.tags is None or items is None or field is None or field.model is None:
            return []
        if any(self.tags.number(items.field, name) == NO_ITEM for name in value):
            return []
        fields = reply_fields(field.model)
        names = [name for name, info in fields.items() if name != "id" and not info.omittable]
        names = names or [name for name in fields if name == "answer"]
        entries: list[object] = []
        for item, part in value.items():
            if isinstance(part, dict):
                entries.append({**part, "id": item})
            elif len(names) == 1 and isinstance(part, str):
                entries.append({"id": item, names[0]: part})
            else:
                return []
        return entries

    def with_certain_item(self, value: object) -> object:
        """Return the value with the tag of the only item asked about set in its only entry, unless that has another
        item's tag."""
        items = self._list.entry_items if self._list else None
        entries = value.get(self.list_name) if isinstance(value, dict) else None
        if self.tags is None or items is None or not isinstance(entries, list) or not entries:
            return value
        entry = entries[0]
        if not isinstance(entry, dict) or any(repetition != entry for repetition in entries[1:]):
            return value
        if self._item(entry, items) != NO_ITEM or has_tag(entry.get("id")):
            return value
        tags = self.tags.asked(items.field)
        return {self.list_name: [{**entry, "id": tags[0]}]} if len(tags) == 1 else value

    def without_invalid(self, value: object) -> tuple[object, ValidationError | None]:
        """Return the value without invalid entries and others about the same items, and the first error; if nothing
        else is left, they stay."""
        if not isinstance(value, dict):
            return value, None
        rest, first_error = dict(value), None
        for name, field in self._fields.items():
            entries, items = value.get(name), field.entry_items
            if not field.is_list or field.model is None or not isinstance(entries, list):
                continue
            if items is None and not field.skips_invalid:
                continue
            errors = {at: error for at, entry in enumerate(entries) if (error := self._error(entry, field.model))}
            if not errors or len(errors) == len(entries):
                continue
            first_error = first_error or next(iter(errors.values()))
            lost = {self._item(entries[at], items) for at in errors} - {NO_ITEM}
            rest[name] = [
                entry for at, entry in enumerate(entries) if at not in errors and self._item(entry, items) not in lost
            ]
        return rest, first_error

    def _error(self, entry: object, model: type[BaseModel]) -> ValidationError | None:
        try:
            model.model_validate_json(json.dumps(entry), context=TagContext(self.tags) if self.tags else None)
        except ValidationError as error:
            return error
        return None

    def _item(self, entry: object, items: ItemRef | None) -> int:
        if self.tags is None or items is None or not isinstance(entry, dict):
            return NO_ITEM
        return self.tags.number(items.field, entry.get("id"))

    def is_nameless(self, value: BaseModel, context: TagContext) -> bool:
        """Return whether a validated reply names things, but none of its items."""
        entries = getattr(value, self.list_name) if self.list_name else ()
        if entries and self._list and self._list.entry_items is not None:
            return all(entry.id == NO_ITEM for entry in entries)
        return bool(context.strangers) and not context.named


def _plain(name: object) -> str:
    return _NOT_LETTERS.sub("", str(name)).casefold()


def _field_called(name: object, fields: Mapping[str, ReplyField]) -> str:
    """Return the field of this name, however it is spelled; empty without one."""
    plain = _plain(name)
    return next((field for field in fields if _plain(field) == plain), "")


def _under_field_names(value: dict[Any, object], fields: Mapping[str, ReplyField]) -> dict[str, object]:
    """Return the values under their fields' names, without those that have different values under two names."""
    under: dict[str, list[object]] = {}
    for name, part in value.items():
        if field := _field_called(name, fields):
            under.setdefault(field, []).append(part)
    for field, info in fields.items():
        if field not in under:
            parts = [
                part for name, part in value.items() if _plain(name) in info.aliases and not _field_called(name, fields)
            ]
            if parts and not (info.is_label and read_label(parts[0]) in _NO_LABEL):
                under[field] = parts
    return {field: parts[0] for field, parts in under.items() if all(part == parts[0] for part in parts)}


def _decoded(value: object) -> object:
    """Return the JSON within a text, as in the arguments of a function."""
    if not isinstance(value, str):
        return None
    try:
        decoded = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return decoded if isinstance(decoded, dict | list) else None
