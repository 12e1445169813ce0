"""The status, tables and folder of a batch, computed item by item so that memory hardly grows with their number."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import Field

from redraft.batches.engine import Engine, WorkerPool
from redraft.batches.queue import Batch, Batches
from redraft.batches.request import budget_key_of
from redraft.batches.sources import BatchItem, file_name, items_of, source_name
from redraft.batches.worker import Tell, WorkerTerms
from redraft.domain import computed, record_json, widened
from redraft.errors import UsageError
from redraft.evaluators.metric_info import COMPARES_WORDS, OFFLINE_CHECK
from redraft.evaluators.statistics import MIN_VALUES
from redraft.events import BatchUse, ItemCounts
from redraft.report.tables import Cell, Report, Table, data_frame, figure, line, plain
from redraft.sources import write
from redraft.store.store import Store, check_store
from redraft.text.words import dollars

_LOOK_AGAIN = 1.0
_LATELY = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSnapshot(BatchUse, Batch):
    """A batch at one moment. Its `folder` is None if it has none."""

    counts: Annotated[ItemCounts, Field(alias="items")]
    over_usd: float = 0.0
    """By how much it exceeds its limit."""
    asked: Annotated[Mapping[str, Any], Field(exclude=True)] = field(default_factory=dict)
    limits: Annotated[Mapping[str, Any], Field(exclude=True)] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Return whether every document is done without gaps or missed goals."""
        return self.counts.done == self.counts.all and not self.counts.short


def read_snapshot(store: Store, name: str) -> BatchSnapshot:
    """Return the current status of a batch, with its pace while it is worked on."""
    batch, counts, budget = Batches(store).get(name), Batches(store).counts(name), budget_key_of(name)
    calls, cost = store.calls.used(budget)
    stage = ("working" if counts.leased else "idle") if batch.status == "open" else batch.status
    ended, seconds = Batches(store).lately(name, _LATELY) if counts.leased else (0, 0.0)
    return widened(
        BatchSnapshot,
        batch,
        counts=counts,
        calls=calls,
        cost_usd=cost,
        over_usd=store.calls.overspent(budget, batch.limits.get("max_cost")),
        folder=batch.folder or None,
        status=stage if counts.left else "done",
        a_minute=60 * ended / seconds if ended and seconds > 0 else None,
        seconds_left=seconds / ended * counts.left if ended else None,
    )


Watcher = Callable[[BatchSnapshot], object]


def drive(store: Store, engine: Engine, terms: WorkerTerms, tell: Tell, watch: Watcher) -> BatchSnapshot:
    """Have an engine's workers process a batch until it is finished or no longer open."""
    with WorkerPool(store, engine, terms, tell) as worker_pool:
        while worker_pool.repair():
            watch(read_snapshot(store, terms.batch))
            time.sleep(_LOOK_AGAIN)
    return read_snapshot(store, terms.batch)


_TITLE = "Batch "
WORDS = "words of the summary"
"""The first of the figures that are no scores."""
_USAGE = {WORDS: "words", "calls": "calls", "USD": "cost_usd", "prompt tokens": "prompt_tokens"}
_USAGE |= {"reply tokens": "completion_tokens", "seconds": "seconds"}
_EXAMPLES, NAMED = 12, 3
"""How many messages are shown, and how many documents are named with each."""
_OF_95 = 1.96


def report_on(store: Store, snapshot: BatchSnapshot) -> Report:
    """Return the tables of a batch in its current state."""
    reused = store.calls.calls_before(budget_key_of(snapshot.name), snapshot.created)
    return report_of(items_of(store, snapshot.name), snapshot, reused)


