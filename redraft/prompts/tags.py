"""Tags and fences around the parts of a prompt."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
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
from redraft.prompts.contract import ItemTags, PromptInput

_HARMLESS = {"<": "‹", "[": "⁅"}

# Blanks, control characters, accents and other invisible characters that may hide within a tag.
_UNSEEN = (
    (0x00, 0x08), (0x0E, 0x1F), (0x7F, 0x84), (0x86, 0x9F), (0xAD, 0xAD), (0x300, 0x36F), (0x61C, 0x61C),
    (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x200B, 0x200F),
    (0x202A, 0x202E), (0x2060, 0x206F), (0x20D0, 0x20FF), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFE20, 0xFE2F),
    (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
# Ranges of characters that Unicode treats as variants of ASCII.
_DRESSED = (
    (0x41, 0x5A), (0xA0, 0x24F), (0x250, 0x2FF), (0x1D00, 0x1DBF), (0x1E00, 0x1EFF), (0x2000, 0x214F), (0x2150, 0x218F),
    (0x226E, 0x226E),
    (0x2460, 0x24FF), (0x2C60, 0x2C7F), (0x3200, 0x33FF), (0xA640, 0xA7FF), (0xFB00, 0xFB06), (0xFE30, 0xFE6F),
    (0xFF01, 0xFFEE), (0x10780, 0x107BA), (0x1D400, 0x1D7FF), (0x1F100, 0x1F1FF),
)  # fmt: skip
# Letters of other alphabets, and marks, that look like one of ASCII.
_LOOKALIKES = str.maketrans(
    "аϲсԁеɡһіıјӏοοорԛѕυνԝхуɑαεικρτωχАВЕЅІЈКМНОРСТХҮԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧոսօց⁄∕⧸╱ǀ∣│",
    "accdeghiijlooopqsuvwxyaaeikptwxabesijkmhopctxywabezhikmnoptyxnuog////|||",
)
_TAG_ENDS = r"(?![^\W_])"
_BETWEEN = r"[\x00\s]*"

# Tokens of chat templates, which a server may interpret wherever they stand.
_TOKENS = (
    r"<(?=\|[^<>|\s]{1,80}\|?>)",
    r"<(?=/?(?:s|sys|bos|eos|pad|unk|mask|sep|cls|sop|eop|eod|(?:begin|start|end)_of_[a-z_]{1,40}|think|thinking"
    r"|tools|tool_calls?|tool_responses?|fim_[a-z]{1,20}|seed:[a-z_]{1,40}|im_(?:start|end))>)",
    r"\[(?=\|[^\[\]|\s]{1,80}\|\])",
    r"\[(?=/?(?:inst|system_prompt|available_tools|tool_calls|tool_results|tool_content|think|bos|eos|gmask|img"
    r"|prefix|suffix|middle|args)\])",
)


_MAX_CACHED = 10_000
"""Characters to cache: a book has a few hundred, a hostile text any number."""


class _Plain(dict[int, str]):
    """The ASCII equivalent of each character, computed when first needed: a small letter, a mark, or
    an invisible sign."""

    def __missing__(self, code: int) -> str:
        plain = chr(code)
        if any(first <= code <= last for first, last in _UNSEEN):
            plain = "\x00"
        elif code in _LOOKALIKES:
            plain = chr(_LOOKALIKES[code])
        elif any(first <= code <= last for first, last in _DRESSED):
            # The ASCII letters that Unicode has for it.
            folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", plain).casefold())
            folded = "".join(letter for letter in folded if not unicodedata.combining(letter))
            plain = folded if folded and folded.isascii() and not folded.isspace() else plain
        if len(self) >= _MAX_CACHED:
            self.clear()
        self[code] = plain
        return plain


_PLAIN = _Plain()


@cache
def _suspicious(tags: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern for whatever looks like one of the tags, or like a chat token, in normalized text."""
    spelled = "|".join(_BETWEEN.join(map(re.escape, tag.lower())) for tag in sorted(tags))
    fence = rf"<(?=[\x00\s/\\]*+(?:{spelled}){_TAG_ENDS})"
    return re.compile("|".join((fence, *_TOKENS)))


def disarmed(text: str, tags: frozenset[str]) -> str:
    """Return the text with a harmless bracket before whatever could pass for one of the tags, or a chat token."""
    if "<" not in text and "[" not in text and text.isascii():
        return text
    plain = text.translate(_PLAIN)
    replacements = {match.start(): _HARMLESS[match[0]] for match in _suspicious(tags).finditer(plain)}
    if not replacements:
        return text
    if len(plain) != len(text):
        # One character may stand for several letters.
        ends = list(accumulate(len(_PLAIN[ord(letter)]) for letter in text))
        replacements = {bisect_right(ends, at): harmless for at, harmless in replacements.items()}
    parts, before = [], 0
    for at, harmless in replacements.items():
        parts += [text[before:at], harmless]
        before = at + 1
    return "".join([*parts, text[before:]])


NO_ITEM = -1
"""The number of an item that no tag names."""

# A prime number of letters for the checksum, and no vowels: no word of any text is a tag.
_LETTERS = "bcdfghjkmnpqrtvwx"
_MIN = 3
# How many letter sequences there are at least for each tag.
_SPARSE = 8
_WORD = re.compile(r"[a-z]+")


