"""A summary with the places of the document that its sentences come from, as text, Markdown or JSON; and the stored
answer to a question, with the places that it cites.

Text of a document or a summary is never inserted into Markdown as is: its author may have written it for other readers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass as record

from redraft.agents.answerer import FoundAnswer
from redraft.domain import DEFERRED, Document, Evaluation, Span, computed
from redraft.errors import RunCommand, RunError
from redraft.report.history.judges import By, basis
from redraft.report.history.lineage import Lineage, PlacedSpan, SourcedDraft, read_lineage
from redraft.report.history.results import Result, document_read, read_result
from redraft.settings import ANSWER
from redraft.store.store import Store
from redraft.text.languages import LanguageSpan, language_spans_of
from redraft.text.places import on_pages
from redraft.text.sanitizer import bare_quote, clean, one_line
from redraft.text.vectors import Encoder
from redraft.text.words import is_unspaced

CitationForm = Literal["footnotes", "markdown", "json"]
_QUOTE, _LONGEST_QUOTE = 160, 600
_MARKS = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&])")
# Emphasis and headings in a summary are its own; markup for links, images, notes and HTML is escaped.
_LINKS = re.compile(r"([\\`\[\]<>&])")
_ESCAPED = r"\\\1"


@record(frozen=True, slots=True, config=DEFERRED)
class Citation(PlacedSpan):
    """A place of the document, with the number by which a summary or an answer cites it."""

    number: int
    quote: str
    language: str
    """The language of the document there, such as `de`; empty if unknown."""
    by: By | None = None
    """Whether a judge quoted it for a sentence of a summary, or it was matched by wording; None in an answer."""

    @classmethod
    def of(
        cls, document: Document, languages: Sequence[LanguageSpan], number: int, span: Span, by: By | None = None
    ) -> Citation:
        """Return the citation of a place in a document with these languages."""
        quote = one_line(bare_quote(document.text[span.start : span.end]), _LONGEST_QUOTE)
        language = document.language or next(name for part, name in languages if span.start < part.end)
        return cls.at(document, span, number=number, quote=quote, language=language, by=by)

    @property
    def whereabouts(self) -> tuple[str, ...]:
        """The document, chapter, page and percentage, as far as there are any."""
        document, chapter = one_line(self.document, _QUOTE), one_line(self.chapter, _QUOTE)
        # The percentage helps to find a place in a single document, not in one of several.
        percent = "" if document else f"at {self.percent}% of the document"
        return tuple(filter(None, (document, chapter, on_pages(self.pages), percent)))

    @computed
    def place(self) -> str:
        """The place in words."""
        return ", ".join(self.whereabouts)

    @property
    def excerpt(self) -> str:
        """The quote, shortened."""
        return one_line(self.quote, _QUOTE)


@dataclass(frozen=True, slots=True)
class SentenceCitations:
    """A sentence of a summary, and the numbers that it cites."""

    number: int
    text: str
    span: Span
    cites: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Citations(SourcedDraft):
    """A summary, the numbers that its sentences cite, and the cited places in order of their numbers."""

    summary: str
    sentences: tuple[SentenceCitations, ...]
    places: tuple[Citation, ...]

    def text(self, form: Literal["footnotes", "markdown"] = "footnotes") -> str:
        """Return the summary with [1] [2] in its text and the places below, or as Markdown with footnotes."""
        if form == "markdown":
            text = self._marked("", "[^{}]", lambda part: _LINKS.sub(_ESCAPED, part))
            notes = [
                f"[^{place.number}]: {_MARKS.sub(_ESCAPED, place.place)}: “{_MARKS.sub(_ESCAPED, place.excerpt)}”"
                for place in self.places
            ]
        else:
            text = self._marked("" if is_unspaced(self.summary) else " ", "[{}]", str)
            rows = [f"[{place.number}] {place.place}: “{place.excerpt}”" for place in self.places]
            notes = ["\n".join(rows)] if rows else []
        return "\n\n".join([text.strip(), *notes, *([self.basis] if notes else [])])

    @property
    def basis(self) -> str:
        """A sentence that says which citations are a judge's quotes and which match by wording; empty without
        citations."""
        return basis({place.number: place.by for place in self.places if place.by}, "citation")

    def _marked(self, gap: str, mark: str, escaped: Callable[[str], str]) -> str:
        """Return the summary with a mark for each citation after its sentence, and the rest of it escaped."""
        parts, end = [], 0
        for citations in self.sentences:
            parts.append(escaped(clean(self.summary[end : citations.span.end])))
            parts += [gap, *map(mark.format, citations.cites)] if citations.cites else []
            end = citations.span.end
        return "".join([*parts, escaped(clean(self.summary[end:]))])


def citations_of(store: Store, run: str, *, encoder: Encoder | None = None, draft: str | None = None) -> Citations:
    """Return the citations of a run's result, or of another draft of it: the places its judges quoted, and places with
    the same words for sentences without a quote."""
    return cited(read_lineage(store, run, encoder=encoder, draft=draft))


def cited(lineage: Lineage) -> Citations:
    """Return the citations of a draft."""
    keys = dict.fromkeys((origin.span, sentence.by) for sentence in lineage.sentences for origin in sentence.places)
    numbers = {key: number for number, key in enumerate(keys, 1)}
    sentences = []
    for sentence in lineage.sentences:
        cites = dict.fromkeys(numbers[origin.span, sentence.by] for origin in sentence.places)
        sentences.append(SentenceCitations(sentence.number, sentence.text, sentence.span, tuple(cites)))
    languages = language_spans_of(lineage.document)
    places = (Citation.of(lineage.document, languages, number, *key) for key, number in numbers.items())
    return Citations(lineage.run, lineage.draft, lineage.document, lineage.text, tuple(sentences), tuple(places))


@dataclass(frozen=True, slots=True)
class NumberedSentence:
    """A sentence of an answer with the number of its citation."""

    text: str
    citation: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question about a document."""

    result: Annotated[Result, Field(exclude=True)]
    answered: bool
    """Whether the document answers the question."""
    sentences: tuple[NumberedSentence, ...]
    citations: tuple[Citation, ...]

    @computed
    def question(self) -> str:
        """The question."""
        return self.result.run.settings.query or ""

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
        """Notes on what was left out of the answer: sentences that are not found in the document."""
        return self.result.draft.notes if self.result.draft else ()

    @property
    def text(self) -> str:
        """The answer with citation numbers, followed by the citations."""
        if not self.answered:
            return self.answer
        gap = "" if is_unspaced(self.answer) else " "
        marked = (f"{sentence.text}{gap}[{sentence.citation}]" for sentence in self.sentences)
        rows = [f"[{citation.number}] {citation.place}: “{citation.quote}”" for citation in self.citations]
        return "\n\n".join([gap.join(marked), "\n".join(rows)])


def read_answer(store: Store, key: str) -> Answer:
    """Return the answer of a run, given its id or a prefix of it. Raises a `RunError` if it has none."""
    result = read_result(store, key)
    run = result.run
    evaluation = store.judgments.of(run.draft).get(ANSWER) if run.kind == "ask" and run.draft else None
    if evaluation is None:
        answers = RunCommand("runs", more=("--kind", "ask")), " lists those that have"
        fix = run.next_step if run.kind == "ask" else answers
        raise RunError(f"run {run.id} has no answer", fix=fix)
    answer = FoundAnswer.model_validate(dict(evaluation.details))
    document = document_read(store, run)
    spans = answer.places if answer.answered else []
    numbers, languages = {span: number for number, span in enumerate(spans, 1)}, language_spans_of(document)
    citations = [Citation.of(document, languages, number, span) for number, span in enumerate(spans, 1)]
    sentences = [
        NumberedSentence(sentence.text, numbers[sentence.place])
        for sentence in (answer.sentences if answer.answered else ())
        if sentence.place
    ]
    return Answer(result, answer.answered, tuple(sentences), tuple(citations))
