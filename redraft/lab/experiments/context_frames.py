"""The items of the context experiment, and their frames: where summaries come from, and which facts they keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import ClassVar

from redraft.domain import Rounded, Span
from redraft.evaluators.metric_info import MIN_SHARE
from redraft.evaluators.position import BINS
from redraft.lab.experiments.frames import Frame, by_group, frame_of, groups, mean_of, percent_change, values_of
from redraft.lab.experiments.reading import ReadingStep
from redraft.lab.experiments.runner import Cell, Item
from redraft.lab.experiments.typed_questions import THIRDS
from redraft.text.origins import POINTS, OriginMass, bins, density, shares, spread, spread_by_chance

ALIGNMENT = "alignment"
"""The measure that asks a judge whether one summary states the facts of another."""
LOWER, UPPER = "lower half", "upper half"
"""The halves of the steps of a document."""
PHASES = ("first phase", "second phase", "third phase")
"""The thirds of the steps of a document; of the thesis's thirteen they have four, four and five."""
ALL_STEPS, REFERENCE = "all steps", "reference"
ANYWHERE, ADDED, NOWHERE = "anywhere", "added", "nowhere"
SECTIONS = (ANYWHERE, *THIRDS, ADDED, NOWHERE)
PLACES = ("1st", "2nd", "3rd")
"""The names in tables of the thirds of what was read."""
FATES = ("matching", "lost", "new")
_EXPECTED = tuple(f"expected {fate}" for fate in FATES)
Stretch = tuple[float, float]
"""A part of a document, as shares from 0 to 1."""


@dataclass(frozen=True, slots=True)
class SummarySentencePlaces:
    """A sentence of a summary, the sentence it refers back to, and its source places in the document."""

    number: int
    text: str
    before: str
    places: tuple[tuple[Span, Rounded], ...]
    """The places with their weights, the best first; empty if the sentence has no source."""

    def masses(self, length: int) -> list[OriginMass]:
        """Return the sentence's mass divided among its places by weight, each at its middle as a share of `length`."""
        total = sum(weight for _, weight in self.places) or 1.0
        return [OriginMass((span.start + span.end) / 2 / length, weight / total) for span, weight in self.places]


@dataclass(frozen=True, slots=True)
class AtomicFact:
    """An atomic fact of a summary."""

    text: str
    sentence: int
    place: Span | None
    """The best place of its sentence."""
    supported: bool | None = None
    """True if the place supports it; None without a verdict or a place."""
    category: str = ""
    """The category of error, if it has one."""
    likeness: float | None = None
    """The likeness to the most similar fact of the reference."""
    in_reference: bool | None = None
    """True if the reference states it, by the alignment prompt."""
    in_paragraph: float | None = None
    """The likeness to the most similar fact of the paragraph that it was traced to."""

    def at(self, length: int) -> float | None:
        """Return the middle of its place, as a share of the document; None without a place."""
        return (self.place.start + self.place.end) / 2 / length if self.place else None


@dataclass(frozen=True, slots=True)
class FactComparison:
    """The facts of a summary compared with those of the step before, by one measure, in both directions."""

    measure: str
    threshold: float | None
    kept: tuple[bool | None, ...]
    """For each fact of the step before, whether it is still there; None if the measure cannot tell."""
    known: tuple[bool | None, ...]
    """For each fact of this step, whether it was there before."""


@dataclass(frozen=True, slots=True)
class BaselineSummary:
    """The reference summary of a document, used as the baseline."""

    words: int
    sentences: tuple[SummarySentencePlaces, ...]
    length: int
    facts: tuple[AtomicFact, ...] | None = None

    @property
    def masses(self) -> list[OriginMass]:
        """The places of the summary, as shares of the document."""
        return [mass for sentence in self.sentences for mass in sentence.masses(self.length)]


