"""Revising a summary, point by point, with sentences of the document, within a number of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from redraft.builtin.consistency.statements import states
from redraft.builtin.details import details
from redraft.builtin.lexicon import CONNECTIVE, PRONOUN, SPEECH
from redraft.builtin.prose import cut, finish, plain
from redraft.builtin.registry import answers
from redraft.builtin.source import Source
from redraft.builtin.wording import carries, keys, words
from redraft.prompts.revising import REVISE, Point, ReviseGiven
from redraft.text.ranking import rank
from redraft.text.sentences import ends_sentence, sentences
from redraft.text.vectors import SentenceVectors
from redraft.text.words import count_words

# A sentence that points back to another is brought in only where no other serves nearly as well.
_ADRIFT = 0.8
_MUCH_LONGER = 1.5
# With a smaller share of its telling words no sentence is about the same thing.
_ALIKE = 0.2
# What somebody says is no sentence of a summary.
_SPOKEN = 0.25


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

    @property
    def text(self) -> str:
        return "".join(unit.gap + unit.text for unit in self.units) + self.tail

    def where(self, sentence: str, *, last: bool = False) -> int | None:
        """Which unit a sentence is, or was: the first such one, or the last."""
        sought = keys(sentence)
        for at in reversed(range(len(self.units))) if last else range(len(self.units)):
            if sought in (keys(self.units[at].text), keys(self.units[at].was)):
                return at
        return None

    def holds(self, sentence: str) -> bool:
        sought = keys(sentence)
        return any(keys(unit.text) == sought for unit in self.units)

    def put(self, at: int, unit: _Unit) -> _Draft:
        return replace(self, units=(*self.units[:at], unit, *self.units[at + 1 :]))

    def insert(self, at: int, text: str, *, leading: bool = False) -> _Draft:
        """Add a sentence, in the paragraph of the one before it, or where it is `leading` up to the next, of that."""
        if self.units[at:] and (at == 0 or leading):
            led = self.units[at]
            new = _Unit(led.gap, text, text, True)
            return replace(self, units=(*self.units[:at], new, replace(led, gap=" "), *self.units[at + 1 :]))
        return replace(self, units=(*self.units[:at], _Unit(" " if at else "", text, text, True), *self.units[at:]))

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
    draft = _read(given.summary, given.keep)
    source = Source([given.document]) if given.document else None
    for point in given.points:
        changed = _applied(draft, point, source)
        fitting = _fitted(changed, given.words)
        if fitting is not None and fitting.units:
            draft = fitting
    return _within(draft, given.words)


def _read(summary: str, keep: Sequence[str]) -> _Draft:
    kept = {tuple(keys(sentence)) for sentence in keep}
    units, end = [], 0
    for span in sentences(summary):
        text = summary[span.start : span.end]
        units.append(_Unit(summary[end : span.start], text, text, tuple(keys(text)) in kept))
        end = span.end
    return _Draft(tuple(units), summary[end:])


def _applied(draft: _Draft, point: Point, source: Source | None) -> _Draft:
    if point.task == "drop":
        return _dropped(draft, point)
    if point.task in ("clarify", "connect"):
        return _explained(draft, point, source)
    unsupported = point.task == "remove" and not point.evidence
    if source and (unsupported or _is_unclear(point)):
        # A judge without understanding calls much unsupported that the document says in words of its own.
        point = point.model_copy(update={"evidence": _nearest(point.sentence, source)})
    if point.task in ("correct", "remove") or (point.task == "change" and point.sentence and point.evidence):
        return _corrected(draft, point)
    sentence = _needed(point)
    if not sentence or draft.holds(sentence):
        return draft
    return draft.insert(_place(draft, sentence, source), sentence)


def _is_unclear(point: Point) -> bool:
    """Whether a sentence is to be put in other words, which only the document has."""
    return point.task == "change" and bool(point.sentence) and not point.evidence


def _dropped(draft: _Draft, point: Point) -> _Draft:
    """The draft without a sentence: where it stands twice, the first one stays."""
    at = draft.where(point.sentence, last=True)
    return draft if at is None or draft.units[at].fixed else draft.drop(at)


def _explained(draft: _Draft, point: Point, source: Source | None) -> _Draft:
    """The draft with what leads to a sentence before it; a sentence out of the document's order goes where it belongs.

    The evidence is of the place that the sentence is about, and what the draft has of it already explains nothing.
    """
    at = draft.where(point.sentence)
    if at is None:
        return draft
    unit = draft.units[at]
    if point.task == "connect" and source is not None and not unit.fixed:
        moved = draft.drop(at)
        if moved.units and (place := _place(moved, unit.text, source)) != at:
            return moved.insert(place, unit.text)
    sentence = _needed(point, draft)
    if not sentence:
        return draft
    place = min(at, _place(draft, sentence, source)) if source else at
    return draft.insert(place, sentence, leading=place == at)


def _corrected(draft: _Draft, point: Point) -> _Draft:
    at = draft.where(point.sentence)
    if at is None:
        return draft
    unit = draft.units[at]
    if unit.fixed and unit.text == unit.was:  # it has to stay, or is what a point before has brought in
        return draft
    if mended := _mended(unit.text, point):
        return draft.put(at, replace(unit, text=mended, fixed=True))
    sentence = _needed(point)
    if not sentence or draft.holds(sentence):
        return draft.drop(at) if not unit.fixed else draft
    return draft.put(at, replace(unit, text=sentence, fixed=True))


def _mended(text: str, point: Point) -> str:
    """The sentence with the document's name or number in the place of its own; nothing where that cannot be done."""
    found = words(point.answer)
    right = details(point.answer, found)
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