def report_of(items: Iterable[BatchItem], snapshot: BatchSnapshot, reused: int = 0) -> Report:
    """Return the tables of the items of a batch; `reused` of its calls are from runs that began before it."""
    # Without the texts, memory hardly grows with the number of documents.
    listed_items = [replace(item, summary=None) for item in items]
    done = [item for item in listed_items if item.state == "done" and item.title is not None]
    counts = snapshot.counts
    states: list[tuple[Cell, ...]] = [
        ("done", counts.done),
        ("done, but incomplete or below a goal", counts.short),
        ("failed", counts.failed),
        ("set aside", counts.aside),
        ("running", counts.leased),
        ("waiting", counts.waiting),
        ("all", counts.all),
    ]
    rows = tuple(row for row in states if row[1] or row[0] in ("done", "all"))
    goals: dict[str, Counter[bool | None]] = defaultdict(Counter)
    for name, is_met in (goal for item in done for goal in item.goals.items()):
        goals[name][is_met] += 1
    troubles: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for item in listed_items:
        if item.error:
            troubles[item.state, item.error["code"], _error(item)].append(source_name(item.source))
    tables = [
        Table("items", "States", "Documents by state.", "", ("state", "documents"), rows),
        _figure_table(done),
        Table(
            *("goals", "Goals", "Documents that meet each goal.", "Unsure: too few items have a verdict."),
            columns=("goal", "met", "missed", "unsure"),
            rows=tuple((name, count[True], count[False], count[None]) for name, count in goals.items()),
        ),
        Table(
            *("troubles", "What went wrong", "By state and message."),
            "The message of each is in `redraft batch results`.",
            columns=("state", "code", "documents", "such as", "which says"),
            rows=tuple(
                (state, code, len(names), ", ".join(names[:NAMED]), message)
                for (state, code, message), names in sorted(troubles.items(), key=lambda entry: -len(entry[1]))
            )[:_EXAMPLES],
        ),
    ]
    failed = f", {counts.failed + counts.aside:,} failed" if counts.failed + counts.aside else ""
    short = f", {counts.short:,} of them incomplete or below a goal" if counts.short else ""
    calls = f"{snapshot.calls:,} call{'s' * (snapshot.calls != 1)}"
    calls += f" ({'all' if reused == snapshot.calls else f'{reused:,}'} reused)" if reused else ""
    cost = "" if not snapshot.cost_usd else f", {dollars(snapshot.cost_usd)}"
    line = f"{snapshot.status}: {counts.done:,} of {counts.all:,} documents done{short}{failed}; {calls}{cost}"
    return Report("batch", f"{_TITLE}{snapshot.name}", (line,), {}, tuple(table for table in tables if table.rows), ())


def _figure_table(items: Sequence[BatchItem]) -> Table:
    """Return the statistics of each figure, such as a score or the cost, over the documents that have it."""
    figures: dict[str, list[float]] = {}
    for item in items:
        usage = {name: getattr(item, field) for name, field in _USAGE.items()}
        for name, value in {**item.scores, **usage}.items():
            if value is not None:
                figures.setdefault(name, []).append(value)
    unscored = Counter(name for item in items for name, score in item.scores.items() if score is None)
    offline_checked = {name for item in items if item.offline_check for name in item.scores}
    rows: list[tuple[Cell, ...]] = []
    for name, values in figures.items():
        mean, low, high = fmean(values), None, None
        if len(values) >= MIN_VALUES:
            half = _OF_95 * stdev(values) / sqrt(len(values))
            low, high = max(min(values), mean - half), min(max(values), mean + half)
        figure_name = f"{name} ({OFFLINE_CHECK})" if name in offline_checked else name
        totals = (min(values), max(values), sum(values))
        rows.append((figure_name, len(values), unscored[name], mean, low, high, *totals))
    basis = (
        "Cached answers do not count as calls, tokens or USD. low and high are the ends of a 95% interval of the mean"
        f" by the normal distribution, within min and max; with fewer than {MIN_VALUES} documents there is none."
    )
    basis += f" {COMPARES_WORDS}" if offline_checked else ""
    caption = "Figures on the documents that are done. Missing scores are left out."
    columns = ("figure", "documents", "no score", "mean", "95% low", "95% high", "min", "max", "sum")
    return Table("figures", "Figures", caption, basis, columns, tuple(rows))


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

    def to_frame(self) -> Any:
        """Return a data frame of pandas with a row for each document: source, title, summary, words, tokens, cost,
        scores and the message of its error."""
        usage = ("calls", "prompt_tokens", "completion_tokens", "cost_usd")
        columns = ("source", "run", "title", "state", "summary", "words", *usage)
        rows = [
            {name: getattr(item, name) for name in columns}
            | {"error": item.error["message"] if item.error else None}
            | dict(item.scores)
            for item in self.items
        ]
        return data_frame(rows)

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
    report = report_of(items, now, store.calls.calls_before(budget_key_of(name), now.created))
    return widened(BatchResult, now, items=items, report=report)


