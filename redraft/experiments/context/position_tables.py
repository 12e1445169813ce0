"""Tables of where summaries come from: step by step, the halves of the steps (thesis, table 6.1), and the curves."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.evaluators.position import BINS
from redraft.experiments.context.changes import expected_thirds
from redraft.experiments.context.records import Contestant, Course, Item, series
from redraft.reports.tables import Cell, Table
from redraft.text.positions import POINTS, Mass, bins, density, shares, spread, spread_by_chance

REFERENCE = "reference"
ALL, LOWER, UPPER = "all steps", "lower half", "upper half"
_THIRDS = ("1st", "2nd", "3rd")


def basis(items: Sequence[Item]) -> str:
    """What the tables of positions rest on."""
    done = [item for item in items if item.told is not None]
    failed = sum(item.failure is not None for item in items)
    told = sum(len(item.told or ()) for item in done)
    located = sum(len(item.located) for item in done)
    return (
        f"Rests on {len(done)} of {len(items)} summaries; {failed} failed. {told - located} of {told} sentences come"
        " from no place, and are in no share."
    )


def positions_table(courses: Sequence[Course], items: Sequence[Item]) -> Table:
    """Each summary, and the reference."""
    rows: list[tuple[Cell, ...]] = [_summary(item) for item in items]
    rows += [_baseline(course) for course in courses if course.reference]
    return Table(
        "positions",
        "Where each summary comes from",
        "Shares of the sentences by thirds of what was read, where an even spread has a third in each, and by thirds of"
        " the whole document, beside what an even spread over what was read has in them. A sentence from several places"
        " is parted among them by weight. Spread is the entropy over tenths of what was read, or as many parts as there"
        " are sentences, against that of an even spread; by chance is what as many sentences from anywhere would have.",
        basis(items),
        (
            *("document", "contestant", "step", "until", "read", "words", "sentences", "located"),
            *(f"read {third}" for third in _THIRDS),
            *(f"whole {third}" for third in _THIRDS),
            *(f"expected {third}" for third in _THIRDS),
            *("spread", "by chance"),
        ),
        tuple(rows),
    )


def _summary(item: Item) -> tuple[Cell, ...]:
    head = (item.title, item.contestant.name, item.step.number, item.step.tokens, item.read, item.words)
    if item.told is None:
        return (*head, None, None, *[None] * 6, *expected_thirds(item.read), None, None)
    count, read = len(item.located), item.masses(of_read=True)
    parts = min(count, BINS)
    return (
        *(*head, len(item.told), count, *_shares(read), *_shares(item.masses()), *expected_thirds(item.read)),
        *(spread(read, parts), spread_by_chance(count, parts)),
    )


def _baseline(course: Course) -> tuple[Cell, ...]:
    reference = course.reference
    assert reference is not None
    found = _masses_of(course)
    count = sum(1 for one in reference.told if one.places)
    parts, own = min(count, BINS), _shares(found)
    return (
        *(course.title, REFERENCE, None, None, 1.0, reference.words, len(reference.told), count, *own, *own),
        *(*expected_thirds(1.0), spread(found, parts), spread_by_chance(count, parts)),
    )


def _masses_of(course: Course) -> list[Mass]:
    reference = course.reference
    return [] if reference is None else [mass for one in reference.told for mass in one.masses(reference.length)]


def _shares(found: Sequence[Mass]) -> list[Cell]:
    return list(shares(found, bins(3))) if found else [None] * 3


def halves_table(courses: Sequence[Course], items: Sequence[Item]) -> Table:
    """Of all steps of a contestant, the shares of thirds, and how they change from the lower to the upper half."""
    rows: list[tuple[Cell, ...]] = []
    for contestant in contestants_of(items):
        parts = {part: _masses(items, contestant, part) for part in (ALL, LOWER, UPPER)}
        whole, lower, upper = (_shares(found) for found in parts.values())
        own = [item for item in items if item.contestant == contestant]
        changes = [_change(one, other) for one, other in zip(lower, upper, strict=True)]
        done = sum(item.told is not None for item in own)
        rows.append((contestant.name, *whole, *lower, *upper, *changes, done, len(own)))
    if found := [mass for course in courses for mass in _masses_of(course)]:
        known = sum(1 for course in courses if course.reference)
        rows.append((REFERENCE, *_shares(found), *[None] * 9, known, known))
    return Table(
        "position_halves",
        "Thirds of what was read, and their change from the lower to the upper half of the steps (thesis, table 6.1)",
        "Shares of all located sentences of a contestant's summaries, over all steps and documents, over the first half"
        " of each document's steps (of thirteen, six), and over the rest. Change is that of the share, in % of it: 50"
        " means half as much again. The reference is of the whole document.",
        basis(items),
        (
            "contestant",
            *_THIRDS,
            *(f"lower {third}" for third in _THIRDS),
            *(f"upper {third}" for third in _THIRDS),
            *(f"change {third} (%)" for third in _THIRDS),
            "summaries",
            "of",
        ),
        tuple(rows),
    )


def _change(lower: Cell, upper: Cell) -> float | None:
    """By how many percent of itself a share grows; None for one that was nothing."""
    if not isinstance(lower, float) or not isinstance(upper, float) or not lower:
        return None
    return 100 * (upper - lower) / lower


def half_of(item: Item, items: Sequence[Item]) -> str:
    """In which half of its document's steps an item is."""
    steps = max(one.step.number for one in items if one.document == item.document)
    return LOWER if item.step.number <= steps // 2 else UPPER


def contestants_of(items: Sequence[Item]) -> list[Contestant]:
    """The contestants, in the order in which they were named."""
    return list(dict.fromkeys(group[0].contestant for group in series(items)))


def _masses(items: Sequence[Item], contestant: Contestant, part: str) -> list[Mass]:
    chosen = [item for item in items if item.contestant == contestant and part in (ALL, half_of(item, items))]
    return [mass for item in chosen for mass in item.masses(of_read=True)]


def densities_table(courses: Sequence[Course], items: Sequence[Item]) -> Table:
    """The curves, point by point."""
    rows: list[tuple[Cell, ...]] = []
    for contestant in contestants_of(items):
        for part in (ALL, LOWER, UPPER):
            rows += _curve(contestant.name, part, _masses(items, contestant, part))
    rows += _curve(REFERENCE, ALL, [mass for course in courses for mass in _masses_of(course)])
    return Table(
        "position_densities",
        "From where in what was read the summaries come (thesis, figure 6.1)",
        "Density along what was read, from its beginning (0) to its end (100), over all steps and over either half of"
        " them; 1 is an even spread.",
        basis(items),
        ("contestant", "steps", "place (%)", "density"),
        tuple(rows),
    )


def _curve(name: str, part: str, found: Sequence[Mass]) -> list[tuple[Cell, ...]]:
    return [(name, part, round(100 * (at + 0.5) / POINTS, 2), height) for at, height in enumerate(density(found))]
