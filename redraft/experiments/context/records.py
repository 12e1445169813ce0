"""What came of each summary of a growing span: its sentences and their places, its facts, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from redraft.domain import Span, Totals
from redraft.experiments.context.steps import Step
from redraft.experiments.records import json_of, status_of
from redraft.runs.experiment_runner import Failure
from redraft.text.positions import Mass

LOWER, UPPER = "lower half", "upper half"
"""The halves of the steps of a document."""


class ContextContestant(NamedTuple):
    """Who summarizes, and how."""

    model: str
    strategy: str

    @property
    def name(self) -> str:
        """What it is called in tables and pictures."""
        return f"{self.model}, {self.strategy}"


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence of a summary, what it points back to, and the places of the document that it comes from."""

    number: int
    text: str
    before: str
    places: tuple[tuple[Span, float], ...]
    """Each with its weight, the best first; none where it comes from nowhere."""

    def masses(self, length: int) -> list[Mass]:
        """The sentence, parted among its places by their weight; these by their middle, as a share of `length`."""
        whole = sum(weight for _, weight in self.places) or 1.0
        return [Mass((span.start + span.end) / 2 / length, weight / whole) for span, weight in self.places]


@dataclass(frozen=True, slots=True)
class Fact:
    """An atomic fact of a summary."""

    text: str
    sentence: int
    place: Span | None
    """The best place of its sentence."""
    supported: bool | None = None
    """Whether the place bears it out; None where nobody has said, or there is no place."""
    category: str = ""
    """What is wrong with it, where something is."""
    likeness: float | None = None
    """To the fact of the reference that is most like it."""
    in_reference: bool | None = None
    """Whether the reference states it, by the alignment prompt."""

    def at(self, length: int) -> float | None:
        """The middle of its place, as a share of the document."""
        return (self.place.start + self.place.end) / 2 / length if self.place else None


@dataclass(frozen=True, slots=True)
class Compared:
    """The facts of a summary beside those of the step before, by one measure, in both directions."""

    measure: str
    threshold: float | None
    kept: tuple[bool | None, ...]
    """Of each fact of the step before, whether it is there again; None where the measure does not tell."""
    known: tuple[bool | None, ...]
    """Of each fact of this step, whether it was there before."""


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One contestant's summary at one step. None is what there is not, or not yet."""

    document: str
    title: str
    length: int
    """The characters of the document."""
    contestant: ContextContestant
    step: Step
    end: int
    """Where that ends which is read, in characters of the document."""
    run: str | None = None
    usage: Totals | None = None
    words: int | None = None
    gaps: int = 0
    told: tuple[Told, ...] | None = None
    facts: tuple[Fact, ...] | None = None
    unsplit: int = 0
    """The sentences that nobody has taken apart."""
    compared: tuple[Compared, ...] = ()
    failure: Failure | None = None

    @property
    def read(self) -> float:
        """Which share of the document is read."""
        return self.end / self.length

    @property
    def status(self) -> str:
        """Whether its summary is `done`, has `failed`, or was `not made`."""
        return status_of(self.failure, done=self.told is not None)

    @property
    def located(self) -> list[Told]:
        """The sentences that come from somewhere."""
        return [one for one in self.told or () if one.places]

    def masses(self, *, of_read: bool = False) -> list[Mass]:
        """The places of the summary, as shares of the document or of what was read of it."""
        length = self.end if of_read else self.length
        return [mass for one in self.located for mass in one.masses(length)]

    def to_json(self, before: ContextItem | None) -> list[dict[str, object]]:
        """The records in `items.json`: the summary, each of its sentences, and each of its facts."""
        head = json_of(self, "document title model=contestant.model strategy=contestant.strategy step=step.number")
        summary = {
            **head,
            "kind": "summary",
            **json_of(self, "until=step.tokens end length status run words gaps"),
            "sentences": None if self.told is None else len(self.told),
            "located": None if self.told is None else len(self.located),
            "facts": None if self.facts is None else len(self.facts),
            **json_of(self, "unsplit usage failure"),
        }
        sentences = [{**head, "kind": "sentence", **_sentence_json(one)} for one in self.told or ()]
        facts = [
            {**head, "kind": "fact", **json_of(one, _FACT), **_fate(self, before, at)}
            for at, one in enumerate(self.facts or ())
        ]
        return [summary, *sentences, *facts]


def _sentence_json(one: Told) -> dict[str, object]:
    places = [[*span, round(weight, 3)] for span, weight in one.places]
    return {"number": one.number, "text": one.text, "places": places}


_FACT = "number=sentence text place supported category likeness in_reference"


def _fate(item: ContextItem, before: ContextItem | None, at: int) -> dict[str, object]:
    """Whether the fact was there at the step before, by each measure."""
    return {f"known ({one.measure})": one.known[at] for one in item.compared} if before else {}


@dataclass(frozen=True, slots=True)
class Reference:
    """A summary that somebody else has written of a document: the baseline."""

    words: int
    told: tuple[Told, ...]
    length: int
    facts: tuple[Fact, ...] | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """A document with its steps, the length of its summaries, and what there is to say of them."""

    document: str
    title: str
    tokens: int
    steps: tuple[Step, ...]
    words: int
    note: str = ""
    reference: Reference | None = None
    run: str | None = None
    """The run in which facts were judged."""
    usage: Totals | None = None
    failures: Mapping[str, Failure] = field(default_factory=dict)
    """What went wrong with the facts, by what was asked."""

    def to_json(self) -> dict[str, object]:
        """The document as programs read it."""
        steps, reference = [step.tokens for step in self.steps], self.reference is not None
        keys = "id=document title tokens words steps: note reference: run"
        return json_of(self, keys, steps=steps, reference=reference)


def contestants_of(items: Sequence[ContextItem]) -> list[ContextContestant]:
    """The contestants, in the order in which they were named."""
    return list(dict.fromkeys(item.contestant for item in items))


def half_of(item: ContextItem, items: Sequence[ContextItem]) -> str:
    """In which half of its document's steps an item is."""
    steps = max(one.step.number for one in items if one.document == item.document)
    return LOWER if item.step.number <= steps // 2 else UPPER


def with_before(items: Sequence[ContextItem]) -> list[tuple[ContextItem, ContextItem | None]]:
    """The items, each with that of the step before."""
    before = {id(now): then for group in series(items) for then, now in pairwise(group)}
    return [(item, before.get(id(item))) for item in items]


def series(items: Sequence[ContextItem]) -> list[list[ContextItem]]:
    """The items of each contestant on each document, step by step."""
    groups: dict[tuple[str, ContextContestant], list[ContextItem]] = {}
    for item in items:
        groups.setdefault((item.document, item.contestant), []).append(item)
    return [sorted(group, key=lambda item: item.step.number) for group in groups.values()]
