"""Revises a summary point by point with sentences of the document, within a word limit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from redraft.builtin.draft import with_dependent_last
from redraft.builtin.identity import NOT_UNDERSTOOD
from redraft.builtin.prose import cut, details, read
from redraft.prompts.revision import EditInput, Point, ReviseInput
from redraft.prompts.tags import Tags
from redraft.text.languages import is_foreign, language_of
from redraft.text.sentences import ends_sentence, sentences, sentences_in
from redraft.text.vectors import SentenceVectors, rank
from redraft.text.word_keys import keys, telling, words
from redraft.text.words import count_words

Key = tuple[str, ...]


class _DraftSentence(NamedTuple):
    """A sentence of the draft: the text before it, itself, and whether it may be dropped."""

    gap: str
    text: str
    fixed: bool = True


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


_source = lru_cache(maxsize=8)(_SourceText)


def revise(inputs: ReviseInput, needed: Sequence[str] = (), tags: Tags | None = None) -> str:
    """Add what is missing, and correct, replace or drop what is wrong; the rest stays literally the same, the `needed`
    sentences above all. Requests in words are left."""
    texts = [inputs.document] if inputs.document else inputs.passages
    revision = _SentenceRevision(_source(tuple(texts or [inputs.summary])), inputs, needed)
    for point in inputs.points:
        revision.apply(point)
    text = revision.within_limit()
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
    shared = {name: getattr(inputs, name) for name in ReviseInput.model_fields if name != "points"}
    requested = " ".join(inputs.keep)
    loose = {*inputs.may_go, *(point.sentence for point in inputs.points)}
    needed = [
        sentence
        for sentence in sentences_in(inputs.summary)
        if (inputs.may_go and sentence not in loose) or sentence in requested
    ]
    return revise(ReviseInput(**shared, points=[*inputs.points, *added]), needed, Tags(inputs))


class _SentenceRevision:
    """A draft during its revision."""

    def __init__(self, source: _SourceText, inputs: ReviseInput, needed: Sequence[str]) -> None:
        self._source, self._limit, self._reads_all = source, inputs.words, bool(inputs.document)
        fixed = {source.key(sentence) for sentence in needed}
        self._sentences: list[_DraftSentence] = []
        end = 0
        for span in sentences(inputs.summary):
            text = inputs.summary[span.start : span.end]
            self._sentences.append(_DraftSentence(inputs.summary[end : span.start], text, source.key(text) in fixed))
            end = span.end
        self._tail = inputs.summary[end:]

    def apply(self, point: Point) -> None:
        """Do what a point asks for, where that can be had within the limit."""
        draft, source = self._sentences, self._source
        changed: list[_DraftSentence] | None = None
        if point.task in ("drop", "remove", "correct") or (point.task == "change" and point.sentence):
            places = self._places_of(point.sentence)
            place = places[-1 if point.task == "drop" else 0] if places else None
            at = None if place is None or draft[place].fixed else place
            # A sentence is corrected from the document, unless the document itself says so, or removed.
            says_so = point.task == "correct" and self._reads_all and source.key(point.sentence) in source.places
            if at is not None and point.task != "drop" and not says_so:
                text = "" if point.task == "change" else corrected(draft[at].text, point, source.language)
                if text := text or self._needed(point):
                    changed = [*draft[:at], draft[at]._replace(text=text, fixed=True), *draft[at + 1 :]]
            if at is not None and not changed and not says_so and point.task != "change":
                changed = _without(draft, at)
        elif text := self._needed(point):
            changed = self._with(text)
        self._sentences = (self._fitted(changed) if changed else None) or draft

    def within_limit(self) -> str:
        """Return the draft within the limit: fixed sentences are dropped last, and the remainder is cut."""
        loose = [sentence._replace(fixed=False) for sentence in self._sentences]
        fitting = self._fitted(self._sentences) or self._fitted(loose)
        if fitting is not None:
            return self._text(fitting)
        assert self._limit is not None, "without a limit everything fits"
        return cut(self._text(self._sentences), self._limit, self._source.language)

    def _needed(self, point: Point) -> str:
        """Return the sentence of the evidence that has most of what a point asks for and is not in the draft."""
        terms = telling(f"{point.question} {point.answer}", self._source.language)
        # A question by itself is looked up in all of the source.
        everywhere = [*self._source.quotable.values()] if point.question else []
        texts = self._source.quoted(point.evidence) if point.evidence else everywhere
        absent = [text for text in texts if not self._places_of(text)]
        best = max(absent, key=lambda text: len(terms.intersection(self._source.key(text))), default="")
        return best if point.evidence or terms.intersection(self._source.key(best)) else ""

    def _places_of(self, sentence: str) -> list[int]:
        key = self._source.key(sentence)
        return [at for at, part in enumerate(self._sentences) if key and self._source.key(part.text) == key]

    def _with(self, text: str) -> list[_DraftSentence]:
        """Return the draft with a sentence added in document order; at the end where the document lacks it."""
        order = self._source.places
        places = [order.get(self._source.key(sentence.text)) for sentence in self._sentences]
        at, place = len(places), order.get(self._source.key(text))
        if place is not None:
            at = max((n + 1 for n, earlier in enumerate(places) if earlier is not None and earlier < place), default=0)
        before, after = self._sentences[:at], self._sentences[at:]
        if before or not after:
            return [*before, _DraftSentence(" " if at else "", text), *after]
        return [_DraftSentence(after[0].gap, text), after[0]._replace(gap=" "), *after[1:]]

    def _fitted(self, changed: list[_DraftSentence]) -> list[_DraftSentence] | None:
        """Return the draft without its least central sentences, as many as exceed the limit; None where too many must
        stay."""
        worth = list(rank(SentenceVectors([sentence.text for sentence in changed]))) if changed else []
        while self._limit is not None and count_words(self._text(changed)) > self._limit:
            loose = [at for at, sentence in enumerate(changed) if not sentence.fixed]
            if not loose:
                return None
            least_central = min(loose, key=worth.__getitem__)
            changed = _without(changed, least_central)
            del worth[least_central]
        return changed

    def _text(self, draft: Sequence[_DraftSentence]) -> str:
        return "".join(sentence.gap + sentence.text for sentence in draft) + self._tail


def _without(draft: Sequence[_DraftSentence], at: int) -> list[_DraftSentence]:
    """Return the sentences without one of them; if it started a paragraph, the next one does."""
    remaining, gap = [*draft[:at], *draft[at + 1 :]], draft[at].gap
    if at < len(remaining) and (at == 0 or ("\n" in gap and "\n" not in remaining[at].gap)):
        remaining[at] = remaining[at]._replace(gap=gap)
    return remaining


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
