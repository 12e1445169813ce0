"""The prompt that outlines a document: what kind of text it is, what it comes to, and who is in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import BeforeValidator

from redraft.domain import TextKind
from redraft.prompts.contract import (
    AtMost,
    EachAlone,
    GivenModel,
    Language,
    Prompt,
    ReplyModel,
    SummaryTexts,
    Text,
    Texts,
    lenient,
)

MOST_POINTS, MOST_NAMES = 12, 20
_KINDS = dict.fromkeys(("story", "fiction", "novel"), "narrative")


class OutlineGiven(GivenModel):
    """Summaries of consecutive parts of a document; what may come back, at most."""

    summaries: SummaryTexts
    points: int = MOST_POINTS
    names: int = MOST_NAMES
    language: Language = None


class Term(ReplyModel):
    """A person, a place or a term, and a phrase that says who or what it is."""

    name: Text
    phrase: Text


class Outline(ReplyModel):
    """What a document comes to."""

    kind: Annotated[TextKind, BeforeValidator(lenient(TextKind, "other", _KINDS))]
    line: Text
    """What happens from beginning to end, or what is argued or found, in a sentence or two."""
    turning_points: Annotated[Texts, AtMost("points")]
    cast: Annotated[list[Term], EachAlone(), AtMost("names")]


def outline_text(outline: Outline) -> str:
    """An outline as prompts show it."""
    return "\n".join(_lines(outline))


def _lines(outline: Outline) -> Iterator[str]:
    yield f"Kind: {outline.kind}"
    yield f"Line: {_one(outline.line)}"
    if outline.turning_points:
        yield "Turning points:"
        yield from (f"{at}. {_one(point)}" for at, point in enumerate(outline.turning_points, 1))
    if outline.cast:
        yield f"Cast: {'; '.join(f'{_one(each.name)}: {_one(each.phrase)}' for each in outline.cast)}"


def _one(text: str) -> str:
    return " ".join(text.split())


OUTLINE = Prompt("outline", OutlineGiven, Outline, "the document's line, turning points and cast", 0.0)
