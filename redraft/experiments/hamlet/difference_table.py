"""Table 6 of HAMLET: by how much one model recalls more than another, and is more faithful, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from redraft.evaluators.words import NONE
from redraft.experiments.hamlet.counting import LEVEL_KEYS, Tally
from redraft.experiments.hamlet.records import Item, Measured
from redraft.experiments.pooled import COLUMNS, Both, difference, how
from redraft.packs.keyfacts import ALL, LEVELS
from redraft.reports.tables import Cell, Table

_CARRIED = (*LEVELS, NONE, ALL)
Pair = tuple[Item, Item]


def difference_table(items: Sequence[Item]) -> Table:
    """Every two models beside each other, over the queries that both have answered and were judged on."""
    rows: list[tuple[Cell, ...]] = []
    for first, second in combinations(Tally(items, "recall").models, 2):
        for metric, levels in (("recall", LEVEL_KEYS), ("faithfulness", _CARRIED)):
            pairs = _pairs(items, first, second, metric)
            for level in levels:
                found = [_both(pair, metric, level) for pair in pairs]
                rows.append((first, second, metric, level, *difference(found, "queries")))
    return Table(
        "differences",
        "Differences between models by level (HAMLET, table 6)",
        "The recall, or faithfulness, of the first model less that of the second, each pooled over the facts, or"
        " sentences, of the queries on which both have a score; sentences of the level none carry no key fact. "
        + how("queries"),
        Tally(items, "recall").basis,
        ("first", "second", "metric", "level", *COLUMNS, "queries", "documents", "drawn"),
        tuple(rows),
    )


def _pairs(items: Sequence[Item], first: str, second: str, metric: str) -> list[Pair]:
    """The queries on which both have a score."""
    told: dict[tuple[object, ...], dict[str, Item]] = {}
    for item in items:
        if item.model in (first, second) and _measured(item, metric) is not None:
            told.setdefault((item.document, item.chunk, item.perspective, item.query), {})[item.model] = item
    return [(both[first], both[second]) for both in told.values() if len(both) > 1]


def _measured(item: Item, metric: str) -> Measured | None:
    found = item.recall if metric == "recall" else item.faithfulness
    return found if found is not None and found.score is not None else None


def _both(pair: Pair, metric: str, level: str) -> Both:
    shares = [found.levels.get(level) if (found := _measured(item, metric)) else None for item in pair]
    first, second = ((float(one.part), float(one.whole)) if one else (0.0, 0.0) for one in shares)
    return Both(pair[0].document, first, second)
