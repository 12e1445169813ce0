"""Writes a summary, the best sentences of some parts in order, within a word limit; and revises one point by point."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

import numpy as np

from redraft.builtin.identity import NOT_UNDERSTOOD
from redraft.builtin.prose import LAST_RESORT, NO_SENTENCE, ProseSentence, cut, details, read
from redraft.domain import Span
from redraft.prompts import summarization
from redraft.prompts.revision import EditInput, Point, ReviseInput
from redraft.prompts.tags import Tags
from redraft.text.languages import is_foreign, language_of, language_spans_beside
from redraft.text.sentences import ends_sentence, sentences, sentences_in
from redraft.text.vectors import SentenceVectors, Weights, choose, rank
from redraft.text.word_keys import keys, telling, words
from redraft.text.words import count_words, has_words

# Rank and score both count; the root dampens sentences in the densest part of the graph.
_RANK_POWER = 0.9
# The beginning of a text says who and where, which a summary needs.
_OPENING_WORDS, _OPENING_BONUS = 200, 0.6
# The ends of the beginning, the middle and the end; each is represented.
_STAGES = (0.25, 0.75, 1.0)
_SHARE_OF_STAGE, _FAIR = 1 / 3, 0.25

_WORDS_IN_ONE_PARAGRAPH, _PARAGRAPH_WORDS = 180, 110
# The room that a full summary gives up for the next part of the document: one sentence, and at most this
# share, so that it does not lose its own beginning after a few parts.
_NEWS_WORDS, _NEWS_SHARE = 30, 1 / 8
_UNSPACED_END = re.compile(r"(?<=[。！？」])[ ]")


def summarize(inputs: summarization.WritingInput | summarization.TidyInput) -> str:
    """Return the most important sentences of a document, an excerpt or a summary. Of summaries to merge, each gets room
    in proportion to its length, so that beginning, middle and end all survive; what comes before them gets that of an
    average one. An excerpt that is added to a summary gets the room that the summary leaves, or that of a sentence."""
    match inputs:
        case summarization.TidyInput():
            return inputs.summary
        case summarization.CompressInput():
            return compose([inputs.summary], [1], inputs.words - 1, inputs.query)
        case summarization.UpdateInput():
            added = max(inputs.words - count_words(inputs.summary), min(_NEWS_WORDS, inputs.words * _NEWS_SHARE))
            shares = [inputs.words - added, added]
            return compose([inputs.summary, inputs.excerpt], shares, inputs.words, inputs.query, stages=False)
        case summarization.MergeInput():
            sizes: list[float] = [count_words(summary) for summary in inputs.summaries]
            before = [inputs.context] if isinstance(inputs, summarization.MergeOnwardInput) else []
            usual = [min(count_words(text), sum(sizes) / max(1, len(sizes))) for text in before]
            return compose([*before, *inputs.summaries], [*usual, *sizes], inputs.words, inputs.query)
        case summarization.BeginInput() | summarization.ChunkInput():
            return compose([inputs.excerpt], [1], inputs.words, inputs.query)
    assert isinstance(inputs, summarization.WholeInput)
    return compose([inputs.document], [1], inputs.words, inputs.query)


def compose(
    parts: Sequence[str], shares: Sequence[float], limit: int, query: str | None = None, *, stages: bool = True
) -> str:
    """Return the best sentences of `parts` in at most `limit` words, distributed over the parts by `shares`. With
    `stages`, beginning, middle and end are represented. Empty only if no part has a word."""
    language = language_of("\n".join(parts))
    # A part in several languages is split, and its share with it.
    texts: list[str] = []
    room: list[float] = []
    languages: list[str] = []
    for part, share, spans in zip(parts, shares, language_spans_beside(parts), strict=True):
        own_texts = [part[slice(*span.span)] for span in spans]
        counts = [count_words(text) for text in own_texts]
        texts += own_texts
        languages += [span.language for span in spans]
        room += [share] if len(own_texts) == 1 else [share * count / max(1, sum(counts)) for count in counts]
    # Sentences are scored together per language.
    sentences: list[ProseSentence] = []
    for name in dict.fromkeys(languages):
        own_parts = [part if languages[at] == name else "" for at, part in enumerate(texts)]
        sentences += read(own_parts, name)
    prose = sorted(sentences, key=lambda sentence: sentence.part)
    limit = max(1, limit)
    if not prose:
        # Only punctuation, of which an underscore counts as a word.
        rest = " ".join(" ".join(texts).split())
        return cut(rest, limit, language) if has_words(rest) else ""
    question = (query or "").strip()
    rooms = limit * np.asarray(room, dtype=np.float64) / max(sum(room), 1e-9)
    vectors = SentenceVectors([sentence.text for sentence in prose], [languages[sentence.part] for sentence in prose])
    chosen = _chosen(vectors, prose, limit, rooms, question, stages=stages and not question)
    if not chosen:
        best = max(prose, key=lambda sentence: sentence.suitability)
        return cut(best.text, limit, languages[best.part])
    # A long text has paragraphs of about one length.
    words = sum(prose[at].words for at in chosen)
    count = max(1, round(words / _PARAGRAPH_WORDS)) if words > _WORDS_IN_ONE_PARAGRAPH else 1
    paragraphs: list[list[str]] = [[] for _ in range(count)]
    before = 0
    for sentence in (prose[at] for at in chosen):
        paragraphs[count * before // words].append(sentence.text)
        before += sentence.words
    return "\n\n".join(_UNSPACED_END.sub("", " ".join(paragraph)) for paragraph in paragraphs if paragraph)


def _chosen(
    vectors: SentenceVectors, prose: Sequence[ProseSentence], limit: int, room: Weights, question: str, *, stages: bool
) -> list[int]:
    """Return the chosen sentences; last resorts, and then non-sentences, only where there is nothing else."""
    words = np.asarray([sentence.words for sentence in prose], dtype=np.int64)
    part = np.asarray([sentence.part for sentence in prose], dtype=np.int64)
    suitabilities = np.asarray([sentence.suitability for sentence in prose])
    worth = rank(vectors, question) * suitabilities if question else centrality(vectors, prose)
    if question:
        # The answer to a question may be anywhere, so no part is guaranteed a share.
        part, room = np.zeros_like(part), np.asarray([float(limit)])
    # The best sentence of the beginning, the middle and the end, if it takes at most a third of the room.
    first, begin, place = list[int](), 0.0, np.cumsum(words) / words.sum()
    for end in _STAGES if stages else ():
        is_in_stage = (place > begin) & (place <= end) & (words <= limit * _SHARE_OF_STAGE) & (suitabilities >= _FAIR)
        stage_worth = np.where(is_in_stage, worth, 0.0)
        best = int(np.argmax(stage_worth))
        first += [best] if stage_worth[best] > 0 else []
        begin = end
    for allowed in (suitabilities > LAST_RESORT, suitabilities > NO_SENTENCE, suitabilities > 0):
        if chosen := choose(vectors, np.where(allowed, worth, 0.0), words, part, limit, room, first):
            break
    return chosen


def centrality(vectors: SentenceVectors, prose: Sequence[ProseSentence]) -> Weights:
    """Return each sentence's value for a summary: central, well formed, and early rather than late."""
    words = np.asarray([sentence.words for sentence in prose], dtype=np.int64)
    earliness = np.maximum(0.0, 1 - (np.cumsum(words) - words) / _OPENING_WORDS)
    suitabilities = np.asarray([sentence.suitability for sentence in prose])
    worth: Weights = rank(vectors) ** _RANK_POWER * suitabilities * (1 + _OPENING_BONUS * earliness)
    return worth


