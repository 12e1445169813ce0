"""The report of the experiment on a growing span: its tables, its pictures, its items, and what it is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.keyfact_recall import KeyfactRecall
from redraft.experiments.cells import number, rows_of
from redraft.experiments.context.changes import ANYWHERE, FATES
from redraft.experiments.context.difference_table import difference_table
from redraft.experiments.context.experiment import Outcome
from redraft.experiments.context.fact_tables import accuracy_steps_table, accuracy_table, changes_table, shares_table
from redraft.experiments.context.facts import ALIGNMENT
from redraft.experiments.context.position_tables import ALL, REFERENCE, densities_table, halves_table, positions_table
from redraft.experiments.context.records import Course, Item, series
from redraft.reports.report import Report
from redraft.reports.tables import Cell, Table, plain, unmarked

# So many contestants have their lines among those that matter.
_MOST = 3
# What is done with facts, by the metric that does the same.
_LIKE = {
    KeyfactRecall.name: f"aligned as by {KeyfactRecall.name}",
    Faithfulness.name: f"verified as sentences are by {Faithfulness.name}",
}


def context_report(outcome: Outcome) -> Report:
    """The report of the experiment."""
    design = outcome.design
    tables = _tables(outcome)
    return Report(
        "context",
        "One document, read further step by step: where summaries come from, and what becomes of their facts",
        tuple(_about(outcome)),
        {
            "models": [one.name for one in design.models],
            "strategies": list(design.strategies),
            "judge": design.judge.name if design.facts else None,
            "measure": outcome.measure,
            "embeddings": design.embeddings,
            "drafting": {one.name: one.to_json() for one in design.models},
            "documents": [_course_json(course) for course in outcome.courses],
            "certificates": [one.to_json() for one in outcome.certificates],
        },
        tables,
        [record for item, before in _with_before(outcome.items) for record in item.to_json(before)],
        tuple(_headline(outcome, tables)),
    )


def _tables(outcome: Outcome) -> tuple[Table, ...]:
    courses, items, measure = outcome.courses, outcome.items, outcome.measure
    facts = (
        shares_table(items, measure),
        changes_table(items, measure),
        accuracy_table(items, measure),
        accuracy_steps_table(items, measure),
        *([difference_table(items, measure)] if len(outcome.design.contestants) > 1 else []),
    )
    return (
        halves_table(courses, items),
        positions_table(courses, items),
        densities_table(courses, items),
        *(facts if outcome.design.facts else ()),
        cost_table(outcome),
        failure_table(outcome),
    )


def _with_before(items: Sequence[Item]) -> list[tuple[Item, Item | None]]:
    pairs: dict[int, Item] = {id(now): then for group in series(items) for then, now in pairwise(group)}
    return [(item, pairs.get(id(item))) for item in items]


def _course_json(course: Course) -> dict[str, object]:
    return {
        "id": course.document,
        "title": course.title,
        "tokens": course.tokens,
        "words": course.words,
        "steps": [step.tokens for step in course.steps],
        "note": course.note,
        "reference": course.reference is not None,
        "run": course.run,
    }


def _about(outcome: Outcome) -> list[str]:
    design = outcome.design
    lines = [
        f"contestants: {'; '.join(plain(one.name) for one in design.contestants)}",
        *(
            f"{plain(course.title)}: {len(course.steps)} steps up to {course.steps[-1].tokens:,} tokens,"
            f" summaries of at most {course.words} words"
            for course in outcome.courses
        ),
        *(f"note: {plain(course.title)} {course.note}" for course in outcome.courses if course.note),
        _counted(outcome),
        "tokens are counted by each model's own vocabulary; a step ends with the last sentence that is whole by then",
    ]
    if design.facts:
        lines.append(
            f"facts: taken apart and judged by {plain(design.judge.name)}; the same is {plain(outcome.measure)}"
        )
    lines += [f"facts are {_LIKE[one.metric]}, judged by {unmarked(one.line())}" for one in outcome.certificates]
    if outcome.stopped is not None:
        lines.append(
            f"stopped: {plain(outcome.stopped.message)}; what there is is below, and the same command with a higher"
            " limit goes on"
        )
    return lines


def _counted(outcome: Outcome) -> str:
    items = outcome.items
    by_status = {status: sum(item.status == status for item in items) for status in ("done", "failed", "not made")}
    counts = ", ".join(f"{n} {status}" for status, n in by_status.items())
    return f"summaries: {len(items)} (contestants × steps): {counts}"


def _headline(outcome: Outcome, tables: Sequence[Table]) -> Iterator[str]:
    """By contestant its thirds with their change, and what became of its facts; what is missing."""
    by_name = {table.name: table for table in tables}
    contestants = outcome.design.contestants
    thirds = ("1st", "2nd", "3rd")
    shown = [one.name for one in contestants[:_MOST]]
    for row in rows_of(by_name["position_halves"]):
        if row["contestant"] in (*shown, REFERENCE):
            change = " / ".join(_signed(row[f"change {third} (%)"]) for third in thirds)
            later = "" if row["contestant"] == REFERENCE else f", later steps {change}"
            yield f"{plain(str(row['contestant']))}: sentences by thirds {_percents(row, thirds)}{later}"
    for row in rows_of(by_name["fact_shares"]) if outcome.design.facts else ():
        whole = (row["steps"], row["section"], row["measure"]) == (ALL, ANYWHERE, ALIGNMENT)
        if row["contestant"] in shown and whole and row["facts"]:
            even = _percents(row, [f"expected {fate}" for fate in FATES])
            yield (
                f"{plain(str(row['contestant']))}: facts matching, lost, new {_percents(row, FATES)} by"
                f" {plain(str(row['measure']))}; an even spread has {even}"
            )
    if (more := len(contestants) - _MOST) > 0:
        yield f"and {more} more contestants"
    yield _counted(outcome)
    if outcome.stopped is not None:
        yield f"stopped: {plain(outcome.stopped.message)}"


def _percents(row: Mapping[str, Cell], names: Sequence[str]) -> str:
    values = [number(row[name]) for name in names]
    return " / ".join("–" if one is None else f"{100 * one:.0f}" for one in values) + " %"


def _signed(cell: Cell) -> str:
    value = number(cell)
    return "–" if value is None else f"{round(value):+d} %" if round(value) else "0 %"


def cost_table(outcome: Outcome) -> Table:
    """What drafting and judging took."""
    rows: list[tuple[Cell, ...]] = []
    for group in series(outcome.items):
        used = [item.usage for item in group if item.usage is not None]
        known = [one.cost_usd for one in used]
        cost = None if None in known else sum(one or 0.0 for one in known)
        counts = [sum(getattr(one, name) for one in used) for name in _USED]
        rows.append((group[0].title, group[0].contestant.name, *counts, cost))
    rows += [
        (course.title, "facts", *(getattr(one, name) for name in _USED), one.cost_usd)
        for course in outcome.courses
        if (one := course.usage)
    ]
    return Table(
        "cost",
        "What it took",
        "Drafting by contestant, and judging the facts of all of them. Answers from the cache cost nothing; where a"
        " price is not known, neither is the cost.",
        f"Rests on {sum(item.usage is not None for item in outcome.items)} of {len(outcome.items)} summaries.",
        ("document", "work", "calls", "cached", "prompt tokens", "reply tokens", "USD"),
        tuple(rows),
    )


_USED = ("calls", "cached", "prompt_tokens", "completion_tokens")


def failure_table(outcome: Outcome) -> Table:
    """What failed."""
    rows: list[tuple[Cell, ...]] = [
        (item.title, item.contestant.name, item.step.number, one.stage, one.code, one.message)
        for item in outcome.items
        if (one := item.failure)
    ]
    rows += [
        (course.title, what, None, one.stage, one.code, one.message)
        for course in outcome.courses
        for what, one in course.failures.items()
    ]
    return Table(
        "failures",
        "What failed",
        "Repeat the command to try it again; what is done is not done again.",
        f"Rests on {len(outcome.items)} summaries.",
        ("document", "what", "step", "stage", "code", "message"),
        tuple(rows),
    )
