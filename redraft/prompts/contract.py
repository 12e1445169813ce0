"""What a prompt is: a name, what it is given, what comes back, and how it is sampled."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler
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


Excerpt = Annotated[str, Fence("excerpt")]
SummaryText = Annotated[str, Fence("summary")]
SummaryTexts = Annotated[list[str], Fence("summary")]
Context = Annotated[str, Fence("context")]
WholeDocument = Annotated[str, Fence("document")]
Question = Annotated[str | None, Fence("question")]
Language = Annotated[str | None, Field(pattern=LANGUAGE_NAME)]
"""The language that a user wants a text in, by its English name; without one it is that of what is read."""


class GivenModel(BaseModel):
    """Base of what prompts are given: immutable, and unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ReplyModel(BaseModel):
    """Base of structured replies. The schema goes out with every request, so it holds only what a reply depends on."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core))
        schema.pop("description", None)  # the docstring: the prompt itself says what is wanted
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
        return schema


def _whole(value: object) -> object:
    """A whole number, also in ASCII digits; what Python would read as one besides is none: true, "1_0", "１"."""
    if isinstance(value, bool) or (isinstance(value, str) and not _DIGITS.fullmatch(value)):
        raise ValueError("the value is no whole number")
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
"""A whole number in a reply."""


def lenient(choices: Any, otherwise: str | None) -> Callable[[object], object]:
    """Read a choice in any capitals and with marks around it; what is none of them becomes `otherwise`, if that is one.

    Without `otherwise` it is left as it is, and refused.
    """
    known = frozenset(get_args(choices))

    def read(value: object) -> object:
        word = value.strip(" .:*_`\"'").casefold() if isinstance(value, str) else ""
        return word if word in known else (otherwise or value)

    return read


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
