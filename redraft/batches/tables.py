"""The status, tables and folder of a batch, computed item by item so that memory does not grow with their number."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from math import sqrt
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import Field, PlainSerializer

from redraft.batches.dossiers import FOLDER, OnWritten, ignore_count, write_pages
from redraft.batches.engine import Engine, WorkerPool
from redraft.batches.request import budget_key_of
from redraft.batches.sources import SUMMARY, BatchItem, items_of, result_of, source_name
from redraft.batches.worker import Tell, WorkerTerms, deliver
from redraft.domain import computed, record_json
from redraft.errors import UsageError
from redraft.evaluators.figures import RESAMPLES
from redraft.evaluators.metric_info import COMPARES_WORDS, OFFLINE_CHECK
from redraft.report.dossier.comparison.sides import MIN_VALUES, interval_of_mean
from redraft.report.tables import Cell, Report, Table, figure, plain, unmarked
from redraft.sources import write
from redraft.store.batches import Batch, Error, ItemCounts
from redraft.store.store import Store, check_store
from redraft.text.words import dollars

Stage = Literal["done", "paused", "cancelled", "stopped", "working", "idle"]
"""An open batch is `working` if a worker is active, otherwise `idle`."""
_LOOK_AGAIN = 1.0
_LATELY = 600.0


@dataclass(frozen=True, slots=True)
class BatchSnapshot:
    """The status of a batch at one moment."""

    batch: Annotated[Batch, PlainSerializer(lambda it: it.name)]
    counts: Annotated[ItemCounts, Field(serialization_alias="items")]
    calls: int
    cost_usd: float | None
    """What it has taken from its budget, calls in flight at their maximum; None where a price is unknown."""
    over_usd: float = 0.0
    """By how much it exceeds its limit."""

    @property
    def name(self) -> str:
        """Return the name of the batch."""
        return self.batch.name

    @computed
    def created(self) -> str:
        """Return when it was opened."""
        return self.batch.created

    @computed
    def folder(self) -> str | None:
        """Return the folder for its summaries; None if it has none."""
        return self.batch.folder or None

    @computed
    def error(self) -> Error | None:
        """Return the `code`, `message` and `hint` of the error that affects every document."""
        return self.batch.error

    @computed
    def status(self) -> Stage:
        """Return `done`, `stopped`, `paused` or `cancelled`; for an open batch `working` or `idle`."""
        if self.counts.ended == self.counts.all:
            return "done"
        if self.batch.status != "open":
            return self.batch.status
        return "working" if self.counts.leased else "idle"

    @property
    def complete(self) -> bool:
        """Return whether every document is done without gaps or missed goals."""
        return self.counts.done == self.counts.all and not self.counts.short


def read_snapshot(store: Store, name: str) -> BatchSnapshot:
    """Return the current status of a batch."""
    batch = store.batches.get(name)
    calls, cost = store.reservations.used(budget_key_of(name))
    over = store.reservations.overspent(budget_key_of(name), batch.limits.get("max_cost"))
    return BatchSnapshot(batch, store.batches.counts(name), calls, cost, over)


@dataclass(frozen=True, slots=True)
class BatchPace:
    """The progress of a batch since it was first observed."""

    ended: int
    seconds: float
    left: int

    @property
    def a_minute(self) -> float | None:
        """Return the items per minute; None before the first has finished."""
        return 60 * self.ended / self.seconds if self.ended and self.seconds > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """Return the estimated seconds left at this pace."""
        return self.seconds / self.ended * self.left if self.ended else None


def pace_of(store: Store, snapshot: BatchSnapshot) -> BatchPace:
    """Return the recent progress of a batch from its stored runs."""
    counts = snapshot.counts
    return BatchPace(*store.batches.lately(snapshot.name, _LATELY), counts.all - counts.ended)


Watcher = Callable[[BatchSnapshot, BatchPace], object]


class BatchWatch:
    """Observes a batch from its creation on."""

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._name = name
        self._began = time.monotonic()
        self._first = read_snapshot(store, name).counts.ended

    def read(self) -> tuple[BatchSnapshot, BatchPace]:
        """Return the current status and the progress since creation."""
        now = read_snapshot(self._store, self._name)
        ended = now.counts.ended
        return now, BatchPace(ended - self._first, time.monotonic() - self._began, now.counts.all - ended)


def drive(store: Store, engine: Engine, terms: WorkerTerms, tell: Tell, watch: Watcher) -> BatchSnapshot:
    """Have an engine's workers process a batch until it is finished or no longer open."""
    watching = BatchWatch(store, terms.batch)
    with WorkerPool(store, engine, terms, tell) as worker_pool:
        while worker_pool.repair():
            watch(*watching.read())
            time.sleep(_LOOK_AGAIN)
    return read_snapshot(store, terms.batch)


