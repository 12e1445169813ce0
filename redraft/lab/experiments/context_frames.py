"""The items of the context experiment, and their frames: where summaries come from, and which facts they keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import fmean

from redraft.domain import Rounded, Span
from redraft.evaluators.metric_info import MIN_SHARE
from redraft.evaluators.reference.keyfacts import ALL
from redraft.evaluators.statistics import BINS
from redraft.lab.experiments import frames
from redraft.lab.experiments.experiment import NamedFrame
from redraft.lab.experiments.frames import Frame
from redraft.lab.experiments.questioner import THIRDS, ReadingStep
from redraft.lab.experiments.runner import Cell, Item, by_system
from redraft.text.origins import POINTS, OriginMass, density, shares, spread, spread_by_chance

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
class ContextItem(Item, label="{0.by}, step {0.step.number}", by="{0.model}, {0.strategy}", made="sentences"):
    """One system's summary at one step, or the reference summary of the document. A None field does not exist, or not
    yet."""

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
    def verdicts(self) -> tuple[int, int]:
        """The numbers of sentences that were split into facts, and that were not."""
        split_count = len(self.sentences or ()) if self.facts is not None else 0
        return split_count - self.unsplit, self.unsplit

    @property
    def read(self) -> float:
        """The share of the document that is read."""
        return self.end / self.length

    def masses(self, *, of_read: bool = False) -> list[OriginMass]:
        """Return the places of the summary, each at its middle as a share of the document or of what was read of it.
        The mass of a sentence is divided among its places by weight."""
        length, masses = self.end if of_read else self.length, []
        for sentence in self.sentences or ():
            total = sum(weight for _, weight in sentence.places) or 1.0
            for span, weight in sentence.places:
                masses.append(OriginMass((span.start + span.end) / 2 / length, weight / total))
        return masses


@dataclass(frozen=True, slots=True)
class StepPlan(Cell):
    """A document with its steps, the length of its summaries, and notes on them."""

    steps: tuple[ReadingStep, ...]
    words: int
    note: str = ""
    reference: ContextItem | None = None


def parts_of(item: ContextItem, items: Sequence[ContextItem]) -> tuple[str, ...]:
    """Return the groups of steps that an item is in: all, a half, and a third of them, the last with what is left. A
    reference is in the first."""
    if item.model == REFERENCE:
        return (ALL_STEPS,)
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
    return frames.frame_of(rows, () if rows else (*head_columns, *_CHANGE))


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
    sums = {name: sum(frames.values_of(changes[name])) for name in _CHANGE}
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

    return frames.by_group(change_frame(items), ("system", "measure"), rows_of)


def step_frame(items: Sequence[ContextItem]) -> Frame:
    """Return the shares of facts by step and section, over all documents (figures 6.2 to 6.5)."""

    def rows_of(changes: Frame) -> Iterator[dict[str, object]]:
        until = round(fmean(changes["until"]))
        for (section,), inside in frames.groups(changes, "section"):
            yield {"until": until, "section": section, **_pooled(inside)}

    changes = change_frame(items).sort_values(["system", "measure", "step"], kind="stable")
    return frames.by_group(changes, ("system", "measure", "step"), rows_of)


def accuracy_frame(items: Sequence[ContextItem]) -> Frame:
    """Return how many facts their places support, and how many the reference states, by third of what was read."""
    names = ("place", "supported", "likeness", "in_paragraph", "in_reference")
    rows = []
    for item in items:
        parts = [*zip(THIRDS, thirds(item.read), strict=True)]
        for fact in item.facts or ():
            at = fact.at(item.length)
            third = next((name for name, (_, end) in parts if at is not None and at < end), THIRDS[-1])
            row = {"system": item.by, "section": NOWHERE if at is None else third, "text": fact.text}
            rows.append({**row, **{name: getattr(fact, name) for name in names}})
    by = {"system": list(dict.fromkeys(item.by for item in items)), "section": (ALL, *THIRDS, NOWHERE)}
    facts = frames.frame_of(rows, ("system", "section", "text", *names))
    table = frames.summarize(facts, by, partial(frames.figures, "context", "fact_accuracy"))
    return table.replace({"section": {ALL: ANYWHERE}})


def _thirds(masses: Sequence[OriginMass]) -> list[float | None]:
    return list(shares(masses, 3)) if masses else [None] * 3


def with_references(items: Sequence[ContextItem], cells: Sequence[StepPlan]) -> dict[str, list[ContextItem]]:
    """Return the summaries of each system, and the references of their documents."""
    documents = {item.document for item in items}
    references = [cell.reference for cell in cells if cell.reference and cell.document.id in documents]
    has_places = any(reference.masses() for reference in references)
    return by_system(items) | ({REFERENCE: references} if has_places else {})


def masses_of(items: Sequence[ContextItem], part: str) -> list[OriginMass]:
    """Return where one system's summaries come from, over a part of the steps."""
    return [mass for item in items if part in parts_of(item, items) for mass in item.masses(of_read=True)]