@dataclass(frozen=True, slots=True)
class ContextItem(Item):
    """One system's summary at one step. A None field does not exist, or not yet."""

    label_form: ClassVar[str] = "{0.by}, step {0.step.number}"
    made_field: ClassVar[str] = "sentences"
    length: int
    """The length of the document, in characters."""
    model: str
    strategy: str
    step: ReadingStep
    end: int
    """The end of what is read, in characters of the document."""
    words: int | None = None
    gaps: int = 0
    sentences: tuple[SummarySentencePlaces, ...] | None = None
    facts: tuple[AtomicFact, ...] | None = None
    unsplit: int = 0
    """The number of sentences that were not split into facts."""
    compared: tuple[FactComparison, ...] = ()

    @property
    def by(self) -> str:
        """The system: the model and its strategy."""
        return f"{self.model}, {self.strategy}"

    @property
    def verdicts(self) -> tuple[int, int]:
        """The numbers of sentences that were split into facts, and that were not."""
        split_count = len(self.sentences or ()) if self.facts is not None else 0
        return split_count - self.unsplit, self.unsplit

    @property
    def read(self) -> float:
        """The share of the document that is read."""
        return self.end / self.length

    def masses(self, *, of_read: bool = False) -> list[OriginMass]:
        """Return the places of the summary, as shares of the document or of what was read of it."""
        length = self.end if of_read else self.length
        return [mass for sentence in self.sentences or () if sentence.places for mass in sentence.masses(length)]


@dataclass(frozen=True, slots=True)
class StepPlan(Cell):
    """A document with its steps, the length of its summaries, and notes on them."""

    tokens: int
    steps: tuple[ReadingStep, ...]
    words: int
    note: str = ""
    reference: BaselineSummary | None = None

    def as_json(self) -> dict[str, object]:
        """Return the document with its steps, and whether there is a reference."""
        plan = {"tokens": self.tokens, "words": self.words, "note": self.note, "reference": bool(self.reference)}
        return {**super(StepPlan, self).as_json(), **plan, "steps": [step.tokens for step in self.steps]}


