"""Finding the sentences that somebody else has annotated among ours: other splitters end sentences elsewhere."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, repeat

from redraft.evaluators.booookscore import sentences_of
from redraft.lab.agreement.annotations import CLEAR, AnnotatedSentence, ConfusionVerdict
from redraft.prompts.judging import Statement
from redraft.text.words import words_key

# How many words of a sentence are looked up before the rest is compared.
_HEAD = 3


@dataclass(frozen=True, slots=True)
class PlacedAnnotations:
    """What the annotations of a summary come to.

    A sentence of ours that is annotated in parts counts as so many, and several that are annotated as one count as one:
    whoever judged has judged these.
    """

    said: tuple[ConfusionVerdict, ...]
    """One verdict for each sentence as it was annotated."""
    unjudged: int
    verdicts: Mapping[int, ConfusionVerdict]
    """What that comes to for sentences of ours, by their numbers."""
    elsewhere: int
    """Annotated sentences that begin or end elsewhere than ours."""
    lost: int
    """Annotated sentences that the summary does not have. They stand for as many that nothing else is said of."""
    undecided: int
    """Entries that say both that a sentence confuses, and that it does not."""


@dataclass(slots=True)
class _Unit:
    """A stretch of the summary with what is said of it."""

    start: int
    end: int
    numbers: list[int]
    """The sentences that it is in, that with the largest part of it first."""
    verdict: ConfusionVerdict | None


def place(entries: Sequence[AnnotatedSentence], statements: Sequence[Statement], *, every: bool) -> PlacedAnnotations:
    """The entries on the sentences that they speak of, found by their words, whatever stands between these.

    Of sentences that say the same an entry speaks of the first that has none. Where not every sentence has an entry,
    the others are clear. Headings are no sentences.
    """
    text, counted = _Text(statements), [statement.id for statement in sentences_of(statements)]
    units, lost, elsewhere = _units(entries, text, frozenset(counted))
    touched = {number for unit in units for number in unit.numbers}
    rest = len(counted) - len(touched)
    # What is said of sentences that are not there is said of this summary all the same.
    standing = [one for one in lost if every or one.confusing][:rest]
    said = [*(unit.verdict for unit in units if unit.verdict), *standing]
    undecided = sum(unit.verdict is None for unit in units)
    verdicts = _by_number(units)
    if not every:
        said += repeat(CLEAR, rest - len(standing))
        verdicts |= {number: CLEAR for number in counted if number not in touched and not lost}
    unjudged = undecided + (rest - len(standing) if every else 0)
    return PlacedAnnotations(tuple(said), unjudged, dict(sorted(verdicts.items())), elsewhere, len(lost), undecided)


def _units(
    entries: Sequence[AnnotatedSentence], text: _Text, counted: frozenset[int]
) -> tuple[list[_Unit], list[ConfusionVerdict], int]:
    """Stretches that do not overlap, the verdicts on sentences that are not there, and how many end elsewhere."""
    units: list[_Unit] = []
    of_number: dict[int, list[_Unit]] = {}
    lost: list[ConfusionVerdict] = []
    elsewhere = 0
    for entry in entries:
        start, end = text.stretch(entry.sentence)
        numbers = [number for number in text.over(start, end) if number in counted]
        if not numbers:
            lost += [entry.verdict] if entry.verdict else []
            continue
        elsewhere += not text.ends_at(start, end)
        near = chain.from_iterable(of_number.get(number, ()) for number in numbers)
        if same := next((unit for unit in near if unit.start < end and start < unit.end), None):
            same.verdict = _both(same.verdict, entry.verdict)
            continue
        units.append(_Unit(start, end, numbers, entry.verdict))
        for number in numbers:
            of_number.setdefault(number, []).append(units[-1])
    return units, lost, elsewhere


def _by_number(units: Sequence[_Unit]) -> dict[int, ConfusionVerdict]:
    """What confuses does so in the sentence with the largest part of it; what is clear is clear in all its parts."""
    found: dict[int, ConfusionVerdict] = {}
    for unit in units:
        if unit.verdict:
            for number in unit.numbers[:1] if unit.verdict.confusing else unit.numbers:
                found[number] = _both(found.get(number), unit.verdict) or unit.verdict
    return found


def _both(one: ConfusionVerdict | None, other: ConfusionVerdict | None) -> ConfusionVerdict | None:
    """The verdict of two entries on the same words."""
    if one is None or other is None:
        return one or other
    return ConfusionVerdict(
        one.confusing or other.confusing,
        tuple(dict.fromkeys((*one.types, *other.types))),
        tuple(dict.fromkeys((*one.unknown, *other.unknown))),
        tuple(dict.fromkeys((*one.questions, *other.questions))),
    )


@dataclass(slots=True)
class _Text:
    """The words of a summary with a space around each, and where each of its sentences begins among them."""

    statements: Sequence[Statement]
    words: str = field(init=False)
    starts: list[int] = field(init=False)
    free: dict[str, list[int]] = field(init=False)
    """The places of the sentences of these words that no entry was found for yet, the first of them last."""
    heads: dict[int, dict[str, list[int]]] = field(default_factory=dict)
    """Where runs of so many words begin, so that a sentence is looked for only where its first words stand."""

    def __post_init__(self) -> None:
        keys = [words_key(statement.sentence) for statement in self.statements]
        self.words = " " + "".join(f"{key} " for key in keys)
        self.starts = list(accumulate((len(key) + 1 for key in keys), initial=1))
        self.free = {}
        for at in reversed(range(len(keys))):
            self.free.setdefault(keys[at], []).append(at)

    def stretch(self, sentence: str) -> tuple[int, int]:
        """Where the words of a sentence stand; nowhere where they do not."""
        key = words_key(sentence)
        if free := self.free.get(key):
            start = self.starts[free.pop()]
        else:
            start = next((at for at in self.begun(key) if self.words.startswith(f"{key} ", at)), 0)
        return start, start + len(key) if start else 0

    def begun(self, key: str) -> Sequence[int]:
        """Where the first words of a sentence stand."""
        first = key.split(" ")[:_HEAD] if key else []
        if len(first) not in self.heads:
            starts: dict[str, list[int]] = {}
            words = self.words.split()
            places = accumulate((len(word) + 1 for word in words), initial=1)
            for at, *run in zip(places, *(words[n:] for n in range(len(first))), strict=False):
                starts.setdefault(" ".join(run), []).append(at)
            self.heads[len(first)] = starts
        return self.heads[len(first)].get(" ".join(first), ()) if first else ()

    def over(self, start: int, end: int) -> list[int]:
        """The sentences that a stretch is in, that with the largest part of it first."""
        if not start:
            return []
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, end - 1) - 1
        begins = self.starts
        places = sorted(range(first, last + 1), key=lambda at: max(start, begins[at]) - min(end, begins[at + 1]))
        return [self.statements[at].id for at in places]

    def ends_at(self, start: int, end: int) -> bool:
        """Whether a stretch is exactly a sentence."""
        at = bisect_right(self.starts, start) - 1
        return self.starts[at] == start and self.starts[at + 1] == end + 1