def halves_frame(items: Sequence[ContextItem], cells: Sequence[StepPlan]) -> Frame:
    """Return the shares of thirds of what was read, over all steps and both halves, and their change (table 6.1)."""
    rows = []
    for system, summaries in with_references(items, cells).items():
        everywhere, lower, upper = (_thirds(masses_of(summaries, part)) for part in (ALL_STEPS, LOWER, UPPER))
        shares_by_form = {"{}": everywhere, "lower {}": lower, "upper {}": upper}
        shares_by_form["change {} (%)"] = list(map(frames.percent_change, lower, upper))
        row: dict[str, object] = {"system": system}
        for form, values in shares_by_form.items():
            row |= {form.format(place): value for place, value in zip(PLACES, values, strict=True)}
        done = [item.sentences is not None for item in summaries]
        rows.append({**row, "summaries": sum(done), "of": len(done)})
    return frames.frame_of(rows)


def position_frame(items: Sequence[ContextItem], cells: Sequence[StepPlan]) -> Frame:
    """Return where each summary comes from, by third of what was read and of the document, and how evenly."""
    rows = []
    for item in (*items, *(cell.reference for cell in cells if cell.reference)):
        is_reference, of_read = item.model == REFERENCE, item.masses(of_read=True)
        row: dict[str, object] = {"document": item.title, "system": REFERENCE if is_reference else item.by}
        row |= {"step": None if is_reference else item.step.number}
        row |= {"until": None if is_reference else item.step.tokens, "read": item.read, "words": item.words}
        located = sum(bool(sentence.places) for sentence in item.sentences or ())
        is_made, parts = item.sentences is not None, min(located, BINS)
        row |= {"sentences": len(item.sentences or ()) if is_made else None, "located": located if is_made else None}
        even = [overlap((0.0, item.read), third) / item.read for third in thirds(1.0)]
        for kind, values in (("read", _thirds(of_read)), ("whole", _thirds(item.masses())), ("expected", even)):
            row |= {f"{kind} {place}": values[at] for at, place in enumerate(PLACES)}
        row |= {"spread": spread(of_read, parts) if is_made else None}
        rows.append({**row, "by chance": spread_by_chance(located, parts) if is_made else None})
    return frames.frame_of(rows)


def density_frame(items: Sequence[ContextItem], cells: Sequence[StepPlan]) -> Frame:
    """Return the density of sources along what was read, of each system and of the references (figure 6.1)."""
    rows = (
        {"system": system, "steps": part, "place (%)": round(100 * (at + 0.5) / POINTS, 2), "density": height}
        for system, summaries in with_references(items, cells).items()
        for part in (ALL_STEPS, LOWER, UPPER)
        for at, height in enumerate(density(masses_of(summaries, part)))
    )
    return frames.frame_of(rows, ("system", "steps", "place (%)", "density"))


def context_frames(
    items: Sequence[ContextItem], cells: Sequence[StepPlan], sets: Mapping[str, str], *, with_facts: bool
) -> Iterator[NamedFrame]:
    """Yield the tables of places and facts, by dataset where there are `sets`."""
    yield "position_halves", frames.by_set(sets, items, partial(halves_frame, cells=cells))
    yield "positions", position_frame(items, cells)
    yield "position_densities", frames.by_set(sets, items, partial(density_frame, cells=cells))
    if with_facts:
        yield "fact_shares", frames.by_set(sets, items, share_frame)
        yield "fact_steps", frames.by_set(sets, items, step_frame)
        yield "fact_changes", change_frame(items).drop(columns="parts")
        yield "fact_accuracy", frames.by_set(sets, items, accuracy_frame)
