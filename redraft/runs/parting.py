"""What a run by chapter asks for each chapter: which document, under which settings, to which end."""

from __future__ import annotations

from dataclasses import replace

from redraft.domain import Document, Span
from redraft.graphs.plan import chapter_words
from redraft.readers.cutting import only
from redraft.runs.preparing import Order
from redraft.settings import Settings, with_draft
from redraft.text.languages import settled, tongues_of, unshown
from redraft.text.words import count_words


def chapter_of(document: Document, title: str, span: Span) -> Document:
    """A chapter as a document of its own. What was left out of the whole is said with that.

    It may be in another language than the whole, unless somebody has said what that is in.
    """
    part = only(document, [span])
    if document.language:
        language = document.language if unshown(document) else settled(document.language, part.text)
    else:
        tongues = tongues_of(part)
        language = tongues[0].language if len(tongues) == 1 else ""
    return replace(part, title=f"{document.title}: {title}", notes=(), language=language)


def settings_of(settings: Settings, chapter: Document) -> Settings:
    """The settings of a chapter, by those that the whole has once its limit is known."""
    assert settings.words is not None
    limit = chapter_words(settings.words, count_words(chapter.text))
    return settings.model_copy(update={"by_chapter": False, "words": limit, "source_language": None})


def order_of(order: Order) -> Order:
    """What is done with the draft of a chapter: the same as with that of the whole, but by questions of its own."""
    if order.judging is None:
        return order
    own = order.judging.model_copy(update={"pack": None, "keyfacts": None, "reference": None})
    return replace(order, purpose=with_draft(own, order.refinement))
