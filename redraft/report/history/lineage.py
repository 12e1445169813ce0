"""Lineage: where the sentences of a draft come from, through intermediate texts down to the document.

The sources of each text are recorded when it is written. Which of its sentences comes from where is computed on demand,
once per text and sources, and stored.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field, PlainSerializer
from pydantic.dataclasses import dataclass as record

from redraft.domain import DEFERRED, REVIEW, WHOLE, Document, Parent, Rounded, Span, computed
from redraft.report.history.quotes import By, quotes_of
from redraft.report.history.results import document_read
from redraft.report.history.texts import GIVEN_SAID, AncestryReader, TextNode
from redraft.store.documents import Ancestry
from redraft.store.store import Store, check_store
from redraft.text.languages import is_foreign, language_context, language_spans_of
from redraft.text.origin_chains import ComposedOrigin, DerivedText, Drift, Known, compose, drift
from redraft.text.origins import Link, Method, OriginTracer, SentenceOrigin, links_from_json, links_to_json
from redraft.text.places import chapter_of, document_of, pages_of, percent_of
from redraft.text.sanitizer import one_line
from redraft.text.sentences import is_heading
from redraft.text.vectors import Embeddings, Encoder
from redraft.text.words import has_words, spaced

# Half the size, with no visible effect on a cosine.
_STORED_AS = np.float16


class CachingEncoder:
    """An encoder that stores the vectors of each list of texts per document, by the model's weights.

    Short lists such as a summary's sentences or a question are stored too: a lookup takes a hundredth of the time of
    encoding. Vectors are rounded as stored from the first call on, so that later calls return the same. Thread-safe:
    while one thread encodes, the others wait.
    """

    def __init__(self, encoder: Encoder, ancestry: Ancestry, document: str) -> None:
        self._encoder = encoder
        self._ancestry = ancestry
        self._document = document
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The model's name as the user gave it."""
        return self._encoder.name

    @property
    def weights(self) -> str:
        """An identifier of the model's weights."""
        return self._encoder.weights

    def encode(self, texts: Sequence[str]) -> Embeddings:
        """Return a row of unit length for each text, in order."""
        if not texts:
            return self._encoder.encode(texts)
        cut = hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()
        with self._lock:
            vectors = self._ancestry.vectors(self._document, cut, self.weights)
            if vectors is None:
                vectors = self._encoder.encode(texts).astype(_STORED_AS).tobytes()
                self._ancestry.keep_vectors(self._document, cut, self.weights, vectors)
        rows = np.frombuffer(vectors, dtype=_STORED_AS).reshape(len(texts), -1).astype(np.float32)
        # Rounded rows are not quite of unit length, so that no text would match itself exactly.
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(np.divide(rows, lengths, out=rows, where=lengths > 0), dtype=np.float32)


_VERSION = 2
"""Increased with every change of the results, so that stored links are computed again."""
NEAR = 250
"""Text within this many characters of a place (a sentence or two) counts as the same place."""
DRIFTS: dict[Drift, str] = {
    "elsewhere": "the document says this, but not where the intermediate summaries took it from",
    "nowhere": "the intermediate summaries took this from a passage that does not say it",
    "bypassed": "the document says this, but the intermediate summaries do not",
}
"""The meaning of each kind of drift."""


@record(frozen=True, slots=True, config=DEFERRED)
class LineageStep:
    """A step from a sentence down to the document: a place in one of the texts that another was made from."""

    kind: str
    said: str
    """The display name of that text; empty for the document."""
    node: str
    span: Span
    text: str
    weight: Rounded
    method: Method


@record(frozen=True, slots=True, config=DEFERRED)
class PlacedSpan:
    """A place of a document."""

    span: Span
    document: str
    """Which of several documents read as one it is in; empty for a single document."""
    chapter: str
    pages: str
    """The printed page it is on, or the first and last; empty if the document has no pages."""
    percent: int
    """How far into the document it is, in percent."""


def place_fields(document: Document, span: Span) -> dict[str, Any]:
    """Return the fields of a place."""
    return {
        "span": span,
        "document": document_of(document, span),
        "chapter": chapter_of(document, span),
        "pages": pages_of(document, span),
        "percent": percent_of(document, span.start),
    }


@record(frozen=True, slots=True, config=DEFERRED)
class Origin(PlacedSpan):
    """A place of the document that a sentence comes from, and the path to it."""

    weight: Rounded
    """The confidence: the lowest weight on the path."""
    text: str
    way: tuple[LineageStep, ...] = ()