class TaggedItem(PromptInput):
    """An item that a reply has to name by its tag, which replaces its number in prompts and replies."""

    id: int


def has_tag(text: object) -> bool:
    """Return whether a text contains a tag, of whatever request."""
    words = _WORD.findall(text.casefold()) if isinstance(text, str) else []
    return any(len(word) > _MIN and set(word) <= set(_LETTERS) and word[-1] == _check(word[:-1]) for word in words)


def asked_about(inputs: BaseModel, field: str) -> list[int]:
    """Return the numbers of a field's items, or only of those that are marked as asked about."""
    for name, info in type(inputs).model_fields.items():
        if ItemTags(field) in info.metadata and (numbers := getattr(inputs, name)):
            return list(numbers)
    return [item.id for item in getattr(inputs, field, ()) if isinstance(item, TaggedItem)]


class Tags:
    """The tags of all items of a prompt, by field."""

    def __init__(self, inputs: BaseModel) -> None:
        lists = {name: value for name in type(inputs).model_fields if isinstance(value := getattr(inputs, name), list)}
        items = {name: [item for item in value if isinstance(item, TaggedItem)] for name, value in lists.items()}
        self._tags: dict[str, dict[int, str]] = {}
        drawn_tags: set[str] = set()
        # A tag depends on all items of its field and on its place.
        for name, tagged_items in items.items():
            letters = _MIN
            while len(_LETTERS) ** letters < _SPARSE * len(tagged_items):
                letters += 1
            seed_text = json.dumps([name, [item.model_dump(mode="json", exclude={"id"}) for item in tagged_items]])
            seed = hashlib.sha256(seed_text.encode("utf-8", "surrogatepass")).hexdigest()
            self._tags[name] = {}
            for place, item in enumerate(tagged_items):
                drawn, tag = int(hashlib.sha256(f"{seed} {place}".encode()).hexdigest(), 16), ""
                while not tag or tag in drawn_tags:
                    # The number in letters, with a checksum letter.
                    digits = (drawn // len(_LETTERS) ** digit % len(_LETTERS) for digit in range(letters))
                    word = "".join(_LETTERS[digit] for digit in digits)
                    tag, drawn = word + _check(word), drawn + 1
                drawn_tags.add(tag)
                self._tags[name][item.id] = tag
        self._numbers = {name: {tag: number for number, tag in tag_of.items()} for name, tag_of in self._tags.items()}
        self._asked = {name: asked_about(inputs, name) for name in items}

    def all(self, field: str) -> list[str]:
        """Return the tags of all items of a field."""
        return list(self._tags[field].values())

    def asked(self, field: str) -> list[str]:
        """Return the tags of the items asked about."""
        return [self._tags[field][number] for number in self._asked[field]]

    def tag(self, field: str, number: int) -> str:
        """Return the tag of an item; empty for an unknown one."""
        return self._tags[field].get(number, "")

    def number(self, field: str, name: object) -> int:
        """Return the number of the item that is named, alone or among other words; else `NO_ITEM`."""
        if field not in self._numbers:
            raise PromptError(f"the reply names items of {field!r}, and the prompt is given none by that name")
        numbers = self._numbers[field]
        words = _WORD.findall(name.casefold()) if isinstance(name, str) else []
        named_items = {numbers[word] for word in words if word in numbers}
        return named_items.pop() if len(named_items) == 1 else NO_ITEM


@dataclass
class TagContext:
    """Validation context that turns tags into numbers and back, and counts what was named."""

    tags: Tags
    is_reply: bool = False
    """Whether a language model wrote what is validated: its values for internal fields are dropped."""
    named: int = 0
    strangers: int = 0
    """How many names were none of the items."""


class ItemRef:
    """Marks a number in a reply that names an item of one prompt field. In Python it is a number; with a `TagContext`,
    as from a model or the cache, it is a tag, and a number names no item."""

    def __init__(self, field: str) -> None:
        self.field = field

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        write = core_schema.plain_serializer_function_ser_schema(self._write, info_arg=True)
        return core_schema.with_info_plain_validator_function(self._read, serialization=write)

    def __get_pydantic_json_schema__(self, _core: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string"}

    def _read(self, name: object, info: ValidationInfo) -> int:
        if isinstance(context := info.context, TagContext):
            number = context.tags.number(self.field, name)
            context.named += number != NO_ITEM
            context.strangers += number == NO_ITEM
            return number
        if type(name) is not int:
            raise ValueError("the number of an item is a whole number")
        return name

    def _write(self, number: int, info: SerializationInfo) -> int | str:
        return info.context.tags.tag(self.field, number) if isinstance(info.context, TagContext) else number


LISTED = BeforeValidator(lambda name: _WORD.findall(name.casefold()) if type(name) is str else name or [])
"""For a list of such numbers: one text may name them all, and null none."""
ONLY_KNOWN = AfterValidator(lambda numbers: [number for number in numbers if number != NO_ITEM])
"""For a list of such numbers: unknown names are dropped."""


def _check(word: str) -> str:
    return _LETTERS[sum(weight * _LETTERS.index(letter) for weight, letter in enumerate(word, 1)) % len(_LETTERS)]
