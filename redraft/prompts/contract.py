"""What a prompt is: a name, its input, its reply, and its sampling."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationInfo,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from redraft.settings import LANGUAGE_NAME

_DIGITS = re.compile(r"\s*-?[0-9]+\s*")

InputT = TypeVar("InputT", bound=BaseModel)
ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Fence:
    """Marks a field with text from outside, which is put between `<tag>` and `</tag>` and cannot break out."""

    tag: str
    carries: str = ""
    """What the field holds, if a template of a user may not leave it out."""
    shared: Literal["lines", "texts"] | None = None
    """Whether the entries of a list share one fence: lines, items after their tags, or texts separated by `GAP`."""


@dataclass(frozen=True, slots=True)
class ItemTags:
    """Marks numbers of items of another field, which are rendered as tags."""

    field: str


Excerpt = Annotated[str, Fence("excerpt", "the part of the document to read")]
GAP = "[…]"
"""The line between two texts of one fence."""
Passages = Annotated[list[str], Fence("passages", "the passages to read", "texts")]
SummaryText = Annotated[str, Fence("summary", "the summary")]
SummaryTexts = Annotated[list[str], Fence("summary", "the summaries of consecutive parts")]
Context = Annotated[str, Fence("context")]
WholeDocument = Annotated[str, Fence("document", "the document")]
WholeText = Annotated[str | None, Fence("document", "the document")]
"""A whole document where it is shown."""
OutlineText = Annotated[str | None, Fence("outline")]
"""An outline of the whole document, as rendered by `outline_text`."""
Question = Annotated[str | None, Fence("question", "the question that the summary answers")]
Language = Annotated[str | None, Field(pattern=LANGUAGE_NAME)]
"""The English name of the language to write in; None for that of the source."""


class PromptInput(BaseModel):
    """Base of prompt inputs: immutable, and unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)  # most of them are not used in a run