_LISTED = 1000
_ELSEWHERE = "name another folder with -o, and repeat the command"
_HOW = (
    "`redraft export RUN -o FILE.html` writes the dossier of a run: the summary next to the document, the source of"
    " each sentence, and the findings; `redraft studio` shows the same."
)


def folder_named(path: str | Path | None) -> str:
    """Return the absolute path of the folder for summaries, created before anything is spent; empty for none."""
    if path is None:
        return ""
    folder = Path(path).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = "a file is in its place" if folder.is_file() else error.strerror
        raise UsageError(
            f"the folder cannot be made: {problem}", place=str(path), hint="name another folder with -o"
        ) from error
    return str(folder)


def write_folder(store: Store, snapshot: BatchSnapshot, report: Report) -> None:
    """Put what came of a batch into its folder, if it has one: the summaries, the tables, and a line for each item. The
    tables of another batch in that folder stay.

    Summaries that are done but not there are written again: the folder was changed, or a file of it removed.
    """
    if snapshot.folder is None:
        return
    folder, entries, lines = Path(snapshot.folder), list[str](), list[str]()
    tables, items = table_files(snapshot)
    for item in items_of(store, snapshot.name):
        if item.state == "done" and item.file and item.summary and not (folder / item.file).exists():
            write(folder / item.file, f"{item.summary.rstrip()}\n", _ELSEWHERE)
        # Each summary has a file of its own.
        fields = {name: value for name, value in asdict(item).items() if name != "summary"}
        lines.append(f"{json.dumps(fields, ensure_ascii=False)}\n")
        entries += [_entry(item)] if len(entries) < _LISTED else []
    more = len(lines) - len(entries)
    rest = f"\n{more:,} more are in {items.name}.\n" if more else ""
    documents = f"## Documents\n\n{_HOW}\n\n" + "\n".join(entries) + f"\n{rest}"
    write(tables, f"{report.to_markdown()}\n{documents}", _ELSEWHERE)
    write(items, "".join(lines), _ELSEWHERE)


def table_files(snapshot: BatchSnapshot) -> tuple[Path, Path]:
    """Return the files for the tables and the items of a batch. If `report.md` is of another batch, or not of a batch
    at all, they are named after this one."""
    folder, name = Path(snapshot.folder or ""), snapshot.name
    report, ending = folder / "report.md", ""
    if report.exists() and not report.read_text("utf-8", "replace").startswith(f"# {_TITLE}{name}\n"):
        ending = f"-{file_name(name)}"
    return folder / f"report{ending}.md", folder / f"items{ending}.jsonl"


def _error(item: BatchItem) -> str:
    """Return the error of an item in words, without the item's name: that stands before it."""
    if item.error is None:
        return ""
    message = item.error["message"].removeprefix(f"{item.source}: ").removeprefix(f"{source_name(item.source)}: ")
    # A next step with values is worded by a door, and a table is read at all of them.
    return "; ".join(filter(None, (message, "" if "fix" in item.error else item.error["hint"])))


def _entry(item: BatchItem) -> str:
    """Return the line of a document in a Markdown list, with a link to its summary."""
    name = plain(source_name(item.source))
    link = f"[{name}]({quote(item.file)})" if item.file and item.state == "done" else name
    parts = [f"- {link}: {item.state}"]
    parts += [*(f"{plain(metric)} {figure(score)}" for metric, score in item.scores.items())]
    parts += [OFFLINE_CHECK] if item.scores and item.offline_check else []
    parts += [f"run `{item.run}`"] if item.run else []
    parts += [line(_error(item))] if item.error else []
    return ", ".join(parts)
