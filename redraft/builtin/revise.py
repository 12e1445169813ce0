"""Revises a summary point by point with sentences of the document; what exceeds the limit is chosen as for a draft."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from redraft.builtin.draft import compose, with_dependent_last
from redraft.builtin.facade import NOT_UNDERSTOOD
from redraft.builtin.prose import details, read
from redraft.prompts.revision import EditInput, Point, ReviseInput
from redraft.prompts.tags import Tags
from redraft.text.languages import is_foreign, language_of
from redraft.text.sentences import ends_sentence, sentences, sentences_in
from redraft.text.word_keys import keys, telling, words
from redraft.text.words import count_words, has_words

Key = tuple[str, ...]


class _SourceText:
    """The sentences of some texts that can stand alone, and the places of all, by the keys of their words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.language = language_of("\n".join(texts))
        prose = with_dependent_last(read(texts, self.language), self.language)
        self.places = {self.key(sentence.text): at for at, sentence in reversed(list(enumerate(prose)))}
        self.quotable = {
            self.key(sentence.text): sentence.text
            for sentence in prose
            if sentence.is_suitable and ends_sentence(sentence.text)
        }

    def key(self, text: str) -> Key:
        """Return the key of a sentence."""
        return tuple(keys(text, self.language))

    def quoted(self, evidence: str) -> list[str]:
        """Return the sentences of a quotation that can stand alone, without headings and fragments."""
        evidence_sentences = _source((evidence,)).quotable
        quoted_keys = map(self.key, sentences_in(evidence))
        texts = [(self.quotable if key in self.places else evidence_sentences).get(key, "") for key in quoted_keys]
        return [text for text in texts if text and not text[0].islower()]

    def needed(self, point: Point, present: Sequence[Key]) -> str:
        """Return the sentence of the evidence that has most of what a point asks for and is not `present`."""
        terms = telling(f"{point.question} {point.answer}", self.language)
        # A question by itself is looked up in all of the source.
        everywhere = [*self.quotable.values()] if point.question else []
        texts = self.quoted(point.evidence) if point.evidence else everywhere
        absent = [text for text in texts if self.key(text) not in present]
        best = max(absent, key=lambda text: len(terms.intersection(self.key(text))), default="")
        return best if point.evidence or terms.intersection(self.key(best)) else ""


_source = lru_cache(maxsize=8)(_SourceText)


def revise(inputs: ReviseInput, tags: Tags | None = None) -> str:
    """Add what is missing, and correct, replace or drop what is wrong; the rest stays literally the same if the limit
    allows it. Requests in words are left."""
    texts = [inputs.document] if inputs.document else inputs.passages
    source, text = _source(tuple(texts or [inputs.summary])), inputs.summary
    for point in inputs.points:
        revised = _applied(point, text, source, reads_all=bool(inputs.document))
        text = revised if has_words(revised) else text
    if inputs.words and count_words(text) > inputs.words:
        text = compose([text], [1], inputs.words, stages=False)
    changes = [point for point in inputs.points if point.task == "change"]
    if not (points := [change for change in changes if not (change.sentence or change.question or change.evidence)]):
        return text
    tags = tags or Tags(inputs)
    lines = "\n".join(f"{tags.tag('points', point.id)}: left: {NOT_UNDERSTOOD}" for point in points)
    return f"<points>\n{lines}\n</points>\n<revision>\n{text}\n</revision>"


def edit(inputs: EditInput) -> str:
    """Deal with the points, except where a person asked for the sentence, and add sentences that answer what a reader
    must know."""
    missing = [item for item in inputs.must_know if item.draft in ("not at all", "in part")]
    added = [
        Point(id=number, task="add", question=item.question, answer=item.answer, evidence=item.quote)
        for number, item in enumerate(missing, len(inputs.points) + 1)
    ]
    shared = {name: getattr(inputs, name) for name in ReviseInput.model_fields if name != "points"}
    requested = " ".join(inputs.keep)
    points = [point for point in inputs.points if not point.sentence or point.sentence not in requested]
    return revise(ReviseInput(**shared, points=[*points, *added]), Tags(inputs))


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
    # If the sentence started a paragraph, the next one does.
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
