"""The stored answer of an ask run: its sentences, and the places of the document that they cite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from redraft.agents.answerer import FoundAnswer
from redraft.domain import Document, Evaluation, Span, Totals
from redraft.errors import RunError
from redraft.report.history.results import Result, document_read, read_result
from redraft.settings import ANSWER
from redraft.store.store import Store
from redraft.text.places import chapter_of, document_of, pages_of, place_of
from redraft.text.sanitizer import one_line
from redraft.text.words import is_unspaced


@dataclass(frozen=True, slots=True)
class AnswerCitation:
    """A place of the document that an answer cites."""

    number: int
    quote: str
    span: Span
    """Its character offsets in the document."""
    place: str
    """The place in words: chapter, page, and how far into the document it is."""
    chapter: str
    pages: str
    document: str
    """Which of several documents it is in; empty for a single document."""


@dataclass(frozen=True, slots=True)
class NumberedSentence:
    """A sentence of an answer with the number of its citation, or None without one."""

    text: str
    citation: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question about a document."""

    result: Annotated[Result, Field(exclude=True)]
    question: str
    answered: bool
    """Whether the document answers the question."""
    sentences: tuple[NumberedSentence, ...]
    citations: tuple[AnswerCitation, ...]

    @property
    def run(self) -> str:
        """The id of the run."""
        return self.result.run.id

    @property
    def answer(self) -> str:
        """The answer as text; if there is none, "The document does not say.", which the built-in model cannot know."""
        return self.result.summary or ""

    @property
    def consistency(self) -> Evaluation | None:
        """The consistency evaluation of the answer, with score and findings; None if it was not judged."""
        return self.result.evaluations.get("consistency")

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on what was dropped from the answer: quotes that are not in the document."""
        return self.result.draft.notes if self.result.draft else ()

    @property
    def usage(self) -> Totals:
        """The usage totals of the run."""
        return self.result.usage

    @property
    def text(self) -> str:
        """The answer with citation numbers, followed by the citations."""
        if not self.answered:
            return self.answer
        gap = "" if is_unspaced(self.answer) else " "
        marked = (f"{one.text}{gap}[{one.citation}]" if one.citation else one.text for one in self.sentences)
        rows = [f"[{one.number}] {one.place}: “{one.quote}”" for one in self.citations]
        return "\n\n".join([gap.join(marked), "\n".join(rows)])


def read_answer(store: Store, key: str) -> Answer:
    """Return the answer of a run, given its id or a prefix of it. Raises a `RunError` if it has none."""
    result = read_result(store, key)
    run = result.run
    kept = store.judgments.of(run.draft).get(ANSWER) if run.kind == "ask" and run.draft else None
    if kept is None:
        hint = run.next_step if run.kind == "ask" else "`redraft runs --kind ask` lists those that have"
        raise RunError(f"run {run.id} has no answer", hint=hint)
    found = FoundAnswer.model_validate(dict(kept.details))
    if not found.answered:
        return Answer(result, run.settings.query or "", answered=False, sentences=(), citations=())
    places: dict[tuple[int | None, int | None], int] = {place: n for n, place in enumerate(found.places, 1)}
    told = (NumberedSentence(one.text, places.get((one.start, one.end))) for one in found.sentences)
    cited = tuple(_cited(document_read(store, run), found))
    return Answer(result, run.settings.query or "", answered=True, sentences=tuple(told), citations=cited)


_LONGEST_QUOTE = 600


def _cited(document: Document, found: FoundAnswer) -> Iterator[AnswerCitation]:
    for number, place in enumerate(found.places, 1):
        span = Span(*place)
        quote = one_line(document.text[span.start : span.end], _LONGEST_QUOTE)
        where = (chapter_of(document, span), pages_of(document, span), document_of(document, span))
        yield AnswerCitation(number, quote, span, place_of(document, span), *where)