WORDS = "words of the summary"
"""The first of the figures that are no scores."""
_EXAMPLES = 12
_MESSAGES, NAMED = 200, 3
"""How many messages are counted apart, and how many documents are named with each."""
_RESAMPLED = 500
"""How many values are kept for resampling. For more, the interval of the mean is computed from the normal distribution.
"""
_OF_95 = 1.96


@dataclass(slots=True)
class _RunningMean:
    """A running mean and variance with a limited number of values."""

    n: int = 0
    sum: float = 0.0
    least: float | None = None
    most: float | None = None
    first: list[float] = field(default_factory=list)
    mean: float = 0.0
    off: float = 0.0
    """The sum of squared deviations from the mean."""

    def add(self, value: float) -> None:
        self.n, self.sum = self.n + 1, self.sum + value
        self.least = value if self.least is None else min(self.least, value)
        self.most = value if self.most is None else max(self.most, value)
        before, self.mean = self.mean, self.mean + (value - self.mean) / self.n
        self.off += (value - before) * (value - self.mean)
        if len(self.first) < _RESAMPLED:
            self.first.append(value)

    def interval(self) -> tuple[float | None, float | None]:
        """Return the 95% interval of the mean over documents; None for too few."""
        if self.n <= _RESAMPLED:
            found = interval_of_mean(self.first)
            return (found.low, found.high) if found else (None, None)
        half = _OF_95 * sqrt(self.off / (self.n - 1) / self.n)
        return self.mean - half, self.mean + half


@dataclass(slots=True)
class BatchTotals:
    """Totals over all items of a batch, updated one item at a time."""

    figures: dict[str, _RunningMean] = field(default_factory=dict)
    unscored: Counter[str] = field(default_factory=Counter)
    goals: dict[str, Counter[str]] = field(default_factory=dict)
    offline_checked: set[str] = field(default_factory=set)
    """The metrics by which the built-in model judged its own summaries."""
    troubles: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """The number of items by state, code and message."""
    examples: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)

    texts: dict[str, list[str]] = field(default_factory=dict)
    """The names of the items by document: those of one text are one document."""

    def add(self, item: BatchItem) -> None:
        if item.document:
            self.texts.setdefault(item.document, []).append(source_name(item.source))
        if item.error:
            which = (item.state, item.error["code"], _error(item.source, item.error))
            if which not in self.troubles and len(self.troubles) >= _MESSAGES:
                which = (*which[:2], "various messages")
            self.troubles[which] += 1
            named = self.examples.setdefault(which, [])
            if len(named) < NAMED:
                named.append(source_name(item.source))
        if item.state != "done" or item.title is None:
            return
        told = {WORDS: item.words, "calls": item.calls, "USD": item.cost_usd}
        told |= {"prompt tokens": item.prompt_tokens, "reply tokens": item.completion_tokens}
        for name, value in {**item.scores, **told, "seconds": item.seconds}.items():
            if value is not None:
                self.figures.setdefault(name, _RunningMean()).add(value)
            elif name in item.scores:
                self.unscored[name] += 1
        self.offline_checked |= set(item.scores) if item.offline_check else set()
        for name, met in item.goals.items():
            stands = "unsure" if met is None else "met" if met else "missed"
            self.goals.setdefault(name, Counter())[stands] += 1

    def report(self, snapshot: BatchSnapshot) -> Report:
        """Return the tables and notes."""
        tables = [_items(snapshot)]
        tables += [self._figures()] if self.figures else []
        tables += [self._goals()] if self.goals else []
        tables += [self._troubles()] if self.troubles else []
        tables += [_alike(same)] if (same := [names for names in self.texts.values() if len(names) > 1]) else []
        return Report("batch", f"Batch {snapshot.name}", (_line(snapshot),), {}, tuple(tables), ())

    def _figures(self) -> Table:
        named = {name: f"{name} ({OFFLINE_CHECK})" if name in self.offline_checked else name for name in self.figures}
        rows = tuple(
            (
                named[name],
                mean.n,
                self.unscored[name],
                mean.sum / mean.n,
                *mean.interval(),
                mean.least,
                mean.most,
                mean.sum,
            )
            for name, mean in self.figures.items()
        )
        caption = "Figures on the documents that are done. Missing scores are left out."
        basis = (
            "Cached answers do not count as calls, tokens or USD. 95% of the means of"
            f" {RESAMPLES:,} resamples of the documents are between low and high (fewer resamples for more than"
            f" {_RESAMPLED} documents); with fewer than {MIN_VALUES} documents there is no interval."
        )
        if self.offline_checked:
            basis += f" {COMPARES_WORDS}"
        columns = ("figure", "documents", "without", "mean", "low", "high", "least", "most", "sum")
        return Table("figures", "Figures", caption, basis, columns, rows)

    def _goals(self) -> Table:
        rows = tuple((name, one["met"], one["missed"], one["unsure"]) for name, one in self.goals.items())
        basis = "Unsure: too few items have a verdict."
        return Table(
            "goals", "Goals", "Documents that meet each goal.", basis, ("goal", "met", "missed", "unsure"), rows
        )

    def _troubles(self) -> Table:
        rows = tuple(
            (state, code, n, ", ".join(self.examples[state, code, says]), says)
            for (state, code, says), n in self.troubles.most_common(_EXAMPLES)
        )
        columns = ("state", "code", "items", "such as", "which says")
        basis = "The message of each is with its document."
        return Table("troubles", "What went wrong", "By state and message.", basis, columns, rows)


