"""The typed questions of a document: what they ask for, from which of its thirds, and by which paragraph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from pydantic import Field

from redraft.domain import Span

QuestionType = Literal["abstractive", "extractive", "binary", "unanswerable"]
"""What a question takes: putting things together, finding words, saying yes or no, or seeing that nothing is said."""
Third = Literal["beginning", "middle", "end"]
TYPES: tuple[QuestionType, ...] = get_args(QuestionType)
THIRDS: tuple[Third, ...] = get_args(Third)


@dataclass(frozen=True, slots=True)
class TypedQuestion:
    """A question that was made from one paragraph, with its reference answer."""

    id: Annotated[int, Field(serialization_alias="rank")]
    type: QuestionType
    text: Annotated[str, Field(serialization_alias="question")]
    answer: str
    """"yes" or "no" where the question is binary, and nothing where the document has no answer."""
    reason: str
    """Why yes, or why no; nothing for other types."""
    paragraph: Span

    @property
    def is_answerable(self) -> bool:
        """Whether the document has an answer."""
        return self.type != "unanswerable"


@dataclass(frozen=True, slots=True)
class TypedQuestions:
    """The typed questions of one document, in the order of their paragraphs. They are about its text up to `end`."""

    id: str
    document: str
    model: str
    prompt_hashes: Mapping[str, str]
    end: int
    questions: tuple[TypedQuestion, ...]
    missing: tuple[str, ...] = ()
    """The questions that could not be had, and why."""
    imported: bool = False

    def third(self, question: TypedQuestion) -> Third:
        """The third of the text that was asked about in which the paragraph of a question lies."""
        return third_of(question.paragraph, self.end)


def third_of(place: Span, end: int) -> Third:
    """The third of a text that ends at `end` in which the middle of a place lies."""
    middle = (place.start + place.end) / 2
    return THIRDS[min(2, int(3 * middle / end))]