@record(frozen=True, slots=True, config=DEFERRED)
class TracedSentence:
    """A sentence of a draft, and where it comes from."""

    number: int
    span: Span
    text: str
    origins: tuple[Origin, ...]
    """The places found through the intermediate texts, best first."""
    direct: tuple[Origin, ...]
    """The places found directly in the document, regardless of intermediate texts."""
    drift: Drift
    margin: Rounded
    """The distance between the best place and the next, or how far the sentence is below the threshold."""
    invented: str = ""
    """The text where it first appeared without support in that text's sources; empty if it has origins."""
    invented_in: str = ""
    """The id of that draft, or the name of that piece."""
    read: bool = False
    """Whether a judge that read the whole document did not find it there."""
    judged: tuple[Origin, ...] = ()
    """The places quoted by judges that confirmed it, best first."""
    objections: tuple[str, ...] = ()
    """What judges found wrong with it, such as `consistency: contradicted`."""

    @property
    def mapped(self) -> tuple[Origin, ...]:
        """The places found by wording: through the intermediate texts, or else directly."""
        return self.origins or self.direct

    @property
    def places(self) -> tuple[Origin, ...]:
        """The places to show a reader: those quoted by judges, or else those found by wording."""
        return self.judged or self.mapped

    @computed
    def by(self) -> By | None:
        """Whether a judge or the wording gives its places; None without places."""
        return "judge" if self.judged else "words" if self.places else None

    @computed
    def unplaced(self) -> bool:
        """Whether it has no place in the intermediate texts and in the document. Headings need none."""
        return not (self.places or is_heading(self.text))

    @computed
    def doubtful(self) -> bool:
        """Whether it may only paraphrase the document: it has no place, and no judge read all of it for that."""
        return self.unplaced and not self.read


def origin_note(text: str) -> str:
    """Return a note on a sentence without a place that first appeared in the text called `text`.

    The sources of a summary given by the user are unknown except for the document.
    """
    return f"no matching wording in {'the document' if text == GIVEN_SAID else f'the sources ({text})'}"


def _source(document: Document) -> dict[str, object]:
    return {"id": document.id, "title": document.title, "notes": document.notes}


