"""Revising a summary, point by point, with sentences of the document, within a number of words.

A revision must not buy answers with the sentences that carry the story: what is brought in to answer a question may
not leave the summary with less of what the document says again and again. And nothing that is brought in, or loses its
place, may change who or when: that is the rule of `pointing`; and where another scene begins, a paragraph does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from redraft.builtin.details import details
from redraft.builtin.origin import Origin, Placed, origin_of
from redraft.builtin.pointing import following
from redraft.builtin.prose import cut
from redraft.builtin.registry import answers
from redraft.prompts.revising import REVISE, Point, ReviseGiven
from redraft.text.languages import is_foreign
from redraft.text.sentences import sentences
from redraft.text.vectors import SentenceVectors
from redraft.text.wording import keys, telling, words
from redraft.text.words import count_words

# What is told within so many sentences of another is in one scene with it.
_SCENE = 7


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence of the draft: what stands before it, itself, what it was, and whether it may be dropped."""

    gap: str
    text: str
    was: str
    fixed: bool


@dataclass(frozen=True, slots=True)
class _Draft:
    units: tuple[_Unit, ...]
    tail: str
    language: str

    @property
    def text(self) -> str:
        return "".join(unit.gap + unit.text for unit in self.units) + self.tail

    def where(self, sentence: str, *, last: bool = False) -> int | None:
        """Which unit a sentence is, or was: the first such one, or the last."""
        sought = self._keys(sentence)
        for at in reversed(range(len(self.units))) if last else range(len(self.units)):
            if sought in (self._keys(self.units[at].text), self._keys(self.units[at].was)):
                return at
        return None

    def _keys(self, text: str) -> list[str]:
        return keys(text, self.language)

    def holds(self, one: Placed) -> bool:
        """Whether a sentence is there, or was."""
        return self.where(one.was) is not None or self.where(one.text) is not None

    def put(self, at: int, unit: _Unit) -> _Draft:
        return replace(self, units=(*self.units[:at], unit, *self.units[at + 1 :]))

    def insert(self, at: int, one: Placed, *, leading: bool = False) -> _Draft:
        """Add a sentence, in the paragraph of the one before it, or where it is `leading` up to the next, of that."""
        if self.units[at:] and (at == 0 or leading):
            led = self.units[at]
            new = _Unit(led.gap, one.text, one.was, True)
            return replace(self, units=(*self.units[:at], new, replace(led, gap=" "), *self.units[at + 1 :]))
        new = _Unit(" " if at else "", one.text, one.was, True)
        return replace(self, units=(*self.units[:at], new, *self.units[at:]))

    def drop(self, at: int) -> _Draft:
        """Take a sentence out; where it began a paragraph, the next one does."""
        units = list(self.units)
        gone = units.pop(at)
        if at < len(units) and (at == 0 or ("\n" in gone.gap and "\n" not in units[at].gap)):
            units[at] = replace(units[at], gap=gone.gap)
        return replace(self, units=tuple(units))


@answers(REVISE)
def revise(given: ReviseGiven) -> str:
    """Bring in what is missing, correct, replace or drop what is wrong; all else stays to the letter."""
    texts = [given.document] if given.document else given.passages
    source = origin_of(texts or [given.summary])
    draft = _read(given.summary, given.keep, source.language)
    reviser = _Reviser(source, given.words, of_document=bool(texts))
    for point in given.points:
        changed = reviser.applied(draft, point)
        if changed is not None and changed.units:
            draft = changed
    return reviser.within(draft)


def _read(summary: str, keep: Sequence[str], language: str) -> _Draft:
    kept = {tuple(keys(sentence, language)) for sentence in keep}
    units, end = [], 0
    for span in sentences(summary):
        text = summary[span.start : span.end]
        units.append(_Unit(summary[end : span.start], text, text, tuple(keys(text, language)) in kept))
        end = span.end
    return _Draft(tuple(units), summary[end:], language)


