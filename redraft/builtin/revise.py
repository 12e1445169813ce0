"""Revises a summary point by point with sentences of the document, within a word limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from redraft.builtin.draft import with_dependent_last
from redraft.builtin.identity import NOT_UNDERSTOOD
from redraft.builtin.prose import cut, read
from redraft.builtin.references import details
from redraft.prompts.revision import CriticizeInput, EditInput, Point, ReviseInput
from redraft.prompts.tags import Tags
from redraft.text.languages import is_foreign, language_of
from redraft.text.pagerank import rank
from redraft.text.sentences import ends_sentence, sentences, sentences_in
from redraft.text.vectors import SentenceVectors
from redraft.text.word_keys import keys, telling, words
from redraft.text.words import count_words


@dataclass(frozen=True, slots=True)
class _DraftSentence:
    """A sentence of the draft: the text before it, itself, and whether it may be dropped."""

    gap: str
    text: str
    fixed: bool


class _QuotableSentences:
    """The sentences that may be quoted and their places, by the keys of their words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.language = language_of("\n".join(texts))
        prose = with_dependent_last(read(texts, self.language), self.language)
        self.places = {self.key(sentence.text): at for at, sentence in reversed(list(enumerate(prose)))}
        self._quotable = {self.key(sentence.text): sentence.text for sentence in prose if sentence.is_suitable}

    def key(self, text: str) -> tuple[str, ...]:
        """Return the key of a sentence."""
        return tuple(keys(text, self.language))

    @property
    def whole(self) -> list[str]:
        """Return all sentences that can stand alone."""
        return [one for one in self._quotable.values() if ends_sentence(one)]

    def quoted(self, evidence: str) -> list[str]:
        """Return the sentences of a quotation that can stand alone, without headings and fragments."""
        found = [self.key(evidence[span.start : span.end]) for span in sentences(evidence)]
        own = _read((evidence,))._quotable
        texts = [(self._quotable if key in self.places else own).get(key, "") for key in found]
        return [text for text in texts if text and ends_sentence(text) and not text[0].islower()]


_read = lru_cache(maxsize=8)(_QuotableSentences)


def revise(given: ReviseInput, needed: Sequence[str] = (), tags: Tags | None = None) -> str:
    """Add what is missing, and correct, replace or drop what is wrong; the rest stays literally the same, the `needed`
    sentences above all."""
    texts = [given.document] if given.document else given.passages
    reviser = _Reviser(_read(tuple(texts or [given.summary])), given, needed, whole=bool(given.document))
    for point in given.points:
        reviser.apply(point)
    text = reviser.within()
    # Points that only say in words what is wanted, with no sentence that they are about and none that would do.
    changes = [point for point in given.points if point.task == "change"]
    if not (points := [change for change in changes if not (change.sentence or change.question or change.evidence)]):
        return text
    tags = tags or Tags(given)
    left = "\n".join(f"{tags.tag('points', point.id)}: left: {NOT_UNDERSTOOD}" for point in points)
    return f"<points>\n{left}\n</points>\n<revision>\n{text}\n</revision>"


def edit(given: EditInput) -> str:
    """Deal with the points, and add sentences that answer what a reader must know. Only what may go is dropped, and
    nothing that a person asked for."""
    missing = [item for item in given.must_know if item.draft in ("not at all", "in part")]
    added = [
        Point(id=number, task="add", question=item.question, answer=item.answer, evidence=item.quote)
        for number, item in enumerate(missing, len(given.points) + 1)
    ]
    shared = {name: getattr(given, name) for name in ReviseInput.model_fields if name != "points"}
    requested = " ".join(given.keep)
    needed = [
        sentence
        for sentence in sentences_in(given.summary)
        if (given.may_go and sentence not in given.may_go) or sentence in requested
    ]
    return revise(ReviseInput(**shared, points=[*given.points, *added]), needed, Tags(given))


def criticize(given: CriticizeInput) -> str:  # noqa: ARG001 - every prompt has a handler of its text
    """Return a criticism that fits every summary."""
    return "Say more of what matters in the document, and nothing that it does not say."


