"""What a prompt is: a name, what it is given, what comes back, and how it is sampled."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from redraft.settings import LANGUAGE_NAME

_DIGITS = re.compile(r"\s*-?[0-9]+\s*")

Given_ = TypeVar("Given_", bound=BaseModel)
Value_ = TypeVar("Value_")


@dataclass(frozen=True, slots=True)
class Fence:
    """Marks a field whose text comes from outside: it is put between `<tag>` and `</tag>` and cannot break out."""

    tag: str


@dataclass(frozen=True, slots=True)
class Lines(Fence):
    """Marks a list whose entries stand in one fence, each on a line of its own: an item after its tag, a text alone."""


@dataclass(frozen=True, slots=True)
class Apart(Fence):
    """Marks a list of texts that nobody speaks of one by one: they stand in one fence, with `GAP` between two."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """Marks numbers of items of another field, which go into the prompt as the tags of those."""

    field: str


Excerpt = Annotated[str, Fence("excerpt")]
GAP = "[…]"
"""The line between two texts of one fence."""
Passages = Annotated[list[str], Apart("passages")]
SummaryText = Annotated[str, Fence("summary")]
SummaryTexts = Annotated[list[str], Fence("summary")]
Context = Annotated[str, Fence("context")]
WholeDocument = Annotated[str, Fence("document")]
WholeText = Annotated[str | None, Fence("document")]
"""A whole document where it is shown."""
OutlineText = Annotated[str | None, Fence("outline")]
"""What the whole document is about, as `prompts.outlining.outline_text` has it, where somebody has said so."""
Question = Annotated[str | None, Fence("question")]
Language = Annotated[str | None, Field(pattern=LANGUAGE_NAME)]
"""The language that a user wants a text in, by its English name; without one it is that of what is read."""


class GivenModel(BaseModel):
    """Base of what prompts are given: immutable, and unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)  # most of them are not used in a run


@dataclass(frozen=True, slots=True)
class Also:
    """Marks a field of a reply that models call by other names too; what stands under two of them is believed of none.

    A field with a label is not filled by "none" under another name: nobody has said what that is none of.
    """

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)


@dataclass(frozen=True, slots=True)
class Silent:
    """Marks a field of a reply that may be left out: nothing is said by that."""


@dataclass(frozen=True, slots=True)
class EachAlone:
    """Marks a list of a reply of which one entry that cannot be read is left out, and the others count."""


@dataclass(frozen=True, slots=True)
class AtMost:
    """Marks a list of a reply that has no more entries than this, or than a number says that the prompt is given, by
    its name."""

    number: str | int


class ReplyModel(BaseModel):
    """Base of structured replies. The schema goes out with every request, so it holds only what a reply depends on."""

    model_config = ConfigDict(defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _with_nothing_said(cls, value: object) -> object:
        """What may be left out is as if null stood there."""
        if not isinstance(value, dict):
            return value
        return {name: None for name, field in cls.model_fields.items() if Silent() in field.metadata} | value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core))
        schema.pop("description", None)  # the docstring: the prompt itself says what is wanted
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
        return schema


@cache
def reply_schema(shape: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a reply as it goes out: every entry described where it stands, and only the whole is named."""
    schema = shape.model_json_schema()
    kinds = schema.pop("$defs", {})

    def plain(part: Any) -> Any:
        if isinstance(part, list):
            return [plain(one) for one in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            kind = kinds[part["$ref"].rpartition("/")[2]]
            return plain({name: one for name, one in kind.items() if name != "title"} | _beside(part))
        return {name: plain(one) for name, one in part.items()}

    described: dict[str, Any] = plain(schema)
    return described


def _beside(reference: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in reference.items() if name != "$ref"}


def _whole(value: object) -> object:
    """A whole number, also in ASCII digits; what Python would read as one besides is none: true, "1_0", "１"."""
    if isinstance(value, bool) or (isinstance(value, str) and not _DIGITS.fullmatch(value)):
        raise ValueError("the value is no whole number")
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
"""A whole number in a reply."""


def _text(value: object) -> object:
    """A text, also from a number, from yes or no, or from several texts."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(one, str | int | float) for one in value):
        return ", ".join(str(_text(one)) for one in value)
    return value


def _texts(value: object) -> object:
    """A list of texts, also from one text, or from nothing."""
    if value is None:
        return []
    if isinstance(value, list):
        return [_text(one) for one in value if one is not None]
    return [value] if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_text)]
"""A text without which a reply says nothing."""
Aside = Annotated[str, BeforeValidator(lambda value: "" if value is None else _text(value)), Silent()]
"""A text that may be missing."""
Texts = Annotated[list[str], BeforeValidator(_texts), Silent()]
"""Texts, of which there may be none."""

_TICKS, _CROSSES = "✅✓✔☑", "❌❎✖✗✘✕☒🚫⛔🛑👎🔴"
_AROUND_LABELS = f" .:*_`\"'!()[]<>{_TICKS}{_CROSSES}\ufe0f"
_SPEAK_FOR = frozenset(("agrees", "pass", "yes", "none", "supported", "right", "first", "second", "tie"))
# What formulas deny a word by.
_NEGATED = re.compile(r"^\W*?[!¬≠~]\W*\w")
_NONE: Mapping[str, str] = MappingProxyType({})


def label(value: object) -> str:
    """A label in small letters, without marks around it; nothing where there is none."""
    if isinstance(value, bool):
        return str(value).casefold()
    return " ".join(value.strip(_AROUND_LABELS).casefold().split()) if isinstance(value, str) else ""


def is_denied(value: object, choice: str) -> bool:
    """Whether a sign beside a label says the opposite of it, as in "❌ supported": that is no verdict."""
    signs = _CROSSES if choice in _SPEAK_FOR else _TICKS
    return isinstance(value, str) and (any(sign in value for sign in signs) or bool(_NEGATED.search(value)))


def lenient(choices: Any, otherwise: str | None, also: Mapping[str, str] = _NONE) -> Callable[[object], object]:
    """Read a choice in any capitals and with marks around it; what is none of them becomes `otherwise`, if that is one.

    `also` are other words for the choices, those that can mean nothing else. Without `otherwise` any other is left as
    it is, and refused; so is one that a sign beside it denies, unless it speaks against something by itself.
    """
    known = {**also, **{choice: choice for choice in get_args(choices)}}
    has_sides = not _SPEAK_FOR.isdisjoint(get_args(choices))

    def read(value: object) -> object:
        found = known.get(label(value))
        return (None if found and has_sides and is_denied(value, found) else found) or otherwise or value

    return read


Unsure = Literal["unsure"]
"""Said by a judge that knows what it cannot tell: no verdict, and nobody is asked again. No prompt speaks of it."""
UNSURE: Unsure = "unsure"


def as_asked(choices: Any) -> WithJsonSchema:
    """The schema of a choice as it goes out, without what is for judges that are no language model."""
    return WithJsonSchema({"enum": list(get_args(choices)), "type": "string"})


@dataclass(frozen=True, slots=True)
class Prompt(Generic[Given_, Value_]):
    """One thing a model can be asked. `returns` is `str` for prose, a pydantic model for a structured reply."""

    name: str
    given: type[Given_]
    returns: type[Value_]
    purpose: str
    temperature: float = 0.5
    template: str = ""
    """The text of a prompt that is none of redraft's own, which stand in files; written as those are."""
