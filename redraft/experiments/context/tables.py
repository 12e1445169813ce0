"""Tables of where summaries come from (thesis, table 6.1 and figure 6.1), of cost and failures, and the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.keyfact_recall import KeyfactRecall
from redraft.evaluators.position import BINS
from redraft.experiments.context.changes import (
    ALL_STEPS,
    ANYWHERE,
    FATES,
    PLACES,
    REFERENCE,
    expected_thirds,
)
from redraft.experiments.context.design import CONTEXT, Design
from redraft.experiments.context.experiment import ContextOutcome, context
from redraft.experiments.context.fact_tables import (
    accuracy_steps_table,
    accuracy_table,
    changes_table,
    difference_table,
    shares_table,
)
from redraft.experiments.context.facts import ALIGNMENT
from redraft.experiments.context.planning import plan_table
from redraft.experiments.context.records import (
    LOWER,
    UPPER,
    ContextContestant,
    ContextItem,
    Course,
    contestants_of,
    half_of,
    series,
    with_before,
)
from redraft.experiments.experiment import Experiment
from redraft.experiments.records import by_status, failed
from redraft.experiments.tables import AGAIN, Record, Row, number, records_of, summed, table
from redraft.reports.tables import Cell, Table, plain, unmarked
from redraft.text.positions import POINTS, Mass, bins, density, shares, spread, spread_by_chance

# So many contestants have their lines among those that matter.
_MOST = 3
# What is done with facts, by the metric that does the same.
_LIKE = {
    KeyfactRecall.name: f"aligned as by {KeyfactRecall.name}",
    Faithfulness.name: f"verified as sentences are by {Faithfulness.name}",
}


def _basis(courses: Sequence[Course], items: Sequence[ContextItem]) -> str:  # noqa: ARG001 - as its tables
    """What the tables of positions rest on."""
    done = [item for item in items if item.told is not None]
    lost = sum(item.failure is not None for item in items)
    told, located = sum(len(item.told or ()) for item in done), sum(len(item.located) for item in done)
    return (
        f"Rests on {len(done)} of {len(items)} summaries; {lost} failed. {told - located} of {told} sentences come from"
        " no place, and are in no share."
    )


def _shares(found: Sequence[Mass]) -> list[Cell]:
    return list(shares(found, bins(3))) if found else [None] * 3


def _of_references(courses: Sequence[Course]) -> list[Mass]:
    known = [course.reference for course in courses if course.reference]
    return [mass for reference in known for one in reference.told for mass in one.masses(reference.length)]


def _masses(items: Sequence[ContextItem], contestant: ContextContestant, part: str) -> list[Mass]:
    chosen = [item for item in items if item.contestant == contestant and part in (ALL_STEPS, half_of(item, items))]
    return [mass for item in chosen for mass in item.masses(of_read=True)]


@table(
    "position_halves",
    "Thirds of what was read, and their change from the lower to the upper half of the steps (thesis, table 6.1)",
    "Shares of all located sentences of a contestant's summaries, over all steps and documents, over the first half of"
    " each document's steps (of thirteen, six), and over the rest. Change is that of the share, in % of it: 50 means"
    " half as much again. The reference is of the whole document.",
    (
        *("contestant", *PLACES, *(f"lower {place}" for place in PLACES), *(f"upper {place}" for place in PLACES)),
        *(*(f"change {place} (%)" for place in PLACES), "summaries", "of"),
    ),
    _basis,
)
def halves_table(courses: Sequence[Course], items: Sequence[ContextItem]) -> Iterator[Row]:
    """Of all steps of a contestant, the shares of thirds, and how they change from the lower to the upper half."""
    for contestant in contestants_of(items):
        whole, lower, upper = (_shares(_masses(items, contestant, part)) for part in (ALL_STEPS, LOWER, UPPER))
        own = [item for item in items if item.contestant == contestant]
        changes = [_change(one, other) for one, other in zip(lower, upper, strict=True)]
        done = sum(item.told is not None for item in own)
        yield (contestant.name, *whole, *lower, *upper, *changes, done, len(own))
    if found := _of_references(courses):
        known = sum(1 for course in courses if course.reference)
        yield (REFERENCE, *_shares(found), *[None] * 9, known, known)


def _change(lower: Cell, upper: Cell) -> float | None:
    """By how many percent of itself a share grows; None for one that was nothing."""
    if not isinstance(lower, float) or not isinstance(upper, float) or not lower:
        return None
    return 100 * (upper - lower) / lower


@table(
    "positions",
    "Where each summary comes from",
    "Shares of the sentences by thirds of what was read, where an even spread has a third in each, and by thirds of the"
    " whole document, beside what an even spread over what was read has in them. A sentence from several places is"
    " parted among them by weight. Spread is the entropy over tenths of what was read, or as many parts as there are"
    " sentences, against that of an even spread; by chance is what as many sentences from anywhere would have.",
    (
        *("document", "contestant", "step", "until", "read", "words", "sentences", "located"),
        *(f"{kind} {place}" for kind in ("read", "whole", "expected") for place in PLACES),
        *("spread", "by chance"),
    ),
    _basis,
)
def positions_table(courses: Sequence[Course], items: Sequence[ContextItem]) -> Iterator[Row]:
    """Each summary, and the reference."""
    for item in items:
        head = (item.title, item.contestant.name, item.step.number, item.step.tokens, item.read, item.words)
        if item.told is None:
            yield (*head, None, None, *[None] * 6, *expected_thirds(item.read), None, None)
        else:
            of_read, told = item.masses(of_read=True), (len(item.told), len(item.located))
            yield (*head, *told, *_placed(len(item.located), of_read, item.masses(), item.read))
    for course in courses:
        if (it := course.reference) is not None:
            found, count = _of_references([course]), sum(1 for one in it.told if one.places)
            known = (len(it.told), count, *_placed(count, found, found, 1.0))
            yield (course.title, REFERENCE, None, None, 1.0, it.words, *known)


def _placed(count: int, of_read: Sequence[Mass], of_whole: Sequence[Mass], read: float) -> Row:
    parts = min(count, BINS)
    spreads = (spread(of_read, parts), spread_by_chance(count, parts))
    return (*_shares(of_read), *_shares(of_whole), *expected_thirds(read), *spreads)


@table(
    "position_densities",
    "From where in what was read the summaries come (thesis, figure 6.1)",
    "Density along what was read, from its beginning (0) to its end (100), over all steps and over either half of them;"
    " 1 is an even spread.",
    ("contestant", "steps", "place (%)", "density"),
    _basis,
)
def densities_table(courses: Sequence[Course], items: Sequence[ContextItem]) -> Iterator[Row]:
    """The curves, point by point."""
    curves = {
        (contestant.name, part): _masses(items, contestant, part)
        for contestant in contestants_of(items)
        for part in (ALL_STEPS, LOWER, UPPER)
    }
    for who, found in {**curves, (REFERENCE, ALL_STEPS): _of_references(courses)}.items():
        for at, height in enumerate(density(found)):
            yield (*who, round(100 * (at + 0.5) / POINTS, 2), height)


@table(
    "cost",
    "What it took",
    "Drafting by contestant, and judging the facts of all of them. Answers from the cache cost nothing; where a price"
    " is not known, neither is the cost.",
    ("document", "work", "calls", "cached", "prompt tokens", "reply tokens", "USD"),
    lambda it: f"Rests on {sum(one.usage is not None for one in it.items)} of {len(it.items)} summaries.",
)
def cost_table(outcome: ContextOutcome) -> Iterator[Row]:
    """What drafting and judging took."""
    for group in series(outcome.items):
        yield (group[0].title, group[0].contestant.name, *summed(item.usage for item in group))
    for course in outcome.courses:
        if course.usage:
            yield (course.title, "facts", *summed([course.usage]))


@table(
    "failures",
    "What failed",
    AGAIN,
    ("document", "what", "step", "stage", "code", "message"),
    lambda outcome: f"Rests on {len(outcome.items)} summaries.",
)
def failure_table(outcome: ContextOutcome) -> Iterator[Row]:
    """What failed."""
    for item in outcome.items:
        if item.failure:
            yield (item.title, item.contestant.name, item.step.number, *failed(item.failure))
    for course in outcome.courses:
        for what, lost in course.failures.items():
            yield (course.title, what, None, *failed(lost))


def _tables(outcome: ContextOutcome) -> Iterator[Table]:
    courses, items, measure = outcome.courses, outcome.items, outcome.measure
    yield halves_table(courses, items)
    yield positions_table(courses, items)
    yield densities_table(courses, items)
    if outcome.design.facts:
        for of_facts in (shares_table, changes_table, accuracy_table, accuracy_steps_table):
            yield of_facts(items, measure)
        if len(outcome.design.contestants) > 1:
            yield difference_table(items, measure)
    yield cost_table(outcome)
    yield failure_table(outcome)


def _settings(outcome: ContextOutcome) -> Mapping[str, object]:
    design = outcome.design
    return {
        "models": [one.name for one in design.models],
        "strategies": list(design.strategies),
        "judge": design.judge.name if design.facts else None,
        "measure": outcome.measure,
        "embeddings": design.embeddings,
        "drafting": {one.name: one.to_json() for one in design.models},
        "documents": [course.to_json() for course in outcome.courses],
        "certificates": [one.to_json() for one in outcome.certificates],
    }


def _about(outcome: ContextOutcome) -> Iterator[str]:
    design, courses = outcome.design, outcome.courses
    yield f"contestants: {'; '.join(plain(one.name) for one in design.contestants)}"
    for course in courses:
        steps = f"{len(course.steps)} steps up to {course.steps[-1].tokens:,} tokens"
        yield f"{plain(course.title)}: {steps}, summaries of at most {course.words} words"
    yield from (f"note: {plain(course.title)} {course.note}" for course in courses if course.note)
    yield _counted(outcome)
    yield "tokens are counted by each model's own vocabulary; a step ends with the last sentence that is whole by then"
    if design.facts:
        yield f"facts: taken apart and judged by {plain(design.judge.name)}; the same is {plain(outcome.measure)}"
    yield from (f"facts are {_LIKE[one.metric]}, judged by {unmarked(one.line())}" for one in outcome.certificates)


def _counted(outcome: ContextOutcome) -> str:
    return f"summaries: {len(outcome.items)} (contestants × steps): {by_status(outcome.items)}"


def _headline(outcome: ContextOutcome, tables: Sequence[Table]) -> Iterator[str]:
    """By contestant its thirds with their change, and what became of its facts; what is missing."""
    records = {table.name: records_of(table) for table in tables}
    contestants = outcome.design.contestants
    shown = [one.name for one in contestants[:_MOST]]
    for one in records["position_halves"]:
        if one["contestant"] in (*shown, REFERENCE):
            change = " / ".join(_signed(one[f"change {place} (%)"]) for place in PLACES)
            later = "" if one["contestant"] == REFERENCE else f", later steps {change}"
            yield f"{plain(str(one['contestant']))}: sentences by thirds {_percents(one, PLACES)}{later}"
    for one in records.get("fact_shares", ()):
        whole = (one["steps"], one["section"], one["measure"]) == (ALL_STEPS, ANYWHERE, ALIGNMENT)
        if one["contestant"] in shown and whole and one["facts"]:
            even = _percents(one, [f"expected {fate}" for fate in FATES])
            yield (
                f"{plain(str(one['contestant']))}: facts matching, lost, new {_percents(one, FATES)} by"
                f" {plain(str(one['measure']))}; an even spread has {even}"
            )
    if (more := len(contestants) - _MOST) > 0:
        yield f"and {more} more contestants"
    yield _counted(outcome)


def _percents(one: Record, names: Sequence[str]) -> str:
    values = [number(one[name]) for name in names]
    return " / ".join("–" if value is None else f"{100 * value:.0f}" for value in values) + " %"


def _signed(cell: Cell) -> str:
    value = number(cell)
    return "–" if value is None else f"{round(value):+d} %" if round(value) else "0 %"


EXPERIMENT: Experiment[Design, ContextOutcome] = Experiment(
    CONTEXT,
    "One document, read further step by step: where summaries come from, and what becomes of their facts",
    run=context,
    plan=plan_table,
    is_some=lambda outcome: any(item.status == "done" for item in outcome.items),
    about=_about,
    settings=_settings,
    tables=_tables,
    items=lambda outcome: [one for item, before in with_before(outcome.items) for one in item.to_json(before)],
    headline=_headline,
)
