"""The typed questions of a document: their types, thirds and paragraphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from pydantic import Field

from redraft.domain import Span

QuestionType = Literal["abstractive", "extractive", "binary", "unanswerable"]
"""What a question takes: combining information, finding words, saying yes or no, or noticing that the document has no
answer."""
Third = Literal["beginning", "middle", "end"]
TYPES: tuple[QuestionType, ...] = get_args(QuestionType)
THIRDS: tuple[Third, ...] = get_args(Third)


@dataclass(frozen=True, slots=True)
class TypedQuestion:
    """A question about one paragraph, with its reference answer."""

    id: Annotated[int, Field(serialization_alias="rank")]
    type: QuestionType
    text: Annotated[str, Field(serialization_alias="question")]
    answer: str
    """"yes" or "no" for a binary question; empty for an unanswerable one."""
    reason: str
    """Why yes or no; empty for other types."""
    paragraph: Span

    @property
    def is_answerable(self) -> bool:
        """Return whether the document has an answer."""
        return self.type != "unanswerable"


@dataclass(frozen=True, slots=True)
class TypedQuestions:
    """The typed questions of one document in paragraph order. They cover its text up to `end`."""

    id: str
    document: str
    model: str
    prompt_hashes: Mapping[str, str]
    end: int
    questions: tuple[TypedQuestion, ...]
    missing: tuple[str, ...] = ()
    """The questions that could not be written, and why."""
    imported: bool = False

    def third(self, question: TypedQuestion) -> Third:
        """Return the third of the text that contains a question's paragraph."""
        return third_of(question.paragraph, self.end)


def third_of(place: Span, end: int) -> Third:
    """Return the third of a text ending at `end` that contains the middle of a place."""
    middle = (place.start + place.end) / 2
    return THIRDS[min(2, int(3 * middle / end))]