class _SourceText:
    """The sentences of some texts that can stand alone, and the places of all, by the keys of their words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.language = language_of("\n".join(texts))
        prose = read(texts, self.language)
        self.places = {self.key(sentence.text): at for at, sentence in reversed(list(enumerate(prose)))}
        suitable = [sentence.text for sentence in prose if sentence.suitability > LAST_RESORT]
        self.quotable = {self.key(text): text for text in suitable if ends_sentence(text)}

    def key(self, text: str) -> tuple[str, ...]:
        """Return the key of a sentence."""
        return tuple(keys(text, self.language))

    def needed(self, point: Point, present: Sequence[tuple[str, ...]]) -> str:
        """Return the sentence of the evidence that has most of what a point asks for and is not `present`."""
        terms = telling(f"{point.question} {point.answer}", self.language)
        # A question by itself is looked up in all of the source.
        texts = [*self.quotable.values()] if point.question else []
        if point.evidence:
            # Its sentences that can stand alone, without headings and fragments.
            evidence_sentences = _source((point.evidence,)).quotable
            quoted_keys = map(self.key, sentences_in(point.evidence))
            quoted = [(self.quotable if key in self.places else evidence_sentences).get(key, "") for key in quoted_keys]
            texts = [text for text in quoted if text and not text[0].islower()]
        absent = [text for text in texts if self.key(text) not in present]
        best = max(absent, key=lambda text: len(terms.intersection(self.key(text))), default="")
        return best if point.evidence or terms.intersection(self.key(best)) else ""


_source = lru_cache(maxsize=8)(_SourceText)


def revise(inputs: ReviseInput, needed: Sequence[str] = (), tags: Tags | None = None) -> str:
    """Add what is missing, and correct, replace or drop what is wrong; the rest stays literally the same, the `needed`
    sentences above all. Requests in words are left."""
    texts = [inputs.document] if inputs.document else inputs.passages
    source, text = _source(tuple(texts or [inputs.summary])), inputs.summary
    loose = {*sentences_in(text)}.difference(needed)
    for point in (point for point in inputs.points if point.sentence not in needed):
        revised = _shortened(_applied(point, text, source, reads_all=bool(inputs.document)), inputs.words, loose)
        text = revised if has_words(revised) else text
    if inputs.words and count_words(text) > inputs.words:
        shorter = _shortened(text, inputs.words, loose) or _shortened(text, inputs.words, {*sentences_in(text)})
        text = cut(shorter if has_words(shorter) else text, inputs.words, source.language)
    changes = [point for point in inputs.points if point.task == "change"]
    if not (points := [change for change in changes if not (change.sentence or change.question or change.evidence)]):
        return text
    tags = tags or Tags(inputs)
    lines = "\n".join(f"{tags.tag('points', point.id)}: left: {NOT_UNDERSTOOD}" for point in points)
    return f"<points>\n{lines}\n</points>\n<revision>\n{text}\n</revision>"


def edit(inputs: EditInput) -> str:
    """Deal with the points, and add sentences that answer what a reader must know. Only what may go is dropped, and
    nothing that a person asked for."""
    missing = [item for item in inputs.must_know if item.draft in ("not at all", "in part")]
    added = [
        Point(id=number, task="add", question=item.question, answer=item.answer, evidence=item.quote)
        for number, item in enumerate(missing, len(inputs.points) + 1)
    ]
    requested = " ".join(inputs.keep)
    loose = {*inputs.may_go, *(point.sentence for point in inputs.points)}
    needed = [
        sentence
        for sentence in sentences_in(inputs.summary)
        if sentence in requested or (inputs.may_go and sentence not in loose)
    ]
    return revise(inputs.model_copy(update={"points": [*inputs.points, *added]}), needed, Tags(inputs))


def _shortened(text: str, limit: int | None, loose: AbstractSet[str]) -> str:
    """Return the text without its least central loose sentences, as many as exceed the limit; empty where too many must
    stay."""
    texts = sentences_in(text)
    worth = dict(zip(texts, rank(SentenceVectors(texts)), strict=True)) if texts else {}
    while limit and count_words(text) > limit:
        spans = sentences(text)
        texts = [text[span.start : span.end] for span in spans]
        droppable = [(worth.get(sentence, 0.0), at) for at, sentence in enumerate(texts) if sentence in loose]
        if not droppable:
            return ""
        text = _without(text, spans, min(droppable)[1])
    return text


def _applied(point: Point, text: str, source: _SourceText, *, reads_all: bool) -> str:
    """Return the draft with what a point asks for, where that can be had."""
    spans = sentences(text)
    present = [source.key(text[span.start : span.end]) for span in spans]
    if point.task == "add" or (point.task == "change" and not point.sentence):
        addition, order = source.needed(point, present), source.places
        place = order.get(source.key(addition))
        # In document order; at the end where the document lacks it.
        before = [n + 1 for n, key in enumerate(present) if place is None or order.get(key, place) < place]
        if not addition or not spans:
            return addition or text
        start = spans[before[-1] - 1].end if before else spans[0].start
        return f"{text[:start]} {addition}{text[start:]}" if before else f"{text[:start]}{addition} {text[start:]}"

    key = source.key(point.sentence)
    places = [at for at, other in enumerate(present) if key and other == key]
    # A sentence is corrected from the document, unless the document itself says so, or removed.
    if not places or (point.task == "correct" and reads_all and key in source.places):
        return text
    at = places[-1 if point.task == "drop" else 0]
    start, end = spans[at]
    replacement = corrected(text[start:end], point, source.language) if point.task in ("correct", "remove") else ""
    if point.task != "drop":
        replacement = replacement or source.needed(point, present)
    if replacement or point.task == "change":
        return f"{text[:start]}{replacement}{text[end:]}" if replacement else text
    return _without(text, spans, at)


def _without(text: str, spans: Sequence[Span], at: int) -> str:
    """Return the text without one of its sentences; if it started a paragraph, the next one does."""
    start, end = spans[at]
    previous, following = spans[at - 1].end if at else start, spans[at + 1].start if at + 1 < len(spans) else end
    starts = not at or ("\n" in text[previous:start] and "\n" not in text[end:following])
    return text[:start] + text[following:] if starts else text[:previous] + text[end:]


def corrected(text: str, point: Point, language: str) -> str:
    """Return the sentence with the document's name or number in place of its own; empty where that is impossible. Names
    are recognized in English only."""
    answer = words(point.answer)
    right = [] if is_foreign(language) else details(point.answer, answer)
    if len(right) != 1 or not point.evidence or right[0].last - right[0].first + 1 < len(answer):
        return ""
    supported, text_words = set(keys(point.evidence)), words(text)
    wrong = [
        detail
        for detail in details(text, text_words)
        if detail.kind == right[0].kind and not supported.issuperset(word.key for word in text_words[detail.words])
    ]
    if len(wrong) != 1:
        return ""
    return text[: wrong[0].start] + point.answer[right[0].start : right[0].end] + text[wrong[0].end :]
