"""A summary with the places of the document that its sentences come from, as text, Markdown, HTML or JSON; and the
stored answer to a question, with the places that it cites.

Text of a document or a summary is never inserted into these forms as is: its author may have written it for other
readers.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Annotated, Literal
from urllib.parse import quote

from pydantic import Field

from redraft.agents.answerer import FoundAnswer
from redraft.domain import Document, Evaluation, Span, Totals
from redraft.errors import RunCommand, RunError, UsageError
from redraft.report.history.lineage import DocumentRead, Lineage, Origin, read_lineage
from redraft.report.history.quotes import By, basis
from redraft.report.history.results import Result, document_read, read_result
from redraft.settings import ANSWER
from redraft.store.store import Store
from redraft.text.languages import language_spans_of
from redraft.text.places import chapter_of, document_of, on_pages, pages_of, place_of
from redraft.text.sanitizer import clean, one_line
from redraft.text.sentences import is_heading
from redraft.text.vectors import Encoder
from redraft.text.words import is_unspaced

CitationForm = Literal["footnotes", "inline", "markdown", "json", "html"]
_QUOTE = 160
_MARKED = (
    "Citations marked “judged” are quotes by which a judge confirmed the sentence; the others were matched by wording."
)
_MARKS = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&])")
# Emphasis and headings in a summary are its own; markup for links, images, notes and HTML is escaped.
_LINKS = re.compile(r"([\\`\[\]<>&])")


@dataclass(frozen=True, slots=True)
class NumberedPlace:
    """A place of the document, with the number by which the summary cites it."""

    number: int
    origin: Origin
    url: str
    language: str
    """The language of the document there, such as `de`; empty if unknown."""
    by: By
    """Whether a judge quoted it for a sentence, or it was matched by wording."""

    @property
    def whereabouts(self) -> tuple[str, ...]:
        """The document, chapter, page and percentage, as far as there are any."""
        document, chapter = (one_line(name, _QUOTE) for name in (self.origin.document, self.origin.chapter))
        # The percentage helps to find a place in a single document, not in one of several.
        percent = "" if document else f"{self.origin.percent}%"
        return tuple(one for one in (document, chapter, on_pages(self.origin.pages), percent) if one)

    @property
    def place(self) -> str:
        """The place in words."""
        return ", ".join(self.whereabouts)

    @property
    def quote(self) -> str:
        """The text of the place, shortened."""
        return one_line(self.origin.text, _QUOTE)


@dataclass(frozen=True, slots=True)
class SentenceCitations:
    """A sentence of a summary, and the numbers that it cites."""

    number: int
    text: str
    span: Span
    cites: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Citations:
    """A summary, the numbers that its sentences cite, and the cited places in order of their numbers."""

    run: str
    draft: str
    document: DocumentRead
    summary: str
    sentences: tuple[SentenceCitations, ...]
    places: tuple[NumberedPlace, ...]

    def text(self, form: CitationForm) -> str:
        """Return the summary with its citations in one of the text forms."""
        return _FORMS[form](self)

    @property
    def basis(self) -> str:
        """A sentence that says which citations are a judge's quotes and which match by wording; empty without
        citations."""
        return basis({place.number: place.by for place in self.places}, "citation")

    @property
    def without(self) -> tuple[SentenceCitations, ...]:
        """The sentences without a place in the document; headings need none."""
        return tuple(citations for citations in self.sentences if not (citations.cites or is_heading(citations.text)))

    def filled(self, mark: Callable[[tuple[int, ...]], str], between: Callable[[str], str] = str) -> str:
        """Return the summary with `mark` of the citations after each sentence, and `between` applied to its text."""
        made, end = "", 0
        for citations in self.sentences:
            made += between(clean(self.summary[end : citations.span.end]))
            if citations.cites:
                made += mark(citations.cites)
            end = citations.span.end
        return made + between(clean(self.summary[end:]))


def citations_of(
    store: Store, run: str, *, encoder: Encoder | None = None, link: str = "", draft: str | None = None
) -> Citations:
    """Return the citations of a run's result, or of another draft of it: the places its judges quoted, and places with
    the same words for sentences without a quote."""
    return cited(read_lineage(store, run, encoder=encoder, draft=draft), link)


def cited(lineage: Lineage, link: str = "") -> Citations:
    """Return the citations of a draft. `link` is a template for the URL of a place, such as "book.html#c{start}"."""
    places: dict[tuple[Span, By], NumberedPlace] = {}
    sentences = []
    address, tongues = _Template(link), language_spans_of(lineage.document)
    for sentence in lineage.sentences:
        cites = []
        for origin in () if is_heading(sentence.text) else sentence.places:
            key = origin.span, sentence.by or "words"
            if key not in places:
                its = next(language for span, language in tongues if origin.span.start < span.end)
                language = lineage.document.language or its
                places[key] = NumberedPlace(len(places) + 1, origin, address.of(lineage, origin), language, key[1])
            cites.append(places[key].number)
        sentences.append(SentenceCitations(sentence.number, sentence.text, sentence.span, tuple(dict.fromkeys(cites))))
    made = (lineage.run, lineage.draft, lineage.document, lineage.text)
    return Citations(*made, tuple(sentences), tuple(places.values()))


class _Template:
    """The user's template for the URL of a place of the document."""

    _FIELDS = ("start", "end", "percent", "chapter", "pages", "document", "file")

    def __init__(self, template: str) -> None:
        self._template = template
        try:
            fields = {name for _, name, form, how in string.Formatter().parse(template) if name is not None}
            whole = not any(form or how for _, name, form, how in string.Formatter().parse(template) if name)
        except ValueError as error:
            raise UsageError(f"link: {error}", hint=self._hint) from error
        if (unknown := fields - set(self._FIELDS)) or not whole:
            what = f"there is no {{{min(unknown)}}}" if unknown else "its fields take no format"
            raise UsageError(f"link: {what}", hint=self._hint)

    @property
    def _hint(self) -> str:
        return f"a template may have {', '.join(f'{{{name}}}' for name in self._FIELDS)}, as in book.html#c{{start}}"

    def of(self, lineage: Lineage, origin: Origin) -> str:
        """Return the URL of a place; text taken from the document is percent-encoded."""
        chapter = quote(origin.chapter.encode("utf-8", "replace"), safe="")
        return self._template.format(
            start=origin.span.start,
            end=origin.span.end,
            percent=origin.percent,
            chapter=chapter,
            pages=quote(origin.pages.encode("utf-8", "replace"), safe=""),
            document=lineage.document.id,
            file=quote((origin.document or lineage.document.source).encode("utf-8", "replace"), safe=""),
        )


