"""What a prompt is: a name, what it is given, what comes back, and how it is sampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

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


class GivenModel(BaseModel):
    """Base of what prompts are given: immutable, and unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True, slots=True)
class Prompt(Generic[Given_, Value_]):
    """One thing a model can be asked. `returns` is `str` for prose, a pydantic model for a structured reply."""

    name: str
    given: type[Given_]
    returns: type[Value_]
    purpose: str
    temperature: float = 0.5
