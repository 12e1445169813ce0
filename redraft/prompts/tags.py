"""The tags of items: what a reply names an item by, so that no verdict can be counted onto another one.

A number says nothing of the item that bears it: a list that begins at zero, or is numbered anew, has numbers that fit,
and every one of them is wrong. So each item has four letters of its own, drawn by a hash from what it says and from
what stands beside it: the same request has the same tags, and nobody can guess one that has not read it. The last of
the letters follows from the others, so that one that is miswritten, or two that are swapped, make no other tag.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SerializationInfo,
    ValidationInfo,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from redraft.errors import PromptError
from redraft.prompts.contract import GivenModel, Tagged

NOBODY = -1
"""The number of an item that is named by no tag that there is."""

# As many as a prime has units, and no vowels: no word of any text is a tag.
_LETTERS = "bcdfghjkmnpqrtvwx"
_FEWEST = 3
# For every tag there are at least so many that are none.
_SPARSE = 8
_WORD = re.compile(r"[a-z]+")


class TaggedItem(GivenModel):
    """One of several things that a reply has to name: by its tag, which takes the place of its number on the wire."""

    id: int


def has_tag(said: object) -> bool:
    """Whether there is a tag in what is said, of whatever request or example."""
    return isinstance(said, str) and any(map(_is_tag, _WORD.findall(said.casefold())))


def _is_tag(word: str) -> bool:
    letters = word[:-1]
    return len(letters) >= _FEWEST and set(word) <= set(_LETTERS) and word[-1] == _check(letters)


def asked_about(given: BaseModel, field: str) -> list[int]:
    """The numbers of a field's items; where some of them are marked, of those, which alone are asked about."""
    for name, info in type(given).model_fields.items():
        if Tagged(field) in info.metadata and (some := getattr(given, name)):
            return list(some)
    return [one.id for one in getattr(given, field, ()) if isinstance(one, TaggedItem)]


class Tags:
    """The tags of all items that a prompt is given, by the field that holds them."""

    def __init__(self, given: BaseModel) -> None:
        lists = {name: value for name in type(given).model_fields if isinstance(value := getattr(given, name), list)}
        items = {name: [one for one in value if isinstance(one, TaggedItem)] for name, value in lists.items()}
        self._tags = {
            name: {one.id: tag for one, tag in zip(some, _drawn(name, some), strict=True)}
            for name, some in items.items()
        }
        self._numbers = {name: {tag: number for number, tag in own.items()} for name, own in self._tags.items()}
        self._asked = {name: asked_about(given, name) for name in items}

    def all(self, field: str) -> list[str]:
        """The tags of all items of a field."""
        return list(self._tags[field].values())

    def asked(self, field: str) -> list[str]:
        """The tags of those that are asked about."""
        return [self._tags[field][number] for number in self._asked[field]]

    def tag(self, field: str, number: int) -> str:
        """The tag of an item; nothing for one that there is not."""
        return self._tags[field].get(number, "")

    def number(self, field: str, said: object) -> int:
        """The number of the item whose tag is said, alone or among other words; else `NOBODY`."""
        if field not in self._numbers:
            raise PromptError(f"the reply names items of {field!r}, and the prompt is given none by that name")
        known = self._numbers[field]
        words = _WORD.findall(said.casefold()) if isinstance(said, str) else []
        found = {known[word] for word in words if word in known}
        return found.pop() if len(found) == 1 else NOBODY


class Wire:
    """A reply on its way: turns tags into numbers and back, and takes note of what was named."""

    def __init__(self, tags: Tags) -> None:
        self.tags = tags
        self.named = 0
        self.strangers = 0
        """How many times something was named that is none of the items."""

    def read(self, field: str, said: object) -> int:
        """The number of an item."""
        number = self.tags.number(field, said)
        self.named += number != NOBODY
        self.strangers += number == NOBODY
        return number


class Names:
    """Marks a number in a reply that names an item in one field of what the prompt is given.

    A value that is made here has numbers; one that comes from a model, or out of the cache, is read with a `Wire` as
    its context and has tags, and a number in their place names nobody.
    """

    def __init__(self, field: str) -> None:
        self.field = field

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        write = core_schema.plain_serializer_function_ser_schema(self._write, info_arg=True)
        return core_schema.with_info_plain_validator_function(self._read, serialization=write)

    def __get_pydantic_json_schema__(self, _core: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string"}

    def _read(self, said: object, info: ValidationInfo) -> int:
        if isinstance(info.context, Wire):
            return info.context.read(self.field, said)
        if type(said) is not int:
            raise ValueError("the number of an item is a whole number")
        return said

    def _write(self, number: int, info: SerializationInfo) -> int | str:
        return info.context.tags.tag(self.field, number) if isinstance(info.context, Wire) else number


def _there(numbers: list[int]) -> list[int]:
    return [number for number in numbers if number != NOBODY]


def _each(value: object) -> object:
    """A list of names, also from one text that names several, or from nothing."""
    if value is None:
        return []
    return _WORD.findall(value.casefold()) if isinstance(value, str) else value


LISTED = BeforeValidator(_each)
"""For a list of such numbers: one text may name them all."""
ONLY_KNOWN = AfterValidator(_there)
"""For a list of such numbers: what names nobody is left out."""


def _drawn(field: str, items: Sequence[TaggedItem]) -> list[str]:
    """A tag for each item, which depends on all of them and on its place."""
    letters = _FEWEST
    while len(_LETTERS) ** letters < _SPARSE * len(items):
        letters += 1
    said = json.dumps([field, [one.model_dump(mode="json", exclude={"id"}) for one in items]])
    seed = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
    taken: dict[int, None] = {}
    for place in range(len(items)):
        drawn = int(hashlib.sha256(f"{seed} {place}".encode()).hexdigest(), 16) % len(_LETTERS) ** letters
        while drawn in taken:
            drawn = (drawn + 1) % len(_LETTERS) ** letters
        taken[drawn] = None
    return [_spelt(drawn, letters) for drawn in taken]


def _spelt(drawn: int, letters: int) -> str:
    """A number in letters, and one more: the others count once, twice, and so on, in the order in which they stand."""
    word = "".join(_LETTERS[drawn // len(_LETTERS) ** place % len(_LETTERS)] for place in range(letters))
    return word + _check(word)


def _check(word: str) -> str:
    return _LETTERS[sum(weight * _LETTERS.index(letter) for weight, letter in enumerate(word, 1)) % len(_LETTERS)]