DocumentRead = Annotated[Document, Field(serialization_alias="source"), PlainSerializer(_source)]
"""The document behind a record, of which JSON has the id, the title and the notes on reading it."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """The origins of a draft, sentence by sentence."""

    run: str
    draft: str
    document: DocumentRead
    sentences: tuple[TracedSentence, ...]
    members: Annotated[tuple[TextNode, ...], Field(exclude=True)]
    """All intermediate texts, each after its sources; the draft is the last."""
    embedded: Annotated[bool, Field(exclude=True)] = False
    """Whether embeddings were compared, not only words."""

    @property
    def text(self) -> str:
        """The text of the draft."""
        return self.members[-1].text


def read_lineage(store: Store, key: str, *, encoder: Encoder | None = None, draft: str | None = None) -> Lineage:
    """Return where the sentences of a run's result, or of another draft of it, come from.

    The results are stored. Raises a `RunError` if there is no such run, or no draft yet.
    """
    check_store(store)
    run = store.runs.get(key)
    draft = draft or run.drafted()
    return Tracer(store, document_read(store, run), encoder).lineage(draft)


class Tracer:
    """Finds where texts come from, within one document."""

    def __init__(self, store: Store, document: Document, encoder: Encoder | None = None) -> None:
        self._store = store
        self.document = document
        self._encoder = CachingEncoder(encoder, store.ancestry, document.id) if encoder else None
        self.family = AncestryReader(store)
        self._texts: dict[str, DerivedText] = {}
        self._composed: Known = {}
        self._languages = sorted({span.language for span in language_spans_of(document)})

    def lineage(self, draft: str) -> Lineage:
        """Return the lineage of a draft."""
        with language_context(self.document):
            last = self.family.draft(draft)
            members = tuple(self.family.in_order(last))
            direct = self._linked(last.text, [self._everything(last)])
            # Computing where the text comes from also links its sentences to its parents.
            origins = zip(self.composed(last), self._texts[last.key].traced, direct, strict=True)
            sentences = [self._sentence(number, last, *parts) for number, parts in enumerate(origins, 1)]
            return Lineage(
                last.run,
                draft,
                self.document,
                tuple(self._with_quotes(draft, sentences)),
                members,
                self._encoder is not None,
            )

    def composed(self, node: TextNode) -> tuple[ComposedOrigin, ...]:
        """Return the sentences of a text with their places in the document."""
        for text in self.family.in_order(node):
            if text.key not in self._texts:
                self._texts[text.key] = DerivedText(self._linked(text.text, text.parents), tuple(self._below(text)))
        return compose(self._texts[node.key], self._composed)

    def origins(self, parents: Sequence[str]) -> OriginTracer:
        """Return a finder of where sentences come from in these sources."""
        return OriginTracer(parents, self._encoder)

    def _everything(self, node: TextNode | None = None) -> Parent:
        """Return the whole document as a source, or the part of it that was read for a text."""
        read = self.family.read(node.run) if node else None
        return Parent("excerpt", self.document.id, read or Span(0, len(self.document.text)))

    def _linked(self, text: str, parents: Sequence[Parent]) -> tuple[SentenceOrigin, ...]:
        """Return where the sentences of a text come from in its sources; computed once."""
        # The key is the same in all runs, so that cached merges share links.
        weights = self._encoder.weights if self._encoder else ""
        material: list[object] = [_VERSION, weights, text, [[parent.text, *parent.span] for parent in parents]]
        material += self._languages if any(map(is_foreign, self._languages)) else []
        key = hashlib.sha256(json.dumps(material).encode()).hexdigest()
        stored = self._store.ancestry.links(key)
        if stored is not None:
            return links_from_json(stored)
        origins = self.origins([self._text_of(parent) for parent in parents]).trace(text)
        self._store.ancestry.keep_links(key, text, links_to_json(origins))
        return origins

    def _text_of(self, parent: Parent) -> str:
        """Return the part of a source that was shown."""
        text = self.document.text if parent.text == self.document.id else self._store.documents.text(parent.text)
        return text[parent.span.start : parent.span.end]

    def _below(self, node: TextNode) -> Iterator[DerivedText | int]:
        for parent, source in zip(node.parents, self.family.parents(node), strict=True):
            if source is not None:
                yield self._texts[source.key]
            elif parent.text == self.document.id:
                yield parent.span.start
            else:
                # The source was rewritten since, and its own sources are no longer known.
                yield DerivedText((), ())

    def _sentence(
        self, number: int, last: TextNode, composed: ComposedOrigin, traced: SentenceOrigin, direct: SentenceOrigin
    ) -> TracedSentence:
        origins = [self._at(place.span, place.weight, self._steps(last, place.way)) for place in composed.places]
        invented, invented_in = "", ""
        if not origins:
            steps = self._steps(last, composed.lost)
            invented, invented_in = (steps[-1].said, steps[-1].node) if steps else (last.said, last.name)
        return TracedSentence(
            number=number,
            span=composed.span,
            text=one_line(last.text[composed.span.start : composed.span.end]),
            origins=tuple(origins),
            direct=tuple(map(self._directly, direct.links)),
            drift=drift(composed, direct, NEAR),
            margin=traced.margin,
            invented=invented,
            invented_in=invented_in,
        )

    def _with_quotes(self, draft: str, sentences: Sequence[TracedSentence]) -> Iterator[TracedSentence]:
        """Yield the sentences with what their judges quoted for them, or did not find."""
        quotes, number = quotes_of(self._store, draft, self.document), 0
        absent, objections = set[str](), defaultdict[str, dict[str, None]](dict)
        for metric, evaluation in self._store.judgments.of(draft).items():
            for finding in evaluation.findings if metric != REVIEW else ():
                objections[one_line(finding.sentence)][f"{metric}: {spaced(finding.kind)}"] = None
                # Nothing in the document says so, and all of it was read.
                if finding.task == "remove" and finding.read.startswith(WHOLE):
                    absent.add(one_line(finding.sentence))
        for sentence in (replace(sentence, objections=tuple(objections[sentence.text])) for sentence in sentences):
            number += has_words(sentence.text)
            spans = quotes.get(number, ()) if has_words(sentence.text) else ()
            if spans:
                origins = tuple(self._directly(Link(0, span, 1.0, "judge")) for span in spans)
                remaining: Drift = "" if sentence.drift == "nowhere" else sentence.drift
                yield replace(sentence, judged=origins, drift=remaining, invented="", invented_in="")
            else:
                yield replace(sentence, read=sentence.text in absent)

    def _directly(self, link: Link) -> Origin:
        """Return a place of the document, reached directly."""
        return self._at(link.span, link.weight, [self._step(self._everything(), None, link)])

    def _at(self, span: Span, weight: float, way: Sequence[LineageStep]) -> Origin:
        text = one_line(self.document.text[span.start : span.end])
        return Origin(weight=weight, text=text, way=tuple(way), **place_fields(self.document, span))

    def _steps(self, node: TextNode | None, way: Sequence[Link]) -> list[LineageStep]:
        steps: list[LineageStep] = []
        for link in way:
            assert node is not None, "below the document there is nothing"
            parent, node = node.parents[link.text], self.family.parents(node)[link.text]
            steps.append(self._step(parent, node, link))
        return steps

    def _step(self, parent: Parent, node: TextNode | None, link: Link) -> LineageStep:
        span = Span(parent.span.start + link.span.start, parent.span.start + link.span.end)
        text = one_line(self._text_of(parent)[link.span.start : link.span.end])
        return LineageStep(parent.kind, node.said if node else "", parent.node, span, text, link.weight, link.method)
