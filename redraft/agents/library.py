"""The two ways to look things up in a document, for the tools of any agent and for whoever decides on a revision.

Neither hands out a document as a whole.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from redraft.domain import Document, Span
from redraft.errors import UsageError
from redraft.text.passages import Passages
from redraft.text.places import place_of

LONGEST_READ = 4000
"""So many characters are read at once, whoever asks for more."""
MOST_PASSAGES = 10


class Search(BaseModel):
    """What to look for in the document."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=1000, description="What the passages should be about.")
    count: int = Field(default=3, ge=1, le=MOST_PASSAGES, description="How many passages.")


class Place(BaseModel):
    """A place in the document."""

    model_config = ConfigDict(extra="forbid")

    start: int = Field(ge=0, description="The first character.")
    end: int = Field(gt=0, description=f"The character after the last; at most {LONGEST_READ} are read.")


class Passage(BaseModel):
    """Words of the document, and where they stand."""

    start: int
    end: int
    place: str
    text: str


def find_passages(document: Document, passages: Passages, search: Search) -> list[Passage]:
    """The passages of a document that are nearest to a query, the nearest first."""
    return [passage_at(document, one.span) for one in passages.nearest(search.query, search.count)]


def read_span(document: Document, place: Place) -> Passage:
    """The words at a place, the first of them where it is long. Raises a `UsageError` where there are none."""
    length = len(document.text)
    # Not the whole of a short one either.
    most = min(LONGEST_READ, (length + 1) // 2)
    span = Span(place.start, min(place.end, place.start + most, length))
    if span.start >= span.end:
        raise UsageError(
            f"there is nothing from character {place.start:,} to {place.end:,}",
            hint=f"the document has {length:,} characters",
        )
    return passage_at(document, span)


def passage_at(document: Document, span: Span) -> Passage:
    """The words of a document from one character to another."""
    text = document.text[span.start : span.end]
    return Passage(start=span.start, end=span.end, place=place_of(document, span), text=text)
