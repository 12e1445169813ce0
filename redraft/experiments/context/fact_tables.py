"""Tables of facts: what became of them from step to step, by section, how far they are borne out, by contestant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from redraft.evaluators.metric_info import LEAST_SHARE
from redraft.experiments.context.changes import (
    ALL_STEPS,
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
from redraft.experiments.context.facts import ALIGNMENT
from redraft.experiments.context.records import (
    LOWER,
    UPPER,
    ContextContestant,
    ContextItem,
    Fact,
    contestants_of,
    half_of,
    with_before,
)
from redraft.experiments.pooled import COLUMNS, Both, difference, how
from redraft.experiments.tables import Row, table
from redraft.reports.tables import mean

VERIFICATION = "verification"
Share = tuple[float, float]
"""A part of a whole."""
Kind = tuple[str, str]
"""What is looked at, and by which measure."""
_EXPECTED = tuple(f"expected {fate}" for fate in FATES)
_ACCURACY = ("facts", "supported", "verified", "unjudged", "likeness", "in reference", "aligned")


def compared(items: Sequence[ContextItem]) -> Iterator[tuple[ContextItem, str, Mapping[str, Change]]]:
    """Each pair of neighbouring steps by each measure."""
    for item, before in with_before(items):
        for by in item.compared if before else ():
            assert before is not None
            yield item, by.measure, changes(item, before, by)


def fact_basis(items: Sequence[ContextItem], measure: str) -> str:
    """What the tables of facts rest on."""
    known = [item for item in items if item.facts is not None]
    facts, unsplit = sum(len(item.facts or ()) for item in known), sum(item.unsplit for item in known)
    sentences = sum(len(item.told or ()) for item in known)
    return (
        f"Rests on {facts} facts of {len(known)} of {len(items)} summaries; {unsplit} of {sentences} sentences were not"
        f" taken apart. Likeness: {measure}; alignment: a judge says whether the other summary states the fact."
    )


@table(
    "fact_changes",
    "Facts that match, are lost, or are new, from one step to the next",
    "Matching are the facts of this step that were there at the step before, new are the others; lost are those of the"
    " step before that are gone, and kept those of them that are not: as many as match, seen from the other side."
    " Sections are thirds of what is read at this step, and what was added to it. Expected is what as many facts with a"
    " place would give that are spread evenly over what is read: new in what was added alone, and as large a share of"
    " those before lost.",
    ("document", "contestant", "measure", "step", "until", "section", *FATES, "kept", "unjudged", *_EXPECTED),
    fact_basis,
)
def changes_table(items: Sequence[ContextItem], measure: str) -> Iterator[Row]:  # noqa: ARG001 - the basis has it
    """What became of facts at each step, by section."""
    for item, by, found in compared(items):
        for section in SECTIONS:
            change = found[section]
            head = (item.title, item.contestant.name, by, item.step.number, item.step.tokens, section)
            expected = change.expected or (None, None, None)
            yield (*head, *change.found, change.kept, change.unjudged, *expected)


@table(
    "fact_shares",
    "Which shares of the facts match, are lost, or are new",
    "Of all that match, are lost or are new, over all steps but the first, and over either half of the steps. There are"
    " no shares without a verdict on half of the facts.",
    ("contestant", "measure", "steps", "section", *FATES, *_EXPECTED, "facts", "unjudged"),
    fact_basis,
)
def shares_table(items: Sequence[ContextItem], measure: str) -> Iterator[Row]:  # noqa: ARG001 - the basis has it
    """The shares of the three fates over all steps, and half against half."""
    known = list(compared(items))
    for contestant in contestants_of(items):
        for by in dict.fromkeys(one for _, one, _ in known):
            own = [(item, found) for item, one, found in known if item.contestant == contestant and one == by]
            for part in (ALL_STEPS, LOWER, UPPER):
                chosen = [found for item, found in own if part in (ALL_STEPS, half_of(item, items))]
                for section in SECTIONS:
                    sums = total(found[section] for found in chosen)
                    expected = sums.expected.shares if sums.expected else [None] * 3
                    counts = (sum(sums.found), sums.unjudged)
                    yield (contestant.name, by, part, section, *sums.shares, *expected, *counts)


@table(
    "fact_accuracy",
    "How far facts are borne out, by thirds of what was read",
    "Supported is the share of the facts with a verdict that the place bears out to which their sentence was traced,"
    " with the passages beside it. Likeness is the mean of each fact's to the fact of the reference that is most like"
    " it, and in the reference the share that it states, by the alignment prompt. Unjudged are facts without a verdict"
    " of their place, those from no place among them. What rests on verdicts on fewer than half of the facts that could"
    " have one is not shown.",
    ("contestant", "section", *_ACCURACY),
    fact_basis,
)
def accuracy_table(items: Sequence[ContextItem], measure: str) -> Iterator[Row]:  # noqa: ARG001 - the basis has it
    """How far facts are borne out, by where they are."""
    for contestant in contestants_of(items):
        own = [item for item in items if item.contestant == contestant]
        placed = [(_section(fact, item), fact) for item in own for fact in item.facts or ()]
        for section in (ANYWHERE, *THIRDS, NOWHERE):
            facts = [fact for where, fact in placed if section in (ANYWHERE, where)]
            yield (contestant.name, section, *_accuracy(facts))


@table(
    "fact_accuracy_steps",
    "How far facts are borne out, step by step",
    "As in the table by thirds, for each summary.",
    ("document", "contestant", "step", "until", *_ACCURACY),
    fact_basis,
)
def accuracy_steps_table(items: Sequence[ContextItem], measure: str) -> Iterator[Row]:  # noqa: ARG001 - the basis has it
    """How far the facts of each summary are borne out."""
    for item in items:
        if item.facts is not None:
            yield (item.title, item.contestant.name, item.step.number, item.step.tokens, *_accuracy(item.facts))


def _accuracy(facts: Sequence[Fact]) -> Row:
    verified = [float(one.supported) for one in facts if one.supported is not None]
    aligned = [float(one.in_reference) for one in facts if one.in_reference is not None]
    likeness = mean([one.likeness for one in facts])
    placed, unjudged = sum(one.place is not None for one in facts), len(facts) - len(verified)
    supported = _enough(verified, placed)
    return (len(facts), supported, len(verified), unjudged, likeness, _enough(aligned, len(facts)), len(aligned))


def _enough(verdicts: Sequence[float], items: int) -> float | None:
    """The mean of verdicts on half of the items or more."""
    return mean(verdicts) if len(verdicts) >= LEAST_SHARE * items else None


def _section(fact: Fact, item: ContextItem) -> str:
    """In which third of what was read a fact is."""
    at = fact.at(item.length)
    if at is None:
        return NOWHERE
    parts = zip(THIRDS, thirds(item.read), strict=True)
    return next((name for name, (_, end) in parts if at < end), THIRDS[-1])


@table(
    "fact_differences",
    "Paired differences of facts between contestants",
    "The share of the first contestant less that of the second, each pooled over the steps of the documents at which"
    " both have one: of facts that match, are lost or are new there; of those that their places bear out; and of those"
    f" that the reference states. Likeness is the mean to the nearest fact of the reference. {how('steps')}",
    ("first", "second", "figure", "measure", *COLUMNS, "steps", "documents", "drawn"),
    fact_basis,
)
def difference_table(items: Sequence[ContextItem], measure: str) -> Iterator[Row]:  # noqa: ARG001 - the basis has it
    """Every two contestants beside each other, at the steps at which both can be told."""
    known = {contestant: _shares(items, contestant) for contestant in contestants_of(items)}
    for first, second in combinations(known, 2):
        for kind, of_first in known[first].items():
            of_second = known[second].get(kind, {})
            pairs = [Both(place[0], share, of_second[place]) for place, share in of_first.items() if place in of_second]
            yield (first.name, second.name, *kind, *difference(pairs, "steps"))


def _shares(items: Sequence[ContextItem], contestant: ContextContestant) -> dict[Kind, dict[tuple[str, int], Share]]:
    """By figure and measure, what a contestant has at each step of each document."""
    own = [item for item in items if item.contestant == contestant]
    found: dict[Kind, dict[tuple[str, int], Share]] = {}
    for item, by, sections in compared(own):
        change = sections[ANYWHERE]
        if None not in change.shares:
            for fate, part in zip(FATES, change.found, strict=True):
                share = (float(part), float(sum(change.found)))
                found.setdefault((fate, by), {})[item.document, item.step.number] = share
    for item in own:
        for kind, share in _verdicts(item.facts or ()):
            found.setdefault(kind, {})[item.document, item.step.number] = share
    return found


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