def parts_of(item: ContextItem, items: Sequence[ContextItem]) -> tuple[str, str, str]:
    """Return the groups of steps that an item is in: all, a half, and a third of them, the last with what is left."""
    steps = max(sibling.step.number for sibling in items if sibling.document == item.document)
    phase = PHASES[min(len(PHASES) - 1, (item.step.number - 1) // max(1, steps // len(PHASES)))]
    return ALL_STEPS, LOWER if item.step.number <= steps // 2 else UPPER, phase


def series(items: Sequence[ContextItem]) -> list[list[ContextItem]]:
    """Return the items of each system on each document, in order of steps."""
    by_series: dict[tuple[str, str], list[ContextItem]] = {}
    for item in items:
        by_series.setdefault((item.document, item.by), []).append(item)
    return [sorted(group, key=lambda item: item.step.number) for group in by_series.values()]


def overlap(first: Stretch, second: Stretch) -> float:
    """Return the length of the intersection, as a share of the document."""
    return max(0.0, min(first[1], second[1]) - max(first[0], second[0]))


def thirds(end: float) -> list[Stretch]:
    """Return the thirds of what is read until `end`."""
    return [(end * at / 3, end * (at + 1) / 3) for at in range(3)]


Verdict = tuple[float | None, bool | None]
"""A fact's position in the document, None if unknown, and whether the other summary has it, None if not judged."""


_CHANGE = (*FATES, "kept", "unjudged", *_EXPECTED)


def change_frame(items: Sequence[ContextItem]) -> Frame:
    """Return for each step, measure and section how many facts match those of the step before, are lost and are new,
    and what an even spread would give."""
    rows = []
    for group in series(items):
        for before, item in pairwise(group):
            for compared in item.compared:
                now, then = (
                    [(fact.at(side.length), stated) for fact, stated in zip(side.facts or (), verdicts, strict=True)]
                    for side, verdicts in ((item, compared.known), (before, compared.kept))
                )
                head: dict[str, object] = {"document": item.title, "system": item.by, "measure": compared.measure}
                head |= {"step": item.step.number, "until": item.step.tokens, "parts": parts_of(item, items)}
                changes = {section: _change(section, now, then, before.read, item.read) for section in SECTIONS}
                rows += [{**head, "section": section, **change} for section, change in changes.items()]
    head_columns = ("document", "system", "measure", "step", "until", "parts", "section")
    return frame_of(rows, () if rows else (*head_columns, *_CHANGE))


def _change(section: str, now: Sequence[Verdict], then: Sequence[Verdict], old: float, end: float) -> dict[str, object]:
    """Return the change in one section from what was read until `old` to what is read until `end`.

    With an even spread, new facts come from the added text. The same share of the earlier facts gives way to them,
    wherever they are.
    """
    parts: dict[str, Stretch] = {ANYWHERE: (0.0, end), ADDED: (old, end)}
    parts.update(zip(THIRDS, thirds(end), strict=True))

    def inside(at: float | None) -> bool:
        if section in (ANYWHERE, NOWHERE):
            return section == ANYWHERE or at is None
        # The very end of what is read belongs to the last part.
        start, stop = parts[section]
        return at is not None and (start <= at < stop or (at >= end == stop))

    now_stated, then_stated = ([stated for at, stated in verdicts if inside(at)] for verdicts in (now, then))
    counts = (now_stated.count(True), then_stated.count(False), now_stated.count(False), then_stated.count(True))
    expected: tuple[float | None, ...] = (None, None, None)
    if section != NOWHERE:
        placed, lost = (sum(None not in verdict for verdict in side) for side in (now, then))
        in_old, added = overlap(parts[section], (0.0, old)), overlap(parts[section], (old, end))
        expected = (placed * in_old / end, lost * (end - old) / end * in_old / old, placed * added / end)
    return dict(zip(_CHANGE, (*counts, now_stated.count(None) + then_stated.count(None), *expected), strict=True))


def _pooled(changes: Frame) -> dict[str, object]:
    """Return the shares of facts that match, are lost and are new, those of an even spread, and the counts.

    There are no shares without verdicts on half of the facts.
    """
    sums = {name: sum(values_of(changes[name])) for name in _CHANGE}
    total, even = (sum(sums[name] for name in names) for names in (FATES, _EXPECTED))
    judged_count = total + sums["kept"]
    enough = total and judged_count >= MIN_SHARE * (judged_count + sums["unjudged"])
    shares_by_fate = {fate: sums[fate] / total if enough else None for fate in FATES}
    expected = {name: sums[name] / even if even else None for name in _EXPECTED}
    return {**shares_by_fate, **expected, "facts": total, "unjudged": sums["unjudged"]}


def share_frame(items: Sequence[ContextItem]) -> Frame:
    """Return the shares of facts over all steps, each half and each phase of them (figures 6.3a and 6.4b)."""

    def rows_of(changes: Frame) -> Iterator[dict[str, object]]:
        for part in (ALL_STEPS, LOWER, UPPER, *PHASES):
            inside = changes[[part in parts for parts in changes["parts"]]]
            for section in SECTIONS:
                yield {"steps": part, "section": section, **_pooled(inside[inside["section"] == section])}

    return by_group(change_frame(items), ("system", "measure"), rows_of)


def step_frame(items: Sequence[ContextItem]) -> Frame:
    """Return the shares of facts by step and section, over all documents (figures 6.2 to 6.5)."""

    def rows_of(changes: Frame) -> Iterator[dict[str, object]]:
        until = round(fmean(changes["until"]))
        for (section,), inside in groups(changes, "section"):
            yield {"until": until, "section": section, **_pooled(inside)}

    changes = change_frame(items).sort_values(["system", "measure", "step"], kind="stable")
    return by_group(changes, ("system", "measure", "step"), rows_of)


def accuracy_frame(items: Sequence[ContextItem]) -> Frame:
    """Return how many facts their places support, and how many the reference states, by third of what was read."""
    rows = []
    for system in dict.fromkeys(item.by for item in items):
        placed: list[tuple[str, AtomicFact]] = []
        for item in items:
            parts = [*zip(THIRDS, thirds(item.read), strict=True)]
            for fact in (item.facts or ()) if item.by == system else ():
                at = fact.at(item.length)
                third = next((name for name, (_, end) in parts if at is not None and at < end), THIRDS[-1])
                placed.append((NOWHERE if at is None else third, fact))
        for section in (ANYWHERE, *THIRDS, NOWHERE):
            facts = [fact for where, fact in placed if section in (ANYWHERE, where)]
            verified, aligned = (
                values_of(getattr(fact, name) for fact in facts) for name in ("supported", "in_reference")
            )
            traced = sum(fact.place is not None for fact in facts)
            rows.append(
                {
                    "system": system,
                    "section": section,
                    "facts": len(facts),
                    "supported": mean_of(verified) if len(verified) >= MIN_SHARE * traced else None,
                    "verified": len(verified),
                    "unjudged": len(facts) - len(verified),
                    "likeness": mean_of(fact.likeness for fact in facts),
                    "in paragraph": mean_of(fact.in_paragraph for fact in facts),
                    "in reference": mean_of(aligned) if len(aligned) >= MIN_SHARE * len(facts) else None,
                    "aligned": len(aligned),
                }
            )
    return frame_of(rows)


def _thirds(masses: Sequence[OriginMass]) -> list[float | None]:
    return list(shares(masses, bins(3))) if masses else [None] * 3


def _masses(items: Sequence[ContextItem], system: str, part: str) -> list[OriginMass]:
    """Return where one system's summaries come from, over a part of the steps."""
    return [
        mass
        for item in items
        if item.by == system and part in parts_of(item, items)
        for mass in item.masses(of_read=True)
    ]


def halves_frame(items: Sequence[ContextItem], cells: Sequence[StepPlan]) -> Frame:
    """Return the shares of thirds of what was read, over all steps and both halves, and their change (table 6.1)."""
    rows = []
    for system in dict.fromkeys(item.by for item in items):
        everywhere, lower, upper = (_thirds(_masses(items, system, part)) for part in (ALL_STEPS, LOWER, UPPER))
        done = [item.sentences is not None for item in items if item.by == system]
        rows.append({"system": system, **_halves(everywhere, lower, upper), "summaries": sum(done), "of": len(done)})
    references = [cell.reference for cell in cells if cell.reference]
    if masses := [mass for reference in references for mass in reference.masses]:
        nothing, count = [None] * 3, len(references)
        rows.append(
            {"system": REFERENCE, **_halves(_thirds(masses), nothing, nothing), "summaries": count, "of": count}
        )
    return frame_of(rows)


def _halves(
    everywhere: Sequence[float | None], lower: Sequence[float | None], upper: Sequence[float | None]
) -> dict[str, float | None]:
    changes = list(map(percent_change, lower, upper))
    names = ("{}", "lower {}", "upper {}", "change {} (%)")
    return {
        name.format(place): values[at]
        for name, values in zip(names, (everywhere, lower, upper, changes), strict=True)
        for at, place in enumerate(PLACES)
    }


def position_frame(items: Sequence[ContextItem], cells: Sequence[StepPlan]) -> Frame:
    """Return where each summary comes from, by third of what was read and of the document, and how evenly."""
    rows = []
    for item in items:
        head = {"document": item.title, "system": item.by, "step": item.step.number, "until": item.step.tokens}
        masses = item.masses(of_read=True), item.masses()
        rows.append({**head, "read": item.read, "words": item.words, **_places(item.sentences, *masses, item.read)})
    for cell in cells:
        if (reference := cell.reference) is not None:
            head = {"document": cell.document.title, "system": REFERENCE, "step": None, "until": None}
            places = _places(reference.sentences, reference.masses, reference.masses, 1.0)
            rows.append({**head, "read": 1.0, "words": reference.words, **places})
    return frame_of(rows)


def _places(
    sentences: Sequence[SummarySentencePlaces] | None,
    of_read: Sequence[OriginMass],
    of_whole: Sequence[OriginMass],
    end: float,
) -> dict[str, object]:
    located = sum(bool(sentence.places) for sentence in sentences or ())
    parts = min(located, BINS)
    even = [overlap((0.0, end), third) / end for third in thirds(1.0)]
    values = (("read", _thirds(of_read)), ("whole", _thirds(of_whole)), ("expected", even))
    counts = {
        "sentences": None if sentences is None else len(sentences),
        "located": None if sentences is None else located,
    }
    evenness = (spread(of_read, parts), spread_by_chance(located, parts)) if sentences is not None else (None, None)
    return {
        **counts,
        **{f"{kind} {place}": cells[at] for kind, cells in values for at, place in enumerate(PLACES)},
        **dict(zip(("spread", "by chance"), evenness, strict=True)),
    }


def density_frame(items: Sequence[ContextItem], cells: Sequence[StepPlan]) -> Frame:
    """Return the density of sources along what was read, of each system and of the references (figure 6.1)."""
    systems = dict.fromkeys(item.by for item in items)
    curves = {(system, part): _masses(items, system, part) for system in systems for part in (ALL_STEPS, LOWER, UPPER)}
    curves[REFERENCE, ALL_STEPS] = [mass for cell in cells if cell.reference for mass in cell.reference.masses]
    rows = (
        {"system": system, "steps": part, "place (%)": round(100 * (at + 0.5) / POINTS, 2), "density": height}
        for (system, part), masses in curves.items()
        for at, height in enumerate(density(masses))
    )
    return frame_of(rows, ("system", "steps", "place (%)", "density"))
