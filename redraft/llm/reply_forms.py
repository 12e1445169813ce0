"""The fields of a reply model with what their annotations say, and the forms in which a model writes its one list."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from redraft.prompts.contract import (
    INTERNAL,
    OMITTABLE,
    SKIP_INVALID,
    AskedWhere,
    MaxItems,
    plain_name,
    under_field_names,
)
from redraft.prompts.tags import NO_ITEM, ItemRef, Tags, asked_about, has_tag

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
