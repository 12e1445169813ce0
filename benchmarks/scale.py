"""How long what workers ask of the store takes, however large the batch is that they are at, and however many they are.

python -m benchmarks.scale [--documents 50 500 5000 20000] [--db postgresql://...]
python -m benchmarks.scale --processes 1 16 [--budgets 1 4] [--seconds 5] [--db postgresql://...]

Each batch has so many documents with six calls each in one budget, and half of them are done. The numbers are
milliseconds, the middle of many. With `--processes` so many of them book and settle calls as fast as they can, in so
many budgets, and each keeps a text after each call: how many calls, and texts with them, that makes a second.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count, product
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path

from benchmarks.common import options_of, table
from redraft.batches.queue import Batch, Batches, BatchItemRow
from redraft.batches.request import budget_key_of
from redraft.batches.tables import read_snapshot
from redraft.domain import Document, Usage, content_id
from redraft.order import Summarize
from redraft.settings import DraftConfig
from redraft.store.calls import OK, SENT, Call, Reservation, ReservationTerms
from redraft.store.runs import Run
from redraft.store.store import Store

_CALLS = 6
_TIMES = 41
_CALL = Call(
    run="r0", key="", model="openai:m", prompt="merge", prompt_hash="h", label="chunk 1", sample=0, temperature=0.0,
    max_tokens=512, attempt=1, outcome=SENT, started="2026", seconds=0.0, usage=Usage(1000, 200), lost_tokens=1512,
    booked_usd=0.001,
)  # fmt: skip
_LIKE_THE_FIRST = """
    INSERT INTO runs (id, {columns}) SELECT ?, {columns} FROM runs WHERE id = 'r0'
"""
_ANSWERED = """
    INSERT INTO calls (run, key, model, prompt, label, outcome, error, finish_reason, prompt_tokens, completion_tokens,
    cached_prompt_tokens, lost_tokens, seconds, started, body, cost_usd, booked_usd)
    VALUES (?, ?, 'm', 'merge', 'chunk 1', 'ok', '', 'stop', 1000, 200, 0, 0, 2, '2026', '{}', ?, ?)
