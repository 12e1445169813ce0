"""The tables of accuracy: by type, by third, by how much was read, and between models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from redraft.dossier.beside.sides import interval_of_mean
from redraft.experiments.qa.counting import ALL, COUNTS, Tally
from redraft.experiments.qa.records import Item
from redraft.questions import THIRDS, TYPES
from redraft.reports.tables import Cell, Table, mean

_HOW = (
    "The share of questions that a model did right by, of those whose paragraph it has read as a whole: a right answer"
    " by the judge, the right one of yes and no, or saying that there is no answer where there is none. Intervals of"
    " 95 % are by bootstrap over questions; fewer than five have none. Similarity is the mean, of what was answered, to"
    " the reference."
)
_READ = "Tokens are the mean of steps of about that length."


def accuracy_table(items: Sequence[Item]) -> Table:
    """Accuracy by model and type."""
    tally = Tally(items)
    rows = [
        (model, of_type, *tally.read.only(model=model, of_type=of_type).counts)
        for model in tally.models
        for of_type in (*TYPES, ALL)
    ]
    return Table("accuracy", "Accuracy by type", _HOW, tally.basis, ("model", "type", *COUNTS), tuple(rows))


def third_table(items: Sequence[Item]) -> Table:
    """Accuracy by model, type and third of the text that was asked about."""
    tally = Tally(items)
    rows = [
        (model, of_type, third, *tally.read.only(model=model, of_type=of_type, third=third).counts)
        for model in tally.models
        for of_type in (*TYPES, ALL)
        for third in THIRDS
    ]
    columns = ("model", "type", "third", *COUNTS)
    title = "Accuracy by type and third of the document (thesis, table 6.2)"
    return Table("type_and_third", title, _HOW, tally.basis, columns, tuple(rows))


def length_table(items: Sequence[Item]) -> Table:
    """Accuracy by model and by how much was read, of all the document's thirds and of each."""
    tally = Tally(items)
    rows = [
        (model, length.tokens, third, *tally.read.only(model=model, third=third, length=length).counts)
        for model in tally.models
        for length in tally.lengths
        for third in (*THIRDS, ALL)
    ]
    columns = ("model", "tokens", "third", *COUNTS)
    title = "Accuracy by length of what was read, and third of the document"
    return Table("third_and_length", title, f"{_HOW} {_READ}", tally.basis, columns, tuple(rows))


def place_table(items: Sequence[Item]) -> Table:
    """The same by the third of what was read: at each step others are in its middle."""
    tally = Tally(items)
    rows = [
        (model, length.tokens, third, *tally.read.only(model=model, third_read=third, length=length).counts)
        for model in tally.models
        for length in tally.lengths
        for third in THIRDS
    ]
    columns = ("model", "tokens", "third read", *COUNTS)
    title = "Accuracy by length of what was read, and third of what was read"
    return Table("place_and_length", title, f"{_HOW} {_READ}", tally.basis, columns, tuple(rows))


def difference_table(items: Sequence[Item]) -> Table:
    """How much better one model does than another by the same questions after the same steps."""
    tally = Tally(items)
    return Table(
        "differences",
        "Paired differences between models",
        "The mean over questions of how much oftener the first model did right by a question than the second, at the"
        " steps at which there is a verdict on both. Intervals of 95 % are by bootstrap over questions; fewer than five"
        " have none.",
        tally.basis,
        ("first", "second", "type", "difference", "95% from", "95% to", "questions"),
        tuple(_differences(tally)),
    )


def _differences(tally: Tally) -> Iterator[tuple[Cell, ...]]:
    for first, second in combinations(tally.models, 2):
        for of_type in (ALL, *TYPES):
            read = tally.read.only(of_type=of_type)
            found = paired(read.only(model=first).items, read.only(model=second).items)
            spread = interval_of_mean(found)
            between = (spread.low, spread.high) if spread else (None, None)
            yield (first, second, of_type, mean(found), *between, len(found))


def paired(first: Sequence[Item], second: Sequence[Item]) -> list[float]:
    """For each question the mean difference over the steps at which both models have a verdict."""
    others = {(item.name, item.step): item.correct for item in second}
    found: dict[tuple[str, int], list[float]] = {}
    for item in first:
        other = others.get((item.name, item.step))
        if item.correct is not None and other is not None:
            found.setdefault(item.name, []).append(float(item.correct) - float(other))
    return [sum(one) / len(one) for one in found.values()]