def _alike(same: Sequence[Sequence[str]]) -> Table:
    rows = tuple((len(names), ", ".join(names[:NAMED])) for names in same[:_EXAMPLES])
    basis = "An answer for one of them is reused for the others."
    return Table("alike", "The same text", "Documents with the same text.", basis, ("items", "such as"), rows)


def report_on(store: Store, snapshot: BatchSnapshot) -> Report:
    """Return the tables of a batch in its current state."""
    return report_of(items_of(store, snapshot.name), snapshot)


def report_of(items: Iterable[BatchItem], snapshot: BatchSnapshot) -> Report:
    """Return the tables of the items of a batch."""
    tally = BatchTotals()
    for item in items:
        tally.add(item)
    return tally.report(snapshot)


def _items(snapshot: BatchSnapshot) -> Table:
    counts = snapshot.counts
    rows: list[tuple[Cell, ...]] = [
        ("done", counts.done),
        ("done, but incomplete or below a goal", counts.short),
        ("failed", counts.failed),
        ("set aside", counts.aside),
        ("running", counts.leased),
        ("waiting", counts.waiting),
        ("all", counts.all),
    ]
    kept = tuple(row for row in rows if row[1] or row[0] in ("done", "all"))
    return Table("items", "Items", "Documents by state.", "One item is one document.", ("state", "items"), kept)


def _line(snapshot: BatchSnapshot) -> str:
    cost = "" if not snapshot.cost_usd else f", {dollars(snapshot.cost_usd)}"
    counts = snapshot.counts
    failed = f", {counts.failed + counts.aside:,} failed" if counts.failed + counts.aside else ""
    short = f", {counts.short:,} of them incomplete or below a goal" if counts.short else ""
    calls = f"{snapshot.calls:,} call{'s' * (snapshot.calls != 1)}{cost}"
    return f"{snapshot.status}: {counts.done:,} of {counts.all:,} documents done{short}{failed}; {calls}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BatchResult(BatchSnapshot):
    """The state of a batch, the result of each document, and tables over all of them. An error of one document is
    stored in its item; an error that affects all of them is the `error` of a `stopped` batch."""

    items: Annotated[tuple[BatchItem, ...], Field(serialization_alias="documents")]
    report: Annotated[Report, Field(exclude=True)]

    @computed
    def tables(self) -> tuple[Table, ...]:
        """Return the tables over all documents."""
        return self.report.tables

    def __repr__(self) -> str:
        counts, cost = self.counts, "unknown" if self.cost_usd is None else f"{self.cost_usd:.4f}"
        items = f"documents={counts.all}, done={counts.done}, failed={counts.failed + counts.aside}"
        return f"BatchResult({self.name!r}, status={self.status!r}, {items}, calls={self.calls}, cost_usd={cost})"

    def model_dump(self, *, mode: Literal["json", "python"] = "python") -> dict[str, Any]:  # noqa: ARG002
        """Return the state of the batch with its documents and tables; in both modes the values are JSON."""
        return record_json(self)