class _Reviser:
    """A draft during revision."""

    def __init__(self, source: _QuotableSentences, given: ReviseInput, needed: Sequence[str], *, whole: bool) -> None:
        self._source, self._limit, self._whole = source, given.words, whole
        kept = {source.key(sentence) for sentence in needed}
        self._units: list[_DraftSentence] = []
        end = 0
        for span in sentences(given.summary):
            text = given.summary[span.start : span.end]
            self._units.append(_DraftSentence(given.summary[end : span.start], text, source.key(text) in kept))
            end = span.end
        self._tail = given.summary[end:]

    def apply(self, point: Point) -> None:
        """Do what a point asks for, where that can be had within the limit."""
        at = self._where(point.sentence, last=point.task == "drop")
        before = point.task in ("clarify", "connect")
        units: list[_DraftSentence] | None = None
        if point.task in ("drop", "correct", "remove") or (point.task == "change" and point.sentence):
            if at is not None and not self._units[at].fixed:
                units = _without(self._units, at) if point.task == "drop" else self._corrected(at, point)
        elif (at is not None or not before) and (needed := self._needed(point)):
            units = self._with(needed, at if before else None)
        self._units = (self._fitted(units) if units else None) or self._units

    def within(self) -> str:
        """Return the draft within the limit: sentences to keep are dropped last, and the remainder is cut."""
        loose = [replace(unit, fixed=False) for unit in self._units]
        fitting = self._fitted(self._units) or self._fitted(loose)
        if fitting is not None:
            return self._text(fitting)
        assert self._limit is not None, "without a limit everything fits"
        return cut(self._text(self._units), self._limit, self._source.language)

    def _corrected(self, at: int, point: Point) -> list[_DraftSentence] | None:
        """Return the draft with a sentence corrected from the document, or dropped."""
        unit = self._units[at]
        stands = self._source.key(unit.text) in self._source.places
        if point.task == "correct" and self._whole and stands:
            return None  # the document itself says so
        text = "" if point.task == "change" else corrected(unit.text, point, self._source.language)
        text = text or self._needed(point)
        if text:
            return [*self._units[:at], replace(unit, text=text, fixed=True), *self._units[at + 1 :]]
        return None if point.task == "change" else _without(self._units, at)

    def _needed(self, point: Point) -> str:
        """Return the sentence of the evidence that has most of what a point asks for and is not in the draft."""
        wanted = telling(f"{point.question} {point.answer}", self._source.language)
        # A question by itself is looked up in all of the source.
        known = self._source.quoted(point.evidence) if point.evidence or not point.question else self._source.whole
        found = [one for one in known if self._where(one) is None]
        best = max(found, key=lambda one: len(wanted.intersection(self._source.key(one))), default="")
        return best if point.evidence or wanted.intersection(self._source.key(best)) else ""

    def _where(self, sentence: str, *, last: bool = False) -> int | None:
        key = self._source.key(sentence)
        found = [at for at, unit in enumerate(self._units) if key and self._source.key(unit.text) == key]
        return found[-1 if last else 0] if found else None

    def _with(self, text: str, before: int | None) -> list[_DraftSentence]:
        """Return the draft with a sentence added in document order, or before another sentence."""
        units = list(self._units)
        at = self._place(text) if before is None else before
        if units and (at == 0 or before is not None):
            units[at : at + 1] = [_DraftSentence(units[at].gap, text, True), replace(units[at], gap=" ")]
        else:
            units.insert(at, _DraftSentence(" " if at else "", text, True))
        return units

    def _place(self, text: str) -> int:
        """Return the place after the last sentence that precedes it in the document; the end where the document lacks
        it."""
        own, places = self._source.places.get(self._source.key(text)), self._source.places
        known = [places.get(self._source.key(unit.text)) for unit in self._units]
        if own is None:
            return len(known)
        return max((at + 1 for at, its in enumerate(known) if its is not None and its < own), default=0)

    def _fitted(self, units: list[_DraftSentence]) -> list[_DraftSentence] | None:
        """Return the draft without its least central sentences, as many as exceed the limit; None where too many must
        stay."""
        worth = list(rank(SentenceVectors([unit.text for unit in units]))) if units else []
        while self._limit is not None and count_words(self._text(units)) > self._limit:
            loose = [at for at, unit in enumerate(units) if not unit.fixed]
            if not loose:
                return None
            least = min(loose, key=worth.__getitem__)
            units = _without(units, least)
            del worth[least]
        return units

    def _text(self, units: Sequence[_DraftSentence]) -> str:
        return "".join(unit.gap + unit.text for unit in units) + self._tail


def _without(units: Sequence[_DraftSentence], at: int) -> list[_DraftSentence]:
    """Return the sentences without one of them; if it started a paragraph, the next one does."""
    others, gap = [*units[:at], *units[at + 1 :]], units[at].gap
    if at < len(others) and (at == 0 or ("\n" in gap and "\n" not in others[at].gap)):
        others[at] = replace(others[at], gap=gap)
    return others


def corrected(text: str, point: Point, language: str) -> str:
    """Return the sentence with the document's name or number in place of its own; empty where that is impossible. Names
    are recognized in English only."""
    found = words(point.answer)
    right = [] if is_foreign(language) else details(point.answer, found)
    if len(right) != 1 or not point.evidence or right[0].last - right[0].first + 1 < len(found):
        return ""
    supported = set(keys(point.evidence))
    own = words(text)
    wrong = [
        detail
        for detail in details(text, own)
        if detail.kind == right[0].kind and not supported.issuperset(word.key for word in own[detail.words])
    ]
    if len(wrong) != 1:
        return ""
    return text[: wrong[0].start] + point.answer[right[0].start : right[0].end] + text[wrong[0].end :]