def _needed(point: Point, beside: _Draft | None = None) -> str:
    """The sentence of the evidence that says most of what the point asks for, behind the one that it points back to.

    With a draft `beside`, one that the draft does not have yet.
    """
    wanted = {key for key in keys(f"{point.question} {point.answer}") if carries(key)}
    answer = {key for key in keys(point.answer) if carries(key)}
    best, most, before = "", -1.0, ""
    for span in sentences(point.evidence):
        found = point.evidence[span.start : span.end]
        if not ends_sentence(plain(found)):  # a heading, or the rest of a line, is nothing to put into a summary
            continue
        text = finish(plain(found))
        if text[:1].islower():  # it would be read as a part of the sentence before it
            continue
        if beside and beside.holds(text):
            before = ""
            continue
        own = set(keys(text))
        leans = PRONOUN.match(text) or CONNECTIVE.match(text)
        worth = (len(own & wanted) + len(own & answer)) * (_ADRIFT if leans else 1.0)
        # Somebody's question in the document answers nobody's.
        worth *= _SPOKEN if beside and (SPEECH.search(text) or text.endswith("?")) else 1.0
        if own and worth > most:
            best, most = f"{before} {text}" if leans and before else text, worth
        before = text
    return best


def _nearest(sentence: str, source: Source) -> str:
    """The document's own sentence about the same thing; nothing where it has none."""
    of = keys(sentence)
    told = {key for key in of if carries(key)}
    best, most = "", _ALIKE * len(told)
    for line in source.places(of):
        worth = float(len(told.intersection(source.lines[line].keys)))
        text = source.text_of(line)
        if not ends_sentence(plain(text)) or not states(text, source.lines[line].keys):
            continue
        # One that is much longer would push others out.
        worth *= min(1.0, _MUCH_LONGER * len(of) / len(source.lines[line].words))
        worth *= _ADRIFT if PRONOUN.match(text) or CONNECTIVE.match(text) else 1.0
        worth *= _SPOKEN if SPEECH.search(text) else 1.0
        if worth > most:
            best, most = text, worth
    return best


def _place(draft: _Draft, sentence: str, source: Source | None) -> int:
    """Where a sentence belongs: where the document has it, or behind the one that is most like it."""
    if source and (own := source.find(keys(sentence))) is not None:
        before = [at for at, unit in enumerate(draft.units) if _line(source, unit.text) <= own]
        return before[-1] + 1 if before else 0
    likeness = SentenceVectors([unit.text for unit in draft.units]).similarity_to(sentence)
    return int(np.argmax(likeness)) + 1 if likeness.any() else len(draft.units)


def _line(source: Source, text: str) -> int:
    """The line of the document that a sentence of the draft is most like."""
    sought = keys(text)
    found = source.find(sought)
    if found is not None:
        return found
    places = source.places(sought)
    return places[0] if places else len(source.lines)


def _fitted(draft: _Draft, limit: int) -> _Draft | None:
    """The draft without as many of its least central sentences as are too many; None where too much is to stay."""
    if (over := count_words(draft.text) - limit) <= 0:
        return draft
    ranks = rank(SentenceVectors([unit.text for unit in draft.units]))
    loose = sorted((float(ranks[at]), at) for at, unit in enumerate(draft.units) if not unit.fixed)
    dropped: list[int] = []
    for _, at in loose:
        if over <= 0:
            break
        dropped.append(at)
        over -= count_words(draft.units[at].text)
    for at in sorted(dropped, reverse=True):
        draft = draft.drop(at)
    return draft if count_words(draft.text) <= limit else None


def _within(draft: _Draft, limit: int) -> str:
    """The draft within the limit at all costs: what was to stay goes last, and what is left is cut."""
    loose = replace(draft, units=tuple(replace(unit, fixed=False) for unit in draft.units))
    fitting = _fitted(draft, limit) or _fitted(loose, limit)
    return fitting.text if fitting and fitting.units else cut(draft.text, limit)
