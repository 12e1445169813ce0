"""What came of a batch: item by item, and in tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redraft.batches.standing import Standing
from redraft.batches.work import deliver
from redraft.errors import RedraftError
from redraft.history.results import Result, read_result
from redraft.reports.report import Report
from redraft.reports.tables import Cell, Table
from redraft.store.batches import Item
from redraft.store.store import Store
from redraft.text.words import count_words

_EXAMPLES = 12
Row = dict[str, Any]


def results(store: Store, name: str) -> Iterator[Row]:
    """Every item of a batch in its order, with its summary where it has one, and the run that has the rest of it."""
    for item in store.batches.items(name):
        yield _row(item, _result(store, item))


def _result(store: Store, item: Item) -> Result | None:
    """What its run has come to; nothing where there is none, or where it was forgotten."""
    try:
        return read_result(store, item.run) if item.run else None
    except RedraftError:
        return None


def _row(item: Item, found: Result | None) -> Row:
    """The contract of an item in `batch results`."""
    usage = found.usage if found else None
    return {
        "source": item.source,
        "state": item.state,
        "run": item.run,
        "title": found.title if found else None,
        "document": found.run.document if found else item.document,
        "summary": found.summary if found else None,
        "words": count_words(found.summary) if found and found.summary else None,
        "complete": found.complete if found else None,
        "stop_reason": found.run.stop_reason if found else None,
        "scores": found.scores if found else {},
        "goals": {name: goal["met"] for name, goal in found.goals.items()} if found else {},
        "gaps": len(found.gaps) if found else None,
        "calls": usage.calls if usage else None,
        "prompt_tokens": usage.prompt_tokens if usage else None,
        "completion_tokens": usage.completion_tokens if usage else None,
        "cost_usd": usage.cost_usd if usage else None,
        "seconds": usage.seconds if usage else None,
        "file": f"{item.file}.md" if found and found.summary else None,
        "priority": item.priority,
        "attempts": item.attempts,
        "error": item.error,
    }


def fill_folder(store: Store, name: str, folder: Path) -> None:
    """Write what is done and not there: after the folder was changed, or a file of it removed."""
    for item in store.batches.items(name):
        if item.state == "done" and not (folder / f"{item.file}.md").exists():
            found = _result(store, item)
            if found is not None and found.summary is not None:
                deliver(folder, item, found.summary)


@dataclass(slots=True)
class _Figure:
    """Numbers of which no more than these is kept."""

    n: int = 0
    sum: float = 0.0
    least: float | None = None
    most: float | None = None

    def add(self, value: float) -> None:
        """Count one in."""
        self.n, self.sum = self.n + 1, self.sum + value
        self.least = value if self.least is None else min(self.least, value)
        self.most = value if self.most is None else max(self.most, value)


@dataclass(slots=True)
class Tally:
    """All items of a batch added up, one after the other."""

    figures: dict[str, _Figure] = field(default_factory=dict)
    unscored: Counter[str] = field(default_factory=Counter)
    goals: dict[str, Counter[str]] = field(default_factory=dict)
    troubles: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Count an item in."""
        if row["error"]:
            which = (row["state"], row["error"]["code"])
            self.troubles[which] += 1
            self.examples.setdefault(which, (row["source"], f"{row['error']['message']}; {row['error']['hint']}"))
        if row["state"] != "done" or row["title"] is None:
            return
        told = {"words of the summary": row["words"], "calls": row["calls"], "USD": row["cost_usd"]}
        told |= {"prompt tokens": row["prompt_tokens"], "reply tokens": row["completion_tokens"]}
        for name, value in {**row["scores"], **told, "seconds": row["seconds"]}.items():
            if value is not None:
                self.figures.setdefault(name, _Figure()).add(value)
            elif name in row["scores"]:
                self.unscored[name] += 1
        for name, met in row["goals"].items():
            stands = "unsure" if met is None else "met" if met else "missed"
            self.goals.setdefault(name, Counter())[stands] += 1

    def report(self, standing: Standing) -> Report:
        """The tables, with what they rest on."""
        tables = [self._items(standing)]
        tables += [self._figures()] if self.figures else []
        tables += [self._goals()] if self.goals else []
        tables += [self._troubles()] if self.troubles else []
        return Report("batch", f"Batch {standing.batch.name}", (_line(standing),), {}, tuple(tables), ())

    def _items(self, standing: Standing) -> Table:
        counts = standing.counts
        rows: list[tuple[Cell, ...]] = [
            ("done", counts.done),
            ("done, short of what was asked", counts.short),
            ("failed", counts.failed),
            ("set aside", counts.aside),
            ("at work", counts.leased),
            ("waiting", counts.waiting),
            ("all", counts.all),
        ]
        kept = tuple(row for row in rows if row[1] or row[0] in ("done", "all"))
        return Table(
            "items", "Items", "How the documents stand.", "One item is one document.", ("state", "items"), kept
        )

    def _figures(self) -> Table:
        rows = tuple(
            (name, one.n, self.unscored[name], one.sum / one.n, one.least, one.most, one.sum)
            for name, one in self.figures.items()
        )
        caption = "What is said of the documents that are done. A score that is missing counts as none, and not as 0."
        basis = "What runs took from the cache they have not used again: calls, tokens and USD are their own."
        columns = ("figure", "documents", "without", "mean", "least", "most", "sum")
        return Table("figures", "Figures", caption, basis, columns, rows)

    def _goals(self) -> Table:
        rows = tuple((name, one["met"], one["missed"], one["unsure"]) for name, one in self.goals.items())
        basis = "Unsure is where too few items have a verdict."
        return Table(
            "goals", "Goals", "How many documents meet each goal.", basis, ("goal", "met", "missed", "unsure"), rows
        )

    def _troubles(self) -> Table:
        rows = tuple(
            (state, code, n, *self.examples[state, code]) for (state, code), n in self.troubles.most_common(_EXAMPLES)
        )
        columns = ("state", "code", "items", "such as", "which says")
        basis = "`redraft batch results` has the sentence of each."
        return Table("troubles", "What went wrong", "By state and kind of error.", basis, columns, rows)


def _line(standing: Standing) -> str:
    cost = "" if not standing.cost_usd else f", ${standing.cost_usd:.4f}"
    counts = standing.counts
    return f"{standing.stage}: {counts.done:,} of {counts.all:,} documents done, {standing.calls:,} calls{cost}"
