"""Tables of facts: what became of them from step to step, by section, and how far they are borne out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from redraft.evaluators.goals import LEAST_SHARE
from redraft.experiments.context.changes import (
    ANYWHERE,
    FATES,
    NOWHERE,
    SECTIONS,
    THIRDS,
    Change,
    changes,
    thirds,
    total,
)
from redraft.experiments.context.position_tables import ALL, LOWER, UPPER, contestants_of, half_of
from redraft.experiments.context.records import Fact, Item, series
from redraft.reports.tables import Cell, Table, mean


def compared(items: Sequence[Item]) -> Iterator[tuple[Item, str, Mapping[str, Change]]]:
    """Each pair of neighbouring steps by each measure."""
    for group in series(items):
        for before, item in pairwise(group):
            for compared in item.compared:
                yield item, compared.measure, changes(item, before, compared)


def fact_basis(items: Sequence[Item], measure: str) -> str:
    """What the tables of facts rest on."""
    known = [item for item in items if item.facts is not None]
    facts, unsplit = sum(len(item.facts or ()) for item in known), sum(item.unsplit for item in known)
    sentences = sum(len(item.told or ()) for item in known)
    return (
        f"Rests on {facts} facts of {len(known)} of {len(items)} summaries; {unsplit} of {sentences} sentences were not"
        f" taken apart. Likeness: {measure}; alignment: a judge says whether the other summary states the fact."
    )


def changes_table(items: Sequence[Item], measure: str) -> Table:
    """What became of facts at each step, by section."""
    rows: list[tuple[Cell, ...]] = []
    for item, by, found in compared(items):
        for section in SECTIONS:
            change = found[section]
            expected = change.expected or (None, None, None)
            head = (item.title, item.contestant.name, by, item.step.number, item.step.tokens, section)
            rows.append((*head, *change.found, change.kept, change.unjudged, *expected))
    return Table(
        "fact_changes",
        "Facts that match, are lost, or are new, from one step to the next",
        "Matching are the facts of this step that were there at the step before, new are the others; lost are those of"
        " the step before that are gone, and kept those of them that are not: as many as match, seen from the other"
        " side. Sections are thirds of what is read at this step, and what was added to it. Expected is what as many"
        " facts with a place would give that are spread evenly over what is read: new in what was added alone, and as"
        " large a share of those before lost.",
        fact_basis(items, measure),
        (
            *("document", "contestant", "measure", "step", "until", "section", *FATES, "kept", "unjudged"),
            *(f"expected {fate}" for fate in FATES),
        ),
        tuple(rows),
    )


def shares_table(items: Sequence[Item], measure: str) -> Table:
    """The shares of the three fates over all steps, and half against half."""
    rows: list[tuple[Cell, ...]] = []
    known = list(compared(items))
    for contestant in contestants_of(items):
        for by in dict.fromkeys(one for _, one, _ in known):
            own = [(item, found) for item, one, found in known if item.contestant == contestant and one == by]
            for part in (ALL, LOWER, UPPER):
                chosen = [found for item, found in own if part in (ALL, half_of(item, items))]
                for section in SECTIONS:
                    sums = total(found[section] for found in chosen)
                    expected = sums.expected.shares if sums.expected else [None] * 3
                    counts = (sum(sums.found), sums.unjudged)
                    rows.append((contestant.name, by, part, section, *sums.shares, *expected, *counts))
    return Table(
        "fact_shares",
        "Which shares of the facts match, are lost, or are new",
        "Of all that match, are lost or are new, over all steps but the first, and over either half of the steps."
        " There are no shares without a verdict on half of the facts.",
        fact_basis(items, measure),
        (
            *("contestant", "measure", "steps", "section", *FATES),
            *(f"expected {fate}" for fate in FATES),
            *("facts", "unjudged"),
        ),
        tuple(rows),
    )


def accuracy_table(items: Sequence[Item], measure: str) -> Table:
    """How far facts are borne out, by where they are."""
    rows: list[tuple[Cell, ...]] = []
    for contestant in contestants_of(items):
        placed = [
            (_section(fact, item), fact) for item in items if item.contestant == contestant for fact in item.facts or ()
        ]
        for section in (ANYWHERE, *THIRDS, NOWHERE):
            own = [fact for where, fact in placed if section in (ANYWHERE, where)]
            rows.append((contestant.name, section, *_accuracy(own)))
    return Table(
        "fact_accuracy",
        "How far facts are borne out, by thirds of what was read",
        "Supported is the share of the facts with a verdict that the place bears out to which their sentence was"
        " traced, with the passages beside it. Likeness is the mean of each fact's to the fact of the reference that"
        " is most like it, and in the reference the share that it states, by the alignment prompt. Unjudged are facts"
        " without a verdict of their place, those from no place among them. What rests on verdicts on fewer than half"
        " of the facts that could have one is not shown.",
        fact_basis(items, measure),
        ("contestant", "section", *_ACCURACY),
        tuple(rows),
    )


_ACCURACY = ("facts", "supported", "verified", "unjudged", "likeness", "in reference", "aligned")


def accuracy_steps_table(items: Sequence[Item], measure: str) -> Table:
    """How far the facts of each summary are borne out."""
    rows: list[tuple[Cell, ...]] = [
        (item.title, item.contestant.name, item.step.number, item.step.tokens, *_accuracy(item.facts))
        for item in items
        if item.facts is not None
    ]
    return Table(
        "fact_accuracy_steps",
        "How far facts are borne out, step by step",
        "As in the table by thirds, for each summary.",
        fact_basis(items, measure),
        ("document", "contestant", "step", "until", *_ACCURACY),
        tuple(rows),
    )


def _accuracy(facts: Sequence[Fact]) -> tuple[Cell, ...]:
    verified = [float(one.supported) for one in facts if one.supported is not None]
    aligned = [float(one.in_reference) for one in facts if one.in_reference is not None]
    likeness = mean([one.likeness for one in facts])
    placed, unjudged = sum(one.place is not None for one in facts), len(facts) - len(verified)
    supported = _enough(verified, placed)
    return (len(facts), supported, len(verified), unjudged, likeness, _enough(aligned, len(facts)), len(aligned))


def _enough(verdicts: Sequence[float], items: int) -> float | None:
    """The mean of verdicts on half of the items or more."""
    return mean(verdicts) if len(verdicts) >= LEAST_SHARE * items else None


def _section(fact: Fact, item: Item) -> str:
    """In which third of what was read a fact is."""
    at = fact.at(item.length)
    if at is None:
        return NOWHERE
    parts = zip(THIRDS, thirds(item.read), strict=True)
    return next((name for name, (_, end) in parts if at < end), THIRDS[-1])