"""
_numbers = count()


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[50, 500, 5_000, 20_000])
    parser.add_argument("--db", help="an empty database on a server, in place of a file")
    parser.add_argument("--processes", type=int, nargs="+", help="how many book calls at once, in place of the above")
    parser.add_argument("--budgets", type=int, nargs="+", default=[1], help="how many budgets they draw on")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long they do so")
    given = parser.parse_args()
    if given.processes:
        crowds(given)
        return
    rows: list[tuple[object, ...]] = [("documents", "book", "settle", "lease", "hand back", "counts", "standing")]
    with tempfile.TemporaryDirectory() as folder:
        for documents in given.documents:
            with Store(given.db or Path(folder) / f"{documents}.db") as store:
                rows.append((f"{documents:,}", *measured(store, documents)))
    table(rows)


def measured(store: Store, documents: int) -> list[str]:
    """The milliseconds that each question takes in a batch of so many documents."""
    name = f"of-{documents}"
    fill(store, name, documents)
    terms = ReservationTerms(budget_key_of(name), max_cost=1e6)
    booked, settled, leased, back = [], [], [], []
    for _ in range(_TIMES):
        call, reservation = replace(_CALL, key=f"{name} {next(_numbers)}"), Reservation()
        booked.append(_timed(lambda: store.calls.book(reservation, call, terms)))  # noqa: B023
        ended = replace(call, outcome=OK, reply="A reply.", cost_usd=0.0005, booked_usd=0.0005)
        settled.append(_timed(lambda: store.calls.settle(reservation, ended)))  # noqa: B023
        began = time.perf_counter()
        (item,) = Batches(store).lease(name, "w", 1)
        leased.append(time.perf_counter() - began)
        back.append(_timed(lambda: Batches(store).settle(item, "waiting", run="r0")))  # noqa: B023
    counted = [_timed(lambda: Batches(store).counts(name)) for _ in range(5)]
    stood = [_timed(lambda: read_snapshot(store, name)) for _ in range(5)]
    return [f"{1000 * statistics.median(one):.2f}" for one in (booked, settled, leased, back, counted, stood)]


def _timed(done: Callable[[], object]) -> float:
    began = time.perf_counter()
    done()
    return time.perf_counter() - began


def crowds(given: argparse.Namespace) -> None:
    """How many calls so many processes book and settle a second, with a text after each."""
    rows: list[tuple[object, ...]] = [("processes", "budgets", "calls a second")]
    with tempfile.TemporaryDirectory() as folder:
        address = given.db or str(Path(folder) / "crowd.db")
        for processes, budgets in product(given.processes, given.budgets):
            rows.append((processes, budgets, crowd(address, processes, budgets, given.seconds)))
    table(rows)


def crowd(address: str, processes: int, budgets: int, seconds: float) -> float:
    """Each process has a run of its own. All of them begin when all of them are there."""
    name = f"crowd {time.time_ns()}"
    with Store(address) as store:
        fill(store, name, processes)
        for at in range(processes):
            store.calls.share(f"{name} {at % budgets}", f"{name}-{at}")
    # Whatever is imported here is there for them, too.
    forking = multiprocessing.get_context("fork")
    there, done = forking.Barrier(processes), forking.SimpleQueue()
    working = [
        forking.Process(target=book_on, args=(address, f"{name}-{at}", f"{name} {at % budgets}", seconds, there, done))
        for at in range(processes)
    ]
    for one in working:
        one.start()
    total: int = sum(done.get() for _ in working)
    for one in working:
        one.join()
    return total / seconds


def book_on(address: str, run: str, budget_key: str, seconds: float, there: Barrier, done: SimpleQueue[int]) -> None:
    """Book and settle as many calls as there is time for, and say how many they were."""
    with Store(address) as store:
        there.wait()
        ends, calls = time.monotonic() + seconds, 0
        while time.monotonic() < ends:
            reservation, call = Reservation(), replace(_CALL, run=run, key=f"{run} asked {next(_numbers)}")
            store.calls.book(reservation, call, ReservationTerms(budget_key, max_cost=1e6))
            store.calls.settle(reservation, replace(call, outcome=OK, reply=f"Reply to {call.key}.", cost_usd=0.0005))
            store.documents.add_text(f"What came of {call.key}.")
            calls += 1
    done.put(calls)


def fill(store: Store, name: str, documents: int) -> None:
    """A batch of so many documents, each with a run and six calls; the first half is done."""
    text = "A text."
    store.documents.add(Document(content_id(text), "A text", text, (), "a.txt", "utf-8"))
    with store.connection.writing() as raw:
        if not raw.execute("SELECT 1 FROM runs WHERE id = 'r0'").fetchone():
            order = Summarize(settings=DraftConfig(words=200))
            store.runs.add(Run("r0", order, {}, "0", identity="r0", document=content_id(text), tokenizer="estimate"))
        first = dict(raw.execute("SELECT * FROM runs WHERE id = 'r0'").fetchone())
        columns = [name for name in first if name not in ("id", "rowid")]
        Batches(store).open(Batch(name, {}, {}))
        Batches(store).add(name, (BatchItemRow(f"{n}.txt", f"{n}") for n in range(documents)))
        runs = [f"{name}-{n}" for n in range(documents)]
        like = _LIKE_THE_FIRST.format(columns=", ".join(columns))
        raw.executemany(like, [(run,) for run in runs])
        raw.executemany("INSERT INTO budget_runs VALUES (?, ?)", [(budget_key_of(name), run) for run in runs])
        calls = [(run, f"{run} {n}", 0.0005, 0.0005) for run in runs for n in range(_CALLS)]
        raw.executemany(_ANSWERED, calls)
        raw.executemany(
            "UPDATE items SET state = 'done', attempts = 1, run = ? WHERE batch = ? AND idx = ?",
            [(run, name, at) for at, run in enumerate(runs[: documents // 2])],
        )


if __name__ == "__main__":
    main()
