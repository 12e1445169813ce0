"""The tables of HAMLET about recall: by position (13), gaps between positions (4), and length of the summary (5.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import StatisticsError, correlation

from redraft.domain import Perspective
from redraft.experiments.hamlet.counting import (
    ALL_MODELS,
    COUNTS,
    FIFTHS,
    LEVEL_COLUMNS,
    LEVEL_KEYS,
    MODELS_MEAN,
    Tally,
)
from redraft.experiments.hamlet.records import Item
from redraft.packs.keyfacts import ALL
from redraft.reports.tables import Cell, Table, mean

_EVERYWHERE = "all"
_FEWEST_PAIRS = 3


def recall_table(items: Sequence[Item]) -> Table:
    """Table 13: recall by perspective, model, position and level."""
    tally = Tally(items, "recall")
    return Table(
        "recall",
        "Recall by perspective, model, position and level (HAMLET, table 13)",
        "The share of the key facts that the summaries state (equation 1), pooled over the facts of all the summaries"
        " of a row; the position is that of the facts in their document. The mean of models gives each model the same"
        " weight.",
        tally.basis,
        ("perspective", "model", "position", *LEVEL_COLUMNS, "facts", *COUNTS),
        tuple(row for perspective in tally.perspectives for row in _recall_rows(tally, perspective)),
    )


def _recall_rows(tally: Tally, perspective: Perspective) -> Iterator[tuple[Cell, ...]]:
    own = tally.of(perspective=perspective)
    places = [(_EVERYWHERE, own), *((fifth, own.of(fifth=fifth)) for fifth in FIFTHS)]
    for model in tally.models:
        for place, there in (*places[1:], places[0]):
            found = there.of(model=model)
            yield (perspective, model, place, *found.values(LEVEL_KEYS), found.share(ALL).whole, *found.counts)
    if len(tally.models) > 1:
        for place, there in (*places[1:], places[0]):
            means = _means([there.of(model=model).values(LEVEL_KEYS) for model in tally.models])
            yield (perspective, MODELS_MEAN, place, *means, there.share(ALL).whole, *there.counts)


def gap_table(items: Sequence[Item]) -> Table:
    """Table 4: how far recall depends on where in the document the facts are."""
    tally = Tally(items, "recall")
    rows: list[tuple[Cell, ...]] = []
    for perspective in tally.perspectives:
        own = tally.of(perspective=perspective)
        gaps = {model: _gaps(own.of(model=model)) for model in own.models}
        rows += [(perspective, model, *found, *own.of(model=model).counts) for model, found in gaps.items()]
        if len(gaps) > 1:
            rows.append((perspective, MODELS_MEAN, *_means(list(gaps.values())), *own.counts))
    return Table(
        "gaps",
        "Recall gap between positions (HAMLET, table 4)",
        "The recall of the best fifth of the documents less that of the worst, each pooled over its facts: the smaller,"
        " the less it matters where something stands. Fifths without facts do not count; there is no gap where fewer"
        " than two have any.",
        tally.basis,
        ("perspective", "model", *LEVEL_COLUMNS, *COUNTS),
        tuple(rows),
    )


def _gaps(tally: Tally) -> list[float | None]:
    fifths = [tally.of(fifth=fifth).values(LEVEL_KEYS) for fifth in FIFTHS]
    known = [[value for value in level if value is not None] for level in zip(*fifths, strict=True)]
    return [max(values) - min(values) if len(values) > 1 else None for values in known]


def length_table(items: Sequence[Item]) -> Table:
    """Section 5.2: whether longer summaries state more."""
    tally = Tally(items, "recall")
    groups = [(ALL_MODELS, tally)]
    if len(tally.models) > 1:
        groups += [(model, tally.of(model=model)) for model in tally.models]
    rows: list[tuple[Cell, ...]] = []
    for name, group in groups:
        for column, level in zip(LEVEL_COLUMNS, LEVEL_KEYS, strict=True):
            value, pairs, why = _correlation(group.items, level)
            rows.append((name, column, value, why, pairs, *group.counts))
    return Table(
        "length",
        "Length of the summary and recall (HAMLET, section 5.2)",
        "Pearson's correlation of the words of a summary with its own recall, each summary one pair; a summary whose"
        " tree has no fact of a level is left out there.",
        tally.basis,
        ("model", "level", "correlation", "note", "summaries", *COUNTS),
        tuple(rows),
    )


def _correlation(items: Sequence[Item], level: str) -> tuple[float | None, int, str]:
    """Pearson's coefficient, over how many summaries; without one, why."""
    pairs = [
        (item.words, value)
        for item in items
        if item.recall and item.words is not None and level in item.recall.levels
        if (value := item.recall.levels[level].value) is not None
    ]
    if len(pairs) < _FEWEST_PAIRS:
        return None, len(pairs), f"n/a: fewer than {_FEWEST_PAIRS} summaries"
    lengths, recalls = zip(*pairs, strict=True)
    try:
        return correlation(lengths, recalls), len(pairs), ""
    except StatisticsError:
        same = "lengths" if len(set(lengths)) == 1 else "recalls"
        return None, len(pairs), f"n/a: all {same} are the same"


def _means(rows: Sequence[Sequence[float | None]]) -> list[float | None]:
    return [mean(column) for column in zip(*rows, strict=True)]
