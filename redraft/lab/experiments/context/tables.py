"""The tables of facts: changes from step to step, by section, support by the source, and by contestant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from redraft.domain import record_json
from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.keyfact_recall import KeyfactRecall
from redraft.evaluators.metric_info import MIN_SHARE
from redraft.evaluators.position import BINS
from redraft.lab.experiments.context.experiment import (
    ALIGNMENT,
    ALL_STEPS,
    ANYWHERE,
    FATES,
    NOWHERE,
    PLACES,
    REFERENCE,
    SECTIONS,
    THIRDS,
    ContextOutcome,
    FactChange,
    context,
    expected_thirds,
    fact_changes,
    thirds,
    total_change,
)
from redraft.lab.experiments.context.records import (
    CONTEXT,
    LOWER,
    PHASES,
    UPPER,
    AtomicFact,
    ContextContestant,
    ContextDesign,
    ContextItem,
    StepPlan,
    half_of,
    phase_of,
    series,
    with_previous,
)
from redraft.lab.experiments.legacy import (
    AGAIN,
    SET,
    Experiment,
    Row,
    by_set,
    distinct,
    group_by,
    models_and_judge,
    more_line,
    percent_change,
    sum_fields,
    table,
    where,
)
from redraft.lab.experiments.runner import by_status, failure_cells
from redraft.report.tables import Cell, Record, Table, mean, number, plain, unmarked
from redraft.text.origins import POINTS, OriginMass, bins, density, shares, spread, spread_by_chance

_EXPECTED = tuple(f"expected {fate}" for fate in FATES)
_ACCURACY = ("facts", "supported", "verified", "unjudged", "likeness", "in reference", "aligned")


def neighbouring_steps(items: Sequence[ContextItem]) -> Iterator[tuple[ContextItem, str, Mapping[str, FactChange]]]:
    """Yield each pair of neighbouring steps by each measure."""
    for item, before in with_previous(items):
        for by in item.compared if before else ():
            assert before is not None
            yield item, by.measure, fact_changes(item, before, by)


def fact_basis(items: Sequence[ContextItem], measure: str) -> str:
    """Return what the tables of facts are based on."""
    context_items = [item for item in items if item.facts is not None]
    facts, unsplit = sum(len(item.facts or ()) for item in context_items), sum(item.unsplit for item in context_items)
    sentences = sum(len(item.sentences or ()) for item in context_items)
    return (
        f"Based on {facts} facts in {len(context_items)} of {len(items)} summaries; {unsplit} of {sentences} sentences"
        f" were not split into facts. Likeness: {measure}; alignment: a judge decides whether the other summary"
        " states the fact."
    )


@table(
    "fact_changes",
    "Facts kept, lost and new from one step to the next",
    "Matching: facts of this step that the previous step has too. New: facts that it does not have. Lost: facts"
    " of the previous step that are gone. Kept: facts of the previous step that are still there, which is"
    " matching counted from the other side. Sections are the thirds of the text read at this step, and the text"
    " added to it. Expected: what the same number of facts would give if they were spread evenly over the text"
    " read; new facts then come from the added text only, and an equal share of the earlier ones is lost.",
    ("document", "system", "measure", "step", "until", "section", *FATES, "kept", "unjudged", *_EXPECTED),
    fact_basis,
)
def changes_table(items: Sequence[ContextItem], measure: str) -> Iterator[Row]:  # noqa: ARG001 - the basis has it
    for item, by, found in neighbouring_steps(items):
        for section in SECTIONS:
            it = found[section]
            head = (item.title, item.contestant.name, by, item.step.number, item.step.tokens, section)
            yield (*head, *it.found, it.kept, it.unjudged, *(it.expected or (None, None, None)))


@table(
    "fact_shares",
    "Shares of facts kept, lost and new",
    "Shares of all facts that match, are lost or are new, over all steps but the first, over each half of the steps"
    " and over each of three phases (thesis, figures 6.3a and 6.4b). No share is shown where fewer than half of the"
    " facts have a verdict.",
    ("system", "measure", "steps", "section", *FATES, *_EXPECTED, "facts", "unjudged"),
    fact_basis,
)
def shares_table(items: Sequence[ContextItem], measure: str) -> Iterator[Row]:  # noqa: ARG001 - the basis has it
    known = list(neighbouring_steps(items))
    for contestant in distinct(items, "contestant"):
        for by in dict.fromkeys(one for _, one, _ in known):
            own = [(item, found) for item, one, found in known if item.contestant == contestant and one == by]
            parts = [((ALL_STEPS, half_of(item, items), phase_of(item, items)), found) for item, found in own]
            for part in (ALL_STEPS, LOWER, UPPER, *PHASES):
                for section, cells in _pooled([found for of, found in parts if part in of]):
                    yield (contestant.name, by, part, section, *cells)


@table(
    "fact_steps",
    "Shares of facts kept, lost and new by step and section (thesis, figures 6.2 to 6.5)",
    "Shares of all facts that match, are lost or are new, compared with the step before, pooled over documents. No"
    " share is shown where fewer than half of the facts have a verdict. Until is the mean over documents.",
    ("system", "measure", "step", "until", "section", *FATES, *_EXPECTED, "facts", "unjudged"),
    fact_basis,
)
def steps_table(items: Sequence[ContextItem], measure: str) -> Iterator[Row]:  # noqa: ARG001 - the basis has it
    known: dict[tuple[str, str, int], list[tuple[ContextItem, Mapping[str, FactChange]]]] = {}
    for item, by, found in neighbouring_steps(items):
        known.setdefault((item.contestant.name, by, item.step.number), []).append((item, found))
    for (who, by, step), own in sorted(known.items()):
        until = round(fmean(item.step.tokens for item, _ in own))
        for section, cells in _pooled([found for _, found in own]):
            yield (who, by, step, until, section, *cells)


def _pooled(changes: Sequence[Mapping[str, FactChange]]) -> Iterator[tuple[str, Row]]:
    """Yield each section with the shares of all its facts, those of an even spread, and how many facts there are."""
    for section in SECTIONS:
        sums = total_change(found[section] for found in changes)
        expected = sums.expected.shares if sums.expected else [None] * 3
        yield section, (*sums.shares, *expected, sum(sums.found), sums.unjudged)


@table(
    "fact_accuracy",
    "Accuracy of facts by third of the text read",
    "Supported: the share of judged facts that are confirmed by the passage their sentence was traced to and the"
    " passages next to it. Likeness: the mean similarity of each fact to the most similar fact of the reference."
    " In the reference: the share of facts that the reference states, by the alignment prompt. Unjudged: facts"
    " without a verdict, including those that were traced to no passage. Figures based on fewer than half of the"
    " possible verdicts are not shown.",
    ("system", "section", *_ACCURACY),
    fact_basis,
)
def accuracy_table(items: Sequence[ContextItem], measure: str) -> Iterator[Row]:  # noqa: ARG001 - the basis has it
    for contestant, context_items in group_by(items, "contestant").items():
        placed = [(_section(fact, item), fact) for item in context_items for fact in item.facts or ()]
        for section in (ANYWHERE, *THIRDS, NOWHERE):
            facts = [fact for where, fact in placed if section in (ANYWHERE, where)]
            yield (contestant.name, section, *_accuracy(facts))


def _accuracy(facts: Sequence[AtomicFact]) -> Row:
    verified = [float(fact.supported) for fact in facts if fact.supported is not None]
    aligned = [float(fact.in_reference) for fact in facts if fact.in_reference is not None]
    likeness = mean([fact.likeness for fact in facts])
    placed, unjudged = sum(fact.place is not None for fact in facts), len(facts) - len(verified)
    supported = _enough(verified, placed)
    return (len(facts), supported, len(verified), unjudged, likeness, _enough(aligned, len(facts)), len(aligned))


def _enough(verdicts: Sequence[float], items: int) -> float | None:
    """Return the mean of the verdicts; None if fewer than half of the items have one."""
    return mean(verdicts) if len(verdicts) >= MIN_SHARE * items else None


def _section(fact: AtomicFact, item: ContextItem) -> str:
    """Return which third of what was read a fact is in."""
    at = fact.at(item.length)
    if at is None:
        return NOWHERE
    parts = zip(THIRDS, thirds(item.read), strict=True)
    return next((name for name, (_, end) in parts if at < end), THIRDS[-1])


# The maximum number of contestants listed in the headline.
_MAX = 3
# What is done with facts, by the metric that does the same.
_LIKE = {
    KeyfactRecall.name: f"aligned as by {KeyfactRecall.name}",
    Faithfulness.name: f"verified as sentences are by {Faithfulness.name}",
}


def _basis(courses: Sequence[StepPlan], items: Sequence[ContextItem]) -> str:  # noqa: ARG001 - as its tables
    context_items = [item for item in items if item.sentences is not None]
    lost = sum(item.failure is not None for item in items)
    told, located = (
        sum(len(item.sentences or ()) for item in context_items),
        sum(len(item.located) for item in context_items),
    )
    return (
        f"Based on {len(context_items)} of {len(items)} summaries; {lost} failed. {told - located} of {told} sentences"
        " could not be traced to a place and are not part of any share."
    )


def _shares_of_tables(found: Sequence[OriginMass]) -> list[float | None]:
    return list(shares(found, bins(3))) if found else [None] * 3


def _of_references(courses: Sequence[StepPlan]) -> list[OriginMass]:
    baselines = [course.reference for course in courses if course.reference]
    return [
        mass for reference in baselines for places in reference.sentences for mass in places.masses(reference.length)
    ]


def _masses(items: Sequence[ContextItem], contestant: ContextContestant, part: str) -> list[OriginMass]:
    context_items = where(items, contestant=contestant)
    chosen = [item for item in context_items if part in (ALL_STEPS, half_of(item, items))]
    return [mass for item in chosen for mass in item.masses(of_read=True)]


@table(
    "position_halves",
    "Shares by third of the text read, and their change from the lower to the upper half of the steps (thesis,"
    " table 6.1)",
    "Shares of all located sentences of a system's summaries: over all steps and documents, over the first half"
    " of each document's steps (six of thirteen), and over the rest. Change is relative, in %: 50 means half as"
    " much again. The reference summarizes the whole document.",
    (
        *("system", *PLACES, *(f"lower {place}" for place in PLACES), *(f"upper {place}" for place in PLACES)),
        *(*(f"change {place} (%)" for place in PLACES), "summaries", "of"),
    ),
    _basis,
)
def halves_table(courses: Sequence[StepPlan], items: Sequence[ContextItem]) -> Iterator[Row]:
    for contestant in distinct(items, "contestant"):
        whole, lower, upper = (
            _shares_of_tables(_masses(items, contestant, part)) for part in (ALL_STEPS, LOWER, UPPER)
        )
        context_items = where(items, contestant=contestant)
        changes = map(percent_change, lower, upper)
        done = sum(item.sentences is not None for item in context_items)
        yield (contestant.name, *whole, *lower, *upper, *changes, done, len(context_items))
    if masses := _of_references(courses):
        known = sum(1 for course in courses if course.reference)
        yield (REFERENCE, *_shares_of_tables(masses), *[None] * 9, known, known)


@table(
    "positions",
    "Where each summary comes from",
    "Shares of sentences by third of the text read, where an even spread gives each a third, and by third of the"
    " whole document, next to what an even spread over the text read would give. A sentence with several sources"
    " is divided among them by weight. Spread: entropy over tenths of the text read (or as many parts as there"
    " are sentences), relative to an even spread. By chance: the spread of the same number of sentences drawn at"
    " random.",
    (
        *("document", "system", "step", "until", "read", "words", "sentences", "located"),
        *(f"{kind} {place}" for kind in ("read", "whole", "expected") for place in PLACES),
        *("spread", "by chance"),
    ),
    _basis,
)
def positions_table(courses: Sequence[StepPlan], items: Sequence[ContextItem]) -> Iterator[Row]:
    for item in items:
        head = (item.title, item.contestant.name, item.step.number, item.step.tokens, item.read, item.words)
        if item.sentences is None:
            yield (*head, None, None, *[None] * 6, *expected_thirds(item.read), None, None)
        else:
            of_read, told = item.masses(of_read=True), (len(item.sentences), len(item.located))
            yield (*head, *told, *_placed(len(item.located), of_read, item.masses(), item.read))
    for course in courses:
        if (it := course.reference) is not None:
            masses, count = _of_references([course]), sum(1 for places in it.sentences if places.places)
            known = (len(it.sentences), count, *_placed(count, masses, masses, 1.0))
            yield (course.title, REFERENCE, None, None, 1.0, it.words, *known)


def _placed(count: int, of_read: Sequence[OriginMass], of_whole: Sequence[OriginMass], read: float) -> Row:
    parts = min(count, BINS)
    spreads = (spread(of_read, parts), spread_by_chance(count, parts))
    return (*_shares_of_tables(of_read), *_shares_of_tables(of_whole), *expected_thirds(read), *spreads)


@table(
    "position_densities",
    "Where in the text read the summaries come from (thesis, figure 6.1)",
    "Density along the text read, from its start (0) to its end (100), over all steps and over each half of them;"
    " 1 is an even spread.",
    ("system", "steps", "place (%)", "density"),
    _basis,
)
def densities_table(courses: Sequence[StepPlan], items: Sequence[ContextItem]) -> Iterator[Row]:
    curves = {
        (contestant.name, part): _masses(items, contestant, part)
        for contestant in distinct(items, "contestant")
        for part in (ALL_STEPS, LOWER, UPPER)
    }
    for who, masses in {**curves, (REFERENCE, ALL_STEPS): _of_references(courses)}.items():
        for at, height in enumerate(density(masses)):
            yield (*who, round(100 * (at + 0.5) / POINTS, 2), height)


@table(
    "cost",
    "Cost",
    "Cost of drafting by system, and of judging the facts of all systems. Cached answers cost nothing; where a"
    " price is unknown, so is the cost.",
    ("document", "work", "calls", "cached", "prompt tokens", "reply tokens", "USD"),
    lambda it: f"Based on {sum(one.usage is not None for one in it.items)} of {len(it.items)} summaries.",
)
def cost_table(outcome: ContextOutcome) -> Iterator[Row]:
    for group in series(outcome.items):
        yield (group[0].title, group[0].contestant.name, *sum_fields(item.usage for item in group))
    for course in outcome.courses:
        if course.usage:
            yield (course.title, "facts", *sum_fields([course.usage]))


@table(
    "failures",
    "What failed",
    AGAIN,
    ("document", "what", "step", "stage", "code", "message"),
    lambda outcome: f"Based on {len(outcome.items)} summaries.",
)
def failure_table(outcome: ContextOutcome) -> Iterator[Row]:
    for item in outcome.items:
        if item.failure:
            yield (item.title, item.contestant.name, item.step.number, *failure_cells(item.failure))
    for course in outcome.courses:
        for what, lost in course.failures.items():
            yield (course.title, what, None, *failure_cells(lost))


def _tables(outcome: ContextOutcome) -> Iterator[Table]:
    courses, items, measure = outcome.courses, outcome.items, outcome.measure
    design, both = outcome.design, (courses, items)
    yield by_set(design.sets, halves_table, both)
    yield positions_table(courses, items)
    yield by_set(design.sets, densities_table, both)
    if design.facts:
        yield by_set(design.sets, shares_table, [items], measure)
        yield by_set(design.sets, steps_table, [items], measure)
        yield changes_table(items, measure)
        yield by_set(design.sets, accuracy_table, [items], measure)
    yield cost_table(outcome)
    yield failure_table(outcome)


def _settings(outcome: ContextOutcome) -> Mapping[str, object]:
    return {
        **record_json(outcome.design),
        "measure": outcome.measure,
        "documents": [record_json(course) for course in outcome.courses],
        "certificates": [record_json(certificate) for certificate in outcome.certificates],
    }


def _about(outcome: ContextOutcome) -> Iterator[str]:
    design, courses = outcome.design, outcome.courses
    yield f"systems: {'; '.join(plain(contestant.name) for contestant in design.contestants)}"
    for course in courses:
        steps = f"{len(course.steps)} steps up to {course.steps[-1].tokens:,} tokens"
        yield f"{plain(course.title)}: {steps}, summaries of at most {course.words} words"
    yield from (f"note: {plain(course.title)} {course.note}" for course in courses if course.note)
    yield _counted(outcome)
    if design.places != "lineage":
        yield f"places: for each sentence the most similar paragraph, by {design.places}"
    yield "each model's own vocabulary counts the tokens; a step ends with the last complete sentence"
    if design.facts:
        yield (
            f"facts: extracted and judged by {plain(design.judge.name)}; two facts are the same if"
            f" {plain(outcome.measure)}"
        )
    yield from (
        f"facts are {_LIKE[certificate.metric]}, judged by {unmarked(certificate.line())}"
        for certificate in outcome.certificates
    )


def _counted(outcome: ContextOutcome) -> str:
    return f"summaries: {len(outcome.items)} (systems × steps): {by_status(outcome.items)}"


def _headline(outcome: ContextOutcome, tables: Sequence[Table]) -> Iterator[str]:
    records = {table.name: table.records for table in tables}
    contestants = outcome.design.contestants
    shown = [contestant.name for contestant in contestants[:_MAX]]
    for one in records["position_halves"]:
        if one["system"] in (*shown, REFERENCE):
            differ = " / ".join(_signed(one[f"change {place} (%)"]) for place in PLACES)
            later = "" if one["system"] == REFERENCE else f", later steps {differ}"
            yield f"{_who(one)}: sentences by thirds {_percents(one, PLACES)}{later}"
    for one in records.get("fact_shares", ()):
        whole = (one["steps"], one["section"], one["measure"]) == (ALL_STEPS, ANYWHERE, ALIGNMENT)
        if one["system"] in shown and whole and one["facts"]:
            even = _percents(one, [f"expected {fate}" for fate in FATES])
            yield (
                f"{_who(one)}: facts matching, lost, new {_percents(one, FATES)} by"
                f" {plain(str(one['measure']))}; an even spread has {even}"
            )
    yield from more_line(len(contestants), _MAX, "systems")
    yield _counted(outcome)


def _who(one: Record) -> str:
    return plain(", ".join(str(one[name]) for name in ("system", SET) if name in one))


def _percents(one: Record, names: Sequence[str]) -> str:
    values = [number(one[name]) for name in names]
    return " / ".join("–" if value is None else f"{100 * value:.0f}" for value in values) + "%"


def _signed(cell: Cell) -> str:
    value = number(cell)
    return "–" if value is None else f"{round(value):+d}%" if round(value) else "0%"


EXPERIMENT: Experiment[ContextDesign, ContextOutcome] = Experiment(
    CONTEXT,
    "Growing context: where summaries come from, and which facts they keep",
    run=context,
    is_some=lambda outcome: any(item.status == "done" for item in outcome.items),
    about=_about,
    settings=_settings,
    tables=_tables,
    items=lambda outcome: outcome.items,
    headline=_headline,
    who=lambda outcome: models_and_judge(outcome) if outcome.design.facts else ((), ()),
)