def _footnotes(found: Citations) -> str:
    """Return the summary with [1] [2] in the text, and the places below."""
    text = found.filled(lambda cites: _gap(found) + "".join(f"[{number}]" for number in cites))
    rows = [
        f"[{place.number}] {place.place}: “{place.quote}”{f' <{place.url}>' if place.url else ''}"
        for place in found.places
    ]
    return "\n\n".join([text.strip(), "\n".join(rows), found.basis]) if rows else text.strip()


def _gap(found: Citations) -> str:
    """Return the text before a citation: empty if the summary has no spaces between words."""
    return "" if is_unspaced(found.summary) else " "


def _inline(found: Citations) -> str:
    """Return the summary with the places in its text. They have no numbers, so if only some are a judge's, those are
    marked."""
    by_number = {place.number: place for place in found.places}
    mixed = len({place.by for place in found.places}) > 1

    def mark(cites: tuple[int, ...]) -> str:
        return f"{_gap(found)}({'; '.join(_named(by_number[number], mixed=mixed) for number in cites)})"

    text = found.filled(mark).strip()
    told = _MARKED if mixed else found.basis
    return f"{text}\n\n{told}" if told else text


def _named(one: NumberedPlace, *, mixed: bool) -> str:
    place = f"{one.place}, judged" if mixed and one.by == "judge" else one.place
    return f"{place} <{one.url}>" if one.url else place