def texts_in(value: object) -> Iterator[str]:
    """Yield all texts in a prompt's input."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, BaseModel | list):
        for part in value if isinstance(value, list) else [part for _, part in value]:
            yield from texts_in(part)


class AliasNames:
    """Marks a reply field that models also call by other names; conflicting values are ignored. A field with a label is
    not set by "none" under another name."""

    def __init__(self, *names: str) -> None:
        self.names = names


class FieldMark(Enum):
    """What a field of a reply is."""

    OMITTABLE = "may be left out"
    SKIP_INVALID = "a list whose unreadable entries are dropped one by one"
    INTERNAL = "asked for by no prompt: what a language model says of it is dropped"


OMITTABLE, SKIP_INVALID, INTERNAL = FieldMark


@dataclass(frozen=True, slots=True)
class MaxItems:
    """Marks a reply list with a maximum length: a number, or the field of the input that has it."""

    number: str | int


class ReplyModel(BaseModel):
    """Base of structured replies; the schema is sent with every request, so it holds only what a reply depends on."""

    model_config = ConfigDict(defer_build=True)
    listed_as: ClassVar[str] = ""
    """The name of a reply that lists such entries; empty for that of the entries with an "s"."""

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        """Return the name of a list of such entries, which is sent as the title of its schema."""
        return params[0].listed_as or f"{params[0].__name__}s"

    @model_validator(mode="before")
    @classmethod
    def read_fields(cls, value: object, info: ValidationInfo) -> object:
        """Put values under the names of their fields, and null for optional ones that were left out."""
        if not isinstance(value, dict):
            return value
        fields = cls.model_fields
        by_field = value if value.keys() <= fields.keys() else under_field_names(value, cls)
        if getattr(info.context, "is_reply", False):
            by_field = {name: part for name, part in by_field.items() if INTERNAL not in fields[name].metadata}
        return {name: None for name, field in fields.items() if OMITTABLE in field.metadata} | by_field

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core))
        schema.pop("description", None)  # the docstring: the prompt itself says what is wanted
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
        return schema


EntryT = TypeVar("EntryT", bound=ReplyModel)


class Answers(ReplyModel, Generic[EntryT]):
    """One answer for each question."""

    answers: list[EntryT]


class Facts(ReplyModel, Generic[EntryT]):
    """One entry for each fact."""

    facts: list[EntryT]


class Sentences(ReplyModel, Generic[EntryT]):
    """One entry for each sentence."""

    sentences: list[EntryT]


_NOT_LETTERS = re.compile(r"[\W_]+")
_NO_LABEL = ("", "none", "no", "n/a", "null")


def plain_name(name: object) -> str:
    """Return the name of a field without regard to capitals, blanks and marks."""
    return _NOT_LETTERS.sub("", str(name)).casefold()


def under_field_names(value: Mapping[Any, object], model: type[BaseModel]) -> dict[str, object]:
    """Return the values under the names of a model's fields, however these are spelled, or else called by another name;
    without those that have different values under two names."""
    parts_by_name: dict[str, list[object]] = {}
    for name, part in value.items():
        parts_by_name.setdefault(plain_name(name), []).append(part)
    by_field: dict[str, object] = {}
    own_names = set(map(plain_name, model.model_fields))
    for field, info in model.model_fields.items():
        parts = parts_by_name.get(plain_name(field), [])
        if not parts:
            marks = [mark for mark in info.metadata if isinstance(mark, AliasNames)]
            aliases = {plain_name(alias) for mark in marks for alias in mark.names} - own_names
            parts = [part for alias in parts_by_name if alias in aliases for part in parts_by_name[alias]]
            is_choice = get_origin(info.annotation) in (Union, UnionType)
            choices = get_args(info.annotation) if is_choice else (info.annotation,)
            is_label = all(get_origin(choice) is Literal for choice in choices)
            # "error: none" is no category.
            parts = [] if parts and is_label and read_label(parts[0]) in _NO_LABEL else parts
        if parts and all(part == parts[0] for part in parts):
            by_field[field] = parts[0]
    return by_field


@cache
def reply_schema(shape: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a reply as it is sent: inlined, and with only the root named."""
    schema = shape.model_json_schema()
    kinds = schema.pop("$defs", {})

    def plain(part: Any) -> Any:
        if isinstance(part, list):
            return [plain(value) for value in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            kind = kinds[part["$ref"].rpartition("/")[2]]
            rest = {name: value for name, value in part.items() if name != "$ref"}
            return plain({name: value for name, value in kind.items() if name != "title"} | rest)
        return {name: plain(value) for name, value in part.items()}

    described: dict[str, Any] = plain(schema)
    return described


def _whole(value: object) -> object:
    """Accept whole numbers, also in ASCII digits; reject true, "1_0" and "１", which Python would accept."""
    if isinstance(value, bool) or (isinstance(value, str) and not _DIGITS.fullmatch(value)):
        raise ValueError("the value is not a whole number")
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
"""A whole number in a reply."""


def _text(value: object) -> object:
    """Convert a number, a boolean or a list of texts to a text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(entry, str | int | float) for entry in value):
        return ", ".join(str(_text(entry)) for entry in value)
    return value


def _texts(value: object) -> object:
    """Convert a text, or null, to a list of texts."""
    if value is None:
        return []
    if isinstance(value, list):
        return [_text(entry) for entry in value if entry is not None]
    return [value] if isinstance(value, str) else value


def refusing(invalid_part: Callable[[Any], object], problem: str) -> AfterValidator:
    """Return a validator that refuses a value in which something is invalid, and says what, in place of "{}"."""

    def check(value: Any) -> Any:
        if part := invalid_part(value):
            raise ValueError(problem.format(part))
        return value

    return AfterValidator(check)


WORDED = refusing(lambda text: not any(map(str.isalnum, text)), "there are no words")
"""For a text that must have words."""


Text = Annotated[str, BeforeValidator(_text)]
"""A required text."""
Words = Annotated[str, WORDED]
"""A required text with at least one word."""
Aside = Annotated[str, BeforeValidator(lambda value: "" if value is None else _text(value)), OMITTABLE]
"""An optional text."""
Texts = Annotated[list[str], BeforeValidator(_texts), OMITTABLE]
"""A list of texts, which may be empty."""

_TICKS, _CROSSES = "✅✓✔☑", "❌❎✖✗✘✕☒🚫⛔🛑👎🔴"
_AROUND_LABELS = f" .:*_`\"'!()[]<>{_TICKS}{_CROSSES}\ufe0f"
_SPEAK_FOR = frozenset(("full", "pass", "yes", "none", "supported", "right", "first", "second", "tie"))
# Negation signs of formulas.
_NEGATED = re.compile(r"^\W*?[!¬≠~]\W*\w")


def read_label(value: object) -> str:
    """Return a label in lower case, without marks around it; empty where there is none."""
    if isinstance(value, bool):
        return str(value).casefold()
    return " ".join(value.strip(_AROUND_LABELS).casefold().split()) if isinstance(value, str) else ""


def is_denied(value: object, choice: str) -> bool:
    """Return whether a sign next to a label contradicts it, as in "❌ supported"."""
    signs = _CROSSES if choice in _SPEAK_FOR else _TICKS
    return isinstance(value, str) and (any(sign in value for sign in signs) or bool(_NEGATED.search(value)))


@cache
def synonyms(table: str) -> Mapping[str, str]:
    """Return the choices by what models write in place of them, from a table of `labels.toml`."""
    tables = tomllib.loads(Path(__file__).with_name("labels.toml").read_text("utf-8"))
    return {word: choice for choice, words in tables[table].items() for word in words}


class Label(AliasNames):
    """Marks a reply field that holds one of some choices, in any capitals and with marks around it. Synonyms of choices
    are `words`, and those in tables of `labels.toml`. All else becomes `otherwise`; without that, an unknown or
    contradicted choice is refused. Values that only other judges than language models give are not sent."""

    def __init__(
        self,
        choices: Any,
        *tables: str,
        names: tuple[str, ...] = (),
        otherwise: str | None = None,
        words: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(*names)
        self._choices: tuple[str, ...] = get_args(choices)
        self._by_label = {word: choice for table in tables for word, choice in synonyms(table).items()}
        self._by_label |= {**words, **{choice: choice for choice in self._choices}}
        self._otherwise = otherwise

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._read, handler(source))

    def __get_pydantic_json_schema__(self, _core: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"enum": list(self._choices), "type": "string"}

    def _read(self, value: object) -> object:
        choice = self._by_label.get(read_label(value))
        is_contradicted = choice and not _SPEAK_FOR.isdisjoint(self._choices) and is_denied(value, choice)
        return (None if is_contradicted else choice) or self._otherwise or value


@dataclass(frozen=True, slots=True)
class AskedWhere:
    """Marks an optional reply field that is asked for only where this field of the input is set."""

    given: str


Unsure = Literal["unsure"]
"""The verdict of a judge that cannot tell, which no prompt offers: it is not asked again."""
UNSURE: Unsure = "unsure"


@dataclass(frozen=True, slots=True)
class Prompt(Generic[InputT, ValueT]):
    """One kind of request; `returns` is `str` for prose, or a pydantic model for a structured reply."""

    name: str
    given: type[InputT]
    returns: type[ValueT]
    purpose: str
    temperature: float = 0.0
    template: str = ""
    """The template of another package's prompt; redraft's own are files."""
