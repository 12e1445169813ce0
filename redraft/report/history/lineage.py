"""Lineage: where the sentences of a draft come from, through intermediate texts down to the document.

The sources of each text, a partial summary or an earlier draft, are recorded when it is written. Which of its sentences
comes from where is computed on demand, once per text and sources, and stored.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from graphlib import TopologicalSorter
from typing import Annotated, Any, Self

from pydantic import Field, PlainSerializer, TypeAdapter
from pydantic.dataclasses import dataclass as record

from redraft.domain import (
    DEFERRED,
    GIVEN,
    REVIEW,
    WHOLE,
    Document,
    Parent,
    PassageLocation,
    Piece,
    Rounded,
    Span,
    computed,
    content_id,
    widened,
)
from redraft.errors import RunError
from redraft.report.history.judges import By, quotes_of
from redraft.report.history.results import document_read
from redraft.store.store import Store, check_store
from redraft.text.languages import is_foreign, language_context, language_spans_of
from redraft.text.origins import (
    DerivedText,
    Drift,
    Link,
    Method,
    OriginTracer,
    SentenceOrigin,
    compose,
    drift,
)
from redraft.text.places import percent_of, place_in
from redraft.text.sanitizer import one_line
from redraft.text.sentences import is_heading
from redraft.text.vectors import CachingEncoder, Encoder
from redraft.text.words import has_words, spaced

_TITLE = 60
GIVEN_SAID = "your summary"
"""The display name of a draft given by the user, whose sources are unknown."""


_VERSION = 3
"""Increased with every change of the results, so that stored links are computed again."""
_ORIGINS = TypeAdapter(tuple[SentenceOrigin, ...], config=DEFERRED)
"""Reads stored links."""
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

    source: Parent
    """That text, with the place in it."""
    said: str
    """Its display name; empty for the document."""
    text: str
    """The words there."""
    weight: Rounded
    method: Method


@record(frozen=True, slots=True, config=DEFERRED)
class PlacedSpan(PassageLocation):
    """A place of a document."""

    span: Span
    percent: int
    """How far into the document it is, in percent."""

    @classmethod
    def at(cls, document: Document, span: Span, **more: Any) -> Self:
        """Return the place, with `more` about it."""
        percent = percent_of(document, span.start)
        return widened(cls, place_in(document, span), span=span, percent=percent, **more)


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
    def places(self) -> tuple[Origin, ...]:
        """The places to show a reader: those quoted by judges, or else those found by wording: through the intermediate
        texts, or else directly."""
        return self.judged or self.origins or self.direct

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


DocumentRead = Annotated[
    Document,
    Field(serialization_alias="source"),
    PlainSerializer(lambda document: {"id": document.id, "title": document.title, "notes": document.notes}),
]
"""The document behind a record, of which JSON has the id, the title and the notes on reading it."""


@dataclass(frozen=True, slots=True, eq=False)
class TextNode:
    """A draft or a partial summary, and what it was made from; a `Tracer` has one for each."""

    run: str
    name: str
    """The id of the draft, or the name of the piece in its run."""
    said: str
    """The display name."""
    text: str
    parents: tuple[Parent, ...]


@dataclass(frozen=True, slots=True)
class SourcedDraft:
    """A draft of a run, and the document that it comes from."""

    run: str
    draft: str
    document: DocumentRead


@dataclass(frozen=True, slots=True)
class Lineage(SourcedDraft):
    """The origins of a draft, sentence by sentence."""

    sentences: tuple[TracedSentence, ...]
    text: Annotated[str, Field(exclude=True)]
    """The text of the draft."""
    embedded: Annotated[bool, Field(exclude=True)] = False
    """Whether embeddings were compared, not only words."""


def read_lineage(store: Store, key: str, *, encoder: Encoder | None = None, draft: str | None = None) -> Lineage:
    """Return where the sentences of a run's result, or of another draft of it, come from.

    The results are stored. Raises a `RunError` if there is no such run, or no draft yet.
    """
    check_store(store)
    run = store.runs.get(key)
    draft = draft or run.drafted()
    return Tracer(store, document_read(store, run), encoder).lineage(draft)


def all_read(store: Store, key: str) -> Parent:
    """Return what a text of a run without a record was made from: all that was read. Its span is empty if the chunks
    are gone."""
    run = store.runs.get(key)
    chunks = store.chunks(run)
    return Parent("excerpt", run.document, Span(0, chunks[-1].span.end if chunks else 0))


class Tracer:
    """Finds where drafts come from within one document, also those of runs that a run was forked from. Each text is
    read once."""

    def __init__(self, store: Store, document: Document, encoder: Encoder | None = None) -> None:
        self._store = store
        self._document = document
        self._encoder = CachingEncoder(encoder, store.vectors, document.id) if encoder else None
        self._run, self._parents_in = cache(store.runs.get), cache(store.runs.parents)
        self._pieces = cache(lambda run: {piece.name: piece for piece in store.runs.pieces(run)})
        self._chapters = cache(lambda run: [chapter.title for chapter in store.chapters.of(run)])
        self._all_read = cache(partial(all_read, store))
        self._nodes: dict[str, TextNode] = {}
        self._languages = sorted({span.language for span in language_spans_of(document)})

    def lineage(self, draft: str) -> Lineage:
        """Return the lineage of a draft."""
        with language_context(self._document):
            last = self._draft(draft)
            texts = dict[TextNode, DerivedText]()
            for node in self._in_order(last):
                sources: list[DerivedText | int] = []
                for parent in node.parents:
                    if (source := self._source(node, parent)) is not None:
                        sources.append(texts[source])
                    else:
                        # A source that was rewritten since has no sources that are known.
                        is_excerpt = parent.text == self._document.id
                        sources.append(parent.span.start if is_excerpt else DerivedText((), ()))
                texts[node] = DerivedText(self._linked(node.text, node.parents), tuple(sources))
            read = self._all_read(last.run)
            whole = read if read.span.end else replace(read, span=Span(0, len(self._document.text)))
            # The draft as if it had been made from the document without intermediate texts.
            directly, text = replace(last, parents=(whole,)), texts[last]
            sentences: list[TracedSentence] = []
            for composed, wording, reading in zip(
                compose(text), text.traced, self._linked(last.text, directly.parents), strict=True
            ):
                places = composed.places
                steps = self._steps(last, composed.lost) if not places else ()
                said, node_name = (steps[-1].said, steps[-1].source.node) if steps else (last.said, last.name)
                sentence = TracedSentence(
                    number=len(sentences) + 1,
                    span=composed.span,
                    text=one_line(last.text[composed.span.start : composed.span.end]),
                    origins=tuple(self._origin(last, place.way, place.span, place.weight) for place in places),
                    direct=tuple(self._origin(directly, [link], link.span, link.weight) for link in reading.links),
                    drift=drift(composed, reading, NEAR),
                    margin=wording.margin,
                    invented="" if places else said,
                    invented_in="" if places else node_name,
                )
                sentences.append(sentence)
            quoted = tuple(self._with_quotes(directly, sentences))
            return Lineage(last.run, draft, self._document, quoted, last.text, self._encoder is not None)

    def _draft(self, key: str) -> TextNode:
        """Return a draft with its sources; those of a fork are the draft that it started from, unless that was
        deleted."""
        if key in self._nodes:
            return self._nodes[key]
        draft = self._store.runs.draft(key)
        recorded, fork_of = self._parents_in(draft.run), self._run(draft.run).parent
        parents = recorded.get(key) or (self._all_read(draft.run),)
        if key not in recorded and fork_of:
            with suppress(RunError):
                earlier = self._store.runs.drafts(self._store.runs.get(fork_of).id)
                same = [Parent.of_draft(origin) for origin in earlier if origin.text == draft.text]
                parents = tuple(same[:1]) or parents
        name = GIVEN_SAID if draft.node == GIVEN else f"draft {draft.round}" if draft.round else "the first draft"
        return self._nodes.setdefault(key, TextNode(draft.run, key, name, draft.text, parents))

    def _source(self, node: TextNode, parent: Parent) -> TextNode | None:
        """Return a text that another was made from; None for the document, and for a text that was rewritten since."""
        if "/" not in parent.node:
            return self._draft(parent.node) if parent.node else None
        run, piece = node.run, self._pieces(node.run).get(parent.node)
        if piece is None or content_id(piece.text) != parent.text:
            piece = self._store.runs.piece_of(run, parent.text)
        if piece is None:
            return None
        parents, name = self._parents_in(run).get(piece.name), piece_name(piece, self._chapters(run))
        text = TextNode(run, piece.name, name, piece.text, parents or (self._all_read(run),))
        return self._nodes.setdefault(f"{run}/{piece.name}", text)

    def _in_order(self, last: TextNode) -> list[TextNode]:
        """Return all ancestors of a draft, each after all of its own parents; the draft itself is the last."""
        graph, waiting = dict[TextNode, list[TextNode]](), [last]
        while waiting:
            node = waiting.pop()
            if node not in graph:
                graph[node] = list(filter(None, (self._source(node, parent) for parent in node.parents)))
                waiting += graph[node]
        return list(TopologicalSorter(graph).static_order())

    def _linked(self, text: str, parents: Sequence[Parent]) -> tuple[SentenceOrigin, ...]:
        """Return where the sentences of a text come from in its sources; computed once."""
        # The key is the same in all runs, so that cached merges share links.
        weights = self._encoder.weights if self._encoder else ""
        material: list[object] = [_VERSION, weights, text, [[parent.text, *parent.span] for parent in parents]]
        material += self._languages if any(map(is_foreign, self._languages)) else []
        key = hashlib.sha256(json.dumps(material).encode()).hexdigest()
        if (stored := self._store.links.find([key]).get(key)) is not None:
            return _ORIGINS.validate_json(stored)
        origins = OriginTracer([self._shown_of(parent) for parent in parents], self._encoder).trace(text)
        self._store.links.put({key: json.dumps(origins)}, content_id(text))
        return origins

    def _shown_of(self, parent: Parent) -> str:
        """Return the part of a source that was shown."""
        text = self._document.text if parent.text == self._document.id else self._store.documents.text(parent.text)
        return text[parent.span.start : parent.span.end]

    def _with_quotes(self, draft: TextNode, sentences: Sequence[TracedSentence]) -> Iterator[TracedSentence]:
        """Yield the sentences with what their judges quoted for them, or did not find. Headings come from nowhere."""
        quotes, number = quotes_of(self._store, draft.name, self._document), 0
        absent, objections = set[str](), defaultdict[str, dict[str, None]](dict)
        for metric, evaluation in self._store.judgments.of(draft.name).items():
            for finding in evaluation.findings if metric != REVIEW else ():
                objections[one_line(finding.sentence)][f"{metric}: {spaced(finding.kind)}"] = None
                # Nothing in the document says so, and all of it was read.
                if finding.task == "remove" and finding.read.startswith(WHOLE):
                    absent.add(one_line(finding.sentence))
        for sentence in (replace(sentence, objections=tuple(objections[sentence.text])) for sentence in sentences):
            number += has_words(sentence.text)
            spans = quotes.get(number, ()) if has_words(sentence.text) else ()
            if is_heading(sentence.text):
                yield replace(sentence, origins=(), direct=(), drift="", invented="", invented_in="")
            elif spans:
                origins = tuple(self._origin(draft, [Link(0, span, 1.0, "judge")], span, 1.0) for span in spans)
                remaining: Drift = "" if sentence.drift == "nowhere" else sentence.drift
                yield replace(sentence, judged=origins, drift=remaining, invented="", invented_in="")
            else:
                yield replace(sentence, read=sentence.text in absent)

    def _origin(self, node: TextNode, way: Sequence[Link], span: Span, weight: float) -> Origin:
        """Return a place of the document with the way to it from a text."""
        text = one_line(self._document.text[span.start : span.end])
        return Origin.at(self._document, span, weight=weight, text=text, way=self._steps(node, way))

    def _steps(self, node: TextNode | None, way: Sequence[Link]) -> tuple[LineageStep, ...]:
        steps: list[LineageStep] = []
        for link in way:
            assert node is not None, "below the document there is nothing"
            parent = node.parents[link.text]
            node = self._source(node, parent)
            span = Span(parent.span.start + link.span.start, parent.span.start + link.span.end)
            text, said = one_line(self._shown_of(parent)[slice(*link.span)]), node.said if node else ""
            steps.append(LineageStep(replace(parent, span=span), said, text, link.weight, link.method))
        return tuple(steps)


def piece_name(piece: Piece, chapters: Sequence[str] = ()) -> str:
    """Return the display name of a partial summary: the chunks it covers, or their titles if they are chapters."""
    first, last = piece.first_chunk + 1, piece.last_chunk + 1
    chunks = f"chunk {first}" if first == last else f"chunks {first} to {last}"
    if chapters:
        ends = [one_line(chapters[n], _TITLE) for n in (piece.first_chunk, piece.last_chunk)]
        chunks = " to ".join(f"“{title}”" for title in dict.fromkeys(ends))
    level = f"level {piece.level} " if piece.level else ""
    return f"{level}summary of {chunks}{', shortened' if piece.step else ''}"