def _markdown(found: Citations) -> str:
    """Return Markdown with footnotes."""
    text = found.filled(
        lambda cites: "".join(f"[^{number}]" for number in cites), lambda plain: _LINKS.sub(r"\\\1", plain)
    )
    notes = [_note(place) for place in found.places]
    return "\n\n".join([text.strip(), *notes, *([found.basis] if notes else [])])


def _note(one: NumberedPlace) -> str:
    place, said = (_MARKS.sub(r"\\\1", text) for text in (one.place, one.quote))
    where = f"[{place}](<{quote(one.url, safe=_IN_ADDRESS)}>)" if one.url else place
    return f"[^{one.number}]: {where}: “{said}”"


_IN_ADDRESS = "!#$%&'()*+,/:;=?@[]~"


def _html(found: Citations) -> str:
    """Return an HTML fragment: paragraphs, with links to the places in a list below."""

    def mark(cites: tuple[int, ...]) -> str:
        links = ", ".join(f'<a href="#cite-{number}">{number}</a>' for number in cites)
        return f"<sup>[{links}]</sup>"

    text = found.filled(mark, escape)
    paragraphs = [f"<p>{one.strip()}</p>" for one in re.split(r"\n\s*\n", text) if one.strip()]
    items = [f'<li id="cite-{place.number}">{_item(place)}</li>' for place in found.places]
    listed = ["<ol>", *items, "</ol>", f"<p>{escape(found.basis)}</p>"] if items else []
    return "\n".join(['<article dir="auto">', *paragraphs, *listed, "</article>"])


def _item(one: NumberedPlace) -> str:
    place = escape(one.place)
    where = f'<a href="{escape(one.url)}">{place}</a>' if one.url else place
    return f"{where}: <q>{escape(one.quote)}</q>"


_FORMS: dict[CitationForm, Callable[[Citations], str]] = {
    "footnotes": _footnotes,
    "inline": _inline,
    "markdown": _markdown,
    "html": _html,
}


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
        marked = (
            f"{sentence.text}{gap}[{sentence.citation}]" if sentence.citation else sentence.text
            for sentence in self.sentences
        )
        rows = [f"[{citation.number}] {citation.place}: “{citation.quote}”" for citation in self.citations]
        return "\n\n".join([gap.join(marked), "\n".join(rows)])


def read_answer(store: Store, key: str) -> Answer:
    """Return the answer of a run, given its id or a prefix of it. Raises a `RunError` if it has none."""
    result = read_result(store, key)
    run = result.run
    evaluation = store.judgments.of(run.draft).get(ANSWER) if run.kind == "ask" and run.draft else None
    if evaluation is None:
        those = RunCommand("runs", more=("--kind", "ask")), " lists those that have"
        fix = run.next_step if run.kind == "ask" else those
        raise RunError(f"run {run.id} has no answer", fix=fix)
    answer = FoundAnswer.model_validate(dict(evaluation.details))
    if not answer.answered:
        return Answer(result, run.settings.query or "", answered=False, sentences=(), citations=())
    places: dict[tuple[int | None, int | None], int] = {place: n for n, place in enumerate(answer.places, 1)}
    told = (
        NumberedSentence(sentence.text, places.get((sentence.start, sentence.end))) for sentence in answer.sentences
    )
    cited = tuple(_places_cited(document_read(store, run), answer))
    return Answer(result, run.settings.query or "", answered=True, sentences=tuple(told), citations=cited)


_LONGEST_QUOTE = 600


def _places_cited(document: Document, found: FoundAnswer) -> Iterator[AnswerCitation]:
    for number, place in enumerate(found.places, 1):
        span = Span(*place)
        words = one_line(document.text[span.start : span.end], _LONGEST_QUOTE)
        where = (chapter_of(document, span), pages_of(document, span), document_of(document, span))
        yield AnswerCitation(number, words, span, place_of(document, span), *where)