def read_batch(store: Store, name: str) -> BatchResult:
    """Return the state of a batch and the result of each document; raises `RunError` for an unknown name."""
    check_store(store)
    now = read_snapshot(store, name)
    items = tuple(items_of(store, name))
    return BatchResult(
        now.batch, now.counts, now.calls, now.cost_usd, now.over_usd, items=items, report=report_of(items, now)
    )


_LISTED = 1000
_ELSEWHERE = "name another folder with -o, and repeat the command"
_HOW = (
    "`redraft export RUN -o FILE.html` writes the dossier of a run: the summary next to the document, the source of"
    " each sentence, and the findings; `redraft batch results NAME --dossiers` writes those of all finished documents."
    " `redraft studio` shows the same."
)


def folder_named(given: str | Path | None, *, dossiers: bool = False) -> str:
    """Return the absolute path of the folder for summaries, created before anything is spent; with a subfolder if
    `dossiers` are wanted."""
    if given is None:
        if dossiers:
            raise UsageError("dossiers need a folder", hint="name one with -o")
        return ""
    folder = Path(given).expanduser().absolute()
    try:
        (folder / FOLDER if dossiers else folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the directory cannot be created: {error.strerror}", place=str(given)) from error
    return str(folder)


def write_folder(store: Store, snapshot: BatchSnapshot, report: Report, told: OnWritten = ignore_count) -> None:
    """Put what came of a batch into its folder, if it has one: the summaries, the tables, and a line for each item."""
    if not snapshot.batch.folder:
        return
    folder, name = Path(snapshot.batch.folder), snapshot.name
    write_results(store, name, folder, told)
    write(folder / "report.md", f"{report.to_markdown()}\n{listed(store, snapshot)}", _ELSEWHERE)
    write(folder / "items.jsonl", "".join(map(_item_line, items_of(store, name))), _ELSEWHERE)


def write_results(store: Store, name: str, folder: Path, told: OnWritten) -> None:
    """Write what is done and not there, or not true any more: after the folder was changed, or a file of it removed."""
    for item in store.batches.items(name):
        if item.state == "done" and not (folder / f"{item.file}{SUMMARY}").exists():
            result = result_of(store, item)
            if result is not None and result.summary is not None:
                deliver(folder, item, result.summary)
    write_pages(store, name, folder, told)


def add_dossiers(store: Store, name: str, beside: Path | None, told: OnWritten = ignore_count) -> str:
    """Write the dossiers of a batch that has none: into its folder, with links to them there; if it has no folder,
    beside another file. Returns the folder that they are in."""
    snapshot = read_snapshot(store, name)
    folder = folder_named(snapshot.batch.folder or (beside and beside.parent), dossiers=True)
    if snapshot.batch.folder:
        write_folder(store, snapshot, report_on(store, snapshot), told)
    else:
        write_pages(store, name, Path(folder), told)
    return folder


def listed(store: Store, snapshot: BatchSnapshot) -> str:
    """Return the documents as a Markdown list with links to summaries and dossiers."""
    shown = [_entry(item) for item in islice(items_of(store, snapshot.name), _LISTED)]
    more = snapshot.counts.all - len(shown)
    rest = f"\n{more:,} more are in items.jsonl.\n" if more > 0 else ""
    return f"## Documents\n\n{_HOW}\n\n" + "\n".join(shown) + f"\n{rest}"


def _error(source: str, error: Mapping[str, Any]) -> str:
    """Return the error of an item in words, without the item's name: that stands before it."""
    message = error["message"].removeprefix(f"{source}: ").removeprefix(f"{source_name(source)}: ")
    # A next step with values is worded by a door, and a table is read at all of them.
    return "; ".join(filter(None, (message, "" if "fix" in error else error["hint"])))


def _entry(item: BatchItem) -> str:
    name = plain(source_name(item.source))
    shown = f"[{name}]({quote(item.file)})" if item.file and item.state == "done" else name
    parts = [f"- {shown}: {item.state}"]
    parts += [f"[dossier]({quote(item.dossier)})"] if item.dossier else []
    parts += [*(f"{plain(metric)} {figure(of)}" for metric, of in item.scores.items())]
    parts += [OFFLINE_CHECK] if item.scores and item.offline_check else []
    parts += [f"run `{item.run}`"] if item.run else []
    parts += [unmarked(_error(item.source, item.error))] if item.error else []
    return ", ".join(parts)


def _item_line(item: BatchItem) -> str:
    """Return an item as JSON; its summary has a file of its own."""
    content = {name: value for name, value in asdict(item).items() if name != "summary"}
    return json.dumps(content, ensure_ascii=False) + "\n"