class _Reviser:
    """Applies points to a draft of a text."""

    def __init__(self, source: Origin, limit: int, *, of_document: bool) -> None:
        self._source = source
        self._limit = limit
        self._of_document = of_document

    def applied(self, draft: _Draft, point: Point) -> _Draft | None:
        """The draft with what a point asks for, within the limit; None where that cannot be had."""
        if point.task == "drop":
            return self._dropped(draft, point)
        if point.task in ("clarify", "connect"):
            return self._explained(draft, point)
        if point.task in ("correct", "remove") or (point.task == "change" and point.sentence):
            return self._corrected(draft, point)
        return self._added(draft, point)

    def _dropped(self, draft: _Draft, point: Point) -> _Draft | None:
        """The draft without a sentence: where it stands twice, the first one stays."""
        at = draft.where(point.sentence, last=True)
        return None if at is None or draft.units[at].fixed else self.fitted(self._without(draft, at))

    def _without(self, draft: _Draft, at: int) -> _Draft:
        """The draft without a sentence; the next one says who is meant, and begins a paragraph, where that takes it."""
        if at + 1 < len(draft.units) and not is_foreign(self._source.language):
            after = draft.units[at + 1]
            named = following(draft.units[at].text, after.text, self._source.cast)
            draft = draft.put(at + 1, replace(after, text=named or after.text))
        return self._parted(draft.drop(at), at)

    def _explained(self, draft: _Draft, point: Point) -> _Draft | None:
        """The draft with what leads to a sentence before it; one out of the document's order goes where it belongs.

        The evidence is of the place that the sentence is about, and what the draft has of it already explains nothing.
        """
        at = draft.where(point.sentence)
        if at is None:
            return None
        unit = draft.units[at]
        own = self._source.find(unit.text)
        if point.task == "connect" and own is not None and not unit.fixed and not self._source.points(unit.text):
            moved = self._without(draft, at)
            if moved.units and (place := self._place(moved, own)) != at:
                return self.fitted(moved.insert(place, Placed(own, unit.text, unit.was)))
        needed = self._needed(point, draft)
        if not needed:
            return None
        place = at if needed.at is None else min(at, self._place(draft, needed.at))
        while place and self._source.points(draft.units[place].text):
            place -= 1
        return self.fitted(draft.insert(place, needed, leading=place == at))

    def _corrected(self, draft: _Draft, point: Point) -> _Draft | None:
        at = draft.where(point.sentence)
        if at is None:
            return None
        unit = draft.units[at]
        if unit.fixed and unit.text == unit.was:  # it has to stay, or is what a point before has brought in
            return None
        if point.task == "correct" and self._of_document and self._source.find(unit.text) is not None:
            return None  # the document itself says so
        if point.task != "change" and (mended := _mended(unit.text, point, self._source.language)):
            return self.fitted(draft.put(at, replace(unit, text=mended, fixed=True)))
        needed = self._needed(point) if point.evidence else self._nearest(unit.text)
        if not needed or draft.holds(needed):
            keeps = unit.fixed or (point.task == "change" and not needed)
            return None if keeps else self.fitted(self._without(draft, at))
        return self.fitted(draft.put(at, replace(unit, text=needed.text, was=needed.was, fixed=True)))

    def _added(self, draft: _Draft, point: Point) -> _Draft | None:
        needed = self._needed(point)
        if not needed or draft.holds(needed):
            return None
        place = self._place(draft, needed.at, needed.text)
        inserted = draft.insert(place, needed)
        if needed.at is not None:
            inserted = self._parted(self._parted(inserted, place), place + 1)
        changed = self.fitted(_without_told_again(inserted, needed.text))
        if not point.question or changed is None:  # what a person asks for is brought in at any price
            return changed
        at = changed.where(needed.text)
        if at and not self._fits_behind(changed.units[at - 1].text, needed):
            return None
        return changed if self._source.recurrent(changed.text) >= self._source.recurrent(draft.text) else None

    def _fits_behind(self, before: str, needed: Placed) -> bool:
        """Whether a sentence goes on from the one before, or is about somebody else and nothing that stands there."""
        if needed.at is None or not self._leaps(self._source.position(before), needed.at):
            return True
        said, known = (telling(text, self._source.language) for text in (needed.text, before))
        return bool(self._source.cast.mentions(needed.text)) and said.isdisjoint(known)

    def _parted(self, draft: _Draft, at: int) -> _Draft:
        """The draft with a paragraph that begins at a sentence, where that is of another scene than the one before."""
        if not 0 < at < len(draft.units) or "\n" in draft.units[at].gap:
            return draft
        before, own = (self._source.position(unit.text) for unit in draft.units[at - 1 : at + 1])
        return draft.put(at, replace(draft.units[at], gap="\n\n")) if self._leaps(before, own) else draft

    def _leaps(self, before: int, at: int) -> bool:
        """Whether what stands in one place of the document and in another is of two scenes."""
        apart = not 0 < at - before <= _SCENE or self._source.is_parted(before, at)
        return apart and not is_foreign(self._source.language)

    def _needed(self, point: Point, beside: _Draft | None = None) -> Placed | None:
        """The sentence of the evidence that says most of what a point asks for; with a draft `beside`, one that the
        draft does not have yet."""
        language = self._source.language
        wanted, answer = telling(f"{point.question} {point.answer}", language), telling(point.answer, language)

        def worth(one: Placed) -> int:
            own = set(keys(one.was, language))
            return len(own & wanted) + len(own & answer)

        found = (one for one in self._source.quoted(point.evidence) if not (beside and beside.holds(one)))
        return max(found, key=worth, default=None)

    def _nearest(self, sentence: str) -> Placed | None:
        """The document's own sentence about the same thing; None where it has none."""
        found = self._source.nearest(sentence)
        return None if found is None else self._source.placed(found)

    def _place(self, draft: _Draft, own: int | None, text: str = "") -> int:
        """Where a sentence belongs: where the document has it, or behind the one that is most like it.

        Nothing comes between a sentence and the one that it points back to.
        """
        if own is not None:
            before = [at for at, unit in enumerate(draft.units) if self._source.position(unit.text) <= own]
            place = before[-1] + 1 if before else 0
        else:
            likeness = SentenceVectors([unit.text for unit in draft.units]).similarity_to(text)
            place = int(np.argmax(likeness)) + 1 if likeness.any() else len(draft.units)
        while place < len(draft.units) and self._source.points(draft.units[place].text):
            place += 1
        return place

    def fitted(self, draft: _Draft) -> _Draft | None:
        """The draft without as many of its least central sentences as are too many; None where too much is to stay.

        What others point back to stays with them.
        """
        worth = [self._source.worth_of(self._source.position(unit.text)) for unit in draft.units]
        while count_words(draft.text) > self._limit:
            behind = [unit.text for unit in draft.units[1:]] + [""]
            loose = [
                at for at, unit in enumerate(draft.units) if not unit.fixed and not self._source.points(behind[at])
            ]
            if not loose:
                return None
            least = min(loose, key=lambda at: (worth[at], at))
            draft = self._without(draft, least)
            del worth[least]
        return draft

    def within(self, draft: _Draft) -> str:
        """The draft within the limit at all costs: what was to stay goes last, and what is left is cut."""
        loose = replace(draft, units=tuple(replace(unit, fixed=False) for unit in draft.units))
        fitting = self.fitted(draft) or self.fitted(loose)
        return fitting.text if fitting and fitting.units else cut(draft.text, self._limit, draft.language)


def _without_told_again(draft: _Draft, sentence: str) -> _Draft:
    """The draft without those of its sentences of which every word, in its order, is in another one."""
    whole = f" {' '.join(keys(sentence, draft.language))} "
    told = [f" {' '.join(keys(unit.text, draft.language))} " for unit in draft.units]
    kept = tuple(unit for unit, own in zip(draft.units, told, strict=True) if own == whole or own not in whole)
    return replace(draft, units=kept)


def _mended(text: str, point: Point, language: str) -> str:
    """The sentence with the document's name or number in the place of its own; nothing where that cannot be done.

    They can be told from other words in English alone.
    """
    found = words(point.answer)
    right = [] if is_foreign(language) else details(point.answer, found)
    if len(right) != 1 or not point.evidence or right[0].last - right[0].first + 1 < len(found):
        return ""
    supported = set(keys(point.evidence))
    found = words(text)
    wrong = [
        one
        for one in details(text, found)
        if one.kind == right[0].kind and not supported.issuperset(word.key for word in found[one.first : one.last + 1])
    ]
    if len(wrong) != 1:
        return ""
    answer = point.answer[right[0].start : right[0].end]
    return text[: wrong[0].start] + answer + text[wrong[0].end :]
