"""By how much one contestant differs from another in what becomes of its facts, and in how far they are borne out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from redraft.evaluators.goals import LEAST_SHARE
from redraft.experiments.context.changes import ANYWHERE, FATES, Counts
from redraft.experiments.context.fact_tables import compared, fact_basis
from redraft.experiments.context.facts import ALIGNMENT
from redraft.experiments.context.position_tables import contestants_of
from redraft.experiments.context.records import Contestant, Fact, Item
from redraft.experiments.pooled import COLUMNS, Both, difference, how
from redraft.reports.tables import Cell, Table

VERIFICATION = "verification"
Share = tuple[float, float]
"""A part of a whole."""
Kind = tuple[str, str]
"""What is looked at, and by which measure."""


def difference_table(items: Sequence[Item], measure: str) -> Table:
    """Every two contestants beside each other, at the steps at which both can be told."""
    known = {contestant: _shares(items, contestant) for contestant in contestants_of(items)}
    rows: list[tuple[Cell, ...]] = []
    for first, second in combinations(known, 2):
        for kind, of_first in known[first].items():
            of_second = known[second].get(kind, {})
            pairs = [Both(place[0], share, of_second[place]) for place, share in of_first.items() if place in of_second]
            rows.append((first.name, second.name, *kind, *difference(pairs, "steps")))
    return Table(
        "fact_differences",
        "Paired differences of facts between contestants",
        "The share of the first contestant less that of the second, each pooled over the steps of the documents at"
        " which both have one: of facts that match, are lost or are new there; of those that their places bear out; and"
        " of those that the reference states. Likeness is the mean to the nearest fact of the reference. "
        + how("steps"),
        fact_basis(items, measure),
        ("first", "second", "figure", "measure", *COLUMNS, "steps", "documents", "drawn"),
        tuple(rows),
    )


def _shares(items: Sequence[Item], contestant: Contestant) -> dict[Kind, dict[tuple[str, int], Share]]:
    """By figure and measure, what a contestant has at each step of each document."""
    own = [item for item in items if item.contestant == contestant]
    found: dict[Kind, dict[tuple[str, int], Share]] = {}
    for item, by, sections in compared(own):
        change = sections[ANYWHERE]
        if None not in change.shares:
            for fate, share in _fates(change.found).items():
                found.setdefault((fate, by), {})[item.document, item.step.number] = share
    for item in own:
        for kind, share in _verdicts(item.facts or ()):
            found.setdefault(kind, {})[item.document, item.step.number] = share
    return found


def _fates(counts: Counts) -> Mapping[str, Share]:
    return {fate: (float(part), float(sum(counts))) for fate, part in zip(FATES, counts, strict=True)}


def _verdicts(facts: Sequence[Fact]) -> Iterator[tuple[Kind, Share]]:
    """How many are borne out, stated by the reference and like it, where there are verdicts on half of them."""
    placed = sum(fact.place is not None for fact in facts)
    said = (
        (("supported", VERIFICATION), [fact.supported for fact in facts], placed),
        (("in reference", ALIGNMENT), [fact.in_reference for fact in facts], len(facts)),
        (("likeness", "reference"), [fact.likeness for fact in facts], len(facts)),
    )
    for kind, values, whole in said:
        known = [float(one) for one in values if one is not None]
        if known and len(known) >= LEAST_SHARE * whole:
            yield kind, (sum(known), float(len(known)))
